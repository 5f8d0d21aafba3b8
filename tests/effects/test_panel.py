"""Intervals that allow for other judges, or hold for those at hand; and whether judges differ."""

import json
import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from scipy.stats import f as fisher
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from pairscore import Comparisons, PairscoreError, RankRegression, load, plots
from pairscore.data.items import Items
from pairscore.effects import panel as panel_module
from pairscore.effects.panel import judge_agreement
from pairscore.report.facts import report_facts
from pairscore.report.page import report_html
from pairscore.streaming.fit_stream import fit_stream
from pairscore.streaming.merge import merge_rounds, merge_sites
from pairscore.streaming.sites import site_round, site_sums
from tests.limits import CHANCE
from tests.report.conftest import text_of
from tests.test_plots import drawn_rows

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
COEF = np.array([1.0, 0.0, -0.6])


def judged_study(seed, per_judge, n_items=50, taste=0.0, effect=0.0):
    """Items with three features, and comparisons by judges with coefficients of their own.

    ``per_judge`` has the number of comparisons of each; ``taste`` is the standard deviation of
    their coefficients about COEF, ``effect`` that of what features leave out of the items.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    judge = np.repeat(np.arange(len(per_judge)), per_judge)
    left = rng.integers(0, n_items, len(judge))
    right = (left + rng.integers(1, n_items, len(judge))) % n_items
    own, tastes = effect * rng.normal(size=n_items), taste * rng.normal(size=(len(per_judge), 3))
    eta = np.einsum("ij,ij->i", X[left] - X[right], COEF + tastes[judge]) + own[left] - own[right]
    winner = np.where(rng.random(len(judge)) < expit(eta), "left", "right")
    names = np.array([f"judge {number}" for number in range(len(per_judge))])[judge]
    return X, {"left": left, "right": right, "winner": winner, "judge": names}


# -- which intervals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_judges", "kind"), [(1, "items"), (9, "items"), (10, "items+judges"), (30, "items+judges")]
)
def test_intervals_allow_for_other_judges_from_ten_judges_on(n_judges, kind):
    X, votes = judged_study(0, [30] * n_judges)
    model = RankRegression().fit(X, votes)
    assert model.inference_ == kind
    explicit = RankRegression(inference=kind).fit(X, votes)
    np.testing.assert_array_equal(model.std_errors_, explicit.std_errors_)
    assert RankRegression(inference="items").fit(X, votes).inference_ == "items"
    assert RankRegression(inference="items").fit(X, votes).df_error_ is None
    assert model.df_error_ == (pytest.approx(n_judges - 1) if n_judges >= 10 else None)
    del votes["judge"]
    plain = RankRegression().fit(X, votes)
    assert (plain.inference_, plain.interval_scope_) == ("items", "")


def test_the_default_covers_with_twelve_judges_who_have_tastes():
    """Of a coefficient that is zero on average over judges."""
    held, n_studies = 0, 120
    for seed in range(n_studies):
        model = RankRegression().fit(*judged_study([seed, 12], [50] * 12, taste=0.5))
        low, high = model.confidence_intervals()[1]
        held += low <= 0 <= high
    assert held >= binom.ppf(CHANCE, n_studies, 0.93)


def test_busy_judges_count_for_fewer():
    per_judge = np.array([200, 100, 50, 50, 50, 50, 25, 25, 25, 25, 10, 10])
    X, votes = judged_study(1, per_judge)
    expected = per_judge.sum() ** 2 / np.sum(per_judge**2)
    assert RankRegression().fit(X, votes).df_error_ == pytest.approx(expected - 1)
    votes["weight"] = np.where(votes["judge"] == "judge 0", 0.5, 1.0)
    weighted = np.append(100.0, per_judge[1:])
    assert RankRegression().fit(X, votes).df_error_ == pytest.approx(
        weighted.sum() ** 2 / np.sum(weighted**2) - 1
    )


@pytest.mark.parametrize(
    ("per_judge", "missing", "reason"),
    [
        ([500] + [10] * 11, 0, "a few of them made most of the comparisons"),
        ([30] * 12, 1, "not every comparison says who judged"),
    ],
)
def test_judges_who_say_little_of_others_are_those_that_intervals_hold_for(
    per_judge, missing, reason
):
    X, votes = judged_study(2, per_judge)
    votes["judge"] = votes["judge"].astype(object)
    votes["judge"][:missing] = None
    model = RankRegression().fit(X, votes)
    assert (model.inference_, model.df_error_) == ("items", None)
    assert model.interval_scope_ == (
        f"hold for these 12 judges; other judges may see it differently ({reason})"
    )


def test_a_judge_for_each_comparison_adds_nothing():
    X, votes = judged_study(3, [1] * 600)
    model = RankRegression().fit(X, votes)
    assert (model.inference_, model.df_error_) == ("items+judges", pytest.approx(599))
    by_items = RankRegression(inference="items").fit(X, votes)
    np.testing.assert_allclose(model.std_errors_, by_items.std_errors_, rtol=1e-2)


# -- Student's law, everywhere ---------------------------------------------------------------------


def many_judges(**settings):
    X, votes = judged_study(4, [40] * 12, taste=0.4)
    items = {"id": np.arange(len(X)), "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    return items, votes, RankRegression(**settings).fit(items, votes)


def test_every_interval_and_test_of_coefficients_has_the_judges_degrees_of_freedom():
    _, _, model = many_judges(side_effect=True)
    coef, error, width = model.coef_, model.std_errors_, student.ppf(0.975, 11)
    ends = np.column_stack([coef - width * error, coef + width * error])
    p = 2 * student.sf(np.abs(coef / error), 11)
    np.testing.assert_allclose(model.confidence_intervals(), ends)
    np.testing.assert_allclose(model.p_values_, p)
    table = model.summary().to_columns()
    np.testing.assert_allclose(np.column_stack([table["low"], table["high"]]), ends)
    np.testing.assert_allclose(table["p"], p)
    found = model.contrast({"a": 1.0})
    assert (found.low, found.high, found.p) == pytest.approx((*ends[0], p[0]))
    assert "t(11) = " in str(found)
    assert model.joint_test("a").p == pytest.approx(p[0])
    side, side_error = model.side_effect_, model.side_effect_std_error_
    record = model.summary().to_record()
    assert record["side_effect"]["p"] == pytest.approx(2 * student.sf(abs(side / side_error), 11))
    effects = model.effects_.to_columns()
    assert effects["p"] == pytest.approx([record["side_effect"]["p"]])
    low, high = side - width * side_error, side + width * side_error
    assert f"interval [{low:.4g}, {high:.4g}], t(11) = " in str(model.summary())
    _, _, *drawn = drawn_rows(plots.coefficients(model, per_sd=False))
    np.testing.assert_allclose(np.column_stack(drawn), ends)


def test_joint_tests_have_no_more_degrees_of_freedom_than_the_judges():
    _, _, model = many_judges()
    test = model.joint_test(["a", "b", "c"])
    wald = model.coef_ @ np.linalg.solve(model.covariance_, model.coef_)
    assert (test.df, test.df_error) == (3, pytest.approx(11 - 3 + 1))
    assert test.statistic == pytest.approx(wald * 9 / (11 * 3))
    assert test.p == pytest.approx(fisher.sf(test.statistic, 3, 9))
    rng = np.random.default_rng(0)
    X, votes = judged_study(5, [60] * 12, n_items=90)
    wide = RankRegression().fit(np.hstack([X, rng.normal(size=(90, 12))]), votes)
    with pytest.raises(PairscoreError, match="the judges are too few to test all of these"):
        wide.joint_test([f"x{number}" for number in range(15)])


def test_scores_differences_chances_and_ranks_have_the_judges_degrees_of_freedom():
    items, _, model = many_judges()
    width = student.ppf(0.975, 11)
    found = model.difference(3, 8)
    assert found.high - found.low == pytest.approx(2 * width * found.std_error)
    ranking = model.rank(items)
    values = np.column_stack([items[name] for name in "abc"])[ranking["id"]] - model.feature_mean_
    error = np.sqrt(np.einsum("ij,jk,ik->i", values, model.covariance_, values))
    np.testing.assert_allclose(ranking["high"] - ranking["low"], 2 * width * error)
    scores = values @ model.coef_
    surely_above = [
        sum(
            gap > width * np.sqrt((a - b) @ model.covariance_ @ (a - b))
            for b, gap in zip(values, scores - scores[row], strict=True)
        )
        for row, a in enumerate(values)
    ]
    np.testing.assert_array_equal(ranking["rank_low"], 1 + np.array(surely_above))
    data = Comparisons.from_pairs(items, [3], [8])
    chance = model.chances(data)
    gap, reach = float(model.decision_function(data)[0]), width * found.std_error
    assert (chance["low"][0], chance["high"][0]) == pytest.approx(
        (expit(gap - reach), expit(gap + reach))
    )
    together = model.rank(items, simultaneous=True)
    scheffe = np.sqrt(3 * 11 / 9 * fisher.ppf(0.95, 3, 9))
    np.testing.assert_allclose(together["high"] - together["low"], 2 * scheffe * error)


def test_a_model_file_keeps_what_intervals_allow_for(tmp_path):
    items, _, model = many_judges(side_effect=True)
    model.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.df_error_ == model.df_error_ == pytest.approx(11)
    np.testing.assert_array_equal(loaded.rank(items)["low"], model.rank(items)["low"])
    assert loaded.effects_.to_columns() == model.effects_.to_columns()
    few = RankRegression().fit(*judged_study(6, [40] * 4))
    few.save(tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").judge_tastes_ == few.judge_tastes_


# -- what is said ----------------------------------------------------------------------------------


def test_summary_and_page_say_for_whom_intervals_hold():
    items, votes, model = many_judges()
    said = "allow for other items and other judges"
    text = " ".join(str(model.summary()).split())
    assert f"95 %, robust to items and judges (t with 11 degrees of freedom); they {said}" in text
    record = json.loads(json.dumps(model.summary().to_record()))
    assert record["intervals"] == "items+judges"
    assert record["intervals_in_words"].endswith(said)
    assert record["df_error"] == pytest.approx(11)
    facts = report_facts(model, items, votes)
    assert f"Intervals {said}." in text_of(report_html(facts))
    assert not [one for one in facts.answer if "judges" in one]

    X, votes = judged_study(7, [60] * 4, taste=1.0)
    few = RankRegression().fit(X, votes)
    said = "hold for these 4 judges; other judges may see it differently"
    text = " ".join(str(few.summary()).split())
    assert f"95 %, item-robust; they {said}" in text
    assert "these 4 judges weigh the features differently (p " in text
    assert said in few.summary()._repr_html_()
    facts = report_facts(few, X, votes)
    assert f"Intervals {said}." in text_of(report_html(facts))
    (sentence,) = [one for one in facts.answer if "judges" in one]
    assert sentence.startswith("These 4 judges weigh the features differently (p ")
    assert sentence.endswith(f"; the intervals {said}.")
    assert few.summary().to_record()["judge_tastes"]["p"] < 0.05


def test_where_intervals_cannot_allow_for_other_judges_that_is_said():
    X, votes = judged_study(8, [40] * 12)
    closed = RankRegression("pooled").fit(X, votes)
    assert closed.inference_ == "items"
    assert closed.interval_scope_.endswith(
        "(closed forms have no intervals that allow for other judges)"
    )
    abilities = RankRegression().fit(None, votes)
    assert abilities.inference_ == "model"
    assert abilities.interval_scope_.endswith(
        "(abilities have no intervals that allow for other judges)"
    )
    shrunk = RankRegression(item_effects=True).fit(None, votes)
    assert (shrunk.inference_, shrunk.df_error_) == ("model", None)
    items = {"id": np.arange(len(X)), "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    streamed = fit_stream(items, votes)
    assert streamed.inference_ == "items"
    text = " ".join(str(streamed.summary()).split())
    assert "other judges may see it differently (comparisons that are read in parts" in text
    merged = merge_rounds([site_round(merge_sites([site_sums(items, votes)]), items, votes)])
    text = " ".join(str(merged.summary()).split())
    assert "hold for the judges at these sites; other judges may see it" in text
    del votes["judge"]
    assert fit_stream(items, votes).interval_scope_ == ""


# -- tastes ----------------------------------------------------------------------------------------


def test_judges_are_tested_as_if_comparisons_were_given_to_them_by_lot():
    """Against the shares of 4000 draws of lots whose statistic is as large."""
    rng = np.random.default_rng(0)
    shares = []
    for seed, taste in ((10, 0.0), (11, 0.3), (12, 0.3), (13, 0.0)):
        X, votes = judged_study(seed, [60, 40, 25, 25], taste=taste, effect=1.0)
        data, _ = Comparisons.from_frames(X, votes)
        fit = RankRegression(inference=None).fit(data)
        score = (data.outcome > 0) - fit.predict_proba(data)[:, 1]
        gap = fit.decision_function(data)
        found = panel_module.judge_tastes(data, score, gap)
        u = score[:, None] * (X[data.left] - X[data.right])
        u = u - np.outer(score * gap, (score * gap) @ u / np.sum((score * gap) ** 2))
        u = (u - u.mean(axis=0)) / u.std(axis=0, ddof=1)
        judge = np.unique(data.judge, return_inverse=True)[1]

        def between(judge, u=u):
            sums = np.array([u[judge == one].sum(axis=0) for one in range(4)])
            return np.sum(sums**2 / np.bincount(judge)[:, None])

        drawn = np.array([between(rng.permutation(judge)) for _ in range(4000)])
        share = np.mean(drawn >= between(judge))
        exact = fisher.sf(
            found["statistic"] * found["design_effect"], found["df"], found["df_error"]
        )
        shares.append((share, exact))
    for share, exact in shares:
        error = np.sqrt(max(share * (1 - share), 1e-3) / 4000)
        assert exact == pytest.approx(share, abs=5 * error + 0.01)


def test_a_careless_judge_has_no_other_taste():
    """Coefficients that are all smaller by one factor weigh the features alike."""
    rejected, n_studies = 0, 80
    for seed in range(n_studies):
        X, votes = judged_study([seed, 5], [80] * 4)
        rng, coin = np.random.default_rng(seed), votes["judge"] == "judge 3"
        votes["winner"][coin] = rng.choice(["left", "right"], coin.sum())
        rejected += RankRegression().fit(X, votes).judge_tastes_["p"] < 0.05
    assert rejected <= binom.isf(CHANCE, n_studies, 0.05)


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_judges_who_are_alike_are_seldom_said_to_differ_and_others_often(effect):
    """Also where features leave much of the items out."""
    n_studies = 80
    alike, unlike = (
        [
            RankRegression()
            .fit(*judged_study([seed, 4], [50] * 4, taste=taste, effect=effect))
            .judge_tastes_["p"]
            for seed in range(n_studies)
        ]
        for taste in (0.0, 0.8)
    )
    assert np.sum(np.array(alike) < 0.05) <= binom.isf(CHANCE, n_studies, 0.05)
    assert np.mean(np.array(unlike) < 0.05) > 0.7


def test_judges_of_separate_items_do_not_differ_by_these():
    """Each judge has items of their own, which differ beyond their features."""
    rejected, n_studies = 0, 80
    for seed in range(n_studies):
        rng = np.random.default_rng([seed, 9])
        X, own, judge = rng.normal(size=(90, 3)), rng.normal(size=90), np.repeat([0, 1, 2], 80)
        left = 30 * judge + rng.integers(0, 30, 240)
        right = 30 * judge + (left + rng.integers(1, 30, 240)) % 30
        eta = (X[left] - X[right]) @ COEF + own[left] - own[right]
        winner = np.where(rng.random(240) < expit(eta), "left", "right")
        votes = {"left": left, "right": right, "winner": winner, "judge": judge}
        tastes = RankRegression().fit(X, votes).judge_tastes_
        assert tastes["design_effect"] >= 1
        rejected += tastes["p"] < 0.05
    assert rejected <= binom.isf(CHANCE, n_studies, 0.05)


def test_nothing_is_tested_where_there_are_not_two_judges_with_some_comparisons():
    assert RankRegression().fit(*judged_study(14, [100])).judge_tastes_ == {}
    assert RankRegression().fit(*judged_study(14, [100, 4])).judge_tastes_ == {}
    X, votes = judged_study(14, [100, 40])
    assert RankRegression(inference=None).fit(X, votes).judge_tastes_ == {}
    found = RankRegression().fit(None, votes).judge_tastes_
    assert "these 2 judges order the items differently" in found["in_words"]


def test_judges_are_counted_by_their_names():
    X, votes = judged_study(15, [3, 2, 1])
    data, _ = Comparisons.from_frames(X, votes)
    panel = panel_module.panel_of(data)
    assert (panel.n_judges, panel.effective) == (3, pytest.approx(36 / 14))
    assert panel.all_named
    assert not panel.is_enough
    data, _ = Comparisons.from_frames(X, votes | {"judge": np.array([1, 1, 1, np.nan, 2, 2])})
    panel = panel_module.panel_of(data)
    assert (panel.n_judges, panel.all_named) == (2, False)


# -- agreement -------------------------------------------------------------------------------------


def naive_agreement(data):
    """Every couple of answers on a pair, by loops: shares of each pair, between and within."""
    between, within = {}, {}
    rows = [row for row in range(len(data)) if data.outcome[row] and data.judge[row]]
    for a in rows:
        for b in rows:
            pairs = [frozenset((data.left[row], data.right[row])) for row in (a, b)]
            if pairs[0] != pairs[1] or len(pairs[0]) == 1:
                continue
            winners = [data.left[r] if data.outcome[r] > 0 else data.right[r] for r in (a, b)]
            times = data.count[a] * (data.count[b] - (a == b))
            same = data.judge[a] == data.judge[b]
            key = (pairs[0], data.judge[a]) if same else pairs[0]
            seen = (within if same else between).setdefault(key, [0.0, 0.0])
            seen[0] += times * (winners[0] == winners[1])
            seen[1] += times
    return {
        kind: [alike / all_ for alike, all_ in found.values() if all_]
        for kind, found in (("between", between), ("within", within))
    }


def test_agreement_between_and_within_judges_is_that_of_all_couples_of_answers():
    rng = np.random.default_rng(0)
    n, m = 6, 60
    left = rng.integers(0, n, m)
    data = Comparisons(
        Items(rng.normal(size=(n, 1)), ("x",)),
        left,
        (left + rng.integers(1, n, m)) % n,
        rng.choice([-1, 0, 1], m, p=[0.4, 0.2, 0.4]),
        count=rng.integers(1, 3, m),
        judge=np.array(["a", "b", "c", None], dtype=object)[rng.integers(0, 4, m)],
    )
    found, expected = judge_agreement(data), naive_agreement(data)
    for kind, shares in expected.items():
        assert found[kind]["n_pairs"] == len(shares)
        assert found[kind]["share"] == pytest.approx(np.mean(shares))
        worth = found[kind]["n_effective"]
        assert worth <= len(shares)
        interval = proportion_confint(np.mean(shares) * worth, worth, method="wilson")
        assert (found[kind]["low"], found[kind]["high"]) == pytest.approx(interval)


def agreeing_study(rng, m, judges=3, times=2):
    """Pairs judged ``times`` by each of the judges, by chances that are known."""
    chance = rng.beta(1.5, 1.0, m)
    left, right = np.arange(m), m + np.arange(m)
    rows = np.tile(np.arange(m), judges * times)
    outcome = np.where(rng.random(len(rows)) < chance[rows], 1, -1)
    judge = np.repeat([f"judge {j}" for j in range(judges)], m * times)
    items = Items(rng.normal(size=(2 * m, 1)), ("x",))
    swap = rng.random(len(rows)) < 0.5
    sides = np.where(swap, right[rows], left[rows]), np.where(swap, left[rows], right[rows])
    return chance, Comparisons(items, *sides, np.where(swap, -outcome, outcome), judge=judge)


def test_the_interval_of_agreement_covers_and_no_score_beats_its_ceiling():
    """The best score knows every chance; its accuracy is below the ceiling, agreement near."""
    misses, gaps = 0, []
    for seed in range(300):
        chance, data = agreeing_study(np.random.default_rng([3, seed]), 60, judges=2, times=1)
        between = judge_agreement(data)["between"]
        truth = np.mean(1 - 2 * chance * (1 - chance))
        misses += not between["low"] <= truth <= between["high"]
        best = np.mean(np.maximum(chance, 1 - chance))
        gaps.append(0.5 + 0.5 * np.sqrt(2 * truth - 1) - best)
        assert between["n_pairs"] == 60
    assert misses <= binom.isf(1e-5, 300, 0.05)
    assert min(gaps) > 0  # the ceiling at the true agreement


def test_agreement_is_unknown_without_repeats_and_perfect_judges_have_no_ceiling():
    _, data = agreeing_study(np.random.default_rng(4), 20, judges=1, times=1)
    assert judge_agreement(data) == {}
    _, data = agreeing_study(np.random.default_rng(4), 30, judges=2, times=2)
    data = data.with_outcome(np.where(data.left < data.right, 1, -1))
    found = judge_agreement(data)
    assert [found[kind]["share"] for kind in ("between", "within")] == [1.0, 1.0]
    assert [found[kind]["n_pairs"] for kind in ("between", "within")] == [30, 60]
    assert found["between"]["ceiling"] == 1.0
    few = np.zeros(len(data), dtype=int)
    few[:2] = -1, 1
    assert judge_agreement(data.with_outcome(few)) == {}  # ties count neither way


def test_no_ceiling_is_below_what_a_score_predicts():
    """A judge who answers by a coin agrees with a careful one in half of the pairs, and one score
    predicts three quarters of their answers; the ceiling of equal judges would be a half.
    """
    rng, n = np.random.default_rng(0), 400
    left = np.repeat(rng.integers(0, 100, n), 2)
    right = (left + 1 + np.repeat(rng.integers(0, 98, n), 2)) % 100
    by_score = np.where(left > right, 1, -1)
    outcome = np.where(np.tile([True, False], n), by_score, rng.choice([1, -1], 2 * n))
    judge = np.tile(["careful", "coin"], n)
    data = Comparisons(np.arange(100.0)[:, None], left, right, outcome, judge=judge)
    assert judge_agreement(data)["between"]["ceiling"] < 0.7
    found = judge_agreement(data, accuracy=0.75)["between"]
    assert (found["ceiling"], found["ceiling_high"]) == (None, None)
    assert found["in_words"].endswith(" pairs)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression().fit(data)
    assert model.agreement_ == pytest.approx(0.75, abs=0.05)
    assert model.judge_agreement_["between"] == found


@pytest.mark.parametrize("same", [True, False])
def test_a_few_repeated_pairs_set_no_ceiling(same):
    items = Items(np.arange(4.0)[:, None], ("x",))
    outcome = np.array([1, 1, -1, -1 if same else 1])
    judge = np.array(["a", "b", "a", "b"])
    data = Comparisons(items, np.array([0, 0, 1, 1]), np.array([2, 2, 3, 3]), outcome, judge=judge)
    found = judge_agreement(data)["between"]
    assert (found["n_pairs"], found["share"]) == (2, 1.0 if same else 0.5)
    assert found["ceiling"] is None
    assert found["ceiling_high"] is None
    assert "too few to say" in found["in_words"]
    assert found["high"] - found["low"] > 0.5
