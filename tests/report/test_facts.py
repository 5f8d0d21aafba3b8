"""Facts of a report: plain values against naive twins, and the sentences that come first."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from pairscore import Comparisons, PairscoreError, RankRegression
from pairscore.choices import METHODS
from pairscore.errors import PairscoreWarning
from pairscore.report.facts import report_facts, whether_it_matters
from pairscore.report.page import report_html, write_report
from pairscore.report.words import with_spaces
from tests.limits import CHANCE
from tests.model.test_contrasts import EFFECTS, LEVELS, draw_votes, fit_table, graded_study
from tests.report.conftest import (
    assert_whole,
    draw_counted_study,
    draw_study,
    facts_of,
    page_in_words,
    page_of,
    text_of,
)
from tests.tie_cells import draw_outcomes, draw_pairs


def test_counts_and_single_comparisons_give_the_same_page():
    items, rows, single = draw_counted_study()
    pages = []
    for votes in (rows, single):
        text = page_of(items, votes)
        pages.append(re.sub("<dd>[0-9a-f]{32}</dd>", "", text))  # the fingerprints of two files
    assert pages[0] == pages[1]


def test_sure_pairs_are_the_share_of_a_loop_over_pairs():
    items, votes = draw_study(60, 800)
    model = RankRegression().fit(items, votes)
    facts = report_facts(model, items, votes)
    X = np.column_stack([items[f"feature {column}"] for column in range(3)])
    sure = 0
    for a in range(60):
        for b in range(a):
            gap = X[a] - X[b]
            error = np.sqrt(gap @ model.covariance_ @ gap)
            sure += abs(gap @ model.coef_) > norm.ppf(0.975) * error
    assert facts.sure_pairs == pytest.approx(sure / (60 * 59 / 2))


def test_one_of_a_thing_is_one():
    items, votes = draw_study(30, 400, d=1, spare=1)
    items["feature 0"][30] = 99.0
    said = page_in_words(items, votes)
    for right in (
        "30 items, 1 feature, method mle",
        "1 item has a feature beyond all compared items",
        "its score is extrapolated",
        "1 item was never compared and is",
    ):
        assert right in said, right
    assert not re.search(r"(?<![\d.,])1 (items|features|comparisons|deserve) ", said)
    facts = facts_of(*draw_study(60, 900))
    for number, look in ((1, "1 deserves a look: "), (2, "2 deserve a look: ")):
        doubted = [replace(check, fine=place >= number) for place, check in enumerate(facts.checks)]
        assert f"checks below, {look}" in replace(facts, checks=doubted).answer[-1]


def test_a_chance_is_never_a_hundred_of_a_hundred_and_a_sure_rank_no_interval():
    items, votes = draw_study(60, 4000, d=1)
    items["feature 0"][0] = 40.0  # far ahead of all others
    rows = [
        (int(a.split()[1]), int(b.split()[1]))
        for a, b in zip(votes["left"], votes["right"], strict=True)
    ]
    votes["winner"] = np.where(
        [0 in pair and pair[1] == 0 for pair in rows],
        "right",
        np.where([pair[0] == 0 for pair in rows], "left", votes["winner"]),
    )
    said = page_in_words(items, votes)
    assert (
        "item 0 comes first of 60 items and would win in more than 99 of 100 comparisons with the"
        " average one. Its rank is 1 (95 % confidence)." in said
    )
    assert "100 of 100" not in said
    assert "between 1 and 1" not in said
    assert "1 to 1 " not in said


def test_items_that_tie_share_the_first_place_or_nobody_has_it():
    items, votes = draw_study(30, 200, d=1)
    votes["winner"] = np.full(200, "tie")
    assert "All 30 items have the same score, so none comes first." in page_in_words(items, votes)
    items, votes = draw_study(30, 900, d=1)
    items["feature 0"][:2] = items["feature 0"].max()
    best = int(np.argmax(items["feature 0"][2:])) + 2
    items["feature 0"][best] -= 0.01
    assert "item 0, item 1 share the first place of 30 items and would win" in page_in_words(
        items, votes
    )


def test_what_cannot_be_reported_is_a_sentence(tmp_path):
    items, votes = draw_study(60, 600)
    model = RankRegression().fit(items, votes)
    renamed = {name.replace("feature 0", "mass"): column for name, column in items.items()}
    with pytest.raises(PairscoreError, match=r"lack 1 feature of the 3 .*'feature 0'; add it"):
        write_report(model, renamed, votes, tmp_path / "report.html")
    strangers = {name: column[:30] for name, column in items.items()}
    with pytest.raises(PairscoreError, match="item table"):
        write_report(model, strangers, votes, tmp_path / "report.html")
    differences = RankRegression().fit(
        np.random.default_rng(0).normal(size=(50, 3)), np.tile([1, -1], 25)
    )
    with pytest.raises(PairscoreError, match="fitted to differences"):
        write_report(differences, items, votes, tmp_path / "report.html")
    with pytest.raises(PairscoreError, match=r"ends in \.html"):
        write_report(model, items, votes, tmp_path / "report.pdf")
    with pytest.raises(PairscoreError, match="could not be saved"):
        write_report(model, items, votes, tmp_path / "nowhere" / "report.html")
    alike = {"id": items["id"], "x": np.ones(60)}
    with pytest.raises(PairscoreError, match="no feature varies"), pytest.warns(PairscoreWarning):
        write_report(RankRegression().fit(alike, votes), alike, votes, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_effects_are_plain_values_of_the_model(study_with_effects):
    model, items, votes = study_with_effects
    effects = report_facts(model, items, votes).effects
    columns = model.effects_.to_columns()
    assert [one.value for one in effects.of_comparisons] == columns["coef"]
    assert [one.kind for one in effects.of_comparisons] == columns["kind"]
    assert {one.name for one in effects.of_comparisons} == {"rest", "side: left", "ties"}
    for one, error in zip(effects.of_comparisons, columns["std_error"], strict=True):
        assert one.high - one.low == pytest.approx(2 * norm.ppf(0.975) * error)
    assert [judge.slope for judge in effects.judges] == sorted(model.judges_.slope, reverse=True)
    assert [judge.remark for judge in effects.judges][-1] == "inverted"
    assert effects.ridge is model.ridge_curve_
    assert (effects.of_items, effects.of_items_in_words, effects.is_empty) == ([], "", False)


def test_ties_are_counted_in_groups_by_score_difference(study_with_effects):
    model, items, votes = study_with_effects
    facts = report_facts(model, items, votes)
    data, outcome = Comparisons.from_frames(items, votes, context=["rest"])
    gap = np.abs(model.decision_function(data))
    for rate in facts.effects.ties:
        inside = (gap >= rate.low) & (gap <= rate.high)
        assert rate.number == inside.sum()
        assert rate.observed == pytest.approx(np.mean(outcome[inside] == 0))
        assert rate.expected == pytest.approx(model.predict_ties(data)[inside].mean())
    assert sum(rate.number for rate in facts.effects.ties) == 1500
    # nothing is left for the split
    assert [trial.method for trial in facts.trials if np.isfinite(trial.held_out)] == [*METHODS][1:]


def test_effects_of_items_are_those_of_the_model_the_largest_first():
    items, votes = draw_study(60, 1500, spare=5)
    model = RankRegression(item_effects=True).fit(items, votes)
    effects = report_facts(model, items, votes).effects
    assert effects.of_items_in_words == with_spaces(model.item_effects_.in_words)
    known = dict(zip(items["id"][:60], model.item_effects_.effect[:60], strict=True))
    if model.item_effects_.sigma2 > 0:
        assert {one.name: one.value for one in effects.of_items} == pytest.approx(known)
    values = [one.value for one in effects.of_items]
    assert values == sorted(values, reverse=True)


def draw_ties(law, seed=1, n=120, m=12_000, side=0.0):
    """A study whose features explain the items, with many ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    left, right = draw_pairs(rng, 0, n, m)
    score = X @ [1.5, 0.5]
    return Comparisons(X, left, right, draw_outcomes(rng, score[left] - score[right] + side, law))


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
@pytest.mark.parametrize("law", ["davidson", "rao-kupper"])
def test_an_exact_fit_with_ties_shows_no_residual_of_nine(law, ties):
    data = draw_ties(law)
    facts = report_facts(RankRegression(ties=ties).fit(data), data, None)
    residual = np.array([item.residual for item in facts.items])
    # another rule than that of the ties bends the mean a little: a tenth of a standard deviation
    assert np.max(np.abs(residual)) < 1.1 * norm.isf(CHANCE / len(residual) / 2)
    spread = np.mean(residual**2)
    assert chi2.ppf(CHANCE, 117) / 120 < spread < 1.1**2 * chi2.isf(CHANCE, 120) / 120
    for question in ("Do the features explain the items?", "Does the side matter?"):
        assert next(check for check in facts.checks if check.question == question).fine
    for one in facts.calibration:  # of decided comparisons
        error = np.sqrt(one.promised * (1 - one.promised) / one.number)
        assert abs(one.observed - one.promised) < norm.isf(CHANCE / 20) * error + 0.02
    assert sum(one.number for one in facts.calibration) == np.count_nonzero(data.outcome)
    assert "of 100 decided comparisons with the average one" in facts.answer[0]


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
def test_a_side_is_seen_beside_ties(ties):
    data = draw_ties("davidson", side=0.4)
    facts = report_facts(RankRegression(ties=ties).fit(data), data, None)
    assert not next(c for c in facts.checks if c.question == "Does the side matter?").fine


