"""Judges with tastes of their own: coverage of the default intervals, and the test of tastes."""

import warnings
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import expit
from tests.effects.test_judges import COEF, judged_study

from pairscore import PairscoreWarning, RankRegression

N_FITS = 600
TASTE = 0.5


@lru_cache
def true_coef(effect):
    """What coefficients are with endless judges and items: those of 300 000 comparisons.

    Averaged over tastes and effects of items, chances are nearer to even than at the average taste.
    """
    study = judged_study(99, [30] * 10_000, n_items=20_000, taste=TASTE, effect=effect)
    return RankRegression(inference=None).fit(*study).coef_


def busy(n_judges, mean, spread, seed):
    """Comparisons of each judge, whose logarithms have this standard deviation."""
    share = np.exp(spread * np.random.default_rng(seed).normal(size=n_judges))
    return np.maximum(np.round(n_judges * mean * share / share.sum()), 1).astype(int)


@pytest.mark.parametrize("effect", [0.0, 0.7])
@pytest.mark.parametrize(
    ("n_judges", "mean", "spread"),
    [(12, 50, 0), (20, 50, 0), (40, 25, 0), (12, 50, 1), (40, 25, 1)],
)
def test_intervals_cover_what_other_judges_would_say(n_judges, mean, spread, effect, figures):
    """Within 92 and 98 %, up to three standard errors; those for these judges cover far less."""
    covered, alone = np.zeros((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        for seed in range(N_FITS):
            per_judge = busy(n_judges, mean, spread, [seed, 1])
            study = judged_study([seed, n_judges], per_judge, 80, TASTE, effect)
            for count, inference in ((covered, "auto"), (alone, "items")):
                low, high = RankRegression(inference=inference).fit(*study).confidence_intervals().T
                count += (low <= true_coef(effect)) & (true_coef(effect) <= high)
    covered, alone = covered / N_FITS, alone / N_FITS
    who = "unequally busy judges" if spread else "judges"
    figures(
        f"coverage: {n_judges} {who}, tastes of sd {TASTE}, item effects of sd {effect:g}",
        "93 to 97 %",
        f"null {covered[1]:.1%}, real {covered[0]:.1%} and {covered[2]:.1%}"
        f" (for these judges: {alone[1]:.1%}, {alone[0]:.1%}, {alone[2]:.1%})",
    )
    slack = 3 * np.sqrt(0.92 * 0.08 / N_FITS)
    assert np.all(covered > 0.92 - slack)
    assert np.all(covered < 0.98 + slack)
    assert np.all(alone < covered)


def separate_items(seed, n_judges, per_judge, effect):
    """Judges each of whom has items of their own."""
    rng = np.random.default_rng(seed)
    X, own = rng.normal(size=(20 * n_judges, 3)), effect * rng.normal(size=20 * n_judges)
    judge = np.repeat(np.arange(n_judges), per_judge)
    left = rng.integers(0, 20, len(judge))
    right = (left + rng.integers(1, 20, len(judge))) % 20
    left, right = left + 20 * judge, right + 20 * judge
    eta = (X[left] - X[right]) @ COEF + own[left] - own[right]
    winner = np.where(rng.random(len(judge)) < expit(eta), "left", "right")
    return X, {"left": left, "right": right, "winner": winner, "judge": judge}


def share_rejected(studies):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        return np.mean([RankRegression().fit(*one).judge_tastes_["p"] < 0.05 for one in studies])


@pytest.mark.parametrize(
    ("n_judges", "per_judge", "n_items", "effect"),
    [(2, 100, 60, 0.0), (3, 20, 15, 0.0), (5, 60, 30, 1.5), (9, 40, 60, 1.0)],
)
def test_judges_who_are_alike_are_seldom_said_to_differ(
    n_judges, per_judge, n_items, effect, figures
):
    found = share_rejected(
        judged_study([seed, 2], [per_judge] * n_judges, n_items, effect=effect)
        for seed in range(N_FITS)
    )
    figures(f"test of tastes: {n_judges} judges who are alike", "at most 5 %", f"{found:.1%}")
    assert found < 0.05 + 3 * np.sqrt(0.05 * 0.95 / N_FITS)


@pytest.mark.parametrize(("n_judges", "effect"), [(3, 0.0), (3, 1.0), (5, 1.5)])
def test_judges_of_separate_items_are_seldom_said_to_differ(n_judges, effect, figures):
    found = share_rejected(
        separate_items([seed, 3], n_judges, 60, effect) for seed in range(N_FITS)
    )
    what = f"{n_judges} judges with separate items, effects of sd {effect:g}"
    figures(f"test of tastes: {what}", "about 5 %, at most 8 %", f"{found:.1%}")
    assert found < 0.08 + 3 * np.sqrt(0.08 * 0.92 / N_FITS)


@pytest.mark.parametrize(
    ("n_judges", "per_judge", "power"), [(3, 60, 0.5), (5, 60, 0.7), (5, 200, 0.95), (8, 60, 0.9)]
)
def test_judges_with_tastes_are_said_to_differ(n_judges, per_judge, power, figures):
    found = share_rejected(
        judged_study([seed, 4], [per_judge] * n_judges, 60, TASTE) for seed in range(N_FITS)
    )
    what = f"{n_judges} judges with tastes of sd {TASTE}, {per_judge} comparisons each"
    figures(f"test of tastes: {what}", f"at least {power:.0%}", f"{found:.1%}")
    assert found > power
