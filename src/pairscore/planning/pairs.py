"""The pairs that a plan asks for: who compares what, on which side and in which order.

Pairs are random, every item is in as many comparisons as any other, within one, and no pair occurs
twice before all occurred once. A share of each judge's comparisons may be repeats: the same pair
again, far away in the order, which says how well a judge agrees with themselves. Another share may
be shared: another judge compares the same pair, which says how well judges agree with each other.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.display import plural
from pairscore.errors import PairscoreError, number_between, whole_number
from pairscore.messages import Setting

MOST_REPEATS = 1 / 3  # first and second times of repeats are in the outer thirds of the order
MOST_RESTARTS = 20


@dataclass(frozen=True)
class PairDesign:
    """Comparisons to make, judge by judge, in the order in which each judge makes them.

    Attributes
    ----------
    left, right : integer arrays of shape (M,)
        Items by row number.
    judge : integer array of shape (M,)
        From 0, never falling.
    again : boolean array of shape (M,)
        Whether the same judge had this pair before.
    """

    left: np.ndarray
    right: np.ndarray
    judge: np.ndarray
    again: np.ndarray

    def exposures(self, n_items: int) -> np.ndarray:
        """In how many comparisons each item is, shape (N,)."""
        return np.bincount(np.concatenate([self.left, self.right]), minlength=n_items)


def design_pairs(
    n_items: int,
    n_comparisons: int,
    rng: np.random.Generator,
    n_judges: int = 1,
    repeats: float = 0.0,
    shared: float = 0.0,
) -> PairDesign:
    """Random pairs for a study, repeats and shared pairs included in ``n_comparisons``.

    Each judge has as many comparisons as any other, within one. A share ``repeats`` of them is a
    pair that the judge has seen, at least a third of the order earlier; a share ``shared`` is a
    pair that one other judge compares too, every two judges equally many, within one. Sides and
    order are random. Every item is in as many comparisons as any other, within one; within two
    where every pair is shared.

    Parameters
    ----------
    n_items, n_comparisons : int
        N and M.
    rng : numpy.random.Generator
        Where pairs, sides and order come from.
    n_judges : int
        Judges who share the work.
    repeats, shared : float in [0, 1]
        The two shares.

    Examples
    --------
    >>> design = design_pairs(10, 40, np.random.default_rng(0), n_judges=2, repeats=0.1)
    >>> design.exposures(10).tolist(), int(design.again.sum())
    ([8, 8, 8, 8, 8, 8, 8, 8, 8, 8], 4)
    """
    n, m = whole_number(n_items, "n_items"), whole_number(n_comparisons, "n_comparisons")
    judges = whole_number(n_judges, "n_judges")
    remedy = "a share of the comparisons of each judge from 0 to 0.33"
    share = number_between(repeats, "repeats", 0, MOST_REPEATS, remedy)
    if n < 2:
        raise PairscoreError("there is one item, and a comparison needs two; give more items.")
    if m < judges:
        raise PairscoreError(
            Setting("n_comparisons") + f" is {m}, fewer than the {judges} judges",
            "use at least one for each",
        )
    sizes = _even(m, judges)
    n_repeats = np.round(share * sizes).astype(int)
    two = _judges_of_shared(judges, m, shared, rng)
    n_once = sizes - 2 * n_repeats - np.bincount(two.ravel(), minlength=judges)
    if n_once.min() < 0:
        raise PairscoreError(
            Setting("repeats", share)
            + " and "
            + Setting("shared", float(shared))
            + " are more than all comparisons of a judge",
            "use smaller shares",
        )
    once, twice = _pairs(n, m, int(n_repeats.sum()) + len(two), rng)
    once, twice = rng.permutation(once), rng.permutation(twice)
    twice, of_two = twice[len(two) :], twice[: len(two)]
    parts = zip(
        np.split(once, np.cumsum(n_once)[:-1]),
        np.split(twice, np.cumsum(n_repeats)[:-1]),
        strict=True,
    )
    orders = [
        _ordered(np.concatenate([mine, of_two[(two == judge).any(axis=1)]]), again, rng)
        for judge, (mine, again) in enumerate(parts)
    ]
    pairs = np.concatenate([pairs for pairs, _ in orders])
    pairs = rng.permuted(pairs, axis=1)  # sides
    judge = np.repeat(np.arange(judges), sizes)
    again = np.concatenate([again for _, again in orders])
    return PairDesign(pairs[:, 0], pairs[:, 1], judge, again)


def _even(total: int, parts: int) -> np.ndarray:
    """Whole numbers that add up to ``total`` and differ by one at most."""
    return total // parts + (np.arange(parts) < total % parts)


def _judges_of_shared(
    n_judges: int, n_comparisons: int, shared: float, rng: np.random.Generator
) -> np.ndarray:
    """The two judges of each shared pair, (S, 2), where 2 S is a share of all comparisons.

    Each judge has as many of them as any other, within one.
    """
    remedy = "a share of the comparisons of each judge from 0 to 1"
    share = number_between(shared, "shared", 0, 1, remedy)
    n_shared = min(round(share * n_comparisons / 2), n_comparisons // 2)
    if n_judges < 2:
        if share:
            raise PairscoreError(
                Setting("shared")
                + " is about pairs that two judges compare, and "
                + Setting("n_judges")
                + " is 1",
                ["use more judges", "leave it out"],
            )
        return np.empty((0, 2), dtype=int)
    everyone = np.column_stack(np.triu_indices(n_judges, 1))
    copies, rest = divmod(n_shared, len(everyone))
    some = None
    while some is None:  # degrees that differ by one at most are those of some graph
        some = _rest_of_graph(_even(2 * rest, n_judges), rest, everyone[:0], 1, rng)
    return np.concatenate([np.repeat(everyone, copies, axis=0), some])


def _ordered(
    once: np.ndarray, twice: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """One judge's pairs in a random order, repeats in the last third, and where these are."""
    r, m = len(twice), len(once) + 2 * len(twice)
    third = max(m // 3, r)
    first, last = rng.permutation(third)[:r], m - 1 - rng.permutation(third)[:r]
    pairs, again = np.empty((m, 2), dtype=int), np.zeros(m, dtype=bool)
    rest = np.delete(np.arange(m), np.concatenate([first, last]))
    pairs[first], pairs[last], pairs[rest] = twice, twice, once
    again[last] = True
    return pairs, again


def _pairs(
    n: int, m: int, n_repeats: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that a judge has once, m - 2 R of them, and pairs that one has twice, R; (., 2) each.

    Where there are more comparisons than pairs, all pairs occur equally often, and what is left
    over is a random graph. So it is with repeats.
    """
    everyone = np.column_stack(np.triu_indices(n, 1))
    copies, rest = divmod(m - n_repeats, len(everyone))
    copies_again, rest_again = divmod(n_repeats, len(everyone))
    exposure = rng.permutation(_even(2 * m, n)) - (copies + copies_again) * (n - 1)
    full, full_again = (np.repeat(everyone, times, axis=0) for times in (copies, copies_again))
    for _ in range(MOST_RESTARTS):
        repeated = np.empty(n, dtype=int)
        # who has one comparison more in all is seen no less often in repeats
        repeated[np.lexsort((rng.random(n), -exposure))] = _even(2 * rest_again, n)
        again = random_graph(repeated, set(), rng)
        if again is None:
            continue
        # a full copy of all pairs has those that occur again, unless full repeats take it
        some = _rest_of_graph(exposure - repeated, rest, again, copies - copies_again, rng)
        if some is not None:
            twice = np.concatenate([full_again, again])
            return _without(np.concatenate([full, some]), twice), twice
    # fewer than two comparisons of an item leave no room for a pair twice: balance distinct pairs
    some = _rest_of_graph(rng.permutation(_even(2 * rest, n)), rest, everyone[:0], copies, rng)
    some = rng.permutation(everyone)[:rest] if some is None else some
    base = rng.permutation(np.concatenate([full, some]))
    return base[n_repeats:], base[:n_repeats]


def _rest_of_graph(
    degrees: np.ndarray, n_edges: int, wanted: np.ndarray, copies: int, rng: np.random.Generator
) -> np.ndarray | None:
    """A random graph with these degrees that has the wanted edges, unless full copies have them."""
    n = len(degrees)
    has = set() if copies else {(int(a), int(b)) for a, b in wanted}
    if degrees.sum() != 2 * n_edges or degrees.min() < 0 or degrees.max() >= n:
        return None
    if 4 * n_edges <= n * (n - 1):
        of_wanted = np.bincount(wanted.ravel(), minlength=n) if has else np.zeros(n, dtype=int)
        more = random_graph(degrees - of_wanted, has, rng)
        return None if more is None else np.concatenate([wanted, more]) if has else more
    missing = random_graph(n - 1 - degrees, has, rng)  # few edges are quicker to find
    if missing is None:
        return None
    absent = {(int(a), int(b)) for a, b in missing}
    everyone = zip(*map(np.ndarray.tolist, np.triu_indices(n, 1)), strict=True)
    return np.array([pair for pair in everyone if pair not in absent]).reshape(-1, 2)


def random_graph(
    degrees: np.ndarray, forbidden: set[tuple[int, int]], rng: np.random.Generator
) -> np.ndarray | None:
    """Edges (E, 2), a < b, of a random simple graph with these degrees; None if none was found.

    Ends are joined at random; edges that are loops, doubles or forbidden swap an end with a random
    other edge until none is left, which keeps all degrees.
    """
    if degrees.min() < 0 or degrees.sum() % 2:
        return None
    edges = rng.permutation(np.repeat(np.arange(len(degrees)), degrees)).reshape(-1, 2)
    edges = np.sort(edges, axis=1)
    count = Counter(map(tuple, edges.tolist()))

    def is_bad(edge: tuple[int, int], others: int) -> bool:
        return edge[0] == edge[1] or edge in forbidden or count[edge] > others

    waiting = [row for row, edge in enumerate(map(tuple, edges.tolist())) if is_bad(edge, 1)]
    for _ in range(200 * (len(waiting) + 10)):
        if not waiting:
            return edges
        row, other = waiting[-1], int(rng.integers(len(edges)))
        one, two = tuple(edges[row].tolist()), tuple(edges[other].tolist())
        if row == other or not is_bad(one, 1):
            if not is_bad(one, 1):
                waiting.pop()
            continue
        ends = two if rng.random() < 0.5 else two[::-1]
        new = [tuple(sorted(pair)) for pair in ((one[0], ends[0]), (one[1], ends[1]))]
        if new[0] == new[1] or is_bad(new[0], 0) or is_bad(new[1], 0):
            continue
        count.subtract([one, two])
        count.update(new)
        edges[row], edges[other] = new
    return None if waiting else edges


def _without(pairs: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """The pairs, less one of each that is taken."""
    left = Counter(map(tuple, taken.tolist()))
    kept = []
    for row, pair in enumerate(map(tuple, pairs.tolist())):
        if left[pair] > 0:
            left[pair] -= 1
        else:
            kept.append(row)
    return pairs[kept]


def pairs_record(design: PairDesign, n_items: int, judges: Sequence[str]) -> dict[str, Any]:
    """How many comparisons, repeats and exposures a design has."""
    sizes, exposures = np.bincount(design.judge), design.exposures(n_items)
    ends = np.sort(np.column_stack([design.left, design.right]), axis=1)
    seen = np.unique(np.column_stack([ends, design.judge]), axis=0)  # a pair of a judge once
    _, n_judges = np.unique(seen[:, :2], axis=0, return_counts=True)
    return {
        "n_items": n_items,
        "n_comparisons": len(design.judge),
        "n_judges": len(judges),
        "judges": list(judges),
        "least_of_judge": int(sizes.min()),
        "most_of_judge": int(sizes.max()),
        "n_repeats": int(design.again.sum()),
        "n_shared": int(np.sum(n_judges > 1)),
        "least": int(exposures.min()),
        "most": int(exposures.max()),
        "n_never": int(np.sum(exposures == 0)),
    }


def pairs_text(record: dict[str, Any]) -> str:
    """A design in words, from its record with the ``seed``."""

    def between(low: int, high: int) -> str:
        if low == high:
            return f"{low:,}"
        return f"{low:,} {'or' if high == low + 1 else 'to'} {high:,}"

    judges = plural(record["n_judges"], "judge", ",")
    if record["n_judges"] > 1:
        judges += f", {between(record['least_of_judge'], record['most_of_judge'])} each"
    repeats = f"; {record['n_repeats']:,} of them repeat a pair" if record["n_repeats"] else ""
    shared = plural(record["n_shared"], "pair", ",", verb="is")
    shared = f" {shared} compared by more than one judge." if record["n_shared"] else ""
    number = f"{between(record['least'], record['most'])} comparison{'s' * (record['most'] != 1)}"
    each = f"Every item is in {number}."
    if record["n_never"]:
        each = (
            f"Items are in {number}; {plural(record['n_never'], 'item', ',', verb='is')} in none."
        )
    return (
        f"{plural(record['n_comparisons'], 'comparison', ',')} of {record['n_items']:,} items for"
        f" {judges}{repeats}.{shared}\n{each} Seed {record['seed']}."
    )


# -- sheets ----------------------------------------------------------------------------------------
