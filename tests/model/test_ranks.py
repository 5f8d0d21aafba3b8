"""Ranks and scores with their intervals, against formulas written out as loops."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2, norm

from pairscore import PairscoreError, RankRegression
from pairscore.errors import PairscoreWarning
from pairscore.model.predict import linear_scores
from pairscore.model.rank_intervals import rank_intervals_by_pieces
from pairscore.model.ranks import rank_pieces
from tests.data.conftest import every_table, study

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
    monkeypatch.setattr("pairscore.model.rank_intervals.REFERENCE_ITEMS", 7)
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
    monkeypatch.setattr("pairscore.model.rank_intervals.REFERENCE_ITEMS", reference)
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
    model.result_ = model.result_.with_kept(feature_names=("a", "b", "c"))
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
    monkeypatch.setattr("pairscore.model.rank_intervals.REFERENCE_ITEMS", 50)
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


@pytest.mark.parametrize("width", [0.01, 0.3, 30.0])
@pytest.mark.parametrize("unknown", [[], [0, 7, 399]])
def test_items_far_apart_need_no_look_and_are_counted(width, unknown):
    """Scores and errors that differ by factors of 1000, in pieces, some items unknown."""
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(400, 3)) * 10.0 ** rng.uniform(-2, 1, (400, 1))
    coef, half = np.array([1.0, -1.0, 0.5]), rng.normal(size=(3, 3))
    covariance = half @ half.T
    variance = rng.uniform(0, 4, 400) * (np.arange(400) % 3 == 0)
    variance[unknown] = np.inf
    scores = Z @ coef
    order = np.argsort(-scores, kind="stable")
    low, high = rank_intervals_by_pieces(
        scores, order, lambda: [Z[:150], Z[150:]], covariance, width, variance
    )
    gap = scores - scores[:, None]
    apart = Z - Z[:, None]
    error = np.einsum("ijk,kl,ijl->ij", apart, covariance, apart) + variance + variance[:, None]
    surely = np.abs(gap) > width * np.sqrt(error)
    better = (surely & (gap > 0)).sum(axis=1)
    worse = (surely & (gap < 0)).sum(axis=1)
    assert low.tolist() == (1 + better[order]).tolist()
    assert high.tolist() == (400 - worse[order]).tolist()


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


# -- worth -----------------------------------------------------------------------------------------


# -- many pairs ------------------------------------------------------------------------------------


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
