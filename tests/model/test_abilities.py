"""Bradley and Terry's model: comparisons alone, an ability for every item."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from pairscore import Comparisons, PairscoreError, PairscoreWarning, RankRegression, load
from pairscore.errors import FewItemsWarning, SeparationWarning
from tests import forged
from tests.model.peers import peers_numbers, peers_votes


def draw_votes(seed=0, n=25, m=1500, side=0.0, tie=-np.inf, length=0.0):
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    context = rng.normal(size=m)
    eta = ability[left] - ability[right] + side + length * context
    odds = np.exp(np.column_stack([eta / 2, np.full(m, tie), -eta / 2]))
    below = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    outcome = 1 - np.sum(rng.random(m)[:, None] > below[:, :2], axis=1)
    ids = np.array([f"item {number:02}" for number in range(n)])
    words = np.array(["right", "tie", "left"])
    votes = {"left": ids[left], "right": ids[right], "winner": words[outcome + 1]}
    return votes | {"length": context}, (left, right, outcome, context)


def dense_fit(columns, outcome, n, ridge=0.0):
    """The naive twin: 0/1 columns of the items, Newton's method, a pseudo-inverse."""
    theta = np.zeros(columns.shape[1])
    penalty = np.diag([ridge] * n + [0.0] * (len(theta) - n))
    for _ in range(60):
        p = expit(columns @ theta)
        H = columns.T @ (columns * (p * (1 - p))[:, None]) + penalty
        gradient = columns.T @ ((outcome + 1) / 2 - p) - penalty @ theta
        theta = theta + np.linalg.pinv(H, hermitian=True) @ gradient
    return theta, np.linalg.pinv(H, hermitian=True)


def item_columns(left, right, n):
    columns = np.zeros((len(left), n))
    columns[np.arange(len(left)), left] += 1
    columns[np.arange(len(left)), right] -= 1
    return columns


def test_comparisons_alone_give_an_ability_with_its_error_for_every_item():
    votes, (left, right, outcome, _) = draw_votes()
    model = RankRegression().fit(None, votes)
    theta, V = dense_fit(item_columns(left, right, 25), outcome, 25)
    effects = model.item_effects_
    np.testing.assert_allclose(effects.effect, theta - theta.mean(), atol=1e-9)
    np.testing.assert_allclose(effects.std_error**2, np.diag(V), rtol=1e-9)
    assert model.inference_ == "model"
    ranking = model.rank()
    assert ranking["id"][0] == f"item {np.argmax(theta):02}"
    assert abs(ranking["score"].mean()) < 1e-9
    first, second = (int(name.split()[1]) for name in ranking["id"][:2])
    apart = model.difference(str(ranking["id"][0]), str(ranking["id"][1]))
    error = np.sqrt(V[first, first] + V[second, second] - 2 * V[first, second])
    assert apart.high - apart.low == pytest.approx(2 * 1.959963984540054 * error, rel=1e-9)
    assert apart.probability == pytest.approx(expit(theta[first] - theta[second]), rel=1e-9)


@pytest.mark.parametrize(
    ("study", "ties", "programs"),
    [
        ("plain", "half", "arena-rank BradleyTerry2 choix evalica scikit-learn statsmodels"),
        ("ties", "half", "arena-rank BradleyTerry2 evalica scikit-learn statsmodels"),
        ("ties", "davidson", "evalica-newman psychotools"),
        ("context", "half", "arena-rank BradleyTerry2 scikit-learn statsmodels"),
        ("large", "half", "arena-rank"),  # 200 items, 200 000 votes
    ],
)
def test_abilities_and_style_coefficients_are_those_of_other_programs(study, ties, programs):
    votes, known = peers_votes(study), peers_numbers(study)
    context = [name for name in votes if name.startswith("c")] or None
    model = RankRegression(ties=ties, context=context, inference=None).fit(None, votes)
    for program in programs.split():
        found = known[program]
        close = {
            "rtol": 0,
            "atol": 1e-5 if program == "scikit-learn" else 1e-6,
        }  # lbfgs stops early
        np.testing.assert_allclose(model.item_effects_.effect, found["abilities"], **close)
        assert ("coef" in found) == bool(context)
        if context:
            np.testing.assert_allclose(model.effects_.values, found["coef"], **close)
        if "tie" in found:
            np.testing.assert_allclose(model.tie_parameter_, found["tie"], **close)


