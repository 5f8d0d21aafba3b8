"""Messages between neighbours against the full covariance of the items.

Above `EXACT_ITEMS` linked items the sweeps of a fit with item effects go by messages, and above
`LASTING_ITEMS` so do the standard errors of abilities, unless messages are not to be trusted. How
far off is a fit then? On graphs that messages know well, and on those that they do not: groups in
which all items meet and that hardly meet each other, one item in half of all comparisons, chains,
and neighbours on a scale.
"""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.effects import item_covariance

N_ASKED = 20_000
ACROSS = 0.02  # share of comparisons that link topics
GRAPHS = ("random", "topics of 8", "topics of 40", "neighbours", "chain", "star")
SLOPES = (1.0, -0.5, 0.5)


def draw_pairs(rng, graph, score, number):
    """Pairs of all items; nearly all of items of one topic; or of about equal scores."""
    n = len(score)
    left = rng.integers(0, n, number)
    right = (left + rng.integers(1, n, number)) % n
    if graph.startswith("topics"):
        size = int(graph.split()[-1])
        left = left % (n // size * size)
        mate = left // size * size + (left % size + rng.integers(1, size, number)) % size
        return left, np.where(rng.random(number) < ACROSS, right, mate)
    if graph == "neighbours":
        order = np.argsort(score + rng.normal(size=n))
        place = rng.integers(0, n - 20, number)
        return order[place], order[place + rng.integers(1, 20, number)]
    if graph == "chain":
        return left, (left + rng.integers(1, 4, number)) % n
    if graph == "star":
        return np.where((rng.random(number) < 0.5) & (right != 0), 0, left), right
    return left, right


def draw_study(rng, graph, n, per_item, variance):
    """Items, their scores, and comparisons."""
    X = rng.normal(size=(n, 3))
    score = X @ SLOPES + np.sqrt(variance) * rng.normal(size=n)
    left, right = draw_pairs(rng, graph, score, n * per_item // 2)
    won = rng.random(len(left)) < expit(score[left] - score[right])
    return X, score, left, right, np.where(won, 1, -1)


@pytest.mark.parametrize("variance", [1.0, 9.0])
@pytest.mark.parametrize("per_item", [5, 10])
@pytest.mark.parametrize("n", [250, 1000])
@pytest.mark.parametrize("graph", GRAPHS)
def test_messages_give_the_fit_of_the_full_covariance(
    graph, n, per_item, variance, monkeypatch, figures
):
    rng = np.random.default_rng([5, GRAPHS.index(graph), n, per_item, int(variance)])
    X, score, left, right, outcome = draw_study(rng, graph, n, per_item, variance)
    data = Comparisons(X, left, right, outcome)
    first, second = draw_pairs(rng, graph, score, N_ASKED)
    asked = Comparisons(data.items, first, second, np.ones(N_ASKED, dtype=np.int8))
    truth, losses, models = expit(score[first] - score[second]), [], []
    for most in (0, n):
        monkeypatch.setattr(item_covariance, "EXACT_ITEMS", most)
        model = RankRegression(item_effects=True).fit(data)
        p = np.clip(model.predict_proba(asked)[:, 1], 1e-12, 1 - 1e-12)
        losses.append(-np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p)))
        models.append(model)
    found, exact = models
    moved = np.max(np.abs(found.coef_ - exact.coef_) / exact.std_errors_)
    errors = np.max(np.abs(found.std_errors_ / exact.std_errors_ - 1))
    sigma2, interval = exact.item_effects_.sigma2, exact.item_effects_.interval
    own_error = np.log(interval[1] / max(interval[0], 1e-9)) / 4
    gone = abs(np.log(max(found.item_effects_.sigma2, 1e-9) / sigma2)) / own_error
    of_items = found.item_effects_.std_error / exact.item_effects_.std_error - 1
    usual, most = np.median(np.abs(of_items)), np.max(np.abs(of_items))
    figures(
        f"{n} items, {per_item} each, {graph}, sigma^2 {variance:g}: messages for covariance",
        "coefficients .1, sigma^2 .25 of their errors; errors 5 %; log-loss 1 %",
        f"{moved:.3f}, {gone:.3f}; {errors:.1%} (of items {usual:.1%}, worst {most:.1%});"
        f" {losses[0] / losses[1] - 1:+.2%}",
    )
    assert moved < 0.1
    assert gone < 0.25
    assert errors < 0.05
    assert usual < 0.05
    assert losses[0] < 1.01 * losses[1]


@pytest.mark.parametrize("n", [600, 1500])
@pytest.mark.parametrize("graph", GRAPHS)
def test_errors_of_many_abilities_are_those_of_the_full_covariance(graph, n, monkeypatch, figures):
    """Of the items whose abilities have a size; beside them, what messages alone would give."""
    rng = np.random.default_rng([6, GRAPHS.index(graph), n])
    _, _, left, right, outcome = draw_study(rng, graph, n, 16, 1.0)
    winner, loser = np.where(outcome > 0, left, right), np.where(outcome > 0, right, left)
    votes = {"winner": winner, "loser": loser}
    found = []
    for formed_once, formed_if_needed in ((500, 3000), (100, 100), (n, n)):
        monkeypatch.setattr(item_covariance, "LASTING_ITEMS", formed_once)
        monkeypatch.setattr(item_covariance, "MOST_ITEMS", formed_if_needed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RankRegression(l2=0.0 if graph != "topics of 8" else 0.01).fit(None, votes)
        found.append(model.item_effects_.std_error)
    kept, by_messages, exact = found
    determined = np.isfinite(exact) & (exact > 0)
    off, rival = (
        np.quantile(np.abs(one[determined] / exact[determined] - 1), [0.5, 0.95, 1.0])
        for one in (kept, by_messages)
    )
    figures(
        f"abilities of {n} items, 16 each, {graph}: errors (median, 95 %, worst)",
        "2 %, 5 %",
        ", ".join(f"{one:.1%}" for one in off)
        + "; by messages alone "
        + ", ".join(f"{one:.1%}" for one in rival),
    )
    assert off[0] < 0.02
    assert off[1] < 0.05
    if graph in ("neighbours", "topics of 40"):
        assert rival[1] > 0.1
