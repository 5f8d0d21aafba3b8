"""What could be wrong with a fit: pairs that are not random, and features too many for the items.

**Do the pairs look random?** Seeded, designed or matched pairs mislead methods that assume so.

**What to expect of comparisons between new items, from the fit's own leverage.**
Let the estimate solve sum_p u_p = 0 over pairs, with derivative -H. Without the comparisons of item
i it moves, by one step of Newton, to

    beta_(-i) = beta - H_(-i)^-1 t_i,    t_i = sum_{p with i} u_p,    H_(-i) = H - D_i'D_i,

D_i the rows that the item's pairs add to H. With a pair's row sqrt(w) (x_i - x_j) the inverse
follows from H^-1 by the formula of Woodbury, whose matrix has a row for each opponent of i.
z_i'beta_(-i) is then the score of i by a fit that has not seen it, and the difference of two such
scores predicts a comparison of two new items: what j's results add to beta_(-i) does not lean
towards either of them. No fit is repeated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtri, chndtrinc

from pairscore.core.links import chi_square_p
from pairscore.core.outcomes import OutcomeLaw
from pairscore.core.sandwich import PairContributions
from pairscore.core.sums import Moments, Pairs, aggregate_pairs, centred_blocks, pair_scatter
from pairscore.core.whitening import whitening_basis
from pairscore.errors import ManyFeaturesWarning, PairsNotRandomWarning, plural

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.fit_data import FitData
    from pairscore.estimators.results import Estimate, Note

SIGNIFICANCE = 1e-4  # random partners look otherwise in one of ten thousand studies
TOLERATED = 0.1  # a spread wrong by less than a tenth turns the score by little


@dataclass(frozen=True)
class Pairing:
    """How the observed differences compare with those of random pairs of the same items.

    ``narrowest`` and ``widest``: variance of the differences over that of random pairs, in the
    directions where it is smallest and largest (1 = random). ``p_value``: of the hypothesis that
    partners were drawn independently. ``reference_narrowest``, ``reference_widest``,
    ``reference_p_value``: the same for the items whose covariance the method takes against the
    compared items, each as often as it was compared. ``busiest``: exposures of the busiest item
    over the average. ``smallest_seen``: how far from 1 the variance ratio of one direction has to
    be for the test to see it 8 times out of 10; NaN in models of before.
    """

    narrowest: float
    widest: float
    p_value: float
    reference_narrowest: float
    reference_widest: float
    reference_p_value: float
    busiest: float
    smallest_seen: float = np.nan

    @property
    def partners_random(self) -> bool:
        return self.p_value > SIGNIFICANCE or max(1 - self.narrowest, self.widest - 1) < TOLERATED

    @property
    def reference_fits(self) -> bool:
        return self.reference_p_value > SIGNIFICANCE or (
            self.reference_narrowest > 1 / 1.5 and self.reference_widest < 1.5
        )

    @property
    def looks_random(self) -> bool:
        return self.partners_random and self.reference_fits

    @property
    def in_words(self) -> str:
        if not self.partners_random:
            alike = 1 - self.narrowest > self.widest - 1
            kind, ratio = ("alike", self.narrowest) if alike else ("unlike each other", self.widest)
            return (
                f"The pairs do not look random: items that meet are {kind} (in one direction,"
                f" differences have {ratio:.2f} times the variance of random pairs)."
            )
        if not self.reference_fits:
            return (
                "The compared items, weighted by how often they were compared, are not spread"
                " like the items that the covariance is from (variance ratios from"
                f" {self.reference_narrowest:.2f} to {self.reference_widest:.2f})."
            )
        return (
            f"No sign that the pairs are not random.{self._seen} The busiest item was compared"
            f" {self.busiest:.1f} times as often as the average one."
        )

    @property
    def _seen(self) -> str:
        """What the test would have seen."""
        if np.isnan(self.smallest_seen):
            return ""
        if self.smallest_seen >= 1:
            return " There are too few comparisons to detect a deviation."
        return (
            " It would have been detected 8 times out of 10 if the variance of differences in"
            f" some direction were off by {100 * self.smallest_seen:.0f} % or more."
        )


def check_pairing(X: np.ndarray, pairs: Pairs, compared: Moments, reference: Moments) -> Pairing:
    """Compare the difference covariance with the item covariance, and both with the method's.

    In whitened coordinates let C = sum_p n_p (z_low z_high' + z_high z_low') / 2M. If partners are
    drawn independently, E C = 0, and |C|^2 M^2 over the squared number of comparisons of each draw
    has mean d(d+1)/2 and is about chi-squared; pairs that met again by chance were draws of their
    own. The variance of differences over that of random pairs has the eigenvalues of I - C.

    Parameters
    ----------
    X, pairs : features (N x d) and Pairs
    compared : Moments
        Of the items as often as they were compared.
    reference : Moments
        Of the items whose covariance the method takes; ``compared`` for all but `split`.
    """
    number, mean = pairs.number, compared.mean
    scatter = pair_scatter(X, mean, pairs, np.zeros(len(X)), number)
    exposures, squares = pairs.item_sums(number, number), float(np.sum(number**2))
    fourth = partial(fourth_power, X, exposures, mean)
    return pairing_of(fourth, scatter, squares, exposures, compared, reference)


def pairing_of(
    fourth: Callable[[np.ndarray], float],
    scatter: np.ndarray,
    squares: float,
    exposures: np.ndarray,
    compared: Moments,
    reference: Moments,
) -> Pairing:
    """The same from :func:`fourth_power`, 2M C (``scatter``), sum_p n_p^2 and exposures (N)."""
    m = 0.5 * float(exposures.sum())
    whitener = np.sqrt(compared.total) * whitening_basis(compared.scatter, compared.sd).transform
    busiest = float(exposures.max() / exposures[exposures > 0].mean())
    if (r := whitener.shape[1]) == 0:  # no feature varies, so pairs look random
        return Pairing(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, busiest)
    cross = whitener.T @ scatter @ whitener / (2 * m)
    by_chance = 2 * np.sum((exposures / exposures.sum()) ** 2) ** 2 * m**2
    draws = max(squares - by_chance, 0.1 * squares)
    statistic = float(np.sum(cross**2)) * m**2 / draws
    partners = _ratios_and_p_value(np.eye(r) - cross, statistic)
    # two sample covariances of n and n' items: the squared logarithms of their ratios sum to about
    # (1/n + 1/n') (E|z|^4 - d), d(d+1) if normal
    tails = 1.0
    if reference is not compared:
        tails = max((0.5 * fourth(whitener) / m - r) / (r * (r + 1)), 1.0)
    noise = tails * (np.sum(exposures**2) / np.sum(exposures) ** 2 + 1 / reference.total)
    other = whitener.T @ reference.covariance @ whitener
    logs = np.log(np.maximum(np.linalg.eigvalsh(other), 1e-300))
    return Pairing(
        *partners,
        *_ratios_and_p_value(other, 0.5 * float(np.sum(logs**2)) / noise),
        busiest,
        _smallest_seen(r, draws / m**2),
    )


def pairing_note(pairing: Pairing, method: str) -> "list[Note]":
    """What a closed form that takes pairs for random ones says of others."""
    text = f"{pairing.in_words} method={method!r} assumes random pairs; use 'paired' or 'mle'."
    is_right = method == "paired" or pairing.looks_random
    return [] if is_right else [(PairsNotRandomWarning, text)]


def _smallest_seen(r: int, variance: float) -> float:
    """The eigenvalue of C in one direction that the test sees 8 times out of 10.

    It adds its square over ``variance`` to the chi-squared statistic of r(r+1)/2 degrees of
    freedom; a spread that is off by less than TOLERATED is let go.
    """
    freedom = r * (r + 1) / 2
    added = float(chndtrinc(chdtri(freedom, SIGNIFICANCE), freedom, 0.2))
    return max(float(np.sqrt(added * variance)), TOLERATED)


def _ratios_and_p_value(ratio: np.ndarray, statistic: float) -> tuple[float, float, float]:
    """Smallest and largest eigenvalue of a matrix of variance ratios (r x r), and its p-value."""
    values, r = np.linalg.eigvalsh(ratio), len(ratio)
    return max(float(values[0]), 0.0), float(values[-1]), chi_square_p(statistic, r * (r + 1) / 2)


def fourth_power(
    X: np.ndarray, weight: np.ndarray, mean: np.ndarray, whitener: np.ndarray
) -> float:
    """The sum of weight |z|^4 of whitened items; it says how noisy their sample covariance is."""
    return sum(
        float(weight[rows] @ np.sum((z @ whitener) ** 2, axis=1) ** 2)
        for rows, z in centred_blocks(X, mean)
    )


TEST_LEVEL = 0.05  # p-value up to which item_effects="auto" uses item effects
HARDLY_SEEN = 75.0  # wins of 100: a test that sees larger effects of items only hardly sees any
SMALLEST_P = 1e-4  # p-values below are all shown as this one


@dataclass(frozen=True)
class ItemEffectsTest:
    """Whether items differ beyond their features: what ``item_effects="auto"`` goes by.

    ``p_value`` is that of no effects, at the fit without them. An effect of the standard deviation
    ``smallest_seen`` would have been seen 8 times out of 10; an item so much better than another
    with the same features wins ``wins_of_100``. Where there is no test these are NaN, and
    ``reason`` says why. ``estimate_is_zero`` where the test sees effects, but the likeliest size of
    them is zero, so that none are used.
    """

    p_value: float = np.nan
    smallest_seen: float = np.nan
    wins_of_100: float = np.nan
    reason: str = ""
    estimate_is_zero: bool = False

    @property
    def used(self) -> bool:
        return self.p_value <= TEST_LEVEL and not self.estimate_is_zero

    @property
    def in_words(self) -> str:
        if self.reason:
            return f"not used, because {self.reason}; item effects could not have been detected"
        if self.used:
            return f"used, because items differ beyond their features ({p_in_words(self.p_value)})"
        seen = f"({p_in_words(self.p_value)})"
        if self.estimate_is_zero:
            why = "their estimated size is zero, although a test points to some"
            return f"not used, because {why} {seen}"
        if np.isfinite(self.smallest_seen):
            size = f"a standard deviation of {self.smallest_seen:.2g}"
            seen += f"; {size} would have been detected 8 times out of 10"
        if self.wins_of_100 > HARDLY_SEEN:
            return f"not used, because comparisons are too few to detect any but large ones {seen}"
        return f"not used, because there is no sign that items differ beyond their features {seen}"


def p_in_words(p: float) -> str:
    """A p-value as it stands in a sentence."""
    return f"p < {SMALLEST_P:.4f}" if p < SMALLEST_P else f"p = {p:.2g}"


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


def has_many_features(data: "FitData") -> bool:
    """Whether features are so many beside items that new items may do far worse."""
    enough = data.has_items and data.n_items >= FEWEST_ITEMS
    return enough and data.n_items < ITEMS_PER_FEATURE * data.X.shape[1]


def many_features_note(
    n_features: int, n_items: int, expected: NewItems, agreement: float, chooses_ridge: bool
) -> "Note":
    """What is said where new items do far worse than the items of the fit."""
    remedy = "use fewer features or compare more items"
    if not chooses_ridge:
        remedy = "choose a ridge with l2='auto', or use fewer features"
    text = (
        f"{plural(n_features, 'feature', verb='is')} many for {plural(n_items, 'compared item')}:"
        f" the score predicts {agreement:.1%} of the decided comparisons of the fit correctly,"
        f" but only about {expected.accuracy:.1%} of those between new items (log-loss"
        f" {expected.log_loss:.2f}; a coin has 50% and {COIN_LOSS:.2f}); {remedy}."
    )
    return ManyFeaturesWarning, text


def expect_of_new_items(
    data: "FitData", method: str, law: OutcomeLaw, estimate: "Estimate", sharpness: np.ndarray
) -> NewItems | None:
    """Accuracy and log-loss on new items, by leaving out each item of the fit once.

    Parameters
    ----------
    data, method, estimate : FitData, name of the method, Estimate
        Without effects of items.
    law : OutcomeLaw
        How a comparison ends.
    sharpness : ndarray of shape (M,)
        Slope of the judge of every comparison; 1 without judges.

    Returns
    -------
    NewItems; None if no decided comparison is between two items that can be left out.
    """
    votes, W = data.comparisons, estimate.basis.transform[: data.X.shape[1]]
    if not W.size:  # no feature varies
        return None
    if method == "mle":
        factor = 1.0
        equations = _likelihood_equations(data, law, estimate, sharpness)
    else:
        W = W / np.sqrt(data.tally.n_comparisons)
        b = estimate.closed_form_coef
        assert b is not None
        factor = float(estimate.coef @ b / (b @ b)) if b.any() else 0.0
        equations = _closed_form_equations(data, method, b)
    Y = np.empty((len(data.X), W.shape[1]))
    for rows, centred in centred_blocks(data.X, data.item_moments.mean):
        Y[rows] = centred @ W
    pull = factor * pulls_on_own_score(Y, *equations)
    eta = estimate.difference - sharpness * (pull[votes.left] - pull[votes.right])
    return _accuracy_and_loss(eta, votes, data.amount, law)


Equations = tuple[Pairs, PairContributions, np.ndarray, bool]


def _likelihood_equations(
    data: "FitData", law: OutcomeLaw, estimate: "Estimate", sharpness: np.ndarray
) -> Equations:
    """u_p = r_p (x_low - x_high), r the derivative of the log-likelihood in the difference."""
    votes, amount, n = data.comparisons, data.amount, len(data.X)
    here = law.rule.derivatives(estimate.difference, votes.outcome.astype(float), law.t)
    slope, information = sharpness * here.eta, sharpness**2 * here.eta_eta
    pairs = aggregate_pairs(votes.left, votes.right, slope, amount, n)
    weight = aggregate_pairs(votes.left, votes.right, 0.0 * slope, amount * information, n).number
    net = pairs.win[0] - pairs.lose[0]
    return pairs, PairContributions(net, -net, np.empty((len(net), 0))), weight, True


def _closed_form_equations(data: "FitData", method: str, b: np.ndarray) -> Equations:
    """Those of a closed form b (see :func:`~pairscore.estimators.inference.contributions`)."""
    pairs = data.pairs
    score = data.X @ b - data.item_moments.mean @ b
    net = (pairs.win - pairs.lose).sum(axis=0)
    low, high = net, -net
    if method == "paired":
        low = net - 0.5 * pairs.number * pairs.differences(score)
        high = -low
    elif method == "pooled":
        low = net - 0.5 * pairs.number * score[pairs.low]
        high = -net - 0.5 * pairs.number * score[pairs.high]
    # the covariance of `split` does not come from the compared items
    weight = 0.0 * net if method == "split" else 0.5 * pairs.number
    return pairs, PairContributions(low, high, np.empty((len(net), 0))), weight, method == "paired"


def pulls_on_own_score(
    Y: np.ndarray, pairs: Pairs, u: PairContributions, weight: np.ndarray, by_difference: bool
) -> np.ndarray:
    """How far each item's comparisons pull its own score: z_i'(beta - beta_(-i)), shape (N,).

    Parameters
    ----------
    Y : array (N x r)
        Whitened features, Y = Z W with WW' = H^-1.
    pairs, u : Pairs and PairContributions
        What each of the P pairs adds to the equations.
    weight : array (P)
        What each pair adds to H: weight (x_i - x_j)(x_i - x_j)' if ``by_difference``, else
        weight (z_i z_i' + z_j z_j').

    Returns
    -------
    NaN for items without which some direction is undetermined, for items that were never compared,
    and, where all would take too long, for items that were not looked at.
    """
    first_high, low_items, order = pairs.by_high
    n_pairs = np.diff(pairs.start) + np.diff(first_high)
    pulls = np.full(len(Y), np.nan)
    for item in _items_to_leave_out(n_pairs, Y.shape[1]):
        as_low = slice(pairs.start[item], pairs.start[item + 1])
        as_high = slice(first_high[item], first_high[item + 1])
        place = order[as_high]
        own = u.low[as_low].sum() + u.high[place].sum()
        theirs = np.concatenate([u.high[as_low], u.low[place]])
        root = np.sqrt(np.concatenate([weight[as_low], weight[place]]))
        others = Y[np.concatenate([pairs.high[as_low], low_items[as_high]])]
        pull = own * Y[item] + theirs @ others
        rows = root[:, None] * ((Y[item] - others) if by_difference else others)
        if not by_difference:
            rows = np.vstack([rows, np.linalg.norm(root) * Y[item]])
        pulls[item] = Y[item] @ _solve_without(rows, pull)
    return pulls


def _items_to_leave_out(n_pairs: np.ndarray, r: int) -> np.ndarray:
    """The items that were compared, or evenly spaced ones among them if all would take too long."""
    items = np.flatnonzero(n_pairs)
    products = float(np.sum(n_pairs * np.minimum(n_pairs, r) * float(r)))
    number = int(np.ceil(len(items) * min(MOST_PRODUCTS / max(products, 1.0), 1.0)))
    return items[np.unique(np.linspace(0, len(items) - 1, number).round().astype(int))]


def _solve_without(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(I - D'D)^-1 right, D the ``rows`` (k x r); NaN if that is not determined."""
    k, r = rows.shape
    values, vectors = np.linalg.eigh(rows @ rows.T if k < r else rows.T @ rows)
    if values[-1] > LARGEST_LEVERAGE:
        return np.full(r, np.nan)
    if k < r:  # Woodbury: I + D'(I - DD')^-1 D
        return right + rows.T @ (vectors @ ((vectors.T @ (rows @ right)) / (1 - values)))
    return vectors @ ((vectors.T @ right) / (1 - values))


def _accuracy_and_loss(
    eta: np.ndarray, votes: "Comparisons", amount: np.ndarray, law: OutcomeLaw
) -> NewItems | None:
    """Of the decided comparisons with these differences, shape (M,), where they are known."""
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
