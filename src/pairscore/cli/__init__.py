"""The command line: each command is one library call and a print.

Start with ``commands``: the group of all commands, its exit codes, and how Ctrl-C ends them. Each
command has a file of its name; ``stats`` and ``merge`` are ``sites``.
What they share:

    options       options, and what they mean to the library
    inputs        the tables that a command reads, and the list of their bad rows
    fit_in_parts  fits to comparisons that are read in parts
    databases     rows of queries in place of files
    outputs       what a command writes, and where it may not go
    printing      results, notes and warnings on the screen
    progress      one line of a terminal, while a command works
    words         messages of the library in the words of the command line
    help          the layout of ``--help``

Nothing heavy is imported before a command runs: ``pairscore --help`` does without NumPy, and fit,
rank, update and plan do without scikit-learn and scipy.stats.

Imports: display, passwords, errors, choices, metrics, records, parallel, data, files, estimators,
model, theory, streaming, evaluation, planning, report, paper, messages.
"""

from pairscore.cli.commands import main

__all__ = ["main"]
