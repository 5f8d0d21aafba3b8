"""How far a command is: one line of a terminal, while it works."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from time import monotonic
from typing import Any

SHOWN_AFTER, REDRAWN_EVERY = 2.0, 0.5  # seconds
CLEAR = "\r\x1b[K"  # the line of a terminal


class ProgressLine:
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
        now, share = self.clock(), min(done / total, 1.0) if total else 1.0
        if share < self.reported[1]:
            self.start = now
        self.reported = now, share
        self.show()

    def show(self) -> None:
        """Draw the line as it is now."""
        with self.lock:
            if self.clock() - self.begun >= SHOWN_AFTER:
                line = f"{self.text} … {self._how_far()}"
                self.is_shown = True  # before it is so: Ctrl-C may come between the two
                # what is longer would go on in a second line, which stays
                self.write(f"\r{line[: get_terminal_size().columns - 1]}\x1b[K")

    def _how_far(self) -> str:
        (when, share), now = self.reported, self.clock()
        if not share:
            return duration(now - self.start)
        if when == self.start and share < 1:  # it has just begun
            return f"{share:.0%}"
        left = (when - self.start) * (1 / share - 1) - (now - when)
        return f"{share:.0%}, {duration(max(left, 0.0))} left"

    def erase(self) -> None:
        """Leave a clean line."""
        with self.lock:
            if self.is_shown:
                self.write(CLEAR)
            self.is_shown, self.write = False, lambda text: None


def write_error(text: str) -> None:
    """Write to standard error at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


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
    line = ProgressLine(text, monotonic, write_error)
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
