"""compare: which model predicts comparisons best, of known items and of new ones?"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from pairscore.core.comparison_means import influence_sums
from pairscore.core.incidence import ItemPairs
from pairscore.core.threads import one_blas_thread
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.display import first_few, html_text, plural, text_table
from pairscore.errors import CallError, PairscoreError, Worded, one_of
from pairscore.evaluation.held_out import assign_pairs, linking, split_comparisons
from pairscore.evaluation.measures import DIGITS, MEASURES, MeasuredComparisons, Score
from pairscore.messages import Message, Setting, Words, in_python
from pairscore.parallel import Progress, Workers, nobody
from pairscore.records import plain, row_records

KINDS = {  # by how many of the two items are new
    "train-train": "unseen comparisons of known items",
    "train-new": "pairs of a known and a new item",
    "new-new": "pairs of new items",
}
HEADS = {
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "calibration_slope": "slope",
    "calibration_error": "calib. error",
    "misordered": "misordered",
}
BEST = {
    "accuracy": "highest accuracy",
    "log_loss": "lowest log-loss",
    "calibration_slope": "calibration slope closest to 1",
    "calibration_error": "lowest calibration error",
    "misordered": "lowest share of misordered pairs",
}
ONLY_KNOWN = "Without features nothing is known of new items, so none were held out. "
SURE = 1.96  # standard errors: a difference within them may be chance


def compare(
    models: Any,
    X: Any,
    y: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    progress: Progress = nobody,
) -> "ModelComparison":
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
    models = _models_by_name(models)
    cv = _item_folds(cv)
    workers = Workers(n_jobs, progress)
    data = set_covariance_items(_comparisons(X, y, models))
    only_known = not data.items.values.shape[1] or any(map(ignores_features, models.values()))
    predictions = _predict_folds(models, data, cv, only_known, workers)
    group = cv.group_of_item(data)
    counts = {}
    scores = []
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
        self.model_ = clone(self.model).fit(drop_features(X), y)
        return self

    def predict_proba(self, X: Comparisons) -> np.ndarray:
        """As the model does; the items must be known from the fit."""
        return self.model_.predict_proba(drop_features(X))


def drop_features(data: Comparisons) -> Comparisons:
    """The same comparisons of items of which only their ids are known."""
    items = data.items
    ids = np.arange(len(items)) if items.ids is None else items.ids
    no_features = np.empty((len(items), 0))
    return Comparisons.of(Items(no_features, (), ids, items.backend), data.votes)


def ignores_features(model: Any) -> bool:
    """Whether a model knows items by their ids alone."""
    return isinstance(model, WithoutFeatures)


# -- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """How much of one kind of comparisons was tested.

    ``n_comparisons`` counts a comparison twice if two folds tested it; ``rows_of_folds`` has the
    number of rows for each fold.
    """

    n_comparisons: float
    n_pairs: int
    n_items: int
    rows_of_folds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Models side by side on comparisons that they were not fitted to; ``print`` shows the table.

    Attributes
    ----------
    models : tuple of str
        Names of the K models.
    counts : dict from kind to Counts
        How much of each kind was tested: ``train-train``, ``train-new`` and ``new-new``.
    values, std_errors : (3, 5, K) arrays
        By kind, measure and model; NaN where nothing was tested.
    difference_errors : (3, 5, K, K) array
        Standard error of the difference of two models. It is smaller than those of the models
        suggest, because both are tested on the same comparisons.
    shared : str
        What dependent comparisons share: ``"items"`` or ``"groups"``.
    notes : tuple of Message
        What the fits warned of.
    only_known : bool
        Whether no item was held out, because some model knows nothing of new ones.
    """

    models: tuple[str, ...]
    counts: dict[str, Counts]
    values: np.ndarray
    std_errors: np.ndarray
    difference_errors: np.ndarray
    shared: str
    notes: tuple[Message, ...]
    only_known: bool = False

    # -- one number

    def score(self, model: str, kind: str = "new-new", measure: str = "log_loss") -> Score:
        """One measure of one model on one kind of comparisons."""
        index = (*_index(kind, measure), self._number(model))
        return Score(float(self.values[index]), float(self.std_errors[index]))

    def difference(
        self, model: str, other: str, kind: str = "new-new", measure: str = "log_loss"
    ) -> Score:
        """A measure of one model minus that of another on the same comparisons."""
        index = _index(kind, measure)
        a = self._number(model)
        b = self._number(other)
        with np.errstate(invalid="ignore"):  # slopes may both be infinite
            gap = float(self.values[index][a] - self.values[index][b])
        return Score(gap, float(self.difference_errors[index][a, b]))

    def _number(self, model: str) -> int:
        if model not in self.models:
            raise PairscoreError(
                f"no model is called {model!r}; the models are"
                f" {first_few(map(repr, self.models), 20)}."
            )
        return self.models.index(model)

    # -- words

    def best(self, kind: str = "new-new", measure: str = "log_loss") -> str:
        """Name of the model that does best; of equals, the first by name."""
        return self._ranked(kind, measure)[0]

    def _ranked(self, kind: str, measure: str) -> list[str]:
        """Models from the best down, without those whose value is unknown."""
        value = self.values[_index(kind, measure)]
        if np.isnan(value).all():
            raise PairscoreError(
                f"no model has a known {HEADS[measure]} on {KINDS[kind]}, of which"
                f" {plural(int(self.counts[kind].n_comparisons), 'comparison')} could be tested;"
                " use fewer folds, more comparisons, or another kind or measure."
            )
        badness = {"accuracy": -value, "calibration_slope": np.abs(value - 1)}.get(measure, value)
        order = sorted(
            (round(bad, DIGITS), name)
            for bad, name in zip(badness.tolist(), self.models, strict=True)
            if not np.isnan(bad)
        )
        return [name for _, name in order]

    def sentence(self, kind: str = "new-new", measure: str = "log_loss") -> str:
        """Which model is best at this, and how far from the next."""
        name, *others = self._ranked(kind, measure)
        score = self.score(name, kind, measure)
        if not others:
            return f"{name!r} has the {HEADS[measure]} {score} on {KINDS[kind]}."
        lead = f"{name!r} has the {BEST[measure]} on {KINDS[kind]} ({score})"
        gap = self.difference(name, others[0], kind, measure)
        if round(gap.value, DIGITS) == 0:
            return f"{lead}, the same as {others[0]!r}."
        side = "below" if gap.value < 0 else "above"
        sure = self._is_sure(name, others[0], kind, measure)
        size = Score(abs(gap.value), gap.std_error)
        chance = "" if sure else ", which may be chance"
        return f"{lead}, {size} {side} {others[0]!r}{chance}."

    def _is_sure(self, best: str, other: str, kind: str, measure: str) -> bool:
        """Whether the lead is beyond its error.

        For slopes, also whether it is sure that 1 is on the best one's side of their middle.
        """
        gap = self.difference(best, other, kind, measure)
        if measure == "calibration_slope":
            a = self.score(best, kind, measure)
            b = self.score(other, kind, measure)
            if not abs((a.value + b.value) / 2 - 1) > SURE * max(a.std_error, b.std_error):
                return False
        return abs(gap.value) > SURE * gap.std_error

    @property
    def in_words(self) -> str:
        """The best log-loss on the newest items of which there were test comparisons."""
        untested = ONLY_KNOWN if self.only_known else ""
        for kind in reversed(KINDS):
            if self.counts[kind].n_comparisons > 0:
                return untested + self.sentence(kind)
            untested += "" if self.only_known else f"No {KINDS[kind]} could be tested. "
        return untested.strip()

    def __str__(self) -> str:
        return self.text()

    def text(self, words: Words = in_python) -> str:
        """The tables and what they say, in the words of a front end."""
        lines = [self._title]
        kinds = ["train-train"] if self.only_known else KINDS
        for kind in kinds:
            lines += ["", self._heading(kind)]
            if self.counts[kind].n_comparisons:
                lines.append(self._table(kind))
        notes = [f"Warning: {note.worded(words)}" for note in self.notes]
        return "\n".join([*lines, "", self.in_words, *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tested = [kind for kind in KINDS if self.counts[kind].n_comparisons]
        rows = list(product(tested, self.models))
        columns = {"tested on": [KINDS[kind] for kind, _ in rows], "model": [n for _, n in rows]}
        for measure, head in HEADS.items():
            columns[head] = [str(self.score(name, kind, measure)) for kind, name in rows]
        return html_text(self._title, (), columns, [self.in_words], map(str, self.notes))

    @property
    def _title(self) -> str:
        return (
            f"{plural(len(self.models), 'model')} on comparisons that were not in the fit; ± one"
            f" standard error that allows for shared {self.shared}"
        )

    def _heading(self, kind: str) -> str:
        tested = self.counts[kind]
        if tested.n_comparisons == 0:
            return f"  {kind}, {KINDS[kind]}: none, so nothing can be said"
        comparisons = "comparison" if tested.n_comparisons == 1 else "comparisons"
        heading = (
            f"  {kind}, {KINDS[kind]}: {tested.n_comparisons:,.10g} {comparisons},"
            f" {plural(tested.n_pairs, 'pair', ',')}, {plural(tested.n_items, 'item', ',')}"
        )
        empty = tested.rows_of_folds.count(0)
        if empty:
            heading += f", none in {empty} of {plural(len(tested.rows_of_folds), 'fold')}"
        return heading

    def _table(self, kind: str) -> str:
        """One line for each model: its measures, and its log-loss less that of the first."""
        first, *others = self.models
        rows = [
            [name, *(self.score(name, kind, measure) for measure in MEASURES)]
            for name in self.models
        ]
        header = ["", *HEADS.values()]
        layout = "     {:<}" + "  {:>}" * len(HEADS)
        if others:
            differences = ["", *(self.difference(name, first, kind) for name in others)]
            rows = [[*row, gap] for row, gap in zip(rows, differences, strict=True)]
            header.append(f"log-loss - {first}")
            layout += "  {:>}"
        return text_table(header, rows, layout)

    # -- tables

    def to_columns(self) -> dict[str, list[Any]]:
        """Lists with one entry for each kind, model and measure.

        Differences are from the first model.
        """
        rows = list(product(KINDS, self.models, MEASURES))
        scores = [self.score(model, kind, measure) for kind, model, measure in rows]
        gaps = [
            self.difference(model, self.models[0], kind, measure) for kind, model, measure in rows
        ]
        return {
            "kind": [kind for kind, _, _ in rows],
            "model": [model for _, model, _ in rows],
            "measure": [measure for _, _, measure in rows],
            "value": [score.value for score in scores],
            "std_error": [score.std_error for score in scores],
            "difference": [gap.value for gap in gaps],
            "difference_std_error": [gap.std_error for gap in gaps],
            "n_comparisons": [self.counts[kind].n_comparisons for kind, _, _ in rows],
        }

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The columns as a dataframe of some kind: pandas, polars or pyarrow."""
        import narwhals.stable.v2 as nw

        return nw.from_dict(self.to_columns(), backend=backend).to_native()

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values for JSON; None for what is not known."""
        return plain(
            {
                "models": self.models,
                "counts": self.counts,
                "errors_allow_for_shared": self.shared,
                "scores": row_records(self.to_columns()),
                "in_words": self.in_words,
                "warnings": [*map(str, self.notes)],
            }
        )


def _index(kind: str, measure: str) -> tuple[int, int]:
    """Where a kind and a measure stand in the arrays of a comparison."""
    one_of(kind, "kind", KINDS)
    one_of(measure, "measure", MEASURES)
    return list(KINDS).index(kind), list(MEASURES).index(measure)


# -- arguments ---------------------------------------------------------------------------------


def _models_by_name(models: Any) -> dict[str, Any]:
    """Models by name; in a list they are named by their classes, or by their settings.

    Settings are only used where classes do not tell the models apart.
    """
    if not isinstance(models, dict | list | tuple) or len(models) == 0:
        raise CallError(
            Setting("models") + f" is {models!r}",
            "give a dict from name to estimator, or a list of estimators, with at least one",
        )
    named = models if isinstance(models, dict) else _name_models(models)
    for name, model in named.items():
        if not isinstance(name, str):
            raise PairscoreError(
                f"a model is called {name!r}; give text as the name of every model."
            )
        if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
            raise CallError(
                f"the model {name!r} is a {type(model).__name__} and lacks fit or predict_proba",
                "give estimators with both",
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
        raise CallError(
            Setting("cv") + f" is {cv!r}, but models are compared on held-out items",
            "use ItemKFold or a number of folds",
        )
    return cv


def _comparisons(X: Any, y: Any, models: dict[str, Any]) -> Comparisons:
    """The comparisons that count for something, with the context that some model needs."""
    if not isinstance(X, Comparisons):
        if y is None:
            raise CallError(
                Setting("y") + " is missing", "give comparisons with the items, or Comparisons"
            )
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
            " same items",
            "give all of them the same " + Setting("missing"),
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
    notes: tuple[Message, ...]

    def with_new_items(
        self, n_new: int, data: Comparisons
    ) -> tuple[MeasuredComparisons, np.ndarray]:
        """The test comparisons with so many new items, and each model's probabilities of them."""
        chosen = self.n_new == n_new
        tested = MeasuredComparisons.of(data[self.row[chosen]], self.fold[chosen])
        return tested, self.probabilities[:, chosen]


def _predict_folds(
    models: dict[str, Any], data: Comparisons, cv: ItemKFold, only_known: bool, workers: Workers
) -> Predictions:
    """Fit and test every model in every fold; of known items only, no item is held out."""
    fold_of_item = np.full(len(data.items), -1) if only_known else cv.fold_of_item(data)
    # another generator: the first numbers of the seed assigned the items to their folds
    rng = np.random.default_rng(cv.random_state).spawn(1)[0]
    fold_of_pair = assign_pairs(data, cv.n_splits, rng)
    parts = []
    jobs = []
    for number in range(cv.n_splits):
        fold = f"fold {number + 1} of {cv.n_splits}"
        aside = fold_of_pair == number
        if only_known:
            aside &= ~linking(data, aside)
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
    of_models = [np.concatenate(found[first :: len(models)]) for first in range(len(models))]
    row, number_of_fold, n_new = (np.concatenate(column) for column in zip(*parts, strict=True))
    notes = _notes([note for notes in caught for note in notes], cv.n_splits)
    return Predictions(row, number_of_fold, n_new, np.array(of_models), notes)


def _fit_and_predict(
    name: str, model: Any, train: Comparisons, test: Comparisons, fold: str
) -> tuple[np.ndarray, list[tuple[str, str, Any]]]:
    """A model's P(left wins) of the test comparisons, and the warnings of its fit."""
    try:
        # in a process of its own BLAS would have one thread too
        with warnings.catch_warnings(record=True) as caught, one_blas_thread:
            probability = left_probability(model, train, test)
    except Exception as error:  # a model may be anything and fail in any way
        if isinstance(error, PairscoreError):
            reason = error.message
        else:
            reason = Message.of(f"{type(error).__name__}: {error}")
        raise PairscoreError(
            f"the model {name!r} failed in {fold} ({plural(len(train), 'training comparison')}): "
            + reason
        ) from error
    return probability, [(name, fold, warning) for warning in caught]


def left_probability(model: Any, train: Comparisons, test: Comparisons) -> np.ndarray:
    """P(left wins) of the test comparisons, by a copy of the model fitted to the others.

    Of comparisons that do not end in a tie: a tie as a class of the model is left out.
    """
    if len(test) == 0:
        return np.empty(0)
    name = None if np.all(train.amount == 1) else _weight_parameter(model)
    weights = {} if name is None else {name: train.amount}
    fitted = clone(model).fit(train, train.outcome, **weights)
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
    left = chances @ (classes == 1)
    right = chances @ (classes == -1)
    return np.divide(left, left + right, out=np.full(len(left), 0.5), where=left + right > 0)


def _weight_parameter(model: Any) -> str | None:
    """The parameter by which a classifier of scikit-learn takes weights; ours have them in X."""
    if isinstance(model, GridSearchCV | RandomizedSearchCV):
        return _weight_parameter(model.estimator)
    if isinstance(model, Pipeline):
        name = _weight_parameter(model[-1])
        return None if name is None else f"{model.steps[-1][0]}__{name}"
    is_sklearn = type(model).__module__.startswith("sklearn.")
    return "sample_weight" if is_sklearn and has_fit_parameter(model, "sample_weight") else None


def _notes(caught: list[tuple[str, str, Any]], n_folds: int) -> tuple[Message, ...]:
    """What fits warned of: once for each model and kind of warning, as in the first such fold."""
    warned: dict[tuple[str, type], dict[str, Message]] = {}
    for name, fold, warning in caught:
        said = warning.message
        message = said.message if isinstance(said, Worded) else Message.of(str(said))
        warned.setdefault((name, warning.category), {}).setdefault(fold, message)
    return tuple(
        Message.of(
            f"{name!r} in {len(by_fold)} of {n_folds} folds: " + next(iter(by_fold.values()))
        )
        for (name, _), by_fold in warned.items()
    )


# -- scores ------------------------------------------------------------------------------------


def _count(tested: MeasuredComparisons, n_folds: int) -> Counts:
    return Counts(
        n_comparisons=float(tested.count.sum()),
        n_pairs=len(np.unique(tested.pair)),
        n_items=len(np.unique([tested.left, tested.right])),
        rows_of_folds=tuple(np.bincount(tested.fold, minlength=n_folds).tolist()),
    )


def _scores(
    tested: MeasuredComparisons, pairs: ItemPairs, probabilities: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and standard errors by measure and model, and those of differences of two models.

    NaN where nothing was tested.
    """
    size = (len(MEASURES), len(probabilities))
    values, errors = np.full((2, *size), np.nan)
    difference_errors = np.full((*size, len(probabilities)), np.nan)
    if len(tested.fold) == 0:
        return values, errors, difference_errors
    for row, measure in enumerate(MEASURES.values()):
        measurements = [measure(tested, p) for p in probabilities]
        sums = [influence_sums(measurement, pairs) for measurement in measurements]
        values[row] = [measurement.value for measurement in measurements]
        errors[row] = [one.std_error for one in sums]
        difference_errors[row] = [[(a - b).std_error for b in sums] for a in sums]
    return values, errors, difference_errors
