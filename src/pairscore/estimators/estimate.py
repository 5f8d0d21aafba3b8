"""What a fit finds: coefficients, their covariance, and effects of sides, judges and items."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.differences import Differences
from pairscore.core.moments import Spread
from pairscore.core.whitening import Basis
from pairscore.errors import PairscoreWarning
from pairscore.estimators.settings import Settings

if TYPE_CHECKING:
    from pairscore.effects.comparison_effects import Effects
    from pairscore.effects.item_effects import ItemEffects, ItemEffectsTest
    from pairscore.effects.judges import Judges
    from pairscore.estimators.lapse import LapseRate
    from pairscore.estimators.random_pairs import Pairing
    from pairscore.estimators.ridge_choice import RidgeCurve
    from pairscore.estimators.separation import Recession

Note = PairscoreWarning  # of a fit: what is said of it, by class


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
    recession: "Recession | None" = None
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
    pairing: "Pairing | None" = None


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
    by_others : Differences or None
        Of every comparison, the difference whose chances are those that all others predict.
    """

    of_comparisons: np.ndarray | None = None
    differences: Differences | None = None
    decided_scale: float | None = None
    by_others: Differences | None = None


@dataclass(frozen=True)
class EffectEstimates:
    """What a fit finds beside the coefficients of features; None, or nothing, if nobody asked.

    ``of_comparisons`` are the effects of context, side and ties, ``judges`` their slopes, ``items``
    the effects of items, with the test of these. ``context_of_items`` is as in :class:`Fit`, and
    ``ridge_curve`` says how the ridge was chosen beside effects of items.
    """

    of_comparisons: "Effects | None" = None
    judges: "Judges | None" = None
    items: "ItemEffects | None" = None
    items_test: "ItemEffectsTest | None" = None
    context_of_items: dict[str, dict[str, Any]] = field(default_factory=dict)
    ridge_curve: "RidgeCurve | None" = None

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
    lapse : LapseRate or None
        How many answers are slips; None until somebody asks.
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
    lapse: "LapseRate | None" = None
