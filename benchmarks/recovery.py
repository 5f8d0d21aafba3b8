"""`python -m benchmarks.recovery [studies] [rows ...]`.

Is the truth found, and do intervals hold it?

Context, side, ties, judges' slopes, without effects of items (rows 0 to 5) and with them (rows 6 to
9).
"""

import sys
import warnings
from dataclasses import dataclass

import numpy as np

from pairscore import RankRegression
from pairscore.core.links import get_link
from pairscore.core.ties import TieRule
from pairscore.errors import PairscoreWarning

BETA = np.array([1.0, -0.5, 0.7])
CONTEXT, SIDE, TIE = 0.4, 0.2, 0.5


@dataclass(frozen=True)
class Row:
    """A kind of study."""

    ties: str
    spread: float = 0.0
    item_effects: float = 0.0
    n_items: int = 80
    n_comparisons: int = 2400
    n_judges: int = 12

    @property
    def settings(self):
        return {
            "context": ["rest"],
            "ties": self.ties,
            "judge_slopes": self.spread > 0,
            "side_effect": True,
            "item_effects": self.item_effects > 0,
        }

    def draw(self, seed):
        """Items, votes, and the slopes that are to be found."""
        rng, n, m = np.random.default_rng([11, seed]), self.n_items, self.n_comparisons
        X = rng.normal(size=(n, 3)) + 3
        slopes = 1 + self.spread * rng.normal(size=self.n_judges)
        slopes /= slopes.mean()  # slopes are told relative to the average judge at hand
        left, judge, rest = (
            rng.integers(0, n, m),
            rng.integers(0, self.n_judges, m),
            rng.normal(size=m),
        )
        right = (left + rng.integers(1, n, m)) % n
        chance = rng.random(m)
        score = X @ BETA + self.item_effects * rng.normal(size=n)
        eta = slopes[judge] * (score[left] - score[right] + CONTEXT * rest) + SIDE
        loss, _, win = TieRule(self.ties, get_link("logit")).probabilities(eta, TIE)
        outcome = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
        return (
            X,
            {"left": left, "right": right, "winner": outcome, "judge": judge, "rest": rest},
            slopes,
        )


ROWS = [
    *(Row(ties, spread) for spread in (0.0, 0.4) for ties in ("half", "rao-kupper", "davidson")),
    Row("davidson", 0.0, 0.8, 150),
    Row("half", 0.4, 0.8, 150),
    Row("rao-kupper", 0.4, 0.8, 150),
    Row("half", 0.4, 0.8, 400),
]


def study(row, seed):
    """Gap to the truth, and whether the 95 % interval holds it, of everything that is estimated."""
    X, votes, slopes = row.draw(seed)
    model = RankRegression(**row.settings).fit(X, votes)
    found = dict(
        zip(
            model.effects_.names,
            zip(model.effects_.values, model.effects_.std_errors, strict=True),
            strict=True,
        )
    )
    found |= {f"x{place}": (model.coef_[place], model.std_errors_[place]) for place in range(3)}
    truth = {"rest": CONTEXT, "left": SIDE, "tie": TIE} | {
        f"x{place}": value for place, value in enumerate(BETA)
    }
    off = {
        name: (value - truth[name], abs(value - truth[name]) < 1.96 * error)
        for name, (value, error) in found.items()
    }
    if row.spread:
        gap = model.judges_.slope - slopes
        off["slopes"] = gap, np.abs(gap) < 1.96 * model.judges_.std_error
    if row.item_effects:
        low, high = model.item_effects_.interval
        off["sigma^2"] = (
            model.item_effects_.sigma2 - row.item_effects**2,
            low <= row.item_effects**2 <= high,
        )
    return off


def recovery(n_studies, rows):
    warnings.simplefilter("ignore", PairscoreWarning)
    for row in rows:
        found = [study(row, seed) for seed in range(n_studies)]
        print(f"\n{row}, {n_studies} studies")
        for name in found[0]:
            gap, held = (np.array([one[name][part] for one in found]) for part in (0, 1))
            z = gap.mean() / (
                gap.mean(axis=tuple(range(1, gap.ndim))).std(ddof=1) / np.sqrt(n_studies)
            )
            print(
                f"  {name:<8} mean gap {gap.mean():+.4f} (z {z:+.1f}), sd {gap.std():.4f}, covered"
                f" {held.mean():.1%}",
                flush=True,
            )


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    recovery(given[0] if given else 1000, [ROWS[place] for place in given[1:]] or ROWS)
