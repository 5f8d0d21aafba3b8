"""Context, sides, judges and ties fitted together: estimates, errors, refusals, notes, scores."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from scipy.stats import norm
from sklearn.model_selection import cross_val_score

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression, compare, load
from pairscore.core.links import Logit
from pairscore.core.ties import TieRule
from pairscore.data.judges import judge_labels
from pairscore.effects.design import _Columns, _rows_of_comparisons, prepare_fit
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewJudgesWarning,
    PairscoreWarning,
    SeparationWarning,
)
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.files.tables import read_table
from tests.effects.simulators import BETA, full_votes, judged_votes
from tests.estimators.test_outside_results import DATA
from tests.estimators.test_separation import tables
from tests.limits import fair_squares


@pytest.mark.parametrize("folder", ["baseball", "heaviness"])
@pytest.mark.parametrize("inference", ["model", "items"])
@pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
def test_home_as_context_is_the_known_side_effect(folder, inference):
    items, votes = (
        read_table(DATA / folder / "items.csv"),
        dict(read_table(DATA / folder / "votes.csv")),
    )
    known = RankRegression(side_effect=True, inference=inference).fit(items, votes)
    model = RankRegression(context=["home"], inference=inference).fit(
        items, votes | {"home": np.ones(len(votes["left"]))}
    )
    np.testing.assert_allclose(model.coef_, known.coef_, atol=1e-7)
    np.testing.assert_allclose(model.std_errors_, known.std_errors_, atol=1e-7)
    assert model.effects_.values[0] == pytest.approx(known.side_effect_, abs=1e-7)
    assert model.effects_.std_errors[0] == pytest.approx(known.side_effect_std_error_, abs=1e-7)
    # R
    printed = {"baseball": (0.3022607, 0.1309436), "heaviness": (-0.2901403, 0.0863118)}[folder]
    assert model.effects_.values[0] == pytest.approx(printed[0], abs=1e-6)
    if inference == "model":
        assert model.effects_.std_errors[0] == pytest.approx(printed[1], abs=2e-6)


N_STUDIES = 60
Z = norm.isf(1e-5)


@pytest.fixture(scope="module")
def studies():
    """Estimates and errors of (context, side, tie, slopes) over many studies, and true slopes."""
    found = {"effects": [], "errors": [], "slope": [], "slope_error": [], "true": []}
    for seed in range(N_STUDIES):
        rng = np.random.default_rng([7, seed])
        true = 1 + 0.4 * rng.normal(size=12)
        true /= true.mean()  # slopes are told relative to the average judge at hand
        X, votes = judged_votes(rng, m=2400, slopes=true, tie=0.5)
        model = RankRegression(
            context=["rest"], ties="rao-kupper", judge_slopes=True, side_effect=True
        ).fit(X, votes)
        found["effects"].append(model.effects_.values)
        found["errors"].append(model.effects_.std_errors)
        place = np.array([int(name.split()[1]) for name in model.judges_.name])
        found["slope"].append(model.judges_.slope)
        found["slope_error"].append(model.judges_.std_error)
        found["true"].append(true[place])
    return {name: np.array(values) for name, values in found.items()}


def test_effects_are_unbiased_and_covered(studies):
    truth = np.array([0.4, 0.2, 0.5])
    off = (studies["effects"] - truth) / studies["errors"]
    # maximum likelihood itself is a little too long
    assert np.all(np.abs(off.mean(axis=0)) < Z / np.sqrt(N_STUDIES) + 0.05)
    squares, (low, high) = np.sum(off**2, axis=0), fair_squares(N_STUDIES)
    # python -m benchmarks.recovery says it more closely
    assert np.all((low < squares) & (squares < high))
    low, high = fair_squares(off.size)
    assert 2**2 * squares.sum() > high  # intervals half as wide must fail,
    assert squares.sum() / 2**2 < low  # and twice as wide


def test_slopes_are_covered(studies):
    off = (studies["slope"] - studies["true"]) / studies["slope_error"]
    covered = np.mean(np.abs(off) < 1.96, axis=1)  # slopes of one study share the scale
    spread = covered.std(ddof=1) / np.sqrt(N_STUDIES)
    assert 0.93 - Z * spread < covered.mean() < 0.97 + Z * spread
    # all judges taken to be alike
    rival = np.abs(1 - studies["true"]) < 1.96 * studies["slope_error"]
    assert rival.mean() < 0.8


def test_robust_to_judges_is_wider_where_judges_have_tastes():
    rng = np.random.default_rng(10)
    n, m, n_judges = 200, 3000, 15
    X = rng.normal(size=(n, 3))
    taste = BETA + rng.normal(size=(n_judges, 3))
    left, judge = rng.integers(0, n, m), rng.integers(0, n_judges, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit(np.einsum("md,md->m", X[left] - X[right], taste[judge]))
    votes = {"left": left, "right": right, "winner": np.where(won, left, right), "judge": judge}
    items, both = (
        RankRegression(inference=kind).fit(X, votes).std_errors_
        for kind in ("items", "items+judges")
    )
    assert np.all(both > 1.5 * items)
    # every vote a judge of its own
    again = RankRegression(inference="items+judges").fit(X, votes | {"judge": np.arange(m)})
    np.testing.assert_allclose(again.std_errors_, items, rtol=0.02)


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({"context": ["speed"]}, {}, "no column 'speed' for the context"),
        ({"context": ["judge"]}, {}, "the context 'judge' is text"),
        ({"context": "rest"}, {}, "a list of column names"),
        ({"context": ["rest"], "method": "paired"}, {}, "use method='mle'"),
        ({"judge_slopes": True}, {"judge": None}, "no column 'judge'"),
        ({"ties": "davidson", "link": "probit"}, {}, "belongs to the logit link"),
        ({"ties": "often"}, {}, "ties is 'often'"),
        ({"side_effect": "left"}, {}, "side_effect is 'left'"),
        ({"inference": "judges"}, {}, "inference is 'judges'"),
    ],
)
def test_what_cannot_be_meant(settings, change, message):
    X, votes = judged_votes(np.random.default_rng(11), n=20, m=100)
    votes = {name: column for name, column in (votes | change).items() if column is not None}
    with pytest.raises(PairscoreError, match=message):
        RankRegression(**settings).fit(X, votes)


def test_missing_context_and_missing_judges_are_named():
    X, votes = judged_votes(np.random.default_rng(12), n=20, m=100)
    gap = votes["rest"].copy()
    gap[[3, 7]] = np.nan
    with pytest.raises(
        PairscoreError, match="the context 'rest' is missing or infinite in 2 rows: row 3"
    ):
        RankRegression(context=["rest"]).fit(X, votes | {"rest": gap})
    judge = votes["judge"].copy()
    judge[4] = None
    with pytest.raises(PairscoreError, match="the judge is missing in 1 row"):
        RankRegression(judge_slopes=True).fit(X, votes | {"judge": judge})
    model = RankRegression(context=["rest"]).fit(X, votes)
    with pytest.raises(PairscoreError, match="lack the context 'rest'"):
        model.predict_proba(Comparisons.from_frames(X, votes)[0])
    with pytest.raises(PairscoreError, match="gives ties no probability"):
        model.predict_ties(Comparisons.from_frames(X, votes, context=["rest"])[0])


def test_a_judge_who_always_says_left_has_a_finite_side():
    X, votes = judged_votes(np.random.default_rng(13), m=600)
    votes["winner"] = np.where(votes["number"] == 2, "left", votes["winner"])
    model = RankRegression(side_effect="judges").fit(X, votes)
    side = model.effects_.of_kind("side")
    assert 3 < side["left, judge 2"] < 10
    assert np.isfinite(model.effects_.std_errors).all()
    with pytest.raises(PairscoreError, match="for at most 300 judges, and there are 600"):
        RankRegression(side_effect="judges").fit(X, votes | {"judge": np.arange(600)})


@pytest.mark.parametrize("n_judges", [1, 2, 3, 12])
@pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
def test_sharing_judges_too_never_narrows(n_judges):
    X, votes = judged_votes(np.random.default_rng(16), m=2000)
    votes["judge"] = np.random.default_rng(17).integers(0, n_judges, 2000)
    items, both = (
        RankRegression(inference=kind).fit(X, votes) for kind in ("items", "items+judges")
    )
    rounding = 1e-8 * np.trace(items.covariance_)  # maxima are found to a tolerance
    assert np.all(np.linalg.eigvalsh(both.covariance_ - items.covariance_) > -rounding)


def test_few_judges_are_told():
    X, votes = judged_votes(np.random.default_rng(18))
    with pytest.warns(
        FewJudgesWarning, match="with 6 judges, intervals that allow for shared judges are rough"
    ):
        RankRegression(inference="items+judges").fit(X, votes)


def test_weights_of_any_unit_and_numbers_of_any_type():
    X, votes = judged_votes(np.random.default_rng(19), m=3000, slopes=np.array([1.5, 1.0, 0.2]))
    model = RankRegression(judge_slopes=True).fit(X, votes | {"judge": votes["number"]})
    light = RankRegression(judge_slopes=True).fit(
        X, votes | {"judge": votes["number"], "weight": np.full(3000, 1.0)}
    )
    np.testing.assert_allclose(light.judges_.slope, model.judges_.slope, rtol=1e-6)
    whole, _ = Comparisons.from_frames(X, votes | {"judge": votes["number"]})
    floats, _ = Comparisons.from_frames(X, votes | {"judge": votes["number"].astype(float)})
    np.testing.assert_array_equal(model.decision_function(whole), model.decision_function(floats))
    closest = np.abs((X[votes["left"]] - X[votes["right"]]) @ BETA) < 0.5
    counted = votes | {"count": np.where(closest, 20, 1)}
    expanded = {name: np.repeat(column, counted["count"]) for name, column in votes.items()}
    one, other = (
        RankRegression(judge_slopes=True).fit(X, table).judges_ for table in (counted, expanded)
    )
    np.testing.assert_allclose(one.noise, other.noise, atol=0.02)  # each by some of the comparisons


@pytest.mark.parametrize("rule", ["davidson", "rao-kupper"])
def test_the_parameter_of_ties_needs_ties_and_winners(rule):
    X, votes = judged_votes(np.random.default_rng(20))
    with pytest.raises(PairscoreError, match="no comparison is a tie; use ties='half'"):
        RankRegression(ties=rule).fit(X, votes)
    with pytest.raises(PairscoreError, match="every comparison is a tie"):
        RankRegression(ties=rule).fit(X, votes | {"winner": np.full(len(votes["left"]), "tie")})


def test_effects_that_are_open_or_endless_are_named():
    X, votes = judged_votes(np.random.default_rng(21), m=400)
    with pytest.warns(
        CollinearFeaturesWarning, match="1 effect not determined by the comparisons.*'zero'"
    ):
        RankRegression(context=["zero"]).fit(X, votes | {"zero": np.zeros(400)})
    sure = np.where(votes["winner"] == "left", 1.0, -1.0)
    with pytest.warns(SeparationWarning, match="how large .*'sure' are"):
        RankRegression(context=["sure"], max_iter=30).fit(X, votes | {"sure": sure})


def test_models_with_ties_are_compared_by_what_they_say_of_decided_comparisons():
    X, votes = judged_votes(np.random.default_rng(23), m=2500, tie=0.6, rule="davidson", side=0.0)
    found = compare(
        {
            "half": RankRegression(context=["rest"]),
            "davidson": RankRegression(context=["rest"], ties="davidson"),
        },
        X,
        votes,
    )
    scores = found.to_record()["scores"]
    losses = {
        row["model"]: row["value"]
        for row in scores
        if (row["kind"], row["measure"]) == ("train-train", "log_loss")
    }
    assert abs(losses["davidson"] - losses["half"]) < 0.005


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
@pytest.mark.parametrize("item_effects", [False, True])
def test_the_difference_of_two_items_and_a_prediction_agree(ties, item_effects):
    X, votes = judged_votes(
        np.random.default_rng(31), n=60, m=900, tie=0.8, rule="davidson" if ties == "half" else ties
    )
    model = RankRegression(ties=ties, item_effects=item_effects).fit(X, votes)
    asked = Comparisons(X, np.array([3]), np.array([8]), np.array([1]))
    assert model.difference(X[[3]], X[[8]]).probability == pytest.approx(
        model.predict_proba(asked)[0, 1], abs=1e-9
    )
    if ties == "rao-kupper":  # the link alone leaves the ties out of account
        assert model.difference(X[[3]], X[[8]]).probability_high != pytest.approx(
            float(expit(model.difference(X[[3]], X[[8]]).high)), abs=1e-3
        )


def test_a_judge_without_a_name_is_missing():
    X, votes = judged_votes(np.random.default_rng(33), n=20, m=60)
    names = np.array([f"judge {number}" for number in votes["judge"]], dtype=object)
    names[7] = " "
    with pytest.raises(PairscoreError, match="the judge is missing in 1 row"):
        RankRegression(judge_slopes=True).fit(X, votes | {"judge": names})


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("context", [[], ["rest"]])
def test_errors_beside_a_ridge_allow_for_as_many_features_as_items(context):
    """A ridge that holds 45 coefficients of noise near zero leaves the side nearly as sure as
    without them; 30 studies, on the safe side by at most two.
    """
    found, errors = [], []
    for seed in range(30):
        rng = np.random.default_rng([34, seed])
        X, left = rng.normal(size=(50, 45)), rng.integers(0, 50, 600)
        right = (left + rng.integers(1, 50, 600)) % 50
        votes = {
            "left": left,
            "right": right,
            "winner": np.where(rng.random(600) < expit(0.3), "left", "right"),
            "rest": rng.normal(size=600),
        }
        model = RankRegression(l2=1000.0, side_effect=True, context=context).fit(X, votes)
        found.append(model.side_effect_)
        errors.append(
            model.side_effect_std_error_ if not context else model.effects_.std_errors[-1]
        )
    assert 0.75 < np.mean(errors) / np.std(found) < 2  # six times without the ridge in the leverage


@pytest.mark.parametrize(
    ("votes_change", "scale", "message"),
    [
        ({"weight": np.full(60, 1e200)}, 1.0, "weights go from"),
        ({"weight": np.full(60, 1e-300)}, 1.0, "weights go from"),
        ({}, 1e200, "so large that sums of their squares may overflow"),
    ],
)
@pytest.mark.parametrize(
    "settings",
    [{}, {"l2": "auto"}, {"judge_slopes": True}, {"item_effects": True}, {"method": "pooled"}],
)
def test_numbers_that_cannot_be_squared_are_refused_in_a_sentence(
    votes_change, scale, message, settings
):
    X, votes = judged_votes(np.random.default_rng(35), n=20, m=60)
    with pytest.raises(PairscoreError, match=message):
        RankRegression(**settings).fit(X * [scale, 1.0, 1.0], votes | votes_change)


def test_a_context_that_cannot_be_squared_is_named():
    X, votes = judged_votes(np.random.default_rng(36), n=20, m=60)
    with pytest.raises(
        PairscoreError, match=r"values beyond 1e\+100 are too large to compute with: 'rest'"
    ):
        RankRegression(context=["rest"]).fit(X, votes | {"rest": 1e200 * votes["rest"]})


def test_a_prepared_fit_has_a_column_for_every_effect():
    X, votes, _ = full_votes(5, n=40, m=300)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    asked = prepare_fit(
        TableData(data, True), Settings("mle", Logit(), context=("rest",), side_effect=True)
    )
    assert asked.names == ("rest", "left")
    assert asked.kinds == ("context", "side")
    assert asked.rows.context.shape[1] == asked.rows.sides.shape[1] == 1


def test_equal_comparisons_are_one_row_that_counts_as_often():
    X = np.random.default_rng(0).normal(size=(4, 1))
    votes = {
        "left": [0, 1, 0, 2],
        "right": [1, 0, 1, 3],
        "winner": ["left", "right", "right", "tie"],
    }
    data, _ = Comparisons.from_frames(X, votes)
    rows = prepare_fit(TableData(data, False), Settings("mle", Logit())).rows
    seen = zip(rows.left, rows.right, rows.outcome, rows.amount, strict=True)
    assert sorted(seen) == [(0, 1, -1, 1), (0, 1, 1, 2), (2, 3, 0, 1)]


def test_everything_is_saved_and_predicted(tmp_path):
    X, votes = judged_votes(np.random.default_rng(8), tie=0.4, slopes=np.array([0.5, 1.0, 1.5]))
    model = RankRegression(
        context=["rest"], ties="davidson", judge_slopes=True, side_effect="judges"
    ).fit(X, votes)
    model.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    for method in ("decision_function", "predict_proba", "predict_ties"):
        assert np.array_equal(getattr(model, method)(data), getattr(again, method)(data))
    assert str(again.summary()) == str(model.summary())
    assert again.judges_.to_columns() == model.judges_.to_columns()
    slope = dict(zip(model.judges_.name.tolist(), model.judges_.slope.tolist(), strict=True))
    side = model.effects_.of_kind("side")
    scores = X @ model.coef_
    row = 5
    who = votes["judge"][row]
    expected = (
        slope[who]
        * (
            scores[data.left[row]]
            - scores[data.right[row]]
            + model.effects_.values[0] * votes["rest"][row]
        )
        + side[f"left, {who}"]
    )
    assert model.decision_function(data)[row] == pytest.approx(expected)
    eta = model.decision_function(data)
    # of decided comparisons, whatever the ties
    scale = model.decided_scale_
    np.testing.assert_allclose(model.predict_proba(data)[:, 1], expit(scale * eta))
    assert 0.8 < scale < 1.2
    stranger, _ = Comparisons.from_frames(
        X, votes | {"judge": np.array(["new"] * len(eta), dtype=object)}, context=["rest"]
    )
    plain = (
        scores[data.left]
        - scores[data.right]
        + model.effects_.values[0] * votes["rest"]
        + np.mean(list(side.values()))
    )
    np.testing.assert_allclose(model.decision_function(stranger), plain)


def test_slices_and_folds_keep_context_and_judges():

    X, votes = judged_votes(np.random.default_rng(9))
    data, y = Comparisons.from_frames(X, votes, context=["rest"])
    part = data[10:20]
    assert np.array_equal(part.context["rest"], votes["rest"][10:20])
    with_context = cross_val_score(
        RankRegression(context=["rest"], inference=None),
        data,
        y,
        cv=ItemKFold(4),
        scoring="neg_log_loss",
    ).mean()
    without = cross_val_score(
        RankRegression(inference=None), data, y, cv=ItemKFold(4), scoring="neg_log_loss"
    ).mean()
    assert with_context > without


def test_context_must_be_in_the_comparisons():
    X, votes = judged_votes(np.random.default_rng(22))
    with pytest.raises(PairscoreError, match="lack the context 'rest'"):
        RankRegression(context=["rest"]).fit(Comparisons.from_frames(X, votes)[0])


def test_one_separated_item_hardly_moves_what_is_fitted_beside_a_context():
    """The ridge is along the item's own column alone, which pulls by a fiftieth of a vote."""
    items, votes, never_lost = tables()
    votes["rest"] = np.random.default_rng(1).normal(size=len(never_lost))
    settings = {"context": ["rest"], "missing": "item-effect", "inference": "model"}
    with pytest.warns(SeparationWarning, match="how large 'item item-3' is"):
        model = RankRegression(**settings).fit(items, votes)
    others = {name: column[~never_lost] for name, column in votes.items()}
    with pytest.warns(CollinearFeaturesWarning):
        without = RankRegression(**settings).fit(items, others)
    moved = (model.coef_ - without.coef_) / without.std_errors_
    assert np.nanmax(np.abs(moved)) < 0.003
    np.testing.assert_allclose(model.effects_.values, without.effects_.values, atol=1e-4)


