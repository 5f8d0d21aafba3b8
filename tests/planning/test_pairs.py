"""The pairs to compare: balance, repeats, sides and order, and the sheets that have them."""

from collections import Counter
from xml.etree import ElementTree
from zipfile import ZipFile

import numpy as np
import pytest
from python_calamine import CalamineWorkbook
from scipy.stats import chi2, norm

from pairscore import PairscoreError
from pairscore.files.tables import read_table
from pairscore.planning.judging_sheets import write_sheets
from pairscore.planning.pairs import design_pairs, pairs_record, pairs_text, random_graph
from tests.limits import CHANCE

DESIGNS = [
    # items, comparisons, judges, repeats
    (120, 900, 3, 0.05),
    (120, 1000, 7, 0.05),
    (10, 40, 2, 0.1),  # nearly all pairs
    (10, 50, 2, 0.1),  # all 45 pairs and five again
    (6, 100, 3, 0.2),  # every pair several times
    (5, 7, 1, 0.0),
    (300, 150, 4, 0.0),  # each item once
    (300, 320, 4, 0.1),
    (2, 9, 2, 0.1),
    (40, 300, 1, 1 / 3),
]


def unordered(design):
    return np.sort(np.column_stack([design.left, design.right]), axis=1)


@pytest.mark.parametrize(("n", "m", "judges", "repeats"), DESIGNS)
@pytest.mark.parametrize("seed", range(4))
def test_every_item_is_compared_as_often_as_any_other_within_one(n, m, judges, repeats, seed):
    design = design_pairs(n, m, np.random.default_rng(seed), judges, repeats)
    assert len(design.left) == m
    assert np.all(design.left != design.right)
    exposures = design.exposures(n)
    assert exposures.sum() == 2 * m
    assert np.ptp(exposures) <= 1
    sizes = np.bincount(design.judge, minlength=judges)
    assert np.ptp(sizes) <= 1
    for judge, size in enumerate(sizes):
        assert design.again[design.judge == judge].sum() == np.round(repeats * size)


SHARED = [
    # items, comparisons, judges, repeats, shared
    (120, 900, 3, 0.05, 0.1),
    (120, 901, 4, 0.0, 0.2),
    (60, 500, 7, 0.1, 0.3),
    (60, 400, 2, 0.0, 1.0),  # both judges have the same pairs
    (60, 402, 4, 0.0, 1.0),
    (20, 45, 9, 0.0, 0.5),
]


@pytest.mark.parametrize(("n", "m", "judges", "repeats", "shared"), SHARED)
@pytest.mark.parametrize("seed", range(4))
def test_a_share_of_the_pairs_goes_to_two_judges(n, m, judges, repeats, shared, seed):
    design = design_pairs(n, m, np.random.default_rng(seed), judges, repeats, shared)
    assert len(design.left) == m
    assert np.ptp(design.exposures(n)) <= (2 if shared == 1 else 1)  # two by two, no odd number
    sizes = np.bincount(design.judge, minlength=judges)
    assert np.ptp(sizes) <= 1
    by_pair = {}
    for pair, judge in zip(map(tuple, unordered(design).tolist()), design.judge, strict=True):
        by_pair.setdefault(pair, []).append(int(judge))
    of_two = [sorted(who) for who in by_pair.values() if len({*who}) > 1]
    assert len(of_two) == round(shared * m / 2) == pairs_record(design, n, "x" * judges)["n_shared"]
    assert all(len(who) == 2 for who in of_two)
    of_judge = np.bincount(np.array(of_two).ravel(), minlength=judges)
    assert np.ptp(of_judge) <= 1
    meetings = Counter(map(tuple, of_two))
    assert max(meetings.values()) - min(meetings.get(who, 0) for who in meetings) <= 1
    again = [judge for who in by_pair.values() for judge in who if len({*who}) < len(who)]
    assert len(again) == 2 * design.again.sum() == 2 * np.round(repeats * sizes).sum()


@pytest.mark.parametrize(("n", "m"), [(60, 4000), (12, 200), (7, 130)])
def test_all_pairs_shared_and_more_comparisons_than_pairs_are_as_many_as_asked_for(n, m):
    """There were 4200 pairs for 4000 comparisons, and a traceback after the sheets were written."""
    design = design_pairs(n, m, np.random.default_rng(0), n_judges=2, shared=1.0)
    assert len(design.left) == len(design.judge) == m
    record = pairs_record(design, n, ["Anna", "Ben"])
    assert record["n_shared"] == n * (n - 1) / 2
    assert record["most"] - record["least"] <= 2
    one, two = (
        sorted(map(sorted, np.column_stack([design.left, design.right])[design.judge == judge]))
        for judge in (0, 1)
    )
    assert np.array_equal(one, two)


