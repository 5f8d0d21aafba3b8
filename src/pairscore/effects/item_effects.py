"""Effects of items: what they have beyond their features, and the test of whether they have any."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pairscore.core.significance import p_in_words
from pairscore.data.items import Items, rows_of_same_features
from pairscore.effects.calibration import Calibration
from pairscore.errors import PairscoreError
from pairscore.messages import Setting

FEWEST_ITEMS = 10  # with two different opponents, below which nothing is said of item effects
RECORDED = ("sigma2", "explained", "factor", "n_shared", "posterior_sigma2")
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

    ``calibration`` has what held-out comparisons say of chances; None in models that were saved
    before it was kept, and where effects have no law.

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
    calibration: Calibration | None = None

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
        record = {name: getattr(self, name) for name in RECORDED}
        if self.calibration is not None:
            record["calibration"] = self.calibration.to_record()
        return record | {"interval": list(self.interval)}

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
                " such",
                ["make them text", "fit without " + Setting("item_effects")],
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
        if record.get("calibration"):
            parts["calibration"] = Calibration.from_record(record["calibration"])
        return cls(**{"ids": None} | of_items | known | parts, interval=(low, high))

    @cached_property
    def _met(self) -> np.ndarray:
        """Mask (N) of the items that were compared."""
        met = np.zeros(len(self.effect), dtype=bool)
        if self.pairs is None:  # an old model, which does not know
            return ~met
        met[self.pairs.low] = True
        met[self.pairs.high] = True
        return met

    def is_new(self, row: np.ndarray) -> np.ndarray:
        """Mask of the rows of the fit (-1: none) whose items were in no comparison."""
        return np.asarray((row < 0) | ~self._met[row])

    def forgotten(self) -> "ItemEffects":
        """The same law, with all items as new ones."""
        n = len(self.effect)
        none = np.empty(0, dtype=int)
        return replace(
            self,
            effect=np.zeros(n),
            std_error=np.full(n, np.sqrt(self.sigma2)),
            share=np.ones(n),
            pairs=EffectPairs(none, none, np.empty(0)),
        )

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
    def is_blind(self) -> bool:
        """Whether comparisons are too few to detect any but large effects, if there are any."""
        return self.wins_of_100 > HARDLY_SEEN and not self.estimate_is_zero

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
        if self.is_blind:
            return f"not used, because comparisons are too few to detect any but large ones {seen}"
        return f"not used, because there is no sign that items differ beyond their features {seen}"
