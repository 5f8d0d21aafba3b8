"""The law of items' effects: none, free abilities, or normal with a variance that is estimated.

Each fits the coefficients and the effects together, for slopes of judges as they are, and says what
was found as a :class:`JointFit`.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pairscore.effects.context import with_projection
from pairscore.effects.design import PreparedFit
from pairscore.effects.expectation_propagation import (
    SOLVED,
    Posterior,
    near_posterior,
    propagate,
    start_posterior,
)
from pairscore.effects.item_covariance import (
    lasting_covariance,
)
from pairscore.effects.item_effects import FEWEST_ITEMS
from pairscore.effects.item_variance import (
    PRECISION,
    ItemVariance,
    VarianceSearch,
    approach_variance,
    corrected_for_coefficients,
    fit_item_variance,
    variance_interval,
)
from pairscore.effects.judge_slopes import Slopes
from pairscore.effects.maximum import RowsMaximum, endless, maximise_rows
from pairscore.effects.separated_maximum import HeldMaximum
from pairscore.effects.single_comparisons import SingleComparisons
from pairscore.effects.variance_score import n_shared
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData

AT_MAXIMUM = 1e-7  # as `close` of sweeps to a maximum: the next step, which squares it, is rounding
# items that met two opponents, less what features tell of them: two have one difference, and no
# variance
FEWEST_ABILITIES = 3
RUNAWAY = 100.0  # eta, on average, of scores without a size: strong effects have a third of it


@dataclass(frozen=True)
class JointFit:
    """What was found: the posterior, slopes and sigma^2 where there are any.

    ``alone`` and ``top`` are the fits without effects of items, and without and with what context
    and side have of them (``is_projected``); ``endless`` if some effect of comparisons has no
    finite size.
    """

    held: HeldMaximum
    post: Posterior
    alone: RowsMaximum
    top: RowsMaximum
    endless: bool
    is_projected: bool = False
    variance: ItemVariance | None = None
    slopes: Slopes | None = None
    settled: bool = True

    @property
    def prepared(self) -> PreparedFit:
        return self.held.prepared

    @property
    def n_projected(self) -> int:
        """Columns of the items that stand for what context and side have of them."""
        return len(self.post.rows.mean) - len(self.prepared.rows.mean)

    def without_projected(self, vector: np.ndarray) -> np.ndarray:
        """(coef, effects, t) of theta, or rows and columns of a matrix in it."""
        d = len(self.prepared.rows.mean)
        kept = np.delete(np.arange(len(self.post.theta)), np.s_[d : d + self.n_projected])
        return vector[kept] if vector.ndim == 1 else vector[np.ix_(kept, kept)]


class ItemLaw(Protocol):
    """How effects of items are fitted beside theta, with judges' slopes as the rows have them."""

    def start(self) -> Posterior:
        """Before the first sweep."""
        ...

    def fit(self, post: Posterior) -> Posterior:
        """Theta and the effects, from a posterior near theirs."""
        ...

    def first_fit(self) -> Posterior:
        """The same from the start, or from an earlier fit."""
        ...

    def has_no_common_order(self, post: Posterior) -> bool:
        """Whether scores run off, so that slopes of judges have nothing to be measured by."""
        ...

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        """What was found; ``slopes`` have stepped since the last fit, if there are any."""
        ...


@dataclass(frozen=True)
class NoItemEffects:
    """Items have no effects beyond their features."""

    held: HeldMaximum

    def start(self) -> Posterior:
        top = self.held.top
        return start_posterior(self.held.prepared.rows, top.theta, 0.0, basis=top.basis)

    def fit(self, post: Posterior) -> Posterior:
        return propagate(post, 0.0)

    def first_fit(self) -> Posterior:
        return self.start()  # at the maximum

    def has_no_common_order(self, post: Posterior) -> bool:
        return False

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        post = post if slopes is None else self.fit(post)
        return JointFit(self.held, post, self.held.alone, self.held.top, self.held.endless)


@dataclass(frozen=True)
class FreeAbilities:
    """Abilities of items at the maximum of the likelihood: with a ridge 1 / sigma^2, or without a
    law (sigma^2 infinite).
    """

    held: HeldMaximum
    sigma2: float
    has_slopes: bool

    def start(self) -> Posterior:
        rows, theta = self.held.prepared.rows, self.held.top.theta
        # slopes of judges need variances, else products with V will do, and none is formed
        exact_items = None if self.has_slopes else 0
        return start_posterior(rows, theta, self.sigma2, averaged=False, exact_items=exact_items)

    def fit(self, post: Posterior) -> Posterior:
        return propagate(post, self.sigma2, AT_MAXIMUM)

    def first_fit(self) -> Posterior:
        return self.fit(near_posterior(self.start(), self.held.prepared))

    def has_no_common_order(self, post: Posterior) -> bool:
        return False

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        post = post if slopes is None else self.fit(post)
        if len(post.theta):
            post = post.with_information(SOLVED)
        covariance = lasting_covariance(post.rows.pairs, post.pair_information, self.sigma2)
        post = replace(post, covariance=covariance)
        converged = post.step_size < AT_MAXIMUM
        top = RowsMaximum(self.held.top.theta, post.basis, post.n_sweeps, converged)
        is_endless = self.held.endless or endless(post.rows, top)
        return JointFit(self.held, post, top, top, is_endless)


