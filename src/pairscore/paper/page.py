"""One page that shows the whole reproduction: claims, figures, settings.

It needs no network and nothing beside it.
"""

import csv
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from pairscore.errors import plural
from pairscore.files.write import write_whole
from pairscore.paper.claims import FEWEST_GENERATIONS, check_claims
from pairscore.paper.figures import FIGURES, FORMATS, save_figure
from pairscore.paper.predicted import predicted_errors, predicted_needs
from pairscore.paper.rows import Row, of_figure
from pairscore.paper.run import FIGURES as PANELS
from pairscore.paper.verdicts import APPROXIMATELY, HOLDS, NOT, Claim

SIGNS = {HOLDS: ("✓", "yes"), APPROXIMATELY: ("≈", "nearly"), NOT: ("✗", "no")}
SHADE = "Lines are means over the generations, shades their standard deviation."
INTERVAL = "Each N is solved for; the shade is its 95 % interval."
CAPTIONS = {
    "1": (
        "How the estimator works",
        (
            "Differences of compared items, coloured by the label (a); the same after whitening"
            " with the covariance of the second half (b); each multiplied by its label, which"
            " mirrors one side onto the other (c); and their average, which points nearly where the"
            " truth does (d). Arrows show directions, not lengths."
        ),
    ),
    "2": (
        "Convergence",
        f"The norm error against N with M = ⌈N log N⌉ (a), and against M with N fixed (b). {SHADE}",
    ),
    "3": (
        "Dependence on N",
        (
            "The angle to the truth with no, 20 % and 40 % of the labels flipped, M = ⌈N log N⌉."
            f" {SHADE}"
        ),
    ),
    "4": (
        "Dependence on M",
        (
            "The angle to the truth as comparisons grow and items do not; the dashed line is M = N"
            f" log N. {SHADE}"
        ),
    ),
    "5": (
        "Dependence on d",
        (
            f"The smallest N with a mean angle of at most 0.3, M = ⌈N log N⌉. {INTERVAL} Each panel"
            " has its own scale."
        ),
    ),
    "6": (
        "Dependence on λ_d",
        (
            "The smallest N with a mean angle of at most 0.3, against the smallest eigenvalue;"
            f" both axes logarithmic. {INTERVAL}"
        ),
    ),
    "7": (
        "Four methods",
        (
            "The angle of the paper's estimator (split) and of the three other rungs of the"
            f" ladder, on as many compared items. {SHADE}"
        ),
    ),
    "8": (
        "Items needed by each method",
        (
            "The smallest N with a mean angle of at most 0.3 (a), and how many times more items"
            f" split needs than each other method (b). {INTERVAL}"
        ),
    ),
    "9": (
        "Where the error comes from",
        (
            "The error of split, taken apart: its covariance, the draw of items, the labels' noise,"
            " how often each item is compared, the partners it meets, and the interaction of the"
            " covariance with the rest. Shades are two standard errors."
        ),
    ),
    "10": (
        "Off the assumptions",
        (
            "The mean angle of each method where the model's assumptions fail, with its standard"
            " error. Closed forms rest on normal features and random pairs; likelihood does not."
        ),
    ),
}


