"""One study: the settings, the data with the sums that every step shares, and what a fit found."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pairscore.basis import Basis, whitening_basis
from pairscore.comparisons import Comparisons
from pairscore.errors import PairscoreError, PairscoreWarning, SeparationWarning, first_few
from pairscore.judges import Judges
from pairscore.known_items import ItemEffects
from pairscore.links import Link, Logit, get_link
from pairscore.methods import METHODS, TIE_RULES
from pairscore.moments import Moments, Spread, Tally, difference_scatter, moments, tally
from pairscore.pairing import Pairing
from pairscore.pairs import Pairs, over_sides, pair_up
from pairscore.ridge import RidgeCurve
from pairscore.scale import SEPARATION_L2, WEAK_L2

INFERENCES = ("items", "items+judges", "model")
SHRINKAGES = ("ledoit-wolf", "oas")
Note = tuple[type[PairscoreWarning], str]


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    method: str
    link: Link
    l2: float = 0.0  # not known yet if it is to be chosen
    shrinkage: float | str | None = None
    side_effect: bool = False
    inference: str | None = "items"
    max_iter: int = 100
    tol: float = 1e-9
    choose_l2: bool = False
    side_by_judge: bool = False
    judge_slopes: bool = False
    context: tuple[str, ...] = ()
    ties: str = "half"
    item_effects: bool = False

    @property
    def needs_judges(self) -> bool:
        return self.judge_slopes or self.side_by_judge or self.inference == "items+judges"

    @property
    def by_comparison(self) -> bool:
        """Whether comparisons of a pair differ in more than who won, so that they cannot be summed."""
        return self.needs_judges or bool(self.context) or self.ties != "half"


def checked_settings(
    *,
    method: Any,
    link: Any,
    l2: Any,
    shrinkage: Any,
    side_effect: Any,
    inference: Any,
    max_iter: Any,
    tol: Any,
    judge_slopes: Any,
    context: Any,
    ties: Any,
    item_effects: Any,
) -> Settings:
    """Settings that mean something, or a sentence on the first that does not."""
    shrinkage_is_number = _is_number(shrinkage, 0, 1)
    checks = {
        "method": (method, isinstance(method, str) and method in METHODS, f"one of {first_few(map(repr, METHODS))}"),
        "inference": (inference, inference is None or (isinstance(inference, str) and inference in INFERENCES), "'items', 'items+judges', 'model' or None"),
        "judge_slopes": (judge_slopes, isinstance(judge_slopes, bool | np.bool_), "True or False"),
        "context": (context, context is None or _are_names(context), "a list of column names of the votes, or None"),
        "ties": (ties, isinstance(ties, str) and ties in TIE_RULES, f"one of {first_few(map(repr, TIE_RULES))}"),
        "l2": (l2, _is_number(l2, 0, np.finfo(float).max) or (isinstance(l2, str) and l2 == "auto"), "a number that is not negative, or 'auto'"),
        "shrinkage": (
            shrinkage,
            shrinkage_is_number or shrinkage is None or (isinstance(shrinkage, str) and shrinkage in SHRINKAGES),
            "None, a number from 0 to 1, 'ledoit-wolf' or 'oas'",
        ),
        "side_effect": (side_effect, isinstance(side_effect, bool | np.bool_) or side_effect == "judges", "True, False or 'judges'"),
        "item_effects": (item_effects, isinstance(item_effects, bool | np.bool_), "True or False"),
        "max_iter": (max_iter, _is_number(max_iter, 1, 10**9) and int(max_iter) == max_iter, "a whole number from 1"),
        "tol": (tol, _is_number(tol, 0, 1), "a number from 0 to 1"),
    }
    for name, (value, right, remedy) in checks.items():
        if not right:
            raise PairscoreError(f"{name} is {value!r}; use {remedy}.")
    if method == "mle" and shrinkage is not None:
        raise PairscoreError("shrinkage acts on the covariance of a closed form, and method='mle' has none; use l2, or another method.")
    if method != "mle" and item_effects:
        raise PairscoreError(f"item_effects=True adds effects of items to the likelihood, and method={method!r} has none; use method='mle'.")
    amount = float(shrinkage) if shrinkage_is_number else shrinkage
    choose = isinstance(l2, str)
    settings = Settings(
        method, get_link(link), np.nan if choose else float(l2), amount, bool(side_effect), inference, int(max_iter), float(tol), choose,
        isinstance(side_effect, str), bool(judge_slopes), tuple(context or ()), ties, bool(item_effects),
    )  # fmt: skip
    if settings.by_comparison and method != "mle":
        raise PairscoreError(f"judges, context and ties as a parameter are fitted by maximum likelihood, and the method is {method!r}; use method='mle'.")
    if settings.item_effects and (settings.judge_slopes or settings.ties != "half"):
        raise PairscoreError("item_effects=True does not go together with judge_slopes=True or ties as a parameter yet; leave one of them out.")
    if ties == "davidson" and not isinstance(settings.link, Logit):
        raise PairscoreError("ties='davidson' belongs to the logit link; use ties='rao-kupper', which takes any.")
    return settings


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _is_number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and bool(low <= value <= high)


@dataclass(frozen=True)
class Study:
    """The data of one fit as arrays, with the sums that several steps share, each made once."""

    data: Comparisons
    keep_sides: bool
    has_items: bool = True
    start: np.ndarray | None = None

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        return self.data.items.values

    @cached_property
    def amount(self) -> np.ndarray:
        return self.data.amount

    @cached_property
    def weight_unit(self) -> float:
        """Average weight of a comparison: what a weight of one means to the classical covariance."""
        if self.data.weight is None:
            return 1.0
        return float(self.amount @ self.data.weight / self.amount.sum())

    @cached_property
    def tally(self) -> Tally:
        return tally(self.data.left, self.data.right, self.data.outcome, self.amount, len(self.X))

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w = sum_m Y_m (x_left - x_right)."""
        return self.tally.net_wins @ self.X

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        return moments(self.X, self.tally.exposures)

    @cached_property
    def second_moments(self) -> Moments:
        """Moments of the items behind the covariance of `split`."""
        return moments(self.second_half)

    @cached_property
    def whitener(self) -> np.ndarray:
        """W with W' (X~'KX~) W = I."""
        return whitening_basis(self.item_moments.scatter, self.item_moments.sd).transform

    @cached_property
    def pairs(self) -> Pairs:
        data = self.data
        return pair_up(data.left, data.right, data.outcome, self.amount, len(self.X), self.keep_sides)

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def second_half(self) -> np.ndarray:
        """The items behind the covariance of `split`: those named, else those of no comparison."""
        rows = self.data.covariance_items
        rows = np.flatnonzero(~self.data.compared) if rows is None else np.asarray(rows)
        together = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and bool(np.all(np.diff(rows) == 1))
        return self.X[rows[0] : rows[-1] + 1] if together else self.X[rows]


