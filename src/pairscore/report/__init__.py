"""One HTML page about a model.

Start with ``facts``: everything that the page shows, as plain values. ``trials`` tests every
method on items that it has not seen, ``checks`` says in words what could be wrong. ``words``
formats numbers and names, ``charts`` draws SVG, and ``page`` fills the templates ``report.html.j2`` and
``sections/``. Sentences that depend on numbers are in ``facts`` and ``checks``, all other text of
the page is in the templates.

Imports: errors, choices, metrics, data, files, core, estimators, model, theory, planning.
"""
