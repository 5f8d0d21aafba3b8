"""Residuals: against R, statsmodels and dense algebra."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from pairscore import (
    Comparisons,
    PairscoreError,
    Population,
    RankRegression,
    influence,
    residuals,
)
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study

KINDS = ("response", "pearson", "deviance", "standardised")


@pytest.mark.parametrize(
    ("study", "side"), [("baseball", True), ("citations", False), ("heaviness", True)]
)
def test_residuals_are_those_of_r(study, side):
    items, votes = read_study(study)
    model = RankRegression(inference="model", side_effect=side).fit(items, votes)
    for kind, (total, largest) in r_numbers(study, "residuals").items():
        found = residuals(model, kind=kind).values
        assert votes["count"] @ np.abs(found) == pytest.approx(total, rel=1e-7)
        assert found.max() == pytest.approx(largest, rel=1e-7)


def test_residuals_with_features_side_and_context_are_those_of_statsmodels():
    items, votes = draw_study(1, side=0.3)
    model = RankRegression(side_effect=True, context=["rest"]).fit(items, votes)
    X = items[list("abcd")].to_numpy()
    columns = [X[votes["left"]] - X[votes["right"]], votes["rest"], np.ones(len(votes))]
    won = (votes["winner"] == "left") * 1.0
    theirs = sm.GLM(won, np.column_stack(columns), family=sm.families.Binomial()).fit(tol=1e-13)
    leverage = theirs.get_influence().hat_matrix_diag
    expected = {
        "response": theirs.resid_response,
        "pearson": theirs.resid_pearson,
        "deviance": theirs.resid_deviance,
        "standardised": theirs.resid_pearson / np.sqrt(1 - leverage),
    }
    for kind in KINDS:
        np.testing.assert_allclose(residuals(model, kind=kind).values, expected[kind], atol=1e-7)


def dense_bradley_terry(votes, n):
    left, right = votes["left"].to_numpy(), votes["right"].to_numpy()
    D = np.zeros((len(left), n))
    D[np.arange(len(left)), left] += 1
    D[np.arange(len(left)), right] -= 1
    y, theta = (votes["winner"] == "left").to_numpy() * 1.0, np.zeros(n)
    for _ in range(50):
        p = expit(D @ theta)
        inverse = np.linalg.pinv(D.T @ (D * (p * (1 - p))[:, None]), hermitian=True)
        theta += inverse @ (D.T @ (y - p))
    leverage = p * (1 - p) * np.sum((D @ inverse) * D, axis=1)
    return (y - p) / np.sqrt(p * (1 - p) * (1 - leverage))


def test_standardised_residuals_of_abilities_are_dense_algebra():
    _, votes = draw_study(2, n_items=10)
    found = residuals(RankRegression().fit(None, votes), kind="standardised")
    np.testing.assert_allclose(found.values, dense_bradley_terry(votes, 10), atol=1e-6)
    # with a parameter for each item, every item wins as often as is expected of it
    np.testing.assert_allclose(found.by_item["z"], 0, atol=1e-5)


@pytest.mark.parametrize(
    ("study", "kind"), [("baseball", "plain"), ("baseball", "sided"), ("citations", "plain")]
)
def test_standardised_residuals_of_abilities_are_those_of_r(study, kind):
    """Next to a side effect they were refused."""
    votes = read_study(study)[1]
    model = RankRegression(side_effect=kind == "sided").fit(None, votes)
    found = residuals(model, kind="standardised").values
    total, largest = r_numbers(study, f"abilities-{kind}")["standardised"]
    assert votes["count"] @ np.abs(found) == pytest.approx(total, rel=1e-7)
    assert found.max() == pytest.approx(largest, rel=1e-7)


def design_of_abilities(votes, n, columns=()):
    D = np.zeros((len(votes), n))
    D[np.arange(len(votes)), votes["left"]] += 1
    D[np.arange(len(votes)), votes["right"]] -= 1
    return np.column_stack([D, *columns])


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_standardised_residuals_of_abilities_with_side_context_and_ties(ties):
    """J H^-1 J' / V with all derivatives by differences, H by a pseudo-inverse."""
    _, votes = draw_study(11, n_items=8, side=0.3)
    votes.loc[::4, "winner"] = "tie"
    model = RankRegression(ties=ties, side_effect=True, context=["rest"]).fit(None, votes)
    names = list(model.effects_.names)
    beside = {"rest": votes["rest"], "left": np.ones(len(votes))}
    D = design_of_abilities(votes, 8, [beside[name] for name in names[:-1]])
    theta = np.concatenate([model.item_effects_.effect, model.effects_.values])
    y = votes["winner"].map({"left": 1.0, "tie": 0.5, "right": 0.0}).to_numpy()
    law, step = model.outcome_law.rule, 1e-4

    def outcomes(at):
        loss, tie, win = law.probabilities(D @ at[:-1], at[-1])
        return win + tie / 2, np.log(np.where(y == 1, win, np.where(y == 0, loss, tie)))

    axes = step * np.eye(len(theta))
    J = np.array([(outcomes(theta + e)[0] - outcomes(theta - e)[0]) / (2 * step) for e in axes]).T
    value = lambda at: outcomes(at)[1].sum()  # noqa: E731
    signs = ((1, -1), (-1, 1), (1, 1), (-1, -1))
    H = [
        [sum(-a * b * value(theta + a * e + b * f) for a, b in signs) / (4 * step**2) for f in axes]
        for e in axes
    ]
    _, tie, win = law.probabilities(D @ theta[:-1], theta[-1])
    mean = win + tie / 2
    variance = win + tie / 4 - mean**2
    left_over = variance - np.sum((J @ np.linalg.pinv(H, rcond=1e-7, hermitian=True)) * J, axis=1)
    found = residuals(model, kind="standardised").values
    np.testing.assert_allclose(found, (y - mean) / np.sqrt(left_over), rtol=1e-4)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_residuals_with_ties_as_outcomes_have_the_variance_of_the_model(ties):
    """Standardised ones by J H^-1 J' with derivatives by differences, for a few comparisons."""
    items, votes = draw_study(3)
    votes.loc[::4, "winner"] = "tie"
    model = RankRegression(ties=ties, side_effect=True, inference="model").fit(items, votes)
    theta = np.concatenate([model.coef_, model.effects_.values])
    X = items[list("abcd")].to_numpy()
    D = np.column_stack([X[votes["left"]] - X[votes["right"]], np.ones(len(votes))])
    law, step = model.outcome_law.rule, 1e-5

    def mean(at):
        _, tie, win = law.probabilities(D @ at[:-1], at[-1])
        return win + tie / 2

    J = np.array([(mean(theta + e) - mean(theta - e)) / (2 * step) for e in step * np.eye(6)]).T
    V = np.zeros((6, 6))
    V[:4, :4], V[:, 4:] = model.covariance_, model.effects_covariance_
    V[4:, :4] = V[:4, 4:].T
    _, tie, win = law.probabilities(D @ theta[:-1], theta[-1])
    variance = win + tie / 4 - mean(theta) ** 2
    y = votes["winner"].map({"left": 1.0, "tie": 0.5, "right": 0.0}).to_numpy()
    left_over = variance - np.sum((J @ V) * J, axis=1)
    found = residuals(model, kind="standardised").values
    np.testing.assert_allclose(found, (y - mean(theta)) / np.sqrt(left_over), rtol=1e-4)
    deviance = residuals(model, kind="deviance").values
    assert np.sum(deviance**2) == pytest.approx(model.deviance_, rel=1e-9)


