"""Items that won, or lost, everything: the others as if alone, and intervals that are open."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.errors import SeparationWarning
from tests import forged
from tests.model.test_abilities import dense_fit, item_columns

REACH = 1.959963984540054


def draw_league(seed, n=7, m=120, strong=20.0, weak=-20.0, side=0.0):
    """Item 0 is above all, and the last below all; the others won and lost."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=n) / 2
    ability[0], ability[-1] = strong, weak
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit(ability[left] - ability[right] + side)
    return ability, left, right, np.where(won, 1, -1)


def as_votes(left, right, outcome):
    return {
        "left": [f"i{number}" for number in left],
        "right": [f"i{number}" for number in right],
        "winner": np.where(outcome > 0, "left", "right"),
    }


def fit_open(votes, **settings):
    with pytest.warns(SeparationWarning):
        return RankRegression(**settings).fit(None, votes)


def within(left, right, n=7):
    """Comparisons of those that won and lost."""
    return np.all((np.stack([left, right]) > 0) & (np.stack([left, right]) < n - 1), axis=0)


def by_id(model, column, **asked):
    ranking = model.rank(**asked)
    return dict(zip(ranking["id"].tolist(), ranking[column].tolist(), strict=True))


def test_the_others_have_the_abilities_and_errors_of_their_own_comparisons():
    """A ridge of 0.16 held all abilities, also those that the comparisons determine."""
    _, left, right, outcome = draw_league(0, side=0.4)
    inside = within(left, right)
    columns = np.column_stack([item_columns(left, right, 7)[inside], np.ones(inside.sum())])
    theta, V = dense_fit(columns, outcome[inside], 7)
    model = fit_open(as_votes(left, right, outcome), side_effect=True)
    effects = model.item_effects_
    rows = [effects.ids.tolist().index(f"i{number}") for number in range(1, 6)]
    np.testing.assert_allclose(
        effects.effect[rows], theta[1:6] - theta[1:6].mean(), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(effects.std_error[rows] ** 2, np.diag(V)[1:6], rtol=1e-5)
    assert model.side_effect_ == pytest.approx(theta[7], abs=1e-6)
    apart = model.difference("i2", "i3")
    assert apart.std_error**2 == pytest.approx(V[2, 2] + V[3, 3] - 2 * V[2, 3], rel=1e-5)
    assert model.l2_ == 0


def test_an_unbeaten_item_has_an_interval_from_where_its_wins_are_too_improbable():
    """Its interval was finite at both ends, which only the ridge held."""
    _, left, right, outcome = draw_league(1)
    inside = within(left, right)
    theta, V = dense_fit(item_columns(left, right, 7)[inside], outcome[inside], 7)
    theta = theta - theta[1:6].mean()
    model = fit_open(as_votes(left, right, outcome))
    low, high = by_id(model, "low"), by_id(model, "high")
    for item, sign, near, far in (("i0", 1, low, high), ("i6", -1, high, low)):
        assert far[item] == sign * np.inf
        own = int(item[1:])
        met = (left == own) | (right == own)
        other = np.where(left == own, right, left)[met]
        others = other[(other > 0) & (other < 6)]

        def over(place, sign=sign, others=others):
            return np.sum(log_expit(sign * (place - theta[others]))) - np.log(0.025)

        end = brentq(over, -60, 60)
        p = expit(-sign * (end - theta[others]))
        x = np.bincount(others, p / p.sum(), 7)
        assert near[item] == pytest.approx(end - sign * REACH * np.sqrt(x @ V @ x), abs=1e-6)
    errors = dict(zip(model.item_effects_.ids, model.item_effects_.std_error, strict=True))
    assert np.isnan(errors["i0"])
    assert np.isnan(errors["i6"])
    assert np.isfinite(errors["i3"])


def test_what_a_prior_holds_is_the_likeliest_given_the_others():
    votes = {"winner": ["a"] * 5 + ["b", "c"], "loser": [*"bcbcb", "c", "b"]}
    ability = fit_open(votes).item_effects_.effect
    # b and c are equal: 5 wins against an ability of zero, and a ridge of 0.16
    place = brentq(lambda u: 5 * expit(-u) - 0.16 * u, 0, 20)
    np.testing.assert_allclose(ability, [place, 0, 0], atol=1e-7)


def test_nothing_is_said_of_an_order_that_only_the_prior_holds():
    """One win against each: it was first or second of three."""
    votes = {"winner": ["a", "a", "b", "c"], "loser": ["b", "c", "c", "b"]}
    model = fit_open(votes)
    assert by_id(model, "rank_high")["a"] == 3
    apart = model.difference("a", "b")
    assert (apart.low < 0, apart.high, apart.probability_high) == (True, np.inf, 1.0)
    assert np.isnan(apart.std_error)
    many = {name: column * 40 for name, column in votes.items()}
    model = fit_open(many)
    assert by_id(model, "rank_high")["a"] == 1
    assert by_id(model, "rank_low")["b"] == 2
    assert model.difference("a", "b").low > 0
    assert model.difference("b", "a").high < 0


def test_intervals_cover_where_some_item_won_everything():
    """Nineteen of twenty, in leagues in which item 0 happened to win all."""
    covered, seed = [], 0
    while len(covered) < 100:
        seed += 1
        strong = 3.0 if len(covered) < 50 else 12.0  # less, and more, than a ridge takes for likely
        ability, left, right, outcome = draw_league(seed, n=6, m=70, strong=strong, weak=-0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RankRegression().fit(None, as_votes(left, right, outcome))
        winner = np.where(outcome > 0, left, right)
        if 0 in np.where(outcome > 0, right, left) or len(np.unique(winner)) < 6:
            continue
        pairs = np.array([(0, one) for one in range(1, 6)] + [(1, 2), (3, 4), (2, 5)])
        found = model.difference(*(np.array([f"i{k}" for k in side]) for side in pairs.T))
        truth = ability[pairs[:, 0]] - ability[pairs[:, 1]]
        covered.append(np.mean((found.low <= truth) & (truth <= found.high)))
    error = np.std(covered) / np.sqrt(len(covered))  # leagues are independent
    assert np.mean(covered) > 0.95 - 3 * error


def test_items_of_two_divisions_compare_within_theirs():
    """d, e and f lost all to a, b and c; among each other, they are a league of their own."""
    inner = [("d", "e"), ("e", "f"), ("f", "d"), ("d", "e"), ("d", "f")]
    upper = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("c", "b"), ("b", "a")] * 2
    between = [("a", "d"), ("b", "e"), ("c", "f")]
    winner, loser = zip(*upper, *inner, *between, strict=True)
    model = fit_open({"winner": winner, "loser": loser})
    alone = RankRegression().fit(
        None, dict(zip(("winner", "loser"), zip(*inner, strict=True), strict=True))
    )
    one, other = model.difference("d", "f"), alone.difference("d", "f")
    found = (one.difference, one.low, one.high, one.std_error)
    expected = (other.difference, other.low, other.high, other.std_error)
    assert found == pytest.approx(expected, abs=1e-6)
    for item in "def":
        assert by_id(model, "low")[item] == -np.inf
        assert np.isfinite(by_id(model, "high")[item])
    assert model.contrast({"d": 1, "f": -1}).std_error == pytest.approx(other.std_error, abs=1e-6)
    assert np.isnan(model.contrast({"a": 1, "f": -1}).p)
    assert model.contrast({"a": 1, "f": -1}).high == np.inf
    assert 0 < model.joint_test(["d", "e", "f"]).p < 1
    with pytest.raises(PairscoreError, match="wins do not link them both ways"):
        model.joint_test(["a", "d"])


def test_where_wins_never_lead_back_every_interval_is_open():
    model = fit_open({"winner": ["a", "a", "b"], "loser": ["b", "c", "c"]})
    ranking = model.rank()
    assert ranking["id"].tolist() == ["a", "b", "c"]
    assert np.isneginf(ranking["low"]).all()
    assert np.isposinf(ranking["high"]).all()
    assert ranking["rank_high"].tolist() == [3, 3, 3]


def test_an_item_that_met_the_others_by_way_of_another_has_no_interval():
    votes = {"winner": [*"abbcdd"], "loser": [*"bcddcc"]}
    model = fit_open(votes)
    assert (by_id(model, "low")["a"], by_id(model, "high")["a"]) == (-np.inf, np.inf)
    assert np.isfinite(by_id(model, "low")["b"])


@pytest.mark.parametrize(
    "settings",
    [{"ties": "davidson"}, {"ties": "rao-kupper"}, {"side_effect": True}, {"ties": "drop"}],
)
def test_ties_and_sides_leave_one_end_open(settings):
    _, left, right, outcome = draw_league(3, m=300, side=0.3)
    votes = as_votes(left, right, outcome)
    ties = within(left, right) & (np.arange(300) % 4 == 0)
    votes["winner"] = np.where(ties, "tie", votes["winner"])
    model = fit_open(votes, **settings)
    low, high = by_id(model, "low"), by_id(model, "high")
    assert (high["i0"], low["i6"]) == (np.inf, -np.inf)
    assert max(high[f"i{number}"] for number in range(1, 6)) < low["i0"] < np.inf
    assert -np.inf < high["i6"] < min(low[f"i{number}"] for number in range(1, 6))
    chances = model.chances(Comparisons.from_pairs(None, ["i0", "i6"], ["i6", "i0"]))
    assert chances["low"][0] > 0.5 > chances["high"][1]


def test_a_file_and_an_update_say_the_same(tmp_path):
    _, left, right, outcome = draw_league(4)
    votes = as_votes(left, right, outcome)
    model = fit_open(votes, side_effect=True)
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    first = fit_open({name: column[:90] for name, column in votes.items()}, side_effect=True)
    with pytest.warns(SeparationWarning):
        updated = first.update({name: column[90:] for name, column in votes.items()})
    for scale in ("link", "elo"):
        ranking = model.rank(scale=scale)
        for name, column in again.rank(scale=scale).items():
            np.testing.assert_array_equal(column, ranking[name])
        for name in ("score", "low", "high", "rank_low", "rank_high"):
            mine, theirs = by_id(model, name, scale=scale), by_id(updated, name, scale=scale)
            assert mine == pytest.approx(theirs, abs=1e-5)
    assert again.difference("i0", "i2").low == model.difference("i0", "i2").low


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("certain_beside", lambda a: a[:, :0]),
        ("certain_winner", lambda a: a + 100),
        ("certain_amount", lambda a: a[1:]),
        ("component", lambda a: a - 5),
    ],
)
def test_a_file_whose_certain_comparisons_do_not_fit_is_refused(tmp_path, name, change):
    _, left, right, outcome = draw_league(4)
    fit_open(as_votes(left, right, outcome), side_effect=True).save(tmp_path / "model.npz")
    arrays = forged.read(tmp_path / "model.npz")
    forged.write(
        tmp_path / "model.npz",
        arrays | {f"item_effects_{name}": change(arrays[f"item_effects_{name}"])},
    )
    with pytest.raises(PairscoreError, match="is not the model that was saved"):
        load(tmp_path / "model.npz")


