"""Fits on a Spark master with two workers on this machine; ``make test-spark`` runs this file.

It needs pyspark and Java, which ``make test`` does not.
"""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.streaming.spark import SparkEngine
from tests.docs.pages import PAGES, needs_of
from tests.docs.running import enter_folder, run_page
from tests.streaming.cluster import FEW, Checks
from tests.streaming.studies import assert_same_fit, draw, fit_both, in_parts, write

ADDRESS = "127.0.0.1"
WORKER = ("org.apache.spark.deploy.worker.Worker", "--host", ADDRESS, "--webui-port", "0")
LIMIT = 300  # seconds after which something that should happen never will


@dataclass
class Daemon:
    """A process of Spark, and whatever it says until it has said that it is ready."""

    arguments: tuple[str, ...]
    ready: str
    folder: Path
    said: Event = field(default_factory=Event)

    def __post_init__(self):
        import pyspark

        start = Path(pyspark.__file__).parent / "bin" / "spark-class"
        here = {"SPARK_LOCAL_IP": ADDRESS, "SPARK_DAEMON_MEMORY": "256m"}
        here |= {"SPARK_WORKER_DIR": str(self.folder), "PYSPARK_PYTHON": sys.executable}
        self.process = subprocess.Popen(
            [str(start), *self.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | here,
        )
        Thread(target=self._listen, daemon=True).start()
        assert self.said.wait(LIMIT), f"{self.arguments[0]} did not start"

    def _listen(self):
        for line in self.process.stdout:
            if self.ready in line:
                self.said.set()

    @property
    def executors(self):
        """The processes that it started."""
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(number) for path in children for number in path.read_text().split()]

    def kill(self):
        """Kill it with its executors."""
        for process in (self.process.pid, *self.executors):
            os.kill(process, signal.SIGKILL)
        self.process.wait()


@dataclass
class SparkCluster:
    address: str
    folder: Path
    workers: list[Daemon] = field(default_factory=list)
    session: Any = None
    generations: int = 3  # the daemon of Python, the executor, the worker

    @property
    def engine(self):
        return self.session

    def start_workers(self):
        """So that there are two."""
        self.workers = [worker for worker in self.workers if worker.process.poll() is None]
        while len(self.workers) < 2:
            arguments = (*WORKER, "--cores", "2", "--memory", "3g", self.address)
            self.workers.append(Daemon(arguments, "Successfully registered", self.folder))

    def processes(self):
        """The two executors; those of workers that were killed are awaited."""
        self.start_workers()
        tracker = self.session.sparkContext._jsc.sc().statusTracker()
        for _ in range(10 * LIMIT):
            found = {f"{one.host()}:{one.port()}" for one in tracker.getExecutorInfos()}
            if len(found) == 3:  # with the driver
                return found
            sleep(0.1)
        raise AssertionError(f"executors: {found}")

    def kill_one(self):
        max(self.workers, key=lambda worker: len(worker.executors)).kill()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        port = free.getsockname()[1]
    names = ("--host", ADDRESS, "--port", str(port), "--webui-port", "0")
    master = Daemon(("org.apache.spark.deploy.master.Master", *names), "New state: ALIVE", folder)
    os.environ |= {"SPARK_LOCAL_IP": ADDRESS, "PYSPARK_PYTHON": sys.executable}
    cluster = SparkCluster(f"spark://{ADDRESS}:{port}", folder)
    try:
        cluster.start_workers()
        settings = {"spark.cores.max": 2, "spark.executor.cores": 1, "spark.ui.enabled": False}
        settings |= {"spark.executor.memory": "512m", "spark.ui.showConsoleProgress": False}
        builder = SparkSession.builder.master(cluster.address).config(map=settings)
        cluster.session = builder.getOrCreate()
        yield cluster
        cluster.session.stop()
    finally:
        for worker in cluster.workers:
            if worker.process.poll() is None:
                worker.kill()
        master.kill()


@pytest.fixture
def cluster(spark):
    spark.start_workers()
    return spark


class TestSpark(Checks):
    """A master with two workers."""


def test_parts_are_added_in_their_order_by_a_tree(cluster):
    seen = []
    engine = SparkEngine(cluster.session.sparkContext)
    assert engine.total(str, range(100), seen.append) == "".join(map(str, range(100)))
    assert seen == list(range(100))


def test_a_spark_dataframe_is_read_from_its_partitions(cluster, tmp_path, monkeypatch):
    in_parts(monkeypatch)
    items, votes = draw(1)
    files = write(tmp_path, items, votes)
    frame = cluster.session.read.parquet(files[1]).repartition(4)
    there = {"engine": cluster.engine, "scratch": tmp_path, "memory": FEW}
    frames = cluster.session.read.parquet(files[0]), frame
    whole, found = fit_both(items, votes, frames, {"method": "mle"}, **there)
    assert_same_fit(found, whole)


def test_the_command_line_fits_on_spark(cluster, tmp_path):
    items, votes = draw(1)
    files, model = write(tmp_path, items, votes), tmp_path / "model.npz"
    command = [sys.executable, "-m", "pairscore", "fit", *files, "--stream", "-o", str(model)]
    command += ["--engine", cluster.address, "--scratch", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert model.exists()


def test_another_kind_of_fault_is_one_sentence(cluster):
    with pytest.raises(PairscoreError, match=r"Spark gave the fit up \(.*ZeroDivisionError"):
        SparkEngine(cluster.session.sparkContext).total((1).__truediv__, [0, 0])


def test_another_master_than_that_of_a_running_session_is_refused(cluster):
    items, votes = draw()
    with pytest.raises(PairscoreError, match="stop that session, or give it as the engine"):
        fit_stream(items, votes, engine="local[2]")


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if "spark" in needs_of(page)])
def test_the_blocks_of_a_page_that_need_spark_run(
    page, cluster, demo_folder, tmp_path, monkeypatch
):
    enter_folder(tmp_path, demo_folder, monkeypatch)
    addresses = {"spark://127.0.0.1:7077": cluster.address}
    run_page(page, addresses, servers=frozenset({"spark"}))
