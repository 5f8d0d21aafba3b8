"""Assigning items to folds of nearly equal size; items of a group stay together. Who is who.

Also who does the work of folds. Fitting uses this for its ridge, so nothing here imports
scikit-learn.
"""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heapreplace
from typing import Any, TypeVar

import numpy as np

from pairscore.data.items import Items
from pairscore.data.tables import is_hashable, is_missing
from pairscore.display import first_few, plural, shown
from pairscore.errors import PairscoreError

Progress = Callable[[float, float], None]  # told how much is done, and of how much
Result = TypeVar("Result")

ROUNDS = 3  # of telling equal items apart by their opponents
MIX, ALL_BITS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9), 2**64 - 1  # of keys of features
FEW_ROWS = 16  # whose keys are quicker one by one


def nobody(done: float, total: float) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True)
class Workers:
    """How many jobs run side by side, and who is told how many are done.

    ``n_jobs`` is as in scikit-learn: -1 for all cores; None is one, unless joblib's
    ``parallel_config`` says otherwise. No result depends on it.
    """

    n_jobs: int | None = None
    progress: Progress = nobody

    def __post_init__(self) -> None:
        is_number = isinstance(self.n_jobs, int | np.integer) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (is_number and self.n_jobs):
            raise PairscoreError(
                f"n_jobs is {shown(self.n_jobs)}; use a number of jobs that run side by side, -1"
                " for one on each core, or None."
            )

    def each(
        self, jobs: Iterable[Callable[[], Result]], in_threads: bool = False
    ) -> Iterator[Result]:
        """Results of jobs, in their order; jobs are made as they are needed.

        In threads they share what they know and start at once, but should spend their time in
        NumPy and warn of nothing; to processes all of it is sent, after a second or two.
        """
        # without joblib, which takes a while to load, nobody can have configured it
        if self.n_jobs == 1 or (self.n_jobs is None and "joblib" not in sys.modules):
            yield from (job() for job in jobs)
            return
        from joblib import Parallel, delayed

        prefer = "threads" if in_threads else None
        run = Parallel(self.n_jobs, prefer=prefer, return_as="generator", pre_dispatch="n_jobs")
        yield from run(delayed(job)() for job in jobs)

    def all(self, jobs: Sequence[Callable[[], Result]], in_threads: bool = False) -> list[Result]:
        """Results of jobs that take about as long each."""
        results = []
        for result in self.each(jobs, in_threads):
            results.append(result)
            self.progress(len(results), len(jobs))
        return results


ALONE = Workers()


def start_process(work: Callable[[Any], None]) -> tuple[Any, Any]:
    """Start a process that calls ``work`` with its end of a connection; our end, and the process.

    Spawned on every system: forks do not go with threads, Windows has none, and a server of forks
    would take seconds to end at times. A terminal sends Ctrl-C to every process of a command, and
    this one alone answers.
    """
    from multiprocessing import get_context

    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with theirs:
        process = context.Process(target=_ignore_ctrl_c, args=(work, theirs), daemon=True)
        with _ctrl_c_blocked():
            process.start()
    return ours, process


