"""A Dask cluster of two processes on this machine, started when a test first asks for it."""

import os
import signal
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class DaskCluster:
    client: Any
    address: str
    generations: int = 0

    @property
    def engine(self):
        return self.client

    def processes(self):
        """The processes of both workers; one that was killed is awaited."""
        self.client.wait_for_workers(2)
        return self.client.run(os.getpid)

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
