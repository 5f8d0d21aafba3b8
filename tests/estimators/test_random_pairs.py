"""Do the pairs look random? And what happens to each method when they do not."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, kstest

from pairscore import Comparisons, RankRegression, angle
from pairscore.errors import CollinearFeaturesWarning, PairsNotRandomWarning
from pairscore.estimators.random_pairs import pairing_of_data
from pairscore.estimators.table_data import TableData
from tests.laws import GaussianStudy
from tests.limits import CHANCE


@pytest.mark.parametrize("method", ["pooled", "paired"])
def test_where_no_feature_varies_pairs_cannot_look_otherwise_than_random(method):
    with pytest.warns(CollinearFeaturesWarning):
        model = RankRegression(method, inference="model").fit(
            np.ones((4, 2)), np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 1]])
        )
    assert model.pairing_.looks_random
    assert model.coef_.tolist() == [0.0, 0.0]


def matched_study(seed, n_items=600, n_comparisons=6000):
    """Items meet others that are alike in the first feature; the features are correlated."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3)) @ np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0.5, 1]]).T
    beta = np.array([1.0, 1.0, -0.5])
    order = np.argsort(X[:, 0])
    place = rng.integers(0, n_items - 20, n_comparisons)
    left, right = order[place], order[place + rng.integers(1, 20, n_comparisons)]
    won = rng.random(n_comparisons) < expit((X[left] - X[right]) @ beta)
    return (
        X,
        beta,
        np.where(won[:, None], np.column_stack([left, right]), np.column_stack([right, left])),
    )


def pairing_of(X, votes, method="paired", **columns):
    """The pairing of votes with the winner first."""
    won = np.ones(len(votes), dtype=int)
    data = Comparisons(X, votes[:, 0], votes[:, 1], won, **columns)
    return pairing_of_data(TableData(data, False), method)


