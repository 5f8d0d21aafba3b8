"""The planner: every answer put back as a question, cheapest studies against their neighbours,
refusals as sentences.
"""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairscore import PairscoreError, Population, plan
from pairscore.choices import METHODS
from pairscore.core.links import get_link
from pairscore.data.items import read_items
from pairscore.errors import NoAnswerError
from pairscore.planning.assumed_population import correlation_eigenvalues
from pairscore.planning.planner import PER_ITEM, Plan, Question, solve
from pairscore.planning.study_size import paper_comparisons
from pairscore.planning.text import plan_text
from pairscore.theory.direction_variance import wrong_sign
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.predicted_error import ErrorLaw, predict_error
from tests.planning.conftest import (
    LAW,
    own_items,
)

TARGETS = {"angle": 0.3, "misordered": 0.1, "norm_error": 0.5}


def error(target, n, m, method, **law):
    return getattr(plan(**(law or LAW), n_items=n, n_comparisons=m, method=method), target)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", TARGETS)
def test_two_of_three_give_the_third(method, target):
    """Items and target give comparisons, these and the target no more items, both the error.

    One unit less misses the target.
    """
    wanted, n = {target: TARGETS[target]}, 400
    comparisons = plan(**LAW, **wanted, n_items=n, method=method)
    assert (comparisons.solved_for, comparisons.n_items, comparisons.method) == (
        "n_comparisons",
        n,
        method,
    )
    m = comparisons.n_comparisons
    assert error(target, n, m, method) == getattr(comparisons, target) <= TARGETS[target]
    assert error(target, n, m - 1, method) > TARGETS[target]
    items = plan(**LAW, **wanted, n_comparisons=m, method=method)
    assert (items.solved_for, items.n_comparisons) == ("n_items", m)
    assert items.n_items <= n
    assert (
        error(target, items.n_items, m, method)
        <= TARGETS[target]
        < error(target, items.n_items - 1, m, method)
    )
    found = plan(**LAW, n_items=n, n_comparisons=m, method=method)
    assert (found.solved_for, found.target, found.interval) == ("error", None, None)


@pytest.mark.parametrize("method", METHODS)
def test_the_target_alone_takes_the_papers_number_of_comparisons(method):
    found = plan(**LAW, angle=0.25, method=method)
    n = found.n_items
    assert found.solved_for == "both"
    assert found.n_comparisons == int(np.ceil(n * np.log(n)))
    assert found.angle <= 0.25 < error("angle", n - 1, paper_comparisons(n - 1), method)
    assert found.n_items_total == (2 * n if method == "split" else n)


def test_the_plan_is_what_the_prediction_says():
    population = Population(6, min_eigenvalue=0.1, noise=0.15, rng=3)
    found = plan(population=population, angle=0.2, n_items=200)
    assert found.angle == predict_error(population, 200, found.n_comparisons).angle
    assert found.noise == pytest.approx(0.15)
    assert found.law.n_features == 6


def test_hours_alternatives_and_the_rule_of_ten():
    found = plan(**LAW, misordered=0.08, n_items=300)
    assert found.method == "mle"
    assert found.hours == pytest.approx(found.n_comparisons * 23 / 3600)
    assert found.cost is None
    assert plan(
        **LAW, misordered=0.08, n_items=300, seconds_per_comparison=46
    ).hours == pytest.approx(2 * found.hours)
    assert list(found.alternatives) == list(METHODS)
    needed = [found.alternatives[method].n_comparisons for method in ("mle", "paired", "pooled")]
    assert needed == sorted(needed)
    assert needed[0] == found.n_comparisons
    assert (found.rule_of_ten.n_items, found.rule_of_ten.n_comparisons) == (300, 1500)
    assert found.rule_of_ten.error.misordered == error("misordered", 300, 1500, "mle")


def test_without_noise_the_plan_is_for_paired():
    found = plan(n_features=5, noise=0, misordered=0.05)
    assert found.method == "paired"
    assert isinstance(found.alternatives["mle"], PairscoreError)


def test_items_with_effects_of_their_own_are_planned_for_a_fit_with_item_effects():
    population = Population(4, noise=0.2, item_effect=0.5, rng=0)
    found = plan(population=population, misordered=0.1)
    assert found.method == "mle"
    share = population.spread**2 / (population.spread**2 + 0.25)
    assert found.explained == pytest.approx(share)


