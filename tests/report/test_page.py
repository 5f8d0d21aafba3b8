"""The page: against a parser, hostile names and a real browser, and by the command."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html import unescape

import numpy as np
import pytest
from click.testing import CliRunner

from pairscore import RankRegression
from pairscore.cli.commands import main
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.settings import Wording
from pairscore.files.write import write_table
from pairscore.report.facts import EffectsFacts, report_facts
from pairscore.report.page import page_template, report_html, write_page, write_report
from tests.model.test_contrasts import draw_items, draw_votes, fit_table
from tests.report.browser import (
    faults_of,
    needs_browser,
    open_page,
    script,
)
from tests.report.conftest import (
    EVIL,
    NAMES,
    Page,
    assert_whole,
    baseball,
    draw_study,
    facts_of,
    page_in_words,
    page_of,
    text_of,
)

CHARTS = [
    "Scores of the first and the last items with their intervals",
    "Score of every item against its rank",
    "Coefficients with their intervals",
    "Share of wrong predictions",
    "Predicted against observed win rate",
    "Residual of every compared item",
    "Number of items by number of comparisons",
    "Predicted share of misordered pairs",
    "Share of comparisons predicted correctly, by method",
]


def test_where_no_items_can_be_held_out_the_fit_itself_is_still_shown(tmp_path):
    """Seven teams and six features: four teams are too few to fit the other three."""
    model, text = baseball(tmp_path)
    assert_whole(text)
    chart = re.search(
        r'<svg[^>]*aria-label="Share of comparisons predicted correctly, by method">.*?</svg>', text
    )[0]
    assert chart.count('class="contrast"') == 3  # in sample: pooled, paired, mle
    said = text_of(text)
    assert (
        "Items cannot be held out here: without them, there are 6 features but only 4 compared"
        " items" in said
    )
    assert (
        "Of the decided comparisons that it was fitted to, the score predicted"
        f" {100 * model.agreement_:.1f} % correctly (optimistic; a coin toss, 50 %)" in said
    )
    assert "(0 in all)" not in text
    assert "<th>held out</th>" not in text
    assert "none found a problem" not in text
    assert "-0.00<" not in text  # as many features as items less one: nothing is left of any


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"inference": None},
        {"inference": "model", "link": "probit"},
        {"method": "pooled"},
        {"side_effect": True},
    ],
)
def test_the_page_is_whole(settings, tmp_path):
    items, votes = draw_study(60, 700, ties=True, weights=True, spare=40)
    write_report(
        RankRegression(**settings).fit(items, votes), items, votes, tmp_path / "report.html"
    )
    text = (tmp_path / "report.html").read_text()
    page = assert_whole(text)
    assert len(page.cells) == 100
    labels = [value for name, value in page.attributes if name == "aria-label"]
    assert [label for label in labels if label in CHARTS] == CHARTS
    assert ("The model was fitted without intervals" in text) == (
        settings.get("inference", "items") is None
    )
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_page_is_the_same_for_any_n_jobs(tmp_path):
    items, votes = draw_study(60, 700, ties=True, weights=True, spare=40)
    model = RankRegression(l2="auto").fit(items, votes)
    for n_jobs in (1, 2):
        write_report(model, items, votes, tmp_path / f"{n_jobs}.html", n_jobs=n_jobs)
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


@cache
def page_of_many():
    items, votes = draw_study(1000, 6000, d=6)
    items["id"] = items["id"].astype(object)
    for row, name in ((7, EVIL), (8, "a" * 300), (9, "日本 \u202e&amp;<b>\"'\n"), (10, "\ud800")):
        for side in ("left", "right"):
            votes[side] = np.where(votes[side] == f"item {row}", name, votes[side].astype(object))
        items["id"][row] = name
    items["<script>alert(2)</script>"] = items.pop("feature 5")
    return page_of(items, votes)


def test_a_script_in_a_name_stays_text():
    page = assert_whole(page_of_many())
    assert EVIL in page.cells
    assert "日本 \u202e&amp;<b>\"'\n" in "".join(page.cells)


def test_marks_in_names_are_escaped_on_the_page_and_plain_in_the_facts(tmp_path):
    script, quoted = "<script>alert(1)</script>", 'a & b "c"'
    items, votes = draw_study(40, 400, d=2)
    best = np.argsort(-items["feature 0"])[:2]
    names = dict(zip(items["id"][best], (script, quoted), strict=True))
    items["id"] = np.array([names.get(name, name) for name in items["id"]], dtype=object)
    for side in ("left", "right"):
        votes[side] = np.array([names.get(name, name) for name in votes[side]], dtype=object)
    items = {{"feature 0": script, "feature 1": quoted}.get(k, k): v for k, v in items.items()}
    with pytest.warns(PairscoreWarning):  # few items
        model = RankRegression().fit(items, votes)
    facts = write_page(model, items, votes, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    page = assert_whole(text)
    assert {script, quoted} <= set(page.cells)
    assert facts.items[0].name in (script, quoted)
    assert facts.answer[0].startswith(f"{facts.items[0].name} comes first of 40 items")
    assert facts.answer[0] in text_of(text)
    assert script not in text
    assert quoted not in text
    assert "&amp;lt;" not in text  # escaped once
    assert "&amp;amp;" not in text
    tips = re.findall("<title>(.*?)</title>", text)
    assert any(unescape(tip).startswith(f"{script}: score") for tip in tips)
    assert any(unescape(tip).startswith(f"{quoted}: score") for tip in tips)


def test_templates_are_loaded_when_a_page_is_written_and_not_before():
    code = "import sys, pairscore.report.page; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_thousand_items_are_all_there_in_a_small_file():
    assert len(Page(page_of_many()).cells) >= 1000
    assert len(page_of_many().encode("utf-8", "replace")) < 1_200_000


def test_beyond_five_thousand_items_the_table_has_both_ends():
    items, votes = draw_study(5600, 6000, d=2)
    text = page_of(items, votes, method="paired", inference=None)
    assert len(assert_whole(text).cells) == 5000
    assert "Left out here: 600 items in the middle" in text


@pytest.mark.parametrize(
    "case", ["two items", "one feature", "all ties", "constant feature", "ridge with many features"]
)
def test_small_and_odd_studies_have_a_page_too(case):
    settings = {}
    items, votes = draw_study(30, 200, ties=True)
    if case == "two items":
        items = {"id": [1, 2], "x": [0.0, 1.0]}
        votes = {"left": [1, 2, 1], "right": [2, 1, 2], "winner": ["left", "left", "right"]}
    if case == "one feature":
        items = {"id": items["id"], "x": items["feature 0"]}
    if case == "all ties":
        votes["winner"] = np.full(200, "tie")
    if case == "constant feature":
        items["feature 1"] = np.ones(30)
    if case == "ridge with many features":
        items |= {
            f"more {column}": np.random.default_rng(column).normal(size=30) for column in range(60)
        }
        settings = {"l2": 1.0}
    with pytest.warns(PairscoreWarning):
        model = RankRegression(**settings).fit(items, votes)
    text = report_html(report_facts(model, items, votes))
    assert_whole(text)
    assert "What did the fit itself warn of?" in text


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_odds_multiply_under_logit_only_and_score_differences_determine_chances(link):
    said = page_in_words(*draw_study(60, 600), link=link)
    assert ("it is the odds that multiply" in said) == (link == "logit")
    assert (
        "the difference of two scores determines how often one item wins against the other" in said
    )


@pytest.mark.parametrize(("n_items", "is_said"), [(50, False), (60, True)])
def test_a_printed_page_says_that_rows_are_left_out_only_where_some_are(n_items, is_said):
    said = page_in_words(*draw_study(n_items, 600))
    assert ("The first 50 rows are printed." in said) == is_said


def test_the_comparisons_tested_are_those_that_were_decided():
    """With ties, the lead told of more tested comparisons than the chart beside it."""
    said = page_in_words(*draw_study(60, 700, ties=True))
    tested = re.search(r"\((\d+) tested\)", said)[1]
    assert f"({tested} decided comparisons in all)" in said


def test_an_option_on_the_page_is_never_broken_at_its_hyphen():
    """On a phone --winner-codes was in two lines."""
    facts = facts_of(*draw_study(60, 600))
    record = {**facts.record, "command": "pairscore fit <i> v --winner-codes A=left -o m.npz"}
    page = report_html(replace(facts, record=record))
    assert '&lt;i&gt; v <span class="whole">--winner-codes</span> A=left -o m.npz' in page
    assert "--winner-codes" not in re.sub(r'<span class="whole">[^<]*</span>', "", page)
    assert ".whole { white-space: nowrap; }" in page


def test_a_level_is_broken_behind_its_column_and_not_within_a_word():
    """Station=Chirurgie was Station=Chirurgi and e, on a wide screen too."""
    macros = page_template().environment.get_template("sections/macros.html.j2").module
    cells = macros.row(["Station=Chirurgie", "a=b", "<i>=x"])
    assert "Station=<wbr>Chirurgie</td>" in cells
    assert 'class="text words"' in cells
    assert "a=b</td>" in cells
    assert "&lt;i&gt;=x</td>" in cells
    assert 'class="text"' in macros.row(["Station=Allgemeinchirurgie"])


def test_intervals_that_hold_together_are_named_for_the_command_and_for_python():
    said = page_in_words(*draw_study(60, 600))
    assert "--simultaneous" in CliRunner().invoke(main, ["rank", "--help"]).output
    assert "rank with --simultaneous (in Python, simultaneous=True)" in said
    assert "hold together" not in page_in_words(*draw_study(60, 600), inference=None)


@cache
def page_of_long_names():
    """All items stand in the caterpillar; one of them lies outside."""
    items, votes = draw_study(23, 900, d=4, spare=1)
    items["feature 1"][23] = 99.0
    names = dict(zip(items["id"], NAMES, strict=True))
    votes = {
        name: values if name == "winner" else np.array([names[one] for one in values], dtype=object)
        for name, values in votes.items()
    }
    items = items | {
        "id": np.array(NAMES, dtype=object),
        "A very long name of a feature, in words": items["feature 3"],
    }
    items.pop("feature 3")
    with pytest.warns(PairscoreWarning):
        return page_of(items, votes)


def test_a_long_name_is_whole_in_its_title_and_an_item_outside_is_marked_beside_its_name():
    page = assert_whole(page_of_long_names())
    titles = [value for name, value in page.attributes if name == "title"]
    titles = [value for value in titles if not value.startswith("ranks ")]
    assert sorted(titles) == sorted(name for name in NAMES if len(name) > 24)
    assert re.search(r"</bdi> <span class=\"mark\">outside</span></td>", page_of_long_names())


@pytest.fixture
def files(tmp_path):
    items, votes = draw_study(60, 600)
    RankRegression().fit(items, votes).save(tmp_path / "model.npz")
    write_table(items | {"remark": np.array(["text"] * 60)}, tmp_path / "items.csv")
    write_table(votes, tmp_path / "votes.csv")
    return [str(tmp_path / name) for name in ("model.npz", "items.csv", "votes.csv")]


def test_the_command_writes_the_page_and_says_where(files, tmp_path):
    result = CliRunner().invoke(main, ["report", *files, "-o", str(tmp_path / "page.html")])
    assert (result.exit_code, result.output) == (0, f"{tmp_path / 'page.html'}\n")
    text = (tmp_path / "page.html").read_text()
    assert_whole(text)
    assert "These are the items and comparisons that the model was fitted to." in text
    assert "The model was made by" in text
    assert "This report was made by" in text


def test_a_model_fitted_in_the_shell_has_its_report_with_its_recipe_and_columns(tmp_path):
    items, votes = draw_study(60, 600)
    names = list(items)
    style = np.array(["oil", "ink", "chalk"])[np.arange(60) % 3]
    gaps = np.where(np.arange(60) == 7, np.nan, np.arange(60.0) % 5)
    write_table(
        {"name" if name == "id" else name: values for name, values in items.items()}
        | {"style": style, "age": gaps},
        tmp_path / "items.csv",
    )
    write_table(
        {"home": votes["left"], "away": votes["right"], "winner": votes["winner"]},
        tmp_path / "votes.csv",
    )
    files = [str(tmp_path / name) for name in ("items.csv", "votes.csv")]
    columns = ["--left", "home", "--right", "away"]
    model, page = str(tmp_path / "model.npz"), tmp_path / "page.html"
    feature = next(name for name in names if name != "id")
    recipe = ["--id", "name", "--categorical", "style", "--square", feature]
    recipe += ["--interact", f"{feature}:style", "--missing", "drop-items"]
    fitted = CliRunner().invoke(main, ["fit", *files, *columns, *recipe, "-o", model])
    assert fitted.exit_code == 0, fitted.output
    # the model remembers its columns
    result = CliRunner().invoke(main, ["report", model, *files, "-o", str(page)])
    assert (result.exit_code, result.output) == (0, f"{page}\n")
    text = page.read_text()
    assert_whole(text)
    assert "These are the items and comparisons that the model was fitted to." in text
    assert all(word in text for word in ("style=oil", f"{feature}^2", f"{feature}:style=ink"))


def test_a_model_of_items_without_ids_has_its_report(tmp_path):
    items, votes = draw_study(60, 600)
    row = {name: number for number, name in enumerate(items["id"])}
    plain = {name: values for name, values in items.items() if name != "id"}
    numbered = votes | {
        side: np.array([row[name] for name in votes[side]]) for side in ("left", "right")
    }
    RankRegression().fit(plain, numbered).save(tmp_path / "model.npz")
    write_table(plain, tmp_path / "items.csv")
    write_table(numbered, tmp_path / "votes.csv")
    files = [str(tmp_path / name) for name in ("model.npz", "items.csv", "votes.csv")]
    result = CliRunner().invoke(main, ["report", *files, "-o", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert (
        "These are the items and comparisons that the model was fitted to."
        in (tmp_path / "page.html").read_text()
    )


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_file_that_is_not_there_is_a_sentence(files, tmp_path, wrong):
    files[wrong] = (
        files[wrong].replace("model", "mode").replace("items", "item").replace("votes", "vote")
    )
    result = CliRunner().invoke(main, ["report", *files, "-o", str(tmp_path / "page.html")])
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert "Traceback" not in result.output
    assert not (tmp_path / "page.html").exists()


def test_json_has_the_sentences_that_the_page_begins_with(files, tmp_path):
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["report", *files, "-o", str(page), "--json"])
    record = json.loads(result.stdout)
    assert list(record) == ["path", "n_items", "n_comparisons", "answer"]
    answer = re.search(r'<div class="answer">(.*?)</div>', page.read_text(), re.DOTALL)[1]
    paragraphs = re.findall("<p>(.*?)</p>", answer, re.DOTALL)
    on_page = [unescape(paragraph).replace("\u00a0", " ") for paragraph in paragraphs]
    assert record["answer"] == on_page
    assert len(paragraphs) == 4


def test_help_has_an_example():
    assert (
        "pairscore report model.npz items.csv votes.csv\n"
        in CliRunner().invoke(main, ["report", "--help"]).output
    )


@pytest.fixture(scope="session")
def page_with_effects(study_with_effects):
    return report_html(report_facts(*study_with_effects))


def written(text, folder):
    """The file of a page."""
    (folder / "page.html").write_text(text, encoding="utf-8", errors="replace")
    return folder / "page.html"


def look_at(browser, text, width, folder):
    """What a browser sees of a page in a window of some width, and what goes wrong."""
    with open_page(browser, written(text, folder), width) as (page, wrong):
        return page.evaluate(script("look.js")), wrong


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_everything_is_there_and_fits(browser, width, tmp_path):
    seen, wrong = look_at(browser, page_of_many(), width, tmp_path)
    assert wrong == []
    assert seen["width"] == width
    assert seen["scroll"] <= width
    assert seen["outside"] == 0
    assert seen["charts"] == len(CHARTS)
    assert seen["tools"]
    assert seen["found"] == 11
    assert (seen["worst"], seen["best"]) == ("1,000", "1")
    numbers = [int(name.split()[1]) for name in seen["names"] if re.fullmatch(r"item \d+", name)]
    assert numbers == sorted(numbers)
    assert len(numbers) > 300
    assert (seen["clipped"], seen["scrolling"]) == (0, 0)
    assert {"rank", "item", "score", "95\u00a0% interval", "ranks"} <= set(seen["heads"])


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_long_names_have_room_and_no_table_or_label_is_cut(browser, width, tmp_path):
    seen, _ = look_at(browser, page_of_long_names(), width, tmp_path)
    assert (seen["clipped"], seen["scrolling"], seen["outside"]) == (0, 0, 0)
    # two lines and a mark, or three; all of the 160 letters would be 300
    assert seen["highest"] < (80 if width == 1280 else 110)
    assert seen["item"] > (250 if width == 1280 else 75)


@needs_browser
def test_in_a_browser_categories_of_many_levels_and_long_names_fit(browser, tmp_path):
    rng = np.random.default_rng(0)
    _, table = draw_items(rng, 90, 12)
    table["grade"] = np.array([f"{one}, as the second committee said" for one in table["grade"]])
    table["grade"] = table["grade"].astype(object)
    recipe = {"categorical": ["grade", "site"], "interactions": ["mass:site"]}
    model = fit_table(table, draw_votes(rng, table["mass"]), recipe)
    text = report_html(report_facts(model, model.comparisons_, None))
    views = [(1280, "light"), (390, "light")]
    assert faults_of(browser, written(text, tmp_path), views) == []


# -- comparisons alone -----------------------------------------------------------------------------


@cache
def page_of_abilities(n_items=40):
    """The page of a model without features, with judges, ties, side and context."""
    rng = np.random.default_rng(0)
    ability, m = rng.normal(size=n_items), 30 * n_items
    left = rng.integers(0, n_items, m)
    right = (left + rng.integers(1, n_items, m)) % n_items
    length = rng.normal(size=m)
    gap = ability[left] - ability[right] + 0.3 + 0.3 * length
    shown = np.digitize(gap + rng.logistic(size=m), [-0.4, 0.4])
    names = np.array([*NAMES, *(f"item {number}" for number in range(n_items))])[:n_items]
    winner = np.array(["right", "tie", "left"])[shown]
    votes = {"left": names[left], "right": names[right], "winner": winner, "length": length}
    votes["judge"] = np.array(["Ann", "Bo", "Cy"])[rng.integers(0, 3, m)]
    settings = {"ties": "davidson", "side_effect": True, "judge_slopes": True}
    model = RankRegression(**settings, context=["length"]).fit(None, votes)
    return report_html(report_facts(model, None, votes))


def test_comparisons_alone_have_a_page_without_what_needs_features():
    text = page_of_abilities()
    assert_whole(text)
    words = text_of(text)
    for said in (
        "comes first of 40 items",
        "New items cannot be ranked",
        "The first 8 against each other",
        "Judges, side, context and ties",
        "How often is it wrong?",
        "Are all items linked by comparisons?",
        "too close to call",
        "Calibration: predicted and observed win rates",
    ):
        assert said in words
    for said in ("What counts", "coefficient", "outside", "residual", "Accuracy of every method"):
        assert said not in words
    assert "0 features" not in words


def test_a_report_of_comparisons_alone_takes_none_for_items(tmp_path):
    votes = {"winner": [*"abcabcabc"], "loser": [*"bcacabbca"]}
    model = RankRegression(item_effects=True).fit(None, votes)
    write_report(model, None, votes, tmp_path / "page.html", title="Cups")
    assert "<h1>Cups</h1>" in (tmp_path / "page.html").read_text()
    with pytest.raises(PairscoreError, match="give None in their place"):
        write_report(model, {"id": [*"abc"]}, votes, tmp_path / "page.html")
    with pytest.raises(PairscoreError, match="knows only the items that it was fitted to"):
        report_facts(RankRegression().fit(None, votes), None, {"winner": ["a"], "loser": ["z"]})


@needs_browser
def test_a_reader_stumbles_over_nothing_on_the_page_of_comparisons_alone(browser, tmp_path):
    assert faults_of(browser, written(page_of_abilities(), tmp_path)) == []


@needs_browser
@pytest.mark.parametrize("which", ["long names", "effects"])
def test_a_reader_stumbles_over_nothing_on_a_page(browser, which, request, tmp_path):
    """Nothing scrolls sideways, is cut or overlaps, and axe finds no violation."""
    is_rich = which == "effects"
    text = request.getfixturevalue("page_with_effects") if is_rich else page_of_long_names()
    assert faults_of(browser, written(text, tmp_path)) == []


@needs_browser
def test_the_browser_checks_would_see_a_wide_page_cut_text_and_what_axe_finds(browser, tmp_path):
    pale = '<p style="color:#999">so pale that few can read it</p>'
    planted = {
        '<div style="width:3000px">wide</div>': "the page is",
        '<img src="http://evil.example/x.png" alt="">': "console: ",
        '<div style="width:60px;overflow:hidden;white-space:nowrap">much too long for it</div>': (
            "scrolls sideways"
        ),
        '<div style="height:9px;overflow:hidden">two<br>lines</div>': "is cut below",
        "<button></button>": "axe button-name",
        '<svg viewBox="0 0 9 9" role="img" aria-label="x"><text>a label</text></svg>': "is cut",
    }
    whole = page_of_long_names()
    broken = whole.replace("<main>", f"<main>{''.join(planted)}", 1)
    found = faults_of(browser, written(broken, tmp_path), [(390, "light")])
    assert [fault for fault in planted.values() if not any(fault in one for one in found)] == []
    broken = whole.replace("<main>", f"<main>{pale}", 1)
    (found,) = faults_of(browser, written(broken, tmp_path), [(390, "light")])
    assert "axe color-contrast" in found
    moved = whole.replace("<text x=", '<text dx="-300" x=')
    assert look_at(browser, moved, 390, tmp_path)[0]["clipped"] > 0


def test_a_page_tells_of_judges_context_ties_and_ridge(page_with_effects):
    page = page_with_effects
    assert_whole(page)
    said = text_of(page)
    for words in (
        "Judges, ",
        "Effects of side and context",
        "How sharp the judges are",
        "Every judge",
        "Ties",
        "The ridge",
        "inverted",
        "rest",
    ):
        assert words in said
    assert "&lt;script&gt;judge 4" in page
    assert "<script>judge" not in page


def test_a_plain_model_has_no_section_of_effects():
    facts = facts_of(*draw_study(60, 600))
    assert facts.effects.is_empty
    assert "What items have beyond their features" not in report_html(facts)


def test_a_page_of_items_with_gaps(tmp_path):
    from tests.data.test_recipe import gappy

    items, votes = gappy()
    write_report(
        RankRegression(missing="item-effect").fit(items, votes), items, votes, tmp_path / "r.html"
    )
    assert "item item 20" in (tmp_path / "r.html").read_text()


def test_the_heading_of_effects_names_what_is_there():
    """ "Judges, context and ties" stood over effects of items alone."""
    effects = EffectsFacts([], "standard deviation 1", [], [], [], "", [], None)
    assert effects.heading == "Effects of items"
    assert replace(effects, context_in_words=["x"]).heading == "Items and context"


@pytest.mark.parametrize(
    ("ends", "title"),
    [
        ({"top": "worst"}, "The first 12 (worst) and the last 12"),
        ({"bottom": "mildest"}, "The first 12 and the last 12 (mildest)"),
        ({"top": "worst", "bottom": "mildest"}, "The 12 worst and the 12 mildest"),
        ({}, "The 12 highest and the 12 lowest"),
    ],
)
def test_an_end_that_nobody_named_is_first_or_last(ends, title):
    """ "The 12 worst and the 12 lowest" stood over the items where only the top was named."""
    facts = replace(facts_of(*draw_study(30, 200)), wording=Wording(**ends))
    assert title in text_of(report_html(facts))


def test_the_page_says_how_many_answers_look_like_slips():
    items, votes = draw_study(60, 2500, d=1, seed=5)
    rng = np.random.default_rng(0)
    turned = np.where(votes["winner"] == "left", "right", "left")
    votes["winner"] = np.where(rng.random(2500) < 0.1, turned, votes["winner"])
    model = RankRegression(lapse="auto").fit(items, votes)
    text = text_of(report_html(report_facts(model, items, votes))).replace("\u00a0", " ")
    assert f"bout {100 * model.lapse_.rate:.2g} of 100 answers look like slips" in text
    plain = RankRegression().fit(items, votes)
    assert "look like slips" not in text_of(report_html(report_facts(plain, items, votes)))
