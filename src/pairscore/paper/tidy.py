"""Rows as they come from a file, made ready to draw and to judge: numbers out of text, curves out of rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Row = Mapping[str, Any]
WORDS = {"job", "figure", "panel", "method", "engine", "version", "scenario", "term", "kind", "label"}


class Curve(NamedTuple):
    """One quantity along x: its mean over the generations, their standard deviation, and the values themselves (one list for each x)."""

    x: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    values: list[np.ndarray]

    @property
    def std_error(self) -> np.ndarray:
        return self.sd / np.sqrt([len(values) for values in self.values])


def with_numbers(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The same rows with numbers where a file has only text; what is missing is nan."""
    return [{name: value if name in WORDS or not isinstance(value, str) else float(value or "nan") for name, value in row.items()} for row in rows]


def of_figure(rows: Iterable[Row], figure: str, panel: str | None = None) -> list[Row]:
    """The rows of a figure, or of one panel."""
    return [row for row in rows if row["figure"] == figure and panel in (None, row["panel"])]


def levels(rows: Iterable[Row], name: str) -> list[Any]:
    """The values that a column takes: numbers from small to large, words as they first come."""
    found = list(dict.fromkeys(row[name] for row in rows))
    return found if any(isinstance(value, str) for value in found) else sorted(found)


def curves(rows: Sequence[Row], by: str, x: str, y: str) -> dict[Any, Curve]:
    """For each value of ``by``, the mean of ``y`` along ``x`` with its standard deviation (nan for a single generation)."""
    found = {}
    for level in levels(rows, by):
        mine = [row for row in rows if row[by] == level]
        places = levels(mine, x)
        values = [np.array([row[y] for row in _in_order(mine) if row[x] == place]) for place in places]
        sd = np.array([group.std(ddof=1) if len(group) > 1 else np.nan for group in values])
        found[level] = Curve(np.array(places, dtype=float), np.array([group.mean() for group in values]), sd, values)
    return found


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """By generation, so that the same place in two lists is the same population."""
    return sorted(rows, key=lambda row: row.get("generation", 0))
