"""Workbooks that would take far more memory than their size, and damaged ones: a sentence each."""

from io import BytesIO
from zipfile import ZipFile

import pytest

from pairscore import PairscoreError
from pairscore.files.tables import read_table
from tests.hostile_tables import (
    archive,
    compound_file,
    ods,
    ods_cell,
    ods_row,
    xls,
    xlsx,
    xlsx_cell,
    xlsx_rows,
)

UNPACKED = 64 << 20  # bytes, as the page on tables says
HEAD = ("id", "x")
ROW = ("a", 1.5)
PLAIN = xlsx_rows(HEAD, ROW)
CELLS = {(0, 0): "id", (0, 1): "x", (1, 0): "a", (1, 1): 1.5}
BLANKS = ods_cell(None, 16384)
LONG = "a" * 30_000
SOUND = {
    "xlsx": ("b.xlsx", xlsx(PLAIN)),
    "xlsx, cells without names": (
        "b.xlsx",
        xlsx(
            '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
            '<row><c t="s"><v>2</v></c><c><v>1.5</v></c></row>',
            "<si><t>id</t></si><si><t>x</t></si><si><t>a</t></si>",
        ),
    ),
    # Excel keeps the format of whole columns in blank cells
    "xlsx, formats far below": (
        "b.xlsx",
        xlsx(PLAIN + '<row r="1048576"><c r="XFD1048576" s="1"/></row>'),
    ),
    "ods": ("b.ods", ods(ods_row(*HEAD) + ods_row(*ROW))),
    # so does every spreadsheet that LibreOffice writes
    "ods, blanks to the end": (
        "b.ods",
        ods(ods_row(*HEAD) + ods_row(*ROW) + ods_row(BLANKS, times=1_048_574)),
    ),
    "xls": ("b.xls", xls(CELLS)),
    "xls, texts by number": (
        "b.xls",
        xls({(0, 0): (0,), (0, 1): (1,), (1, 0): (2,), (1, 1): 1.5}, ["id", "x", "a"]),
    ),
}
HUGE = {
    "xlsx, the last cell": (
        "b.xlsx",
        xlsx(PLAIN + '<row r="1048576">' + xlsx_cell("XFD1048576", 1) + "</row>"),
        r"17,179,869,184 cells \(to XFD1048576\), and 5 cells are filled; delete what",
    ),
    "xlsx, a far column": (
        "b.xlsx",
        xlsx(PLAIN + '<row r="30000">' + xlsx_cell("CWX30000", 1) + "</row>"),
        r"to CWX30000\), and 5 cells",
    ),
    "xlsx, a far row of cells without names": (
        "b.xlsx",
        xlsx(PLAIN + '<row r="900000">' + "<c><v>1</v></c>" * 900 + "</row>"),
        r"to AHP900000\)",
    ),
    "xlsx, with other prefixes and quotes": (
        "b.xlsx",
        xlsx(PLAIN + f"<x:row xmlns:x='{'u'}' r='1'><x:c r='XFD999999'><x:v>1</x:v></x:c></x:row>"),
        r"to XFD999999\)",
    ),
    "xlsx, one long text in many cells": (
        "b.xlsx",
        xlsx(
            PLAIN + '<row r="3">' + '<c t="s"><v>0</v></c>' * 4000 + "</row>",
            f"<si><t>{LONG}</t></si>",
        ),
        "would unpack to 115 MB or more, and 64 MB is the most for its size",
    ),
    "xlsx, a bomb": (
        "b.xlsx",
        archive({"xl/workbook.xml": "", "xl/worksheets/sheet1.xml": " " * (UNPACKED + 1)}),
        r"would unpack to 64 MB or more, .*save its table as \.csv or \.parquet",
    ),
    "ods, a far cell": (
        "b.ods",
        ods(
            ods_row(*HEAD)
            + ods_row(BLANKS, times=1_000_000)
            + ods_row(ods_cell(None, 999), ods_cell(1))
        ),
        r"1,000,002,000 cells \(to ALL1000002\), and 3 cells are filled",
    ),
    "ods, cells that repeat": (
        "b.ods",
        ods(ods_row(*HEAD) + ods_row(ods_cell("a", 16384), times=1_048_576)),
        "MB is the most for its size",
    ),
    "xls, the last cell": ("b.xls", xls(CELLS | {(65535, 65535): 1.0}), r"4,294,967,296 cells"),
    "xls, one long text in many cells": (
        "b.xls",
        xls(CELLS | {(row, 2): (0,) for row in range(10_000)}, ["b" * 8000]),
        "would unpack to 76 MB or more",
    ),
}
DAMAGED = {
    "not a workbook": ("b.xlsx", b"id,x\na,1\n"),
    "a document type": (
        "b.xlsx",
        xlsx(PLAIN, **{"xl/styles.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}),
    ),
    "a sheet that is not XML": ("b.xlsx", xlsx("<row><c>")),
    "a sheet under another name": (
        "b.xlsx",
        xlsx(
            PLAIN,
            **{
                "xl/_rels/workbook.xml.rels": '<a><Relationship Id="r1" Type="x/worksheet"'
                ' Target="s.png"/></a>'
            },
        ),
    ),
    "a number that is none": ("b.xlsx", xlsx('<row r="1"><c r="A1" t="s"><v>x</v></c></row>')),
    "a cell of no column": ("b.xlsx", xlsx('<row r="1"><c r="1"><v>1</v></c></row>')),
    "no sheets": ("b.xlsx", archive({"xl/workbook.xml": "<a/>"})),
    "xls without streams": ("b.xls", compound_file(b"")[:1024]),
    "xls of zeros": ("b.xls", compound_file(b"")),
    "ods of something else": ("b.ods", archive({"content.xml": "<a/>", "mimetype": "a"})),
}


@pytest.mark.parametrize("case", SOUND)
def test_a_workbook_of_usual_size_is_read(case, tmp_path):
    name, content = SOUND[case]
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    assert table["id"].tolist() == ["a"]
    assert table["x"].tolist() == [1.5]


@pytest.mark.parametrize("case", HUGE)
def test_a_small_file_that_would_fill_the_memory_is_one_sentence(case, tmp_path):
    name, content, said = HUGE[case]
    assert len(content) < 1_000_000
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PairscoreError, match=said) as refused:
        read_table(tmp_path / name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_workbook_is_one_sentence(case, tmp_path):
    name, content = DAMAGED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        PairscoreError, match=r"cannot be read|is empty|has no|begins with"
    ) as refused:
        read_table(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_a_part_longer_than_the_archive_says_is_refused(tmp_path):
    """The directory of a ZIP file may give any size; the part itself is unpacked and counted."""
    content = xlsx(PLAIN + " " * 10_000)
    part = ZipFile(BytesIO(content)).getinfo("xl/worksheets/sheet1.xml")
    lying = content.replace(part.file_size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != content
    (tmp_path / "b.xlsx").write_bytes(lying)
    with pytest.raises(PairscoreError, match=r"'xl/worksheets/sheet1\.xml' is longer"):
        read_table(tmp_path / "b.xlsx")
