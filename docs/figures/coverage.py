"""Coverage of the usual and of the item-robust 95 % interval where items differ beyond features.

Python docs/figures/coverage.py docs/figures/coverage.svg

Makes docs/figures/coverage.svg, which docs/explanation/intervals.md shows.
"""

import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from pairscore import Comparisons, PairscoreWarning, RankRegression

N_ITEMS, N_STUDIES = 100, 400
KINDS = {"model": "usual", "items": "item-robust"}
BY_SD = [(sd, 20) for sd in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)]
BY_NUMBER = [(0.7, number) for number in (4, 8, 16, 32, 64)]


def covers(sd, per_item, rng):
    """Whether each interval of a coefficient that is zero holds zero, in one study."""
    X, m = rng.normal(size=(N_ITEMS, 3)), N_ITEMS * per_item // 2
    left = rng.integers(0, N_ITEMS, m)
    right = (left + rng.integers(1, N_ITEMS, m)) % N_ITEMS
    score = X[:, 0] + sd * rng.normal(size=N_ITEMS)
    won = rng.random(m) < expit(score[left] - score[right])
    data = Comparisons(X, left, right, np.where(won, 1, -1))
    models = (RankRegression(inference=kind).fit(data) for kind in KINDS)
    return [abs(model.coef_[1]) < 1.96 * model.std_errors_[1] for model in models]


def main(path):
    """Draw both panels."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "coverage"
    warnings.simplefilter("ignore", PairscoreWarning)
    rng = np.random.default_rng(0)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    labels = (
        "standard deviation of items beyond their features\n(20 comparisons per item)",
        "comparisons per item\n(standard deviation 0.7)",
    )
    for panel, cells, place, label in zip(panels, (BY_SD, BY_NUMBER), (0, 1), labels, strict=True):
        shares = [np.mean([covers(*cell, rng) for _ in range(N_STUDIES)], axis=0) for cell in cells]
        at = [cell[place] for cell in cells]
        for kind, column, style in zip(KINDS.values(), np.transpose(shares), "os", strict=True):
            panel.plot(at, 100 * column, f"{style}-", label=kind, markersize=4)
        panel.axhline(95, color="grey", linewidth=0.8, linestyle=":")
        panel.set(xlabel=label, ylim=(30, 100))
        panel.spines[["top", "right"]].set_visible(False)
        print(at, np.round(shares, 3).tolist())
    panels[1].set_xscale("log", base=2)
    panels[1].set_xticks(*[[number for _, number in BY_NUMBER]] * 2)
    panels[0].set_ylabel("intervals that hold the truth, %")
    panels[0].legend(frameon=False, loc="lower left")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
