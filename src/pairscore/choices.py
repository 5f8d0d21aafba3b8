"""The words that each setting may be, stated once.

It imports no other module of pairscore, so that ``pairscore --help`` lists words without NumPy.
What checks a setting (``estimators.settings``, ``data``, the command line) takes them from here.

METHODS
    Estimators, from the paper's to the most accurate: ``split`` (the paper's, eqs. 3-4) takes the
    covariance from other items, ``pooled`` from the compared items, ``paired`` from the
    differences of the compared pairs; ``mle`` maximises the likelihood.
LINKS
    How a difference of scores becomes a probability of winning.
TIE_RULES
    A tie is half a win for each side, is left out, or has a parameter (Davidson 1970; Rao and
    Kupper 1967).
INFERENCES
    What standard errors allow for: comparisons that share an item, also those that share a judge,
    or nothing beyond the model; ``auto`` is the second where ten judges or more are named, else the
    first. NO_INFERENCE, in Python also None, computes no standard errors.
RIDGES
    What a ridge is chosen for: comparisons with new items, or new comparisons of known items.
USES
    What a model is chosen for: the items at hand, or new ones.
SHRINKAGES
    Rules that choose how far the correlations of a closed form's covariance shrink towards zero.
MISSING_RULES, FILLING_RULES
    Missing feature values: refuse the table, leave such items and their comparisons out, fill in
    the mean and add a 0/1 flag, or give each such item a parameter instead of its features. The
    last two fill the gaps.
SELF_PAIRS
    Whether comparisons of an item with itself are an error or kept.
REPEATED
    Whether an update with comparisons that the model has already is refused or added.
UNKNOWN_RULES
    New items that a model cannot score (a level that it does not know, a missing value): rank the
    others and list these, or stop.
TEST_PAIRS
    Which comparisons test a fold: those with both items held out, or with at least one.
SCALES
    How scores are shown: less that of the average compared item, over the compared items from 0 to
    100, as Elo points, or as wins of 100 comparisons with compared items.
FILE_KINDS
    Tables on disk that can be written.
WINNER_MEANINGS
    What a code in the column of winners may mean: a side, a tie, a row to leave out, or the id of
    an item, where it could be a side as well.
"""

METHODS = ("split", "pooled", "paired", "mle")
LINKS = ("logit", "probit")
TIE_RULES = ("half", "drop", "davidson", "rao-kupper")
INFERENCES = ("auto", "items", "items+judges", "model")
NO_INFERENCE = "none"
RIDGES = ("auto", "auto-known")
USES = ("known", "new")
SHRINKAGES = ("ledoit-wolf", "oas")
FILLING_RULES = ("mean-with-flag", "item-effect")
MISSING_RULES = ("refuse", "drop-items", *FILLING_RULES)
SELF_PAIRS = ("error", "keep")
REPEATED = ("refuse", "add")
UNKNOWN_RULES = ("skip", "stop")
TEST_PAIRS = ("both", "touch")
SCALES = ("link", "0-100", "elo", "wins")
FILE_KINDS = ("csv", "parquet", "jsonl")
WINNER_MEANINGS = ("left", "right", "tie", "skip", "id")
