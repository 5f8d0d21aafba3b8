"""Curves: how near bent truths they come, whether straight ones stay straight, and coverage.

Items have four columns, of which the first is bent (a U, or a curve that levels off) or straight
and the second is straight; the others say nothing. Log-losses are expected ones on pairs of new
items, over that of the true chances.
"""

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import binom

from pairscore import RankRegression, auto_fit
from pairscore.model.curves import score_curve

SHAPES = {
    "U": lambda x: -(x**2),
    "levels off": lambda x: 3 * np.tanh(1.5 * x),
    "straight": lambda x: x,
}
LAWS = {
    "uniform": lambda rng, size: rng.uniform(-2, 2, size),
    "normal": lambda rng, size: rng.normal(size=size),
}
N_FITS = 60
N_COVERED = 500
D = 4


def drawn(rng, shape, law, n_items, n_comparisons):
    """Items, their true scores, and votes with the winner first."""
    X = LAWS[law](rng, (n_items, D))
    score = SHAPES[shape](X[:, 0]) + 0.7 * X[:, 1]
    left, right = rng.integers(0, n_items, (2, n_comparisons))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < 1 / (1 + np.exp(score[right] - score[left]))
    return X, score, np.where(won, [left, right], [right, left]).T


def excess(model, shape, law):
    """The expected log-loss on pairs of new items, over that of the truth, less 1."""
    rng = np.random.default_rng(7)
    X, score, pairs = drawn(rng, shape, law, 2000, 40_000)
    first, second = pairs.T
    p = 1 / (1 + np.exp(score[second] - score[first]))
    scores = model.decision_function(X)
    q = 1 / (1 + np.exp(scores[second] - scores[first]))

    def loss(q):
        return -np.mean(xlogy(p, q) + xlogy(1 - p, 1 - q))

    return loss(q) / loss(p) - 1


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", ["U", "levels off"])
def test_bent_truths_are_within_a_percent(shape, law, figures):
    found = []
    for seed in range(N_FITS):
        X, _, votes = drawn(np.random.default_rng([1, seed]), shape, law, 300, 4000)
        model = RankRegression(inference=None).fit(X, votes, curves=["x0"])
        found.append(excess(model, shape, law))
    straight = excess(RankRegression(inference=None).fit(X, votes), shape, law)
    figures(f"{shape}, {law}: log-loss above the truth's", "1 %", f"{100 * np.mean(found):.2f} %")
    figures(f"{shape}, {law}: the same of a line", "more", f"{100 * straight:.1f} %")
    assert np.mean(found) < 0.01 < straight


@pytest.mark.parametrize(("n_items", "n_comparisons"), [(150, 1500), (300, 4000)])
@pytest.mark.parametrize("shape", ["U", "levels off", "straight"])
def test_auto_finds_what_is_bent_and_leaves_the_rest_straight(
    shape, n_items, n_comparisons, figures
):
    bent = others = smooth = 0
    found = []
    for seed in range(N_FITS):
        rng = np.random.default_rng([2, seed])
        X, _, votes = drawn(rng, shape, "uniform", n_items, n_comparisons)
        choice = auto_fit(X, votes, use="new", random_state=seed)
        curves = choice.settings.get("curves", ())
        bent += "x0" in curves or "smooth" in choice.settings
        smooth += "smooth" in choice.settings
        others += len({*curves} - {"x0"})
        found.append(excess(choice.model, shape, "uniform"))
    name = f"auto, {shape}, {n_items} items, {n_comparisons} comparisons"
    figures(f"{name}: above the truth's log-loss", "", f"{100 * np.mean(found):.2f} %")
    figures(f"{name}: straight columns with a curve", "", f"{others / N_FITS / (D - 1):.1%}")
    figures(f"{name}: with a smooth part", "", f"{smooth / N_FITS:.1%}")
    if shape == "straight":
        figures(f"{name}: left straight", "90 %", f"{1 - bent / N_FITS:.1%}")
        # refuted where so many curves had a chance below 1 in 1000
        assert bent <= binom.ppf(0.999, N_FITS, 0.10)
    else:
        figures(f"{name}: found bent", "", f"{bent / N_FITS:.1%}")
        assert np.mean(found) < 0.02


@pytest.mark.parametrize("shape", ["U", "straight"])
def test_pointwise_intervals_cover(shape, figures):
    """Of the truth within the outer knots, where a spline of six knots comes close to it."""
    at = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])
    covered = np.zeros((N_COVERED, len(at)), dtype=bool)
    for seed in range(N_COVERED):
        X, _, votes = drawn(np.random.default_rng([3, seed]), shape, "uniform", 300, 3000)
        model = RankRegression().fit(X, votes, curves=["x0"])
        curve = score_curve(model.result_, "x0", at=at)
        weight = np.bincount(votes.ravel(), minlength=300)
        truth = SHAPES[shape](at) - weight @ SHAPES[shape](X[:, 0]) / weight.sum()
        covered[seed] = (curve.low <= truth) & (truth <= curve.high)
    share = covered.mean(axis=0)
    figures(f"coverage of a curve, {shape}", "95 %", ", ".join(f"{one:.1%}" for one in share))
    # five points in two studies, each refuted with a chance of 1 in 1000 in all
    low, high = binom.ppf([0.001 / 20, 1 - 0.001 / 20], N_COVERED, 0.95) / N_COVERED
    assert np.all((low <= share) & (share <= high))
