"""The score test of no item effects: its cumulants, its size, and what it sees."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from pairscore import RankRegression
from pairscore.effects.maximum import maximise_rows
from pairscore.effects.variance_score import variance_score
from tests.effects.rows import draw_rows, make_rows
from tests.limits import CHANCE


@pytest.mark.parametrize(("n_items", "per_item"), [(60, 3), (100, 10)])
def test_the_test_of_no_effects_keeps_its_size_and_finds_effects(n_items, per_item):
    def p_values(sd, n_studies):
        found = []
        for seed in range(n_studies):
            rng = np.random.default_rng([6, seed])
            rows, _ = draw_rows(rng, n_items, n_items * per_item // 2, sd=sd)
            top = maximise_rows(rows, rows.start(np.zeros(2)), 100, 1e-10)
            found.append(variance_score(rows, rows.derivatives(top.theta), top.basis).p_value)
        return np.array(found)

    none = p_values(0.0, 200)
    # a normal limit of a skewed statistic: between 3 and 8 %
    low, high = binom.ppf(CHANCE, 200, 0.03), binom.isf(CHANCE, 200, 0.08)
    assert low <= np.sum(none < 0.05) <= high
    assert np.mean(p_values(1.5, 20) < 0.05) > 0.7


def test_cumulants_of_the_score_are_those_of_matrices_of_pairs():
    """Without triangles of items, whose part of the third one is left out: two sets that met."""
    rng = np.random.default_rng(7)
    left, right = rng.integers(0, 12, 60), rng.integers(12, 24, 60)
    rows = make_rows(rng.normal(size=(24, 3)), left, right, rng.choice([-1, 1], 60))
    top = maximise_rows(rows, rows.start(np.zeros(3)), 100, 1e-12)
    s = rows.derivatives(top.theta)
    found = variance_score(rows, s, top.basis)
    pairs, place = rows.pairs, rows.pair
    B = np.zeros((len(pairs.high), 24))
    B[np.arange(len(B)), pairs.low], B[np.arange(len(B)), pairs.high] = 1, -1
    r = np.bincount(place, np.where(rows.left < rows.right, 1, -1) * s.eta)
    A, V, D = B @ B.T - 2 * np.eye(len(B)), np.diag(rows.pair_information(s)), B @ rows.X
    of_fit = V - V @ D @ np.linalg.inv(D.T @ V @ D) @ D.T @ V
    left_over = np.trace(A @ of_fit @ A @ of_fit) / np.trace(A @ V @ A @ V)
    seen = A @ np.diag(r**2)
    assert found.score == pytest.approx(r @ A @ r - np.trace(A @ of_fit))
    assert found.variance == pytest.approx(2 * left_over * np.trace(seen @ seen))
    assert found.third == pytest.approx(8 * left_over**1.5 * np.trace(seen @ seen @ seen))


@pytest.mark.parametrize("design", ["weights", "half ties", "many features"])
def test_weights_half_ties_and_many_features_raise_no_false_alarm(design):
    """With the information as variance it was 18, 2 and 2 of 100."""
    n_studies, found = 300, 0
    for seed in range(n_studies):
        rng = np.random.default_rng([9, seed])
        n, d = (100, 30) if design == "many features" else (120, 2)
        rows, _ = draw_rows(rng, n, 5 * n, d, sd=0.0)
        if design == "weights":
            rows = replace(rows, amount=rng.exponential(size=len(rows.left)))
        if design == "half ties":
            rows = replace(rows, outcome=np.where(rng.random(5 * n) < 0.4, 0, rows.outcome))
        top = maximise_rows(rows, rows.start(np.zeros(d)), 100, 1e-8)
        p = variance_score(rows, rows.derivatives(top.theta), top.basis).p_value
        found += p < 0.05
    low, high = binom.ppf(CHANCE, n_studies, 0.03), binom.isf(CHANCE, n_studies, 0.08)
    assert low <= found <= high


def test_of_nothing_but_ties_nothing_is_seen():
    """As seen: p = nan, and a warning of NumPy."""
    rng = np.random.default_rng(1)
    X, left = rng.normal(size=(30, 2)), rng.integers(0, 30, 200)
    right = (left + rng.integers(1, 30, 200)) % 30
    votes = {"left": left, "right": right, "winner": np.full(200, "tie")}
    with np.errstate(all="raise"):
        model = RankRegression(item_effects="auto").fit(X, votes)
    assert model.item_effects_test_.p_value == 1
    assert not model.item_effects_test_.used
