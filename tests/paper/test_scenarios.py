"""Figures 1, 9 and 10: reproducible rows that show what they should."""

import numpy as np
import pytest

from pairscore.paper.scenarios import (
    N_PARTS,
    SCENARIO_COLUMNS,
    SCENARIOS,
    SOURCE_COLUMNS,
    illustration_rows,
    scenario_rows,
    source_rows,
)

MATCHED = "pairs matched on one feature"


def test_scenarios_are_reproducible():
    rows = [scenario_rows(MATCHED, generation) for generation in range(6)]
    assert scenario_rows(MATCHED, 3) == rows[3]
    mean = {
        method: np.mean(
            [row["angle"] for group in rows for row in group if row["method"] == method]
        )
        for method in ("pooled", "paired", "mle")
    }
    # matched pairs mislead the item covariance, not the likelihood
    assert mean["mle"] < 0.8 * mean["pooled"]
    assert mean["paired"] < 0.8 * mean["pooled"]
    assert set(rows[0][0]) == set(SCENARIO_COLUMNS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_features_have_mean_0_and_variance_1(name):
    """Within what chance explains; the fourth moment of Student's t with 3 degrees is infinite."""
    X = SCENARIOS[name].features(np.random.default_rng(0), (200_000, 1))
    assert abs(X.mean()) < 5 / np.sqrt(len(X))
    assert X.std() == pytest.approx(1, abs=0.1)


def test_sources_are_reproducible_and_add_a_row_for_each_part():
    rows = source_rows(100, 461, 3)
    assert rows == source_rows(100, 461, 3)
    assert len(rows) == N_PARTS
    assert set(rows[0]) == set(SOURCE_COLUMNS)


def test_the_illustration_ends_with_an_estimate_near_the_truth():
    *_, truth, estimate = [row for row in illustration_rows() if row["kind"] == "arrow"]
    a, b = (np.array([row["x"], row["y"]]) for row in (truth, estimate))
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.95
    assert {row["panel"] for row in illustration_rows()} == set("abcd")
