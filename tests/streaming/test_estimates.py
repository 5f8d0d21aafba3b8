"""How many passes the estimates take."""

import numpy as np
import pytest

from pairscore import RankRegression, fit_stream
from pairscore.streaming.data import StreamData
from tests.streaming.studies import draw, in_parts


def stages_of_passes(monkeypatch):
    """What passes at scores are for, from now on."""
    usual, stages = StreamData.score_pass, []

    def counted(self, stage, *args, **kind):
        stages.append(stage)
        return usual(self, stage, *args, **kind)

    monkeypatch.setattr(StreamData, "score_pass", counted)
    return stages


@pytest.mark.parametrize(("method", "most"), [("pooled", 4), ("mle", 6)])
def test_few_passes_are_enough(method, most, monkeypatch):
    items, votes = draw(n=200, m=20_000, ties=0.0, weights=False)
    stages = stages_of_passes(monkeypatch)
    monkeypatch.setattr("pairscore.streaming.data.SAMPLE", 5000)
    model = fit_stream(items, votes, method=method, inference=None)
    assert np.all(np.isfinite(model.coef_))
    assert len(stages) <= most, stages


@pytest.mark.parametrize("self_pairs", ["error", "keep"])
def test_the_last_pass_of_a_likelihood_sees_how_scores_and_outcomes_agree(self_pairs, monkeypatch):
    """Log-likelihood, agreement and noise are those of a fit in memory, with a pass less."""
    in_parts(monkeypatch)
    items, votes = draw(21, m=6000, ties=0.0, weights=False)
    stages = stages_of_passes(monkeypatch)
    asked = {"self_pairs": self_pairs}
    model, whole = fit_stream(items, votes, **asked), RankRegression().fit(items, votes, **asked)
    assert ("Agreement" in stages) == (self_pairs == "keep")
    assert model.loglik_ == pytest.approx(whole.loglik_, rel=1e-12)
    assert model.agreement_ == pytest.approx(whole.agreement_, rel=1e-12)
    assert model.noise_ == pytest.approx(whole.noise_, rel=1e-9)
