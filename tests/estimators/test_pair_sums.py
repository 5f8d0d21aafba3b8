"""Equations of an estimate summed over pairs, and their item-robust meat, against loops."""

import numpy as np
import pytest

from pairscore import Comparisons
from pairscore.core.links import get_link
from pairscore.core.scale import NO_RIDGE
from pairscore.estimators.closed_form_errors import ClosedFormEquations, ScaledClosedForm
from pairscore.estimators.leverage import jackknife_of_items
from pairscore.estimators.likelihood_errors import LikelihoodEquations
from pairscore.estimators.pair_sums import NoSums, sum_equations
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from tests.hard_designs import NAMES, draw

N, M, D = 20, 60, 3


def study(name, side, seed=0):
    """A hard design with one item in a column of its own, and some rows that count for nothing."""
    drawn = draw(name, np.random.default_rng(seed), N, M, D)
    X, right = drawn.X.copy(), drawn.right.copy()
    X[:, 2] = np.where(np.arange(N) == drawn.left[0], 1.0, 0.0) if seed % 2 else X[:, 2]
    right[3] = drawn.left[3]
    weight = np.ones(M) if drawn.weight is None else drawn.weight.copy()
    weight[5] = 0.0
    return TableData(Comparisons(X, drawn.left, right, drawn.outcome, weight=weight), side)


def rows_of(data):
    """Differences with the side's column, outcomes, amounts and items of what counts."""
    votes = data.comparisons
    keep = votes.left != votes.right
    left, right = votes.left[keep], votes.right[keep]
    design = data.X[left] - data.X[right]
    if data.keep_sides:
        design = np.column_stack([design, np.ones(len(left))])
    return design, votes.outcome[keep], data.amount[keep], left, right


def naive_meat(u, amount, left, right, inflation):
    """Of contributions u of comparisons (M x p) less their mean: every two that share an item.

    Twice if they share two, which is taken off; an item of no inflation does not count.
    """
    u = u - amount[:, None] * u.sum(axis=0) / amount.sum()
    meat = np.zeros((u.shape[1], u.shape[1]))
    pairs = {}
    for row, (i, j) in enumerate(zip(left, right, strict=True)):
        pairs.setdefault((min(i, j), max(i, j)), []).append(row)
    for item, c in enumerate(inflation):
        t = u[(left == item) | (right == item)].sum(axis=0)
        meat += c**2 * np.outer(t, t)
    for (i, j), rows in pairs.items():
        t = u[rows].sum(axis=0)
        meat -= (int(inflation[i] > 0) + int(inflation[j] > 0) - 1) * np.outer(t, t)
    return meat


def assert_close(found, expected, digits=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * np.abs(expected).max())


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_sums_and_meat_of_a_likelihood_are_those_of_loops(name, seed, side, link):
    data, link = study(name, side, seed), get_link(link)
    theta = np.array([0.5, -0.3, 0.2, 0.1])[: D + side]
    settings = Settings("mle", link, side_effect=side)
    inflation = jackknife_of_items(data, settings)
    equations = LikelihoodEquations.of_theta(data, theta, link)
    sums, meat = sum_equations(data, equations, D + side, inflation)
    design, outcome, amount, left, right = rows_of(data)
    expected, observed, tied = np.zeros((3, D + side, D + side))
    u = np.zeros_like(design)
    for row, (d, y, a) in enumerate(zip(design, outcome, amount, strict=True)):
        eta = d @ theta
        f, slope = float(link.cdf(eta)), float(link.pdf(eta))
        win, lose = a * (1 + y) / 2, a * (1 - y) / 2
        u[row] = (win * slope / f - lose * slope / (1 - f)) * d
        product = np.outer(d, d)
        expected += a * slope**2 / (f * (1 - f)) * product
        observed += (win * link.curvature(eta) + lose * link.curvature(-eta)) * product
        if y == 0:
            tied += a * (slope / (f * (1 - f))) ** 2 / 4 * product
    assert_close(sums.expected, expected)
    assert_close(sums.observed, observed)
    if np.any(outcome == 0):
        assert_close(sums.tied, tied)
    else:
        assert not sums.tied.any()
    naive = naive_meat(u, amount, left, right, inflation)
    size = np.abs(u).max() ** 2 * len(u)
    np.testing.assert_allclose(meat, naive, rtol=1e-8, atol=1e-10 * size)
    again, none = sum_equations(data, equations, D + side, None)
    assert none is None
    assert_close(again.expected, expected)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
