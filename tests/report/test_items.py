"""The items of a report: ranks and scores are the model's, on any scale, and every item counts."""

import numpy as np
import pytest

from pairscore import RankRegression, write_report
from pairscore.report.facts import report_facts
from pairscore.report.items import exposure_bars
from tests.report.conftest import draw_study, text_of


def test_the_ranking_is_the_models_own():
    items, votes = draw_study(60, 800, spare=5)
    model = RankRegression().fit(items, votes)
    facts, ranking = report_facts(model, items, votes), model.rank(items)
    for name in ("rank", "rank_low", "rank_high", "score", "low", "high", "outside"):
        assert [getattr(item, name) for item in facts.items] == ranking[name].tolist()
    assert [item.name for item in facts.items] == ranking["id"].tolist()
    assert [item.comparisons == 0 for item in facts.items] == [
        int(name.split()[1]) >= 60 for name in ranking["id"]
    ]


@pytest.mark.parametrize("highest", [1, 23, 24, 500])
def test_every_item_is_in_one_bar(highest):
    number = np.random.default_rng(0).integers(0, highest + 1, 300).astype(float)
    bars = exposure_bars(number)
    assert len(bars) <= 24
    assert [bar.items for bar in bars] == [
        sum(bar.low <= value <= bar.high for value in number) for bar in bars
    ]
    assert sum(bar.items for bar in bars) == 300


@pytest.mark.parametrize("scale", ["0-100", "elo", "wins"])
def test_a_report_shows_scores_on_the_scale_that_was_asked_for(scale, tmp_path):
    items, votes = draw_study(60, 800, spare=5)
    model = RankRegression().fit(items, votes)
    facts = report_facts(model, items, votes, scale=scale)
    ranking = model.rank(items, scale=scale)
    for name in ("score", "low", "high"):
        np.testing.assert_allclose([getattr(item, name) for item in facts.items], ranking[name])
    write_report(model, items, votes, tmp_path / "page.html", scale=scale)
    assert f"Score: {facts.scale.in_words}." in text_of((tmp_path / "page.html").read_text())


def test_a_page_places_items_that_were_never_compared():
    items, votes = draw_study(60, 800, spare=5)
    model = RankRegression().fit(items, votes)
    ranking = model.rank(items)
    found = report_facts(model, items, votes).items
    assert [item.name for item in found] == ranking["id"].tolist()
    for end in ("place_low", "place_high"):
        assert [getattr(item, end) for item in found] == ranking[end].tolist()
