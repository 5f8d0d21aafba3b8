"""What features leave out: context, sides, judges, ties, and effects of items.

Start with ``fit``: everything that was asked for, estimated together.

    prepare                  from settings and data to rows of single comparisons
    rows                     the likelihood of single comparisons, and its maximum
    predictor                the linear predictor of comparisons, from items' scores and a fit
    expectation_propagation  effects of items with all else
    item_covariance          the covariance of items' effects
    belief_propagation       its entries by messages between neighbours, for many items
    shared_variance          covariances of two items that a model knows
    item_variance            how much items differ: estimate, interval, and a test
    context                  what of a context belongs to the items
    judges                   how sharp each judge is
    panel                    how many judges there are, how often they agree, and their tastes
    abilities                a parameter for every item, without features
    open_abilities           abilities of items that won, or lost, everything: open intervals
    separation               where coefficients, effects and ties have no finite size
    parameter_covariance     errors that allow for shared items and judges
    profile                  intervals by the profile likelihood
    fit                      the fit, in the terms of a model

Imports: display, errors, data, core, estimators.
"""
