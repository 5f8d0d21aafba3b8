"""One page that shows the whole reproduction: claims, figures, settings.

It is a single file that needs no network. Its words are in ``page.html.j2``, its look in
``page.css``; captions and the first sentence are here.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from pairscore import __version__
from pairscore.display import plural
from pairscore.files.atomic import write_whole
from pairscore.paper.claims import FEWEST_GENERATIONS, check_claims
from pairscore.paper.experiments import PANELS, predicted_errors, predicted_needs
from pairscore.paper.figures import FIGURES, FORMATS, save_figure
from pairscore.paper.rows import Row, csv_text, levels, select
from pairscore.paper.verdicts import APPROXIMATELY, HOLDS, NOT, SURE, Claim
from pairscore.parallel import Progress, nobody

SIGNS = {HOLDS: ("✓", "yes"), APPROXIMATELY: ("≈", "nearly"), NOT: ("✗", "no")}
PAPER = "the paper on rank regression from pairwise comparisons"
SHADE = "Lines are means over the generations, shades their standard deviation."
INTERVAL = "Each N is solved for; the shade is its 95 % interval."
# title and text of each figure
CAPTIONS = {
    "1": (
        "How the estimator works",
        "Differences of compared items, coloured by the label (a); the same after whitening with"
        " the covariance of the second half (b); each multiplied by its label, which mirrors one"
        " side onto the other (c); and their average, which points nearly where the truth does (d)."
        " Arrows show directions, not lengths.",
    ),
    "2": (
        "Convergence",
        f"The norm error against N with M = ⌈N log N⌉ (a), and against M with N fixed (b). {SHADE}",
    ),
    "3": (
        "Dependence on N",
        "The angle to the truth with no, 20 % and 40 % of the labels flipped, M = ⌈N log N⌉."
        f" {SHADE}",
    ),
    "4": (
        "Dependence on M",
        "The angle to the truth as comparisons grow and items do not; the dashed line is M = N log"
        f" N. {SHADE}",
    ),
    "5": (
        "Dependence on d",
        f"The smallest N with a mean angle of at most 0.3, M = ⌈N log N⌉. {INTERVAL} Each panel has"
        " its own scale.",
    ),
    "6": (
        "Dependence on λ_d",
        "The smallest N with a mean angle of at most 0.3, against the smallest eigenvalue; both"
        f" axes logarithmic. {INTERVAL}",
    ),
    "7": (
        "Four methods",
        "The angle of the paper's estimator (split) and of the three other estimators, on"
        f" as many compared items. {SHADE}",
    ),
    "8": (
        "Items needed by each method",
        "The smallest N with a mean angle of at most 0.3 (a), and how many times more items split"
        f" needs than each other method (b). {INTERVAL}",
    ),
    "9": (
        "Where the error comes from",
        "The error of split, taken apart: its covariance, the draw of items, the labels' noise, how"
        " often each item is compared, the partners it meets, and the interaction of the covariance"
        " with the rest. Shades are two standard errors.",
    ),
    "10": (
        "Off the assumptions",
        "The mean angle of each method where the model's assumptions fail, with its standard error."
        " Closed forms rest on normal features and random pairs; likelihood does not.",
    ),
}


CALIBRATION_SIZE = 2_000_000
ENGINES = {
    "fast": "fast: estimates of split drawn from their exact law",
    "direct": "direct: items, comparisons and a fit for every cell",
}


@dataclass(frozen=True)
class Work:
    """How many cells there are, how many of them were run now, and in how many seconds."""

    n_cells: int
    n_run: int
    seconds: float


def page_settings(
    n_generations: int, engine: str, work: Work, n_workers: int, calibration: float
) -> dict[str, Any]:
    """What the page shows under "Settings"."""
    return {
        "generations": n_generations,
        "engine": ENGINES[engine],
        "cells": work.n_cells,
        "cells run now": work.n_run,
        "processes": n_workers,
        "calibration loop": (
            f"{calibration:.2f} s (sorting {CALIBRATION_SIZE:,} numbers on one core, after the run)"
        ),
        "pairscore": __version__,
        "NumPy": np.__version__,
    }


def calibration_seconds() -> float:
    """How fast this machine is just now: a loop that never changes."""
    values = np.random.default_rng(0).random(CALIBRATION_SIZE)
    start = time.perf_counter()
    np.sort(values)
    return time.perf_counter() - start


def write_page(
    folder: str | Path,
    tables: Mapping[str, Sequence[Row]],
    settings: Mapping[str, Any],
    work: Work,
    progress: Progress = nobody,
) -> tuple[Path, str]:
    """Draw every figure that has rows, judge the claims, and write the page that shows them.

    Parameters
    ----------
    folder : path
        Where index.html, claims.csv and the folder of figures go.
    tables : mapping of str to rows
        ``rows`` and ``needed`` as in rows.csv and needed.csv; ``illustration``, ``sources`` and
        ``scenarios`` for figures 1, 9 and 10. Tables may be missing.
    settings : mapping
        Shown as they are given.
    work : Work
        What was computed; the time of what is done here is added to the page.
    progress : callable
        Told how many figures are drawn, and of how many.

    Returns
    -------
    Path, str
        The path of index.html, and how the claims fare in a sentence or two.
    """
    start, folder = time.perf_counter(), Path(folder)
    progress(0, len(FIGURES))
    rows, needed = (list(tables.get(name, ())) for name in ("rows", "needed"))
    curves = predicted_errors([name for name in "2347" if select(rows, figure=name)])
    needs = predicted_needs([name for name in "568" if select(needed, figure=name)])
    given: dict[str, tuple[Sequence[Row], ...]] = {
        **{name: (select(rows, figure=name), curves) for name in "2347"},
        **{name: (select(needed, figure=name), needs) for name in "568"},
        "1": (tables.get("illustration", ()),),
        "9": (tables.get("sources", ()),),
        "10": (tables.get("scenarios", ()),),
    }
    drawn = [name for name in FIGURES if given[name][0]]
    pictures = {}
    for name in drawn:
        svg, *_ = save_figure(FIGURES[name](*given[name]), folder / "figures", f"figure{name}")
        pictures[name] = svg.read_text(encoding="utf-8")
        progress(len(pictures), len(drawn))
    claims = check_claims(rows, needed, curves)
    write_whole(folder / "claims.csv", claims_table(claims).encode())
    shown = {
        name: "".join(sorted(levels(given[name][0], "panel"))) if name in "2345678" else panels
        for name, panels in PANELS.items()
        if name in pictures
    }
    lead = lead_text(shown, claims, work, time.perf_counter() - start)
    page = page_html(pictures, claims, settings, lead)
    return write_whole(folder / "index.html", page.encode()), judged_claims(claims)


def claims_table(claims: Sequence[Claim]) -> str:
    """The claims as CSV."""
    rows = [{**vars(claim), "details": " | ".join(claim.details)} for claim in claims]
    return csv_text([field.name for field in fields(Claim)], rows)


def page_html(
    pictures: Mapping[str, str], claims: Sequence[Claim], settings: Mapping[str, Any], lead: str
) -> str:
    """The page as text: ``pictures`` are SVG by figure number, ``lead`` is the first paragraph."""
    from jinja2 import Environment, StrictUndefined

    figures = [
        (name, *CAPTIONS[name], inline_svg(svg, f"f{name}-", CAPTIONS[name][0]))
        for name, svg in pictures.items()
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["signs_of_paper"] = signs_of_paper
    return environment.from_string(_resource("page.html.j2")).render(
        style=_resource("page.css"),
        lead=lead,
        claims=claims,
        signs=SIGNS,
        fewest_generations=FEWEST_GENERATIONS,
        sure=f"{100 * SURE:.0f}",
        parts=[
            ("paper", "The paper's figures", [part for part in figures if int(part[0]) <= 6]),
            ("beyond", "Beyond the paper", [part for part in figures if int(part[0]) > 6]),
        ],
        formats=list(FORMATS),
        settings=settings,
    )


def _resource(name: str) -> str:
    return files("pairscore.paper").joinpath(name).read_text(encoding="utf-8")


def signs_of_paper(text: str) -> Any:
    """Text for the page, with p_e and λ_d as they are printed."""
    from markupsafe import Markup, escape

    plain = str(escape(text))  # a Markup would escape the new tags
    return Markup(re.sub(r"\b([pλ])_([ed])\b", r"\1<sub>\2</sub>", plain))


def inline_svg(svg: str, prefix: str, title: str) -> Any:
    """An SVG file as part of a page, safe to insert.

    It loses its prologue and fixed size, and its names get a prefix that no other picture has.
    """
    from markupsafe import Markup, escape

    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'\bid="', f'id="{prefix}', rest)
    rest = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", rest)
    return Markup(f'{head} role="img" aria-label="{escape(title)}">{rest}')


# -- the first sentence ----------------------------------------------------------------------------


def lead_text(
    panels: Mapping[str, str], claims: Sequence[Claim], work: Work, drawing_seconds: float
) -> str:
    """What the page shows, what of it was computed now, how long it took, how the claims fare."""
    drawn = f"predictions, figures and claims took {_duration(drawing_seconds)}"
    time_now = _duration(work.seconds)
    if work.n_run == work.n_cells:
        cells = f"{plural(work.n_cells, 'cell')} run in {time_now}; " if work.n_cells else ""
    elif work.n_run:
        cells = (
            f"of {work.n_cells} cells, {work.n_run} were run now in {time_now} and the others"
            " before; "
        )
    else:
        cells = f"{plural(work.n_cells, 'cell')}, all run before; "
    return f"{_shown_figures(panels)}: {cells}{drawn}. {judged_claims(claims)}".rstrip()


def judged_claims(claims: Sequence[Claim]) -> str:
    """How many claims hold, and how many of the verdicts cannot be told; empty without claims."""
    plurals = {HOLDS: "hold", APPROXIMATELY: "hold approximately", NOT: "do not hold"}
    counts = {
        words: sum(claim.verdict == name for claim in claims) for name, words in plurals.items()
    }
    listed = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    if not claims:
        return ""
    unsure = sum(claim.is_unsure for claim in claims)
    caution = (
        f" {unsure} of these verdicts cannot be told: another run with as many generations would"
        f" come to another verdict in more than {100 * (1 - SURE):.0f} of 100 cases."
    )
    text = f"Of {len(claims)} claims of its experiments section, {listed}."
    return text + (caution if unsure else "")


def _shown_figures(panels: Mapping[str, str]) -> str:
    """Which figures are on the page, in words."""
    names = {
        name: name if shown == PANELS[name] else ", ".join(name + panel for panel in shown)
        for name, shown in panels.items()
    }
    paper, beyond = (
        [names[name] for name in names if (int(name) > 6) == later] for later in (False, True)
    )
    more = f", and {_figures(beyond)} beyond it" if beyond else ""
    if paper == list("123456"):
        return f"Every experiment of {PAPER}, run again{more}"
    if paper:
        return f"{_figures(paper)} of {PAPER}, run again".capitalize() + more
    return f"{_figures(beyond)} beyond {PAPER}".capitalize() if beyond else f"Nothing of {PAPER}"


def _figures(names: Sequence[str]) -> str:
    """``figure 3``, ``figures 2a, 3``."""
    shown = ", ".join(names)
    return f"figures {shown}" if "," in shown else f"figure {shown}"


def _duration(seconds: float) -> str:
    """``48 seconds``, ``2 min 5 s``."""
    whole = round(seconds)
    if whole < 1:
        return "less than a second"
    if whole >= 90:
        return f"{whole // 60} min {whole % 60} s"
    return plural(whole, "second")
