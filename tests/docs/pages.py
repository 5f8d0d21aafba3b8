"""The pages of the documentation and their blocks: what is code, what is a command, what is text.

A page is read from top to bottom in one fresh folder, the one that ``pairscore demo`` leaves: its
items.csv, comparisons.csv and new_items.csv, and the folder ``examples`` of the project.

    ```python     with >>>: a doctest; without: run as it is. One namespace for the whole page.
    ```console    lines "$ command" (a backslash at the end continues it), then what it prints;
                  without printed lines only its exit status counts.
    ```text       shown, not run: formulas, diagrams, parts of files.

Lines before a block say more about it, one comment each:

    <!-- exit: 2 -->        how the commands of a console block end
    <!-- needs: dask -->    a server that the block needs: dask, postgres, object_store or spark

Servers are started by the tests (``tests/docs/conftest.py``). A page writes these addresses, and a
test puts the port in that the server really has:

    dask            dask://127.0.0.1:8786, and tcp://127.0.0.1:8786 for distributed.Client: a
                    scheduler with two workers on this machine.
    postgres        postgresql://reader@127.0.0.1:5432/study, and reader:secret@ with its password,
                    which PGPASSWORD has too. The database has tables ``items``, ``comparisons`` and
                    ``new_items``, those of the files of that name. The reader may only read.
                    "left" and "right" are words of SQL: quote them.
    object_store    s3://hospital: items.csv, items.parquet, new_items.csv, comparisons.csv, and the
                    comparisons in three files comparisons/part-1.parquet to part-3.parquet. Keys
                    and server are in the environment; a page that shows AWS_ENDPOINT_URL writes
                    http://127.0.0.1:9000.
    spark           spark://127.0.0.1:7077. Only ``make test-spark`` runs these blocks, with the
                    others of the page that need no other server; a block must not stop the session.
                    ``make test`` leaves them out, so that later blocks must not depend on them.
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
SERVERS = ("dask", "object_store", "postgres", "spark")
FENCE = re.compile(
    r"^(?P<before>(?:<!-- [^\n]* -->\n)*)"
    r"(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    body: str
    exit_status: int = 0
    needs: frozenset[str] = frozenset()

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


def text_of(page: str) -> str:
    return PAGES[page].read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    text = text_of(page)
    found = []
    for match in FENCE.finditer(text):
        exit_said = re.search(r"exit: (\d+)", match["before"])
        line = text.count("\n", 0, match.start("body")) + 1
        status = int(exit_said[1]) if exit_said else 0
        needs = frozenset(needs_in(match["before"]))
        found.append(Block(page, line, match["language"].strip(), match["body"], status, needs))
    return found


def needs_in(text: str) -> set[str]:
    """Servers that a text names as needed."""
    return {name for names in NEEDS.findall(text) for name in re.split(r"[, ]+", names)}


def needs_of(page: str) -> set[str]:
    """Servers that a page needs."""
    return needs_in(text_of(page))


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block."""
    commands: list[Command] = []
    for part in re.split(r"(?m)^\$ ", block.body)[1:]:
        text, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
        commands.append(Command(text, printed.strip("\n")))
    return commands


def without_fences(page: str) -> str:
    """The prose of a page, its blocks taken out (lines keep their numbers)."""
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text_of(page))
