"""Log-loss with features, identities and both, from the table that the benchmark has written.

Python docs/figures/item_effects.py docs/figures/item_effects.svg

Makes docs/figures/item_effects.svg, which docs/explanation/item_effects.md shows. The numbers are
those that `python -m benchmarks.item_effects loss --write` puts on that page.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

PAGE = Path(__file__).parents[1] / "explanation" / "item_effects.md"
FAMILIES = ("features explain 92 %", "features explain 50 %", "features explain 8 %")
CURVES = {"item effects": (2, "D-"), "features": (3, "s--"), "identities": (5, "^:")}


def read_rows(family):
    """Cells of a family's rows of the table, as text."""
    table = PAGE.read_text(encoding="utf-8").partition("<!-- loss -->")[2]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] == family]


def main(path):
    """Draw one panel for each family."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "item_effects"
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
    for panel, family in zip(panels, FAMILIES, strict=True):
        rows = read_rows(family)
        numbers = [int(row[1]) for row in rows]
        for name, (column, style) in CURVES.items():
            panel.plot(numbers, [float(row[column]) for row in rows], style, label=name, ms=4)
        panel.set(xscale="log", xlabel="comparisons per item")
        panel.set_title(family, fontsize=11)
        panel.set_xticks(numbers, numbers)
        panel.minorticks_off()
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("log-loss on new comparisons")
    panels[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
