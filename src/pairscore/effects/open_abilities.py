"""Abilities of items that won, or lost, everything against the others: intervals that are open.

The difference of two items has a finite interval exactly if each can be reached from the other
along wins, ties counting both ways (Ford 1957): if both are in one strongly connected component of
the graph of wins. All comparisons of two components were won by the same one of them. At the
maximum of the likelihood, which is at infinity, they are certain, and tell nothing more (Geyer
2009). So abilities within a component are those of the comparisons within it alone, with their
errors. Scores are relative to the average of the main component, the one with most comparisons.

How far another component is above or below it only a prior says (a ridge of SEPARATION_L2 on each
of its items). Where it won comparisons with the main one, it lost none: the interval is open above,
and its low end is the place g at which these have the probability alpha / 2, alpha = 1 - level:

    sum n log P(win | eta + g) = log(alpha / 2)

With p_m the share of each comparison in the slope of that sum, the end moves by sum p_m theta_loser
- sum p_m (effects of the comparison), and by theta_i - sum p_m theta_winner within the component;
standard errors of these three parts are added up, which is never too little. Where it lost, that
holds with the signs changed. A component that met the main one only by way of others has no
interval; nor has any where judges have slopes, or where there is no main component. The interval of
the difference of two items of different components is that of the one less that of the other.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from pairscore.core.linear_systems import conjugate_gradients
from pairscore.core.optimise import Step, minimise, search_by_value
from pairscore.core.ties import TieRule
from pairscore.effects.comparison_effects import comparison_scores, effect_columns
from pairscore.effects.item_covariance import own_variance, shared_variance
from pairscore.effects.item_effects import WinComponents
from pairscore.effects.judges import judges_sharpness
from pairscore.effects.single_comparisons import scale_rows
from pairscore.estimators.estimate import Estimate
from pairscore.estimators.ridge import SEPARATION_L2
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData

if TYPE_CHECKING:
    from pairscore.model.fit import Fit

# An end is bracketed by doublings from 1, which reach beyond any number, and halved to the last
# bit, for all components at once.
DOUBLINGS, HALVINGS = 60, 80
# Newton's method for what a prior holds: its equations are solved up to SOLVED, and it ends one
# step after a gap of SMALLEST_GAP per comparison.
MAX_STEPS, SOLVED, SMALLEST_GAP = 100, 1e-8, 1e-13
MOST_SHARED = 4_000_000  # entries of a covariance that are looked up; beyond, errors are added up


def within_components(data: TableData, component: np.ndarray) -> TableData:
    """The comparisons within components alone, which have a maximum."""
    votes = data.comparisons
    inside = component[votes.left] == component[votes.right]
    part = replace(data, comparisons=votes[inside])
    vars(part)["weight_unit"] = data.weight_unit  # weights are those of all comparisons
    return part


def with_open_abilities(
    data: TableData, settings: Settings, fit: Estimate, component: np.ndarray
) -> Estimate:
    """The fit of what is within components, with the items of all components."""
    items, votes = fit.effects.items, data.comparisons
    assert items is not None  # without features every fit has them
    effects, judges = fit.effects.of_comparisons, fit.effects.judges
    ability, main = np.nan_to_num(items.effect), component == 0
    between = component[votes.left] != component[votes.right]
    certain = votes[between & (votes.amount > 0)]
    amount, sign = certain.amount, certain.outcome.astype(float)
    slope = judges_sharpness(certain, judges)
    won = np.where(sign > 0, certain.left, certain.right)
    lost = np.where(sign > 0, certain.right, certain.left)
    if main.any():
        ability = np.where(main, ability - ability[main].mean(), ability)
        eta = sign * comparison_scores(ability, certain, effects, judges)
        places = _Places(
            TieRule(settings.ties, settings.link),
            fit.effects.tie_parameter,
            eta,
            amount / data.weight_unit,
            _moves(component, won, lost, slope),
            *(
                np.bincount(component[component >= 0], of)[1:]
                for of in (ability[component >= 0], np.ones(np.count_nonzero(component >= 0)))
            ),
        )
        ability = ability + np.append(0.0, places.likeliest())[np.maximum(component, 0)]
    kept = replace(
        items,
        effect=np.where(component >= 0, ability, np.nan),
        std_error=np.where(main, items.std_error, np.nan),
        components=WinComponents(
            component,
            winner=won,
            loser=lost,
            amount=amount / data.weight_unit,
            beside=sign[:, None] * effect_columns(certain, effects, fit.side_effect, slope),
        ),
    )
    eta = comparison_scores(np.nan_to_num(ability), votes, effects, judges)
    return replace(
        fit,
        effects=replace(fit.effects, items=kept),
        predictor=replace(fit.predictor, of_comparisons=eta),
    )


def _moves(
    component: np.ndarray, won: np.ndarray, lost: np.ndarray, slope: np.ndarray
) -> sparse.csr_array:
    """How eta of each comparison's winner moves with the place of each other component (M x K)."""
    row = np.arange(len(won))
    entries = np.append(slope, -slope), (np.tile(row, 2), component[np.append(won, lost)])
    return sparse.csr_array(entries, shape=(len(won), component.max() + 1))[:, 1:]


