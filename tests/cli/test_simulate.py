"""simulate: the files fit, and are those of the population; all of them or none."""

import json

import numpy as np
import pytest

from pairscore import Population, RankRegression, angle
from pairscore.files.tables import read_table
from tests.cli.running import run

SIMULATE = "simulate --items 60 --features 3 --comparisons 500 --seed 4"


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_files_fit_and_are_those_of_the_population(tmp_path, kind):
    run(f"{SIMULATE} --noise 0.1 --format {kind} -o .")
    items, votes = (read_table(tmp_path / f"{name}.{kind}") for name in ("items", "comparisons"))
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert (len(items), len(votes)) == (120, 500)
    assert np.all(votes["left"] != votes["right"])
    population = Population(3, noise=0.1, min_eigenvalue=1.0, rng=4)
    assert truth["beta"] == population.beta.tolist()
    assert truth["c1"] == population.c1
    drawn, _ = population.draw(60, 500, np.random.default_rng([4, 1]), self_pairs=False)
    np.testing.assert_array_equal(
        np.column_stack([items[f"x{column}"] for column in (1, 2, 3)]), drawn
    )
    for method in ("mle", "split"):
        assert angle(RankRegression(method).fit(items, votes).coef_, truth["beta"]) < 0.6


def test_judges_and_no_second_half(tmp_path):
    run(f"{SIMULATE} --judge-noise 0,0.5 --no-second-half -o .")
    votes = read_table(tmp_path / "comparisons.csv")
    assert len(read_table(tmp_path / "items.csv")) == 60
    assert set(votes["judge"]) == {"judge1", "judge2"}
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert truth["judge_noise"] == [0.0, 0.5]


def test_no_noise_is_written_as_valid_json(tmp_path):
    run(f"{SIMULATE} --noise 0 -o .")
    assert json.loads((tmp_path / "truth.json").read_text())["slope"] is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--noise 0.6", "noise is 0.6"),
        ("--judge-noise '0.1;0.2'", "write one share for each judge"),
        ("--min-eigenvalue 0", "--min-eigenvalue is 0.0"),
        ("--items 0", "--items is 0"),
        ("--items 1", "at least 2"),
        ("--comparisons -3", "--comparisons is -3"),
        ("--repeats 0", "repeats is 0"),
        ("--noise 0 --item-effect 1", "--item-effect"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, options, sentence):
    assert sentence in run(f"{SIMULATE} {options} -o study", code=2).output
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("old", [True, False])
def test_all_three_files_appear_or_none(tmp_path, monkeypatch, old):
    if old:
        run(f"{SIMULATE} --seed 5 -o .")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pairscore.planning.simulate._truth", full)  # the last of the three
    assert "No space left on device" in run(f"{SIMULATE} -o .", code=2).output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert "cannot be created" in run(f"{SIMULATE} -o file/study", code=2).output
