"""The command line: each command is one library call and a print.

Start with ``commands``: the group of all commands, its exit codes, and how Ctrl-C ends them.
``parts`` has what is larger than memory, at several sites or in a
database (fit --stream, --db, stats, merge), ``models`` has the commands about a model (fit, update,
report), ``pairs`` those about items and pairs (pairs, rank, predict, compare), ``studies`` those
about studies (plan, simulate, demo, reproduce), ``demo`` the story that the demo tells.
``options`` has what several commands share: options, where they read and write, what they show
meanwhile; ``model_options`` the settings of a model. ``words`` turns messages of the library into
the words of the command line.

Nothing heavy is imported before a command runs: ``pairscore --help`` does without NumPy, and fit,
rank, update and plan do without scikit-learn, scipy.stats and scipy.optimize.

Imports: display, passwords, errors, choices, metrics, records, parallel, data, files, estimators,
model, theory, streaming, evaluation, planning, report, paper.
"""

from pairscore.cli.commands import main

__all__ = ["main"]
