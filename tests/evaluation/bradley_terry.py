"""Drawn and published studies, and what R says of these (``bradley_terry.R`` wrote it)."""

from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(__file__).parents[2] / "examples" / "data"
NUMBERS = Path(__file__).with_name("bradley_terry.txt")


def read_study(name):
    """Items and votes."""
    return pd.read_csv(DATA / name / "items.csv"), pd.read_csv(DATA / name / "votes.csv")


def r_numbers(study, of):
    """By name, the number or numbers of one study."""
    rows = [line.split() for line in NUMBERS.read_text().splitlines()]
    found = {row[2]: [float(cell) for cell in row[3:]] for row in rows if row[:2] == [study, of]}
    return {name: cells[0] if len(cells) == 1 else cells for name, cells in found.items()}


def draw_study(seed=0, n_items=60, n_votes=500, coef=(0.7, -0.4, 0.0, 0.0), spread=0.0, side=0.0):
    """A table of items with features a, b, ... and votes with a context column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, len(coef)))
    score = X @ np.array(coef) + spread * rng.normal(size=n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    rest = rng.normal(size=n_votes)
    won = rng.logistic(size=n_votes) < score[left] - score[right] + side + 0.3 * rest
    items = pd.DataFrame(X, columns=list("abcdefgh"[: len(coef)]))
    items.insert(0, "id", np.arange(n_items))
    winner = np.where(won, "left", "right")
    return items, pd.DataFrame({"left": left, "right": right, "winner": winner, "rest": rest})


def some(items, names):
    return items[["id", *names]]
