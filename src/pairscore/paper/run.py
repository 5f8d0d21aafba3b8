"""`pairscore reproduce`: run what is missing, then draw and judge it.

A run may be stopped at any moment. Rows of finished jobs are in one SQLite database of the output
folder, each job in a transaction of its own or with a few others, and the next run does only what
is missing. The CSV tables are written whole from the database when a run ends or is interrupted.
"""

import csv
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pairscore import __version__
from pairscore.choices import METHODS
from pairscore.display import plural
from pairscore.errors import PairscoreError
from pairscore.files.atomic import write_whole
from pairscore.messages import Setting
from pairscore.paper import experiments, scenarios
from pairscore.paper.experiments import PANELS
from pairscore.paper.page import Work, calibration_seconds, page_settings, write_page
from pairscore.paper.rows import csv_text, with_numbers
from pairscore.parallel import Progress, nobody, start_process

DATABASE = "cells.sqlite"
TABLES = {
    "rows.csv": ("job", *experiments.CELL_COLUMNS),
    "needed.csv": ("job", *experiments.NEED_COLUMNS),
    "sources.csv": ("job", *scenarios.SOURCE_COLUMNS),
    "scenarios.csv": ("job", *scenarios.SCENARIO_COLUMNS),
}
ROWS_PER_JOB = {"sources.csv": scenarios.N_PARTS, "scenarios.csv": len(METHODS)}  # others: one
SOURCE_REPEATS = 4  # studies behind each mean square of figure 9, for each generation
BATCH_SIZE = 16  # quick cells that go to a worker together
ANOTHER_FOLDER = "name another folder with " + Setting("folder")

Rows = list[dict[str, Any]]


def reproduce(
    figures: Sequence[str],
    n_generations: int,
    folder: Path,
    *,
    direct: bool = False,
    n_workers: int | None = None,
    progress: Progress = nobody,
) -> dict[str, Any]:
    """Make figures of the paper and the page that shows them, and say what was done.

    Parameters
    ----------
    figures : sequence of str
        Such as ``"2a"`` (one panel) or ``"3"``; none means all ten figures.
    n_generations : int
        Random populations behind every mean; the paper has 10.
    folder : Path
        Where tables, figures and page go. What an earlier run finished there is not run again.
    direct : bool
        Simulate items and comparisons and fit every cell, instead of drawing the estimate of
        `split` from its exact law.
    n_workers : int, optional
        Number of processes; by default one for each core. Results do not depend on it.
    progress : callable
        Called with the numbers of finished and of all jobs of this run; then of figures.

    Returns
    -------
    dict
        The path of the page, how the claims fare, seconds for cells and page, and the number of
        jobs in all and now.
    """
    panels, n_generations = chosen_panels(figures), checked_generations(n_generations)
    n_workers, engine = n_workers or os.cpu_count() or 1, "direct" if direct else "fast"
    jobs = jobs_of(panels, n_generations, engine)
    start = time.perf_counter()
    with open_results(folder) as results:
        try:
            n_run = run_jobs(results, jobs, n_workers, progress)
        finally:
            results.write_tables(jobs)
        tables = {name.removesuffix(".csv"): results.rows(name, jobs) for name in TABLES}
        work = Work(len(jobs), n_run, seconds=time.perf_counter() - start)
        calibration = calibration_seconds()
        settings = page_settings(n_generations, engine, work, n_workers, calibration)
        page_start = time.perf_counter()
        tables["illustration"] = scenarios.illustration_rows() if "1" in panels else []
        page, claims = write_page(folder, tables, settings, work, progress)
    page_seconds = time.perf_counter() - page_start
    return {
        "page": str(page),
        "claims": claims,
        "seconds": work.seconds + page_seconds,
        "cell_seconds": work.seconds,
        "page_seconds": page_seconds,
        "calibration_seconds": calibration,
        "cells": len(jobs),
        "cells_run": n_run,
    }


def chosen_panels(figures: Sequence[str]) -> dict[str, str]:
    """Figures and their panels from words such as ``2a``, ``3``, ``5``; none means all."""
    chosen: dict[str, str] = {}
    for word in figures or PANELS:
        figure = word.rstrip("abcd")
        panel = word.removeprefix(figure)
        if figure not in PANELS or len(panel) > 1 or panel not in PANELS[figure]:
            known = ", ".join(
                f"{name}{panels if len(panels) > 1 else ''}" for name, panels in PANELS.items()
            )
            raise PairscoreError(
                f"there is no figure {word!r}; the figures with their panels are {known}: ask for 3"
                " or 2a, for example."
            )
        chosen[figure] = "".join(sorted({*chosen.get(figure, ""), *(panel or PANELS[figure])}))
    return chosen


def checked_generations(n_generations: Any) -> int:
    """At least one generation."""
    if not isinstance(n_generations, int) or n_generations < 1:
        seeds = plural(n_generations, "seed")
        raise PairscoreError(f"{seeds} make no figure; ask for at least 1 (the paper has 10).")
    return n_generations


