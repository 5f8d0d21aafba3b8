"""The scorers of :mod:`pairscore.evaluation.scorers`, where people look for them."""

import sys

from pairscore.evaluation import scorers

sys.modules[__name__] = scorers
