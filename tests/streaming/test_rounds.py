"""Rounds: sums of a site at a model of merged sums."""

import numpy as np
import pytest

from pairscore import PairscoreError, RankRegression
from pairscore.streaming.data import StreamData
from pairscore.streaming.merge import merge_rounds, merge_sites
from pairscore.streaming.rounds import SCALES, Point, at_scale, point_of, save_round, site_round
from pairscore.streaming.sites import read_sums, site_sums
from tests.streaming.test_sites import site, together

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


@pytest.mark.parametrize("method", ["pooled", "split", "paired", "mle"])
def test_a_round_goes_through_comparisons_once_along_the_score_and_once_by_pairs(
    method, monkeypatch
):
    stages = []
    for name in ("run", "sum_pairs"):
        usual = getattr(StreamData, name)

        def counted(self, *given, usual=usual, name=name):
            stages.append(name)
            return usual(self, *given)

        monkeypatch.setattr(StreamData, name, counted)
    model = merge_sites([site_sums(*site(1))], method=method)
    stages.clear()
    site_round(model, *site(1))
    assert sorted(stages) == ["run", "sum_pairs"]


@pytest.mark.parametrize("method", ["pooled", "mle"])
def test_the_file_of_a_round_is_as_large_for_any_number_of_comparisons(method, tmp_path):
    """The distribution of differences stays at the site."""
    shapes = []
    for m in (200, 2000):
        one = site(1, m=m)
        model = merge_sites([site_sums(*one)], method=method)
        save_round(site_round(model, *one), tmp_path / "round.npz")
        shapes.append({name: of.shape for name, of in read_sums(tmp_path / "round.npz")[2].items()})
    assert shapes[0] == shapes[1]
    assert max(shape[0] for shape in shapes[0].values() if shape) == len(SCALES)


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


def strong_sites(strength, ties, n_sites=2):
    """Sites whose score is strong, or which know mostly ties."""
    for number in range(n_sites):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(60, 2))
        left = rng.integers(0, 40, 900)
        right = (left + rng.integers(1, 40, 900)) % 40
        ahead = strength * (X[left] - X[right]) @ [1.0, -0.5]
        won = rng.random(900) < 1 / (1 + np.exp(-np.clip(ahead, -500, 500)))
        winner = np.where(rng.random(900) < ties, "tie", np.where(won, "left", "right"))
        names = np.array([f"{number}-{item}" for item in range(60)])
        items = {"id": names, "a": X[:, 0], "b": X[:, 1]}
        yield items, {"left": names[left], "right": names[right], "winner": winner}


def all_of(sites):
    return tuple(
        {name: np.concatenate([site[kind][name] for site in sites]) for name in sites[0][kind]}
        for kind in (0, 1)
    )


@pytest.mark.parametrize("method", ["pooled", "split", "paired"])
def test_a_scale_far_from_the_first_guess_takes_another_round(method):
    sites = list(strong_sites(15.0, 0.0))
    whole = RankRegression(method).fit(*all_of(sites))
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    model = merge_rounds([site_round(model, *site) for site in sites])
    assert model.std_errors_ is None
    assert "RoundNeededWarning" in model.note_kinds_
    for _ in range(2):  # once it is there, it stays
        model = merge_rounds([site_round(model, *site) for site in sites])
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
        np.testing.assert_allclose(model.noise_, whole.noise_, rtol=1e-6)
        assert "RoundNeededWarning" not in model.note_kinds_


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_comparisons_that_mostly_tied_have_the_scale_of_decided_ones(method):
    sites = list(strong_sites(1.0, 0.7))
    whole = RankRegression(method).fit(*all_of(sites))
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    for _ in range(5 if method == "mle" else 1):
        model = merge_rounds([site_round(model, *site) for site in sites])
    assert whole.decided_scale_ > 3
    for name in ("agreement_", "noise_", "decided_scale_"):
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-6)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_sites_that_only_know_ties_have_a_score_of_nothing(method):
    sites = list(strong_sites(1.0, 1.1))
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    model = merge_rounds([site_round(model, *site) for site in sites])
    whole = RankRegression(method).fit(*all_of(sites))
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])
    np.testing.assert_array_equal(model.std_errors_, whole.std_errors_)
    assert np.isnan(model.agreement_)
    assert model.noise_ == whole.noise_ == 0.5


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_comparisons_that_the_score_explains_have_no_intervals(method):
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    left = rng.integers(0, 40, 300)
    right = (left + rng.integers(1, 40, 300)) % 40
    votes = {"left": left, "right": right, "winner": np.where(x[left] > x[right], "left", "right")}
    items = {"id": np.arange(40), "x": x}
    model = merge_sites([site_sums(items, votes)], method=method)
    model = merge_rounds([site_round(model, items, votes)])
    assert model.std_errors_ is None
    assert "SeparationWarning" in model.note_kinds_
    held = merge_sites([site_sums(items, votes)], method=method, l2=1.0)
    for _ in range(9 if method == "mle" else 3):
        held = merge_rounds([site_round(held, items, votes)])
    whole = RankRegression(method, l2=1.0).fit(items, votes)
    np.testing.assert_allclose(held.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(held.std_errors_, whole.std_errors_, rtol=1e-5)


@pytest.mark.parametrize("unit", [1e3, 1e-3])
def test_the_unit_of_weights_does_not_matter_at_sites(unit):
    sites = [site(seed) for seed in (1, 2)]
    scaled = []
    for items, votes in sites:
        column = votes.column_names.index("weight")
        weight = unit * votes["weight"].to_numpy()
        scaled.append((items, votes.set_column(column, "weight", [weight])))
    whole = RankRegression("pooled", l2=2.0).fit(*together(sites))
    model = merge_sites([site_sums(*one) for one in scaled], l2=2.0)
    model = merge_rounds([site_round(model, *one) for one in scaled])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
    np.testing.assert_allclose(model.decided_scale_, whole.decided_scale_, rtol=1e-6)


def test_likelihood_in_rounds_reaches_features_that_hardly_differ_within_pairs():
    """A coefficient of hundreds of standard deviations is no long step, if no score moves far."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2))
    X[1::2, 0] = X[::2, 0] + 1e-3 * rng.normal(size=30)
    left = rng.integers(0, 60, 900)
    right = left ^ 1
    won = rng.random(900) < 1 / (1 + np.exp((X[right] - X[left]) @ [300.0, 1.0]))
    items = {"id": np.arange(60), "a": X[:, 0], "b": X[:, 1]}
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    whole = RankRegression(tol=1e-15).fit(items, votes)
    assert whole.coef_[0] > 100
    model = merge_sites([site_sums(items, votes)], method="mle")
    for _ in range(6):
        model = merge_rounds([site_round(model, items, votes)])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
