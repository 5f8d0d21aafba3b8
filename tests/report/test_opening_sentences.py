"""The sentences that a report begins with."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from pairscore import RankRegression
from pairscore.errors import CollinearFeaturesWarning, PairscoreWarning
from pairscore.report.checks import Check
from pairscore.report.facts import ReportFacts, report_facts
from pairscore.report.opening_sentences import lead_sentences, verdict_of_checks
from pairscore.report.page import report_html
from tests.limits import largest_mean
from tests.model.test_open_directions import study_of_years
from tests.report.conftest import assert_whole, draw_study, facts_of, page_in_words, text_of


def draw_half_explained(rng, n_items=150, n_comparisons=2500, d=4, effect=1.5):
    """Items of which the features explain less than a half."""
    X = rng.normal(size=(n_items, d))
    score = X @ np.array([1.0, 0.5, *[0.0] * (d - 2)]) + effect * rng.normal(size=n_items)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(score[left] - score[right])
    return X, {"left": left, "right": right, "winner": np.where(won, "left", "right")}


def test_the_page_has_one_number_for_new_items_and_tells_the_error_of_the_estimate_from_it():
    """A page said "0.1 % of pairs of new items in the wrong order" beside 63 % accuracy."""
    items, votes = draw_half_explained(np.random.default_rng(0))
    facts = facts_of(items, votes)
    text = text_of(report_html(facts))
    accuracy = f"{100 * facts.trial.held_out:.1f} %"
    (sentence,) = [one for one in facts.answer if one.startswith("New items: ")]
    wrong = facts.wrong
    assert f"about {100 * wrong.share:.0f} of 100 predictions to be wrong" in sentence
    assert f"(95 %: {100 * wrong.low:.0f} to {100 * wrong.high:.0f})" in sentence
    assert wrong.share == pytest.approx(1 - facts.trial.held_out)
    whole = facts.of_new_items[0]
    assert whole.startswith(f"{sentence} Basis: between two items")
    assert f"the score predicted {accuracy} of decided comparisons correctly" in whole
    assert f"would get about {100 - 100 * facts.best_accuracy:.0f} of 100 wrong" in whole
    assert text.count(sentence) == 2  # first, and where more comparisons are weighed
    assert text.count(whole) == 1
    assert "in the wrong order" not in text
    about = text.index("Error of the estimate This score is not exactly the best one")
    assert text.index(sentence, 4000) < about < text.index("What the features cannot explain")
    assert facts.trial.held_out <= facts.best_accuracy < 0.8


def test_the_accuracy_of_the_best_score_is_that_of_the_true_coefficients_on_new_items():
    """Means over studies, up to a t-quantile and two points; the held-out accuracy is lower."""
    gaps, d = [], 24
    for seed in range(16):
        rng = np.random.default_rng(seed)
        items, votes = draw_half_explained(rng, 160, 2400, d)
        facts = facts_of(items, votes)
        new, tests = draw_half_explained(rng, 2000, 20_000, d)
        best = (new[tests["left"]] - new[tests["right"]]) @ np.array([1.0, 0.5, *[0.0] * (d - 2)])
        truth = np.mean((best > 0) == (tests["winner"] == "left"))
        gaps.append([facts.best_accuracy - truth, facts.trial.held_out - truth])
    reach = largest_mean(np.array(gaps), 2)
    ours, rival = np.mean(gaps, axis=0)
    assert abs(ours) < reach[0] + 0.02
    assert rival < ours - 0.02


def test_no_question_stands_twice_in_the_lead():
    items, votes = draw_study(20, 300)
    items["again"] = items["feature 1"]
    with pytest.warns(PairscoreWarning):
        facts = facts_of(items, votes)
    assert facts.answer[-1].count("What did the fit itself warn of?") == 1


def test_the_verdict_counts_what_deserves_a_look_and_names_what_could_not_be_told():
    fine, doubt = Check("A?", True, "", ""), Check("B?", False, "", "")
    blind = Check("C?", True, "", "", "cannot tell")
    assert verdict_of_checks([fine]) == "Of the 1 checks below, none found a problem."
    assert verdict_of_checks([fine, doubt]) == "Of the 2 checks below, 1 deserves a look: B?"
    assert verdict_of_checks([fine, blind]) == (
        "Of the 2 checks below, none found a problem. Could not be tested: C?"
    )


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_a_hopeless_fit_is_said_to_be_so_first():
    rng = np.random.default_rng(0)
    items, votes = draw_half_explained(rng, 110, 1100, 60)
    facts = facts_of(items, votes)
    assert facts.trial.held_out < facts.trial.in_sample - 0.1
    (far,) = [one for one in facts.answer if "far more: " in one]
    assert far.startswith(
        "Of the comparisons that it was fitted to, the score predicted"
        f" {100 * facts.trial.in_sample:.1f} % correctly, far more: 60 features are many for 110"
        " items; fit again with"
    )
    assert "--l2 auto" in far
    warned = next(check for check in facts.checks if "warn of" in check.question)
    assert "fit with a ridge chosen from the data" in warned.answer
    ridge = facts_of(items, votes, l2="auto")
    assert not [one for one in ridge.answer if "--l2 auto" in one]


def test_a_report_of_years_that_never_meet_ranks_within_years():
    items, votes = study_of_years()
    with pytest.warns(CollinearFeaturesWarning):
        model = RankRegression().fit(items, votes)
    facts = report_facts(model, items, votes)
    page = report_html(facts)
    assert_whole(page)
    assert facts.answer[0] == (
        "The comparisons do not tell how items of different groups compare, so ranks are within"
        " groups: year=2001, year=2002, year=2003, year=2004."
    )
    assert " comes first of 25 items of year=2001 and would win " in facts.answer[1]
    assert facts.groups == {f"year={year}": 25 for year in (2001, 2002, 2003, 2004)}
    ranking = model.rank(items)
    sure = (ranking["rank_low"] - 1 + 25 - ranking["rank_high"]).sum() / (4 * 25 * 24)
    assert facts.sure_pairs == pytest.approx(sure)
    text = text_of(page)
    assert "The 12 highest and the 12 lowest of year=2001" in text
    assert text.count("year=2003") > 25
    one_year = replace(facts, items=[item for item in facts.items if item.group == "year=2001"])
    assert lead_sentences(one_year)[0].startswith("All items are of one group (year=2001)")


def clear_study(n_items, n_comparisons, seed=0):
    """Items of one feature, and comparisons that all go by it."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    x = rng.normal(size=n_items)
    winner = np.where(x[left] > x[right], "left", "right")
    return {"id": np.arange(n_items), "x": x}, {"left": left, "right": right, "winner": winner}


