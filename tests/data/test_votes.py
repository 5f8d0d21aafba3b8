"""Votes at the door: three layouts of columns and one of arrays, the coin, and what is refused."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore import Comparisons, PairscoreError, RankRegression
from pairscore.data.items import read_items
from pairscore.data.votes import check_codes, outcomes_of_words, read_votes, unexplained_codes

pytestmark = pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")

NAMES = ["ant", "bee", "cat", "dog", "eel"]
ITEMS = pd.DataFrame({"id": NAMES, "legs": [6.0, 6.0, 4.0, 4.0, 0.0]})
LETTERS = pd.DataFrame({"id": list("abcd"), "mass": [1.0, 2.0, 3.0, 4.0]})
NUMBERED = ITEMS.assign(id=[10, 20, 30, 40, 50])
every_table = pytest.mark.parametrize(
    "table",
    [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table],
    ids=["pandas", "polars", "polars lazy", "arrow"],
)


def says(*facts):
    """A pattern for messages that state these facts in this order."""
    return ".*".join(map(re.escape, facts))


def read(votes, items=ITEMS, **options):
    """Left, right and outcome as lists."""
    read = read_votes(votes, read_items(items), **options)
    return read.left.tolist(), read.right.tolist(), read.outcome.tolist()


def sided(left="abc", right="bca", winner=("left", "right", "tie"), **columns):
    """Votes on items called a, b, c, ..."""
    return pd.DataFrame(
        {"left": list(left), "right": list(right), "winner": list(winner), **columns}
    )


def random_pairs(n_items, n_votes, rng):
    """Row numbers of two different items, the winner first."""
    winner = rng.integers(0, n_items, n_votes)
    return np.column_stack([winner, (winner + rng.integers(1, n_items, n_votes)) % n_items])


# -- layouts ---------------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize(
    ("sides", "winner"),
    [
        (("left", "right"), ["left", "right", "tie", "tie (bothbad)"]),
        (("left", "right"), ["ant", "cat", "tie", "tie"]),
        (("left", "right"), ["left", "cat", "tie", "tie"]),
        (("model_a", "model_b"), ["model_a", "model_b", "tie", "tie (bothbad)"]),
        (("model_a", "model_b"), ["ant", "cat", "tie", "tie (bothbad)"]),
        (("model_a", "model_b"), ["left", "right", "tie", "tie"]),
    ],
)
def test_words_and_ids_of_the_winner_say_the_same(table, sides, winner):
    votes = table(
        {
            sides[0]: ["ant", "bee", "eel", "dog"],
            sides[1]: ["bee", "cat", "ant", "eel"],
            "winner": winner,
        }
    )
    assert read(votes) == ([0, 1, 4, 3], [1, 2, 0, 4], [1, -1, 0, 0])


@every_table
def test_numbers_may_be_ids(table):
    votes = table({"left": [50, 10], "right": [20, 40], "winner": [20, 10]})
    assert read(votes, NUMBERED) == ([4, 0], [1, 3], [-1, 1])


@every_table
def test_items_without_ids_are_named_by_row_numbers(table):
    votes = table({"left": [2, 0], "right": [11, 2], "winner": [11, 0]})
    assert read(votes, [[float(row)] for row in range(12)]) == ([2, 0], [11, 2], [-1, 1])


@every_table
def test_a_pandas_index_names_items_for_votes_of_any_kind(table):
    votes = table({"left": ["eel"], "right": ["bee"], "winner": ["bee"]})
    assert read(votes, ITEMS.set_index("id")) == ([4], [1], [-1])


@every_table
def test_weight_count_and_judge_come_along(table):
    X, _ = Comparisons.from_frames(
        ITEMS,
        table(
            {
                "winner": ["ant", "bee"],
                "loser": ["bee", "cat"],
                "weight": [0.5, 2.0],
                "count": [3, 1],
                "judge": ["x", "y"],
            }
        ),
    )
    assert X.weight.tolist() == [0.5, 2.0]
    assert X.count.tolist() == [3, 1]
    assert X.judge.tolist() == ["x", "y"]
    assert X.amount.tolist() == [1.5, 2.0]


def test_columns_that_mean_nothing_here_are_left_alone():
    X, y = Comparisons.from_frames(LETTERS, sided(date="yesterday", conversation=[1, 2, 3]))
    assert y.tolist() == [1, -1, 0]
    assert X.weight is X.count is X.judge is None


@every_table
def test_winner_and_loser_are_put_on_sides_by_a_coin(table):
    left, right, outcome = read(
        table({"winner": ["ant", "bee"] * 20, "loser": ["eel", "dog"] * 20})
    )
    winners = np.where(np.array(outcome) == 1, left, right)
    losers = np.where(np.array(outcome) == 1, right, left)
    assert winners.tolist() == [0, 1] * 20
    assert losers.tolist() == [4, 3] * 20
    assert set(outcome) == {-1, 1}


def test_an_array_has_the_winner_first():
    left, right, outcome = map(
        np.array, read(np.array([[2, 1], [3, 0]] * 20), [[1.0], [2.0], [3.0], [4.0]])
    )
    assert np.where(outcome == 1, left, right).tolist() == [2, 3] * 20
    assert np.where(outcome == 1, right, left).tolist() == [1, 0] * 20
    assert set(outcome) == {-1, 1}


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_any_kind_of_whole_number_will_do_in_an_array(kind):
    pairs = np.array([[2, 1], [1, 0]])
    assert read(pairs.astype(kind), [[1.0], [2.0], [3.0]]) == read(
        pairs.tolist(), [[1.0], [2.0], [3.0]]
    )


def test_the_coin_is_the_seeds():
    votes = np.tile([[1, 0], [2, 1]], (50, 1))
    items = [[1.0], [2.0], [3.0]]
    assert read(votes, items, seed=1) == read(votes, items, seed=1)
    assert read(votes, items, seed=1) != read(votes, items, seed=2)
    assert read(votes, items) == read(votes, items, seed=0)


@pytest.mark.parametrize("seed", range(5))
def test_the_coin_is_fair(seed):
    n = 10_000
    outcome = read(np.tile([1, 0], (n, 1)), [[1.0], [2.0]], seed=seed)[2]
    assert abs(sum(outcome)) / np.sqrt(n) < 4.9  # a fair coin exceeds this once in a million


@pytest.mark.parametrize("method", ["split", "pooled", "paired", "mle"])
def test_a_fit_does_not_depend_on_the_coin(method):
    rng = np.random.default_rng(3)
    items, pairs = rng.normal(size=(120, 2)), random_pairs(60, 300, rng)
    a, b = (
        RankRegression(method).fit(*Comparisons.from_frames(items, pairs, seed=seed))
        for seed in (1, 2)
    )
    assert a.coef_ == pytest.approx(b.coef_, rel=1e-9)
    assert a.std_errors_ == pytest.approx(b.std_errors_, rel=1e-9)


def test_a_count_is_so_many_rows():
    rng = np.random.default_rng(4)
    items, votes = (
        rng.normal(size=(60, 2)),
        pd.DataFrame(random_pairs(60, 200, rng), columns=["left", "right"]),
    )
    votes = votes.assign(
        winner=rng.choice(["left", "right", "tie"], 200), count=rng.integers(0, 4, 200)
    )
    expanded = votes.loc[votes.index.repeat(votes["count"]), ["left", "right", "winner"]]
    counted, again = RankRegression().fit(items, votes), RankRegression().fit(items, expanded)
    assert counted.coef_ == pytest.approx(again.coef_, rel=1e-9)
    assert counted.std_errors_ == pytest.approx(again.std_errors_, rel=1e-9)
    assert counted.n_comparisons_ == len(expanded)


comparisons = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 4), st.sampled_from([-1, 0, 1])),
    min_size=1,
    max_size=30,
)
tables = st.sampled_from([pd.DataFrame, pl.DataFrame, pa.table])


@settings(deadline=None, max_examples=60)
@given(
    comparisons, tables, st.sampled_from([("left", "right"), ("model_a", "model_b")]), st.booleans()
)
def test_every_layout_with_sides_tells_the_same_story(rows, table, sides, own_ids):
    left = [a for a, _, _ in rows]
    right = [(a + gap) % 5 for a, gap, _ in rows]
    outcome = [y for _, _, y in rows]
    words = {1: sides[0], -1: sides[1], 0: "tie"}
    winner = [
        {1: NAMES[a], -1: NAMES[b], 0: "tie"}[y] if own_ids else words[y]
        for a, b, y in zip(left, right, outcome, strict=True)
    ]
    votes = table(
        {sides[0]: [NAMES[a] for a in left], sides[1]: [NAMES[b] for b in right], "winner": winner}
    )
    assert read(votes) == (left, right, outcome)


@settings(deadline=None, max_examples=60)
@given(comparisons, tables, st.integers(0, 2**32))
def test_winner_and_loser_tell_the_same_story_from_either_side(rows, table, seed):
    winner = [a for a, _, _ in rows]
    loser = [(a + gap) % 5 for a, gap, _ in rows]
    from_names = read(
        table({"winner": [NAMES[a] for a in winner], "loser": [NAMES[b] for b in loser]}), seed=seed
    )
    assert from_names == read(np.column_stack([winner, loser]), seed=seed)
    seen = [(a, b) if y == 1 else (b, a) for a, b, y in zip(*from_names, strict=True)]
    assert seen == list(zip(winner, loser, strict=True))


# -- what is refused -------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize("column", ["left", "right"])
def test_an_unknown_item_is_refused(table, column):
    columns = {
        "left": ["ant", "bee", "cat"],
        "right": ["bee", "cat", "dog"],
        "winner": ["left", "left", "left"],
    }
    columns[column][1:] = ["fox", "gnu"]
    facts = says(
        "2 comparisons",
        f"column '{column}' name an unknown item",
        "row 1 ('fox'), row 2 ('gnu')",
        "5 items",
        "'ant', 'bee', 'cat'",
        "correct the ids",
    )
    with pytest.raises(PairscoreError, match=facts):
        read(table(columns))


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("names", [[["a"], ["b"], ["c", "d"]], [[1, 2], [3, 4], [5, 6]]])
def test_a_list_names_no_item_and_no_winner(table, names):
    votes = {"left": list("abc"), "right": list("bca"), "winner": list("abc")}
    for column in ("left", "right"):
        with pytest.raises(
            PairscoreError,
            match=says(f"3 comparisons in column '{column}' name an unknown item: row 0 ("),
        ):
            read(table(votes | {column: names}), LETTERS)
    with pytest.raises(
        PairscoreError, match=says("the winner is neither side in 3 comparisons: row 0 (")
    ):
        read(table(votes | {"winner": names}), LETTERS)
    with pytest.raises(PairscoreError, match=says("column 'winner' name an unknown item: row 0 (")):
        read(table({"winner": names, "loser": [0, 1, 2]}), ITEMS[["legs"]])


def test_an_array_of_rows_of_numbers_names_no_item():
    """polars has columns of fixed-size arrays, which NumPy sees as a table."""
    votes = pl.DataFrame(
        {"winner": pl.Series([[0, 1], [1, 2]], dtype=pl.Array(pl.Int64, 2)), "loser": [3, 4]}
    )
    with pytest.raises(
        PairscoreError,
        match=says("2 comparisons in column 'winner' name an unknown item: row 0 ([0, 1])"),
    ):
        read(votes, ITEMS[["legs"]])


@pytest.mark.parametrize(
    "use",
    [
        lambda votes: RankRegression().fit(ITEMS, votes),
        lambda votes: Comparisons.from_frames(ITEMS, votes),
    ],
)
def test_rows_of_other_lengths_are_refused(use):
    with pytest.raises(
        PairscoreError,
        match=(
            r"the comparisons are neither a dataframe nor a numeric array"
            r" \(the rows differ in length\)"
        ),
    ):
        use([[0, 1], [2]])


@pytest.mark.parametrize("votes", [{0, 1}, (pair for pair in [(0, 1)]), object(), 3, "votes.csv"])
def test_what_is_no_table_of_votes_is_named(votes):
    with pytest.raises(
        PairscoreError, match=f"the comparisons are a {type(votes).__name__}; give a dataframe"
    ):
        RankRegression().fit(ITEMS, votes)


def test_an_unknown_loser_is_refused():
    with pytest.raises(
        PairscoreError,
        match=says("1 comparison in column 'loser' names an unknown item: row 0 ('fox')"),
    ):
        read(pd.DataFrame({"winner": ["ant"], "loser": ["fox"]}))


def test_only_the_first_unknown_items_of_many_are_listed():
    with pytest.raises(
        PairscoreError, match=says("9 comparisons", "row 0 (60)", "row 4 (64)", "and 4 more")
    ):
        read(pd.DataFrame({"winner": range(60, 69), "loser": [10] * 9}), NUMBERED)


def test_an_item_without_id_is_asked_for_by_row_number():
    with pytest.raises(
        PairscoreError,
        match=says(
            "row 0 ('ant')", "row numbers from 0, because the item table has no 'id' column"
        ),
    ):
        read(pd.DataFrame({"winner": ["ant"], "loser": ["bee"]}), ITEMS[["legs"]])


@every_table
def test_a_missing_item_is_refused(table):
    with pytest.raises(
        PairscoreError, match=says("1 comparison in column 'left' names an unknown item: row 1 (")
    ):
        read(table({"left": ["ant", None], "right": ["bee", "cat"], "winner": ["left", "left"]}))


@pytest.mark.parametrize(
    ("items", "votes", "facts"),
    [
        (
            NUMBERED,
            {"left": ["10"], "right": ["20"], "winner": ["left"]},
            ("'left'", "row 0 ('10')", "such as 10, 20, 30"),
        ),
        (
            NUMBERED.assign(id=NUMBERED.id.astype(str)),
            {"left": [10], "right": [20], "winner": ["left"]},
            ("'left'", "row 0 (10)", "such as '10', '20', '30'"),
        ),
        (
            NUMBERED,
            {"left": [10], "right": [20], "winner": ["10"]},
            ("winner is neither side", "row 0 ('10')"),
        ),
        (
            [[1.0], [2.0]],
            {"left": [0], "right": [1], "winner": [True]},
            ("winner is neither side", "row 0 (True)"),
        ),
        ([[1.0], [2.0]], {"winner": [True], "loser": [False]}, ("'winner'", "row 0 (True)")),
    ],
)
def test_ids_of_another_type_are_not_made_to_fit(items, votes, facts):
    with pytest.raises(PairscoreError, match=says(*facts)):
        read(pd.DataFrame(votes), items)


@pytest.mark.parametrize(
    "columns",
    [
        ["left", "right"],
        ["model_a", "model_b"],
        ["right", "winner"],
        ["winner"],
        ["left", "loser"],
        ["a", "b"],
    ],
)
def test_missing_columns_are_refused(columns):
    facts = says(
        ", ".join(map(repr, columns)),
        "need left, right, winner; or model_a, model_b, winner; or winner, loser",
    )
    with pytest.raises(PairscoreError, match=facts):
        read(pd.DataFrame({name: ["ant"] for name in columns}))


@every_table
@pytest.mark.parametrize(
    ("sides", "other"),
    [
        (("left", "right"), "cat"),
        (("model_a", "model_b"), "both_bad"),
        (("left", "right"), "links"),
        (("left", "right"), "model_a"),
    ],
)
def test_a_winner_that_is_neither_side_is_refused(table, sides, other):
    votes = table({sides[0]: ["ant", "ant"], sides[1]: ["bee", "bee"], "winner": ["ant", other]})
    with pytest.raises(
        PairscoreError,
        match=says(
            "neither side in 1 comparison",
            f"row 1 ('{other}')",
            f"'{sides[0]}', '{sides[1]}', 'tie' or the winner's own id",
        ),
    ):
        read(votes)


@every_table
def test_a_missing_winner_is_neither_tied_nor_dropped(table):
    votes = table(
        {
            "left": ["ant", "ant", "ant"],
            "right": ["bee", "bee", "bee"],
            "winner": ["ant", None, None],
        }
    )
    with pytest.raises(
        PairscoreError, match=says("neither side in 2 comparisons", "row 1 (", "row 2 (")
    ):
        read(votes)


def test_a_winner_that_is_not_a_number_is_refused():
    with pytest.raises(PairscoreError, match=says("neither side in 1 comparison: row 1 (nan)")):
        read(pd.DataFrame({"left": [10, 10], "right": [20, 20], "winner": [10, np.nan]}), NUMBERED)


@pytest.mark.parametrize(
    ("ids", "sides", "facts"),
    [
        (["left", "bee"], ("left", "right"), ("1 item is called 'left'", "rename")),
        (["tie", "right"], ("left", "right"), ("1 item is called 'tie'", "rename")),
        (["Left", "bee"], ("left", "right"), ("1 item is called 'Left'", "rename")),
        (["model_b", "bee"], ("model_a", "model_b"), ("1 item is called 'model_b'", "rename")),
    ],
)
def test_items_called_like_a_side_are_refused_where_they_could_be_mistaken(ids, sides, facts):
    items = pd.DataFrame({"id": ids, "legs": [4.0, 6.0]})
    with pytest.raises(PairscoreError, match=says(*facts)):
        read(pd.DataFrame({sides[0]: ids[:1], sides[1]: ids[1:], "winner": ids[:1]}), items)
    votes = pd.DataFrame({sides[0]: ids[:1], sides[1]: ids[1:], "winner": ids[:1]})
    for meaning, outcome in (("id", 1), ("left", 1), ("right", -1), ("tie", 0)):
        _, y = Comparisons.from_frames(items, votes, winner_codes={ids[0]: meaning})
        assert y.tolist() == [outcome]
    assert read(pd.DataFrame({"winner": ids[:1], "loser": ids[1:]}), items) in (
        ([0], [1], [1]),
        ([1], [0], [-1]),
    )


def test_an_item_against_itself_is_refused_unless_it_is_to_be_kept():
    votes = sided("abc", "bbc", ("left", "left", "tie"))
    with pytest.raises(
        PairscoreError,
        match=says(
            "2 comparisons are of an item with itself: row 1 ('b'), row 2 ('c')",
            "remove them",
            "self_pairs='keep'",
        ),
    ):
        read(votes, LETTERS)
    assert read(votes, LETTERS, self_pairs="keep") == ([0, 1, 2], [1, 1, 2], [1, 1, 0])


def test_one_item_against_itself_in_an_array_is_refused_too():
    with pytest.raises(
        PairscoreError, match=says("1 comparison is of an item with itself: row 1 (2)")
    ):
        RankRegression().fit([[1.0], [2.0], [3.0]], np.array([[1, 0], [2, 2]]))


def test_kept_self_comparisons_say_nothing_about_scores():
    rng = np.random.default_rng(8)
    items, apart = rng.normal(size=(60, 2)), random_pairs(60, 200, rng)
    with_self = np.vstack([apart, [[5, 5], [6, 6]]])
    kept = RankRegression(inference=None).fit(items, with_self, self_pairs="keep")
    assert kept.coef_ == pytest.approx(
        RankRegression(inference=None).fit(items, apart).coef_, rel=1e-9
    )
    assert kept.n_comparisons_ == len(with_self)


def test_self_pairs_is_error_or_keep():
    with pytest.raises(PairscoreError, match=says("self_pairs is 'drop'", "'error' or 'keep'")):
        Comparisons.from_frames(LETTERS, sided(), self_pairs="drop")


@pytest.mark.parametrize(
    "votes",
    [
        np.empty((0, 2), dtype=int),
        sided("", "", ""),
        pl.DataFrame(schema={"winner": pl.String, "loser": pl.String}),
    ],
)
def test_no_comparisons_are_refused(votes):
    with pytest.raises(PairscoreError, match=says("there are no comparisons", "at least one row")):
        RankRegression().fit(LETTERS, votes)


@pytest.mark.parametrize("name", ["weight", "count"])
@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ([1, -2, 1], ("negative or not finite in 1 row: row 1 (-2.0)", "correct or remove")),
        ([np.nan, 1, np.inf], ("negative or not finite in 2 rows: row 0 (nan), row 2 (inf)",)),
        ([None, 1, 1], ("negative or not finite in 1 row: row 0 (nan)",)),
        (["1", "2", "3"], ("is text", "make it numbers or drop it")),
        ([0, 0, 0], ("is zero", "at least one positive")),
    ],
)
def test_bad_weights_and_counts_are_refused(name, values, facts):
    with pytest.raises(PairscoreError, match=says(name, *facts)):
        read(sided(**{name: values}), LETTERS)


def test_a_fractional_count_is_refused_and_a_fractional_weight_is_not():
    with pytest.raises(
        PairscoreError,
        match=says("count is not a whole number in 2 rows: row 1 (2.5), row 2 (0.1)"),
    ):
        read(sided(count=[1, 2.5, 0.1]), LETTERS)
    assert read_votes(sided(weight=[1, 2.5, 0.1]), read_items(LETTERS)).weight.tolist() == [
        1.0,
        2.5,
        0.1,
    ]


def test_weights_and_counts_that_leave_nothing_are_refused():
    votes = pd.DataFrame(
        {"winner": ["a", "b"], "loser": ["b", "c"], "weight": [1, 0], "count": [0, 1]}
    )
    with pytest.raises(
        PairscoreError,
        match=says("no comparison is between two different items with a positive weight"),
    ):
        RankRegression().fit(LETTERS, votes)


@pytest.mark.parametrize(
    ("votes", "facts"),
    [
        (
            [[1, 0], [4, 1], [0, -1]],
            (
                "2 comparisons point outside the 4 items: row 1 ([4, 1]), row 2 ([0, -1])",
                "from 0 to 3",
            ),
        ),
        ([[4, 1]], ("1 comparison points outside the 4 items", "from 0 to 3")),
        (
            [[1.0, 0.0]],
            ("shape (1, 2) and type float64", "integer array of two columns", "dataframe"),
        ),
        ([[1, 0, 1]], ("shape (1, 3)", "two columns", "the winner's row number first")),
        ([[True, False]], ("type bool", "integer array")),
        ([["a", "b"]], ("type <U1", "integer array", "dataframe")),
        ({"a"}, ("shape ()", "dataframe with columns left, right, winner or winner, loser")),
    ],
)
def test_arrays_of_another_shape_or_type_are_refused(votes, facts):
    with pytest.raises(PairscoreError, match=says(*facts)):
        read(votes, LETTERS)


@pytest.mark.parametrize(
    "votes",
    [np.array([[0, 1], [1, 2], [2, 0]]), pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"]})],
)
def test_a_side_effect_needs_sides(votes):
    with pytest.raises(
        PairscoreError,
        match=says("side_effect=True", "who was left and right", "only say winner and loser"),
    ):
        RankRegression(side_effect=True).fit(LETTERS, votes)


# -- ties beside winner and loser ------------------------------------------------------------------


@every_table
@pytest.mark.parametrize(
    "tie", [[1, 0, 1], [True, False, True], [1.0, 0.0, 1.0], ["yes", "no", "YES"], ["1", "0", "1"]]
)
def test_a_tie_column_beside_winner_and_loser_is_read(table, tie):
    names = {"winner": ["ant", "bee", "cat"], "loser": ["bee", "cat", "ant"]}
    left, right, outcome = read(table({**names, "tie": tie}))
    without = read(table(names))
    assert (left, right) == without[:2]
    assert outcome == [0, without[2][1], 0]


def test_a_tie_column_of_something_else_is_refused():
    votes = {"winner": ["ant", "bee"], "loser": ["bee", "cat"]}
    for tie, shown in (([0, 2], "2"), (["no", "perhaps"], "'perhaps'"), ([0.0, np.nan], "nan")):
        with pytest.raises(
            PairscoreError,
            match=says(f"the column 'tie' is neither 0 nor 1 in 1 row: row 1 ({shown})"),
        ):
            read(pd.DataFrame({**votes, "tie": tie}))


def test_a_column_of_neckties_beside_sides_is_left_alone():
    assert read(sided(tie=["silk", "wool", "none"]), LETTERS) == read(sided(), LETTERS)


@every_table
@pytest.mark.parametrize("tie", [[0, 0, 1], [False, False, True], ["no", "No", "yes"]])
def test_a_tie_column_beside_sides_is_read(table, tie):
    """It was ignored: a tied row without a winner was refused, and one with a winner counted."""
    names = {"left": ["ant", "ant", "bee"], "right": ["bee", "cat", "cat"]}
    for last in ("tie", None):
        winner = ["left", "cat", last]
        assert read(table({**names, "winner": winner, "tie": tie}))[2] == [1, -1, 0]


@pytest.mark.parametrize(
    ("winner", "tie", "shown"),
    [
        (["left", "right", "tie"], [1, 0, 1], "row 0 ('left')"),
        (["left", "right", "tie"], [0, 0, 0], "row 2 ('tie')"),
        (["a", "c", "c"], ["no", "yes", "no"], "row 1 ('c')"),
    ],
)
def test_a_tie_column_that_contradicts_the_winner_is_refused(winner, tie, shown):
    message = says(
        f"the column 'tie' contradicts the winner in 1 row: {shown}; correct one of the two in"
        " these rows, or rename the column 'tie'"
    )
    with pytest.raises(PairscoreError, match=message):
        read(sided(winner=winner, tie=tie), LETTERS)


def test_a_tie_column_beside_sides_with_some_other_entries_is_refused():
    with pytest.raises(PairscoreError, match=says("neither 0 nor 1 in 1 row: row 1 (2)", "rename")):
        read(sided(tie=[0, 2, 1]), LETTERS)


def test_a_winner_who_is_missing_without_a_tie_is_refused_beside_a_tie_column():
    votes = sided(winner=["left", None, None], tie=[0, 0, 1])
    with pytest.raises(PairscoreError, match=says("neither side in 1 comparison: row 1")):
        read(votes, LETTERS)


def test_a_tie_column_that_is_context_is_context():
    votes = read_votes(sided(tie=[1, 0, 0]), read_items(LETTERS), context=["tie"])
    assert votes.outcome.tolist() == [1, -1, 0]
    assert votes.context["tie"].tolist() == [1, 0, 0]


# -- codes of winners ------------------------------------------------------------------------------

CODED = {"left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": ["A", "B", "gleich"]}
CODED_ITEMS = {"id": ["a", "b", "c"], "x": [1.0, 2.0, 4.0]}


def test_codes_of_winners_are_named_once():
    codes = {"A": "left", "B": "right", "gleich": "tie"}
    comparisons, y = Comparisons.from_frames(CODED_ITEMS, CODED, winner_codes=codes)
    assert y.tolist() == [1, -1, 0]
    skipped, y = Comparisons.from_frames(
        CODED_ITEMS, CODED, winner_codes=codes | {"gleich": "skip"}
    )
    assert y.tolist() == [1, -1]
    assert skipped.left.tolist() == comparisons.left[:2].tolist()


def test_a_code_may_be_a_number_its_text_a_missing_entry_or_an_id():
    votes = CODED | {"winner": [1, 2, None]}
    for one in (1, "1"):
        codes = {one: "left", 2: "right", None: "skip"}
        assert Comparisons.from_frames(CODED_ITEMS, votes, winner_codes=codes)[1].tolist() == [
            1,
            -1,
        ]


@pytest.mark.parametrize("ids", [[1, 2, 3], ["1", "2", "3"], ["A", "B", "C"], [0, 1, -1]])
def test_winners_that_are_ids_and_may_be_codes_are_asked_for(ids):
    """Codes 1 and 2 next to items 1 and 2 were read as ids, without a word."""
    items = CODED_ITEMS | {"id": ids}
    a, b, c = ids
    votes = {"left": [a, b, a], "right": [b, c, c], "winner": [a, b, a]}
    with pytest.raises(PairscoreError) as caught:
        Comparisons.from_frames(items, votes)
    said = str(caught.value)
    assert f"winners are told by {a!r} or {b!r}, which may be ids of items or codes" in said
    assert f"winner_codes={{{a!r}: 'id', {b!r}: 'id'}}" in said
    codes = {a: "id", b: "id"}
    assert Comparisons.from_frames(items, votes, winner_codes=codes)[1].tolist() == [1, 1, 1]
    codes = {a: "right", b: "left"}
    assert Comparisons.from_frames(items, votes, winner_codes=codes)[1].tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    ("ids", "winners"),
    [
        (["ant", "bee", "cat"], ["ant", "bee", "ant"]),  # no codes
        ([10, 20, 30], [10, 20, 10]),
    ],
)
def test_winners_by_id_that_cannot_be_codes_are_read(ids, winners):
    a, b, c = ids
    votes = {"left": [a, b, c], "right": [b, c, a], "winner": winners}
    assert Comparisons.from_frames(CODED_ITEMS | {"id": ids}, votes)[1].tolist() == [1, 1, -1]


def test_an_id_that_may_be_a_code_for_ties_is_asked_for_next_to_words_for_sides():
    votes = {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["left", "c", "right"]}
    with pytest.raises(PairscoreError, match="winners are told by 'c', which may be ids of items"):
        Comparisons.from_frames(CODED_ITEMS, votes)
    for meaning, outcome in (("id", -1), ("tie", 0)):
        _, y = Comparisons.from_frames(CODED_ITEMS, votes, winner_codes={"c": meaning})
        assert y.tolist() == [1, outcome, -1]


@pytest.mark.parametrize("word", ["left", "Left", "LEFT", " left "])
def test_words_for_sides_and_ties_are_read_in_any_case(word):
    votes = {"left": ["a"] * 3, "right": ["b"] * 3, "winner": [word, "Right", "Tie"]}
    assert Comparisons.from_frames(CODED_ITEMS, votes)[1].tolist() == [1, -1, 0]


def test_many_unknown_winners_are_one_sentence_with_their_counts_and_a_mapping():
    votes = {name: column * 10 for name, column in CODED.items()}
    with pytest.raises(PairscoreError) as caught:
        Comparisons.from_frames(CODED_ITEMS, votes)
    said = str(caught.value)
    assert "in 30 of 30 comparisons: 'A' (10), 'B' (10), 'gleich' (10)" in said
    assert "winner_codes={'A': '?', 'B': '?', 'gleich': '?'}" in said
    votes = {name: column * 30 for name, column in CODED.items()}
    with pytest.raises(PairscoreError) as caught:
        Comparisons.from_frames(CODED_ITEMS, votes, winner_codes={"A": "right", "B": "left"})
    # what is known already stays in what is proposed
    assert "winner_codes={'A': 'right', 'B': 'left', 'gleich': '?'}" in str(caught.value)


def test_a_meaning_that_no_code_has_is_refused_and_so_are_codes_without_sides():
    with pytest.raises(PairscoreError, match="a code means 'left', 'right', 'tie', 'skip'"):
        Comparisons.from_frames(CODED_ITEMS, CODED, winner_codes={"A": "up"})
    with pytest.raises(PairscoreError, match="only name winner and loser"):
        Comparisons.from_frames(
            CODED_ITEMS, {"winner": ["a"], "loser": ["b"]}, winner_codes={"A": "left"}
        )


@pytest.mark.parametrize("names", [["left", "b", "tie", "A"], ["left", "right"], []])
def test_winners_in_an_array_of_text_are_read_as_in_a_list(names):
    words = {"left": 1, "right": -1, "tie": 0, "A": 1, 1: 1, None: 3}
    text, objects = np.array(names, dtype="U5"), np.array(names, dtype=object)
    expected = [words.get(name, 2) for name in names]
    assert outcomes_of_words(words, text, 2).tolist() == expected
    assert outcomes_of_words(words, objects, 2).tolist() == expected


def test_a_proposal_to_copy_does_not_say_who_won():
    """A and B, 1 and 2, links and rechts were proposed as left and right."""
    for entries in (["FALSE", "TRUE"], [1, 2], ["A", "B"], ["links", "rechts"], ["both", "none"]):
        assert unexplained_codes(entries, {}) == dict.fromkeys(entries, "?")
    known = check_codes({"A": "right", None: "skip"})
    assert unexplained_codes(["B", None], known) == {"A": "right", "B": "?", None: "skip"}


def test_a_proposal_with_a_question_mark_is_refused_until_it_has_a_meaning():
    with pytest.raises(PairscoreError, match=r"meaning '[?]'; a code means 'left', 'right'"):
        check_codes({"TRUE": "?"})
