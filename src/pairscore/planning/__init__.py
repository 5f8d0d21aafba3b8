"""How many items and how many comparisons a study needs.

Start with ``planner``: ``plan`` and what it is asked. ``assumed_population`` is what a plan
assumes of items, ``study_size`` searches for the fewest items and comparisons, and ``pilot``
estimates the noise from a first few comparisons. ``text`` puts a plan in words and in plain values,
``charts`` draws it and has the start of every chart of the package. ``pairs`` makes the comparisons
that a plan asks for, ``judging_sheets`` the sheets on which judges answer. ``simulate`` writes a
simulated study, because theory touches no files.

Documented names are also here: ``from pairscore.planning import plan_chart``.

Imports: display, errors, choices, records, data, files, core, theory, messages.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Plan": "planner",
    "PairDesign": "pairs",
    "design_pairs": "pairs",
    "plan_chart": "charts",
    "simulate_study": "simulate",
}


def __getattr__(name: str) -> Any:
    """Documented names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore.planning' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.planning.{_HOME[name]}"), name)
