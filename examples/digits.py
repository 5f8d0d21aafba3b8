"""Many features or none: what is learnt from 100 comparisons, and from 10,000?

    python examples/digits.py

1,797 images of handwritten digits with 64 numbers each (they come with scikit-learn; an embedding
of a text would be used in the same way). The question for a pair of images is which one shows the
larger number; one simulated answer in ten is wrong. Three models learn from comparisons of 400
images and are tested on other pairs of these, and on pairs of the 1,397 images never compared:

- features: a score of the 64 numbers, with a ridge chosen from the data (l2="auto");
- identities: an ability for each image, without features (the Bradley-Terry model);
- both: features and an effect of each image (item_effects=True).

Prints the share of test pairs that each model orders correctly, and writes digits.svg.
"""

import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from pairscore import Comparisons, PairscoreWarning, RankRegression

SIZES = (100, 300, 1000, 3000, 10_000)
N_COMPARED, N_TESTED, WRONG = 400, 5000, 0.1
MODELS = {
    "features": {"l2": "auto"},
    "identities": {"item_effects": True},
    "both": {"l2": "auto", "item_effects": True},
}
STYLES = {"features": ("#0072B2", "o-"), "identities": ("#D55E00", "s--"), "both": ("#333", "^:")}
STYLE = {"font.size": 11, "axes.titlesize": 12}
STYLE |= {"axes.spines.top": False, "axes.spines.right": False}


def draw_pairs(images, digits, n, rng):
    """Random pairs of images that show different numbers: two arrays of row numbers."""
    left, right = rng.choice(images, (2, 2 * n))
    different = digits[left] != digits[right]
    return left[different][:n], right[different][:n]


def accuracies():
    """A table: model, comparisons, share of test pairs in order, of known and of new images."""
    rng = np.random.default_rng(1)
    digits = load_digits()
    ids = np.array([f"image {row}" for row in range(len(digits.target))])
    items = pd.DataFrame(digits.data, columns=digits.feature_names)
    items.insert(0, "id", ids)
    known, new = np.split(rng.permutation(len(ids)), [N_COMPARED])
    left, right = draw_pairs(known, digits.target, SIZES[-1], rng)
    left_is_larger = (digits.target[left] > digits.target[right]) ^ (rng.random(len(left)) < WRONG)
    votes = {
        "left": ids[left],
        "right": ids[right],
        "winner": np.where(left_is_larger, "left", "right"),
    }
    votes = pd.DataFrame(votes)
    tests = {
        kind: draw_pairs(images, digits.target, N_TESTED, rng)
        for kind, images in (("known", known), ("new", new))
    }
    rows = []
    for size in SIZES:
        for name, settings in MODELS.items():
            table = None if name == "identities" else items
            model = RankRegression(inference=None, **settings).fit(table, votes[:size])
            row = {"model": name, "comparisons": size}
            for kind, (first, second) in tests.items():
                larger = digits.target[first] > digits.target[second]
                row[kind] = share_in_order(model, table, ids[first], ids[second], larger)
            rows.append(row)
    return pd.DataFrame(rows)


def share_in_order(model, items, first, second, first_is_larger):
    """The share of pairs in order; a coin is tossed for an image that a model does not know."""
    right = np.full(len(first), 0.5)
    if items is None:
        known = model.rank()["id"]
        open_pairs = np.isin(first, known) & np.isin(second, known)
    else:
        open_pairs = np.ones(len(first), bool)
    if open_pairs.any():
        pairs = Comparisons.from_pairs(items, first[open_pairs], second[open_pairs])
        chance = model.predict_proba(pairs)[:, 1]
        right[open_pairs] = (chance > 0.5) == first_is_larger[open_pairs]
    return right.mean()


def main(path="digits.svg"):
    warnings.simplefilter("ignore", PairscoreWarning)  # 100 comparisons are few: so they say
    table = accuracies()
    print(table.pivot(index="comparisons", columns="model", values=["known", "new"]).round(3))

    mpl.rcParams.update(STYLE | {"svg.hashsalt": "digits"})
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    titles = ("Other pairs of the compared images", "Pairs of images never compared")
    for ax, kind, title in zip(panels, ("known", "new"), titles, strict=True):
        for name, (colour, style) in STYLES.items():
            curve = table[table["model"] == name]
            ax.plot(curve["comparisons"], 100 * curve[kind], style, color=colour, label=name)
        ax.set(xscale="log", title=title, xlabel="Comparisons to learn from", ylim=(45, 100))
        ax.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
        ax.minorticks_off()
        ax.grid(axis="y", color="#dddddd")
    panels[0].set_ylabel("Pairs in the right order (%)")
    panels[0].legend(frameon=False, loc="upper left")
    figure.savefig(path, metadata={"Date": None})
    return table, figure


if __name__ == "__main__":
    main(*sys.argv[1:])