@pytest.mark.parametrize("name", NAMES)
def test_sums_and_meat_of_a_closed_form_are_those_of_loops(name, method, side, link):
    data, link = study(name, side), get_link(link)
    b, factor, effect = np.array([0.8, -0.4, 0.3]), 0.9, 0.3 if side else 0.0
    form = ScaledClosedForm(link, method, b, np.eye(D), factor, effect, NO_RIDGE, b)
    mean = data.item_moments.mean
    equations = ClosedFormEquations(form, data.X @ b, float(mean @ b))
    inflation = jackknife_of_items(data, Settings(method, link, side_effect=side))
    size = D + 1 + side
    sums, meat = sum_equations(data, equations, size, inflation)
    design, outcome, amount, left, right = rows_of(data)
    z_left, z_right = data.X[left] - mean, data.X[right] - mean
    u, model_meat, tied = np.zeros((len(left), size)), *np.zeros((2, size, size))
    curvature = np.zeros((1 + side, 1 + side))

    def scale_score(at):
        """The equations of the scale, as a function of b."""
        total = np.zeros(1 + side)
        for d, y, a in zip(design[:, :D], outcome, amount, strict=True):
            eta = factor * (d @ at) + effect
            win, lose = a * (1 + y) / 2, a * (1 - y) / 2
            e = win * link.ratio(eta) - lose * link.ratio(-eta)
            total += float(e) * np.array([d @ at, 1.0])[: 1 + side]
        return total

    for row, (d, y, a) in enumerate(zip(design[:, :D], outcome, amount, strict=True)):
        eta = factor * (d @ b) + effect
        z = np.array([d @ b, 1.0])[: 1 + side]
        f, slope = float(link.cdf(eta)), float(link.pdf(eta))
        win, lose = a * (1 + y) / 2, a * (1 - y) / 2
        e = win * slope / f - lose * slope / (1 - f)
        of_b = {
            "split": y * d,
            "paired": (y - d @ b / 2) * d,
            "pooled": (y - z_left[row] @ b / 2) * z_left[row]
            + (-y - z_right[row] @ b / 2) * z_right[row],
        }[method]
        u[row] = np.concatenate([a * of_b, e * z])
        g = slope / (f * (1 - f))
        column = np.concatenate([2 * d, g * z])
        model_meat += a * f * (1 - f) * np.outer(column, column)
        if y == 0:
            tied += a / 4 * np.outer(column, column)
        bend = win * link.curvature(eta) + lose * link.curvature(-eta)
        curvature += float(bend) * np.outer(z, z)
    assert_close(sums.model_meat, model_meat)
    if np.any(outcome == 0):
        assert_close(sums.tied, tied)
    assert_close(sums.curvature, curvature)
    step = 1e-6 * np.eye(D)
    response = [(scale_score(b + one) - scale_score(b - one)) / 2e-6 for one in step]
    assert_close(sums.response, np.array(response).T, 1e-5)
    naive = naive_meat(u, amount, left, right, inflation)
    largest = np.abs(u).max() ** 2 * len(u)
    np.testing.assert_allclose(meat, naive, rtol=1e-8, atol=1e-10 * largest)


def test_no_sums_are_zero():
    data = study("random", False)
    sums, _ = sum_equations(
        data, LikelihoodEquations.of_theta(data, np.zeros(D), get_link("logit")), D, None
    )
    assert NoSums() + sums is sums
    assert sums + NoSums() is sums