class _LossAt(NamedTuple):
    """Loss and gradient at some places, and the information of each comparison."""

    loss: float
    gradient: np.ndarray
    information: np.ndarray


@dataclass(frozen=True)
class _Places:
    """Where a prior holds components: the largest sum n log P(win | eta + D g) less its penalty.

    The penalty is SEPARATION_L2 / 2 times the squared abilities of the items, of which ``total``
    and ``size`` (K) are sum and number.
    """

    rule: TieRule
    t: float
    eta: np.ndarray
    amount: np.ndarray
    D: sparse.csr_array
    total: np.ndarray
    size: np.ndarray

    def derivatives(self, g: np.ndarray) -> _LossAt:
        eta = self.eta + self.D @ g
        s = self.rule.derivatives(eta, np.ones(len(eta)), self.t)
        penalty = 0.5 * SEPARATION_L2 * float(g @ (self.size * g + 2 * self.total))
        pull = SEPARATION_L2 * (self.size * g + self.total)
        return _LossAt(
            penalty - float(self.amount @ s.value),
            pull - self.D.T @ (self.amount * s.eta),
            self.amount * np.maximum(s.eta_eta, 0.0),
        )

    def newton_step(self, g: np.ndarray, here: _LossAt, iteration: int) -> Step:
        H = self.D.T @ scale_rows(here.information, self.D)
        H = sparse.csr_array(H + SEPARATION_L2 * sparse.diags_array(self.size))
        right = here.gradient[:, None]
        direction = conjugate_gradients(H, right, close=SOLVED)[0][:, 0]
        gap = float(here.gradient @ direction) / max(float(self.amount.sum()), 1.0)
        return Step(direction, gap)

    def likeliest(self) -> np.ndarray:
        """By Newton's method, g (K)."""
        start = np.zeros(len(self.size))
        return minimise(self, start, MAX_STEPS, SMALLEST_GAP, search_by_value).params


# -- intervals -------------------------------------------------------------------------------------


def ability_ends(fit: "Fit", width: float) -> tuple[np.ndarray, np.ndarray]:
    """Low and high end (N) of the interval of every ability of a fit without features.

    ``width`` standard errors to either side; of those that only a prior holds as far as the
    comparisons say, else infinite. NaN of items that were not compared, and without inference.
    """
    effects = fit.item_effects
    assert effects is not None  # without features every fit has them
    error = (
        effects.std_error if fit.covariance is not None else np.full(len(effects.effect), np.nan)
    )
    low, high = effects.effect - width * error, effects.effect + width * error
    components = effects.components
    if components is None or fit.covariance is None:
        return low, high
    low[components.held], high[components.held] = -np.inf, np.inf
    if not np.any(components.of_item == 0) or fit.judges is not None:
        return low, high
    for sign, end in ((1.0, low), (-1.0, high)):
        rows, reach = _nearest_places(fit, components, sign, width)
        end[rows] = effects.effect[rows] + sign * reach
    return low, high


