"""Two nested models of the same comparisons: does the larger one add anything?

The likelihood ratio 2 (l_larger - l_smaller) is chi-squared if comparisons are independent. They
are not where they share items that features do not explain fully: then it is too large, and finds
effects that are not there. Wald's test of what was added takes the covariance of the larger model,
which allows for shared items by default.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.core.significance import chi_square_p, p_in_words
from pairscore.display import first_few, html_text
from pairscore.errors import CallError, PairscoreError
from pairscore.estimators.information_criteria import NO_MAXIMUM, Likelihood, kept_likelihood
from pairscore.messages import Action, Message, Setting
from pairscore.model.categories import shown_coefficients
from pairscore.model.contrasts import TEST_REMEDIES, JointTest, wald_test
from pairscore.model.curves import bend_columns
from pairscore.model.fit import Fit
from pairscore.model.inference import ITEM_ROBUST
from pairscore.model.regression import RankRegression
from pairscore.records import plain

SAME_FEATURE = 1e-9  # of its standard deviation, by which means of one feature may differ
SAME_SETTINGS = ("method", "link", "lapse", "ties", "judge_slopes", "shrinkage")
TOO_SMALL = (
    "Comparisons that share an item are not independent, so the p-value of the likelihood ratio is"
    " too small where features do not explain the items fully; go by Wald's test."
)
BOTH_PLAIN = Message.of(
    "Both tests take comparisons for independent",
    "fit with " + Setting("inference", "items") + " for a test that allows for shared items",
)


@dataclass(frozen=True)
class Anova:
    """What a larger model adds to a smaller one.

    ``added`` are the names of features, categories and effects. Twice the gain in log-likelihood,
    ``likelihood_ratio``, has ``df`` degrees of freedom and the p-value ``p``; these are NaN where a
    model has no plain likelihood. ``wald`` is Wald's test of what was added, with the covariance of
    the larger model; None if what was added are abilities. ``note`` says what to go by.
    """

    added: tuple[str, ...]
    likelihood_ratio: float
    df: int
    p: float
    wald: JointTest | None
    note: str

    def _facts(self) -> list[tuple[str, str]]:
        """Both tests in words."""
        ratio = f"chi-square({self.df}) = {self.likelihood_ratio:.4g}, {p_in_words(self.p)}"
        facts = [("likelihood ratio", "none" if np.isnan(self.p) else ratio)]
        if self.wald is not None:
            facts.append(("Wald's test", f"{self.wald.in_words} ({self.wald.covariance})"))
        return facts

    def __str__(self) -> str:
        lines = [f"  {label:<16}  {words}" for label, words in self._facts()]
        note = [self.note] if self.note else []
        return "\n".join([f"Added: {first_few(self.added)}", *lines, *note])

    def _repr_html_(self) -> str:
        return html_text(f"Added: {first_few(self.added)}", self._facts(), None, [self.note])

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON; None for what is not known."""
        wald = None if self.wald is None else self.wald.to_record()
        return plain(vars(self) | {"wald": wald})


def anova(model: RankRegression, larger: RankRegression, *more: Any) -> Anova:
    """Whether ``larger`` explains the comparisons better than ``model``, which is nested in it.

    Both are fitted by ``mle`` without a ridge to the same comparisons, with the same link and rule
    for ties; all features and effects of ``model`` are in ``larger``, or ``larger`` has an ability
    for every item. See :class:`Anova` for the two tests, and which to go by.

    Parameters
    ----------
    model : RankRegression
        The smaller model, fitted.
    larger : RankRegression
        The larger model, fitted to the same comparisons in the same order.
    more
        Nothing: two models are compared at a time, and more are refused.

    Returns
    -------
    Anova
        ``print`` it, or take ``likelihood_ratio``, ``df``, ``p`` and ``wald``.

    Examples
    --------
    >>> from pairscore import Population
    >>> X, votes = Population(n_features=3, noise=0.2, rng=0).draw(100, 2000, rng=1)
    >>> small, large = (RankRegression().fit(X[:, :k], votes) for k in (2, 3))
    >>> anova(small, large).df
    1
    """
    if more:
        raise PairscoreError(f"anova takes two models, the smaller first, and got {2 + len(more)}.")
    small = _fit_of(model)
    large = _fit_of(larger)
    first = kept_likelihood(small.likelihood)
    second = kept_likelihood(large.likelihood)
    if first.data_hash != second.data_hash:
        raise PairscoreError(
            "the two models were fitted to different comparisons; fit both to the same ones, in the"
            " same order."
        )
    for likelihood in (first, second):
        if likelihood.reason == NO_MAXIMUM:
            likelihood.refuse_none()
    _refuse_other_settings(small, large)
    features, effects = _added_names(small, large)
    abilities = _has_abilities(large) and not _has_abilities(small)
    added = _terms(large, features) + effects
    if abilities:
        added = ("an ability for every item", *added)
    df = second.n_parameters - first.n_parameters
    if not added or df <= 0:
        raise PairscoreError(
            "the larger model adds no parameter that the comparisons determine; give the smaller"
            " model first, and the larger one with more features or effects."
        )
    ratio, p, missing = _likelihood_ratio(first, second, df)
    wald = None if abilities else _wald(large, features, effects)
    return Anova(added, ratio, df, p, wald, missing or _what_to_go_by(large, wald))