def test_two_experts_with_three_hours_need_no_arithmetic():
    found = plan(5, noise=0.2, experts=2, hours=3)
    assert found.n_comparisons == 2 * 3 * 3600 // 23
    assert found.solved_for == "n_items"
    quicker = plan(5, noise=0.2, experts=2, hours=3, seconds_per_comparison=10, n_items=100)
    assert (quicker.n_comparisons, quicker.n_items, quicker.solved_for) == (2160, 100, "error")
    text = plan_text(found)
    assert "6.0 hours of experts (3.0 for each of 2) at 23 s a comparison" in text
    shared = plan(5, noise=0.2, misordered=0.05, experts=4)
    assert f"({shared.hours / 4:.1f} for each of 4)" in plan_text(shared)


def test_comparisons_alone_get_the_number_of_items_that_makes_the_most_of_them():
    """More items would help by less than 1 %, fewer would cost more than that."""
    for explained in (None, 0.6):
        found = plan(5, noise=0.2, n_comparisons=900, explained=explained)
        assert (found.solved_for, found.target, found.n_comparisons) == ("n_items", None, 900)

        def error(n, law=found.law):
            return law.predict(n, 900, "mle").misordered_new

        assert error(found.n_items) <= 1.01 * error(900) < error(found.n_items - 1)
        assert "More items would lower the error on new items by less than 1 %" in plan_text(found)


def test_items_that_cost_nothing_leave_the_fewest_comparisons():
    free = plan(5, noise=0.2, misordered=0.05, item_cost=0, comparison_cost=1, method="mle")
    assert free.misordered <= 0.05
    assert free.cost == free.n_comparisons
    least = plan(5, noise=0.2, misordered=0.05, n_items=free.n_comparisons).n_comparisons
    assert least <= free.n_comparisons <= 1.01 * least + 1
    assert free.n_items < free.n_comparisons


def test_features_that_explain_less_are_told_by_errors_on_new_and_on_compared_items():
    plain, half = (
        plan(5, noise=0.2, n_items=200, n_comparisons=1000, explained=e) for e in (1, 0.5)
    )
    both = plain.error.misordered_new, plain.error.misordered_known
    assert both == pytest.approx((plain.misordered, plain.misordered))
    assert half.error.misordered_known < half.error.misordered_new
    assert half.error.misordered_new > np.arccos(np.sqrt(0.5)) / np.pi  # what features cannot say
    assert (half.explained, half.noise) == pytest.approx((0.5, 0.2))
    text = plan_text(half)
    assert "5 features that explain 50 % of the scores' variance" in text
    assert "no study of these features gets below 25.0 %" in text
    paired = half.alternatives["paired"].error
    assert paired.misordered_known == paired.misordered_new  # it knows features alone


def test_what_is_not_given_is_logit_and_one():
    assert (
        plan(n_features=5, noise=0.2, angle=0.2).study
        == plan(n_features=5, noise=0.2, angle=0.2, min_eigenvalue=1.0, link="logit").study
    )


def test_min_eigenvalue_counts_for_the_angle_and_not_for_the_order():
    law = {"n_features": 10, "noise": 0.2, "n_items": 500}
    angles = [
        plan(**law, min_eigenvalue=smallest, angle=0.2).n_comparisons for smallest in (1.0, 0.01)
    ]
    orders = [
        plan(**law, min_eigenvalue=smallest, misordered=0.06).n_comparisons
        for smallest in (1.0, 0.01)
    ]
    assert angles[1] > 2 * angles[0]
    assert orders[1] == pytest.approx(orders[0], rel=0.02)


def test_links_and_numpy_numbers():
    found = plan(
        n_features=np.int64(5),
        noise=np.float64(0.2),
        misordered=np.float32(0.1),
        n_items=np.int32(100),
        link="probit",
    )
    assert found.misordered <= 0.1
    assert found.noise == pytest.approx(0.2)


@pytest.mark.parametrize("d", [3, 5, 6, 12])
def test_few_items_are_enough_for_many_comparisons(d):
    found = plan(n_features=d, noise=0.1, angle=0.3, n_comparisons=100_000, method="paired")
    assert d + 2 <= found.n_items < 12 * d


