"""Error of the four estimators against the number of comparisons, for random and matched pairs.

Python docs/figures/estimators.py docs/figures/estimators.svg

Makes docs/figures/estimators.svg, which docs/explanation/methods.md shows.
"""

import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from pairscore import Comparisons, PairscoreWarning, RankRegression

N_ITEMS, N_STUDIES = 300, 60
SIZES = (300, 600, 1200, 2400, 4800, 9600)
BETA = np.array([1.2, -0.6, 0.4, 0.0, 0.0])
STYLES = {"split": "o:", "pooled": "s--", "paired": "^-.", "mle": "D-"}


def draw(n_comparisons, matched, rng):
    """Correlated items, of which the second half is never compared, and their comparisons.

    In matched pairs the partner is the one of six whose first feature is nearest.
    """
    shared = rng.normal(size=(2 * N_ITEMS, 1))
    X = np.sqrt(0.5) * (rng.normal(size=(2 * N_ITEMS, len(BETA))) + shared)
    left, *partners = rng.integers(0, N_ITEMS, size=(7 if matched else 2, n_comparisons))
    nearest = np.argmin([np.abs(X[left, 0] - X[one, 0]) for one in partners], axis=0)
    right = np.array(partners)[nearest, np.arange(n_comparisons)]
    apart = left != right
    left, right = left[apart], right[apart]
    won = rng.random(len(left)) < expit((X[left] - X[right]) @ BETA)
    return Comparisons(X, left, right, np.where(won, 1, -1))


def angle(coef):
    """Between an estimate and the truth, in degrees."""
    cosine = coef @ BETA / np.linalg.norm(coef) / np.linalg.norm(BETA)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def mean_angles(matched, rng):
    """Of every method (rows) for every number of comparisons."""
    found = np.empty((len(STYLES), len(SIZES), N_STUDIES))
    for column, size in enumerate(SIZES):
        for number in range(N_STUDIES):
            data = draw(size, matched, rng)
            for row, method in enumerate(STYLES):
                model = RankRegression(method=method, inference=None).fit(data)
                found[row, column, number] = angle(model.coef_)
    return found.mean(axis=2)


def main(path):
    """Draw both panels."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "estimators"
    warnings.simplefilter("ignore", PairscoreWarning)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for panel, matched in zip(panels, (False, True), strict=True):
        angles = mean_angles(matched, np.random.default_rng(int(matched)))
        for (method, style), row in zip(STYLES.items(), angles, strict=True):
            panel.plot(SIZES, row, style, label=method, markersize=4)
        panel.set(xscale="log", yscale="log", xlabel="comparisons")
        panel.set_title("matched pairs" if matched else "random pairs", fontsize=11)
        panel.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
        panel.set_yticks([2, 5, 10, 20, 40], ["2°", "5°", "10°", "20°", "40°"])
        panel.minorticks_off()
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
        print(panel.get_title(), np.round(angles, 1).tolist())
    panels[0].set_ylabel("mean angle to the truth")
    panels[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
