"""A table of items, gone through a block of rows at a time, in threads if it is large."""

from collections.abc import Iterator

import numpy as np

from pairscore.core.threads import on_each, row_chunks

BLOCK_NUMBERS = 4_000_000  # of rows of comparisons that are held at a time: 32 MB
BLOCK = 1024  # rows at a time: a block of a few hundred features stays in the processor's cache


def row_blocks(n_rows: int, first: int = 0) -> Iterator[slice]:
    """Slices of a few hundred rows each, in order."""
    for start in range(first, n_rows, BLOCK):
        yield slice(start, min(start + BLOCK, n_rows))


def centred_blocks(
    X: np.ndarray, mean: np.ndarray, chunk: slice | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows, of a chunk or all, with the mean taken off, in one buffer used again."""
    first, last = (0, len(X)) if chunk is None else (chunk.start, chunk.stop)
    buffer = np.empty((min(BLOCK, last - first), X.shape[1]))
    for rows in row_blocks(last, first):
        yield rows, np.subtract(X[rows], mean, out=buffer[: rows.stop - rows.start])


def rows_times(X: np.ndarray, vector: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """X (N x d) times a vector (d), in chunks of rows; zeros for those without a ``used`` one."""

    def one(rows: slice) -> np.ndarray:
        is_used = used is None or used[rows].any()
        return X[rows] @ vector if is_used else np.zeros(rows.stop - rows.start)

    return np.concatenate(on_each(one, row_chunks(*X.shape)))


def times_rows(vector: np.ndarray, X: np.ndarray) -> np.ndarray:
    """A vector (N) times X (N x d), in chunks of rows; those that are all zero are not read."""
    chunks = [rows for rows in row_chunks(*X.shape) if vector[rows].any()]
    parts = on_each(lambda rows: vector[rows] @ X[rows], chunks)
    return np.sum([np.zeros(X.shape[1]), *parts], axis=0)


def whole_groups(group: np.ndarray, size: int) -> Iterator[slice]:
    """About ``size`` rows at a time, to where a group ends; rows are sorted by ``group``."""
    first = 0
    while first < len(group):
        last = group[min(first + max(size, 1), len(group)) - 1]
        yield slice(first, first := int(np.searchsorted(group, last, side="right")))
