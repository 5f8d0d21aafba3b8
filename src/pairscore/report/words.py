"""Numbers and names as the text that a report shows.

Numbers with their unit or "unknown", singular and plural, settings in plain words, and names cut to
the width that a chart has for them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isinf, isnan
from unicodedata import east_asian_width

from pairscore.errors import Worded
from pairscore.messages import Action, Part, Setting, plain_name

WHOLE_PART = re.compile(r"\d+")
MOST_PASSES = 4  # over names that still look alike after they were cut


def number(value: float, style: str = ".4g") -> str:
    """A number, or that it is unknown; thousands have no exponent, and are parted by commas.

    >>> number(0.123456), number(0.1, "#.3g"), number(-3234.5, "#.3g"), number(float("nan"))
    ('0.1235', '0.100', '-3,230', 'unknown')
    >>> number(1512.25, ".1f"), number(12345, "+.4g"), number(1512.0)
    ('1,512.2', '+12,340', '1,512')
    """
    if not isfinite(value):
        return "unknown"
    text = format(value, style).rstrip(".")
    if "e+" in text and abs(value) < 1e9:
        text = f"{float(text):{'+' * text.startswith('+')}.0f}"
    return WHOLE_PART.sub(lambda found: f"{int(found[0]):,}", text, count=1)


def percent(share: float, digits: int = 1) -> str:
    """A share from 0 to 1 as a percentage, or that it is unknown.

    >>> percent(0.123), percent(float("nan"))
    ('12.3 %', 'unknown')
    """
    return number(100 * share, f".{digits}f") + (" %" if isfinite(share) else "")


def with_spaces(text: str) -> str:
    """A sentence of the library with its percentages as :func:`percent` writes them.

    >>> with_spaces("68.2% of them (95 %: 61% to 74.5%)")
    '68.2 % of them (95 %: 61 % to 74.5 %)'
    """
    return re.sub(r"(?<=\d)%", " %", text)


def interval(low: float, high: float, style: str = ".3g") -> str:
    """Both ends of an interval, or that it is unknown, or open at one end or both.

    >>> interval(0.5, 1.25), interval(float("nan"), float("nan"))
    ('0.5 to 1.25', 'unknown')
    >>> interval(0.5, float("inf")), interval(-float("inf"), float("inf"))
    ('0.5 or more', 'none')
    """
    if isnan(low) or isnan(high):
        return "unknown"
    if isinf(low) or isinf(high):
        upper = "none" if isinf(high) else f"{number(high, style)} or less"
        return upper if isinf(low) else f"{number(low, style)} or more"
    return f"{number(low, style)} to {number(high, style)}"


def from_to(low: float, high: float) -> str:
    """``3 to 5``; where both are the same, ``3``."""
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"


def places(low: int, high: int) -> str:
    """Places in a ranking.

    >>> places(14, 29), places(1, 1), places(11, 112)
    ('14th to 29th', '1st', '11th to 112th')
    """
    return _ordinal(low) if low == high else f"{_ordinal(low)} to {_ordinal(high)}"


def _ordinal(place: int) -> str:
    teen = 10 < place % 100 < 20
    return f"{place:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th')}"


def signed(value: float, digits: int) -> str:
    """A number with its sign; zero is never negative."""
    return f"{round(value, digits) + 0.0:+,.{digits}f}"


def number_of(count: float, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> number_of(1.0, "item"), number_of(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{count:,.10g} {noun}{'' if count == 1 else 's'}"


def wins(of_100: float, more: str = "more than ", fewer: str = "fewer than ") -> str:
    """Wins of 100 comparisons, never all and never none.

    >>> wins(62.4), wins(99.7), wins(0.2), wins(float("nan"))
    ('62', 'more than 99', 'fewer than 1', 'unknown')
    """
    if not isfinite(of_100):
        return "unknown"
    return f"{more}99" if of_100 > 99 else f"{fewer}1" if of_100 < 1 else f"{of_100:.0f}"


def advice_or_tried(rejected: Mapping[str, str], setting: str, advice: str, what: str) -> str:
    """Advice to fit with a setting; where that was tried and ``rejected``, that it was (``what``).

    >>> advice_or_tried({"l2": "not kept"}, "l2", "fit again with a ridge", "a ridge")
    'a ridge was tried when the settings were chosen (not kept)'
    """
    if setting not in rejected:
        return advice
    return f"{what} was tried when the settings were chosen ({rejected[setting]})"


def plain_text(said: Worded) -> str:
    """What the library says in plain words, to stand within a sentence."""
    return said.worded(in_plain_words)


def as_sentence(said: Worded) -> str:
    """An error or a warning as a sentence of the page."""
    text = plain_text(said)
    return text[:1].upper() + text[1:]


# what settings are called on a page, which is also for people who use no commands
PLAIN_NAMES = {
    "l2": "ridge",
    "n_items": "number of compared items",
    "n_jobs": "number of threads",
}
PLAIN_WORDS = {
    ("l2", "auto"): "a ridge chosen from the data",
    ("side_effect", "judges"): "a side effect for each judge",
}


def in_plain_words(part: Part) -> str | None:
    """A setting in words that need neither Python nor the command line.

    >>> in_plain_words(Setting("l2", "auto")), in_plain_words(Setting("side_effect"))
    ('a ridge chosen from the data', 'side effect')
    """
    if isinstance(part, Action):
        return None
    if isinstance(part, Setting) and isinstance(part.value, str):
        known = PLAIN_WORDS.get((part.name, part.value))
        if known is not None:
            return known
    if isinstance(part, Setting) and part.name in PLAIN_NAMES:
        return plain_name(Setting(PLAIN_NAMES[part.name], part.value))
    return plain_name(part)


def text_width(text: str) -> float:
    """About how wide a text is, in font sizes; the fonts of browsers are rather narrower."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if east_asian_width(letter) in "WF" or letter in "MWmw@%…":
        return 1.05
    return 0.8 if letter.isupper() else 0.65


