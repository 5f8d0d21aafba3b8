"""The closed forms: three ways to write beta-hat = 2 G^-1 X'w, each an estimate of c1 beta.

X'w = sum_m Y_m (x_I - x_J) collects the outcomes; w_i is wins minus losses of item i. The three
differ in the scatter matrix G that takes the covariance of the features out again:

    split    G = 2 M Sigma-hat      covariance of items that were never compared (the paper's eqs.
    3-4) pooled   G = X~' K X~           scatter of the compared items, each as often as it was
    compared paired   G = X' L X             scatter of the observed differences

`split` and `pooled` need pairs drawn at random, because only then do differences have the
covariance of items. `paired` takes the pairs as they are.
"""

import numpy as np

from pairscore.core.sums import Moments
from pairscore.core.whitening import Basis


def split_covariance(second_half: Moments) -> np.ndarray:
    """Eq. 4: Sigma-hat = 1/(N-d-2) sum_i (x_i - mu)(x_i - mu)', so that E[Sigma-hat^-1] = Sigma^-1."""
    n_features = len(second_half.mean)
    return second_half.scatter / (second_half.total - n_features - 2)


def split_scatter(second_half: Moments, n_comparisons: float) -> np.ndarray:
    """2 M Sigma-hat, with which beta-hat = 2 G^-1 X'w is the paper's eq. 3."""
    return 2 * n_comparisons * split_covariance(second_half)


def closed_form(basis: Basis, label_sum: np.ndarray) -> np.ndarray:
    """beta-hat = 2 G^-1 X'w, with G given by its whitening basis."""
    return 2 * basis.solve(label_sum)


def shrunk(scatter: np.ndarray, shrinkage: float) -> np.ndarray:
    """Shrink the correlations towards zero: (1 - shrinkage) G + shrinkage diag(G)."""
    return (1 - shrinkage) * scatter + shrinkage * np.diag(np.diag(scatter))


def ridge_penalty(l2: float, sd: np.ndarray, slope_at_zero: float) -> np.ndarray:
    """What to add to the diagonal of G so that l2 means the same as in the likelihood.

    At beta = 0 the log-loss has gradient -2 f'(0) X'w and Hessian 4 f'(0)^2 X'LX. Its Newton step
    with the ridge l2 |S beta|^2 / 2 is the closed form with l2 S^2 / (4 f'(0)^2) added to G.
    """
    return l2 * sd**2 / (4 * slope_at_zero**2)
