"""The page: whole, alone, and safe."""

import csv
import re
from html.parser import HTMLParser

import pytest

from pairscore.paper import experiments, figures
from pairscore.paper.claims import check_claims
from pairscore.paper.experiments import PANELS
from pairscore.paper.figures import FIGURES
from pairscore.paper.page import (
    Work,
    claims_table,
    judged_claims,
    lead_text,
    page_html,
    write_page,
)
from pairscore.paper.verdicts import APPROXIMATELY, HOLDS, NOT, Claim
from tests.paper.conftest import (
    error_rows,
    illustration_rows,
    law,
    need_rows,
    scenario_rows,
    source_rows,
)


class Reader(HTMLParser):
    """Collects what a browser would see, and complains about tags that do not close."""

    VOID = ("meta", "link", "br", "hr", "img", "input")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.words, self.tags = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [
            values[name]
            for name in ("src", "href", "xlink:href", "srcset", "data", "action")
            if name in values
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module", autouse=True)
def _quick_page():
    """Only the SVG files that a page shows are drawn, and few predicted points.

    The rest is slow.
    """
    picture = figures._picture

    def svg_only(figure, suffix, name):
        return picture(figure, suffix, name) if suffix == "svg" else b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_picture", svg_only)
        patch.setattr(experiments, "NEEDED_POINTS", 3)
        patch.setattr(experiments, "POINTS", 5)
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory, _quick_page):
    """A page of all figures: its folder, its text, and what a browser sees."""
    folder = tmp_path_factory.mktemp("site")
    tables = {
        "rows": [row for figure in "2347" for row in error_rows(figure, law, generations=3)],
        "needed": [
            row
            for figure in "568"
            for row in need_rows(figure, lambda need: 20.0 * need.n_features / need.min_eigenvalue)
        ],
        "illustration": illustration_rows(),
        "sources": source_rows(),
        "scenarios": scenario_rows(),
    }
    settings = {"seeds": "<script>alert(2)</script>", "engine": "fast"}
    path, _ = write_page(folder, tables, settings, Work(900, 900, seconds=125))
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    reader.close()
    return folder, text, reader


def test_the_page_is_whole_and_has_every_figure(site):
    folder, _, reader = site
    assert reader.open == []
    assert [name for name in reader.ids if re.fullmatch(r"figure\d+", name)] == [
        f"figure{name}" for name in FIGURES
    ]
    assert reader.tags.count("svg") == 10
    for name in FIGURES:
        panels = {
            identity for identity in reader.ids if re.fullmatch(rf"f{name}-axes_\d+", identity)
        }
        assert len(panels) == (2 if name in "89" else len(PANELS[name]))
    assert sum(len(PANELS[name]) for name in "123456") == 18
    said = " ".join(reader.words)
    for words in (
        "2 min 5 s",
        "Of 15 claims",
        "Settings",
        "How to read",
        "fast",
        "curve by curve",
        "figure 6a–c",
    ):
        assert words in said
    assert {path.name for path in folder.iterdir()} == {"index.html", "claims.csv", "figures"}
    assert len(list((folder / "figures").iterdir())) == 30


def test_the_page_stands_alone(site):
    folder, text, reader = site
    inside = {f"#{name}" for name in reader.ids}
    for link in reader.links:
        assert link in inside or (folder / link).is_file(), link
    assert len(set(reader.ids)) == len(reader.ids)
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert "@import" not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= inside
    # names of SVG, never fetched
    assert {name.split("/")[0] for name in re.findall(r"https?://([^\s\"'<>]+)", text)} <= {
        "www.w3.org"
    }


def test_the_page_follows_the_reader_and_the_printer(site):
    _, text, _ = site
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert 'name="viewport"' in text
    assert "overflow-x: auto" in text
    assert '"Segoe UI"' in text  # a style sheet is not escaped


def test_what_comes_from_outside_is_shown_not_run(site):
    _, text, reader = site
    assert "<script" not in text
    assert "<script>alert(2)</script>" in "".join(reader.words)
    claim = Claim("<b>a</b>", "<i>b</i>", "1 < 2 & p_e", "<u>", HOLDS, "<s>", ("<q>",))
    html = page_html({}, [claim], {"<a>": "<em>"}, "<dfn>")
    for tag in ("b", "i", "u", "s", "q", "a", "em", "dfn"):
        assert f"<{tag}>" not in html
        assert f"&lt;{tag}&gt;" in html
    assert "1 &lt; 2 &amp; p<sub>e</sub>" in html


def test_a_page_of_one_panel(tmp_path):
    rows = [row for row in error_rows("2", law, generations=2) if row["panel"] == "a"]
    path, _ = write_page(tmp_path, {"rows": rows}, {}, Work(36, 36, seconds=4.2))
    text = path.read_text(encoding="utf-8")
    assert 'id="figure2"' in text
    assert 'id="figure3"' not in text
    assert 'id="beyond"' not in text
    assert "are not judged" in text
    assert (
        "Figure 2a of the paper on rank regression from pairwise comparisons, run again: 36 cells"
        " run in 4 seconds; predictions, figures and claims" in text
    )


@pytest.mark.parametrize(
    ("panels", "n_run", "words"),
    [
        (
            PANELS,
            9,
            (
                "Every experiment of PAPER, run again, and figures 7, 8, 9, 10 beyond it: 9 cells"
                " run in"
            ),
        ),
        ({"2": "a", "3": "abc"}, 9, "Figures 2a, 3 of PAPER, run again: 9 cells run in 2 min 5 s;"),
        (
            {"2": "ab", "9": "a"},
            2,
            "Figure 2 of PAPER, run again, and figure 9 beyond it: of 9 cells, 2 were run now in",
        ),
        (
            {"10": "a"},
            0,
            "Figure 10 beyond PAPER: 9 cells, all run before; predictions, figures and claims took",
        ),
    ],
)
def test_the_first_words_say_which_figures_and_what_was_run_now(panels, n_run, words):
    lead = lead_text(panels, [], Work(9, n_run, 125), 3)
    assert lead.startswith(
        words.replace("PAPER", "the paper on rank regression from pairwise comparisons")
    )
    assert lead.endswith("predictions, figures and claims took 3 seconds.")
    assert ("2 min 5 s" in lead) == (n_run > 0)


def test_the_claims_file_has_a_line_for_each_claim():
    claims = check_claims(error_rows("3", law))
    lines = list(csv.DictReader(claims_table(claims).splitlines()))
    assert [line["sentence"] for line in lines] == [claim.sentence for claim in claims]
    assert {line["verdict"] for line in lines} <= {HOLDS, APPROXIMATELY, NOT}


def test_verdicts_that_cannot_be_told_are_counted_where_the_page_begins():
    """Three generations turned a verdict without a word."""
    sure, unsure = (Claim("", "", "", "", HOLDS, repeats=share) for share in (0.95, 0.6))
    assert judged_claims([]) == ""
    assert judged_claims([sure, sure]) == "Of 2 claims of its experiments section, 2 hold."
    assert judged_claims([sure, unsure]) == (
        "Of 2 claims of its experiments section, 2 hold. 1 of these verdicts cannot be told:"
        " another run with as many generations would come to another verdict in more than 20 of"
        " 100 cases."
    )
    page = page_html({}, [sure, unsure], {}, "lead")
    assert "So in 95 of 100 repeats." in page
    assert "Cannot be told: only in 60 of 100 repeats." in page
