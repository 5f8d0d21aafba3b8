"""Comparisons that are larger than memory, or lie at several sites: ``fit --stream``."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.cli.model_options import collect_warnings
from pairscore.cli.options import FILE, VOTE_COLUMNS, flag, option
from pairscore.cli.words import section, show_warnings, stage
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

STREAM_OPTIONS = section(
    "Larger than memory",
    flag(
        "--stream",
        help="Read the comparisons in parts, which need not fit into memory. COMPARISONS may be"
        " folders, patterns in quotes ('games/*.parquet') and addresses (s3://bucket/games).",
    ),
    option(
        "--memory",
        default="1GB",
        help="With --stream: what comparisons may take in memory, about.",
    ),
    option("--threads", type=click.IntRange(min=1), help="With --stream: threads to use."),
    option(
        "--checkpoint",
        type=FILE,
        help="With --stream: file from which the fit goes on if it is ended; removed when done.",
    ),
)
# options of fit that need all comparisons at once, or files as a table in memory
NOT_IN_PARTS = (
    *("auto", "use", "group", "side_by_judge", "item_effects", "judge_slopes", "context"),
    *("reference", "categorical", "squares", "interactions", "missing", "winner_codes", "judge"),
    *("delimiter", "encoding", "decimal", "na", "sheet"),
)


def fit_in_parts(items: Path, comparisons: tuple[Path, ...], given: dict[str, Any]) -> Any:
    """The model of ``fit --stream``."""
    from pairscore.cli.model_options import number_or_word
    from pairscore.data.feature_options import split_names
    from pairscore.streaming.fit import fit_stream

    refuse_whole_tables()
    columns: dict[str, Any] = {n: given[n] for n in (*VOTE_COLUMNS, "id") if given[n]}
    columns |= {n: names for n in ("features", "exclude") if (names := split_names(given[n]))}
    settings = {name: given[name] for name in ("method", "link", "ties", "side_effect", "memory")}
    with stage("Reading") as show, collect_warnings() as texts:
        model: RankRegression = fit_stream(
            address(items),
            [address(path) for path in comparisons],
            **settings,
            l2=number_or_word(given["l2"]) or 0.0,
            shrinkage=number_or_word(given["shrinkage"]),
            inference=None if given["inference"] == "none" else given["inference"],
            self_pairs="keep" if given["self_pairs"] else "error",
            n_jobs=given["threads"],
            checkpoint=given["checkpoint"],
            progress=lambda progress: show(progress.share, 1.0),
            **columns,
        )
    show_warnings(texts)
    return model


def refuse_whole_tables() -> None:
    """Options that --stream has no use for."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    if asked := [name for name in NOT_IN_PARTS if context.get_parameter_source(name) == typed]:
        options = {one.name: max(one.opts, key=len) for one in context.command.params}
        raise PairscoreError(
            f"{options[asked[0]]} needs all data in memory, and --stream reads them in parts; leave"
            " one of the two out."
        )


def address(path: Path) -> str:
    """A file or an address as it was written: a path has one slash where an address has two."""
    return re.sub(r"^([a-z][a-z0-9+]*):/(?=[^/])", r"\1://", str(path))
