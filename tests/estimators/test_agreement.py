"""How a score and the comparisons agree, comparison by comparison."""

import numpy as np
import pytest
from scipy.special import expit

from pairscore.core.decided_scale import decided_scale
from pairscore.core.differences import Differences, DifferenceSums
from pairscore.core.ties import OutcomeLaw
from pairscore.estimators.agreement import agreement_of
from tests.core.test_ties import LAWS
from tests.tie_cells import draw_outcomes


def study(seed=0, number=500, law="at random"):
    rng = np.random.default_rng(seed)
    x = 1.5 * rng.normal(size=number)
    return x, draw_outcomes(rng, x, law), 10.0 ** rng.uniform(-3, 3, number)


@pytest.mark.parametrize("law", LAWS)
def test_shares_are_those_of_a_loop(law):
    x, outcome, amount = study()
    found = agreement_of(Differences(x, outcome, amount), law, 1.0)
    scale = decided_scale(law, x, None, outcome, amount)
    assert found.decided_scale == pytest.approx(scale, rel=1e-12)
    assert abs(scale - 1) > 0.01
    right = decided = 0.0
    for d, y, a in zip(x, outcome, amount, strict=True):
        if y:
            decided += a
            if d * y > 0:
                right += a
    assert found.agreement == pytest.approx(right / decided, rel=1e-12)
    if law.rule.has_parameter:  # all comparisons count, whether they were decided or not
        flipped = OutcomeLaw(law.rule, law.t, scale).share_flipped(np.abs(x), amount)
        assert found.noise == pytest.approx(flipped, rel=1e-12)
    else:
        is_decided = outcome != 0
        chance = law.rule.link.cdf(-scale * np.abs(x))
        wrong = float(np.average(chance[is_decided], weights=amount[is_decided]))
        assert found.noise == pytest.approx(wrong, rel=1e-12)


def test_without_ties_the_scale_is_one_and_noise_the_chance_of_the_other():
    x, outcome, amount = study(law="none")
    found = agreement_of(Differences(x, outcome, amount), LAWS[0], 1.0)
    assert found.decided_scale == 1.0
    assert found.noise == pytest.approx(np.average(expit(-np.abs(x)), weights=amount))


def test_a_scale_that_is_known_is_taken():
    rows = Differences(*study())
    found = agreement_of(rows, LAWS[0], 1.0, scale=2.0)
    assert found.decided_scale == 2.0
    decided = rows.outcome != 0
    chance = expit(-2 * np.abs(rows.x[decided]))
    assert found.noise == pytest.approx(np.average(chance, weights=rows.amount[decided]))


@pytest.mark.parametrize("law", LAWS)
def test_the_unit_of_weights_does_not_matter(law):
    x, outcome, amount = study()
    one = agreement_of(Differences(x, outcome, amount), law, 1.0)
    other = agreement_of(Differences(x, outcome, 1e3 * amount), law, 1e3)
    for name in ("agreement", "noise", "decided_scale"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_a_distribution_agrees_as_its_comparisons_do(law):
    x, outcome, amount = study(1, number=5000)
    sums = DifferenceSums.of_comparisons(x, outcome, amount, float(np.abs(x).max()))
    one = agreement_of(Differences(x, outcome, amount), law, 1.0)
    other = agreement_of(sums.points(), law, 1.0)
    assert other.agreement == pytest.approx(one.agreement, rel=1e-12)
    assert other.noise == pytest.approx(one.noise, rel=1e-8)
    assert other.decided_scale == pytest.approx(one.decided_scale, rel=2e-7)


@pytest.mark.parametrize("law", LAWS)
def test_where_nothing_is_decided_nothing_agrees(law):
    x, _, amount = study()
    found = agreement_of(Differences(x, np.zeros(len(x), dtype=int), amount), law, 1.0)
    assert np.isnan(found.agreement)
    assert found.decided_scale == 1.0
    assert 0 < found.noise < 0.5


def test_items_of_equal_scores_are_not_told_apart():
    found = agreement_of(Differences(np.zeros(4), np.array([1, -1, 0, 1]), np.ones(4)), LAWS[0], 1)
    assert found.agreement == 0.0
    assert found.noise == 0.5
