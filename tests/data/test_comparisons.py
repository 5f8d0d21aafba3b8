"""Comparisons: one row each, slices that share the item table, and outcomes given apart."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore import Comparisons, PairscoreError, RankRegression, compare, plots, residuals
from pairscore.data.votes import Votes, items_of_votes

pytestmark = pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")

COLUMNS = ("left", "right", "outcome", "weight", "count", "judge")


def says(*facts):
    """A pattern for messages that state these facts in this order."""
    return ".*".join(map(re.escape, facts))


def six(table=pd.DataFrame, **options):
    """Six comparisons of four items with every optional column."""
    items = table({"id": list("abcd"), "mass": [1.0, 2.0, 3.0, 4.0], "legs": [6, 6, 4, 0]})
    votes = {
        "left": list("abcabd"),
        "right": list("badbcc"),
        "winner": ["left", "tie", "right", "left", "right", "left"],
        "weight": [1.0, 0.5, 2.0, 1.0, 3.0, 1.0],
        "count": [1, 2, 1, 4, 1, 1],
        "judge": ["x", "y", "x", "z", "z", "y"],
    }
    return Comparisons.from_frames(items, table(votes), **options)[0]


def test_one_row_is_one_comparison():
    X, y = Comparisons.from_frames(
        [[1.0, 2.0], [3.0, 4.0]],
        pd.DataFrame({"left": [0, 1, 0], "right": [1, 0, 1], "winner": ["left", "left", "tie"]}),
    )
    assert (len(X), X.shape, X.ndim) == (3, (3, 2), 2)
    assert y.tolist() == X.outcome.tolist() == [1, 1, 0]
    assert repr(X) == "Comparisons(3 rows of 2 items, 2 features)"


@pytest.mark.parametrize(
    "table", [pl.DataFrame, pl.LazyFrame, pa.table], ids=["polars", "polars lazy", "arrow"]
)
def test_every_kind_of_table_gives_the_same_comparisons(table):
    X, reference = six(table), six(pd.DataFrame)
    for name in COLUMNS:
        assert getattr(X, name).tolist() == getattr(reference, name).tolist()
    assert np.array_equal(X.items.values, reference.items.values)
    assert X.items.names == reference.items.names
    assert X.sides_known


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        (slice(1, 4), [1, 2, 3]),
        (slice(None, None, -2), [5, 3, 1]),
        (np.array([True, False, False, False, True, False]), [0, 4]),
        (np.array([4, 0, 0]), [4, 0, 0]),
        ([2, -1], [2, 5]),
        (2, [2]),
        (-1, [5]),
        (np.int64(-6), [0]),
        (np.array([], dtype=int), []),
    ],
)
def test_a_slice_takes_every_column_along_and_shares_the_items(rows, chosen):
    X = six(covariance_items=["d", "a"])
    part = X[rows]
    for name in COLUMNS:
        assert getattr(part, name).tolist() == getattr(X, name)[chosen].tolist()
    assert part.items is X.items
    assert part.covariance_items is X.covariance_items
    assert part.shape == (len(chosen), 2)


def test_a_slice_of_plain_comparisons_has_no_columns_to_take_along():
    X, _ = Comparisons.from_frames([[1.0], [2.0]], np.array([[1, 0], [0, 1]]))
    assert X[:1].weight is X[:1].count is X[:1].judge is None
    assert not X[:1].sides_known


@pytest.mark.parametrize("row", [6, -7])
def test_there_is_no_row_beyond_the_last(row):
    with pytest.raises(IndexError):
        six()[row]


def test_a_loop_over_comparisons_ends():
    assert [part.outcome.item() for part in six()] == [1, 0, -1, 1, -1, 1]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(-6, 5), max_size=8).flatmap(
        lambda rows: st.tuples(
            st.just(rows), st.lists(st.integers(0, max(len(rows) - 1, 0)), max_size=8 * bool(rows))
        )
    )
)
def test_a_slice_of_a_slice_is_a_slice(choice):
    rows, again = (np.array(numbers, dtype=int) for numbers in choice)
    X = six()
    assert X[rows][again].weight.tolist() == X[rows[again]].weight.tolist()
    assert X[rows][again].pair.tolist() == X[rows[again]].pair.tolist()


def test_the_amount_of_a_row_is_its_weight_times_its_count():
    assert six().amount.tolist() == [1.0, 1.0, 2.0, 4.0, 3.0, 1.0]
    assert Comparisons.from_frames([[1.0], [2.0]], np.array([[1, 0]]))[0].amount.tolist() == [1.0]


def test_a_pair_is_the_same_from_either_side():
    a_b, b_a, c_d, a_b_again, b_c, d_c = six().pair
    assert a_b == b_a == a_b_again
    assert c_d == d_c
    assert len({a_b, c_d, b_c}) == 3


def test_compared_items_are_those_of_the_slice():
    X = six()
    assert X.compared.tolist() == [True, True, True, True]
    assert X[[0, 1]].compared.tolist() == [True, True, False, False]


def test_other_outcomes_leave_the_rest_as_it_is():
    X = six()
    other = X.with_outcome(pd.Series([1.0, 1, 0, -1, -1, 0]))
    assert other.outcome.tolist() == [1, 1, 0, -1, -1, 0]
    assert other.items is X.items
    assert other.left is X.left
    assert X.outcome.tolist() == [1, 0, -1, 1, -1, 1]


@pytest.mark.parametrize(
    ("y", "facts"),
    [
        ([1, -1], ("shape (2,)", "6 comparisons", "one outcome for each")),
        ([[1], [1], [1], [1], [1], [1]], ("shape (6, 1)", "6 comparisons")),
        (
            [1, 2, 1, 1, 1, 5],
            ("2 outcomes are none of -1, 0, 1: row 1 (2), row 5 (5)", "write 1 where left won"),
        ),
        ([1, 1, 0.5, 1, 1, 1], ("1 outcome is none of -1, 0, 1: row 2 (0.5)", "0 for a tie")),
        ([1, 1, np.nan, 1, 1, 1], ("1 outcome is none", "row 2 (nan)")),
        ([1, 1, 1, None, 1, 1], ("1 outcome is none", "row 3 (None)")),
        (["1", "1", "1", "1", "1", "-1"], ("6 outcomes are none", "row 0 ('1')", "and 1 more")),
        ([True, False, True, True, True, True], ("6 outcomes are none", "row 1 (False)")),
    ],
)
def test_outcomes_of_another_kind_are_refused(y, facts):
    X = six()
    with pytest.raises(PairscoreError, match=says(*facts)):
        X.with_outcome(y)
    with pytest.raises(PairscoreError, match=says(*facts)):
        RankRegression().fit(X, y)


@pytest.mark.parametrize(
    ("which", "rows"),
    [
        (["d", "a"], [3, 0]),
        (np.array([False, True, True, False]), [1, 2]),
        (pd.Series(["c"]), [2]),
        (pl.Series(["c", "b"]), [2, 1]),
        (None, None),
    ],
)
def test_covariance_items_are_named_by_id_or_mask(which, rows):
    chosen = six(covariance_items=which).covariance_items
    assert (chosen if chosen is None else chosen.tolist()) == rows


@pytest.mark.parametrize(
    ("which", "facts"),
    [
        (
            ["a", "x", "y"],
            (
                "2 items that the item table does not have: row 1 ('x'), row 2 ('y')",
                "ids of items or a mask",
            ),
        ),
        ([0, 1], ("2 items that the item table does not have: row 0 (0)",)),
        ([True, False], ("mask of shape (2,) for 4 items", "one entry for each")),
        (["a", "b", "a"], ("repeats 1 item: row 2 ('a')", "once")),
    ],
)
def test_covariance_items_that_are_none_are_refused(which, facts):
    with pytest.raises(PairscoreError, match=says("covariance_items", *facts)):
        six(covariance_items=which)


def test_split_takes_the_covariance_of_the_items_named():
    rng = np.random.default_rng(2)
    items, winner = rng.normal(size=(150, 3)), rng.integers(0, 60, 200)
    pairs = np.column_stack([winner, (winner + rng.integers(1, 60, 200)) % 60])
    model = RankRegression("split", inference=None)
    unnamed = model.fit(items, pairs).closed_form_coef_
    named = model.fit(items, pairs, covariance_items=np.arange(60, 100)).closed_form_coef_
    assert named == pytest.approx(model.fit(items[:100], pairs).closed_form_coef_, rel=1e-12)
    assert not np.allclose(named, unnamed, rtol=1e-3)


def test_comparisons_travel_between_processes():
    X = six()
    again = pickle.loads(pickle.dumps(X))
    for name in COLUMNS:
        assert getattr(again, name).tolist() == getattr(X, name).tolist()
    assert again.items.names == X.items.names
    assert again.items.feature_names == X.items.feature_names


# -- made by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [np.asarray, np.ndarray.tolist, pd.DataFrame, pl.DataFrame])
def test_comparisons_made_by_hand_read_their_items(table):
    rng = np.random.default_rng(0)
    X, left = rng.normal(size=(60, 2)), np.arange(60)
    right, outcome = (left + 7) % 60, rng.choice([-1, 1], 60)
    by_hand = Comparisons(table(X), left.tolist(), right, outcome.tolist())
    votes = pd.DataFrame(
        {"left": left, "right": right, "winner": np.where(outcome > 0, "left", "right")}
    )
    read, y = Comparisons.from_frames(X, votes)
    assert np.array_equal(by_hand.outcome, y)
    assert by_hand[3:9].items is by_hand.items
    assert (
        RankRegression(inference=None).fit(by_hand).coef_.tobytes()
        == RankRegression(inference=None).fit(read).coef_.tobytes()
    )


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        ({"items": None}, ["the items are an array of 0 dimensions"]),
        (
            {"items": [[1.0], [2.0, 3.0]]},
            ["the items are neither a dataframe nor a numeric array (the rows differ in length)"],
        ),
        (
            {"left": [0, -1]},
            ["1 comparison points outside the 3 items on the left: row 1 (-1)", "from 0 to 2"],
        ),
        (
            {"right": [3, 4]},
            ["2 comparisons point outside the 3 items on the right: row 0 (3), row 1 (4)"],
        ),
        ({"left": [0.0, 1.0]}, ["left has entries of type float64", "row numbers", "from_frames"]),
        ({"right": ["a", "b"]}, ["right has entries of type <U1"]),
        (
            {"right": [1]},
            [
                "differ in shape (left (2,), right (1,), outcome (2,))",
                "one entry for each comparison",
            ],
        ),
        ({"outcome": [[1], [-1]]}, ["differ in shape", "outcome (2, 1)"]),
        ({"outcome": [1, 2]}, ["1 outcome is none of -1, 0, 1: row 1 (2)"]),
        ({"weight": [1.0]}, ["differ in shape", "weight (1,)"]),
        ({"weight": [1.0, -1.0]}, ["the weight is negative or not finite in 1 row: row 1 (-1.0)"]),
        (
            {"left": 0, "right": 1, "outcome": 1},
            ["differ in shape (left (), right (), outcome ())"],
        ),
    ],
)
def test_comparisons_made_by_hand_are_checked(columns, facts):
    with pytest.raises(PairscoreError, match=says(*facts)):
        Comparisons(
            **{"items": [[1.0], [2.0], [3.0]], "left": [0, 1], "right": [1, 2], "outcome": [1, -1]}
            | columns
        )


@pytest.mark.parametrize("value", [pd.NA, None, "1", [1], 1j, object(), True])
def test_an_object_that_is_no_outcome_is_refused(value):
    y = np.ones(6, dtype=object)
    y[2] = value
    with pytest.raises(PairscoreError, match=says("1 outcome is none of -1, 0, 1: row 2 (")):
        six().with_outcome(y)
    with pytest.raises(PairscoreError, match=says("y is neither", "the rows differ in length")):
        six().with_outcome([1, [1]])


def test_covariance_items_that_are_lists_are_refused():
    with pytest.raises(
        PairscoreError, match=says("covariance_items is neither", "the rows differ in length")
    ):
        six(covariance_items=["a", ["b"]])
    with pytest.raises(
        PairscoreError,
        match=says(
            "covariance_items names 1 item that the item table does not have: row 1 (['b'])"
        ),
    ):
        six(covariance_items=np.array(["a", ["b"]], dtype=object))


def test_columns_may_be_given_by_position():
    X = Comparisons(np.eye(3), [0, 1], [1, 2], [1, -1], [2.0, 1.0], [1, 3], ["a", "b"], False, 4)
    assert X.weight.tolist() == [2.0, 1.0]
    assert X.amount.tolist() == [2.0, 3.0]
    assert (X.judge.tolist(), X.sides_known, X.seed) == (["a", "b"], False, 4)


def test_votes_made_by_hand_become_arrays_of_one_length():
    columns = [0, 1], [1, 2], np.array([1, -1])
    rows = [np.array(column) for column in columns]
    X, _ = Comparisons.from_frames(np.eye(3), Votes(*rows, judge=["a", "b"], weight=[1.0, 2.0]))
    assert X[[1, 0]].judge.tolist() == ["b", "a"]
    for odd in ({"context": {"rest": np.ones(5)}}, {"weight": np.ones((2, 1))}):
        with pytest.raises(PairscoreError, match="differ in shape"):
            Comparisons.from_frames(np.eye(3), Votes(*rows, **odd))


def test_an_array_of_comparisons_has_the_differences_of_their_features():
    X, _ = Comparisons.from_frames([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]], np.array([[1, 0], [2, 1]]))
    differences = X.items.values[X.left] - X.items.values[X.right]
    np.testing.assert_array_equal(np.asarray(X), differences)
    assert np.asarray(X, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="made when asked for"):
        np.array(X, copy=False)


def test_comparisons_in_the_place_of_a_table_are_refused():
    X, _ = Comparisons.from_frames([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]], np.array([[1, 0], [2, 1]]))
    with pytest.raises(
        PairscoreError, match="the comparisons are Comparisons, which already have items"
    ):
        RankRegression().fit(np.eye(3), X)
    with pytest.raises(PairscoreError, match="the items are Comparisons, which already have items"):
        Comparisons.from_frames(X, np.array([[0, 1]]))


def test_groups_of_items_follow_slices_and_other_features():
    topics = {"a": "cats", "b": "dogs", "c": "cats", "d": "dogs"}
    X = six(item_groups=topics)
    assert X.item_groups.tolist() == [0, 1, 0, 1]
    assert six().with_item_groups(["cats", "dogs", "cats", "dogs"]).item_groups.tolist() == [
        *(0, 1, 0, 1)
    ]
    for part in (X[2:], X[[0, 3]], X.with_outcome(X.outcome), X.with_items(X.items)):
        assert part.item_groups is X.item_groups
    assert six().item_groups is None
    with pytest.raises(PairscoreError, match=says("item_groups has 2 labels for 4 items")):
        six(item_groups=["cats", "dogs"])
    other = pd.DataFrame({"id": list("abcde"), "mass": np.arange(5.0), "legs": [6, 4, 4, 2, 0]})
    with pytest.raises(PairscoreError, match=says("the groups of 4 items, but there are 5")):
        Comparisons.from_frames(other, X.votes)


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_pairs_without_outcomes_are_no_comparisons_that_left_won():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = RankRegression().fit(X, rng.permuted(np.tile(np.arange(60), (400, 1)), axis=1)[:, :2])
    pairs = Comparisons.from_pairs(X, [0, 1, 2], [3, 4, 5])
    assert model.predict(pairs).shape == (3,)
    assert model.chances(pairs[:2])["chance"].shape == (2,)
    for ask in (
        model.score,
        lambda P: residuals(model, P),
        lambda P: plots.calibration(model, P),
        RankRegression().fit,
        lambda P: RankRegression().fit(X, P.votes),
        lambda P: compare({"a": RankRegression(), "b": RankRegression(l2=1)}, P),
        lambda P: P.outcome,
    ):
        with pytest.raises(PairscoreError, match="these pairs have no outcomes"):
            ask(pairs)
    assert model.score(pairs, model.predict(pairs)) == 1.0  # scikit-learn's y is one


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint64, np.int64])
def test_comparisons_alone_name_items_by_numbers_of_any_kind(kind):
    votes = np.array([[1, 0], [2, 1], [1, 2]], dtype=kind)
    assert items_of_votes(votes).names == items_of_votes(votes.astype(int)).names
    table = {"winner": votes[:, 0], "loser": votes[:, 1]}
    assert list(items_of_votes(table).names) == [0, 1, 2]
    assert len(items_of_votes(votes[:0])) == 0


def test_numbers_of_pairs_do_not_overflow_for_row_numbers_of_32_bits():
    left, right = (np.array(rows, dtype=np.int32) for rows in ([99_990, 5], [99_991, 7]))
    data = Comparisons(np.zeros((100_000, 1)), left, right, [1, -1])
    assert data.pair.tolist() == [99_990 * 100_000 + 99_991, 500_007]
