"""CSV files as people have them: titles, totals, blank rows, signs in numbers."""

import warnings

import pytest

from pairscore.errors import BadRowsError, PairscoreError, PairscoreWarning
from pairscore.files.delimiter import find_delimiter
from pairscore.files.source import OpenFile
from pairscore.files.study import read_study
from pairscore.files.titles_and_totals import looks_plain
from tests.files.test_tables import as_lists, read_bytes

PLAIN = {"id": ["a", "b", "c"], "x": [1.0, 2.5, 3.0], "k": ["p", "q", "p"]}
ROWS = b"id;x;k\na;1;p\nb;2,5;q\nc;3;p\n"
MESSY = {
    "a sep line": (b"sep=;\n" + ROWS, ""),
    "a sep line of Windows": (b'"sep=;"\r\n' + ROWS.replace(b"\n", b"\r\n"), ""),
    "a title": (b"Study of 2023\n\n" + ROWS, "1 line above the column names left out"),
    "a title with delimiters": (b"Study;;\nof 2023;;\n;;\n" + ROWS, "2 lines above"),
    "a total": (ROWS + b"Summe;6,5;\n", "1 row at the end left out ('Summe 6,5')"),
    "a source": (ROWS + b";;\nSource: nobody;;\nMay;;\n", "2 rows at the end left out"),
    "blank rows": (ROWS + b";;\n;;\n", "2 blank rows left out"),
    "blank rows in between": (ROWS.replace(b"b;", b";;\n ; ;\nb;"), "2 blank rows left out"),
    "blank rows in quotes": (ROWS + b'"";"";""\n', "1 blank row left out"),
    "empty columns": (ROWS.replace(b"\n", b";;\n"), "2 empty columns left out"),
    "spaces around ids": (ROWS.replace(b"b;", b"b ;"), "spaces around 1 entry left out"),
    "spaces around levels": (ROWS.replace(b";q", b"; q"), "spaces around 1 entry left out"),
}


