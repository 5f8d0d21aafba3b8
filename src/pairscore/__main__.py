"""The program: ``pairscore``, or ``python -m pairscore`` where the shell does not find that."""

import gc
from contextlib import suppress

from pairscore.cli.commands import leave, main

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
    gc.set_threshold(MANY_OBJECTS)
    keep_memory()
    try:
        main()
    except SystemExit as ended:
        leave(ended.code)
        raise


if __name__ == "__main__":
    run()
