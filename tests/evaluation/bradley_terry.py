"""Published studies, and what R says of them (``bradley_terry.R`` wrote ``bradley_terry.txt``)."""

from pathlib import Path

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