def read_said(tmp_path, content, **options):
    """The columns of a file, and what was said about it other than decimal commas."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PairscoreWarning)
        table = as_lists(read_bytes(tmp_path, content, **options))
    said = [str(warning.message) for warning in caught]
    return table, [text for text in said if "decimal commas" not in text]


@pytest.mark.parametrize("case", MESSY)
def test_a_messy_export_gives_its_rows_and_says_once_what_was_left_out(case, tmp_path):
    content, sentence = MESSY[case]
    table, said = read_said(tmp_path, content)
    assert table == PLAIN
    assert len(said) == bool(sentence)
    assert sentence in "".join(said)


NUMBERS = {
    "French blanks": ("x;y\n1 234,5;1\n12,25;2\n", [1234.5, 12.25]),
    "no-break blanks": ("x;y\n1\u00a0234,5;1\n12,25;2\n", [1234.5, 12.25]),
    "narrow blanks": ("x;y\n1\u202f234\u202f567,5;1\n1;2\n", [1234567.5, 1.0]),
    "Swiss apostrophes": ("x;y\n1'234.5;1\n12.25;2\n", [1234.5, 12.25]),
    "a minus sign": ("x;y\n\u22121.5;1\n2.5;2\n", [-1.5, 2.5]),
    "double width": ("x;y\n\uff11\uff12.5;1\n2.5;2\n", [12.5, 2.5]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_thousands_and_signs_of_other_countries_are_numbers(case, tmp_path):
    text, meant = NUMBERS[case]
    assert read_said(tmp_path, text.encode())[0]["x"] == meant


def test_ids_with_a_blank_inside_stay_as_they_are(tmp_path):
    table, _ = read_said(tmp_path, b"id;x\n1 234;1 234\n12 345;5\n")
    assert table == {"id": ["1 234", "12 345"], "x": [1234.0, 5.0]}


def test_further_words_for_missing_are_named(tmp_path):
    content = b"id;x;k\na;1;n.b.\nb;weg;p\nc;3;p\n"
    table, said = read_said(tmp_path, content, na=["weg", "n.b."])
    assert table == {"id": ["a", "b", "c"], "x": [1.0, None, 3.0], "k": [None, "p", "p"]}
    assert "2 cells ('n.b.', 'weg') counted as missing" in said[0]


@pytest.mark.parametrize("word", ["k.A.", "k. A.", "n.b.", "n.d.", "#NV", "#DIV/0!", "--", "不明"])
def test_usual_words_for_missing_numbers_are_known(word, tmp_path):
    table, _ = read_said(tmp_path, f"id;x\na;1\nb;{word}\nc;3\n".encode())
    assert table["x"] == [1.0, None, 3.0]


def test_lines_of_bad_rows_are_those_of_the_file_below_a_title(tmp_path):
    body = b"".join(b"i%d;%d\n" % (n, n) for n in range(30))
    with pytest.raises(BadRowsError) as caught:
        read_bytes(tmp_path, b"Title\n\nid;x\n;\n" + body + b"bad;oops\n")
    assert [(row.line, row.column, row.text) for row in caught.value.rows] == [(35, "x", "oops")]


@pytest.mark.parametrize(
    "content",
    [
        b"id,x\na,1\nb,2\n",
        b"x\n1,5\n2,5\n",  # one column of decimal commas has no title
        b"left,right,2024\na,b,c\n",
        b"id,x\nTotal,1\nb,2\n",  # not the last row
    ],
)
def test_a_plain_file_is_not_copied(content, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert looks_plain(OpenFile(path, file), None)


VOTES = b"left,right,winner\ni1,i2,left\ni2,i3,right\n"


@pytest.mark.parametrize(
    ("content", "last"),
    [
        (VOTES + b"Total,i1,right\n", "Total"),
        (VOTES + b"i3,Summe,left\nSumme,i3,\n", "Summe"),  # a winner that is not known
        (VOTES + b"\nTotal,i1,right\n", "Total"),
        (VOTES + b"i1,i3,left\n" * 40 + b"Total,i2,right\n", "Total"),  # far below the others
        (VOTES + b"Total,i1,left\nTotal,i2,left\n", "Total"),
        (b"A title\n\n" + VOTES + b"Total,i1,right\n", "Total"),
    ],
)
def test_a_comparison_of_an_item_called_total_is_kept(content, last, tmp_path):
    """The last comparison was left out as a total of those above it."""
    table, said = read_said(tmp_path, content)
    assert table["left"][-1] == last
    assert "at the end" not in "".join(said)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (b"Total,2,\n", "('Total 2')"),
        (b"Total,2,1\n", "('Total 2 1')"),
        (b"Total,,left\n", "('Total left')"),
        (b"Total,all,left\n", "('Total all left')"),
    ],
)
def test_a_total_of_comparisons_is_left_out(end, words, tmp_path):
    table, said = read_said(tmp_path, VOTES + end)
    assert table["left"] == ["i1", "i2"]
    assert f"1 row at the end left out {words}" in said[0]


def test_an_item_called_total_that_comparisons_name_is_asked_for(tmp_path):
    """A row of numbers alone may be either: it is left out, which is said, and never in silence."""
    items = tmp_path / "i.csv"
    items.write_text("id,x\ni1,1\ni2,3\ni3,2\nSumme,6\n")
    (tmp_path / "v.csv").write_bytes(VOTES + b"i3,Summe,left\n")
    with (
        pytest.warns(PairscoreWarning, match="1 row at the end left out"),
        pytest.raises(PairscoreError, match="unknown item: 'Summe'"),
    ):
        read_study(items, tmp_path / "v.csv")


def test_rows_without_an_id_are_not_blank(tmp_path):
    table, said = read_said(tmp_path, b"id,x\n,1\n,2\nc,\n")
    assert table == {"id": [None, None, "c"], "x": [1.0, 2.0, None]}
    assert said == []


def test_the_delimiter_below_a_title_is_that_of_most_lines():
    assert find_delimiter("A study\na;b;c\nx;1,5;2,5\ny;1,5;2,5\n") == ";"
    assert find_delimiter("a,b\n1;2,3;4\n") == ","
