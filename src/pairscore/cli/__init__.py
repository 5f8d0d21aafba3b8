"""The command line: one library call and a print each.

Start with ``commands``. Nothing heavy is imported before a command runs.

Imports: errors, choices, metrics, data, files, model, evaluation, theory, planning, report, paper.
"""

from pairscore.cli.commands import main

__all__ = ["main"]
