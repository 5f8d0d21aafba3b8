"""The record of where a model came from: versions, fingerprint, seed and command."""

import sys

import numpy as np
import pytest

import pairscore
from pairscore import Comparisons
from pairscore.model.record import command_line, fingerprint, make_record, package_version


def comparisons(winner=1, values=((0.0,), (1.0,), (3.0,)), **columns):
    return Comparisons(np.array(values), [1, 2], [0, 1], [winner, 1], **columns)


def test_the_record_has_what_it_takes_to_make_the_model_again():
    X, _ = Comparisons.from_frames([[0.0], [1.0], [3.0]], np.array([[1, 0], [2, 1]]), seed=7)
    record = make_record(X)
    assert record["versions"]["pairscore"] == pairscore.__version__
    assert record["versions"]["numpy"] == np.__version__
    assert record["seed"] == 7
    assert record["fingerprint"] == fingerprint(X)


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
    assert fingerprint(comparisons()) == fingerprint(comparisons())
    assert fingerprint(other) != fingerprint(comparisons())


def test_the_command_is_one_that_a_shell_takes(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/pairscore", "fit", "a b"])
    assert command_line() == "pairscore fit 'a b'"
    monkeypatch.setattr(sys, "argv", ["/somewhere/pairscore/__main__.py", "fit", "a b"])
    assert command_line() == "python -m pairscore fit 'a b'"
    monkeypatch.setattr(sys, "argv", [])
    assert command_line() == ""


def test_versions_are_those_installed():
    assert package_version("numpy") == np.__version__
