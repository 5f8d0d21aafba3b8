"""Comparisons that do not fit into memory are read in parts without being asked."""

from pathlib import Path

import numpy as np
import pytest

from pairscore import load
from pairscore.cli import memory
from pairscore.cli.memory import GROWTH, SHARE, free_memory, why_in_parts
from tests.cli.running import run

pytestmark = pytest.mark.usefixtures("study")
NOTE = "Note: 'votes.csv' would take about"


@pytest.fixture(name="little_memory")
def _little_memory(study, monkeypatch):
    """Less than twice what votes.csv takes."""
    needed = GROWTH["csv"] * Path("votes.csv").stat().st_size
    monkeypatch.setattr(memory, "free_memory", lambda: needed / SHARE - 1)


def test_what_fits_is_read_whole(monkeypatch):
    needed = GROWTH["csv"] * Path("votes.csv").stat().st_size
    monkeypatch.setattr(memory, "free_memory", lambda: needed / SHARE)
    assert NOTE not in run("fit items.csv votes.csv -o m.npz").stderr
    monkeypatch.setattr(memory, "free_memory", lambda: None)  # the system does not say
    assert NOTE not in run("fit items.csv votes.csv -o m.npz").stderr


@pytest.mark.usefixtures("little_memory")
def test_what_is_larger_is_read_in_parts_and_said():
    run("fit items.csv votes.csv --stream -o asked.npz")
    done = run("fit items.csv votes.csv -o m.npz")
    assert done.stderr.count(NOTE) == 1
    assert "in memory, more than half of the" in done.stderr
    assert "that is free, and is read in parts." in done.stderr
    np.testing.assert_array_equal(load("m.npz").coef_, load("asked.npz").coef_)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ("--judge-slopes", "--judge-slopes"),
        ("--auto", "--auto"),
        ("--report page.html", "--report"),
        ("--keep-data", "--keep-data"),
        ("--side-effect judges", "--side-effect judges"),
    ],
)
def test_what_a_stream_cannot_do_is_refused_in_a_sentence(options, asked):
    said = run(f"fit items.csv votes.csv {options} -o m.npz", code=2).stderr.splitlines()[-1]
    assert said.startswith(f"Error: {asked} needs all data in memory, and 'votes.csv' would take")
    assert said.endswith("read in parts; leave it out, or allow more with --memory.")
    if asked == "--keep-data":
        assert NOTE not in run("fit items.csv votes.csv --keep-data --memory 1GB -o m.npz").stderr


@pytest.mark.usefixtures("little_memory")
def test_comparisons_alone_are_refused():
    said = run("fit votes.csv -o m.npz", code=2).stderr
    assert "Error: a fit of comparisons alone needs all data in memory, and 'votes.csv'" in said


def test_memory_is_a_limit_that_may_be_told():
    done = run("fit items.csv votes.csv --memory 10kB -o m.npz")
    assert "more than --memory 10kB, and is read in parts" in done.stderr
    assert "memory is 'lots'" in run("fit items.csv votes.csv --memory lots", code=2).stderr


def test_folders_patterns_and_packed_files_are_read_in_parts(study):
    folder, _, _ = study
    (folder / "games").mkdir()
    (folder / "games" / "a.csv").write_bytes((folder / "votes.csv").read_bytes())
    run("fit items.csv votes.csv --stream -o asked.npz")
    for name, kind in (("games", "folder"), ("games/*.csv", "pattern")):
        done = run(f"fit items.csv '{name}' -o m.npz")
        assert f"Note: '{name}' is a {kind}, which is read in parts.\n" in done.stderr
        np.testing.assert_array_equal(load("m.npz").coef_, load("asked.npz").coef_)
    said = run("fit items.csv games --judge-slopes -o m.npz", code=2).stderr
    assert said.endswith("'games' is a folder, which is read in parts; leave it out.\n")


def test_kinds_of_sources(tmp_path):
    (tmp_path / "votes.csv.gz").write_bytes(b"")
    (tmp_path / "a[1].csv").write_text("left,right\n")  # a name, not a pattern
    assert why_in_parts([tmp_path / "votes.csv.gz"], None).reason.endswith(
        "is a packed file, which is read in parts"
    )
    assert why_in_parts([Path("s3://bucket/votes")], None) == (
        "'s3://bucket/votes' is an address, which is read in parts",
        False,
    )
    assert why_in_parts([tmp_path / "a[1].csv", tmp_path / "none.csv", Path("-")], None) is None
    assert why_in_parts([tmp_path / "votes.xlsx"], "10kB") is None


def test_several_files_are_counted_together(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.parquet").write_bytes(b"x" * 200)
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    needed = 2 * 200 * GROWTH["parquet"]
    assert why_in_parts(files, f"{needed}") is None
    reason = why_in_parts(files, f"{needed - 1}").reason
    assert reason.startswith("2 files would take about 16 kB in memory, more than --memory 15999")
    assert reason.endswith("and are read in parts")


def test_free_memory_is_that_of_the_machine_and_its_container(monkeypatch):
    assert free_memory() is None or free_memory() > 1e6
    monkeypatch.setattr(memory, "_free_of_machine", lambda: 3e9)
    monkeypatch.setattr(memory, "_free_of_group", lambda: 2e9)
    assert free_memory() == 2e9
    monkeypatch.setattr(memory, "_free_of_group", lambda: None)
    assert free_memory() == 3e9
    monkeypatch.setattr(memory, "_free_of_machine", lambda: None)
    assert free_memory() is None
