"""RankRegression: the estimator that people and scikit-learn use, a shell over ``model.fit``."""

import warnings
from collections.abc import Iterable, Mapping
from types import MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pairscore.core.significance import z_and_p
from pairscore.data.comparisons import Comparisons, refuse_other_self_pairs
from pairscore.data.items import Items, with_features
from pairscore.data.recipe import recipe_of, with_terms
from pairscore.effects.item_effects import KnownItems
from pairscore.errors import CallError, PairscoreError
from pairscore.estimators.estimate import Note
from pairscore.estimators.information_criteria import CRITERIA, kept_likelihood
from pairscore.estimators.settings import Settings, check_settings
from pairscore.messages import Action, Setting, either
from pairscore.model.coefficient_intervals import coefficient_intervals, shown_coef_and_errors
from pairscore.model.contrasts import Contrast, JointTest, contrast_of, joint_test_of
from pairscore.model.file import ModelFile, load_model, save_model
from pairscore.model.fit import Fit, kept_types
from pairscore.model.fit_comparisons import fit_comparisons
from pairscore.model.fit_input import number_item_groups, read_fit_input, weighted
from pairscore.model.item_differences import Difference, item_difference, pair_differences
from pairscore.model.item_lookup import (
    ItemRows,
    item_of_id,
    items_of_fit,
    known_items,
    pairs_of_ids,
    single_item,
)
from pairscore.model.items_to_score import items_to_rank, read_items_for
from pairscore.model.predict import (
    Outcomes,
    item_scores,
    outcome_probabilities,
    pair_chances,
    score_differences,
)
from pairscore.model.ranks import rank_items
from pairscore.model.score_scales import worth_table
from pairscore.model.summary import Summary
from pairscore.model.update import update_fit
from pairscore.parallel import Workers

KEPT = frozenset(f"{name}_" for name in kept_types()) - {"settings_", "feature_names_"}
OF_LIKELIHOOD = frozenset(f"{name}_" for name in CRITERIA)
OF_FIT = {"link_", "l2_", "ties_", "inference_", "tie_parameter_", "notes_", "note_kinds_"}
FITTED = KEPT | OF_LIKELIHOOD | OF_FIT
PICTURES = (
    *("coefficients", "curve", "ranking", "calibration", "win_matrix", "judges", "ridge_path"),
)


class Plots:
    """Pictures of a model: ``model.plot.ranking()`` is ``pairscore.plots.ranking(model)``."""

    def __init__(self, model: Any):
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name not in PICTURES:
            raise AttributeError(f"no picture {name!r} of a model; use {', '.join(PICTURES)}")
        import pairscore

        return MethodType(getattr(pairscore.plots, name), self._model)

    def __dir__(self) -> list[str]:
        return list(PICTURES)


