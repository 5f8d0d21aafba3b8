"""Angles that stay exact when tiny, and the distance of two orders against a double loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore import PairscoreError, angle, kendall_distance

few_levels = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=25)
any_floats = st.lists(
    st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2), min_size=2, max_size=12
)


def naive_distance(a, b):
    """One point for a pair in different order, half a point for one that only one score ties."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    points = [abs(np.sign(a[i] - a[j]) - np.sign(b[i] - b[j])) / 2 for i, j in pairs]
    return sum(points) / len(pairs)


@pytest.mark.parametrize("theta", [1e-12, 1e-9, 1e-5, 0.3, np.pi / 2, 3.0, np.pi - 1e-9])
def test_an_angle_is_exact_however_small(theta):
    assert angle([1.0, 0.0], [np.cos(theta), np.sin(theta)]) == pytest.approx(
        theta, rel=1e-6 if theta < 1 else 1e-14
    )


def test_the_arc_cosine_loses_an_angle_that_ours_keeps():
    theta = 1e-9
    a, b = np.array([1.0, 0.0]), np.array([np.cos(theta), np.sin(theta)])
    assert np.arccos(a @ b) == 0.0
    assert angle(a, b) == pytest.approx(theta, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 7.0, 1e300])
def test_an_angle_does_not_depend_on_lengths(scale):
    a, b = np.array([1.0, 2.0, -1.0]), np.array([0.5, 1.0, 3.0])
    expected = np.arccos(a @ b / np.sqrt((a @ a) * (b @ b)))
    assert angle(scale * a, b) == pytest.approx(expected, rel=1e-14)
    assert angle(a, scale * b) == pytest.approx(expected, rel=1e-14)
    assert angle(a, -scale * b) == pytest.approx(np.pi - expected, rel=1e-14)


def test_an_angle_of_a_vector_with_itself_is_zero():
    assert angle([3.0, -4.0], [3.0, -4.0]) == 0.0


@given(few_levels)
def test_kendall_distance_equals_a_double_loop_with_ties(scores):
    a, b = np.array(scores, dtype=float).T
    assert kendall_distance(a, b) == pytest.approx(naive_distance(a, b), abs=1e-15)


@given(any_floats)
def test_kendall_distance_takes_any_finite_numbers(scores):
    a, b = np.array(scores).T
    with np.errstate(over="ignore"):
        assert kendall_distance(a, b) == pytest.approx(naive_distance(a, b), abs=1e-15)


@given(few_levels)
def test_kendall_distance_is_zero_to_itself_and_symmetric(scores):
    a, b = np.array(scores, dtype=float).T
    assert kendall_distance(a, a) == 0.0
    assert kendall_distance(a, b) == kendall_distance(b, a)


def test_opposite_orders_are_one_apart_and_a_constant_is_half():
    assert kendall_distance([1, 2, 3, 4], [4, 3, 2, 1]) == 1.0
    assert kendall_distance([1, 2, 3, 4], [5, 5, 5, 5]) == 0.5


def test_kendall_distance_is_exact_for_many_items():
    order = np.arange(20_000)
    swapped = order.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert kendall_distance(order, swapped) == 2 / (20_000 * 19_999)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: angle([0.0, 0.0], [1.0, 0.0]),
            "the angle to a vector of zeros is not defined; give two vectors that are not zero.",
        ),
        (
            lambda: angle([1.0], [1.0, 0.0]),
            "the two vectors have 1 and 2 entries; give two of one length.",
        ),
        (
            lambda: kendall_distance([1, 2], [1, 2, 3]),
            "the two vectors have 2 and 3 entries; give two of one length.",
        ),
        (
            lambda: angle([np.nan, 1.0], [1.0, 0.0]),
            "the two vectors have 1 number that is NaN or infinite; give finite ones.",
        ),
        (
            lambda: kendall_distance([np.inf, 1.0], [np.nan, 0.0]),
            "the two vectors have 2 numbers that are NaN or infinite; give finite ones.",
        ),
        (
            lambda: angle(["a"], [1.0]),
            "the two vectors hold something that is not a number; give one number for each entry.",
        ),
        (
            lambda: angle([[1], [1, 2]], [1.0]),
            "the two vectors hold something that is not a number; give one number for each entry.",
        ),
        (
            lambda: kendall_distance([1.0], [2.0]),
            "an order needs at least two items, but the scores are of 1 item; give more.",
        ),
        (
            lambda: kendall_distance([], []),
            "an order needs at least two items, but the scores are of 0 items; give more.",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(PairscoreError) as caught:
        call()
    assert str(caught.value) == sentence
