"""The program: ``pairscore``, or ``python -m pairscore`` where the shell does not find that."""

import gc
import signal
import sys
from contextlib import suppress

# that were made since garbage was last looked for: in the modules of a command there is none
MANY_OBJECTS = 100_000


def run() -> None:
    """Run a command, and end this process."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_usual:  # Ctrl-C ends the process while modules are imported: no trace of it would help
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pairscore.cli.commands import main

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(MANY_OBJECTS)
    write_any_sign()
    try:
        main()
    finally:
        gc.disable()  # whatever is left goes with the process


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
