"""Models side by side, on comparisons that they have not seen and on their own.

Start with ``compare``: it fits models to the same folds, tests them on the same comparisons and
prints their scores. ``auto_fit`` finds the settings that a study needs, by such tests. Both set
comparisons aside by ``held_out``; ``measures`` says how good predicted probabilities are and how
sure that is. ``anova`` tests what a larger model adds, ``residuals`` says which comparisons and
items a model does not explain, ``influence`` on which items it hangs. ``pipelines`` are for
scikit-learn.

Imports: display, errors, choices, records, parallel, data, core, estimators, effects, model.
"""
