"""The program: ``pairscore``, or ``python -m pairscore`` where the shell does not find that."""

import gc

from pairscore.cli.commands import main
from pairscore.cli.terminal import leave

# that were made since garbage was last looked for: in the modules of a command there is none
MANY_OBJECTS = 100_000


def run() -> None:
    """Run a command, and end this process."""
    gc.set_threshold(MANY_OBJECTS)
    try:
        main()
    except SystemExit as ended:
        leave(ended.code)
        raise


if __name__ == "__main__":
    run()
