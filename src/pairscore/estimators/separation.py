"""Separation: the likelihood has no maximum, and intervals are open at an end.

If along some direction of (coefficients, side effect) no comparison becomes less likely and some
become more likely, the likelihood grows without end: (quasi-)complete separation (Albert and
Anderson 1984). At the end of that direction these comparisons are certain, and tell nothing more;
the likelihood of the others has a maximum, if they are not separated in turn (Geyer 2009). That
maximum leaves open the directions that only the explained comparisons see. There, and nowhere else,
a ridge stands in for the maximum that is missing.

A direction of recession is one in which no comparison becomes less likely, however far one goes:
a_m'delta >= 0 for every decided comparison, a_m being what each parameter adds to the side that
won, and = 0 for every tie. With a tie parameter some outcomes have two such rows
(:mod:`pairscore.effects.joint_separation`). These directions form a cone. A sum c'theta has a
finite interval where c'delta = 0 for all of them; one that is open at one end where c'delta has one
sign; and none otherwise (Geyer 2009).

Let the comparisons that some direction explains be E, and the others R. Then the cone is all of
V g with A_E V g >= 0, where V spans what R does not see: it has interior points. So c'theta has a
finite interval where V'c = 0, that of R alone; and a finite lower end where V'c is a sum of rows of
A_E V with weights that are not negative.

That lower end is the smallest c'theta at which what was explained is not too improbable:

    min c'(theta_R + V g)   subject to   sum_E n log f(a'(theta_R + V g)) >= -q

For a single direction q = -log(alpha / 2), alpha = 1 - level, is the end of Clopper and Pearson's
interval. With r directions some are found that explain the comparisons even by chance, so that q is
at least half the quantile of chi-squared with r degrees of freedom at 1 - alpha / 5: in studies
that turned out to be separated, intervals then covered 95 % and more (studies/test_separated.py).

To it comes the error of theta_R, which moves that minimum by c - lambda sum_E n f'/f a, with lambda
the multiplier of the constraint. Comparisons count as independent in the probability: where all are
explained, none shows how items differ. If only some of E are known, the set over which the minimum
is taken is larger: nothing that is said is too narrow.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import chdtri, ndtr

from pairscore.core.links import Link
from pairscore.core.whitening import OPEN_SHARE, Basis, whitening_basis
from pairscore.display import first_few
from pairscore.errors import SeparatedFeaturesWarning
from pairscore.estimators.fit_data import Cut, FitData, Gains, Selection, parameter_units
from pairscore.estimators.ridge import SEPARATION_L2, WEAK_L2
from pairscore.estimators.table_data import memory_of
from pairscore.messages import Piece, Setting

if TYPE_CHECKING:
    from pairscore.estimators.estimate import Note

# of the largest gain in a step, above which a comparison gains at all: as they come out of a step
SMALLEST_GAINS = (1e-2, 1e-4, 1e-6, 1e-8)
NO_GAIN = 1e-10  # of the largest gain along the exact direction: rounding errors
SMALLEST_GAIN = 0.1  # of some comparison's score difference, in a step along which there is no end
WORSE = 1e-4  # of the largest gain, that a step may take from a comparison by not being exact
SIDE = "side effect"
TIE = "tie parameter"
UNBEATEN = "some items won, or lost, every comparison with the others"
SEPARATED = "some direction in the features (or the side) explains every comparison that it touches"


def gains_along(data: FitData, direction: np.ndarray) -> tuple[Gains, Cut]:
    """What a step along (coefficients, side effect) adds to winners; a cut by any gain at all."""
    d = len(data.feature_names)
    scores, shift = data.table.times(direction[:d]), float(direction[d:].sum())
    return data.gains(scores, shift), Cut(scores, shift, 0.0)


def separates(data: FitData, direction: np.ndarray) -> bool:
    """Whether moving along ``direction`` for ever makes no comparison worse, and some better.

    This is separation, up to what the direction is off. A sample nearly always shows that it is
    not.
    """
    if data.sample is not None and _is_worse(gains_along(data.sample, direction)[0]):
        return False
    gains, _ = gains_along(data, direction)
    return gains.largest >= SMALLEST_GAIN and not _is_worse(gains)


def _is_worse(gains: Gains) -> bool:
    """Whether some comparison loses more than what a direction may be off by."""
    worst = WORSE * gains.largest
    return gains.decided.low < -worst or gains.tied.high > worst


def unseen(data: FitData) -> np.ndarray:
    """The directions (d + side) x r that the comparisons do not see.

    They are orthonormal in units of :func:`parameter_units`.
    """
    return _unseen_in(data, parameter_units(data))


def _unseen_in(data: FitData, unit: np.ndarray) -> np.ndarray:
    """The same in units of a parameter that are given: those of all comparisons, of which these
    are some."""
    size = float(data.tally.exposures.sum())
    if not size:
        return np.eye(len(unit))
    basis = whitening_basis(data.counts.scatter, unit, size)
    return basis.open_directions * basis.unit[:, None]


def explained_cut(data: FitData, direction: np.ndarray, unit: np.ndarray) -> Cut:
    """The comparisons that a step of Newton's method explains.

    The step (d + side) is only close to a direction along which nothing becomes less likely. So it
    is brought to the directions that the other comparisons do not see at all, and must explain the
    same ones there; where no choice of these does so, all comparisons are taken for explained.
    ``unit`` is that of the parameters.
    """
    gains, cut = gains_along(data, direction)
    unit = np.where(unit > 0, unit, 1.0)
    for smallest in SMALLEST_GAINS:
        cut = replace(cut, smallest=smallest * gains.largest)
        free = _unseen_in(data.part(Selection((cut,), touched=False)), unit)
        exact = free @ (free.T @ (unit * direction)) / unit
        along, _ = gains_along(data.part(Selection((cut,), touched=True)), exact)
        if along.decided.low > NO_GAIN * along.decided.high:
            return cut
    return replace(cut, smallest=-1.0)  # all of them


def separated_directions(data: FitData, others: FitData) -> np.ndarray:
    """The directions (d + side) x r that only explained comparisons see, in their own units.

    ``others`` are the comparisons that are not explained.
    """
    unit = parameter_units(data)
    return directions_between(_unseen_in(others, unit), _unseen_in(data, unit), unit)


def directions_between(free: np.ndarray, never_seen: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Those of ``free`` directions that are not among others, both orthonormal in ``unit``."""
    seen = free - never_seen @ (never_seen.T @ free)
    vectors, sizes, _ = np.linalg.svd(seen, full_matrices=False)
    return vectors[:, sizes > 0.5] / np.where(unit > 0, unit, 1.0)[:, None]


