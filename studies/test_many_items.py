"""Messages between neighbours against the full covariance of the items, on 2000 items.

Where comparisons link more than `EXACT_ITEMS` items, the covariance of the effects is not formed.
How far off is a fit then? Topics that never meet have blocks of their own, whatever their number,
so some comparisons across topics link them here.
"""

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.effects import item_covariance

N_ITEMS, PER_ITEM, N_ASKED = 2000, 10, 20_000
ACROSS = 0.02  # share of comparisons that link topics
GRAPHS = ("random", "topics of 8", "topics of 40", "neighbours")


def draw_pairs(rng, graph, score, number):
    """Pairs of all items; nearly all of items of one topic; or of about equal scores."""
    left = rng.integers(0, N_ITEMS, number)
    if graph.startswith("topics"):
        size = int(graph.split()[-1])
        mate = left // size * size + (left % size + rng.integers(1, size, number)) % size
        across = rng.random(number) < ACROSS
        return left, np.where(across, (left + rng.integers(1, N_ITEMS, number)) % N_ITEMS, mate)
    if graph == "neighbours":
        order = np.argsort(score + rng.normal(size=N_ITEMS))
        place = rng.integers(0, N_ITEMS - 20, number)
        return order[place], order[place + rng.integers(1, 20, number)]
    return left, (left + rng.integers(1, N_ITEMS, number)) % N_ITEMS


@pytest.mark.parametrize("variance", [1.0, 25.0])
@pytest.mark.parametrize("graph", GRAPHS)
def test_messages_give_the_fit_of_the_full_covariance(graph, variance, monkeypatch, figures):
    rng = np.random.default_rng([5, GRAPHS.index(graph), int(variance)])
    X = rng.normal(size=(N_ITEMS, 3))
    score = X @ [1.0, -0.5, 0.5] + np.sqrt(variance) * rng.normal(size=N_ITEMS)
    left, right = draw_pairs(rng, graph, score, N_ITEMS * PER_ITEM // 2)
    won = rng.random(len(left)) < expit(score[left] - score[right])
    data = Comparisons(X, left, right, np.where(won, 1, -1))
    first, second = draw_pairs(rng, graph, score, N_ASKED)
    asked = Comparisons(data.items, first, second, np.ones(N_ASKED, dtype=np.int8))
    truth, found = expit(score[first] - score[second]), []
    for most in (0, N_ITEMS):
        monkeypatch.setattr(item_covariance, "EXACT_ITEMS", most)
        model = RankRegression(item_effects=True, inference=None).fit(data)
        p = np.clip(model.predict_proba(asked)[:, 1], 1e-12, 1 - 1e-12)
        loss = -np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p))
        found.append((loss, model.item_effects_.sigma2))
    (loss, sigma2), (exact_loss, exact) = found
    figures(
        f"2000 items, {graph}, sigma^2 {variance:g}: messages against full covariance",
        "log-loss within 1 %, sigma^2 within 10 %",
        f"log-loss {loss:.4f} and {exact_loss:.4f}, sigma^2 {sigma2:.3f} and {exact:.3f}",
    )
    assert loss < 1.01 * exact_loss
    assert abs(sigma2 / exact - 1) < 0.1