@pytest.mark.parametrize("method", METHODS)
def test_one_feature_is_planned_by_the_chance_of_its_wrong_sign(method):
    found = plan(n_features=1, noise=0.3, misordered=0.05, method=method)
    n, m = found.n_items, found.n_comparisons
    assert found.misordered == pytest.approx(wrong_sign(found.law.labels, n, m))
    assert found.misordered <= 0.05
    assert wrong_sign(found.law.labels, n - 1, paper_comparisons(n - 1)) > 0.05
    assert (
        f"{100 * found.misordered:.2f} % of such studies get the sign of the feature wrong"
        in plan_text(found)
    )
    assert "nine of ten" not in plan_text(found)
    sure = plan(n_features=1, noise=0.3, misordered=1e-6, n_items=200, method=method)
    assert 0.9e-6 < sure.misordered <= 1e-6  # far beyond what 4096 nodes could tell


def cheapest(method, costs, n_items=None):
    law = plan(**LAW, n_items=100, n_comparisons=100, method=method).law
    return solve(law, Question(("misordered", 0.1), n_items, None, costs, 23.0), method)


@pytest.mark.parametrize("costs", [(50.0, 0.1), (0.1, 50.0), (2.0, 1.0)])
@pytest.mark.parametrize("method", ["split", "paired"])
def test_the_cheapest_study_is_no_dearer_than_others(costs, method):
    found = cheapest(method, costs)
    assert found.error.misordered <= 0.1
    assert found.cost == pytest.approx(
        costs[0] * found.n_items_total + costs[1] * found.n_comparisons
    )
    for factor in (0.5, 0.9, 0.95, 1.05, 1.1, 2.0, 10.0):
        try:
            other = cheapest(method, costs, int(factor * found.n_items))
        except PairscoreError:  # too few items for the target
            continue
        assert found.cost <= 1.003 * other.cost, factor


def test_dear_items_are_compared_more_often():
    dear, cheap = (cheapest("paired", (cost, 1.0)) for cost in (100.0, 0.01))
    assert dear.n_items < cheap.n_items
    assert dear.n_comparisons > cheap.n_comparisons


def test_the_floor_of_split_is_named_with_a_method_that_has_none():
    with pytest.raises(
        NoAnswerError,
        match=(
            r"with 300 items 'split' cannot reach angle 0.05 at any number of comparisons: it stays"
            r" at 0\.\d+; use method='\w+', which can with [\d,]+ comp"
        ),
    ):
        plan(**LAW, angle=0.05, n_items=300, method="split")
    named = plan(**LAW, angle=0.05, n_items=300, method="mle")
    assert named.angle <= 0.05


def test_too_few_comparisons_for_any_number_of_items():
    with pytest.raises(
        NoAnswerError,
        match=(
            r"^with 60 comparisons 'pooled' cannot reach misordered 0.01 at any number of items: it"
            r" stays at 0\.\d+\.$"
        ),
    ):
        plan(**LAW, misordered=0.01, n_comparisons=60, method="pooled")
    with pytest.raises(
        NoAnswerError,
        match=(
            r"'split' cannot reach misordered 0.09 at any number of items: .*; use method='mle',"
            r" which can with [\d,]+ items\.$"
        ),
    ):
        plan(**LAW, misordered=0.09, n_comparisons=250, method="split")


def test_a_target_beyond_all_items_and_comparisons():
    with pytest.raises(
        NoAnswerError,
        match=(
            r"'split' cannot reach angle 1e-06 with 100,000,000 items and M = N log N; ask for a"
            r" larger error"
        ),
    ):
        plan(**LAW, angle=1e-6, method="split")
    with pytest.raises(
        NoAnswerError,
        match=(
            r"no number of items and comparisons up to 100,000,000 and 1,000,000,000,000 reaches"
            r" 1e-06; ask for a larger error"
        ),
    ):
        plan(**LAW, angle=1e-6, method="split", item_cost=1.0, comparison_cost=1.0)


def test_coins_tell_nothing():
    with pytest.raises(NoAnswerError, match=r"noise is 0.5, so labels are coin tosses"):
        plan(n_features=5, noise=0.5, misordered=0.1)


def test_the_likelihood_without_noise_is_a_question_without_an_answer():
    with pytest.raises(
        NoAnswerError,
        match=(
            r"without noise the likelihood has no maximum.*; use method='paired', which"
            r" can with [\d,]+ comparisons\.$"
        ),
    ):
        plan(n_features=5, noise=0, misordered=0.1, method="mle")


@pytest.mark.usefixtures("only_paired")
def test_more_items_than_the_table_has_are_noted():
    few = own_items()[:20]
    asks = {
        "items": few,
        "noise": 0.2,
        "misordered": 0.05,
        "item_cost": 0.1,
        "comparison_cost": 10.0,
        "method": "paired",
    }
    found = plan(**asks)
    assert found.n_items_total > 20
    assert found.notes == (f"The table has 20 items; the study asks for {found.n_items_total:,}.",)
    assert found.notes[0] in plan_text(found).splitlines()
    assert plan(items=own_items(), noise=0.2, misordered=0.1, method="paired").notes == ()


