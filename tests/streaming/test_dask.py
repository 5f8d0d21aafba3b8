"""Fits on a Dask cluster of two processes."""

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from functools import partial

import polars as pl
import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.files.partitions import partitions
from pairscore.streaming import dask, first_pass
from pairscore.streaming.dask import DaskEngine
from pairscore.streaming.spill import Spill
from tests.dask_cluster import HERE, ROOT, WORKER
from tests.streaming.cluster import FEW, Checks, Deadly
from tests.streaming.studies import assert_same_fit, draw, fit_both, write


@pytest.fixture
def cluster(dask_cluster):
    dask_cluster.processes()
    return dask_cluster


class TestDask(Checks):
    """A cluster of two processes."""


def test_parts_are_added_in_their_order_by_a_tree(cluster):
    seen = []
    total = DaskEngine(cluster.client).total(str, range(100), seen.append)
    assert total == "".join(map(str, range(100)))
    assert sorted(seen) == list(range(100))


def test_the_command_line_fits_on_a_cluster(cluster, tmp_path):
    items, votes = draw(1)
    files = write(tmp_path, items, votes)
    address = cluster.address.replace("tcp://", "dask://")
    model = tmp_path / "model.npz"
    command = [sys.executable, "-m", "pairscore", "fit", *files, "--stream", "--engine", address]
    command += ["--scratch", str(tmp_path), "-o", str(model)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    assert model.exists()


def test_an_address_is_an_engine(cluster, tmp_path):
    items, votes = draw(3)
    files = write(tmp_path, items, votes)
    address = cluster.address.replace("tcp://", "dask://")
    assert_same_fit(*reversed(fit_both(items, votes, files, {}, engine=address, memory=FEW)))


def test_an_address_without_a_scheduler_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "SECONDS", 1)
    items, votes = draw()
    with pytest.raises(PairscoreError, match="there is no Dask scheduler at 'tcp://127"):
        fit_stream(items, votes, engine="dask://127.0.0.1:1")


def test_a_missing_extra_names_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    items, votes = draw()
    with pytest.raises(PairscoreError, match=r"pip install distributed pyarrow"):
        fit_stream(items, votes, engine="dask://127.0.0.1:1")


def test_workers_without_pairscore_are_told(cluster, monkeypatch):
    def absent():
        raise ModuleNotFoundError("No module named 'pairscore'")

    real = dask.version
    monkeypatch.setattr(dask, "version", lambda: absent() if "worker" in sys.argv[0] else real())
    items, votes = draw()
    with pytest.raises(PairscoreError, match=r"cannot import .*No module named 'pairscore'"):
        fit_stream(items, votes, engine=cluster.client)


def test_other_versions_on_workers_are_refused(cluster, monkeypatch):
    monkeypatch.setattr("pairscore.__version__", "99")
    items, votes = draw()
    with pytest.raises(PairscoreError, match="and this is 99; install the same version"):
        fit_stream(items, votes, engine=cluster.client)


def elsewhere(spill, folder, grid, **given):
    return spill(f"{folder}-not", grid, **given)


def test_a_folder_that_only_this_machine_has_is_told(cluster, tmp_path, monkeypatch):
    """Workers look for the tiles where there is nothing."""
    monkeypatch.setattr(first_pass, "Spill", partial(elsewhere, Spill))
    items, votes = draw()
    files = write(tmp_path, items, votes)
    with pytest.raises(PairscoreError, match=r"cannot be read or written on .*\(scratch\)"):
        fit_stream(*files, engine=cluster.client, scratch=tmp_path)


def test_features_of_items_are_not_sent_to_workers(cluster, tmp_path, monkeypatch):
    """Tasks carry vectors with a number for each item, whatever the number of features."""
    sizes = []

    class Weighed(DaskEngine):
        def total(self, task, parts, done=None):
            sizes.append(len(pickle.dumps(task)))
            return super().total(task, parts, done)

    items, votes = draw(n=2000, d=20, weights=False)
    files = write(tmp_path, items, votes)
    fit_stream(*files, method="pooled", engine=Weighed(cluster.client), scratch=tmp_path)
    assert max(sizes) < 2000 * 8 * 6


def test_a_lazy_frame_is_written_in_parts_by_its_engine(cluster, tmp_path):
    items, votes = draw(1)
    files = write(tmp_path, items, votes)
    lazy = pl.scan_parquet(files[0]), pl.scan_parquet(files[1])
    whole, found = fit_both(items, votes, lazy, {}, engine=cluster.client)
    assert_same_fit(found, whole)


def test_a_part_that_ends_every_worker_is_given_up_in_a_sentence(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.client.cluster.scheduler, "allowed_failures", 0)
    items, votes = draw()
    files = write(tmp_path, items, votes)
    parts = [Deadly(part, str(tmp_path / "killed"), 0) for part in partitions(files[1])]
    with pytest.raises(PairscoreError, match="worker ended 1 time, usually because memory ran"):
        fit_stream(files[0], parts, engine=cluster.client)
    assert len(cluster.processes()) == 2  # another is started


# -- schedulers without workers, and those that end ------------------------------------------------


@pytest.fixture
def scheduler():
    """A scheduler in a process that may be killed, and its address."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", *HERE]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    address = next(
        found[1] for line in process.stderr if (found := re.search(r"Scheduler at:\s+(\S+)", line))
    )
    threading.Thread(target=lambda: [*process.stderr], daemon=True).start()  # it goes on talking
    yield process, address
    process.kill()
    process.wait()


def test_a_scheduler_without_workers_is_told_while_it_is_waited_for(scheduler, monkeypatch, capsys):
    monkeypatch.setattr(dask, "SECONDS", 1)
    monkeypatch.setattr(dask, "QUIET", 0.1)
    with pytest.raises(PairscoreError, match="has no workers"), dask.dask_at(scheduler[1]):
        pass
    said = capsys.readouterr().err
    assert f"there is none yet. Start some with: dask worker {scheduler[1]}" in said


def test_a_scheduler_that_ends_is_a_sentence(scheduler, tmp_path):
    process, address = scheduler
    command = [*WORKER, *HERE, "--local-directory", str(tmp_path), address]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    worker = subprocess.Popen(command, cwd=ROOT, **silent)
    try:
        with (
            pytest.raises(PairscoreError, match="ended or cannot be reached any more"),
            dask.dask_at(address) as engine,
        ):
            engine.total(partial(os.kill, process.pid), [signal.SIGKILL])
    finally:
        worker.kill()
        worker.wait()
