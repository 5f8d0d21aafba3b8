"""A Dask cluster for tests: a scheduler and two processes on this machine."""

import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 300  # seconds after which something that should happen never will
WORKER = (sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1")
HERE = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


@dataclass
class DaskCluster:
    client: Any
    address: str
    folder: Path
    workers: list[Any] = field(default_factory=list)
    generations: int = 0

    @property
    def engine(self):
        return self.client

    def processes(self):
        """The processes of two workers; in place of one that was killed another is started."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            command = [*WORKER, *HERE, "--local-directory", str(self.folder), self.address]
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.workers.append(subprocess.Popen(command, cwd=ROOT, **silent))
        wanted = {worker.pid for worker in self.workers}
        for _ in range(10 * LIMIT):
            with suppress(OSError):  # of a worker whose end the scheduler has not seen
                if set(self.client.run(os.getpid).values()) == wanted:
                    return wanted
            sleep(0.1)
        raise AssertionError("a worker did not start")

    def kill_one(self):
        self.workers[0].kill()


@contextmanager
def server(folder):
    """Starts a scheduler, which is gone after the block with its workers; yields the cluster."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as scheduler,
        Client(scheduler, set_as_default=False) as client,
    ):
        cluster = DaskCluster(client, scheduler.scheduler_address, folder)
        try:
            yield cluster
        finally:
            for worker in cluster.workers:
                worker.kill()
                worker.wait()
