"""What a command shows while it runs, and how Ctrl-C and SIGTERM end it.

On a terminal, one line says how far a command is and the time left, where that takes long.

Every command ends within two seconds, whatever it is doing. A signal becomes a
KeyboardInterrupt, and the command ends as after an error: files and folders that it was writing are
removed, processes that it started are ended. Python raises it between two steps of the main thread,
and one step may be a long call (DuckDB reading a file, LAPACK). A thread therefore watches: where
the command goes on, it cleans up and ends the process itself.

A call that holds Python's lock stops that thread too, as SciPy's of LAPACK do and NumPy's do not.
Only factors of Cholesky are left to SciPy; they take seconds beyond about 5,000 features.
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from shutil import get_terminal_size
from typing import Any

import click

SHOWN_AFTER, REDRAWN_EVERY = 2.0, 0.5  # seconds

# by signal, the exit code that a shell shows for it
STOP_CODES: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143}
GRACE = 1.2  # seconds in which a command may end by itself
STOPPED = "stopped before it was done; no file is half-written."
CLEAR = "\r\x1b[K"  # the line of a terminal


# -- progress --------------------------------------------------------------------------------------


class Progress:
    """One line of a terminal: what is going on, how far it is and the time left.

    It is shown after SHOWN_AFTER seconds, and erased at the end. Where nobody said how much there
    is to do, the line has the seconds so far.
    """

    def __init__(self, text: str, clock: Callable[[], float], write: Callable[[str], Any]) -> None:
        self.text, self.clock, self.write = text, clock, write
        self.begun = self.start = clock()
        self.is_shown, self.lock = False, threading.Lock()
        self.reported = 0.0, 0.0  # when, and the share that was done

    def report(self, done: float, total: float) -> None:
        """Say that so much of all is done; where that is less than before, other work begins."""
        now, share = self.clock(), done / total if total else 1.0
        if share < self.reported[1]:
            self.start = now
        self.reported = now, share
        self.show()

    def show(self) -> None:
        """Draw the line as it is now."""
        with self.lock:
            if self.clock() - self.begun >= SHOWN_AFTER:
                line = f"{self.text} … {self._how_far()}"
                # what is longer would go on in a second line, which stays
                self.write(f"\r{line[: get_terminal_size().columns - 1]}\x1b[K")
                self.is_shown = True

    def _how_far(self) -> str:
        (when, share), now = self.reported, self.clock()
        if not share:
            return duration(now - self.start)
        left = (when - self.start) * (1 / share - 1) - (now - when)
        return f"{share:.0%}, {duration(max(left, 0.0))} left"

    def erase(self) -> None:
        """Leave a clean line."""
        with self.lock:
            if self.is_shown:
                self.write(CLEAR)
            self.is_shown, self.write = False, lambda text: None


def duration(seconds: float) -> str:
    """Seconds as people say them, such as 12 s, 3 min or 2 h 5 min.

    >>> duration(12.3), duration(200), duration(7501)
    ('12 s', '3 min', '2 h 5 min')
    """
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def stage(text: str) -> Iterator[Callable[[float, float], None]]:
    """Show on a terminal what is going on, if it takes long; elsewhere show nothing.

    Yields a function that is told how much is done, and of how much.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    line = Progress(text, time.monotonic, partial(click.echo, nl=False, err=True))
    over = threading.Event()

    def draw_again() -> None:
        while not over.wait(REDRAWN_EVERY):
            line.show()

    threading.Thread(target=draw_again, daemon=True).start()
    try:
        yield line.report
    finally:
        over.set()
        line.erase()


def with_progress(
    pieces: Any, show: Callable[[float, float], None], n_passes: int
) -> Callable[[], Iterator[Any]]:
    """The pieces; after each, ``show`` is told how many rows of all passes are done."""
    done = 0

    def one_pass() -> Iterator[Any]:
        nonlocal done
        for values in pieces():
            done += len(values)
            yield values
            show(done, n_passes * pieces.n_rows)

    return one_pass


# -- signals ---------------------------------------------------------------------------------------


@contextmanager
def end_on_signals() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt at the first signal, and end the process if that does not.

    Yields a list that gets the number of the signal. Later signals are ignored, so that they do not
    disturb the clearing up. What was ignored before, as in the background of a script, stays so.
    """
    received: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        if not received:
            received.append(number)
            raise KeyboardInterrupt

    # only the main thread may listen to signals
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    with _watched():
        handlers = {number: signal.getsignal(number) for number in STOP_CODES}
        before = {n: old for n, old in handlers.items() if old not in (signal.SIG_IGN, None)}
        try:
            for number in before:
                signal.signal(number, interrupt)
            yield received
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _watched() -> Iterator[None]:
    """A thread that is told of signals at once: what Python does with them has to wait."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(reading, over), daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        os.close(writing)
        watcher.join()
        os.close(reading)


def _watch(reading: int, over: threading.Event) -> None:
    """End the process some time after a signal, unless the command is over by then."""
    while number := os.read(reading, 1):
        if number[0] in STOP_CODES and not over.wait(GRACE):
            clear = CLEAR if os.isatty(2) else ""  # where progress was shown
            with suppress(OSError):
                os.write(2, f"{clear}Error: {STOPPED}\n".encode())
            end_process(STOP_CODES[number[0]])


def leave(code: Any) -> None:
    """End this process without unloading its modules, which takes as long as a small fit.

    Not where processes were started, or a profiler or debugger waits for the end, or what was
    printed cannot be written: Python knows how to end these.
    """
    is_plain = "multiprocessing" not in sys.modules and isinstance(code, int)
    if not is_plain or sys.getprofile() or sys.gettrace():
        return
    atexit._run_exitfuncs()  # what libraries have asked for
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end_process(code: int) -> None:
    """End this process and those that it started, at once; nothing half-written stays."""
    from pairscore.files.source import remove_unfinished

    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children

        for child in active_children():
            child.kill()
    remove_unfinished()
    os._exit(code)
