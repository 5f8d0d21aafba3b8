"""The likelihood of single comparisons.

Its maximum, and what each comparison adds to its gradient.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from pairscore import Comparisons, RankRegression
from pairscore.core.outcomes import TieRule
from tests.effects.simulators import fitted_comparisons, judged_votes


def columns_of(X, votes, model):
    """Every difference formed, with context and side, and the outcomes."""
    data, outcome = Comparisons.from_frames(X, votes)
    parts = [X[data.left] - X[data.right]] + [votes[name][:, None] for name in model.context or []]
    parts += [np.ones((len(outcome), 1))] if model.side_effect is True else []
    return np.hstack(parts), outcome


@pytest.mark.parametrize(
    "settings",
    [
        {"context": ["rest"]},
        {"context": ["rest"], "side_effect": True, "link": "probit"},
        {"ties": "rao-kupper", "context": ["rest"], "side_effect": True},
        {"ties": "davidson", "side_effect": True},
        {"ties": "rao-kupper", "link": "probit", "l2": 3.0},
    ],
)
def test_the_maximum_is_that_of_a_general_optimiser(settings):
    X, votes = judged_votes(np.random.default_rng(0), tie=0.5)
    model = RankRegression(**settings).fit(X, votes)
    D, outcome = columns_of(X, votes, model)
    rule = TieRule(model.ties, model.link_)

    def loss(params):
        t = params[-1]
        eta = D @ params[:-1]
        probabilities = np.column_stack(rule.probabilities(eta, t))
        if model.ties == "half":
            return -(
                0.5 * (1 + outcome) @ model.link_.log_cdf(eta)
                + 0.5 * (1 - outcome) @ model.link_.log_cdf(-eta)
            )
        penalty = 0.5 * model.l2_ * np.sum((model.feature_sd_ * params[:3]) ** 2)
        return (
            -np.log(
                np.maximum(probabilities[np.arange(len(outcome)), outcome.astype(int) + 1], 1e-300)
            ).sum()
            + penalty
        )

    start = np.append(np.zeros(D.shape[1]), 0.5)
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000})
    expected = best.x if model.ties != "half" else best.x[:-1]
    np.testing.assert_allclose(np.append(model.coef_, model.effects_.values), expected, atol=3e-5)


def test_rao_and_kupper_with_a_side_is_an_ordered_logit():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, votes = judged_votes(np.random.default_rng(1), tie=0.5)
    model = RankRegression(
        ties="rao-kupper", side_effect=True, context=["rest"], inference="model"
    ).fit(X, votes)
    D, outcome = columns_of(X, votes, model)
    witness = OrderedModel(outcome, D[:, :-1], distr="logit").fit(method="bfgs", disp=0, gtol=1e-8)
    low, high = witness.model.transform_threshold_params(witness.params[-2:])[1:3]
    np.testing.assert_allclose(
        np.append(model.coef_, model.effects_.of_kind("context")["rest"]),
        witness.params[:4],
        atol=1e-5,
    )
    assert model.tie_parameter_ == pytest.approx((high - low) / 2, abs=1e-5)
    assert model.side_effect_ == pytest.approx(-(high + low) / 2, abs=1e-5)
    # observed, not expected, information
    np.testing.assert_allclose(
        np.append(model.std_errors_, model.effects_.std_errors[0]), witness.bse[:4], rtol=2e-3
    )


def test_contributions_sum_to_nothing_at_the_maximum_and_come_in_any_rows():
    X, votes = judged_votes(np.random.default_rng(3), tie=0.4, slopes=np.array([0.3, 1.0, 1.7]))
    _, contest, params, look = fitted_comparisons(
        X, votes, context=["rest"], ties="rao-kupper", judge_slopes=True, l2=2.0
    )
    rows = np.arange(len(contest.left))
    whole = contest.contributions(params, look)(rows)
    np.testing.assert_array_equal(contest.contributions(params, look)(rows[7:9]), whole[7:9])
    slope_pull = look.through(slice(None)).T @ ((params.slopes - 1) / contest.slope_spread**2)
    np.testing.assert_allclose(whole.sum(axis=0) + slope_pull, 0, atol=1e-3)


@pytest.mark.parametrize("size", [1e8, 1e12])
@pytest.mark.parametrize("settings", [{}, {"side_effect": True}, {"ties": "davidson"}])
def test_a_context_value_of_1e8_among_ones_does_not_stop_the_climb(size, settings):
    """A comparison that its context explains says nothing more: the fit is that without it."""
    tie = 0.5 if "ties" in settings else None
    X, votes = judged_votes(np.random.default_rng(3), tie=tie, rule="davidson")
    first = int(np.flatnonzero(votes["winner"] == "left")[0])
    votes["rest"][first] = size
    model = RankRegression(context=["rest"], inference="model", **settings).fit(X, votes)
    others = {name: np.delete(column, first) for name, column in votes.items()}
    without = RankRegression(context=["rest"], inference="model", **settings).fit(X, others)
    assert without.effects_.values[0] > 0  # so that the value of 1e8 goes with its outcome
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.effects_.values, without.effects_.values, rtol=1e-6)
    np.testing.assert_allclose(model.effects_.std_errors, without.effects_.std_errors, rtol=1e-4)
    assert not any("not determined" in note or "not maximised" in note for note in model.notes_)
