"""Cells of the studies of ties: how ties come about, which method and setting, known or new items.

What is looked at is the calibration slope: the b with which decided comparisons are most likely
under the logit b log(p / (1 - p)), p the predicted probabilities. 1 is right.
"""

import warnings
import zlib

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from pairscore import Comparisons, RankRegression
from pairscore.core.links import get_link
from pairscore.core.ties import TieRule

# the parameter of each law; about three ties in ten, and two in ten under Rao and Kupper
LAWS = {"davidson": 0.3, "rao-kupper": 0.6, "at random": 0.3}
SETTINGS = [
    *(
        (method, ties)
        for method in ("split", "pooled", "paired", "mle")
        for ties in ("half", "drop")
    ),
    ("mle", "davidson"),
    ("mle", "rao-kupper"),
]
KINDS = ("known", "new")
# items, comparisons and features
MANY, JUST, FEW = (300, 3000, 10), (300, 1000, 10), (150, 400, 10)


def draw_outcomes(rng, eta, law):
    """Outcomes 1, 0 and -1 at score differences ``eta``; without a law there are no ties."""
    if law in ("davidson", "rao-kupper"):
        loss, tie, _ = TieRule(law, get_link("logit")).probabilities(eta, LAWS[law])
        place = rng.random(len(eta))
        return np.where(place < loss, -1, np.where(place < loss + tie, 0, 1))
    if law == "two coins":  # the mean of two answers: its mean is the link's, exactly
        return np.sign(2 * np.sum(rng.random((2, len(eta))) < expit(eta), axis=0) - 2)
    outcome = np.where(rng.random(len(eta)) < expit(eta), 1, -1)
    return np.where(rng.random(len(eta)) < LAWS.get(law, 0.0), 0, outcome)


def draw_pairs(rng, first, last, number):
    left = rng.integers(first, last, number)
    return left, first + (left - first + rng.integers(1, last - first, number)) % (last - first)


def draw_study(rng, law, size, item_sd=0.0, spread=1.5, n_tested=8000):
    """Training comparisons, and decided ones of the same and of other items.

    The items are those compared, as many for the covariance of `split`, and new ones; each has an
    effect of its own, with standard deviation ``item_sd``.
    """
    n, m, d = size
    X, beta = rng.normal(size=(4 * n, d)), rng.normal(size=d)
    score = X @ (spread * beta / np.linalg.norm(beta))
    if item_sd:
        score += item_sd * rng.normal(size=4 * n)

    def draw(first, last, number):
        left, right = draw_pairs(rng, first, last, number)
        outcome = draw_outcomes(rng, score[left] - score[right], law)
        return Comparisons(X, left, right, outcome, covariance_items=np.arange(n, 2 * n))

    train, known, new = draw(0, n, m), draw(0, n, n_tested), draw(2 * n, 4 * n, n_tested)
    return train, [tested[tested.outcome != 0] for tested in (known, new)]


def decided_share(law, n_comparisons=200_000):
    """Share of comparisons that do not end in a tie."""
    train, _ = draw_study(np.random.default_rng(0), law, (1000, n_comparisons, 2))
    return float(np.mean(train.outcome != 0))


def classical_widths(law, n_fits, size=(400, 2000, 5), spread=1.2):
    """Mean classical standard error over the standard deviation of estimates, and that of coins.

    Of maximum likelihood with ties as half wins; items and pairs are drawn anew in every fit.
    """
    n, m, d = size
    beta = spread * np.linspace(0, 1, d) / np.linalg.norm(np.linspace(0, 1, d))
    seed, found = zlib.crc32(repr((law, size)).encode()), []
    for fit in range(n_fits):
        rng = np.random.default_rng([seed, fit])
        X, (left, right) = rng.normal(size=(n, d)), draw_pairs(rng, 0, n, m)
        D = X[left] - X[right]
        data = Comparisons(X, left, right, draw_outcomes(rng, D @ beta, law))
        model = RankRegression(inference="model").fit(data)
        p = expit(D @ model.coef_)
        coins = np.linalg.inv((D * (p * (1 - p))[:, None]).T @ D)
        found.append((model.coef_, model.std_errors_, np.sqrt(np.diag(coins))))
    coef, *errors = (np.array(part) for part in zip(*found, strict=True))
    return [float(np.mean(one.mean(axis=0) / coef.std(axis=0, ddof=1))) for one in errors]


def slope_of(model, tested):
    """The calibration slope of a model on decided comparisons."""
    x, won = logit(model.predict_proba(tested)[:, 1]), tested.outcome > 0
    return brentq(lambda slope: float((won - expit(slope * x)) @ x), -20, 50)


def calibration_slopes(law, size, settings, n_studies, item_sd=0.0, **options):
    """Slopes on known and on new items, of shape (studies, settings, 2), and mean scales.

    The seed comes from the law and the size, so that every setting sees the same studies.
    """
    slopes, scales = np.empty((n_studies, len(settings), 2)), np.empty((n_studies, len(settings)))
    seed = zlib.crc32(repr((law, size)).encode())
    for study in range(n_studies):
        train, tests = draw_study(np.random.default_rng([seed, study]), law, size, item_sd)
        for place, (method, ties) in enumerate(settings):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = RankRegression(method, ties=ties, inference=None, **options).fit(train)
            slopes[study, place] = [slope_of(model, tested) for tested in tests]
            scales[study, place] = model.decided_scale_
    return slopes, scales.mean(axis=0)
