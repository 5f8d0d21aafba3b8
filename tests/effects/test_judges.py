"""Which judges intervals hold for, and what is said of them."""

import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from scipy.stats import f as fisher
from scipy.stats import t as student

from pairscore import Comparisons, PairscoreError, RankRegression, load, plots
from pairscore.report.facts import report_facts
from pairscore.report.page import report_html
from pairscore.streaming.fit_stream import fit_stream
from pairscore.streaming.merge import merge_rounds, merge_sites
from pairscore.streaming.rounds import site_round
from pairscore.streaming.sites import site_sums
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
