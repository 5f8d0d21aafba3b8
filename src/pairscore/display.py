"""How values are shown: numbers with their nouns, lists cut short, tables as text and as HTML.

Nothing here imports NumPy, so that commands which only print help stay fast.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import floor, isfinite, isinf, isnan, log10
from string import Formatter
from typing import Any

LONGEST_VALUE = 80  # characters of a value that a message shows
MOST_DECIMALS = 12  # of the numbers of a column
LEFT = " style='text-align:left'"  # of cells of a table on a page
IRREGULAR = {"is": "are", "has": "have"}


def first_few(things: Iterable[object], limit: int = 5) -> str:
    """The first things of a list in words.

    >>> first_few("abcdefg", 3)
    'a, b, c and 4 more'
    """
    things = list(things)
    text = ", ".join(str(thing) for thing in things[:limit])
    return text if len(things) <= limit else f"{text} and {len(things) - limit} more"


def number_in_words(value: float, style: str = ".4g") -> str:
    """A number that may be unknown."""
    return "unknown" if isnan(value) else format(value, style).rstrip(".")


def interval_in_words(low: float, high: float, style: str = ".4g") -> str:
    """An interval that may be unknown, or open at one end or both."""
    if isnan(low) or isnan(high):
        return "unknown"
    if isinf(low) and isinf(high):
        return "none"
    if isinf(high):
        return f"{number_in_words(low, style)} or more"
    if isinf(low):
        return f"{number_in_words(high, style)} or less"
    return f"[{number_in_words(low, style)}, {number_in_words(high, style)}]"


def word_list(names: list[str]) -> str:
    """a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def shown(value: object) -> str:
    """A value as a message shows it: a long text is cut, and of a long list its length is named.

    >>> shown("x"), shown([1.0] * 384), shown("y" * 90)[-12:]
    ("'x'", 'a list of 384 values', 'yyyyyyyyyyy…')
    """
    if hasattr(value, "__len__") and not isinstance(value, str | bytes) and len(value) > 3:
        return f"a list of {len(value):,} values"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


# signs that a terminal obeys instead of showing them: controls, and those that turn the direction
# of writing or end a line
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069]")
BREAKS = re.compile(r"[\t\n]")


def visible(text: str, breaks: bool = True) -> str:
    r"""Text as a terminal may show it: signs that would steer the terminal are shown as such.

    With ``breaks`` it may have several lines; without, they are shown too, as in a cell of a table.

    >>> print(visible("Ann\x1b[2J"), visible("two\nlines", breaks=False))
    Ann\x1b[2J two\nlines
    """
    text = CONTROLS.sub(_as_escape, text)
    return text if breaks else BREAKS.sub(_as_escape, text)


def _as_escape(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode("ascii")


def first_rows(rows: Iterable[int], values: Iterable[object], limit: int = 5) -> str:
    """Row numbers with their values in words.

    >>> first_rows([3, 8], ["x", "y"])
    "row 3 ('x'), row 8 ('y')"
    """
    return first_few(
        [f"row {row} ({shown(value)})" for row, value in zip(rows, values, strict=True)], limit
    )


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that is most like ``name``, ignoring case; None if none is similar."""
    from difflib import get_close_matches

    by_case = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), list(by_case), 1)
    return by_case[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question with the closest name, to end a message with; empty if no name is similar."""
    close = closest(name, names)
    return "" if close is None else f" Did you mean {close!r}?"


def plural(number: int, noun: str, digits: str = "", verb: str = "") -> str:
    """A number with its noun, and with a verb that agrees.

    >>> plural(1, "item"), plural(2000, "item", digits=","), plural(2, "row", verb="is")
    ('1 item', '2,000 items', '2 rows are')
    """
    count = f"{number:{digits}} {noun}" + ("" if number == 1 else "s")
    if not verb:
        return count
    return f"{count} {verb if number == 1 else IRREGULAR.get(verb, verb.removesuffix('s'))}"


# -- tables ----------------------------------------------------------------------------------------


def text_table(header: Sequence[Any] | None, rows: Iterable[Sequence[Any]], layout: str) -> str:
    """Lay out rows of cells as lines of text whose columns are aligned.

    Parameters
    ----------
    header
        The first line, one cell a column, aligned like the rows; None where there is none.
    rows
        Lines of cells. A cell is shown as ``str`` shows it: format numbers before.
    layout
        One line with a field for each column, as in ``str.format``: ``{:<}`` is aligned to the
        left, ``{:>}`` to the right, ``{:^}`` in the middle, and ``{:>8}`` is at least 8 characters
        wide. A column is as wide as its longest cell. What stands between the fields (and before
        the first) is repeated in every line. Blanks at the ends of lines are left out.

    Examples
    --------
    >>> print(text_table(["", "items"], [["split", 180], ["mle", 90]], "{:<}  {:>7}"))
             items
    split      180
    mle         90
    """
    lines = [
        [visible(str(cell), breaks=False) for cell in line]
        for line in ([header] if header else []) + [*rows]
    ]
    fields = [field for field in Formatter().parse(layout) if field[1] is not None]
    columns = zip(*lines, strict=True)
    line_format = "".join(
        f"{between}{{:{_with_width(style or '', max(map(len, column)))}}}"
        for (between, _, style, _), column in zip(fields, columns, strict=bool(lines))
    )
    return "\n".join(line_format.format(*line).rstrip() for line in lines)


def same_digits(values: Iterable[float]) -> str:
    """The format of numbers of one column: as many decimals as show a hundredth of their range.

    A number that rounds to zero has no sign.

    >>> same_digits([0.5, 2.25, -1.0]), same_digits([1210, 1790]), same_digits([7, 7])
    ('z.2f', 'z.0f', 'z.2f')
    """
    known = [float(value) for value in values if isfinite(value)]
    spread = max(known, default=0.0) - min(known, default=0.0)
    spread = spread if spread > 0 else max(map(abs, known), default=1.0) or 1.0
    return f"z.{min(max(2 - floor(log10(spread)), 0), MOST_DECIMALS)}f"


def _with_width(style: str, longest: int) -> str:
    """The style of a field, such as ``>8``, with the width that its column needs."""
    align, least = style[:1] or "<", int(style[1:] or 0)
    return f"{align}{max(least, longest)}"


def html_text(
    title: str, facts: Any, columns: Any = None, sentences: Iterable[str] = (), notes: Any = ()
) -> str:
    """A result for a notebook: labels with texts (``facts``), a table, sentences, warnings."""
    parts = [f"<h4>{escape(title)}</h4>"]
    labels = [
        _html_row(_html_cells("th", [label], LEFT), _html_cells("td", [text], LEFT))
        for label, text in facts
    ]
    if labels:
        parts.append(f"<table>{''.join(labels)}</table>")
    columns = columns or {}
    rows = [_html_row(_html_cells("td", cells)) for cells in zip(*columns.values(), strict=True)]
    if rows:
        head = _html_row(_html_cells("th", columns))
        parts.append(f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>")
    parts += [f"<p>{escape(text)}</p>" for text in sentences if text]
    parts += [f"<p><b>Warning:</b> {escape(note)}</p>" for note in notes]
    return "".join(parts)


def _html_row(*cells: str) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _html_cells(tag: str, values: Iterable[Any], attributes: str = "") -> str:
    return "".join(f"<{tag}{attributes}>{_html_text(value)}</{tag}>" for value in values)


def _html_text(value: Any) -> str:
    """A cell; numbers have four digits, and NaN, also where it is formatted, is unknown."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return "unknown" if text == "nan" else escape(text)
