"""compare: which model predicts comparisons best, of known items and of new ones?"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from pairscore.core.shares import ItemPairs, influence_sums
from pairscore.core.threads import one_blas_thread
from pairscore.data.comparisons import Comparisons
from pairscore.data.folds import Progress, Workers, nobody
from pairscore.data.items import Items
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.errors import PairscoreError, plural
from pairscore.evaluation.measures import MEASURES, HeldOutComparisons
from pairscore.evaluation.results import KINDS, Counts, ModelComparison


def compare(
    models: Any,
    X: Any,
    y: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    progress: Progress = nobody,
) -> ModelComparison:
    """Fit models to the same comparisons and test them on the same others.

    Comparisons of known and of new items are kept apart. In each fold a model is fitted to
    comparisons of which neither item is held out, but for one of n_splits parts of the pairs. It is
    tested on three kinds: that part (``train-train``: known items, unseen pairs), comparisons of a
    held-out item with a known one (``train-new``), and of two held-out items (``new-new``). A known
    item is one in the fold's training comparisons. What the folds tested is put together; standard
    errors let any two comparisons that share an item be dependent, and hold for the models as
    fitted.

    Where items have no features, or a model ignores them (:class:`WithoutFeatures`), only pairs are
    held out, because such a model knows nothing of new items; pairs that alone link some items to
    the others stay in the fit.

    Parameters
    ----------
    models : dict from name to estimator, or list of estimators
        Anything with scikit-learn's ``fit`` and ``predict_proba``. A copy is fitted. It is given
        Comparisons; a classifier of scikit-learn makes them a matrix of differences of features,
        left minus right, and has weights and counts as ``sample_weight`` where it takes them.
    X, y : Comparisons and outcomes, or items and votes
        As in ``RankRegression.fit``; items are None where there are comparisons alone.
    cv : ItemKFold or int
        The item folds or their number, five unless given. With ``item_groups``, its own or those
        of the comparisons, the errors allow for shared groups.
    n_jobs : int or None
        Processes that fit models side by side, as in scikit-learn: -1 for all cores. None is one,
        unless joblib's ``parallel_config`` says otherwise.
    progress : callable
        Told after each fit how many are done, and of how many.

    Returns
    -------
    ModelComparison
        Scores of each model on each kind of comparisons, differences between models, and their
        standard errors; ``print`` shows them.

    Examples
    --------
    >>> from pairscore import Population, RankRegression
    >>> items, votes = Population(n_features=3, rng=0).draw(60, 400, rng=1, second_half=False)
    >>> models = {"plain": RankRegression(), "heavy ridge": RankRegression(l2=100)}
    >>> found = compare(models, items, votes)
    >>> found.best(kind="new-new", measure="log_loss")
    'plain'
    """
    models, cv, workers = _models_by_name(models), _item_folds(cv), Workers(n_jobs, progress)
    data = set_covariance_items(_comparisons(X, y, models))
    only_known = not data.items.values.shape[1] or any(map(ignores_features, models.values()))
    predictions = _predict_folds(models, data, cv, only_known, workers)
    group = cv.group_of_item(data)
    counts, scores = {}, []
    for n_new, kind in enumerate(KINDS):
        tested, probabilities = predictions.with_new_items(n_new, data)
        counts[kind] = _count(tested, cv.n_splits)
        pairs = ItemPairs(group[tested.left], group[tested.right])
        scores.append(_scores(tested, pairs, probabilities))
    values, errors, difference_errors = (np.array(part) for part in zip(*scores, strict=True))
    return ModelComparison(
        models=tuple(models),
        counts=counts,
        values=values,
        std_errors=errors,
        difference_errors=difference_errors,
        shared="items" if cv.item_groups is None and data.item_groups is None else "groups",
        notes=predictions.notes,
        only_known=only_known,
    )


class WithoutFeatures(BaseEstimator):
    """A model that ignores the features of items, for ``compare``: abilities instead of features.

    >>> from pairscore import Population, RankRegression
    >>> items, votes = Population(n_features=3, rng=0).draw(30, 400, rng=1, second_half=False)
    >>> models = {"features": RankRegression(), "abilities": WithoutFeatures(RankRegression())}
    >>> compare(models, items, votes).best(kind="train-train")
    'features'
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def context(self) -> Any:
        """The columns of the comparisons that the model needs."""
        return getattr(self.model, "context", None)

    def fit(self, X: Comparisons, y: Any = None) -> "WithoutFeatures":
        self.model_ = clone(self.model).fit(without_features(X), y)
        return self

    def predict_proba(self, X: Comparisons) -> np.ndarray:
        """As the model does; the items must be known from the fit."""
        return self.model_.predict_proba(without_features(X))


