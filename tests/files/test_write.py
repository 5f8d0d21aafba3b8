"""Tables and files written whole: the old file or the new one, never half of either."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.files.test_tables import NAN


def test_the_text_of_a_csv_file(tmp_path):
    write_table(
        {"id": ["a,b", None], "x": [0.1, NAN], "n": [1, 2], "t": np.array([True, False])},
        tmp_path / "table.csv",
    )
    assert (tmp_path / "table.csv").read_text() == 'id,x,n,t\n"a,b",0.1,1,1\n,,2,0\n'
    write_table({"id": ["a"], "t": [True]}, tmp_path / "table.jsonl")
    assert json.loads((tmp_path / "table.jsonl").read_text()) == {"id": "a", "t": True}


def test_decimal_commas_come_with_semicolons(tmp_path):
    table = {"id": ["a;b", "c"], "x": [0.1, NAN], "n": [1, 2], "t": np.array([True, False])}
    write_table(table, tmp_path / "table.csv", decimal=",")
    assert (tmp_path / "table.csv").read_text() == 'id;x;n;t\n"a;b";0,1;1;1\nc;;2;0\n'
    write_table(table, tmp_path / "table.jsonl", decimal=",")
    assert '"x":0.1' in (tmp_path / "table.jsonl").read_text()


def test_standard_output(capfdbinary):
    write_table({"x": [1.5]}, "-")
    assert capfdbinary.readouterr().out == b"x\n1.5\n"


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(suffix, tmp_path):
    texts = ["=1+1", "+1", "-a", "@sum", "\tx", "'=1", "a=b", "", None]
    table = {"=name": np.array(texts, dtype=object), "x": np.arange(-4.0, 5.0)}
    write_table(table, tmp_path / f"safe.{suffix}", excel_safe=True)
    sign = {"csv": ",", "tsv": "\t"}[suffix]
    text = (tmp_path / f"safe.{suffix}").read_text()
    rows = list(csv.reader(io.StringIO(text), delimiter=sign))
    assert [row[0] for row in rows] == [
        *("'=name", "'=1+1", "'+1", "'-a", "'@sum", "'\tx", "'=1", "a=b", "", "")
    ]
    assert [float(row[1]) for row in rows[1:]] == table["x"].tolist()  # numbers stay numbers


@pytest.mark.parametrize("name", ["plain.csv", "safe.jsonl", "safe.parquet"])
def test_formulas_stay_where_no_spreadsheet_was_named(name, tmp_path):
    table = {"id": np.array(["=1+1", "-a"], dtype=object)}
    write_table(table, tmp_path / name, excel_safe=name.startswith("safe"))
    assert read_table(tmp_path / name)["id"].tolist() == ["=1+1", "-a"]


FULL = """
import resource, sys
import numpy as np
from pairscore import PairscoreError
from pairscore.files.write import write_table
table = {"x": np.random.default_rng(0).normal(size=20_000)}
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_table(table, sys.argv[1])
except PairscoreError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_a_disk_that_is_full_is_told_without_what_duckdb_calls_things(name, tmp_path):
    pytest.importorskip("resource", reason="Windows has no limit on the size of files")
    path = tmp_path / name
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True)
    assert done.stderr == (
        f"the table could not be saved as {str(path)!r} (File too large); choose a place that can"
        " be written to.\n"
    )
    assert list(tmp_path.iterdir()) == []
