"""An angle as a share of misordered pairs, in three panels.

Python docs/figures/angle.py docs/figures/angle.svg

Makes docs/figures/angle.svg, which docs/explanation/angle.md shows: why the share is the angle over
pi, which pairs are misordered, and the share counted on normal and on skewed items.
"""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr

from pairscore import kendall_distance

BLUE, ORANGE, GREY = "#1f5a96", "#c8641c", "#8a8a8a"
TURN = 0.5  # radians, of the first panel
SHARES = {0.02: ":", 0.05: "-", 0.1: "--", 0.2: "-."}  # misordered, of the second panel
N_ITEMS = 2000


def draw_wedge(axes):
    """Whitened differences of random pairs, on the plane of the two directions."""
    pairs = np.random.default_rng(0).normal(size=(800, 2))
    estimate = np.array([np.cos(TURN), np.sin(TURN)])
    wrong = np.sign(pairs[:, 0]) != np.sign(pairs @ estimate)
    axes.plot(*pairs[~wrong].T, ".", color=GREY, markersize=2, label="right order")
    axes.plot(*pairs[wrong].T, ".", color=ORANGE, markersize=3, label="wrong order")
    for direction, name in (([1, 0], "truth"), (estimate, "estimate")):
        tip = 2.6 * np.array(direction)
        axes.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": BLUE, "lw": 1.8})
        axes.annotate(name, 1.05 * tip, color=BLUE, va="center")
    axes.set(title=f"θ = {TURN}: {100 * TURN / np.pi:.0f} % are in the wedges", aspect="equal")
    axes.set(xlim=(-3.6, 4.2), ylim=(-3.6, 4.6), xticks=[], yticks=[])
    axes.legend(loc="upper left", frameon=False, markerscale=4, ncols=2, handletextpad=0)


def draw_gaps(axes):
    """Chance that a pair is misordered, against how far apart it is."""
    gap = np.linspace(0, 2, 300)
    for share, dash in SHARES.items():
        wrong = ndtr(-gap / np.tan(np.pi * share))
        axes.plot(gap, wrong, dash, color=BLUE, label=f"{100 * share:.0f} % misordered overall")
    axes.set(title="Close pairs are misordered", ylabel="chance that a pair is misordered")
    axes.set(xlabel="true difference, in its standard deviations", xlim=(0, 2), ylim=(0, 0.5))
    axes.legend(frameon=False)


def draw_counts(axes):
    """The share counted on many items, whose features are normal or very skewed."""
    rng, turns = np.random.default_rng(1), np.linspace(0.05, 1.5, 12)
    laws = {"normal features": (BLUE, "o"), "exponential features": (ORANGE, "^")}
    for name, (colour, marker) in laws.items():
        normal = name.startswith("normal")
        draw = rng.normal if normal else rng.standard_exponential
        X = draw(size=(N_ITEMS, 2))
        counted = [kendall_distance(X[:, 0], X @ [np.cos(one), np.sin(one)]) for one in turns]
        axes.plot(turns, counted, marker, color=colour, fillstyle="none", label=name)
    axes.plot([0, np.pi / 2], [0, 0.5], color=GREY, label="θ/π")
    axes.set(title="Counted on 2000 items", xlabel="θ, radians", ylabel="share of misordered pairs")
    axes.legend(frameon=False)


def main(path):
    """Draw the three panels into a file."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "angle"
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    for draw, axes in zip((draw_wedge, draw_gaps, draw_counts), panels, strict=True):
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
