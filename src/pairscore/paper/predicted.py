"""Our predicted curves for the figures.

No draw, no fit, the error law alone, on a finer grid than the simulation's.

Populations are those of the experiments: any direction of beta as likely as any other, eigenvalues
equally spaced. Rows of figures 2 to 4 and 7 carry the predicted errors, rows of 5, 6 and 8 the
predicted N.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from pairscore.core.links import get_link
from pairscore.paper.experiments import TARGET, figure_cells, needs, paper_comparisons
from pairscore.theory.direction_error import LabelConstants
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.predict import ErrorLaw

POINTS = 17  # along x; eight in figures 5, 6 and 8, where each point is solved for
NEEDED_POINTS = 8
CURVE = ("figure", "panel", "n_features", "min_eigenvalue", "noise", "method")
MOST_ITEMS = 1e8


def predicted_errors(figures: Iterable[str] = ("2", "3", "4", "7")) -> list[dict[str, Any]]:
    """Rows of the predicted angle and norm error along every curve of these figures.

    Where only M grows, one row more has M = inf: the floor that no number of comparisons gets
    below.
    """
    rows = []
    for figure in figures:
        for curve, cells in _by_curve(figure_cells(figure, 1)).items():
            for n, m in _sizes(cells):
                errors = _law(curve[2], curve[3], curve[4]).errors(n, m, curve[5])
                means = {name: float(errors[name].mean()) for name in ("angle", "norm_error")}
                rows.append(
                    {
                        **dict(zip(CURVE, curve, strict=True)),
                        "n_items": n,
                        "n_comparisons": m,
                        **means,
                    }
                )
    return rows


def predicted_needs(figures: Iterable[str] = ("5", "6", "8")) -> list[dict[str, Any]]:
    """Rows of the predicted N for the target angle, along d or along the smallest eigenvalue."""
    rows = []
    for figure in figures:
        varied, kept = (
            ("min_eigenvalue", "n_features") if figure == "6" else ("n_features", "min_eigenvalue")
        )
        points = needs(figure)
        ends = [getattr(point, varied) for point in points]
        grid = (
            np.geomspace(min(ends), max(ends), NEEDED_POINTS)
            if figure == "6"
            else np.linspace(min(ends), max(ends), NEEDED_POINTS).round().astype(int)
        )
        for panel, fixed, noise, method in dict.fromkeys(
            (point.panel, getattr(point, kept), point.noise, point.method) for point in points
        ):
            for value in grid.tolist():
                row = {
                    "figure": figure,
                    "panel": panel,
                    varied: value,
                    kept: fixed,
                    "noise": noise,
                    "method": method,
                }
                rows.append(
                    {
                        **row,
                        "n_needed": size_for_angle(
                            _law(row["n_features"], row["min_eigenvalue"], noise), method
                        ),
                    }
                )
    return rows


def size_for_angle(law: ErrorLaw, method: str, angle: float = TARGET) -> float:
    """The N, not rounded, at which the predicted mean angle with M = N log N comparisons is
    ``angle``.
    """

    def excess(log_n: float) -> float:
        n = float(np.exp(log_n))
        return float(np.log(law.errors(n, n * np.log(n), method)["angle"].mean() / angle))

    fewest = law.n_features + 5.0
    return (
        fewest
        if excess(np.log(fewest)) <= 0
        else float(np.exp(brentq(excess, np.log(fewest), np.log(MOST_ITEMS), xtol=1e-4)))
    )


def _by_curve(cells: Iterable[Any]) -> dict[tuple[Any, ...], list[Any]]:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for cell in cells:
        found.setdefault(tuple(getattr(cell, name) for name in CURVE), []).append(cell)
    return found


def _sizes(cells: list[Any]) -> list[tuple[int, float]]:
    """N and M along a curve: both grow together, or M alone, and then up to infinity."""
    n, m = ([getattr(cell, name) for cell in cells] for name in ("n_items", "n_comparisons"))
    if len(set(n)) == 1:
        return [(n[0], round(size)) for size in np.geomspace(min(m), max(m), POINTS).tolist()] + [
            (n[0], np.inf)
        ]
    return [
        (round(size), paper_comparisons(round(size)))
        for size in np.geomspace(min(n), max(n), POINTS).tolist()
    ]


@lru_cache(maxsize=256)
def _law(n_features: int, min_eigenvalue: float, noise: float) -> ErrorLaw:
    """The law of one curve; the costly parts are shared.

    Nodes depend on the items alone, constants of the labels on the noise alone.
    """
    law = _items(n_features, min_eigenvalue).with_noise(noise)
    law.__dict__["constants"] = _constants(noise)
    return law


@lru_cache(maxsize=256)
def _items(n_features: int, min_eigenvalue: float) -> ErrorLaw:
    link = get_link("logit")
    return ErrorLaw(np.linspace(1.0, min_eigenvalue, n_features), link, spread_for_noise(link, 0.2))


@lru_cache(maxsize=16)
def _constants(noise: float) -> LabelConstants:
    return _items(2, 1.0).with_noise(noise).constants
