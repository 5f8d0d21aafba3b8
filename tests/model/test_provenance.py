"""The record of a fit: versions, fingerprint and command."""

import sys

import numpy as np
import pytest

import pairscore
from pairscore import Comparisons, RankRegression, load
from pairscore.model.provenance import command_line, package_version
from tests.model.test_regression import ITEMS, VOTES, X


def comparisons(winner=1, values=((0.0,), (1.0,), (3.0,)), **columns):
    return Comparisons(np.array(values), [1, 2], [0, 1], [winner, 1], **columns)


def test_the_record_has_what_it_takes_to_make_the_model_again():
    X, _ = Comparisons.from_frames([[0.0], [1.0], [3.0]], np.array([[1, 0], [2, 1]]), seed=7)
    record = RankRegression("pooled", inference=None).fit(X).record_
    assert record["versions"]["pairscore"] == pairscore.__version__
    assert record["versions"]["numpy"] == np.__version__
    assert record["seed"] == 7
    assert record["fingerprint"] == X.fingerprint


@pytest.mark.parametrize("method", ["pooled", "mle"])
def test_no_fit_takes_a_fingerprint_before_somebody_asks(method, monkeypatch, tmp_path):
    asked = []

    def count(data):
        asked.append(len(data))
        return "of these data"

    monkeypatch.setattr(Comparisons, "fingerprint", property(count))
    model = RankRegression(method).fit(X).update(VOTES, repeated="add")
    model.rank(ITEMS)
    assert asked == []
    model.save(tmp_path / "model.npz")
    assert model.record_["fingerprint"] == "of these data"
    assert load(tmp_path / "model.npz").record_ == model.record_
    assert set(asked) == {len(X) + len(VOTES)}


def test_a_model_keeps_the_fingerprint_of_data_that_are_taken_away_and_what_is_noted():
    model = RankRegression("pooled", inference=None).fit(X)
    model.comparisons_ = None
    model.record_["note"] = "mine"
    assert model.record_["fingerprint"] == X.fingerprint
    assert model.record_["note"] == "mine"


def test_differences_alone_have_a_fingerprint_too():
    model = RankRegression(inference=None).fit(np.eye(3), [1, -1, 1])
    other = RankRegression(inference=None).fit(np.eye(3), [1, 1, -1])
    assert len(model.record_["fingerprint"]) == 32
    assert model.record_["fingerprint"] != other.record_["fingerprint"]


@pytest.mark.parametrize(
    "other",
    [
        comparisons(winner=-1),
        comparisons(values=((0.0,), (1.0,), (3.5,))),
        comparisons(weight=[1.0, 2.0]),
        comparisons(count=[1, 2]),
    ],
)
def test_other_data_have_another_fingerprint(other):
    assert comparisons().fingerprint == comparisons().fingerprint
    assert other.fingerprint != comparisons().fingerprint


def test_the_command_is_one_that_a_shell_takes(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/pairscore", "fit", "a b"])
    assert command_line() == "pairscore fit 'a b'"
    monkeypatch.setattr(sys, "argv", ["/somewhere/pairscore/__main__.py", "fit", "a b"])
    assert command_line() == "python -m pairscore fit 'a b'"
    monkeypatch.setattr(sys, "argv", [])
    assert command_line() == ""


def test_versions_are_those_installed():
    assert package_version("numpy") == np.__version__
