"""Files, folders and patterns as partitions, and what is said where they cannot be read."""

import gzip
import os
import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from pairscore import PairscoreError
from pairscore.files.partitions import find_files, partitions
from tests.object_store import REGION

TABLE = pa.table({"left": np.arange(1000), "right": np.arange(1000) + 1, "winner": ["left"] * 1000})


def rows_of(parts, column="left"):
    """The entries of a column in the order of partitions, and the rows where batches begin."""
    found, starts = [], []
    for part in parts:
        for first, batch in pickle.loads(pickle.dumps(part)).read([column]):
            found += batch.column(column).to_pylist()
            starts.append(first)
    return found, starts


def read_all(path):
    """Read every column of every partition."""
    return [list(part.read(part.column_names())) for part in partitions(path)]


def test_row_groups_are_partitions_with_their_own_rows(tmp_path):
    parquet.write_table(TABLE, tmp_path / "votes.parquet", row_group_size=100)
    parts = partitions(tmp_path / "votes.parquet", partition_rows=250)
    assert [part.n_rows for part in parts] == [300, 300, 300, 100]
    found, starts = rows_of(parts)
    assert found == list(range(1000))
    assert starts[0] == 0
    assert 300 in starts


def test_a_parquet_file_is_opened_once_for_its_partitions_and_once_for_the_rows_of_each(
    tmp_path, monkeypatch
):
    parquet.write_table(TABLE, tmp_path / "votes.parquet", row_group_size=100)
    opened = []

    class Counted(parquet.ParquetFile):
        def __init__(self, source, **settings):
            opened.append(source)
            super().__init__(source, **settings)

    monkeypatch.setattr(parquet, "ParquetFile", Counted)
    parts = partitions(tmp_path / "votes.parquet", partition_rows=500)
    assert [part.column_names() for part in parts] == [["left", "right", "winner"]] * 2
    assert opened == [str(tmp_path / "votes.parquet")]
    for part in parts:
        batches = [batch for _, batch in part.read(["winner", "left"], ["winner"])]
        assert [pa.types.is_dictionary(kind) for kind in batches[0].schema.types] == [True, False]
    assert len(opened) == 3


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "jsonl"])
def test_text_files_are_read_as_their_names_say(suffix, tmp_path):
    path = tmp_path / f"votes.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(f'{{"left": {n}, "right": {n + 1}}}\n' for n in range(1000)))
    else:
        sign = "\t" if suffix == "tsv" else ","
        csv.write_csv(TABLE, tmp_path / "plain", csv.WriteOptions(delimiter=sign))
        content = (tmp_path / "plain").read_bytes()
        path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    assert rows_of(partitions(path))[0] == list(range(1000))


def test_folders_at_any_depth_and_patterns_are_read_in_order(tmp_path):
    for name in ("year=2024/b", "year=2023/a", "year=2023/_delta/log", "c"):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(TABLE.slice(0, 1), path)
    names = [name.removeprefix(f"{tmp_path}/") for name in find_files(str(tmp_path))]
    assert names == ["c.parquet", "year=2023/a.parquet", "year=2024/b.parquet"]
    assert len(find_files(f"{tmp_path}/year=*/*.parquet")) == 2


def test_an_address_of_a_file_system_is_read(tmp_path):
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    parquet.write_table(TABLE, tmp_path / "b.parquet")
    for address in (f"file://{tmp_path}", f"file://{tmp_path}/*.parquet"):
        assert len(rows_of(partitions(address))[0]) == 2000


# -- an object store -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bucket(object_store, tmp_path_factory):
    """A bucket with some files."""
    folder = tmp_path_factory.mktemp("bucket")
    parquet.write_table(TABLE, folder / "table.parquet")
    csv.write_csv(TABLE, folder / "table.csv")
    object_store.put("league")
    for name in ("games/2023/a", "games/2024/b", "games/c", "games/_hidden/d"):
        object_store.put(f"league/{name}.parquet", (folder / "table.parquet").read_bytes())
    object_store.put("league/games.csv", (folder / "table.csv").read_bytes())
    object_store.put("league/cut/cut.parquet", b"PAR1 but not a table PAR1")