def _ignore_ctrl_c(work: Callable[[Any], None], connection: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(connection)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """What starts now is deaf to Ctrl-C from its first moment on, where the system can do that."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def assign_folds(sizes: np.ndarray, order: np.ndarray, n_folds: int) -> np.ndarray:
    """A fold for every group of items.

    The largest group comes first, those of one size in ``order``; each goes to the fold that has
    the fewest items so far.

    Parameters
    ----------
    sizes : ndarray of int of shape (number of groups,)
        Items in each group.
    order : ndarray of int of shape (number of groups,)
        Group numbers, such as a random permutation.
    n_folds
        Number of folds.

    Returns
    -------
    ndarray of int of shape (number of groups,)
        From 0 to ``n_folds - 1``.

    Examples
    --------
    >>> assign_folds(np.array([1, 4, 1, 2]), np.arange(4), 2).tolist()
    [1, 0, 1, 1]
    """
    fold_of_group = np.empty(len(sizes), dtype=int)
    # groups of one size go round and round, which the rule below would also do, but slowly
    if sizes.min() == sizes.max():
        fold_of_group[order] = np.arange(len(order)) % n_folds
        return fold_of_group
    folds = [(0, fold) for fold in range(n_folds)]  # a heap: the fold with the fewest items first
    for group in order[np.argsort(-sizes[order], kind="stable")].tolist():
        n_items, fold = folds[0]
        fold_of_group[group] = fold
        heapreplace(folds, (n_items + int(sizes[group]), fold))
    return fold_of_group


def item_ranks(
    X: np.ndarray, low: np.ndarray, high: np.ndarray, net: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Number the items in an order that does not depend on their rows in the table.

    They are ordered by their features, and where these are equal by their results and those of
    their opponents. Items that are equal in all of this have the same number.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Features.
    low, high : ndarray of int of shape (P,)
        Rows of the two items of each pair that was compared.
    net, number : ndarray of shape (P,)
        How often low won minus how often it lost, and comparisons of the pair.

    Returns
    -------
    ndarray of int of shape (N,)

    Examples
    --------
    >>> X = np.array([[2.0], [1.0], [2.0]])  # the first has won against the last
    >>> low, high, net, number = np.array([[0], [2], [1], [1]])
    >>> item_ranks(X, low, high, net, number).tolist()
    [2, 0, 1]
    """
    rank = np.zeros(len(X), dtype=np.intp)
    for column in X.T:
        rank = _refine(rank, column)
        if rank.max() == len(X) - 1:
            return rank
    for _ in range(ROUNDS):
        value = np.cos(rank)  # without a pattern, so that different opponents add up differently
        for amount, sign in ((net, -1), (number, 1)):
            column = np.bincount(low, amount * value[high], len(X))
            column += sign * np.bincount(high, amount * value[low], len(X))
            # sums in another order differ in their last digits
            rank = _refine(rank, np.round(column / max(np.abs(column).max(), 1e-300), 9))
    return rank


def _refine(rank: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Order items by rank, and those of the same rank by a column."""
    order = np.lexsort((column, rank))
    differ = (np.diff(rank[order]) != 0) | (np.diff(column[order]) != 0)
    finer = np.empty_like(rank)
    finer[order] = np.append(0, np.cumsum(differ))
    return finer


def number_units(rank: np.ndarray, used: np.ndarray, group: np.ndarray | None) -> np.ndarray:
    """Number what is held out together, by the smallest rank of its items; -1 for other items.

    ``rank`` (N) is that of :func:`item_ranks`; ``used`` (N) says which items are held out at all,
    and ``group`` (N) which of them together: each by itself if there is none, or a negative one.
    """
    rows = np.flatnonzero(used)
    alone = -1 - np.arange(len(rank))
    group = alone if group is None else np.where(group < 0, alone, group)
    _, label = np.unique(group[rows], return_inverse=True)
    smallest = np.full(label.max(initial=-1) + 1, len(rank))
    np.minimum.at(smallest, label, rank[rows])
    place = np.argsort(np.argsort(smallest, kind="stable"))
    unit = np.full(len(rank), -1)
    unit[rows] = place[label]
    return unit


def number_groups(item_groups: Any, items: Items, rows: np.ndarray) -> list[int]:
    """The groups of some items as numbers from 0, in the order of first appearance.

    Parameters
    ----------
    item_groups : sequence with one label per item of the table, or dict from id to label
        Labels are text, numbers or anything else that can be a key, not all of one type. A column
        of a dataframe is taken by position, whatever its index.
    items : Items
        The whole table.
    rows : ndarray of int
        Rows of ``items`` to number; each needs a label.
    """
    labels = _labels(item_groups, items, rows)
    pairs = zip(rows, labels, strict=True)
    bad = [row for row, label in pairs if not is_hashable(label) or is_missing(label)]
    if bad:
        names = items.names
        raise PairscoreError(
            f"item_groups has no label for {plural(len(bad), 'compared item')}:"
            f" {first_few(repr(names[row]) for row in bad)}; give each a text or a number as its"
            " group."
        )
    number: dict[Any, int] = {}
    return [number.setdefault(label, len(number)) for label in labels]


def _labels(item_groups: Any, items: Items, rows: np.ndarray) -> list[Any]:
    """Labels of some rows of the item table."""
    if isinstance(item_groups, dict):
        names = items.names
        return [item_groups.get(names[row]) for row in rows]
    if isinstance(item_groups, str) or not hasattr(item_groups, "__len__"):
        raise PairscoreError(
            f"item_groups is {item_groups!r}; give one label for each item of the table, or a dict"
            " from id to label."
        )
    if len(item_groups) != len(items):
        count = plural(len(item_groups), "label")
        raise PairscoreError(
            f"item_groups has {count} for {plural(len(items), 'item')}; give one for each item of"
            " the table, or a dict from id to label."
        )
    labels = list(item_groups)  # by position, whatever index a column of a dataframe has
    return [labels[row] for row in rows]


# -- who is who ------------------------------------------------------------------------------------


def feature_keys(values: np.ndarray) -> np.ndarray:
    """A number of 64 bits for the features of each row, the same for rows that are equal in single
    precision: an item may come with other rounding errors.
    """
    if len(values) <= FEW_ROWS:
        with np.errstate(over="ignore"):
            single = values.astype(np.float32) + np.float32(0.0)  # minus zero is zero
        return np.array([_key(row) for row in single.view(np.uint32).tolist()], dtype=np.uint64)
    keys = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        with np.errstate(over="ignore"):
            single = column.astype(np.float32) + np.float32(0.0)
        keys ^= single.view(np.uint32).astype(np.uint64)
        keys *= np.uint64(MIX[0])
        keys ^= keys >> np.uint64(29)
        keys *= np.uint64(MIX[1])
        keys ^= keys >> np.uint64(32)
    return keys


def _key(numbers: list[int]) -> int:
    """The same of one row, quicker than arrays of one number."""
    key, (first, second), bits = 0, MIX, ALL_BITS
    for number in numbers:
        key = (key ^ number) * first & bits
        key = (key ^ key >> 29) * second & bits
        key ^= key >> 32
    return key


def rows_of_same_features(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """For each key the row among the known ones that has it, or -1.

    Items with equal features are told apart by their order if both tables have equally many of
    them; of one known item there may be any number of copies; otherwise nobody can say who is who,
    and they are new.
    """
    if np.array_equal(known, keys):
        return np.arange(len(keys))
    if len(keys) == 1:  # without sorting the known ones
        same = np.flatnonzero(known == keys[0])
        return same if len(same) == 1 else np.array([-1])
    _, group = np.unique(np.concatenate([known, keys]), return_inverse=True)
    old, new = group[: len(known)], group[len(known) :]
    n_old, n_new = (
        np.bincount(old, minlength=group.max() + 1),
        np.bincount(new, minlength=group.max() + 1),
    )
    first, by_group = np.cumsum(n_old) - n_old, np.argsort(old, kind="stable")
    order = np.argsort(new, kind="stable")
    turn = np.empty(len(new), dtype=np.intp)
    turn[order] = np.arange(len(new)) - (np.cumsum(n_new) - n_new)[new[order]]
    clear = (n_old == 1) | (n_old == n_new)
    place = first[new] + np.where(n_old[new] == 1, 0, turn)
    return np.where(clear[new] & (n_old[new] > 0), by_group[np.minimum(place, len(known) - 1)], -1)
