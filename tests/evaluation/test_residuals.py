"""Residuals and influence: against R, statsmodels, dense algebra and fits without an item."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from pairscore import (
    Comparisons,
    PairscoreError,
    PairscoreWarning,
    Population,
    RankRegression,
    influence,
    residuals,
)
from pairscore.errors import SeparationWarning
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study, some

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
        (lambda: residuals(model, kind="raw"), "use one of"),
        (lambda: residuals(model, votes), "from_frames"),
        (lambda: residuals(ridge, kind="standardised"), "ridge keeps"),
        (lambda: influence(RankRegression("pooled").fit(items, votes)), "method='mle'"),
        (lambda: influence(RankRegression(item_effects=True).fit(None, votes)), "item_effects"),
    ):
        with pytest.raises(PairscoreError, match=sentence):
            call()


# -- influence -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"ties": "davidson", "side_effect": True}, {"l2": 2.0}])
def test_influence_is_one_newton_step_from_the_fit_without_the_item(settings):
    items, votes = draw_study(8, n_items=30)
    if "ties" in settings:
        votes.loc[::5, "winner"] = "tie"
    model = RankRegression(**settings).fit(items, votes)
    found = influence(model)
    gaps, sizes = [], []
    for item in range(0, 30, 5):
        rest = votes[(votes["left"] != item) & (votes["right"] != item)]
        again = RankRegression(**settings, inference=None).fit(items, rest)
        gaps.append(model.coef_ - again.coef_ - found.dfbeta[item])
        sizes.append(model.coef_ - again.coef_)
    # a Newton step leaves an error of second order
    assert np.linalg.norm(gaps) < 0.2 * np.linalg.norm(sizes)


def test_one_newton_step_is_dense_algebra():
    items, votes = draw_study(9, n_items=25)
    model = RankRegression().fit(items, votes)
    X = items[list("abcd")].to_numpy()
    D = X[votes["left"]] - X[votes["right"]]
    p = expit(D @ model.coef_)
    y = (votes["winner"] == "left").to_numpy()
    found = influence(model)
    for item in range(25):
        own = ((votes["left"] == item) | (votes["right"] == item)).to_numpy()
        rest = D[~own].T @ (D[~own] * (p * (1 - p))[~own, None])
        step = np.linalg.solve(rest, D[own].T @ (y - p)[own])
        np.testing.assert_allclose(found.dfbeta[item], step, rtol=1e-6, atol=1e-9)
    assert found.dfbetas.shape == (25, 4)
    worst = np.unravel_index(np.argmax(np.abs(found.dfbetas)), (25, 4))[0]
    assert str(found).splitlines()[2].split()[0] == str(worst)
    assert list(found.to_frame().columns) == ["id", "a", "b", "c", "d"]


def test_an_item_without_which_a_coefficient_is_unknown_has_no_influence_to_report():
    items, votes = draw_study(10)
    items["rare"] = (items["id"] == 3) * 1.0
    found = influence(RankRegression().fit(some(items, ["a", "rare"]), votes))
    assert np.isnan(found.dfbeta[3]).all()
    assert np.isfinite(np.delete(found.dfbeta, 3, axis=0)).all()


@pytest.mark.parametrize(
    ("study", "kind"), [("baseball", "plain"), ("baseball", "sided"), ("citations", "plain")]
)
def test_influence_on_abilities_is_one_step_of_r_without_the_item(study, kind):
    """Influence was refused without features."""
    votes = read_study(study)[1]
    model = RankRegression(side_effect=kind == "sided").fit(None, votes)
    found, theirs = influence(model), r_numbers(study, f"influence-{kind}")
    assert len(theirs) == len(found.ids)
    for row, name in enumerate(found.ids):
        total, last = theirs[name.replace(" ", "_")]
        moved = found.dfbeta[row]
        assert np.isnan(moved[row])
        assert np.nansum(np.abs(moved)) == pytest.approx(total, rel=1e-6)
        assert moved[~np.isnan(moved)][-1] == pytest.approx(last, rel=1e-6)


def drawn_abilities(settings, **drawn):
    _, votes = draw_study(12, n_items=12, n_votes=900, side=0.3, **drawn)
    if "ties" in settings:
        votes.loc[::5, "winner"] = "tie"
    return votes, RankRegression(**settings).fit(None, votes)


@pytest.mark.parametrize(
    "settings",
    [{}, {"side_effect": True, "context": ["rest"]}, {"ties": "davidson"}, {"l2": 2.0}],
)
def test_influence_on_abilities_is_about_the_fit_without_the_item(settings):
    votes, model = drawn_abilities(settings)
    found, gaps, sizes = influence(model), [], []
    effects = [] if model.effects_ is None else model.effects_.values
    for item in range(12):
        rest = votes[(votes["left"] != item) & (votes["right"] != item)]
        again = RankRegression(**settings, inference=None).fit(None, rest)
        ability = np.delete(model.item_effects_.effect, item)
        ability = ability if "l2" in settings else ability - ability.mean()
        now = [] if again.effects_ is None else again.effects_.values
        moved = np.append(ability, effects) - np.append(again.item_effects_.effect, now)
        gaps.append(moved - np.delete(found.dfbeta[item], item))
        sizes.append(moved)
    # a Newton step leaves an error of second order
    assert np.linalg.norm(gaps) < 0.1 * np.linalg.norm(sizes)
    assert found.dfbetas.shape == (12, 12 + len(effects))
    assert "ability or effect" in str(found)
    assert found.to_frame().shape == (12, 13 + len(effects))


def test_context_that_is_given_twice_leaves_residuals_and_influence_as_they_are():
    """No comparison tells the two from each other, and their information has no inverse."""
    votes, _ = drawn_abilities({})
    votes["rest"] = np.random.default_rng(0).normal(size=len(votes["left"]))
    votes["twice"] = 2 * votes["rest"]
    plain = RankRegression(context=["rest"]).fit(None, votes)
    with pytest.warns(PairscoreWarning):
        model = RankRegression(context=["rest", "twice"]).fit(None, votes)
    expected, found = (residuals(one, kind="standardised").values for one in (plain, model))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    moved, known = influence(model).dfbeta, influence(plain).dfbeta
    assert np.isfinite(known[:, :12]).sum() == 12 * 11  # what an item does to itself is not known
    np.testing.assert_allclose(moved[:, :12], known[:, :12], atol=1e-6)
    assert np.isnan(moved[:, 12:]).all()


def test_an_item_that_alone_links_two_groups_has_no_influence_to_report():
    rng = np.random.default_rng(0)
    pairs = np.array([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)] * 12)
    winner = np.where(rng.random(len(pairs)) < 0.5, pairs[:, 0], pairs[:, 1])
    votes = {"left": pairs[:, 0], "right": pairs[:, 1], "winner": winner}
    found = influence(RankRegression().fit(None, votes))
    assert np.isnan(found.dfbeta[2]).all()
    assert np.isfinite(found.dfbeta[[0, 1, 3, 4]]).sum() == 4 * 4


def test_abilities_of_too_many_items_are_refused_in_a_sentence(monkeypatch):
    _, model = drawn_abilities({"side_effect": True})
    monkeypatch.setattr("pairscore.evaluation.residuals.MOST_WORK", 100)
    with pytest.raises(PairscoreError, match="would take too long, because each met many others"):
        influence(model)
    monkeypatch.setattr("pairscore.effects.abilities.MOST_ABILITIES", 10)
    for call in (lambda: influence(model), lambda: residuals(model, kind="standardised")):
        with pytest.raises(PairscoreError, match="formed up to 10 items; use residuals"):
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


def test_the_influence_of_unbeaten_items_is_refused_by_what_was_asked():
    votes = {"winner": ["a", "a", "b", "c"], "loser": ["b", "c", "c", "b"]}
    with pytest.warns(SeparationWarning):
        model = RankRegression().fit(None, votes)
    with pytest.raises(PairscoreError, match="the influence of items is not known, because the co"):
        influence(model)
    with pytest.raises(PairscoreError, match="no standardised residuals"):
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