def test_squared_deviance_residuals_add_up_to_the_deviance():
    items, votes = read_study("baseball")
    model = RankRegression().fit(items, votes)
    found = residuals(model, kind="deviance").values
    assert votes["count"] @ found**2 == pytest.approx(model.deviance_, rel=1e-12)


def test_items_that_win_more_than_their_features_say_stand_out():
    items, votes = draw_study(4, n_votes=1500)
    votes.loc[votes["left"] == 7, "winner"] = "left"
    votes.loc[votes["right"] == 7, "winner"] = "right"
    model = RankRegression().fit(items, votes)
    found = residuals(model)
    table = found.to_frame().set_index("id")
    assert table["z"].abs().idxmax() == 7
    assert str(found).splitlines()[2].split()[0] == "7"
    p = model.predict_proba(model.comparisons_)[:, 1]
    won = votes["winner"] == "left"
    rows, others = votes["left"] == 7, votes["right"] == 7
    expected = p[rows].sum() + (1 - p[others]).sum()
    variance = (p * (1 - p))[rows | others].sum()
    wins = won[rows].sum() + (~won[others]).sum()
    row = table.loc[7]
    assert (row["wins"], row["expected"]) == pytest.approx((wins, expected))
    assert row["z"] == pytest.approx((wins - expected) / np.sqrt(variance))
    assert json.loads(json.dumps(found.to_record()))["items"][7]["id"] == 7


