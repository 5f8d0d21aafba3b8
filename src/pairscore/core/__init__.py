"""One comparison and sums of many: links, outcomes, and sums that add.

Start with ``links``. ``sums`` has what many comparisons come down to: a tally per item, moments,
pairs.

Imports: errors.
"""