@pytest.mark.usefixtures("only_paired")
def test_a_pilot_gives_intervals_of_items_and_of_comparisons_where_both_are_found():
    items, pilot = Population(4, noise=0.2, rng=0).draw(80, 150, rng=1, second_half=False)
    costs = {"misordered": 0.1, "item_cost": 1.0, "comparison_cost": 1.0, "method": "paired"}
    found = plan(items=items, pilot=pilot, **costs)
    ends = [
        plan(items=items, noise=noise, **costs)
        for noise in (found.noise_estimate.low, found.noise_estimate.high)
    ]
    sizes = [float(study.n_items) for study in (found, *ends)]
    assert found.items_interval == (min(sizes), max(sizes))
    assert found.interval == tuple(float(end.n_comparisons) for end in ends)
    assert found.items_interval[0] <= found.n_items <= found.items_interval[1]
    (a, b), (c, d) = found.items_interval, found.interval
    assert (
        f"so {a:,.0f} to {b:,.0f} items and {c:,.0f} to {d:,.0f} comparisons may be needed."
        in plan_text(found)
    )
    fixed = plan(items=items, pilot=pilot, misordered=0.1, method="paired")
    assert fixed.items_interval is None
    assert re.search(r"so [\d,]+ to [\d,]+ comparisons may be needed\.", plan_text(fixed))


def test_a_pilot_without_a_wrong_label_is_planned_for_paired_and_says_so():
    items, pilot = Population(3, noise=0.0, rng=0).draw(60, 200, rng=1, second_half=False)
    found = plan(items=items, pilot=pilot, misordered=0.1)
    assert (found.noise, found.method) == (0.0, "paired")
    assert any("suggests that there is no noise" in note for note in found.notes)
    assert "so the plan is for 'paired'." in plan_text(found)
    assert plan(items=items, pilot=pilot, misordered=0.1, method="paired").notes == ()


def test_items_count_by_their_correlations():
    values = own_items()
    sample = np.sort(np.linalg.eigvalsh(np.corrcoef(values.T)))[::-1]
    expected = correlation_eigenvalues(read_items(values))
    assert expected.sum() == pytest.approx(sample.sum())
    assert np.sum(1 / expected) == pytest.approx((150 - 4 - 2) / (150 - 1) * np.sum(1 / sample))
    found = plan(items=values, noise=0.2, angle=0.3)
    assert found.n_items == 150
    assert found.solved_for == "n_comparisons"
    np.testing.assert_allclose(found.law.eigenvalues, expected, rtol=1e-8)
    assert (
        found.n_comparisons == plan(items=(values - 7) * 1000, noise=0.2, angle=0.3).n_comparisons
    )


@pytest.mark.parametrize("n", [30, 50, 200])
def test_few_items_do_not_make_the_features_look_collinear(n):
    """Independent features: the correlations of a small sample have small eigenvalues by chance."""
    size = {"noise": 0.2, "n_items": 2000, "n_comparisons": 20_000}
    true = plan(40, **size).angle
    X = np.random.default_rng(n).normal(size=(n, 40))
    assert plan(items=X, **size).angle == pytest.approx(true, rel=0.1)
    if n == 50:
        naive = ErrorLaw(
            np.linalg.eigvalsh(np.corrcoef(X.T)),
            get_link("logit"),
            spread_for_noise(get_link("logit"), 0.2),
        )
        assert naive.predict(2000, 20_000, "mle").angle > 1.5 * true  # the sample's own eigenvalues


def test_frames_and_arrays_give_one_plan():
    values = own_items()
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(values, columns=names).assign(id=[f"item {row}" for row in range(150)])
    found = [
        plan(items=table, noise=0.2, misordered=0.1).n_comparisons
        for table in (values, frame, pl.DataFrame(values, schema=names))
    ]
    assert len(set(found)) == 1


def test_constant_and_repeated_columns_do_not_count():
    values = own_items()
    more = np.column_stack([values, np.full(150, 3.0), values[:, 0] * 2 - values[:, 1] * 1e-3])
    found = plan(items=more, noise=0.2, misordered=0.1)
    assert found.law.n_features == 4
    assert found.n_comparisons == pytest.approx(
        plan(items=values, noise=0.2, misordered=0.1).n_comparisons, rel=0.02
    )


