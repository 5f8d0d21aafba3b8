"""Optimum likelihood against results that others computed.

Published fits in R, scikit-learn, statsmodels.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

from pairscore import RankRegression

DATA = Path(__file__).parents[2] / "examples" / "data"

# R, maximum likelihood, logit: estimate and model-based standard error; "side" is the home or order
# effect
PUBLISHED = {
    "citations": {
        "CommStatist": (-2.9490725, 0.10254534),
        "JASA": (-0.4795698, 0.06058873),
        "JRSSB": (0.2689541, 0.07082997),
    },
    "baseball": {
        "Boston": (1.1438027, 0.3378422),
        "Cleveland": (0.7046945, 0.3350014),
        "Detroit": (1.4753572, 0.3445518),
        "Milwaukee": (1.6195550, 0.3473653),
        "New York": (1.2813404, 0.3404034),
        "Toronto": (1.3271104, 0.3403222),
        "side": (0.3022607, 0.1309436),
    },
    "heaviness": {"mass": (0.1726443, 0.0100445), "side": (-0.2901403, 0.0863118)},
}


def read(name):
    return pd.read_csv(DATA / name / "items.csv"), pd.read_csv(DATA / name / "votes.csv")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_estimates_and_standard_errors_to_six_digits(name):
    known = PUBLISHED[name]
    model = RankRegression(inference="model", side_effect="side" in known).fit(*read(name))
    ours = {
        feature: (coef, error)
        for feature, coef, error in zip(
            model.feature_names_in_, model.coef_, model.std_errors_, strict=True
        )
    }
    if "side" in known:
        ours["side"] = (model.side_effect_, model.side_effect_std_error_)
    for feature, (coef, error) in known.items():
        # one unit of the last digit that R printed
        assert ours[feature][0] == pytest.approx(coef, rel=0, abs=1e-7), feature
        # R takes the weights of its last step but one: its errors differ from the exact ones by
        # about 1e-6
        assert ours[feature][1] == pytest.approx(error, rel=2e-6, abs=6e-8), feature


def test_published_residual_deviance_of_citations():
    items, votes = read("citations")
    model = RankRegression(inference="model").fit(items, votes)
    table = votes.pivot_table(
        index=["left", "right"], columns="winner", values="count", aggfunc="sum"
    )
    score = pd.Series(model.decision_function(items), index=items["id"])
    total = table.sum(axis=1)
    expected = total / (
        1
        + np.exp(
            -(
                score[table.index.get_level_values(0)].to_numpy()
                - score[table.index.get_level_values(1)].to_numpy()
            )
        )
    )
    deviance = (
        2
        * (
            table["left"] * np.log(table["left"] / expected)
            + table["right"] * np.log(table["right"] / (total - expected))
        ).sum()
    )
    assert deviance == pytest.approx(4.293, abs=5e-4)


def test_the_home_effect_matters():
    """The rival without it gives other numbers."""
    model = RankRegression(inference="model").fit(*read("baseball"))
    assert abs(model.coef_[0] - PUBLISHED["baseball"]["Boston"][0]) > 1e-3


class Random:
    """Random items and votes, with explicit differences for the others."""

    def __init__(self, seed, n_items=60, n_comparisons=900, n_features=4):
        rng = np.random.default_rng(seed)
        self.items = rng.normal(size=(n_items, n_features)) * [1, 10, 0.1, 3] + [0, 100, -1, 5]
        beta = np.array([0.5, -0.08, 4.0, 0.0])
        left = rng.integers(0, n_items, n_comparisons)
        right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
        gap = (self.items[left] - self.items[right]) @ beta + 0.3
        outcome = np.where(rng.random(n_comparisons) < 1 / (1 + np.exp(-gap)), "left", "right")
        outcome[rng.random(n_comparisons) < 0.15] = "tie"
        self.votes = pd.DataFrame(
            {
                "left": left,
                "right": right,
                "winner": outcome,
                "weight": rng.uniform(0.2, 3, n_comparisons),
                "count": rng.integers(1, 4, n_comparisons),
            }
        )
        self.differences = self.items[left] - self.items[right]
        self.share = np.where(outcome == "tie", 0.5, outcome == "left")
        self.amount = (self.votes["weight"] * self.votes["count"]).to_numpy()

    def expanded(self):
        """Differences, outcome, weight: a tie is two rows of half weight."""
        y = np.repeat([1, 0], len(self.share))
        return (
            np.vstack([self.differences] * 2),
            y,
            np.concatenate([self.amount * self.share, self.amount * (1 - self.share)]),
        )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", [False, True])
def test_scikit_learn_on_explicit_differences(seed, side):
    data = Random(seed)
    X, y, weight = data.expanded()
    X = np.column_stack([X, np.ones(len(X))]) if side else X
    unit = X.std(axis=0) + (X.std(axis=0) == 0)
    other = LogisticRegression(
        C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
    ).fit(X / unit, y, sample_weight=weight)
    model = RankRegression(side_effect=side).fit(data.items, data.votes)
    ours = np.append(model.coef_, model.side_effect_) if side else model.coef_
    np.testing.assert_allclose(
        ours, other.coef_[0] / unit, rtol=1e-6, atol=1e-6 * np.abs(1 / unit).max()
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("ties", ["half", "drop"])
def test_statsmodels_on_explicit_differences(seed, side, link, ties):
    """Errors too, but that statsmodels takes half wins for coins; a tie takes a quarter off.

    Its weights are counts, so that it gets ours in their unit, sum c w^2 / sum c w.
    """
    data = Random(seed)
    X = np.column_stack([data.differences, np.ones(len(data.share))]) if side else data.differences
    family = sm.families.Binomial(
        sm.families.links.Logit() if link == "logit" else sm.families.links.Probit()
    )
    tied = data.share == 0.5
    rows = slice(None) if ties == "half" else ~tied
    unit = np.average(data.votes["weight"][rows], weights=data.amount[rows])
    amount = data.amount / unit
    glm = sm.GLM(data.share[rows], X[rows], family=family, freq_weights=amount[rows])
    other = glm.fit(tol=1e-14, maxiter=200)
    model = RankRegression(link=link, side_effect=side, inference="model", ties=ties).fit(
        data.items, data.votes
    )
    ours = np.append(model.coef_, model.side_effect_) if side else model.coef_
    errors = (
        np.append(model.std_errors_, model.side_effect_std_error_) if side else model.std_errors_
    )
    np.testing.assert_allclose(ours, other.params, rtol=1e-6, atol=1e-7)
    covariance = other.cov_params()
    if ties == "half":
        p = other.fittedvalues[tied]
        slope = family.link.inverse_deriv(family.link(p)) / (p * (1 - p))
        taken = (X[tied] * (amount[tied] * slope**2 / 4)[:, None]).T @ X[tied]
        covariance = covariance - covariance @ taken @ covariance
        assert np.all(errors < 0.98 * other.bse)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance)), rtol=1e-6)


def test_the_papers_erf_link_is_probit_with_another_scale():
    """The paper prints (1 + erf(x))/2, a normal distribution function of variance 1/2.

    Ours is Phi(x).
    """
    from scipy.special import erf

    data = Random(0)
    probit = RankRegression(link="probit", inference=None).fit(data.items, data.votes)
    papers = RankRegression(
        link=(lambda x: 0.5 + 0.5 * erf(x), lambda x: np.exp(-x * x) / np.sqrt(np.pi)),
        inference=None,
    ).fit(data.items, data.votes)
    np.testing.assert_allclose(papers.coef_ * np.sqrt(2), probit.coef_, rtol=1e-6)


@pytest.mark.parametrize("l2", [0.3, 10.0])
def test_the_ridge_is_scikit_learns_on_standardised_features(l2):
    data = Random(1)
    X, y, weight = data.expanded()
    exposures = np.bincount(data.votes["left"], data.amount, 60) + np.bincount(
        data.votes["right"], data.amount, 60
    )
    mean = exposures @ data.items / exposures.sum()
    unit = np.sqrt(exposures @ (data.items - mean) ** 2 / exposures.sum())
    other = LogisticRegression(
        C=1 / l2, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
    ).fit(X / unit, y, sample_weight=weight / np.average(data.votes["weight"], weights=data.amount))
    model = RankRegression(l2=l2).fit(data.items, data.votes)
    np.testing.assert_allclose(model.coef_ * unit, other.coef_[0], rtol=1e-6, atol=1e-7)


def test_probit_errors_do_not_depend_on_units_or_redundant_columns():
    """The observed information is judged in coordinates that know neither."""
    data = Random(0)
    plain = RankRegression(link="probit").fit(data.items, data.votes)
    unit = np.array([1e-12, 1.0, 1e12, 1e3])
    np.testing.assert_allclose(
        RankRegression(link="probit").fit(data.items * unit, data.votes).std_errors_ * unit,
        plain.std_errors_,
        rtol=1e-6,
    )
    with pytest.warns(UserWarning, match="combination of others"):
        redundant = RankRegression(link="probit").fit(
            np.column_stack([data.items, data.items[:, 0]]), data.votes
        )
    np.testing.assert_allclose(redundant.std_errors_[1:4], plain.std_errors_[1:], rtol=1e-6)