def test_abilities_are_those_of_zermelos_iteration():
    """p_i = wins_i / sum over comparisons of 1 / (p_i + p_j), the oldest algorithm (1929)."""
    _, (left, right, outcome, _) = draw_votes(seed=1)
    winner, loser = np.where(outcome > 0, (left, right), (right, left))
    model = RankRegression(inference=None).fit(None, np.column_stack([winner, loser]))
    strength, wins = np.ones(25), np.bincount(winner, minlength=25)
    for _ in range(3000):
        share = 1 / (strength[left] + strength[right])
        total = np.bincount(left, share, 25) + np.bincount(right, share, 25)
        strength = wins / total
    scores = np.log(strength) - np.log(strength).mean()
    np.testing.assert_allclose(model.item_effects_.effect, scores, atol=1e-8)


def test_side_and_context_stand_beside_abilities():
    votes, (left, right, outcome, length) = draw_votes(seed=2, side=0.4, length=0.5)
    model = RankRegression(side_effect=True, context=["length"]).fit(None, votes)
    columns = np.column_stack([item_columns(left, right, 25), length, np.ones(len(left))])
    theta, V = dense_fit(columns, outcome, 25)
    np.testing.assert_allclose(model.effects_.values, theta[25:], atol=1e-7)
    np.testing.assert_allclose(model.effects_.std_errors**2, np.diag(V)[25:], rtol=1e-6)
    np.testing.assert_allclose(
        model.item_effects_.effect, theta[:25] - theta[:25].mean(), atol=1e-7
    )
    np.testing.assert_allclose(model.item_effects_.std_error**2, np.diag(V)[:25], rtol=1e-6)
    apart = model.difference("item 03", "item 07")
    error = np.sqrt(V[3, 3] + V[7, 7] - 2 * V[3, 7])
    assert apart.high - apart.low == pytest.approx(2 * 1.959963984540054 * error, rel=1e-6)


def test_davidsons_ties_stand_beside_abilities():
    votes, (left, right, outcome, _) = draw_votes(seed=3, tie=-0.3)
    model = RankRegression(ties="davidson").fit(None, votes)

    def loss(theta):
        eta = theta[left] - theta[right]
        terms = np.stack([eta / 2, np.full(len(eta), theta[25]), -eta / 2])
        return np.sum(np.logaddexp.reduce(terms, axis=0) - terms[1 - outcome, np.arange(len(eta))])

    start = np.append(model.item_effects_.effect + 0.1, model.tie_parameter_ - 0.1)
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-5}).x
    abilities = found[:25] - found[:25].mean()
    np.testing.assert_allclose(model.item_effects_.effect, abilities, atol=1e-4)
    assert loss(np.append(model.item_effects_.effect, model.tie_parameter_)) <= loss(found) + 1e-9


def test_a_ridge_and_an_estimated_variance_shrink_abilities():
    votes, (left, right, outcome, _) = draw_votes(seed=4, m=150)
    free = RankRegression(l2=1e-9).fit(None, votes).item_effects_.effect
    ridge = RankRegression(l2=2.0).fit(None, votes)
    theta, V = dense_fit(item_columns(left, right, 25), outcome, 25, ridge=2.0)
    np.testing.assert_allclose(ridge.item_effects_.effect, theta, atol=1e-9)
    centred = np.diag(V) - 1 / (25 * 2.0)
    np.testing.assert_allclose(ridge.item_effects_.std_error**2, centred, rtol=1e-9)
    shrunk = RankRegression(item_effects=True).fit(None, votes)
    assert 0.2 < shrunk.item_effects_.sigma2 < 5
    assert np.std(shrunk.item_effects_.effect) < np.std(free)
    assert shrunk.rank()["id"].shape == (25,)


@pytest.mark.parametrize("l2", [0.16, 1e-8])
def test_a_ridge_leaves_errors_those_of_centred_abilities(l2):
    """Not of uncentred ones, whose mean a ridge alone knows: with 1e-8 these were 2000 and more."""
    votes, (left, right, outcome, _) = draw_votes()
    model = RankRegression(l2=l2).fit(None, votes)
    _, V = dense_fit(item_columns(left, right, 25), outcome, 25, ridge=l2)
    centre = np.eye(25) - 1 / 25
    np.testing.assert_allclose(
        model.item_effects_.std_error**2, np.diag(centre @ V @ centre), rtol=1e-6
    )
    apart = model.difference("item 03", "item 17").std_error
    assert apart**2 == pytest.approx(V[3, 3] + V[17, 17] - 2 * V[3, 17], rel=1e-5)