def test_shared_pairs_need_two_judges_and_room():
    rng = np.random.default_rng(0)
    with pytest.raises(PairscoreError, match="shared is about pairs that two judges compare"):
        design_pairs(20, 50, rng, shared=0.1)
    with pytest.raises(PairscoreError, match="more than all comparisons of a judge"):
        design_pairs(20, 50, rng, 2, repeats=0.3, shared=0.9)
    with pytest.raises(PairscoreError, match="shared is 5"):
        design_pairs(20, 50, rng, 2, shared=5)


def test_items_that_are_compared_once_leave_no_room_for_repeats_within_one():
    design = design_pairs(300, 150, np.random.default_rng(0), 4, 0.1)
    once = unordered(design)[~design.again]
    assert np.bincount(once.ravel(), minlength=300).max() == 1
    assert design.exposures(300).max() == 2
    assert design.again.sum() == 16


@pytest.mark.parametrize(("n", "m", "judges", "repeats"), DESIGNS)
def test_no_pair_is_used_again_before_all_are_used(n, m, judges, repeats):
    design = design_pairs(n, m, np.random.default_rng(2), judges, repeats)
    first_time = Counter(map(tuple, unordered(design)[~design.again].tolist()))
    most = max(first_time.values())
    n_pairs = n * (n - 1) // 2
    assert most == -(-int((~design.again).sum()) // n_pairs)
    assert most == 1 or len(first_time) == n_pairs


@pytest.mark.parametrize(("n", "m", "judges", "repeats"), DESIGNS)
def test_a_repeat_is_the_same_pair_by_the_same_judge_a_third_of_the_order_later(
    n, m, judges, repeats
):
    design = design_pairs(n, m, np.random.default_rng(3), judges, repeats)
    pairs = unordered(design)
    for judge in range(judges):
        mine = np.flatnonzero(design.judge == judge)
        for row in mine[design.again[mine]]:
            before = mine[(mine < row) & (pairs[mine] == pairs[row]).all(axis=1)]
            assert len(before)
            assert row - before.min() >= len(mine) // 3


def test_pairs_sides_and_order_are_random():
    """Every pair as likely, either side as likely, order unrelated to the items, sides of repeats
    independent.
    """
    n, m, times = 8, 12, 2000
    rng, counts, sides, late, swapped = np.random.default_rng(4), Counter(), 0, [], []
    for _ in range(times):
        design = design_pairs(n, m, rng, 1, 1 / 6)
        counts.update(map(tuple, unordered(design)[~design.again].tolist()))
        sides += int((design.left < design.right).sum())
        late.append(np.corrcoef(np.arange(m), design.left + design.right)[0, 1])
        pairs = unordered(design)
        row = int(np.flatnonzero(design.again)[0])
        before = np.flatnonzero((pairs[:row] == pairs[row]).all(axis=1))[0]
        swapped.append(design.left[row] != design.left[before])
    limit = norm.isf(CHANCE / 8)
    assert abs(sides - m * times / 2) < limit * np.sqrt(m * times) / 2
    assert abs(np.mean(swapped) - 0.5) < limit * 0.5 / np.sqrt(times)
    assert abs(np.mean(late)) < limit * np.std(late) / np.sqrt(times)
    expected = times * (m - 2) / 28
    used = np.array([counts[(a, b)] for a in range(n) for b in range(a + 1, n)])
    # balanced pairs vary less than independent ones, never more
    assert np.sum((used - expected) ** 2) / expected < chi2.isf(CHANCE / 4, 27)


def test_a_graph_that_cannot_be_is_none():
    rng = np.random.default_rng(5)
    assert random_graph(np.array([1, 1, 1]), set(), rng) is None
    assert random_graph(np.array([1, 1]), {(0, 1)}, rng) is None
    assert random_graph(np.array([2, 0, 0]), set(), rng) is None
    square = random_graph(np.array([2, 2, 2, 2]), {(0, 2), (1, 3)}, rng)
    assert {tuple(edge) for edge in square.tolist()} == {(0, 1), (1, 2), (2, 3), (0, 3)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((1, 5, 0, 1, 0), r"there is one item, and a comparison needs two; give more items\."),
        ((9, 2, 0, 3, 0), r"n_comparisons is 2, fewer than the 3 judges"),
        ((9, 9, 0, 1, 0.5), r"repeats is 0\.5; use a share of the comparisons of each judge"),
        ((9, 0, 0, 1, 0), r"n_comparisons is 0; use a whole number from 1\."),
    ],
)
def test_a_design_that_cannot_be_gets_a_sentence(arguments, sentence):
    n, m, seed, judges, repeats = arguments
    with pytest.raises(PairscoreError, match=sentence):
        design_pairs(n, m, np.random.default_rng(seed), judges, repeats)


