"""Rounds: sums of a site at a model of merged sums."""

import numpy as np
import pytest

from pairscore import PairscoreError, RankRegression
from pairscore.streaming.merge import merge_rounds, merge_sites
from pairscore.streaming.rounds import SCALES, Point, at_scale, point_of, site_round
from pairscore.streaming.sites import site_sums
from tests.streaming.test_sites import site

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_spline_gives_the_slope_of_a_likelihood_to_nine_digits_and_the_scale_to_ten():
    differences = np.linspace(-12, 12, 50)

    def slope(u):
        return float(np.sum(differences / (1 + np.exp(0.7 * np.exp(u) * differences))))

    values = np.array([slope(u) for u in SCALES])
    for u in np.linspace(SCALES[0], SCALES[-1], 37):
        assert at_scale(values, SCALES, u) == pytest.approx(slope(u), rel=1e-8)
    assert at_scale(values, SCALES, SCALES[3]) == pytest.approx(values[3], rel=1e-14)


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


def sites_with_columns(n_sites, seed):
    """Items of several sites; one item has a column of its own, and a category has two items."""
    rng = np.random.default_rng(seed)
    size = 60
    for number in range(n_sites):
        X = rng.normal(size=(size, 4))
        X[:, 2:] = 0.0
        if number == 0:
            X[5, 2] = 1.0
        if number in (0, n_sites - 1):  # alone at its site, and perhaps not among all
            X[7 + number, 3] = 1.0
        score = X @ [1.0, 0.5, 0.5, -0.5] + 0.8 * rng.normal(size=size)
        left = rng.integers(0, size, 1500)
        right = (left + rng.integers(1, size, 1500)) % size
        won = rng.random(1500) < 1 / (1 + np.exp(score[right] - score[left]))
        names = np.array([f"{number}-{item}" for item in range(size)])
        items = {"id": names} | {name: X[:, k] for k, name in enumerate("abcd")}
        winner = np.where(won, "left", "right")
        yield items, {"left": names[left], "right": names[right], "winner": winner}


@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
@pytest.mark.parametrize(("n_sites", "seed"), [(1, 5), (2, 3), (3, 4)])
def test_an_item_with_a_column_of_its_own_has_the_error_of_one_fit(n_sites, seed, method):
    sites = list(sites_with_columns(n_sites, seed))
    items, votes = (
        {name: np.concatenate([site[kind][name] for site in sites]) for name in sites[0][kind]}
        for kind in (0, 1)
    )
    whole = RankRegression(method).fit(items, votes)
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    for _ in range(7 if method == "mle" else 1):
        model = merge_rounds([site_round(model, *site) for site in sites])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
