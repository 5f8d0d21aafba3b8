"""`pairscore simulate`: files that fit, of the law that was asked for."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from pairscore import Population, RankRegression, angle
from pairscore.cli.commands import main
from pairscore.files.tables import read_table

BASE = ["simulate", "--items", "60", "--features", "3", "--comparisons", "500", "--seed", "4"]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_files_fit_and_are_those_of_the_population(tmp_path, kind):
    result = run(*BASE, "--noise", 0.1, "--format", kind, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    items, votes, truth = (
        read_table(tmp_path / f"items.{kind}"),
        read_table(tmp_path / f"comparisons.{kind}"),
        json.loads((tmp_path / "truth.json").read_text()),
    )
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


def test_judges_self_pairs_and_no_second_half(tmp_path):
    result = run(
        *BASE, "--judge-noise", "0,0.5", "--self-pairs", "--no-second-half", "-o", tmp_path
    )
    assert result.exit_code == 0, result.output
    votes = read_table(tmp_path / "comparisons.csv")
    assert len(read_table(tmp_path / "items.csv")) == 60
    assert set(votes["judge"]) == {"judge1", "judge2"}
    assert np.any(votes["left"] == votes["right"])
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert truth["judge_noise"] == [0.0, 0.5]


def test_no_noise_is_written_as_valid_json(tmp_path):
    assert run(*BASE, "--noise", 0, "-o", tmp_path).exit_code == 0
    assert json.loads((tmp_path / "truth.json").read_text())["slope"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--noise", 0.6], "noise is 0.6"),
        (["--judge-noise", "0.1;0.2"], "write one share for each judge"),
        (["--min-eigenvalue", 0], "--min-eigenvalue is 0.0"),
        (["--items", 0], "--items is 0"),
        (["--items", 1], "at least 2"),
        (["--comparisons", -3], "--comparisons is -3"),
        (["--repeats", 0], "repeats is 0"),
        (["--noise", 0, "--item-effect", 1], "--item-effect"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, arguments, sentence):
    result = run(*BASE, *arguments, "-o", tmp_path / "study")
    assert result.exit_code == 2, result.output
    assert sentence in result.output
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("old", [True, False])
def test_all_three_files_appear_or_none(tmp_path, monkeypatch, old):
    if old:
        assert run(*BASE, "--seed", 5, "-o", tmp_path).exit_code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pairscore.planning.simulate._truth", full)  # the last of the three
    result = run(*BASE, "-o", tmp_path)
    assert result.exit_code == 2
    assert "No space left on device" in result.output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_more_than_the_memory_holds_is_one_sentence(tmp_path, monkeypatch):
    def too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Population, "draw", too_much)
    result = run(*BASE, "-o", tmp_path / "study")
    assert (result.exit_code, result.output) == (
        2,
        "Error: this needs more memory than there is; use fewer items, comparisons or features.\n",
    )
    assert not (tmp_path / "study").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run(*BASE, "-o", tmp_path / "file" / "study")
    assert result.exit_code == 2
    assert "cannot be made" in result.output
