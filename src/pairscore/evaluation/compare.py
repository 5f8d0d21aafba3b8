"""compare: which model predicts comparisons best, of known items and of new ones?"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pairscore.data.comparisons import Comparisons
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.errors import PairscoreError, plural
from pairscore.evaluation.measures import MEASURES, Meetings, Outcomes, influence_of
from pairscore.evaluation.table import KINDS, Counts, ModelComparison


def compare(models: Any, X: Any, y: Any = None, cv: Any = None) -> ModelComparison:
    """Fit models to the same comparisons and test them on the same others, of known and of new
    items apart.

    In each fold a model is fitted to comparisons of which neither item is held out, but for one of
    n_splits parts of the pairs. It is tested on three kinds: that part (``train-train``: known
    items, unseen pairs), comparisons of a held-out item with a known one (``train-new``), and of
    two held-out items (``new-new``). A known item is one in the fold's training comparisons. What
    the folds tested is put together; standard errors let any two comparisons that share an item be
    dependent, and hold for the models as fitted.

    Parameters
    ----------
    models : dict from name to estimator, or list of estimators
        Anything with scikit-learn's ``fit`` and ``predict_proba`` that takes Comparisons. A copy is
        fitted.
    X, y : Comparisons and outcomes, or items and votes
        As in ``RankRegression.fit``.
    cv : ItemKFold or int
        The item folds or their number, five unless given. With ``item_groups`` the errors allow for
        shared groups.

    Examples
    --------
    >>> from pairscore import Population, RankRegression
    >>> items, votes = Population(n_features=3, rng=0).draw(60, 400, rng=1, second_half=False)
    >>> found = compare({"plain": RankRegression(), "heavy ridge": RankRegression(l2=100)}, items, votes)
    >>> found.best(kind="new-new", measure="log_loss")
    'plain'
    """
    named, cv = _named(models), _item_folds(cv)
    data = set_covariance_items(_read(X, y, named))
    said, group = _predictions(named, data, cv), cv.group_of_item(data)
    counts, results = {}, []
    for n_new, kind in enumerate(KINDS):
        tested, probabilities = said.of_kind(n_new, data)
        counts[kind] = _count(tested, cv.n_splits)
        results.append(
            _measure(tested, Meetings(group[tested.left], group[tested.right]), probabilities)
        )
    values, errors, gap_errors = (np.array(part) for part in zip(*results, strict=True))
    return ModelComparison(
        tuple(named),
        counts,
        values,
        errors,
        gap_errors,
        "items" if cv.item_groups is None else "groups",
        said.notes,
    )


# -- the door ------------------------------------------------------------------------------------------


def _named(models: Any) -> dict[str, Any]:
    """Models by name; those of a list are called by their classes or, where these do not tell them
    apart, by their settings.
    """
    if not isinstance(models, dict | list | tuple) or len(models) == 0:
        raise PairscoreError(
            f"models is {models!r}; give a dict from name to estimator, or a list of estimators,"
            " with at least one."
        )
    if isinstance(models, dict):
        named = models
    else:
        names = [_title(model, lambda step: type(step).__name__) for model in models]
        if len(set(names)) < len(names):
            names = [_title(model, lambda step: " ".join(repr(step).split())) for model in models]
        named = {
            name if names.count(name) == 1 else f"{name} ({place + 1})": model
            for place, (name, model) in enumerate(zip(names, models, strict=True))
        }
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


def _title(model: Any, call: Callable[[Any], str]) -> str:
    """What a model is called: of a pipeline, its steps."""
    return (
        " > ".join(call(step) for _, step in model.steps)
        if hasattr(model, "steps")
        else call(model)
    )


def _item_folds(cv: Any) -> ItemKFold:
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        return ItemKFold(5 if cv is None else int(cv))
    if not isinstance(cv, ItemKFold):
        raise PairscoreError(
            f"cv is {cv!r}, but models are compared on held-out items; use ItemKFold or a number of"
            " folds."
        )
    return cv


def _read(X: Any, y: Any, named: dict[str, Any]) -> Comparisons:
    """The comparisons that count for something, with the context that some model needs."""
    if not isinstance(X, Comparisons):
        if y is None:
            raise PairscoreError("y is missing: give votes beside the items, or Comparisons.")
        context = sorted(
            {name for model in named.values() for name in getattr(model, "context", None) or ()}
        )
        fills = {
            filled
            for model in named.values()
            if (filled := getattr(model, "missing", "refuse")) != "refuse"
        }
        if len(fills) > 1:
            raise PairscoreError(
                "the models fill missing values in different ways, and are compared on the same"
                " items; give all the same missing=."
            )
        X, y = Comparisons.from_frames(
            X, y, context=context, missing=fills.pop() if fills else "refuse"
        )
    data = X if y is None else X.with_outcome(y)
    data = data if np.all(data.amount > 0) else data[data.amount > 0]
    if len(data) == 0:
        raise PairscoreError(
            "there are no comparisons, or all of them count zero; give some that count."
        )
    return data


# -- the folds -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predictions:
    """What all folds tested.

    Rows of the data, the fold, how many items were new, and each model's P(left wins).
    """

    row: np.ndarray
    fold: np.ndarray
    n_new: np.ndarray
    probabilities: np.ndarray
    notes: tuple[str, ...]

    def of_kind(self, n_new: int, data: Comparisons) -> tuple[Outcomes, np.ndarray]:
        """The test comparisons with so many new items, and their probabilities, one row for each
        model.
        """
        chosen = self.n_new == n_new
        part = data[self.row[chosen]]
        count = np.ones(len(part)) if part.count is None else part.count
        return (
            Outcomes(part.left, part.right, part.outcome, part.amount, count, self.fold[chosen]),
            self.probabilities[:, chosen],
        )


def _predictions(named: dict[str, Any], data: Comparisons, cv: ItemKFold) -> Predictions:
    """Every model in every fold."""
    fold_of_item = cv.fold_of_item(data)
    # a generator of its own: the seed's first numbers have assign_folds the items
    aside = _dealt_pairs(data, cv.n_splits, np.random.default_rng(cv.random_state).spawn(1)[0])
    parts, notes = [], []
    for number in range(cv.n_splits):
        train, test, n_new = _fold(data, fold_of_item == number, aside == number)
        if len(train) == 0:
            raise PairscoreError(
                f"fold {number} of {cv.n_splits} has no training comparison; use other folds or"
                " more comparisons."
            )
        said, caught = _said(named, data[train], data[test], f"fold {number} of {cv.n_splits}")
        parts.append((test, np.full(len(test), number), n_new, said))
        notes += caught
    row, fold, n_new, probabilities = (
        np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)
    )
    return Predictions(row, fold, n_new, probabilities, _in_words(notes, cv.n_splits))


def _dealt_pairs(data: Comparisons, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    """A part for every comparison, the same for all comparisons of a pair.

    A seen answer tells an unseen one.
    """
    pairs, pair = np.unique(data.pair, return_inverse=True)
    return (rng.permutation(len(pairs)) % n_parts)[pair]


def _fold(
    data: Comparisons, held_out: np.ndarray, aside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows, and how many items of each test row are new.

    An item against itself tests nothing.
    """
    left, right = held_out[data.left], held_out[data.right]
    train = ~left & ~right & ~aside
    known = data[train].compared
    test = (
        ~train & (left | known[data.left]) & (right | known[data.right]) & (data.left != data.right)
    )
    return np.flatnonzero(train), np.flatnonzero(test), (left.astype(int) + right)[test]


