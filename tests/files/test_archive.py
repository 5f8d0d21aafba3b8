"""Files of arrays from strangers: sizes are looked at before they are believed."""

import io
import os
import stat
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from pairscore import PairscoreError, load
from pairscore.files.archive import (
    DamagedFileError,
    Field,
    faults_of,
    has_type,
    map_array,
    read_archive,
)
from pairscore.streaming.merge import merge_files
from tests.cli.running import shell

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "other order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "whole": np.array([1, -2], dtype=np.int8),
    "text": np.array(["ä", "bcd"]),
    "truth": np.array([True, False]),
    "times": np.array(["2024-01-01"], dtype="M8[D]"),
    "one": np.array(3.5),
    "none": np.zeros((0, 4)),
    "from elsewhere": np.array([1.5, 2.5], dtype=">f8"),
}


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


def npy(header, content=b""):
    header = header.encode().ljust(108) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def archive(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


def claim(kind, shape):
    return f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"


def test_arrays_come_back_as_numpy_reads_them(tmp_path):
    path = saved(tmp_path / "x.npz", **ARRAYS)
    found = read_archive(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].flags.writeable
    np.save(tmp_path / "one.npy", ARRAYS["other order"])
    np.testing.assert_array_equal(map_array(tmp_path / "one.npy"), ARRAYS["other order"])


CLAIMS = [
    claim("<f8", "(1000000000000,)"), claim("<f8", "(-1,)"), claim("<f8", "(True,)"),
    claim("<f8", "(2,)"), claim("<f8", "()"), claim("<f8", "None"), claim("<f8", "9" * 60),
    claim("|O", "(1,)"), claim("<U999999999", "(1,)"), claim("V8", "(1,)"), claim("<c16", "(1,)"),
    claim("<f3", "(1,)"), claim("<U0", "(1,)"), "{'descr': [('a', '<f8')]}", "[" * 90, "\0", "",
    claim("<f8", "(1" + ", 1" * 15), "__import__('os').mkdir('sprung')",
]  # fmt: skip


@pytest.mark.parametrize("header", CLAIMS)
def test_an_array_that_is_not_what_its_header_claims_is_refused(header, tmp_path):
    content = npy(header, b"1234567")
    with pytest.raises(DamagedFileError):
        read_archive(archive(tmp_path / "x.npz", [("a.npy", content)]))
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DamagedFileError):
        map_array(tmp_path / "a.npy")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_archive_is_refused_before_it_takes_memory(method, tmp_path):
    content = npy(claim("<f8", "(4000000,)"), bytes(32_000_000))
    path = archive(tmp_path / "x.npz", [("header.npy", content)], method)
    assert path.stat().st_size < 100_000
    for use in (read_archive, load, lambda path: merge_files([path])):
        tracemalloc.start()
        with pytest.raises((DamagedFileError, PairscoreError)):
            use(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
        tracemalloc.stop()


def test_reading_takes_about_twice_the_file(tmp_path):
    path = saved(tmp_path / "x.npz", **{f"a{k}": np.zeros(200_000) for k in range(5)})
    tracemalloc.start()
    read_archive(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * path.stat().st_size


def test_the_same_name_twice_and_other_names_are_refused(tmp_path):
    one = npy(claim("<f8", "(1,)"), bytes(8))
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive(tmp_path / "x.npz", [("a.npy", one), ("a.npy", one)])
    with pytest.raises(DamagedFileError):
        read_archive(tmp_path / "x.npz")
    with pytest.raises(DamagedFileError):
        read_archive(archive(tmp_path / "y.npz", [("a.txt", one)]))


def test_members_that_share_their_bytes_are_refused(tmp_path):
    """A directory may name one place many times, and so claim more than the file has."""
    one = npy(claim("<f8", "(1000,)"), bytes(8000))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.npy", one)
        for name in ("b.npy", "c.npy"):
            twin = zipfile.ZipInfo(name)
            twin.file_size = twin.compress_size = len(one)
            twin.CRC, twin.header_offset = file.infolist()[0].CRC, 0
            file.filelist.append(twin)
        file._didModify = True
    (tmp_path / "x.npz").write_bytes(buffer.getvalue())
    with pytest.raises(DamagedFileError):
        read_archive(tmp_path / "x.npz")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused_and_not_read(kind, tmp_path):
    path = tmp_path / "x.npz"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for use in (load, lambda path: merge_files([path])):
        with pytest.raises(PairscoreError, match="is a pipe or a device"):
            use(path)
    assert not stat.S_ISREG(path.stat().st_mode)
    done = shell("rank", path, "items.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert b"copy it to a file first" in done.stderr


def test_a_link_to_itself_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "loop.npz").symlink_to("loop.npz")
    for words in ("fit loop.csv loop.csv -o m.npz", "rank loop.npz loop.csv -o r.csv"):
        done = shell(words, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert done.stderr.count(b"\n") == 1


# -- what arrays and values must be ----------------------------------------------------------------

FIELDS = {
    "kind": (Field("N", "i"), np.zeros(3), "of another kind"),
    "precision": (Field("N"), np.zeros(3, dtype=np.float32), "of another kind"),
    "narrow index": (Field("N", "i", below="N"), np.zeros(3, dtype=np.int8), "of another kind"),
    "length": (Field("N"), np.zeros(4), "4 entries, which do not fit"),
    "sum of lengths": (Field("N+2,*"), np.zeros((6, 2)), "6 x 2 entries, which do not fit"),
    "dimensions": (Field("N"), np.zeros((3, 3)), "3 x 3 entries, which do not fit"),
    "missing": (Field("N"), np.array([1, 2, np.nan]), "not finite"),
    "infinite": (Field("N"), np.array([1, 2, np.inf]), "not finite"),
    "low": (Field("N", low=0), np.array([1, 2, -0.1]), "not from 0 to inf"),
    "index": (Field("N", "i", below="N"), np.array([0, 3, 1]), "not from 0 to 2"),
    "index below zero": (Field("N", "i", below="N"), np.array([0, -1, 1]), "not from 0 to 2"),
    "index of nothing": (Field("*", "i", below="M"), np.array([0]), "do not fit"),
    "order": (Field("N", rising=True), np.array([0.0, 2.0, 1.0]), "not in order"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_an_array_that_is_not_as_stated_is_told(name):
    field, array, fault = FIELDS[name]
    assert fault in field.fault(array, {"N": 3})


def test_lengths_are_learned_and_must_agree():
    schema = {"a": Field("d,k"), "b": Field("d+k"), "c": Field("*", nan=True)}
    arrays = {"b": np.zeros(5), "a": np.zeros((2, 3)), "c": np.array([np.nan])}
    assert list(faults_of(arrays, schema, {})) == []
    assert list(faults_of(arrays | {"b": np.zeros(6)}, schema, {})) == [
        "'b' has 6 entries, which do not fit the rest"
    ]
    assert list(faults_of({"z": np.zeros(1)}, schema, {})) == ["'z' is not known"]


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (1, int, True), (True, int, False), (1.0, int, False), (2**80, int, False),
        (1, float, True), ("1", float, False), (2**80, float, False), (None, float | None, True),
        (["a"], list[str], True), (["a", 1], list[str], False), ("a", list[str], False),
        ([1, 2.5], tuple[float, float], True), ([1], tuple[float, float], False),
        ({"a": "b"}, dict[str, str], True), ({"a": 1}, dict[str, str], False),
        ([1, 2], np.ndarray, True), (["a", "b"], np.ndarray, True), (["a", 1], np.ndarray, False),
        ([[1]], np.ndarray, False), (True, bool, True), (0, bool, False),
    ],
)  # fmt: skip
def test_a_value_of_json_fits_an_annotation(value, hint, fits):
    assert has_type(value, hint) == fits
