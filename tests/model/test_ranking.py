"""Ranks, scores and differences with their intervals, against formulas written out as loops."""

import warnings
from dataclasses import replace

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, norm

from pairscore import Comparisons, PairscoreError, Population, RankRegression
from pairscore.errors import PairscoreWarning
from pairscore.model.predict import linear_scores, score_differences, score_intervals
from pairscore.model.ranking import rank_pieces
from tests.data.conftest import every_table, study
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study
from tests.laws import GaussianStudy
from tests.limits import fair_squares

METHODS = ("split", "pooled", "paired", "mle")
Z = norm.ppf(0.975)


def fitted(method="mle", n_comparisons=400, seed=0, **options):
    """A model of 80 compared items with three features, and 20 items that were never compared."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 3)) * [1.0, 2.0, 0.5] + [10.0, 0.0, -3.0]
    left = rng.integers(0, 80, n_comparisons)
    right = (left + rng.integers(1, 80, n_comparisons)) % 80
    left_won = (X[left] - X[right]) @ [1.0, -0.3, 0.5] + rng.logistic(size=n_comparisons) > 0
    votes = pd.DataFrame(
        {"left": left, "right": right, "winner": np.where(left_won, "left", "right")}
    )
    return X, RankRegression(method, **options).fit(X, votes)


def new_items(n_items=60, seed=1):
    return np.random.default_rng(seed).normal([10.0, 0.0, -3.0], size=(n_items, 3))


def naive_rank_intervals(X, coef, covariance, width):
    """For each item of X, sorted best first, how many others are surely better and surely worse."""
    low, high = [], []
    for item in X:
        better = worse = 0
        for other in X:
            gap = (other - item) @ coef
            error = np.sqrt(max((other - item) @ covariance @ (other - item), 0.0))
            better += gap > width * error + 1e-9
            worse += gap < -width * error - 1e-9
        low.append(1 + better)
        high.append(len(X) - worse)
    return low, high


# -- rank ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("simultaneous", [False, True])
def test_rank_intervals_equal_a_double_loop_over_pairs(method, simultaneous):
    _, model = fitted(method)
    new = new_items()
    ranking = model.rank(new, simultaneous=simultaneous)
    width = np.sqrt(chi2.ppf(0.95, 3)) if simultaneous else Z
    low, high = naive_rank_intervals(new[ranking["id"]], model.coef_, model.covariance_, width)
    assert ranking["rank_low"].tolist() == low
    assert ranking["rank_high"].tolist() == high


@pytest.mark.parametrize("method", METHODS)
def test_a_score_interval_is_that_of_the_distance_to_the_average_training_item(method):
    _, model = fitted(method)
    new = new_items()
    for level in (0.5, 0.95, 0.99):
        for row in model.rank(new, level=level):
            away = new[row["id"]] - model.feature_mean_
            reach = norm.ppf(0.5 + level / 2) * np.sqrt(away @ model.covariance_ @ away)
            assert row["score"] == pytest.approx(away @ model.coef_, rel=1e-9, abs=1e-12)
            assert [row["low"], row["high"]] == pytest.approx(
                [row["score"] - reach, row["score"] + reach], rel=1e-10
            )


def test_items_are_sorted_best_first_and_their_rank_is_in_its_interval():
    X, model = fitted()
    ranking = model.rank(X)
    assert np.all(np.diff(ranking["score"]) <= 0)
    assert ranking["rank"].tolist() == list(range(1, 101))
    assert np.all(ranking["rank_low"] <= ranking["rank"])
    assert np.all(ranking["rank"] <= ranking["rank_high"])
    assert sorted(ranking["id"]) == list(range(100))
    assert 1 < np.mean(ranking["rank_high"] - ranking["rank_low"]) < 60


def test_equal_items_keep_the_order_of_the_table_and_share_rank_intervals():
    _, model = fitted()
    ranking = model.rank(np.repeat(new_items(3), 4, axis=0))
    for first in (0, 4, 8):
        group = ranking[first : first + 4]
        assert np.all(np.diff(group["id"]) == 1)
        assert len(set(group["score"])) == 1
        assert group["rank_low"].max() <= first + 1
        assert group["rank_high"].min() >= first + 4


@pytest.mark.parametrize("n_features", [1, 2, 3, 10, 17, 250])
def test_equal_scores_share_the_best_rank_wherever_they_stand(n_features):
    """A product by BLAS may give equal rows other last bits at other places of the table."""
    rng = np.random.default_rng(0)
    model = RankRegression(l2=1.0, inference=None).fit(
        rng.normal(size=(40, n_features)), np.column_stack([np.arange(20), np.arange(20, 40)])
    )
    kinds = rng.normal(size=(5, n_features))
    which = rng.integers(0, 5, 37)
    ranking = model.rank(kinds[which])
    kind = which[ranking["id"]]
    scores = model.decision_function(kinds[which])
    ranks = [1 + sum(scores > score) for score in scores[ranking["id"]]]
    assert ranking["rank"].tolist() == ranks
    assert len(set(ranking["rank"])) == len(set(which))
    for one in set(kind):
        assert np.all(np.diff(ranking["id"][kind == one]) > 0)
    assert np.all(
        (ranking["rank_low"] <= ranking["rank"]) & (ranking["rank"] <= ranking["rank_high"])
    )


def test_equal_rows_have_equal_scores_to_the_last_bit():
    rng = np.random.default_rng(0)
    for n, d in [(10, 10), (33, 17), (1001, 250)] * 50:
        row, coef = rng.normal(size=(2, d))
        assert len(set(linear_scores(np.tile(row, (n, 1)), coef))) == 1


def test_ranks_are_shared_as_in_competitions(monkeypatch):
    """Also where rank intervals are scaled up from some of the items, a shared rank stays within
    its interval.
    """
    monkeypatch.setattr("pairscore.model.ranking.REFERENCE_ITEMS", 7)
    model = fitted(n_comparisons=4000)[1]
    ranking = model.rank(
        np.repeat([[12.0, 0.0, -3.0], [11.0, 0.0, -3.0], [8.0, 0.0, -3.0]], [1, 20, 4], axis=0)
    )
    assert ranking["rank"].tolist() == [1] + [2] * 20 + [22] * 4
    assert np.all(
        (ranking["rank_low"] <= ranking["rank"]) & (ranking["rank"] <= ranking["rank_high"])
    )


def test_an_item_alone_is_first():
    _, model = fitted()
    (only,) = model.rank(new_items(1))
    assert (only["rank"], only["rank_low"], only["rank_high"]) == (1, 1, 1)


def test_simultaneous_intervals_are_wider_by_scheffes_factor():
    X, model = fitted()
    single, together = model.rank(X), model.rank(X, simultaneous=True)
    ratio = (together["high"] - together["low"]) / (single["high"] - single["low"])
    np.testing.assert_allclose(ratio, np.sqrt(chi2.ppf(0.95, 3)) / Z, rtol=1e-10)
    assert np.all(together["rank_low"] <= single["rank_low"])
    assert np.all(together["rank_high"] >= single["rank_high"])


def test_many_items_are_ranked_against_some_and_come_close(monkeypatch):
    _, model = fitted()
    n, reference = 1500, 300
    many = new_items(n)
    exact = model.rank(many)
    monkeypatch.setattr("pairscore.model.ranking.REFERENCE_ITEMS", reference)
    close = model.rank(many)
    quantile = norm.isf(1e-4 / (4 * n))
    for column in ("rank_low", "rank_high"):
        share = exact[column] / n
        # of random reference items; ours are evenly spaced
        sampling_error = n * np.sqrt(share * (1 - share) / reference)
        assert not np.array_equal(close[column], exact[column])
        assert np.all(
            np.abs(close[column] - exact[column]) <= quantile * sampling_error + n / reference
        )
    assert close["score"].tobytes() == exact["score"].tobytes()
    assert np.all((close["rank_low"] <= close["rank"]) & (close["rank"] <= close["rank_high"]))
    assert close["rank_low"].min() >= 1
    assert close["rank_high"].max() <= n


@pytest.mark.parametrize("method", METHODS)
def test_an_item_beyond_the_compared_ones_is_flagged(method):
    X, model = fitted(method)
    compared = X[:80]
    low, high, middle = compared.min(axis=0), compared.max(axis=0), compared.mean(axis=0)
    flags = {
        row["id"]: row["outside"]
        for row in model.rank([middle, low, high, low - [0, 1e-9, 0], [middle[0], middle[1], 99.0]])
    }
    assert flags == {0: False, 1: False, 2: False, 3: True, 4: True}


def test_without_inference_scores_have_no_intervals_and_ranks_may_be_any():
    X, model = fitted(inference=None)
    ranking = model.rank(X)
    assert np.all(np.isnan(ranking["low"]) & np.isnan(ranking["high"]))
    assert set(ranking["rank_low"]) == {1}
    assert set(ranking["rank_high"]) == {100}
    assert np.all(np.diff(ranking["score"]) <= 0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_ranking_is_a_table_of_the_callers_kind_with_the_callers_ids(frame):
    _, model = fitted()
    model.result_ = replace(model.result_, feature_names=("a", "b", "c"))
    new = new_items(4)
    table = frame({"id": ["n", "o", "p", "q"], "a": new[:, 0], "b": new[:, 1], "c": new[:, 2]})
    ranking, plain = model.rank(table), model.rank(new)
    assert type(ranking) is type(table)
    names = list(getattr(ranking, "column_names", ranking.columns))
    known = ["id", "score", "low", "high", "rank", "rank_low", "rank_high", "outside"]
    assert names == [*known, "place_low", "place_high"]
    assert np.asarray(ranking["id"]).tolist() == ["nopq"[row] for row in plain["id"]]
    for name in names[1:]:
        assert np.asarray(ranking[name]).tolist() == plain[name].tolist()


# -- difference ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, np.nan])
def test_a_level_that_is_no_probability_is_refused(level):
    X, model = fitted()
    for call in (
        lambda: model.rank(X, level=level),
        lambda: model.difference(X[0], X[1], level=level),
        lambda: model.confidence_intervals(level),
    ):
        with pytest.raises(
            PairscoreError,
            match=r"^level is .*; use a number between 0 and 1, such as 0\.95\."
            r"( Did you mean 0\.95\?)?$",
        ):
            call()


# -- the truth -------------------------------------------------------------------------------------


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


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_what_the_data_do_not_determine_has_no_interval(method, tmp_path):
    """A feature constant in training says nothing of an item where it differs."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 2)), np.full(80, 7.0)])
    votes = np.array(
        [
            (i, j) if X[i, 0] + rng.logistic() > X[j, 0] else (j, i)
            for i in range(80)
            for j in rng.integers(0, 80, 5)
            if i != j
        ]
    )
    model = RankRegression(method).fit(X, votes)
    for fitted in (model, _reloaded(model, tmp_path)):
        unknown, known = (
            fitted.difference([0, 0, 9.0], [0, 0, 7.0]),
            fitted.difference([1, 0, 9.0], [0, 0, 9.0]),
        )
        assert np.isnan([unknown.low, unknown.high]).all()
        assert known.low < known.difference < known.high
        ranking = fitted.rank(np.array([[0.0, 0, 7], [0.1, 0, 9], [0.2, 0, 7]]))
        strange = ranking[ranking["id"] == 1][0]
        assert np.isnan(strange["low"])
        assert (strange["rank_low"], strange["rank_high"], strange["outside"]) == (1, 3, True)
        assert np.isfinite(ranking[ranking["id"] != 1]["low"]).all()