def test_pairs_without_their_context_are_told_how_to_have_it():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(60, 2)), rng.permuted(np.tile(np.arange(60), (400, 1)), axis=1)
    votes = {"left": rows[:, 0], "right": rows[:, 1], "winner": rng.choice(["left", "right"], 400)}
    model = RankRegression(context=["len"]).fit(X, votes | {"len": rng.normal(size=400)})
    with pytest.raises(PairscoreError, match=r"Comparisons.from_pairs and len\."):
        model.predict_proba(Comparisons.from_pairs(X, [0], [1]))
    with pytest.raises(PairscoreError, match=r"Comparisons.from_frames and context=\['len'\]"):
        model.predict_proba(Comparisons.from_frames(X, votes)[0])


@pytest.mark.parametrize(
    ("judges", "names"),
    [
        (np.array(["Anna", "2", "2.0"]), ["Anna", "2", "2.0"]),
        (np.array(["Anna", 2.0, 7, 2.5, True], dtype=object), ["Anna", "2", "7", "2.5", "True"]),
        (np.array([1.0, 2.0, np.nan]), ["1", "2", "nan"]),
        (np.array([3, 4]), ["3", "4"]),
    ],
)
def test_judges_are_called_as_their_table_calls_them(judges, names):
    assert judge_labels(judges) == names


