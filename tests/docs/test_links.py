"""No link of a page leads nowhere."""

import pytest

from tests.docs.links import anchors_of, dead_links, links_of
from tests.docs.pages import PAGES, ROOT

OTHERS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/data/README.md")
ALL_PAGES = [*PAGES, *(page for page in OTHERS if (ROOT / page).is_file())]


@pytest.mark.parametrize("page", ALL_PAGES)
def test_links_lead_to_files_and_headings_that_are_there(page):
    assert dead_links(ROOT / page, ROOT) == []


def test_pages_have_links():
    assert sum(len(list(links_of((ROOT / page).read_text()))) for page in ALL_PAGES) > 100


WRONG = {
    "[a](nothing.md)": "nothing.md",
    "[a](other.md#missing)": "other.md#missing",
    "[a](#missing)": "#missing",
    "![a](picture.svg)": "picture.svg",
    '<img src="picture.svg" width="5">': "picture.svg",
    "[a](../outside.md)": "../outside.md",
    "[`code` and [more]](nothing.md)": "nothing.md",
    "two\nlines [a\nb](nothing.md)": "nothing.md",
}
RIGHT = (
    "[a](other.md) [b](other.md#the-title-of---all) [c](#here) ![d](there.png) [e](.)",
    "[a](https://example.org/nothing.md) [b](other.md#here-1)",
    "`[a](nothing.md)`",
    "```text\n[a](nothing.md)\n```\n",
)


@pytest.fixture
def page(tmp_path):
    (tmp_path / "outside.md").touch()
    root = tmp_path / "docs"
    root.mkdir()
    (root / "there.png").touch()
    (root / "other.md").write_text(
        "# The `title` of --all\n\n## Here\n\n```text\n# no\n```\n## Here\n"
    )
    return root / "page.md"


@pytest.mark.parametrize(("text", "target"), WRONG.items())
def test_a_dead_link_is_found_with_its_line(text, target, page):
    page.write_text(f"# Here\n\n{text}\n")
    (found,) = dead_links(page, page.parent)
    assert found.startswith("page.md, line ")
    assert found.endswith(f": {target}")


@pytest.mark.parametrize("text", RIGHT)
def test_links_that_lead_somewhere_are_fine(text, page):
    page.write_text(f"# Here\n\n{text}\n")
    assert dead_links(page, page.parent) == []


def test_headings_have_the_names_that_github_gives_them(page):
    page.write_text("# A & B: what's `x_y`?\n## [Linked](other.md)\n(own-name)=\n## Größe\n")
    assert anchors_of(page) == {"a--b-whats-x_y", "linked", "own-name", "größe"}
