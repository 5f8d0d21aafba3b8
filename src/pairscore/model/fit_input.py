"""What is given to fit: items and votes, comparisons, or plain differences."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.data.folds import number_groups
from pairscore.data.items import Items
from pairscore.display import plural
from pairscore.errors import PairscoreError
from pairscore.estimators.settings import Settings

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons

from collections.abc import Mapping
from dataclasses import field

from sklearn.utils.validation import validate_data

from pairscore.data.comparisons import Comparisons, refuse_other_self_pairs
from pairscore.data.tables import as_frame, to_array
from pairscore.data.votes import Votes, check_amounts


@dataclass(frozen=True)
class FitInput:
    """Comparisons, whether it is known which items they are of, and what their outcomes are called.

    ``classes`` has the names of a loss and a win of left.
    """

    comparisons: Comparisons
    has_items: bool = True
    classes: np.ndarray = field(default_factory=lambda: np.array([-1, 1]))


def read_fit_input(
    model: Any,
    X: Any,
    y: Any,
    covariance_items: Any,
    self_pairs: str,
    columns: Mapping[str, Any],
    item_groups: Any,
) -> FitInput:
    """What was given to ``fit`` of a ``RankRegression``.

    ``columns`` has names of columns of the items and votes, as ``Comparisons.from_frames`` takes.
    ``item_groups`` are those of all items of a table, of which some may be dropped. Of a matrix of
    differences, scikit-learn sets in the model what it sets in its own.
    """
    refuse_other_self_pairs(self_pairs)
    if columns and (isinstance(X, Comparisons) or y is None or not _are_votes(y)):
        raise PairscoreError(
            f"{next(iter(columns))}= names a column, and there are no tables of items and votes"
            " here; name columns where tables are read, as in Comparisons.from_frames."
        )
    if isinstance(X, Comparisons):
        data = X if covariance_items is None else X.with_covariance_items(covariance_items)
        return _with_outcomes(data, y)
    if y is None:
        raise PairscoreError(
            "fit requires y to be passed, but the target y is None: give votes with the items, or"
            " Comparisons."
        )
    if _are_votes(y):
        data, _ = Comparisons.from_frames(
            X,
            y,
            covariance_items=covariance_items,
            item_groups=item_groups,
            self_pairs=self_pairs,
            context=model.context or (),
            missing="refuse" if isinstance(y, Votes) else model.missing,
            **columns,
        )
        return FitInput(data)
    if covariance_items is not None:
        raise PairscoreError(
            "covariance_items names items, but a matrix of differences has none; fit items and"
            " votes instead."
        )
    return _read_differences(model, X, y)


def _with_outcomes(data: Comparisons, y: Any) -> FitInput:
    """Comparisons with their own outcomes, or with those of ``y`` (M,)."""
    if y is None:
        return FitInput(data)
    data = data.with_outcome(y)
    if np.max(y, initial=0) > 1:
        # cross_val_predict numbered right, tie and left anew, and looks for three classes;
        # probabilities are of the two that are no ties
        return FitInput(data, classes=np.arange(3))
    return FitInput(data)


def weighted(data: Comparisons, sample_weight: Any) -> Comparisons:
    """The comparisons with their weights times those of scikit-learn (M,), if there are any."""
    if sample_weight is None:
        return data
    weight = to_array(sample_weight, "sample_weight is")
    if weight.shape != (len(data),):
        raise PairscoreError(
            f"sample_weight has shape {weight.shape} but there are"
            f" {plural(len(data), 'comparison')}; give one weight for each."
        )
    weight = data.importance * check_amounts(weight, "sample_weight")
    return Comparisons.of(data.items, replace(data.votes, weight=weight))


def _are_votes(y: Any) -> bool:
    """Whether y names or numbers the two items of every comparison; else it has outcomes."""
    if isinstance(y, Votes) or as_frame(y) is not None:
        return True
    shape = to_array(y, "the votes are").shape
    if isinstance(y, str | bytes) or shape == ():
        raise PairscoreError(
            f"the votes are a {type(y).__name__}; give a dataframe with columns such as left,"
            " right, winner, or an array."
        )
    if shape == (0,):
        raise PairscoreError("there are no comparisons; give at least one row of votes.")
    return len(shape) == 2 and shape[1] != 1


def _read_differences(model: Any, X: Any, y: Any) -> FitInput:
    """A matrix of differences is a set of items, each compared once with an item at the origin."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    X, y = validate_data(model, X, column_or_1d(y, warn=True), dtype=np.float64)
    check_classification_targets(y)
    outcome, classes = _outcomes_and_classes(y)
    names = getattr(model, "feature_names_in_", [f"x{column}" for column in range(X.shape[1])])
    items = Items(np.vstack([X, np.zeros(X.shape[1])]), tuple(names))
    rows = np.arange(len(X))
    data = Comparisons(items, rows, np.full(len(X), len(X)), outcome)
    return FitInput(data, has_items=False, classes=classes)


def _outcomes_and_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes -1, 0, 1 as they are; of two other classes the larger is a win."""
    from sklearn.utils.multiclass import type_of_target

    labels = np.unique(y)
    if y.dtype.kind in "iuf" and np.array_equal(labels, [-1, 0, 1]):
        return y.astype(np.int8), np.array([-1, 1])
    if len(labels) == 2:
        return np.where(y == labels[1], 1, -1).astype(np.int8), labels
    if len(labels) < 2:
        raise PairscoreError(
            f"y has only one class ({labels.tolist()[0]!r}); comparisons need outcomes of both"
            " kinds."
        )
    raise PairscoreError(
        f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y"
        f" has {len(labels)} values; use -1, 0 and 1, and Comparisons as X where ties go through"
        f" cross_val_predict."
    )


def number_item_groups(item_groups: Any, items: Items | None, settings: Settings) -> np.ndarray:
    """Number the groups of items that are held out together where the ridge is chosen.

    Parameters
    ----------
    item_groups : one label per item (topic, patient), or dict from id to label
    items : Items
        All N of them; None for plain differences, which have no groups.
    settings : Settings
        With ``l2="auto"``; nothing else holds items out.

    Returns
    -------
    ndarray of shape (N,), integer, in the order of first appearance
    """
    if items is None:
        raise PairscoreError(
            "item_groups are groups of items, and a matrix of differences has none; leave them out."
        )
    if not settings.holds_items_out:
        l2 = "auto-known" if settings.choose_l2 else settings.l2
        raise PairscoreError(
            "item_groups are held out together where l2='auto' chooses the ridge, and l2 is"
            f" {l2!r}; leave them out, or give them to Comparisons.from_frames, whose comparisons"
            " any l2 takes."
        )
    return np.array(number_groups(item_groups, items, np.arange(len(items))))