def _reloaded(model, tmp_path):
    model.save(tmp_path / "model.npz")
    return RankRegression.load(tmp_path / "model.npz")


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


# -- the caller's kind of table --------------------------------------------------------------------


def as_columns(table):
    """Any table as lists by name, NumPy's structured arrays too."""
    if isinstance(table, np.ndarray):
        return {name: table[name].tolist() for name in table.dtype.names}
    return nw.from_native(table, eager_only=True).to_dict(as_series=False)


def test_rank_answers_in_the_callers_kind_with_the_same_numbers():
    X, votes = study()
    model = RankRegression().fit(X, votes)
    columns = {name: X[:, number] for number, name in enumerate(model.feature_names_in_)}
    reference = model.rank(X)
    assert isinstance(reference, np.ndarray)
    for table, kind in (
        (pd.DataFrame, pd.DataFrame),
        (pl.DataFrame, pl.DataFrame),
        (pl.LazyFrame, pl.DataFrame),
        (pa.table, pa.Table),
    ):
        ranking = model.rank(table(columns))
        assert isinstance(ranking, kind)
        assert as_columns(ranking) == as_columns(reference)


@every_table
def test_rank_gives_ids_best_first(table):
    X, votes = study()
    columns = {
        "id": [f"item {row}" for row in range(len(X))],
        "a": X[:, 0],
        "b": X[:, 1],
        "c": X[:, 2],
    }
    ranking = as_columns(RankRegression().fit(table(columns), votes).rank(table(columns)))
    reference = RankRegression().fit(X, votes).rank(X)
    assert list(ranking) == [
        "id",
        "score",
        "low",
        "high",
        "rank",
        "rank_low",
        "rank_high",
        "outside",
        "place_low",
        "place_high",
    ]
    assert ranking["id"] == [f"item {row}" for row in reference["id"]]
    assert ranking["rank"] == list(range(1, len(X) + 1))
    for name in ("score", "low", "high", "rank_low", "rank_high", "outside"):
        assert ranking[name] == reference[name].tolist()


