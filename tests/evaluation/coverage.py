"""Standard errors of scores of fixed models, against their expected scores over all items."""

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from pairscore import Comparisons, ItemKFold, Population, compare
from pairscore.evaluation.compare import KINDS
from tests.evaluation.twins import Fixed
from tests.laws import NODES, WEIGHTS

TRUTH = Population(
    beta=[1.0, 0.0], mean=[0.0, 0.0], covariance=np.eye(2), slope=1.5, item_effect=1.5
)


COEFS = {"near": (1.2, 0.2), "far": (0.8, 0.9)}


def law(coef):
    """Spread of a model's difference m = coef'(x_left - x_right), and E[f(true difference) | m],
    item effects averaged out.
    """
    spread, along = np.sqrt(2) * np.linalg.norm(coef), 1.5 * coef[0] / (coef[0] ** 2 + coef[1] ** 2)
    # item effects and what of the score m leaves open
    rest = np.sqrt(2 * 1.5**2 + 2 * 1.5**2 - (along * spread) ** 2)
    return spread, lambda m: float(WEIGHTS @ expit(along * m + rest * NODES))


def mean_over_pairs(function, spread):
    """E function(m) for m ~ N(0, spread^2) and an even function."""
    return 2 * quad(lambda z: function(spread * z) * norm.pdf(z), 0, 9)[0]


def expected(coef):
    """What log-loss, accuracy and calibration slope of a fixed model are on average over all pairs
    of items there could be.
    """
    spread, wins = law(coef)
    loss = mean_over_pairs(lambda m: np.logaddexp(0, -m) + (1 - wins(m)) * m, spread)
    right = mean_over_pairs(wins, spread)
    slope = brentq(
        lambda b: mean_over_pairs(lambda m: (wins(m) - expit(b * m)) * m, spread), 0.01, 5
    )
    return {"log_loss": loss, "accuracy": right, "calibration_slope": slope}


def z_scores(n_draws, seed):
    """Deviations from the truth over their errors, and the rival's.

    Each tested row as if independent of the others.
    """
    truth, rng = {name: expected(coef) for name, coef in COEFS.items()}, np.random.default_rng(seed)
    models = {name: Fixed(coef) for name, coef in COEFS.items()}
    z, rival = {}, []
    for _ in range(n_draws):
        X, _ = Comparisons.from_frames(
            *TRUTH.draw(120, 1200, rng, second_half=False, self_pairs=False)
        )
        found = compare(models, X)
        for kind in KINDS:
            for measure in truth["far"]:
                score = found.score("far", kind, measure)
                z.setdefault((kind, measure), []).append(
                    (score.value - truth["far"][measure]) / score.std_error
                )
            gap = found.difference("far", "near", kind)
            z.setdefault((kind, "difference"), []).append(
                (gap.value - truth["far"]["log_loss"] + truth["near"]["log_loss"]) / gap.std_error
            )
        fold, scores = ItemKFold(5).fold_of_item(X), X.items.values @ COEFS["far"]
        loss = np.logaddexp(0, -X.outcome * (scores[X.left] - scores[X.right]))
        mixed = loss[fold[X.left] != fold[X.right]].repeat(2)  # two folds test them
        rival.append(
            (mixed.mean() - truth["far"]["log_loss"]) / (mixed.std() / np.sqrt(len(mixed)))
        )
    return {key: np.array(values) for key, values in z.items()}, np.array(rival)
