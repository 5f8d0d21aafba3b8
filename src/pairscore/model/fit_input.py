"""What people give to ``RankRegression``, as comparisons and items, and the record that it keeps.

Items and votes, ``Comparisons``, or a plain matrix of differences. The record says where they came
from.
"""

import platform
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.data.comparisons import Comparisons, refuse_other_self_pairs
from pairscore.data.items import LARGEST_NUMBER, Items, read_names
from pairscore.data.tables import as_frame, check_amounts, named_backend, to_array
from pairscore.data.votes import Votes
from pairscore.errors import (
    PairscoreError,
    PairscoreWarning,
    first_few,
    plural,
    without_password,
)
from pairscore.estimators.results import Fit, Note
from pairscore.estimators.settings import Settings
from pairscore.files.write import html_text

ID_KINDS = (str, int, np.integer)
PACKAGES = ("pairscore", "numpy", "scipy", "scikit-learn")
MOST_SHOWN = 20  # pairs that are printed


def comparisons_to_fit(
    model: Any,
    X: Any,
    y: Any,
    covariance_items: Any,
    self_pairs: str,
    columns: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    item_groups: Any = None,
) -> tuple[Comparisons, bool]:
    """What was given to ``fit`` as comparisons, and whether they are of items that are known.

    ``columns`` has names of columns of the items and votes, as ``Comparisons.from_frames`` takes.
    ``sample_weight`` (M,) multiplies the weights that they have. ``item_groups`` are those of all
    items of a table, of which some may be dropped. Sets the model's ``classes_``, and
    for a matrix of differences what scikit-learn sets.
    """
    of_items = {"covariance_items": covariance_items, "item_groups": item_groups}
    data, has_items = _read_comparisons(model, X, y, of_items, self_pairs, columns or {})
    return weighted(data, sample_weight), has_items


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


def _read_comparisons(
    model: Any,
    X: Any,
    y: Any,
    of_items: dict[str, Any],
    self_pairs: str,
    columns: Mapping[str, Any],
) -> tuple[Comparisons, bool]:
    refuse_other_self_pairs(self_pairs)
    covariance_items = of_items["covariance_items"]
    model.classes_ = np.array([-1, 1])
    if columns and (isinstance(X, Comparisons) or y is None or not _are_votes(y)):
        raise PairscoreError(
            f"{next(iter(columns))}= names a column, and there are no tables of items and votes"
            " here; name columns where tables are read, as in Comparisons.from_frames."
        )
    if isinstance(X, Comparisons):
        data = X if y is None else X.with_outcome(y)
        if y is not None and np.max(y, initial=0) > 1:
            # cross_val_predict numbered right, tie and left anew, and looks for three classes;
            # probabilities are of the two that are no ties
            model.classes_ = np.arange(3)
        named = covariance_items is not None
        return (data.with_covariance_items(covariance_items) if named else data), True
    if y is None:
        raise PairscoreError(
            "fit requires y to be passed, but the target y is None: give votes with the items, or"
            " Comparisons."
        )
    if _are_votes(y):
        reading = {
            **of_items,
            "self_pairs": self_pairs,
            "context": model.context or (),
            "missing": "refuse" if isinstance(y, Votes) else model.missing,
        }
        return Comparisons.from_frames(X, y, **reading, **columns)[0], True
    if covariance_items is not None:
        raise PairscoreError(
            "covariance_items names items, but a matrix of differences has none; fit items and"
            " votes instead."
        )
    return _differences(model, X, y), False


def without_ties(data: Comparisons, method: str) -> Comparisons:
    """What ``ties="drop"`` leaves; the items behind the covariance of ``split`` stay the same."""
    decided = data.outcome != 0
    if decided.all():
        return data
    if not np.any(decided & (data.amount > 0)):
        raise PairscoreError(
            "every comparison is a tie, so ties='drop' leaves nothing to learn from; use"
            " ties='half'."
        )
    if method == "split" and data.covariance_items is None:
        data = data.with_covariance_items(~data.compared)
    return data[decided]


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