class RankRegression(ClassifierMixin, BaseEstimator):
    """Learn a score from pairwise comparisons and numeric features of the items.

    The left item of a pair wins with probability f(beta'(x_left - x_right)); the score of an item
    is beta'x, and a higher score is better.

    Parameters
    ----------
    method : {"mle", "paired", "pooled", "split"}
        ``mle`` is maximum likelihood. The others are closed forms: ``split`` is the paper's (eqs.
        3-4), ``pooled`` the same without its split (both need pairs drawn at random), ``paired``
        takes the covariance of the observed differences and any pairs.
    link : {"logit", "probit"} or pair of functions (f, f')
        How a score difference becomes a probability.
    l2 : float, "auto" or "auto-known"
        Ridge: multiplies half the squared coefficients of standardised features, against the sum of
        log-losses. ``"auto"`` takes the one of thirty that does best on comparisons with held-out
        items, ``"auto-known"`` the one that does best on held-out comparisons of known items;
        intervals do not allow for the choice.
    shrinkage : None, float in [0, 1], "ledoit-wolf" or "oas"
        Shrinks the correlations of a closed form's covariance towards zero.
    lapse : float in [0, 0.5) or "auto"
        Share of answers that are slips, which go the other way whatever the items; ``"auto"``
        estimates it. Probabilities are those of answers, slips included.
    side_effect : bool or "judges"
        Estimate an advantage of the left side (home, shown first, ...) on the link's scale, one for
        all or one for each judge.
    inference : {"auto", "items", "items+judges", "model", None}
        Intervals that allow for other items, or for other items and other judges; classical ones,
        or none. ``"auto"`` allows for other judges where the votes name ten or more
        (``interval_scope_`` says what a fit does).
    judge_slopes : bool
        Give every judge a separate sharpness, 1 on average, shrunk towards 1.
    context : list of names or None
        Numeric columns of the votes that belong to a comparison: of left minus of right.
    missing : {"refuse", "drop-items", "mean-with-flag", "item-effect"}
        Items with missing values are an error, are left out with their comparisons, get the mean
        and a 0/1 flag for each column with gaps, or a separate effect instead of features.
    ties : {"half", "drop", "davidson", "rao-kupper"}
        A tie is half a win each way, is left out, or is a third outcome with a parameter.
    max_iter, tol : int, float
        When ``mle`` stops: after so many Newton steps, or one step after the log-likelihood gap,
        in units of the weight of a pair, is below ``tol`` (that step squares the gap).
    item_effects : bool or "auto"
        Give every item an effect beyond its features, of a variance estimated from the data; new
        items have zero and a wider interval (``mle`` only). "auto": where a test says so.
    n_jobs : int or None
        Folds of ``l2="auto"`` that are fitted at the same time; no result depends on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients on the link's scale, in the user's units; of a category, those of its 0/1
        columns, which :meth:`summary` shows against their average or a reference level.
    decided_scale_ : float
        What score differences are multiplied by in probabilities, which are of comparisons that
        do not end in a tie; 1 where there are no ties, or they are dropped.
    closed_form_coef_ : ndarray or None
        The raw closed form, an estimate of c1 beta.
    link_ : Link
        The link of the fit; probabilities go by it, whatever ``link`` is set to afterwards.
    side_effect_ : float or None
        Advantage of the left side.
    loglik_, deviance_, df_model_, aic_, bic_ : float
        The log-likelihood of the comparisons and what follows; a sentence where there is none.
    covariance_, std_errors_ : ndarray or None
        Of the coefficients. An error is NaN where the data do not determine the coefficient; so is
        ``side_effect_std_error_`` where they do not determine the side effect.
    n_groups_ : int
        Into how many groups the compared items fall that cannot be compared with each other.
    lapse_ : LapseRate
        The share of slips (``rate``) with its interval (``low``, ``high``), standard error and the
        ``p_value`` of none, where it was ``estimated``.
    comparisons_ : Comparisons or None
        What the model was fitted to, by reference, for :meth:`update`.
    recipe_ : dict or None
        How ``pairscore fit`` made features of a file (see ``pairscore.data.recipe``).
    l2_, ridge_curve_ : float, RidgeCurve or None
        The ridge of the fit, and the held-out log-loss of every ridge that was tried to choose it.
    item_effects_, item_effects_test_ : ItemEffects, ItemEffectsTest or None
        The effects with their errors, their variance and its interval (``coef_`` then says how two
        items with given effects compare, and is longer); and what "auto" decided, by which p-value.
    feature_names_in_, n_features_in_, classes_
        As in scikit-learn; ``classes_`` is [-1, 1].

    Examples
    --------
    >>> items = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> winners, losers = [1, 2, 1, 3, 4, 3, 5, 5, 2, 4], [0, 1, 2, 2, 3, 4, 4, 3, 0, 1]
    >>> votes = np.column_stack([winners, losers])
    >>> model = RankRegression(inference="model").fit(items, votes)
    >>> bool(model.coef_[0] > 0)
    True
    """

    result_: Fit
    classes_: np.ndarray

    def __init__(
        self,
        method: str = "mle",
        link: Any = "logit",
        *,
        l2: float | str = 0.0,
        shrinkage: float | str | None = None,
        lapse: float | str = 0.0,
        side_effect: bool | str = False,
        inference: str | None = "auto",
        judge_slopes: bool = False,
        context: list[str] | None = None,
        ties: str = "half",
        missing: str = "refuse",
        max_iter: int = 100,
        tol: float = 1e-9,
        item_effects: bool | str = False,
        n_jobs: int | None = None,
    ):
        self.method = method
        self.link = link
        self.l2 = l2
        self.shrinkage = shrinkage
        self.lapse = lapse
        self.side_effect = side_effect
        self.inference = inference
        self.judge_slopes = judge_slopes
        self.context = context
        self.ties = ties
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.item_effects = item_effects
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "result_" in vars(self)

    def __getattr__(self, name: str) -> Any:
        """What the fit found: every value of :class:`~pairscore.model.fit.Fit`."""
        if name in FITTED and "result_" in vars(self):
            fit = self.result_
            if name in OF_LIKELIHOOD:
                return getattr(kept_likelihood(fit.likelihood), name[:-1])
            return fit.full_record if name == "record_" else fit.kept(name[:-1])
        if name in FITTED or name in ("z_values_", "p_values_"):
            check_is_fitted(self)  # NotFittedError, which is an AttributeError
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """A fitted value is set in the fit, so that everything that uses the fit obeys."""
        if name in KEPT and "result_" in vars(self):
            # the record is of the data also where they are taken away
            known = {"record": self.result_.full_record} if name == "comparisons_" else {}
            fit = self.result_.with_kept(**known | {name[:-1]: value})
            super().__setattr__("result_", fit)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(FITTED if "result_" in vars(self) else ())})

    # -- fit ---------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        covariance_items: Any = None,
        self_pairs: str = "error",
        item_groups: Any = None,
        **columns: Any,
    ) -> "RankRegression":
        """Learn from items and votes, from ``Comparisons``, or from a plain matrix of differences.

        ``fit(items, votes)``: a table of items and a table of votes (or an integer array, winner's
        row number first). ``fit(X, y)``: X a :class:`Comparisons` and y its outcomes, or X a matrix
        of feature differences, left minus right, and y in {-1, 0, 1} or of two classes.

        Parameters
        ----------
        sample_weight : array of shape (M,) or None
            A weight for each comparison, times those that the votes have. Weights are relative:
            only their ratios matter. How often a row is repeated is its ``count``.
        covariance_items : ids, row numbers or mask
            The items behind the covariance of ``method="split"``; other methods refuse it here, and
            leave alone what a Comparisons carries.
        self_pairs : {"error", "keep"}
            Whether votes on an item with itself are an error. What is in a Comparisons was decided
            when it was made, and is kept either way.
        item_groups : one label per item of the table (topic, patient), or dict from id to label
            Items of one group are held out together by ``l2="auto"``. A Comparisons may have them
            itself (``with_item_groups``), which also serves a search over ``l2``.
        columns : names of columns
            ``id``, ``features``, ``left``, ``winner``, ... as ``Comparisons.from_frames`` has them.
        """
        settings = self._settings()
        # of a table whose incomplete items are dropped, all have labels
        dropping = self.missing == "drop-items" and not isinstance(X, Comparisons)
        of_table = item_groups if dropping and settings.holds_items_out else None
        given = read_fit_input(self, X, y, covariance_items, self_pairs, columns, of_table)
        data = weighted(given.comparisons, sample_weight)
        self.classes_ = given.classes
        if covariance_items is not None and settings.method != "split":
            raise PairscoreError(
                Setting("covariance_items")
                + " names the items behind the covariance of "
                + Setting("method", "split")
                + f", and the method is {settings.method!r}",
                [
                    "leave it out",
                    "give it to "
                    + Action("Comparisons.from_frames")
                    + ", whose comparisons every method takes",
                ],
            )
        groups = None
        if item_groups is not None and (of_table is None or not given.has_items):
            items = data.items if given.has_items else None
            groups = number_item_groups(item_groups, items, settings)
        fit, notes = fit_comparisons(
            data,
            settings,
            has_items=given.has_items,
            item_groups=groups,
            workers=Workers(self.n_jobs),
        )
        if not given.has_items and "feature_names_in_" in vars(self):  # scikit-learn set them
            fit = fit.with_kept(feature_names=tuple(self.feature_names_in_))
        return self._keep(fit, notes)

    def _fitted(self) -> Fit:
        check_is_fitted(self)
        return self.result_

    def _settings(self) -> Settings:
        return check_settings(**self.get_params(deep=False))

    def _keep(self, fit: Fit, notes: list[Note]) -> "RankRegression":
        self.result_ = fit
        self.n_features_in_ = fit.n_features
        if fit.features.names is not None:
            self.feature_names_in_ = np.array(fit.features.names, dtype=object)
        for warning in notes:
            warnings.warn(warning, stacklevel=3)
        return self

    def update(
        self,
        votes: Any,
        items: Any = None,
        *,
        self_pairs: str = "error",
        item_groups: Any = None,
        repeated: str = "refuse",
        **columns: Any,
    ) -> "RankRegression":
        """Add votes, and perhaps items, to those of the fit, and fit to all of them.

        The fit continues from the fitted model; the result is that of a fit to everything.
        A model from a file has its comparisons if it was saved with ``data=True``.

        Parameters
        ----------
        votes, self_pairs
            As in :meth:`fit`.
        items : table, optional
            New items with the same features and their own ids; without features, new items are
            those that votes name first.
        item_groups : labels, optional
            If the fit had them: of all items, new ones last.
        repeated : {"refuse", "add"}
            What happens to ten or more votes that stand in the same order among those of the model:
            a file that is read twice is an error, unless the same answers were given again.
        columns : names of columns of the votes (``left``, ``winner``, ...)
        """
        fit = self._fitted()
        refuse_other_self_pairs(self_pairs)
        settings = self._settings()
        more = None if items is None else self.items(items)
        groups = item_groups
        if item_groups is not None and fit.comparisons is not None:
            table = fit.comparisons.items
            table = table if more is None else table.with_new_items(more)
            groups = number_item_groups(item_groups, table, settings)
        updated, notes = update_fit(
            fit,
            settings,
            votes,
            more,
            self_pairs=self_pairs,
            item_groups=groups,
            columns=columns,
            repeated=repeated,
            workers=Workers(self.n_jobs),
        )
        return self._keep(updated, notes)

    # -- scores and probabilities ------------------------------------------------------------------

    def known_items(self, items: Items) -> KnownItems | None:
        """What a model with item effects knows of these items."""
        return known_items(self.result_, items)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of items, shape (N,); of ``Comparisons``, left minus right, shape (M,).

        Scores are not centred, as those of :meth:`rank` are; differences have the side effect.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            return score_differences(self.result_, self._comparisons(X))
        return self._plain(X) if self.n_items_ is None else item_scores(self.result_, self.items(X))

    def _plain(self, X: Any) -> np.ndarray:
        """A model fitted to differences takes differences."""
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_ + (self.side_effect_ or 0.0)

    def _comparisons(self, X: Any) -> Any:
        """What can be predicted: comparisons, whose items have the features of the fit by name."""
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            items = with_terms(recipe_of(self.result_), X.items)
            items = with_features(items, self.result_.names)
            return X if items is X.items else X.with_items(items)
        if self.n_items_ is not None:
            raise CallError(
                "only comparisons can be predicted: give Comparisons; for items use rank or"
                " decision_function."
            )
        return X

    def predict(self, X: Any) -> np.ndarray:
        """Which side wins each of M comparisons: -1 for right, 1 for left, shape (M,)."""
        left = self.decision_function(self._comparisons(X)) > 0
        return np.where(left, self.classes_[-1], self.classes_[0])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities that right wins and that left wins, if it is not a tie, shape (M, 2).

        At ``decided_scale_`` times the score difference; averaged over what is not known of items.

        >>> from pairscore import Population
        >>> X, votes = Population(n_features=2, noise=0.1, rng=0).draw(60, 900, rng=1)
        >>> model = RankRegression().fit(X, votes)
        >>> pairs = Comparisons.from_pairs(X, [0, 1, 2], [3, 4, 5])
        >>> model.predict_proba(pairs).shape, sorted(model.chances(pairs))
        ((3, 2), ['chance', 'high', 'low'])
        """
        loss, _, win = self._outcomes(X)
        left = win / (win + loss)
        return np.column_stack([1 - left, left])

    def chances(self, X: Comparisons, *, level: float = 0.95) -> dict[str, np.ndarray]:
        """Chance that left wins each comparison, with its interval: columns chance, low, high.

        As in :meth:`predict_proba`; with tie, tie_low and tie_high where ties have a probability.
        ``Comparisons.from_pairs`` makes comparisons that have no winner yet.
        """
        return pair_chances(self._fitted(), self._comparisons(X), level)

    def predict_ties(self, X: Any) -> np.ndarray:
        """Probability of a tie, shape (M,), of a model fitted with ``ties`` as a parameter."""
        if not self.outcome_law.rule.has_parameter:
            what = "takes a tie for half a win each way"
            if self._fitted().ties == "drop":
                what = "was fitted without the ties"
            raise PairscoreError(
                f"the model {what} and gives ties no probability",
                "fit it with "
                + either([Setting("ties", one) for one in ("davidson", "rao-kupper")]),
            )
        return self._outcomes(X)[1]

    def _outcomes(self, X: Any) -> Outcomes:
        """Probabilities of a loss, a tie and a win of left."""
        X = self._comparisons(X)
        if isinstance(X, Comparisons):
            return outcome_probabilities(self.result_, X)
        return self.outcome_law.probabilities(self._plain(X))

    @property
    def outcome_law(self) -> Any:
        """How a comparison ends: the link with the rule for ties."""
        return self.result_.outcome_law

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of decided comparisons predicted correctly; a row counts as often as it says."""
        if not isinstance(X, Comparisons):
            return float(super().score(X, y, sample_weight))
        data = X if y is None else X.with_outcome(y)
        amount = data.amount if sample_weight is None else data.amount * sample_weight
        correct = self.predict(X) == data.outcome
        decided = (data.outcome != 0) & (amount > 0)
        if not decided.any():
            raise PairscoreError(
                "every comparison is a tie, so there is nothing to score; give some with a winner."
            )
        return float(np.average(correct[decided], weights=amount[decided]))

    # -- items -------------------------------------------------------------------------------------

    def items(self, items: Any = None) -> Items:
        """Items with the features of the fit, made as there, for ``Comparisons.from_pairs``.

        Features are found by name, and other columns may hold anything; None are the compared ones.
        """
        fit = self._fitted()
        return items_of_fit(fit) if items is None else read_items_for(fit, items)

    def _item(self, item: Any) -> Items:
        """One item: by its id if the fit knows it, else by its features."""
        if isinstance(item, str | int | np.integer):
            return item_of_id(self.result_, item)
        return single_item(item, self.items)

    def rank(
        self,
        items: Any = None,
        *,
        level: float = 0.95,
        simultaneous: bool = False,
        scale: str = "link",
        unknown: str = "stop",
    ) -> Any:
        """Rank items, old or new, highest first, as a table of the caller's kind.

        Columns: id; score, low, high (less the average compared item); rank, rank_low, rank_high;
        outside (a feature lies beyond all compared items); place_low, place_high (where a new item
        would be among them); group, such as ``year=2001``, where only items alike in some feature
        met: ranks are within groups. Equal scores keep their order and share a rank: 1, 2, 2, 4.

        Parameters
        ----------
        items : table, a dict of one item, or (without features) ids
            All that were compared unless given.
        level : float
            Of the intervals; without inference these are NaN, and ranks span all.
        simultaneous : bool
            Intervals that hold for all items together (Scheffe), which are wider.
        scale : {"link", "0-100", "elo", "wins"}
            Of scores: see ``pairscore.model.score_scales.scale_of``.
        unknown : {"stop", "skip"}
            Items that cannot be scored (a level that the fit did not know, a missing value) are an
            error, or are left out of the ranking with a warning that lists them.
        """
        fit = self._fitted()
        table = items_to_rank(fit, items, unknown)
        return rank_items(fit, table, level=level, simultaneous=simultaneous, scale=scale)

    def difference(self, a: Any, b: Any = None, *, level: float = 0.95) -> Difference:
        """Score of ``a`` minus score of ``b``, with its interval and the chance that ``a`` wins.

        Each is one item: its id, a table of one row, or its features in a row. Two arrays of ids,
        or ``Comparisons`` alone, are many pairs: the result has arrays. Whole numbers are ids
        unless they are as many as the features.
        """
        fit = self._fitted()
        if isinstance(a, Comparisons):
            data = self._comparisons(a)
            left = ItemRows(data.items, data.left)
            right = ItemRows(data.items, data.right)
            return pair_differences(fit, left, right, level)
        pairs = pairs_of_ids(fit, a, b)
        if pairs is None:
            return item_difference(fit, self._item(a), self._item(b), level)
        return pair_differences(fit, *pairs, level)

    def worth(self, items: Any = None) -> Any:
        """Strengths exp(score), summing to one, of items or of all compared: id and worth."""
        check_is_fitted(self)
        return worth_table(self.result_, self.items(items))

    # -- coefficients ------------------------------------------------------------------------------

    @property
    def z_values_(self) -> np.ndarray:
        """Coefficients over their standard errors; of levels, as the summary shows them."""
        return z_and_p(*shown_coef_and_errors(self._fitted()))[0]

    @property
    def p_values_(self) -> np.ndarray:
        """Two-sided, of the hypothesis that the coefficient is zero."""
        fit = self._fitted()
        return z_and_p(*shown_coef_and_errors(fit), fit.panel.df_error)[1]

    def confidence_intervals(self, level: float = 0.95, method: str = "wald") -> np.ndarray:
        """One row per coefficient: low end, high end; without features, one per item's ability.

        ``method`` is "wald", the coefficient and so many standard errors of the fit (item-robust by
        default), or "profile": where twice the log-likelihood, maximised over all other parameters,
        is a chi-square quantile below its maximum. That takes comparisons for independent. Levels
        of a category are as in :meth:`summary`, against their average or the reference level.
        Where comparisons are separated, Wald intervals end where the comparisons do: they are open,
        to infinity, at one end or both.
        """
        return coefficient_intervals(self._fitted(), level, method)

    def contrast(self, weights: Mapping[str, float], *, level: float = 0.95) -> Contrast:
        """A weighted sum of coefficients with its interval and test.

        ``weights`` by the name of a feature, such as ``{"style=oil": 1, "style=ink": -1}``, or of
        an effect of side, context or ties; without features also by the ids of items, whose weights
        sum to zero.
        Coefficients of levels are as in :meth:`summary`: against the average of all levels, or
        against the reference level. A sum that the comparisons do not determine is refused.
        """
        return contrast_of(self._fitted(), weights, level)

    def joint_test(self, names: str | Iterable[str]) -> JointTest:
        """Wald's test that the named coefficients are all zero.

        A name is that of a feature, of a level (``style=oil``), of a category (``style``: all its
        levels are equal), of a product with a category (``mass:style``), of the bends of a curve
        (``mass bends``: it is straight) or of an effect of side, context or ties. Ids of items: all
        have the same ability. The covariance is that of the fit, item-robust by default. A
        coefficient that the comparisons do not determine is refused; of a category, the differences
        that they do determine are tested.
        """
        return joint_test_of(self._fitted(), (names,) if isinstance(names, str) else tuple(names))

    def undetermined_contrasts(self, contrasts: np.ndarray) -> np.ndarray:
        """Mask of the feature differences, shape (n, d), whose score is not determined."""
        return self._fitted().undetermined_contrasts(contrasts)

    # -- summary -----------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """A table: ``print`` it, show it in a notebook, or take ``.to_frame()``."""
        check_is_fitted(self)
        return Summary(self.result_)

    @property
    def plot(self) -> Plots:
        """Pictures on a matplotlib Axes: ``model.plot.ranking()``, ``.coefficients()``, ..."""
        return Plots(self)

    def _html_repr(self) -> str:
        return self.summary()._repr_html_() if "result_" in vars(self) else super()._html_repr()

    # -- files -------------------------------------------------------------------------------------

    def save(self, path: Any, *, data: bool = False) -> None:
        """Write the model to an ``.npz`` file; with ``data``, comparisons too, for ``update``.

        The file has numbers and names, no code, and appears whole or not at all.
        """
        check_is_fitted(self)
        save_model(ModelFile(self.result_, self.get_params(), self.classes_), path, data)

    @staticmethod
    def load(path: Any, link: Any = None) -> "RankRegression":
        """Read a model that :meth:`save` wrote; a model with its own link needs the link again."""
        return load(path, link)


def load(path: Any, link: Any = None) -> RankRegression:
    """Read a model from ``path``, as :meth:`RankRegression.save` wrote it; ``link`` if its own."""
    file = load_model(path, link)
    model = RankRegression(**file.params)
    model.classes_ = file.classes
    return model._keep(file.fit, [])


# -- what is given to fit --------------------------------------------------------------------------
