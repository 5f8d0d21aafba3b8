"""The pictures of :mod:`pairscore.evaluation.plots`, where people look for them."""

import sys

from pairscore.evaluation import plots

sys.modules[__name__] = plots
