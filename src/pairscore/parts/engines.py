"""Engines: map a function over parts, and add what comes back.

An engine is an object with one method, :meth:`Engine.total`, which says whether it runs on this
machine. What a task returns has ``+``, and parts are added in their order, so that no result
depends on the number of workers. A task is a frozen dataclass that is called with a part; both can
be pickled, and a task may be run again.

Engines of several machines use :func:`attempt` on a part, and :func:`add` on the results of up to
``FAN`` neighbours, then on those of up to ``FAN`` such, until one is left.
"""

import operator
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import reduce
from time import monotonic
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from pairscore.core.passes import n_threads, one_blas_thread
from pairscore.errors import PairscoreError

FAN = 8  # results that a worker of several adds at a time

Part = TypeVar("Part")
Result = TypeVar("Result")


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

    def total(
        self,
        task: Callable[[Any], Any],
        parts: Sequence[Any],
        done: Callable[[Any], None] | None = None,
    ) -> Any:
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

    def total(
        self,
        task: Callable[[Any], Any],
        parts: Sequence[Any],
        done: Callable[[Any], None] | None = None,
    ) -> Any:
        total, waiting = None, deque(parts)
        with one_blas_thread, ThreadPoolExecutor(self.n_jobs) as pool:
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


def attempt(task: Callable[[Any], Any], part: Any) -> Any:
    """task(part) on a worker, whose processor has other tasks too."""
    try:
        with one_blas_thread:
            return task(part)
    except PairscoreError as error:
        raise PairscoreError(str(error)) from None  # of a class that every process can read


def add(results: Sequence[Any]) -> Any:
    """results[0] + results[1] + ..., in this order."""
    return reduce(operator.add, results)


# -- what tasks return -------------------------------------------------------------------------


@dataclass(frozen=True)
class Sums:
    """Base of sums: field by field, ``+`` adds arrays, numbers and other sums."""

    def __add__(self: Result, other: Result) -> Result:
        if type(other) is not type(self):
            return NotImplemented
        values = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)  # type: ignore[arg-type]
        }
        return type(self)(**values)


@dataclass(frozen=True)
class Range:
    """Smallest and largest number seen; ranges add to the range of all."""

    low: float = np.inf
    high: float = -np.inf

    def __add__(self, other: "Range") -> "Range":
        return Range(min(self.low, other.low), max(self.high, other.high))

    @classmethod
    def of(cls, values: np.ndarray) -> "Range":
        if not len(values):
            return cls()
        return cls(float(values.min()), float(values.max()))


@dataclass(frozen=True)
class Progress:
    """What is going on, how much of it is done (0 to 1), and the seconds left, about."""

    stage: str
    share: float
    seconds_left: float | None


class Watch:
    """Tells a callback of the progress through the parts of a pass, by their bytes."""

    def __init__(
        self, stage: str, parts: Sequence[Any], callback: Callable[[Progress], None] | None
    ):
        self.stage, self.callback, self.begin = stage, callback, monotonic()
        self.total, self.read = float(sum(map(size_of, parts))), 0.0

    def __call__(self, part: Any) -> None:
        self.read += size_of(part)
        if self.callback is None:
            return
        share = min(self.read / max(self.total, 1.0), 1.0)
        left = (monotonic() - self.begin) * (1 - share) / share if share > 0 else None
        self.callback(Progress(self.stage, share, left))


def size_of(part: Any) -> float:
    """How much work a part is: its bytes where it knows them."""
    return float(getattr(part, "n_bytes", 1) or 1)