def _nearest_places(
    fit: "Fit", components: WinComponents, sign: float, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Items of components that won (or lost, ``sign`` -1) comparisons with the main one, and how
    far from their abilities, away from the main component, the nearest end of the interval is.
    """
    effects = fit.item_effects
    assert effects is not None
    component, won, lost = components.of_item, components.winner, components.loser
    own, others = (won, lost) if sign > 0 else (lost, won)
    used = np.flatnonzero((component[others] == 0) & (component[own] > 0))
    if not len(used):
        return used, np.empty(0)
    own, others = own[used], others[used]
    amount, beside = components.amount[used], components.beside[used]
    eta = effects.effect[won[used]] - effects.effect[lost[used]]
    if fit.effects is not None:
        eta = eta + beside @ np.nan_to_num(fit.effects.values)
    names, place = np.unique(component[own], return_inverse=True)
    rule, t = TieRule(fit.ties, fit.link), fit.tie_parameter or 0.0
    g = _place_of_probability(rule, t, eta, amount, place, float(np.log(ndtr(-width))))
    s = rule.derivatives(eta + g[place], np.ones(len(eta)), t, value=False)
    slope = amount * s.eta
    p = slope / np.bincount(place, slope)[place]
    along = np.zeros((len(names), beside.shape[1]))
    in_t = beside.copy()
    if fit.effects is not None and "tie" in fit.effects.kinds:
        in_t[:, fit.effects.kinds.index("tie")] = s.t / s.eta
    np.add.at(along, place, p[:, None] * in_t)
    of_effects = np.zeros(len(names))
    if fit.effects_covariance is not None:
        of_effects = np.sqrt(
            np.maximum(np.einsum("ij,ij->i", along @ fit.effects_covariance, along), 0.0)
        )
    error = _error_of_sums(fit, place, others, p, len(names)) + of_effects
    rows = np.flatnonzero(np.isin(component, names))
    of_row = np.searchsorted(names, component[rows])
    within = np.sqrt(own_variance(effects, rows))
    inside = np.bincount(place, p * np.sqrt(own_variance(effects, own)))
    alone = np.unique(component[rows], return_counts=True)[1][of_row] == 1
    error = error[of_row] + np.where(alone, 0.0, within + inside[of_row])
    reach = g[of_row] - width * error
    return rows, np.where(np.isfinite(reach), reach, -np.inf)


def _error_of_sums(
    fit: "Fit", place: np.ndarray, items: np.ndarray, p: np.ndarray, n: int
) -> np.ndarray:
    """Standard errors (n) of sums of the main component's abilities with weights p, by place."""
    effects = fit.item_effects
    assert effects is not None
    key, row = np.unique(place * np.int64(len(effects.effect)) + items, return_inverse=True)
    p = np.bincount(row, p)
    place, items = np.divmod(key, len(effects.effect))
    number = np.bincount(place, minlength=n)
    if float(np.sum(number.astype(float) ** 2)) > MOST_SHARED:
        return np.bincount(place, p * effects.std_error[items], n)
    start = np.cumsum(number) - number
    first = np.repeat(np.arange(len(place)), number[place])
    within = np.arange(len(first)) - (np.cumsum(number[place]) - number[place])[first]
    second = start[place[first]] + within
    shared = shared_variance(effects, items[first], items[second])
    shared = np.where(first == second, effects.std_error[items[first]] ** 2, shared)
    variance = np.bincount(place[first], p[first] * p[second] * shared, n)
    return np.sqrt(np.maximum(variance, 0.0))


def _place_of_probability(
    rule: TieRule, t: float, eta: np.ndarray, amount: np.ndarray, place: np.ndarray, log_tail: float
) -> np.ndarray:
    """g (one per place) with sum n log P(win | eta + g) = log_tail; minus infinity if too far."""
    n = int(place.max(initial=-1)) + 1

    def too_low(g: np.ndarray) -> np.ndarray:
        won = rule.derivatives(eta + g[place], np.ones(len(eta)), t).value
        return np.bincount(place, amount * won, n) < log_tail

    below, above = np.full(n, -1.0), np.full(n, 1.0)
    for _ in range(DOUBLINGS):
        down, up = ~too_low(below), too_low(above)
        if not np.any(down | up):
            break
        below, above = np.where(down, 2 * below, below), np.where(up, 2 * above, above)
    found = too_low(below) & ~too_low(above)
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        low = too_low(middle)
        below, above = np.where(low, middle, below), np.where(low, above, middle)
    return np.where(found, below, -np.inf)


def open_pair_ends(
    fit: "Fit", first: np.ndarray, second: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which pairs of items (rows of the fit) are of two components, and the ends of their
    differences: those of the two abilities, less each other.
    """
    effects = fit.item_effects
    if effects is None or effects.components is None or fit.covariance is None:
        nothing = np.full(len(first), np.nan)
        return np.zeros(len(first), dtype=bool), nothing, nothing
    low, high = ability_ends(fit, width)
    component = effects.components.of_item
    apart = component[first] != component[second]
    return apart, low[first] - high[second], high[first] - low[second]
