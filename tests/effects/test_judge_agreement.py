"""How often answers on the same pair agree, and ceilings of what a score predicts."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from pairscore import Comparisons, RankRegression
from pairscore.data.items import Items
from pairscore.effects.judge_agreement import judge_agreement

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
COEF = np.array([1.0, 0.0, -0.6])


def naive_agreement(data):
    """Every couple of answers on a pair, by loops: shares of each pair, between and within."""
    between, within = {}, {}
    rows = [row for row in range(len(data)) if data.outcome[row] and data.judge[row]]
    for a in rows:
        for b in rows:
            pairs = [frozenset((data.left[row], data.right[row])) for row in (a, b)]
            if pairs[0] != pairs[1] or len(pairs[0]) == 1:
                continue
            winners = [data.left[r] if data.outcome[r] > 0 else data.right[r] for r in (a, b)]
            times = data.count[a] * (data.count[b] - (a == b))
            same = data.judge[a] == data.judge[b]
            key = (pairs[0], data.judge[a]) if same else pairs[0]
            seen = (within if same else between).setdefault(key, [0.0, 0.0])
            seen[0] += times * (winners[0] == winners[1])
            seen[1] += times
    return {
        kind: [alike / all_ for alike, all_ in found.values() if all_]
        for kind, found in (("between", between), ("within", within))
    }


def test_agreement_between_and_within_judges_is_that_of_all_couples_of_answers():
    rng = np.random.default_rng(0)
    n, m = 6, 60
    left = rng.integers(0, n, m)
    data = Comparisons(
        Items(rng.normal(size=(n, 1)), ("x",)),
        left,
        (left + rng.integers(1, n, m)) % n,
        rng.choice([-1, 0, 1], m, p=[0.4, 0.2, 0.4]),
        count=rng.integers(1, 3, m),
        judge=np.array(["a", "b", "c", None], dtype=object)[rng.integers(0, 4, m)],
    )
    found, expected = judge_agreement(data), naive_agreement(data)
    for kind, shares in expected.items():
        assert found[kind]["n_pairs"] == len(shares)
        assert found[kind]["share"] == pytest.approx(np.mean(shares))
        worth = found[kind]["n_effective"]
        assert worth <= len(shares)
        interval = proportion_confint(np.mean(shares) * worth, worth, method="wilson")
        assert (found[kind]["low"], found[kind]["high"]) == pytest.approx(interval)


def agreeing_study(rng, m, judges=3, times=2):
    """Pairs judged ``times`` by each of the judges, by chances that are known."""
    chance = rng.beta(1.5, 1.0, m)
    left, right = np.arange(m), m + np.arange(m)
    rows = np.tile(np.arange(m), judges * times)
    outcome = np.where(rng.random(len(rows)) < chance[rows], 1, -1)
    judge = np.repeat([f"judge {j}" for j in range(judges)], m * times)
    items = Items(rng.normal(size=(2 * m, 1)), ("x",))
    swap = rng.random(len(rows)) < 0.5
    sides = np.where(swap, right[rows], left[rows]), np.where(swap, left[rows], right[rows])
    return chance, Comparisons(items, *sides, np.where(swap, -outcome, outcome), judge=judge)


def test_the_interval_of_agreement_covers_and_no_score_beats_its_ceiling():
    """The best score knows every chance; its accuracy is below the ceiling, agreement near."""
    misses, gaps = 0, []
    for seed in range(300):
        chance, data = agreeing_study(np.random.default_rng([3, seed]), 60, judges=2, times=1)
        between = judge_agreement(data)["between"]
        truth = np.mean(1 - 2 * chance * (1 - chance))
        misses += not between["low"] <= truth <= between["high"]
        best = np.mean(np.maximum(chance, 1 - chance))
        gaps.append(0.5 + 0.5 * np.sqrt(2 * truth - 1) - best)
        assert between["n_pairs"] == 60
    assert misses <= binom.isf(1e-5, 300, 0.05)
    assert min(gaps) > 0  # the ceiling at the true agreement


def test_agreement_is_unknown_without_repeats_and_perfect_judges_have_no_ceiling():
    _, data = agreeing_study(np.random.default_rng(4), 20, judges=1, times=1)
    assert judge_agreement(data) == {}
    _, data = agreeing_study(np.random.default_rng(4), 30, judges=2, times=2)
    data = data.with_outcome(np.where(data.left < data.right, 1, -1))
    found = judge_agreement(data)
    assert [found[kind]["share"] for kind in ("between", "within")] == [1.0, 1.0]
    assert [found[kind]["n_pairs"] for kind in ("between", "within")] == [30, 60]
    assert found["between"]["ceiling"] == 1.0
    few = np.zeros(len(data), dtype=int)
    few[:2] = -1, 1
    assert judge_agreement(data.with_outcome(few)) == {}  # ties count neither way


def test_no_ceiling_is_below_what_a_score_predicts():
    """A judge who answers by a coin agrees with a careful one in half of the pairs, and one score
    predicts three quarters of their answers; the ceiling of equal judges would be a half.
    """
    rng, n = np.random.default_rng(0), 400
    left = np.repeat(rng.integers(0, 100, n), 2)
    right = (left + 1 + np.repeat(rng.integers(0, 98, n), 2)) % 100
    by_score = np.where(left > right, 1, -1)
    outcome = np.where(np.tile([True, False], n), by_score, rng.choice([1, -1], 2 * n))
    judge = np.tile(["careful", "coin"], n)
    data = Comparisons(np.arange(100.0)[:, None], left, right, outcome, judge=judge)
    assert judge_agreement(data)["between"]["ceiling"] < 0.7
    found = judge_agreement(data, accuracy=0.75)["between"]
    assert (found["ceiling"], found["ceiling_high"]) == (None, None)
    assert found["in_words"].endswith(" pairs)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression().fit(data)
    assert model.agreement_ == pytest.approx(0.75, abs=0.05)
    assert model.judge_agreement_["between"] == found


@pytest.mark.parametrize("same", [True, False])
def test_a_few_repeated_pairs_set_no_ceiling(same):
    items = Items(np.arange(4.0)[:, None], ("x",))
    outcome = np.array([1, 1, -1, -1 if same else 1])
    judge = np.array(["a", "b", "a", "b"])
    data = Comparisons(items, np.array([0, 0, 1, 1]), np.array([2, 2, 3, 3]), outcome, judge=judge)
    found = judge_agreement(data)["between"]
    assert (found["n_pairs"], found["share"]) == (2, 1.0 if same else 0.5)
    assert found["ceiling"] is None
    assert found["ceiling_high"] is None
    assert "too few to say" in found["in_words"]
    assert found["high"] - found["low"] > 0.5
