"""The closed forms against naive twins, the paper's lemma and symmetries; and their scale."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from pairscore import RankRegression
from pairscore.core.differences import Differences
from pairscore.core.links import Logit, Probit
from pairscore.core.scale import fit_scale, initial_factor
from pairscore.data.comparisons import Comparisons
from pairscore.errors import NotConvergedWarning, PairscoreWarning, SeparationWarning
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
def test_the_unit_of_the_weights_does_not_matter_to_errors(method):
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
    for kind in ("items", "model"):
        one, two = (fit(method, X, votes, inference=kind) for votes in (frame, small))
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-9)
        np.testing.assert_allclose(two.std_errors_, one.std_errors_, rtol=1e-9)


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


def calibration_gaps(model, study, rng, n_new=3000, n_comparisons=100_000):
    """Per tenth of the predicted probability.

    Observed win share of new pairs of new items, minus predicted.
    """
    X = rng.normal(size=(n_new, study.n_features)) @ study.root.T
    left = rng.integers(0, n_new, n_comparisons)
    right = (left + rng.integers(1, n_new, n_comparisons)) % n_new
    won = rng.random(n_comparisons) < expit((X[left] - X[right]) @ study.beta)
    predicted = expit((X[left] - X[right]) @ model.coef_)
    tenth = np.minimum((predicted * 10).astype(int), 9)
    return np.array([np.mean(won[tenth == t]) - np.mean(predicted[tenth == t]) for t in range(10)])


def test_the_length_of_a_closed_form_alone_is_no_scale():
    """The rival that inverts c1(q) q is far off at d = 100, because noise lengthens the closed
    form.
    """
    study = GaussianStudy(500, 5000, 100)
    rng = np.random.default_rng(0)
    X, votes = study.draw(rng)
    model = RankRegression("split", inference=None).fit(
        X, votes, covariance_items=np.arange(500, 1000)
    )
    assert np.abs(calibration_gaps(model, study, rng)).max() < 0.05
    b = model.closed_form_coef_
    model.coef_ = b * initial_factor(np.linalg.norm(study.root.T @ b), 0.25)
    assert np.abs(calibration_gaps(model, study, rng)).max() > 0.1


def test_the_initial_factor_inverts_the_normal_links_length():
    """c1(q) q = 4 q phi(0) / sqrt(1 + 2 q^2) for probit."""
    for q in (0.01, 0.5, 2.0):
        length = 4 * q / np.sqrt(2 * np.pi) / np.sqrt(1 + 2 * q * q)
        assert initial_factor(length, 1 / np.sqrt(2 * np.pi)) * length == pytest.approx(
            q, rel=1e-10
        )


@pytest.mark.parametrize("link", [Logit(), Probit()])
@pytest.mark.parametrize("side", [False, True])
def test_the_scale_maximises_its_likelihood(link, side):
    rng = np.random.default_rng(0)
    x = rng.normal(size=30_000)
    outcome = np.where(rng.random(len(x)) < link.cdf(0.7 * x + 0.2 * side), 1, -1)
    outcome[::7] = 0
    amount = rng.uniform(0.5, 2, len(x))
    scale = fit_scale(Differences(x, outcome, amount), link, 1.0, side)
    win, lose = (
        amount * (outcome == 1) + amount * (outcome == 0) / 2,
        amount * (outcome == -1) + amount * (outcome == 0) / 2,
    )

    def loss(at):
        return -float(win @ link.log_cdf(at) + lose @ link.log_cdf(-at))

    best = loss(scale.factor * x + scale.side_effect)
    for factor, effect in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
        if side or effect == 0:
            assert loss((scale.factor + factor) * x + scale.side_effect + effect) > best
    score, _ = link.score(scale.factor * x + scale.side_effect, win, lose)
    assert abs(score @ x) < 1e-6 * len(x)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side", [False, True])
def test_balanced_outcomes_and_ties_give_zero_with_an_error(method, side):
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(80, 2))
    first = np.repeat(np.arange(40), 5)
    second = (first + np.tile([1, 3, 7, 11, 19], 40)) % 40
    ties = pd.DataFrame({"left": first, "right": second, "winner": "tie"})
    won = pd.DataFrame({"left": first, "right": second, "winner": "left"})
    for votes in (ties, pd.concat([won, won.assign(winner="right")])):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*item-robust.*|every comparison is a tie.*")
            warnings.filterwarnings("error", category=RuntimeWarning)
            warnings.filterwarnings("error", category=SeparationWarning)
            model = RankRegression(method, side_effect=side).fit(X, votes)
        assert np.abs(model.coef_).max() < 1e-8
        # where every comparison is a tie, nothing tells how decided ones would end
        assert np.all(np.isfinite(model.std_errors_) == (votes is not ties))


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
@pytest.mark.parametrize("l2", [30.0, 1000.0])
def test_errors_of_a_ridge_fit_are_the_spread_of_ridge_fits(method, l2):
    study = GaussianStudy(150, 1000, 3, second_half=False)
    rng = np.random.default_rng(0)
    fits = [RankRegression(method, l2=l2).fit(*study.draw(rng)) for _ in range(200)]
    spread = np.std([model.coef_ for model in fits], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([model.std_errors_**2 for model in fits], axis=0))
    assert np.all(np.abs(np.log(claimed / spread)) < 0.25 + 4 / np.sqrt(2 * 199)), claimed / spread


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("n_items", "n_comparisons", "n_features"), [(400, 4000, 8), (2500, 25_000, 100)]
)
def test_probabilities_for_new_items_are_calibrated(method, n_items, n_comparisons, n_features):
    """In every tenth, within two points plus Monte-Carlo error, over several studies."""
    study = GaussianStudy(n_items, n_comparisons, n_features)
    gaps = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, votes = study.draw(rng)
        data, _ = Comparisons.from_frames(
            X, votes, covariance_items=np.arange(n_items, 2 * n_items)
        )
        model = RankRegression(method, inference=None).fit(data)
        gaps.append(calibration_gaps(model, study, rng))
    gaps = np.array(gaps)
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    assert np.all(np.abs(gaps.mean(axis=0)) < 0.02 + 4 * error), gaps.mean(axis=0)


@pytest.mark.parametrize("alike", [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 6e-5, 1e-5, 1e-6])
@pytest.mark.parametrize("n_features", [1, 5])
def test_paired_is_right_for_pairs_of_items_that_are_alike(n_features, alike):
    """Their scatter is a small difference of large sums."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(400, n_features)), 2, axis=0)
    X[1::2] += alike * rng.normal(size=(400, n_features))
    left = rng.integers(0, 800, 4000)
    D = X[left] - X[left ^ 1]
    outcome = np.where(rng.random(4000) < expit(D @ np.ones(n_features) / alike), 1, -1)
    model = RankRegression("paired", inference=None).fit(Comparisons(X, left, left ^ 1, outcome))
    exact = 2 * np.linalg.lstsq(D, outcome, rcond=None)[0]
    digits = 1e-13 / min(alike, 1e-1) ** 2  # that a scatter in double precision has left
    off = np.abs(model.closed_form_coef_ - exact).max() / np.abs(exact).max()
    assert off < max(digits, 1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
def test_agreement_and_noise_are_those_of_the_scores_that_a_model_gives(method, seed):
    """Also where the guard is far from one."""
    X, votes = draw(seed, 300, 6000 if seed % 2 else 600, 4)
    model = fit(method, X, votes)
    lead = model.decision_function(X[votes[:, 0]]) - model.decision_function(X[votes[:, 1]])
    assert model.agreement_ == np.mean(lead > 0)
    assert model.noise_ == pytest.approx(np.mean(expit(-np.abs(lead))), rel=1e-9)


@pytest.mark.parametrize("method", ["pooled", "paired"])
@pytest.mark.parametrize("link", [Logit(), Probit()], ids=["logit", "probit"])
def test_a_scale_that_is_best_at_zero_is_found_with_the_side_effect_there(method, link):
    """Beside a side effect, the comparisons may contradict the closed form along itself."""
    found = 0
    for seed in range(15, 45):
        rng = np.random.default_rng(seed)
        ids, x = np.array([f"i{k}" for k in range(8)]), rng.normal(size=8).round(1)
        left = rng.integers(0, 8, 12)
        right = (left + rng.integers(1, 8, 12)) % 8
        won = rng.choice([-1, 1], 12)
        winner = np.where(won > 0, "left", "right")
        votes = {"left": ids[left], "right": ids[right], "winner": winner}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PairscoreWarning)
            warnings.simplefilter("error", NotConvergedWarning)
            settings = {"side_effect": True, "inference": None, "link": link}
            model = RankRegression(method, **settings).fit({"id": ids, "x": x}, votes)
        along = model.coef_[0] * (x[left] - x[right])
        if np.abs(along).max() < 1e-6:
            found += 1
            share = np.mean(won > 0)
            assert link.cdf(np.array([model.side_effect_]))[0] == pytest.approx(share, abs=1e-6)
    assert found >= 2
