"""The pages of the documentation and their blocks: what is code, what is a command, what is text.

A page is read from top to bottom in one fresh folder, the one that ``pairscore demo`` leaves: its
items.csv, comparisons.csv and new_items.csv, and the folder ``examples`` of the project.

    ```python     with >>>: a doctest; without: run as it is. One namespace for the whole page.
    ```console    lines "$ command" (a backslash at the end continues it), then what it prints;
                  without printed lines only its exit status counts.
    ```text       shown, not run: formulas, diagrams, parts of files.

``<!-- exit: 2 -->`` on the line before a console block says how its commands end, and
``<!-- needs: dask -->`` (postgres, object_store, spark) somewhere on a page which server it needs.
"""

import doctest
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "_build" not in path.parts
}
LANGUAGES = ("python", "console", "text", "math")
FENCE = re.compile(
    r"^(?P<before><!-- [^\n]* -->\n)?"
    r"(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    body: str
    exit_status: int = 0

    @property
    def is_doctest(self) -> bool:
        return self.language == "python" and ">>> " in self.body

    @property
    def is_directive(self) -> bool:
        """A directive of Sphinx, such as a list of pages."""
        return self.language.startswith("{")


@dataclass(frozen=True)
class Command:
    """A line of a console block, and what the page says it prints."""

    text: str
    printed: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def blocks_of(page: str) -> list[Block]:
    text = PAGES[page].read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        exit_said = re.search(r"exit: (\d+)", match["before"] or "")
        line = text.count("\n", 0, match.start("body")) + 1
        status = int(exit_said[1]) if exit_said else 0
        found.append(Block(page, line, match["language"].strip(), match["body"], status))
    return found


def needs_of(page: str) -> set[str]:
    """Servers that a page needs."""
    found = re.findall(r"<!-- needs: ([\w, ]+) -->", PAGES[page].read_text(encoding="utf-8"))
    return {name for names in found for name in re.split(r"[, ]+", names)}


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block."""
    commands: list[Command] = []
    for part in re.split(r"(?m)^\$ ", block.body)[1:]:
        text, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
        commands.append(Command(text, printed.strip("\n")))
    return commands


def without_fences(page: str) -> str:
    """The prose of a page, its blocks taken out (lines keep their numbers)."""
    text = PAGES[page].read_text(encoding="utf-8")
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