def shorten(name: str, width: float) -> str:
    """A name cut in the middle to a width, because either end may tell it from others.

    >>> shorten("gpt-4-turbo-2024-04-09-run-13", 11)
    'gpt-4-tu…-run-13'
    """
    if text_width(name) <= width:
        return name
    head, tail, left = 0, len(name), width - text_width("…")
    for turn in range(len(name)):
        left -= text_width(name[head] if turn % 2 == 0 else name[tail - 1])
        if left < 0:
            break
        head, tail = (head + 1, tail) if turn % 2 == 0 else (head, tail - 1)
    return f"{name[:head]}…{name[tail:]}"


def shorten_names(names: Sequence[str], width: float) -> list[str]:
    """Names cut to a width such that no two of them look the same.

    Names that would look alike begin where they differ, or end in their number where that does
    not fit either.

    >>> shorten_names(["a long name with 1 in the middle", "a long name with 2 in the middle"], 8)
    ['…1 in …ddle', '…2 in …ddle']
    """
    texts = [shorten(name, width) for name in names]
    for _ in range(MOST_PASSES):
        common = {name: _common_start(group) for group in _alike(names, texts) for name in group}
        texts = [
            f"…{shorten(name[common[name] :], width - text_width('…'))}" if name in common else text
            for name, text in zip(names, texts, strict=True)
        ]
    alike = {name for group in _alike(names, texts) for name in group}
    tags = [f"·{count}" if name in alike else "" for count, name in enumerate(names, 1)]
    return [
        shorten(name, width - text_width(tag)) + tag if tag else text
        for name, text, tag in zip(names, texts, tags, strict=True)
    ]


def _common_start(names: Iterable[str]) -> int:
    """How many letters all names begin with."""
    names = list(names)
    differ = (i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1)
    return next(differ, min(map(len, names)))


def _alike(names: Sequence[str], texts: Sequence[str]) -> list[set[str]]:
    """Groups of different names that have one text in common."""
    groups: dict[str, set[str]] = defaultdict(set)
    for name, text in zip(names, texts, strict=True):
        groups[text].add(name)
    return [group for group in groups.values() if len(group) > 1]
