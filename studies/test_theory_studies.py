"""Predicted errors against many simulated studies, sharper than ``make test`` has time for."""

import numpy as np
import pytest
from benchmarks.predictions import BARS, simulate
from scipy.stats import norm
from tests.theory.conftest import LEVEL, law_of, studies
from tests.theory.test_predicted_error import CASES, within


@pytest.mark.parametrize(("cell", "method"), CASES, ids=lambda value: getattr(value, "name", value))
def test_predicted_mean_angle_is_the_simulated_one(cell, method, record_property):
    """The Monte-Carlo error is a tenth of what the prediction is allowed."""
    simulated, _ = simulate(cell, method, BARS[method] / 10)
    predicted = cell.law.predict(cell.n_items, cell.n_comparisons, method).angle
    seen = (f"mean angle of {method}, {cell.name}", f"{predicted:.4f}", f"{simulated.value:.4f}")
    record_property("figures", seen)
    assert within(BARS[method], predicted, simulated, len(CASES)), (simulated, predicted)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_nine_of_ten_studies_are_within_the_range(method, record_property):
    """3000 studies of N = 100, M = 300, d = 20."""
    repeats = 3000
    _, angles = studies(method, 20, 100, 300, 0.2, repeats)
    low, high = law_of(0.2, 20).predict(100, 300, method).ranges["angle"]
    inside = np.mean((low <= angles) & (angles <= high))
    error = norm.isf(LEVEL) * np.sqrt(0.9 * 0.1 / repeats)
    record_property("figures", (f"range of {method}", "0.87 to 0.95", f"{inside:.3f}"))
    assert 0.87 - error < inside < 0.95 + error
