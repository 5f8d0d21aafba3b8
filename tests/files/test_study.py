"""Items and comparisons of files: the same model from every kind of file."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.data.column_roles import VoteColumns
from pairscore.data.items import Items
from pairscore.data.recipe import Recipe
from pairscore.data.tables import Column, Columns
from pairscore.errors import BadEntriesError, PairscoreWarning
from pairscore.files import read_csv
from pairscore.files.bad_rows import BadFilesError
from pairscore.files.columns_to_read import ItemColumns
from pairscore.files.comparisons import VoteRows, VoteRules
from pairscore.files.study import point_out_cases, read_study
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.files.test_tables import KINDS, ODD_IDS, bits, read_bytes, study
from tests.fixtures.make_studies import workbook


@pytest.mark.parametrize(
    "ids",
    [ODD_IDS, list(range(60)), [f"{k:03d}" for k in range(60)]],
    ids=["odd text", "whole numbers", "leading zeros"],
)
def test_every_kind_of_file_and_standard_input_give_the_same_columns_and_the_same_model(
    ids, tmp_path, monkeypatch
):
    items, votes = study(0, ids)
    tables, models = [], []
    for kind in (*KINDS, "-"):
        for table, name in ((items, "items"), (votes, "votes")):
            write_table(table, tmp_path / f"{name}.{'csv' if kind == '-' else kind}")
        if kind == "-":
            monkeypatch.setattr(
                sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "votes.csv").read_bytes()))
            )
            read_items, read_votes = read_table(tmp_path / "items.csv"), read_table("-")
        else:
            read_items, read_votes = (
                read_table(tmp_path / f"{name}.{kind}") for name in ("items", "votes")
            )
        tables.append((bits(read_items), bits(read_votes)))
        model = RankRegression().fit(read_items, read_votes)
        models.append(
            (model.coef_.tobytes(), model.covariance_.tobytes(), model.record_["fingerprint"])
        )
    assert all(table == tables[0] for table in tables)
    assert all(model == models[0] for model in models)
    assert tables[0][0]["f 1"][0] == items["f 1"].tobytes()
    direct = RankRegression().fit(items, votes)
    assert direct.coef_.tobytes() == models[0][0]


def test_files_and_dataframes_give_the_same_model(tmp_path):
    items, votes = study(1, ODD_IDS)
    write_table(pd.DataFrame(items), tmp_path / "items.csv")
    write_table(pd.DataFrame(votes), tmp_path / "votes.csv")
    from_files = RankRegression().fit(
        read_table(tmp_path / "items.csv"), read_table(tmp_path / "votes.csv")
    )
    from_frames = RankRegression().fit(pd.DataFrame(items), pd.DataFrame(votes))
    assert from_files.coef_.tobytes() == from_frames.coef_.tobytes()
    assert np.array_equal(pd.read_csv(tmp_path / "items.csv")["id"], items["id"])


def test_whole_number_ids_meet_their_text_in_files_only(tmp_path):
    items = read_bytes(tmp_path, b"id,x\n1,0\n2,1\nc,2\n")  # the c makes 1 and 2 text
    votes = read_bytes(tmp_path, b"winner,loser\n1,2\n2,1\n")
    assert votes["winner"].dtype == np.int64
    assert items["id"].tolist() == ["1", "2", "c"]
    X, _ = Comparisons.from_frames(items, votes)
    assert sorted(zip(X.left.tolist(), X.right.tolist(), strict=True)) in (
        [(0, 1), (0, 1)],
        [(0, 1), (1, 0)],
        [(1, 0), (1, 0)],
    )
    with pytest.raises(PairscoreError, match="name an unknown item"):
        Comparisons.from_frames(dict(items), dict(votes))
    mixed = read_bytes(tmp_path, b"left,right,winner\n1,2,1\n2,x,2\n")
    with pytest.raises(
        PairscoreError, match=r"1 comparison in column 'right' names an unknown item: row 1 \('x'\)"
    ):
        Comparisons.from_frames(read_bytes(tmp_path, b"id,x\n1,0\n2,1\n"), mixed)
    zeros = read_bytes(tmp_path, b"winner,loser\n01,2\n")
    with pytest.raises(PairscoreError, match=r"only in zeros in front \('01' for 1\)"):
        Comparisons.from_frames(read_bytes(tmp_path, b"id,x\n1,0\n2,1\n"), zeros)


def test_a_model_from_files_is_saved_and_its_ranking_written(tmp_path):
    items, votes = study(4, ODD_IDS)
    write_table(items, tmp_path / "items.csv")
    write_table(votes, tmp_path / "votes.csv")
    table = read_table(tmp_path / "items.csv")
    RankRegression().fit(table, read_table(tmp_path / "votes.csv")).save(tmp_path / "model.npz")
    ranking = load(tmp_path / "model.npz").rank(table)
    for kind in KINDS:
        write_table(ranking, tmp_path / f"ranking.{kind}")
        back = read_table(tmp_path / f"ranking.{kind}")
        assert back["id"].tolist() == ranking["id"].tolist()
        assert back["low"].tobytes() == ranking["low"].tobytes()
        assert np.array_equal(back["outside"], ranking["outside"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_tie_column_of_a_file_without_sides_is_read(kind, tmp_path):
    items, votes = study(2, [f"item {k}" for k in range(60)])
    won = votes["winner"] == "left"
    rows = {
        "best": np.where(won, votes["left"], votes["right"]),
        "rest": np.where(won, votes["right"], votes["left"]),
        "tie": (np.arange(len(won)) % 3 == 0).astype(int),
    }
    write_table(items, tmp_path / f"items.{kind}")
    write_table(rows, tmp_path / f"votes.{kind}")
    found = read_study(
        tmp_path / f"items.{kind}",
        tmp_path / f"votes.{kind}",
        vote_columns={"winner": "best", "loser": "rest"},
    ).votes
    np.testing.assert_array_equal(found.outcome == 0, rows["tie"] == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tie_column_beside_sides_of_a_file_is_read(kind, tmp_path):
    """Ties without a winner, as forms with a box for ties write them."""
    items, votes = study(2, [f"item {k}" for k in range(60)])
    tied = np.arange(len(votes["winner"])) % 3 == 0
    votes["winner"] = np.where(tied, None, votes["winner"])
    write_table(items, tmp_path / f"items.{kind}")
    write_table({**votes, "tie": tied.astype(int)}, tmp_path / f"votes.{kind}")
    found = read_study(tmp_path / f"items.{kind}", tmp_path / f"votes.{kind}").votes
    np.testing.assert_array_equal(found.outcome == 0, tied)


def study_files(tmp_path, ids, votes, header="left,right,winner", **given):
    """Thirty items and what is given as comparisons."""
    items = "".join(f"{ids(row)},{row % 7}\n" for row in range(30))
    (tmp_path / "items.csv").write_text(f"id,x\n{items}")
    (tmp_path / "votes.csv").write_text(header + "\n" + "".join(votes))
    return read_study(tmp_path / "items.csv", tmp_path / "votes.csv", **given)


@pytest.mark.parametrize("of_items", ["{}", "{}.0"])
def test_ids_such_as_12_0_are_those_without_decimals(of_items, tmp_path):
    """As pandas writes whole numbers once one of the column is missing."""
    of_votes = "{}.0" if of_items == "{}" else "{}"
    votes = [
        f"{of_votes.format(row)},{of_votes.format((row + 3) % 30)},{of_votes.format(row)}\n"
        for row in range(30)
    ]
    read = study_files(tmp_path, of_items.format, votes).votes
    assert read.left.tolist() == list(range(30))
    assert (read.outcome == 1).all()


def test_a_column_for_each_judge_is_read_and_bad_entries_are_told_by_line_and_judge(tmp_path):
    pairs = [(f"i{row}", f"i{(row + 3) % 30}") for row in range(30)]
    votes = [f"{a},{b},{a},{(a, b)[row % 2]}\n" for row, (a, b) in enumerate(pairs)]
    votes[4] = "i4,i7,i4,\n"
    header, given = "left,right,Ann,Bob", {"vote_columns": {"winner": "Ann,Bob"}}
    with pytest.raises(PairscoreError, match="winner='Ann,Bob' if each of them has the winners"):
        study_files(tmp_path, "i{}".format, votes, header)
    with pytest.warns(PairscoreWarning) as said:
        read = study_files(tmp_path, "i{}".format, votes, header, **given).votes
    assert len(read) == 59
    assert (read.outcome[read.judge == "Ann"] == 1).all()
    assert (read.outcome[read.judge == "Bob"] == -1).sum() == 15
    assert "each of 'Ann', 'Bob' has the winners by one judge" in str(said[0].message)
    assert "1 empty cell left out: no comparison by that judge" in str(said[1].message)
    votes[9] = "i9,i12,i9,huh\n"
    with pytest.raises(BadFilesError) as caught, pytest.warns(PairscoreWarning):
        study_files(tmp_path, "i{}".format, votes, header, **given)
    (row,) = caught.value.errors[0].rows
    assert (row.line, row.column, row.text) == (11, "Bob", "huh")


def read_texts(tmp_path, names_of_items, names_of_votes, **given):
    """A study of three items, written with some names in the items and others in the votes."""
    ids = "".join(f"{name},{value}\n" for value, name in enumerate(names_of_items))
    a, b, c = names_of_votes
    votes = f"{a},{b},left\n{b},{c},right\n{a},{c},left\n"
    (tmp_path / "items.csv").write_text(f"id,x\n{ids}", encoding="utf-8")
    (tmp_path / "votes.csv").write_text(f"left,right,winner\n{votes}", encoding="utf-8")
    said = []
    study = read_study(tmp_path / "items.csv", tmp_path / "votes.csv", say=said.append, **given)
    return study, said


@pytest.mark.parametrize("form", ["NFD", "half width", "full width"])
def test_an_id_written_in_two_unicode_forms_is_one_item(form, tmp_path):
    """A Mac writes accents as signs of their own; old Japanese programs write half-width signs."""
    one, other = {
        "NFD": (["Café", "Thé", "Eau"], ["Cafe\u0301", "The\u0301", "Eau"]),
        "half width": (["カード", "ガム", "ペン"], ["ｶｰﾄﾞ", "ｶﾞﾑ", "ﾍﾟﾝ"]),
        "full width": (["No1", "No2", "No3"], ["Ｎｏ１", "Ｎｏ２", "Ｎｏ３"]),
    }[form]
    for items, votes in ((one, other), (other, one)):
        study, said = read_texts(tmp_path, items, votes)
        assert study.votes.left.tolist() == [0, 1, 0]
        assert study.votes.right.tolist() == [1, 2, 2]
        assert any("unified" in text or "other forms of the same" in text for text in said)


def test_ids_that_differ_only_in_form_stay_two_items(tmp_path):
    study, said = read_texts(tmp_path, ["x²", "x2", "y"], ["x²", "x2", "y"])
    assert study.votes.left.tolist() == [0, 1, 0]
    assert said == []


@pytest.mark.parametrize("kind", ["files", "sheets"])
def test_files_or_sheets_of_judges_without_a_column_of_judges_keep_who_judged(kind, tmp_path):
    (tmp_path / "items.csv").write_text("id,x\na,1\nb,2\nc,3\n")
    rows = {"Anna": ["a,b,left", "b,c,left"], "Bernd": ["a,c,right"]}
    header, said = ["left", "right", "winner"], []
    if kind == "files":
        files = [tmp_path / f"{name}.csv" for name in rows]
        for file, of in zip(files, rows.values(), strict=True):
            file.write_text("\n".join([",".join(header), *of]) + "\n")
    else:
        files = [tmp_path / "book.xlsx"]
        table = {name: [header, *(row.split(",") for row in of)] for name, of in rows.items()}
        files[0].write_bytes(workbook(table))
    study = read_study(tmp_path / "items.csv", files, say=said.append)
    assert study.votes.judge.tolist() == ["Anna", "Anna", "Bernd"]
    assert "no column names the judge, so each file or sheet stands for one: 'Anna', 'Bernd'." in (
        said
    )
    one = read_study(tmp_path / "items.csv", files[:1] if kind == "files" else files, sheet=())
    assert (one.votes.judge is None) == (kind == "files")


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


def rows_of(said, columns=None, **table):
    """Comparisons under the names that pairscore knows."""
    return VoteRows.of(
        (columns or VoteColumns()).roles([*table]), votes(**table), None, said.append
    )


def outcomes(rows, **rules):
    """What rows mean, of items that are called by letters."""
    items = Items(np.zeros((4, 1)), ("x",), np.array(["a", "b", "c", "d"], dtype=object), Columns)
    return rows.rules(VoteRules(**rules), [].append).read(rows.table, items).outcome.tolist()


def test_where_a_column_names_the_loser_the_other_side_won():
    said = []
    columns = VoteColumns({"left": "first", "right": "second", "loser": "Verlierer"})
    pairs = {"first": ["a", "b", "c"], "second": ["b", "c", "a"]}
    rows = rows_of(said, columns, **pairs, Verlierer=["a", "c", "Tie"])
    assert outcomes(rows, winner_codes={"a": "id", "c": "id"}) == [-1, 1, 0]
    assert said == ["'Verlierer' names the loser: the other side won."]
    rows = rows_of(said, columns, **pairs, Verlierer=["first", "right", "links"])
    assert outcomes(rows, winner_codes={"links": "left"}) == [-1, 1, -1]
    rows = rows_of(said, left=["a", "b"], right=["b", "c"], loser=["x", "c"])
    with pytest.raises(BadEntriesError, match="the loser is neither side in 1 comparison: row 0"):
        outcomes(rows)


def test_a_winner_told_by_the_column_of_its_side():
    columns = VoteColumns.of({"left": "home", "right": "away"})
    rows = rows_of([], columns, home=["a", "b"], away=["b", "c"], winner=["away", "home"])
    assert {*rows.table.columns} == {"left", "right", "winner"}
    assert outcomes(rows) == [-1, 1]
    items = Items(np.zeros((3, 1)), ("x",), np.array(["a", "b", "away"], dtype=object), Columns)
    rows = rows_of([], columns, home=["a", "b"], away=["b", "away"], winner=["away", "b"])
    rules = rows.rules(VoteRules(), [].append)
    with pytest.raises(PairscoreError, match="1 item is called 'away', which also says a side"):
        rules.read(rows.table, items)
    # the column right is named as the left side
    swapped = VoteColumns.of({"left": "right", "right": "left"})
    rows = rows_of([], swapped, left=["a"], right=["b"], winner=["left"])
    with pytest.raises(PairscoreError, match="the column of one side and the word for the other"):
        outcomes(rows)
    assert outcomes(rows, winner_codes={"left": "left"}) == [1]


def rules_of(said, **columns):
    return rows_of(said, **columns).rules(VoteRules(), said.append)


def test_rows_of_a_sheet_without_a_winner_yet_are_left_out_and_counted():
    """A partly filled sheet was refused, for a winner called None."""
    said, pairs = [], {"left": ["a", "b", "c"], "right": ["b", "c", "a"]}
    assert rules_of(said, **pairs, winner=["left", None, "a"]).winner_codes == {None: "skip"}
    assert said == ["1 of 3 comparisons left out: no winner is given."]
    assert rules_of(said, **pairs, loser=["left", None, "a"]).winner_codes == {None: "skip"}
    with pytest.raises(PairscoreError, match="'winner' is empty: no comparison has a winner yet"):
        rules_of(said, **pairs, winner=[None] * 3)
    asked = VoteRules(winner_codes={"": "tie"})
    rows = rows_of(said, **pairs, winner=["a", None, "a"])
    assert rows.rules(asked, said.append).winner_codes == {"": "tie"}


def test_levels_that_differ_in_case_only_are_pointed_out():
    said = []
    point_out_cases(
        {"smokes": ("Ja", "ja", "nein")}, Columns({"judge": ["Ann", "ann"]}), said.append
    )
    assert len(said) == 2
    assert "'Ja' and 'ja'" in said[0]
    assert "'Ann' and 'ann'" in said[1]


# -- how often a file is opened --------------------------------------------------------------------

OPENED: list[str] = []  # files that Python opens, while somebody counts


def note_open(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        OPENED.append(arguments[0])


@pytest.fixture
def opened(monkeypatch):
    """The files that Python opens, and those that DuckDB reads: one entry for each time."""
    if note_open not in HOOKS:
        sys.addaudithook(note_open)  # for good
        HOOKS.append(note_open)
    written = read_csv.csv_file

    def note_scan(path, *more):
        OPENED.append(str(path))
        return written(path, *more)

    monkeypatch.setattr(read_csv, "csv_file", note_scan)
    OPENED.clear()
    return OPENED


HOOKS = []
WAYS = {
    "plain": ("id,x,k\n", ",", "left,right,winner\n", {}),
    "other names": (
        "Code,x,k\n",
        ",",
        "Home,Away,Result\n",
        {"vote_columns": {"left": "Home", "right": "Away", "winner": "Result"}},
    ),
    "semicolons and decimal commas": ("Code;x;k\n", ";", "left;right;winner\n", {}),
    "a title": ("A study\n\nid,x,k\n", ",", "Games\n\nleft,right,winner\n", {}),
    "words that mean missing": ("id,x,k\n", ",", "left,right,winner\n", {"na": ["q"]}),
}


@pytest.mark.parametrize("case", WAYS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_each_file_is_opened_at_most_twice_whatever_is_asked_of_it(
    case, encoding, tmp_path, opened
):
    """A CSV file was opened seven times, and eighteen times with other names and --auto."""
    head, sign, votes_head, options = WAYS[case]
    point = "," if sign == ";" else "."
    items = "".join(f"a_{n}{sign}{n}{point}5{sign}ä\n" for n in range(30))
    votes = "".join(
        sign.join([f"a_{n % 30}", f"a_{(n * 7 + 1) % 30}", ("left", "right")[n % 3 > 1]]) + "\n"
        for n in range(80)
        if n % 30 != (n * 7 + 1) % 30
    )
    (tmp_path / "items.csv").write_text(head + items, encoding=encoding)
    (tmp_path / "votes.csv").write_text(votes_head + votes, encoding=encoding)
    opened.clear()
    study = read_study(
        tmp_path / "items.csv", tmp_path / "votes.csv", say=lambda text: None, **options
    )
    for name in ("items.csv", "votes.csv"):
        assert 1 <= opened.count(str(tmp_path / name)) <= 2
    assert study.recipe.features == ("x",)
    assert len(study.items) == 30


def test_a_workbook_of_many_sheets_is_opened_twice(tmp_path, opened):
    """Once for its size, and once for its cells; it was opened twice for each sheet."""
    items = [["id", "x"], *([f"a{n}", n + 0.5] for n in range(30))]
    votes = [["left", "right", "winner"], *([f"a{n}", f"a{n + 1}", "left"] for n in range(29))]
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook({"Items": items, "Ann": votes, "Bob": votes, "Cy": votes}))
    opened.clear()
    study = read_study(path, path, say=lambda text: None)
    assert len(study.votes) == 87
    assert opened.count(str(path)) == 1  # that of calamine is not Python's