def without_features(data: Comparisons) -> Comparisons:
    """The same comparisons of items of which only their ids are known."""
    items, n = data.items, len(data.items)
    ids = np.arange(n) if items.ids is None else items.ids
    return Comparisons.of(Items(np.empty((n, 0)), (), ids, items.backend), data.votes)


def ignores_features(model: Any) -> bool:
    """Whether a model knows items by their ids alone."""
    return isinstance(model, WithoutFeatures)


# -- arguments ---------------------------------------------------------------------------------


def _models_by_name(models: Any) -> dict[str, Any]:
    """Models by name; in a list they are named by their classes, or by their settings.

    Settings are only used where classes do not tell the models apart.
    """
    if not isinstance(models, dict | list | tuple) or len(models) == 0:
        raise PairscoreError(
            f"models is {models!r}; give a dict from name to estimator, or a list of estimators,"
            " with at least one."
        )
    named = models if isinstance(models, dict) else _name_models(models)
    for name, model in named.items():
        if not isinstance(name, str):
            raise PairscoreError(
                f"a model is called {name!r}; give text as the name of every model."
            )
        if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
            raise PairscoreError(
                f"the model {name!r} is a {type(model).__name__} and lacks fit or predict_proba;"
                " give estimators with both."
            )
    return named


def _name_models(models: Any) -> dict[str, Any]:
    names = [_title(model, lambda step: type(step).__name__) for model in models]
    if len(set(names)) < len(names):
        names = [_title(model, lambda step: " ".join(repr(step).split())) for model in models]
    return {
        name if names.count(name) == 1 else f"{name} ({number})": model
        for number, (name, model) in enumerate(zip(names, models, strict=True), start=1)
    }


def _title(model: Any, name: Callable[[Any], str]) -> str:
    """The name of a model; for a pipeline, the names of its steps."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return " > ".join(map(name, steps))


def _item_folds(cv: Any) -> ItemKFold:
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        return ItemKFold(5 if cv is None else int(cv))
    if not isinstance(cv, ItemKFold):
        raise PairscoreError(
            f"cv is {cv!r}, but models are compared on held-out items; use ItemKFold or a number of"
            " folds."
        )
    return cv


def _comparisons(X: Any, y: Any, models: dict[str, Any]) -> Comparisons:
    """The comparisons that count for something, with the context that some model needs."""
    if not isinstance(X, Comparisons):
        if y is None:
            raise PairscoreError("y is missing: give votes with the items, or Comparisons.")
        X, y = _read(X, y, models)
    data = X if y is None else X.with_outcome(y)
    data = data if np.all(data.amount > 0) else data[data.amount > 0]
    if len(data) == 0:
        raise PairscoreError(
            "there are no comparisons, or all of them count zero; give some that count."
        )
    return data


def _read(items: Any, votes: Any, models: dict[str, Any]) -> tuple[Comparisons, Any]:
    settings = [
        (getattr(model, "context", None) or (), getattr(model, "missing", "refuse"))
        for model in models.values()
    ]
    context = sorted({name for names, _ in settings for name in names})
    fills = {fill for _, fill in settings} - {"refuse"}
    if len(fills) > 1:
        raise PairscoreError(
            "the models fill in missing values in different ways, but must be compared on the"
            " same items; give all of them the same missing=."
        )
    missing = fills.pop() if fills else "refuse"
    return Comparisons.from_frames(items, votes, context=context, missing=missing)


# -- folds -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predictions:
    """What all folds tested, and what each of K models predicted.

    ``row`` (of the data), ``fold`` and ``n_new`` (how many of the two items were new) are (M,);
    ``probabilities`` that left wins are (K, M); ``notes`` says what the fits warned of.
    """

    row: np.ndarray
    fold: np.ndarray
    n_new: np.ndarray
    probabilities: np.ndarray
    notes: tuple[str, ...]

    def with_new_items(
        self, n_new: int, data: Comparisons
    ) -> tuple[HeldOutComparisons, np.ndarray]:
        """The test comparisons with so many new items, and each model's probabilities of them."""
        chosen = self.n_new == n_new
        part = data[self.row[chosen]]
        count = np.ones(len(part)) if part.count is None else part.count
        return (
            HeldOutComparisons(
                part.left, part.right, part.outcome, part.amount, count, self.fold[chosen]
            ),
            self.probabilities[:, chosen],
        )


