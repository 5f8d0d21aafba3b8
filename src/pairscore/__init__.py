"""pairscore: from pairwise comparisons and features to a score that ranks, with honest uncertainty."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairscore.comparer import compare
    from pairscore.comparisons import Comparisons
    from pairscore.errors import PairscoreError, PairscoreWarning
    from pairscore.metrics import angle, kendall_distance
    from pairscore.on_items import OnItems
    from pairscore.planner import plan
    from pairscore.population import Population
    from pairscore.regression import RankRegression, load
    from pairscore.report import write_report
    from pairscore.splitters import ItemKFold
    from pairscore.theory import predict_error

__version__ = "0.1.0"

_HOME = {
    "Comparisons": "comparisons",
    "ItemKFold": "splitters",
    "OnItems": "on_items",
    "PairscoreError": "errors",
    "PairscoreWarning": "errors",
    "Population": "population",
    "RankRegression": "regression",
    "angle": "metrics",
    "compare": "comparer",
    "kendall_distance": "metrics",
    "load": "regression",
    "plan": "planner",
    "predict_error": "theory",
    "write_report": "report",
}

__all__ = [
    "Comparisons",
    "ItemKFold",
    "OnItems",
    "PairscoreError",
    "PairscoreWarning",
    "Population",
    "RankRegression",
    "angle",
    "compare",
    "kendall_distance",
    "load",
    "plan",
    "predict_error",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that ``import pairscore`` is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
