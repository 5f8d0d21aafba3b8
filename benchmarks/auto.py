"""`auto_fit` on simulated studies, beside every model that it may choose from.

`python -m benchmarks.auto [STUDIES [FIRST SEED]]`: studies with and without item effects, judges,
ties, an effect of the side and many features; each is meant once for known and once for new items.
Every model is tested on 20 000 further comparisons, without ties. Printed: the log-loss of
`auto_fit` over that of the best single model and over that of the plain one, and its time over that
of the slowest candidate fitted once (process time), be it a single model or the chosen one.
"""

import sys
import time
import warnings
from typing import Any

import numpy as np

from pairscore import Comparisons, RankRegression, auto_fit

N_TESTED = 20_000
SINGLE: dict[str, dict[str, Any]] = {
    "plain": {},
    "ridge": {"l2": "ridge"},
    "item effects": {"item_effects": True},
    "side": {"side_effect": True},
    "judges": {"judge_slopes": True},
    "ties": {"ties": "davidson"},
}


def draw_study(rng: np.random.Generator) -> tuple[dict[str, Any], Comparisons, dict[str, Any]]:
    """What the study has, its comparisons, and the comparisons that test it, known and new."""
    has = {name: bool(rng.random() < 0.5) for name in ("items", "judges", "ties", "side", "many")}
    n, d = int(rng.integers(40, 300)), 4
    if has["many"]:
        d = int(n * rng.uniform(0.1, 0.6))
    m = int(n * np.exp(rng.uniform(np.log(4), np.log(30))))
    X, beta = rng.normal(size=(3 * n, d)), rng.normal(size=d)
    score = X @ (1.2 * beta / np.linalg.norm(beta))
    score += has["items"] * rng.choice([0.5, 1.0, 3.0]) * rng.normal(size=3 * n)
    slopes = np.clip(1 + 0.5 * rng.normal(size=8), -0.3, None) if has["judges"] else np.ones(8)
    side, tie = has["side"] * 0.4, (-0.3 if has["ties"] else -np.inf)

    def draw(first: int, last: int, number: int) -> Comparisons:
        left = rng.integers(first, last, number)
        right = first + (left - first + rng.integers(1, last - first, number)) % (last - first)
        judge = rng.integers(0, 8, number)
        eta = slopes[judge] * (score[left] - score[right]) + side
        odds = np.exp(np.column_stack([eta / 2, np.full(number, tie), -eta / 2]))
        below = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
        outcome = 1 - np.sum(rng.random(number)[:, None] > below[:, :2], axis=1)
        of_judges = {"judge": judge} if has["judges"] else {}
        return Comparisons(X, left, right, outcome, **of_judges)

    train = draw(0, n, m)
    return has, train, {"known": draw(0, n, N_TESTED), "new": draw(n, 3 * n, N_TESTED)}


def loss(model: Any, tested: Comparisons) -> float:
    tested = tested[tested.outcome != 0]
    p = np.clip(model.predict_proba(tested)[:, 1], 1e-12, 1 - 1e-12)
    return float(-np.mean(np.log(np.where(tested.outcome > 0, p, 1 - p))))


def timed(function: Any) -> tuple[Any, float]:
    start = time.process_time()
    return function(), time.process_time() - start


def single_models(has: dict[str, Any], use: str) -> dict[str, dict[str, Any]]:
    """Settings that make sense of such a study."""
    kinds = {name: dict(one) for name, one in SINGLE.items()}
    kinds["ridge"]["l2"] = "auto" if use == "new" else "auto-known"
    for name in ("judges", "ties"):
        if not has[name]:
            del kinds[name]
    everything = {key: value for one in kinds.values() for key, value in one.items()}
    return kinds | {"all": everything, "all but ridge": everything | {"l2": 0.0}}


def study(seed: int, use: str) -> tuple[str, float, float, float]:
    """What was chosen; loss over the best and over plain; time over the slowest."""
    has, train, tests = draw_study(np.random.default_rng([71, seed]))
    losses, times = {}, {}
    for name, settings in single_models(has, use).items():
        fitted, times[name] = timed(lambda s=settings: RankRegression(**s).fit(train))
        losses[name] = loss(fitted, tests[use])
    choice, taken = timed(lambda: auto_fit(train, use=use))
    _, times["chosen"] = timed(lambda: RankRegression(**choice.settings).fit(train))
    ours, best = loss(choice.model, tests[use]), min(losses, key=losses.get)
    parts = "+".join(name for name, there in has.items() if there) or "nothing"
    words = f"{parts:30} best {best:13} chosen {','.join(choice.settings) or 'plain'}"
    slowest = taken / max(times.values())
    return words, ours / losses[best] - 1, ours / losses["plain"] - 1, slowest


def main(n_studies: int, first: int = 0) -> None:
    warnings.simplefilter("ignore")
    found = []
    for seed in range(first, first + n_studies):
        for use in ("known", "new"):
            words, over_best, over_plain, slowest = study(seed, use)
            found.append((over_best, over_plain, slowest))
            numbers = f"best {over_best:+.2%}  plain {over_plain:+.2%}  time {slowest:.1f}"
            print(f"{seed:3} {use:5}  {numbers}  {words}", flush=True)
    over_best, over_plain, slowest = np.array(found).T
    print(f"{len(found)} choices: over the best single model {over_best.mean():+.2%} on average")
    print(f"over plain: {over_plain.max():+.2%} at most")
    print(f"time over the slowest candidate: {np.median(slowest):.1f} x (median)", end=", ")
    print(f"{slowest.max():.1f} x at most")


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:]) if len(sys.argv) > 1 else [40]))