def test_an_unbeaten_item_is_named_and_held():
    votes = {"winner": ["a", "a", "b", "c"], "loser": ["b", "c", "c", "b"]}
    with pytest.warns(SeparationWarning, match=r"every comparison with the others \('a'\)"):
        model = RankRegression().fit(None, votes)
    assert model.l2_ == 0
    assert model.rank()["id"][0] == "a"
    assert np.isfinite(model.rank()["score"]).all()


def test_groups_that_never_met_are_named():
    votes = {"winner": ["a", "b", "c", "d"], "loser": ["b", "a", "d", "c"]}
    with pytest.raises(PairscoreError, match=r"2 groups that were never compared .*'a'.*'c'"):
        RankRegression().fit(None, votes)


def test_groups_that_never_met_are_named_where_a_ridge_holds_them():
    votes = {"winner": ["a", "b", "c", "d"], "loser": ["b", "a", "d", "c"]}
    with pytest.warns(SeparationWarning, match=r"2 groups .*'a'.*'c'.* only the ridge") as caught:
        model = RankRegression(l2=0.01).fit(None, votes)
    assert len(caught) == 1
    assert "only the ridge" in str(model.summary())
    # a pair met twice: L has 1/2 at both, so V of the difference is 1 / (1 + l2 / 2) within
    assert model.difference("a", "b").std_error ** 2 == pytest.approx(2 / (2 * 0.5 + 0.01))
    assert model.difference("a", "c").std_error ** 2 == pytest.approx(1 / 0.01 + 1 / 1.01)


def test_seven_teams_are_shrunk_and_not_set_to_zero():
    """Fewer than ten items had an ability of zero each, with an error of zero and rank 1."""
    votes, _ = draw_votes(seed=3, n=7, m=300)
    with pytest.warns(FewItemsWarning, match="roughly known from so few items, standard dev"):
        shrunk = RankRegression(item_effects=True).fit(None, votes)
    plain = RankRegression().fit(None, votes)
    effects, free = shrunk.item_effects_, plain.item_effects_
    assert effects.sigma2 > 0
    assert np.all(effects.std_error > 0)
    assert np.var(effects.effect) < np.var(free.effect)
    assert shrunk.rank()["id"].tolist() == plain.rank()["id"].tolist()


def test_where_no_variance_can_be_estimated_abilities_are_plain():
    votes = {"winner": ["a", "b", "c", "a"], "loser": ["b", "c", "a", "b"]}
    with pytest.warns(FewItemsWarning, match="abilities are plain, and not shrunk"):
        model = RankRegression(item_effects=True).fit(None, votes)
    plain = RankRegression().fit(None, votes).item_effects_
    np.testing.assert_allclose(model.item_effects_.effect, plain.effect, atol=1e-9)
    np.testing.assert_allclose(model.item_effects_.std_error, plain.std_error)
    apart = {"winner": ["a", "b", "c", "d"], "loser": ["b", "a", "d", "c"]}
    with pytest.warns() as caught:
        held = RankRegression(item_effects=True).fit(None, apart)
    assert {one.category for one in caught} == {FewItemsWarning, SeparationWarning}
    assert np.all(held.item_effects_.std_error > 0)
    assert "a wins in 50 of 100 comparisons with d" in str(held.summary())


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.rank(["item 01", "somebody"]),
        lambda m: m.difference("item 01", "somebody"),
        lambda m: m.difference(["item 01", "item 02"], ["item 02", "somebody"]),
        lambda m: m.chances(Comparisons.from_pairs(None, ["item 01"], ["somebody"])),
        lambda m: m.worth(["item 01", "somebody"]),
    ],
)
def test_an_item_that_was_not_compared_is_named_and_refused(ask):
    votes, _ = draw_votes()
    with pytest.raises(PairscoreError, match="there is no item 'somebody' in the fit"):
        ask(RankRegression().fit(None, votes))


