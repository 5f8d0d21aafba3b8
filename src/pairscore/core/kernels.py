"""Loops over comparisons and pairs: compiled where there was a compiler, else in NumPy.

Chosen once, when pairscore is imported. NumPy takes two to five times as long:

    add_tally        wins less losses, and comparisons, of every item
    subtract_scores  score of left minus score of right
    add_at_ends      values of rows, summed for the items at both ends
    logistic_pass    the derivative of a logistic log-likelihood in every item's score
    neighbour_pass   features of neighbours, summed for every item
    pass_messages    a round of messages along pairs (item effects)

Compiled alone, because what else does it is written another way: ``sort_by_pair`` and
``sum_by_pair`` (comparisons summed per pair, else by SciPy's sparse arrays), ``term_pass`` (terms
of expectation propagation under logit, else those of any link).
"""

try:
    from pairscore.core._kernels import (
        add_at_ends,
        add_tally,
        logistic_pass,
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
        logistic_pass,
        neighbour_pass,
        pass_messages,
        subtract_scores,
    )

__all__ = [
    "IS_COMPILED",
    "add_at_ends",
    "add_tally",
    "logistic_pass",
    "neighbour_pass",
    "pass_messages",
    "sort_by_pair",
    "subtract_scores",
    "sum_by_pair",
    "term_pass",
]
