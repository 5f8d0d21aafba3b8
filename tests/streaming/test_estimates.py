"""How many passes the estimates take."""

import numpy as np
import pytest

from pairscore import fit_stream
from pairscore.streaming.data import StreamData
from tests.streaming.studies import draw


@pytest.mark.parametrize(("method", "most"), [("pooled", 4), ("mle", 9)])
def test_few_passes_are_enough(method, most, monkeypatch):
    items, votes = draw(n=200, m=20_000, ties=0.0, weights=False)
    usual, stages = StreamData.score_pass, []

    def counted(self, stage, *args, **kind):
        stages.append(stage)
        return usual(self, stage, *args, **kind)

    monkeypatch.setattr(StreamData, "score_pass", counted)
    monkeypatch.setattr("pairscore.streaming.data.SAMPLE", 5000)
    model = fit_stream(items, votes, method=method, inference=None)
    assert np.all(np.isfinite(model.coef_))
    assert len(stages) <= most, stages
