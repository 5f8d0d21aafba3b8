"""The item table at the door: every kind of table, what is refused and how, what comes back."""

import re
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pairscore import PairscoreError, RankRegression
from pairscore.data.items import Items, read_items
from pairscore.errors import CollinearFeaturesWarning

pytestmark = pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")

METHODS = ("split", "pooled", "paired", "mle")
TABLES = {
    "pandas": pd.DataFrame,
    "pandas with an index": lambda columns: pd.DataFrame(columns).set_index("id"),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "arrow": pa.table,
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def says(*facts):
    """A pattern for messages that state these facts in this order."""
    return ".*".join(map(re.escape, facts))


def study(n_items=120, n_features=3, n_votes=900, seed=5):
    """Features of items, the second half never compared, and votes, the winner's row number first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, n_features)) * np.arange(1, n_features + 1) + 7
    first = rng.integers(0, n_items // 2, n_votes)
    second = (first + rng.integers(1, n_items // 2, n_votes)) % (n_items // 2)
    better = rng.logistic(size=n_votes) < (X[first] - X[second]) @ np.linspace(1, 0.2, n_features)
    return X, np.column_stack([np.where(better, first, second), np.where(better, second, first)])


def as_columns(table):
    """Any table as lists by name, NumPy's structured arrays too."""
    if isinstance(table, np.ndarray):
        return {name: table[name].tolist() for name in table.dtype.names}
    return nw.from_native(table, eager_only=True).to_dict(as_series=False)


# -- every kind of table gives the same items -------------------------------------------------------


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


# -- what is refused ---------------------------------------------------------------------------------


UNEVEN = (
    r"neither a dataframe nor a numeric array \(the rows differ in length\); give rows of equally"
    r" many numbers"
)


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


def test_an_error_is_a_value_error():
    assert issubclass(PairscoreError, ValueError)


@every_table
def test_a_repeated_id_is_refused(table):
    with pytest.raises(
        PairscoreError,
        match=says("2 rows", "repeat an id", "row 2 ('a')", "row 3 ('b')", "keep one row per item"),
    ):
        read_items(table({"id": ["a", "b", "a", "b"], "mass": [1.0, 2.0, 3.0, 4.0]}))


@every_table
def test_a_missing_id_is_refused(table):
    with pytest.raises(PairscoreError, match=says("missing in 1 row", "row 1", "name every item")):
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
def test_text_is_not_guessed_into_numbers(table):
    with pytest.raises(
        PairscoreError,
        match=says("1 column", "is not numeric", "'colour'", "'red'", "0/1 columns", "drop them"),
    ):
        read_items(table({"id": ["a", "b"], "colour": ["red", "blue"], "mass": [1.0, 2.0]}))


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
        (np.full((2, 1), 1e308), ("overflows", "1e+308", "rescale")),
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


# -- the caller's data and the caller's kind ---------------------------------------------------------


def test_rank_answers_in_the_callers_kind_with_the_same_numbers():
    X, votes = study()
    model = RankRegression().fit(X, votes)
    columns = {name: X[:, number] for number, name in enumerate(model.feature_names_in_)}
    reference = model.rank(X)
    assert isinstance(reference, np.ndarray)
    for table, kind in (
        (pd.DataFrame, pd.DataFrame),
        (pl.DataFrame, pl.DataFrame),
        (pl.LazyFrame, pl.DataFrame),
        (pa.table, pa.Table),
    ):
        ranking = model.rank(table(columns))
        assert isinstance(ranking, kind)
        assert as_columns(ranking) == as_columns(reference)


@every_table
def test_rank_gives_ids_best_first(table):
    X, votes = study()
    columns = {
        "id": [f"item {row}" for row in range(len(X))],
        "a": X[:, 0],
        "b": X[:, 1],
        "c": X[:, 2],
    }
    ranking = as_columns(RankRegression().fit(table(columns), votes).rank(table(columns)))
    reference = RankRegression().fit(X, votes).rank(X)
    assert list(ranking) == [
        "id",
        "score",
        "low",
        "high",
        "rank",
        "rank_low",
        "rank_high",
        "outside",
    ]
    assert ranking["id"] == [f"item {row}" for row in reference["id"]]
    assert ranking["rank"] == list(range(1, len(X) + 1))
    for name in ("score", "low", "high", "rank_low", "rank_high", "outside"):
        assert ranking[name] == reference[name].tolist()


@pytest.mark.parametrize("method", METHODS)
def test_arrays_are_not_modified_and_may_be_read_only(method):
    X, votes = study()
    copies = X.copy(), votes.copy()
    X.flags.writeable = votes.flags.writeable = False
    model = RankRegression(method).fit(X, votes)
    model.rank(X)
    model.decision_function(X)
    assert np.array_equal(X, copies[0])
    assert np.array_equal(votes, copies[1])


@pytest.mark.parametrize("method", METHODS)
def test_frames_are_not_modified(method):
    X, votes = study()
    items = pd.DataFrame(X, columns=["a", "b", "c"])
    votes = pd.DataFrame(votes, columns=["winner", "loser"]).assign(
        weight=2.0, count=3, judge="anna"
    )
    copies = items.copy(), votes.copy()
    RankRegression(method).fit(items, votes).rank(items)
    pd.testing.assert_frame_equal(items, copies[0])
    pd.testing.assert_frame_equal(votes, copies[1])


# -- other features than in fit ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, votes = study()
    return RankRegression(inference=None).fit(pd.DataFrame(X, columns=["age", "bmi", "ldl"]), votes)


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        (["bmi", "age", "ldl"], ("another order", "reorder", "'age', 'bmi', 'ldl'")),
        (["age", "bmi", "hdl"], ("1 feature missing", "'ldl'", "1 unknown", "'hdl'")),
        (["age", "x", "y"], ("2 features missing", "'bmi', 'ldl'", "2 unknown", "'x', 'y'")),
        (["age", "bmi"], ("2 features", "fitted with 3")),
        (["age", "bmi", "ldl", "hdl"], ("4 features", "fitted with 3")),
    ],
)
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_features_than_in_fit_are_refused(fitted, table, columns, facts):
    new_items = table({name: [1.0, 2.0] for name in columns})
    for use in (fitted.rank, fitted.decision_function):
        with pytest.raises(PairscoreError, match=says(*facts)):
            use(new_items)