def _fit_of(model: Any) -> Fit:
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, RankRegression):
        raise CallError(
            f"anova takes two fitted RankRegression models, and one is {type(model).__name__}",
            "give the smaller model first",
        )
    check_is_fitted(model)
    return model.result_


def _has_abilities(fit: Fit) -> bool:
    return fit.item_effects is not None and fit.item_effects.free


def _has_random_effects(fit: Fit) -> bool:
    return fit.item_effects is not None and not fit.item_effects.free


def _setting(fit: Fit, name: str) -> Any:
    """A setting; the lapse rate is one where it was given, and not where it was estimated."""
    if name == "lapse":
        return "auto" if fit.settings.choose_lapse else fit.link.lapse
    return fit.link.plain if name == "link" else getattr(fit.settings, name)


def _refuse_other_settings(small: Fit, large: Fit) -> None:
    """Nested models differ in features and effects only, and both are at a maximum."""
    for name in SAME_SETTINGS:
        if _setting(small, name) != _setting(large, name):
            raise PairscoreError(
                "the models are not nested: they have different settings of " + Setting(name),
                "fit both with the same",
            )
    if small.settings.method != "mle" or max(small.l2, large.l2) > 0:
        raise PairscoreError(
            "anova compares models fitted with "
            + Setting("method", "mle")
            + " and "
            + Setting("l2", 0)
            + ", and these are not",
            ["fit both so", "use " + Action("compare") + ", which takes any models"],
        )
    if _has_random_effects(small) != _has_random_effects(large):
        raise PairscoreError(
            "only one of the models has item effects",
            [
                "fit both with the same " + Setting("item_effects"),
                "use " + Setting("item_effects", "auto") + ", which tests for them",
            ],
        )


def _added_names(small: Fit, large: Fit) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Features and effects that only the larger model has; those of the smaller must be in it."""
    abilities = _has_abilities(large)
    kept = () if abilities else small.names
    of_small = small.all_effects.names
    of_large = large.all_effects.names
    lacking = [name for name in kept if name not in large.names]
    lacking += [name for name in of_small if name not in of_large]
    if _has_abilities(small) and not abilities:
        lacking.append("an ability for every item")
    if lacking:
        raise PairscoreError(
            f"the models are not nested: the second lacks {first_few(lacking)} of the first; give"
            " the smaller model first, and a larger one that has all of its features and effects."
        )
    _refuse_other_features(small, large, kept)
    features = () if abilities else tuple(n for n in large.names if n not in small.names)
    return features, tuple(name for name in of_large if name not in of_small)


def _refuse_other_features(small: Fit, large: Fit, names: tuple[str, ...]) -> None:
    """Features of one name have the same mean and deviation in both models."""
    in_small = [small.names.index(name) for name in names]
    in_large = [large.names.index(name) for name in names]
    unit = small.features.unit[in_small]
    gap = np.abs(small.features.mean[in_small] - large.features.mean[in_large])
    gap += np.abs(small.features.sd[in_small] - large.features.sd[in_large])
    other = np.flatnonzero(gap > SAME_FEATURE * (unit + np.abs(small.features.mean[in_small])))
    if len(other):
        raise PairscoreError(
            "the models are not nested, because features of one name have different values in them:"
            f" {first_few(names[number] for number in other)}; fit both to the same table of items."
        )


def _terms(fit: Fit, features: tuple[str, ...]) -> tuple[str, ...]:
    """Features by name; a category, a product with one, or a curve's bends, all there, are one."""
    named = {name: name for name in features}
    for term in shown_coefficients(fit).terms:
        levels = [fit.names[column] for column in term.columns]
        named |= dict.fromkeys(levels, term.name) if {*levels} <= {*features} else {}
    for name, columns in bend_columns(fit).items():
        bends = [fit.names[column] for column in columns]
        named |= dict.fromkeys(bends, name) if {*bends} <= {*features} else {}
    return tuple(dict.fromkeys(named[name] for name in features))


def _likelihood_ratio(small: Likelihood, large: Likelihood, df: int) -> tuple[float, float, str]:
    """Statistic, p-value, and why there are none."""
    for likelihood in (small, large):
        if likelihood.value is None:
            return np.nan, np.nan, f"There is no likelihood ratio, because {likelihood.reason}."
    ratio = max(2 * (large.loglik - small.loglik), 0.0)
    return ratio, chi_square_p(ratio, df), ""


def _wald(large: Fit, features: tuple[str, ...], effects: tuple[str, ...]) -> JointTest:
    shown = shown_coefficients(large)
    columns = [large.names.index(name) for name in features]
    terms = [term for term in shown.terms if sorted(term.columns) == columns and not effects]
    cells = terms[0].cells if terms else None
    rows = shown.contrast_rows()[columns]
    return wald_test(large, (*features, *effects), rows, cells, effects)


def _what_to_go_by(large: Fit, wald: JointTest | None) -> str:
    """The two tests differ where items differ beyond their features."""
    if wald is None or _has_abilities(large) or large.n_items is None:
        return ""
    if np.isnan(wald.p):
        independent = "The likelihood ratio takes comparisons for independent"
        return str(Message.of(independent, TEST_REMEDIES[wald.note]))
    return TOO_SMALL if wald.covariance in ITEM_ROBUST else str(BOTH_PLAIN)
