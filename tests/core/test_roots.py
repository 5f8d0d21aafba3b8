"""Roots over the reals and over whole numbers, against functions whose root is known."""

import math
import warnings

import numpy as np
import pytest

from pairscore.core.roots import bisect, smallest_whole_number, solve_falling


@pytest.mark.parametrize("root", [-300.0, -1.5, 0.0, 0.3, 7.0, 1e4])
@pytest.mark.parametrize("start", [(-1.0, 1.0), (0.2, 0.4), (50.0, 60.0)])
def test_a_root_is_found_wherever_the_search_starts(root, start):
    found = solve_falling(lambda x: math.atan(root - x), *start, limits=(-1e5, 1e5))
    assert found == pytest.approx(root, rel=1e-12, abs=1e-10)


def test_without_limits_the_bracket_is_not_left():
    points = []

    def falling(x):
        points.append(x)
        return 2.0 - x

    assert solve_falling(falling, 3.0, 4.0) == 3.0
    assert solve_falling(falling, 0.0, 1.0) == 1.0
    assert solve_falling(falling, 2.0, 3.0) == 2.0
    assert min(points) >= 0.0
    assert max(points) <= 4.0


def test_a_function_of_one_sign_gives_the_limit_nearest_to_its_root():
    assert solve_falling(lambda x: 1.0, 0.0, 1.0, limits=(-5.0, 77.0)) == 77.0
    assert solve_falling(lambda x: -1.0, 0.0, 1.0, limits=(-5.0, 77.0)) == -5.0


def test_no_point_is_computed_twice():
    points = []

    def falling(x):
        points.append(x)
        return math.exp(-x) - 0.01

    assert solve_falling(falling, 0.0, 1.0, limits=(0.0, 100.0)) == pytest.approx(math.log(100))
    assert len(points) == len(set(points)) < 25


def test_the_tolerance_is_kept():
    rough = solve_falling(lambda x: 2 - x**2, 0.0, 2.0, xtol=1e-3)
    assert 0 < abs(rough - math.sqrt(2)) < 1e-3


@pytest.mark.parametrize("last", [-3, 0, 1, 17, 10**18])
def test_bisection_of_integers_ends_at_neighbours(last):
    assert bisect(lambda n: n <= last, -5, 10**19) == (last, last + 1)


def test_bisection_of_floats_ends_at_neighbours_or_within_the_tolerance():
    low, high = bisect(lambda x: x < math.pi, 0.0, 10.0)
    assert low < math.pi <= high == math.nextafter(low, 10.0)
    low, high = bisect(lambda x: x < math.pi, 0.0, 10.0, rtol=1e-6)
    assert low < math.pi <= high
    assert 1e-8 < high - low <= 1e-6 * high
    assert bisect(lambda x: True, 3.0, 3.0) == (3.0, 3.0)


@pytest.mark.parametrize("low", [1, 5, 7, 8, 14, 1000])
@pytest.mark.parametrize("guess", [None, 1, 40, 10**6, 10**9])
def test_the_smallest_number_is_found_to_the_unit_and_nothing_outside_is_asked(low, guess):
    """exp(log 5) is 4.99..., and a study of one item too few would be refused."""
    asked, thresholds = [], [low - 1, low, low + 1, low + 2, 3 * low + 1, 4 * low, 12345, 999_999]

    def smallest(threshold):
        def excess(n):
            asked.append(n)
            return threshold - n

        return smallest_whole_number(excess, low, 10**6, guess)

    for threshold in thresholds:
        assert smallest(threshold) == max(threshold, low)
    assert smallest(10**6 + 1) is None
    assert min(asked) >= low
    assert max(asked) <= 10**6


@pytest.mark.parametrize("target", [3, 1000, 54_321, 10**9, 3 * 10**11])
def test_an_error_that_is_a_power_takes_few_calls(target):
    calls = []

    def excess(n):
        calls.append(n)
        return 0.5 * np.log((target - 0.5) / n)

    assert smallest_whole_number(excess, 1, 10**12) == target
    assert len(calls) == len(set(calls)) <= 20
    calls.clear()
    assert smallest_whole_number(excess, 1, 10**12, guess=round(1.2 * target)) == target
    assert len(calls) <= 12


def test_a_step_is_found_too():
    """An excess that says no more than too few or enough: a bisection in log n."""
    assert smallest_whole_number(lambda n: 1.0 if n < 54_321 else -1.0, 1, 10**12) == 54_321


@pytest.mark.parametrize("size", [1.0, 1e200, 1e305])
def test_huge_values_far_from_a_root_do_not_overflow(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        root = solve_falling(lambda x: np.float64(1 - x if x < 2 else -size * x), 0.0, 100.0)
    assert root == pytest.approx(1.0, abs=1e-9)