def _predict_folds(
    models: dict[str, Any], data: Comparisons, cv: ItemKFold, only_known: bool, workers: Workers
) -> Predictions:
    """Fit and test every model in every fold; of known items only, no item is held out."""
    fold_of_item = np.full(len(data.items), -1) if only_known else cv.fold_of_item(data)
    # a generator of its own: the first numbers of the seed assigned the items to their folds
    rng = np.random.default_rng(cv.random_state).spawn(1)[0]
    fold_of_pair = assign_pairs(data, cv.n_splits, rng)
    parts, jobs = [], []
    for number in range(cv.n_splits):
        fold = f"fold {number + 1} of {cv.n_splits}"
        aside = fold_of_pair == number
        aside = aside & ~linking(data, aside) if only_known else aside
        train, test, n_new = split_comparisons(data, fold_of_item == number, aside)
        if len(train) == 0:
            raise PairscoreError(
                f"{fold} has no training comparison; use other folds or more comparisons."
            )
        rows = data[train], data[test]
        jobs += [partial(_fit_and_predict, *model, *rows, fold) for model in models.items()]
        parts.append((test, np.full(len(test), number), n_new))
    found, caught = zip(*workers.all(jobs), strict=True)
    # one model after the other in every fold
    of_models = [np.concatenate(found[place :: len(models)]) for place in range(len(models))]
    row, number_of_fold, n_new = (np.concatenate(column) for column in zip(*parts, strict=True))
    notes = _notes([note for notes in caught for note in notes], cv.n_splits)
    return Predictions(row, number_of_fold, n_new, np.array(of_models), notes)


