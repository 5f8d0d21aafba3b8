"""Which of two weights is heavier: how fine is the sense, and does the order matter?

    python examples/weights.py

People lifted two of five weights (90 to 110 g), one after the other, and said which was heavier:
1,000 comparisons (Beaver and Gokhale 1975, Communications in Statistics 4, 923-939). The mass is
the only feature. Prints the coefficients and what they mean in grams, and writes weights.svg.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pairscore import RankRegression

DATA = Path(__file__).parent / "data" / "heaviness"  # left was lifted first
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
STYLE = {"font.size": 11, "axes.titlesize": 12}
STYLE |= {"axes.spines.top": False, "axes.spines.right": False}


def main(path="weights.svg"):
    weights, lifts = pd.read_csv(DATA / "items.csv"), pd.read_csv(DATA / "votes.csv")
    model = RankRegression(side_effect=True, inference="model").fit(weights, lifts)

    per_gram, first = model.coef_[0], model.side_effect_
    equal, threshold = -first / per_gram, np.log(3) / per_gram
    print(f"mass: {per_gram:.4f} ± {model.std_errors_[0]:.4f} per gram")
    print(f"lifted first: {first:.4f} ± {model.side_effect_std_error_:.4f}")
    print(f"the first weight must be {equal:.1f} g heavier to feel equal")
    print(f"a further {threshold:.1f} g are noticed in 75 of 100 comparisons")

    mpl.rcParams.update(STYLE | {"svg.hashsalt": "weights"})
    figure, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
    grams = np.linspace(-22, 22, 300)
    ax.plot(grams, 100 / (1 + np.exp(-per_gram * grams - first)), color=BLUE, label="fitted curve")
    neutral = 100 / (1 + np.exp(-per_gram * grams))
    ax.plot(grams, neutral, ":", color=GREY, label="if the order did not matter")
    draw_shares(ax, weights, lifts)
    ax.plot([equal, equal, -22], [0, 50, 50], color=ORANGE, linewidth=1)
    ax.annotate(
        f"feel equal when the first\nis {equal:.1f} g heavier",
        (equal, 50),
        (6, 30),
        color=ORANGE,
        arrowprops={"arrowstyle": "-", "color": ORANGE},
    )
    ax.set(
        xlim=(-22, 22),
        ylim=(0, 100),
        xlabel="Mass of the first weight minus mass of the second (g)",
        ylabel="First called heavier (%)",
        title="The weight that is lifted second feels heavier",
    )
    ax.legend(frameon=False, loc="upper left")
    figure.savefig(path, metadata={"Date": None})
    return model, figure


def draw_shares(ax, weights, lifts):
    """The share of answers "the first is heavier" for each ordered pair, with 95 % intervals."""
    mass = weights.set_index("id")["mass"]
    table = lifts.pivot_table(index=["left", "right"], columns="winner", values="count").fillna(0)
    n = table.sum(axis=1).to_numpy()
    share = table["left"].to_numpy() / n
    gap = [mass[first] - mass[second] for first, second in table.index]
    middle, half = wilson(share, n)
    ax.vlines(gap, 100 * (middle - half), 100 * (middle + half), color=BLUE, alpha=0.25)
    ax.plot(gap, 100 * share, "o", color=BLUE, label="a pair of weights (95 % interval)")


def wilson(share, n):
    """Middle and half the width of Wilson's interval for a share of n answers."""
    z2 = 1.96**2
    half = 1.96 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return (share + z2 / (2 * n)) / (1 + z2 / n), half


if __name__ == "__main__":
    main(*sys.argv[1:])
