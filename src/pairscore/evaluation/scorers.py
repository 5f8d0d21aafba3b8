"""Scorers for scikit-learn that know ties: ``cross_val_score(..., scoring=scorers.roc_auc)``.

scikit-learn's own scorers of probabilities compare the two classes that a model predicts with the
values of y, and end in an error where y has ties (0) beside -1 and 1. These leave ties out, as
``RankRegression.score`` does, count a row of ``Comparisons`` as often as it says, and are
scikit-learn's metrics otherwise. All are better if higher.
"""

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

from pairscore.data.comparisons import Comparisons
from pairscore.errors import PairscoreError

Decided = tuple[np.ndarray, np.ndarray, np.ndarray]


def accuracy(estimator: Any, X: Any, y: Any = None) -> float:
    """Share of decided comparisons that went the way of the score."""
    left_won, probability, amount = _decided(estimator, X, y)
    return float(accuracy_score(left_won, probability > 0.5, sample_weight=amount))


def neg_log_loss(estimator: Any, X: Any, y: Any = None) -> float:
    """Minus the mean of -log of the probability that decided comparisons went as they did."""
    left_won, probability, amount = _decided(estimator, X, y)
    return -float(log_loss(left_won, probability, sample_weight=amount, labels=[False, True]))


def neg_brier_score(estimator: Any, X: Any, y: Any = None) -> float:
    """Minus the mean square of outcome less probability, of decided comparisons."""
    left_won, probability, amount = _decided(estimator, X, y)
    return -float(brier_score_loss(left_won, probability, sample_weight=amount))


def roc_auc(estimator: Any, X: Any, y: Any = None) -> float:
    """Chance that a comparison that left won has the higher probability of one that it lost."""
    left_won, probability, amount = _decided(estimator, X, y)
    return float(roc_auc_score(left_won, probability, sample_weight=amount))


def _decided(estimator: Any, X: Any, y: Any) -> Decided:
    """Whether left won, the probability of that, and what each counts, without the ties."""
    if isinstance(X, Comparisons):
        data = X if y is None else X.with_outcome(y)
        outcome, amount = data.outcome, data.amount
    else:
        outcome, amount = np.asarray(y), np.ones(len(y))
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