def basis_within(
    scatter: np.ndarray, unit: np.ndarray, directions: np.ndarray | None, size: float = 0.0
) -> Basis:
    """Whiten a scatter in all directions, or in the span of some (d + side) x r."""
    if directions is None:
        return whitening_basis(scatter, unit, size)
    inner = whitening_basis(directions.T @ scatter @ directions, np.ones(directions.shape[1]))
    unit = np.where(unit > 0, unit, 1.0)
    return Basis(directions @ inner.transform, np.empty((len(unit), 0)), unit)


def parameter_names(data: FitData, mask: np.ndarray) -> list[str]:
    """Names of some of the features and of the side effect, by a mask (d + side)."""
    names = [*data.feature_names, *[SIDE] * data.keep_sides]
    return [name for name, chosen in zip(names, mask, strict=True) if chosen]


def separation_note(names: list[str]) -> "Note":
    """What is said, and done, when the likelihood has no maximum.

    ``names`` are those of the coefficients that have a part in it.
    """
    one = len(names) == 1
    on_ties = " and on the tie parameter" if TIE in names else ""
    remedies: list[Piece] = [
        "swap some sides" if names == [SIDE] else "compare more items that are close",
        *(["use " + Setting("ties", "half")] if TIE in names else []),
        "to choose your own ridge, set " + Setting("l2") + f" above {WEAK_L2:g}",
    ]
    text = (
        f"{SEPARATED}, so the comparisons do not say how large"
        f" {first_few(map(repr, names), 10)} {'is' if one else 'are'}:"
        f" {'its interval is' if one else 'their intervals are'} open at one end or both, there is"
        f" no p-value, and {'its value is' if one else 'their values are'} held by a ridge of"
        f" {SEPARATION_L2:g} (a normal prior with standard deviation 2.5 on standardised"
        f" coefficients{on_ties})"
    )
    return SeparatedFeaturesWarning(text, remedies)


