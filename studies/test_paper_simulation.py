"""The cells and the N needed against a simulation written from the paper, with many repeats."""

import pytest
from tests.paper.test_experiments import (
    NEEDS,
    PANELS,
    assert_a_panel_agrees,
    assert_fresh_generations_meet_the_target,
    assert_n_is_enough,
)

from pairscore.paper.experiments import Need

REPEATS = 1000


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel[0])
def test_every_panel_agrees_with_a_direct_simulation_from_the_paper(panel):
    """Mean angle and mean norm error of one cell of each panel."""
    assert_a_panel_agrees(*panel, REPEATS)


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.figure + need.panel)
def test_the_n_needed_of_every_panel_is_enough_in_a_direct_simulation_from_the_paper(need):
    """The naive simulation at the N that was solved for."""
    assert_n_is_enough(need, REPEATS)


@pytest.mark.parametrize(
    ("need", "generations"),
    [
        (Need("5", "b", 10, 1 / 200, 0.2), REPEATS),
        (Need("6", "a", 30, 0.1, 0.0), REPEATS),
        (Need("8", "a", 10, 0.1, 0.2, "pooled"), 200),
    ],
)
def test_the_mean_angle_at_the_n_needed_is_the_target(need, generations):
    """The engine itself, on generations that N was not solved from."""
    assert_fresh_generations_meet_the_target(need, generations)
