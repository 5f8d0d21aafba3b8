"""`update` with 100 new comparisons after 200 000, over a fit to all of them; CPU time."""

import time

import numpy as np

from pairscore import Comparisons, RankRegression
from pairscore.estimators.table_data import TableData

N_VOTES, N_NEW = 200_000, 100
CASES = {  # items, features, settings
    "5000 items, 50 features": (5000, 50, {}),
    "the same, without intervals": (5000, 50, {"inference": None}),
    "500 items, 20 features": (500, 20, {}),
    "20 000 items, 100 features": (20_000, 100, {}),
    "500 items, 10 features, item effects": (500, 10, {"item_effects": True}),
    "2000 items, 20 features, Davidson's ties": (2000, 20, {"ties": "davidson"}),
}


def draw(n_items, n_features):
    """Items, and comparisons of which one in ten is a tie."""
    rng = np.random.default_rng(0)
    X, m = rng.normal(size=(n_items, n_features)), N_VOTES + N_NEW
    scores = X @ rng.normal(size=n_features) / np.sqrt(n_features) + 0.5 * rng.normal(size=n_items)
    left = rng.integers(0, n_items, m)
    right = (left + rng.integers(1, n_items, m)) % n_items
    won = np.where(rng.random(m) < 1 / (1 + np.exp(scores[right] - scores[left])), 1, -1)
    return Comparisons(X, left, right, np.where(rng.random(m) < 0.1, 0, won))


def update(medians, report):
    for name, (n_items, n_features, settings) in CASES.items():
        data = draw(n_items, n_features)
        model = RankRegression(**settings).fit(data[:N_VOTES])
        old, new = model.result_, data[N_VOTES:].votes
        steps = {}

        def fit(settings=settings, data=data, steps=steps):
            steps["fit"] = RankRegression(**settings).fit(data).n_iter_

        def add(model=model, old=old, new=new, steps=steps):
            model.result_ = old
            steps["update"] = model.update(new).n_iter_

        def sum_pairs(data=data):
            return TableData(data, False).pairs

        seconds = medians(7, time.process_time, fit=fit, update=add, pairs=sum_pairs)
        parts = ", ".join(f"{job} {1e3 * value:.0f}" for job, value in seconds.items())
        print(f"  (ms: {parts}; steps: fit {steps['fit']}, update {steps['update']})")
        report(f"update, over a fit: {name}", seconds["update"] / seconds["fit"], 1.0, "at most")


if __name__ == "__main__":
    from benchmarks.__main__ import medians, report

    update(medians, report)
