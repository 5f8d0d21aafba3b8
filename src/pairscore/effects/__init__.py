"""What features leave out: context, sides, judges, ties, and effects of items.

Start with ``fit``: everything that was asked for, estimated together.

    single_comparisons  the likelihood of comparisons one by one, and its maximum
    circumstances       from settings to such rows, and from items' scores to theirs
    propagation         effects of items with all else, by expectation propagation
    item_posterior      the covariance of items' effects
    item_variance       how much items differ: estimate, interval, and a test that they do not
    projection          what of a context belongs to the items
    judges              how sharp each judge is, and how often judges agree
    abilities           a parameter for every item, without features
    open_abilities      abilities of items that won, or lost, everything: open intervals
    separation          where coefficients, effects and the tie parameter have no finite size
    covariance          errors that allow for shared items and judges
    fit                 the fit, in the terms of a model

Imports: errors, data, core, estimators.
"""
