"""Models side by side, on comparisons that they have not seen and on their own.

Start with ``compare``.

    compare          fits models to the same folds, and tests them on the same comparisons
    auto_fit         the settings that a study needs, chosen by such tests
    settings_search  which settings are tried, in which order, and which stay
    held_out         which comparisons are set aside, and the loss of settings on them
    measures         how good predicted probabilities are, and how sure that is
    anova            what a larger model adds to a smaller one
    residuals        which comparisons and items a model does not explain
    influence        on which items a model hangs

Imports: display, errors, choices, records, parallel, data, core, estimators, effects, model.
"""
