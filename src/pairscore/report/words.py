"""How a report says things.

One or many, hardly ever certain, options of the command in place of Python's, names that fit beside
a chart.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

OPTION = re.compile(r"\b(\w+)=(?:'(\w+)'|True|(\d+(?:\.\d+)?(?:e-?\d+)?))")
NAMED = re.compile(r", name some with covariance_items=")
BARE = re.compile(r"\b([Ss])et l2\b")
N_ITEMS = re.compile(r"\bn_items is (\d+)")
PASSES = 4  # of telling names apart by where they differ


def number_of(number: float, noun: str) -> str:
    """So many of something.

    >>> number_of(1.0, "item"), number_of(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{number:,.10g} {noun}{'' if number == 1 else 's'}"


def from_to(low: float, high: float) -> str:
    """``3 to 5``; where both are the same, ``3``."""
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"


def signed(value: float, digits: int) -> str:
    """A number with its sign; zero is never negative."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def wins(of_100: float, more: str = "more than ", fewer: str = "fewer than ") -> str:
    """Wins of 100 comparisons, never all and never none.

    >>> wins(62.4), wins(99.7), wins(0.2)
    ('62', 'more than 99', 'fewer than 1')
    """
    return f"{more}99" if of_100 > 99 else f"{fewer}1" if of_100 < 1 else f"{of_100:.0f}"


def option_words(text: str) -> str:
    """A sentence of the library with the options of the command for its arguments.

    >>> option_words("set a ridge such as l2=1.0, or use method='pooled' with side_effect=True.")
    'set a ridge such as --l2 1, or use --method pooled with --side-effect.'
    """

    def option(found: re.Match[str]) -> str:
        name, word, number = found.groups()
        value = word or (f"{float(number):g}" if number else "")
        return f"--{name.replace('_', '-')} {value}".rstrip()

    text = NAMED.sub("", text)
    text = N_ITEMS.sub(r"the number of compared items is \1", text)
    return BARE.sub(r"\1et --l2", OPTION.sub(option, text))


def width_of(text: str) -> float:
    """About how wide a text is in units of its font size.

    The fonts of browsers are rather narrower.
    """
    return sum(
        (
            1.05
            if east_asian_width(one) in "WF" or one in "MWmw@%…"
            else 0.8
            if one.isupper()
            else 0.65
        )
        for one in text
    )


def short(name: str, room: float) -> str:
    """A name cut in the middle to a width, for both of its ends may tell it from others.

    >>> short("gpt-4-turbo-2024-04-09-run-13", 11)
    'gpt-4-tu…-run-13'
    """
    if width_of(name) <= room:
        return name
    head, tail, left = 0, len(name), room - width_of("…")
    for turn in range(len(name)):
        left -= width_of(name[head] if turn % 2 == 0 else name[tail - 1])
        if left < 0:
            break
        head, tail = (head + 1, tail) if turn % 2 == 0 else (head, tail - 1)
    return f"{name[:head]}…{name[tail:]}"


def first_difference(names: Iterable[str]) -> int:
    """How many letters all names begin with."""
    names = list(names)
    return next(
        (place for place, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1),
        min(map(len, names)),
    )


def short_names(names: Sequence[str], room: float) -> list[str]:
    """Names cut to a width and still told apart.

    Those that would look alike start where they differ.

    >>> short_names(["a long name with 1 in the middle", "a long name with 2 in the middle", "b"], 8)
    ['…1 in …ddle', '…2 in …ddle', 'b']
    """
    found = [short(name, room) for name in names]
    for _ in range(PASSES):
        skipped = {
            name: first_difference(group) for group in _alike(names, found) for name in group
        }
        found = [
            f"…{short(name[skipped[name] :], room - width_of('…'))}" if name in skipped else text
            for name, text in zip(names, found, strict=True)
        ]
    # several differences, none of which fits: by number
    still = {name for group in _alike(names, found) for name in group}
    tags = [f"·{place}" if name in still else "" for place, name in enumerate(names, 1)]
    return [
        short(name, room - width_of(tag)) + tag if tag else text
        for name, text, tag in zip(names, found, tags, strict=True)
    ]


def _alike(names: Sequence[str], texts: Sequence[str]) -> list[set[str]]:
    """Names that have one text in common."""
    groups: dict[str, set[str]] = defaultdict(set)
    for name, text in zip(names, texts, strict=True):
        groups[text].add(name)
    return [group for group in groups.values() if len(group) > 1]
