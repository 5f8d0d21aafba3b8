"""pairscore: pairwise comparisons and features in, a score with honest uncertainty out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairscore import plots, scorers
    from pairscore.data.comparisons import Comparisons
    from pairscore.data.on_items import OnItems
    from pairscore.data.splitters import ItemKFold
    from pairscore.errors import PairscoreError, PairscoreWarning
    from pairscore.estimators.settings import Wording
    from pairscore.evaluation.anova import anova
    from pairscore.evaluation.auto_fit import auto_fit
    from pairscore.evaluation.compare import WithoutFeatures, compare
    from pairscore.evaluation.influence import influence
    from pairscore.evaluation.residuals import residuals
    from pairscore.files.queries import read_sql
    from pairscore.metrics import angle, kendall_distance
    from pairscore.model.pipelines import make_item_pipeline
    from pairscore.model.regression import RankRegression, load
    from pairscore.planning.planner import plan
    from pairscore.report.page import write_report
    from pairscore.streaming.fit_stream import fit_stream
    from pairscore.theory.population import Population
    from pairscore.theory.predicted_error import predict_error

__version__ = "1.0.0rc1"

_HOME = {
    "Comparisons": "data.comparisons",
    "ItemKFold": "data.splitters",
    "OnItems": "data.on_items",
    "PairscoreError": "errors",
    "PairscoreWarning": "errors",
    "Population": "theory.population",
    "RankRegression": "model.regression",
    "WithoutFeatures": "evaluation.compare",
    "Wording": "estimators.settings",
    "angle": "metrics",
    "anova": "evaluation.anova",
    "auto_fit": "evaluation.auto_fit",
    "compare": "evaluation.compare",
    "fit_stream": "streaming.fit_stream",
    "influence": "evaluation.influence",
    "kendall_distance": "metrics",
    "load": "model.regression",
    "make_item_pipeline": "model.pipelines",
    "plan": "planning.planner",
    "plots": "plots",
    "predict_error": "theory.predicted_error",
    "read_sql": "files.queries",
    "residuals": "evaluation.residuals",
    "scorers": "scorers",
    "write_report": "report.page",
}

_MODULES = ("plots", "scorers")

__all__ = [
    "Comparisons",
    "ItemKFold",
    "OnItems",
    "PairscoreError",
    "PairscoreWarning",
    "Population",
    "RankRegression",
    "WithoutFeatures",
    "Wording",
    "angle",
    "anova",
    "auto_fit",
    "compare",
    "fit_stream",
    "influence",
    "kendall_distance",
    "load",
    "make_item_pipeline",
    "plan",
    "plots",
    "predict_error",
    "read_sql",
    "residuals",
    "scorers",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that ``import pairscore`` is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore' has no attribute {name!r}")
    home = import_module(f"pairscore.{_HOME[name]}")
    return home if name in _MODULES else getattr(home, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
