"""A fit: everything that a model keeps of it."""

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.links import Link
from pairscore.core.significance import interval_width
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.core.whitening import OPEN_SHARE
from pairscore.effects.comparison_effects import Effects
from pairscore.effects.item_effects import ItemEffects, ItemEffectsTest
from pairscore.effects.judges import Judges
from pairscore.errors import PairscoreError
from pairscore.estimators.settings import Settings, Wording
from pairscore.messages import Setting

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.estimate import Note
    from pairscore.estimators.information_criteria import Likelihood
    from pairscore.estimators.lapse import LapseRate
    from pairscore.estimators.new_items import NewItems
    from pairscore.estimators.random_pairs import Pairing
    from pairscore.estimators.ridge_choice import RidgeCurve
    from pairscore.estimators.separation import Recession

# what to do where a model does not have the comparisons of its fit
KEEP_THE_DATA = (
    "fit it to items and comparisons, and save it with "
    + Setting("data", True)
    + " if it goes through a file"
)


@dataclass(frozen=True, eq=False)
class FeatureFacts:
    """Features of the compared items: names, None where nobody said, and of the values mean,
    standard deviation, smallest and largest, each of shape (d,).
    """

    mean: np.ndarray
    sd: np.ndarray
    min: np.ndarray
    max: np.ndarray
    names: tuple[str, ...] | None = None

    @property
    def unit(self) -> np.ndarray:
        """Standard deviation of every feature; one where it is constant, shape (d,)."""
        return np.where(self.sd > 0, self.sd, 1.0)


@dataclass(frozen=True, eq=False)
class OpenCoefficients:
    """Coefficients that the data do not determine.

    ``undetermined`` is a mask, shape (d,), and ``directions`` (d, k) are those along which any
    amount fits equally well. The compared items fall into ``n_groups`` that no comparison connects
    along such a direction (see :mod:`pairscore.model.open_directions`): scores and ranks hold
    within a group.
    """

    undetermined: np.ndarray
    directions: np.ndarray
    n_groups: int = 1


@dataclass(frozen=True)
class OutcomeFacts:
    """How comparisons end beside the score.

    ``agreement`` is the share of decided comparisons that agree with the score, ``noise`` the
    estimated share of decided ones that contradict the true order, ``tie_share`` the share of ties;
    NaN where nothing tells. ``decided_scale`` is what score differences are multiplied by for
    chances of decided comparisons: 1 without ties, and in models saved before it was estimated.
    """

    agreement: float
    noise: float
    tie_share: float
    decided_scale: float = 1.0


@dataclass(frozen=True)
class PanelFacts:
    """What is known of the judges, and for which judges intervals hold; models saved before it was
    kept know nothing.

    ``df_error`` has the degrees of freedom of Student's law, by which intervals and tests go that
    allow for other judges: one less than the judges, as if they were equally busy; None for the
    normal law. ``interval_scope`` says what intervals do, in words: allow for other judges, or hold
    for those of the comparisons; empty where nobody knows who judged. ``tastes`` and ``agreement``
    are those of :mod:`pairscore.effects.judge_tastes` and :mod:`pairscore.effects.judge_agreement`.
    """

    df_error: float | None = None
    interval_scope: str = ""
    tastes: dict[str, Any] = field(default_factory=dict)
    agreement: dict[str, dict[str, Any]] = field(default_factory=dict)


# Where a fit has what models and their files keep under these names: the part, and its field.
KEPT_IN_PARTS = {
    "feature_names": ("features", "names"),
    "feature_mean": ("features", "mean"),
    "feature_sd": ("features", "sd"),
    "feature_min": ("features", "min"),
    "feature_max": ("features", "max"),
    "undetermined": ("open", "undetermined"),
    "open_directions": ("open", "directions"),
    "n_groups": ("open", "n_groups"),
    "agreement": ("outcomes", "agreement"),
    "noise": ("outcomes", "noise"),
    "tie_share": ("outcomes", "tie_share"),
    "decided_scale": ("outcomes", "decided_scale"),
    "df_error": ("panel", "df_error"),
    "interval_scope": ("panel", "interval_scope"),
    "judge_tastes": ("panel", "tastes"),
    "judge_agreement": ("panel", "agreement"),
}


