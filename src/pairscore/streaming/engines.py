"""Engines: map a function over parts, and add what comes back.

An engine is an object with one method, :meth:`Engine.total`, and ``is_local``, which says whether
it runs on this machine. What a task returns has ``+``, and parts are added in their order, so that
no result depends on the number of workers. A task is a frozen dataclass that is called with a part;
both can be pickled, and a task may be run again.

Engines of several machines use :func:`attempt` on a part, and :func:`add` on the results of up to
``FAN`` neighbours, then on those of up to ``FAN`` such, until one is left.
"""

import operator
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Protocol, TypeVar

from pairscore.core.threads import be_worker, n_threads, one_blas_thread
from pairscore.errors import PairscoreError

FAN = 8  # results that a worker of several adds at a time

Part = TypeVar("Part")
Result = TypeVar("Result")
Task = Callable[[Any], Any]  # called with a part, it returns sums
Done = Callable[[Any], None] | None  # told of each part that is done


class Engine(Protocol):
    """Where tasks run.

    Attributes
    ----------
    is_local : bool
        Whether tasks run in this process. Elsewhere, what they need of tables is in files that all
        workers can reach; vectors with a number for each item are sent.
    """

    @property
    def is_local(self) -> bool: ...

    def total(self, task: Task, parts: Sequence[Any], done: Done = None) -> Any:
        """task(parts[0]) + task(parts[1]) + ..., added in an order that depends on nothing else.

        ``done`` is told of each part when it is done. What a task raises is raised here; the
        others are then given up.
        """
        ...


@dataclass(frozen=True)
class LocalEngine:
    """This machine: threads, because Arrow and the compiled passes hold no lock while they work."""

    n_jobs: int = 1
    is_local: ClassVar[bool] = True

    def total(self, task: Task, parts: Sequence[Any], done: Done = None) -> Any:
        total = None
        waiting = deque(parts)
        with one_blas_thread, ThreadPoolExecutor(self.n_jobs, initializer=be_worker) as pool:
            running: deque[tuple[Any, Future[Any]]] = deque()
            try:
                while waiting or running:
                    while waiting and len(running) <= self.n_jobs:
                        part = waiting.popleft()
                        running.append((part, pool.submit(task, part)))
                    part, future = running.popleft()
                    result = future.result()
                    total = result if total is None else total + result
                    if done is not None:
                        done(part)
            finally:
                for _, future in running:
                    future.cancel()
        return total


def local_engine(n_jobs: int | None = None) -> LocalEngine:
    """As many threads as asked for, or as BLAS may use."""
    return LocalEngine(n_threads() if n_jobs is None else n_jobs)


# -- on workers --------------------------------------------------------------------------------


def attempt(task: Task, part: Any) -> Any:
    """task(part) on a worker, whose processor has other tasks too."""
    try:
        with one_blas_thread:
            return task(part)
    except PairscoreError as error:
        raise PairscoreError(error.message) from None  # of a class that every process can read


def add(results: Sequence[Any]) -> Any:
    """results[0] + results[1] + ..., in this order."""
    return reduce(operator.add, results)
