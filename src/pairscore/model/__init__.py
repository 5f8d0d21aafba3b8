"""RankRegression: fit, rank, summary, save.

Start with ``fit``: from comparisons and settings to a ``Fit``, without scikit-learn.

    regression       RankRegression, the class that people and scikit-learn use
    fit_input        what people give to its fit, as comparisons
    fit              from comparisons and settings to a fit
    update           more votes for a fit
    record           versions, fingerprint and command of a fit
    open_directions  what the comparisons leave open, and the groups of items that follow
    categories       levels of categories, as they are shown
    intervals        which intervals a fit has, and for whom they hold
    contrasts        contrasts of coefficients and joint tests
    notes            what is said of odd data and of open features
    items            items that a fit is asked about: its own, and new ones
    predict          scores, score differences of comparisons, and probabilities
    differences      the difference of two items, or of many pairs
    ranks            ranks and scores with intervals
    scales           scales that people read: 0-100, Elo, wins, worth
    summary          the fit in words and numbers
    file             models on disk

Imports: display, passwords, errors, choices, records, parallel, data, files, core, estimators,
effects.
"""
