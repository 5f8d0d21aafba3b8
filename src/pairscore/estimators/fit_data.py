"""The data of one fit, with the sums that several of its steps share, each computed once."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pairscore.core.links import Link, OutcomeSums, outcome_pass
from pairscore.core.outcomes import OutcomeLaw
from pairscore.core.passes import counts_once, total_of
from pairscore.core.sums import (
    Moments,
    Pairs,
    Tally,
    aggregate_pairs,
    centred_blocks,
    count_pairs,
    difference_scatter,
    moments,
    scatter_with_sides,
    share_of,
    tally,
    times_rows,
)
from pairscore.core.whitening import SMALLEST_REACH, lost_digits, whitening_basis
from pairscore.errors import PairscoreError, plural
from pairscore.estimators.settings import Settings

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.results import Fit

# a normal prior with standard deviation 2.5 on standardised coefficients
SEPARATION_L2 = 1 / 2.5**2
# per unit of weight; a prior this wide (standard deviation 100) holds no coefficient back when data
# are separated
WEAK_L2 = 1e-4
SURELY_CLEAR = 1e4  # values over differences in a few items, that all digits are left with
SMALLEST_IN_FEW = 1e-6  # eigenvalue, relative to the largest, that a few comparisons show clearly
SMALLEST_VARIANCE = 1e-8  # of compared items along a direction of length one, to differ in it
NO_DIFFERENCE = 1e-12  # mean square of differences, over the variance of the items: rounding errors


@dataclass(frozen=True)
class FitData:
    """The comparisons of one fit as arrays, with the sums that several steps share.

    Parameters
    ----------
    comparisons : Comparisons
        M comparisons of N items with d features.
    keep_sides : bool
        Whether pairs keep apart who was on the left, for a side effect.
    has_items : bool
        False for a matrix of differences, whose rows are items compared with one at the origin.
    start : Fit, optional
        A fit to most of these comparisons, and to the first of these items: whatever is estimated
        in steps begins where it stands.
    """

    comparisons: "Comparisons"
    keep_sides: bool
    has_items: bool = True
    start: "Fit | None" = None

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        """Features of the items, N x d."""
        return self.comparisons.items.values

    @cached_property
    def amount(self) -> np.ndarray:
        """Weight times count of every comparison (M)."""
        return self.comparisons.amount

    @cached_property
    def weight_unit(self) -> float:
        """See :attr:`pairscore.data.comparisons.Comparisons.weight_unit`; 1 for all of a fit."""
        return self.comparisons.weight_unit

    @cached_property
    def tally(self) -> Tally:
        """Net wins w and exposures k of every item."""
        data = self.comparisons
        return tally(data.left, data.right, data.outcome, self.amount, len(self.X))

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w = sum_m Y_m (x_left - x_right), the data's part of eq. 3 (d)."""
        return times_rows(self.tally.net_wins, self.X)

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        return moments(self.X, self.tally.exposures)

    @cached_property
    def pairs(self) -> Pairs:
        """The comparisons summed per unordered pair."""
        data = self.comparisons
        return aggregate_pairs(
            data.left, data.right, data.outcome, self.amount, len(self.X), self.keep_sides
        )

    @cached_property
    def tied(self) -> np.ndarray | None:
        """How much of each pair on each side ended in a tie (sides x P); None without ties."""
        data = self.comparisons
        is_tie = data.outcome == 0
        if not is_tie.any():
            return None
        left, right, outcome = data.left[is_tie], data.right[is_tie], data.outcome[is_tie]
        amount = self.amount[is_tie]
        ties = aggregate_pairs(left, right, outcome, amount, len(self.X), self.keep_sides)
        tied = np.zeros(self.pairs.win.shape)
        tied[:, np.searchsorted(self.pairs.keys, ties.keys)] = ties.win + ties.lose
        return tied

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def compared(self) -> np.ndarray:
        """Mask of the items that occur in some comparison, be it with themselves (N)."""
        exposures = self.tally.exposures
        all_count = counts_once(self.amount) and exposures.sum() == 2 * len(self.amount)
        return exposures > 0 if all_count else self.comparisons.compared

    @cached_property
    def n_independent(self) -> int:
        """How many differences of items the comparisons have: items less groups that are connected.

        No comparison adds a difference that is not a sum of these.
        """
        n, used = len(self.X), np.flatnonzero(self.pairs.number > 0)
        ends = self.pairs.low[used], self.pairs.high[used]
        graph = sparse.coo_array((np.ones(len(used)), ends), shape=(n, n))
        return n - int(sparse.csgraph.connected_components(graph, directed=False)[0])

    @property
    def n_groups(self) -> int:
        """Into how many groups the compared items fall that never met."""
        return self.n_items - self.n_independent

    @cached_property
    def second_half(self) -> np.ndarray:
        """The items behind the covariance of `split`: those named, else those of no comparison."""
        rows = self.comparisons.covariance_items
        rows = np.flatnonzero(~self.compared) if rows is None else np.asarray(rows)
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and np.all(np.diff(rows) == 1):
            return self.X[rows[0] : rows[-1] + 1]  # a view, not a copy
        return self.X[rows]

    @cached_property
    def second_moments(self) -> Moments:
        """Moments of the items behind the covariance of `split`."""
        return moments(self.second_half)


