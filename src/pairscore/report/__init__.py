"""One HTML page about a model.

Start with ``facts``: everything that the page shows, as plain values.

Imports: errors, choices, metrics, data, files, core, estimators, model, theory, planning.
"""
