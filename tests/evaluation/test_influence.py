"""Influence: against R, dense algebra and fits without an item."""

import numpy as np
import pytest
from scipy.special import expit

from pairscore import PairscoreError, PairscoreWarning, RankRegression, influence, residuals
from pairscore.errors import SeparationWarning
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study, some


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
    monkeypatch.setattr("pairscore.evaluation.influence.MOST_WORK", 100)
    with pytest.raises(PairscoreError, match="would take too long, because each met many others"):
        influence(model)
    monkeypatch.setattr("pairscore.effects.ability_information.MOST_ABILITIES", 10)
    for call in (lambda: influence(model), lambda: residuals(model, kind="standardised")):
        with pytest.raises(PairscoreError, match="formed up to 10 items; use residuals"):
            call()


def test_the_influence_of_unbeaten_items_is_refused_by_what_was_asked():
    votes = {"winner": ["a", "a", "b", "c"], "loser": ["b", "c", "c", "b"]}
    with pytest.warns(SeparationWarning):
        model = RankRegression().fit(None, votes)
    with pytest.raises(PairscoreError, match="the influence of items is not known, because the co"):
        influence(model)
    with pytest.raises(PairscoreError, match="no standardised residuals"):
        residuals(model, kind="standardised")
