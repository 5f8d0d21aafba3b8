"""How a page looks: cards that are as high as what they say, tables, labels, and paper."""

import re
from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from pairscore.errors import PairscoreWarning
from pairscore.report.charts import residual_chart, tick_label
from pairscore.report.facts import report_facts
from pairscore.report.items import RankedItem
from pairscore.report.page import report_html
from tests.model.test_contrasts import fit_table
from tests.report.browser import faults_of, needs_browser, open_page, script
from tests.report.conftest import facts_of, text_of

TISSUES = {"Slough": 0.6, "epithelialising": -0.9, "granulating": 0.0, "necrotic": 1.5}


@cache
def clinic():
    """150 patients with ten numbers and two categories, and three judges, one of them a coin."""
    rng = np.random.default_rng(1)
    n, m = 150, 1200
    names = np.array([f"P{row:03d}" for row in range(n)])
    numbers = {
        name: rng.normal(size=n) * spread
        for name, spread in zip(
            (
                "age",
                "bmi",
                "log_triglycerides",
                "wound_area_cm2",
                "wound_depth_mm",
                "crp",
                "hba1c",
                "albumin",
                "smoking_pack_years",
                "pain_score",
            ),
            (12, 4, 0.5, 8, 3, 20, 1, 0.5, 15, 2),
            strict=True,
        )
    }
    tissue, grade = rng.choice(list(TISSUES), n), rng.choice(["2", "10", "1"], n)
    score = numbers["wound_area_cm2"] / 8 + np.array([TISSUES[one] for one in tissue])
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    judge = rng.choice(["Dr Patel", "Sister Mary", "Tom (RN)"], m)
    chance = expit((score[left] - score[right]) * np.where(judge == "Dr Patel", 0, 1.5))
    winner = np.where(rng.random(m) < chance, "left", "right")
    items = {"id": names, **numbers, "tissue": tissue, "grade": grade}
    votes = {"left": names[left], "right": names[right], "winner": winner, "judge": judge}
    model = fit_table(items, votes, {"categorical": ["tissue", "grade"]})
    return report_facts(model, model.comparisons_, None)


@cache
def board():
    """300 items without features, most of whose intervals are short next to the whole range."""
    rng = np.random.default_rng(2)
    n, m = 300, 30_000
    ability = rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    names = np.array([f"model-{row}" for row in range(n)])
    winner = np.where(rng.random(m) < expit(ability[left] - ability[right]), "left", "right")
    return facts_of(None, {"left": names[left], "right": names[right], "winner": winner})


PAGES = {"clinic": clinic, "board": board}


@pytest.fixture(scope="module")
def layout(browser, tmp_path_factory):
    """What a browser sees of a page at 1280 pixels, by its name."""

    @cache
    def look(name):
        path = tmp_path_factory.mktemp(name) / "page.html"
        path.write_text(report_html(PAGES[name]()))
        with open_page(browser, path, 1280) as (page, wrong):
            assert wrong == []
            return page.evaluate(script("layout.js"))

    return look


@needs_browser
@pytest.mark.parametrize("name", PAGES)
def test_no_card_is_half_empty_and_columns_end_at_about_the_same_height(layout, name):
    seen = layout(name)
    assert [(title, share) for title, share in seen["blank"] if share > 0.25] == []
    assert any(len(columns) == 2 for columns in seen["columns"])
    short = [columns for columns in seen["columns"] if min(columns) < 0.65 * max(columns)]
    assert short == []


@needs_browser
def test_coefficients_have_the_width_of_the_page_and_a_line_each(layout):
    """The table had half of the page, a scroller, and intervals and names in two lines."""
    (table,) = [
        one for one in layout("clinic")["tables"] if "units of the features" in one["title"]
    ]
    assert table["width"] > 0.9
    assert not table["scrolls"]
    assert table["highest"] < 32


@needs_browser
def test_the_first_items_against_each_other_have_the_width_of_the_page(layout):
    (table,) = [one for one in layout("board")["tables"] if "against each other" in one["title"]]
    assert table["width"] > 0.9


@needs_browser
def test_the_mark_of_a_score_does_not_hide_its_interval(layout):
    seen = layout("board")["intervals"]
    assert len(seen) == 300
    assert min(seen) > 2


