"""The arithmetic that every estimator shares: of one comparison, and of sums over many.

Start with ``links``: how a difference of scores becomes a probability.

    links           f with f(-x) = 1 - f(x): logit, probit, or a user's own (eq. 2 of the paper)
    ties            win, tie or loss: four rules for ties
    normal_average  averages of a link over a normal variable, such as an item's effect
    scale           how long a direction is on the link
    decided_scale   what ties take from the chances of decided comparisons
    moments         total weight, mean and scatter of items
    row_blocks      a table of items, a block of rows at a time
    amounts         how much comparisons count
    pair_graph      comparisons summed per item and per pair
    incidence       which items are in which rows
    differences     differences along a score, comparison by comparison or as a distribution
    sums            sums that add, field by field
    passes          passes over comparisons and pairs: sums per item, differences, scores
    kernels         their loops, compiled or in NumPy (kernels_numpy)
    threads         long passes in chunks, whose sums do not depend on the number of threads
    whitening       coordinates in which a scatter is the identity, and what it leaves open
    linear_systems  conjugate gradients, or a factor, for several right sides
    optimise        Newton's method with a line search
    roots           roots of functions of one number
    sandwich        covariances that let comparisons that share an item be dependent
    comparison_means  means over comparisons that share items, their errors and intervals
    significance    widths of intervals, p-values, Wald's test

Imports: errors.
"""
