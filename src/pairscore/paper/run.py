"""A run that can be stopped at any moment.

Rows are added as they are made, and a second run makes only what is missing.

A folder holds plain CSV tables. Every row names its job; a line cut short by a kill is dropped; at
the end the tables are rewritten in the order of the grid, whole or not at all.
"""

import csv
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pairscore import __version__
from pairscore.errors import PairscoreError, plural
from pairscore.files.write import atomic_write
from pairscore.paper import beyond, experiments
from pairscore.paper.experiments import METHODS, Cell, Need, figure_cells, needs, solve_need
from pairscore.paper.rows import WORDS

FIGURES = {
    "1": "abcd",
    "2": "ab",
    "3": "abc",
    "4": "abc",
    "5": "abc",
    "6": "abc",
    "7": "a",
    "8": "a",
    "9": "a",
    "10": "a",
}
TABLES = {
    "rows.csv": experiments.CELL_COLUMNS,
    "needed.csv": experiments.NEED_COLUMNS,
    "sources.csv": beyond.SOURCE_COLUMNS,
    "scenarios.csv": beyond.SCENARIO_COLUMNS,
}
SOURCE_REPEATS = 4  # studies behind each mean square of figure 9, for each generation
ALWAYS_AT_ONCE = 16  # cells that travel to a worker together


@dataclass(frozen=True)
class Job:
    """A piece of work: the table its rows go to, the name of the row, and what to do."""

    table: str
    key: str
    work: Any
    n_rows: int = 1

    def run(self) -> list[dict[str, Any]]:
        if isinstance(self.work, Cell):
            return [experiments.run_cell(self.work)]
        if isinstance(self.work[0], Need):
            return [solve_need(*self.work)]
        kind, *arguments = self.work
        return (
            beyond.source_rows(*arguments)
            if kind == "sources"
            else beyond.scenario_rows(*arguments)
        )


def chosen_panels(asked: Sequence[str]) -> dict[str, str]:
    """Figures and their panels from words such as ``2a``, ``3``, ``5``; none means all."""
    if not asked:
        return dict(FIGURES)
    chosen: dict[str, str] = {}
    for word in asked:
        figure, panel = word.rstrip("abcd"), word[len(word.rstrip("abcd")) :]
        if figure not in FIGURES or len(panel) > 1 or (panel and panel not in FIGURES[figure]):
            known = ", ".join(
                f"{name}{panels if len(panels) > 1 else ''}" for name, panels in FIGURES.items()
            )
            raise PairscoreError(
                f"there is no figure {word!r}; the figures with their panels are {known}: ask for 3"
                " or 2a, for example."
            )
        chosen[figure] = "".join(sorted(set(chosen.get(figure, "") + (panel or FIGURES[figure]))))
    return chosen


def jobs_of(panels: dict[str, str], n_generations: int, engine: str) -> list[Job]:
    """Everything that has to be computed, in the order of the grid."""
    jobs = []
    for figure, wanted in panels.items():
        if figure in ("2", "3", "4", "7"):
            cells = [
                cell for cell in figure_cells(figure, n_generations, engine) if cell.panel in wanted
            ]
            jobs += [
                Job("rows.csv", f"{cell.figure}{cell.panel}/{cell.key}", cell) for cell in cells
            ]
        elif figure in ("5", "6", "8"):
            jobs += [
                Job(
                    "needed.csv",
                    f"{need.key}/{n_generations}/{_engine(need, engine)}",
                    (need, n_generations, engine),
                )
                for need in needs(figure)
                if need.panel in wanted
            ]
        elif figure == "9":
            repeats = max(SOURCE_REPEATS * n_generations, 2)
            jobs += [
                Job(
                    "sources.csv",
                    f"9/{n}/{m}/{repeats}",
                    ("sources", n, m, repeats),
                    beyond.N_PARTS,
                )
                for n, m in beyond.SOURCES_GRID
            ]
        elif figure == "10":
            jobs += [
                Job(
                    "scenarios.csv",
                    f"10/{name}/{generation}",
                    ("scenario", name, generation),
                    len(METHODS),
                )
                for generation in range(n_generations)
                for name in beyond.SCENARIOS
            ]
    return jobs


def _engine(need: Need, engine: str) -> str:
    return engine if need.method == "split" else "direct"


# -- tables ------------------------------------------------------------------------------------------


