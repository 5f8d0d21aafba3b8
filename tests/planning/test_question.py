"""What a plan is asked: your own items, and refusals as sentences."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairscore import PairscoreError, Population, plan
from pairscore.core.links import get_link
from pairscore.data.items import read_items
from pairscore.planning.question import correlation_eigenvalues
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.predicted_error import ErrorLaw
from tests.planning.conftest import LAW, own_items


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
    r"angle= and misordered= are both targets; ask for one of them\.": {
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
        r"a population has its own features, noise and link; leave out n_features=,"
        r" min_eigenvalue=, noise=, explained=, link=, items= and pilot=, or population=\."
    ): {
        "population": Population(3, rng=0),
        "noise": 0.1,
        "angle": 0.1,
    },
    r"a population has its own .* leave out n_features=, min_eigenvalue=,": {
        "population": Population(3, rng=0),
        "min_eigenvalue": 1.0,
        "angle": 0.1,
    },
    r"a population has its own .* noise=, explained=, link=, items": {
        "population": Population(3, rng=0),
        "link": "logit",
        "angle": 0.1,
    },
    r"population is 4; give a pairscore\.Population\.": {"population": 4, "angle": 0.1},
    (
        r"the noise is missing: give the share of labels that contradict the scores"
        r" \(noise=, 0\.2 is common\), comparisons of a pilot \(pilot=\), or population=\."
    ): {
        "n_features": 3,
        "angle": 0.1,
    },
    r"noise is 0\.6; use a share of flipped labels from 0 to 0\.5\.": {
        "n_features": 3,
        "noise": 0.6,
        "angle": 0.1,
    },
    r"noise is 'low'; use a share": {"n_features": 3, "noise": "low", "angle": 0.1},
    r"the items determine the features; leave out n_features= and min_eigenvalue=": {
        "min_eigenvalue": 1.0,
        "items": ITEMS,
        "noise": 0.1,
        "angle": 0.1,
    },
    r"the items determine the features; leave out n_features= and min_eigenvalue=, or items=\.": {
        "n_features": 4,
        "items": ITEMS,
        "noise": 0.1,
        "angle": 0.1,
    },
    r"the number of features is missing; give n_features=, items= or population=\.": {
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
    r"item_cost= and comparison_cost= are weighed against each other; give both\.": {
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
        r"there is no target and no number of comparisons: give a target \(angle=, misordered= or"
        r" norm_error=\), n_comparisons=, or the time of the experts \(hours=\)\."
    ): {
        **LAW,
        "n_items": 100,
    },
    r"n_comparisons= and hours= both say how many comparisons there are; leave one out\.": {
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
    r"explained= needs labels with some noise; use a noise above 0, or leave it out\.": {
        **LAW | {"noise": 0},
        "explained": 0.5,
        "angle": 0.1,
    },
    r"the pilot's noise already includes what features do not explain; leave out explained=": {
        "items": ITEMS,
        "pilot": np.array([[0, 1]]),
        "explained": 0.5,
        "angle": 0.1,
    },
    (
        r"n_items=, n_comparisons= and a target are all given, so nothing is left to find;"
        r" leave one out\."
    ): {
        **LAW,
        "angle": 0.1,
        "n_items": 100,
        "n_comparisons": 500,
    },
    r"method is 'best'; use one of 'split', 'pooled', 'paired', 'mle'\.": {
        **LAW,
        "angle": 0.1,
        "method": "best",
    },
    r"method is \[\]; use one of": {**LAW, "angle": 0.1, "method": []},
    r"method is ''; use one of": {**LAW, "angle": 0.1, "method": ""},
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