@pytest.fixture
def store(bucket, object_store, monkeypatch):
    object_store.use(monkeypatch)
    return object_store


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("s3://league/games", ["2023/a", "2024/b", "c"]),
        ("s3://league/games/", ["2023/a", "2024/b", "c"]),
        ("s3://league/games/*.parquet", ["c"]),
        ("s3://league/games/*/*.parquet", ["2023/a", "2024/b"]),
        ("s3://league/games/202[4-9]/*.parquet", ["2024/b"]),
        ("s3://league/g*/**/*.parquet", ["2023/a", "2024/b", "c"]),
        ("s3://league/games/c.parquet", ["c"]),
    ],
)
@pytest.mark.parametrize("options", ["", f"?region={REGION}"])
def test_files_of_an_object_store_are_found_as_on_a_disk(address, names, options, store):
    found = find_files(address + options)
    assert found == [f"s3://league/games/{name}.parquet{options}" for name in names]
    assert rows_of(partitions(address + options))[0] == list(range(1000)) * len(names)


def test_text_files_of_an_object_store_are_read(store):
    assert rows_of(partitions("s3://league/games.csv"))[0] == list(range(1000))


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("s3://nowhere/games", "there is no bucket 'nowhere' for 's3://nowhere/games'"),
        ("s3://nowhere/*.parquet", "there is no bucket 'nowhere'"),
        ("s3://league/none.parquet", "there are no tables at 's3://league/none.parquet'"),
        ("s3://league/none/*.parquet", "there are no tables at"),
        ("s3://", "there are no tables at 's3://'"),
        ("abc://league/games", "is not the address of a table"),
        ("s3://KEY:geheim@league/games", "^'s3://KEY@league/games' has a key in it; .* AWS_ACC"),
        ("gs://KEY:geheim@league/games", "^'gs://KEY@league/games' has a key in it; .* GOOGLE_"),
        ("abfs://games:geheim@league/x", "^'abfs://games@league/x' has a key in it; .* it out.$"),
        ("https://ann:geheim@host/x.csv", "^'https://ann@host/x.csv' is an address and not"),
        ("postgresql://ann:geheim@host/db", "^'postgresql://ann@host/db' is a database and not"),
    ],
)
def test_what_an_object_store_does_not_have_is_named(address, sentence, store):
    with pytest.raises(PairscoreError, match=sentence):
        partitions(address)


@pytest.mark.parametrize("address", ["s3://league/games", "s3://league/games/*.parquet"])
def test_wrong_keys_are_said_in_a_sentence(address, store):
    with store.wants_keys(), pytest.raises(PairscoreError) as caught:
        partitions(address)
    assert "cannot be fetched (AWS Error ACCESS_DENIED" in str(caught.value)
    assert "check the address, the network and the keys" in str(caught.value)


def test_a_corrupt_file_of_an_object_store_is_named(store):
    with pytest.raises(PairscoreError, match=r"cut/cut.parquet' cannot be read from row 1 on"):
        partitions("s3://league/cut")


# -- what cannot be read ---------------------------------------------------------------------------


