"""The command ``reproduce``: the paper's figures and claims."""

from pathlib import Path
from typing import Any

import click

from pairscore.cli.help import command, examples
from pairscore.cli.options import FOLDER, flag, json_flag, option, output_option, processes_option
from pairscore.cli.printing import echo, show_json
from pairscore.cli.progress import stage


@command()
@click.argument("figures", nargs=-1)
@option("--seeds", type=int, default=10, help="Number of simulated studies for every mean.")
@output_option("Folder for tables, figures and page.", FOLDER, default=Path("reproduction"))
@flag(
    "--direct",
    help="Draw items and comparisons and fit every cell, instead of drawing the estimate from its"
    " exact distribution.",
)
@processes_option("Number of processes.  [default: one for each core]", setting="n_workers")
@json_flag("Print where the page is and how long it took as JSON.")
@examples("reproduce", "reproduce 2a 3 --seeds 2 -o quick")
def reproduce(
    figures: tuple[str, ...], seeds: int, output: Path, as_json: bool, **running: Any
) -> None:
    """Reproduce the paper's figures 1 to 6 and four more, 7 to 10, and check its claims.

    If it is stopped, the same command continues where it was. Rows are written to rows.csv and
    needed.csv, all pictures to one page.
    """
    from pairscore.paper.run import reproduce as make

    try:
        with stage("Computing cells, then drawing figures") as show:
            done = make(figures, seeds, output, progress=show, **running)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped; finished work is kept in {str(output)!r}, and the same command continues"
            " from there."
        ) from None
    if as_json:
        show_json(done)
    else:
        echo(
            f"{done['cells']:,} cells ({done['cells_run']:,} run now) in"
            f" {done['cell_seconds']:.0f} s; predictions, figures and page in"
            f" {done['page_seconds']:.0f} s; calibration loop {done['calibration_seconds']:.2f} s"
        )
        if done["claims"]:
            echo(done["claims"])
        echo(done["page"])
