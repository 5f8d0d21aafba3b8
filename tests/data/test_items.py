"""The item table at the door: every kind of table, what is refused and how, what comes back."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pairscore import Comparisons, PairscoreError, PairscoreWarning, RankRegression
from pairscore.data.items import (
    Items,
    feature_keys,
    look_up_numbers,
    one_row,
    read_items,
    rows_of_same_features,
)
from pairscore.data.tables import as_frame, backend_of
from pairscore.errors import CollinearFeaturesWarning
from tests.data.conftest import TABLES, every_table, says, study

pytestmark = pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")


# -- every kind of table gives the same items -----------------------------------------------------


def count_calls(work):
    """How many functions a piece of work calls: what it costs, without a clock."""
    n_calls = 0

    def count(frame, event, argument):
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    work()  # what is cached is cached now
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return n_calls


def cost_of_columns(work):
    """By what four times the columns multiply the cost: 4 if it is linear, 16 if quadratic."""
    return count_calls(lambda: work(400)) / count_calls(lambda: work(100))


def wide(table, n_columns, rows, entry=float):
    columns = {f"f{number}": [entry(row + number) for row in rows] for number in range(n_columns)}
    return table({"id": [f"item {row}" for row in rows], **columns})


many_columns = pytest.mark.parametrize("table", [*TABLES.values(), dict])


@many_columns
def test_a_frame_of_many_columns_is_read_in_linear_time(table):
    for entry in (float, bool):
        tables = {n: wide(table, n, range(3), entry) for n in (100, 400)}
        assert cost_of_columns(lambda n: read_items(tables[n])) < 6


@many_columns
def test_one_row_of_many_features_is_scored_in_linear_time(table):
    votes = {"winner": ["item 1", "item 5"], "loser": ["item 5", "item 2"]}
    rows = {n: wide(table, n, [5]) for n in (100, 400)}
    models = {
        n: RankRegression(l2=1.0, inference=None).fit(wide(table, n, [1, 5, 2]), votes)
        for n in (100, 400)
    }
    assert cost_of_columns(lambda n: models[n].decision_function(rows[n])) < 6


@every_table
def test_every_kind_of_table_gives_the_same_items(table):
    items = read_items(
        table({"id": ["ant", "bee", "cat"], "legs": [6, 6, 4], "mass": [0.1, 0.2, 4e3]})
    )
    assert items.names == ["ant", "bee", "cat"]
    assert items.feature_names == ("legs", "mass")
    assert items.values.tolist() == [[6.0, 0.1], [6.0, 0.2], [4.0, 4000.0]]
    assert items.values.dtype == np.float64


@pytest.mark.parametrize(
    "kind",
    [
        list,
        np.array,
        lambda rows: np.array(rows, dtype=np.int8),
        lambda rows: np.asfortranarray(rows, dtype=np.float32),
    ],
)
def test_arrays_and_lists_are_known_by_their_row_numbers(kind):
    items = read_items(kind([[6, 1], [6, 2], [4, 9]]))
    assert items.names == [0, 1, 2]
    assert items.feature_names == ("x0", "x1")
    assert items.values.tolist() == [[6.0, 1.0], [6.0, 2.0], [4.0, 9.0]]


def test_a_default_pandas_index_names_nothing_and_any_other_one_does():
    frame = pd.DataFrame({"mass": [1.0, 2.0, 3.0]})
    assert read_items(frame).ids is None
    assert read_items(frame.iloc[[2, 0]]).names == [2, 0]
    assert read_items(frame.set_axis(["a", "b", "c"])).names == ["a", "b", "c"]


def test_an_id_column_comes_before_a_pandas_index():
    frame = pd.DataFrame({"id": ["a", "b"], "mass": [1.0, 2.0]}, index=[7, 8])
    assert read_items(frame).names == ["a", "b"]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_without_ids_are_known_by_their_row_numbers(table):
    assert read_items(table({"mass": [1.0, 2.0, 3.0]})).names == [0, 1, 2]


@every_table
def test_yes_and_no_are_one_and_zero(table):
    assert read_items(
        table({"id": ["a", "b"], "tall": [True, False], "mass": [2.5, 1.0]})
    ).values.tolist() == [[1.0, 2.5], [0.0, 1.0]]


def test_columns_that_are_numbered_get_their_number_as_name():
    assert read_items(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])).feature_names == ("0", "1")


def test_an_array_of_floats_is_taken_by_reference():
    values = np.ones((3, 2))
    assert np.shares_memory(read_items(values).values, values)


def test_items_that_were_read_are_not_read_again():
    items = read_items([[1.0], [2.0]])
    assert read_items(items) is items


def test_taken_items_keep_their_names():
    assert read_items([[1.0], [2.0], [3.0]]).take(np.array([2, 0])).names == [2, 0]
    assert read_items(pd.DataFrame({"id": list("abc"), "mass": [1.0, 2.0, 3.0]})).take(
        np.array([2, 0])
    ).names == ["c", "a"]


@settings(deadline=None, max_examples=40)
@given(
    hnp.arrays(
        float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e9, 1e9)
    ),
    st.sampled_from([pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table]),
)
def test_numbers_pass_the_door_unchanged(values, table):
    columns = {f"x{column}": values[:, column] for column in range(values.shape[1])}
    assert np.array_equal(read_items(table(columns)).values, read_items(values).values)
    assert np.array_equal(read_items(values).values, values)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids", [[[1], [2, 3]], [{}, {"a": 1}], [np.arange(2), np.arange(3)], [[1, 2], [3, 4]]]
)
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_lists_are_no_ids(ids, table):
    with pytest.raises(
        PairscoreError,
        match=says(
            "the id is a list or the like in 2 rows of the item table: row 0 (",
            "use text or numbers as ids",
        ),
    ):
        read_items(table({"id": ids, "mass": [1.0, 2.0]}))


@pytest.mark.parametrize(
    "value",
    [
        object(),
        "1",
        b"1",
        [1.0],
        {},
        1j,
        np.datetime64("2020"),
        np.timedelta64(1, "D"),
        pd.Timestamp(0),
        pd.NA,
        10**400,
    ],
)
def test_objects_that_are_no_numbers_are_refused(value):
    items = np.ones((3, 2), dtype=object)
    items[1, 1] = value
    with pytest.raises(
        PairscoreError,
        match=says(
            "the items are neither a dataframe nor a numeric array",
            "give one row of numbers per item",
        ),
    ):
        read_items(items)
    items[1, 1] = 5  # objects that are numbers are taken
    assert read_items(items).values.tolist() == [[1, 1], [1, 5], [1, 1]]


@every_table
def test_a_repeated_id_is_refused(table):
    with pytest.raises(
        PairscoreError,
        match=says("2 rows", "repeat an id", "row 2 ('a')", "row 3 ('b')", "keep one row per item"),
    ):
        read_items(table({"id": ["a", "b", "a", "b"], "mass": [1.0, 2.0, 3.0, 4.0]}))


@every_table
def test_a_missing_id_is_refused(table):
    with pytest.raises(
        PairscoreError, match=says("missing in 1 row", "row 1", "give every item an id")
    ):
        read_items(table({"id": ["a", None, "c"], "mass": [1.0, 2.0, 3.0]}))


@pytest.mark.parametrize(
    "ids",
    [[1.0, np.nan], pd.array([1, None], dtype="Int64"), pd.array(["a", None], dtype="string")],
)
def test_every_way_of_pandas_to_miss_an_id_is_refused(ids):
    with pytest.raises(PairscoreError, match=says("missing in 1 row", "row 1")):
        read_items(pd.DataFrame({"id": ids, "mass": [1.0, 2.0]}))


@every_table
def test_nan_and_infinite_features_are_counted_by_column(table):
    columns = {
        "id": list("abcd"),
        "mass": [np.nan, 1.0, np.inf, 2.0],
        "legs": [1.0, 2.0, 3.0, 4.0],
        "age": [1.0, -np.inf, 2.0, 3.0],
    }
    with pytest.raises(
        PairscoreError,
        match=says(
            "3 feature values are NaN or infinite", "2 columns", "'mass' (2)", "'age' (1)", "drop"
        ),
    ):
        read_items(table(columns))


def test_only_the_first_columns_of_many_are_listed():
    with pytest.raises(
        PairscoreError,
        match=says("16 feature values", "8 columns", "'x0' (2)", "'x4' (2)", "and 3 more"),
    ):
        read_items(np.full((2, 8), np.nan))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1.0, None]),
        pl.Series([1, None]),
        pl.Series([True, None]),
        pd.array([1.5, None], dtype="Float64"),
        pd.array([1, None], dtype="Int64"),
        pd.array([True, None], dtype="boolean"),
        pa.array([1, None]),
    ],
    ids=lambda column: (
        f"{type(column).__module__.split('.')[0]}"
        f" {column.type if isinstance(column, pa.Array) else column.dtype}"
    ),
)
def test_an_empty_cell_is_a_missing_number(column):
    table = (
        pl.DataFrame
        if isinstance(column, pl.Series)
        else pa.table
        if isinstance(column, pa.Array)
        else pd.DataFrame
    )
    with pytest.raises(PairscoreError, match=says("1 feature value is NaN", "'mass' (1)")):
        read_items(table({"mass": column, "legs": [1.0, 2.0]}))


@every_table
def test_text_columns_are_left_out_with_one_warning_that_names_them(table):
    """A name or a date next to the numbers stopped the fit."""
    rows = {"id": ["a", "b"], "colour": ["red", "blue"], "mass": [1.0, 2.0], "name": ["x", "y"]}
    words = says(
        "2 columns are not numeric", "'colour'", "'red'", "'name'", "with id", "with features"
    )
    with pytest.warns(PairscoreWarning, match=words) as caught:
        items = read_items(table(rows))
    assert len(caught) == 1
    assert items.feature_names == ("mass",)
    assert items.values.tolist() == [[1.0], [2.0]]


@every_table
def test_text_is_not_guessed_into_numbers(table):
    with pytest.raises(
        PairscoreError,
        match=says("1 column", "is not numeric", "'colour'", "'red'", "0/1 columns", "drop them"),
    ):
        read_items(table({"id": ["a", "b"], "colour": ["red", "blue"]}))
    with pytest.raises(PairscoreError, match=says("is not numeric", "'colour'")):
        read_items(table({"id": ["a", "b"], "colour": ["red", "blue"]}), ("colour",))


def test_text_among_the_numbers_of_a_column_is_refused_and_not_left_out():
    frame = pd.DataFrame({"id": [1, 2], "mass": [1.0, "two"], "legs": [4, 6]})
    with pytest.raises(PairscoreError, match=says("1 column", "is not numeric", "'mass'")):
        read_items(frame)


@pytest.mark.parametrize(
    "items",
    [
        [["1", "2"]],
        np.array([["1"], [2.0]], dtype=object),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        np.array([[1j]]),
        [[1.0], [1.0, 2.0]],
        {1.0},
    ],
    ids=["text", "text among numbers", "dates", "complex", "ragged", "a set"],
)
def test_arrays_of_anything_but_numbers_are_refused(items):
    with pytest.raises(
        PairscoreError, match=says("neither a dataframe nor a numeric array", "numbers")
    ):
        read_items(items)


@pytest.mark.parametrize(
    ("items", "facts"),
    [
        ([1.0, 2.0], ("1 dimension;", "one row per item")),
        (np.zeros((2, 2, 2)), ("3 dimensions", "one row per item")),
        (pd.Series([1.0, 2.0]), ("1 dimension;",)),
        (np.zeros((0, 2)), ("no rows", "one row for each item")),
        (
            pl.DataFrame({"id": [], "mass": []}, schema={"id": pl.String, "mass": pl.Float64}),
            ("no rows",),
        ),
        (np.zeros((2, 0)), ("no feature columns", "add at least one")),
        (pd.DataFrame({"id": ["a", "b"]}), ("no feature columns", "add at least one")),
        (np.full((2, 1), 1e308), ("overflow", "1e+308", "divide them by a constant")),
        (
            pd.DataFrame([[1.0, 2.0]], columns=["mass", "mass"]),
            ("columns of the same name", "'mass' 2 times", "own name"),
        ),
        (
            pa.table([[1.0], [2.0]], names=["mass", "mass"]),
            ("columns of the same name", "'mass' 2 times"),
        ),
    ],
)
def test_tables_of_the_wrong_shape_are_refused(items, facts):
    with pytest.raises(PairscoreError, match=says(*facts)):
        read_items(items)


# -- other features than in fit --------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, votes = study()
    return RankRegression(inference=None).fit(pd.DataFrame(X, columns=["age", "bmi", "ldl"]), votes)


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        (["age", "bmi", "hdl"], ("lack 1 feature of the 3", "'ldl'", "Did you mean 'hdl'?")),
        (
            ["age", "x", "y"],
            (
                "lack 2 features of the 3",
                "'bmi', 'ldl'; add them, or fit again with exclude=['bmi', 'ldl'].",
            ),
        ),
        (
            ["age", "bmi"],
            ("lack 1 feature of the 3", "'ldl'; add it, or fit again with exclude=['ldl']."),
        ),
    ],
)
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_a_feature_that_new_items_lack_is_named(fitted, table, columns, facts):
    new_items = table({name: [1.0, 2.0] for name in columns})
    for use in (fitted.rank, fitted.decision_function):
        with pytest.raises(PairscoreError, match=says(*facts)):
            use(new_items)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, dict])
def test_new_items_may_have_other_columns_and_another_order(fitted, table):
    """Columns are found by name: a table with one more, or in another order, was refused."""
    rows = {"ldl": [3.0, 6.0], "name": ["x", "y"], "bmi": [2.0, 5.0], "more": [9.0, np.nan]}
    rows |= {"age": [1.0, 4.0], "notes": ["", ""]}
    scores = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) @ fitted.coef_
    np.testing.assert_allclose(fitted.decision_function(table(rows)), scores)
    ranking = fitted.rank(table(rows))
    assert set(np.asarray(ranking["id"])) == {0, 1}
    one, other = (table({name: column[k : k + 1] for name, column in rows.items()}) for k in (1, 0))
    assert fitted.difference(one, other).difference == pytest.approx(scores[1] - scores[0])


def test_pairs_of_items_with_other_columns_are_predicted(fitted):
    rows = {"ldl": [3.0, 6.0], "bmi": [2.0, 5.0], "more": [9.0, 7.0], "age": [1.0, 4.0]}
    pairs = Comparisons.from_pairs(rows, [1], [0])
    step = 3 * fitted.coef_.sum()
    assert fitted.decision_function(pairs) == pytest.approx([step])
    assert fitted.predict_proba(pairs)[0, 1] == pytest.approx(1 / (1 + np.exp(-step)))
    assert fitted.difference(pairs).difference == pytest.approx([step])


def test_an_array_with_the_right_number_of_features_has_no_names_to_compare(fitted):
    assert fitted.decision_function(np.eye(3)) == pytest.approx(fitted.coef_)
    with pytest.raises(PairscoreError, match=says("2 features", "fitted with 3")):
        fitted.rank(np.eye(2))


def test_items_have_a_length():
    assert len(Items(np.zeros((4, 2)), ("a", "b"))) == 4


def test_masked_values_are_refused():
    X, votes = study()
    masked = np.ma.masked_array(X, np.zeros_like(X, dtype=bool))
    masked.mask[3, 1] = True
    with pytest.raises(PairscoreError, match="1 feature value masked"):
        RankRegression().fit(masked, votes)


# -- names and rows --------------------------------------------------------------------------------


def named(ids):
    return read_items({"id": ids, "mass": np.arange(len(ids), dtype=float)})


@pytest.mark.parametrize(
    ("ids", "names", "rows"),
    [
        (["a", "b", "7"], ["7", "a", "x", None], [2, 0, -1, -1]),
        ([30, 10, 20], [10, 20, 30, 40, 5], [1, 2, 0, -1, -1]),
        ([30, 10, 20], ["10", 20], [-1, 2]),
        (["a", 7, "b"], [7, "7", "b"], [1, -1, 2]),
        (["a", "b"], [["a"], "b"], [-1, 1]),
    ],
)
def test_rows_are_found_by_equal_names(ids, names, rows):
    assert named(ids).find_rows(np.array(names, dtype=object)).tolist() == rows
    if all(isinstance(name, int) for name in names):
        assert named(ids).find_rows(np.array(names)).tolist() == rows


def test_items_without_ids_are_found_by_row_number_and_truth_values_find_none():
    items = read_items([[1.0], [2.0]])
    assert items.find_rows(np.array([1, 0, 2, -1])).tolist() == [1, 0, -1, -1]
    assert items.find_rows(np.array([True, False])).tolist() == [-1, -1]
    assert items.find_rows(np.array([[0], [1]])).tolist() == [-1, -1]


def test_in_files_a_number_and_its_text_are_the_same_name():
    assert named([10, 20]).find_rows_by_text(np.array(["20", "x", "10"])).tolist() == [1, -1, 0]
    assert named(["10", "b"]).find_rows_by_text(np.array([10, 11])).tolist() == [0, -1]
    assert read_items([[1.0], [2.0]]).find_rows_by_text(np.array(["1"])).tolist() == [1]
    mixed = np.array(["a", 1.0, None], dtype=object)
    assert named(["a", "b"]).find_rows_by_text(mixed).tolist() == [0, -1, -1]


def test_new_items_follow_the_old_ones():
    both = named(["a", "b"]).with_new_items(named(["c"]))
    assert both.names == ["a", "b", "c"]
    assert both.values.ravel().tolist() == [0.0, 1.0, 0.0]
    assert named(["a"]).with_new_items(named([7])).names == ["a", 7]
    with pytest.raises(PairscoreError, match=says("1 row", "repeats an id", "row 2 ('a')")):
        named(["a", "b"]).with_new_items(named(["a"]))
    with pytest.raises(PairscoreError, match="items can be added where all have ids"):
        named(["a"]).with_new_items(read_items([[1.0]]))


# -- embeddings in one column ----------------------------------------------------------------------

EMBEDDING = np.random.default_rng(0).normal(size=(5, 384))
TABLES_OF_LISTS = {
    "pandas lists": lambda rows: pd.DataFrame({"id": list("abcde"), "e": rows.tolist(), "x": 1.0}),
    "pandas arrays": lambda rows: pd.DataFrame({"e": list(rows), "x": 1.0}, index=list("abcde")),
    "polars lists": lambda rows: pl.DataFrame(
        {"id": list("abcde"), "e": rows.tolist(), "x": [1.0] * 5}
    ),
    "polars arrays": lambda rows: pl.DataFrame({"id": list("abcde"), "e": rows, "x": [1.0] * 5}),
    "Arrow lists of one size": lambda rows: pa.table(
        {
            "id": list("abcde"),
            "e": pa.array(rows.tolist(), pa.list_(pa.float64(), rows.shape[1])),
            "x": [1.0] * 5,
        }
    ),
    "dict": lambda rows: {"id": list("abcde"), "e": rows.tolist(), "x": [1.0] * 5},
}


@pytest.mark.parametrize("kind", TABLES_OF_LISTS)
def test_a_column_of_embeddings_becomes_a_feature_for_each_place(kind):
    table = TABLES_OF_LISTS[kind](EMBEDDING)
    items = read_items(table)
    assert items.feature_names == (*(f"e[{place}]" for place in range(384)), "x")
    np.testing.assert_array_equal(items.values, np.column_stack([EMBEDDING, np.ones(5)]))
    assert items.ids.tolist() == list("abcde")
    assert items.backend == backend_of(as_frame(table))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (None, r"lists of 384 numbers, but not in 1 row: row 1 \(None\); give every item"),
        ([0.5] * 383, r"384 numbers, but not in 1 row: row 1 \(a list of 383 values\)"),
    ],
)
def test_embeddings_that_are_missing_or_of_another_length_are_named_in_one_sentence(
    frame, bad, words
):
    """384 numbers of the first item stood in the message."""
    lists = EMBEDDING.tolist()
    lists[1] = bad
    with pytest.raises(PairscoreError, match=words) as caught:
        read_items(frame({"id": list("abcde"), "embedding": lists, "x": [1.0] * 5}))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "lists", [[["a", "b"]] * 3, [[[1.0], [2.0]]] * 3, [[], [], []], [None] * 3]
)
@pytest.mark.parametrize("frame", [pd.DataFrame, dict])
def test_lists_of_anything_but_numbers_are_refused(frame, lists):
    with pytest.raises(PairscoreError, match="'e'"):
        read_items(frame({"id": [1, 2, 3], "e": lists}))
    with pytest.raises(PairscoreError, match="'e'"):
        read_items(pl.DataFrame({"id": [1, 2], "e": pl.Series([None] * 2, dtype=pl.List(float))}))


def test_a_number_that_is_missing_in_an_embedding_is_named():
    rows = EMBEDDING.copy()
    rows[2, 7] = np.nan
    with pytest.raises(PairscoreError, match=r"NaN or infinite, in 1 column: 'e\[7\]' \(1\)"):
        read_items(TABLES_OF_LISTS["polars arrays"](rows))


@pytest.mark.parametrize("missing", ["refuse", "mean-with-flag"])
def test_places_of_an_embedding_with_rounding_errors_alone_are_constant(missing):
    """Components of an SVD beyond the rank had coefficients of 1e15, and p-values."""
    rng = np.random.default_rng(0)
    rows = 1e-9 * rng.normal(size=(60, 3))  # in any unit
    noisy = np.column_stack([rows, 1e-25 * rng.normal(size=(60, 2))])
    votes = np.array([(a, b) for a, b in rng.integers(0, 60, (300, 2)) if a != b])
    table = pd.DataFrame({"e": list(noisy)})
    with pytest.warns(CollinearFeaturesWarning, match=r"2 features are constant .*'e\[3\]'"):
        model = RankRegression(missing=missing).fit(table, votes)
    assert model.coef_[3:].tolist() == [0, 0]
    np.testing.assert_allclose(model.coef_[:3], RankRegression().fit(rows, votes).coef_, rtol=1e-6)
    assert np.all(np.isfinite(model.rank(table)["high"]))
    assert noisy[0, 3] == table["e"][0][3] != 0  # the caller's table is as it was


def test_separate_columns_have_units_of_their_own():
    values = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 1e-16]
    table = pd.DataFrame({"mass": values[:, 0], "charge": values[:, 1]})
    np.testing.assert_array_equal(read_items(table).values, values)


def test_new_items_are_scored_from_the_same_column_of_embeddings():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 3))
    left = rng.integers(0, 40, 500)
    right = (left + rng.integers(1, 40, 500)) % 40
    won = rng.random(500) < 1 / (1 + np.exp(-(rows[left] - rows[right]) @ [1.0, -1.0, 0.5]))
    votes = np.column_stack([np.where(won, left, right), np.where(won, right, left)])
    for missing in ("refuse", "mean-with-flag"):
        model = RankRegression(inference="model", missing=missing).fit(
            pd.DataFrame({"e": rows.tolist()}), votes
        )
        np.testing.assert_allclose(
            model.coef_, RankRegression(inference="model").fit(rows, votes).coef_, rtol=1e-9
        )
        new = rng.normal(size=(4, 3))
        scores = model.decision_function(pl.DataFrame({"e": new}))
        np.testing.assert_allclose(scores, new @ model.coef_, rtol=1e-12)
        with pytest.raises(PairscoreError, match=r"'e' has 2 numbers .* fitted with 3"):
            model.decision_function(pl.DataFrame({"e": new[:, :2]}))


def embedded(rng, n=80, d=16):
    """Items with embeddings, as columns, and votes on them."""
    E = rng.normal(size=(n, d))
    left = rng.integers(0, n, 1500)
    right = (left + rng.integers(1, n, 1500)) % n
    won = rng.random(1500) < 1 / (1 + np.exp(-(E[left] - E[right]) @ rng.normal(0, 0.4, d)))
    ids = np.array([f"i{row}" for row in range(n)])
    votes = {"left": ids[left], "right": ids[right], "winner": np.where(won, "left", "right")}
    return {"id": ids, "embedding": E, "words": rng.normal(size=n)}, votes


def as_lists(table):
    return pd.DataFrame({n: list(c) if c.ndim > 1 else c for n, c in table.items()})


def test_a_two_dimensional_array_is_a_column_of_embeddings():
    table, votes = embedded(np.random.default_rng(0))
    model = RankRegression().fit(table, votes)
    assert [*model.feature_names_in_[[0, 15]]] == ["embedding[0]", "embedding[15]"]
    same = RankRegression().fit(as_lists(table), votes)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    np.testing.assert_array_equal(model.rank(table)["score"], same.rank(as_lists(table))["score"])


@pytest.mark.parametrize(
    "columns", [{}, {"features": ["embedding", "words"]}], ids=["all", "named"]
)
@pytest.mark.parametrize("length", [8, 24])
def test_an_embedding_of_another_length_is_not_cut(columns, length):
    table, votes = embedded(np.random.default_rng(0))
    model = RankRegression().fit(table, votes, **columns)
    other = as_lists(table | {"embedding": np.resize(table["embedding"], (80, length))})
    said = f"'embedding' has {length} numbers for each item, but the model was fitted with 16"
    for ask in (model.rank, model.decision_function, lambda t: model.items(t)):
        with pytest.raises(PairscoreError, match=said):
            ask(other)
    with pytest.raises(PairscoreError, match=said):
        model.predict_proba(
            Comparisons.from_pairs(other[["id", "embedding", "words"]], ["i0"], ["i1"])
        )
    one = {"embedding": [0.5] * length, "words": 1.0}
    with pytest.raises(PairscoreError, match=said):
        model.decision_function(one)
    with pytest.raises(
        PairscoreError,
        match=r"'embedding' \(16 numbers\); add it, or fit again with exclude=\['embedding'\]\.$",
    ):
        model.rank(other.drop(columns="embedding"))


def test_single_numbers_of_an_embedding_may_be_features():
    table, votes = embedded(np.random.default_rng(0))
    model = RankRegression().fit(as_lists(table), votes, features=["embedding[0]", "words"])
    assert len(model.rank(as_lists(table))) == 80
    one = pd.DataFrame({"embedding[0]": [1.0], "words": [2.0]})
    np.testing.assert_allclose(model.decision_function(one), model.coef_ @ [1.0, 2.0])


@pytest.mark.parametrize(
    "columns",
    [{}, {"features": ["embedding"]}, {"features": ["embedding"], "categorical": ["kind"]}],
    ids=["all", "named", "categories"],
)
def test_one_item_with_an_embedding_is_scored_from_a_dict(columns):
    table, votes = embedded(np.random.default_rng(0))
    table |= (
        {"kind": np.array(["oil", "ink"])[np.arange(80) % 2]} if "categorical" in columns else {}
    )
    model = RankRegression().fit(table, votes, **columns)
    expected = model.decision_function(table)
    for row in (0, 7):
        one = {name: column[row].tolist() for name, column in table.items()}
        for item in (
            one,
            one | {"embedding": table["embedding"][row]},
            {**one, "more": ["x", [1]]},
        ):
            np.testing.assert_allclose(model.decision_function(item), [expected[row]])
        assert model.rank(one)["id"].tolist() == [f"i{row}"]
        other = {name: column[3] for name, column in table.items()}
        difference = model.difference(one, other).difference
        assert difference == pytest.approx(expected[row] - expected[3])


def test_the_key_of_one_item_is_that_of_its_row_in_a_table_and_in_older_files():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-300, 300, (40, 7))
    values[3] = [0.0, -0.0, 1.0, np.inf, -np.inf, 1e300, 1e-300]
    keys = feature_keys(values)
    assert [int(feature_keys(row[None])[0]) for row in values] == keys.tolist()
    known = np.array([[1.5, -0.0, 1e300], [0.1, 2.0, -3.0]])
    written = [15645634535919391716, 8933814505907578672]
    assert feature_keys(known).tolist() == written
    assert feature_keys(np.tile(known, (20, 1)))[:2].tolist() == written


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 5))
def test_one_item_is_found_where_it_would_be_among_others(known, key):
    known, one = np.array(known, dtype=np.uint64), np.array([key], dtype=np.uint64)
    stranger = np.append(one, np.uint64(99))  # two items are looked up by sorting
    assert rows_of_same_features(known, one)[0] == rows_of_same_features(known, stranger)[0]


def test_single_values_become_columns_of_one_row():
    made = one_row({"mass": 1.5, "style": "oil", "gap": None, "size": [3.0]})
    assert made == {"mass": [1.5], "style": ["oil"], "gap": [None], "size": [3.0]}


@pytest.mark.parametrize("known", [[3, 0, 1], [7, 9, 8, 20], [10**12, -5, 4], [2]])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_numbers_near_each_other_and_far_apart_are_found_where_they_are(known, kind):
    names = np.array([0, 1, 2, 3, 7, 20, 21, 4], dtype=kind)
    found = look_up_numbers(np.array(known), names)
    assert found.tolist() == [known.index(name) if name in known else -1 for name in names.tolist()]


def test_items_of_equal_features_are_told_apart_by_order_or_not_at_all():
    known = np.array([7, 8, 8, 9], dtype=np.uint64)
    assert rows_of_same_features(known, np.array([9, 7, 7, 5], dtype=np.uint64)).tolist() == [
        3,
        0,
        0,
        -1,
    ]
    assert rows_of_same_features(known, np.array([8, 7, 8], dtype=np.uint64)).tolist() == [1, 0, 2]
    assert rows_of_same_features(known, np.array([8], dtype=np.uint64)).tolist() == [-1]
    X = np.random.default_rng(0).normal(size=(500, 3)) * 10 + 1e6
    keys = feature_keys(X)
    assert len(set(keys.tolist())) == 500
    assert np.array_equal(feature_keys(X * (1 + 2e-16)), keys)
    # as another program kept them
    assert np.array_equal(feature_keys(X.astype(np.float32).astype(float)), keys)
    assert feature_keys(X[:, ::-1])[0] != keys[0]
    assert feature_keys(np.array([[0.0, 1.0]])) == feature_keys(np.array([[-0.0, 1.0]]))