def n_counted(data: FitData) -> float:
    """How many comparisons count: those that rows with a positive amount stand for."""
    return float(len(data.amount)) if counts_once(data.amount) else data.comparisons.number


def refuse_too_many_features(data: Any, m: float, settings: Settings) -> None:
    """Without a ridge, features must not outnumber items or the m comparisons that count.

    Of a matrix of differences they may, as scikit-learn expects: warnings say what the fit is.
    """
    d = data.X.shape[1]
    if not np.isfinite(data.tally.n_comparisons):
        raise PairscoreError(
            "the weights are so large that their sum overflows; divide them by a constant."
        )
    if data.tally.exposures.sum() == 0:
        raise PairscoreError(
            "no comparison is between two different items with a positive weight; these votes"
            " contain nothing to learn from."
        )
    if settings.l2 == 0 and data.has_items and (d > data.n_items or d > m):
        few = plural(int(m), "comparison")
        few = plural(data.n_items, "compared item") if d > data.n_items else few
        raise PairscoreError(
            f"there are {d} features but only {few}, so many scores fit equally well; choose a"
            " ridge from the data (l2='auto'), or use fewer features."
        )


def refuse_lost_digits(
    some: np.ndarray,
    all_ranges: Callable[[], tuple[np.ndarray, np.ndarray]],
    names: Sequence[str],
) -> None:
    """Features must differ by enough to be squared, and by more than the last digits of values.

    ``some`` (n x d) are a few of the compared items, whose differences are mostly enough to see it;
    else ``all_ranges`` gives the smallest and largest values (d) of all.
    """
    if not some.size:
        return
    low, high = some.min(axis=0), some.max(axis=0)
    least = np.maximum((np.abs(low) + np.abs(high)) / SURELY_CLEAR, SMALLEST_REACH)
    clear = high - low > least
    if clear.all():
        return
    low, high = all_ranges()
    tiny, shifted = lost_digits(low, high)
    for mask, what, remedy in (
        (tiny, "too little to compute with", "multiply the column by a constant"),
        (shifted, "which leaves too few digits to compute with", "subtract a constant from it"),
    ):
        if mask.any():
            first = int(np.flatnonzero(mask)[0])
            near = "" if mask is tiny else f" are near {high[first]:.3g} and"
            raise PairscoreError(
                f"the values of {names[first]!r}{near} differ by at most"
                f" {high[first] - low[first]:.3g}, {what}; {remedy}."
            )


def never_differing(data: FitData, settings: Settings) -> np.ndarray:
    """Directions v (d x k), which a fit gives a number, with v'x equal in any two items that met.

    Likelihood and `paired` leave them open unless a ridge puts them at zero; `pooled` and `split`,
    which take the pairs for random ones, go by their correlation with other features. Single
    features come first, then combinations of the others that do differ among compared items. With
    more features than independent differences some combination never differs by mere count, and
    a ridge is there to choose: then combinations are not looked for beside it.
    """
    d, has_ridge = data.X.shape[1], settings.l2 > 0
    if not data.has_items or not (has_ridge or settings.method in ("pooled", "split")):
        return np.empty((d, 0))
    alone = data.comparisons.never_differs
    rest = np.flatnonzero(~alone)
    few, of_few = np.eye(d)[:, alone], open_in_few(data, rest)
    if of_few.size and not np.all(varied := data.item_moments.sd[rest] > 0):
        rest = rest[varied]
        of_few = open_in_few(data, rest)
    if not of_few.size or (has_ridge and len(rest) > data.n_independent):
        return few
    combined = np.zeros((d, of_few.shape[1]))
    combined[rest] = of_few
    return np.hstack([few, combined @ _open_in_all(data, combined)])


