"""Differences of items and chances of pairs with their intervals, against loops."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from pairscore import Comparisons, PairscoreError, Population, RankRegression
from pairscore.model.predict import score_differences, score_intervals
from tests.laws import GaussianStudy
from tests.limits import fair_squares
from tests.model.test_ranks import METHODS, fitted, new_items


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_difference_has_the_interval_of_its_formula(method, level):
    _, model = fitted(method)
    a, b = new_items(2)
    result = model.difference(a, b, level=level)
    reach = norm.ppf(0.5 + level / 2) * np.sqrt((a - b) @ model.covariance_ @ (a - b))
    assert result.difference == pytest.approx((a - b) @ model.coef_, rel=1e-12)
    assert [result.low, result.high] == pytest.approx(
        [result.difference - reach, result.difference + reach], rel=1e-10
    )
    ends = [result.probability_low, result.probability, result.probability_high]
    assert ends == pytest.approx(expit([result.low, result.difference, result.high]), rel=1e-12)


def test_a_difference_changes_sign_when_the_items_are_swapped():
    _, model = fitted()
    a, b = new_items(2)
    there, back = model.difference(a, b), model.difference(b, a)
    assert (back.difference, back.low, back.high) == (-there.difference, -there.high, -there.low)
    assert back.probability == pytest.approx(1 - there.probability, abs=1e-15)
    assert back.probability_low == pytest.approx(1 - there.probability_high, abs=1e-15)


def test_an_item_does_not_differ_from_itself():
    _, model = fitted()
    same = model.difference(new_items(1), new_items(1))
    assert (same.difference, same.low, same.high, same.probability) == (0.0, 0.0, 0.0, 0.5)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_probability_is_that_of_the_comparison(link):
    _, model = fitted(link=link)
    X, _ = Comparisons.from_frames(
        new_items(2), pd.DataFrame({"left": [0], "right": [1], "winner": ["left"]})
    )
    assert model.difference(*new_items(2)).probability == pytest.approx(
        model.predict_proba(X)[0, 1], rel=1e-12
    )


def test_with_a_side_effect_a_difference_is_on_neutral_ground():
    _, model = fitted(side_effect=True)
    a, b = new_items(2)
    assert model.side_effect_ != 0
    assert model.difference(a, b).probability == pytest.approx(
        expit((a - b) @ model.coef_), rel=1e-12
    )


def test_without_inference_a_difference_has_no_interval():
    _, model = fitted(inference=None)
    result = model.difference(*new_items(2))
    assert np.isnan(
        [result.low, result.high, result.probability_low, result.probability_high]
    ).all()
    assert 0 < result.probability < 1


def test_a_difference_takes_tables_of_one_row():
    X, model = fitted()
    table = pd.DataFrame(
        X, columns=model.feature_names_in_, index=[f"item {row}" for row in range(100)]
    )
    assert model.difference(table.loc[["item 3"]], table.loc[["item 8"]]) == model.difference(
        X[3], X[8]
    )


def test_a_difference_of_more_than_two_items_is_refused():
    X, model = fitted()
    with pytest.raises(
        PairscoreError,
        match=(
            r"^difference compares two single items, but one of them has 3 rows; give one row"
            r" each\.$"
        ),
    ):
        model.difference(X[:3], X[3])


@pytest.mark.parametrize("method", ["pooled", "mle"])
def test_the_interval_of_two_new_items_covers_their_true_difference(method):
    """Between 93 and 97 of 100, up to a normal quantile for four one-sided tests with one false
    alarm in ten thousand.
    """
    n_fits, study, rng = (
        300,
        GaussianStudy(100, 1500, 3, second_half=False),
        np.random.default_rng(2024),
    )
    covered = 0
    for _ in range(n_fits):
        X, votes = study.draw(rng)
        a, b = rng.normal(size=(2, 3)) @ study.root.T + 3.0
        result = RankRegression(method).fit(X, votes).difference(a, b)
        covered += result.low <= (a - b) @ study.limit <= result.high
    quantile = norm.isf(1e-4 / 4)
    share = covered / n_fits
    assert share > 0.93 - quantile * np.sqrt(0.93 * 0.07 / n_fits)
    assert share < 0.97 + quantile * np.sqrt(0.97 * 0.03 / n_fits)


def test_a_pandas_series_is_read_by_its_names():
    import pandas as pd

    X, votes = (
        np.random.default_rng(0).normal(size=(60, 2)),
        np.random.default_rng(1).permutation(60).reshape(30, 2),
    )
    model = RankRegression(inference=None, l2=1.0).fit(pd.DataFrame(X, columns=["a", "b"]), votes)
    series = pd.Series({"a": 1.0, "b": 2.0})
    assert model.difference(series, pd.Series({"a": 0.0, "b": 0.0})).difference == pytest.approx(
        model.coef_ @ [1, 2]
    )
    assert model.difference(series[["b", "a"]], series).difference == 0


def paired_study(rng, n=60, m=500, judges=4):
    """Items, comparisons with context that belongs partly to the items, judges and a side."""
    X = rng.normal(size=(n, 3))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    rest = X[left, 1] - X[right, 1] + rng.normal(size=m)
    eta = (X[left] - X[right]) @ BETA + 0.5 * rest + 0.4
    votes = {
        "left": left,
        "right": right,
        "winner": np.where(rng.random(m) < expit(eta), "left", "right"),
        "judge": rng.integers(0, judges, m).astype(str),
        "rest": rest,
    }
    return X, votes


BETA = np.array([1.0, -0.5, 0.0])


def test_the_interval_of_a_chance_covers_the_true_one():
    """With context and side; the errors of context and features belong together."""
    squares, naive = [], []
    for seed in range(40):
        X, votes = paired_study(np.random.default_rng([9, seed]))
        model = RankRegression(context=["rest"], side_effect=True, inference="model").fit(X, votes)
        pair = Comparisons.from_pairs(X, [0], [1], rest=[3.0])
        chance = model.chances(pair)
        truth = (X[0] - X[1]) @ BETA + 0.5 * 3.0 + 0.4
        found, low, high = (logit(chance[name][0]) for name in ("chance", "low", "high"))
        squares.append(((found - truth) * 2 * norm.ppf(0.975) / (high - low)) ** 2)
        model.effects_covariance_ = None
        alone = model.chances(pair)
        naive.append(logit(alone["high"][0]) - logit(alone["low"][0]) - (high - low))
    low, high = fair_squares(len(squares))
    assert low < sum(squares) < high
    assert np.all(np.abs(naive) > 1e-6)  # models of before know no covariance


@pytest.mark.parametrize("item_effects", [False, True])
def test_a_chance_without_sides_is_that_of_a_difference(item_effects):
    X, votes = paired_study(np.random.default_rng(1))
    model = RankRegression(item_effects=item_effects).fit(X, votes)
    more = np.vstack([X, X[:1] + 1.0])
    left, right = [0, 5, len(X)], [1, 7, 3]
    chances = model.chances(Comparisons.from_pairs(more, left, right), level=0.9)
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        one = model.difference(more[a], more[b], level=0.9)
        expected = one.probability, one.probability_low, one.probability_high
        assert [chances[name][row] for name in ("chance", "low", "high")] == pytest.approx(expected)


@pytest.mark.parametrize("side", [True, "judges"])
def test_the_error_of_a_pair_is_that_of_a_loop_over_all_parameters(side, monkeypatch):
    """Naive twin: the gradient of the score by finite differences in every parameter."""
    monkeypatch.setattr("pairscore.model.predict.PAIR_BLOCK", 3)
    X, votes = paired_study(np.random.default_rng(2))
    model = RankRegression(
        context=["rest"], side_effect=side, judge_slopes=True, inference="model"
    ).fit(X, votes)
    judge, rest = np.array(["0", "1", "nobody", "3", "2"]), np.array([0.5, -1.0, 2.0, 0.0, 1.0])
    pairs = Comparisons.from_pairs(X, np.arange(5), np.arange(5, 10), judge=judge, rest=rest)
    fit, d, k, step = model.result_, 3, len(model.effects_.names), 1e-6
    joint = np.block(
        [
            [fit.covariance, fit.effects_covariance[:d]],
            [fit.effects_covariance[:d].T, fit.effects_covariance[d:]],
        ]
    )
    base, gradient = score_differences(fit, pairs), np.empty((5, d + k))
    for place in range(d + k):
        move = np.eye(d + k)[place] * step
        effects = replace(fit.effects, values=fit.effects.values + move[d:])
        other = replace(fit, coef=fit.coef + move[:d], effects=effects)
        gradient[:, place] = (score_differences(other, pairs) - base) / step
    known = dict(zip(fit.judges.name.tolist(), fit.judges.std_error.tolist(), strict=True))
    low, high = score_intervals(fit, pairs, 1.0)
    for row, error in enumerate((high - low) / 2):
        delta = (X[row] - X[row + 5]) @ fit.coef
        delta += fit.effects.of_kind("context")["rest"] * rest[row]
        slope_error = known.get(judge[row], fit.judges.spread)
        variance = gradient[row] @ joint @ gradient[row] + (delta * slope_error) ** 2
        assert error == pytest.approx(np.sqrt(variance), rel=1e-4)


def test_ties_have_a_chance_with_an_interval_and_half_wins_have_none():
    rng = np.random.default_rng(3)
    X, votes = paired_study(rng)
    votes["winner"] = np.where(rng.random(500) < 0.3, "tie", votes["winner"])
    pairs = Comparisons.from_pairs(X, [0, 1, 2, 0], [3, 4, 5, 1])
    model = RankRegression(ties="davidson").fit(X, votes)
    chances = model.chances(pairs)
    assert chances["tie"] == pytest.approx(model.predict_ties(pairs))
    assert chances["chance"] == pytest.approx(model.predict_proba(pairs)[:, 1])
    for name in ("", "tie_"):
        middle = chances["tie" if name else "chance"]
        assert np.all(chances[f"{name}low"] <= middle)
        assert np.all(middle <= chances[f"{name}high"])
    assert set(RankRegression().fit(X, votes).chances(pairs)) == {"chance", "low", "high"}


def test_a_pair_of_items_that_cannot_be_compared_has_no_interval():
    rng = np.random.default_rng(4)
    X, year = rng.normal(size=(60, 1)), np.repeat([1.0, 2.0], 30)
    left = np.concatenate([rng.integers(0, 30, 200), rng.integers(30, 60, 200)])
    right = np.where(left < 30, (left + 7) % 30, 30 + (left - 30 + 7) % 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression().fit(
            np.column_stack([X, year]),
            {"left": left, "right": right, "winner": rng.choice(["left", "right"], 400)},
        )
    pairs = Comparisons.from_pairs(np.column_stack([X, year]), [0, 0], [1, 31])
    chances = model.chances(pairs)
    assert np.isfinite(chances["low"][0])
    assert np.isnan([chances["low"][1], chances["high"][1]]).all()
    with pytest.raises(PairscoreError, match="only comparisons can be predicted"):
        model.chances(np.column_stack([X, year]))


def test_a_notebook_shows_a_difference_with_both_intervals():
    model = fitted()[1]
    gap = model.difference([10.0, 0.0, -3.0], [9.0, 1.0, -3.0])
    page = gap._repr_html_()
    for words, numbers in (
        ("score difference", (gap.difference, gap.low, gap.high)),
        (
            "chance that the first wins",
            (gap.probability, gap.probability_low, gap.probability_high),
        ),
    ):
        cells = "".join(f"<td>{number:.4g}</td>" for number in numbers)
        assert f"<tr><td>{words}</td>{cells}</tr>" in page


def pairs_study(seed=0):
    rng = np.random.default_rng(seed)
    ids, X = np.array([f"i{k:02}" for k in range(25)]), rng.normal(size=(25, 2))
    left = rng.integers(0, 25, 700)
    right = (left + rng.integers(1, 25, 700)) % 25
    eta = (X[left] - X[right]) @ [0.8, -0.5] + 0.3
    winner = np.where(rng.random(700) < 1 / (1 + np.exp(-eta)), "left", "right")
    winner[::6] = "tie"
    votes = {"left": ids[left], "right": ids[right], "winner": winner}
    return {"id": ids, "a": X[:, 0], "b": X[:, 1]}, votes | {
        "judge": rng.integers(0, 5, 700),
        "rest": rng.normal(size=700),
    }


MODELS = {
    "plain": {"inference": "model"},
    "closed form": {"method": "paired"},
    "side, context and ties": {"side_effect": True, "context": ["rest"], "ties": "davidson"},
    "item effects": {"item_effects": True},
    "judges": {"judge_slopes": True, "context": ["rest"]},
    "abilities": {"ability": True},
    "abilities with side and ties": {"ability": True, "side_effect": True, "ties": "rao-kupper"},
    "abilities with a law": {"ability": True, "item_effects": True},
    "abilities and judges": {"ability": True, "judge_slopes": True},
    "no intervals": {"inference": None},
}


def model_of_kind(kind):
    """A fitted model of MODELS, its settings, and the table of items; None without features."""
    settings = dict(MODELS[kind])
    items, votes = pairs_study()
    table = None if settings.pop("ability", False) else items
    return RankRegression(**settings).fit(table, votes), settings, table


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_difference_takes_arrays_of_pairs(kind):
    """A pair at a time was all that it took."""
    model, _, _ = model_of_kind(kind)
    left, right = ["i03", "i07", "i03", "i11"], np.array(["i05", "i01", "i04", "i12"])
    pairs = Comparisons.from_pairs(model.items(), left, right)
    for many in (model.difference(left, right), model.difference(pairs)):
        for row, (a, b) in enumerate(zip(left, right.tolist(), strict=True)):
            one = vars(model.difference(a, b))
            found = {name: column[row] for name, column in vars(many).items()}
            assert found == pytest.approx(one, rel=1e-9, abs=1e-12, nan_ok=True)
    reach = 1.6448536269514722 * model.difference(left, right).std_error
    narrow = model.difference(left, right, level=0.9)
    np.testing.assert_allclose(narrow.high - narrow.difference, reach, atol=1e-12)
    from_one = model.difference("i03", right)
    np.testing.assert_array_equal(from_one.difference[0], narrow.difference[0])
    assert from_one.to_frame().shape == (4, 7)
    assert "Differences of 4 pairs" in from_one._repr_html_()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_pairs_without_outcomes_are_predicted_by_every_kind_of_model(kind):
    model, settings, table = model_of_kind(kind)
    left, right = ["i03", "i07"], ["i05", "i01"]
    beside = {name: [0.5, -0.5] for name in model.context or ()}
    beside |= {"judge": [1, 2]} if settings.get("judge_slopes") else {}
    pairs = Comparisons.from_pairs(model.items(table), left, right, **beside)
    rows = {"left": left, "right": right, "winner": ["left", "tie"], **beside}
    decided = Comparisons.from_frames(model.items(), rows, context=model.context or ())[0]
    np.testing.assert_array_equal(model.decision_function(pairs), model.decision_function(decided))
    chance = model.predict_proba(pairs)[:, 1]
    np.testing.assert_array_equal(chance, model.predict_proba(decided)[:, 1])
    columns = model.chances(pairs)
    np.testing.assert_allclose(columns["chance"], chance)
    if settings.get("inference", "items") is not None:
        assert np.all((columns["low"] < chance) & (chance < columns["high"]))


def test_whole_numbers_are_ids_unless_they_are_as_many_as_the_features():
    items, votes = pairs_study()
    number = {name: row for row, name in enumerate(items["id"].tolist())}
    votes |= {side: [number[name] for name in votes[side].tolist()] for side in ("left", "right")}
    X = np.column_stack([items["a"], items["b"]])
    model = RankRegression(inference="model").fit(X, votes)
    three = model.difference([1, 2, 3], np.array([4, 5, 6]))
    np.testing.assert_allclose(three.difference, (X[1:4] - X[4:7]) @ model.coef_)
    features = model.difference([1, 2], [4, 5])
    assert features.difference == pytest.approx([-3, -3] @ model.coef_)
    two = model.difference(Comparisons.from_pairs(model.items(), [1, 2], [4, 5]))
    np.testing.assert_allclose(two.difference, (X[1:3] - X[4:6]) @ model.coef_)


def test_pairs_that_are_unclear_are_refused_in_a_sentence():
    items, votes = pairs_study()
    model = RankRegression(inference="model").fit(items, votes)
    for a, b, sentence in (
        (["i01", "i02"], ["i03"], "two arrays of equally many ids"),
        (["i01", "i02"], {"a": [1.0], "b": [2.0]}, "two arrays of equally many ids"),
        (["i01", "i99", "x"], ["i03", "i04", "i05"], "no item 'i99', 'x' in the table"),
    ):
        with pytest.raises(PairscoreError, match=sentence):
            model.difference(a, b)


def test_many_pairs_take_no_matrix_of_pairs_and_features():
    """100 000 pairs of items with 50 features would be 40 MB; blocks of them are not."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X, votes = rng.normal(size=(200, 50)), rng.permutation(np.arange(2000) % 200).reshape(-1, 2)
    votes = votes[votes[:, 0] != votes[:, 1]]
    model = RankRegression(inference="model", l2=1.0).fit(X, votes)
    left, right = rng.integers(0, 200, (2, 100_000))
    pairs = Comparisons(model.items(), left, right, np.ones(100_000, dtype=int))
    tracemalloc.start()
    found = model.difference(pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.std_error) == 100_000
    assert peak < 25e6


def test_a_printed_difference_is_short():
    items, votes = Population(n_features=2, rng=0).draw(60, 400, rng=1, second_half=False)
    model = RankRegression().fit(items, votes)
    one = model.difference(3, 5)
    value, low, high = (f"{getattr(one, name):.4g}" for name in ("difference", "low", "high"))
    assert str(one).startswith(f"score difference {value} [{low}, {high}]; chance that the first")
    assert f" wins {one.probability:.1%} [" in str(one)
    many = str(model.difference(np.arange(30), np.arange(30, 60))).splitlines()
    assert len(many) == 21
    assert many[-1] == "... and 10 pairs more; the data frame of this has all"
    assert many[3] == str(model.difference(3, 33))
    unknown = RankRegression(inference=None).fit(items, votes).difference(3, 5)
    assert "[unknown, unknown]; chance that the" in str(unknown)
