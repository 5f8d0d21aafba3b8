"""The first pass with its checkpoint."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.streaming import first_pass, spill
from pairscore.streaming import scratch as temporary
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.first_pass import TallyTask
from pairscore.streaming.spill import Spill
from tests.streaming.studies import draw, in_parts, write


def test_a_fit_that_was_ended_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    monkeypatch.setattr(first_pass, "PARTS_AT_ONCE", 1)
    items, votes = draw()
    files, checkpoint = write(tmp_path, items, votes), tmp_path / "checkpoint.npz"
    whole = fit_stream(*files, memory=1e5)
    usual, done = TallyTask.__call__, []

    def ended(self, part):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(part.number)
        return usual(self, part)

    monkeypatch.setattr(TallyTask, "__call__", ended)
    with pytest.raises(KeyboardInterrupt):
        fit_stream(*files, memory=1e5, checkpoint=checkpoint)
    assert checkpoint.exists()
    seen = []
    monkeypatch.setattr(
        TallyTask, "__call__", lambda self, part: seen.append(part.number) or usual(self, part)
    )
    again = fit_stream(*files, memory=1e5, checkpoint=checkpoint)
    assert min(seen) == 3
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.covariance_, whole.covariance_)
    assert sorted(path.name for path in tmp_path.iterdir() if "checkpoint" in path.name) == []


def spilled(monkeypatch):
    """Where comparisons are written and from where they are read, from now on."""
    found = {"written": [], "read": []}
    for name, kind in (("write", "written"), ("batches", "read")):
        usual = getattr(Spill, name)

        def noted(self, part, *rest, usual=usual, kind=kind):
            found[kind].append(Path(self.folder).name)
            return usual(self, part, *rest)

        monkeypatch.setattr(Spill, name, noted)
    return found


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_likelihood_reads_its_source_once(kind, tmp_path, monkeypatch):
    """The first pass writes rows that later ones read; the result is that of the source itself."""
    in_parts(monkeypatch)
    items, votes = draw(4)
    files, scratch = write(tmp_path / "data", items, votes, kind=kind), tmp_path / "scratch"
    scratch.mkdir()
    asked = {"inference": None, "scratch": scratch}
    found = spilled(monkeypatch)
    once = fit_stream(*files, **asked)
    assert set(found["written"]) == set(found["read"]) == {"rows"}
    assert not list(scratch.iterdir())
    found["written"].clear()
    monkeypatch.setattr(spill, "disk_usage", lambda _: SimpleNamespace(free=10))
    often = fit_stream(*files, **asked)
    assert found["written"] == []
    np.testing.assert_array_equal(once.coef_, often.coef_)
    assert once.agreement_ == often.agreement_
    fit_stream(*files, method="pooled", **asked)
    fit_stream(items, votes, **asked)
    assert found["written"] == []


def test_a_disk_that_fills_up_only_costs_time(tmp_path, monkeypatch):
    """The rows are given up and removed, and passes read the source; the result is the same."""
    in_parts(monkeypatch)
    files = write(tmp_path, *draw(6))
    whole = fit_stream(*files, inference=None)
    usual, found = Spill._save, spilled(monkeypatch)

    def full(self, name, column):
        if name.startswith("0000002"):
            with temporary.reachable(self.folder):
                raise OSError(28, "No space left on device")
        usual(self, name, column)

    monkeypatch.setattr(Spill, "_save", full)
    again = fit_stream(*files, inference=None)
    assert found["written"]
    assert found["read"] == []
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    with pytest.raises(PairscoreError, match="No space left on device"):
        fit_stream(*files)


def test_rows_of_other_data_are_never_read(tmp_path, monkeypatch):
    """They may be left by a fit that was ended before it wrote its first checkpoint."""
    in_parts(monkeypatch)
    monkeypatch.setattr(first_pass, "PARTS_AT_ONCE", 1)
    checkpoint = tmp_path / "checkpoint.npz"
    old = write(tmp_path / "old", *draw(7))
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", raises_interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit_stream(*old, inference=None, checkpoint=checkpoint)
    assert (tmp_path / "checkpoint.npz.tiles" / "rows" / "0000000-starts.npy").exists()
    files = write(tmp_path / "new", *draw(8))
    with monkeypatch.context() as patch:
        patch.setattr(spill, "disk_usage", lambda _: SimpleNamespace(free=10))
        usual, done = TallyTask.__call__, []

        def ended(self, part):
            done.append(part)
            return usual(self, part) if len(done) < 4 else raises_interrupt()

        patch.setattr(TallyTask, "__call__", ended)
        with pytest.raises(KeyboardInterrupt):
            fit_stream(*files, inference=None, checkpoint=checkpoint)
    again = fit_stream(*files, inference=None, checkpoint=checkpoint)
    np.testing.assert_array_equal(again.coef_, fit_stream(*files, inference=None).coef_)


def raises_interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("inference", [None, "items"])
def test_a_checkpoint_in_a_folder_that_is_not_there_is_refused(inference, tmp_path):
    files, place = write(tmp_path, *draw(5)), tmp_path / "nowhere" / "checkpoint.npz"
    with pytest.raises(PairscoreError, match=r"the checkpoint could not be saved as .* choose a"):
        fit_stream(*files, inference=inference, checkpoint=place)
    assert not place.parent.exists()


@pytest.mark.parametrize("room", [[10, 10**9], [10**9, 10]])
def test_a_fit_goes_on_with_the_rows_that_it_began_with(room, tmp_path, monkeypatch):
    """Also if the disk has room only before, or only after it was ended."""
    in_parts(monkeypatch)
    monkeypatch.setattr(first_pass, "PARTS_AT_ONCE", 1)
    files, checkpoint = write(tmp_path, *draw(5)), tmp_path / "checkpoint.npz"
    whole = fit_stream(*files, inference=None)
    usual, done, found = TallyTask.__call__, [], spilled(monkeypatch)

    def ended(self, part):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(part.number)
        return usual(self, part)

    for free, call, ends in zip(room, (ended, usual), (KeyboardInterrupt, None), strict=True):
        monkeypatch.setattr(spill, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        monkeypatch.setattr(TallyTask, "__call__", call)
        with pytest.raises(ends) if ends else nullcontext():
            again = fit_stream(*files, inference=None, checkpoint=checkpoint)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert bool(found["read"]) == (room[0] > 10)
    assert not [path for path in tmp_path.iterdir() if "checkpoint" in path.name]


@pytest.mark.parametrize(
    ("votes", "asked", "sentence"),
    [
        ({"winner": ["tie", "tie"]}, {"ties": "drop"}, "every comparison is a tie"),
        ({"winner": ["left", "tie"], "weight": [0.0, 0.0]}, {}, "nothing to learn from"),
        ({"winner": ["left", "tie"], "weight": [1e200, 1.0]}, {}, "too far apart"),
    ],
)
def test_comparisons_that_say_nothing_are_refused(votes, asked, sentence):
    items = pa.table({"id": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    votes = pa.table({"left": [1, 2], "right": [2, 3]} | votes)
    with pytest.raises(PairscoreError, match=sentence):
        fit_stream(items, votes, **asked)


def test_settings_that_are_not_columns_are_refused():
    with pytest.raises(PairscoreError, match="there is no setting 'speed'"):
        fit_stream([[1.0], [2.0]], {"left": [0], "right": [1], "winner": ["left"]}, speed=3)


def test_covariance_items_may_be_named(tmp_path):
    items, votes = draw(9)
    rows = np.arange(90, 120)
    model = fit_stream(items, votes, method="split", covariance_items=rows)
    from pairscore import RankRegression

    ids = np.array(items["id"].to_pylist())[rows]
    whole = RankRegression("split").fit(items, votes, covariance_items=ids)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)


KILLED = """
import os, signal, sys
from pairscore import fit_stream
from pairscore.streaming import first_pass, stream_job
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.first_pass import TallyTask
first_pass.PARTS_AT_ONCE, stream_job.PARTITION_ROWS, first_pass.SAMPLE = 1, 500, 300
usual, done = TallyTask.__call__, []
def mortal(self, part):
    result = usual(self, part)
    done.append(part)
    if len(done) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
