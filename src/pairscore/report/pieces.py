"""Small pieces of a report's page, with every text escaped."""

from collections.abc import Container, Iterable, Sequence
from html import escape

import numpy as np


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    look = f' class="{kind}"' if kind else ""
    return f"<p{look}>{escape(text)}</p>"


def card(title: str, chart: str, *texts: str) -> str:
    """A chart with its title above and what it says below; the texts are HTML."""
    return (
        "<figure"
        f' class="card"><h3>{escape(title)}</h3>{chart}<figcaption>{" ".join(texts)}</figcaption></figure>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], maybe: Container[int] = ()) -> str:
    """A small table whose first column is text; columns of ``maybe`` are left out on a telephone.

    Cells are escaped here.
    """
    kinds = [
        ' class="text"',
        *(' class="maybe"' if place in maybe else "" for place in range(1, len(head))),
    ]
    cells = "".join(
        f"<th{kind}>{escape(name)}</th>" for name, kind in zip(head, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="box'
        f' low"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def shown(value: float, style: str = ".4g") -> str:
    """A number, or that it is unknown."""
    return format(value, style) if np.isfinite(value) else "unknown"


def percent(value: float, digits: int = 1) -> str:
    """A share, or that it is unknown."""
    return f"{100 * value:.{digits}f} %" if np.isfinite(value) else "unknown"
