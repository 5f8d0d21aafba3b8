"""Which columns of two files are read, and under which names."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.data.recipe import Recipe
from pairscore.data.tables import Column, Columns
from pairscore.data.vote_columns import VoteColumns
from pairscore.files.study_columns import ItemColumns, VoteRows, VoteRules


def votes(**columns):
    return Columns({name: Column(np.array(v, dtype=object)) for name, v in columns.items()})


def test_settings_choose_features_ids_and_groups():
    columns = ItemColumns(
        {"id": "wine", "categorical": ["grape"], "exclude": ["price"]}, group="year"
    )
    names = ["wine", "grape", "acid", "price", "year", "tags"]
    assert columns.choose(names, ["tags"]) == {"wine", "grape", "acid", "year"}
    assert columns.nested == ["tags"]
    assert columns.identifiers == {"wine", "grape", "year"}


def test_a_recipe_chooses_its_sources_and_may_do_without_ids():
    recipe = Recipe(("a", "b"), id="name")
    assert ItemColumns(recipe=recipe).choose(["name", "b", "a", "c"], []) == {"name", "a", "b"}
    optional = ItemColumns(recipe=recipe, id_is_optional=True)
    assert optional.choose(["a", "b"], []) == {"a", "b"}
    assert optional.recipe_for(["a", "b"]).id is None
    assert optional.recipe_for(["name", "a", "b"]).id == "name"


def test_a_group_that_is_no_column_is_named():
    with pytest.raises(PairscoreError, match=r"group names 'topc'.*Did you mean 'topic'"):
        ItemColumns(group="topc").choose(["id", "topic", "x"], [])


def test_only_columns_with_a_role_are_read():
    columns = VoteColumns.of({"left": "home", "right": "away", "winner": None}, ["rest"])
    names = ["home", "away", "winner", "rest", "weight", "weather"]
    assert {"home", "away", "winner", "rest", "weight"} <= set(columns.choose(names, []))
    assert "weather" not in columns.choose(names, [])
    assert {"home", "away"} <= columns.identifiers
    assert "rest" not in columns.identifiers


def test_columns_that_are_not_there_or_do_not_go_together():
    with pytest.raises(PairscoreError, match=r"left names 'hme'.*Did you mean 'home'"):
        VoteColumns.of({"left": "hme"}).choose(["home", "away", "winner"], [])
    with pytest.raises(PairscoreError, match="loser= goes with winner="):
        VoteColumns.of({"loser": "b", "left": "a"}).choose(["a", "b", "winner"], [])


def test_where_a_column_names_the_loser_the_other_side_won():
    said = []
    columns = VoteColumns({"left": "A", "right": "B", "loser": "Verlierer"})
    table = votes(A=["a", "b", "c"], B=["b", "c", "a"], Verlierer=["a", "c", "Gleichstand"])
    rows = VoteRows.of(columns, table, None, said.append)
    assert rows.table["winner"].tolist() == ["right", "left", "tie"]
    assert said == ["'Verlierer' names the loser: the other side won."]
    table = votes(left=["a", "b"], right=["b", "c"], loser=["x", "c"])
    with pytest.raises(PairscoreError, match="neither of the two items in 1 comparison of 2"):
        VoteRows.of(VoteColumns(), table, None, said.append)


def test_a_winner_told_by_the_column_of_its_side():
    columns = VoteColumns.of({"left": "home", "right": "away"})
    table = votes(home=["a", "b"], away=["b", "c"], winner=["away", "b"])
    renamed = columns.rename(table)
    assert set(renamed.columns) == {"left", "right", "winner"}
    assert renamed["winner"].tolist() == ["right", "b"]
    with pytest.raises(PairscoreError, match="'away' is both an item and the column of a side"):
        columns.rename(table, np.array(["a", "away"], dtype=object))


def rules_of(said, **columns):
    rows = VoteRows.of(VoteColumns(), votes(**columns), None, said.append)
    return rows.rules(VoteRules(), None, said.append)


def test_rows_of_a_sheet_without_a_winner_yet_are_left_out_and_counted():
    """A partly filled sheet was refused, for a winner called None."""
    said, pairs = [], {"left": ["a", "b", "c"], "right": ["b", "c", "a"]}
    assert rules_of(said, **pairs, winner=["left", None, "a"]).winner_codes == {None: "skip"}
    assert said == ["1 of 3 comparisons left out: no winner is given."]
    assert rules_of(said, **pairs, loser=["left", None, "a"]).winner_codes == {None: "skip"}
    with pytest.raises(PairscoreError, match="'winner' is empty: no comparison has a winner yet"):
        rules_of(said, **pairs, winner=[None] * 3)
    table = VoteRows.of(VoteColumns(), votes(**pairs, winner=["a", None, "a"]), None, said.append)
    asked = VoteRules(winner_codes={"": "tie"})
    assert table.rules(asked, None, said.append) == asked


def test_a_loser_may_be_told_by_its_side():
    columns = VoteColumns({"left": "A", "right": "B", "loser": "Verlierer"})
    table = votes(A=["a", "b", "c"], B=["b", "c", "a"], Verlierer=["links", "right", "tie"])
    rows = VoteRows.of(columns, table, None, [].append)
    assert rows.table["winner"].tolist() == ["right", "left", "tie"]
