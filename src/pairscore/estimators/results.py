"""What a fit finds: coefficients, their covariance, and effects of sides, judges and items."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import block_diag

from pairscore.core.differences import Differences
from pairscore.core.links import Link
from pairscore.core.moments import Spread
from pairscore.core.quantiles import interval_width, normal_width, p_in_words, z_and_p
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.core.whitening import OPEN_SHARE, Basis
from pairscore.data.items import Items, rows_of_same_features
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.pairing import Pairing
from pairscore.estimators.recession import Recession
from pairscore.estimators.settings import Settings, Wording

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.information_criteria import Likelihood
    from pairscore.estimators.new_items import NewItems
    from pairscore.estimators.ridge_choice import RidgeCurve

FEWEST_ITEMS = 10  # with two different opponents, below which nothing is said of item effects
RECORDED = ("sigma2", "explained", "factor", "n_shared", "posterior_sigma2")
REACH = normal_width(0.95)  # of an interval, in standard errors
Note = PairscoreWarning  # of a fit: what is said of it, by class
TEST_LEVEL = 0.05  # p-value up to which item_effects="auto" uses item effects
HARDLY_SEEN = 75.0  # wins of 100: a test that sees larger effects of items only hardly sees any


@dataclass(frozen=True)
class KnownItems:
    """Of the rows of some table: the item's effect, the variance that its score has beside that of
    its features, the share of the latter that is left, the row of the fit (-1 for a new item), and
    variances that add up to those ``of_differences``, about.
    """

    effect: np.ndarray
    variance: np.ndarray
    share: np.ndarray
    row: np.ndarray
    of_differences: np.ndarray

    def take(self, rows: np.ndarray) -> "KnownItems":
        """What is known of the items in some rows of the table."""
        return KnownItems(**{name: column[rows] for name, column in vars(self).items()})


@dataclass(frozen=True, eq=False)
class EffectPairs:
    """Pairs of items (P) that met, by rows of the fit, with the information of each: of these is
    the covariance of effects.
    """

    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class AbilityErrors:
    """Of abilities without features: what effects of comparisons add to their covariance, CC' with
    C = ``along_effects`` (N x k), and quasi-variances (N), None where groups have no common scale.
    """

    along_effects: np.ndarray
    quasi_variance: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class WinComponents:
    """Which items wins lead to and fro between, where some abilities have no finite size.

    ``of_item`` (N) is 0 for the main ones, whose average scores are relative to, and -1 for those
    never compared. Comparisons of two components, which the limit makes certain, have a
    ``winner`` and a ``loser`` (rows of the fit), an ``amount``, and what each effect adds to the
    winner (``beside``): see :mod:`pairscore.effects.open_abilities`.
    """

    of_item: np.ndarray
    winner: np.ndarray
    loser: np.ndarray
    amount: np.ndarray
    beside: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """Mask (N) of the abilities that only a prior holds."""
        return self.of_item > 0


# The parts of ItemEffects, and the names under which a file has their arrays.
ITEM_PARTS: dict[str, tuple[type, dict[str, str]]] = {
    "pairs": (EffectPairs, {"low": "pair_low", "high": "pair_high", "weight": "pair_weight"}),
    "abilities": (
        AbilityErrors,
        {"along_effects": "along_effects", "quasi_variance": "quasi_variance"},
    ),
    "components": (
        WinComponents,
        {
            "of_item": "component",
            "winner": "certain_winner",
            "loser": "certain_loser",
            "amount": "certain_amount",
            "beside": "certain_beside",
        },
    ),
}


@dataclass(frozen=True, eq=False)
class ItemEffects:
    """What items have beyond their features: score = beta'x + effect, effect ~ N(0, sigma2).

    ``ids`` (or None) and ``keys``, a hash of each item's features, tell who is who. ``std_error``
    is that of the effect; an item that was never compared has effect zero and the error of a new
    one. ``interval`` is that of sigma2, 95 %. ``explained`` is the share of the compared items'
    variance in score that the features explain, ``factor`` how many times longer the coefficients
    are than those of features alone. Effects have the covariance (L + I / posterior_sigma2)^-1, L
    the Laplacian of the ``pairs`` with their weights, plus that of ``abilities``.

    ``pairs`` is None in models that were saved before they were kept, ``abilities`` where items
    have features and effects a law, and ``components`` where all abilities have a finite size;
    beside it, others than the main items have no ``std_error``.
    """

    ids: np.ndarray | None
    keys: np.ndarray
    effect: np.ndarray
    std_error: np.ndarray
    share: np.ndarray
    sigma2: float
    interval: tuple[float, float]
    explained: float
    factor: float
    n_shared: int
    posterior_sigma2: float = 0.0
    pairs: EffectPairs | None = None
    abilities: AbilityErrors | None = None
    components: WinComponents | None = None

    @property
    def held(self) -> np.ndarray:
        """Mask (N) of the abilities that only a prior holds."""
        none = np.zeros(len(self.effect), dtype=bool)
        return none if self.components is None else self.components.held

    @property
    def quasi_variance(self) -> np.ndarray | None:
        """Of abilities (N): about the variance of a difference, added up."""
        return None if self.abilities is None else self.abilities.quasi_variance

    @property
    def free(self) -> bool:
        """Whether these are abilities without a law, of items without features."""
        return bool(np.isinf(self.sigma2))

    def __repr__(self) -> str:
        return f"ItemEffects({self.in_words})"

    @property
    def in_words(self) -> str:
        """One sentence for the summary."""
        if self.free:
            return "an ability for every item, without features"
        low, high = np.sqrt(self.interval)
        if self.n_shared < FEWEST_ITEMS and self.sigma2 == 0:
            return (
                f"set to zero: only {self.n_shared} of the items met two opponents, too few to"
                f" tell item effects from chance"
            )
        if self.sigma2 == 0:
            return "none seen" + (
                f" (standard deviation at most {high:.3g} at 95 %)" if np.isfinite(high) else ""
            )
        ends = f"{low:.3g} to {high:.3g}" if np.isfinite(high) else f"{low:.3g} or more"
        spread = f"standard deviation {np.sqrt(self.sigma2):.3g} (95 %: {ends})"
        share = f"the features explain {self.explained:.0%} of the score's variance"
        return f"{spread}; {share}" if self.explained else spread

    def to_record(self) -> dict[str, Any]:
        """What is said of all items together, as plain values."""
        return {name: getattr(self, name) for name in RECORDED} | {"interval": list(self.interval)}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What is said of each item, as arrays without objects."""
        arrays = {name: getattr(self, name) for name in ("keys", "effect", "std_error", "share")}
        for part, (_, names) in ITEM_PARTS.items():
            values = getattr(self, part)
            if values is not None:
                kept = {kept: getattr(values, name) for name, kept in names.items()}
                arrays |= {name: array for name, array in kept.items() if array is not None}
        if self.ids is None:
            return arrays
        ids = np.array(self.ids.tolist())
        if ids.dtype.kind not in "iufUM" or ids.tolist() != self.ids.tolist():
            raise PairscoreError(
                "the ids of the items are neither all text nor all numbers, and a file holds only"
                " such; make them text, or fit without item_effects."
            )
        return arrays | {"ids": ids}

    @classmethod
    def from_file(cls, arrays: dict[str, np.ndarray], record: dict[str, Any]) -> "ItemEffects":
        (low, high), known = record["interval"], {n: record[n] for n in RECORDED if n in record}
        of_items, parts = dict(arrays), dict[str, Any]()
        for part, (kind, names) in ITEM_PARTS.items():
            kept = {name: of_items.pop(kept) for name, kept in names.items() if kept in of_items}
            if part == "abilities" and kept:  # without effects of comparisons, once, none were kept
                kept.setdefault("along_effects", np.zeros((len(arrays["effect"]), 0)))
            parts[part] = kind(**kept) if kept else None
        return cls(**{"ids": None} | of_items | known | parts, interval=(low, high))

    @cached_property
    def _named(self) -> Items:
        return Items(np.empty((len(self.effect), 0)), (), self.ids)

    def known(self, ids: np.ndarray | None, keys: np.ndarray) -> KnownItems:
        """What is known of the items of a table: by id if both have them, else by features."""
        if ids is None or self.ids is None:
            row = rows_of_same_features(self.keys, keys)
        else:
            row = self._named.find_rows_by_text(ids)
        old = row >= 0
        variance = self.std_error**2
        quasi = variance if self.quasi_variance is None else self.quasi_variance
        return KnownItems(
            effect=np.where(old, self.effect[row], np.nan if self.free else 0.0),
            variance=np.where(old, variance[row], self.sigma2),
            share=np.where(old, self.share[row], 1.0),
            row=np.where(old, row, -1),
            of_differences=np.where(old, quasi[row], self.sigma2),
        )


