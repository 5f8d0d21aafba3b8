"""`python -m benchmarks.recovery`: is the truth found, and do intervals hold it? Context, side, ties, judges' slopes."""

import sys

import numpy as np

from pairscore import RankRegression
from pairscore.links import get_link
from pairscore.ties import TieRule

BETA = np.array([1.0, -0.5, 0.7])
CONTEXT, SIDE, TIE, SPREAD = 0.4, 0.2, 0.5, 0.4


def study(seed, rule, slopes_vary, n=80, m=2400, n_judges=12):
    rng = np.random.default_rng([11, seed])
    X = rng.normal(size=(n, 3)) + 3
    slopes = 1 + SPREAD * slopes_vary * rng.normal(size=n_judges)
    slopes /= slopes.mean()  # slopes are told relative to the average judge at hand
    left, judge, rest = rng.integers(0, n, m), rng.integers(0, n_judges, m), rng.normal(size=m)
    right = (left + rng.integers(1, n, m)) % n
    eta = slopes[judge] * ((X[left] - X[right]) @ BETA + CONTEXT * rest) + SIDE
    loss, _, win = TieRule(rule, get_link("logit")).probabilities(eta, TIE)
    chance = rng.random(m)
    outcome = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    votes = {"left": left, "right": right, "winner": outcome, "judge": judge, "rest": rest}
    model = RankRegression(context=["rest"], ties=rule, judge_slopes=bool(slopes_vary), side_effect=True).fit(X, votes)
    names = ["context", "side"] + (["tie"] if rule != "half" else [])
    off = {
        name: (value - truth, error)
        for name, value, error, truth in zip(names, model.effects_.values, model.effects_.std_errors, (CONTEXT, SIDE, TIE), strict=False)
    }
    off |= {f"x{place}": (model.coef_[place] - BETA[place], model.std_errors_[place]) for place in range(3)}
    if slopes_vary:
        off["slope"] = (model.judges_.slope - slopes, model.judges_.std_error)
    return off


def recovery(n_studies):
    for rule, vary in (("half", 0), ("rao-kupper", 0), ("davidson", 0), ("half", 1), ("rao-kupper", 1), ("davidson", 1)):
        found = [study(seed, rule, vary) for seed in range(n_studies)]
        print(f"\nties {rule}, judges {'with slopes' if vary else 'alike'}, {n_studies} studies")
        for name in found[0]:
            gap, error = (np.array([one[name][part] for one in found]) for part in (0, 1))
            z = gap.mean() / (gap.mean(axis=tuple(range(1, gap.ndim))).std(ddof=1) / np.sqrt(n_studies))
            covered = np.mean(np.abs(gap) < 1.96 * error)
            spread = f"sd {gap.std():.4f}, mean error {error.mean():.4f}"
            print(f"  {name:<8} mean gap {gap.mean():+.4f} (z {z:+.1f}), {spread}, covered {covered:.1%}", flush=True)


if __name__ == "__main__":
    recovery(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
