"""Comparisons that are added a second time, by mistake.

Two comparisons may be equal in all that is known of them, so equal rows alone say nothing. A whole
batch that stands in the same order among the comparisons of a model does: the chance that other
comparisons look like it is less than 2^-40, as long as rows are drawn as they were so far.
"""

from collections.abc import Mapping

import numpy as np

from pairscore.data.votes import Votes
from pairscore.errors import PairscoreError, plural

FEWEST = 10  # comparisons of a batch that may be called repeated
BITS = 40.0  # how much less likely than certain a repetition by chance must be
FIRST = 64  # rows of a batch by which places are ruled out before all are compared


def refuse_repeated(
    before: Votes, more: Votes, parts: Mapping[str, np.ndarray] | None = None
) -> None:
    """Refuse new votes that a model has already.

    Parameters
    ----------
    before, more : Votes
        Of one item table.
    parts : dict
        By the name of a file, the rows of ``more`` that came from it; each may be repeated.
    """
    codes = _codes(before, more)
    old, new = codes[: len(before)], codes[len(before) :]
    remedy = "leave them out, or pass repeated='add' if the same answers were given again"
    for name, rows in (parts or {"": np.arange(len(more))}).items():
        if _is_run(new[rows], old, codes):
            file = f"{name!r}: " if name else ""
            raise PairscoreError(
                f"{file}{plural(len(rows), 'comparison', ',', 'is')} already in the model, in the"
                f" same order, and would count twice; {remedy}."
            )
    if _is_run(old, new, codes):
        raise PairscoreError(
            f"among the new comparisons are all {len(before):,} of the model, in the same order,"
            f" and they would count twice; {remedy}."
        )


def _codes(before: Votes, more: Votes) -> np.ndarray:
    """A number for every comparison of both; equal ones have the same."""
    has_sides = before.sides_known and more.sides_known
    told = (_told(votes, has_sides) for votes in (before, more))
    columns = [np.concatenate(both) for both in zip(*told, strict=True)]
    for name in ("weight", "count"):
        amounts = [getattr(votes, name) for votes in (before, more)]
        if any(of is not None for of in amounts):
            first, second = amounts
            first = np.ones(len(before)) if first is None else first
            second = np.ones(len(more)) if second is None else second
            columns.append(np.concatenate([first, second]))
    if before.judge is not None and more.judge is not None:
        names = [*before.judge.tolist(), *more.judge.tolist()]
        columns.append(np.array([str(name) for name in names]))
    columns += [
        np.concatenate([before.context[name], more.context[name]])
        for name in before.context
        if name in more.context
    ]
    codes = np.zeros(len(before) + len(more), dtype=np.int64)
    for column in columns:
        _, numbers = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (numbers.max() + 1) + numbers, return_inverse=True)
    return codes


def _told(votes: Votes, has_sides: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both items and the outcome; the winner first where a coin gave out the sides."""
    if has_sides:
        return votes.left, votes.right, votes.outcome
    swap = votes.outcome < 0
    first = np.where(swap, votes.right, votes.left)
    second = np.where(swap, votes.left, votes.right)
    tied = votes.outcome == 0  # whose sides say nothing either
    low, high = np.minimum(first, second), np.maximum(first, second)
    first, second = np.where(tied, low, first), np.where(tied, high, second)
    return first, second, np.abs(votes.outcome)


def _is_run(batch: np.ndarray, among: np.ndarray, everything: np.ndarray) -> bool:
    """Whether a batch stands among codes as it is, and not by chance."""
    n = len(batch)
    if not FEWEST <= n <= len(among):
        return False
    share = np.bincount(everything) / len(everything)
    if -np.sum(np.log2(share[batch])) < BITS + np.log2(len(among)):
        return False
    starts = np.arange(len(among) - n + 1)
    for place in range(min(n, FIRST)):
        starts = starts[among[starts + place] == batch[place]]
        if not len(starts):
            return False
    return any(np.array_equal(among[start : start + n], batch) for start in starts.tolist())