MOST_ROWS = 500  # explained comparisons that are kept, those that are the least certain first

SMALLER_TAIL = 0.2  # share of alpha in the quantile for all directions at once

MOST_CONTRASTS = 4000  # sums at a time whose ends are looked for; of more, those touched have none

MOST_DIMENSIONS = 6  # of a cone whose edges are computed, so that they serve for any number of sums

MOST_PROGRAMS = 200  # linear programs of a cone of more dimensions

NEGATIVE = -1e-7  # of c'delta, both of length one, from which on it is not a rounding error

LOW_STEPS, INNER_STEPS, HALVINGS = 40, 60, 30

LONGEST = 5.0  # step, in the score of some comparison

TINY = np.finfo(float).tiny

CLOSE, FLAT = 1e-6, 1e-10  # to an end, in units of the sum; to a maximum, in log-likelihood

MOST_SORTED = 20_000  # explained comparisons whose features are formed, the least certain ones


@dataclass(frozen=True, eq=False)
class Recession:
    """The cone of directions of recession, and the comparisons that it explains.

    Attributes
    ----------
    directions : ndarray of shape (p, r)
        V, orthonormal in ``unit``; p has the coefficients, then the effects of comparisons.
    unit : ndarray of shape (p,)
        Of the parameters.
    rows, amount : ndarrays of shape (k, p) and (k,)
        A, what each parameter adds to the winner of explained comparisons, and how often these
        occurred. They may be some of all.
    origin : ndarray of shape (p,)
        theta at the maximum of the likelihood of the others.
    """

    directions: np.ndarray
    unit: np.ndarray
    rows: np.ndarray
    amount: np.ndarray
    origin: np.ndarray

    def __post_init__(self) -> None:
        p, k = len(self.unit), len(self.amount)
        shapes = {"directions": (p, self.directions.shape[-1]), "rows": (k, p), "origin": (p,)}
        if any(getattr(self, name).shape != shape for name, shape in shapes.items()):
            raise TypeError("arrays of a recession do not fit together")

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def widened(self, contrasts: np.ndarray) -> np.ndarray:
        """Contrasts of the first parameters (n x q), with zeros for the others (n x p)."""
        return np.pad(contrasts, ((0, 0), (0, len(self.unit) - contrasts.shape[1])))

    def places(self, contrasts: np.ndarray) -> np.ndarray:
        """V'c of contrasts (n x q): n x r."""
        return contrasts @ self.directions[: contrasts.shape[1]]

    def touches(self, contrasts: np.ndarray) -> np.ndarray:
        """Mask (n) of the contrasts (n x q) that change along some direction."""
        size = np.linalg.norm(contrasts * self._inverse_unit[: contrasts.shape[1]], axis=1)
        return np.linalg.norm(self.places(contrasts), axis=1) > OPEN_SHARE * size

    @property
    def _inverse_unit(self) -> np.ndarray:
        return 1 / self.unit

    @property
    def touched(self) -> np.ndarray:
        """Mask (p) of the parameters that have a part in it."""
        return self.touches(np.diag(self.unit))

    def ends(
        self, contrasts: np.ndarray, covariance: np.ndarray, link: Link, width: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends (n) of the intervals of contrasts (n x q) that change.

        They are infinite where the interval is open. ``covariance`` is that of all parameters; of
        it, only what the other comparisons say is used, ``width`` standard errors of it, which is
        that of a normal interval of the same level.
        """
        low, high = np.full(len(contrasts), -np.inf), np.full(len(contrasts), np.inf)
        contrasts = self.widened(contrasts)
        if not len(self.amount) or not len(contrasts) or len(contrasts) > MOST_CONTRASTS:
            return low, high
        tail = float(ndtr(-width))
        if tail < TINY:  # with Student's law for two judges, no probability is that small
            return low, high
        by_region = 0.5 * float(chdtri(self.directions.shape[1], SMALLER_TAIL * 2 * tail))
        log_tail = -max(-float(np.log(tail)), by_region)
        for sign, end in ((1.0, low), (-1.0, high)):
            rising = self._never_falls(sign * self.places(contrasts))
            found = self._low_ends(sign * contrasts[rising], covariance, link, log_tail, width)
            end[rising] = sign * found
        return low, high

    def _never_falls(self, along: np.ndarray) -> np.ndarray:
        """Mask (n) of V'c (n x r) with c'delta >= 0 for every direction of recession."""
        size = np.linalg.norm(along, axis=1)
        if self._generators is not None:
            return np.min(along @ self._generators, axis=1) >= NEGATIVE * size
        B, mask = self._constraints, np.zeros(len(along), dtype=bool)
        if len(along) > MOST_PROGRAMS:
            return mask
        from scipy.optimize import linprog

        for place, one in enumerate(along):
            found = linprog(one / size[place], A_ub=-B, b_ub=np.zeros(len(B)), bounds=(-1, 1))
            mask[place] = found.status == 0 and found.fun >= NEGATIVE
        return mask

    @cached_property
    def _constraints(self) -> np.ndarray:
        """Rows of A V, each of length one."""
        B = self.rows @ self.directions
        return B / np.linalg.norm(B, axis=1, keepdims=True)

    @cached_property
    def _generators(self) -> np.ndarray | None:
        """Edges of the cone (r x f), of length one; None where it has too many dimensions.

        With h inside of the cone, the rows b of A V lie in the half-space h'b > 0. Cut at h'b = 1,
        they have a convex hull of r - 1 dimensions; each of its facets is an edge.
        """
        from scipy.optimize import linprog
        from scipy.spatial import ConvexHull, QhullError

        B = self._constraints
        r = B.shape[1]
        inside = linprog(
            np.append(np.zeros(r), -1.0),
            A_ub=np.column_stack([-B, np.ones(len(B))]),
            b_ub=np.zeros(len(B)),
            bounds=[(-1, 1)] * r + [(None, None)],
        )
        if inside.status != 0 or inside.x[r] <= 0 or r > MOST_DIMENSIONS:
            return None
        h = inside.x[:r] / np.linalg.norm(inside.x[:r])
        if r == 1:
            return h[:, None]
        across = np.linalg.svd(h[None])[2][1:].T
        points = (B @ across) / (B @ h)[:, None]
        if r == 2:
            facets = np.array([[1.0, -points.max()], [-1.0, points.min()]])
        else:
            try:
                facets = ConvexHull(points).equations
            except QhullError:  # flat but for rounding errors
                return None
        edges = -(across @ facets[:, :-1].T + np.outer(h, facets[:, -1]))
        return edges / np.linalg.norm(edges, axis=0)

    def _low_ends(
        self,
        contrasts: np.ndarray,
        covariance: np.ndarray,
        link: Link,
        log_tail: float,
        width: float,
    ) -> np.ndarray:
        """Of contrasts (n x p) that never fall; minus infinity where it was not found."""
        if not len(contrasts):
            return np.empty(0)
        search = _Search(self.rows @ self.directions, self.amount, self.rows @ self.origin, link)
        g, slope, found = search.lowest(self.places(contrasts), log_tail)
        eta = search.base + g @ search.B.T
        pull = (self.amount * link.ratio(eta)) @ self.rows
        # what is left of c has no part along V: the others determine it
        rest = contrasts - pull / slope[:, None]
        rest = rest[:, : len(covariance)]
        error = np.sqrt(np.maximum(np.einsum("ij,ij->i", rest @ covariance, rest), 0.0))
        low = contrasts @ self.origin + np.einsum("ij,ij->i", self.places(contrasts), g)
        return np.where(found, low - width * error, -np.inf)


class _Top(NamedTuple):
    """Where log P is largest for some sums: g (n x r), the multiplier and log P (n), and whether it
    was reached (n).
    """

    g: np.ndarray
    slope: np.ndarray
    value: np.ndarray
    settled: np.ndarray


@dataclass(frozen=True)
class _Search:
    """Where what was explained has a given probability: eta = base + B g, for many sums at once."""

    B: np.ndarray
    amount: np.ndarray
    base: np.ndarray
    link: Link

    def value(self, g: np.ndarray) -> np.ndarray:
        """log P of what was explained, at g (n x r)."""
        return np.asarray(self.link.log_cdf(self.base + g @ self.B.T)) @ self.amount

    def lowest(
        self, along: np.ndarray, log_tail: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g (n x r) with the smallest ``along`` g and log P at least ``log_tail``.

        The largest log P with ``along`` g = t is concave in t, and its slope is the multiplier:
        from some t on, Newton's steps come from below. Also the slope, and whether it was found.
        """
        size = np.linalg.norm(along, axis=1)
        unit, g = along / size[:, None], np.zeros_like(along)
        slope, found = np.ones(len(along)), np.zeros(len(along), dtype=bool)
        left = np.arange(len(along))
        for _ in range(LOW_STEPS):
            top = self.climb(g[left], unit[left])
            g[left] = top.g
            slope[left] = top.slope
            step = (log_tail - top.value) / top.slope
            near = CLOSE * (1 + np.abs(np.einsum("ij,ij->i", unit[left], g[left])))
            found[left] = top.settled & (np.abs(step) < near)
            # far up, the slope is nearly nothing, and a step by it would be far too long
            reach = LONGEST / np.maximum(np.abs(unit[left] @ self.B.T).max(axis=1), TINY)
            step = np.clip(step, -reach, reach)
            g[left] += (step * ~found[left])[:, None] * unit[left]
            left = left[top.settled & ~found[left]]
            if not len(left):
                break
        return g, slope / size, found

    def climb(self, g: np.ndarray, unit: np.ndarray) -> _Top:
        """The largest log P with ``unit`` g as it is (n x r)."""
        g, value, r = g.copy(), self.value(g), g.shape[1]
        slope, settled = np.ones(len(g)), np.zeros(len(g), dtype=bool)
        left = np.arange(len(g))
        for _ in range(INNER_STEPS):
            eta = self.base + g[left] @ self.B.T
            gradient = (self.amount * self.link.ratio(eta)) @ self.B
            weight = self.amount * np.maximum(self.link.curvature(eta), 0.0)
            hessian = np.einsum("nk,kr,ks->nrs", weight, self.B, self.B, optimize=True)
            trace = np.einsum("nrr->n", hessian) + TINY
            border = np.zeros((len(left), r + 1, r + 1))
            border[:, :r, :r] = hessian + (1e-9 * trace)[:, None, None] * np.eye(r)
            border[:, :r, r] = border[:, r, :r] = unit[left] * trace[:, None]
            right = np.concatenate([gradient, np.zeros((len(left), 1))], axis=1)
            solved = np.linalg.solve(border, right[:, :, None])[:, :, 0]
            step = solved[:, :r]
            slope[left] = solved[:, r] * trace
            flat = np.einsum("ij,ij->i", gradient, step) < FLAT
            settled[left[flat]] = True
            left, step = left[~flat], step[~flat]
            if not len(left):
                break
            moved = np.abs(step @ self.B.T).max(axis=1)
            step *= np.minimum(1.0, LONGEST / np.maximum(moved, TINY))[:, None]
            after = self.value(g[left] + step)
            for _ in range(HALVINGS):
                if not np.any(worse := after < value[left] - FLAT):
                    break
                step[worse] /= 2
                after[worse] = self.value(g[left[worse]] + step[worse])
            g[left] += step
            value[left] = after
        return _Top(g, slope, value, settled)


def least_certain(
    rows: np.ndarray, amount: np.ndarray, theta: np.ndarray, most: int = MOST_ROWS
) -> tuple[np.ndarray, np.ndarray]:
    """Equal rows (k x p) as one, and of many those that theta makes least certain."""
    some = amount > 0
    rows, amount = rows[some], amount[some]
    if len(rows) > most:
        order = np.argsort(rows @ theta, kind="stable")[: 10 * most]
        rows, amount = rows[order], amount[order]
    rows, place = np.unique(rows, axis=0, return_inverse=True)
    amount = np.bincount(place.ravel(), amount)
    order = np.argsort(rows @ theta, kind="stable")[:most]
    return rows[order], amount[order]


def explained_by_design(design: np.ndarray) -> np.ndarray | None:
    """Which rows (M) some direction of recession explains; None if no linear program could say.

    ``design`` (M x p) has what each parameter adds to what must not fall: rows with a slack s of at
    most 1 in A delta >= s >= 0 are explained where their sum is largest (Konis 2007).
    """
    from scipy.optimize import linprog

    m, p = design.shape
    used = np.abs(design).max(axis=1) > 0
    size = np.abs(design).max(axis=0)
    A = (design / np.where(size > 0, size, 1.0))[used]
    k = len(A)
    objective = np.concatenate([np.zeros(p), -np.ones(k)])
    limits = sparse.hstack([sparse.csr_array(-A), sparse.eye_array(k)], format="csr")
    bounds = [(None, None)] * p + [(0.0, 1.0)] * k
    found = linprog(objective, A_ub=limits, b_ub=np.zeros(k), bounds=bounds)
    if found.status != 0:
        return None
    mask = np.zeros(m, dtype=bool)
    mask[used] = found.x[p:] > 0.5
    return mask


def recession_of(
    data: FitData,
    explained: FitData,
    directions: np.ndarray,
    theta: np.ndarray,
    origin: np.ndarray,
) -> Recession:
    """What is kept of comparisons that are explained, by parameters (d + side).

    ``theta`` are those of the fit, by which the least certain ones are kept, and ``origin`` those
    at the maximum of the others' likelihood. Of a stream they are from a sample, which is all of
    few comparisons; of more, intervals are the wider for it.
    """
    unit = parameter_units(data)
    some = memory_of(explained)
    gain = some.comparisons.outcome * some.differences(*_scores_and_shift(some.X, theta))
    rows = np.flatnonzero(some.counted)
    if len(rows) > MOST_SORTED:
        rows = rows[np.argsort(gain[rows], kind="stable")[:MOST_SORTED]]
    votes = some.comparisons[rows]
    design = votes.outcome[:, None] * (some.X[votes.left] - some.X[votes.right])
    if data.keep_sides:
        design = np.column_stack([design, votes.outcome])
    design, amount = least_certain(design, votes.amount / data.weight_unit, theta)
    return Recession(
        directions=directions,
        unit=np.where(unit > 0, unit, 1.0),
        rows=design,
        amount=amount,
        origin=origin,
    )


def _scores_and_shift(X: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Of items by coefficients and side effect."""
    d = X.shape[1]
    return X @ theta[:d], float(theta[d:].sum())


def closed_recession(
    data: FitData, b: np.ndarray, threshold: float, theta: np.ndarray, only_side: bool
) -> Recession:
    """What comparisons say that some scale of a closed form b, or some side, explains.

    Not all that explain it: every direction that does, as for a likelihood. A side effect is at
    the ``threshold`` between differences along b that were won and lost; ``only_side`` where a
    ridge holds the scale.
    """
    if only_side:
        side = np.eye(len(theta))[:, -1]
        return recession_of_side(data, side, theta)
    direction = np.append(b, [-threshold] * data.keep_sides)
    gains, cut = gains_along(data, direction)
    cut = replace(cut, smallest=NO_GAIN * gains.largest)
    explained = data.part(Selection((cut,), touched=True))
    directions = separated_directions(data, data.part(Selection((cut,), touched=False)))
    return recession_of(data, explained, directions, theta, theta)


def recession_of_side(data: FitData, side: np.ndarray, theta: np.ndarray) -> Recession:
    """Of comparisons that all went to one side, by the direction (d + 1) of the side effect."""
    return recession_of(data, data, side[:, None], theta, theta * (1 - side))
