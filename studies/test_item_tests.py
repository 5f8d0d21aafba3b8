"""Size and power of the tests behind item_effects="auto" and of a context related to the items."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from tests.effects.rows import random_pairs

from pairscore import RankRegression

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
LEVEL, N_STUDIES = 0.05, 300
# comparisons per item, features, what else
DESIGNS = {
    "1 per item": (1, {}),
    "3 per item": (3, {}),
    "10 per item": (10, {}),
    "30 per item": (30, {}),
    "outlying features": (5, {"heavy": True}),
    "30 features": (10, {"d": 30}),
    "judges' slopes": (10, {"judges": 8}),
    "context and side": (5, {"context": True}),
    "ties as a parameter": (5, {"ties": 0.3}),
    "ridge chosen": (5, {"d": 8, "l2": "auto"}),
    "weights": (5, {"weights": True}),
}


def study(
    seed,
    per_item,
    sd=0.0,
    n=120,
    d=3,
    heavy=False,
    judges=0,
    context=False,
    ties=0.0,
    weights=False,
    l2=0.0,
):
    """A model with item_effects="auto" of items whose effects have the standard deviation sd."""
    rng = np.random.default_rng([21, per_item, d, seed])
    X = rng.standard_t(2.5, size=(n, d)) if heavy else rng.normal(size=(n, d))
    left, right = random_pairs(rng, n, n * per_item // 2)
    m, score = len(left), X @ np.full(d, 1 / np.sqrt(d)) + sd * rng.normal(size=n)
    judge = rng.integers(0, max(judges, 1), m)
    slopes = rng.uniform(0.3, 1.7, max(judges, 1)) if judges else np.ones(1)
    eta, votes, settings = score[left] - score[right], {}, {"l2": l2}
    if context:
        length = X[left, 0] - X[right, 0] + rng.normal(size=m)
        eta, votes = eta + 0.4 * length + 0.2, {"length": length}
        settings |= {"context": ["length"], "side_effect": True}
    won = rng.random(m) < expit(slopes[judge] * eta)
    winner = np.where(rng.random(m) < ties, "tie", np.where(won, "left", "right"))
    votes |= {"left": left, "right": right, "winner": winner}
    if judges:
        votes, settings = votes | {"judge": judge}, settings | {"judge_slopes": True}
    if ties:
        settings |= {"ties": "davidson"}
    if weights:
        votes |= {"weight": rng.exponential(size=m)}
    return RankRegression(item_effects="auto", **settings).fit(X, votes)


@pytest.mark.parametrize("design", DESIGNS)
def test_items_that_do_not_differ_are_seldom_given_effects(design, figures):
    per_item, given = DESIGNS[design]
    n = 100 if "judges" in given else N_STUDIES
    used = sum(study(seed, per_item, **given).item_effects_test_.used for seed in range(n))
    # the law of the statistic is close to a gamma law, not equal to it
    low, high = binom.ppf(1e-5, n, 0.02), binom.isf(1e-5, n, 0.08)
    figures(f"item effects used in vain, {design}", "about 5 %", f"{used / n:.1%} of {n}")
    assert low <= used <= high


def test_pairs_that_share_no_item_are_never_given_effects(figures):
    rng = np.random.default_rng(0)
    used = 0
    for _ in range(50):
        X, pairs = rng.normal(size=(100, 2)), rng.permutation(100).reshape(50, 2)
        used += RankRegression(item_effects="auto").fit(X, pairs).item_effects_test_.used
    figures("item effects used, disjoint pairs", "never", f"{used} of 50")
    assert used == 0


def test_effects_of_the_size_that_would_have_been_seen_are_seen_8_times_out_of_10(figures):
    """The promised size is of first order, and its own error counts: 70 to 90 %."""
    n, per_item = 200, 10
    size = np.mean([study(seed, per_item).item_effects_test_.smallest_seen for seed in range(20)])
    used = sum(study(seed, per_item, sd=size).item_effects_test_.used for seed in range(n))
    figures(f"effects of {size:.2f} seen, 10 per item", "8 of 10", f"{used / n:.0%} of {n}")
    assert binom.ppf(1e-5, n, 0.7) <= used <= binom.isf(1e-5, n, 0.9)


@pytest.mark.parametrize("per_item", [3, 10, 30])
@pytest.mark.parametrize("sd", [0.0, 1.0])
def test_unrelated_context_is_seldom_said_to_be_related(per_item, sd, figures):
    n = 200
    said = 0
    for seed in range(n):
        model = study(seed, per_item, sd, context=True)
        p = [one["p_value"] for one in model.context_of_items_.values()]
        said += bool(np.nanmin([1.0, *p]) <= LEVEL)
    figures(
        f"context said to be related in vain, {per_item} per item, item sd {sd:g}",
        "at most 5 %",
        f"{said / n:.1%} of {n}",
    )
    assert said <= binom.isf(1e-5, n, LEVEL)
