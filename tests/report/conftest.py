"""Simulated studies with their reports, and what holds of every page."""

import base64
import hashlib
import re
import warnings
from collections import Counter
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import expit

from pairscore import Comparisons, RankRegression, load
from pairscore.cli.commands import main
from pairscore.errors import PairscoreWarning
from pairscore.report.facts import report_facts
from pairscore.report.page import package_text, report_html
from tests.effects.simulators import judged_votes
from tests.report.browser import open_browser

SCRIPT = package_text("report.js")
EVIL = "<script>alert('x')</script><img src=http://evil.example/x.png onerror=alert(1)>"
# long names that differ at their ends only, in several alphabets
NAMES = [
    *(f"gpt-4-turbo-2024-it{row}" for row in range(14)),
    *(f"claude-long-context-2024-variant-{letter}-evaluation-set" for letter in "abc"),
    *("x" * 160, "W" * 30, "日本語" * 12, "MMMMMMMMMMMMMMMM", "plain", "ÀÉÎÕÜ " * 6, EVIL),
]


def draw_study(
    n_items=60, n_comparisons=600, d=3, seed=0, side=0.0, ties=False, weights=False, spare=0
):
    """Items as a dict of columns, votes as a dict of columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items + spare, d)) + 2
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(X[left, 0] - X[right, 0] + side)
    names = np.array([f"item {row}" for row in range(n_items + spare)])
    winner = np.where(won, "left", "right")
    if ties:
        winner[rng.random(n_comparisons) < 0.2] = "tie"
    votes = {"left": names[left], "right": names[right], "winner": winner}
    if weights:
        votes |= {
            "weight": rng.uniform(0.5, 2, n_comparisons),
            "count": rng.integers(1, 4, n_comparisons),
        }
    return {"id": names, **{f"feature {column}": X[:, column] for column in range(d)}}, votes


def read_comparisons(items, votes):
    return Comparisons.from_frames(items, votes)[0]


def draw_counted_study(n_rows=100, most=60, weights=False):
    """Votes whose rows stand for up to 60 comparisons each, and the same comparisons one by one."""
    items, votes = draw_study(60, n_rows, side=0.4, seed=1)
    rng = np.random.default_rng(2)
    votes |= {"count": rng.integers(1, most, n_rows)}
    if weights:
        votes |= {"weight": rng.uniform(0.5, 2, n_rows)}
    single = {name: np.repeat(values, votes["count"]) for name, values in votes.items()}
    single.pop("count")
    return items, votes, single


def baseball(tmp_path):
    """The page of the first example in docs/reference/commands.md."""
    files = [f"examples/data/baseball/{name}.csv" for name in ("items", "votes")]
    model, page = str(tmp_path / "teams.npz"), tmp_path / "report.html"
    fitted = CliRunner().invoke(
        main, ["fit", *files, "--side-effect", "--inference", "model", "-o", model]
    )
    assert fitted.exit_code == 0, fitted.output
    made = CliRunner().invoke(main, ["report", model, *files, "-o", str(page)])
    assert made.exit_code == 0, made.output
    return load(model), page.read_text()


def draw_coins(seed, d=1):
    items, votes = draw_study(60, 80, d=d, seed=seed)
    return items, votes | {"winner": np.random.default_rng(seed).choice(["left", "right"], 80)}


VOID = {"meta", "link", "input", "br", "wbr", "img"}
NUMBERS = ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "points", "d", "style"]


class Page(HTMLParser):
    """Elements, attributes and text of a page; a tag closed out of turn is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.scripts, self.cells = [], [], [], []
        self.elements = Counter()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        if self.open and self.open[-1] == "bdi":
            self.cells.append(data)


def assert_whole(text):
    """Assert that a page is well-formed, fetches nothing and runs its own script only.

    All numbers of its charts are finite.
    """
    page = Page(text)
    assert page.elements["script"] == 1
    assert page.scripts == [SCRIPT]
    assert page.elements["img"] == page.elements["iframe"] == page.elements["object"] == 0
    addresses = ("src", "href", "xlink:href", "srcset", "action")
    assert [value for name, value in page.attributes if name in addresses] == ["data:,"]
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import", text)
    numbers = [value for name, value in page.attributes if name in NUMBERS]
    assert not re.search("nan|inf", " ".join(numbers))
    without_code = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    assert "nan" not in without_code.lower().replace("nand", "")
    script_hash = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{script_hash}'" in text
    return page


def text_of(page):
    """A page as a reader reads it, without its charts."""
    page = re.sub("<(style|script|svg).*?</\\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page)))


def facts_of(items, votes, **settings):
    """The facts of a model that is fitted to these data."""
    return report_facts(RankRegression(**settings).fit(items, votes), items, votes)


def page_of(items, votes, **settings):
    """The page of a model that is fitted to these data."""
    return report_html(facts_of(items, votes, **settings))


def page_in_words(items, votes, **settings):
    """The page of a model as a reader reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        page = page_of(items, votes, **settings)
    assert_whole(page)
    return text_of(page)


@pytest.fixture(scope="session")
def study_with_effects():
    """A model with context, ties, judges, a side and a chosen ridge, its items and votes."""
    slopes = np.array([1.0, 1.2, 0.8, 0.0, -1.0])
    items, votes = judged_votes(np.random.default_rng(0), m=1500, tie=0.4, slopes=slopes)
    votes["judge"] = np.array([f"<script>{name}" for name in votes["judge"]], dtype=object)
    settings = {"context": ["rest"], "ties": "rao-kupper", "judge_slopes": True}
    model = RankRegression(**settings, side_effect=True, l2="auto").fit(items, votes)
    return model, items, votes


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process, which can have no second one."""
    with open_browser() as opened:
        yield opened
