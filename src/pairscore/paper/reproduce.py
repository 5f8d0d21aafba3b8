"""`pairscore reproduce`: run what is asked, then draw and judge it."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairscore import __version__
from pairscore.paper.beyond import illustration_rows
from pairscore.paper.page import write_page
from pairscore.paper.run import Folder, checked_generations, chosen_panels, jobs_of, run_jobs

CALIBRATION_SIZE = 2_000_000


def reproduce(
    asked: Sequence[str],
    n_generations: int,
    folder: Path,
    *,
    direct: bool = False,
    n_workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Make the figures asked for (none.

    All) with so many generations, and the page that shows them; say what was done.
    """
    panels, n_generations = chosen_panels(asked), checked_generations(n_generations)
    engine = "direct" if direct else "fast"
    jobs = jobs_of(panels, n_generations, engine)
    start = time.perf_counter()
    with Folder(folder).opened() as tables:
        n_run = run_jobs(tables, jobs, n_workers or os.cpu_count() or 1, progress)
        tables.sort(jobs)
        rows, needed, sources, scenarios = (
            tables.rows(name, jobs)
            for name in ("rows.csv", "needed.csv", "sources.csv", "scenarios.csv")
        )
        cell_seconds = time.perf_counter() - start
        calibration = calibration_seconds()
        settings = {
            "generations": n_generations,
            "engine": (
                "direct: items, votes and a fit for every cell"
                if direct
                else "fast: estimates of split drawn from their exact law"
            ),
            "cells": len(jobs),
            "cells run now": n_run,
            "processes": n_workers or os.cpu_count() or 1,
            "calibration loop": (
                f"{calibration:.2f} s (sorting {CALIBRATION_SIZE:,} numbers on one core, after the"
                " run)"
            ),
            "pairscore": __version__,
            "NumPy": np.__version__,
        }
        page_start = time.perf_counter()
        illustration = illustration_rows() if "1" in panels else []
        extras = {"illustration": illustration, "sources": sources, "scenarios": scenarios}
        page = write_page(
            folder,
            rows,
            needed,
            **extras,
            settings=settings,
            n_cells=len(jobs),
            n_run=n_run,
            seconds=cell_seconds,
        )
    page_seconds = time.perf_counter() - page_start
    times = {
        "seconds": cell_seconds + page_seconds,
        "cell_seconds": cell_seconds,
        "page_seconds": page_seconds,
        "calibration_seconds": calibration,
    }
    return {"page": str(page), **times, "cells": len(jobs), "cells_run": n_run}


def calibration_seconds() -> float:
    """How fast this machine is just now: a loop that never changes."""
    values = np.random.default_rng(0).random(CALIBRATION_SIZE)
    start = time.perf_counter()
    np.sort(values)
    return time.perf_counter() - start
