"""Inference: which kind of intervals a fit has, and for which items and judges they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pairscore.core.ties import TieRule
from pairscore.display import plural
from pairscore.errors import FewItemsWarning, PairscoreWarning
from pairscore.estimators.settings import Settings
from pairscore.messages import Setting
from pairscore.model.fit import Fit

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.estimate import Estimate, Note
    from pairscore.estimators.table_data import TableData

FEW_ITEMS = 50  # below which item-robust intervals come with a warning
OTHER_JUDGES = "allow for other items and other judges"
KINDS = {
    "items": "item-robust",
    "items+judges": "robust to items and judges",
    "model": "classical",
}
ITEM_ROBUST = (KINDS["items"], KINDS["items+judges"])


def allow_for_judges(data: Comparisons, settings: Settings) -> Settings:
    """Settings whose intervals allow for other judges, if that is left to the data and they can."""
    if settings.inference != "auto":
        return settings
    kind = "items"
    if data.judge is not None and settings.method == "mle":
        from pairscore.data.judges import panel_of

        kind = "items+judges" if panel_of(data).is_enough else "items"
    return replace(settings, inference=kind)


def judge_facts(fit_data: TableData, result: Estimate) -> dict[str, Any]:
    """For which judges intervals hold, and whether they differ in taste.

    Nothing where the data do not say who judged, or nobody asks for intervals.
    """
    settings = result.settings
    data = fit_data.comparisons
    if data.judge is None or settings.inference is None:
        return {}
    from pairscore.data.judges import panel_of
    from pairscore.effects.judge_tastes import judge_tastes
    from pairscore.estimators.agreement import score_differences

    panel = panel_of(data)
    if not panel.n_judges:
        return {}
    if settings.inference == "items+judges":
        freedom = max(panel.effective - 1, 1.0)
        return {"df_error": freedom, "interval_scope": OTHER_JUDGES}
    reason = panel.reason
    if panel.is_enough:
        reason = ""
        if settings.method != "mle":
            reason = "closed forms have no intervals that allow for other judges"
        elif not data.items.values.shape[1]:
            reason = "abilities have no intervals that allow for other judges"
    others = "another" if panel.n_judges == 1 else "other judges"
    scope = f"hold for {panel.in_words}; {others} may see it differently"
    scope = f"{scope} ({reason})" if reason else scope
    rule = TieRule(settings.ties, settings.link)
    tie = result.effects.tie_parameter
    predictor = score_differences(fit_data, result)
    score = rule.derivatives(predictor, data.outcome.astype(float), tie, value=False).eta
    by_items = data.items.values.shape[1] > 0
    tastes = judge_tastes(data, score, predictor, by_items)
    return {"interval_scope": scope, "judge_tastes": tastes}


def choose_inference(data: Any, settings: Settings) -> tuple[str | None, list[Note]]:
    """Item-robust intervals need items, and more of them than parameters.

    Those that are left to the data are item-robust, where it is not known who judged.
    """
    wanted = "items" if settings.inference == "auto" else settings.inference
    if wanted not in ("items", "items+judges") or not data.has_items:
        return ("model" if wanted else None), []
    n = data.n_items
    parameters = len(data.feature_names) + (1 if settings.side_effect else 0)
    if n <= parameters + 1:
        text = (
            f"{plural(n, 'item')} with {plural(parameters, 'parameter')} leave nothing to"
            " estimate how items differ from their features; intervals are the classical ones ("
            + Setting("inference", "model")
            + ")"
        )
        return "model", [FewItemsWarning(text)]
    if n < FEW_ITEMS:
        rough = (
            f"with {plural(n, 'item')}, item-robust intervals are rough; below about {FEW_ITEMS}"
            " items, read them with care."
        )
        return wanted, [FewItemsWarning(rough)]
    return wanted, []


def classical_abilities(settings: Settings) -> tuple[Settings, list[Note]]:
    """Settings of a fit with a parameter for every item, whose intervals are the classical ones."""
    if settings.inference in (None, "model"):
        return settings, []
    classical = replace(settings, inference="model")
    if settings.inference in ("auto", "items"):
        return classical, []
    text = (
        "intervals of abilities do not allow for judges who differ; they are the classical ones ("
        + Setting("inference", "model")
        + ")"
    )
    return classical, [PairscoreWarning(text)]


def covariance_in_words(fit: Fit) -> str:
    """Effects of items say what comparisons of an item have in common, so none are robust."""
    if fit.inference is None:
        return "not computed"
    effects = fit.item_effects
    if effects is not None and effects.free:
        return KINDS["model"]
    if effects is None or effects.sigma2 == 0:
        return KINDS[fit.inference]
    judges = ", robust to judges" if fit.inference == "items+judges" else ""
    return f"from the item-effects model{judges}"


def intervals_in_words(fit: Fit) -> str:
    """The kind of the intervals, and for which items and judges they hold."""
    if fit.inference is None:
        return covariance_in_words(fit)
    student = (
        ""
        if fit.panel.df_error is None
        else f" (t with {fit.panel.df_error:.3g} degrees of freedom)"
    )
    scope = f"; they {fit.panel.interval_scope}" if fit.panel.interval_scope else ""
    return f"95 %, {covariance_in_words(fit)}{student}{scope}"
