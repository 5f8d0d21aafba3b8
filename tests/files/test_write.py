"""Tables and files written whole: the old file or the new one, never half of either."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.files.tables import read_table
from pairscore.files.write import atomic_write, write_table
from tests.files.test_tables import NAN, as_lists


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


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({}, "has no columns"),
        ({"x": [1], "X": [2]}, "upper and lower case"),
        ({"": [1]}, "without a name"),
        ({"x": ["\ud800"]}, "could not be saved as"),
        (3, "a dict of columns or a dataframe, not a int"),
    ],
)
def test_a_table_that_cannot_be_written_leaves_the_old_file_and_nothing_else(
    table, sentence, tmp_path
):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(PairscoreError, match=sentence):
        write_table(table, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), KeyboardInterrupt(), PairscoreError("no")]
)
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(fault, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")

    def half():
        with atomic_write(path, "the report") as temporary:
            temporary.write_text("half")
            assert temporary.parent == path.parent
            raise fault

    with pytest.raises(
        PairscoreError if isinstance(fault, OSError) else type(fault),
        match=(
            "the report could not be saved as .*No space left"
            if isinstance(fault, OSError)
            else None
        ),
    ):
        half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.npz"
    path.write_text("old")
    code = (
        "import os\nfrom pairscore.files import atomic_write\nwith"
        f" atomic_write({str(path)!r}) as t:\n    t.write_text('half'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 9
    assert path.read_text() == "old"


def test_a_link_is_followed_and_the_file_behind_it_keeps_its_permissions(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "table.csv", tmp_path / "table.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("there/table.csv")
    for values in ([1.0], [2.0]):
        write_table({"x": values}, link)
        assert link.is_symlink()
        assert as_lists(read_table(target)) == {"x": values}
        assert target.stat().st_mode & 0o777 == 0o640
    (tmp_path / "dangling.csv").symlink_to("there/new.csv")
    write_table({"x": [3.0]}, tmp_path / "dangling.csv")
    assert as_lists(read_table(tmp_path / "there" / "new.csv")) == {"x": [3.0]}
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "dangling.csv",
        "new.csv",
        "table.csv",
        "table.csv",
        "there",
    ]


def test_a_pipe_gets_the_whole_file_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with subprocess.Popen(["cat", str(tmp_path / "pipe.csv")], stdout=subprocess.PIPE) as reader:
        write_table({"x": [1.5]}, tmp_path / "pipe.csv")
        assert reader.stdout.read() == b"x\n1.5\n"
    assert (tmp_path / "pipe.csv").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.csv"]


def test_places_that_cannot_be_written_to(tmp_path):
    for place in ("no/such/table.csv", "folder.csv"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(
            PairscoreError,
            match=r"the table could not be saved as .*; choose a place that can be written to",
        ):
            write_table({"x": [1.0]}, tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


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
