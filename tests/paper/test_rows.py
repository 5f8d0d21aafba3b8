"""Rows, curves and measures."""

import csv

import numpy as np
import pytest
from scipy.stats import binom

from pairscore.paper.experiments import M_GRID
from pairscore.paper.rows import (
    Measurement,
    comparison_share,
    csv_text,
    curves,
    error_factor,
    jackknife,
    line_fit,
    mean_of,
    pooled,
    select,
    typical_deviation,
    weighted_slope,
    with_numbers,
)


def test_numbers_from_a_file_are_numbers_and_names_stay():
    text = {"figure": "2", "panel": "a", "angle": "0.25", "low": "", "method": "mle", "seed": "12"}
    (row,) = with_numbers([text])
    assert (row["figure"], row["method"], row["angle"]) == ("2", "mle", 0.25)
    assert np.isnan(row["low"])
    assert repr(row["seed"]) == "12"


def test_rows_written_to_a_file_come_back_the_same():
    rows = [{"figure": "2", "seed": 2**62 + 1, "angle": 0.1 + 0.2, "low": np.nan, "other": 1}]
    (row,) = with_numbers(csv.DictReader(csv_text(list(rows[0])[:4], rows).splitlines()))
    assert (row["figure"], row["seed"], row["angle"]) == ("2", 2**62 + 1, 0.1 + 0.2)
    assert np.isnan(row["low"])
    assert "other" not in row


def test_rows_are_selected_by_their_columns():
    rows = [{"figure": figure, "d": d} for figure in "23" for d in (10, 90)]
    assert select(rows, figure="3", d=90) == [{"figure": "3", "d": 90}]
    assert select(rows) == rows


def test_curves_are_means_and_deviations_by_generation():
    rows = [
        {"d": d, "x": x, "generation": g, "y": d * x + g}
        for g in (1, 0)
        for x in (2, 1)
        for d in (3, 5)
    ]
    found = curves(rows, "d", "x", "y")
    assert list(found) == [3, 5]
    np.testing.assert_allclose(found[5].x, [1, 2])
    np.testing.assert_allclose(found[5].mean, [5.5, 10.5])
    np.testing.assert_allclose(found[5].sd, np.sqrt(0.5))
    np.testing.assert_allclose(found[5].values, [[5, 6], [10, 11]])


def test_a_measurement_is_near_a_target_within_two_standard_errors():
    assert Measurement(-0.52, 0.02).distance(-0.5) == 0
    assert Measurement(-0.52, 0.005).distance(-0.5) == pytest.approx(0.01)
    assert str(Measurement(-0.0001, 0.25)) == "0.000 ± 0.250"
    assert str(Measurement(-1.5, 0.25)) == "−1.500 ± 0.250"


def test_a_line_is_straight_and_a_parabola_is_not():
    x = np.linspace(10, 250, 8)
    line, parabola = 100 + 60 * x, 100 + 0.3 * x**2
    noise = 0.01 * np.random.default_rng(0).normal(size=8)
    straight = line_fit(x, line * (1 + noise), 0.01 * line)
    assert straight.intercept == pytest.approx(100, abs=40)
    assert straight.slope == pytest.approx(60, rel=0.03)
    assert straight.p_value > 1e-4
    assert straight.r_squared > 0.99
    bent = line_fit(x, parabola, 0.01 * parabola)
    assert bent.p_value < 1e-12
    assert bent.r_squared < 0.97


def test_the_share_of_comparisons_is_that_of_the_law_it_was_made_from():
    m = np.array(M_GRID, dtype=float)
    assert comparison_share(m, 3 + 7e4 / m, reference=2e4) == pytest.approx(3.5 / 6.5)
    assert comparison_share(m, np.full(9, 2.0), reference=2e4) == pytest.approx(0, abs=1e-12)


def test_the_distance_of_a_fit_is_relative():
    x = np.geomspace(0.005, 1, 8)
    assert typical_deviation(5 / x, 1 / x[:, None]) < 1e-12
    assert typical_deviation(50 + 5 / x, np.column_stack([np.ones(8), 1 / x])) < 1e-12
    assert typical_deviation(50 + 5 / x, 1 / x[:, None]) > 0.3


def test_the_factor_of_the_spectrum_is_its_trace_and_near_its_integral():
    d, smallest = 250, 0.01
    eigenvalues = np.linspace(smallest, 1, d)
    naive = sum(1 / value for value in eigenvalues) * (d - 1) / d * sum(eigenvalues) / d
    assert error_factor(d, smallest) == pytest.approx(naive)
    # Euler and Maclaurin
    trace = (d - 1) / (1 - smallest) * np.log(1 / smallest) + 0.5 / smallest + 0.5
    assert naive == pytest.approx(trace * (d - 1) / d * (1 + smallest) / 2, rel=0.01)


def test_a_straight_line_of_three_generations_is_not_called_bent():
    """With errors from three generations each, squares of deviations are not chi-squared."""
    rng, x = np.random.default_rng(0), np.arange(1.0, 7.0)
    alarms = {"t": 0, "normal": 0}
    for _ in range(400):
        values = 10 + 2 * x + rng.normal(size=(3, 6))
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(3)
        for name, freedom in (("t", 2), ("normal", np.inf)):
            alarms[name] += line_fit(x, mean, error, freedom).p_value < 0.01
    assert alarms["t"] <= binom.isf(1e-5, 400, 0.01)
    assert alarms["normal"] > 40  # the rival takes chance for a bend in one of ten runs and more


def test_measurements_know_their_degrees_of_freedom():
    part = mean_of(np.array([1.0, 2.0, 4.0]))
    assert part.freedom == 2
    assert jackknife(np.ones((2, 5)) * np.arange(5.0), lambda values: values.mean()).freedom == 4
    assert pooled([part, part]).freedom == 4
    x = np.arange(1.0, 6.0)
    assert weighted_slope(x, x**-0.5, np.full(5, 0.1)).value == pytest.approx(-0.5)
