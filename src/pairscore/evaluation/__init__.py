"""Models side by side, on comparisons that they have not seen and on their own.

Start with ``compare``: it fits models to the same folds and tests them on the same comparisons.
``choose`` finds the settings that a study needs, by such tests. ``measures`` says how good
predicted probabilities are and how sure that is, ``results`` holds the scores of all models and
prints them, ``scorers`` and ``pipelines`` are for scikit-learn. ``anova`` tests what a larger
model adds, ``residuals`` says which comparisons and items a model does not explain or hangs on.
``plots`` draws models and plans.

Imports: errors, choices, core, data, estimators, effects, files, model, planning.
"""
