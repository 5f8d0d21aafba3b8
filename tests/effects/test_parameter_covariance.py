"""Covariances that allow for shared items and judges, against sums over pairs of comparisons."""

import numpy as np
import pytest
from scipy.stats import norm

from pairscore import RankRegression
from pairscore.core.sandwich import floored_covariance, sandwich
from pairscore.effects.parameter_covariance import judge_meat, parameter_covariance
from tests.effects.simulators import fitted_comparisons, judged_votes
from tests.limits import CHANCE


@pytest.mark.parametrize("block", [1, 300, 4_000_000])
def test_covariances_are_sums_over_comparisons_that_share_an_item_or_a_judge(block, monkeypatch):
    monkeypatch.setattr("pairscore.effects.parameter_covariance.BLOCK_NUMBERS", block)
    X, votes = judged_votes(np.random.default_rng(2), n=15, m=120, tie=0.4)
    own = np.arange(15) == 3
    X[:, 2] = own  # item 3 has a column of its own
    data, settings, post = fitted_comparisons(
        X,
        votes,
        context=["rest"],
        ties="davidson",
        side_effect=True,
        l2=0.5,
        inference="items+judges",
    )
    rows, bread = post.rows, post.basis.inverse
    add = rows.contributions(post.derivatives, post.theta)
    u = add(np.arange(len(rows.left)))
    m = len(u)
    ends = [{int(rows.left[row]), int(rows.right[row])} for row in range(m)]
    both = np.array([[ends[one] == ends[two] for two in range(m)] for one in range(m)])
    items = np.array([[bool(ends[one] & ends[two] - {3}) for two in range(m)] for one in range(m)])
    items |= both
    judges = rows.judge[:, None] == rows.judge[None]
    k = data.tally.exposures
    z = X - k @ X / k.sum()
    # holds an item back from pulling the fit towards itself
    ridge = 0.5 * (k @ z**2 / k.sum()) / (4 * 0.25**2)
    inverse = np.linalg.inv(z.T @ (k[:, None] * z) + np.diag(ridge))
    inflation = 1 / (1 - k * (1 / k.sum() + np.einsum("ij,jk,ik->i", z, inverse, z)))
    inflation[own] = 0
    t = np.array(
        [inflation[item] * u[[item in pair for pair in ends]].sum(axis=0) for item in range(len(X))]
    )
    with_own = np.array([3 in pair for pair in ends])
    meat = t.T @ t - u.T @ (both & ~with_own) @ u
    few = rows.n_judges / (rows.n_judges - 1)
    # every two comparisons that share an item are counted with the items already
    of_judges = u.T @ (few * judges - (judges & items)) @ u
    np.testing.assert_allclose(judge_meat(rows, add, ~own), of_judges, rtol=1e-8, atol=1e-8)
    expected = rows.information(post.derivatives) - rows.ridge
    by_items = sandwich(bread, expected, meat)
    wanted = floored_covariance(bread @ (meat + of_judges) @ bread, by_items, 1.0)
    np.testing.assert_allclose(
        parameter_covariance(data, settings, post, None), wanted, rtol=1e-6, atol=1e-10
    )


def test_judges_with_tastes_of_their_own_widen_intervals_beside_item_effects_too():
    """As seen: `inference` was the same to errors with item effects, and the summary named it."""
    rng = np.random.default_rng(4)
    X, judge, left = rng.normal(size=(80, 3)), rng.integers(0, 15, 2400), rng.integers(0, 80, 2400)
    right = (left + rng.integers(1, 80, 2400)) % 80
    taste, effect = rng.normal(size=(15, 3)), rng.normal(size=80)
    delta = np.sum((X[left] - X[right]) * ([1.0, 0.5, 0.0] + taste[judge]), axis=1)
    won = rng.random(2400) < 1 / (1 + np.exp(-delta - effect[left] + effect[right]))
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    items, judges = (
        RankRegression(item_effects=True, inference=one).fit(X, votes | {"judge": judge})
        for one in ("items", "items+judges")
    )
    assert np.all(judges.std_errors_ > 1.2 * items.std_errors_)
    assert "from the item-effects model, robust to judges" in str(judges.summary())
    assert "robust" not in dict(items.summary().facts())["intervals"]


def test_a_side_that_explains_everything_leaves_coefficients_their_errors():
    """As seen: beside a ridge, errors of 0.0003."""
    rng = np.random.default_rng(5)
    X, left = rng.normal(size=(30, 3)), rng.integers(0, 30, 200)
    right = (left + rng.integers(1, 30, 200)) % 30
    votes = {"left": left, "right": right, "winner": np.full(200, "left")}
    with pytest.warns():
        both, plain = (
            RankRegression(item_effects=one, side_effect=True, l2=1.0).fit(X, votes)
            for one in (True, False)
        )
    assert np.all(both.std_errors_ > 0.3 * plain.std_errors_)


@pytest.mark.parametrize("context", [None, ["rest"]])
def test_abilities_from_half_wins_are_as_sure_as_from_the_two_answers_behind_them(context):
    """As seen: beside ties as half wins, intervals of abilities were too wide, as if of coins."""
    rng, n, m = np.random.default_rng(6), 10, 4000
    ability, left, rest = rng.normal(size=n), rng.integers(0, n, m), rng.normal(size=m)
    right = (left + rng.integers(1, n, m)) % n
    p = 1 / (1 + np.exp(ability[right] - ability[left] - 0.4 * rest))
    answers = np.where(rng.random((2, m)) < p, 1, -1)
    words = np.array(["right", "tie", "left"])
    votes = {"left": left, "right": right, "winner": words[answers.sum(axis=0) // 2 + 1]}
    twice = {"left": np.tile(left, 2), "right": np.tile(right, 2)}
    twice["winner"] = words[answers.ravel() + 1]
    half = RankRegression(context=context).fit(None, votes | {"rest": rest})
    both = RankRegression(context=context).fit(None, twice | {"rest": np.tile(rest, 2)})
    np.testing.assert_allclose(half.item_effects_.effect, both.item_effects_.effect, atol=1e-6)
    # the share of a coin's variance that ties leave is 1/2, seen with the errors of their number
    # and of the sum of p (1 - p), whose derivative is at most that sum's root away in one sd
    coins, tied = np.sum(p * (1 - p)), 2 * p * (1 - p)
    error = (np.sqrt(np.sum(tied * (1 - tied))) / 4 + 0.5 * np.sqrt(coins)) / coins
    limit = norm.isf(CHANCE / 2) * error
    found = [(half.item_effects_.std_error, both.item_effects_.std_error)]
    between = [one.difference(0, 1) for one in (half, both)]
    found += [[one.high - one.low for one in between]]
    if context:
        found += [(half.effects_.std_errors, both.effects_.std_errors)]
    for of_half, of_both in found:
        assert np.all(np.abs((of_half / of_both) ** 2 - 1) < 2 * limit)