@dataclass(frozen=True, eq=False)
class Fit:
    """Everything that a model keeps of its fit: stated here, and nowhere else.

    ``RankRegression`` has each value as an attribute with an underscore behind the name under which
    it is kept, and a model file holds each under that name: the name of the field, or, of a field
    of one of the four parts, the one in ``KEPT_IN_PARTS``.

    Attributes
    ----------
    settings : Settings
        With the ridge that was chosen and the intervals that were possible.
    coef, std_errors : ndarray of shape (d,)
        Coefficients on the link's scale in the user's units; NaN errors for what the data do not
        determine.
    features : FeatureFacts
        Names and spread of the compared items' features.
    open : OpenCoefficients
        What the data do not determine.
    outcomes : OutcomeFacts
        How far comparisons agree with the score, and ties.
    panel : PanelFacts
        Judges, and for whom intervals hold.
    covariance, effects_covariance : ndarray of shape (d, d), and (d + k, k), or None
        Of the coefficients; of the k ``effects``, or the side effect, with these and each other.
    n_items : int or None
        How many items were compared; None for a fit to plain differences.
    n_comparisons : float
        How many there are: the counts of all with a positive weight.
    new_items : NewItems or None
        Accuracy and log-loss to expect of new items, where features are many beside items.
    guard : float
        Factor below 1 by which a closed form's scale is held back when it would overfit.
    context_of_items : dict
        By name of a context column, and ``left`` for the side: how much of it varies within items
        (``rest``), whether it is related to them (``p_value``), and what to say of it.
    record : dict
        Versions, fingerprint of the data (None until :attr:`full_record`), seed and command.
    fitted_scores : ndarray of shape (2, k) or None
        Scores of the compared items, lowest first, with their errors; k is 5000 at most.
    likelihood : Likelihood or None
        The log-likelihood of the comparisons, or why there is none.
    wording : Wording
        The title of the study, and what the two ends of the ranking are called.
    lapse : LapseRate or None
        How many answers are slips; None in models saved before that was asked.
    extreme_items : dict
        Items of several comparisons that ``won`` or ``lost`` all of them: how many (``number``),
        and the first few ``names``.
    recession : Recession or None
        What separated comparisons say: which sums of coefficients have no interval, or one that is
        open at one end. Along its directions coefficients and covariance are those of a prior.
    """

    settings: Settings
    coef: np.ndarray
    features: FeatureFacts
    open: OpenCoefficients
    outcomes: OutcomeFacts
    n_items: int | None
    n_comparisons: float
    record: dict[str, Any]
    warnings: "list[Note]"
    n_iter: int
    guard: float
    panel: PanelFacts = field(default_factory=PanelFacts)
    closed_form_coef: np.ndarray | None = None
    covariance: np.ndarray | None = None
    std_errors: np.ndarray | None = None
    side_effect: float | None = None
    side_effect_std_error: float | None = None
    effects_covariance: np.ndarray | None = None
    effects: Effects | None = None
    judges: Judges | None = None
    item_effects: ItemEffects | None = None
    item_effects_test: ItemEffectsTest | None = None
    context_of_items: dict[str, dict[str, Any]] = field(default_factory=dict)
    recession: "Recession | None" = None
    pairing: "Pairing | None" = None
    ridge_curve: "RidgeCurve | None" = None
    new_items: "NewItems | None" = None
    likelihood: "Likelihood | None" = None
    fitted_scores: np.ndarray | None = None
    comparisons: "Comparisons | None" = None
    item_groups: np.ndarray | None = None
    recipe: dict[str, Any] | None = None
    wording: Wording = field(default_factory=Wording)
    lapse: "LapseRate | None" = None
    extreme_items: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of_kept(cls, settings: Settings, **values: Any) -> "Fit":
        """A fit from the values that a model keeps, by the names under which it does."""
        parts, others = _by_part(values)
        made = {part: PARTS[part](**of_part) for part, of_part in parts.items()}
        return cls(settings, **made, **others)

    def kept(self, name: str) -> Any:
        """The value that a model keeps under a name."""
        if name in KEPT_IN_PARTS:
            part, of_part = KEPT_IN_PARTS[name]
            return getattr(getattr(self, part), of_part)
        return getattr(self, name)

    def with_kept(self, **values: Any) -> "Fit":
        """The fit with other values, by the names under which a model keeps them."""
        parts, others = _by_part(values)
        changed = {part: replace(getattr(self, part), **of_part) for part, of_part in parts.items()}
        return replace(self, **changed, **others)

    @property
    def notes(self) -> list[str]:
        """The texts of the warnings, for users of Python."""
        return [str(warning) for warning in self.warnings]

    @property
    def note_kinds(self) -> list[str]:
        """The names of their classes."""
        return [type(warning).__name__ for warning in self.warnings]

    @property
    def full_record(self) -> dict[str, Any]:
        """The record, with the kind of the items' table, and the fingerprint: a pass over the data
        that few ask for.
        """
        if self.comparisons is not None:
            self.record.setdefault("table", self.comparisons.items.table_kind)
        if self.comparisons is not None and self.record.get("fingerprint") is None:
            self.record["fingerprint"] = self.comparisons.fingerprint
        return self.record

    @property
    def n_features(self) -> int:
        return len(self.coef)

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called; x0, x1, ... where nobody said."""
        return self.features.names or tuple(f"x{column}" for column in range(self.n_features))

    @property
    def link(self) -> Link:
        return self.settings.link

    @property
    def l2(self) -> float:
        return self.settings.ridge

    @property
    def ties(self) -> str:
        return self.settings.ties

    @property
    def inference(self) -> str | None:
        return self.settings.inference

    def width(self, level: float) -> float:
        """How many standard errors an interval of this level reaches."""
        return interval_width(level, self.panel.df_error)

    @property
    def tie_parameter(self) -> float | None:
        """Of Davidson's or of Rao and Kupper's rule."""
        return None if self.effects is None else self.effects.of_kind("tie").get("tie")

    @property
    def all_effects(self) -> Effects:
        """Effects of comparisons, in the order of the covariance; that of a side may be the only
        one.
        """
        if self.effects is not None:
            return self.effects
        if self.side_effect is None:
            return Effects((), (), np.empty(0), np.empty(0))
        error = np.nan if self.side_effect_std_error is None else self.side_effect_std_error
        return Effects(("left",), ("side",), np.array([self.side_effect]), np.array([error]))

    @property
    def item_effects_in_words(self) -> str:
        """Whether effects of items are used, and how large they are; empty if nobody asked."""
        parts = self.item_effects_test, self.item_effects
        return "; ".join(part.in_words for part in parts if part is not None)

    @property
    def outcome_law(self) -> OutcomeLaw:
        """How a comparison ends: the link with the rule for ties."""
        rule = TieRule(self.ties, self.link)
        return OutcomeLaw(rule, self.tie_parameter or 0.0, self.outcomes.decided_scale)

    def undetermined_contrasts(self, contrasts: np.ndarray) -> np.ndarray:
        """Mask of the feature differences, shape (n, d), whose score is not determined."""
        reach = OPEN_SHARE * (1 + np.linalg.norm(contrasts / self.features.unit, axis=1))
        return np.any(np.abs(contrasts @ self.open.directions) > reach[:, None], axis=1)

    def held_by_prior(self, contrasts: np.ndarray) -> np.ndarray:
        """Mask of the contrasts of coefficients and effects, shape (n, d or more), that change
        along some direction in which the comparisons are separated.
        """
        if self.recession is None:
            return np.zeros(len(contrasts), dtype=bool)
        return self.recession.touches(contrasts)

    def interval_ends(
        self, contrasts: np.ndarray, values: np.ndarray, errors: np.ndarray, width: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals of contrasts of coefficients and effects, shape (n, d or more).

        ``width`` standard errors to either side of the value; of those that the prior holds, as
        far as the comparisons say, else infinite. NaN where ``errors`` are and no prior holds.
        """
        with np.errstate(over="ignore"):  # an error of any size has an interval
            reach = width * errors
        low, high = values - reach, values + reach
        held = self.held_by_prior(contrasts)
        if self.covariance is not None and held.any():
            low[held], high[held] = self.open_ends(contrasts[held], values[held], width)
        return low, high

    def open_ends(
        self, contrasts: np.ndarray, values: np.ndarray, width: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals of contrasts (n, d or more) that only a prior holds.

        The prior may hold a value beyond the end that the comparisons give; then the interval
        begins at the value.
        """
        low, high = self.ends_by_comparisons(contrasts, width)
        return np.minimum(low, values), np.maximum(high, values)

    def ends_by_comparisons(
        self, contrasts: np.ndarray, width: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """As far as the comparisons say, of contrasts (n, d or more) that only a prior holds."""
        if self.recession is None:
            return np.full(len(contrasts), -np.inf), np.full(len(contrasts), np.inf)
        return self.recession.ends(contrasts, self.full_covariance, self.link, width)

    @property
    def full_covariance(self) -> np.ndarray:
        """Of coefficients and effects, d + k; older models know of effects their errors alone."""
        assert self.covariance is not None
        if self.effects_covariance is None:
            from scipy.linalg import block_diag

            side = [] if self.side_effect_std_error is None else [self.side_effect_std_error]
            errors = np.array(side) if self.effects is None else self.effects.std_errors
            return block_diag(self.covariance, np.diag(np.nan_to_num(errors) ** 2))
        across = self.effects_covariance
        return np.hstack([np.vstack([self.covariance, across[: self.n_features].T]), across])

    def errors(self) -> np.ndarray:
        """Standard errors of the coefficients, or a sentence where the fit has none."""
        if self.std_errors is None:
            raise PairscoreError(
                "the model was fitted with " + Setting("inference", None),
                "fit it with " + Setting("inference", "items") + " to have intervals",
            )
        return self.std_errors

    def comparisons_for(self, what: str) -> "Comparisons":
        """The comparisons of the fit, without ties that it left out, or a sentence about ``what``
        needs them.
        """
        data = self.comparisons
        if data is None:
            raise PairscoreError(
                f"{what} need the comparisons, which this model does not have",
                KEEP_THE_DATA,
            )
        used = data[data.outcome != 0] if self.ties == "drop" else data
        return used.with_relative_weights()


PARTS: dict[str, type] = {
    "features": FeatureFacts,
    "open": OpenCoefficients,
    "outcomes": OutcomeFacts,
    "panel": PanelFacts,
}


def kept_types() -> dict[str, Any]:
    """The names under which a model keeps what is in a fit, with their annotations."""
    types: dict[str, Any] = {one.name: one.type for one in fields(Fit) if one.name not in PARTS}
    of_parts = {part: {one.name: one.type for one in fields(PARTS[part])} for part in PARTS}
    return types | {name: of_parts[part][one] for name, (part, one) in KEPT_IN_PARTS.items()}


def _by_part(values: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Values by the names of parts and fields, and those that are in none."""
    parts: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name in KEPT_IN_PARTS:
            part, of_part = KEPT_IN_PARTS[name]
            parts.setdefault(part, {})[of_part] = value
    return parts, {name: value for name, value in values.items() if name not in KEPT_IN_PARTS}
