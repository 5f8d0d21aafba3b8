"""Split, pooled, paired and maximum likelihood: coefficients with their covariance.

Start with ``closed_form``: eqs. 3-4 of the paper.

    settings       what the user asked for, checked
    fit_data       what estimators ask of their data, as sums
    table_data     the same of comparisons in memory
    tile           comparisons between items, summed per pair
    leverage       how far an item can pull a fit
    item_table     sums over the rows of the item table
    pair_sums      sums over pairs for the covariance of an estimate
    checks         what cannot be fitted
    closed_form    split, pooled and paired: the direction by eq. 3, then its length
    closed_form_errors  standard errors of both
    likelihood     maximum likelihood, in memory or by passes
    likelihood_solvers  its objective, and three ways to Newton's steps
    likelihood_errors   its curvature, and the covariance
    separation     where the likelihood has no maximum: what is explained, and open intervals
    null_space     directions in which no two items that met differ
    ridge          what l2 means on a scatter, and beside a likelihood; when it is weak
    ridge_choice   the ridge that predicts comparisons of new or of known items best
    agreement      how a score and the comparisons agree
    information_criteria  the log-likelihood of a fit with AIC and BIC, or why it has none
    random_pairs   whether the pairs look random
    new_items      what to expect of new items
    lapse          the share of answers that are slips, given or
    lapse_rate     estimated, with its interval and its test
    estimate       what an estimator finds: coefficients, covariance, what is determined

Imports: display, errors, choices, parallel, data, core, messages.
"""