def test_scores_are_said_to_be_relative_to_the_average_of_the_others():
    _, left, right, outcome = draw_league(5)
    model = fit_open(as_votes(left, right, outcome))
    scores = by_id(model, "score")
    assert abs(np.mean([scores[f"i{number}"] for number in range(1, 6)])) < 1e-9
    warned = " ".join(model.notes_)
    assert "('i0', 'i6')" in warned
    assert "their intervals are open" in warned
    assert "relative to the average of the 5 others" in warned


def test_the_summary_says_where_an_interval_is_open():
    text = str(fit_open(as_votes(*draw_league(0)[1:])).summary())
    first, last = (
        next(line for line in text.splitlines() if f" {i} " in line) for i in ("i0", "i6")
    )
    assert " none " in first
    assert " or more " in first
    assert " or less " in last
    assert "inf" not in first + last


def test_errors_of_many_abilities_beside_open_ones_were_next_to_nothing(monkeypatch):
    """Items alone have no variance by messages, and theirs swallowed that of all others."""
    rng = np.random.default_rng(3)
    ability, (left, other) = rng.normal(size=300), rng.integers(0, 300, (2, 1500))
    right = np.where(left == other, (other + 1) % 300, other)
    won = rng.random(1500) < expit(ability[left] - ability[right])
    votes, errors = as_votes(left, right, np.where(won, 1, -1)), []
    for most in (500, 50):
        monkeypatch.setattr("pairscore.effects.item_covariance.LASTING_ITEMS", most)
        errors.append(fit_open(votes).item_effects_.std_error)
    exact, by_messages = errors
    main = np.isfinite(exact)
    assert 50 < np.count_nonzero(main) < 300
    np.testing.assert_allclose(by_messages[main], exact[main], rtol=0.03)
