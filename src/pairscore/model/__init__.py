"""RankRegression: fit, rank, summary, save.

Start with ``fit``: from comparisons and settings to a ``Fit``, without scikit-learn.

    fit         fit_comparisons and update_fit
    regression  RankRegression, the scikit-learn class over it
    fit_input   what people give to RankRegression, as comparisons and items, and a record of it
    predict     scores, the scales they are shown on, differences and probabilities
    ranking     ranks and scores with intervals, and the difference of two items
    groups      what the comparisons leave open: groups of items, constants of categories
    contrasts   contrasts of coefficients and joint tests
    summary     the fit in words and numbers
    file        models on disk

Imports: errors, choices, data, files, core, estimators, effects.
"""
