"""Newton's method on losses whose minimum is known."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from pairscore.core.optimise import Step, minimise, search_by_slope, search_by_value
from pairscore.core.roots import solve_falling

SEARCHES = [search_by_slope, search_by_value]


class At(NamedTuple):
    gradient: np.ndarray
    information: np.ndarray
    loss: float


class Logistic:
    """Logistic regression of y in {0, 1} on the rows of D, with a ridge."""

    def __init__(self, seed=0, n=200, d=3, ridge=0.1, factor=1.0):
        rng = np.random.default_rng(seed)
        self.D, self.ridge, self.factor, self.points = rng.normal(size=(n, d)), ridge, factor, 0
        self.y = (rng.random(n) < expit(self.D @ np.arange(d))).astype(float)

    def derivatives(self, params):
        self.points += 1
        eta = self.D @ params
        p = expit(eta)
        loss = np.sum(np.logaddexp(0, eta) - self.y * eta) + 0.5 * self.ridge * params @ params
        information = (self.D * (p * (1 - p))[:, None]).T @ self.D
        return At(
            self.D.T @ (p - self.y) + self.ridge * params,
            information + self.ridge * np.eye(len(params)),
            float(loss),
        )

    def newton_step(self, params, here, iteration):
        direction = self.factor * np.linalg.solve(here.information, here.gradient)
        return Step(direction, float(here.gradient @ direction) / len(self.y))


@pytest.mark.parametrize("search", SEARCHES)
def test_the_minimum_has_no_gradient(search):
    loss = Logistic()
    found = minimise(loss, np.zeros(3), 100, 1e-9, search)
    assert found.converged
    assert not found.unbounded
    assert np.abs(loss.derivatives(found.params).gradient).max() < 1e-7


@pytest.mark.parametrize("search", SEARCHES)
def test_the_last_step_computes_no_derivatives(search):
    loss = Logistic()
    found = minimise(loss, np.zeros(3), 100, 1e-9, search)
    assert loss.points == found.n_iterations


def test_the_step_after_the_gap_squares_it():
    coarse, fine = (minimise(Logistic(), np.zeros(3), 100, tol) for tol in (1e-5, 1e-14))
    assert coarse.n_iterations < fine.n_iterations
    np.testing.assert_allclose(coarse.params, fine.params, atol=1e-4)


@pytest.mark.parametrize("search", [search_by_slope, search_by_value])
def test_steps_that_go_too_far_are_shortened(search):
    """Three times Newton's step, which never arrives if it is taken whole."""
    best = minimise(Logistic(), np.zeros(3), 100, 1e-12).params
    found = minimise(Logistic(factor=3.0), np.zeros(3), 500, 1e-12, search)
    assert found.converged
    np.testing.assert_allclose(found.params, best, atol=1e-4)

    def take_full_step(derivatives, params, here, direction):
        return params - direction, derivatives(params - direction)

    whole = minimise(Logistic(factor=3.0), np.zeros(3), 50, 1e-12, take_full_step)
    assert not whole.converged


def test_columns_are_searched_side_by_side_as_they_are_alone():
    loss, start = Logistic(), np.array([[0.0, 0.0], [0.0, 3.0], [0.0, -3.0]])

    def alone(params):
        return loss.derivatives(params)

    def together(params):
        points = [loss.derivatives(column) for column in params.T]
        return At(np.column_stack([point.gradient for point in points]), points, 0.0)

    here = together(start)
    step = np.column_stack(
        [
            np.linalg.solve(point.information, point.gradient) * factor
            for point, factor in zip(here.information, (1.0, 6.0), strict=True)
        ]
    )
    moved, _ = search_by_slope(together, start, here, step)
    for column in range(2):
        one, _ = search_by_slope(alone, start[:, column], alone(start[:, column]), step[:, column])
        np.testing.assert_allclose(moved[:, column], one, rtol=1e-12)
    np.testing.assert_allclose(moved[:, 0], start[:, 0] - step[:, 0])
    assert np.abs(moved[:, 1] - start[:, 1] + step[:, 1]).max() > 0.1


def test_a_point_where_the_loss_is_not_defined_is_not_reached():
    class Log:
        """x - log x, whose minimum is 1, from where Newton's step leaves the positive numbers."""

        def derivatives(self, x):
            return None if x[0] <= 0 else At(1 - 1 / x, 1 / x**2, float(x[0] - np.log(x[0])))

        def newton_step(self, x, here, iteration):
            direction = here.gradient / here.information
            return Step(direction, float(here.gradient @ direction))

    assert minimise(Log(), np.array([3.0]), 50, 1e-9, search_by_value).params == pytest.approx(1)


def test_a_loss_that_falls_for_ever_ends_the_walk():
    class Exponential:
        def derivatives(self, x):
            return At(-np.exp(-x), np.exp(-x), float(np.exp(-x[0])))

        def newton_step(self, x, here, iteration):
            return Step(here.gradient / here.information, 1.0, unbounded=iteration == 4)

    found = minimise(Exponential(), np.zeros(1), 50, 1e-9)
    assert (found.unbounded, found.converged, found.n_iterations) == (True, False, 4)
    assert found.params == pytest.approx(1)  # the direction


def test_too_few_iterations_are_told():
    found = minimise(Logistic(), np.zeros(3), 2, 1e-12)
    assert (found.converged, found.n_iterations) == (False, 2)


@pytest.mark.parametrize("steep", [0.01, 1.0, 40.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_root_is_found_as_by_brentq_of_scipy(steep, seed):
    """The bracket that is widened first takes no digits, and no looks of its own."""
    rng = np.random.default_rng(seed)
    root, (below, above) = rng.uniform(-3, 3), rng.exponential(size=2)
    looks = [[], []]

    def falling(x, seen):
        seen.append(x)
        return float(-((x - root) ** 3) - np.tanh(steep * (x - root)) - np.expm1(x - root))

    ends = root - below, root + above
    ours = solve_falling(lambda x: falling(x, looks[0]), *ends, xtol=1e-10)
    theirs = brentq(lambda x: falling(x, looks[1]), *ends, xtol=1e-10, rtol=1e-15)
    assert ours == pytest.approx(theirs, abs=1e-10)
    assert len(looks[0]) <= len(looks[1]) + 1
    assert abs(ours - root) < 2e-10


def test_a_root_at_an_end_is_that_end():
    assert solve_falling(lambda x: -x, 0.0, 1.0) == 0.0
    assert solve_falling(lambda x: 1 - x, 0.0, 1.0) == 1.0
