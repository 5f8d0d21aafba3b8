"""Scorers for scikit-learn that know ties: ``cross_val_score(..., scoring=scorers.roc_auc)``.

scikit-learn's own scorers of probabilities compare the two classes that a model predicts with the
values of y, and end in an error where y has ties (0) beside -1 and 1. These leave ties out, as
``RankRegression.score`` does, count a row of ``Comparisons`` as often as it says, and are
scikit-learn's metrics otherwise. All are better if higher:

    accuracy         share of decided comparisons that went the way of the score
    neg_log_loss     minus the mean of -log of the probability that they went as they did
    neg_brier_score  minus the mean square of outcome less probability
    roc_auc          chance that one that left won has a higher probability than one that it lost
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.utils.metadata_routing import MetadataRequest

from pairscore.data.comparisons import Comparisons
from pairscore.errors import PairscoreError
from pairscore.model.fit_input import weighted

Decided = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Scorer:
    """``scorer(estimator, X, y)``: a metric of decided comparisons.

    Parameters
    ----------
    metric : function of (left_won, probability, amount), each with an entry per decided comparison
    sample_weight : bool, None or name
        What scikit-learn's metadata routing is told; see :meth:`set_score_request`.
    """

    metric: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
    sample_weight: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The score; ``sample_weight`` (M,) multiplies the weights of ``Comparisons``."""
        return self.metric(*_decided(estimator, X, y, sample_weight))

    def set_score_request(self, *, sample_weight: Any) -> "Scorer":
        """A scorer that asks scikit-learn's metadata routing for weights, or for none."""
        return replace(self, sample_weight=sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """What to hand over, as scikit-learn asks."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.sample_weight)
        return request

    def __repr__(self) -> str:
        return f"pairscore.scorers.{self.metric.__name__.lstrip('_')}"

    def _accept_sample_weight(self) -> bool:
        """A search asks this where routing is off, before it hands over those of ``fit``."""
        return True


def _accuracy(left_won: np.ndarray, probability: np.ndarray, amount: np.ndarray) -> float:
    return float(accuracy_score(left_won, probability > 0.5, sample_weight=amount))


def _neg_log_loss(left_won: np.ndarray, probability: np.ndarray, amount: np.ndarray) -> float:
    return -float(log_loss(left_won, probability, sample_weight=amount, labels=[False, True]))


def _neg_brier_score(left_won: np.ndarray, probability: np.ndarray, amount: np.ndarray) -> float:
    return -float(brier_score_loss(left_won, probability, sample_weight=amount))


def _roc_auc(left_won: np.ndarray, probability: np.ndarray, amount: np.ndarray) -> float:
    return float(roc_auc_score(left_won, probability, sample_weight=amount))


accuracy = Scorer(_accuracy)
neg_log_loss = Scorer(_neg_log_loss)
neg_brier_score = Scorer(_neg_brier_score)
roc_auc = Scorer(_roc_auc)


def _decided(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Decided:
    """Whether left won, the probability of that, and what each counts, without the ties."""
    if isinstance(X, Comparisons):
        data = weighted(X if y is None else X.with_outcome(y), sample_weight)
        outcome, amount = data.outcome, data.amount
    else:
        outcome = np.asarray(y)
        amount = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    rows = np.flatnonzero((outcome != 0) & (amount > 0))
    if len(rows) == 0:
        raise PairscoreError(
            "every comparison is a tie, so there is nothing to score; give some with a winner."
        )
    classes = np.asarray(estimator.classes_).tolist()
    if not {-1, 1} <= set(classes) <= {-1, 0, 1}:
        raise PairscoreError(
            f"the model's classes are {classes}, and these scorers need -1 (right won) and 1 (left"
            " won); use scikit-learn's own."
        )
    chances = np.asarray(estimator.predict_proba(X), dtype=float)[rows]
    left, right = (chances[:, classes.index(side)] for side in (1, -1))
    return outcome[rows] > 0, left / (left + right), amount[rows]
