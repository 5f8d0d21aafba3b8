"""The closed forms against naive twins, the paper's lemma, and the symmetries they must have."""

import numpy as np
import pytest
from scipy.stats import norm

from pairscore import RankRegression
from pairscore.core.sums import (
    Moments,
    Tally,
    difference_scatter,
    feature_range,
    moments,
    aggregate_pairs,
    tally,
)
from pairscore.data.comparisons import Comparisons
from tests.laws import GaussianStudy, limit_factor, mean_slope

METHODS = ["split", "pooled", "paired", "mle"]


def draw(seed=0, n_items=60, n_comparisons=500, n_features=4, item_sd=0.0):
    """Items, the second half never compared; votes with the winner first."""
    return GaussianStudy(n_items, n_comparisons, n_features, item_sd=item_sd).draw(
        np.random.default_rng(seed)
    )


def fit(method, X, votes, **options):
    data, _ = Comparisons.from_frames(X, votes, covariance_items=np.arange(len(X) // 2, len(X)))
    return RankRegression(method, **{"inference": None} | options).fit(data)


def naive_split(X, votes):
    """Eqs. 3-4 as they stand, comparison by comparison."""
    n, d = len(X) // 2, X.shape[1]
    second = X[n:]
    mu = sum(second) / n
    sigma = sum(np.outer(x - mu, x - mu) for x in second) / (n - d - 2)
    return sum(np.linalg.inv(sigma) @ (X[winner] - X[loser]) for winner, loser in votes) / len(
        votes
    )


def naive_pooled(X, votes):
    """Weighted least squares of each item's win rate on its features, doubled."""
    n = len(X)
    k, w = np.zeros(n), np.zeros(n)
    for winner, loser in votes:
        k[winner] += 1
        k[loser] += 1
        w[winner] += 1
        w[loser] -= 1
    seen = k > 0
    design = np.column_stack([np.ones(seen.sum()), X[seen]]) * np.sqrt(k[seen])[:, None]
    return 2 * np.linalg.lstsq(design, w[seen] / np.sqrt(k[seen]), rcond=None)[0][1:]


def naive_paired(X, votes):
    """Least squares of the outcomes on explicit differences, doubled."""
    return 2 * np.linalg.lstsq(X[votes[:, 0]] - X[votes[:, 1]], np.ones(len(votes)), rcond=None)[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("method", "twin"), [("split", naive_split), ("pooled", naive_pooled), ("paired", naive_paired)]
)
def test_equals_its_naive_twin(method, twin, seed):
    X, votes = draw(seed)
    np.testing.assert_allclose(
        fit(method, X, votes).closed_form_coef_, twin(X, votes), rtol=1e-10, atol=1e-10
    )


def test_the_divisor_of_split_is_not_the_usual_one():
    """The rival with N - 1 fails: it is too large by (N-1)/(N-d-2)."""
    X, votes = draw()
    second = X[60:]
    usual = np.linalg.inv(np.cov(second.T)) @ (X[votes[:, 0]] - X[votes[:, 1]]).mean(axis=0)
    np.testing.assert_allclose(
        usual / fit("split", X, votes).closed_form_coef_, (60 - 1) / (60 - 4 - 2), rtol=1e-10
    )


@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
def test_the_mean_over_many_draws_is_c1_beta(method):
    """The paper's lemma, for split exactly.

    The sisters share the limit and are tested at many items.
    """
    study = GaussianStudy(30, 200, 3) if method == "split" else GaussianStudy(1500, 6000, 3)
    q = np.linalg.norm(study.root.T @ study.beta)
    c1 = 4 * mean_slope(np.sqrt(2) * q)
    rng = np.random.default_rng(7)
    draws = np.array(
        [
            fit(method, *study.draw(rng)).closed_form_coef_
            for _ in range(1500 if method == "split" else 150)
        ]
    )
    z = (draws.mean(axis=0) - c1 * study.beta) / (draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))
    assert np.all(np.abs(z) < norm.ppf(1 - 1e-6 / 6)), z
    wrong = (draws.mean(axis=0) - 0.8 * c1 * study.beta) / (
        draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    )
    assert np.abs(wrong).max() > 5  # the test could see a wrong constant


@pytest.mark.parametrize("method", METHODS)
def test_swapping_sides_and_negating_outcomes_changes_nothing(method):
    X, votes = draw()
    data, y = Comparisons.from_frames(X, votes, covariance_items=np.arange(60, 120))
    other = Comparisons(
        data.items, data.right, data.left, -y, covariance_items=data.covariance_items
    )
    one, two = RankRegression(method).fit(data, y), RankRegression(method).fit(other, -y)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-12)
    np.testing.assert_allclose(two.covariance_, one.covariance_, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_a_change_of_coordinates_maps_coefficients_and_covariance(method, link):
    """x -> Bx + c maps beta by the inverse transpose of B, whatever the units."""
    X, votes = draw()
    rng = np.random.default_rng(1)
    B = rng.normal(size=(4, 4)) * np.array([1, 100, 0.01, 5])[:, None]
    here = fit(method, X, votes, inference="items", link=link)
    there = fit(method, X @ B.T + rng.normal(size=4) * 10, votes, inference="items", link=link)
    np.testing.assert_allclose(B.T @ there.coef_, here.coef_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        B.T @ there.covariance_ @ B, here.covariance_, rtol=1e-5, atol=1e-6 * here.covariance_.max()
    )


@pytest.mark.parametrize("method", METHODS)
def test_an_offset_of_a_million_does_not_matter(method):
    """Raw second moments lose the digits that ours keep."""
    X, votes = draw()
    far = X + 1e6
    expected = fit(method, far - 1e6, votes, inference="items")
    found = fit(method, far, votes, inference="items")
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.std_errors_, expected.std_errors_, rtol=1e-6)
    raw = far.T @ far / len(far) - np.outer(far.mean(axis=0), far.mean(axis=0))
    assert np.abs(raw / np.cov(X.T, bias=True) - 1).max() > 1e-5


