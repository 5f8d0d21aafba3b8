"""The paper's law, bound and decomposition; errors before any data.

Start with ``population`` (section 8 of the paper) and ``predict`` (the error of a study not yet
made).

Imports: errors, choices, data, core, estimators.
"""
