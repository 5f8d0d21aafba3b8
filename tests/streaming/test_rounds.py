"""Rounds: sums of a site at a model of merged sums."""

import numpy as np
import pytest

from pairscore import PairscoreError, RankRegression
from pairscore.streaming.merge import merge_sites
from pairscore.streaming.rounds import Point, lagrange, nodes, point_of, site_round
from pairscore.streaming.sites import site_sums
from tests.streaming.test_sites import site

pytestmark = pytest.mark.filterwarnings("ignore")


def test_nodes_interpolate_the_slope_of_a_likelihood_to_ten_digits():
    at, differences = nodes(0.7, 24), np.linspace(-12, 12, 50)

    def slope(u):
        return float(np.sum(differences / (1 + np.exp(np.exp(u) * differences))))

    values = np.array([slope(u) for u in at])
    for u in np.linspace(at[0], at[-1], 37):
        assert lagrange(at, u) @ values == pytest.approx(slope(u), rel=1e-8)
    assert lagrange(at, at[3]) @ values == values[3]


def test_a_point_survives_a_file_with_all_its_digits():
    model = merge_sites([site_sums(*site(1))], method="mle")
    point = point_of(model)
    again = Point.of_record(point.to_record())
    assert again.digest == point.digest
    np.testing.assert_array_equal(again.total.compared.scatter, point.total.compared.scatter)
    assert again.theta == point.theta


def test_rounds_are_refused_at_other_models_and_with_other_data():
    one, other = site(1), site(2)
    model = merge_sites([site_sums(*one)])
    with pytest.raises(PairscoreError, match="not among those of the model"):
        site_round(model, *other)
    with pytest.raises(PairscoreError, match="not made by merging"):
        site_round(RankRegression().fit(*one), *one)
    second = merge_sites([site_sums(*one)], method="paired")
    with pytest.raises(PairscoreError, match="different models"):
        site_round(model, *one) + site_round(second, *one)
