"""``item_effects="auto"``: whether items differ beyond their features is tested, and said."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairscore import Comparisons, OnItems, PairscoreError, RankRegression, compare, load
from pairscore.effects.item_effects import ItemEffectsTest
from pairscore.errors import PairscoreWarning
from tests.effects.simulators import draw, full_votes

AUTO = RankRegression(item_effects="auto")


def votes_of(X, data):
    winner = np.where(data.outcome > 0, "left", "right")
    return X, {"left": data.left, "right": data.right, "winner": winner}


def study(seed=0, sd=1.0, n_items=100, n_comparisons=600):
    X, _, _, data = draw(np.random.default_rng([7, seed]), n_items, n_comparisons, sd=sd)
    return votes_of(X, data)


def assert_same(model, other):
    for name in ("coef_", "covariance_", "side_effect_", "agreement_", "noise_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))


@pytest.mark.parametrize("settings", [{}, {"side_effect": True}, {"l2": 3.0}, {"link": "probit"}])
def test_nobody_has_to_choose_item_effects(settings):
    auto = RankRegression(item_effects="auto", **settings).fit(*study())
    assert auto.item_effects_test_.used
    assert_same(auto, RankRegression(item_effects=True, **settings).fit(*study()))
    assert "used, because items differ beyond their features (p < 0.0001)" in str(auto.summary())
    assert "standard deviation" in auto.result_.item_effects_in_words
    fits = {seed: clone(auto).fit(*study(seed, sd=0.0)) for seed in range(4)}
    seed, none = next(one for one in fits.items() if not one[1].item_effects_test_.used)
    assert_same(none, RankRegression(**settings).fit(*study(seed, sd=0.0)))
    assert none.item_effects_ is None
    assert "no sign that items differ beyond their features (p = 0." in str(none.summary())
    assert "would have been detected 8 times out of 10" in str(none.summary())


def test_pairs_that_share_no_item_are_fitted_plainly_and_it_is_said():
    X = np.random.default_rng(0).normal(size=(120, 2))
    pairs = np.arange(120).reshape(60, 2)
    model = clone(AUTO).fit(X, pairs)
    assert_same(model, RankRegression().fit(X, pairs))
    said = "not used, because no item met two opponents; item effects could not have been detected"
    assert said in str(model.summary())
    np.testing.assert_equal(model.summary().to_record()["item_effects_test"]["p_value"], None)


def test_few_comparisons_are_said_to_be_few():
    X, votes = study(3, sd=0.0, n_items=40, n_comparisons=30)
    with pytest.warns(PairscoreWarning):
        model = clone(AUTO).fit(X, votes)
    assert "comparisons are too few to detect any but large ones" in str(model.summary())


def test_a_matrix_of_differences_has_no_items_to_tell():
    X = np.random.default_rng(1).normal(size=(200, 2))
    y = np.where(np.random.default_rng(2).random(200) < 0.5, 1, -1)
    model = clone(AUTO).fit(X, y)
    assert_same(model, RankRegression().fit(X, y))
    assert "does not say who was compared" in model.item_effects_test_.in_words


@pytest.mark.parametrize("sd", [0.0, 1.5])
def test_judges_context_sides_and_ties_go_with_it(sd):
    X, votes, _ = full_votes(2, "rao-kupper", n=60, m=900, sigma=sd)
    settings = {"context": ["rest"], "side_effect": True, "ties": "rao-kupper"}
    settings |= {"judge_slopes": True}
    auto = RankRegression(item_effects="auto", **settings).fit(X, votes)
    chosen = auto.item_effects_test_.used
    assert chosen == (auto.item_effects_ is not None)
    assert chosen or sd == 0
    assert_same(auto, RankRegression(item_effects=bool(chosen), **settings).fit(X, votes))


def test_the_choice_is_kept_made_again_and_left_to_each_copy(tmp_path):
    X, votes = study(n_comparisons=900)
    half = {name: column[:450] for name, column in votes.items()}
    rest = {name: column[450:] for name, column in votes.items()}
    model = clone(AUTO).fit(X, half)
    model.save(tmp_path / "m.npz", data=True)
    loaded = load(tmp_path / "m.npz")
    assert loaded.item_effects == "auto" == clone(loaded).item_effects
    assert loaded.item_effects_test_ == model.item_effects_test_
    assert str(loaded.summary()) == str(model.summary())
    whole = clone(AUTO).fit(X, votes)
    p = loaded.update(rest).item_effects_test_.p_value
    assert p == pytest.approx(whole.item_effects_test_.p_value, rel=1e-3)


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_searches_pipelines_and_comparisons_of_models_take_it():
    X, votes = study(n_items=60, n_comparisons=2000)
    data, y = Comparisons.from_frames(X, votes)
    grid = {"item_effects": [False, "auto"]}
    search = GridSearchCV(RankRegression(inference=None), grid, cv=3).fit(data, y)
    assert set(search.cv_results_["param_item_effects"]) == {False, "auto"}
    scaled = make_pipeline(OnItems(StandardScaler()), clone(AUTO)).fit(data, y)
    assert scaled[-1].item_effects_test_.used
    found = compare({"auto": clone(AUTO), "plain": RankRegression()}, X, votes, cv=3)
    assert found.best(kind="train-train", measure="log_loss") == "auto"


def test_other_words_and_closed_forms_are_refused():
    with pytest.raises(PairscoreError, match="use True, False or 'auto'"):
        RankRegression(item_effects="yes").fit(*study())
    with pytest.raises(PairscoreError, match="item_effects='auto' adds effects of items"):
        RankRegression("paired", item_effects="auto").fit(*study())


def test_no_infinite_size_is_said_to_be_seen():
    test = ItemEffectsTest(p_value=0.4, smallest_seen=np.inf, wins_of_100=100.0)
    said = "not used, because comparisons are too few to detect any but large ones (p = 0.4)"
    assert test.in_words == said


def test_effects_of_which_the_estimate_is_zero_are_not_used():
    """Next to judges' slopes the test at a fit without effects may see what the fit with them does
    not: then the model has none, and says so once.
    """
    rng = np.random.default_rng(655)
    n, m = int(rng.integers(12, 60)), 110
    rng.integers(2, 10)
    X = rng.normal(size=(n, 2))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    judge = rng.integers(0, 3, m)
    score = X @ [1, -1] + 0.3 * rng.normal(size=n)
    p = 1 / (1 + np.exp(-np.array([2.0, 1.0, 0.0])[judge] * (score[left] - score[right])))
    outcome = np.where(rng.random(m) < p, 1, -1)
    data = Comparisons(X, left, right, outcome, judge=judge)
    with pytest.warns(PairscoreWarning):
        model = RankRegression(item_effects="auto", judge_slopes=True).fit(data)
    with pytest.warns(PairscoreWarning):
        plain = RankRegression(judge_slopes=True).fit(data)
    assert model.item_effects_test_.p_value < 0.05
    assert model.item_effects_ is None
    assert not model.item_effects_test_.used
    assert "not used, because their estimated size is zero" in str(model.summary())
    assert "none seen" not in str(model.summary())
    assert_same(model, plain)