def test_a_file_that_is_named_twice_is_refused(tmp_path):
    parquet.write_table(TABLE, tmp_path / "votes.parquet")
    with pytest.raises(PairscoreError, match="would be counted twice"):
        partitions([tmp_path / "votes.parquet", str(tmp_path / "*.parquet")])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.parquet", "there is no file"),
        ("none*.parquet", "no file matches"),
        ("notes.txt", "does not show what kind of table"),
        ("empty", "has no tables"),
    ],
)
def test_what_is_missing_is_named(name, sentence, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("left,right\n")
    with pytest.raises(PairscoreError, match=sentence):
        partitions(str(tmp_path / name))


def test_a_missing_column_is_named_with_its_file_and_what_it_may_be(tmp_path):
    parquet.write_table(TABLE.rename_columns(["leftt", "right", "winner"]), tmp_path / "v.parquet")
    with pytest.raises(PairscoreError, match=r"v.parquet' has no column 'left'.*leftt"):
        rows_of(partitions(tmp_path / "v.parquet"))


def test_a_corrupt_row_group_is_named_with_file_and_row(tmp_path):
    path = tmp_path / "votes.parquet"
    noise = np.random.default_rng(0).integers(0, 10**9, 1000)
    table = pa.table({"left": noise})
    parquet.write_table(table, path, row_group_size=500, use_dictionary=False)
    group = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    content = bytearray(path.read_bytes())
    first = group.data_page_offset
    content[first : first + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))
    with pytest.raises(PairscoreError, match=r"votes.parquet' cannot be read from row 501 on"):
        rows_of(partitions(path, partition_rows=500))


def test_a_cut_file_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "votes.parquet"
    parquet.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(PairscoreError, match="cannot be read"):
        partitions(path)


def test_tables_in_memory_are_one_partition():
    (part,) = partitions({"left": [1, 2], "right": [2, 3], "winner": ["left", "tie"]})
    assert part.column_names() == ["left", "right", "winner"]
    with pytest.raises(PairscoreError, match="give files"):
        partitions(3)


# -- files that are meant to do harm ---------------------------------------------------------------

DEEP = b"[" * 100_000
HOSTILE = {
    "brackets within brackets": ("jsonl", b'{"a":1}\n{"a":%b1}\n' % DEEP, "line 2 .* 100 deep"),
    "objects within objects": (
        "jsonl",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n",
        "line 1 .* 100 deep",
    ),
    "brackets hidden by those in texts": (
        "jsonl",
        b'{"a":' + b'["]",' * 100_000 + b"1" + b"]" * 100_000 + b"}\n",
        "line 1 .* 100 deep",
    ),
    "one bracket a line": (
        "jsonl",
        b'{"a":' + b"[\n" * 100_000,
        "line 1 .* is not one JSON object",
    ),
    "the last line without an end": ("jsonl", b'{"a":%b' % DEEP, "line 1 .* is not one JSON"),
    "a line of five megabytes": (
        "jsonl",
        b'{"a":1}\n{"a":"%b"}\n' % (b"a" * 5_000_000),
        "line 2 .* is longer than 4 MB; write one object",
    ),
    "many columns": (
        "csv",
        ",".join(f"x{place}" for place in range(20_001)).encode() + b"\n",
        "has 20001 columns, more than the 20000 that can be read",
    ),
    "a name of ten megabytes": ("csv", b"a," + b"x" * 10_000_000 + b"\n", "does not name columns"),
    "a quoted name of a megabyte": (
        "csv",
        b'a,"%b"\n' % (b"x" * 1_000_000),
        "does not name column",
    ),
    "a first line without an end": ("csv", b"a" * 10_000_000, "does not name columns .longer than"),
    "a column without a name": ("csv", b"a,,b\n1,2,3\n", "1 column of .* without a name"),
    "one name twice": ("csv", b"a,b,a\n1,2,3\n", "has columns of the same name: 'a'"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_meant_to_do_harm_is_one_sentence(case, tmp_path):
    """Arrow's reader of JSON would end the process at deep brackets."""
    suffix, content, said = HOSTILE[case]
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(content)
    with pytest.raises(PairscoreError, match=said):
        read_all(path)


def test_brackets_in_texts_are_text(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_bytes(b'\n{"left":"%b","right":[1,2]}\n\n {"left":"\\"{"} \n' % DEEP)
    found, _ = rows_of(partitions(path))
    assert found == [DEEP.decode(), '"{']


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_pipe_or_a_device_is_refused(suffix, tmp_path):
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    os.symlink("/dev/zero", tmp_path / f"zero.{suffix}")
    for path in tmp_path.iterdir():
        with pytest.raises(PairscoreError, match="is a pipe or a device, not a file"):
            partitions(path)
