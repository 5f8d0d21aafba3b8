"""The report: everything about a model on one page that needs nothing else, for people who were not
there.
"""

from base64 import b64encode
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from pairscore.errors import PairscoreError
from pairscore.files.write import atomic_write
from pairscore.model.regression import RankRegression
from pairscore.report.beside import beside
from pairscore.report.facts import ReportFacts, report_facts
from pairscore.report.parts import (
    answer,
    checks_part,
    coefficient_part,
    more_comparisons,
    origin,
    ranking,
    reading,
)
from pairscore.report.style import SCRIPT, STYLE
from pairscore.report.trust import trust

PARTS = (
    answer,
    ranking,
    coefficient_part,
    beside,
    trust,
    checks_part,
    more_comparisons,
    reading,
    origin,
)


def write_report(model: RankRegression, items: Any, votes: Any, path: Any) -> None:
    """Write what a model says about these items and comparisons as one HTML file that needs nothing
    else.
    """
    if not isinstance(path, str | PathLike) or Path(path).suffix.lower() not in (".html", ".htm"):
        raise PairscoreError(
            f"the report's file is {str(path)!r}; give it a name that ends in .html."
        )
    page = report_html(report_facts(model, items, votes))
    with atomic_write(path, "the report") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def report_html(facts: ReportFacts) -> str:
    """The page as text. Nothing is fetched, and no script but its own may run.

    The page says so to the browser.
    """
    own = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{own}'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><link rel="icon"'
        ' href="data:,"><title>pairscore report</title>'
        f"<style>{STYLE}</style></head><body><main>\n{''.join(part(facts) + chr(10) for part in PARTS)}</main><script>{SCRIPT}</script></body></html>\n"
    )
