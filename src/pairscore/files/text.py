"""Text tables for the screen: one layout string says how the columns of a line are aligned."""

from collections.abc import Iterable, Sequence
from math import floor, isfinite, log10
from string import Formatter
from typing import Any

MOST_DECIMALS = 12


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
        the first) is repeated in every line.

    Returns
    -------
    str
        The lines, joined by line feeds, without blanks at their ends.

    Examples
    --------
    >>> print(text_table(["", "items"], [["split", 180], ["mle", 90]], "{:<}  {:>7}"))
             items
    split      180
    mle         90
    """
    lines = [[str(cell) for cell in line] for line in ([header] if header else []) + [*rows]]
    fields = [field for field in Formatter().parse(layout) if field[1] is not None]
    columns = zip(*lines, strict=True)
    line_format = "".join(
        f"{between}{{:{_with_width(style or '', max(map(len, column)))}}}"
        for (between, _, style, _), column in zip(fields, columns, strict=bool(lines))
    )
    return "\n".join(line_format.format(*line).rstrip() for line in lines)


def same_digits(values: Iterable[float]) -> str:
    """The format of numbers of one column: as many decimals as show a hundredth of their range.

    >>> same_digits([0.5, 2.25, -1.0]), same_digits([1210, 1790]), same_digits([7, 7])
    ('.2f', '.0f', '.2f')
    """
    known = [float(value) for value in values if isfinite(value)]
    spread = max(known, default=0.0) - min(known, default=0.0)
    spread = spread if spread > 0 else max(map(abs, known), default=1.0) or 1.0
    return f".{min(max(2 - floor(log10(spread)), 0), MOST_DECIMALS)}f"


def _with_width(style: str, longest: int) -> str:
    """The style of a field, such as ``>8``, with the width that its column needs."""
    align, least = style[:1] or "<", int(style[1:] or 0)
    return f"{align}{max(least, longest)}"
