"""`pairscore reproduce`, killed ten times at random moments, gives the rows of a run in peace."""

import random

from tests.paper.test_run import (
    FIGURES,
    LIMIT,
    assert_killed_runs_give_the_rows_of_a_run_in_peace,
    start,
    tables,
)


def test_killed_ten_times_the_rows_are_those_of_a_run_in_peace(tmp_path):
    """Both tables, of a quick and of a slow figure."""
    peace = start(tmp_path / "peace", *FIGURES, n_generations=3)
    peace.communicate(timeout=LIMIT)
    rng = random.Random(1)
    # a kill before the first line is one while workers start
    moments = [rng.randint(0, 3) for _ in range(10)]
    assert_killed_runs_give_the_rows_of_a_run_in_peace(
        tmp_path / "killed", tables(tmp_path / "peace"), moments, n_generations=3
    )
