"""Pipelines of scikit-learn that rank items: transformers of the item table, then RankRegression.

What such a pipeline learned can be told of the items' own features where its transformers make
weighted sums of them: features z = Bx + b have the score beta'z = (B'beta)'x + beta'b, whose
coefficients B'beta have the covariance B'CB.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from pairscore.core.moments import feature_range, spread
from pairscore.data.column_roles import ITEM_SETTINGS, NAMED_ROLES
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, feature_keys, one_row, read_items
from pairscore.data.on_items import OnItems
from pairscore.data.recipe import Recipe, apply_recipe
from pairscore.errors import CallError, PairscoreError
from pairscore.estimators.separation import Recession
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting
from pairscore.model.fit import Fit
from pairscore.model.item_differences import Difference, pair_differences
from pairscore.model.item_lookup import pairs_of_ids, single_item
from pairscore.model.regression import RankRegression
from pairscore.model.summary import Summary

FAR = 30.0  # standard deviations from the mean at which features must still be weighted sums
ROUNDING = 1e-7  # of the spread of a new feature, below which it is a weighted sum of the old ones


def make_item_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> "ItemPipeline":
    """A scikit-learn pipeline that transforms and ranks items, with ``difference`` and ``save``.

    Parameters
    ----------
    *steps : transformers, then a RankRegression
        Transformers (a scaler, PCA, ...) are wrapped in :class:`~pairscore.OnItems`, unless they
        are, and named by their class: a search finds ``pca__transformer__n_components``.
    memory, verbose
        As in scikit-learn's ``make_pipeline``.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> items = [[0.0], [10.0], [20.0], [30.0]]
    >>> votes = np.array([[1, 0], [2, 1], [1, 2], [3, 1], [3, 2], [2, 3], [3, 0]])
    >>> pipe = make_item_pipeline(StandardScaler(), RankRegression(inference=None))
    >>> pipe.fit(items, votes).rank(items)["id"].tolist()
    [3, 2, 1, 0]
    """
    if not steps or not isinstance(steps[-1], RankRegression):
        raise CallError(
            "the last step of a pipeline of items ranks them",
            ["give a RankRegression", "use make_pipeline of scikit-learn"],
        )
    inner = [step.transformer if isinstance(step, OnItems) else step for step in steps]
    names = [name for name, _ in make_pipeline(*inner).steps]
    wrapped = [step if isinstance(step, OnItems) else OnItems(step) for step in steps[:-1]]
    named = list(zip(names, [*wrapped, steps[-1]], strict=True))
    return ItemPipeline(named, memory=memory, verbose=verbose)


class ItemPipeline(Pipeline):
    """A scikit-learn Pipeline of :class:`OnItems` and a RankRegression, with what the latter does.

    Items are given with the features that they had before the first transformer.

    Attributes
    ----------
    items_ : Items
        The items of the fit, before any transformer.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> "ItemPipeline":
        """Learn from items and votes, or from ``Comparisons``.

        ``params`` are names of columns, as ``Comparisons.from_frames`` has them, and those of
        single steps: ``rankregression__sample_weight=...``, or routed by scikit-learn.
        """
        if not isinstance(X, Comparisons):
            names = (*ITEM_SETTINGS, *NAMED_ROLES)
            columns = {name: params.pop(name) for name in names if name in params}
            X, y = Comparisons.from_frames(X, y, context=self._final.context or (), **columns)
        if not X.items.feature_names:
            raise CallError(
                "a pipeline transforms the features of items, and there are none",
                ["give a table of items", "fit RankRegression to the comparisons alone"],
            )
        self.items_ = X.items
        super().fit(X, y, **params)
        return self

    @property
    def _final(self) -> RankRegression:
        return self.steps[-1][1]

    def _read(self, X: Any) -> Any:
        """Items with the features of the fit, before any transformer; comparisons as they are."""
        check_is_fitted(self._final)
        if isinstance(X, Comparisons | Items):
            return X
        X = one_row(X, self.items_.feature_names) if isinstance(X, dict) else X
        if self.items_.recipe is None:
            return read_items(X, self.items_.feature_names)
        return apply_recipe(Recipe.from_record(self.items_.recipe), X)

    def _transformed(self, X: Any) -> Any:
        """Items, or comparisons, after all transformers."""
        X = self._read(X)
        for _, step in self.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        return X

    def _single(self, item: Any) -> Any:
        """One item: its id, by which the model finds it, or its transformed features."""
        is_id = isinstance(item, str | int | np.integer)
        return item if is_id else self._transformed(single_item(item, self._read))

    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """Scores of items, or score differences of ``Comparisons``."""
        return super().decision_function(self._read(X), **params)

    def rank(self, items: Any, **asked: Any) -> Any:
        """Rank items, old or new, highest first; see :meth:`RankRegression.rank`."""
        return self._final.rank(self._transformed(items), **asked)

    def worth(self, items: Any = None) -> Any:
        """Strengths exp(score), summing to one; see :meth:`RankRegression.worth`."""
        return self._final.worth(None if items is None else self._transformed(items))

    def difference(self, a: Any, b: Any = None, *, level: float = 0.95) -> Difference:
        """Score of one item minus that of another; see :meth:`RankRegression.difference`."""
        if isinstance(a, Comparisons):
            return self._final.difference(self._transformed(a), level=level)
        check_is_fitted(self._final)
        fit = self._final.result_
        d = len(self.items_.feature_names)
        pairs = pairs_of_ids(fit, a, b, d)
        if pairs is not None:
            return pair_differences(fit, *pairs, level)
        return self._final.difference(self._single(a), self._single(b), level=level)

    def chances(self, X: Comparisons, *, level: float = 0.95) -> dict[str, np.ndarray]:
        """Chance that left wins, with its interval; see :meth:`RankRegression.chances`."""
        return self._final.chances(self._transformed(X), level=level)

    def summary(self) -> Summary:
        """Coefficients of the transformed features; those of the items' own: ``to_model()``."""
        return self._final.summary()

    def save(self, path: Any) -> None:
        """Write :meth:`to_model` to a file, which ``load`` reads: nothing in it is executed."""
        self.to_model().save(path)

    def to_model(self) -> RankRegression:
        """The same scores as a model of the items' own features, with coefficients in their units.

        This takes transformers that make weighted sums of features (scalers, PCA, a choice of
        features); scores are less a constant. The model has no comparisons to ``update``.
        """
        check_is_fitted(self._final)
        model = clone(self._final)
        model.classes_ = self._final.classes_
        names = [type(getattr(s, "transformer", s)).__name__ for _, s in self.steps[:-1]]
        fit = _in_own_features(self._final.result_, self.items_, *self._weighted_sums(names))
        record = fit.record | {"transformers": names}
        return model._keep(replace(fit, record=record), [])

    def _weighted_sums(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """B (k x d) and b (k) of the transformed features Bx + b; other features are refused.

        scikit-learn's transformers do not say whether they are weighted sums, so that they are
        asked: B is what one standard deviation more of each feature changes. It must also say what
        happens to all items of the fit, and far beyond them.
        """
        values = self.items_.values
        d = len(self.items_.feature_names)
        center = spread(values, np.ones(len(values)))
        unit = np.where(center.sd > 0, center.sd, 1.0)
        beyond = FAR * unit * np.random.default_rng(0).choice([-1.0, 1.0], (d, d))
        moves = np.vstack([np.zeros(d), np.diag(unit), beyond, values - center.mean])
        moved = Items(center.mean + moves, self.items_.feature_names)
        try:
            with np.errstate(all="ignore"):
                z = self._transformed(moved).values
        except PairscoreError:  # such as the logarithm of a number below zero
            z = np.full((len(moves), 1), np.nan)
        B = (z[1 : d + 1] - z[0]).T / unit
        off = np.abs(z - z[0] - moves @ B.T)
        if not np.all(off <= ROUNDING * (1 + np.ptp(z, axis=0))):
            make = "makes" if len(names) == 1 else "make"
            raise PairscoreError(
                f"a pipeline cannot be saved where {' and '.join(names)} {make} features that are"
                " not weighted sums of the items' columns",
                [
                    "use "
                    + Setting("curves")
                    + " or "
                    + Setting("smooth")
                    + " of the fit, which model files keep",
                    "make them columns of the item table before the fit",
                    "keep the pipeline with joblib",
                ],
            )
        return B, z[0] - B @ center.mean


def _without_rows(recession: Recession, B: np.ndarray, unit: np.ndarray) -> Recession:
    """Where comparisons are separated, in other features: intervals are open at both ends there."""
    d = len(B)
    more = len(recession.unit) - len(B)
    units = np.append(unit, recession.unit[d:])
    directions = np.vstack([B.T @ recession.directions[:d], recession.directions[d:]])
    directions = _span(units[:, None] * directions) / units[:, None]
    p = len(unit) + more
    return Recession(directions, units, np.empty((0, p)), np.empty(0), np.zeros(p))


def _in_own_features(fit: Fit, items: Items, B: np.ndarray, b: np.ndarray) -> Fit:
    """The fit to features Bx + b, as one to the features x of these items."""
    if fit.open.n_groups > 1:
        raise CallError(
            f"a pipeline cannot be saved where the items fall into {fit.open.n_groups} groups that"
            " were never compared with each other",
            "fit RankRegression without transformers",
        )
    data = fit.comparisons
    assert data is not None  # every fit to items has them
    tally = TableData(data, keep_sides=False).tally
    center = spread(items.values, tally.exposures)
    mean = center.mean + np.linalg.pinv(B) @ (fit.features.mean - B @ center.mean - b)
    low, high = feature_range(items.values, data.compared)
    unit = np.where(center.sd > 0, center.sd, 1.0)
    undetermined = fit.undetermined_contrasts((B * unit).T)
    changed: dict[str, Any] = {}
    if fit.covariance is not None:
        covariance = B.T @ fit.covariance @ B
        errors = np.where(undetermined, np.nan, np.sqrt(np.diag(covariance)))
        changed = {"covariance": covariance, "std_errors": errors}
    if fit.effects_covariance is not None:
        across, own = np.split(fit.effects_covariance, [fit.n_features])
        changed["effects_covariance"] = np.vstack([B.T @ across, own])
    if fit.recession is not None:
        changed["recession"] = _without_rows(fit.recession, B, unit)
    if fit.closed_form_coef is not None:
        changed["closed_form_coef"] = B.T @ fit.closed_form_coef
    if fit.item_effects is not None:
        changed["item_effects"] = replace(fit.item_effects, keys=feature_keys(items.values))
    if fit.fitted_scores is not None:
        changed["fitted_scores"] = fit.fitted_scores - np.array([[fit.coef @ b], [0.0]])
    return fit.with_kept(
        coef=B.T @ fit.coef,
        feature_names=items.feature_names,
        undetermined=undetermined,
        open_directions=_span(unit[:, None] * (B.T @ fit.open.directions)) / unit[:, None],
        feature_mean=mean,
        feature_sd=center.sd,
        feature_min=low,
        feature_max=high,
        record=fit.full_record,
        comparisons=None,
        item_groups=None,
        recipe=items.recipe,
        **changed,
    )


def _span(columns: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the same space, (d, r)."""
    axes, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return axes[:, sizes > ROUNDING * sizes.max(initial=0.0)]
