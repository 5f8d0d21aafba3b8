"""What pairscore does, in one picture, from the data of the demo.

    python docs/figures/hero.py docs/figures/hero.svg

Left: a pair of real patients and a judge's answer. Right: twelve patients who were never compared,
ranked by their features, with intervals after 300 and after all 3,000 comparisons of the demo.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import FancyBboxPatch

from pairscore import RankRegression
from pairscore.cli.demo_story import run_demo

INK, GREY, BLUE, PALE, GREEN = "#1f2933", "#5b6670", "#0072B2", "#9cc9e3", "#00805e"
SHOWN = {
    "age": "age {:.0f}",
    "bmi": "BMI {:.1f}",
    "blood_pressure": "blood pressure {:.0f}",
    "glucose": "glucose {:.0f}",
}
N_FEW, N_SHOWN, COMPARISON = 300, 12, 3
STYLE = {"svg.hashsalt": "hero", "font.size": 10.5, "text.color": INK, "axes.edgecolor": GREY}
STYLE |= {"axes.labelcolor": INK, "xtick.color": GREY, "ytick.color": INK}
STYLE |= {f"axes.spines.{side}": False for side in ("top", "right", "left")}


def demo_tables():
    """Patients that were compared, comparisons, and new patients, as the demo leaves them."""
    with TemporaryDirectory() as name:
        run_demo(lambda text: None, folder=Path(name))
        files = ("items", "comparisons", "new_items")
        return [pd.read_csv(Path(name) / f"{file}.csv") for file in files]


def draw_card(ax, bottom, patient, chosen):
    """A patient as the judge sees it: name and four features."""
    colour, width = (GREEN, 2.2) if chosen else ("#c3cad1", 1.2)
    box = FancyBboxPatch(
        (0.02, bottom), 0.94, 0.4, boxstyle="round,pad=0,rounding_size=0.03",
        facecolor="#f6f8fa", edgecolor=colour, linewidth=width,
    )  # fmt: skip
    ax.add_patch(box)
    name = patient["id"].capitalize()
    ax.text(0.07, bottom + 0.315, name, weight="bold", va="center")
    if chosen:
        ax.text(0.9, bottom + 0.315, "✓ worse", color=GREEN, weight="bold", va="center", ha="right")
    for row, (column, words) in enumerate(SHOWN.items()):
        place = 0.07 + 0.53 * (row % 2), bottom + 0.18 - 0.1 * (row // 2)
        ax.text(*place, words.format(patient[column]), color=GREY, va="center", size=10)


def draw_pair(ax, items, comparison):
    """A comparison: two patients, and which one the judge calls worse."""
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.axis("off")
    patients = items.set_index("id", drop=False)
    for bottom, side in ((0.56, "left"), (0.02, "right")):
        draw_card(ax, bottom, patients.loc[comparison[side]], comparison["winner"] == side)
    ax.text(0.49, 0.485, "or", color=GREY, ha="center", va="center")
    ax.set_title("1. Judges compare: who is worse?", loc="left", weight="bold")


def draw_ranking(ax, few, many, new):
    """New patients by their score after all comparisons, with intervals of both fits."""
    ranked = many.rank(new)
    chosen = ranked.iloc[np.linspace(0, len(ranked) - 1, N_SHOWN).round().astype(int)]
    rows = np.arange(N_SHOWN)
    earlier = few.rank(new).set_index("id").loc[chosen["id"]]
    ax.hlines(rows + 0.17, earlier["low"], earlier["high"], color=PALE, linewidth=2.5)
    ax.plot(earlier["score"], rows + 0.17, "o", color=PALE, markersize=4)
    ax.hlines(rows - 0.13, chosen["low"], chosen["high"], color=BLUE, linewidth=2.5)
    ax.plot(chosen["score"], rows - 0.13, "o", color=BLUE, markersize=5)
    ax.plot([], [], "o-", color=PALE, linewidth=2.5, label="after 300 comparisons")
    ax.plot([], [], "o-", color=BLUE, linewidth=2.5, label="after 3,000 comparisons")
    ax.set_yticks(rows, [name.capitalize() for name in chosen["id"]])
    ax.tick_params("y", length=0)
    ax.set_ylim(N_SHOWN - 0.4, -0.7)
    ax.grid(axis="x", color="#e4e8eb")
    ax.set_axisbelow(True)
    ax.set_xlabel("Severity score, with 95 % interval")
    ax.set_title("2. New patients are ranked, with intervals", loc="left", weight="bold")
    ax.legend(frameon=True, edgecolor="white", framealpha=1, loc="lower right", fontsize=10)


def main(path):
    """Draw the picture and write it to a file."""
    items, comparisons, new = demo_tables()
    few, many = (RankRegression().fit(items, comparisons[:n]) for n in (N_FEW, len(comparisons)))
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    figure, panels = plt.subplots(
        1, 2, figsize=(9, 4.2), width_ratios=(4, 5), layout="constrained", facecolor="white"
    )
    figure.get_layout_engine().set(w_pad=0.16, h_pad=0.14)
    draw_pair(panels[0], items, comparisons.iloc[COMPARISON])
    draw_ranking(panels[1], few, many, new)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