def _said(
    named: dict[str, Any], train: Comparisons, test: Comparisons, fold: str
) -> tuple[np.ndarray, list[tuple[str, str, Any]]]:
    """P(left wins) of the test comparisons, one row for each model, and the warnings of their fits."""
    said, notes = [], []
    for name, model in named.items():
        try:
            with warnings.catch_warnings(record=True) as caught:
                said.append(_predicted(model, train, test))
        except Exception as error:  # a model may be anything and fail in any way
            reason = (
                str(error)
                if isinstance(error, PairscoreError)
                else f"{type(error).__name__}: {error}"
            )
            raise PairscoreError(
                f"the model {name!r} failed in {fold}"
                f" ({plural(len(train), 'training comparison')}): {reason}"
            ) from error
        notes += [(name, fold, warning) for warning in caught]
    return np.array(said), notes


def _predicted(model: Any, train: Comparisons, test: Comparisons) -> np.ndarray:
    """P(left wins) of the test comparisons, by a copy of the model that is fitted to the others."""
    if len(test) == 0:
        return np.empty(0)
    fitted = clone(model).fit(train, train.outcome)
    said, classes = (
        np.asarray(fitted.predict_proba(test), dtype=float),
        np.asarray(getattr(fitted, "classes_", (-1, 1))),
    )
    if not set(classes.tolist()) <= {-1, 0, 1}:
        raise PairscoreError(
            f"its classes are {classes.tolist()}; give a model whose classes are -1 (right won) and"
            " 1 (left won)."
        )
    if said.shape != (len(test), len(classes)) or not np.all((said >= 0) & (said <= 1)):
        raise PairscoreError(
            f"it predicted something else than {len(classes)} probabilities from 0 to 1 for each"
            " comparison."
        )
    left = said @ ((1 + classes) / 2)  # a tie, where a model predicts one, is half a win
    # beside the probabilities of comparisons that do not end in one
    tie = _tie_chance(fitted, test)
    return (1 - tie) * left + 0.5 * tie


