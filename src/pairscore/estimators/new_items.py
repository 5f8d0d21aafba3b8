"""What to expect of comparisons between new items, from the fit's own leverage.

Let the estimate solve sum_p u_p = 0 over pairs, with derivative -H. Without the comparisons of item
i it moves, by one step of Newton, to

    beta_(-i) = beta - H_(-i)^-1 t_i,    t_i = sum_{p with i} u_p,    H_(-i) = H - D_i'D_i,

D_i the rows that the item's pairs add to H. With a pair's row sqrt(w) (x_i - x_j) the inverse
follows from H^-1 by the formula of Woodbury, whose matrix has a row for each opponent of i. Where
items have groups, those of the whole group of i are left out: what a group has in common helps its
own items, and no new ones.
z_i'beta_(-i) is then the score of i by a fit that has not seen it, and the difference of two such
scores predicts a comparison of two new items: what j's results add to beta_(-i) does not lean
towards either of them. No fit is repeated.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairscore.core.amounts import times_amount
from pairscore.core.pair_graph import Pairs
from pairscore.core.row_blocks import centred_blocks
from pairscore.core.sandwich import PairContributions
from pairscore.core.ties import OutcomeLaw
from pairscore.display import plural
from pairscore.errors import ManyFeaturesWarning
from pairscore.estimators.agreement import score_differences
from pairscore.messages import Setting

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.estimate import Estimate, Note
    from pairscore.estimators.table_data import TableData

FEWEST_ITEMS = 10  # with fewer, leaving one out says little of new ones
ITEMS_PER_FEATURE = 10  # with more, new items do about as well as those of the fit
LARGEST_LEVERAGE = 1 - 1e-6  # of an item without which some direction is undetermined
MOST_PRODUCTS = 5e9  # multiplications for all items; beyond, some of the items are left out
LOST_ACCURACY = 0.1  # from the items of the fit to new ones, from which on there is a warning
LOST_LOSS = 0.1  # of log-loss above that of a coin, likewise
COIN_LOSS = float(np.log(2))


@dataclass(frozen=True)
class NewItems:
    """Expected on comparisons between two items that the fit has not seen.

    ``accuracy`` is the share of decided comparisons that agree with the score (in the fit:
    ``agreement``), ``log_loss`` the mean of -log P(winner); ``n_comparisons`` were looked at.
    """

    accuracy: float
    log_loss: float
    n_comparisons: float

    @property
    def in_words(self) -> str:
        return (
            f"about {self.accuracy:.1%} of their decided comparisons agree with the score,"
            f" log-loss {self.log_loss:.2f} (one item left out at a time; a coin: 50%,"
            f" {COIN_LOSS:.2f})"
        )

    def is_hopeless(self, agreement: float, chooses_ridge: bool) -> bool:
        """Whether new items do worse than a coin, or far worse than those of the fit.

        A ridge that was chosen for new items has the best of the probabilities there are.
        """
        loses = agreement - self.accuracy >= LOST_ACCURACY and not chooses_ridge
        return loses or self.log_loss >= COIN_LOSS + LOST_LOSS


def has_many_features(data: "TableData") -> bool:
    """Whether features are so many beside items that new items may do far worse."""
    groups = data.comparisons.item_groups
    n_units = data.n_items
    if groups is not None:
        n_units = min(n_units, len(np.unique(groups[data.compared])))
    enough = data.has_items and data.n_items >= FEWEST_ITEMS and n_units > 1
    return enough and n_units < ITEMS_PER_FEATURE * data.X.shape[1]


def many_features_note(
    n_features: int, n_items: int, expected: NewItems, agreement: float, chooses_ridge: bool
) -> "Note":
    """What is said where new items do far worse than the items of the fit."""
    other = "compare more items" if chooses_ridge else "fit with " + Setting("l2", "auto")
    text = (
        f"{plural(n_features, 'feature', verb='is')} many for {plural(n_items, 'compared item')}:"
        f" the score predicts {agreement:.1%} of the decided comparisons of the fit correctly,"
        f" but only about {expected.accuracy:.1%} of those between new items (log-loss"
        f" {expected.log_loss:.2f}; a coin has 50% and {COIN_LOSS:.2f})"
    )
    return ManyFeaturesWarning(text, [other, "use fewer features"])


def expect_of_new_items(
    data: "TableData", law: OutcomeLaw, estimate: "Estimate", sharpness: np.ndarray
) -> NewItems | None:
    """Accuracy and log-loss on new items, by leaving out each item of the fit once.

    Where items have groups (topics, patients), new ones are of new groups, and a group is left out.

    Parameters
    ----------
    data : TableData
    law : OutcomeLaw
        How a comparison ends.
    estimate : Estimate
        Without effects of items.
    sharpness : ndarray of shape (M,)
        Slope of the judge of every comparison; 1 without judges.

    Returns
    -------
    NewItems; None if no decided comparison is between two items that can be left out.
    """
    votes = data.comparisons
    W = estimate.determined.basis.transform[: data.X.shape[1]]
    if not W.size:  # no feature varies
        return None
    predictor = score_differences(data, estimate)
    if estimate.unscaled is None:
        factor = 1.0
        equations = _leave_out_likelihood(data, law, predictor, sharpness)
    else:
        W = W / np.sqrt(data.tally.n_comparisons)
        b = estimate.unscaled.coef
        factor = float(estimate.coef @ b / (b @ b)) if b.any() else 0.0
        equations = _leave_out_closed_form(data, estimate.settings.method, b)
    Y = np.empty((len(data.X), W.shape[1]))
    for rows, centred in centred_blocks(data.X, data.item_moments.mean):
        Y[rows] = centred @ W
    pull = factor * pulls_on_own_score(Y, *equations, _units(votes.item_groups))
    eta = predictor - sharpness * (pull[votes.left] - pull[votes.right])
    return _accuracy_and_loss(eta, votes, law)


def _units(groups: np.ndarray | None) -> np.ndarray | None:
    """Number the groups (N), of which negative ones are items alone."""
    if groups is None:
        return None
    alone = -1 - np.arange(len(groups))
    return np.unique(np.where(groups < 0, alone, groups), return_inverse=True)[1]


class LeaveOutEquations(NamedTuple):
    """What each of P pairs adds to the equations of an estimate, and to their derivative H.

    ``weight`` (P) comes with (x_i - x_j)(x_i - x_j)' if ``by_difference``, else with
    z_i z_i' + z_j z_j'.
    """

    pairs: Pairs
    u: PairContributions
    weight: np.ndarray
    by_difference: bool


def _leave_out_likelihood(
    data: "TableData", law: OutcomeLaw, predictor: np.ndarray, sharpness: np.ndarray
) -> LeaveOutEquations:
    """u_p = r_p (x_low - x_high), r the derivative of the log-likelihood in the difference.

    ``predictor`` (M) are differences of scores.
    """
    votes, pairs = data.comparisons, data.pairs
    here = law.rule.derivatives(predictor, votes.outcome.astype(float), law.t)
    apart = votes.left != votes.right
    pair = pairs.numbers_of(votes.left[apart], votes.right[apart])
    sign = np.where(votes.left < votes.right, 1.0, -1.0)  # of low, where it is left
    slope = times_amount(sharpness * sign * here.eta, data.amount)[apart]
    information = times_amount(sharpness**2 * here.eta_eta, data.amount)[apart]
    net = np.bincount(pair, slope, len(pairs.high))
    weight = np.bincount(pair, information, len(pairs.high))
    u = PairContributions(net, -net, np.empty((len(net), 0)))
    return LeaveOutEquations(pairs, u, weight, by_difference=True)


def _leave_out_closed_form(data: "TableData", method: str, b: np.ndarray) -> LeaveOutEquations:
    """Those of a closed form b; see :mod:`pairscore.estimators.closed_form_errors`."""
    from pairscore.estimators.closed_form_errors import residual_factors

    pairs = data.pairs
    scores = data.X @ b - data.item_moments.mean @ b
    u = PairContributions(*residual_factors(method, pairs, scores), np.empty((len(pairs.high), 0)))
    # the covariance of `split` does not come from the compared items
    weight = np.zeros(len(pairs.high)) if method == "split" else 0.5 * pairs.number
    return LeaveOutEquations(pairs, u, weight, by_difference=method == "paired")


def pulls_on_own_score(
    Y: np.ndarray,
    pairs: Pairs,
    u: PairContributions,
    weight: np.ndarray,
    by_difference: bool,
    unit: np.ndarray | None = None,
) -> np.ndarray:
    """How far each item's comparisons pull its own score: z_i'(beta - beta_(-i)), shape (N,).

    Items of one ``unit`` are left out together.

    Parameters
    ----------
    Y : array (N x r)
        Whitened features, Y = Z W with WW' = H^-1.
    pairs, u : Pairs and PairContributions
        What each of the P pairs adds to the equations.
    weight : array (P)
        What each pair adds to H: weight (x_i - x_j)(x_i - x_j)' if ``by_difference``, else
        weight (z_i z_i' + z_j z_j').
    unit : integer array (N) or None
        What each item belongs to, from 0; None where each is left out alone.

    Returns
    -------
    NaN for items without which some direction is undetermined, for items that were never compared,
    and, where all would take too long, for items that were not looked at.
    """
    low = np.repeat(np.arange(len(Y)), np.diff(pairs.start))
    unit = np.arange(len(Y)) if unit is None else unit
    unit_low, unit_high = unit[low], unit[pairs.high]
    by_low, by_high = (np.argsort(ends, kind="stable") for ends in (unit_low, unit_high))
    number = np.arange(unit.max(initial=-1) + 2)
    from_low = np.searchsorted(unit_low[by_low], number)
    from_high = np.searchsorted(unit_high[by_high], number)
    n_pairs = np.diff(from_low) + np.diff(from_high)
    items = np.argsort(unit, kind="stable")
    first_item = np.searchsorted(unit[items], number)
    pulls = np.full(len(Y), np.nan)
    for one in _units_to_leave_out(n_pairs, Y.shape[1]):
        as_high = by_high[from_high[one] : from_high[one + 1]]
        within = unit_low[as_high] == one  # is among those of low
        pair = np.concatenate([by_low[from_low[one] : from_low[one + 1]], as_high[~within]])
        at_low, at_high = Y[low[pair]], Y[pairs.high[pair]]
        pull = u.low[pair] @ at_low + u.high[pair] @ at_high
        root = np.sqrt(weight[pair])[:, None]
        if by_difference:
            rows = root * (at_low - at_high)
        else:
            rows = np.vstack([root * at_low, root * at_high])
        own = items[first_item[one] : first_item[one + 1]]
        pulls[own] = Y[own] @ _solve_without(rows, pull)
    return pulls


def _units_to_leave_out(n_pairs: np.ndarray, r: int) -> np.ndarray:
    """Those that were compared, or evenly spaced ones among them if all would take too long."""
    units = np.flatnonzero(n_pairs)
    products = float(np.sum(n_pairs * np.minimum(n_pairs, r) * float(r)))
    number = int(np.ceil(len(units) * min(MOST_PRODUCTS / max(products, 1.0), 1.0)))
    return units[np.unique(np.linspace(0, len(units) - 1, number).round().astype(int))]


def _solve_without(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(I - D'D)^-1 right, D the ``rows`` (k x r); NaN if that is not determined.

    Of fewer rows than columns by the formula of Woodbury, for 10 by 250 in a tenth of the time.
    """
    k, r = rows.shape
    values, vectors = np.linalg.eigh(rows @ rows.T if k < r else rows.T @ rows)
    if values[-1] > LARGEST_LEVERAGE:
        return np.full(r, np.nan)
    if k < r:  # Woodbury: I + D'(I - DD')^-1 D
        return right + rows.T @ (vectors @ ((vectors.T @ (rows @ right)) / (1 - values)))
    return vectors @ ((vectors.T @ right) / (1 - values))


def _accuracy_and_loss(eta: np.ndarray, votes: "Comparisons", law: OutcomeLaw) -> NewItems | None:
    """Of the decided comparisons with these differences, shape (M,), where they are known."""
    amount = votes.amount
    tested = (votes.outcome != 0) & (amount > 0) & np.isfinite(eta)
    if not tested.any():
        return None
    for_winner, weight = (eta * votes.outcome)[tested], amount[tested]
    loss, _, win = law.rule.probabilities(for_winner, law.t)
    chance = np.maximum(win / (win + loss), np.finfo(float).tiny)
    return NewItems(
        float(np.average(for_winner > 0, weights=weight)),
        float(np.average(-np.log(chance), weights=weight)),
        float(weight.sum()),
    )
