"""A Dask cluster of two processes on this machine, started when a test first asks for it."""

import os
import signal
from dataclasses import dataclass
from time import sleep
from typing import Any

import pytest

LIMIT = 300  # seconds after which something that should happen never will


@dataclass(frozen=True)
class DaskCluster:
    client: Any
    address: str
    generations: int = 0

    @property
    def engine(self):
        return self.client

    def processes(self):
        """The processes of both workers; one that was killed is awaited.

        A worker that is killed before its nanny knows that it has started is not started again.
        """
        self.client.wait_for_workers(2, timeout=LIMIT)
        for _ in range(10 * LIMIT):
            started = [nanny.process for nanny in self.client.cluster.workers.values()]
            if all(process and process.status.name == "running" for process in started):
                return self.client.run(os.getpid)
            sleep(0.1)
        raise AssertionError("a worker did not start again")

    def kill_one(self):
        os.kill(min(self.processes().values()), signal.SIGKILL)


@pytest.fixture(scope="session")
def dask_cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield DaskCluster(client, cluster.scheduler_address)
