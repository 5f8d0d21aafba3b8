"""RankRegression: fit, rank, summary, save.

Start with ``fit``: from comparisons and settings to a fitted model. ``regression`` is the
scikit-learn class over it.

Imports: choices, errors, data, files, core, estimators, effects.
"""