def test_settings_of_an_item_table_are_refused_without_one():
    """They were ignored."""
    votes, _ = draw_votes()
    with pytest.raises(
        PairscoreError, match="features is about a table of items, and there is none"
    ):
        RankRegression().fit(None, votes, features=["x"], id="y")


@pytest.mark.parametrize("empty", ["", " ", None])
def test_an_empty_cell_of_comparisons_alone_is_not_sought_in_an_item_table(empty):
    votes = {"left": ["a", empty, "b"], "right": ["b", "a", "a"], "winner": ["left"] * 3}
    with pytest.raises(PairscoreError, match=r"in column 'left' names no item: row 1 .* write who"):
        RankRegression().fit(None, votes)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "pooled"}, "method='pooled' needs features"),
        ({"l2": "auto"}, "no ridge to choose"),
    ],
)
def test_what_needs_features_is_refused_without_them(settings, words):
    with pytest.raises(PairscoreError, match=words):
        RankRegression(**settings).fit(None, draw_votes()[0])


def test_a_file_keeps_abilities_and_what_is_known_of_differences(tmp_path):
    votes, _ = draw_votes(side=0.3)
    model = RankRegression(side_effect=True).fit(None, votes)
    model.save(tmp_path / "abilities.npz")
    again = load(tmp_path / "abilities.npz")
    one, other = "item 02", "item 11"
    assert again.difference(one, other) == model.difference(one, other)
    np.testing.assert_array_equal(again.rank()["id"], model.rank()["id"])


def test_probabilities_are_those_of_the_model():
    votes, (left, right, _, _) = draw_votes()
    model = RankRegression().fit(None, votes)
    comparisons = Comparisons.from_frames(None, votes)[0]
    ability = model.item_effects_.effect
    chance = model.predict_proba(comparisons)[:, 1]
    np.testing.assert_allclose(chance, expit(ability[left] - ability[right]), rtol=1e-12)


def test_intervals_of_abilities_are_classical_whoever_judged():
    votes, _ = draw_votes()
    votes["judge"] = np.arange(len(votes["left"])) % 12
    plain = RankRegression().fit(None, votes)
    with pytest.warns(PairscoreWarning, match="do not allow for judges who differ"):
        asked = RankRegression(inference="items+judges").fit(None, votes)
    assert asked.inference_ == plain.inference_ == "model"
    np.testing.assert_array_equal(asked.item_effects_.std_error, plain.item_effects_.std_error)
    assert "robust" not in str(asked.summary())
    assert "classical" in str(asked.contrast({"item 02": 1, "item 11": -1}))


def test_judges_have_slopes_beside_abilities():
    rng = np.random.default_rng(8)
    slopes, ability = np.array([0.4, 1.0, 1.6] * 4), rng.normal(size=30)
    left = rng.integers(0, 30, 9000)
    right, judge = (left + rng.integers(1, 30, 9000)) % 30, rng.integers(0, 12, 9000)
    won = rng.random(9000) < expit(slopes[judge] * (ability[left] - ability[right]))
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right"), "judge": judge}
    model = RankRegression(judge_slopes=True).fit(None, votes)
    z = (model.judges_.slope - slopes) / model.judges_.std_error
    assert np.max(np.abs(z)) < 4.5  # shrinkage moves a slope by far less than its error
    blurred = RankRegression().fit(None, votes)
    gaps = [
        np.sum((one.item_effects_.effect - ability + ability.mean()) ** 2)
        for one in (model, blurred)
    ]
    assert gaps[0] < gaps[1]


# -- contrasts of abilities ------------------------------------------------------------------------

ONE_PAIR = {"item 01": 1, "item 02": -1}


