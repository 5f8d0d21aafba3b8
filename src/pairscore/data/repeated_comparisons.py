"""Comparisons that are added a second time, by mistake.

Two comparisons may be equal in all that is known of them, so equal rows alone say nothing. A whole
batch that stands in the same order among the comparisons of a model does: the chance that other
comparisons look like it is less than 2^-40, as long as rows are drawn as they were so far. The same
holds for a run of rows in a batch, as in an export that grows; but where the same pairs go on with
other answers, judges were given the same pairs in the same order. A batch of a few rows is repeated
if it is what was added last, which other rows are with a chance of less than 1 %.
"""

from collections.abc import Mapping

import numpy as np

from pairscore.data.votes import Votes
from pairscore.display import plural
from pairscore.errors import PairscoreError
from pairscore.messages import Piece, Setting

FEWEST = 10  # comparisons of a batch that may be called repeated
BITS = 40.0  # how much less likely than certain a repetition by chance must be
FEW_BITS = 7.0  # the same for a short batch, which is compared with the last rows alone
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
    remedies: list[Piece] = [
        "leave them out",
        "pass " + Setting("repeated", "add") + " if the same answers were given again",
    ]
    files = parts or {"": np.arange(len(more))}
    for name, rows in files.items():
        if _is_run(new[rows], old, codes) or _is_last(new[rows], old, codes):
            file = f"{name!r}: " if name else ""
            raise PairscoreError(
                f"{file}{plural(len(rows), 'comparison', ',', 'is')} already in the model, in the"
                " same order, and would count twice",
                remedies,
            )
    if _is_run(old, new, codes):
        raise PairscoreError(
            f"among the new comparisons are all {len(before):,} of the model, in the same order,"
            " and they would count twice",
            remedies,
        )
    pairs = _pairs(before, more)
    for name, rows in files.items():
        batch, pairs_of_batch = new[rows], pairs[len(before) :][rows]
        run = _longest_run(batch, old, codes, pairs_of_batch, pairs[: len(before)])
        if run is not None:
            file = f"{name!r}: " if name else ""
            raise PairscoreError(
                f"{file}{_which(*run, len(rows))} already in the model, in the same order, and"
                " would count twice",
                remedies,
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
    share = _shares(everything)
    if -np.sum(np.log2(share[batch])) < BITS + np.log2(len(among)):
        return False
    starts = np.arange(len(among) - n + 1)
    for place in range(min(n, FIRST)):
        starts = starts[among[starts + place] == batch[place]]
        if not len(starts):
            return False
    return any(np.array_equal(among[start : start + n], batch) for start in starts.tolist())


def _is_last(batch: np.ndarray, among: np.ndarray, everything: np.ndarray) -> bool:
    """Whether a batch of a few rows is what was added last."""
    n = len(batch)
    if not 0 < n < FEWEST or n > len(among) or not np.array_equal(among[-n:], batch):
        return False
    return bool(-np.sum(np.log2(_shares(everything)[batch])) >= FEW_BITS)


def _shares(everything: np.ndarray) -> np.ndarray:
    """How often each kind of comparison occurs."""
    return np.bincount(everything) / len(everything)


def _pairs(before: Votes, more: Votes) -> np.ndarray:
    """A number for the two items of every comparison of both, whatever their sides."""
    left, right = (
        np.concatenate([getattr(v, side) for v in (before, more)]) for side in ("left", "right")
    )
    return np.minimum(left, right) * (np.max([left, right], initial=0) + 1) + np.maximum(
        left, right
    )


def _longest_run(
    batch: np.ndarray,
    among: np.ndarray,
    everything: np.ndarray,
    pairs: np.ndarray,
    pairs_among: np.ndarray,
) -> tuple[int, int] | None:
    """The first row and the length of the longest part of a batch that stands among codes.

    Not where it does so by chance, nor where the pairs before or after it are the same, with other
    answers.
    """
    share = _shares(everything)
    kinds = share[share > 0]
    per_row = float(-np.sum(kinds * np.log2(kinds)))  # bits
    if per_row < 1e-3:
        return None
    needed = BITS + np.log2(max(len(among), 1)) + np.log2(max(len(batch), 1))
    length = max(FEWEST, int(np.ceil(needed / per_row)))
    if length > min(len(batch), len(among)):
        return None
    runs = _number_runs(np.concatenate([batch, among]), length)
    of_batch, of_among = runs[: len(batch) - length + 1], runs[len(batch) :]
    known = np.concatenate([[False], np.isin(of_batch, of_among), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1]).reshape(-1, 2)
    for first, last in sorted(edges.tolist(), key=lambda edge: edge[0] - edge[1]):
        n = last - first + length - 1
        part = batch[first : first + n]
        if -np.sum(np.log2(share[part])) < needed:
            continue
        for start in np.flatnonzero(of_among == of_batch[first]).tolist():
            if not np.array_equal(among[start : start + n], part):
                continue
            before = pairs[:first][::-1], pairs_among[:start][::-1]
            after = pairs[first + n :], pairs_among[start + n :]
            if max(map(_bits_alike, [before, after])) < FEW_BITS:
                return first, n
    return None


def _bits_alike(sides: tuple[np.ndarray, np.ndarray]) -> float:
    """How unlikely it is by chance that two lists of pairs begin alike as far as they do."""
    n = min(FIRST, *map(len, sides))
    one, other = (side[:n] for side in sides)
    alike = one[: int(np.argmin(np.append(one == other, False)))]
    both = np.concatenate([*sides])
    return float(sum(-np.log2(np.mean(both == pair)) for pair in alike.tolist()))


def _number_runs(codes: np.ndarray, length: int) -> np.ndarray:
    """A number for each run of so many codes, by where it begins; equal runs have the same."""
    numbers, done = codes, 1
    while done < length:
        step = min(done, length - done)  # runs may overlap
        both = numbers[: len(numbers) - step] * (numbers.max() + 1) + numbers[step:]
        _, numbers = np.unique(both, return_inverse=True)
        done += step
    return numbers


def _which(first: int, n: int, n_rows: int) -> str:
    """Which rows of a batch were found, in words."""
    if first == 0:
        return f"the first {n:,} of {n_rows:,} comparisons are"
    if first + n == n_rows:
        return f"the last {n:,} of {n_rows:,} comparisons are"
    return f"{n:,} of {n_rows:,} comparisons (from number {first + 1:,} on) are"
