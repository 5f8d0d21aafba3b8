"""What is held against the prose of pages: long lines, and words that are not spelt right."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.links import LINK, without_code
from tests.docs.pages import FENCE

WIDTH = 120
WORD_LIST = Path(__file__).with_name("words.txt")
ADDRESS = re.compile(r"(?:https?|s3|postgresql|sqlite|duckdb|dask|spark)://\S+")
INPUT = re.compile(r"\s*(?:\$|>>>|\.\.\.) ")


def long_lines(text: str) -> list[int]:
    """Numbers of lines over 120 characters, but for tables, addresses and what programs print."""
    printed = {line for match in FENCE.finditer(text) for line in _printed(text, match)}
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("|") or number in printed:
            continue
        shorter = ADDRESS.sub("", LINK.sub(lambda match: match[0].replace(match[1], ""), line))
        if len(shorter) > WIDTH:
            found.append(number)
    return found


def _printed(text: str, match: re.Match[str]) -> list[int]:
    """Numbers of the lines of a block that show what a program prints."""
    first = text.count("\n", 0, match.start("body")) + 1
    language, lines = match["language"].strip(), match["body"].splitlines()
    is_input = [INPUT.match(line) is not None for line in lines]
    if language == "text":
        return list(range(first, first + len(lines)))
    if language == "python" and not any(is_input):
        return []
    # a line that continues a command is part of it
    goes_on = [False, *(line.endswith("\\") for line in lines)]
    return [first + row for row, typed in enumerate(is_input) if not (typed or goes_on[row])]


def prose_lines(text: str) -> str:
    """The words of a page without code, addresses, mathematics and dotted names.

    Lines keep their numbers.
    """
    text = without_code(text)
    text = LINK.sub(lambda match: match[0].replace(match[1], ""), text)
    text = re.sub(r"\$\$.*?\$\$", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    return ADDRESS.sub("", re.sub(r"\$[^$\n]+\$|<[^>\n]*>|\b\w+(?:\.\w+)+", "", text))


def word_list() -> tuple[list[str], list[tuple[re.Pattern[str], str]]]:
    """Words that are right, and patterns of American spellings with the British ones."""
    known, american = [], []
    for line in WORD_LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        word, _, british = line.partition(" -> ")
        if british:
            pattern = rf"\b{word.replace('*', '[a-z]*')}\b"
            american.append((re.compile(pattern, re.IGNORECASE), british))
        else:
            known.append(word)
    return known, american


def american_spellings(text: str) -> list[str]:
    """American spellings in a text, with their lines."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, british in word_list()[1]:
            found += [f"line {number}: {word} ({british}…)" for word in pattern.findall(line)]
    return found


def misspelt(folder: Path) -> list[str]:
    """What codespell finds in the text files of a folder."""
    known, _ = word_list()
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--ignore-words-list", ",".join(known), "."],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 65), done.stderr  # 65: words were found
    return done.stdout.splitlines()
