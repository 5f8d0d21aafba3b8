"""Links of Markdown pages: where they go, and which of them lead nowhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.pages import FENCE

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
SOURCE = re.compile(r"<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
ELSEWHERE = re.compile(r"^(?:https?|mailto|doi):")
HEADING = re.compile(r"(?m)^ {0,3}#{1,6} +(.+?) *#*$")
TARGET = re.compile(r"(?m)^\(([\w-]+)\)=$|<a (?:id|name)=\"([\w-]+)\"")


def without_code(text: str) -> str:
    """Prose with its blocks and code blanked out; lines keep their numbers."""
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return CODE.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)


def links_of(text: str) -> Iterator[tuple[int, str]]:
    """Line and target of every link and picture."""
    prose = without_code(text)
    for pattern in (LINK, SOURCE):
        for match in pattern.finditer(prose):
            yield prose.count("\n", 0, match.start()) + 1, match[1]


@cache
def anchors_of(path: Path) -> frozenset[str]:
    """Names of the headings of a page, as GitHub and the site make them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    names: list[str] = []
    for heading in HEADING.findall(text):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip()
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        n_before = sum(
            re.fullmatch(rf"{re.escape(slug)}(-\d+)?", name) is not None for name in names
        )
        names.append(f"{slug}-{n_before}" if n_before else slug)
    return frozenset(names) | {name for pair in TARGET.findall(text) for name in pair if name}


def dead_links(path: Path, root: Path) -> list[str]:
    """Links of a page to files or headings that are not there, or outside of ``root``."""
    dead = []
    for line, target in links_of(path.read_text(encoding="utf-8")):
        if ELSEWHERE.match(target):
            continue
        name, _, anchor = target.partition("#")
        found = (path.parent / name).resolve() if name else path
        is_there = found.exists() and found.is_relative_to(root)
        if is_there and anchor and found.suffix == ".md":
            is_there = anchor in anchors_of(found)
        if not is_there:
            dead.append(f"{path.relative_to(root)}, line {line}: {target}")
    return dead