def test_other_comparisons_have_residuals_too():
    items, votes = draw_study(5)
    model = RankRegression().fit(items, votes[:300])
    others, _ = Comparisons.from_frames(items, votes[300:])
    found = residuals(model, others, "pearson").values
    p = model.predict_proba(others)[:, 1]
    y = (votes["winner"][300:] == "left").to_numpy()
    np.testing.assert_allclose(found, (y - p) / np.sqrt(p * (1 - p)))
    with pytest.raises(PairscoreError, match="leave data out"):
        residuals(model, others, "standardised")


def test_ties_that_the_fit_left_out_have_no_residual():
    items, votes = draw_study(6)
    votes.loc[:20, "winner"] = "tie"
    model = RankRegression(ties="drop").fit(items, votes)
    assert len(residuals(model).values) == len(votes) - 21
    all_of_them, _ = Comparisons.from_frames(items, votes)
    for kind in KINDS[:3]:
        assert np.all(residuals(model, all_of_them, kind).values[:21] == 0)


def test_what_has_no_residuals_is_refused_in_a_sentence():
    items, votes = draw_study(7)
    model = RankRegression().fit(items, votes)
    ridge = RankRegression(l2=1.0).fit(items, votes)
    for call, sentence in (
        (lambda: residuals(model, kind="raw"), "use 'response', "),
        (lambda: residuals(model, votes), "from_frames"),
        (lambda: residuals(ridge, kind="standardised"), "ridge keeps"),
        (lambda: influence(RankRegression("pooled").fit(items, votes)), "method='mle'"),
        (lambda: influence(RankRegression(item_effects=True).fit(None, votes)), "item_effects"),
    ):
        with pytest.raises(PairscoreError, match=sentence):
            call()


def test_residuals_of_abilities_show_comparisons_and_not_items_that_are_zero_by_construction():
    """They showed items that stand out most, with z +0.00 for all."""
    _, votes = draw_study(6)
    found = residuals(RankRegression(side_effect=True).fit(None, votes))
    assert np.max(np.abs(found.by_item["z"])) < 1e-4
    head, names, first, *others = str(found).splitlines()
    assert head.endswith("comparisons that stand out most:")
    assert names.split() == ["row", "left", "right", "outcome", "residual"]
    most = int(np.argmax(np.abs(found.values)))
    assert first.split()[0] == str(most)
    assert first.endswith(f"{found.values[most]:+.2f}")
    assert len(others) == 9
    ridge = residuals(RankRegression(l2=1.0).fit(None, votes))
    assert "items that stand out most" in str(ridge)


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"l2": 0.16}, "the ridge keeps"), ({"item_effects": True}, "item effects are averaged over")],
)
def test_held_or_shrunk_abilities_are_refused_by_what_was_asked(settings, why):
    _, votes = draw_study(6)
    model = RankRegression(**settings).fit(None, votes)
    with pytest.raises(PairscoreError, match=f"no standardised residuals .*because {why}"):
        residuals(model, kind="standardised")


def test_residuals_of_something_else_are_refused_in_a_sentence():
    for ask in (residuals, influence):
        with pytest.raises(PairscoreError, match="takes a fitted RankRegression, and this is str"):
            ask("m")


def test_residuals_and_influence_are_tables_in_a_notebook():
    items, votes = Population(n_features=2, rng=0).draw(60, 400, rng=1, second_half=False)
    model = RankRegression().fit(items, votes)
    for result, heads in (
        (residuals(model), ("comparisons", "expected")),
        (influence(model), ("coefficient", "moved by")),
    ):
        page, text = result._repr_html_(), str(result)
        assert all(f"<th>{head}</th>" in page for head in heads)
        assert page.count("<tr>") == 11
        assert f"<h4>{text.splitlines()[0][:-1]}</h4>" in page
        first = text.splitlines()[2].split()[0]
        assert f"<td>{first}</td>" in page
