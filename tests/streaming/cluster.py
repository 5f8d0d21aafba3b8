"""What every engine of several machines must show; ``test_dask`` and ``spark_cluster`` run it."""

import os
import pickle
import signal
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from pairscore import PairscoreError, fit_stream
from pairscore.files.partitions import partitions
from pairscore.model import predict
from pairscore.streaming import shared_items, stream_items
from pairscore.streaming.engine_addresses import connected
from tests.streaming.studies import (
    assert_same_fit,
    draw,
    fit_both,
    in_parts,
    rare_feature,
    write,
)

METHODS = ("pooled", "split", "paired", "mle")
FEW = 2e5  # bytes, so that there are several blocks of items


@dataclass(frozen=True)
class Deadly:
    """A partition whose first reader in another process ends, with so many of its ancestors."""

    source: object
    mark: str
    generations: int
    home: int = field(default_factory=os.getpid)

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
            if number == 0 and os.getpid() != self.home and not Path(self.mark).exists():
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


@dataclass
class Watched:
    """An engine that notes the size of what it returns, and may do something before a task."""

    engine: object
    before: object = None
    sizes: list = field(default_factory=list)
    is_local = False

    def total(self, task, parts, done=None):
        if self.before is not None:
            self.before(task)
        result = self.engine.total(task, parts, done)
        self.sizes.append(len(pickle.dumps(result)))
        return result


def items_in_parts(monkeypatch, rows_of_part=30, rows_of_block=25, n_features=3):
    """Parts and blocks of the item table so small that a few hundred items are many."""
    monkeypatch.setattr(stream_items, "ITEM_ROWS", rows_of_part)
    monkeypatch.setattr(shared_items, "BLOCK_BYTES", 8 * n_features * rows_of_block)


def refuse_features(monkeypatch):
    """This process may not read features of items, but for the first few."""

    def refuse(*given):
        raise AssertionError("features of items were read in this process")

    monkeypatch.setattr(shared_items.FeatureFiles, "__getitem__", refuse)
    for module in (stream_items, shared_items):
        monkeypatch.setattr(module, "item_blocks", refuse)


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

    @pytest.mark.parametrize("method", METHODS)
    def test_the_item_table_is_never_in_the_process_that_asks_for_the_fit(
        self, cluster, method, tmp_path, monkeypatch
    ):
        """It gets vectors, sums, the items of the sample and those whose scores a model keeps."""
        n, d, asked = 16_000, 24, {"method": method, "side_effect": method == "mle"}
        items, votes = draw(7, n=n, d=d, m=20_000)
        files = write(tmp_path, items, votes, group=1000)
        parquet.write_table(items, files[0], row_group_size=300)
        alone = fit_stream(*files, **asked, memory=1e6)
        in_parts(monkeypatch, sample=1500, partition_rows=2000)
        items_in_parts(monkeypatch, 300, 250, d)
        monkeypatch.setattr(predict, "KEPT_SCORES", 50)
        refuse_features(monkeypatch)
        with connected(cluster.engine) as engine:
            watched = Watched(engine)
            found = fit_stream(*files, **asked, engine=watched, scratch=tmp_path, memory=1e6)
        assert max(watched.sizes) < 0.5 * n * d * 8
        found.fitted_scores_, kept = alone.fitted_scores_, found.fitted_scores_  # of fewer items
        assert_same_fit(found, alone)
        assert kept.shape == (2, 50)

    def test_a_worker_that_is_killed_while_it_reads_or_sums_items_changes_nothing(
        self, cluster, tmp_path, monkeypatch
    ):
        in_parts(monkeypatch)
        items_in_parts(monkeypatch)
        items, votes = draw(8)
        files, mark, killed = write(tmp_path, items, votes), tmp_path / "killed", []
        parquet.write_table(items, files[0], row_group_size=30)
        parts = partitions(files[0], 30)
        parts[2] = Deadly(parts[2], str(mark), cluster.generations)

        def kill(task):
            if isinstance(task, shared_items.RowTask) and not killed:
                cluster.processes()  # with another for the one that ended while it read items
                killed.append(task)
                cluster.kill_one()

        alone = fit_stream(*files, memory=FEW)
        with connected(cluster.engine) as engine:
            there = {"engine": Watched(engine, kill), "scratch": tmp_path, "memory": FEW}
            found = fit_stream(parts, files[1], **there)
        assert mark.exists()
        assert killed
        assert_same_fit(found, alone)

    def test_open_directions_and_columns_of_single_items_are_seen_by_workers(
        self, cluster, tmp_path, monkeypatch
    ):
        items, votes = draw(9)
        row = np.arange(len(items))
        items = items.append_column("year", [2000.0 + row % 2]).append_column(
            "first", [(row == 0).astype(float)]
        )
        left, right = ((votes[side].to_numpy() - 7) // 3 for side in ("left", "right"))
        votes = votes.filter(left % 2 == right % 2)  # only items of one year meet
        files = write(tmp_path, items, votes)
        in_parts(monkeypatch)
        items_in_parts(monkeypatch)
        whole, found = fit_both(items, votes, files, {}, engine=cluster.engine, scratch=tmp_path)
        assert found.result_.open.n_groups == whole.result_.open.n_groups == 2
        assert_same_fit(found, whole)

    def test_separated_comparisons_are_held_as_in_memory(self, cluster, tmp_path, monkeypatch):
        in_parts(monkeypatch)
        items_in_parts(monkeypatch)
        items, votes = rare_feature()
        files, there = write(tmp_path, items, votes), {"engine": cluster.engine, "memory": FEW}
        whole, found = fit_both(items, votes, files, {}, scratch=tmp_path, **there)
        assert_same_fit(found, whole)
        assert found.notes_ == whole.notes_

    def test_a_fault_in_the_items_is_told_with_file_and_row(self, cluster, tmp_path, monkeypatch):
        items_in_parts(monkeypatch)
        items, votes = draw()
        values = items["x1"].to_numpy().copy()
        values[70] = np.nan
        files = write(tmp_path, items, votes)
        parquet.write_table(items.set_column(2, "x1", [values]), files[0], row_group_size=30)
        with pytest.raises(PairscoreError, match=r"items\.parquet', row 71: 'x1' is nan"):
            fit_stream(*files, engine=cluster.engine, memory=FEW)

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
        with pytest.raises(PairscoreError, match=r"temporary files in '.*nowhere'.*scratch"):
            fit_stream(*files, engine=cluster.engine, scratch=tmp_path / "nowhere")