# -- categories ------------------------------------------------------------------------------------


def page_of_categories(effects, recipe=None, **settings):
    """The page of a study whose items have a grade with these effects."""
    rng = np.random.default_rng(2)
    table, votes = graded_study(2)
    level = np.searchsorted(LEVELS.astype(str), table["grade"].astype(str))
    votes = draw_votes(rng, table["mass"] + np.array(effects)[level])
    model = fit_table(table, votes, recipe, **settings)
    facts = report_facts(model, model.comparisons_, None)
    page = report_html(facts)
    assert_whole(page)
    return facts, text_of(page), page


def test_a_category_is_one_block_that_says_whether_it_matters():
    facts, said, page = page_of_categories(EFFECTS, {"categorical": ["grade", "site"]})
    grade, site = facts.categories
    assert [one.feature for one in grade.levels] == list("ABCD")
    assert all(np.isfinite(one.low) and one.low < one.coef < one.high for one in grade.levels)
    assert "Grade matters: levels differ by more than chance (F(3, " in said
    assert "No sign that site matters: levels differ no more than by chance (F(2, " in said
    assert "Each level is shown against the average level, which is the line." in said
    assert "unknown" not in said
    assert page.count("<title>A: ") == 1
    assert [one.feature for one in facts.coefficients_by_size] == ["mass"]
    assert (site.name, site.remark) == ("site", "")