def bordered_scatter(study: Study, weight: np.ndarray) -> np.ndarray:
    """X' L X with the weight of each pair on each side, bordered by the side effect's row if there is one."""
    scatter = difference_scatter(study.X, study.item_moments.mean, study.pairs, over_sides(weight))
    if not study.keep_sides:
        return scatter
    border = study.pairs.net(study.pairs.side @ weight) @ study.X
    return np.block([[scatter, border[:, None]], [border[None], weight.sum()]])


@dataclass(frozen=True)
class Effects:
    """What a comparison has beside its items: ``names`` and ``kinds`` (context, side or tie) of the parameters, in the order of the covariance."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: np.ndarray
    std_errors: np.ndarray

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists."""
        return {"name": list(self.names), "kind": list(self.kinds), "coef": self.values.tolist(), "std_error": self.std_errors.tolist()}

    def of_kind(self, kind: str) -> dict[str, float]:
        """Values of the effects of one kind, by name."""
        return {name: float(value) for name, its_kind, value in zip(self.names, self.kinds, self.values, strict=True) if its_kind == kind}


@dataclass(frozen=True)
class Estimate:
    """What a fit found.

    ``covariance`` is that of the coefficients, then of the side effect if there is one. ``difference``
    is the score difference of every comparison, side effect included. ``side_basis`` has as open direction
    the one, if any, along which the side effect may be traded for features.
    """

    coef: np.ndarray
    side_effect: float | None
    basis: Basis
    center: Spread
    difference: np.ndarray
    closed_form_coef: np.ndarray | None = None
    covariance: np.ndarray | None = None
    guard: float = 1.0
    pairing: Pairing | None = None
    n_iterations: int = 0
    side_basis: Basis | None = None
    inference: str | None = None
    ridge: RidgeCurve | None = None
    effects: Effects | None = None
    judges: Judges | None = None
    item_effects: ItemEffects | None = None
    notes: list[Note] = field(default_factory=list)


def ridge_is_weak(study: Study, settings: Settings) -> bool:
    """Whether the ridge is none, or too weak to hold coefficients back if data are separated."""
    return settings.l2 <= WEAK_L2 * study.weight_unit


def separation_note() -> Note:
    """What is said, and done, when the likelihood has no maximum."""
    text = (
        "some direction in the features (or the side) explains every comparison that it touches, so the likelihood grows without end; "
        "the fit is the one with a ridge of "
        f"l2={SEPARATION_L2:g} (a normal prior with standard deviation 2.5 on standardised coefficients). Set l2 above {WEAK_L2:g} to choose your own."
    )
    return SeparationWarning, text
