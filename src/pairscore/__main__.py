"""The program: ``pairscore``, or ``python -m pairscore`` where the shell does not find that."""

import gc
import os
import re
import signal
import sys
from contextlib import suppress

from pairscore.choices import DB_VARIABLE
from pairscore.passwords import without_password

# that were made since garbage was last looked for: in the modules of a command there is none
MANY_OBJECTS = 100_000
# settings of malloc in the GNU C library: M_TRIM_THRESHOLD, free bytes that a process keeps, and
# M_MMAP_MAX, arrays that the system gives and takes back one by one
MEMORY = {-1: (1 << 31) - 1, -4: 0}


def keep_memory() -> None:
    """Use memory that large arrays have left again, instead of giving it back to the system.

    To get it anew, page by page, takes as long as a pass over the numbers. Elsewhere than in the
    GNU C library nothing is changed.
    """
    with suppress(ImportError, OSError, TypeError, AttributeError):
        from ctypes import CDLL

        for setting, value in MEMORY.items():
            CDLL(None).mallopt(setting, value)


def run() -> None:
    """Run a command, and end this process."""
    waiting = signal.getsignal(signal.SIGINT)
    if waiting is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    hide_password()
    from pairscore.cli.commands import leave, main

    if waiting is signal.default_int_handler:
        signal.signal(signal.SIGINT, waiting)
    gc.set_threshold(MANY_OBJECTS)
    keep_memory()
    write_any_sign()
    try:
        main()
    except SystemExit as ended:
        leave(ended.code)
        raise


def end_at_once(number: int, frame: object) -> None:
    """End after Ctrl-C while modules are imported: nothing is open yet, and no trace helps."""
    os._exit(128 + number)


def write_any_sign() -> None:
    r"""Write signs that the encoding of the output lacks as \u03b1 and the like.

    Windows has such encodings for pipes and files. What Python does by itself elsewhere stays.
    """
    if getattr(sys.stdout, "errors", None) == "strict":
        with suppress(
            AttributeError
        ):  # of a stream that somebody has put in place of the usual one
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def hide_password() -> None:
    """Move a database's address that has a password to the environment, and start again.

    Everyone on a machine can read the words of a command, and only its user the environment.
    """
    words, hidden = sys.argv[1:], []
    for before, word in zip(["", *words], words, strict=False):
        is_db = word.startswith("--db=") or before == "--db"
        is_address = re.match(r"(--[\w-]+=)?\w[\w+.-]*://", word)
        place, mark, options = word.partition("?")  # settings of a store, which are used
        kept = without_password(place) + mark + options if is_address else word
        hidden.append(without_password(word) if is_db else kept)
        if is_db and hidden[-1] != word:
            os.environ[DB_VARIABLE] = word.removeprefix("--db=")
    if hidden == words:
        return
    start, end = sys.orig_argv[1 : -len(words)], sys.orig_argv[-len(words) :]
    if os.name == "posix" and sys.executable and end == words:
        os.execv(sys.executable, [sys.executable, *start, *hidden])
    sys.argv[1:] = hidden


if __name__ == "__main__":
    run()