def write_page(
    folder: str | Path,
    rows: Iterable[Row],
    needed: Iterable[Row] = (),
    *,
    illustration: Iterable[Row] = (),
    sources: Iterable[Row] = (),
    scenarios: Iterable[Row] = (),
    settings: Mapping[str, Any],
    n_cells: int,
    n_run: int,
    seconds: float,
) -> Path:
    """Draw every figure that has rows, judge the claims, and write figures, claims.csv and
    index.html into ``folder``.

    ``rows`` and ``needed`` are those of rows.csv and needed.csv; ``illustration``, ``sources`` and
    ``scenarios`` make figures 1, 9 and 10. ``settings`` are shown as they are given. Of
    ``n_cells``, ``n_run`` were run now, in so many ``seconds``; the time of what is done here is
    added to the page.
    """
    start = time.perf_counter()
    rows, needed = list(rows), list(needed)
    curves = predicted_errors([name for name in "2347" if of_figure(rows, name)])
    needs = predicted_needs([name for name in "568" if of_figure(needed, name)])
    given: dict[str, tuple[Sequence[Row], ...]] = {
        "1": (list(illustration),),
        "9": (list(sources),),
        "10": (list(scenarios),),
    }
    given |= {name: (of_figure(rows, name), curves) for name in "2347"} | {
        name: (of_figure(needed, name), needs) for name in "568"
    }
    pictures = {}
    for name, draw in FIGURES.items():
        if given[name][0]:
            paths = save_figure(draw(*given[name]), Path(folder) / "figures", f"figure{name}")
            pictures[name] = paths[0].read_text(encoding="utf-8")
    claims = check_claims(rows, needed, curves)
    write_whole(Path(folder) / "claims.csv", claims_table(claims).encode())
    shown = {
        name: (
            "".join(sorted({row["panel"] for row in given[name][0]}))
            if name in "2345678"
            else PANELS[name]
        )
        for name in pictures
    }
    lead = lead_text(shown, claims, n_cells, n_run, seconds, time.perf_counter() - start)
    return write_whole(
        Path(folder) / "index.html", page_html(pictures, claims, settings, lead).encode()
    )


