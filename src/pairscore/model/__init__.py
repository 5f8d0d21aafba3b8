"""RankRegression: fit, rank, summary, save.

Start with ``fit_comparisons``: from comparisons and settings to a ``Fit``, without scikit-learn.

    regression        RankRegression, the class that people and scikit-learn use
    fit               everything that a model keeps of a fit
    fit_comparisons   from comparisons and settings to a fit
    fit_input         what is given to fit
    update            more votes for a fit
    odd_data          what is odd about comparisons, and is said
    feature_notes     what is said of features, and of a side, that comparisons do not determine
    provenance        versions, fingerprint and command of a fit
    open_directions   what the comparisons leave open, and the groups of items that follow
    categories        levels of categories, as they are shown
    curves            the score as a function of one column
    inference         which intervals a fit has, and for whom they hold
    coefficient_intervals  intervals of coefficients and of effects
    contrasts         contrasts of coefficients and joint tests
    item_lookup       items that a fit is asked about by id
    items_to_score    tables, records and single items that it is to score
    predict           scores, score differences of comparisons, and probabilities
    item_differences  the difference of two items, or of many pairs
    ranks             ranks and scores with intervals
    rank_intervals    how many others are surely better, and how many surely worse
    score_scales      scales that people read: 0-100, Elo, wins, worth
    summary           the fit in words and numbers
    file              models on disk
    pipelines         a model behind transformers of scikit-learn
    saved_comparisons  comparisons in a model file

Imports: display, passwords, errors, choices, records, parallel, data, files, core, estimators,
effects, messages.
"""
