"""The claims table: each sentence of the paper's experiments against our own numbers, by a stated
rule.

A claim whose figure was not run, or with fewer than three generations, is left out: there is
nothing to judge it by.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pairscore.paper.claims_of_errors import (
    comparisons_help,
    comparisons_stop_helping,
    convergence,
    grows_with_features,
    inverse_square,
    noise_raises_error,
    target_reached,
)
from pairscore.paper.claims_of_needs import (
    condition_raises_need,
    inverse_in_eigenvalue,
    linear_in_features,
    noise_raises_need,
)
from pairscore.paper.rows import Row, of_figure, with_numbers
from pairscore.paper.verdicts import Claim

FEWEST_GENERATIONS = 3


def check_claims(
    rows: Iterable[Row], needed: Iterable[Row] = (), predicted: Iterable[Row] = ()
) -> list[Claim]:
    """Judge every claim that the rows can decide, in the paper's order.

    ``predicted`` rows add what theory expects.
    """
    rows, needed, predicted = with_numbers(rows), with_numbers(needed), with_numbers(predicted)
    judged: list[tuple[Callable[..., Claim], Sequence[Row], tuple[Any, ...]]] = [
        (convergence, _panel_rows(rows, "2", "a"), ("norm_error",)),
        (inverse_square, _panel_rows(rows, "2", "a"), ()),
        (comparisons_help, _panel_rows(rows, "2", "b"), ("norm_error",)),
        (
            comparisons_stop_helping,
            _panel_rows(rows, "2", "b"),
            ("norm_error", of_figure(predicted, "2", "b")),
        ),
        (target_reached, _panel_rows(rows, "3"), (of_figure(needed, "5"),)),
        (convergence, _panel_rows(rows, "3"), ("angle",)),
        (grows_with_features, _panel_rows(rows, "3"), ()),
        (noise_raises_error, _panel_rows(rows, "3"), ()),
        (comparisons_help, _panel_rows(rows, "4"), ("angle",)),
        (comparisons_stop_helping, _panel_rows(rows, "4"), ("angle", of_figure(predicted, "4"))),
        (linear_in_features, _needed_rows(needed, "5"), ()),
        (noise_raises_need, _needed_rows(needed, "5"), ()),
        (condition_raises_need, _needed_rows(needed, "5"), ()),
        (inverse_in_eigenvalue, _needed_rows(needed, "6"), ()),
        (noise_raises_need, _needed_rows(needed, "6"), ()),
    ]
    return [judge(chosen, *more) for judge, chosen, more in judged if chosen]


def _panel_rows(rows: Sequence[Row], figure: str, panel: str | None = None) -> list[Row]:
    """The rows to judge by; none if there are too few generations."""
    mine = of_figure(rows, figure, panel)
    return mine if len({row["generation"] for row in mine}) >= FEWEST_GENERATIONS else []


def _needed_rows(needed: Sequence[Row], figure: str) -> list[Row]:
    mine = [
        row
        for row in of_figure(needed, figure)
        if np.isfinite([row["n_needed"], row["low"], row["high"]]).all()
    ]
    return (
        mine if min((row["n_generations"] for row in mine), default=0) >= FEWEST_GENERATIONS else []
    )
