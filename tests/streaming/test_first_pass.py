"""Sums of passes against those in memory, on easy and hard data; checkpoints."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.core import kernels_numpy
from pairscore.core import passes as core_passes
from pairscore.core.links import get_link
from pairscore.core.pair_graph import tally
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, read_items
from pairscore.data.votes import Votes
from pairscore.estimators.fit_data import Along
from pairscore.estimators.table_data import TableData
from pairscore.files.partitions import TablePartition
from pairscore.streaming import stream_data
from pairscore.streaming.batches import Batch, BatchLayout, BatchReader, NumberedPart
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.first_pass import FirstSums, TallyTask, faults_of_sums
from pairscore.streaming.stream_data import AlongTask, GainTask, ScoreTask
from pairscore.streaming.stream_job import ids_only
from tests.hard_designs import NAMES
from tests.hard_designs import draw as draw_hard
from tests.streaming.studies import draw


@pytest.fixture(name="study")
def _study():
    table, votes = draw(n=30, m=400)
    items = read_items(table)
    layout = BatchLayout.of_names(votes.column_names, {})
    reader = BatchReader(ids_only(items), layout)
    parts = [NumberedPart(k, TablePartition(votes.slice(100 * k, 100))) for k in range(4)]
    (batch,) = reader.batches(TablePartition(votes))
    return items, reader, parts, batch


def total(task, parts):
    first, *others = map(task, parts)
    for sums in others:
        first = first + sums
    return first


def test_the_first_pass_counts_what_all_rows_hold(study):
    items, reader, parts, batch = study
    sums = total(TallyTask(reader, len(items), stride=7), parts)
    whole = tally(*batch[:4], len(items))
    np.testing.assert_allclose(sums.tally.net_wins, whole.net_wins)
    np.testing.assert_allclose(sums.tally.exposures, whole.exposures)
    assert sums.given == pytest.approx(whole.n_comparisons)
    assert sums.number == batch.times.sum()
    assert sums.weighted == pytest.approx(batch.amount @ batch.weight)
    assert sums.tied == pytest.approx(batch.amount[batch.outcome == 0].sum())
    assert (sums.weights.low, sums.weights.high) == (0.5, 2.0)
    assert 50 <= len(sums.sample) <= 60
    np.testing.assert_array_equal(sums.seen, whole.exposures > 0)


def test_comparisons_that_count_once_are_counted():
    """With ties, and an item against itself."""
    table, votes = draw(n=30, m=400, weights=False)
    items, part = read_items(table), NumberedPart(0, TablePartition(votes))
    reader = BatchReader(ids_only(items), BatchLayout.of_names(votes.column_names, {}))
    task = TallyTask(reader, len(items), stride=7)
    (batch,) = reader.batches(part.source)
    whole, found = tally(*batch[:4], len(items)), task(part).tally
    np.testing.assert_array_equal(found.net_wins, whole.net_wins)
    np.testing.assert_array_equal(found.exposures, whole.exposures)


@dataclass(frozen=True)
class Batches:
    """Comparisons in parts, as they are."""

    parts: list

    def batches(self, part):
        yield from self.parts[part]


def in_batches(batch, cuts):
    """The same rows in two parts of two batches."""
    pieces = [batch.take(rows) for rows in np.split(np.arange(len(batch.left)), cuts)]
    return Batches([pieces[:2], pieces[2:]])


def hard_batch(name, seed=0):
    """A hard design, with an item against itself and a row that counts for nothing."""
    drawn = draw_hard(name, np.random.default_rng(seed), 20, 60, 3)
    right, weight = drawn.right.copy(), np.ones(60) if drawn.weight is None else drawn.weight
    right[3] = drawn.left[3]
    amount = np.where(np.arange(60) == 5, 0.0, weight)
    return Batch(drawn.left, right, drawn.outcome.astype(np.int8), amount)


def memory_of(batch, side):
    """The same comparisons in memory."""
    votes = Votes(batch.left, batch.right, batch.outcome, weight=batch.amount)
    return TableData(Comparisons.of(Items(np.zeros((20, 1)), ("x",)), votes), side)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_derivatives_of_a_likelihood_are_those_in_memory(name, link, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(core_passes, "kernels", kernels_numpy)
    batch = hard_batch(name)
    link, scores = get_link(link), np.random.default_rng(0).normal(size=20)
    found = total(ScoreTask(in_batches(batch, [10, 30, 31]), link, scores, 0.2), [0, 1])
    expected = memory_of(batch, side=True).score(scores, 0.2, link)
    size = batch.amount.sum()
    np.testing.assert_allclose(found.net, expected.net, atol=1e-12 * size)
    assert found.side == pytest.approx(expected.side, abs=1e-12 * size)


@pytest.mark.parametrize("shift", [0.0, 0.2])
@pytest.mark.parametrize("few", [4, stream_data.FEW])
@pytest.mark.parametrize("name", NAMES)
def test_comparisons_along_scores_are_those_in_memory(name, few, shift, monkeypatch):
    """Up to the digits of their distribution; ranges only as far as they tell of separation."""
    monkeypatch.setattr(stream_data, "FEW", few)
    monkeypatch.setattr(stream_data, "AT_ONCE", 9)
    batch, scores = hard_batch(name), np.random.default_rng(0).normal(size=20)
    memory = memory_of(batch, side=False)
    largest = float(np.ptp(scores)) + shift
    rows = in_batches(batch, [10, 30, 31])
    found = total(AlongTask(rows, scores, shift, largest), [0, 1]).along()
    expected = memory.along(scores, shift)
    size = np.abs(expected.net).max()
    np.testing.assert_allclose(found.net, expected.net, rtol=1e-12, atol=1e-12 * size)
    assert found.tied == pytest.approx(expected.tied)
    for side in (False, True):
        assert found.is_separated(side) == expected.is_separated(side)
    if expected.is_separated(side=True):
        assert found.threshold == pytest.approx(expected.threshold)
    for of in (found, expected):
        assert isinstance(of, Along)
    ours, theirs = (of.differences.outcomes(get_link("logit")) for of in (found, expected))
    assert vars(ours) == pytest.approx(vars(theirs), rel=1e-10)
    assert found.differences.total == pytest.approx(batch.amount.sum(), rel=1e-12)
    without = total(AlongTask(rows, scores, shift, largest, distinct=True), [0, 1]).along()
    two = batch.amount[batch.left != batch.right].sum()
    assert without.differences.total == pytest.approx(two, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gains_of_winners_are_those_in_memory(name):
    batch, scores = hard_batch(name), np.random.default_rng(1).normal(size=20)
    found = total(GainTask(in_batches(batch, [1, 2, 50]), scores, 0.1), [0, 1])
    assert found == memory_of(batch, side=False).gains(scores, 0.1)


def test_a_checkpoint_holds_the_first_sums(study, tmp_path):
    items, reader, parts, _ = study
    sums = total(TallyTask(reader, len(items), stride=7), parts)
    checkpoint = Checkpoint(tmp_path / "c.npz", "of these data")
    faults = partial(faults_of_sums, n_items=len(items))
    assert checkpoint.read(8, faults) == (None, 0)
    checkpoint.write(sums.to_arrays(), 3)
    arrays, n_done = checkpoint.read(8, faults)
    again = FirstSums.of_arrays(arrays, len(items))
    assert n_done == 3
    for name in ("net_wins", "exposures", "n_comparisons"):
        np.testing.assert_array_equal(getattr(again.tally, name), getattr(sums.tally, name))
    for name in ("number", "weighted", "tied", "given", "weights", "seen", "dropped"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sums, name))
    np.testing.assert_array_equal(again.sample.amount, sums.sample.amount)
    with pytest.raises(PairscoreError, match="checkpoint of other files"):
        Checkpoint(tmp_path / "c.npz", "other data").read(8, faults)
    (tmp_path / "c.npz").write_text("nothing")
    with pytest.raises(PairscoreError, match="not a complete checkpoint"):
        checkpoint.read(8, faults)
    checkpoint.remove()
    assert checkpoint.read(8, faults) == (None, 0)
