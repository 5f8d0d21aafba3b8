"""The judges of a study: how many there are, how often they agree, and whether tastes differ."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import fdtrc

from pairscore.core.incidence import ItemPairs
from pairscore.core.quantiles import p_in_words
from pairscore.core.shares import share_interval, weighted_mean
from pairscore.data.comparisons import Comparisons
from pairscore.display import plural
from pairscore.effects.predictor import judge_labels

FEW_JUDGES = 10  # below, intervals hold for these judges
FEWEST_EFFECTIVE = 3.0  # as many judges who are equally busy, of ten or more: 2 degrees of freedom
FEWEST_ANSWERS = 5  # of a judge whose taste is tested: sums of fewer are no normal law
MOST_JUDGES = 100  # whose tastes are tested: the design effect is a pass for each
MOST_TESTED, MOST_NUMBERS = 50_000, 4_000_000  # comparisons, and times features: a second at most
MOST_TASTED = 300  # items without features, of which each is a column
TINY_SHARE = 1e-9  # of the largest standard deviation: a column that does not vary
CLEARLY = 0.05  # level at which judges are said to differ
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
    are worth that share items (:func:`~pairscore.core.shares.share_interval`). A row counts as
    often as its ``count`` says; weights play no part. No entry where no pair has two answers.

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


@dataclass(frozen=True)
class JudgePanel:
    """The judges of some comparisons: how many, and of how many who are equally busy.

    ``effective`` is (sum of n_j)^2 / sum of n_j^2, n_j the comparisons of each; ``all_named`` is
    False if some comparison does not say who judged.
    """

    n_judges: int
    effective: float
    all_named: bool

    @property
    def is_enough(self) -> bool:
        """Whether they are enough to say how far other judges may differ."""
        busy = self.effective >= FEWEST_EFFECTIVE
        return self.all_named and self.n_judges >= FEW_JUDGES and busy

    @property
    def reason(self) -> str:
        """Why they are not, although they are many; empty where they are few."""
        if self.n_judges < FEW_JUDGES:
            return ""
        if not self.all_named:
            return "not every comparison says who judged"
        return "a few of them made most of the comparisons"

    @property
    def in_words(self) -> str:
        return "this judge" if self.n_judges == 1 else f"these {self.n_judges:,} judges"


def panel_of(data: Comparisons) -> JudgePanel:
    """Who judged, by weight times count, without comparisons of an item with itself."""
    names, judge, named = judge_codes(data)
    used = named & (data.left != data.right)
    number = np.bincount(judge[used], data.amount[used], len(names))
    number = number[number > 0]
    effective = float(number.sum() ** 2 / (number @ number)) if len(number) else 0.0
    return JudgePanel(len(number), effective, bool(named.all()))


def judge_codes(data: Comparisons) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Names of the judges, the place of each comparison's among them, and whether it has one."""
    assert data.judge is not None
    plain = data.judge if data.judge.dtype.kind not in "fO" else np.array(judge_labels(data.judge))
    names, judge = np.unique(plain, return_inverse=True)
    is_name = [bool(name.strip()) and name not in ("None", "nan") for name in names.astype(str)]
    return names, judge, np.array(is_name, dtype=bool)[judge]


