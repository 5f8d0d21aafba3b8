"""Knots and bends against other ways to natural cubic splines, on easy and hard columns."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from pairscore import PairscoreError
from pairscore.data.curves import FEWEST_KNOTS, bends, bends_at_knots, check_knots, find_knots
from tests.data.conftest import refused


def columns(rng):
    """Columns by what is hard about them."""
    mostly_zero = np.where(rng.random(300) < 0.9, 0.0, rng.normal(size=300))
    return {
        "normal": rng.normal(size=200),
        "few items": rng.normal(size=12),
        "three values": rng.integers(0, 3, 80).astype(float),
        "mostly one value": mostly_zero,
        "two far away": np.r_[np.zeros(98), 1.0, 1e6],
        "heavy tail": rng.exponential(size=60) ** 4,
        "huge offset": 1e9 + rng.normal(size=200),
        "missing values": np.where(rng.random(200) < 0.3, np.nan, rng.normal(size=200)),
    }


HARD = columns(np.random.default_rng(36))
HARD_COLUMNS = pytest.mark.parametrize("name", HARD)


def truncated_powers(x, knots):
    """The basis 1, x, N_3, ..., N_K of natural cubic splines from truncated powers, one by one."""
    t = [(knot - knots[0]) / (knots[-1] - knots[0]) for knot in knots]
    u = [(one - knots[0]) / (knots[-1] - knots[0]) for one in x]

    def d(k, one):
        cubes = max(one - t[k], 0) ** 3 - max(one - t[-1], 0) ** 3
        return cubes / (t[-1] - t[k])

    n = len(knots)
    return np.array([[1, one, *(d(k, one) - d(n - 2, one) for k in range(n - 2))] for one in u])


@HARD_COLUMNS
def test_bends_and_the_line_span_the_natural_splines_of_truncated_powers(name):
    values = HARD[name]
    knots = find_knots(values, name)
    reach = knots[-1] - knots[0]
    x = knots[0] + reach * np.linspace(-2, 3, 400)  # also beyond the ends
    ours = np.column_stack([np.ones(400), (x - knots[0]) / reach, bends(x, knots)])
    twin = truncated_powers(x, knots)
    for one, other in ((ours, twin), (twin, ours)):
        size = np.abs(one).max(axis=0)
        fitted = (other / np.abs(other).max(axis=0)) @ np.linalg.lstsq(
            other / np.abs(other).max(axis=0), one / size, rcond=None
        )[0]
        np.testing.assert_allclose(fitted, one / size, atol=1e-6)


def test_the_spline_through_points_is_that_of_scipy():
    rng = np.random.default_rng(0)
    knots = np.sort(rng.normal(50, 20, 7))
    heights = rng.normal(size=7)
    basis = np.column_stack([np.ones(7), knots, bends(knots, knots)])
    coef = np.linalg.solve(basis, heights)
    x = np.linspace(knots[0], knots[-1], 300)
    ours = np.column_stack([np.ones(300), x, bends(x, knots)]) @ coef
    scipys = CubicSpline(knots, heights, bc_type="natural")
    np.testing.assert_allclose(ours, scipys(x), atol=1e-10)
    # beyond the ends, SciPy's goes on as a cubic: the wrong variant
    beyond = knots[-1] + np.array([20.0, 40.0, 60.0])
    straight = np.column_stack([np.ones(3), beyond, bends(beyond, knots)]) @ coef
    assert np.ptp(np.diff(straight)) < 1e-10 * np.abs(straight).max()
    assert np.abs(straight - scipys(beyond)).max() > 0.1


def test_bends_are_orthonormal_at_the_knots_and_have_no_linear_part():
    place = np.array([0.0, 0.1, 0.35, 0.8, 1.0])
    shapes = bends_at_knots(place)
    whole = np.column_stack([np.ones(5), place, shapes])
    np.testing.assert_allclose(shapes.T @ shapes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(whole[:, :2].T @ shapes, 0, atol=1e-12)
    changes = (np.diff(np.sign(bends(np.linspace(0, 1, 999), place)), axis=0) != 0).sum(axis=0)
    assert changes.tolist() == [2, 3, 4]  # a U, an S, a W


@pytest.mark.parametrize(("shift", "unit"), [(0, 1e-6), (1e8, 1), (-3e5, 1e4)])
def test_bends_do_not_depend_on_offset_and_unit(shift, unit):
    x = np.round(np.random.default_rng(1).normal(size=100), 3)
    plain = bends(x, find_knots(x, "x"))
    moved = shift + unit * x
    rounding = 1e-14 * (1 + abs(shift) / unit)
    np.testing.assert_allclose(bends(moved, find_knots(moved, "x")), plain, atol=100 * rounding)


@HARD_COLUMNS
def test_knots_rise_and_bends_are_finite_where_values_are(name):
    values = HARD[name]
    knots = find_knots(values, name)
    assert len(knots) >= FEWEST_KNOTS
    assert np.all(np.diff(knots) > 0)
    shapes = bends(values, knots)
    assert np.array_equal(np.isnan(shapes).any(axis=1), np.isnan(values))
    assert np.linalg.matrix_rank(np.nan_to_num(shapes)) == len(knots) - 2


def test_more_items_have_more_knots_at_their_quantiles():
    x = np.arange(1000.0)
    assert [len(find_knots(x[:n], "x")) for n in (29, 30, 99, 100, 300, 1000)] == [
        *(3, 4, 4, 5, 6, 6)
    ]
    assert find_knots(x, "x")[0] == np.quantile(x, 0.02)


def test_knots_that_make_no_curve_are_refused():
    with refused("curves names 'x', which has 2 values", "takes 3 or more"):
        find_knots(np.array([0.0, 1.0, 1.0, np.nan]), "x")
    with refused("curves names 'x', which has 1 value,"):
        find_knots(np.ones(5), "x")
    for wrong in ((1, 2), (1, 3, 2), (1, 2, 2), (1, np.nan, 3), "abc", range(30)):
        with pytest.raises(PairscoreError, match="knots that make no curve"):
            check_knots(wrong, "x")
