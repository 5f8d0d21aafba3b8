"""What features leave out: context, sides, judges, ties, and effects of items.

Start with ``single_comparisons``: the likelihood where comparisons of a pair cannot be summed.

    circumstances       scores of comparisons from scores of items: context, judge, side
    single_comparisons  the likelihood of comparisons one by one, and its maximum
    comparison_fit      the fit with context, sides, judges and ties, with its covariance
    judges              how sharp each judge is
    slope_bias          what fitted slopes add to scores, taken off
    shared_items        the equation for the variance of item effects
    item_variance       that variance with its interval
    item_posterior      the effect of each item
    fit                 the fit with item effects, alone or with all of the above

Imports: errors, data, core, estimators.
"""
