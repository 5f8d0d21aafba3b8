"""Loops over comparisons and pairs: compiled where there was a compiler, else in NumPy.

Chosen once, when pairscore is imported. How many times as long NumPy takes, and what it is measured
on (``python -m benchmarks.speed_paths``, one thread):

    add_tally        2 to 7  wins less losses, and comparisons, of every item: millions of rows
    subtract_scores  3 to 6  score of left minus score of right: millions of rows
    add_at_ends      2 to 3  values of rows, summed for the items at both ends: millions of rows
    neighbour_pass   2 to 6  features of neighbours, summed for every item: 50 and 250 features
    pass_messages    3 to 4  a round of messages along pairs (item effects): two million pairs

Compiled alone, because what else does it is written another way:

    sort_by_pair, sum_by_pair  2 to 6  comparisons summed per pair, else by SciPy's sparse arrays
    term_pass                  3 to 6  terms of expectation propagation under logit, else as those
                                       of any link

Each gives what its twin does on hard data: tests/core/test_passes.py, tests/core/test_amounts.py
and, of term_pass, tests/effects/test_expectation_propagation.py.
"""

try:
    from pairscore.core._kernels import (
        add_at_ends,
        add_tally,
        neighbour_pass,
        pass_messages,
        sort_by_pair,
        subtract_scores,
        sum_by_pair,
        term_pass,
    )

    IS_COMPILED = True
except ImportError:
    from pairscore.core.kernels_numpy import (
        IS_COMPILED,
        add_at_ends,
        add_tally,
        neighbour_pass,
        pass_messages,
        subtract_scores,
    )

__all__ = [
    "IS_COMPILED",
    "add_at_ends",
    "add_tally",
    "neighbour_pass",
    "pass_messages",
    "sort_by_pair",
    "subtract_scores",
    "sum_by_pair",
    "term_pass",
]
