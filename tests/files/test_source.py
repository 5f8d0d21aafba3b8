"""Where a table comes from: paths, encodings, delimiters and names."""

import os
from errno import EACCES
from pathlib import Path

import pytest

from pairscore import PairscoreError
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.files.test_tables import as_lists, read_bytes


@pytest.mark.parametrize(
    ("content", "options", "meant"),
    [
        (b"id:x\na:1\n", {"delimiter": ":"}, {"id": ["a"], "x": [1.0]}),
        (b"id\tx\na\t1\n", {"delimiter": "tab"}, {"id": ["a"], "x": [1.0]}),
        (b'"i~d",x\na,1\n', {"delimiter": "~"}, "does not name columns"),
        (b"a;b,c\n1;2\n", {"delimiter": ";"}, {"a": [1.0], "b,c": [2.0]}),
        (b"id,x\na,1\n", {"delimiter": ",,"}, "the delimiter is ',,'; use one sign"),
        ("id,x\nя,1\n".encode("cp1251"), {"encoding": "cp1251"}, {"id": ["я"], "x": [1.0]}),
        ("id,x\nя,1\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, {"id": ["я"], "x": [1.0]}),
        ("id,x\nя,1\n".encode("cp1251"), {"encoding": "utf-8"}, "is not text in 'utf-8'"),
        (b"id,x\n\xe9,1\n", {"encoding": "ascii"}, "is not text in 'ascii'"),
        (b"id,x\na,1\n", {"encoding": "martian"}, "'martian' is not a text encoding"),
        (b"id,x\na,1\n", {"encoding": "base64"}, "'base64' is not a text encoding"),
        (b"name,x\n007,1\n", {"identifiers": ["name"]}, {"name": ["007"], "x": [1.0]}),
    ],
)
def test_what_is_named_is_taken(content, options, meant, tmp_path):
    if isinstance(meant, dict):
        assert as_lists(read_bytes(tmp_path, content, **options)) == meant
    else:
        with pytest.raises(PairscoreError, match=meant.replace("(", r"\(")):
            read_bytes(tmp_path, content, **options)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.csv", "cannot be read (No such file or directory); check the path."),
        ("folder.csv", "cannot be read (Is a directory); check the path."),
        ("table.doc", "is not a table; export or save the table that it shows as .csv or .xlsx"),
        ("model.npz", "is a model or sums of pairscore and not a table; give a table, such as"),
        (
            "table.dat",
            (
                "does not show what kind of table it is; give it a name that ends in .csv, .tsv,"
                " .txt, .parquet"
            ),
        ),
        ("cut.parquet", "cannot be read as parquet ("),
        ("nul\0.csv", "cannot be read ("),
    ],
)
def test_no_such_table(name, sentence, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "table.doc").touch()
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and not much else")
    with pytest.raises(PairscoreError) as caught:
        read_table(tmp_path / name)
    assert sentence in str(caught.value)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    """Root may read everything, so the refusal is made."""
    path, plain_open = tmp_path / "table.csv", Path.open
    path.touch()

    def refusing_open(self, *arguments, **options):
        if self == path:
            raise PermissionError(EACCES, os.strerror(EACCES), str(self))
        return plain_open(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refusing_open)
    with pytest.raises(PairscoreError, match=r"cannot be read \(Permission denied\)"):
        read_table(path)


def test_names_of_files_are_taken_literally(tmp_path):
    (tmp_path / "year=2020").mkdir()
    (tmp_path / "b.csv").write_text("x\n2\n")
    for name in (
        "[b].csv",
        "*.csv",
        "it's.csv",
        "year=2020/table.csv",
        "year=2020/table.parquet",
        "TABLE.CSV",
    ):
        write_table({"x": [1.0]}, tmp_path / name)
        assert as_lists(read_table(tmp_path / name)) == {"x": [1.0]}


def test_a_named_delimiter_holds_for_a_single_column_with_another_sign_in_its_name(tmp_path):
    for table in ({"0,1": [0.0, 2.5]}, {",": []}, {"0;0": ["w,1", "w"]}):
        write_table(table, tmp_path / "table.tsv")
        read = read_table(tmp_path / "table.tsv", delimiter="tab")
        assert {name: read[name].tolist() for name in read.columns} == table


# -- what is no file ------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_pipe_or_a_device_under_the_name_of_a_file_is_refused(suffix, tmp_path):
    """A pipe is opened more than once, and waits for ever for somebody who writes to it."""
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    os.symlink("/dev/zero", tmp_path / f"zero.{suffix}")
    for path in tmp_path.iterdir():
        with pytest.raises(PairscoreError, match="is a pipe or a device, not a file; write its"):
            read_table(path)


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        (b"\0", "standard input has a line of more than 17 MB; it is damaged or not a table"),
        (b"a,b\n", "standard input has more than 64 MB; write it to a file, and give"),
    ],
)
def test_standard_input_without_an_end_is_refused(piece, said, monkeypatch):
    class Endless:
        """Gives as much as it is asked for."""

        buffer = property(lambda self: self)

        def read(self, size):
            return piece * (size // len(piece))

    monkeypatch.setattr("pairscore.files.source.MOST_PIPED", 1 << 26)
    monkeypatch.setattr("sys.stdin", Endless())
    with pytest.raises(PairscoreError, match=said):
        read_table("-")
