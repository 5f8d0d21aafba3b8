"""The program: ``pairscore``, or ``python -m pairscore`` where the shell does not find that."""

from pairscore.cli.commands import main
from pairscore.cli.interrupts import leave


def run() -> None:
    """Run a command, and end this process."""
    try:
        main()
    except SystemExit as ended:
        leave(ended.code)
        raise


if __name__ == "__main__":
    run()
