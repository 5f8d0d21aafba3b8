"""How many items and how many comparisons a study needs.

Start with ``planner``: ``plan`` and the search for sizes. ``study`` holds a plan, ``question``
checks what is asked, ``pilot`` estimates the noise from a first few comparisons, ``text`` puts a
plan in words and in plain values, ``charts`` draws it and has the start of every chart of the
package. ``pairs`` makes the comparisons that a plan asks for, as sheets for the judges. Two modules
turn what theory computes into files, because theory itself touches none: ``simulate`` writes a
simulated study, ``error_sources`` draws a decomposition.

Documented names are also here: ``from pairscore.planning import error_sources_chart``.

Imports: display, errors, choices, records, data, files, core, theory.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Plan": "study",
    "PairDesign": "pairs",
    "design_pairs": "pairs",
    "error_sources_chart": "error_sources",
    "plan_chart": "charts",
    "simulate_study": "simulate",
}


def __getattr__(name: str) -> Any:
    """Documented names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore.planning' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.planning.{_HOME[name]}"), name)
