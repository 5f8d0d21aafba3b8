"""Work side by side: jobs in threads or processes, and processes that answer over a connection."""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pairscore.display import shown
from pairscore.errors import PairscoreError
from pairscore.messages import Setting, Value

Progress = Callable[[float, float], None]  # told how much is done, and of how much
Result = TypeVar("Result")


def nobody(done: float, total: float) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True)
class Workers:
    """How many jobs run side by side, and who is told how many are done.

    ``n_jobs`` is as in scikit-learn: -1 for all cores; None is one, unless joblib's
    ``parallel_config`` says otherwise. No result depends on it.
    """

    n_jobs: int | None = None
    progress: Progress = nobody

    def __post_init__(self) -> None:
        is_number = isinstance(self.n_jobs, int | np.integer) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (is_number and self.n_jobs):
            raise PairscoreError(
                Setting("n_jobs") + f" is {shown(self.n_jobs)}",
                "use a number of jobs that run side by side, -1 for one on each core, or "
                + Value(None),
            )

    def each(
        self, jobs: Iterable[Callable[[], Result]], in_threads: bool = False
    ) -> Iterator[Result]:
        """Results of jobs, in their order; jobs are made as they are needed.

        In threads they share what they know and start at once, but should spend their time in
        NumPy and warn of nothing; to processes all of it is sent, after a second or two.
        """
        # without joblib, which takes a while to load, nobody can have configured it
        if self.n_jobs == 1 or (self.n_jobs is None and "joblib" not in sys.modules):
            yield from (job() for job in jobs)
            return
        from joblib import Parallel, delayed

        prefer = "threads" if in_threads else None
        run = Parallel(self.n_jobs, prefer=prefer, return_as="generator", pre_dispatch="n_jobs")
        yield from run(delayed(job)() for job in jobs)

    def all(self, jobs: Sequence[Callable[[], Result]], in_threads: bool = False) -> list[Result]:
        """Results of jobs that take about as long each."""
        results = []
        for result in self.each(jobs, in_threads):
            results.append(result)
            self.progress(len(results), len(jobs))
        return results


ALONE = Workers()


def start_process(work: Callable[[Any], None]) -> tuple[Any, Any]:
    """Start a process that calls ``work`` with its end of a connection; our end, and the process.

    Spawned on every system: forks do not go with threads, Windows has none, and a server of forks
    would take seconds to end at times. A terminal sends Ctrl-C to every process of a command, and
    this one alone answers.
    """
    from multiprocessing import get_context

    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with theirs:
        process = context.Process(target=_ignore_ctrl_c, args=(work, theirs), daemon=True)
        with _ctrl_c_blocked():
            process.start()
    return ours, process


def _ignore_ctrl_c(work: Callable[[Any], None], connection: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(connection)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """What starts now is deaf to Ctrl-C from its first moment on, where the system can do that."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
