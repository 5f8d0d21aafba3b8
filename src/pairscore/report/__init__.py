"""One HTML page about a model.

Start with ``facts``: everything that the page shows, as plain values. ``trials`` tests every
method on items that it has not seen, ``checks`` says in words what could be wrong; ``words`` and
``charts`` turn values into text and SVG, and ``page`` fills the templates ``report.html.j2`` and
``sections/`` with them.

Imports: errors, choices, metrics, data, files, core, estimators, model, theory, planning.
"""
