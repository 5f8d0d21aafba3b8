"""One HTML page about a model.

Start with ``facts``: everything that the page shows, as plain values.

    facts              all numbers of the page, and the sentences that depend on them
    items              ranks, scores and comparisons of each item
    held_out           every method on items that it has not seen
    more_comparisons   what more of them would improve
    checks             in words, what could be wrong
    judges             whether one of them is less careful than the others
    opening_sentences  what the page says first
    words              numbers and names as text
    charts             facts as inline SVG
    page               fills the templates ``report.html.j2`` and ``sections/``, with all other text

Imports: display, passwords, errors, choices, metrics, parallel, data, files, core, estimators,
effects, model, theory, evaluation, planning, messages.
"""
