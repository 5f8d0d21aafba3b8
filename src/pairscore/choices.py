"""The names of the four methods, from the paper's to the strongest.

A module of its own, so that the command line stays light.
"""

METHODS = ("split", "pooled", "paired", "mle")
TIE_RULES = ("half", "davidson", "rao-kupper")
