"""CSV files of every kind: what is read, and the sentence where nothing can be."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.errors import BadRow, BadRowsError, PairscoreWarning
from pairscore.files.source import CHUNK, MAX_COLUMNS
from tests.files.test_tables import INF, as_lists, read_bytes

ANSWERS = {
    "plain": (b"id,x\na,1\nb,2.5\n", {"id": ["a", "b"], "x": [1.0, 2.5]}),
    "no last newline": (b"id,x\na,1\nb,2", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "byte order mark": (b"\xef\xbb\xbfid,x\na,1\n", {"id": ["a"], "x": [1.0]}),
    "CRLF": (b"id,x\r\na,1\r\nb,2\r\n", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "CR only": (b"id,x\ra,1\rb,2\r", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "semicolons": (b"id;x\na;1\n", {"id": ["a"], "x": [1.0]}),
    "tabs": (b"id\tx\na\t1\n", {"id": ["a"], "x": [1.0]}),
    "bars": (b"id|x\na|1\n", {"id": ["a"], "x": [1.0]}),
    "commas in a quoted name": (b'"id";"x, y, z"\na;1\n', {"id": ["a"], "x, y, z": [1.0]}),
    "id with a comma": (b'id,x\n"a,b",1\n', {"id": ["a,b"], "x": [1.0]}),
    "id with a newline": (b'id,x\n"a\nb",1\n', {"id": ["a\nb"], "x": [1.0]}),
    "id with quotes": (b'id,x\n"say ""hi""",1\n', {"id": ['say "hi"'], "x": [1.0]}),
    "quote inside a cell": (b'id,x\n5" disk,1\n', {"id": ['5" disk'], "x": [1.0]}),
    "a carriage return in the first id": (
        b'id,x\n"a\rb",1\nb,2\n',
        {"id": ["a\rb", "b"], "x": [1.0, 2.0]},
    ),
    "line feeds among carriage returns": (
        b'id,x\r"a\nb",1\rb,2\r',
        {"id": ["a\nb", "b"], "x": [1.0, 2.0]},
    ),
    "emoji": ("id,x\n😀,1\n".encode(), {"id": ["😀"], "x": [1.0]}),
    "latin-1": ("id,x\nMüller,1\n".encode("latin-1"), {"id": ["Müller"], "x": [1.0]}),
    "old Windows": ("id,x\n5 €,1\n".encode("cp1252"), {"id": ["5 €"], "x": [1.0]}),
    "utf-16": ("id,x\nMüller,1\n".encode("utf-16"), {"id": ["Müller"], "x": [1.0]}),
    "utf-16 without mark": ("id,x\nMüller,1\n".encode("utf-16-be"), {"id": ["Müller"], "x": [1.0]}),
    "utf-32": ("id,x\nMüller,1\n".encode("utf-32"), {"id": ["Müller"], "x": [1.0]}),
    "header only": (b"id,x\n", {"id": [], "x": []}),
    "one column": (b"x\n1\n2\n", {"x": [1.0, 2.0]}),
    "blank lines": (b"id,x\n\na,1\n\n\nb,2\n\n", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "blank first line": (b"\nid,x\na,1\n", {"id": ["a"], "x": [1.0]}),
    "missing cells": (
        b"id,x,s\n,1,q\nb,,\n",
        {"id": [None, "b"], "x": [1.0, None], "s": ["q", None]},
    ),
    "an empty column": (b"id,x\na,\nb,\n", {"id": ["a", "b"], "x": [None, None]}),
    "NaN and infinities": (
        b"id,x\na,NaN\nb,inf\nc,-Infinity\nd,1\n",
        {"id": ["a", "b", "c", "d"], "x": [None, INF, -INF, 1.0]},
    ),
    "too large for a double": (b"id,x\na,1e999\n", {"id": ["a"], "x": [INF]}),
    "ways to write numbers": (
        b"x\n+1\n1.\n.5\n1e3\n1E-3\n 7 \n-0\n007\n",
        {"x": [1.0, 1.0, 0.5, 1000.0, 0.001, 7.0, -0.0, 7.0]},
    ),
    "leading zeros in ids": (b"id,x\n007,1\n08,2\n", {"id": ["007", "08"], "x": [1.0, 2.0]}),
    "whole-number ids": (b"id,x\n-7,1\n80,2\n", {"id": [-7, 80], "x": [1.0, 2.0]}),
    "ids beyond 64 bits": (
        b"id,x\n99999999999999999999,1\n",
        {"id": ["99999999999999999999"], "x": [1.0]},
    ),
    "ids like versions": (b"id,x\n1.10,1\n1.1,2\n", {"id": ["1.10", "1.1"], "x": [1.0, 2.0]}),
    "an id called NaN": (b"id,x\nNaN,1\ninf,2\n", {"id": ["NaN", "inf"], "x": [1.0, 2.0]}),
    "dates are text": (b"id,d\na,2020-01-01\n", {"id": ["a"], "d": ["2020-01-01"]}),
    "truth words are text": (
        b"id,t\na,true\nb,false\n",
        {"id": ["a", "b"], "t": ["true", "false"]},
    ),
    "hexadecimal is text": (b"id,h\na,0x10\n", {"id": ["a"], "h": ["0x10"]}),
    "underscored text": (b"id,h\na_1,p_q\n", {"id": ["a_1"], "h": ["p_q"]}),
    "names in two cases": (b"id,X,x\na,1,2\n", {"id": ["a"], "X": [1.0], "x": [2.0]}),
    "spaces around names": (b"id , x\na,1\n", {"id": ["a"], "x": [1.0]}),
    "a name with a quote": (b'id,"x\'"" y"\na,1\n', {"id": ["a"], "x'\" y": [1.0]}),
    "half numbers": (b"x\n1\n2\na\nb\n", {"x": ["1", "2", "a", "b"]}),
    "text only later": (b"x\n" + b"1\n" * 1500 + b"a\n" * 1500, {"x": ["1"] * 1500 + ["a"] * 1500}),
    "words for missing numbers": (
        b'x\n1\nNA\nN/A\nn/a\nna\n#N/A\nNaN\nNULL\nnull\nNone\n-\n.\n?\n NA \n"NA"\n2\n',
        {"x": [1.0, *[None] * 14, 2.0]},
    ),
    "more words than numbers": (
        b"id,x\na,NA\nb,7\nc,NA\n",
        {"id": ["a", "b", "c"], "x": [None, 7.0, None]},
    ),
    "words only late": (
        b"x\n" + b"1\n" * 1500 + b"NA\n" * 1500,
        {"x": [1.0] * 1500 + [None] * 1500},
    ),
    "numbers only late": (b"x\n" + b"-\n" * 1500 + b"1\n" * 15, {"x": [None] * 1500 + [1.0] * 15}),
    "words for missing in text": (
        b"id,k\nNA,oil\n-,NA\nnull,?\n",
        {"id": ["NA", "-", "null"], "k": ["oil", "NA", "?"]},
    ),
    "nothing but such words": (b"id,k\na,-\nb,NA\n", {"id": ["a", "b"], "k": ["-", "NA"]}),
    "a blank in place of a number": (b"id,x\na, \nb,1\n", {"id": ["a", "b"], "x": [None, 1.0]}),
    "a big cell": (b"id,x\n" + b"y" * 1_000_000 + b",1\n", {"id": ["y" * 1_000_000], "x": [1.0]}),
    "many columns": (
        ",".join(f"f{k}" for k in range(2000)).encode()
        + b"\n"
        + b",".join([b"1.5"] * 2000)
        + b"\n",
        {f"f{k}": [1.5] for k in range(2000)},
    ),
}