def judge_tastes(
    data: Comparisons, link_score: np.ndarray, difference: np.ndarray, by_items: bool = True
) -> dict[str, Any]:
    """Do these judges weigh the features differently (without features: the items)?

    ``link_score`` (M) is the derivative of each comparison's log-likelihood in its score
    ``difference`` (M) at the fit. Where judges are alike, what their comparisons add to the
    equations of the coefficients, u_m = link_score_m (x_left - x_right), does not depend on who
    judged. Of several features, that part of u is taken off that goes along with
    link_score_m difference_m, so that judges who are only less careful than others, whose
    coefficients are all smaller by one factor, do not differ in taste. Among all
    ways to give the comparisons to the judges, S_j = sum of u over judge j then has the covariance
    n_j (1 - n_j / M) R, whatever comparisons of an item have in common. With the columns of u in
    units of their standard deviation, R their correlations and k their number,

        F = (sum_j |S_j|^2 / n_j) / ((J - 1) k)  over the same within judges, with (M - J) k,

    is about F((J - 1) f, (M - J) f) with f = k^2 / tr R^2 (the ANOVA-type statistic; Brunner, Dette
    and Munk 1997). Judges who were given different items could differ by these: F is divided by the
    design effect of Rao and Scott (1981), the mean variance of S_j - (n_j / M) sum S where every
    two comparisons may be dependent that share an item (:mod:`pairscore.core.sandwich`), over that
    above; it is at least 1. Of many comparisons every n-th is taken; judges of very few are left
    out.

    Nothing where there are not two judges, or more items than MOST_TASTED without features.
    """
    names, judge, named = judge_codes(data)
    if not by_items and len(data.items) > MOST_TASTED:
        return {}
    X = data.items.values if by_items else np.eye(len(data.items))
    used = np.flatnonzero(named & (data.left != data.right) & (data.amount > 0))
    step = -(-len(used) * X.shape[1] // MOST_NUMBERS)
    used = used[:: max(step, -(-len(used) // MOST_TESTED))]
    number = np.bincount(judge[used], minlength=len(names))
    used = used[number[judge[used]] >= FEWEST_ANSWERS]
    _, judge = np.unique(judge[used], return_inverse=True)
    J, M = int(judge.max(initial=-1)) + 1, len(used)
    if not 2 <= J <= MOST_JUDGES:
        return {}
    left, right = data.left[used], data.right[used]
    score = data.amount[used] * link_score[used]
    u, of_care = score[:, None] * (X[left] - X[right]), score * difference[used]
    if u.shape[1] > 1 and of_care.any():
        u = u - np.outer(of_care, of_care @ u / (of_care @ of_care))
    u = u - u.mean(axis=0)
    sd = np.sqrt(np.sum(u**2, axis=0) / (M - 1))
    u = u[:, sd > TINY_SHARE * sd.max(initial=0.0)] / sd[sd > TINY_SHARE * sd.max(initial=0.0)]
    k = u.shape[1]
    if not k:
        return {}
    number = np.bincount(judge).astype(float)
    of_judges = sparse.csr_array((np.ones(M), (judge, np.arange(M))), shape=(J, M)) @ u
    between = float(np.sum(of_judges**2 / number[:, None]))
    within = (M - 1) * k - between
    f = k**2 / float(np.sum((u.T @ u / (M - 1)) ** 2))
    df, df_error = (J - 1) * f, (M - J) * f
    design_effect = _design_effect(u, judge, number, left, right) if by_items else 1.0
    statistic = between / ((J - 1) * k) / (within / ((M - J) * k)) / design_effect
    p = float(fdtrc(df, df_error, statistic))
    weigh = "weigh the features differently" if by_items else "order the items differently"
    these = JudgePanel(J, J, True).in_words
    words = f"{these} {weigh} ({p_in_words(p)})"
    words = words if p <= CLEARLY else f"no sign that {words}"
    return {
        "n_judges": J,
        "statistic": statistic,
        "df": df,
        "df_error": df_error,
        "p": p,
        "design_effect": design_effect,
        "in_words": words,
    }


def _design_effect(
    u: np.ndarray, judge: np.ndarray, number: np.ndarray, left: np.ndarray, right: np.ndarray
) -> float:
    """How much more judges' sums vary because comparisons share items; at least 1."""
    M, k = u.shape
    pairs = ItemPairs(left, right)
    robust = 0.0
    for one, own in enumerate(number.tolist()):
        part = ((judge == one) - own / M)[:, None] * u
        of_items = pairs.sum_per_item(part)
        of_pairs = pairs.sum_per_pair(part)
        robust += float(np.sum(of_items**2) - np.sum(of_pairs**2)) / own
    return max(robust / ((len(number) - 1) * k), 1.0)
