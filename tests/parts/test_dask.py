"""Fits on a Dask cluster of two processes."""

import subprocess
import sys

import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.parts import dask
from pairscore.parts.dask import DaskEngine
from tests.parts.cluster import FEW, Checks
from tests.streaming.studies import assert_same_fit, draw, fit_both, write


@pytest.fixture
def cluster(dask_cluster):
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
    with pytest.raises(PairscoreError, match=r"pip install 'pairscore\[dask\]'"):
        fit_stream(items, votes, engine="dask://127.0.0.1:1")


def test_other_versions_on_workers_are_refused(cluster, monkeypatch):
    monkeypatch.setattr("pairscore.__version__", "99")
    items, votes = draw()
    with pytest.raises(PairscoreError, match="and this is 99; install the same version"):
        fit_stream(items, votes, engine=cluster.client)
