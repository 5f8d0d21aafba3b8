"""The link, the noise and two rules for ties, in three panels.

Python docs/figures/model.py docs/figures/model.svg

Makes docs/figures/model.svg, which docs/explanation/model.md shows.
"""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from pairscore.core.links import get_link
from pairscore.core.ties import TieRule
from pairscore.theory import spread_for_noise

BLUE, ORANGE, GREY = "#1f5a96", "#c8641c", "#8a8a8a"
PROBIT_UNIT = 1.7  # units of the logit link in one of the probit link, about
LABELS = {"xlabel": "score of left minus score of right"}


def draw_links(axes):
    """Both links, the probit one stretched to the unit of the other."""
    difference = np.linspace(-5, 5, 400)
    axes.plot(difference, get_link("logit").cdf(difference), color=BLUE, label="logit")
    stretched = get_link("probit").cdf(difference / PROBIT_UNIT)
    axes.plot(difference, stretched, "--", color=ORANGE, label="probit, stretched by 1.7")
    axes.plot([-5, 1], [0.731, 0.731], ":", color=GREY)
    axes.annotate("1 point ahead: 73 of 100", (1, 0.731), (-4.8, 0.78), color=GREY)
    axes.set(title="The link", ylabel="probability that left wins", xlim=(-5, 5), **LABELS)
    axes.legend(loc="lower right", frameon=False)


def draw_noise(axes, noise=0.2):
    """Differences of random pairs, and how many of them are won by the lower item."""
    link = get_link("logit")
    sd = np.sqrt(2) * spread_for_noise(link, noise)
    difference = np.linspace(-3.2 * sd, 3.2 * sd, 401)
    density = np.exp(-0.5 * (difference / sd) ** 2) / sd / np.sqrt(2 * np.pi)
    flipped = density * link.cdf(-np.abs(difference))
    axes.plot(difference, density, color=BLUE, label="all random pairs")
    axes.fill_between(difference, flipped, color=ORANGE, alpha=0.7, label="the lower item wins")
    axes.set(title=f"The noise: {100 * noise:.0f} % of the area", yticks=[], ylim=(0, 0.23))
    axes.set(ylabel="share of pairs", **LABELS)
    axes.legend(loc="upper left", frameon=False)


def draw_ties(axes):
    """Chance of a tie by both rules, with the same chance for equal items."""
    link, difference, share = get_link("logit"), np.linspace(-6, 6, 400), 0.3
    rules = {"davidson": (BLUE, "-"), "rao-kupper": (ORANGE, "--")}
    for name, (colour, dash) in rules.items():
        rule = TieRule(name, link)
        tie = rule.probabilities(difference, rule.start(share))[1]
        axes.plot(difference, tie, dash, color=colour, label=f'ties="{name}"')
    axes.set(title="Ties", ylabel="probability of a tie", ylim=(0, 0.4), **LABELS)
    axes.legend(loc="upper right", frameon=False)


def main(path):
    """Draw the three panels into a file."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "model"
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for draw, axes in zip((draw_links, draw_noise, draw_ties), panels, strict=True):
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