def _tie_chance(fitted: Any, test: Comparisons) -> np.ndarray:
    """Probability of a tie by the model, or by the one at the end of a pipeline or behind a search."""
    if hasattr(fitted, "best_estimator_"):
        return _tie_chance(fitted.best_estimator_, test)
    if isinstance(fitted, Pipeline):
        return _tie_chance(fitted[-1], fitted[:-1].transform(test) if len(fitted) > 1 else test)
    return (
        np.zeros(len(test))
        if getattr(fitted, "ties_", "half") == "half"
        else fitted.predict_ties(test)
    )


def _in_words(notes: list[tuple[str, str, Any]], n_folds: int) -> tuple[str, ...]:
    """What fits warned of, once for each model and kind of warning, in the words of the first fold."""
    texts: dict[tuple[str, type], dict[str, str]] = {}
    for name, fold, warning in notes:
        texts.setdefault((name, warning.category), {}).setdefault(fold, str(warning.message))
    return tuple(
        f"{name!r} in {len(said)} of {n_folds} folds: {next(iter(said.values()))}"
        for (name, _), said in texts.items()
    )


# -- the measures --------------------------------------------------------------------------------------


def _count(tested: Outcomes, n_folds: int) -> Counts:
    n_items, n_pairs = len(np.unique([tested.left, tested.right])), len(np.unique(tested.pair))
    return Counts(
        float(tested.count.sum()),
        n_pairs,
        n_items,
        tuple(np.bincount(tested.fold, minlength=n_folds).tolist()),
    )


def _measure(
    tested: Outcomes, meetings: Meetings, probabilities: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, standard errors, and those of differences.

    By measure and model, and by measure and two models; NaN without a test.
    """
    size = (len(MEASURES), len(probabilities))
    values, errors, gap_errors = (
        np.full(size, np.nan),
        np.full(size, np.nan),
        np.full((*size, size[1]), np.nan),
    )
    for place, measure in enumerate(MEASURES.values() if len(tested.fold) else ()):
        found = [measure(tested, probability) for probability in probabilities]
        influences = [influence_of(one.influence, one.share, one.number, meetings) for one in found]
        values[place] = [one.value for one in found]
        errors[place] = [one.std_error for one in influences]
        for a, one in enumerate(influences):
            for b, other in enumerate(influences[: a + 1]):
                gap_errors[place, a, b] = gap_errors[place, b, a] = (one - other).std_error
    return values, errors, gap_errors
