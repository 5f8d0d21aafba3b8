"""What a fit in parts reads, says, refuses and keeps; ``test_equality`` has its numbers."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairscore
from pairscore import PairscoreError, RankRegression, fit_stream
from pairscore.errors import CollinearFeaturesWarning, ColumnFoundWarning, SeparationWarning
from pairscore.streaming import shared_items
from pairscore.streaming.stream_job import bytes_of
from tests.streaming.studies import (
    assert_same_fit,
    draw,
    fit_both,
    in_parts,
    rare_feature,
    write,
)
from tests.streaming.test_stream_items import Elsewhere

METHODS = ("pooled", "split", "paired", "mle")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("text", [False, True])
def test_text_and_numbers_as_ids_in_csv_and_parquet(kind, text, tmp_path, monkeypatch):
    in_parts(monkeypatch)
    items, votes = draw(2, text=text)
    files = write(tmp_path, items, votes, kind=kind)
    whole, parts = fit_both(items, votes, files, {"method": "mle"})
    assert_same_fit(parts, whole)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_files=st.integers(1, 5),
    group=st.integers(20, 500),
    memory=st.floats(2e4, 1e7),
    n_jobs=st.integers(1, 3),
    method=st.sampled_from(METHODS),
)
def test_shuffled_and_repartitioned_files_give_the_same(
    seed, n_files, group, memory, n_jobs, method, tmp_path_factory
):
    items, votes = draw(3)
    order = np.random.default_rng(seed).permutation(len(votes))
    files = write(tmp_path_factory.mktemp("s"), items, votes.take(pa.array(order)), n_files)
    whole, parts = fit_both(items, votes, files, {"method": method}, memory=memory, n_jobs=n_jobs)
    assert_same_fit(parts, whole)


def test_the_number_of_threads_changes_no_bit(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    items, votes = draw(4)
    files = write(tmp_path, items, votes, group=100)
    models = [fit_stream(*files, n_jobs=n, memory=1e6) for n in (1, 3)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].covariance_, models[1].covariance_)


def test_a_model_of_parts_saves_ranks_and_summarises_as_any_other(tmp_path):
    items, votes = draw(5)
    model = fit_stream(*write(tmp_path, items, votes), method="pooled")
    model.save(tmp_path / "model.npz")
    again = pairscore.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    whole = RankRegression("pooled").fit(items, votes)
    assert again.rank(items).column_names == whole.rank(items).column_names
    shown, other = str(model.summary()), str(whole.summary())
    assert shown.splitlines()[:8] == other.splitlines()[:8]


def test_a_feature_that_never_differs_between_items_that_met_is_open_as_in_memory(tmp_path):
    items, votes = draw(6, weights=False)
    row = {name: place for place, name in enumerate(items["id"].to_pylist())}
    left, right = (
        np.array([row[name] for name in votes[s].to_pylist()]) for s in ("left", "right")
    )
    met = (left % 2) == (right % 2)
    items = items.append_column("year", pa.array((np.arange(len(items)) % 2).astype(float)))
    votes = votes.filter(pa.array(met))
    files = write(tmp_path, items, votes)
    for method in METHODS:
        whole, parts = fit_both(items, votes, files, {"method": method})
        np.testing.assert_array_equal(parts.undetermined_, whole.undetermined_)
        assert parts.n_groups_ == whole.n_groups_ == 2
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8, atol=1e-9)


def test_votes_without_sides_give_the_same(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    items, votes = draw(7, ties=0.0, weights=False)
    left, right, winner = (votes[name].to_pylist() for name in ("left", "right", "winner"))
    rows = [(a, b) if w == "left" else (b, a) for a, b, w in zip(left, right, winner, strict=True)]
    plain = pa.table({"winner": [a for a, _ in rows], "loser": [b for _, b in rows]})
    whole, parts = fit_both(items, plain, write(tmp_path, items, plain), {"method": "mle"})
    assert_same_fit(parts, whole)
    with pytest.raises(PairscoreError, match="only say winner and loser"):
        fit_stream(*write(tmp_path, items, plain), side_effect=True)


@pytest.mark.parametrize("engine", [None, Elsewhere()])
@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
@pytest.mark.parametrize("rule", ["ledoit-wolf", "oas"])
def test_a_rule_chooses_the_shrinkage_of_memory_here_and_elsewhere(
    rule, method, engine, tmp_path, monkeypatch
):
    in_parts(monkeypatch)
    monkeypatch.setattr(shared_items, "BLOCK_BYTES", 8 * 3 * 50)
    items, votes = draw(4, n=60)
    asked = {"method": method, "shrinkage": rule}
    files = write(tmp_path, items, votes)
    whole, parts = fit_both(items, votes, files, asked, engine=engine, scratch=tmp_path)
    plain = RankRegression(method).fit(items, votes)
    assert np.abs(whole.closed_form_coef_ / plain.closed_form_coef_ - 1).max() > 1e-4
    assert_same_fit(parts, whole)


@pytest.mark.parametrize("asked", [{"ties": "davidson"}, {"l2": "auto"}])
def test_what_needs_all_comparisons_is_refused_with_a_remedy(asked, tmp_path):
    items, votes = draw()
    with pytest.raises(PairscoreError, match="sample of the comparisons"):
        fit_stream(*write(tmp_path, items, votes), **asked)


@pytest.mark.parametrize("sample", [300, 10**6])
@pytest.mark.parametrize("side", [False, True])
def test_comparisons_that_are_all_explained_are_held_by_mle_as_in_memory(
    side, sample, tmp_path, monkeypatch
):
    items, votes = draw(12)
    left, right = ((votes[name].to_numpy() - 7) // 3 for name in ("left", "right"))
    x = items["x1"].to_numpy()
    winner = np.where(x[left] + 0.3 * side > x[right], "left", "right")
    votes = votes.set_column(2, "winner", [winner])
    in_parts(monkeypatch, sample)
    files = write(tmp_path, items, votes)
    whole, parts = fit_both(items, votes, files, {"side_effect": side})
    assert_same_fit(parts, whole)
    assert parts.notes_ == whole.notes_
    assert "how large 'x" in parts.notes_[0]
    # of some of the explained comparisons, intervals are no narrower
    ends, known = parts.confidence_intervals(), whole.confidence_intervals()
    slack = 1e-4 * np.nan_to_num(np.abs(known), posinf=0.0)
    assert np.all(ends[:, 0] <= known[:, 0] + slack[:, 0])
    assert np.all(ends[:, 1] >= known[:, 1] - slack[:, 1])
    assert np.isfinite(ends[1, 0])


def test_comparisons_that_only_seem_separated_in_the_sample_are_fitted(tmp_path, monkeypatch):
    """In the sample of every tenth comparison the rare feature always wins; once it does not."""
    items, votes = rare_feature(14)
    has = items["rare"].to_numpy()
    left, right = ((votes[name].to_numpy() - 7) // 3 for name in ("left", "right"))
    ahead, winner = has[left] - has[right], votes["winner"].to_numpy(zero_copy_only=False).copy()
    turned = [row for row in np.flatnonzero(ahead) if row % 500 % 6][:12]
    winner[turned] = np.where(winner[turned] == "left", "right", "left")
    votes = votes.set_column(2, "winner", [winner])
    in_parts(monkeypatch)
    whole, parts = fit_both(items, votes, write(tmp_path, items, votes), {})
    assert_same_fit(parts, whole)
    assert parts.notes_ == whole.notes_
    assert not any("no maximum" in note for note in parts.notes_)


def test_amounts_of_memory_are_read():
    assert bytes_of("500MB") == 5e8
    with pytest.raises(PairscoreError, match="give it as '2GB'"):
        bytes_of("much")


def test_progress_goes_from_nothing_to_everything(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    items, votes = draw(8)
    seen = []
    fit_stream(*write(tmp_path, items, votes), method="pooled", progress=seen.append)
    stages = [progress.stage for progress in seen]
    assert stages[0] == "Comparisons"
    assert seen[stages.index("Differences") - 1].share == 1
    assert all(progress.seconds_left >= 0 for progress in seen)


@pytest.mark.parametrize("method", ["pooled", "paired"])
def test_ties_of_items_that_do_not_differ_leave_the_scale_of_decided_ones_alone(method):
    """Only items that are alike met, and sides won equally often: no score differs."""
    items = {"id": ["a", "b", "c", "d"], "x": [0.0, 0.0, 1.0, 1.0]}
    ends = {"left": ["a", "b", "c", "d"] * 2, "right": ["b", "a", "d", "c"] * 2}
    votes = ends | {"winner": ["left", "right", "tie", "tie"] * 2}
    settings = {"method": method, "side_effect": True, "l2": 1.0, "inference": None}
    with pytest.warns(CollinearFeaturesWarning, match="no two items that met differ"):
        parts = fit_stream(items, votes, **settings)
    with pytest.warns(CollinearFeaturesWarning, match="no two items that met differ"):
        whole = RankRegression(**settings).fit(items, votes)
    assert parts.coef_ == pytest.approx(whole.coef_, abs=1e-9)
    assert parts.side_effect_ == pytest.approx(whole.side_effect_, abs=1e-9)
    assert parts.tie_share_ == whole.tie_share_ == 0.5


def test_a_list_of_tables_is_fitted_as_one():
    items, votes = draw()
    tables = [votes.slice(0, 700), {name: votes[name][700:] for name in votes.column_names}]
    whole, parts = fit_stream(items, votes), fit_stream(items, tables)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(parts.std_errors_, whole.std_errors_, rtol=1e-5)
    with pytest.raises(PairscoreError, match="entry 2 of the list of comparisons is the name of a"):
        fit_stream(items, [votes, "votes.csv"])
    with pytest.raises(PairscoreError, match="the comparisons are 7; give files"):
        fit_stream(items, [votes, 7])
    strange = votes.set_column(0, votes.column_names[0], pa.array(["nobody"] * len(votes)))
    with pytest.raises(PairscoreError, match="table 2 of the comparisons"):
        fit_stream(items, [votes, strange])


@pytest.mark.parametrize("method", ["mle", "pooled"])
def test_open_ends_of_rows_that_stand_for_many_comparisons_are_those_in_memory(method):
    rng = np.random.default_rng(3)
    ids, left = np.array([f"i{k}" for k in range(12)]), rng.integers(0, 12, 40)
    right = (left + rng.integers(1, 12, 40)) % 12
    items = {"id": ids, "x": np.arange(12.0)}
    winner = np.where(left > right, "left", "right")
    votes = {"left": ids[left], "right": ids[right], "winner": winner}
    votes["count"] = rng.integers(1, 200, 40)
    with pytest.warns(SeparationWarning):
        whole = RankRegression(method, inference="model").fit(items, votes)
    with pytest.warns(SeparationWarning):
        parts = fit_stream(items, votes, method=method, inference="model")
    low, high = whole.confidence_intervals()[0]
    assert 0 < low < high == np.inf
    np.testing.assert_allclose(parts.confidence_intervals()[0], [low, high], rtol=1e-6)


def test_files_of_items_without_ids_are_said_to_be_known_by_row(tmp_path):
    items, votes = draw(weights=False)
    rows = {side: (votes[side].to_numpy() - 7) // 3 for side in ("left", "right")}
    numbered = pa.table(rows | {"winner": votes["winner"]})
    files = write(tmp_path, items.drop_columns("id"), numbered)
    with pytest.warns(ColumnFoundWarning, match="they are known by row number, from 0 on."):
        model = fit_stream(*files)
    np.testing.assert_allclose(model.coef_, fit_stream(items, votes).coef_)