def test_an_array_with_the_right_number_of_features_has_no_names_to_compare(fitted):
    assert fitted.decision_function(np.eye(3)) == pytest.approx(fitted.coef_)
    with pytest.raises(PairscoreError, match=says("2 features", "fitted with 3")):
        fitted.rank(np.eye(2))


# -- features that say nothing new, or too many of them ----------------------------------------------


def collinear(X):
    """Feature ``sum`` repeats two others, ``one`` is constant, and only ``free`` stands alone."""
    return pd.DataFrame(
        {"a": X[:, 0], "free": X[:, 1], "sum": 3 * X[:, 0] + 2 * X[:, 2], "c": X[:, 2], "one": 4.2}
    )


@pytest.mark.parametrize("method", METHODS)
def test_collinear_and_constant_features_are_named_and_their_errors_unknown(method):
    X, votes = study()
    with pytest.warns(
        CollinearFeaturesWarning,
        match=says(
            "4 features are constant or a combination of others",
            "'a', 'sum', 'c', 'one'",
            "unknown",
        ),
    ):
        model = RankRegression(method).fit(collinear(X), votes)
    assert np.isnan(model.std_errors_).tolist() == [True, False, True, True, True]
    assert model.coef_[4] == 0


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_redundant_features_change_no_score(method):
    X, votes = study()
    plain = RankRegression(method).fit(X, votes)
    with pytest.warns(CollinearFeaturesWarning):
        redundant = RankRegression(method).fit(collinear(X), votes)
    centre = X.mean(axis=0)
    assert redundant.decision_function(
        collinear(X) - collinear(centre[None]).to_numpy()
    ) == pytest.approx(plain.decision_function(X - centre), abs=1e-8)
    assert redundant.std_errors_[1] == pytest.approx(plain.std_errors_[1], rel=1e-6)


