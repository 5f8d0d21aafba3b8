"""An engine on Dask: tasks are futures of a running scheduler, and workers add neighbours' sums.

What a task carries is kept by the scheduler, and so is every sum's recipe: what a worker held when
it ended is made again by another.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, ClassVar

import pairscore
from pairscore.display import plural
from pairscore.errors import PairscoreError
from pairscore.messages import Setting
from pairscore.streaming.engines import FAN, Done, Task, add, attempt

SECONDS = 30  # within which a scheduler answers, and has a worker
QUIET = 4  # seconds of them without a word


class DaskEngine:
    """The workers of a ``distributed.Client``."""

    is_local: ClassVar[bool] = False

    def __init__(self, client: Any) -> None:
        self.client = client

    def total(self, task: Task, parts: Sequence[Any], done: Done = None) -> Any:
        from distributed.comm import CommClosedError

        try:
            return self._total(task, parts, done)
        except (CommClosedError, CancelledError) as error:
            raise _scheduler_lost(self.client, error) from None

    def _total(self, task: Task, parts: Sequence[Any], done: Done) -> Any:
        from distributed import KilledWorker, as_completed

        leaves, last = self._submit(task, list(parts))
        part_of = dict(zip([leaf.key for leaf in leaves], parts, strict=True))
        waiting = as_completed(leaves, loop=self.client.loop)
        del leaves  # a sum is held by whoever needs it next, not by this process
        for leaf in waiting:
            if isinstance(error := leaf.exception(), KilledWorker):
                raise _worker_lost(error) from None
            if error is not None:
                raise error
            if done is not None:
                done(part_of[leaf.key])
            del leaf
        try:
            return last.result()
        except KilledWorker as error:
            raise _worker_lost(error) from None

    def _submit(self, task: Task, parts: list[Any]) -> tuple[list[Any], Any]:
        """A future for each part, and that of the total; what is nearer to it comes first."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # one vector or two, once
            held = self.client.submit(_same, task, pure=False)
        leaves = self.client.map(attempt, [held] * len(parts), parts, pure=False)
        sums = leaves
        level = 0
        while len(sums) > 1:
            level += 1
            sums = [
                self.client.submit(add, sums[first : first + FAN], pure=False, priority=level)
                for first in range(0, len(sums), FAN)
            ]
        return leaves, sums[0]


def _same(task: Any) -> Any:
    return task


def _worker_lost(error: Any) -> PairscoreError:
    times = plural(error.allowed_failures + 1, "time")
    return PairscoreError(
        f"Dask gave up a part whose worker ended {times}, usually because memory ran out",
        ["give workers more memory", "give the fit less (" + Setting("memory", "500MB") + ")"],
    )


def _scheduler_lost(client: Any, error: BaseException) -> PairscoreError:
    return PairscoreError(
        f"the Dask scheduler at {client.scheduler.address!r} ended or cannot be reached any more"
        f" ({type(error).__name__}); start it and its workers again, and then the same fit."
    )


def version() -> str:
    """The version of pairscore on a worker."""
    return pairscore.__version__


@contextmanager
def dask_at(address: str) -> Iterator[DaskEngine]:
    """An engine on the scheduler at an address, such as ``tcp://host:8786``."""
    try:
        from distributed import Client
    except ImportError:
        raise PairscoreError(
            "an engine on Dask needs distributed; install it with: pip install distributed pyarrow."
        ) from None
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PairscoreError(
            f"there is no Dask scheduler at {address!r} ({error}); start one with: dask scheduler."
        ) from None
    with client:
        yield dask_engine(client)


def _wait_for_a_worker(client: Any, address: str) -> None:
    """Wait until there is a worker, and say so if that takes long."""
    try:
        client.wait_for_workers(1, timeout=min(QUIET, SECONDS))
    except TimeoutError:
        print(
            f"Waiting for workers of the Dask scheduler at {address}: there is none yet. Start some"
            f" with: dask worker {address}",
            file=sys.stderr,
            flush=True,
        )
        client.wait_for_workers(1, timeout=max(SECONDS - QUIET, 1))


def dask_engine(client: Any) -> DaskEngine:
    """An engine on a client, whose workers have been asked for their version."""
    address = client.scheduler.address
    try:
        _wait_for_a_worker(client, address)
        answers = client.run(version, on_error="return").values()
    except TimeoutError:
        raise PairscoreError(
            f"the Dask scheduler at {address!r} has no workers; start some with: dask worker"
            f" {address}."
        ) from None
    if missing := [error for error in answers if isinstance(error, ImportError)]:
        raise PairscoreError(
            f"a Dask worker cannot import what the fit needs ({missing[0]}); install pairscore"
            f" {version()} where workers run."
        )
    found = {answer for answer in answers if isinstance(answer, str)}  # of those that are there
    if found - {version()}:
        raise PairscoreError(
            f"Dask's workers have pairscore {', '.join(sorted(found))}, and this is {version()};"
            " install the same version everywhere."
        )
    return DaskEngine(client)
