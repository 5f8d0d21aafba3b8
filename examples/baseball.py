"""Which team is the strongest, and how much does playing at home help?

    python examples/baseball.py

273 games of seven baseball teams (Agresti 2002, Categorical Data Analysis, p. 438). Nothing is
known about the teams except who won, so every team gets an ability: the Bradley-Terry model.
Prints the ranking and the home advantage, and writes baseball.svg.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pairscore import Comparisons, RankRegression, plots

GAMES = Path(__file__).parent / "data" / "baseball" / "votes.csv"  # left played at home
BLUE, ORANGE = "#0072B2", "#D55E00"
STYLE = {"font.size": 11, "axes.titlesize": 12}
STYLE |= {"axes.spines.top": False, "axes.spines.right": False}


def main(path="baseball.svg"):
    games = pd.read_csv(GAMES)
    model = RankRegression(side_effect=True).fit(None, games)

    ranking = model.rank()  # a table like the one that came in: here pandas
    print(ranking[["rank", "id", "score", "low", "high", "rank_low", "rank_high"]].round(2))
    home, error = model.side_effect_, model.side_effect_std_error_
    print(f"home advantage: {home:.3f} ± {error:.3f} on the scale of the log-odds")
    print(f"of two equal teams, the home team wins {100 / (1 + np.exp(-home)):.0f} of 100 games")

    mpl.rcParams.update(STYLE | {"svg.hashsalt": "baseball"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    plots.ranking(model, ax=left)
    left.set_title("Ability of each team")
    draw_win_rates(right, model, games, list(ranking["id"]))
    figure.savefig(path, metadata={"Date": None})
    return model, figure


def draw_win_rates(ax, model, games, teams):
    """Share of games that each team won at home and away: predicted (bars) and seen (dots)."""
    pairs = Comparisons.from_pairs(None, games["left"], games["right"])
    games = games.assign(
        home_wins=games["count"] * (games["winner"] == "left"),
        expected=games["count"] * model.predict_proba(pairs)[:, 1],
    )
    rows = np.arange(len(teams))
    for where, side, colour, shift in (("at home", "left", BLUE, -1), ("away", "right", ORANGE, 1)):
        sums = games.groupby(side)[["count", "home_wins", "expected"]].sum().loc[teams]
        share = sums[["home_wins", "expected"]].div(sums["count"], axis=0).to_numpy().T
        seen, predicted = share if side == "left" else 1 - share
        heights = rows + 0.16 * shift
        ax.plot(100 * predicted, heights, "|", color=colour, markersize=13, markeredgewidth=2.5)
        ax.plot(100 * seen, heights, "o", color=colour, markersize=6, label=where)
    ax.plot([], [], "|", color="#555555", markersize=11, markeredgewidth=2.5, label="predicted")
    ax.set_yticks(rows, teams)
    ax.set_ylim(len(teams) - 0.5, -0.5)
    ax.grid(color="#e5e5e5")
    ax.set_axisbelow(True)
    ax.set(xlim=(0, 100), xlabel="Games won (%)", title="Games won, seen and predicted")
    ax.legend(frameon=False, loc="lower right")


if __name__ == "__main__":
    main(*sys.argv[1:])
