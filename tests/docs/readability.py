"""How many years of school a text asks for: ``python -m tests.docs.readability docs/tutorial.md``.

The grade of Flesch and Kincaid (Kincaid et al., 1975),

    0.39 words / sentences + 11.8 syllables / words - 15.59,

of the prose: headings, blocks, tables, pictures, addresses and comments are left out, and an entry
of a list ends a sentence. Code counts as one word of two syllables.
"""

import re
import sys
from pathlib import Path

from tests.docs.pages import FENCE

VOWELS = re.compile(r"[aeiouy]+")
SILENT = re.compile(r"(?:[^laeiouy]e|[^aeiouydt]ed|[^laeiouyszxcg]es|[aeiouy]les)$")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*|\d[\d.,]*")


def prose_of(text: str) -> str:
    """Markdown without what is not prose, a sentence ending with a full stop."""
    text = FENCE.sub("\n\n", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?:\s*\||#+ ).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
    text = re.sub(r"\$[^$\n]+\$|`[^`]*`", "coded", text)
    text = re.sub(r"^\s*(?:[-*]|\d+\.) +", "\n\n", text, flags=re.MULTILINE)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return " ".join(re.sub(r"[.:;!?]*$", ".", part) for part in paragraphs if WORD.search(part))


def syllables(word: str) -> int:
    """Syllables of a word, by its groups of vowels; a number counts as one."""
    return sum(_syllables_of_part(part) for part in re.split(r"['’-]", word.lower())) or 1


def _syllables_of_part(part: str) -> int:
    if not part.isalpha() or len(part) < 2:
        return 0
    silent = bool(SILENT.search(part)) and len(part) > 3
    return max(1, len(VOWELS.findall(part)) - silent)


def grade(text: str) -> float:
    """The grade of Flesch and Kincaid of a Markdown text."""
    prose = prose_of(text)
    words = WORD.findall(prose)
    # a full stop inside of a number or a name ends no sentence
    n_sentences = len(re.findall(r"[.!?]+(?=\s|$)", prose))
    if not words or not n_sentences:
        raise ValueError("a text without a sentence has no grade.")
    n_syllables = sum(map(syllables, words))
    return 0.39 * len(words) / n_sentences + 11.8 * n_syllables / len(words) - 15.59


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{grade(Path(name).read_text(encoding='utf-8')):5.1f}  {name}")