# -- items in pieces -------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["items", None])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_pieces_of_any_size_are_ranked_as_the_whole(monkeypatch, size, inference):
    # so that not everybody is compared with everybody
    monkeypatch.setattr("pairscore.model.ranking.REFERENCE_ITEMS", 50)
    rng = np.random.default_rng(size)
    values = rng.normal(size=(200, 3)).round(1)
    votes = rng.integers(0, 200, (900, 2))
    model = RankRegression(inference=inference).fit(values, votes[votes[:, 0] != votes[:, 1]])
    whole = model.rank(values)
    starts = range(0, 200, size)
    pieces = rank_pieces(model.result_, lambda: (values[first : first + size] for first in starts))
    np.testing.assert_array_equal(pieces["row"], whole["id"])
    for name in whole.dtype.names[1:]:
        np.testing.assert_allclose(pieces[name], whole[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("level", [-0.5, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("settings", [{}, {"item_effects": True}])
def test_a_level_outside_of_0_and_1_is_refused_also_for_all_items_together(level, settings):
    X, model = fitted(**settings)
    for simultaneous in (False, True):
        with pytest.raises(PairscoreError, match="level is"):
            model.rank(X, level=level, simultaneous=simultaneous)


# -- new items among the fitted ones ---------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"item_effects": True}])
def test_a_new_item_is_placed_among_the_fitted_ones(settings):
    """Against a loop over pairs, of new items and of those compared."""
    X, model = fitted(**settings)
    new = new_items(30)
    table = model.rank(np.vstack([new, X]))
    compared, mean = model.rank(X), model.feature_mean_ @ model.coef_
    half = {row["id"]: row["high"] - row["score"] for row in compared}
    n = model.n_items_
    others = [row for row in compared if is_compared(model, row, mean)]
    assert len(others) == n
    for row in table:
        reach = [np.hypot(row["high"] - row["score"], half[other["id"]]) for other in others]
        gaps = [other["score"] - row["score"] for other in others]
        above = sum(gap > far for gap, far in zip(gaps, reach, strict=True))
        below = sum(gap < -far for gap, far in zip(gaps, reach, strict=True))
        is_new = all(abs(gap) > 1e-9 for gap in gaps)
        assert row["place_low"] == 1 + above
        assert row["place_high"] == n - below + is_new


def is_compared(model, row, mean):
    return np.min(np.abs(model.fitted_scores_[0] - mean - row["score"])) < 1e-9


def test_places_of_new_items_hold_the_true_place():
    """Of 40 new items in 12 studies; places of one study are not independent of each other."""
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, new, beta = rng.normal(size=(80, 4)), rng.normal(size=(40, 4)), np.full(4, 0.5)
        votes = rng.integers(0, 80, (900, 2))
        votes = votes[votes[:, 0] != votes[:, 1]]
        lost = rng.random(len(votes)) > 1 / (1 + np.exp((X[votes[:, 1]] - X[votes[:, 0]]) @ beta))
        votes[lost] = votes[lost][:, ::-1]
        ranking = RankRegression().fit(X, votes).rank(new)
        true = 1 + np.count_nonzero(X @ beta > (new[ranking["id"]] @ beta)[:, None], axis=1)
        holds = (ranking["place_low"] <= true) & (true <= ranking["place_high"])
        shares.append(holds.mean())
    # each pair is counted at 95 %, so a place is missed less often than 5 times of 100
    error = np.sqrt(0.05 * 0.95 / len(shares))
    assert np.mean(shares) > 0.95 - 3 * error


# -- chances of pairs ------------------------------------------------------------------------------


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


# -- worth -----------------------------------------------------------------------------------------


def test_worth_gives_strengths_that_sum_to_one_and_share_out_wins():
    """With features and without; p_i / (p_i + p_j) is the chance of a decided comparison."""
    items, votes = draw_study(11, n_items=12)
    free, model = RankRegression().fit(None, votes), RankRegression(inference=None)
    model.fit(items, votes)
    for one in (free, model):
        table = one.worth()
        assert list(table.columns) == ["id", "worth"]
        assert sorted(table["id"]) == list(range(12))
        worth = table.set_index("id")["worth"]
        assert worth.sum() == pytest.approx(1, abs=1e-12)
        p = one.predict_proba(one.comparisons_)[:, 1]
        left, right = worth[votes["left"]].to_numpy(), worth[votes["right"]].to_numpy()
        np.testing.assert_allclose(left / (left + right), p, rtol=1e-9)
    gap = free.item_effects_.effect[3] - free.item_effects_.effect[5]
    assert free.worth([3, 5])["worth"][0] == pytest.approx(expit(gap), rel=1e-9)
    new = pd.DataFrame([[0.0] * 4, [1.0, 0, 0, 0]], columns=list("abcd"))
    assert model.worth(new)["worth"][1] == pytest.approx(expit(model.coef_[0]), rel=1e-9)


def test_worth_with_ties_is_that_of_decided_comparisons():
    items, votes = draw_study(12)
    votes.loc[::3, "winner"] = "tie"
    model = RankRegression(inference=None).fit(items, votes)
    worth = model.worth().set_index("id")["worth"]
    left, right = worth[votes["left"]].to_numpy(), worth[votes["right"]].to_numpy()
    p = model.predict_proba(model.comparisons_)[:, 1]
    np.testing.assert_allclose(left / (left + right), p, rtol=1e-9)


def test_worth_is_that_of_r():
    for study_name in ("baseball", "citations"):
        items, votes = read_study(study_name)
        largest = r_numbers(study_name, "worth")["largest"]
        for table in (items, None):
            model = RankRegression(inference="model").fit(table, votes)
            assert np.max(model.worth()["worth"]) == pytest.approx(largest, rel=1e-6)


def test_worth_is_refused_where_items_share_no_scale(tmp_path):
    items, votes = draw_study(13)
    with pytest.raises(PairscoreError, match="link='logit'"):
        RankRegression(link="probit").fit(items, votes).worth()
    model = RankRegression().fit(items, votes)
    model.save(tmp_path / "model.npz")
    with pytest.raises(PairscoreError, match="give a table of items"):
        RankRegression.load(tmp_path / "model.npz").worth()
    items["year"] = items["id"] % 2
    votes = votes[votes["left"] % 2 == votes["right"] % 2]
    with pytest.warns(UserWarning, match="'year'"):
        apart = RankRegression().fit(items, votes)
    with pytest.raises(PairscoreError, match="2 groups"):
        apart.worth()


# -- many pairs ------------------------------------------------------------------------------------


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
    assert many[-1] == "... and 10 pairs more; to_frame() has all"
    assert many[3] == str(model.difference(3, 33))
    unknown = RankRegression(inference=None).fit(items, votes).difference(3, 5)
    assert "[unknown, unknown]; chance that the" in str(unknown)


@pytest.mark.parametrize("kind", [pd.DataFrame, dict])
def test_items_that_cannot_be_scored_are_left_out_if_asked(kind):
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"id": [f"i{row}" for row in range(30)], "a": rng.normal(size=30)})
    items["tissue"] = [("dry", "wet")[row % 2] for row in range(30)]
    left = rng.integers(0, 30, 200)
    right = (left + rng.integers(1, 30, 200)) % 30
    won = items["a"].to_numpy()[left] - items["a"].to_numpy()[right] + rng.logistic(size=200) > 0
    votes = {"left": items["id"].to_numpy()[left], "right": items["id"].to_numpy()[right]}
    votes["winner"] = np.where(won, "left", "right")
    model = RankRegression().fit(items, votes, categorical=["tissue"])
    new = pd.DataFrame({"id": ["x", "y", "z"], "a": [1.0, np.nan, 2.0]})
    new["tissue"] = ["dry", "wet", "bone"]
    table = kind(new.to_dict("list")) if kind is dict else new
    with pytest.raises(
        PairscoreError, match=r"did not know.*, or rank the others with unknown='sk"
    ):
        model.rank(table)
    with pytest.raises(
        PairscoreError, match="fill them in, or rank the others with unknown='skip'"
    ):
        model.rank(new[:2])
    with pytest.warns(PairscoreWarning, match="2 of 3 items could not be scored, and are not") as w:
        ranking = model.rank(table, unknown="skip")
    assert "'tissue': a level that the fit did not know" in str(w[0].message)
    assert isinstance(ranking, kind)
    assert list(ranking["id"]) == ["x"]
    twice = pd.concat([new[:1], new[:1].assign(a=3.0), new[:1].assign(id="v")])
    with pytest.warns(PairscoreWarning, match="2 of 3 items could not be scored"):
        assert list(model.rank(twice, unknown="skip")["id"]) == ["v"]
    np.testing.assert_array_equal(ranking["score"], model.rank(new[:1])["score"])
    with pytest.raises(PairscoreError, match="unknown is 'no'; use 'stop' or 'skip'"):
        model.rank(table, unknown="no")
    with pytest.raises(PairscoreError, match="did not know"):
        model.rank(new[2:], unknown="skip")
