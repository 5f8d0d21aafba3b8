"""Four plots of two small studies.

    python docs/figures/plots.py docs/figures/plots.svg

Makes docs/figures/plots.svg, which docs/howto/plots.md shows: the baseball teams of
examples/data, by their games alone, and the patients of the demo with their features.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

from pairscore import RankRegression, plots
from pairscore.cli.demo_story import run_demo

GAMES = Path(__file__).parents[2] / "examples" / "data" / "baseball" / "votes.csv"


def main(path):
    """Draw the figure and write it to a file."""
    mpl.use("Agg")
    teams = RankRegression(side_effect=True).fit(None, pd.read_csv(GAMES))
    scores = run_demo(lambda text: None).model
    mpl.rcParams["svg.hashsalt"] = "plots"
    figure, panels = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
    plots.ranking(teams, ax=panels[0, 0])
    plots.win_matrix(teams, ax=panels[0, 1])
    plots.coefficients(scores, ax=panels[1, 0])
    plots.calibration(scores, ax=panels[1, 1])
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