# -- jobs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A piece of work: the table that its rows go to, its key in there, and what to compute.

    ``work`` returns a row or a list of rows.
    """

    table: str
    key: str
    work: Callable[[], Any]
    quick: bool = False

    def run(self) -> Rows:
        rows = self.work()
        return rows if isinstance(rows, list) else [rows]


def jobs_of(panels: Mapping[str, str], n_generations: int, engine: str) -> list[Job]:
    """Everything that has to be computed for these panels, in the order of the grid."""
    kinds = dict.fromkeys("2347", _cell_jobs) | dict.fromkeys("568", _need_jobs)
    kinds |= {"1": lambda *_: [], "9": _source_jobs, "10": _scenario_jobs}
    return [
        job
        for figure, letters in panels.items()
        for job in kinds[figure](figure, letters, n_generations, engine)
    ]


def _cell_jobs(figure: str, panels: str, n_generations: int, engine: str) -> list[Job]:
    return [
        Job(
            "rows.csv",
            f"{cell.figure}{cell.panel}/{cell.key}",
            partial(experiments.run_cell, cell),
            quick=cell.engine == "fast",
        )
        for cell in experiments.figure_cells(figure, n_generations, engine)
        if cell.panel in panels
    ]


def _need_jobs(figure: str, panels: str, n_generations: int, engine: str) -> list[Job]:
    return [
        Job(
            "needed.csv",
            f"{need.key}/{n_generations}/{experiments.engine_for(need.method, engine)}",
            partial(experiments.solve_need, need, n_generations, engine),
        )
        for need in experiments.needs(figure)
        if need.panel in panels
    ]


def _source_jobs(figure: str, panels: str, n_generations: int, engine: str) -> list[Job]:
    repeats = max(SOURCE_REPEATS * n_generations, 2)
    return [
        Job("sources.csv", f"9/{n}/{m}/{repeats}", partial(scenarios.source_rows, n, m, repeats))
        for n, m in scenarios.SOURCES_GRID
    ]


def _scenario_jobs(figure: str, panels: str, n_generations: int, engine: str) -> list[Job]:
    return [
        Job(
            "scenarios.csv",
            f"10/{name}/{generation}",
            partial(scenarios.scenario_rows, name, generation),
        )
        for generation in range(n_generations)
        for name in scenarios.SCENARIOS
    ]


# -- results ---------------------------------------------------------------------------------------


@contextmanager
def open_results(folder: Path) -> Iterator["Results"]:
    """Make the folder and open its database, for this run alone until the block ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(folder, error.strerror) from None
    try:
        with closing(sqlite3.connect(folder / DATABASE, timeout=0)) as database:
            results = Results(folder, database)
            results.lock()
            yield results
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of its upper bits
        if code == sqlite3.SQLITE_BUSY:
            raise PairscoreError(
                f"another run is writing to {str(folder)!r}", ["wait for it", ANOTHER_FOLDER]
            ) from None
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise _not_ours(folder / DATABASE, "is not a database of this version") from None
        raise _not_writable(folder, str(error)) from None


def _not_writable(folder: Path, reason: str | None) -> PairscoreError:
    return PairscoreError(f"{str(folder)!r} cannot be written to ({reason})", ANOTHER_FOLDER)


def _not_ours(path: Path, what: str) -> PairscoreError:
    return PairscoreError(f"{str(path)!r} {what}", ["move it away", ANOTHER_FOLDER])


def _of_another_version(path: Path, version: Any) -> PairscoreError:
    return _not_ours(path, f"has rows of version {version!r}, and this is {__version__}")


