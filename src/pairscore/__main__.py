"""`python -m pairscore`, for those whose shell does not find `pairscore`."""

from pairscore.cli.commands import main

main()
