"""Split, pooled, paired and maximum likelihood: coefficients with their covariance.

Start with ``closed_form``: eqs. 3-4 of the paper. ``fit_data`` has the sums that the steps of a fit
share, ``results`` what a fit finds.

Imports: errors, choices, data, core.
"""