def test_a_category_with_a_reference_a_product_or_a_ridge_says_so():
    recipe = {"reference": {"grade": "B"}, "interactions": ["mass:grade"]}
    facts, said, _ = page_of_categories(EFFECTS, recipe)
    assert "Each level is shown against B, which is the line." in said
    assert "No sign that mass and grade act on each other: levels differ no more" in said
    assert [len(one.levels) for one in facts.categories] == [4, 0]


def test_a_category_of_a_model_with_a_ridge_is_tested_without_the_ridge():
    plain, *_ = page_of_categories(EFFECTS)[0].categories
    facts, said, _ = page_of_categories(EFFECTS, l2=3.0)
    grade = facts.categories[0]
    assert grade.matters == plain.matters.replace(").", "; in a fit without the ridge).")
    assert grade.matters in said
    assert abs(grade.levels[0].coef) < abs(plain.levels[0].coef)


def test_a_page_of_categories_alone_has_no_empty_chart():
    facts, said, _ = page_of_categories(EFFECTS, {"exclude": ["mass"]})
    assert facts.coefficients_by_size == []
    assert "Influence of each feature" not in said
    assert "Grade matters" in said


def test_a_category_matters_or_there_is_no_sign_of_it_or_no_test():
    numbers = "F(2, 80) = 9.1, p = 0.03"
    assert whether_it_matters("grade", 0.03, numbers) == (
        "Grade matters: levels differ by more than chance (F(2, 80) = 9.1, p = 0.03)."
    )
    assert whether_it_matters("grade", 0.06, "p = 0.06").startswith("No sign that grade matters: ")
    said = whether_it_matters("mass:grade", 0.03, numbers, is_product=True)
    assert said.startswith("Mass and grade act on each other: ")
    said = whether_it_matters("grade", float("nan"), "none, because of the weather")
    assert said == "No test of whether grade matters: of the weather."
