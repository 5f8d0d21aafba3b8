"""The HTML page of a report: one file that needs nothing else, from the templates of this room.

``report.html.j2`` is the page and ``sections/`` has a template for each section; ``report.css``
and ``report.js`` are written into it.
"""

import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from pairscore.display import same_digits
from pairscore.errors import PairscoreError
from pairscore.estimators.settings import Wording
from pairscore.files.atomic import atomic_write
from pairscore.model.regression import RankRegression
from pairscore.parallel import ALONE, Workers
from pairscore.report import charts, words
from pairscore.report.facts import ReportFacts, report_facts

if TYPE_CHECKING:
    from jinja2 import Template

OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")
FILTERS = (
    median,
    same_digits,
    words.from_to,
    words.interval,
    words.number,
    words.number_of,
    words.percent,
    words.places,
    words.shorten,
    words.signed,
    words.wins,
)
CHARTS = (
    charts.accuracy_chart,
    charts.calibration_chart,
    charts.coefficient_chart,
    charts.comparison_effect_chart,
    charts.exposure_chart,
    charts.item_chart,
    charts.item_effect_chart,
    charts.judge_chart,
    charts.order_chart,
    charts.prospect_chart,
    charts.residual_chart,
    charts.ridge_chart,
    charts.score_curve_chart,
    charts.tie_chart,
    charts.wrong_chart,
)


def write_report(
    model: RankRegression,
    items: Any,
    votes: Any,
    path: Any,
    *,
    title: str | None = None,
    top: str | None = None,
    bottom: str | None = None,
    scale: str = "link",
    n_jobs: int | None = None,
) -> None:
    """Write what a model says about these items and comparisons as one HTML file.

    The file needs nothing else: it works from disk and fetches nothing.

    Parameters
    ----------
    model : RankRegression
        Fitted.
    items, votes : tables of any kind
        As in ``RankRegression.fit``; they may be other data than those of the fit.
    path : str or Path
        Name of the file, ending in .html.
    title, top, bottom : str, optional
        What the study and the two ends of its ranking are called, instead of what the model says
        (``model.wording_``).
    scale : {"link", "0-100", "elo", "wins"}
        What scores are shown on, as in ``RankRegression.rank``.
    n_jobs : int, optional
        Fits of methods to folds that run side by side, as in scikit-learn: -1 for one on each
        core; the page does not depend on it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pairscore import Population
    >>> X, votes = Population(n_features=2, noise=0.1, rng=0).draw(60, 300, rng=1)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "report.html")
    >>> write_report(RankRegression().fit(X, votes), X, votes, path, title="Taste of wine")
    >>> "Taste of wine" in path.read_text(encoding="utf-8")
    True
    >>> folder.cleanup()
    """
    check_is_fitted(model)
    wording = model.wording_.with_words(title=title, top=top, bottom=bottom)
    shown = {"wording": wording, "scale": scale}
    write_page(model, items, votes, path, **shown, workers=Workers(n_jobs))


def write_page(
    model: RankRegression,
    items: Any,
    votes: Any,
    path: Any,
    *,
    wording: Wording | None = None,
    scale: str = "link",
    files: tuple[str, ...] = (),
    workers: Workers = ALONE,
) -> ReportFacts:
    """Write the report as :func:`write_report` does, and return the facts that it shows."""
    if not isinstance(path, str | PathLike) or Path(path).suffix.lower() not in (".html", ".htm"):
        raise PairscoreError(
            f"the report's file is {str(path)!r}; give it a name that ends in .html."
        )
    facts = report_facts(model, items, votes, wording, scale, files, workers)
    page = report_html(facts)
    with atomic_write(path, "the report") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    return facts


def report_html(facts: ReportFacts) -> str:
    """The page as text; no line ends between a number and its percent sign."""
    return re.sub(r"(?<=\d) %", "\u00a0%", page_template().render(facts=facts))


def package_text(name: str) -> str:
    """The text of a file of this room, such as ``report.js``."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def page_template() -> "Template":
    """The template of the page, with the words and charts that it calls.

    Every value is escaped; only charts, the style and the script are taken as they are.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def whole_options(text: str) -> Markup:
        """Text whose options are never broken at a hyphen, which a narrow page would do."""
        whole = Markup('<span class="whole">{}</span>')
        parts = OPTION.split(text)
        shown = (whole.format(part) if n % 2 else escape(part) for n, part in enumerate(parts))
        return Markup("").join(shown)

    def breakable(text: Any) -> Markup:
        """Text that may be broken between the name of a column and its level, and its words."""
        return Markup(re.sub("([=_])(?!$)", r"\1<wbr>", str(escape(text))))

    def as_markup(chart: Callable[..., str]) -> Callable[..., Markup]:
        return lambda *facts: Markup(chart(*facts))

    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: tuple[Callable[..., Any], ...] = (*FILTERS, whole_options, breakable)
    environment.filters |= {function.__name__: function for function in filters}
    environment.tests["finite"] = isfinite
    environment.globals |= {chart.__name__: as_markup(chart) for chart in CHARTS}
    environment.globals |= {"score_axis": charts.score_axis, "ends": charts.ENDS}
    script = package_text("report.js")
    return environment.get_template(
        "report.html.j2",
        globals={
            "style": Markup(package_text("report.css")),
            "script": Markup(script),
            "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
        },
    )
