"""One HTML page about a model.

Start with ``facts``: everything that the page shows, as plain values.

    trials  every method on items that it has not seen
    checks  in words, what could be wrong
    items   ranks, scores and comparisons of each item
    judges  whether one of them is less careful than the others
    lead    the sentences that come first
    facts   all numbers of the page, and the sentences that depend on them
    words   numbers and names as text
    charts  facts as inline SVG
    page    fills the templates ``report.html.j2`` and ``sections/``, which have all other text

Imports: display, passwords, errors, choices, metrics, parallel, data, files, core, estimators,
model, theory, evaluation, planning.
"""