def open_in_few(data: FitData, features: np.ndarray) -> np.ndarray:
    """Directions of some features (r x k) in which a few comparisons do not differ clearly.

    Most data show in these that there are none; else all comparisons have to be looked at.
    """
    votes = data.comparisons
    few = np.arange(0, len(votes), max(len(votes) // (2 * len(features) + 100), 1))
    few = few[(data.amount[few] > 0) & (votes.left[few] != votes.right[few])]
    differences = data.X[votes.left[few]] - data.X[votes.right[few]]
    if len(features) < differences.shape[1]:
        differences = differences[:, features]
    squares = differences.T @ differences
    size = np.sqrt(np.diag(squares))
    if np.all(size > 0):
        with suppress(np.linalg.LinAlgError):  # it has a root if no eigenvalue is small
            smallest = SMALLEST_IN_FEW * len(size) * np.eye(len(size))
            np.linalg.cholesky(squares / np.outer(size, size) - smallest)
            return np.empty((len(size), 0))
    sd = data.item_moments.sd[features]
    unit = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(squares / np.outer(unit, unit))
    is_open = values <= SMALLEST_IN_FEW * values.max(initial=0.0)
    return vectors[:, is_open] / unit[:, None]


def _open_in_all(data: FitData, directions: np.ndarray) -> np.ndarray:
    """Which combinations (k x j) of ``directions`` (d x k) differ in items, but in no comparison.

    In coordinates in which the items have the identity as covariance the mean square of
    differences, about 2 of random pairs, is at most NO_DIFFERENCE.
    """
    places = np.empty((len(data.X), directions.shape[1]))
    for rows, centred in centred_blocks(data.X, data.item_moments.mean):
        places[rows] = centred @ directions
    center = moments(places, data.tally.exposures)
    variances, axes = np.linalg.eigh(center.covariance)
    varied = variances > SMALLEST_VARIANCE
    W = axes[:, varied] / np.sqrt(variances[varied])
    if not varied.any():  # features that repeat each other
        return W
    pairs = count_pairs(data.comparisons.left, data.comparisons.right, data.amount, len(data.X))
    scatter = difference_scatter(places @ W, center.mean @ W, pairs, pairs.number)
    squares, turns = np.linalg.eigh(scatter / pairs.number.sum())
    return W @ turns[:, squares <= NO_DIFFERENCE]


def ridge_penalty(l2: float | np.ndarray, sd: np.ndarray, slope_at_zero: float) -> np.ndarray:
    """What to add to the diagonal of a scatter so that l2 means the same as in the likelihood.

    At beta = 0 the log-loss has gradient -2 f'(0) X'w and Hessian 4 f'(0)^2 X'LX. Its Newton step
    with the ridge l2 |sd beta|^2 / 2, ``sd`` (d) the standard deviations of the features, is the
    closed form 2 G^-1 X'w with l2 sd^2 / (4 f'(0)^2) added to the scatter G.
    """
    return l2 * sd**2 / (4 * slope_at_zero**2)


def size_of_information(n_comparisons: float, link: Link) -> float:
    """Of the two sums whose difference is the information of comparisons, at most.

    In units of the features' standard deviations: each comparison has two items, and tells at most
    as much as a coin toss, 4 f'(0)^2.
    """
    return 8 * n_comparisons * float(link.pdf(0.0)) ** 2


def leverage_whitener(data: FitData, settings: Settings) -> np.ndarray:
    """W (d x r) with W' (X~'KX~ + ridge) W = I, X~ the centred items and K their exposures.

    It tells how far an item can pull the fit towards itself, which a ridge holds back.
    """
    center = data.item_moments
    ridge = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    return whitening_basis(center.scatter + np.diag(ridge), center.sd).transform


def bordered_scatter(
    data: FitData, weight: np.ndarray, scatter: np.ndarray | None = None
) -> np.ndarray:
    """X'LX of the data's pairs; see :func:`pairscore.core.sums.scatter_with_sides`."""
    return scatter_with_sides(data.X, data.item_moments.mean, data.pairs, weight, scatter)


def ridge_is_weak(l2: float, weight_unit: float) -> bool:
    """Whether the ridge is none, or too weak to hold coefficients back if data are separated."""
    return l2 <= WEAK_L2 * weight_unit


def data_hash(data: "Comparisons") -> str:
    """Of the comparisons with items numbered in the order in which they appear."""
    n, rows = len(data.items), 2 * np.arange(len(data))[::-1]
    seen = np.full((2, n), 2 * len(data))
    for number, side in enumerate((data.left, data.right)):
        seen[number, side[::-1]] = rows + number  # the first appearance is written last
    order = np.empty(n, dtype=np.int32)
    order[np.argsort(seen.min(axis=0), kind="stable")] = np.arange(n)
    digest = hashlib.sha256()
    for column in (order[data.left], order[data.right], data.outcome, data.weight, data.count):
        digest.update(b"-" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:32]


def agreement_and_noise(
    difference: np.ndarray,
    data: "Comparisons",
    law: OutcomeLaw,
    known: OutcomeSums | None = None,
) -> tuple[dict[str, Any], float | None]:
    """How the score and the comparisons agree; their log-likelihood, if it fell out.

    ``known`` are the sums of a pass at these differences, if the estimator made one.

    Returns
    -------
    agreement
        Share of decided comparisons that the score predicts correctly.
    noise
        Estimated share of decided comparisons that contradict the true order (the paper's p_e).
    tie_share
        Share of ties.
    """
    amount, total, is_tie = data.amount, total_of(data.amount), data.outcome == 0
    tied = float(amount[is_tie].sum()) if is_tie.any() else 0.0
    if known is None or tied:
        scaled = difference if law.scale == 1 else law.scale * difference
        known = outcome_pass(scaled, data.outcome, amount, law.rule.link)
    decided = known.decided
    if law.rule.has_parameter or decided == 0:  # all comparisons count, decided or not
        noise = law.share_flipped(np.abs(difference), amount)
    else:
        noise = share_of(known.wrong, decided)
    agreement = share_of(known.right, decided) if decided > 0 else float("nan")
    shares = {"agreement": agreement, "noise": noise, "tie_share": share_of(tied, total)}
    return shares, known.loglik if tied == 0 and law.scale == 1 else None
