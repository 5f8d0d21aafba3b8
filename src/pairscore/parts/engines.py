"""Engines: map a function over parts, and add what comes back.

An engine is any object with one method, :meth:`Engine.total`. What a task returns has ``+``, and
parts are added in their order, so that no result depends on the number of workers. A task is a
frozen dataclass that is called with a part; both can be pickled, and a task may be run again.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from time import monotonic
from typing import Any, Protocol, TypeVar

import numpy as np

from pairscore.core.passes import n_threads, one_blas_thread
from pairscore.errors import PairscoreError, shown

UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
Part = TypeVar("Part")
Result = TypeVar("Result")


class Engine(Protocol):
    """Where tasks run."""

    def total(
        self,
        task: Callable[[Any], Any],
        parts: Sequence[Any],
        done: Callable[[Any], None] | None = None,
    ) -> Any:
        """task(parts[0]) + task(parts[1]) + ..., added in this order.

        ``done`` is told of each part when its sums are in the total. What a task raises is raised
        here; the others are then given up.
        """
        ...


@dataclass(frozen=True)
class LocalEngine:
    """This machine: threads, because Arrow and the compiled passes hold no lock while they work."""

    n_jobs: int = 1

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


def bytes_of(memory: Any) -> float:
    """An amount of memory in bytes.

    >>> bytes_of("1.5 GB"), bytes_of(1000)
    (1500000000.0, 1000.0)
    """
    found = re.fullmatch(r"([0-9.]+) *([kmgt]?)i?b?", str(memory).strip().lower())
    try:
        size = float(found[1]) * UNITS[found[2]] if found else 0.0
    except ValueError:
        size = 0.0
    if size <= 0:
        raise PairscoreError(f"memory is {shown(memory)}; give it as '2GB' or '500MB'.")
    return size
