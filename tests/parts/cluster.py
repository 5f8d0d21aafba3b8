"""What every engine of several machines must show; ``test_dask`` and ``spark_cluster`` run it."""

import os
import signal
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.parts.sources import partitions
from tests.streaming.studies import assert_same_fit, draw, fit_both, in_parts, write

METHODS = ("pooled", "split", "paired", "mle")
FEW = 2e5  # bytes, so that there are several blocks of items


@dataclass(frozen=True)
class Deadly:
    """A partition whose first reader ends at once, with so many of its ancestors."""

    source: object
    mark: str
    generations: int

    @property
    def name(self):
        return self.source.name

    @property
    def n_rows(self):
        return self.source.n_rows

    @property
    def n_bytes(self):
        return self.source.n_bytes

    def column_names(self):
        return self.source.column_names()

    def read(self, columns, text=()):
        for number, batch in enumerate(self.source.read(columns, text)):
            if number == 0 and not Path(self.mark).exists():
                Path(self.mark).touch()
                end_family(self.generations)
            yield batch


def end_family(generations):
    """Kill this process after its ancestors, the oldest first."""
    family = [os.getpid()]
    for _ in range(generations):
        status = Path(f"/proc/{family[-1]}/status").read_text()
        family.append(int(status.split("PPid:")[1].split()[0]))
    for process in reversed(family):
        os.kill(process, signal.SIGKILL)


class Checks:
    """Tests of an engine; a subclass has a fixture ``cluster``.

    ``cluster.engine`` is given to fits, ``cluster.processes()`` names the workers, and
    ``cluster.generations`` are the ancestors of a task's process that are the worker.
    """

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        "asked",
        [{}, {"inference": "model", "link": "probit"}, {"inference": None}, {"side_effect": True}],
    )
    def test_a_fit_on_a_cluster_is_the_fit_in_memory(
        self, cluster, method, asked, tmp_path, monkeypatch
    ):
        in_parts(monkeypatch)
        items, votes = draw()
        files = write(tmp_path, items, votes)
        asked = {"method": method} | asked
        there = {"engine": cluster.engine, "scratch": tmp_path, "memory": FEW}
        assert_same_fit(*reversed(fit_both(items, votes, files, asked, **there)))
        assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []

    def test_text_ids_and_tables_in_memory_are_the_same_too(self, cluster, tmp_path, monkeypatch):
        in_parts(monkeypatch)
        items, votes = draw(2, text=True)
        parts = partitions(write(tmp_path, items, votes, kind="csv")[1])
        whole, found = fit_both(items, votes, (items, parts), {"l2": 2.0}, engine=cluster.engine)
        assert_same_fit(found, whole)

    def test_names_of_files_are_those_of_the_folder_of_the_user(
        self, cluster, tmp_path, monkeypatch
    ):
        in_parts(monkeypatch)
        items, votes = draw(3)
        write(tmp_path, items, votes)
        monkeypatch.chdir(tmp_path)
        there = {"engine": cluster.engine, "scratch": ".", "checkpoint": "first.npz"}
        files = "items.parquet", "votes*.parquet"
        assert_same_fit(*reversed(fit_both(items, votes, files, {"method": "pooled"}, **there)))

    def test_a_fit_is_the_same_to_the_last_bit_each_time(self, cluster, tmp_path, monkeypatch):
        in_parts(monkeypatch, partition_rows=100)
        items, votes = draw(4)
        files = write(tmp_path, items, votes, group=100)
        one, other = (fit_stream(*files, engine=cluster.engine, memory=FEW) for _ in range(2))
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.covariance_, other.covariance_)

    @pytest.mark.parametrize("method", ["pooled", "mle"])
    def test_a_worker_that_is_killed_in_the_middle_of_a_fit_changes_nothing(
        self, cluster, method, tmp_path, monkeypatch
    ):
        in_parts(monkeypatch)
        items, votes = draw(5)
        files, mark = write(tmp_path, items, votes), tmp_path / "killed"
        parts = partitions(files[1], 300)
        parts[2] = Deadly(parts[2], str(mark), cluster.generations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = fit_stream(*files, method=method, memory=FEW)
            there = {"engine": cluster.engine, "scratch": tmp_path, "memory": FEW}
            found = fit_stream(files[0], parts, method=method, **there)
        assert mark.exists()
        assert_same_fit(found, alone)

    def test_workers_that_are_killed_between_passes_change_nothing(
        self, cluster, tmp_path, monkeypatch
    ):
        in_parts(monkeypatch)
        items, votes = draw(5)
        files, stages = write(tmp_path, items, votes), []

        def kill(progress):
            if progress.stage == "Likelihood" and not stages:
                stages.append(progress.stage)
                cluster.kill_one()

        alone = fit_stream(*files, memory=FEW)
        there = {"engine": cluster.engine, "scratch": tmp_path, "memory": FEW}
        found = fit_stream(*files, progress=kill, **there)
        assert stages == ["Likelihood"]
        assert_same_fit(found, alone)

    @pytest.mark.parametrize("fault", ["unknown", "corrupt", "missing"])
    def test_a_fault_on_a_worker_is_told_with_file_and_row_and_workers_live_on(
        self, cluster, fault, tmp_path, monkeypatch
    ):
        in_parts(monkeypatch)
        items, votes = draw(6, weights=False)
        if fault == "unknown":
            left = votes["left"].to_numpy().copy()
            left[1234] = 5
            votes = votes.set_column(0, "left", [left])
        files = write(tmp_path, items, votes)
        parts, path = partitions(files[1], 300), tmp_path / "votes2.parquet"
        sentence = r"votes2\.parquet', row 235: 'left' is 5"
        if fault == "corrupt":
            content = bytearray(path.read_bytes())
            content[4:400] = bytes(396)
            path.write_bytes(content)
            sentence = r"votes2\.parquet' cannot be read from row 1 on"
        if fault == "missing":
            path.unlink()
            sentence = r"there is no file '.*votes2\.parquet'"
        before = cluster.processes()
        with pytest.raises(PairscoreError, match=sentence):
            fit_stream(files[0], parts, engine=cluster.engine, memory=FEW)
        assert cluster.processes() == before

    def test_a_folder_that_workers_lack_is_told(self, cluster, tmp_path, monkeypatch):
        in_parts(monkeypatch)
        items, votes = draw()
        files = write(tmp_path, items, votes)
        with pytest.raises(PairscoreError, match=r"temporary files in '.*nowhere'.*scratch="):
            fit_stream(*files, engine=cluster.engine, scratch=tmp_path / "nowhere")
