"""The arithmetic that every estimator shares: of one comparison, and of sums over many.

Start with ``links``: how a difference of scores becomes a probability.

    links      f with f(-x) = 1 - f(x): logit, probit, or a user's own (eq. 2 of the paper)
    outcomes   win, tie or loss: four rules for ties, and averages over item effects
    scale      how long a direction is on the link, and what ties as half wins take from it
    passes     loops over comparisons and pairs, compiled or in NumPy; long ones in threads
    sums       what many comparisons come down to: tallies, moments, pairs, scatter of differences
    whitening  units of features, and coordinates in which a scatter matrix is the identity
    ridge_path fits with thirty ridges side by side, and what they lose on other comparisons
    newton     Newton's method with a line search, and roots of functions of one number
    shares     means over comparisons that share items, their errors and intervals
    sandwich   covariances that let comparisons that share an item be dependent

Imports: errors.
"""