def claims_table(claims: Sequence[Claim]) -> str:
    """The claims as CSV."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Claim)]
    writer.writerow(names)
    for claim in claims:
        writer.writerow(
            " | ".join(value) if isinstance(value := getattr(claim, name), tuple) else value
            for name in names
        )
    return text.getvalue()


def page_html(
    pictures: Mapping[str, str], claims: Sequence[Claim], settings: Mapping[str, Any], lead: str
) -> str:
    """The page as text: ``pictures`` are SVG by figure number, ``lead`` is the first paragraph."""
    paper, beyond = (
        "".join(_figure(name, pictures[name]) for name in pictures if (int(name) > 6) == later)
        for later in (False, True)
    )
    parts = {
        "style": files("pairscore.paper").joinpath("page.css").read_text(encoding="utf-8"),
        "lead": escape(lead),
        "claims": _claims(claims),
        "paper": paper and f'<section id="paper"><h2>The paper\'s figures</h2>{paper}</section>',
        "beyond": beyond and f'<section id="beyond"><h2>Beyond the paper</h2>{beyond}</section>',
        "settings": "".join(
            f"<tr><th scope='row'>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>"
            for name, value in settings.items()
        ),
    }
    return _PAGE.format(**parts)


def lead_text(
    panels: Mapping[str, str],
    claims: Sequence[Claim],
    n_cells: int,
    n_run: int,
    seconds: float,
    drawing_seconds: float,
) -> str:
    """What the page shows, what of it was computed now and in what time, and how the claims fare."""
    counts = [(verdict, sum(claim.verdict == verdict for claim in claims)) for verdict in SIGNS]
    words = ", ".join(
        f"{count} {'hold' + verdict[5:] if verdict != NOT else 'do not hold'}"
        for verdict, count in counts
        if count
    )
    judged = f" Of {len(claims)} claims of its experiments section, {words}." if claims else ""
    drawn = f"predictions, figures and claims took {_duration(drawing_seconds)}"
    if n_run == n_cells:
        work = (
            f"{plural(n_cells, 'cell')} run in {_duration(seconds)}; {drawn}" if n_cells else drawn
        )
    elif n_run:
        work = (
            f"of {n_cells} cells, {n_run} were run now in {_duration(seconds)} and the others"
            f" before; {drawn}"
        )
    else:
        work = f"{plural(n_cells, 'cell')}, all run before; {drawn}"
    return f"{_shown(panels)}: {work}.{judged}"


def _shown(panels: Mapping[str, str]) -> str:
    """Which figures are on the page, in words."""
    named = {
        name: name if shown == PANELS[name] else ", ".join(name + panel for panel in shown)
        for name, shown in panels.items()
    }
    paper, beyond = (
        [named[name] for name in named if (int(name) > 6) == later] for later in (False, True)
    )
    of = "the paper on rank regression from pairwise comparisons"
    if paper == list("123456"):
        return f"Every experiment of {of}, run again" + (
            f", and {_figures(beyond)} beyond it" if beyond else ""
        )
    if not paper:
        return f"{_figures(beyond)} beyond {of}".capitalize() if beyond else f"Nothing of {of}"
    return f"{_figures(paper)} of {of}, run again".capitalize() + (
        f", and {_figures(beyond)} beyond it" if beyond else ""
    )


def _figures(names: Sequence[str]) -> str:
    """``figure 3``, ``figures 2a, 3``."""
    shown = ", ".join(names)
    return f"figures {shown}" if "," in shown else f"figure {shown}"


def _duration(seconds: float) -> str:
    """``48 seconds``, ``2 min 5 s``."""
    whole = round(seconds)
    if whole < 1:
        return "less than a second"
    return (
        f"{seconds:.0f} second{'s' * (whole > 1)}"
        if whole < 90
        else f"{whole // 60} min {whole % 60} s"
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = "".join(map(_claim, claims))
    table = (
        '<div class="wide"><table'
        ' class="claims"><thead><tr><th>claim</th><th>verdict</th><th>measured</th><th>rule</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    left_out = (
        f"Claims about figures that were not run, or run with fewer than {FEWEST_GENERATIONS}"
        " generations, are not judged."
    )
    return (
        f'<section id="claims"><h2>Claims</h2>{table if claims else ""}<p'
        f' class="note">{left_out}</p></section>'
    )


def _claim(claim: Claim) -> str:
    sign, kind = SIGNS[claim.verdict]
    why = f'<p class="why">{_words(claim.why)}</p>' if claim.why else ""
    items = "".join(f"<li>{_words(line)}</li>" for line in claim.details)
    details = (
        f"<details><summary>curve by curve</summary><ul>{items}</ul></details>" if items else ""
    )
    return (
        f'<tr><td data-name="claim">{_words(claim.sentence)}<p'
        f' class="where">{_words(claim.where)}</p></td><td data-name="verdict"><span class="verdict'
        f' {kind}">{sign} {escape(claim.verdict)}</span></td><td'
        f' data-name="measured">{_words(claim.measured)}{why}{details}</td><td data-name="rule"'
        f' class="rule">{_words(claim.rule)}</td></tr>'
    )


def _figure(name: str, svg: str) -> str:
    title, words = CAPTIONS[name]
    links = " · ".join(
        f'<a href="figures/figure{name}.{suffix}">{suffix.upper()}</a>' for suffix in FORMATS
    )
    return (
        f'<figure id="figure{name}"><h3>Figure {name}. {_words(title)}</h3><div'
        f' class="picture">{inline_svg(svg, f"f{name}-", title)}</div><figcaption>{_words(words)}'
        f' <span class="files">{links}</span></figcaption></figure>'
    )


def _words(text: str) -> str:
    """Text for the page, with p_e and λ_d as they are printed."""
    return re.sub(r"\b([pλ])_([ed])\b", r"\1<sub>\2</sub>", escape(text))


def inline_svg(svg: str, prefix: str, title: str) -> str:
    """An SVG file as part of a page.

    Without its prologue and fixed size, and with names that no other picture has.
    """
    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'\bid="', f'id="{prefix}', rest)
    rest = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", rest)
    return f'{head} role="img" aria-label="{escape(title)}">{rest}'


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pairscore reproduce</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>The paper, reproduced</h1>
<p class="lead">{lead}</p>
<section id="reading"><h2>How to read this page</h2>
<p>2N items with d features are drawn; M random pairs of the first N are labelled by which is better, and a share p<sub>e</sub> of the
labels is wrong. The estimate β̂ of the direction β is judged by its angle to β and its distance from c₁β. λ<sub>d</sub> is the smallest
eigenvalue of the features' covariance, whose eigenvalues are equally spaced up to 1. Each point is repeated on several generations:
new β, new items, new labels. Dotted lines are predictions made without any of the simulated data. ± is one standard error.</p></section>
{claims}
{paper}
{beyond}
<section id="settings"><h2>Settings</h2><div class="wide"><table class="settings"><tbody>{settings}</tbody></table></div></section>
</main>
</body>
</html>
"""
