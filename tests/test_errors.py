"""Messages: their words, what they carry, and checks of single numbers."""

import pickle
from math import inf, nan

import numpy as np
import pytest

from pairscore.errors import (
    BadEntriesError,
    BadRow,
    BadRowsError,
    PairscoreError,
    is_real,
    number_between,
    positive_number,
    whole_number,
)
from tests.test_package import heavy_modules_after

NOT_NUMBERS = [True, False, "1", None, [1.0], 1j, nan]


def test_an_error_is_a_value_error():
    assert issubclass(PairscoreError, ValueError)


def test_errors_load_no_numpy():
    assert heavy_modules_after("import pairscore.errors") == "loaded: []"


# -- faults ----------------------------------------------------------------------------------------


def test_bad_rows_are_all_kept_and_the_first_twenty_shown():
    rows = [BadRow(line, "mass", "x", "not a number") for line in range(2, 27)]
    error = BadRowsError("items.csv", [*rows, BadRow(26, None, "a,b", "2 cells")])
    lines = str(error).split("\n")
    assert lines[0] == "'items.csv' has 25 bad rows; correct or remove them:"
    assert lines[1] == "  line 2, column 'mass': not a number: 'x'"
    assert lines[-1] == "  and 6 more"
    assert len(lines) == 22
    assert len(error.rows) == 26
    assert str(error.rows[-1]) == "line 26: 2 cells: 'a,b'"


@pytest.mark.parametrize(
    "error",
    [
        BadRowsError("items.csv", [BadRow(2, "mass", "x", "not a number")], "look there"),
        BadEntriesError("1 id is missing", "name it", "items", [(3, "id", None)], "missing"),
    ],
)
def test_errors_travel_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_entries_are_told_in_a_sentence():
    error = BadEntriesError("1 id is missing", "name it", "items", [(3, "id", None)], "missing")
    assert str(error) == "1 id is missing; name it."


# -- words -----------------------------------------------------------------------------------------


# -- single numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1, 2.5, np.int8(3), np.float32(0.5), nan])
def test_numbers_of_python_and_numpy_are_real(value):
    assert is_real(value)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1.0], np.ones(1)])
def test_other_things_are_not(value):
    assert not is_real(value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, -0.1, 1.1])
def test_a_number_between_limits(value):
    limits = (0.0, 1.0, "a share from 0 to 1")
    assert number_between(1, "noise", *limits) == 1.0
    assert isinstance(number_between(np.float32(0.5), "noise", *limits), float)
    with pytest.raises(PairscoreError) as caught:
        number_between(value, "noise", *limits)
    assert str(caught.value) == f"noise is {value!r}; use a share from 0 to 1."


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0, -1.0, inf])
def test_a_positive_number(value):
    assert positive_number(np.int64(2), "cost") == 2.0
    with pytest.raises(PairscoreError) as caught:
        positive_number(value, "cost")
    assert str(caught.value) == f"cost is {value!r}; use a number above 0."


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0, -1, 2.0, inf])
def test_a_whole_number(value):
    assert whole_number(np.int64(2), "n_items") == 2
    with pytest.raises(PairscoreError) as caught:
        whole_number(value, "n_items")
    assert str(caught.value) == f"n_items is {value!r}; use a whole number from 1."
