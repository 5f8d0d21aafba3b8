"""Split, pooled, paired and maximum likelihood: coefficients with their covariance.

Start with ``closed_form``: eqs. 3-4 of the paper.

    settings     what the user asked for, checked
    fit_data     the comparisons of one fit, with the sums that its steps share
    closed_form  split, pooled and paired: the direction by eq. 3, then its length, then both
    likelihood   maximum likelihood on the graph of items
    separation   which comparisons are explained where the likelihood has no maximum
    ridge        the ridge that predicts comparisons of new or of known items best
    inference    what each pair adds to the equations of an estimate, for item-robust intervals
    diagnostics  whether the pairs look random, and what to expect of new items
    results      what a fit gives to the model

Imports: errors, choices, data, core.
"""
