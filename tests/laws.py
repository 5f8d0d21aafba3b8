"""Simulated studies with a known truth, for the statistical tests."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def mean_slope(spread):
    """E f'(spread * Z) for the logistic link and a standard normal Z."""
    return float(WEIGHTS @ (expit(spread * NODES) * expit(-spread * NODES)))


def limit_factor(q, item_sd):
    """What logit fits of features alone converge to, as a multiple of the true coefficients.

    Features and item effects are normal, so all methods estimate the direction of beta, and by
    Stein's lemma the factor t solves t E f'(t s) = E f'(s + v), s ~ N(0, 2 q^2) the score
    difference, v ~ N(0, 2 item_sd^2).
    """
    target = mean_slope(np.sqrt(2 * (q**2 + item_sd**2)))
    return brentq(lambda t: t * mean_slope(np.sqrt(2) * t * q) - target, 1e-6, 2.0)


class GaussianStudy:
    """Random pairs of normal items; the first coefficient is zero, the others are not."""

    def __init__(
        self,
        n_items,
        n_comparisons,
        n_features,
        *,
        item_sd=0.0,
        repeats=1,
        q=1.5,
        second_half=True,
        uneven=False,
    ):
        self.n_items, self.n_comparisons, self.n_features = n_items, n_comparisons, n_features
        self.item_sd, self.repeats, self.second_half, self.uneven = (
            item_sd,
            repeats,
            second_half,
            uneven,
        )
        mix = np.random.default_rng(12345).normal(size=(n_features, n_features)) / np.sqrt(
            n_features
        )
        self.root = mix + np.eye(n_features)
        beta = (
            np.concatenate([[0.0], np.linspace(1.0, 2.0, n_features - 1)])
            if n_features > 1
            else np.ones(1)
        )
        self.beta = beta * q / np.linalg.norm(self.root.T @ beta)
        self.limit = limit_factor(q, item_sd) * self.beta

    def draw(self, rng):
        """Items (the second half never compared), pairs with the winner first."""
        total = self.n_items * (2 if self.second_half else 1)
        X = rng.normal(size=(total, self.n_features)) @ self.root.T + 3.0
        score = X @ self.beta + self.item_sd * rng.normal(size=total)
        distinct = self.n_comparisons // self.repeats
        left = np.repeat(rng.integers(0, self.n_items, distinct), self.repeats)
        right = np.repeat(rng.integers(1, self.n_items, distinct), self.repeats)
        right = (left + right) % self.n_items
        if self.uneven:  # items are compared as often as a gamma variable of shape 1/2 says
            share = rng.gamma(0.5, size=self.n_items) + 0.02
            left, right = (
                rng.choice(self.n_items, len(left), p=share / share.sum()) for _ in range(2)
            )
            left, right = left[left != right], right[left != right]
        won = rng.random(len(left)) < expit(score[left] - score[right])
        return X, np.column_stack([np.where(won, left, right), np.where(won, right, left)])


def coverage(study, method, n_fits, seed, **options):
    """Share of fits whose 95 % interval holds the limit: of the null coefficient, of the last.

    And mean z.
    """
    import warnings

    from pairscore import Comparisons, RankRegression

    rng = np.random.default_rng(seed)
    z = np.empty((n_fits, 2))
    for fit in range(n_fits):
        X, votes = study.draw(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data, _ = Comparisons.from_frames(
                X, votes, covariance_items=np.arange(study.n_items, len(X))
            )
            model = RankRegression(method, **options).fit(data)
        z[fit] = ((model.coef_ - study.limit) / model.std_errors_)[[0, -1]]
    return z
