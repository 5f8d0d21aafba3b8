"""The likelihood of single comparisons.

Its maximum, and what each comparison adds to its gradient.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from pairscore import Comparisons, RankRegression
from pairscore.core.ties import TieRule
from tests.effects.rows import draw_rows
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
    X, votes = judged_votes(np.random.default_rng(3), tie=0.4)
    _, _, post = fitted_comparisons(X, votes, context=["rest"], ties="rao-kupper", l2=2.0)
    add, rows = post.rows.contributions(post.derivatives, post.theta), np.arange(1500)
    whole = add(rows)
    np.testing.assert_array_equal(add(rows[7:9]), whole[7:9])
    np.testing.assert_allclose(whole.sum(axis=0), 0, atol=1e-3)


@pytest.mark.parametrize("rule", ["half", "davidson", "rao-kupper"])
def test_gradient_and_information_are_derivatives_of_the_loss(rule):
    rng = np.random.default_rng(4)
    rows, _ = draw_rows(rng, 12, 80, rule=rule, side=True, context=rng.normal(size=(80, 1)))
    rows = replace(rows, slopes=np.array([0.7]), ridge=0.3 * np.eye(len(rows.ridge)))
    theta = rows.start(np.array([0.5, -0.2])) + 0.1
    steps = 1e-5 * np.eye(len(theta))

    def gradient(at):
        return rows.gradient(rows.derivatives(at), at)

    def loss(at):
        return rows.loss(rows.derivatives(at), at)

    slopes = [(loss(theta + step) - loss(theta - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient(theta), slopes, rtol=1e-5, atol=1e-5)
    bends = [(gradient(theta + step) - gradient(theta - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(
        rows.information(rows.derivatives(theta)), bends, rtol=1e-4, atol=1e-4
    )
    # items as further features: their part of the information is that of the borders
    wide = replace(
        rows,
        X=np.hstack([rows.X, np.eye(12)]),
        mean=np.append(rows.mean, np.zeros(12)),
        ridge=np.zeros((len(theta) + 12,) * 2),
    )
    longer = np.insert(theta, 2, np.zeros(12))
    found = wide.information(wide.derivatives(longer))[2:14]
    np.testing.assert_allclose(
        rows.item_borders(rows.derivatives(theta)), np.delete(found, np.s_[2:14], axis=1), atol=1e-9
    )


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


def test_half_ties_count_for_as_much_more_as_they_vary_less_than_coins():
    """As seen: beside item effects, half wins left known items too unsure (slope 1.12)."""
    rows, theta = draw_rows(np.random.default_rng(3), 20, 200, 2)
    tied = replace(rows, outcome=np.where(np.arange(len(rows.left)) % 4 == 0, 0.0, rows.outcome))
    p = rows.rule.link.cdf(rows.predictor(theta))
    share = 1 - rows.amount @ (tied.outcome == 0) / 4 / (rows.amount @ (p * (1 - p)))
    np.testing.assert_allclose(tied.with_sure_ties(theta).amount, rows.amount / share)
    assert rows.with_sure_ties(theta) is rows