def test_sums_of_shards_equal_the_whole():
    X, votes = draw(n_comparisons=700)
    left, right, outcome, amount = (
        votes[:, 0],
        votes[:, 1],
        np.ones(700),
        np.random.default_rng(0).uniform(0.5, 2, 700),
    )
    whole = tally(left, right, outcome, amount, len(X))
    parts = Tally.zero(len(X))
    for rows in (slice(0, 10), slice(10, 11), slice(11, 700)):
        parts = parts + tally(left[rows], right[rows], outcome[rows], amount[rows], len(X))
    for name in ("net_wins", "exposures", "n_comparisons"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    all_items = moments(X, whole.exposures + 1)
    items = Moments.zero(4)
    for rows in (slice(0, 1), slice(1, 50), slice(50, 120)):
        items = items + moments(X[rows], whole.exposures[rows] + 1)
    items = items + Moments.zero(4)
    for name in ("total", "mean", "scatter"):
        np.testing.assert_allclose(getattr(items, name), getattr(all_items, name), rtol=1e-12)
    together = aggregate_pairs(left, right, outcome, amount, len(X))
    apart = [
        aggregate_pairs(left[rows], right[rows], outcome[rows], amount[rows], len(X))
        for rows in (slice(0, 300), slice(300, 700))
    ]
    mean = X.mean(axis=0)
    total = sum(difference_scatter(X, mean, pairs, pairs.number) for pairs in apart)
    np.testing.assert_allclose(
        total, difference_scatter(X, mean, together, together.number), rtol=1e-10
    )


@pytest.mark.parametrize("n_rows", [1, 5, 1023, 1024, 1025, 2500])
def test_moments_equal_numpys(n_rows):
    rng = np.random.default_rng(n_rows)
    X, weight = rng.normal(size=(n_rows, 3)) + 100, rng.integers(0, 4, n_rows).astype(float)
    weight[0] = 2.0
    ours = moments(X, weight)
    np.testing.assert_allclose(ours.mean, np.average(X, axis=0, weights=weight), rtol=1e-12)
    np.testing.assert_allclose(
        ours.covariance, np.cov(X.T, bias=True, fweights=weight.astype(int)), rtol=1e-9, atol=1e-12
    )
    seen = X[weight > 0]
    np.testing.assert_array_equal(
        feature_range(X, weight > 0), [seen.min(axis=0), seen.max(axis=0)]
    )


@pytest.mark.parametrize("method", METHODS)
def test_counts_weights_and_repeated_rows_are_the_same(method):
    """Aggregated counts and expanded rows give the same coefficients and the same errors."""
    import pandas as pd

    X, votes = draw(n_comparisons=300)
    repeats = np.random.default_rng(0).integers(1, 5, 300)
    frame = pd.DataFrame({"winner": votes[:, 0], "loser": votes[:, 1]})
    expanded = fit(
        method,
        X,
        frame.loc[np.repeat(np.arange(300), repeats)].reset_index(drop=True),
        inference="items",
    )
    for column in ("count", "weight"):
        other = fit(method, X, frame.assign(**{column: repeats}), inference="items")
        np.testing.assert_allclose(other.coef_, expanded.coef_, rtol=1e-9)
        np.testing.assert_allclose(other.covariance_, expanded.covariance_, rtol=1e-7)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle", "split"])
def test_the_unit_of_the_weights_does_not_matter_to_robust_errors(method):
    """The rival, the classical covariance, takes weights for counts."""
    import pandas as pd

    X, votes = draw(n_comparisons=300)
    frame = pd.DataFrame(
        {
            "winner": votes[:, 0],
            "loser": votes[:, 1],
            "weight": np.random.default_rng(0).uniform(0.5, 2, 300),
        }
    )
    small = frame.assign(weight=frame["weight"] / 1000)
    one, two = fit(method, X, frame, inference="items"), fit(method, X, small, inference="items")
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(two.std_errors_, one.std_errors_, rtol=1e-5)
    classical = (
        fit("mle", X, frame, inference="model").std_errors_
        / fit("mle", X, small, inference="model").std_errors_
    )
    np.testing.assert_allclose(classical, np.sqrt(1 / 1000), rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_tie_is_half_a_win_each_way(method):
    """With item effects, so that the floor of the robust covariance, which knows weights from
    counts, is not at work.
    """
    import pandas as pd

    X, votes = draw(n_comparisons=300, item_sd=3.0)
    pair = {"left": votes[:, 0], "right": votes[:, 1]}
    tie = np.arange(300) % 5 == 0
    ties = pd.DataFrame({**pair, "winner": np.where(tie, "tie", "left")})
    halves = pd.concat(
        [
            pd.DataFrame({**pair, "winner": "left", "weight": np.where(tie, 0.5, 1.0)}),
            pd.DataFrame({**pair, "winner": "right", "weight": np.where(tie, 0.5, 0.0)}),
        ]
    )
    one, two = fit(method, X, ties, inference="items"), fit(method, X, halves, inference="items")
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-9)
    np.testing.assert_allclose(two.covariance_, one.covariance_, rtol=1e-7)


def test_self_pairs_count_in_the_papers_average_only():
    X, votes = draw()
    same = np.column_stack([np.arange(50)] * 2)
    with_same = RankRegression("split", inference=None).fit(
        X, np.vstack([votes, same]), covariance_items=np.arange(60, 120), self_pairs="keep"
    )
    np.testing.assert_allclose(
        with_same.closed_form_coef_, fit("split", X, votes).closed_form_coef_ * 500 / 550, rtol=1e-9
    )
    for method in ("pooled", "paired", "mle"):
        model = RankRegression(method).fit(X, np.vstack([votes, same]), self_pairs="keep")
        np.testing.assert_allclose(model.coef_, fit(method, X, votes).coef_, rtol=1e-8)


def test_shrinkage_moves_from_the_full_covariance_to_the_diagonal():
    X, votes = draw()
    none, some, full = (
        fit("split", X, votes, shrinkage=amount).closed_form_coef_ for amount in (None, 0.5, 1.0)
    )
    second = X[60:]
    diagonal = second.var(axis=0) * 60 / (60 - 4 - 2)
    np.testing.assert_allclose(
        full, (X[votes[:, 0]] - X[votes[:, 1]]).mean(axis=0) / diagonal, rtol=1e-10
    )
    assert not np.allclose(none, some)
    assert not np.allclose(some, full)


@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
@pytest.mark.parametrize("name", ["ledoit-wolf", "oas"])
def test_named_shrinkage_is_scikit_learns_on_standardised_items(method, name):
    from sklearn.covariance import ledoit_wolf_shrinkage, oas

    X, votes = draw()
    if method == "split":
        items = X[60:]
        mean, sd = items.mean(axis=0), items.std(axis=0)
    else:
        k = np.bincount(votes.ravel(), minlength=len(X)).astype(float)
        mean = np.average(X, axis=0, weights=k)
        sd, items = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=k)), X[k > 0]
    standard = (items - mean) / sd
    amount = ledoit_wolf_shrinkage(standard) if name == "ledoit-wolf" else oas(standard)[1]
    assert 0 < amount < 1
    by_name, by_number = (
        fit(method, X, votes, shrinkage=name),
        fit(method, X, votes, shrinkage=float(amount)),
    )
    np.testing.assert_allclose(by_name.coef_, by_number.coef_, rtol=1e-12)


@pytest.mark.parametrize("method", ["pooled", "paired"])
def test_the_ridge_of_a_closed_form_is_one_newton_step_of_the_likelihoods(method):
    """For weak signals the closed form with a ridge and the penalised likelihood agree.

    With none they do not.
    """
    study = GaussianStudy(400, 4000, 3, q=0.15, second_half=False)
    X, votes = study.draw(np.random.default_rng(0))
    mle = RankRegression("mle", l2=300.0, inference=None).fit(X, votes).coef_
    closed = RankRegression(method, l2=300.0, inference=None).fit(X, votes).closed_form_coef_
    plain = RankRegression(method, inference=None).fit(X, votes).closed_form_coef_
    assert np.linalg.norm(closed - mle) < 0.05 * np.linalg.norm(mle)
    assert np.linalg.norm(plain - mle) > 0.2 * np.linalg.norm(mle)


def test_limit_factor_is_one_without_item_effects():
    assert limit_factor(1.5, 0.0) == pytest.approx(1.0)