if sys.argv[4] == "kill":
    TallyTask.__call__ = mortal
fit_stream(*sys.argv[1:3], memory=1e5, checkpoint=sys.argv[3]).save(sys.argv[5])
"""


def test_a_fit_that_is_killed_again_and_again_gives_the_same(tmp_path):
    files, results = write(tmp_path, *draw(10)), []
    for how in ("never", "kill"):
        model, checkpoint = str(tmp_path / f"{how}.npz"), str(tmp_path / f"{how}.checkpoint")
        command = [sys.executable, "-c", KILLED, *files, checkpoint, how, model]
        codes = []
        while 0 not in codes:
            codes.append(subprocess.run(command, timeout=300, check=False).returncode)
            assert len(codes) < 20
        assert set(codes[:-1]) <= {-signal.SIGKILL}
        assert len(codes) == (1 if how == "never" else 3)
        with np.load(model) as file:
            results.append(
                {name: file[name] for name in file.files if file[name].dtype.kind == "f"}
            )
    for name, array in results[0].items():
        np.testing.assert_array_equal(array, results[1][name])


def test_every_task_can_go_to_another_process_and_sums_come_back(monkeypatch):
    import pickle

    from pairscore.streaming.engines import LocalEngine

    class Pickling:
        """An engine whose tasks, parts and sums travel as bytes, as on a cluster."""

        is_local = True

        def total(self, task, parts, done=None):
            def far(part):
                seen.update({type(task).__name__, type(getattr(task, "task", None)).__name__})
                there, what = pickle.loads(pickle.dumps((task, part)))
                return pickle.loads(pickle.dumps(there(what)))

            return LocalEngine(1).total(far, parts, done)

    in_parts(monkeypatch)
    items, votes = draw(11)
    seen = set()
    for method in ("pooled", "split", "paired", "mle"):
        for link in ("logit", "probit"):
            asked = {"method": method, "link": link, "side_effect": True, "memory": 1e5}
            ours = fit_stream(items, votes, engine=Pickling(), **asked)
            theirs = fit_stream(items, votes, n_jobs=1, **asked)
            np.testing.assert_array_equal(ours.coef_, theirs.coef_)
            np.testing.assert_array_equal(ours.covariance_, theirs.covariance_)
    of_blocks = {"BlockTask", "CountTask", "PairTask"}
    assert seen == {"TallyTask", "AlongTask", "ScoreTask", "NoneType", *of_blocks}


@pytest.mark.parametrize("inference", ["items", None])
@pytest.mark.parametrize("has", ["a file", "nothing"])
def test_a_folder_that_no_checkpoint_made_is_left_alone(has, inference, tmp_path):
    files, own = write(tmp_path, *draw(5)), tmp_path / "ck.tiles"
    own.mkdir()
    if has == "a file":
        (own / "thesis.txt").write_text("mine")
    with pytest.raises(PairscoreError, match="which no checkpoint made; give the checkpoint"):
        fit_stream(*files, inference=inference, checkpoint=tmp_path / "ck")
    assert [path.read_text() for path in own.iterdir()] == ["mine"] * (has == "a file")
    assert not (tmp_path / "ck").exists()


def test_a_checkpoint_that_is_refused_makes_no_folder(tmp_path):
    files, notes = write(tmp_path, *draw(5)), tmp_path / "notes.csv"
    notes.write_text("mine")
    with pytest.raises(PairscoreError, match="not a complete checkpoint"):
        fit_stream(*files, checkpoint=notes)
    assert notes.read_text() == "mine"
    assert not (tmp_path / "notes.csv.tiles").exists()


def test_tiles_are_on_the_disk_before_the_checkpoint_says_so(tmp_path, monkeypatch):
    """A crash of the machine may not leave a checkpoint of tiles that were never written."""
    in_parts(monkeypatch)
    files, synced, fsync = write(tmp_path, *draw(5)), [], os.fsync
    usual = Checkpoint.write

    def sync(number):
        synced.append(os.path.realpath(f"/proc/self/fd/{number}"))
        fsync(number)

    def checked(self, sums, n_done):
        tiles = set(self.folder.rglob("*.npy"))
        names = {Path(path).name.rpartition(".")[0] for path in synced}
        assert tiles
        assert {path.name.removesuffix(".npy") for path in tiles} <= names
        usual(self, sums, n_done)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Checkpoint, "write", checked)
    fit_stream(*files, memory=1e5, checkpoint=tmp_path / "ck")
    assert synced