class Folder:
    """The tables of a run. Only one run at a time may write to a folder."""

    def __init__(self, path: Path):
        self.path = path
        self.finished: dict[str, dict[str, list[dict[str, str]]]] = {name: {} for name in TABLES}

    @contextmanager
    def opened(self) -> Iterator["Folder"]:
        """Make the folder, lock it, and read what a run before this one has finished."""
        import fcntl

        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = open(self.path / ".lock", "w")  # noqa: SIM115
        except OSError as error:
            raise PairscoreError(
                f"{str(self.path)!r} cannot be written to ({error.strerror}); name another"
                " directory with -o."
            ) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise PairscoreError(
                    f"another run is writing to {str(self.path)!r}; wait for it, or name another"
                    " directory with -o."
                ) from None
            for name in TABLES:
                self._read(name)
            yield self

    def _read(self, name: str) -> None:
        path, columns = self.path / name, ("job", *TABLES[name])
        if not path.exists():
            return
        content = path.read_bytes()
        if f"{','.join(columns)}\n".encode().startswith(content):  # stopped within the first line
            path.unlink()
            return
        whole = content[: content.rfind(b"\n") + 1]  # a line cut short by a kill was not finished
        lines = list(csv.reader(whole.decode(errors="replace").splitlines()))
        if not lines or tuple(lines[0]) != columns:
            raise PairscoreError(
                f"{str(path)!r} is no table of this version (its columns differ); move it away, or"
                " name another directory with -o."
            )
        for line in lines[1:]:
            row = dict(zip(columns, line, strict=False))
            if row.get("version") != __version__ or len(line) != len(columns):
                raise PairscoreError(
                    f"{str(path)!r} has rows of version {row.get('version')!r}, and this is"
                    f" {__version__}; move it away, or name another directory with -o."
                )
            self.finished[name].setdefault(row["job"], []).append(row)
        if whole != content:
            os.truncate(path, len(whole))

    def add(self, job: Job, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a finished job so that a power cut does not lose them."""
        path, columns = self.path / job.table, ("job", *TABLES[job.table])
        new = not path.exists()
        with open(path, "a", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            if new:
                writer.writeheader()
            text = [{"job": job.key, **row} for row in rows]
            writer.writerows(text)
            file.flush()
            os.fsync(file.fileno())
        self.finished[job.table][job.key] = [
            {name: str(value) for name, value in row.items()} for row in text
        ]

    def is_finished(self, job: Job) -> bool:
        return job.key in self.finished[job.table]

    def forget_cut_short(self, jobs: Sequence[Job]) -> None:
        """Drop jobs of which a kill left some rows only."""
        short = [
            job
            for job in jobs
            if self.is_finished(job) and len(self.finished[job.table][job.key]) != job.n_rows
        ]
        for job in short:
            del self.finished[job.table][job.key]
        if short:
            self.sort(jobs)

    def rows(self, table: str, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """The rows of some jobs, in their order, numbers as numbers."""
        return [
            {name: _value(name, text) for name, text in row.items()}
            for job in jobs
            if job.table == table
            for row in self.finished[table][job.key]
        ]

    def sort(self, jobs: Sequence[Job]) -> None:
        """Rewrite the tables in the order of the grid, rows of earlier runs last.

        Whole or not at all.
        """
        for name, columns in TABLES.items():
            order = {job.key: place for place, job in enumerate(jobs) if job.table == name}
            keys = sorted(self.finished[name], key=lambda key: (order.get(key, len(order)), key))
            if not keys:
                continue
            with (
                atomic_write(self.path / name, "the table") as scratch,
                open(scratch, "w", newline="") as file,
            ):
                writer = csv.DictWriter(file, ("job", *columns), lineterminator="\n")
                writer.writeheader()
                for key in keys:
                    writer.writerows(self.finished[name][key])


WHOLE = {"n_items", "n_comparisons", "n_features", "generation", "seed", "repeats", "n_generations"}


def _value(name: str, text: str) -> Any:
    return text if name in WORDS else int(text) if name in WHOLE else float(text)


# -- the run -----------------------------------------------------------------------------------------


def run_jobs(
    folder: Folder, jobs: Sequence[Job], n_workers: int, progress: Callable[[int, int], None]
) -> int:
    """Do what is not finished, on several processes with one BLAS thread each.

    Say how many jobs that were.
    """
    folder.forget_cut_short(jobs)
    missing = [job for job in jobs if not folder.is_finished(job)]
    done = 0
    progress(0, len(missing))
    if not missing:
        return 0
    with ProcessPoolExecutor(
        n_workers,
        mp_context=get_context("forkserver"),
        initializer=_start_worker,
        initargs=(os.getpid(),),
    ) as pool:
        # the long ones first, so that no worker is left alone with one at the end
        batches = sorted(
            _batches(missing),
            key=lambda batch: batch[0].table == "rows.csv" and batch[0].work.engine == "fast",
        )
        futures = {pool.submit(_run_batch, batch): batch for batch in batches}
        try:
            for future in as_completed(futures):
                for job, rows in zip(futures[future], future.result(), strict=True):
                    folder.add(job, rows)
                done += len(futures[future])
                progress(done, len(missing))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return done


def _batches(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    quick = [job for job in jobs if job.table == "rows.csv" and job.work.engine == "fast"]
    for first in range(0, len(quick), ALWAYS_AT_ONCE):
        yield list(quick[first : first + ALWAYS_AT_ONCE])
    for job in jobs:
        if job.table != "rows.csv" or job.work.engine != "fast":
            yield [job]


def _run_batch(jobs: list[Job]) -> list[list[dict[str, Any]]]:
    return [job.run() for job in jobs]


def _start_worker(parent: int) -> None:
    """One BLAS thread for each process, and no process that outlives a killed parent."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    # Ctrl-C goes to the whole group; the parent alone answers it
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while True:
            time.sleep(1)
            try:
                os.kill(parent, 0)
            except OSError:
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def checked_generations(n_generations: Any) -> int:
    """At least one generation."""
    if not isinstance(n_generations, int) or n_generations < 1:
        raise PairscoreError(
            f"{plural(n_generations, 'seed')} make no figure; ask for at least 1 (the paper has"
            " 10)."
        )
    return n_generations