def test_the_number_of_items_is_n_unless_said_otherwise():
    values = own_items()
    assert plan(items=values, noise=0.2, misordered=0.1, n_items=90).n_items == 90
    known = plan(items=values, noise=0.2, n_comparisons=500)
    assert (known.n_items, known.n_comparisons, known.solved_for) == (150, 500, "error")
    fewest = plan(items=values, noise=0.2, misordered=0.1, n_comparisons=2000)
    assert fewest.solved_for == "n_items"
    assert fewest.n_items < 150


@pytest.mark.usefixtures("only_paired")
def test_costs_leave_the_number_of_items_open():
    costs = {"item_cost": 3.0, "comparison_cost": 1.0, "method": "paired"}
    cheapest = plan(items=own_items(), noise=0.2, misordered=0.2, **costs)
    assert cheapest.solved_for == "both"
    assert cheapest.cost == 3 * cheapest.n_items + cheapest.n_comparisons


ITEMS = own_items()
REFUSED = {
    r"angle and misordered are both targets; ask for one of them\.": {
        **LAW,
        "angle": 0.1,
        "misordered": 0.1,
    },
    r"angle is 2; use a number between 0 and pi/2 = 1\.571 radians\.": {**LAW, "angle": 2},
    r"angle is '0\.1'; use a number between": {**LAW, "angle": "0.1"},
    r"misordered is 0\.5; use a number between 0 and 0\.5\.": {**LAW, "misordered": 0.5},
    r"misordered is True; use a number": {**LAW, "misordered": True},
    r"misordered is nan; use a number": {**LAW, "misordered": float("nan")},
    r"norm_error is 0; use a number above 0\.": {**LAW, "norm_error": 0},
    (
        r"a population has its own features, noise and link; leave out noise, or leave out"
        r" population\."
    ): {
        "population": Population(3, rng=0),
        "noise": 0.1,
        "angle": 0.1,
    },
    r"a population has its own .* leave out min_eigenvalue,": {
        "population": Population(3, rng=0),
        "min_eigenvalue": 1.0,
        "angle": 0.1,
    },
    r"a population has its own .* leave out link, or": {
        "population": Population(3, rng=0),
        "link": "logit",
        "angle": 0.1,
    },
    r"population is 4; give a pairscore\.Population\.": {"population": 4, "angle": 0.1},
    (
        r"the noise is missing; give the share of comparisons that contradict the scores"
        r" \(noise, 0\.2 is common\), or give comparisons of a pilot \(pilot\), or give"
        r" population\."
    ): {
        "n_features": 3,
        "angle": 0.1,
    },
    r"noise is 0\.6; use the share of comparisons that contradict the scores, from 0 to 0\.5\.": {
        "n_features": 3,
        "noise": 0.6,
        "angle": 0.1,
    },
    r"noise is 'low'; use the share": {"n_features": 3, "noise": "low", "angle": 0.1},
    r"the items determine the features; leave out min_eigenvalue, or leave out items\.": {
        "min_eigenvalue": 1.0,
        "items": ITEMS,
        "noise": 0.1,
        "angle": 0.1,
    },
    r"the items determine the features; leave out n_features, or leave out items\.": {
        "n_features": 4,
        "items": ITEMS,
        "noise": 0.1,
        "angle": 0.1,
    },
    r"the number of features is missing; give n_features, or give items, or give population\.": {
        "noise": 0.1,
        "angle": 0.1,
    },
    r"n_features is 2\.5; use a whole number from 1\.": {
        "n_features": 2.5,
        "noise": 0.1,
        "angle": 0.1,
    },
    r"n_features is 0; use a whole number from 1\.": {"n_features": 0, "noise": 0.1, "angle": 0.1},
    r"min_eigenvalue is 0; use a number above 0 and at most 1\.": {
        **LAW,
        "min_eigenvalue": 0,
        "angle": 0.1,
    },
    r"min_eigenvalue is 1\.5; use": {**LAW, "min_eigenvalue": 1.5, "angle": 0.1},
    r"link is 'cloglog'; use": {**LAW, "link": "cloglog", "angle": 0.1},
    r"1 item cannot tell how features vary; give at least 2\.": {
        "items": ITEMS[:1],
        "noise": 0.1,
        "angle": 0.1,
    },
    r"no feature of the items varies; give features that differ between items\.": {
        "items": np.ones((9, 2)),
        "noise": 0.1,
        "angle": 0.1,
    },
    r"item_cost and comparison_cost are weighed against each other; give both\.": {
        **LAW,
        "angle": 0.1,
        "item_cost": 2.0,
    },
    r"item_cost is -1; use a number from 0\.": {
        **LAW,
        "angle": 0.1,
        "item_cost": -1,
        "comparison_cost": 1,
    },
    r"comparison_cost is inf; use a number above 0\.": {
        **LAW,
        "angle": 0.1,
        "item_cost": 1,
        "comparison_cost": np.inf,
    },
    r"seconds_per_comparison is 0; use a number above 0\.": {
        **LAW,
        "angle": 0.1,
        "seconds_per_comparison": 0,
    },
    r"n_items is True; use a whole number from 1\.": {**LAW, "angle": 0.1, "n_items": True},
    r"n_comparisons is 10\.0; use a whole number from 1\.": {
        **LAW,
        "angle": 0.1,
        "n_comparisons": 10.0,
    },
    (
        r"there is no target and no number of comparisons; give a target \(such as misordered\), or"
        r" give n_comparisons, or give the time of the experts \(hours\)\."
    ): {
        **LAW,
        "n_items": 100,
    },
    r"n_comparisons and hours both say how many comparisons there are; leave one out\.": {
        **LAW,
        "n_comparisons": 100,
        "hours": 2,
    },
    r"hours is 0\.001, which is less than one comparison takes; use more hours": {
        **LAW,
        "hours": 0.001,
    },
    r"hours is -1; use a number above 0\.": {**LAW, "hours": -1},
    r"experts is 0; use a whole number from 1\.": {**LAW, "experts": 0, "angle": 0.1},
    (
        r"explained is 60; use the share of the scores' variance that the features explain, above 0"
        r" and at most 1\. Did you mean 0\.6\?"
    ): {**LAW, "explained": 60, "angle": 0.1},
    r"explained is 0; use the share": {**LAW, "explained": 0, "angle": 0.1},
    r"explained needs comparisons with some noise; use a noise above 0, or leave it out\.": {
        **LAW | {"noise": 0},
        "explained": 0.5,
        "angle": 0.1,
    },
    r"the pilot's noise already includes what features do not explain; leave out explained": {
        "items": ITEMS,
        "pilot": np.array([[0, 1]]),
        "explained": 0.5,
        "angle": 0.1,
    },
    (
        r"n_items, n_comparisons and a target are all given, so nothing is left to find;"
        r" leave one out\."
    ): {
        **LAW,
        "angle": 0.1,
        "n_items": 100,
        "n_comparisons": 500,
    },
    r"method is 'best'; use 'split', 'pooled', 'paired' or 'mle'\.": {
        **LAW,
        "angle": 0.1,
        "method": "best",
    },
    r"method is \[\]; use": {**LAW, "angle": 0.1, "method": []},
    r"method is ''; use": {**LAW, "angle": 0.1, "method": ""},
    r"n_items is 10, and 'mle' with 12 features needs at least 14; use more items": {
        **LAW,
        "angle": 0.1,
        "n_items": 10,
    },
    r"the population has 2 judges": {
        "population": Population(3, judge_noise=[0.1, 0.2], rng=0),
        "angle": 0.1,
    },
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_question_that_cannot_be_asked_gets_a_sentence(sentence):
    with pytest.raises(PairscoreError, match=sentence):
        plan(**REFUSED[sentence])


def test_a_notebook_shows_the_study_of_every_method():
    study = plan(n_features=5, noise=0.2, misordered=0.1)
    assert isinstance(study, Plan)
    page = study._repr_html_()
    assert f"Plan: {study.n_items:,} items, {study.n_comparisons:,} comparisons" in page
    for name, other in [*study.alternatives.items(), (f"{PER_ITEM} per item", study.rule_of_ten)]:
        cells = (name, f"{other.n_items:,}", f"{other.n_comparisons:,}", f"{other.hours:,.1f}")
        assert "".join(f"<td>{cell}</td>" for cell in cells) in page
    assert "misordered 0.1" in page


def test_a_notebook_shows_why_a_method_has_no_study():
    study = plan(n_features=20, noise=0.0, misordered=0.05, method="paired")
    refusals = [str(one) for one in study.alternatives.values() if isinstance(one, Exception)]
    assert refusals
    page = study._repr_html_()
    assert all(refusal.replace("'", "&#x27;") in page for refusal in refusals)