def test_redundant_features_change_no_order_of_split():
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        redundant = RankRegression("split").fit(collinear(X), votes)
    assert np.corrcoef(
        redundant.decision_function(collinear(X)),
        RankRegression("split").fit(X, votes).decision_function(X),
    )[0, 1] == pytest.approx(1)


def test_a_constant_feature_far_from_zero_is_still_constant():
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning, match=says("1 feature is constant", "'x3'")):
        model = RankRegression().fit(np.column_stack([X, np.full(len(X), 1 / 3e-7)]), votes)
    assert model.coef_[:3] == pytest.approx(RankRegression().fit(X, votes).coef_, rel=1e-8)


def test_the_paired_solution_has_the_smallest_norm_of_standardised_features():
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        model = RankRegression("paired").fit(collinear(X), votes)
    items = collinear(X).to_numpy()
    differences = items[votes[:, 0]] - items[votes[:, 1]]  # the winner is left: every outcome is +1
    exposures = np.bincount(votes.ravel(), minlength=len(items))
    # as the ridge standardises
    unit = np.sqrt(np.cov(items.T, bias=True, fweights=exposures).diagonal())
    unit = np.where(np.arange(len(unit)) == 4, 1.0, unit)
    expected = 2 * np.linalg.pinv(differences / unit, rcond=1e-10) @ np.ones(len(votes)) / unit
    assert model.closed_form_coef_ == pytest.approx(expected, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_the_smallest_norm_is_the_limit_of_a_vanishing_ridge(method):
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        smallest, ridge = (
            RankRegression(method, l2=l2, inference=None).fit(collinear(X), votes)
            for l2 in (0.0, 1e-6)
        )
    assert ridge.coef_ == pytest.approx(smallest.coef_, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
@pytest.mark.parametrize(
    ("n_items", "n_votes", "facts"),
    [
        (16, 40, ("9 features", "only 8 compared items", "l2=1.0", "fewer features")),
        (120, 7, ("9 features", "only 7 comparisons", "l2=1.0")),
    ],
)
def test_more_features_than_items_or_comparisons_need_a_ridge(method, n_items, n_votes, facts):
    X, votes = study(n_items, 9, n_votes)
    with pytest.raises(PairscoreError, match=says(*facts)):
        RankRegression(method).fit(X, votes)
    ridge = RankRegression(method, l2=1.0, inference=None).fit(X, votes)
    assert np.isfinite(ridge.coef_).all()
    assert ridge.agreement_ > 0.5


def test_split_needs_three_more_covariance_items_than_features():
    X, votes = study(n_items=120)
    compared = X[:60]
    with pytest.raises(
        PairscoreError,
        match=says(
            "at least 6 items", "3 features", "has 5", "covariance_items=", "method='pooled'"
        ),
    ):
        RankRegression("split").fit(np.vstack([compared, X[60:65]]), votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six items are enough to start, not to be trusted
        model = RankRegression("split", inference=None).fit(np.vstack([compared, X[60:66]]), votes)
    assert np.isfinite(model.coef_).all()


def test_items_have_a_length():
    assert len(Items(np.zeros((4, 2)), ("a", "b"))) == 4


def test_masked_values_are_refused():
    X, votes = study()
    masked = np.ma.masked_array(X, np.zeros_like(X, dtype=bool))
    masked.mask[3, 1] = True
    with pytest.raises(PairscoreError, match="1 feature value masked"):
        RankRegression().fit(masked, votes)
