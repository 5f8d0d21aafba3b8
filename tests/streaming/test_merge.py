"""Merged models are the fits of all data together."""

import warnings

import numpy as np
import pytest

from pairscore import PairscoreError, RankRegression, load
from pairscore.streaming.merge import merge_files, merge_rounds, merge_sites
from pairscore.streaming.rounds import save_round, site_round
from pairscore.streaming.sites import save_site, site_sums
from tests.streaming.test_sites import site, together

pytestmark = pytest.mark.filterwarnings("ignore")
SITES = [site(seed, n=60 + 30 * seed, m=900) for seed in range(1, 4)]


@pytest.mark.parametrize("method", ["pooled", "split", "paired"])
@pytest.mark.parametrize("kind", [{}, {"link": "probit"}, {"ties": "drop"}])
def test_a_second_exchange_gives_scale_and_item_robust_intervals(method, kind):
    whole = RankRegression(method, **kind).fit(*together(SITES))
    first = merge_sites([site_sums(*one, **kind) for one in SITES], method=method)
    assert "first guess" in first.notes_[0]
    assert first.std_errors_ is None
    merged = merge_rounds([site_round(first, *one) for one in SITES])
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(merged.std_errors_, whole.std_errors_, rtol=1e-5)
    for name in ("agreement_", "noise_", "tie_share_", "decided_scale_", "guard_"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-6)


@pytest.mark.parametrize("kind", [{}, {"link": "probit"}, {"side_effect": True}])
def test_federated_likelihood_is_the_pooled_one_within_six_rounds(kind):
    whole = RankRegression(**kind, tol=1e-15).fit(*together(SITES))
    model = merge_sites([site_sums(*one, **kind) for one in SITES], method="mle")
    rounds = 0
    while any("make sums at this model" in text for text in model.notes_):
        model, rounds = merge_rounds([site_round(model, *one) for one in SITES]), rounds + 1
        assert rounds <= 6
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
    np.testing.assert_allclose(model.noise_, whole.noise_, rtol=1e-5)
    if kind.get("side_effect"):
        np.testing.assert_allclose(model.side_effect_, whole.side_effect_, rtol=1e-8)


def test_a_feature_of_whole_sites_is_open(tmp_path):
    import pyarrow as pa

    sites = [
        (items.append_column("hospital", pa.array([float(k)] * len(items))), votes)
        for k, (items, votes) in enumerate(SITES)
    ]
    whole = RankRegression("pooled").fit(*together(sites))
    first = merge_sites([site_sums(*one) for one in sites])
    merged = merge_rounds([site_round(first, *one) for one in sites])
    np.testing.assert_array_equal(merged.undetermined_, whole.undetermined_)
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-8, atol=1e-9)


def test_files_lead_from_sites_to_a_model_that_saves_and_ranks(tmp_path):
    for number, one in enumerate(SITES):
        save_site(site_sums(*one), tmp_path / f"site{number}.npz")
    merge_files(sorted(tmp_path.glob("site*.npz"))).save(tmp_path / "merged.npz")
    for number, one in enumerate(SITES):
        model = load(tmp_path / "merged.npz")
        save_round(site_round(model, *one), tmp_path / f"round{number}.npz")
    model = merge_files(sorted(tmp_path.glob("round*.npz")))
    ranked = model.rank(SITES[0][0])
    assert len(ranked) == len(SITES[0][0])
    assert "160" in str(model.summary()) or model.n_items_ > 100
    with pytest.raises(PairscoreError, match="merge those of one kind"):
        merge_files([tmp_path / "site0.npz", tmp_path / "round0.npz"])
    with pytest.raises(PairscoreError, match="3 sites, and 2 have sent"):
        merge_files([tmp_path / "round0.npz", tmp_path / "round1.npz"])
    with pytest.raises(PairscoreError, match="counted twice"):
        merge_files([tmp_path / "round0.npz"] * 2)


def test_a_side_effect_over_sites_needs_likelihood():
    with pytest.raises(PairscoreError, match="method='mle'"):
        merge_sites([site_sums(*one, side_effect=True) for one in SITES])


def test_few_items_over_all_sites_are_told():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        merge_sites([site_sums(*SITES[0])])
    assert any("first guess" in str(one.message) for one in caught)


def test_the_example_of_three_hospitals_reaches_the_pooled_maximum(tmp_path, capsys):
    import runpy
    from pathlib import Path

    script = Path(__file__).parents[2] / "examples" / "sites.py"
    model, whole = runpy.run_path(str(script))["main"](tmp_path)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7)
    assert capsys.readouterr().out.count("round") <= 6
