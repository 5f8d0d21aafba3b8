"""Small studies: does the interval of wrong predictions hold the truth?"""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, PairscoreWarning, RankRegression
from pairscore.report.held_out import item_folds, wrong_share

N_STUDIES = 400
DIRECTION = np.array([1.0, 0.5, -0.7]) / np.linalg.norm([1.0, 0.5, -0.7])


def wrong_and_truth(seed, n_items, n_comparisons, size, effect):
    """The share of wrong predictions, and what the folds' fits get wrong on 20 000 new pairs.

    Scores are ``size`` times a direction in three features, and effects of items of sd ``effect``.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    score = size * X @ DIRECTION + effect * rng.normal(size=n_items)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(score[left] - score[right])
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    data, _ = Comparisons.from_frames(X, votes)
    apart = np.sqrt(2) * rng.normal(size=(20_000, 3))
    chance = expit(size * apart @ DIRECTION + np.sqrt(2) * effect * rng.normal(size=20_000))
    probability, truth = np.full(len(data), np.nan), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        for train, test in item_folds(data)[0]:
            fit = RankRegression(inference=None).fit(data[train])
            probability[test] = fit.predict_proba(data[test])[:, 1]
            wrong = np.where(apart @ fit.coef_ > 0, 1 - chance, chance).mean()
            truth += [wrong] * len(test)
    return wrong_share(probability, data), np.mean(truth)


@pytest.mark.parametrize(("size", "effect"), [(1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (6.0, 0.0)])
@pytest.mark.parametrize(("n_items", "n_comparisons"), [(15, 40), (30, 100), (60, 300)])
def test_wrong_predictions_are_as_many_as_their_interval_says(
    n_items, n_comparisons, size, effect, figures
):
    """At least 93 % of the intervals hold the truth, up to three standard errors of that share."""
    found = [
        wrong_and_truth([seed, n_items], n_items, n_comparisons, size, effect)
        for seed in range(N_STUDIES)
    ]
    covered = np.mean([wrong.low <= truth <= wrong.high for wrong, truth in found])
    enough = np.mean([wrong.is_enough for wrong, _ in found])
    share = np.mean([wrong.share for wrong, _ in found])
    figures(
        f"interval of wrong predictions: {n_items} items, {n_comparisons} comparisons, {share:.0%}"
        " wrong",
        "at least 93 %",
        f"{covered:.1%} (of which {enough:.0%} are said to be enough)",
    )
    assert covered > 0.93 - 3 * np.sqrt(0.93 * 0.07 / N_STUDIES)
