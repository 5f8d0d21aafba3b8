"""The demo tells its story honestly, and its score works on patients it has not seen."""

import json
import re
from functools import cache

import numpy as np
import pytest

from pairscore import RankRegression, kendall_distance, load
from pairscore.cli.demo_story import (
    FEATURES,
    HELD_OUT,
    diabetes_patients,
    run_demo,
    simulate_grades,
)
from tests.cli.running import ranking, run

SEEDS = (1, 2, 3)


@cache
def demo_text(seed):
    return run(f"demo --seed {seed}").output


def shares(seed):
    """Printed shares of held-out pairs in the right order, by the score and by least squares."""
    percents = re.search(r"puts ([\d.]+)% .* gets ([\d.]+)%", demo_text(seed)).groups()
    return [float(percent) / 100 for percent in percents]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_score_orders_most_held_out_patients_rightly(seed):
    score, told = shares(seed)
    assert score > 0.70
    assert abs(score - told) < 0.05


def test_a_model_of_shuffled_answers_does_not():
    patients, progression = diabetes_patients()
    shuffled_shares = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(patients))
        held_out, training = order[:HELD_OUT], order[HELD_OUT:]
        votes = simulate_grades(progression, training, rng)
        for _ in range(5):
            shuffled = np.where(rng.random((len(votes), 1)) < 0.5, votes[:, ::-1], votes)
            score = (
                RankRegression(inference=None)
                .fit(patients, shuffled)
                .decision_function(patients.values)
            )
            shuffled_shares.append(1 - kendall_distance(score[held_out], progression[held_out]))
    assert np.mean([shares(seed)[0] for seed in SEEDS]) > np.mean(shuffled_shares) + 0.15


def test_the_printed_share_is_that_of_a_loop_over_held_out_pairs():
    said = []
    model = run_demo(said.append, seed=1).model
    patients, progression = diabetes_patients()
    held_out = np.random.default_rng(1).permutation(len(patients))[:HELD_OUT]
    score = patients.values @ model.coef_
    points = [
        np.sign(score[a] - score[b]) * np.sign(progression[a] - progression[b])
        for i, a in enumerate(held_out)
        for b in held_out[:i]
    ]
    assert f"puts {(1 + np.mean(points)) / 2:.1%} in the order" in said[-1]


def test_the_model_sees_ten_features_and_only_training_patients():
    model = run_demo(lambda text: None, seed=1).model
    assert tuple(model.feature_names_in_) == FEATURES
    assert model.n_items_ == 442 - HELD_OUT
    assert model.n_comparisons_ == 3000


def test_the_grades_name_the_worse_patient_first_more_often_than_not():
    progression = np.arange(100.0)
    votes = simulate_grades(progression, np.arange(20, 100), np.random.default_rng(0))
    assert votes.min() >= 20
    assert np.all(votes[:, 0] != votes[:, 1])
    assert 0.7 < np.mean(votes[:, 0] > votes[:, 1]) < 0.95


def test_it_says_openly_that_the_grader_is_simulated():
    text = demo_text(1)
    assert "442 real patients with diabetes" in text
    assert "The grader is simulated" in text
    assert "never the recorded progression" in text
    assert (
        text.index("simulated")
        < text.index("Severity of diabetes: rank regression")
        < text.index("ranked by features alone")
        < text.index("Check:")
    )


def test_it_prints_the_summary_and_the_ten_most_severe():
    text = demo_text(1)
    for name in FEATURES:
        assert f"\n  {name} " in text
    assert re.findall(r"^ +(\d+) +\d+-\d+  patient \d+ ", text, re.MULTILINE) == [
        str(rank) for rank in range(1, 11)
    ]
    assert "Each interval holds for its own item 19 times out of 20" in text
    assert "With --simultaneous all intervals hold together" in text


def test_the_same_seed_tells_the_same_story_and_another_another():
    assert run("demo").output == demo_text(1)
    assert demo_text(2) != demo_text(1)


def test_it_says_where_the_report_is_and_it_is_there(tmp_path):
    assert "a/b/report.html" in run("demo --output a/b").output.splitlines()
    page = (tmp_path / "a" / "b" / "report.html").read_text()
    assert "comes first (most severe) of 442 items" in page
    assert "<h1>Severity of diabetes</h1>" in page
    assert "110 items were never compared" in page
    assert "pairscore-demo/report.html" in run("demo").output.splitlines()
    assert (tmp_path / "pairscore-demo" / "report.html").exists()


def test_the_commands_at_its_end_run_and_find_what_it_found(tmp_path, monkeypatch):
    """Also after the README's ``cd pairscore-demo``."""
    *_, change, fit, rank = run("demo --output 'my study'").output.splitlines()
    assert change == "  cd 'my study'"
    monkeypatch.chdir("my study")
    run(fit.split(maxsplit=1)[1])
    run(f"{rank.split(maxsplit=1)[1]} -o ranking.csv")
    model = load("model.npz")
    told = run_demo(lambda text: None, seed=1).model
    np.testing.assert_allclose(model.coef_, told.coef_, rtol=1e-9)
    assert (model.n_items_, model.n_comparisons_) == (332, 3000)
    assert len(ranking("ranking.csv")["id"]) == HELD_OUT


def test_json_has_the_numbers_of_the_story_and_nothing_else(tmp_path):
    record = json.loads(run("demo --json --output here").stdout)
    score, told = shares(1)
    assert record["held_out_pairs_in_order"] == {
        "n_patients": HELD_OUT,
        "score": pytest.approx(score, abs=6e-4),
        "least_squares": pytest.approx(told, abs=6e-4),
    }
    assert [row["feature"] for row in record["coefficients"]] == list(FEATURES)
    assert record["report"] == "here/report.html"
    assert (tmp_path / "here" / "report.html").exists()


def test_every_step_is_explained():
    steps = ["items", "comparisons", "fit", "ranking", "test", "report", "turn"]
    told = re.findall(r"^(\d)\. (?:The|Your) (\w+)", demo_text(1), re.MULTILINE)
    assert told == [(str(number), step) for number, step in enumerate(steps, start=1)]


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo --output file/folder", code=2)
    assert "cannot be created" in result.output.splitlines()[-1]


@pytest.mark.parametrize("seed", ["-1", "two"])
def test_a_seed_that_is_none_is_wrong_usage(seed):
    assert "Invalid value for '--seed'" in run(f"demo --seed {seed}", code=2).output


def test_help_lists_the_demo_with_an_example():
    assert re.search(r"^  demo +Learn a severity score", run("--help").output, re.MULTILINE)
    assert "pairscore demo --seed 2" in run("demo --help").output
