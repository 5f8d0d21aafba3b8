"""Small pieces of a report's page, with every text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    look = f' class="{kind}"' if kind else ""
    return f"<p{look}>{escape(text)}</p>"


def card(title: str, chart: str, *texts: str) -> str:
    """A chart with its title above and what it says below; the texts are HTML."""
    return f'<figure class="card"><h3>{escape(title)}</h3>{chart}<figcaption>{" ".join(texts)}</figcaption></figure>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A small table whose first column is text; cells are escaped here."""
    cells = "".join(f'<th class="text">{escape(name)}</th>' if place == 0 else f"<th>{escape(name)}</th>" for place, name in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f'<td class="text">{escape(cell)}</td>' if place == 0 else f"<td>{escape(cell)}</td>" for place, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="box low"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'


def shown(value: float, style: str = ".4g") -> str:
    """A number, or that it is unknown."""
    return format(value, style) if np.isfinite(value) else "unknown"


def percent(value: float, digits: int = 1) -> str:
    """A share, or that it is unknown."""
    return f"{100 * value:.{digits}f} %" if np.isfinite(value) else "unknown"
