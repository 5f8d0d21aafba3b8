"""Ctrl-C and SIGTERM: every command ends within two seconds, whatever it is doing.

A signal becomes a KeyboardInterrupt, and the command ends as after an error: files and folders that
it was writing are removed, processes that it started are ended. Python raises it between two steps
of the main thread, and one step may be a long call (DuckDB reading a file, LAPACK). A thread
therefore watches: where the command goes on, it cleans up and ends the process itself.

A call that holds Python's lock stops that thread too, as SciPy's of LAPACK do and NumPy's do not.
Only factors of Cholesky are left to SciPy; they take seconds beyond about 5,000 features.
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# by signal, the exit code that a shell shows for it
STOP_CODES: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143}
GRACE = 1.2  # seconds in which a command may end by itself
STOPPED = "stopped before it was done; no file is half-written."


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
            clear = "\r\x1b[K" if os.isatty(2) else ""  # where progress was shown
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
