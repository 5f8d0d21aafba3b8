"""The paper's experiments, reproduced, with its claims checked.

Start with ``experiments``: the cells of its figures.

Imports: errors, choices, metrics, data, files, core, model, theory, planning.
"""
