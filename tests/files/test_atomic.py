"""Files written whole or not at all: faults, kills, links, pipes and closed places."""

import os
import subprocess
import sys

import pytest

from pairscore import PairscoreError
from pairscore.files.atomic import atomic_write
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.files.test_tables import as_lists


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
