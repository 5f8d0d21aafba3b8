"""The program: ``pairscore``, or ``python -m pairscore`` where the shell does not find that."""

import gc
import signal
import sys
from contextlib import suppress
from typing import Any

# that were made since garbage was last looked for: in the modules of a command there is none
MANY_OBJECTS = 200_000


class KeptModules:
    """Keeps the modules of a command until the process ends.

    An interpreter that ends looks for garbage among all objects and frees it, one by one, which
    took a fifth of a small fit. What is frozen is left to the system. Tables are not: DuckDB
    complains where they are not freed, so modules are frozen just before the first is opened.
    """

    @staticmethod
    def find_spec(name: str, path: Any, target: Any = None) -> None:
        """Find nothing; only look which module is asked for."""
        if name == "pairscore.files.tables":
            keep_all()


def keep_all() -> None:
    """Let all objects live until the process ends."""
    objects = gc.get_objects()
    objects.append(objects)  # so that the count of its references never falls to zero
    gc.freeze()


def run() -> None:
    """Run a command, and end this process."""
    gc.set_threshold(MANY_OBJECTS)
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_usual:  # Ctrl-C ends the process while modules are imported: no trace of it would help
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pairscore.cli.commands import main

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.meta_path.insert(0, KeptModules())
    write_any_sign()
    try:
        main()
    finally:
        gc.disable()
        if "duckdb" not in sys.modules:
            keep_all()


def write_any_sign() -> None:
    r"""Write signs that the encoding of the output lacks as \u03b1 and the like.

    Windows has such encodings for pipes and files. What Python does by itself elsewhere stays.
    """
    if getattr(sys.stdout, "errors", None) == "strict":
        with suppress(
            AttributeError
        ):  # of a stream that somebody has put in place of the usual one
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


if __name__ == "__main__":
    run()
