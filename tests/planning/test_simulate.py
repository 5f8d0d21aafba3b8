"""A simulated study as files, read back."""

import json

import numpy as np
import pytest

from pairscore import PairscoreError, Population
from pairscore.files import read_table
from pairscore.planning import simulate_study


def test_the_files_are_the_draw_and_its_truth(tmp_path):
    population = Population(3, noise=0.1, judge_noise=None, rng=2)
    paths = simulate_study(population, 20, 50, tmp_path / "new", seed=7, second_half=True)
    assert [path.name for path in paths] == ["items.csv", "comparisons.csv", "truth.json"]
    items, votes = population.draw(20, 50, np.random.default_rng([7, 1]))
    table, comparisons = read_table(paths[0]), read_table(paths[1])
    assert list(table["id"]) == [f"item{number}" for number in range(1, 41)]
    np.testing.assert_array_equal(np.column_stack([table[f"x{k}"] for k in (1, 2, 3)]), items)
    assert list(comparisons["left"]) == [f"item{row + 1}" for row in votes.left]
    assert list(comparisons["winner"] == "left") == list(votes.outcome > 0)
    truth = json.loads(paths[2].read_text())
    assert truth["beta"] == population.beta.tolist()
    assert (truth["n_items"], truth["n_comparisons"], truth["seed"]) == (20, 50, 7)
    assert truth["judge_noise"] is None
    assert truth["link"] == "logit"


def test_without_noise_the_slope_is_null(tmp_path):
    *_, truth = simulate_study(Population(2, noise=0.0, rng=0), 5, 9, tmp_path, seed=1)
    assert json.loads(truth.read_text())["slope"] is None


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(PairscoreError, match="taken' cannot be created"):
        simulate_study(Population(2, rng=0), 5, 9, tmp_path / "taken", seed=1)
