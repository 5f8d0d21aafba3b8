"""Drawing a `split` estimate from its law, against making the items and votes and estimating."""

import numpy as np

from pairscore import Population, RankRegression
from pairscore.core.moments import moments
from pairscore.core.pair_graph import tally
from pairscore.estimators.closed_form import split_covariance

BATCH = 30  # draws come by the thousand: one alone would be timed with a cold cache


def eqs_3_and_4(items, votes):
    """As the paper writes them: every difference is formed."""
    n, d = len(items) // 2, items.shape[1]
    average = votes.outcome @ (items[votes.left] - items[votes.right]) / len(votes)
    return np.linalg.solve(np.cov(items[n:].T) * (n - 1) / (n - d - 2), average)


def bare_sums(items, votes):
    """The same by net wins and centred moments, without the checks, scale and record of a fit."""
    n = len(items) // 2
    w = tally(votes.left, votes.right, votes.outcome, np.ones(len(votes)), n).net_wins
    return np.linalg.solve(split_covariance(moments(items[n:])), w @ items[:n]) / len(votes)


def fast_draw(medians, report, n=3000, d=250):
    m = int(np.ceil(n * np.log(n)))
    population, rng = (
        Population(d, min_eigenvalue=1 / 200, noise=0.2, rng=0),
        np.random.default_rng(1),
    )
    seconds = medians(
        9,
        fit=lambda: RankRegression("split", inference=None).fit(*population.draw(n, m, rng)),
        written=lambda: eqs_3_and_4(*population.draw(n, m, rng)),
        bare=lambda: bare_sums(*population.draw(n, m, rng)),
        draw_split=lambda: [population.draw_split(n, m, rng) for _ in range(BATCH)],
        draw_pooled=lambda: [population.draw_pooled(n, m, rng) for _ in range(BATCH)],
    )
    fast = seconds["draw_split"] / BATCH
    print(
        f"  (one draw_split took {fast * 1e3:.2f} ms, one draw_pooled"
        f" {seconds['draw_pooled'] / BATCH * 1e3:.2f} ms)"
    )
    print(
        f"  (time over draw_split: with RankRegression('split').fit {seconds['fit'] / fast:.0f},"
        f" with bare net wins and moments {seconds['bare'] / fast:.0f})"
    )
    report(
        "drawing items and votes, then eqs. 3 and 4 as written; over draw_split",
        seconds["written"] / fast,
        100.0,
        "at least",
    )