def test_two_items_can_be_contrasted_and_several_tested_for_equality():
    """They were refused: the model has no coefficient 'item 01'; it has nothing."""
    votes, (left, right, outcome, _) = draw_votes(side=0.4)
    model = RankRegression(side_effect=True).fit(None, votes)
    columns = np.column_stack([item_columns(left, right, 25), np.ones(len(left))])
    theta, V = dense_fit(columns, outcome, 25)
    weights = {"item 01": 1.0, "item 02": -0.25, "item 07": -0.75}
    row = np.zeros(26)
    row[[1, 2, 7]] = list(weights.values())
    found = model.contrast(weights, level=0.9)
    assert found.estimate == pytest.approx(row @ theta, rel=1e-7)
    assert found.std_error**2 == pytest.approx(row @ V @ row, rel=1e-7)
    pair, apart = (
        model.contrast({"item 01": 1, "item 02": -1}),
        model.difference(*list(weights)[:2]),
    )
    assert (pair.estimate, pair.std_error) == pytest.approx((apart.difference, apart.std_error))
    C = np.zeros((2, 26))
    C[:, 1], C[0, 2], C[1, 7] = 1, -1, -1
    W = C @ theta @ np.linalg.solve(C @ V @ C.T, C @ theta)
    test = model.joint_test(list(weights))
    assert (test.statistic, test.df) == (pytest.approx(W, rel=1e-6), 2)
    assert "of equal abilities" in str(test)
    assert model.joint_test(["item 01", "item 02"]).p == pytest.approx(pair.p)


def test_intervals_of_abilities_are_those_of_the_ranking():
    """They were an empty array."""
    votes, _ = draw_votes()
    model = RankRegression().fit(None, votes)
    ranking = model.rank(level=0.8)
    rows = np.argsort(ranking["id"])
    expected = np.column_stack([ranking["low"], ranking["high"]])[rows]
    found = model.confidence_intervals(0.8)[np.argsort(model.item_effects_.ids)]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda m: m.contrast({"item 01": 1}),
            "only differences .* the weights sum to 1;",
        ),
        (lambda m: m.contrast({"item 01": 0, "item 02": 0}), "is zero whatever"),
        (lambda m: m.contrast({"item 01": 1, "zz": -1}), "the fit has no item 'zz'"),
        (lambda m: m.contrast({"left": 1, "item 01": -1}), "no item 'left', .* items alone"),
        (lambda m: m.contrast({"itm 01": 1}), "no coefficient 'itm 01'.*Did you mean 'item 01'"),
        (lambda m: m.joint_test("item 01"), "only differences of abilities .* name two or more"),
        (lambda m: m.confidence_intervals(method="profile"), "use method='wald'"),
    ],
)
def test_what_cannot_be_asked_of_abilities_is_refused_in_a_sentence(ask, words):
    votes, _ = draw_votes()
    with pytest.raises(PairscoreError, match=words):
        ask(RankRegression(side_effect=True).fit(None, votes))


@pytest.mark.parametrize("settings", [{"l2": 0.5}, {"item_effects": True}])
def test_shrunk_abilities_have_contrasts_and_no_joint_test(settings):
    votes, _ = draw_votes()
    model = RankRegression(**settings).fit(None, votes)
    found, apart = (
        model.contrast({"item 01": 1, "item 02": -1}),
        model.difference("item 01", "item 02"),
    )
    assert found.std_error == pytest.approx(apart.std_error)
    with pytest.raises(PairscoreError, match="abilities are held back"):
        model.joint_test(["item 01", "item 02"])


def test_side_context_and_ties_enter_contrasts_without_features():
    votes, _ = draw_votes(side=0.3, length=0.5, tie=-0.5)
    model = RankRegression(side_effect=True, context=["length"], ties="davidson").fit(None, votes)
    errors = dict(zip(model.effects_.names, model.effects_.std_errors, strict=True))
    for name, error in errors.items():
        assert model.contrast({name: 2}).std_error == pytest.approx(2 * error)
    V = model.effects_covariance_
    places = [model.effects_.names.index(name) for name in ("length", "left")]
    expected = np.array([1, -1]) @ V[np.ix_(places, places)] @ np.array([1, -1])
    assert model.contrast({"length": 1, "left": -1}).std_error ** 2 == pytest.approx(expected)
    assert model.joint_test(["left", "length"]).df == 2


def test_a_file_without_what_effects_add_to_abilities_is_read(tmp_path):
    votes, _ = draw_votes()
    model = RankRegression().fit(None, votes)
    model.save(tmp_path / "model.npz")
    arrays = forged.read(tmp_path / "model.npz")
    del arrays["item_effects_along_effects"]
    forged.write(tmp_path / "model.npz", arrays)
    again = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.rank()["score"], model.rank()["score"])
    pair = ("item 03", "item 07")
    assert again.difference(*pair).std_error == model.difference(*pair).std_error
