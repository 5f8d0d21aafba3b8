"""How often two answers on the same pair of items agree, and how much a score could predict."""

from typing import Any

import numpy as np

from pairscore.core.comparison_means import share_interval, weighted_mean
from pairscore.core.incidence import ItemPairs
from pairscore.data.comparisons import Comparisons
from pairscore.data.judges import judge_codes
from pairscore.display import plural

AGREEMENT_WORDS = {
    "between": "two judges named the same winner in {share} of the pairs that both compared",
    "within": "judges who compared a pair again named the same winner in {share} of cases",
}
WHICH_SCORE = {"between": "one score for all judges", "within": "a score"}


def judge_agreement(data: Comparisons, accuracy: float = np.nan) -> dict[str, dict[str, Any]]:
    """How often two answers on the same pair of items agree: ``between`` judges, ``within`` one.

    Ties count neither way, as in the accuracy: two answers agree if both name the same winner. A
    pair of items counts once, however often it was compared (within: once for each judge), with the
    share of its couples of answers that agree. ``share`` is the mean, ``low`` and ``high`` its 95 %
    interval by Wilson's formula, for as many independent pairs (``n_effective``) as the ``n_pairs``
    are worth that share items (:func:`~pairscore.core.comparison_means.share_interval`). A row
    counts as often as its ``count`` says; weights play no part. No entry where no pair has two
    answers.

    If left wins a pair with probability p, two answers agree with a = 1 - 2 p (1 - p), and the best
    score predicts max(p, 1 - p) = (1 + sqrt(2 a - 1)) / 2 of them; the root is concave, so that
    over all pairs no score predicts more than ``ceiling`` = (1 + sqrt(2 share - 1)) / 2;
    ``ceiling_high`` is that of ``high``. Both are None where independent pairs are too few to say,
    and where the ceiling is below ``accuracy``, which some score has: answers of careful judges
    beside careless ones agree less often than one score predicts them.
    """
    answers = _answers(data)
    if answers is None:
        return {}
    pair, wins, items = answers
    number = wins.sum(axis=1)
    total = np.column_stack([np.bincount(pair, side) for side in wins.T])
    own = np.bincount(pair, number**2)
    own_alike = np.bincount(pair, (wins**2).sum(axis=1))
    between = total.sum(axis=1) ** 2 - own, (total**2).sum(axis=1) - own_alike, items
    within = number * (number - 1), (wins * (wins - 1)).sum(axis=1), items[pair]
    found = {}
    for kind, (couples, alike, of_items) in (("between", between), ("within", within)):
        if np.any(repeated := couples > 0):
            shares, pairs = alike[repeated] / couples[repeated], of_items[repeated]
            found[kind] = _agreement(kind, shares, ItemPairs(*pairs.T), accuracy)
    return found


def _answers(data: Comparisons) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """For each judge and pair of items: the pair's number, (A,), and how often either won, (A, 2).

    And the two items of each pair, (P, 2). Without rows of an unknown judge.
    """
    names, judge, named = judge_codes(data)
    used = np.flatnonzero(named & (data.left != data.right) & (data.outcome != 0))
    count = np.ones(len(data)) if data.count is None else data.count
    used = used[count[used] > 0]
    if not len(used):
        return None
    swapped = data.left[used] > data.right[used]
    first_won = (data.outcome[used] > 0) != swapped
    _, first, pair = np.unique(data.pair[used], return_index=True, return_inverse=True)
    items = np.column_stack([data.left[used][first], data.right[used][first]])
    keys, row = np.unique(pair * len(names) + judge[used], return_inverse=True)
    wins = [np.bincount(row, count[used] * won, len(keys)) for won in (first_won, ~first_won)]
    return keys // len(names), np.column_stack(wins), items


def _agreement(kind: str, shares: np.ndarray, pairs: ItemPairs, accuracy: float) -> dict[str, Any]:
    """The mean of shares with its interval, the ceiling that follows, and both in words."""
    n = len(shares)
    mean = weighted_mean(shares, np.ones(n), np.ones(n))
    interval = share_interval(mean, pairs)
    found: dict[str, Any] = {
        "share": mean.value,
        "low": interval.low,
        "high": interval.high,
        "n_pairs": n,
        "n_effective": interval.effective,
        "ceiling": None,
        "ceiling_high": None,
    }
    said = AGREEMENT_WORDS[kind].format(share=f"{mean.value:.0%}")
    if not interval.is_enough:
        few = f"{plural(n, 'pair', ',')}: too few to say how much a score could predict at best"
        return found | {"in_words": f"{said} ({few})"}
    ceiling, most = (0.5 + 0.5 * np.sqrt(max(2 * a - 1, 0.0)) for a in (mean.value, interval.high))
    said += f" (95 %: {interval.low:.0%} to {interval.high:.0%}, from {plural(n, 'pair', ',')})"
    if ceiling < accuracy:
        return found | {"in_words": said}
    words = (
        f"{said}; at best, {WHICH_SCORE[kind]} could predict about {ceiling:.0%} (95 %: up to"
        f" {most:.0%}) of such answers correctly"
    )
    return found | {"ceiling": float(ceiling), "ceiling_high": float(most), "in_words": words}