@pytest.mark.parametrize(("n_items", "n_comparisons"), [(4, 5), (12, 40), (20, 60)])
def test_too_few_tests_say_nothing_of_wrong_predictions(n_items, n_comparisons):
    facts = facts_of(*clear_study(n_items, n_comparisons))
    assert facts.wrong.share == 0
    assert facts.wrong.number > 0
    text = text_of(report_html(facts))
    assert "New items: too few tests to say how many predictions are wrong." in text
    assert "of 100 predictions to be wrong" not in text
    assert "Even the best score that these features allow" not in text
    assert "-0 " not in text.replace("\u2212", "-")
    assert facts.wrong.high > 0.1
    worth = max(round(facts.wrong.effective), 1)
    assert worth < facts.wrong.number
    assert f"are needed, and these, which share items, are worth about {worth}." in text


def test_separated_comparisons_say_nothing_of_noise_or_of_judges_who_disagree():
    """Beside an agreement of 100 % a page said that about 5 of 100 comparisons contradict it."""
    facts = facts_of(*clear_study(20, 60))
    text = text_of(report_html(facts))
    assert "100.0 % of the fit's decided comparisons agree" in text
    assert "none seen, as no comparison contradicts the score's order" in text
    assert "no comparison contradicts the score, so nothing shows how noisy they are." in text
    for said in ("judges who disagree", "of 100 comparisons contradict"):
        assert said not in text


def test_a_study_of_five_comparisons_has_not_so_many_features():
    items = {"id": list("abcd"), "x": [0.0, 1.0, 2.0, 4.0]}
    winner = ["right", "right", "left", "right", "left"]
    votes = {"left": list("abcad"), "right": list("bcddb"), "winner": winner}
    text = page_in_words(items, votes)
    assert "There are too few comparisons to detect a deviation." in text
    assert "This method does not need random pairs." in text
    assert "so the full fit is likely more accurate." in text
    assert not [one for one in ("so many features", "a little more accurate") if one in text]


def test_a_chart_has_the_share_of_misordered_pairs_that_is_to_be_trusted():
    """It showed 4.3 % while the text beside it said to trust 48.2 %."""
    items, votes = draw_half_explained(np.random.default_rng(3), 40, 120, 2)
    facts = facts_of(items, votes)
    facts = replace(facts, misordered=2 * facts.prospects[0].misordered)
    page = report_html(facts)
    assert "Trust the first line; the others are predicted." in text_of(page)
    assert f"now, by intervals: {100 * facts.misordered:.1f}\u00a0%" in page
    sure = replace(facts, misordered=facts.prospects[0].misordered)
    assert "now, by intervals" not in report_html(sure)


def test_tests_that_were_all_right_leave_wrong_predictions_possible():
    facts = facts_of(*clear_study(100, 1200))
    (sentence,) = [one for one in facts.answer if one.startswith("New items: ")]
    assert facts.wrong.share == 0
    # at most half of the items are in comparisons without a common item
    assert 0.03 < facts.wrong.high < 0.1
    assert f"about 0 of 100 predictions to be wrong (95 %: 0 to {100 * facts.wrong.high:.0f})" in (
        sentence
    )


def test_few_comparisons_of_known_items_say_nothing_of_wrong_predictions():
    rng = np.random.default_rng(1)
    left = rng.integers(0, 6, 16)
    right = (left + rng.integers(1, 6, 16)) % 6
    facts = facts_of(
        None, {"left": left, "right": right, "winner": rng.choice(["left", "right"], 16)}
    )
    said = " ".join(facts.answer)
    assert "New comparisons of these items: too few tests to say" in said
    assert "of 100 predictions to be wrong" not in said


def test_items_that_cannot_be_held_out_leave_the_accuracy_of_the_fit():
    items, votes = draw_study(6, 30, d=5)
    said = page_in_words(items, votes)
    assert "how often it is wrong on new items cannot be tested here" in said
    assert "of 100 predictions to be wrong" not in said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "For no pair can we say which ranks higher (95 % confidence for each pair): all are"),
        (0.004, "For less than 1 % of all pairs we can say which ranks higher"),
        (0.5, "For 50 % of all pairs we can say which ranks higher"),
    ],
)
def test_where_no_pair_is_clear_the_page_says_so(share, said, monkeypatch):
    facts = facts_of(*draw_study(8, 40, d=1, seed=3))
    monkeypatch.setattr(ReportFacts, "sure_pairs", share)
    assert said in " ".join(lead_sentences(facts)).replace("\u00a0", " ")