def pdf_pages(browser, facts, path):
    """How many sheets of paper a page is."""
    path.write_text(report_html(facts))
    with open_page(browser, path, 1280) as (page, _):
        return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@needs_browser
def test_150_patients_are_six_sheets_of_paper(browser, tmp_path):
    """They were ten, of which the first was half and the fifth mostly empty."""
    assert pdf_pages(browser, clinic(), tmp_path / "page.html") <= 6


@needs_browser
def test_no_sentence_or_heading_is_cut_between_sheets(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(report_html(clinic()))
    with open_page(browser, path, 800) as (page, _):
        page.emulate_media(media="print")
        inside = "[...document.querySelectorAll('p, .card h3')].filter(one => {"
        inside += " const style = getComputedStyle(one); return one.offsetHeight"
        inside += " && style.breakInside != 'avoid' && style.breakAfter != 'avoid'})"
        assert page.evaluate(f"{inside}.map(one => one.textContent)") == []


def outliers():
    """Items whose residuals lie just beyond the dashed lines, close to each other."""
    rng = np.random.default_rng(3)
    named = [("P120", 0.1, 2.05), ("P017", 0.2, 2.1), ("P111", 0.15, 2.02), ("P128", 0.3, -2.03)]
    rest = [(f"q{row}", *pair) for row, pair in enumerate(rng.normal(size=(60, 2)).tolist())]
    rest = [(name, score, 0.8 * np.clip(residual, -1.9, 1.9)) for name, score, residual in rest]
    return [
        RankedItem(name, 1, 1, 1, score, score, score, 50, 3, 1, 0, residual, False)
        for name, score, residual in [*named, *rest]
    ]


@needs_browser
def test_names_of_outliers_lie_neither_on_the_dashed_lines_nor_on_each_other(browser, tmp_path):
    path = tmp_path / "page.html"
    style = re.search("<style>.*</style>", report_html(clinic()), re.DOTALL)[0]
    chart = residual_chart(outliers())
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><title>x</title>{style}<main><h1>x</h1>{chart}</main>'
    )
    assert [one for one in faults_of(browser, path, [(1280, "light")]) if "lies o" in one] == []


def test_a_page_of_the_likelihood_says_nothing_of_closed_forms_and_what_they_need():
    said = text_of(report_html(clinic()))
    assert "closed form" not in said
    assert "is not shown" not in said
    assert "elliptical" not in said


def test_levels_are_in_the_order_of_their_effects_and_numbers_in_their_own():
    facts = clinic()
    levels = {one.name: [level.feature for level in one.levels] for one in facts.categories}
    assert levels["tissue"] == ["necrotic", "Slough", "granulating", "epithelialising"]
    assert levels["grade"] == ["1", "2", "10"]
    said = text_of(report_html(facts))
    rows = [f"tissue= {level} " for level in levels["tissue"]]
    assert sorted(map(said.index, rows)) == list(map(said.index, rows))


def test_thousands_are_written_alike():
    assert [tick_label(value) for value in (500, 5000, 10_000)] == ["500", "5,000", "10,000"]
    page = re.sub("<(style|script).*?</\\1>", "", report_html(board()), flags=re.DOTALL)
    shown = re.findall(r">([^<>]*)<", page.split("Where it comes from")[0])
    assert [text for text in shown if re.search(r"(?<![\d.,#-])(?!1957)\d{4,}", text)] == []


def test_the_lead_is_short_and_names_the_careless_judge_early():
    answer = clinic().answer
    assert answer[1].startswith("Look at the judges: Dr Patel contradicts the score in ")
    assert len(" ".join(answer)) < 700


def test_effects_of_items_that_are_as_good_as_zero_are_not_drawn():
    """The chart had dots within 0.0002 of zero where no effects were seen."""
    rng = np.random.default_rng(1)
    names = np.array([f"item {row}" for row in range(40)])
    x = rng.normal(size=40)
    left = rng.integers(0, 40, 120)
    right = (left + rng.integers(1, 40, 120)) % 40
    winner = np.where(rng.random(120) < expit(2 * (x[left] - x[right])), "left", "right")
    votes = {"left": names[left], "right": names[right], "winner": winner}
    with pytest.warns(PairscoreWarning):
        facts = facts_of({"id": names, "x": x}, votes, item_effects=True)
    assert "none seen" in facts.effects.of_items_in_words
    assert facts.effects.of_items == []