class Results:
    """The rows of finished jobs: one line of the database for each job, its rows as JSON."""

    def __init__(self, folder: Path, database: sqlite3.Connection):
        self.folder, self.database = folder, database

    def lock(self) -> None:
        """Keep other runs out, and make sure that all rows are of this version.

        The first time, rows of tables that were written without a database are imported.
        """
        # SQLite keeps the lock of the first transaction until the connection is closed
        self.database.execute("PRAGMA locking_mode = EXCLUSIVE")
        with self.database:
            self.database.execute("BEGIN EXCLUSIVE")
            if not self.database.execute("SELECT 1 FROM sqlite_master").fetchone():
                self.database.execute(
                    "CREATE TABLE finished (name TEXT, job TEXT, version TEXT, rows TEXT,"
                    " PRIMARY KEY (name, job))"
                )
                self._insert(_tables_without_database(self.folder))
        versions = self.database.execute("SELECT DISTINCT version FROM finished")
        for (version,) in versions:
            if version != __version__:
                raise _of_another_version(self.folder / DATABASE, version)

    def add(self, jobs: Iterable[Job], rows: Iterable[Rows]) -> None:
        """Keep the rows of finished jobs, all of them or none."""
        with self.database:
            self._insert((job.table, job.key, r) for job, r in zip(jobs, rows, strict=True))

    def _insert(self, finished: Iterable[tuple[str, str, Rows]]) -> None:
        self.database.executemany(
            f"INSERT OR REPLACE INTO finished VALUES (?, ?, '{__version__}', ?)",
            ((name, key, json.dumps(rows)) for name, key, rows in finished),
        )

    def missing(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs that are not finished."""
        finished = set(self.database.execute("SELECT name, job FROM finished"))
        return [job for job in jobs if (job.table, job.key) not in finished]

    def rows(self, name: str, jobs: Sequence[Job]) -> Rows:
        """The rows of these jobs in one table, in their order."""
        by_job = self._by_job(name)
        return [row for job in jobs if job.table == name for row in by_job[job.key]]

    def _by_job(self, name: str) -> dict[str, Rows]:
        found = self.database.execute("SELECT job, rows FROM finished WHERE name = ?", (name,))
        return {key: [{"job": key, **row} for row in json.loads(rows)] for key, rows in found}

    def write_tables(self, jobs: Sequence[Job]) -> None:
        """Write the CSV tables, in the order of these jobs, then what earlier runs have left."""
        order = {job.key: number for number, job in enumerate(jobs)}
        for name, columns in TABLES.items():
            by_job = self._by_job(name)
            keys = sorted(by_job, key=lambda key: (order.get(key, len(order)), key))
            if keys:
                text = csv_text(columns, (row for key in keys for row in by_job[key]))
                write_whole(self.folder / name, text.encode())


def _tables_without_database(folder: Path) -> Iterator[tuple[str, str, Rows]]:
    """Finished jobs in tables that an earlier version has left: table, key and rows.

    A line that a kill has cut short was not finished, nor was a job with too few rows.
    """
    for name, columns in TABLES.items():
        path = folder / name
        text = path.read_text("utf-8", "replace") if path.exists() else ""
        if ",".join(columns).startswith(text):  # stopped within the first line, or no file
            continue
        header, *lines = csv.reader(text[: text.rfind("\n") + 1].splitlines() or [""])
        if tuple(header) != columns:
            raise _not_ours(path, "is not a table of this version (its columns differ)")
        by_job: dict[str, Rows] = {}
        for line in lines:
            row = dict(zip(columns, line, strict=False))
            if row.get("version") != __version__ or len(line) != len(columns):
                raise _of_another_version(path, row.get("version"))
            by_job.setdefault(row.pop("job"), []).extend(with_numbers([row]))
        for key, rows in by_job.items():
            if len(rows) == ROWS_PER_JOB.get(name, 1):
                yield name, key, rows


# -- processes -------------------------------------------------------------------------------------


def run_jobs(results: Results, jobs: Sequence[Job], n_workers: int, progress: Progress) -> int:
    """Do what is not finished, on several processes, and say how many jobs that were."""
    missing = results.missing(jobs)
    quick = [job for job in missing if job.quick]
    # the long ones first, so that no worker is left alone with one at the end
    batches = [[job] for job in missing if not job.quick]
    batches += [quick[first : first + BATCH_SIZE] for first in range(0, len(quick), BATCH_SIZE)]
    done = 0
    progress(done, len(missing))
    with _workers(min(n_workers, len(batches))) as workers:
        for batch, rows in _finished_batches(batches, workers):
            results.add(batch, rows)
            done += len(batch)
            progress(done, len(missing))
    return done


@contextmanager
def _workers(number: int) -> Iterator[list[Connection]]:
    """Processes that do batches of jobs, each at the other end of a connection.

    They are ended with the block, whatever they are doing then. Where this process is killed, their
    connections close, and they end by themselves.
    """
    processes, connections = [], []
    try:
        for _ in range(number):
            connection, process = start_process(_work)
            processes.append(process)
            connections.append(connection)
        yield connections
    finally:
        for process in processes:
            process.kill()
            process.join()
        for connection in connections:
            connection.close()


def _finished_batches(
    batches: Sequence[list[Job]], workers: Iterable[Connection]
) -> Iterator[tuple[list[Job], list[Rows]]]:
    """Hand out batches, and yield each with its rows as soon as it is finished."""
    waiting, at_work = iter(batches), {}
    ready = list(workers)
    while True:
        for worker, batch in zip(ready, waiting, strict=False):
            worker.send(batch)
            at_work[worker] = batch
        if not at_work:
            return
        finished = wait(at_work)
        ready = [worker for worker in at_work if worker in finished]
        for worker in ready:
            yield at_work.pop(worker), _answer(worker)


def _answer(worker: Connection) -> list[Rows]:
    try:
        answer = worker.recv()
    except (EOFError, OSError):
        raise PairscoreError(
            "a process of this run was ended from outside, perhaps because memory ran out;"
            " finished work is kept",
            "run the same again, with fewer processes (" + Setting("n_workers") + ")",
        ) from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _work(connection: Connection) -> None:
    """Do what comes through the connection, one BLAS thread at a time, until it closes."""
    from threadpoolctl import threadpool_limits

    tasks: SimpleQueue[list[Job]] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    threadpool_limits(1)
    while True:
        try:
            answer: Any = [job.run() for job in tasks.get()]
        except Exception as error:
            answer = error
        connection.send(answer)


def _receive(connection: Connection, tasks: SimpleQueue) -> None:
    """Pass tasks on; end the process where nobody waits for it any more."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    os._exit(1)
