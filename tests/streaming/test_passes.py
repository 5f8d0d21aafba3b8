"""How many passes the estimates take."""

import numpy as np
import pytest

from pairscore import RankRegression, fit_stream
from pairscore.streaming.stream_data import StreamData
from tests.streaming.studies import draw, in_parts


def stages_of_passes(monkeypatch):
    """What passes over the comparisons are for, from now on."""
    usual, stages = StreamData.run, []

    def counted(self, stage, task):
        stages.append(stage)
        return usual(self, stage, task)

    monkeypatch.setattr(StreamData, "run", counted)
    return stages


@pytest.mark.parametrize(("method", "gradients"), [("pooled", 0), ("mle", 6)])
def test_few_passes_are_enough(method, gradients, monkeypatch):
    """Beside the first one: those for gradients, and one along the scores."""
    items, votes = draw(n=200, m=20_000, ties=0.0, weights=False)
    stages = stages_of_passes(monkeypatch)
    monkeypatch.setattr("pairscore.streaming.first_pass.SAMPLE", 5000)
    model = fit_stream(items, votes, method=method, inference=None)
    assert np.all(np.isfinite(model.coef_))
    assert stages.count("Likelihood") <= gradients
    assert stages.count("Differences") == 1
    assert set(stages) <= {"Likelihood", "Differences"}


@pytest.mark.parametrize("self_pairs", ["error", "keep"])
@pytest.mark.parametrize("method", ["mle", "pooled"])
def test_scores_and_outcomes_agree_as_in_memory_with_few_passes(self_pairs, method, monkeypatch):
    """One for agreement, noise and log-likelihood; another where items are against themselves.

    A closed form has seen them along its scores already.
    """
    in_parts(monkeypatch)
    items, votes = draw(21, m=6000, ties=0.0, weights=False)
    if self_pairs == "keep":
        right = votes["right"].to_numpy().copy()
        right[:50] = votes["left"].to_numpy()[:50]
        votes = votes.set_column(1, "right", [right])
    stages = stages_of_passes(monkeypatch)
    asked = {"self_pairs": self_pairs}
    model = fit_stream(items, votes, method=method, **asked)
    whole = RankRegression(method).fit(items, votes, **asked)
    more = 1 if self_pairs == "keep" and method == "mle" else 0
    assert stages.count("Differences") == 1 + more
    assert model.agreement_ == pytest.approx(whole.agreement_, rel=1e-12)
    assert model.noise_ == pytest.approx(whole.noise_, rel=1e-9)
    if method == "mle":
        assert model.loglik_ == pytest.approx(whole.loglik_, rel=1e-10)
