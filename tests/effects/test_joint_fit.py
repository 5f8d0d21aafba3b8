"""Item effects fitted together with all else: truth recovered, ranks, predictions, files."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression, load
from pairscore.cli.commands import main
from pairscore.core.links import Logit
from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.ties import OutcomeLaw, TieRule
from tests.effects.recovery import (
    all_effects,
    assert_ends_in_a_model,
    context_and_items,
    item_effects_alone,
    opposed_judges,
    thin_studies,
)
from tests.effects.simulators import EFFECTS, averaged, context_votes, draw, full_votes
from tests.limits import fair_misses, fair_squares, largest_mean


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_slopes_ties_context_and_effects_of_items_are_recovered_together():
    """Squared z-scores of two large studies; without item effects they must be too large."""
    found = all_effects(range(2), n=300, m=12_000, n_judges=6)
    low, high = fair_squares(found["z"].size, n_sums=2, alike=2)  # they share their scale
    assert low < np.sum(found["z"] ** 2) < high
    assert np.sum(found["rival"] ** 2) > high
    low, high = fair_squares(found["slopes"].size, n_sums=2, alike=2)
    assert low < np.sum(found["slopes"] ** 2) < high
    assert found["held"].any()


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_judges_who_vote_against_the_others_do_not_hide_what_items_are():
    """The same votes, those of two inverted judges turned round, give the same sigma^2."""
    ratio, _, finite, negative = opposed_judges(range(1), m=6000)
    assert abs(ratio[0] - 1) < 0.05
    assert finite.all()
    assert negative == [[4, 5]]


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_judges_against_the_others_are_seen_where_little_common_order_is_left():
    """Nobody had a slope of their own, and sigma^2 was doubled."""
    ratio, _, finite, negative = opposed_judges([3])
    assert abs(ratio[0] - 1) < 0.1
    assert finite.all()
    assert negative == [[4, 5]]


def test_the_model_is_kept_updated_and_asked_with_all_of_it(tmp_path):
    X, votes, _ = full_votes(1, "rao-kupper", n=80, m=1500)
    settings = {
        "item_effects": True,
        "judge_slopes": True,
        "ties": "rao-kupper",
        "context": ["rest"],
        "side_effect": True,
        "inference": "items+judges",
    }
    model = RankRegression(**settings).fit(X, votes)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    model.save(tmp_path / "m.npz", data=True)
    again = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    np.testing.assert_array_equal(again.predict_ties(data), model.predict_ties(data))
    known, slope = (
        model.item_effects_,
        dict(zip(model.judges_.name.tolist(), model.judges_.slope, strict=True)),
    )
    spread = known.std_error[data.left] ** 2 + known.std_error[data.right] ** 2
    spread -= 2 * naive_covariance(known)[data.left, data.right]
    wide = np.sqrt(spread) * np.abs([slope[name] for name in data.judge.tolist()])
    tie = averaged_probabilities(
        OutcomeLaw(TieRule("rao-kupper", Logit()), model.tie_parameter_),
        model.decision_function(data),
        wide,
    )[1]
    np.testing.assert_allclose(model.predict_ties(data), tie, rtol=1e-5)
    first = {name: column[:1000] for name, column in votes.items()}
    rest = {name: column[1000:] for name, column in votes.items()}
    updated = RankRegression(**settings).fit(X, first).update(rest)
    np.testing.assert_allclose(updated.coef_, model.coef_, rtol=1e-3)
    np.testing.assert_allclose(updated.judges_.slope, model.judges_.slope, atol=2e-3)
    text = str(model.summary())
    for part in ("judges  ", "ties (rao-kupper)", "context rest", "item effects"):
        assert part in text


def test_without_effects_of_items_slopes_are_those_of_the_plain_fit():
    X, votes, _ = full_votes(4, sigma=0.0)
    both, plain = (
        RankRegression(item_effects=True, judge_slopes=True).fit(X, votes),
        RankRegression(judge_slopes=True).fit(X, votes),
    )
    assert both.item_effects_.sigma2 < 0.05
    np.testing.assert_allclose(both.judges_.slope, plain.judges_.slope, atol=0.1)
    np.testing.assert_allclose(both.coef_, plain.coef_, rtol=0.06)


def test_weights_have_no_unit():
    X, votes, _ = full_votes(6, n=60, m=900)
    table = pd.DataFrame(votes)
    one, ten = (
        RankRegression(item_effects=True, judge_slopes=True, inference=None).fit(
            X, table.assign(weight=weight)
        )
        for weight in (np.ones(900), np.full(900, 10.0))
    )
    np.testing.assert_allclose(one.coef_, ten.coef_, rtol=1e-4)
    np.testing.assert_allclose(one.judges_.slope, ten.judges_.slope, atol=1e-3)
    assert one.item_effects_.sigma2 == pytest.approx(ten.item_effects_.sigma2, rel=1e-3)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_few_votes_large_effects_coins_and_hardly_any_decision_end_in_a_model(link):
    for X, votes, ties in thin_studies([0], n=40, m=250):
        assert_ends_in_a_model(X, votes, ties=ties, link=link)


def test_errors_do_not_depend_on_the_unit_of_the_context():
    X, votes, _ = full_votes(8, n=60, m=900)
    small = votes | {"rest": 1e-9 * votes["rest"]}
    one, other = (
        RankRegression(item_effects=True, judge_slopes=True, context=["rest"]).fit(X, these)
        for these in (votes, small)
    )
    np.testing.assert_allclose(other.std_errors_, one.std_errors_, rtol=1e-3)
    np.testing.assert_allclose(1e-9 * other.effects_.std_errors, one.effects_.std_errors, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_variance_coefficients_and_scores_are_recovered():
    found = item_effects_alone(20)
    for name in ("sigma2", "coef"):
        assert abs(found[name].mean()) < largest_mean(found[name], n_sums=4)
    for name in ("known", "new"):
        limit = 0.02 + largest_mean(found[name], n_sums=4)
        assert abs(found[name].mean() - 0.95) < limit
    assert np.all(np.sum(~found["held"], axis=0) <= fair_misses(20, n_sums=2)[1])
    assert found["rival"].mean() < -largest_mean(found["rival"])  # features alone: too flat


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("per_item", [1, 3, 30])
def test_never_worse_than_features_or_identities_alone(per_item):
    """Differences of expected log-loss over six studies, each parent beaten or met within four
    paired errors; the ridge of identities is the best one.
    """
    rng, gaps = np.random.default_rng(per_item), []
    for _ in range(6):
        _, _, score, data = draw(rng, 200, 100 * per_item)
        left, right = rng.integers(0, 200, (2, 3000))
        truth, asked = (
            expit(score[left] - score[right]),
            Comparisons(data.items, left, right, np.ones(3000, dtype=np.int8)),
        )
        alone = [
            RankRegression(l2=200 / ridge, inference=None)
            .fit(Comparisons(np.eye(200), data.left, data.right, data.outcome))
            .coef_
            for ridge in np.geomspace(0.1, 10, 5)
        ]
        guesses = [
            clone(EFFECTS).fit(data).predict_proba(asked)[:, 1],
            RankRegression(inference=None).fit(data).predict_proba(asked)[:, 1],
        ]
        guesses += [expit(effect[left] - effect[right]) for effect in alone]
        loss = [
            -np.mean(truth * np.log(guess) + (1 - truth) * np.log(1 - guess)) for guess in guesses
        ]
        gaps.append([loss[0] - loss[1], loss[0] - min(loss[2:])])
    mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0) / np.sqrt(5)
    assert np.all(mean < 4 * error)
    if per_item == 30:
        assert mean[0] < -0.05


ITEMS, _, SCORE, DATA = draw(np.random.default_rng(9), 80, 800)


FRAME = pd.DataFrame(ITEMS, columns=["a", "b", "c"]).assign(id=[f"item {row}" for row in range(80)])


VOTES = pd.DataFrame(
    {
        "left": FRAME["id"].to_numpy()[DATA.left],
        "right": FRAME["id"].to_numpy()[DATA.right],
        "winner": np.where(DATA.outcome > 0, "left", "right"),
    }
)


@pytest.fixture(scope="module")
def fitted():
    """A model with item effects, of items that have names."""
    return clone(EFFECTS).fit(FRAME, VOTES)


def test_without_item_effects_there_are_none():
    model = RankRegression().fit(FRAME, VOTES)
    assert model.item_effects_ is None
    assert "item effects" not in str(model.summary())


def test_old_items_are_known_by_id_and_new_ones_have_none(fitted):
    effects = fitted.item_effects_
    features = FRAME[["a", "b", "c"]].to_numpy() @ fitted.coef_
    np.testing.assert_allclose(fitted.decision_function(FRAME), features + effects.effect)
    np.testing.assert_allclose(
        fitted.decision_function(FRAME[::-1]), (features + effects.effect)[::-1]
    )
    np.testing.assert_allclose(
        fitted.decision_function(FRAME.assign(id=[f"new {row}" for row in range(80)])), features
    )
    assert effects.ids.tolist() == FRAME["id"].tolist()
    assert np.corrcoef(features + effects.effect, SCORE)[0, 1] > np.corrcoef(features, SCORE)[0, 1]
    old, new = fitted.rank(FRAME), fitted.rank(FRAME.assign(id=[f"new {row}" for row in range(80)]))
    assert (old["high"] - old["low"]).mean() < 0.8 * (new["high"] - new["low"]).mean()
    away = FRAME[["a", "b", "c"]].to_numpy() - fitted.feature_mean_
    errors = np.sqrt(np.einsum("ij,jk,ik->i", away, fitted.covariance_, away) + effects.sigma2)
    naive = dict(zip([f"new {row}" for row in range(80)], 1.959964 * errors, strict=True))
    np.testing.assert_allclose(
        (new["high"] - new["score"]).to_numpy(), [naive[name] for name in new["id"]], rtol=1e-6
    )


def test_tables_without_ids_are_known_by_their_features(fitted):
    model = clone(EFFECTS).fit(DATA)
    np.testing.assert_allclose(
        model.decision_function(ITEMS), fitted.decision_function(FRAME), atol=1e-6
    )
    np.testing.assert_allclose(
        model.decision_function(ITEMS[[5, 5, 3]]), model.decision_function(ITEMS)[[5, 5, 3]]
    )
    np.testing.assert_allclose(fitted.decision_function(ITEMS), fitted.decision_function(FRAME))
    np.testing.assert_allclose(
        model.decision_function(ITEMS.astype(np.float32)), model.decision_function(ITEMS), rtol=1e-5
    )
    np.testing.assert_allclose(
        model.decision_function(ITEMS + 0.001), (ITEMS + 0.001) @ model.coef_
    )
    np.testing.assert_allclose(
        model.decision_function(DATA[:7]),
        (model.decision_function(ITEMS)[DATA.left] - model.decision_function(ITEMS)[DATA.right])[
            :7
        ],
    )


def test_rank_intervals_equal_a_double_loop(fitted):
    for simultaneous in (False, True):
        ranking = fitted.rank(FRAME, simultaneous=simultaneous)
        known = fitted.item_effects_
        rows = [int(name.split()[1]) for name in ranking["id"]]
        left_over = known.share[:, None] * (ITEMS - fitted.feature_mean_)
        width = norm.ppf(1 - 0.05 / (80 * 81)) if simultaneous else norm.ppf(0.975)
        score = fitted.decision_function(FRAME)
        for place, i in enumerate(rows):
            gaps = np.array([left_over[i] - left_over[j] for j in rows])
            error = np.sqrt(
                np.einsum("ij,jk,ik->i", gaps, fitted.covariance_, gaps)
                + known.std_error[i] ** 2
                + known.std_error[rows] ** 2
            )
            assert ranking["rank_low"][place] == min(
                1 + np.sum(score[rows] - score[i] > width * error), place + 1
            )
            assert ranking["rank_high"][place] == max(
                80 - np.sum(score[i] - score[rows] > width * error), place + 1
            )


def steep(model, chance, n_new):
    """Chances with the factor of pairs with so many new items."""
    calibration = model.item_effects_.calibration
    share, odds = calibration.coin_share, np.log(chance / (1 - chance))
    return share / 2 + (1 - share) / (1 + np.exp(-calibration.factor[n_new] * odds))


def test_the_difference_of_two_items_has_the_error_of_both(fitted):
    one, two = FRAME.iloc[[3]], FRAME.iloc[[8]].assign(id="new")
    found, effects = fitted.difference(one, two), fitted.item_effects_
    assert found.difference == pytest.approx(
        float(fitted.decision_function(one)[0] - fitted.decision_function(two)[0])
    )
    gap = effects.share[3] * (ITEMS[3] - fitted.feature_mean_) - (ITEMS[8] - fitted.feature_mean_)
    variance = effects.std_error[3] ** 2 + effects.sigma2
    assert found.high - found.difference == pytest.approx(
        1.959964 * np.sqrt(gap @ fitted.covariance_ @ gap + variance), rel=1e-6
    )
    averages = averaged(Logit(), np.array([found.difference]), np.array([variance]))
    assert found.probability == pytest.approx(steep(fitted, averages, 1)[0])
    assert fitted.difference(one, one).high == 0


def naive_covariance(effects):
    """(L + I / sigma^2)^-1, pair by pair."""
    precision = np.eye(len(effects.effect)) / effects.posterior_sigma2
    for low, high, weight in zip(
        effects.pairs.low, effects.pairs.high, effects.pairs.weight, strict=True
    ):
        ends = np.zeros(len(precision))
        ends[low], ends[high] = 1, -1
        precision += weight * np.outer(ends, ends)
    return np.linalg.inv(precision)


def test_predictions_are_averaged_over_the_effects_that_are_not_known(fitted):
    """Two items that met are known better against each other than each by itself."""
    X, _ = Comparisons.from_frames(FRAME, VOTES)
    variance, shared = fitted.item_effects_.std_error**2, naive_covariance(fitted.item_effects_)
    spread = variance[X.left] + variance[X.right] - 2 * shared[X.left, X.right]
    expected = steep(fitted, averaged(Logit(), fitted.decision_function(X), spread), 0)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], expected, rtol=1e-6)
    assert np.array_equal(fitted.predict(X) == 1, expected > 0.5)
    assert np.all(shared[X.left, X.right] > 0)
    new = Comparisons.from_frames(FRAME.assign(id=[f"new {k}" for k in range(80)]), DATA.votes)[0]
    wide = np.full(len(new), 2 * fitted.item_effects_.sigma2)
    np.testing.assert_allclose(
        fitted.predict_proba(new)[:, 1],
        steep(fitted, averaged(Logit(), fitted.decision_function(new), wide), 2),
    )


@pytest.mark.parametrize(
    "items", [FRAME, FRAME.assign(id=np.arange(80) * 3), FRAME.drop(columns="id")]
)
def test_a_saved_model_knows_its_items(items, tmp_path):
    names = items["id"].to_numpy() if "id" in items else np.arange(80)
    model = clone(EFFECTS).fit(items, VOTES.assign(left=names[DATA.left], right=names[DATA.right]))
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(again.rank(items), model.rank(items))
    assert str(again.summary()) == str(model.summary())
    assert again.item_effects_.interval == model.item_effects_.interval
    assert again.get_params() == model.get_params()


def test_the_command_ranks_with_the_effects(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    FRAME.to_csv(tmp_path / "items.csv", index=False)
    done = CliRunner().invoke(
        main,
        [
            "rank",
            str(tmp_path / "model.npz"),
            str(tmp_path / "items.csv"),
            "-o",
            str(tmp_path / "ranking.csv"),
        ],
    )
    assert done.exit_code == 0, done.output
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "ranking.csv"), fitted.rank(FRAME), check_dtype=False
    )


def test_ids_that_no_array_holds_are_refused_by_save(tmp_path):
    mixed = FRAME.assign(id=[row if row % 2 else f"item {row}" for row in range(80)])
    names = mixed["id"].to_numpy()
    model = clone(EFFECTS).fit(mixed, VOTES.assign(left=names[DATA.left], right=names[DATA.right]))
    with pytest.raises(PairscoreError, match="neither all text nor all numbers"):
        model.save(tmp_path / "model.npz")


def test_cross_validation_goes_by_items_that_were_seen_and_by_new_ones():
    X, y = Comparisons.from_frames(FRAME, VOTES)
    folds = KFold(4, shuffle=True, random_state=0)
    seen, plain = (
        cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss").mean()
        for model in (EFFECTS, RankRegression())
    )
    assert seen > plain
    new, plain = (
        cross_val_score(model, X, y, cv=ItemKFold(3), scoring="neg_log_loss").mean()
        for model in (EFFECTS, RankRegression())
    )
    assert new == pytest.approx(plain, abs=0.02)


def test_the_summary_says_how_much_the_features_explain(fitted):
    text = str(fitted.summary())
    assert "item effects     standard deviation" in text
    assert "the features explain" in text
    record = fitted.summary().to_record()["item_effects"]
    assert record["sigma2"] == fitted.item_effects_.sigma2
    assert 0.2 < fitted.item_effects_.explained < 0.8  # one half in truth, and 80 items


@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
def test_closed_forms_have_no_item_effects(method):
    with pytest.raises(PairscoreError, match=f"method='{method}' has none; use method='mle'"):
        RankRegression(method, item_effects=True).fit(FRAME, VOTES)
    with pytest.raises(PairscoreError, match="item_effects is 'yes'; use True, False or 'auto'"):
        RankRegression(item_effects="yes").fit(FRAME, VOTES)


def test_differences_without_items_have_no_item_effects():
    with pytest.raises(PairscoreError, match="a matrix of differences does not say"):
        clone(EFFECTS).fit(np.random.default_rng(0).normal(size=(20, 2)), np.tile([1, -1], 10))


def test_the_side_effect_is_on_the_same_scale_and_sides_do_not_matter():
    swapped = VOTES.assign(
        left=VOTES["right"],
        right=VOTES["left"],
        winner=VOTES["winner"].map({"left": "right", "right": "left"}),
    )
    one, two = (
        RankRegression(item_effects=True, side_effect=True).fit(FRAME, votes)
        for votes in (VOTES, swapped)
    )
    assert one.side_effect_ == pytest.approx(-two.side_effect_, rel=1e-6)
    assert one.item_effects_.sigma2 == pytest.approx(two.item_effects_.sigma2, rel=1e-3)
    assert abs(one.side_effect_) < 4.5 * one.side_effect_std_error_  # there is none


def test_counts_are_so_many_comparisons():
    counted = VOTES[:300].assign(count=2)
    expanded = pd.concat([VOTES[:300], VOTES[:300]])
    one, two = (clone(EFFECTS).fit(FRAME, votes) for votes in (counted, expanded))
    np.testing.assert_allclose(
        one.decision_function(FRAME), two.decision_function(FRAME), rtol=1e-6
    )


def test_a_constant_context_is_the_side_effect():
    X, votes = context_votes(0)
    votes["one"] = np.ones(len(votes["left"]))
    side = RankRegression(item_effects=True, side_effect=True).fit(X, votes)
    context = RankRegression(item_effects=True, context=["one"]).fit(X, votes)
    # the draws behind the spread of sigma^2 differ
    assert context.effects_.values[0] == pytest.approx(side.side_effect_, rel=0.02)
    assert context.item_effects_.sigma2 == pytest.approx(side.item_effects_.sigma2, rel=0.05)
    np.testing.assert_allclose(context.coef_, side.coef_, rtol=0.02)
    np.testing.assert_allclose(context.item_effects_.effect, side.item_effects_.effect, atol=0.05)


def test_context_and_effects_of_items_are_recovered_together():
    """Squared z-scores of three large studies; without item effects they must be too large."""
    found = context_and_items(range(3), n=500, m=10_000)
    low, high = fair_squares(found["z"].size, alike=2)  # they share their scale
    assert low < np.sum(found["z"] ** 2) < high
    assert np.sum(found["rival"] ** 2) > high
    assert found["held"].any()


def test_repeated_comparisons_of_a_pair_keep_their_context(tmp_path):
    X, votes = context_votes(1, n=30, m=1500)
    model = RankRegression(item_effects=True, context=["rest"]).fit(X, votes)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    assert model.item_effects_.sigma2 > 0
    model.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(
        load(tmp_path / "m.npz").predict_proba(data), model.predict_proba(data)
    )
