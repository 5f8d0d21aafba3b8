"""Tables of every kind as named columns, and what no table may be."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairscore import PairscoreError, RankRegression
from pairscore.data.tables import (
    Column,
    Columns,
    as_frame,
    backend_name,
    backend_of,
    column_of,
    is_missing,
    look_up,
    named_backend,
)
from tests.data.conftest import every_table, says, study

# -- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [Column(np.array(list("abca"))), Column(np.array(list("abc")), np.array([0, 1, 2, 0]))],
)
def test_a_column_is_the_same_with_and_without_codes(values):
    assert len(values) == 4
    assert values[3] == "a"
    assert values.to_numpy().tolist() == ["a", "b", "c", "a"]
    assert values.map(np.char.upper).tolist() == ["A", "B", "C", "A"]
    assert values.take(np.array([3, 1])).to_numpy().tolist() == ["a", "b"]


def test_codes_let_a_function_see_each_value_once():
    seen = []

    def length(values):
        seen.extend(values.tolist())
        return np.char.str_len(values)

    column = Column(np.array(["a", "bb"]), np.array([0, 1, 1, 0, 1]))
    assert column.map(length).tolist() == [1, 2, 2, 1, 2]
    assert seen == ["a", "bb"]


@pytest.mark.parametrize(
    ("values", "kind", "entries"),
    [
        ([1, 2], "i", [1, 2]),
        ([1, 2.5], "f", [1.0, 2.5]),
        ([True, False], "b", [True, False]),
        ([1, None], "f", [1.0, np.nan]),
        (["a", 1], "O", ["a", 1]),
        ([None, None], "O", [None, None]),
        ([True, None], "O", [True, None]),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "f", [1.0, np.nan]),
        (pl.Series([1, 2]), "i", [1, 2]),
        ([], "O", []),
    ],
)
def test_entries_become_numbers_where_all_are(values, kind, entries):
    column = Columns({"x": values})["x"]
    assert column.dtype.kind == kind
    np.testing.assert_array_equal(column, np.array(entries, dtype=column.dtype))


def test_columns_are_a_small_table():
    table = Columns({"id": ["a", "b", "c"], "mass": [1, 2, 4]}, from_file=True)
    assert "mass" in table
    assert list(table) == table.keys() == ["id", "mass"]
    assert repr(table) == "Columns(3 rows: 'id', 'mass')"
    assert dict(table)["mass"].tolist() == [1, 2, 4]
    assert table.matrix(("mass", "mass")).tolist() == [[1, 1], [2, 2], [4, 4]]
    taken = table.take(np.array([2, 0]))
    assert taken["id"].tolist() == ["c", "a"]
    assert taken.from_file
    assert len(Columns({})) == 0


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        ({"1": [1], 1: [2]}, ("columns of the same name", "'1'", "its own name")),
        ({"a": [1], "b": [1, 2]}, ("unequal lengths", "'a' (1), 'b' (2)", "one entry per row")),
        ({"a": np.ones((2, 2, 2))}, ("'a' has 3 dimensions", "one entry per row")),
        ({"a": "text"}, ("'a' has 0 dimensions",)),
        ({"a": 3.0}, ("'a' has 0 dimensions",)),
    ],
)
def test_columns_that_are_no_table_are_refused(columns, facts):
    with pytest.raises(PairscoreError, match=says(*facts)):
        as_frame(columns)


# -- every kind of table --------------------------------------------------------------------------


@every_table
def test_every_dataframe_has_columns_by_name(table):
    frame = as_frame(table({"id": ["a", "b"], "mass": [1.0, 2.0]}))
    assert column_of(frame, "mass").to_numpy().tolist() == [1.0, 2.0]
    assert backend_of(frame) == backend_of(as_frame(table({"id": ["x"], "other": [1]})))


def test_dicts_files_and_arrays_have_kinds_of_their_own():
    assert backend_of(as_frame({"a": [1]})) is dict
    assert backend_of(Columns({"a": [1]}, from_file=True)) is Columns
    assert as_frame(np.ones((2, 2))) is None
    assert as_frame([[1.0]]) is None
    assert backend_of(None) is None
    kinds = {
        backend_of(as_frame(table({"a": [1]}))) for table in (pd.DataFrame, pl.DataFrame, pa.table)
    }
    assert len(kinds) == 3


def test_columns_with_names_of_several_levels_are_refused():
    X, votes = study(n_features=2)
    layered = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("size", "leg"), ("size", "arm")]))
    model = RankRegression(inference=None).fit(X, votes)
    for use in (
        lambda: RankRegression().fit(layered, votes),
        lambda: model.rank(layered),
        lambda: RankRegression().fit(X, layered),
    ):
        with pytest.raises(
            PairscoreError,
            match=says(
                "2 columns of a table have a name of several levels: ('size', 'leg'), ('size',"
                " 'arm')",
                "'size_leg'",
            ),
        ):
            use()


UNEVEN = (
    r"neither a dataframe nor a numeric array \(the rows differ in length\); give rows of equally"
    r" many numbers"
)


def test_rows_of_other_lengths_are_refused_in_every_place():
    X, votes = study(n_features=2)
    model = RankRegression(inference=None).fit(X, votes)
    uneven = [[1.0, 2.0], [3.0]]
    for use in (
        lambda: model.fit(uneven, votes),
        lambda: model.rank(uneven),
        lambda: model.difference(uneven, X[0]),
    ):
        with pytest.raises(PairscoreError, match=UNEVEN):
            use()


# -- entries -------------------------------------------------------------------------------------


def test_names_are_looked_up_and_lists_are_never_found():
    numbers = {"a": 3, "b": 5, None: 7}
    assert look_up(numbers, ["b", "x", None], -1).tolist() == [5, -1, 7]
    assert look_up(numbers, [["a"], "a", None, {}], -1).tolist() == [-1, 3, 7, -1]
    assert look_up(numbers, [], -1).tolist() == []


@pytest.mark.parametrize("value", [None, np.nan, float("nan"), pd.NA, pd.NaT])
def test_every_way_to_be_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, "", False, "nan", np.inf])
def test_what_is_not_missing(value):
    assert not is_missing(value)


def test_kinds_of_tables_have_names():
    frames = [pd.DataFrame({"x": [1]}), {"x": [1]}, np.ones((1, 1))]
    kinds = [backend_of(as_frame(frame)) for frame in frames]
    assert [backend_name(kind) for kind in kinds] == ["pandas", "dict", "array"]
    assert [named_backend(backend_name(kind)) for kind in kinds] == kinds


def test_only_libraries_of_tables_are_looked_for(monkeypatch):
    monkeypatch.setattr("pairscore.data.tables.find_spec", lambda name: pytest.fail(name))
    assert named_backend("os.path") is dict