@dataclass(frozen=True)
class Judges:
    """One entry per judge: name, comparisons judged, slope with its standard error (1 is the
    average judge), wrong votes as a share with its interval.
    """

    name: np.ndarray
    n_comparisons: np.ndarray
    slope: np.ndarray
    std_error: np.ndarray
    noise: np.ndarray
    noise_low: np.ndarray
    noise_high: np.ndarray
    spread: float

    @property
    def inverted(self) -> np.ndarray:
        """Judges who surely vote against the others."""
        return self.slope + REACH * self.std_error < 0

    @property
    def spammers(self) -> np.ndarray:
        """Judges whose votes may as well be a coin's, while those of half a normal judge's
        sharpness are ruled out.
        """
        half = REACH * self.std_error
        return ~self.inverted & (self.slope - half <= 0) & (self.slope + half < 0.5)

    @property
    def in_words(self) -> str:
        parts = [
            f"{plural(len(self.name), 'judge')}, slopes from {self.slope.min():.2f} to"
            f" {self.slope.max():.2f} (spread {self.spread:.2f})"
        ]
        for what, mask in (("against the others", self.inverted), ("like a coin", self.spammers)):
            if mask.any():
                verb, names = "votes" if mask.sum() == 1 else "vote", self.name[mask].tolist()
                some = first_few(map(repr, names))
                parts.append(f"{plural(int(mask.sum()), 'judge')} {verb} {what}: {some}")
        return "; ".join(parts)

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists, sharpest judge first; z and p are of a slope of 1."""
        order = np.argsort(-self.slope, kind="stable")
        names = ("name", "n_comparisons", "slope", "std_error", "noise", "noise_low", "noise_high")
        kind = np.where(self.inverted, "inverted", np.where(self.spammers, "coin", ""))
        z, p = z_and_p(self.slope - 1, self.std_error)
        further = {"remark": kind, "z": z, "p": p}
        columns = {name: getattr(self, name) for name in names} | further
        return {name: column[order].tolist() for name, column in columns.items()}


@dataclass(frozen=True)
class Effects:
    """What a comparison has beside its items, in the order of the covariance.

    ``kinds`` are context, side or tie; ``df_error`` is as in :class:`Fit`.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: np.ndarray
    std_errors: np.ndarray
    df_error: float | None = None

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists."""
        z, p = z_and_p(self.values, self.std_errors, self.df_error)
        columns = {"coef": self.values, "std_error": self.std_errors, "z": z, "p": p}
        names = {"name": list(self.names), "kind": list(self.kinds)}
        return names | {name: column.tolist() for name, column in columns.items()}

    def of_kind(self, kind: str) -> dict[str, float]:
        """Values of the effects of one kind, by name."""
        rows = zip(self.names, self.kinds, self.values.tolist(), strict=True)
        return {name: value for name, its_kind, value in rows if its_kind == kind}


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


@dataclass(frozen=True)
class Determined:
    """Which parameters the comparisons determine, and which they leave open.

    Attributes
    ----------
    basis : Basis
        The directions of the coefficients that are determined, and those that are open.
    side_basis : Basis or None
        The same with the side effect as last parameter, where it is estimated without a prior: its
        open direction trades the side effect for features.
    recession : Recession or None
        Directions in which the likelihood has no maximum, and a ridge stands in for it.
    n_abilities : int
        Differences of abilities without a law, which are parameters beside those of the basis.
    """

    basis: Basis
    side_basis: Basis | None = None
    recession: Recession | None = None
    n_abilities: int = 0

    @property
    def n_parameters(self) -> int:
        """How many are determined, of coefficients, effects and abilities."""
        return self.basis.transform.shape[1] + self.n_abilities


@dataclass(frozen=True)
class UnscaledForm:
    """A closed form before it was brought to the link's scale: an estimate of c1 beta.

    ``coef`` (d) is that of eq. 3, ``guard`` the share of it that is not overfitting, and
    ``pairing`` how its pairs look, None where no intervals are wanted.
    """

    coef: np.ndarray
    guard: float
    pairing: Pairing | None = None


@dataclass(frozen=True)
class LinearPredictor:
    """Differences of scores of the comparisons, as far as the estimator has worked them out.

    Attributes
    ----------
    of_comparisons : ndarray of shape (M,) or None
        Of every comparison, with effects of items, judges and context; None where differences are
        those of the items' scores with the side effect.
    differences : Differences or None
        The same with who won, where the estimator has gone through all comparisons.
    decided_scale : float or None
        The scale of decided comparisons, where it is known.
    """

    of_comparisons: np.ndarray | None = None
    differences: Differences | None = None
    decided_scale: float | None = None


@dataclass(frozen=True)
class EffectEstimates:
    """What a fit finds beside the coefficients of features; None, or nothing, if nobody asked.

    ``of_comparisons`` are the effects of context, side and ties, ``judges`` their slopes, ``items``
    the effects of items, with the test of these. ``context_of_items`` is as in :class:`Fit`.
    """

    of_comparisons: Effects | None = None
    judges: Judges | None = None
    items: ItemEffects | None = None
    items_test: ItemEffectsTest | None = None
    context_of_items: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def tie_parameter(self) -> float:
        """Of Davidson's or of Rao and Kupper's rule; 0 without one."""
        effects = self.of_comparisons
        return 0.0 if effects is None else effects.of_kind("tie").get("tie", 0.0)


@dataclass(frozen=True)
class Estimate:
    """What an estimator finds in the data of one fit.

    ======================  ===========  ==========  =======
    part                    closed form  likelihood  effects
    ======================  ===========  ==========  =======
    coef, covariance        yes          yes         yes
    ``determined``          yes          yes         yes
    ``unscaled``            yes
    ``predictor``           if passed                yes
    ``effects``                                      yes
    ======================  ===========  ==========  =======

    Attributes
    ----------
    settings : Settings
        Those by which it was made: what was asked for, as far as the data allow it.
    coef : ndarray of shape (d,)
        Coefficients on the scale of the link.
    side_effect : float or None
        Advantage of the left side; None where there is none for all comparisons.
    covariance : ndarray or None
        Of the coefficients, then of the side effect, or of all ``effects.of_comparisons`` if there
        are any; None where no intervals are wanted.
    center : Spread
        Mean and standard deviation of the items' features, by which directions are standardised.
    determined : Determined
    unscaled : UnscaledForm or None
        None for a likelihood.
    predictor : LinearPredictor
    effects : EffectEstimates
    n_iterations : int
    notes : list of PairscoreWarning
        What the user should know.
    """

    settings: Settings
    coef: np.ndarray
    side_effect: float | None
    covariance: np.ndarray | None
    center: Spread
    determined: Determined
    unscaled: UnscaledForm | None = None
    predictor: LinearPredictor = field(default_factory=LinearPredictor)
    effects: EffectEstimates = field(default_factory=EffectEstimates)
    n_iterations: int = 0
    notes: list[Note] = field(default_factory=list)


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
    are those of :func:`pairscore.effects.judge_slopes.judge_tastes` and ``judge_agreement`` there.
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
    warnings: list[Note]
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
    recession: Recession | None = None
    pairing: Pairing | None = None
    ridge_curve: "RidgeCurve | None" = None
    new_items: "NewItems | None" = None
    likelihood: "Likelihood | None" = None
    fitted_scores: np.ndarray | None = None
    comparisons: "Comparisons | None" = None
    item_groups: np.ndarray | None = None
    recipe: dict[str, Any] | None = None
    wording: Wording = field(default_factory=Wording)
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
            side = [] if self.side_effect_std_error is None else [self.side_effect_std_error]
            errors = np.array(side) if self.effects is None else self.effects.std_errors
            return block_diag(self.covariance, np.diag(np.nan_to_num(errors) ** 2))
        across = self.effects_covariance
        return np.hstack([np.vstack([self.covariance, across[: self.n_features].T]), across])

    def errors(self) -> np.ndarray:
        """Standard errors of the coefficients, or a sentence where the fit has none."""
        if self.std_errors is None:
            raise PairscoreError(
                "the model was fitted with inference=None; fit it with inference='items' to have"
                " intervals."
            )
        return self.std_errors


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


def comparisons_of_fit(fit: "Fit", what: str) -> "Comparisons":
    """The comparisons that a fit is to, without ties that it left out."""
    data = fit.comparisons
    if data is None:
        raise PairscoreError(
            f"{what} need the comparisons, which this model does not have; fit it to items and"
            " votes, and save it with data=True if it goes through a file."
        )
    used = data[data.outcome != 0] if fit.ties == "drop" else data
    return used.with_relative_weights()