@dataclass
class NormalEffects:
    """Effects of items u ~ N(0, sigma^2), sigma^2 by maximum likelihood.

    The items of ``rows`` have what context and side have of them as further features, and ``top``
    is the maximum without effects. ``search`` is that of the last fit.
    """

    held: HeldMaximum
    rows: SingleComparisons
    top: RowsMaximum
    choose_ridge: bool
    is_projected: bool
    search: VarianceSearch | None = None

    @classmethod
    def of(cls, held: HeldMaximum, settings: Settings) -> "NormalEffects":
        rows, top = held.prepared.rows, held.top
        is_projected = rows.context.shape[1] + rows.sides.shape[1] > 0
        if is_projected:
            d = len(rows.mean)
            rows = with_projection(rows)
            start = np.insert(top.theta, d, np.zeros(len(rows.mean) - d))
            top = maximise_rows(rows, start, settings.max_iter, settings.tol)
        rows = rows.with_sure_ties(top.theta)
        return cls(held, rows, top, settings.choose_l2, is_projected)

    def start(self) -> Posterior:
        return start_posterior(self.rows, self.top.theta, 0.0, basis=self.top.basis)

    def fit(self, post: Posterior) -> Posterior:
        search = approach_variance(post)
        if self.choose_ridge:
            rows = replace(search.post.rows, ridge=self.rows.ridge)
            rows = with_ridge_for_effects(rows, self.top.theta, search.post)
            search = VarianceSearch(replace(search.post, rows=rows))
        self.search = search
        return search.post

    def first_fit(self) -> Posterior:
        return self.fit(near_posterior(self.start(), self.held.prepared))

    def has_no_common_order(self, post: Posterior) -> bool:
        return float(np.mean(post.eta**2)) > RUNAWAY**2

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        search = self.search
        if search is None or slopes is not None:  # its scores are those of other slopes
            search = VarianceSearch(post)
        post = fit_item_variance(search)
        likeliest = variance_interval(post, search)
        variance = corrected_for_coefficients(post, likeliest)
        # a smaller correction is not worth other sweeps
        noticed = variance.sigma2 > (1 + PRECISION) * likeliest.sigma2
        post = propagate(post, variance.sigma2 if noticed else likeliest.sigma2)
        joint = JointFit(self.held, post, self.held.alone, self.top, self.held.endless)
        return replace(joint, variance=variance, is_projected=self.is_projected)


def law_of_items(data: TableData, settings: Settings, held: HeldMaximum) -> ItemLaw:
    """What the settings say of items' effects, as far as the comparisons allow."""
    if settings.free_abilities:
        sigma2 = data.weight_unit / settings.ridge if settings.ridge else np.inf
        return FreeAbilities(held, sigma2, settings.judge_slopes)
    rows = held.prepared.rows
    d = len(rows.mean)
    number = n_shared(rows)
    # of few items, features that tell all of them apart leave nothing for effects
    left = number - 1 - np.count_nonzero(~held.top.basis.undetermined[:d]) if d else number
    if (
        settings.item_effects
        and (number >= FEWEST_ITEMS or left >= FEWEST_ABILITIES)
        and (not held.endless)
    ):
        return NormalEffects.of(held, settings)
    return NoItemEffects(held)


def with_ridge_for_effects(
    rows: SingleComparisons, theta: np.ndarray, post: Posterior
) -> SingleComparisons:
    """The ridge on coefficients that holds back as much beside effects as it did without them.

    Beside effects, coefficients are longer and comparisons say less of each; the ridge is to what
    they say as it was to what they said at ``theta``, the fit for which it was chosen.
    """
    d, ridge, s = len(rows.mean), rows.ridge.copy(), post.derivatives
    borders = rows.item_borders(s)
    beside = rows.information(s, borders) - borders.T @ post.covariance.times(borders) - ridge
    held = np.where(np.diag(ridge)[:d] > 0, np.diag(ridge)[:d], np.inf)
    with_effects, without = (
        float(np.sum(np.diag(information)[:d] / held))
        for information in (beside, rows.information(rows.derivatives(theta)) - ridge)
    )
    ridge[:d, :d] *= min(max(with_effects, 0.0) / max(without, float(np.finfo(float).tiny)), 1.0)
    return replace(rows, ridge=ridge)
