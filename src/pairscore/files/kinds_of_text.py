"""What columns of text hold: dates, numbers with a sign, labels, ids, possible categories."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pairscore.data.find_ids import ID_WORDS, has_word
from pairscore.data.items import plain_id
from pairscore.data.tables import Columns, is_missing

DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}){1,2}|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}"
    r"|[0-9]{2,4}年[0-9]{1,2}月([0-9]{1,2}日)?|[0-9]{1,2}[. ]+\w{3,9}[. ]+[0-9]{4})"
    r"([T ]+[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?)?Z?|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
)
SIGNED = re.compile(r"\s*([-+]?[%$€£¥]\s*[-+]?\d[\d.,' ]*|[-+]?\d[\d.,' ]*\s*[%$€£¥])\s*")
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
FEW_NUMBERS = 10  # different ones, up to which they may be levels such as grades
MOST_LEVELS = 20  # of text that is proposed as categories, where items are few


def kinds_of_text(table: Columns, names: Iterable[str]) -> dict[str, Any]:
    """Text as dates, numbers with a sign, numbers among words, labels that differ by item, or
    possible categories.
    """
    kinds: dict[str, Any] = {"left_out": [], "dates": [], "labels": [], "signed": [], "mixed": {}}
    for name in names:
        filled = [str(entry) for entry in table[name].tolist() if not is_missing(entry)]
        kind = _kind_of(filled)
        words = [entry for entry in filled if not PLAIN_NUMBER.fullmatch(entry.strip())]
        numbers = len({*filled} - {*words})
        may_be_mixed = kind in ("left_out", "labels")
        if may_be_mixed and numbers > FEW_NUMBERS and 2 * len(words) < len(filled):
            kinds["mixed"][name] = Counter(words)
        else:
            kinds[kind].append(name)
    return kinds


def _kind_of(filled: list[str]) -> str:
    dates = sum(DATE.fullmatch(entry.strip()) is not None for entry in filled)
    if filled and dates >= 0.9 * len(filled):
        return "dates"
    if filled and all(map(SIGNED.fullmatch, filled)):
        return "signed"
    if len(set(filled)) > max(MOST_LEVELS, len(filled) / 2):
        return "labels"
    return "left_out"


def likely_id(table: Columns) -> str | None:
    """The first column that could have ids: each entry once, text or numbers that count items."""
    for place, name in enumerate(table.columns):
        texts = ["" if is_missing(entry) else plain_id(entry) for entry in table[name].tolist()]
        if len({*texts}) < len(texts) or "" in texts or any(map(DATE.fullmatch, texts)):
            continue
        if all(text.isdecimal() for text in texts):
            counts = int(max(texts, key=int)) - int(min(texts, key=int)) == len(texts) - 1
            if place == 0 or counts or has_word(name, ID_WORDS):
                return name
        elif not any(re.fullmatch(r"\W*\d[\d.,' ]*\W*", text) for text in texts):
            return name
    return None