@pytest.mark.parametrize("item_effects", [True, False])
def test_ties_of_whole_weights_that_no_double_adds_exactly_stay_ties(item_effects):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 12, 200)
    right = (left + rng.integers(1, 12, 200)) % 12
    weight = np.where(rng.random(200) < 0.5, 1.0, 1e16)
    X = rng.normal(size=(12, 2)) if item_effects else None
    votes = {"left": left, "right": right, "winner": ["tie"] * 200, "weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        model = RankRegression(item_effects=item_effects).fit(X, votes)
    assert model.decided_scale_ == 1.0
    np.testing.assert_allclose(model.item_effects_.effect, 0.0, atol=1e-15)


def test_rows_are_sorted_by_pair_with_millions_of_items_and_judges():
    """The numbers of two items, a kind of row and a judge make no number of 64 bits."""
    n, judges = 2_000_000, 600_000
    low, high = np.array([5, n - 3, n - 9, n - 3]), np.array([7, n - 2, n - 4, n - 2])
    judge = np.array([judges - 1, 3, judges - 2, 1])
    data = TableData(Comparisons(np.arange(float(n))[:, None], low, high, [1, -1, 1, -1]), False)
    settings = Settings("mle", Logit(), judge_slopes=True)
    rule, sides = TieRule("half", Logit()), sparse.csr_array((4, 0))
    columns = _Columns(np.empty((4, 0)), sides, judge, judges)
    rows = _rows_of_comparisons(data, settings, columns, rule, np.zeros((1, 1)))
    assert rows.left.tolist() == [5, n - 9, n - 3, n - 3]
    assert rows.right.tolist() == [7, n - 4, n - 2, n - 2]
    assert rows.judge.tolist() == [judges - 1, judges - 2, 1, 3]
    pairs, place = rows.pairs, rows.pair
    assert pairs.low.tolist() == [5, n - 9, n - 3]
    assert pairs.high.tolist() == [7, n - 4, n - 2]
    assert place.tolist() == [0, 1, 2, 2]