def assign_pairs(data: Comparisons, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    """A part for every comparison, the same for all of a pair: one answer tells the others."""
    pairs, pair = np.unique(data.pair, return_inverse=True)
    return (rng.permutation(len(pairs)) % n_parts)[pair]


def linking(data: Comparisons, aside: np.ndarray) -> np.ndarray:
    """Comparisons of the mask ``aside`` (M) without which items would lose their link to others.

    Abilities have a common scale only where comparisons link the items. Of a spanning tree that has
    as few of the pairs that are set aside as possible, it is those; decided ones come first, since
    ties may be left out.
    """
    pairs, first, pair = np.unique(data.pair, return_index=True, return_inverse=True)
    n, ends = len(data.items), np.divmod(pairs, len(data.items))
    decided = np.bincount(pair, data.outcome != 0, len(pairs)) > 0
    cost = np.where(ends[0] != ends[1], 1.0 + 2 * aside[first] + ~decided, 0.0)
    narrow = tuple(end.astype(np.int32) for end in ends)  # SciPy 1.16 takes no others here
    tree = minimum_spanning_tree(sparse.csr_array((cost, narrow), shape=(n, n))).tocoo()
    return aside & np.isin(data.pair, tree.row.astype(np.int64) * n + tree.col)


def split_comparisons(
    data: Comparisons, held_out: np.ndarray, aside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows, and how many items of each test row are new.

    ``held_out`` marks items, ``aside`` comparisons. An item against itself tests nothing.
    """
    left, right = held_out[data.left], held_out[data.right]
    train = ~left & ~right & ~aside
    known = data[train].compared
    testable = (left | known[data.left]) & (right | known[data.right]) & (data.left != data.right)
    test = ~train & testable
    return np.flatnonzero(train), np.flatnonzero(test), (left.astype(int) + right)[test]


def _fit_and_predict(
    name: str, model: Any, train: Comparisons, test: Comparisons, fold: str
) -> tuple[np.ndarray, list[tuple[str, str, Any]]]:
    """A model's P(left wins) of the test comparisons, and the warnings of its fit."""
    try:
        # in a process of its own BLAS would have one thread too
        with warnings.catch_warnings(record=True) as caught, one_blas_thread:
            probability = left_probability(model, train, test)
    except Exception as error:  # a model may be anything and fail in any way
        ours = isinstance(error, PairscoreError)
        reason = str(error) if ours else f"{type(error).__name__}: {error}"
        raise PairscoreError(
            f"the model {name!r} failed in {fold}"
            f" ({plural(len(train), 'training comparison')}): {reason}"
        ) from error
    return probability, [(name, fold, warning) for warning in caught]


def left_probability(model: Any, train: Comparisons, test: Comparisons) -> np.ndarray:
    """P(left wins) of the test comparisons, by a copy of the model fitted to the others.

    Of comparisons that do not end in a tie: a tie as a class of the model is left out.
    """
    if len(test) == 0:
        return np.empty(0)
    weight = _weight_parameter(model) if not np.all(train.amount == 1) else None
    fitted = clone(model).fit(train, train.outcome, **({weight: train.amount} if weight else {}))
    chances = np.asarray(fitted.predict_proba(test), dtype=float)
    classes = np.asarray(getattr(fitted, "classes_", (-1, 1)))
    if not set(classes.tolist()) <= {-1, 0, 1}:
        raise PairscoreError(
            f"its classes are {classes.tolist()}; give a model whose classes are -1 (right won) and"
            " 1 (left won)."
        )
    if chances.shape != (len(test), len(classes)) or not np.all((chances >= 0) & (chances <= 1)):
        raise PairscoreError(
            f"it did not predict {len(classes)} probabilities from 0 to 1 for each comparison."
        )
    left, right = chances @ (classes == 1), chances @ (classes == -1)
    return np.divide(left, left + right, out=np.full(len(left), 0.5), where=left + right > 0)


def _weight_parameter(model: Any) -> str | None:
    """The parameter by which a classifier of scikit-learn takes weights; ours have them in X."""
    if isinstance(model, GridSearchCV | RandomizedSearchCV):
        return _weight_parameter(model.estimator)
    if isinstance(model, Pipeline):
        name = _weight_parameter(model[-1])
        return name and f"{model.steps[-1][0]}__{name}"
    ours_to_tell = type(model).__module__.startswith("sklearn.")
    return "sample_weight" if ours_to_tell and has_fit_parameter(model, "sample_weight") else None


def _notes(caught: list[tuple[str, str, Any]], n_folds: int) -> tuple[str, ...]:
    """What fits warned of: once for each model and kind of warning, as in the first such fold."""
    texts: dict[tuple[str, type], dict[str, str]] = {}
    for name, fold, warning in caught:
        texts.setdefault((name, warning.category), {}).setdefault(fold, str(warning.message))
    return tuple(
        f"{name!r} in {len(by_fold)} of {n_folds} folds: {next(iter(by_fold.values()))}"
        for (name, _), by_fold in texts.items()
    )


# -- scores ------------------------------------------------------------------------------------


def _count(tested: HeldOutComparisons, n_folds: int) -> Counts:
    return Counts(
        n_comparisons=float(tested.count.sum()),
        n_pairs=len(np.unique(tested.pair)),
        n_items=len(np.unique([tested.left, tested.right])),
        rows_of_folds=tuple(np.bincount(tested.fold, minlength=n_folds).tolist()),
    )


def _scores(
    tested: HeldOutComparisons, pairs: ItemPairs, probabilities: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and standard errors by measure and model, and those of differences of two models.

    NaN where nothing was tested.
    """
    size = (len(MEASURES), len(probabilities))
    values, errors = np.full((2, *size), np.nan)
    difference_errors = np.full((*size, len(probabilities)), np.nan)
    for row, measure in enumerate(MEASURES.values() if len(tested.fold) else ()):
        measurements = [measure(tested, p) for p in probabilities]
        sums = [influence_sums(measurement, pairs) for measurement in measurements]
        values[row] = [measurement.value for measurement in measurements]
        errors[row] = [one.std_error for one in sums]
        difference_errors[row] = [[(a - b).std_error for b in sums] for a in sums]
    return values, errors, difference_errors