@pytest.mark.parametrize("close", [1.0, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_ratios_are_those_of_explicit_products_of_items_that_met(seed, close):
    """Also where two features nearly repeat each other, and with counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) + 5
    X[:, 1] = X[:, 0] + close * X[:, 1]
    left = rng.integers(0, 50, 400)
    right = (left + rng.integers(1, 50, 400)) % 50
    count = rng.integers(1, 4, 400).astype(float)
    found = pairing_of(X, np.column_stack([left, right]), "split", count=count)
    k = np.bincount(left, count, 60) + np.bincount(right, count, 60)
    Z = X - k @ X / k.sum()
    values, vectors = np.linalg.eigh((Z * k[:, None]).T @ Z / k.sum())
    Z = Z @ (vectors / np.sqrt(values))
    half = (count[:, None] * Z[left]).T @ Z[right]
    cross = (half + half.T) / (2 * count.sum())
    ratios = np.linalg.eigvalsh(np.eye(3) - cross)
    digits = 1e-12 / close**2  # that the inverse of a covariance has left
    assert found.narrowest == pytest.approx(ratios[0], rel=digits)
    assert found.widest == pytest.approx(ratios[-1], rel=digits)
    others = np.linalg.eigvalsh(np.cov(Z[k == 0].T, bias=True))
    assert found.reference_narrowest == pytest.approx(others[0], rel=digits)
    assert found.reference_widest == pytest.approx(others[-1], rel=digits)
    assert found.busiest == pytest.approx(k.max() / k[k > 0].mean())


def test_the_p_value_of_random_pairs_is_uniform():
    """Whatever the items look like: heavy tails, skew, 0/1."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(300):
        X = np.column_stack(
            [rng.standard_t(6, 150), rng.exponential(size=150), rng.random(150) < 0.3]
        )
        first = rng.integers(0, 150, 3000)
        votes = np.column_stack([first, (first + rng.integers(1, 150, 3000)) % 150])
        p_values.append(pairing_of(X, votes).p_value)
    assert kstest(p_values, "uniform").pvalue > 1e-4


def test_matched_pairs_are_seen_and_said():
    X, _, votes = matched_study(0)
    pairing = pairing_of(X, votes)
    assert not pairing.looks_random
    assert pairing.narrowest < 0.5
    assert "alike" in pairing.in_words
    for method in ("split", "pooled"):
        with pytest.warns(PairsNotRandomWarning, match="use 'paired' or 'mle'"):
            model = RankRegression(method).fit(np.vstack([X, X]), votes)
        assert "do not look random" in str(model.summary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankRegression("paired").fit(X, votes)
        RankRegression("mle").fit(X, votes)


def test_unlike_pairs_are_seen_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    order = np.argsort(X[:, 0])
    votes = np.column_stack(
        [order[rng.integers(0, 100, 3000)], order[rng.integers(300, 400, 3000)]]
    )
    pairing = pairing_of(X, votes)
    assert pairing.widest > 1.3
    assert "unlike" in pairing.in_words


def test_matched_pairs_turn_the_item_covariance_but_not_the_differences():
    """The reason for the warning: `pooled` points elsewhere, `paired` and `mle` do not."""
    turned = {method: [] for method in ("pooled", "paired", "mle")}
    for seed in range(5):
        X, beta, votes = matched_study(seed)
        for method, angles in turned.items():
            angles.append(angle(RankRegression(method, inference=None).fit(X, votes).coef_, beta))
    mean = {method: np.mean(angles) for method, angles in turned.items()}
    assert mean["pooled"] > 0.3
    assert mean["paired"] < 0.1
    assert mean["mle"] < 0.1


def test_a_different_population_behind_the_covariance_is_said():
    study = GaussianStudy(300, 3000, 3)
    X, votes = study.draw(np.random.default_rng(0))
    X[300:] *= 2.0
    with pytest.warns(PairsNotRandomWarning, match="not spread like"):
        RankRegression("split").fit(X, votes)


def test_a_feature_that_never_differs_within_pairs_is_left_open_by_likelihood():
    """Matched exactly: the item covariance is regular, but no comparison speaks of the feature."""
    from pairscore.errors import CollinearFeaturesWarning

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), np.repeat(np.arange(20.0), 10)])
    first = rng.integers(0, 200, 2000)
    second = first // 10 * 10 + (first % 10 + rng.integers(1, 10, 2000)) % 10
    won = rng.random(2000) < expit(X[first, 0] - X[second, 0])
    votes = np.where(
        won[:, None], np.column_stack([first, second]), np.column_stack([second, first])
    )
    for method in ("mle", "paired"):
        with pytest.warns(CollinearFeaturesWarning, match="x1"):
            model = RankRegression(method).fit(X, votes)
        assert model.coef_[1] == pytest.approx(0, abs=1e-8)
        assert np.isnan(model.std_errors_[1])
        assert abs(model.coef_[0] - 1) < 5 * model.std_errors_[0]


def test_one_population_of_normal_items_is_rarely_called_two():
    """The p-value of the comparison with the items behind the covariance is about uniform.

    The doubled items above are the rival.
    """
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(300):
        X, votes = GaussianStudy(150, 1500, 3).draw(rng)
        second = {"covariance_items": np.arange(150, 300)}
        p_values.append(pairing_of(X, votes, "split", **second).reference_p_value)
    share = np.mean(np.array(p_values) < 0.05)
    assert share < 0.08 + 4 * np.sqrt(0.08 * 0.92 / 300), share
    assert np.median(p_values) > 0.3


def test_pairs_that_look_random_say_what_would_have_been_seen():
    """Partners with a correlation of so much in one direction are seen 8 times out of 10."""
    rng, m, n_studies = np.random.default_rng(0), 400, 120
    votes, seen = np.arange(2 * m).reshape(2, m).T, 0
    for _ in range(n_studies):
        X = rng.normal(size=(2 * m, 3))
        random = pairing_of(X, votes)
        c = random.smallest_seen
        X[m:, 0] = c * X[:m, 0] + np.sqrt(1 - c**2) * X[m:, 0]
        seen += not pairing_of(X, votes).partners_random
    assert 0.1 < c < 0.5
    assert f"were off by {100 * c:.0f} % or more" in random.in_words
    low, high = binom.ppf(CHANCE, n_studies, 0.7), binom.isf(CHANCE, n_studies, 0.9)
    assert low <= seen <= high


def test_with_few_comparisons_nothing_could_have_been_seen():
    rng = np.random.default_rng(0)
    pairing = pairing_of(rng.normal(size=(30, 8)), rng.permutation(30).reshape(15, 2))
    assert pairing.looks_random
    assert "too few comparisons to detect a deviation" in pairing.in_words
