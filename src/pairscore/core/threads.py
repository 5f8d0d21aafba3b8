"""Threads of a pass: chunks whose number and order depend on the data alone."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from itertools import pairwise
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np

CHUNKS = 8  # of a large pass
LARGE = 1 << 18  # entries of a pass that is worth threads
Result = TypeVar("Result")
here = local()  # of each thread


class OneBlasThread:
    """A context in which BLAS runs on one thread; it may be entered again, and from other threads.

    Passes bring their own threads, and those of BLAS cost more than they give on matrices of a few
    hundred columns, above all where other work runs beside.
    """

    def __init__(self) -> None:
        self.lock, self.depth, self.limit, self.before = Lock(), 0, nullcontext(), 1

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.before = _blas_threads()
                self.limit = _blas().limit(limits=1, user_api="blas")
            self.depth += 1

    def __exit__(self, *error: Any) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.limit.__exit__(*error)


one_blas_thread = OneBlasThread()


def n_threads() -> int:
    """Threads of a pass: as many as BLAS may use, which follows the cores and the environment."""
    return one_blas_thread.before if one_blas_thread.depth else _blas_threads()


def _blas_threads() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def be_worker() -> None:
    """In this thread, passes bring no threads of their own."""
    here.is_worker = True


def chunks_of(start: np.ndarray) -> list[slice]:
    """Rows in at most CHUNKS slices with about as many entries each; ``start`` (N + 1) counts."""
    n, total = len(start) - 1, int(start[-1])
    if total < LARGE:
        return [slice(0, n)]
    ends = np.searchsorted(start, total * np.arange(1, CHUNKS) / CHUNKS)
    bounds = [0, *ends.tolist(), n]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def row_chunks(n_rows: int, n_columns: int) -> list[slice]:
    """Rows of a table in at most CHUNKS slices of about the same length."""
    if n_rows * n_columns < LARGE:
        return [slice(0, n_rows)]
    ends = np.linspace(0, n_rows, min(CHUNKS, n_rows) + 1).round().astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


def on_each(function: Callable[[slice], Result], chunks: Sequence[slice]) -> list[Result]:
    """Results of a function for each chunk, in their order; in threads if there are several.

    In a thread of such a pool there is one.
    """
    threads = 1 if getattr(here, "is_worker", False) else min(n_threads(), len(chunks))
    if threads <= 1:
        return [function(chunk) for chunk in chunks]
    with ThreadPoolExecutor(threads, initializer=be_worker) as pool:
        return list(pool.map(function, chunks))
