"""The paper's experiments, reproduced, with its claims checked.

Start with ``experiments``: the cells of the figures, the N needed and the predictions. Then
``run`` (the command: what is missing is computed, and a stopped run goes on), ``scenarios`` (rows
of figures 1, 9 and 10), ``error_sources`` (the chart of a decomposition), ``rows`` (curves and
measures), ``claims`` with ``verdicts`` (each sentence
of the paper, judged by a rule), ``figures`` with ``panels``, and ``page``.

Imports: display, errors, choices, metrics, parallel, data, files, core, model, theory, planning,
messages.
"""