# -- sheets ----------------------------------------------------------------------------------------

ITEMS = {
    "id": np.array(["007", "a & b", "<c>", "d", "é", "'=1+1", "g", "h"], dtype=object),
    "title": np.array([f"title {row}" for row in range(8)], dtype=object),
}


def test_a_workbook_has_a_sheet_for_each_judge_with_an_empty_winner(tmp_path):
    design = design_pairs(8, 21, np.random.default_rng(0), 2, 0.1)
    path = tmp_path / "sheet.xlsx"
    assert write_sheets(design, ITEMS, ["Anna", "Ben & Co"], path) == [path]
    book = CalamineWorkbook.from_path(path)
    assert book.sheet_names == ["Anna", "Ben & Co"]
    for number, name in enumerate(book.sheet_names):
        header, *rows = book.get_sheet_by_name(name).to_python()
        names = ["comparison", "left", "left_title", "right", "right_title", "winner", "judge"]
        assert header == names
        mine = design.judge == number
        assert [row[0] for row in rows] == list(range(1, mine.sum() + 1))
        assert [row[1] for row in rows] == ITEMS["id"][design.left[mine]].tolist()
        assert [row[4] for row in rows] == ITEMS["title"][design.right[mine]].tolist()
        assert {row[5] for row in rows} == {""}
        assert {row[6] for row in rows} == {name}
    before = path.read_bytes()
    write_sheets(design, ITEMS, ["Anna", "Ben & Co"], path)
    assert path.read_bytes() == before


def test_the_parts_of_a_workbook_are_xml_with_a_list_of_answers(tmp_path):
    design = design_pairs(8, 20, np.random.default_rng(0))
    write_sheets(design, ITEMS, ["judge1"], tmp_path / "sheet.xlsx")
    with ZipFile(tmp_path / "sheet.xlsx") as file:
        assert file.testzip() is None
        parts = {name: ElementTree.fromstring(file.read(name)) for name in file.namelist()}
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    sheet = parts["xl/worksheets/sheet1.xml"]
    (rule,) = sheet.iter(f"{space}dataValidation")
    assert rule.attrib["sqref"] == "F2:F21"
    assert rule.find(f"{space}formula1").text == '"left,right,tie"'
    (pane,) = sheet.iter(f"{space}pane")
    assert (pane.attrib["ySplit"], pane.attrib["state"]) == ("1", "frozen")


def test_csv_has_a_file_for_each_judge_that_reads_back(tmp_path):
    design = design_pairs(8, 20, np.random.default_rng(0), 2)
    paths = write_sheets(design, ITEMS, ["Anna B.", "Ben/C"], tmp_path / "sheet.csv")
    assert [path.name for path in paths] == ["sheet-Anna_B..csv", "sheet-Ben_C.csv"]
    table = read_table(paths[1])
    assert table["left"].tolist() == ITEMS["id"][design.left[design.judge == 1]].tolist()
    assert set(table["judge"].tolist()) == {"Ben/C"}
    assert "\n10," in paths[1].read_text()
    assert ",,Ben/C\n" in paths[1].read_text()
    alone = write_sheets(design_pairs(8, 20, np.random.default_rng(0)), ITEMS, ["one"], paths[0])
    assert alone == [paths[0]]


@pytest.mark.parametrize("name", ["a/b", "x" * 32, "", " a"])
def test_a_sheet_that_cannot_be_called_so_is_refused(tmp_path, name):
    design = design_pairs(8, 20, np.random.default_rng(0))
    with pytest.raises(PairscoreError, match="a sheet cannot be called"):
        write_sheets(design, ITEMS, [name], tmp_path / "sheet.xlsx")
    assert not list(tmp_path.iterdir())


def test_the_words_of_shared_pairs():
    design = design_pairs(120, 900, np.random.default_rng(0), 3, shared=0.1)
    record = pairs_record(design, 120, ["a", "b", "c"]) | {"seed": 4}
    assert "300 each. 45 pairs are compared by more than one judge.\n" in pairs_text(record)


def test_the_words_of_a_design():
    design = design_pairs(120, 901, np.random.default_rng(0), 3, 0.05)
    record = pairs_record(design, 120, ["a", "b", "c"]) | {"seed": 4}
    assert pairs_text(record) == (
        "901 comparisons of 120 items for 3 judges, 300 or 301 each; 45 of them repeat a pair.\n"
        "Every item is in 15 or 16 comparisons. Seed 4."
    )
