"""Columns of comparisons under names of their own, by their role."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairscore import Comparisons, PairscoreError, RankRegression, fit_stream
from pairscore.data.column_roles import (
    VoteColumns,
    check_names,
    join_names,
    rename_votes,
    split_names,
)
from pairscore.data.vote_layouts import likely_layout

FRAMES = pytest.mark.parametrize(
    "frame",
    [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, dict],
    ids=["pandas", "polars", "lazy polars", "arrow", "dict"],
)
NO_SIDES = ("winner", "loser")
COLUMNS = ("left", "right", "outcome", "weight", "count", "judge")


def league(n=20, m=300, seed=0):
    """Teams and games under their own names, and the same under those that pairscore knows."""
    rng = np.random.default_rng(seed)
    team = np.array([f"team {k:02}" for k in range(n)])
    size, wage = rng.normal(size=(2, n))
    a = rng.integers(0, n, m)
    b = (a + rng.integers(1, n, m)) % n
    first = rng.random(m) < 1 / (1 + np.exp(size[b] - size[a]))
    who, weight, count = rng.integers(0, 4, m), rng.random(m) + 0.5, rng.integers(1, 3, m)
    city, rest = np.array(["x", "y"])[np.arange(n) % 2], rng.normal(size=m)
    teams = {"city": city, "size": size, "club": team, "wage": wage}
    others = {"winner": who, "id": np.arange(m), "rest": rest}  # names that mean something else
    games = {"home": team[a], "away": team[b], "won": team[np.where(first, a, b)], "who": who}
    games |= {"lost": team[np.where(first, b, a)], "stake": weight, "times": count} | others
    items = {"id": team, "size": size, "wage": wage}
    votes = {"left": team[a], "right": team[b], "winner": np.where(first, "left", "right")}
    votes |= {"judge": who, "weight": weight, "count": count, "rest": rest}
    return (teams, games), (items, votes)


NAMES = {"id": "club", "features": ["size", "wage"], "left": "home", "right": "away"}
NAMES |= {"winner": "won", "judge": "who", "weight": "stake", "count": "times"}


@FRAMES
def test_columns_of_any_name_are_named_in_python_as_on_the_command_line(frame):
    (teams, games), (items, votes) = league()
    X, y = Comparisons.from_frames(frame(teams), frame(games), context=["rest"], **NAMES)
    same, outcome = Comparisons.from_frames(items, votes, context=["rest"])
    np.testing.assert_array_equal(y, outcome)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(X, column), getattr(same, column))
    np.testing.assert_array_equal(X.context["rest"], same.context["rest"])
    np.testing.assert_array_equal(X.items.values, same.items.values)
    assert X.items.names == same.items.names


@FRAMES
def test_a_model_that_was_fitted_with_names_ranks_tables_under_these_names(frame):
    (teams, games), (items, votes) = league()
    model = RankRegression(inference="model").fit(frame(teams), frame(games), **NAMES)
    twin = RankRegression(inference="model").fit(items, votes)
    np.testing.assert_allclose(model.coef_, twin.coef_, rtol=1e-12)
    theirs, ours = twin.rank(items), model.rank(frame(teams))
    assert list(np.asarray(ours["id"])) == theirs["id"].tolist()
    np.testing.assert_allclose(np.asarray(ours["score"]), theirs["score"], rtol=1e-9)
    one, other = "team 03", "team 07"
    assert model.difference(one, other).difference == pytest.approx(
        twin.difference(one, other).difference, rel=1e-9
    )
    pairs = Comparisons.from_pairs(model.items(frame(teams)), [one], [other])
    assert model.predict_proba(pairs)[0, 1] == pytest.approx(
        model.difference(one, other).probability
    )


@FRAMES
def test_comparisons_alone_may_have_other_names(frame):
    (_, games), (_, votes) = league()
    names = {"left": "home", "right": "away", "winner": "won"}
    model = RankRegression().fit(None, frame(games), **names)
    plain = {name: votes[name] for name in ("left", "right", "winner")}
    twin = RankRegression().fit(None, plain)
    np.testing.assert_allclose(model.item_effects_.effect, twin.item_effects_.effect, atol=1e-12)


@pytest.mark.parametrize(
    "names",
    [
        {"left": "home", "right": "away", "loser": "lost"},
        {"winner": "won", "loser": "lost"},
        {"left": "away", "right": "home", "winner": "won"},
    ],
)
def test_a_loser_or_swapped_sides_are_the_same_comparisons(names):
    (_, games), (_, votes) = league()
    del games["winner"]
    model = RankRegression().fit(None, games, **names)
    twin = RankRegression().fit(None, {name: votes[name] for name in ("left", "right", "winner")})
    np.testing.assert_allclose(model.item_effects_.effect, twin.item_effects_.effect, atol=1e-9)


def test_a_winner_may_be_told_by_the_name_of_a_side_or_by_a_code():
    (_, games), (_, votes) = league()
    first = votes["winner"] == "left"
    sides = {"left": "home", "right": "away", "winner": "won"}
    for words, codes in ((("home", "away"), None), (("H", "A"), {"H": "left", "A": "right"})):
        games["won"] = np.where(first, *words)
        X, y = Comparisons.from_frames(None, games, **sides, winner_codes=codes)
        np.testing.assert_array_equal(y > 0, first)
        assert X.sides_known
        model = RankRegression().fit(None, games, **sides, winner_codes=codes)
        np.testing.assert_array_equal(model.comparisons_.outcome, y)
        model.update(games, **sides, winner_codes=codes, repeated="add")
        np.testing.assert_array_equal(model.comparisons_.outcome, [*y, *y])


def test_features_are_chosen_left_out_and_made_of_categories():
    (teams, games), (items, votes) = league()
    teams["e"] = list(np.arange(40.0).reshape(20, 2))
    names = {key: NAMES[key] for key in ("id", "left", "right", "winner")}

    def read(**more):
        return Comparisons.from_frames(teams, games, **names, **more)[0].items

    assert read(exclude=["city", "e"]).feature_names == ("size", "wage")
    assert read(exclude="e", categorical="city").feature_names == (
        *("size", "wage", "city=x", "city=y"),
    )
    assert read(features="e").feature_names == ("e[0]", "e[1]")
    chosen = read(features=["wage"], squares=["wage"])
    assert chosen.feature_names == ("wage", "wage^2")
    np.testing.assert_array_equal(chosen.values[:, 0], items["wage"])
    assert votes["weight"] is not None


def test_an_index_is_no_feature_where_another_column_has_the_ids():
    (teams, games), _ = league()
    frame = pd.DataFrame(teams).set_index(np.arange(20) * 3)
    names = {key: NAMES[key] for key in ("id", "left", "right", "winner")}
    items = Comparisons.from_frames(frame, games, exclude=["city"], **names)[0].items
    assert items.feature_names == ("size", "wage")
    assert items.names[:2] == ["team 00", "team 01"]


def test_more_votes_come_under_the_same_names():
    (teams, games), _ = league()
    start = {name: column[:200] for name, column in games.items()}
    rest = {name: column[200:] for name, column in games.items()}
    model = RankRegression(inference="model").fit(teams, start, **NAMES)
    of_votes = {role: name for role, name in NAMES.items() if role not in ("id", "features")}
    model.update(rest, **of_votes)
    again = RankRegression(inference="model").fit(teams, games, **NAMES)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-7)


def test_names_that_are_not_there_are_refused_in_a_sentence():
    (teams, games), (items, votes) = league()
    X, _ = Comparisons.from_frames(items, votes)
    fit = RankRegression().fit
    for call, sentence in (
        (lambda: fit(teams, games, **NAMES | {"left": "hom"}), "left names 'hom'.*mean 'home'"),
        (lambda: fit(teams, games, **NAMES | {"id": "clb"}), "id names 'clb'.*mean 'club'"),
        (lambda: fit(teams, games, **NAMES | {"features": ["siz"]}), "features names 'siz'"),
        (lambda: fit(np.eye(3), np.array([[0, 1]]), left="a"), "left='a' names a column of the"),
        (lambda: fit(X, left="home"), "name columns where tables are read"),
        (lambda: fit(np.eye(3), [1, -1, 1], left="home"), "name columns where tables are read"),
        (lambda: Comparisons.from_frames(X.items, votes, id="club"), "have been read"),
    ):
        with pytest.raises(PairscoreError, match=sentence):
            call()
    model = RankRegression(inference="model").fit(items, votes)
    with pytest.raises(PairscoreError, match="features is part of the fit"):
        model.update(votes, features=["size"])
    with pytest.raises(TypeError, match=r"unexpected argument 'lefft'.*Did you mean 'left'"):
        fit(teams, games, lefft="home")
    assert check_names({"id": "a", "left": None}) == ({"id": "a"}, {})
    assert rename_votes(votes, {}) == (votes, ("left", "right"))
    assert rename_votes(np.array([[0, 1]]), {})[1] is None


def roles(names, **given):
    return VoteColumns.of(given).roles(names.split(","))


def test_only_columns_with_a_role_are_read():
    columns = VoteColumns.of({"left": "home", "right": "away", "winner": None}, ["rest"])
    found = columns.roles(["home", "away", "winner", "rest", "weight", "weather"])
    assert found.read == {"home", "away", "winner", "rest", "weight"}
    assert found.unused == ("weather",)
    assert found.side_names == ("home", "away")
    assert all(name in columns.identifiers for name in ("home", "away", "Winner", " loser "))
    assert "rest" not in columns.identifiers


@pytest.mark.parametrize(
    "names", ["Left,RIGHT,Winner", " left , right,WINNER ", "left,right,winner"]
)
def test_names_of_roles_are_known_in_any_case(names):
    left, right, winner = names.split(",")
    found = roles(names)
    assert found.columns == {"left": left, "right": right, "winner": winner}
    assert found.layout == (("left", "right"), "winner")
    frame = {left: ["a", "b"], right: ["b", "a"], winner: ["left", "right"]}
    assert Comparisons.from_frames(None, frame)[1].tolist() == [1, -1]


def test_two_columns_that_differ_in_case_only_are_asked_for():
    with pytest.raises(PairscoreError, match="2 columns of the comparisons are called 'winner'"):
        roles("left,right,winner,Winner")
    assert roles("left,right,winner,Winner", winner="Winner").columns["winner"] == "Winner"


@pytest.mark.parametrize(
    "name",
    [
        *("choice", "result", "preferred", "not preferred", "better", "worse", "losing", "lost"),
        *("Sieger", "Verlierer", "besser", "gagnant", "perdant", "勝者", "敗者", "winners", "won"),
    ],
)
def test_no_other_word_says_who_won_or_who_lost(name):
    """Words of six languages did, and a negation that was not known turned a ranking round."""
    assert roles(f"left,right,{name}").layout is None
    assert roles(f"left,right,{name}", winner=name).layout == (("left", "right"), "winner")
    assert roles(f"left,right,{name}", loser=name).layout == (("left", "right"), "loser")


@pytest.mark.parametrize(
    ("names", "given", "layout"),
    [
        ("left,right,winner,loser", {}, (("left", "right"), "winner")),
        ("left,right,loser", {}, (("left", "right"), "loser")),
        ("left,right,winner,worse", {"loser": "worse"}, (("left", "right"), "loser")),
        ("left,right,best,rest", {"winner": "best", "loser": "rest"}, (NO_SIDES, "winner")),
        ("winner,rest", {"loser": "rest"}, (NO_SIDES, "winner")),
        ("model_a,model_b,winner", {}, (("model_a", "model_b"), "winner")),
        ("model_a,model_b,winner,home", {"left": "home"}, None),
        ("left,winner", {}, None),
        ("left,right", {}, None),
        ("a,loser", {}, None),
    ],
)
def test_who_was_compared_and_who_won(names, given, layout):
    assert roles(names, **given).layout == layout


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("winner", "loser", "n_same"),
    [
        ("a1 b1 c1", "b1 c1 a1", 0),
        ("a1 b1 c1", "a1 c1 c1", 2),
        ("left left tie", "right c1 tie", 0),
        ("left left right", "b1 left c1", 1),
    ],
)
def test_a_winner_that_is_called_the_loser_too_is_asked_for(winner, loser, n_same, streamed):
    """The winners were read, and the losers not."""
    ids = ["a1", "b1", "c1"] * 9
    votes = {"left": ids, "right": [*ids[1:], "a1"]}
    votes |= {"winner": winner.split() * 9, "loser": loser.split() * 9}
    items = {"id": ["a1", "b1", "c1", "d1"], "x": [1.0, 3.0, 2.0, 5.0]}

    def fit(**names):
        if streamed:
            return fit_stream(pa.table(items), pa.table(votes), l2=1.0, **names)
        return RankRegression(l2=1.0).fit(items, votes, **names)

    if not n_same:
        fit()
        return
    said = rf"'winner' and 'loser' name the same item in {9 * n_same} of 27 comparisons"
    with pytest.raises(PairscoreError, match=said + ".*winner='winner'.*loser='loser'"):
        fit()
    fit(winner="winner")
    fit(loser="loser")


def test_what_a_model_was_fitted_with_counts_where_a_table_has_it():
    kept = {"left": "home", "right": "away", "winner": "won", "judge": "who"}

    def read(names, **given):
        return VoteColumns.of(given, (), kept).roles(names.split(",")).names

    assert read("home,away,won,who") == kept
    assert read("left,right,winner") == {"left": "left", "right": "right", "winner": "winner"}
    assert read("home,away,won,lost,who", loser="lost") == {"loser": "lost", "judge": "who"}
    other = {"left": "home", "right": "away", "winner": "best"}
    assert read("home,away,won,best", winner="best") == other
    several = VoteColumns.of({}, (), {"winner": "Ann,Bob"}).roles(["left", "right", "Ann", "Bob"])
    assert several.judges == ("Ann", "Bob")


def test_several_columns_of_winners_are_those_of_judges():
    found = roles("left,right,Ann,Bob,judge", winner="Ann,Bob")
    assert found.judges == found.told == ("Ann", "Bob")
    assert found.names == {"left": "left", "right": "right", "winner": "Ann,Bob"}
    assert roles('left,right,"Ann', winner='"Ann').judges == ()
    assert split_names(join_names(["Bob, MD", "Ann"])) == ["Bob, MD", "Ann"]
    for name in ("Who\nwon?", "Who\r\nwon, A or B?"):
        columns = VoteColumns.of({"winner": name})
        assert name in columns.identifiers
        assert columns.roles(["left", "right", name]).columns["winner"] == name
    assert VoteColumns.of({"winner": "A, B"}).roles(["left", "right", "A, B"]).judges == ()
    with pytest.raises(PairscoreError, match=r"winner names 'Bop'.*mean 'Bob'"):
        roles("left,right,Ann,Bob", winner="Ann,Bop")
    with pytest.raises(PairscoreError, match="winner names 2 columns, and no sides are known"):
        roles("Ann,Bob,rest", winner="Ann,Bob", loser="rest")
    with pytest.raises(PairscoreError, match="winner names 2 columns; give one"):
        rename_votes({"left": [0], "right": [1], "A": [0], "B": [1]}, {"winner": "A,B"})


def test_columns_that_are_not_there_are_named():
    with pytest.raises(PairscoreError, match=r"left names 'hme'.*Did you mean 'home'"):
        roles("home,away,winner", left="hme")
    with pytest.raises(PairscoreError, match=r"no column 'rset' for the context.*mean 'rest'"):
        VoteColumns.of({}, ["rset"]).roles(["left", "right", "winner", "rest"])


@pytest.mark.parametrize(
    ("named", "column"),
    [
        ({"left": "Home", "right": "Home"}, "Home"),
        ({"winner": "winner", "loser": "winner"}, "winner"),
        ({"left": "Home", "right": "Away", "winner": "Home"}, "Home"),
        ({"left": "Home", "right": "Away", "winner": "Ann,Away"}, "Away"),
    ],
)
def test_two_roles_of_one_column_are_refused(named, column):
    """It was said that an item is compared with itself, or nothing at all."""
    first, second = [role for role, name in named.items() if column in name.split(",")]
    said = f"^{first} and {second} name the same column '{column}'; name another one"
    with pytest.raises(PairscoreError, match=said):
        VoteColumns.of(named).roles(["Home", "Away", "winner", "Ann"])


def test_no_question_without_a_proposal():
    """Where columns have the names already, the sentence ended with "Did you mean ?"."""
    assert str(likely_layout(["left", "right", "winner"])) == ""
    assert "Did you mean left='lefft'?" in str(likely_layout(["lefft", "right", "winner"]))
