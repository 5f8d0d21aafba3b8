"""What more comparisons would improve: the planner, the intervals, drawn studies."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from pairscore import Comparisons, Population, RankRegression, plan, predict_error
from pairscore.core.links import get_link
from pairscore.data.items import Items
from pairscore.report.facts import report_facts
from pairscore.report.more_comparisons import (
    ability_prospects,
    best_accuracy,
    misordered_by_intervals,
    prospects,
)
from pairscore.report.page import report_html
from pairscore.theory.direction_variance import LabelLaw, wrong_sign
from pairscore.theory.integrals import spread_for_noise
from tests.limits import largest_mean
from tests.report.conftest import assert_whole, draw_coins, draw_study, read_comparisons


@pytest.mark.parametrize("method", ["mle", "pooled", "split"])
def test_prospects_are_those_of_the_planner(method):
    items, votes = draw_study(80, 1600, d=5, spare=80)
    model = RankRegression(method).fit(items, votes)
    data = read_comparisons(items, votes)
    found, reason = prospects(model, data)
    assert reason == ""
    compared = Items(data.items.values[:80], data.items.feature_names)
    for one, factor in zip(found, (1, 2, 4), strict=True):
        witness = plan(
            items=compared,
            noise=model.noise_,
            n_items=80,
            n_comparisons=1600 * factor,
            method=method,
        )
        assert (one.n_comparisons, one.misordered) == (
            1600 * factor,
            pytest.approx(witness.misordered),
        )
        assert one.low < one.misordered < one.high
    assert found[0].misordered > found[1].misordered > found[2].misordered


def test_the_intervals_and_the_theory_agree_where_features_explain_everything():
    population = Population(n_features=10, noise=0.2, rng=5)
    items, votes = population.draw(
        400, 8000, np.random.default_rng(6), second_half=False, self_pairs=False
    )
    model = RankRegression().fit(items, votes)
    theory = predict_error(population, 400, 8000, "mle").misordered
    assert theory / 1.4 < misordered_by_intervals(model, items) < 1.4 * theory
    assert np.isnan(
        misordered_by_intervals(RankRegression(inference=None).fit(items, votes), items)
    )


@pytest.mark.parametrize("seed", range(3))
def test_with_one_feature_the_share_is_the_chance_of_the_wrong_sign(seed):
    items, votes = draw_coins(seed)
    model = RankRegression().fit(items, votes)
    facts = report_facts(model, items, votes)
    z2 = float(model.coef_[0] / model.std_errors_[0]) ** 2
    assert facts.misordered == pytest.approx(norm.sf(np.sqrt(max(z2 - 1, 0))), abs=1e-3)
    logit = get_link("logit")
    law = LabelLaw(logit, spread_for_noise(logit, model.noise_))
    assert [one.misordered for one in facts.prospects] == pytest.approx(
        [wrong_sign(law, facts.n_compared, 80 * factor) for factor in (1, 2, 4)]
    )
    assert 0 < facts.prospects[0].misordered < 0.5
    text = report_html(facts)
    assert "With one feature, all pairs of new items stand in the order of the best score" in text
    assert "nine of ten" not in text
    assert_whole(text)


def test_the_intervals_own_share_is_that_of_drawn_coefficients():
    """Coefficients drawn, by the fit's covariance, about a truth of the length that is left when
    the error's part is taken off.
    """
    items, votes = draw_study(60, 120, d=2)
    model = RankRegression().fit(items, votes)
    X = np.column_stack([items["feature 0"], items["feature 1"]])[
        read_comparisons(items, votes).compared
    ]
    S, C = np.cov(X.T, bias=True), 3 * model.covariance_
    b = model.coef_ * np.sqrt(1 - np.trace(S @ C) / (model.coef_ @ S @ model.coef_))
    drawn_b = np.random.default_rng(0).multivariate_normal(b, C, 100_000)
    cosine = drawn_b @ S @ b / np.sqrt(np.einsum("ij,jk,ik->i", drawn_b, S, drawn_b) * (b @ S @ b))
    model.covariance_ = C
    # the error across is at its root mean square, here of one normal: at most 1/sqrt(2/pi) too
    # large
    assert np.mean(np.arccos(cosine)) / np.pi == pytest.approx(
        misordered_by_intervals(model, X), rel=0.25
    )


def test_an_unsure_direction_does_not_promise_a_perfect_score():
    """A page said that the best score of the features would predict 100 % of comparisons."""
    model = SimpleNamespace(method="mle", n_features_in_=40, link_=get_link("logit"), noise_=0.2)
    trials, held_out = (
        [SimpleNamespace(method="mle", held_out=0.78)],
        SimpleNamespace(share_trained=0.6),
    )
    assert 0.78 < best_accuracy(model, trials, held_out, 0.05) < 0.9
    assert np.isnan(best_accuracy(model, trials, held_out, 0.45))


def draw_abilities(seed, n=25, m=600):
    rng = np.random.default_rng(seed)
    ability, left = 0.8 * rng.normal(size=n), rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    return rng, ability, left, right


@pytest.mark.parametrize("shrunk", [False, True])
def test_what_more_comparisons_would_add_to_abilities_is_what_they_add(shrunk):
    """The share of pairs too close to call with twice and four times the comparisons."""
    errors = []
    for seed in range(12):
        rng, ability, left, right = draw_abilities(seed)
        winner, found = compared(rng, ability, left, right), []
        for factor in (1, 2, 4):
            more = np.tile(left, factor - 1), np.tile(right, factor - 1)
            ends = np.append(left, more[0]), np.append(right, more[1])
            won = np.append(winner, compared(rng, ability, *more))
            votes = {"left": ends[0], "right": ends[1], "winner": won}
            data = Comparisons.from_frames(None, votes)[0]
            model = RankRegression(item_effects=shrunk).fit(data)
            found.append([one.misordered for one in ability_prospects(model, data)[0]])
        errors.append([found[0][1] - found[1][0], found[0][2] - found[2][0]])
    assert np.all(np.abs(np.mean(errors, axis=0)) < largest_mean(np.array(errors), 4))


def test_pairs_too_close_to_call_now_are_those_of_the_ranks():
    rng, ability, left, right = draw_abilities(0)
    votes = {"left": left, "right": right, "winner": compared(rng, ability, left, right)}
    facts = report_facts(RankRegression().fit(None, votes), None, votes)
    assert facts.prospects[0].misordered == pytest.approx(1 - facts.sure_pairs, abs=1e-9)
    assert facts.prospects[0].misordered > facts.prospects[1].misordered


def compared(rng, ability, left, right):
    chance = expit(ability[left] - ability[right])
    return np.where(rng.random(len(left)) < chance, left, right)
