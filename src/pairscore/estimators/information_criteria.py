"""The log-likelihood of a fit with AIC and BIC, or why it has none."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.ties import TieRule
from pairscore.errors import NoLikelihoodError, NotConvergedWarning, SeparationWarning
from pairscore.messages import Piece, Setting, either

if TYPE_CHECKING:
    from pairscore.core.differences import Differences
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.estimate import Estimate
    from pairscore.estimators.fit_data import FitData

# why a fit is at the maximum of no likelihood, and what to do about it
ROUNDING = 1e-12  # of a sum of amounts
CLOSED_FORM = "a closed form maximises no likelihood"
NO_MAXIMUM = "the comparisons are separated, so that the likelihood has no maximum"
RIDGE = "the ridge keeps the coefficients from the maximum"
SLOPES = "the slopes of judges are shrunk towards 1"
SIDES = "the sides of judges are shrunk towards 0"
ITEM_EFFECTS = "item effects are averaged over by an approximation"
WEIGHTS = "weights are not counts of comparisons"
HALF_WINS = "ties as half wins have a quasi-likelihood only"
NOT_REACHED = "the fit did not reach the maximum"
CRITERIA = ("loglik", "deviance", "df_model", "aic", "bic")
REMEDIES: dict[str, Piece] = {
    NO_MAXIMUM: "fit fewer parameters, or add comparisons",
    CLOSED_FORM: "fit with " + Setting("method", "mle"),
    RIDGE: "fit with " + Setting("l2", 0),
    SLOPES: "fit without " + Setting("judge_slopes"),
    SIDES: "fit with " + Setting("side_effect", True),
    ITEM_EFFECTS: "fit without " + Setting("item_effects"),
    WEIGHTS: "give counts in the column 'count', or leave the weights out",
    HALF_WINS: "fit with "
    + either([Setting("ties", rule) for rule in ("davidson", "rao-kupper", "drop")]),
    NOT_REACHED: "raise " + Setting("max_iter"),
}


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood of the comparisons at its maximum, or why there is none.

    ``value`` is the sum of log P(outcome) over ``n_comparisons`` single comparisons, of which no
    binomial coefficient is part; ``n_parameters`` are those that the data determine. ``data`` are
    the comparisons, or their hash (:attr:`data_hash`), which takes a pass of its own.
    """

    value: float | None
    n_parameters: int
    n_comparisons: float
    data: "Comparisons | str" = field(compare=False)
    reason: str = ""

    @property
    def data_hash(self) -> str:
        """Of the comparisons, whatever the items are called and whichever features they have."""
        return self.data if isinstance(self.data, str) else data_hash(self.data)

    def to_file(self) -> dict[str, Any]:
        """Plain values, from which it can be made again."""
        return vars(self) | {"data": self.data_hash}

    def refuse_none(self, what: Piece = "there is no log-likelihood") -> None:
        """Say in a sentence why there is none, or nothing that needs one, and what to do."""
        if self.value is None:
            # the reason in a model file of before may be worded in another way
            remedy = REMEDIES.get(self.reason, REMEDIES[CLOSED_FORM])
            raise NoLikelihoodError(what + f", because {self.reason}", remedy)

    @property
    def loglik(self) -> float:
        self.refuse_none()
        return self.value if self.value is not None else np.nan

    @property
    def df_model(self) -> int:
        """Coefficients, abilities and effects that the comparisons determine."""
        self.refuse_none()
        return self.n_parameters

    @property
    def deviance(self) -> float:
        """Minus twice the log-likelihood; a perfect prediction of each comparison has zero."""
        return -2 * self.loglik

    @property
    def aic(self) -> float:
        """Akaike's criterion: two for each parameter come on top of the deviance."""
        return self.deviance + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion: log(number of comparisons) for each parameter."""
        return self.deviance + float(np.log(self.n_comparisons)) * self.n_parameters

    def to_record(self) -> dict[str, float] | None:
        """Plain values, for JSON; None where there is no likelihood."""
        if self.value is None:
            return None
        return {name: getattr(self, name) for name in (*CRITERIA, "n_comparisons")}


def kept_likelihood(likelihood: Likelihood | None) -> Likelihood:
    """That of a model, which older model files do not have."""
    if likelihood is None:
        raise NoLikelihoodError(
            "the model was saved before log-likelihoods were kept; fit it again to have one."
        )
    return likelihood


def likelihood_of(
    data: "FitData", result: "Estimate", differences: "Differences", source: "Comparisons | str"
) -> Likelihood:
    """Of the comparisons that a fit is to, an item with itself left out.

    ``differences`` are all of them along the score, ``source`` is what they are known again by.
    """
    settings = result.settings
    number = 0.5 * float(data.tally.exposures.sum())
    none = Likelihood(
        value=None, n_parameters=0, n_comparisons=number / data.weight_unit, data=source
    )
    if settings.method != "mle":
        return replace(none, reason=no_likelihood(result, set(), False))
    if number < (1 - ROUNDING) * data.tally.n_comparisons:
        from pairscore.estimators.agreement import differences_along

        differences = differences_along(data, result, distinct=True)
    occurring = set(np.unique(differences.outcome[differences.amount > 0]).tolist())
    reason = no_likelihood(result, occurring, data.has_weights)
    n_parameters = result.determined.n_parameters + settings.choose_lapse
    found = replace(none, n_parameters=n_parameters, reason=reason)
    if reason:
        return found
    rule, tie = TieRule(settings.ties, settings.link), result.effects.tie_parameter
    log_chance = rule.derivatives(differences.x, differences.outcome, tie).value
    value = float(differences.amount @ log_chance) / data.weight_unit
    return replace(found, value=value)


def no_likelihood(result: "Estimate", outcomes: set[int], has_weights: bool) -> str:
    """Why a fit is at the maximum of no likelihood; empty if it is.

    ``outcomes`` are those of -1, 0 and 1 that occur.
    """
    settings = result.settings
    kinds = [type(note) for note in result.notes]
    if settings.method != "mle":
        return CLOSED_FORM
    one_sided = settings.side_effect and (outcomes <= {1} or outcomes <= {-1})
    checks = {
        NO_MAXIMUM: any(issubclass(kind, SeparationWarning) for kind in kinds) or one_sided,
        RIDGE: settings.ridge > 0,
        SLOPES: settings.judge_slopes,
        SIDES: settings.side_by_judge,
        ITEM_EFFECTS: settings.item_effects and not settings.free_abilities,
        WEIGHTS: has_weights,
        HALF_WINS: settings.ties == "half" and 0 in outcomes,
        NOT_REACHED: any(issubclass(kind, NotConvergedWarning) for kind in kinds),
    }
    return next((reason for reason, holds in checks.items() if holds), "")


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
