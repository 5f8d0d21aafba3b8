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
    closest,
    did_you_mean,
    first_few,
    first_rows,
    is_real,
    number_between,
    plural,
    positive_number,
    shown,
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


def test_lists_are_cut_short():
    assert first_few([]) == ""
    assert first_few(["a", "b"]) == "a, b"
    assert first_few(range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert first_rows([3, 8], ["x", 1]) == "row 3 ('x'), row 8 (1)"


def test_names_with_a_slip_are_recognised():
    assert closest("MAS", ["height", "Mass"]) == "Mass"
    assert closest("colour", ["height", "mass"]) is None
    assert did_you_mean("hight", ["height", "mass"]) == " Did you mean 'height'?"
    assert did_you_mean("colour", ["height", "mass"]) == ""


def test_nouns_and_verbs_agree_with_their_number():
    assert plural(1, "item") == "1 item"
    assert plural(0, "item") == "0 items"
    assert plural(2000, "item", ",") == "2,000 items"
    assert [plural(1, "row", verb=verb) for verb in ("is", "has", "names")] == [
        "1 row is",
        "1 row has",
        "1 row names",
    ]
    assert [plural(2, "row", verb=verb) for verb in ("is", "has", "names")] == [
        "2 rows are",
        "2 rows have",
        "2 rows name",
    ]


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


def test_long_values_are_cut_and_long_lists_counted():
    assert shown([1, 2, 3]) == "[1, 2, 3]"
    assert shown(np.zeros(384)) == "a list of 384 values"
    assert shown("x" * 500) == "'" + "x" * 78 + "…"
    assert first_rows([3], [list(range(300))]) == "row 3 (a list of 300 values)"