SENTENCES = {
    "empty": (b"", "is empty; its first line must name the columns"),
    "a mark and nothing": (b"\xef\xbb\xbf", "is empty"),
    "the same name twice": (
        b"id,x,x\na,1,2\n",
        "columns of the same name: 'x'; give every column its own name",
    ),
    "a column without a name": (b",x\na,1\n", "1 column of "),
    "too few cells": (
        b"id,x\na,1\nb\n",
        "has 1 bad row; correct or remove it:\n  line 3: 1 cell instead of 2: 'b'",
    ),
    "too many cells": (b"id,x\na,1\nb,2,3\n", "line 3: 3 cells instead of 2: 'b,2,3'"),
    "physical lines": (b'id,x\n"a\n\nb",1\nc,2,3\n', "line 5: 3 cells instead of 2"),
    "physical lines, CRLF": (b'id,x\r\n"a\r\nb",1\r\nc,2,3\r\n', "line 4: 3 cells instead of 2"),
    "physical lines, CR": (b"id,x\ra,1\rc,2,3\r", "line 3: 3 cells instead of 2"),
    "a few bad numbers": (
        b"x\n" + b"1\n" * 20 + b"5o\n" + b"1\n" * 20 + b"two\n",
        "line 22, column 'x': not a number",
    ),
    "bad numbers among missing ones": (
        b"x,y\n" + b"1,NA\nNA,2\n" * 20 + b"5o,1\n",
        "na=['5o'] if it stands for a missing value:\n  line 42, column 'x': not a number: '5o'",
    ),
    "a short row among missing ones": (
        b"x,y\n" + b"1,NA\nNA,2\n" * 20 + b"5\n",
        "1 bad row; correct or remove it:\n  line 42: 1 cell instead of 2: '5'",
    ),
    "a row much too short": (
        b",".join(b"f%d" % k for k in range(41)) + b"\n1,x,3,4\n",
        "1 bad row; correct or remove it:\n  line 2: 4 cells instead of 41",
    ),
    "a row much too long": (
        b"x,y\n1,2\np,2,3,4,5\n",
        "has 1 bad row; correct or remove it:\n  line 3: 5 cells instead of 2: 'p,2,3,4,5'",
    ),
    "two in one row": (
        b"x,y\n" + b"1,2\n" * 20 + b"p,q\n",
        ("line 22, column 'x': not a number: 'p'\n  line 22, column 'y'"),
    ),
    "line breaks in names": (b'id,"x\ny"\na,1\n', "has column names with line breaks: 'x\\ny'"),
    "numbers only later": (b"x,y\n" + b"a,1\n" * 1200 + b"1,1\n" * 20000, "has 1200 bad rows"),
    "rare text in a sparse column": (
        b"x,y\n" + b",1\n" * 3000 + b"7,1\n" * 20 + b"p,1\n",
        "line 3022, column 'x': not a number: 'p'",
    ),
    "decimal commas and points": (
        b"id;x\na;1,5\nb;2.5\n",
        "1 bad row; write numbers with one decimal sign, or name it (decimal):\n  line 2, column"
        " 'x': not a number: '1,5'",
    ),
    "a comma that may be either": (
        b"id;x;y\na;1,234;3\nb;2;4\n",
        "has numbers such as '1,234' in the column 'x', which may be 1.234 or 1234; name the"
        " decimal sign with decimal, or leave the column out.",
    ),
    "points between thousands that could be decimal ones": (
        b"id;x;y\na;1.291;3\nb;950;4\nc;2.004;5\n",
        "has numbers such as '1.291' in the column 'x', which may be 1.291 or 1291; name the"
        " decimal sign with decimal, or leave the column out.",
    ),
    "a point that may be either": (
        b"id;x;y\na;1.234;2,5\nb;2;4\n",
        "1 bad row; write numbers with one decimal sign, or name it (decimal):\n  line 2, column"
        " 'x': not a number: '1.234'",
    ),
    "thousands that are none": (
        b"id;x;y\na;1.234,5;1\nb;9;1\n" + b"c;7;1\n" * 1500 + b"d;1.2.3;1\n",
        "line 1504, column 'x': not a number: '1.2.3'",
    ),
    "underscored numbers": (b"id,x\na,1_000\nb,2\n", "'1_000' in column 'x'"),
    "two signs": (b"id,x\na,+-1\nb,2\n", "'+-1' in column 'x'"),
    "open quote": (
        b'id,x\n"a,1\nb,2\n',
        "line 2: a quotation mark is not closed, or text follows the closing one",
    ),
    "open quote in the header": (b'id,"x\na,1\n', "the first line of "),
    "text after a quote": (
        b'id,x\n"a"b,1\nc,2\n',
        "line 2: a quotation mark is not closed, or text follows the closing one: '\"a\"b,1'",
    ),
    "NUL": (b"id,x\na,1\nb\0,2\n", "has NUL bytes (the first in line 3)"),
    "mixed line endings": (b"id,x\na,1\r\nb,2\n", "mixes line endings"),
    "damaged UTF-8": (
        "id,x\nMüller,1\nM".encode() + b"\xfc\xffller,2\n",
        "is UTF-8 except for some bytes (the first in line 3)",
    ),
    "a huge header": (b"y" * 1_000_000, "does not name columns"),
    "a huge line": (b"id,x\na,1\n" + b"y" * 100_000_000 + b",1\nb,2\n", "line 3 of "),
    "too many columns": (
        b",".join(b"f%d" % k for k in range(100_000)) + b"\n",
        f"has 100000 columns, more than the {MAX_COLUMNS} that can be read",
    ),
    "random bytes": (np.random.default_rng(0).bytes(3000), "table.csv' "),
    "a Parquet file": (b"PAR1\x15\x00\x15\x8a\x01\x15@", "table.csv' "),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_files_that_can_be_read(case, tmp_path):
    content, meant = ANSWERS[case]
    read = as_lists(read_bytes(tmp_path, content))
    assert read == meant
    assert {name: [type(value) for value in values] for name, values in read.items()} == {
        name: [type(value) for value in values] for name, values in meant.items()
    }


@pytest.mark.parametrize("case", SENTENCES)
def test_files_that_cannot_be_read(case, tmp_path):
    content, sentence = SENTENCES[case]
    with pytest.raises(PairscoreError) as caught:
        read_bytes(tmp_path, content)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 6000
    if isinstance(caught.value, BadRowsError):
        faults = [(row.line, row.column) for row in caught.value.rows]
        assert len(set(faults)) == len(faults)


# -- decimal commas --------------------------------------------------------------------------------


DECIMAL_COMMAS = {
    "semicolons": (b"id;x\na;1,5\nb;-2,25e1\nc;,5\nd;3\n", [1.5, -22.5, 0.5, 3.0]),
    "tabs": (b"id\tx\na\t1,5\nb\t2\n", [1.5, 2.0]),
    "quotes": (b'id,x\na,"1,5"\nb,2\n', [1.5, 2.0]),
    "thousands": (b"id;x\na;1.234,5\nb;1.234\nc;1.234.567\n", [1234.5, 1234.0, 1234567.0]),
    "three digits beside others": (b"id;x\na;1,234\nb;0,5\n", [1.234, 0.5]),
    "three digits after a zero": (b"id;x\na;0,123\nb;-0,456\n", [0.123, -0.456]),
    "gaps": (b"id;x\na;1,5\nb;NA\nc;\nd;?\n", [1.5, None, None, None]),
    "far below": (b"id;x\n" + b"a;7\n" * 1500 + b"b;1,5\n", [7.0] * 1500 + [1.5]),
    "gaps far below": (
        b"id;x\n" + b"a;7\n" * 1500 + b"b;1,5\nc;NA\n",
        [*[7.0] * 1500, 1.5, None],
    ),
}


@pytest.mark.parametrize("case", DECIMAL_COMMAS)
def test_numbers_with_decimal_commas_are_read_and_said_once(case, tmp_path):
    content, meant = DECIMAL_COMMAS[case]
    with pytest.warns(PairscoreWarning) as said:
        read = read_bytes(tmp_path, content)
    assert as_lists(read)["x"] == meant
    assert len(said) == 1
    assert "has decimal commas (3,14 is 3.14)" in str(said[0].message)
    assert ("thousands" in str(said[0].message)) == (case == "thousands")


def test_a_file_with_decimal_commas_gives_the_table_of_one_with_points(tmp_path):
    """Nine numeric columns of 120 rows, and text that is left alone."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(120, 9)) * 10.0 ** rng.integers(-9, 9, (120, 9))
    lines = ["id;" + ";".join(f"x{column}" for column in range(9)) + ";day;note;size"]
    for row, numbers in enumerate(values.tolist()):
        day = f"{row % 28 + 1:02}.05.2020"
        lines.append(f"i{row};" + ";".join(map(repr, numbers)) + f";{day};well, so;1,2,3")
    text = "\n".join(lines)
    points = read_bytes(tmp_path, text.encode())
    with pytest.warns(PairscoreWarning, match="decimal commas"):
        commas = read_bytes(
            tmp_path, text.replace(".", ",").replace(",05,2020", ".05.2020").encode()
        )
    assert commas.columns == points.columns
    for name in points.columns:
        assert commas[name].tolist() == points[name].tolist()
        assert commas[name].dtype == points[name].dtype
    assert points["day"].dtype == points["note"].dtype == points["size"].dtype == object


@pytest.mark.parametrize(
    ("content", "decimal", "meant"),
    [
        (b"id;x\na;1,234\nb;2\n", ",", [1.234, 2.0]),
        (b"id;x\na;1,234\nb;2\n", ".", [1234.0, 2.0]),
        (b"id;x\na;1.234\nb;NA\n", ",", [1234.0, None]),
        (b"id;x\na;1.234\nb;2\n", ".", [1.234, 2.0]),
        (b"id;x\na;1,5\nb;2\n", ".", "line 2, column 'x': not a number: '1,5'"),
        (b"id;x\na;3.14\nb;2\nc;1,5\n", ",", "line 2, column 'x': not a number: '3.14'"),
        (b"id;x\na;1\n", ";", "decimal is ';'; use ',' or '.', or leave it out."),
    ],
)
@pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")
def test_a_decimal_sign_that_is_named_holds(content, decimal, meant, tmp_path):
    try:
        read = as_lists(read_bytes(tmp_path, content, decimal=decimal))["x"]
    except PairscoreError as error:
        read = str(error)
    assert read == meant if isinstance(meant, list) else meant in read


@pytest.mark.parametrize(
    "content",
    [
        b'id,x,y\na,"1,234.5",1\nb,"2,000",2\nc,"1,234,567",3\n',
        b'id,x,y\na,"1,234",1.5\nb,"2,000",2\nc,"1,234",3\n',
    ],
)
def test_commas_between_thousands_are_read_and_said(content, tmp_path):
    with pytest.warns(PairscoreWarning, match="commas between thousands"):
        read = as_lists(read_bytes(tmp_path, content))["x"]
    assert read in ([1234.5, 2000.0, 1234567.0], [1234.0, 2000.0, 1234.0])


@pytest.mark.parametrize(
    "content",
    [
        b'id,x,note\na,1.5,"1,2,3"\nb,2.5,"4,5"\n',
        b'id,x,note\na,1.5,"well, so"\nb,2.5,"1,2"\n',
        b"id;x;note\na;1.5;12.05.2020\nb;2.5;13.06.2021\n",
    ],
)
@pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")
def test_commas_in_text_say_nothing_about_numbers(content, tmp_path):
    read = as_lists(read_bytes(tmp_path, content))
    assert read["x"] == [1.5, 2.5]
    assert all(isinstance(note, str) for note in read["note"])


@pytest.mark.parametrize("size", [1 << 20, 5 << 20, 45 << 20])
def test_no_row_is_lost_whatever_its_length(size, tmp_path):
    """DuckDB alone loses a row of twice its buffer without a word."""
    for cell in (b"y" * size, b'"' + b"y\n" * 5 + b"z" * size + b'"'):
        try:
            read = read_bytes(tmp_path, b"id,x\na,1\n" + cell + b",1\nb,2\n")
            said = ""
        except PairscoreError as error:
            said = str(error)
        assert "longer than" in said if said else len(read) == 3
        assert not said or size > 1 << 20


@pytest.mark.parametrize("shift", [-2, -1, 0, 1])
@pytest.mark.parametrize("cell", [b"1_000", b"+-1", b"\0"])
def test_an_odd_cell_far_down_in_a_large_file_is_found_wherever_it_is(cell, shift, tmp_path):
    """A file is looked at in pieces, and a sign of two bytes may lie in two of them."""
    line = b"item,12345\n"
    n_lines = (CHUNK - 5) // len(line) - 1
    before = b"id,x\n" + line * n_lines
    odd = b"a" * (CHUNK - len(before) - 2 + shift) + b"," + cell + b"\n"
    with pytest.raises(PairscoreError) as caught:
        read_bytes(tmp_path, before + odd + line)
    if cell == b"\0":
        assert f"the first in line {n_lines + 2}" in str(caught.value)
    else:
        assert f"{cell.decode()!r} in column 'x'" in str(caught.value)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_no_row_is_lost_whatever_the_line_endings(end, tmp_path):
    """DuckDB alone takes its line ending from inside quotes, and then finds fewer rows."""
    for inside in (b"\n", b"\r", b"\r\n"):
        for first, second in ((b'"' + inside + b'"', b"b"), (b"a", b'"' + inside + b'x"')):
            read = read_bytes(tmp_path, end.join([b"id,x", first + b",1", second + b",2"]))
            assert read["id"].tolist() == [name.strip(b'"').decode() for name in (first, second)]
        try:
            rows = len(
                read_bytes(tmp_path, b"id,x" + end + b"a,1" + inside + b"b,2" + end + b"c,3")
            )
        except PairscoreError as error:
            rows = str(error)
        assert rows == 3 or "mixes line endings" in rows


def test_lines_are_right_far_into_a_large_file(tmp_path):
    rows = [b'"a\nb",1'] * 400_000
    for place in (350_000, 399_999):
        rows[place] = b"c,x"
    with pytest.raises(BadRowsError) as caught:
        read_bytes(tmp_path, b"id,x\n" + b"\n".join(rows))
    assert [row.line for row in caught.value.rows] == [2 + 2 * 350_000, 2 + 2 * 399_999 - 1]


# -- rows and cells that are meant to take long ---------------------------------------------------


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_of_far_too_many_cells_are_named_without_looking_at_each_cell(sign, end, tmp_path):
    """DuckDB would keep an error, and the row with it, for every cell."""
    wide = sign.join("a" * 50_000)
    lines = [f"id{sign}x", f"a{sign}1", wide, f"b{sign}2", wide, ""]
    with pytest.raises(BadRowsError) as error:
        read_bytes(tmp_path, end.join(lines).encode())
    assert [(row.line, row.reason) for row in error.value.rows] == [
        (3, "50000 cells instead of 2"),
        (5, "50000 cells instead of 2"),
    ]


def test_rows_of_far_too_few_cells_are_named_without_looking_at_each_cell(tmp_path):
    names = ",".join(f"x{place}" for place in range(15_000))
    with pytest.raises(BadRowsError) as error:
        read_bytes(tmp_path, f"id,{names}\na,1\n".encode() + b"b\n" * 3000)
    assert len(error.value.rows) == 3001
    assert error.value.rows[0].reason == "2 cells instead of 15001"
    assert error.value.rows[-1] == BadRow(3002, None, "b", "1 cell instead of 15001")


def test_delimiters_in_quotes_are_no_cells(tmp_path):
    text = ",".join("a" * 1000)
    table = read_bytes(tmp_path, f'id,x\n"{text}",1\n"b\n{text}\n",2\n'.encode())
    assert table["id"].tolist() == [text, f"b\n{text}\n"]


@pytest.mark.parametrize("around", ["{}1", "1{}", "{}"])
def test_cells_of_many_blanks_are_read_in_one_go(around, tmp_path):
    """A pattern with blanks at both ends would look at every pair of blanks."""
    cell = around.format(" " * 100_000)
    rows = f"b,{cell}\n" * 20
    table = read_bytes(tmp_path, f"id,x\na,2\n{rows}".encode())
    assert as_lists(table)["x"] == [2.0, *[1.0 if "1" in cell else None] * 20]


def test_a_row_of_delimiters_and_a_cell_is_no_blank_row(tmp_path):
    with pytest.raises(BadRowsError, match="line 3: 1000001 cells instead of 2"):
        read_bytes(tmp_path, b"id,x\n,1\n" + b"," * 1_000_000 + b"a\n")


def test_a_bad_cell_at_the_end_of_a_long_row_is_named(tmp_path):
    """DuckDB keeps only the beginning of the row."""
    rows = "".join(f"{place},{place}\n" for place in range(20))
    with pytest.raises(BadRowsError) as error:
        read_bytes(tmp_path, f"id,x\n{rows}b,{' ' * 200_000}y\n".encode())
    assert [(row.line, row.column, row.reason) for row in error.value.rows] == [
        (22, "x", "not a number")
    ]