def _differences(model: Any, X: Any, y: Any) -> Comparisons:
    """A matrix of differences is a set of items, each compared once with an item at the origin."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d, validate_data

    X, y = validate_data(model, X, column_or_1d(y, warn=True), dtype=np.float64)
    check_classification_targets(y)
    outcome = _outcome_of_classes(model, y)
    names = getattr(model, "feature_names_in_", [f"x{column}" for column in range(X.shape[1])])
    items = Items(np.vstack([X, np.zeros(X.shape[1])]), tuple(names))
    rows = np.arange(len(X))
    return Comparisons(items, rows, np.full(len(X), len(X)), outcome)


def _outcome_of_classes(model: Any, y: np.ndarray) -> np.ndarray:
    """Outcomes -1, 0, 1 as they are; of two other classes the larger is a win."""
    from sklearn.utils.multiclass import type_of_target

    labels = np.unique(y)
    if y.dtype.kind in "iuf" and np.array_equal(labels, [-1, 0, 1]):
        return y.astype(np.int8)
    if len(labels) == 2:
        model.classes_ = labels
        return np.where(y == labels[1], 1, -1).astype(np.int8)
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


# -- refusals --------------------------------------------------------------------------------------


def refuse_unknown_items_and_sides(settings: Settings, data: Comparisons, has_items: bool) -> None:
    """What a matrix of differences, or votes without sides, cannot tell."""
    if settings.by_comparison and not has_items:
        raise PairscoreError(
            "judges, context and ties as a parameter need items and votes; a matrix of differences"
            " has neither judges nor context."
        )
    if settings.item_effects and not has_items:
        raise PairscoreError(
            "item_effects=True needs to know who was compared, and a matrix of differences does not"
            " say; fit items and votes instead."
        )
    if settings.side_effect and has_items and not data.sides_known:
        raise PairscoreError(
            "side_effect=True needs votes that say who was left and right; these only say winner"
            " and loser."
        )


def refuse_extremes(data: Comparisons) -> None:
    """Weights and context whose squares overflow; features are checked where they are read."""
    if data.weight is not None:
        low = float(np.min(data.weight, where=data.weight > 0, initial=np.inf))
        refuse_weights(low, float(np.max(data.weight)))
    limits = {
        name: np.all(np.abs(column) < LARGEST_NUMBER) for name, column in data.context.items()
    }
    large = [name for name, is_small in limits.items() if not is_small]
    if large:
        raise PairscoreError(
            f"values beyond {LARGEST_NUMBER:g} are too large to compute with:"
            f" {first_few(map(repr, large))}; divide the column by a constant."
        )


def refuse_weights(low: float, high: float) -> None:
    """Positive weights between these two whose squares overflow."""
    if not (high < LARGEST_NUMBER and low > 1 / LARGEST_NUMBER):
        raise PairscoreError(
            f"weights go from {low:.3g} to {high:.3g}, too far apart to compute with; divide them"
            " by their mean."
        )


# -- single items and pairs ------------------------------------------------------------------------


def compared_items(fit: Fit) -> Items:
    """The items that were compared, from the comparisons or, without features, from the fit."""
    effects, data = fit.item_effects, fit.comparisons
    if fit.n_features:
        if data is None:
            raise PairscoreError(
                "the model does not have the items that it was fitted to; give a table of items."
            )
        return data.items.take(np.flatnonzero(data.compared))
    assert effects is not None  # without features every fit has them
    known = np.flatnonzero(np.isfinite(effects.effect))
    ids = known if effects.ids is None else effects.ids[known]
    table = fit.record.get("table", "array")  # of a model that was saved without its comparisons
    backend = named_backend("array" if table == "file" else table)
    backend = backend if data is None else data.items.backend
    return Items(np.empty((len(known), 0)), (), ids, backend)


def item_of_id(fit: Fit, name: Any) -> Items:
    """One item of the fit, by its id."""
    if not fit.n_features:
        return read_names(name)
    table, row = rows_of_ids(fit, np.array([name]))
    return table.take(row)


def rows_of_ids(fit: Fit, names: np.ndarray) -> tuple[Items, np.ndarray]:
    """The items of the fit, and in which of their rows those with these ids (n,) stand."""
    if fit.n_features and fit.comparisons is None:
        raise PairscoreError(
            f"the model has no table in which to look up the item {names.tolist()[0]!r}; give its"
            " features."
        )
    table = compared_items(fit) if fit.comparisons is None else fit.comparisons.items
    rows = table.find_rows_by_text(names)
    if np.any(rows < 0):
        unknown = list(dict.fromkeys(names[rows < 0].tolist()))
        what = "in the table of the fit; give its features" if fit.n_features else "in the fit"
        raise PairscoreError(f"there is no item {first_few(map(repr, unknown))} {what}.")
    return table, rows


def single_item(item: Any, read: Callable[[Any], Items]) -> Items:
    """One item, from a table of one row or its features in a row, as ``read`` reads tables."""
    # a pandas Series is one row with names
    if hasattr(item, "to_frame") and hasattr(item, "index"):
        item = item.to_frame().T.infer_objects()
    is_table = isinstance(item, Items | dict) or as_frame(item) is not None
    table = read(item if is_table else np.atleast_2d(to_array(item, "an item is")))
    if len(table) != 1:
        raise PairscoreError(
            "difference compares two single items, but one of them has"
            f" {len(table)} rows; give one row each."
        )
    return table


def pairs_of_ids(
    fit: Fit, a: Any, b: Any, n_features: int | None = None
) -> tuple[Items, np.ndarray, np.ndarray] | None:
    """The items of the fit, and the rows (n,) of both sides of pairs that are arrays of ids.

    One of them may be a single id. None where neither is an array of ids, but an item, of
    ``n_features`` or as many as the fit has.
    """
    n_features = fit.n_features if n_features is None else n_features
    arrays = [_array_of_ids(n_features, side) for side in (a, b)]
    if all(ids is None for ids in arrays):
        return None
    sides = [
        np.array([side]) if ids is None and isinstance(side, ID_KINDS) else ids
        for side, ids in zip((a, b), arrays, strict=True)
    ]
    sizes = {len(ids) for ids in arrays if ids is not None}
    first, second = sides
    if first is None or second is None or len(sizes) > 1:
        raise PairscoreError(
            "difference takes two items, or two arrays of equally many ids, or one id and an array;"
            " for other pairs use Comparisons.from_pairs(items, left, right)."
        )
    (table, left), (_, right) = rows_of_ids(fit, first), rows_of_ids(fit, second)
    n = sizes.pop()
    return table, np.broadcast_to(left, n), np.broadcast_to(right, n)


def _array_of_ids(n_features: int, given: Any) -> np.ndarray | None:
    """An array of ids: text, or whole numbers, unless these are as many as the features."""
    if isinstance(given, (*ID_KINDS, Items, dict)) or as_frame(given) is not None:
        return None
    array = to_array(given, "an item is")
    if array.ndim != 1:
        return None
    is_text = all(isinstance(name, str) for name in array.tolist())
    return array if is_text or (array.dtype.kind in "iu" and len(array) != n_features) else None


def _ends(low: float, high: float) -> str:
    """An interval in brackets; in words where it is open."""
    if np.isinf(low) and np.isinf(high):
        return "(no interval)"
    if np.isinf(low) or np.isinf(high):
        return f"({high:.4g} or less)" if np.isinf(low) else f"({low:.4g} or more)"
    return f"[{low:.4g}, {high:.4g}]"


@dataclass(frozen=True)
class Difference:
    """Score difference of two items, with its interval, and the probability that the first wins.

    Of many pairs, each is an array with an entry for every pair.
    """

    difference: Any
    low: Any
    high: Any
    probability: Any
    probability_low: Any
    probability_high: Any
    std_error: Any = np.nan

    def to_frame(self, backend: Any = "pandas") -> Any:
        """A row for each pair, as a dataframe of some kind: pandas, polars or pyarrow."""
        columns = {name: np.atleast_1d(column) for name, column in vars(self).items()}
        return nw.from_dict(columns, backend=backend).to_native()

    def __str__(self) -> str:
        first = [np.atleast_1d(column)[:MOST_SHOWN].tolist() for column in vars(self).values()]
        lines = [
            f"score difference {value:.4g} {_ends(low, high)}; chance that the first wins"
            f" {chance:.1%} [{least:.1%}, {most:.1%}]"
            for value, low, high, chance, least, most, _ in zip(*first, strict=True)
        ]
        more = np.size(self.difference) - len(lines)
        lines += [f"... and {plural(more, 'pair')} more; to_frame() has all"] * (more > 0)
        return "\n".join(lines).replace("nan%", "nan").replace("nan", "unknown")

    def _repr_html_(self) -> str:
        if np.ndim(self.difference):
            few = {name: column[:MOST_SHOWN].tolist() for name, column in vars(self).items()}
            n = plural(len(self.difference), "pair")
            first = f" (the first {MOST_SHOWN})" * (len(self.difference) > MOST_SHOWN)
            return html_text(f"Differences of {n}{first}", (), few)
        value, low, high, *chance, _ = vars(self).values()
        rows = ("score difference", value, low, high), ("chance that the first wins", *chance)
        columns = dict(zip(("", "estimate", "low", "high"), zip(*rows, strict=True), strict=True))
        return html_text("Difference of two items", (), columns)


# -- the record ------------------------------------------------------------------------------------


def record_of(fingerprint: str | None, seed: int | None) -> dict[str, Any]:
    """Versions, a fingerprint of the data, the seed of the sides, and the command that was run."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: package_version(name) for name in PACKAGES},
        },
        "fingerprint": fingerprint,
        "seed": seed,
        "command": command_line(),
    }


def command_line() -> str:
    """The command that was run, so that a shell takes it as it stands, without passwords."""
    if not sys.argv:
        return ""
    program, words = Path(sys.argv[0]), map(without_password, sys.argv[1:])
    as_module = program.name == "__main__.py" and program.parent.name == "pairscore"
    return shlex.join([*(("python", "-m", "pairscore") if as_module else (program.name,)), *words])


@cache
def package_version(name: str) -> str:
    """Version of a package: of one that is not loaded, as installed, which takes longer to find."""
    loaded = sys.modules.get(name)
    return version(name) if loaded is None else str(loaded.__version__)


def without_decisions(fit: Fit) -> tuple[Fit, list[Note]]:
    """A fit, without intervals if every comparison was a tie, and what to warn of.

    Half wins make all scores the same. How decided comparisons would end, nothing tells.
    """
    if fit.tie_share < 1:
        return fit, []
    known = {
        name: getattr(fit, name) for name in ("covariance", "std_errors", "effects_covariance")
    }
    unknown = {name: np.full_like(of, np.nan) for name, of in known.items() if of is not None}
    text = "every comparison is a tie: nothing was decided, all scores are equal, and intervals"
    return replace(fit, **unknown), [(PairscoreWarning, f"{text} are unknown.")]
