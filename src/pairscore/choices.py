"""The words that each setting may be, stated once.

This module imports nothing, so that ``pairscore --help`` can list the words without loading NumPy.
Whatever checks a setting (``estimators.settings``, ``data``, the command line) takes them from here.
"""

# Estimators, from the paper's to the most accurate: `split` (the paper's, eqs. 3-4) takes the
# covariance from other items, `pooled` from the compared items, `paired` from the differences of
# the compared pairs; `mle` maximises the likelihood.
METHODS = ("split", "pooled", "paired", "mle")

# How a difference of scores becomes a probability of winning.
LINKS = ("logit", "probit")

# A tie is half a win for each side, or has a parameter (Davidson 1970; Rao and Kupper 1967).
TIE_RULES = ("half", "davidson", "rao-kupper")

# What standard errors allow for: comparisons that share an item, also those that share a judge, or
# nothing beyond the model. None (on the command line `none`) computes no standard errors.
INFERENCES = ("items", "items+judges", "model")

# Rules that choose how far the correlations of a closed form's covariance shrink towards zero.
SHRINKAGES = ("ledoit-wolf", "oas")

# Missing feature values: refuse the table, leave such items and their comparisons out, fill in the
# mean and add a 0/1 flag, or give each such item a parameter instead of its features.
MISSING_RULES = ("refuse", "drop-items", "mean-with-flag", "item-effect")
FILLING_RULES = ("mean-with-flag", "item-effect")

# Comparisons of an item with itself.
SELF_PAIRS = ("error", "keep")

# Test comparisons of cross-validation: both items are held out, or at least one.
TEST_PAIRS = ("both", "touch")

# Tables on disk.
FILE_KINDS = ("csv", "parquet", "jsonl")
