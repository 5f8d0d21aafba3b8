"""Laws, simulated labels and studies, and how means are compared, for the tests of this room."""

import warnings

import numpy as np
from scipy.stats import norm

from pairscore import Population, RankRegression
from pairscore.core.links import Logit, Probit
from pairscore.metrics import angle
from pairscore.theory.integrals import (
    spread_for_noise,
)
from pairscore.theory.predicted_error import (
    ErrorLaw,
)

LEVEL = 1e-6  # chance that a right program fails a test, over all of its comparisons
LOGIT, PROBIT = Logit(), Probit()


def assert_means(samples, expected, allowed=0.0):
    """Each column's mean is the expected one, up to chance and a relative error that is allowed
    for.
    """
    samples = np.asarray(samples).reshape(len(samples), -1)
    expected = np.broadcast_to(np.asarray(expected, dtype=float), samples.shape[1])
    gap = np.maximum(np.abs(samples.mean(axis=0) - expected) - allowed * np.abs(expected), 0.0)
    z = gap / samples.std(axis=0, ddof=1) * np.sqrt(len(samples))
    assert z.max() < norm.isf(LEVEL / 2 / samples.shape[1]), (samples.mean(axis=0), expected, z)


def law_of(noise, d=1, smallest=1.0, link=LOGIT):
    return ErrorLaw(np.linspace(1, smallest, d), link, spread_for_noise(link, noise))


def labels_of_one_item(link, spread, effect, n, rng):
    """Places of an item and two others, and the item's outcomes against the two."""
    z = rng.normal(size=(3, n))
    score = (z if np.isinf(spread) else spread * z) + effect * rng.normal(size=(3, n))
    chance = [
        score[0] > other if np.isinf(spread) else link.cdf(score[0] - other) for other in score[1:]
    ]
    return z, [np.where(rng.random(n) < one, 1.0, -1.0) for one in chance]


def fitted(method, population, n, m, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression(method, inference=None).fit(
            *population.draw(n, m, rng, second_half=method == "split")
        )
    return model.coef_ if method == "mle" else model.closed_form_coef_


def sigma_angle(a, b, covariance):
    root = np.linalg.cholesky(covariance)
    return angle(root.T @ a, root.T @ b)


def studies(method, d, n, m, noise, repeats):
    """Norm error and angle of simulated studies, items with the identity as covariance."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([21, seed])
        population = Population(d, noise=noise, rng=rng)
        estimate = fitted(method, population, n, m, rng)
        limit = (population.slope if method == "mle" else population.c1) * population.beta
        found.append((np.linalg.norm(estimate - limit), angle(estimate, population.beta)))
    return np.array(found).T
