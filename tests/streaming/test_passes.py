"""Sums of passes against sums over all rows, compiled and in NumPy; checkpoints."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.core import passes as core_passes
from pairscore.core.links import get_link
from pairscore.core.optimise import solve_falling
from pairscore.core.pair_graph import tally
from pairscore.core.passes import net_pass
from pairscore.core.scale import NEAR, WRONG
from pairscore.data.items import read_items
from pairscore.files.partitions import TablePartition
from pairscore.streaming.passes import (
    Checkpoint,
    NumberedPart,
    ScoreTask,
    SourceRows,
    TallyTask,
)
from pairscore.streaming.rows import Layout, RowReader, ids_only
from tests.streaming.studies import draw


@pytest.fixture(name="study")
def _study():
    table, votes = draw(n=30, m=400)
    items = read_items(table)
    layout = Layout.of_names(votes.column_names, {})
    reader = RowReader(ids_only(items), layout)
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


def test_comparisons_that_count_once_are_counted_in_whole_numbers():
    """As many and as exactly as in double precision, with ties, and an item against itself."""
    table, votes = draw(n=30, m=400, weights=False)
    items, part = read_items(table), NumberedPart(0, TablePartition(votes))
    reader = RowReader(ids_only(items), Layout.of_names(votes.column_names, {}))
    task = TallyTask(reader, len(items), stride=7)
    assert task._kind(part) == np.int32
    (batch,) = reader.batches(part.source)
    whole, found = tally(*batch[:4], len(items)), task(part).tally
    np.testing.assert_array_equal(found.net_wins, whole.net_wins)
    np.testing.assert_array_equal(found.exposures, whole.exposures)
    assert found.net_wins.dtype == found.exposures.dtype == np.float64


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_pass_at_scores_sums_what_the_likelihood_has(link, compiled, study, monkeypatch):
    items, reader, parts, batch = study
    if not compiled:
        monkeypatch.setattr(core_passes, "kernels", None)
    link, scores, shift = get_link(link), 0.1 * np.arange(len(items)) - 1, 0.2
    task = ScoreTask(
        SourceRows(reader), link, scores, shift, ("net", "squared", "loglik"), (0.5, 2.0)
    )
    sums = total(task, parts)
    x = scores[batch.left] - scores[batch.right]
    win = batch.amount * (0.5 + 0.5 * batch.outcome)
    e, info = link.score(x + shift, win, batch.amount - win)
    decided = batch.amount * (batch.outcome != 0)
    eta = (x + shift) * batch.outcome
    expected = [
        e @ x, e.sum(), info @ x**2, info @ x, info.sum(),
        decided @ link.cdf(-np.abs(eta)), decided.sum(), decided @ (eta > 0),
        batch.amount @ x**2, decided @ link.log_cdf(eta), batch.amount @ (batch.outcome == 0),
    ]  # fmt: skip
    np.testing.assert_allclose(sums.totals, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums.net, net_pass(batch.left, batch.right, e, 30), atol=1e-10)
    squared = net_pass(batch.left, batch.right, batch.amount * x, 30)
    np.testing.assert_allclose(sums.squared, squared, atol=1e-10)
    won, lost = x[batch.outcome == 1], x[batch.outcome == -1]
    assert (sums.wins.low, sums.wins.high) == pytest.approx((won.min(), won.max()))
    assert (sums.losses.low, sums.losses.high) == pytest.approx((lost.min(), lost.max()))
    half = 0.5 + 0.5 * batch.outcome
    pull = batch.amount * 2 * (x + shift) * link.score(2 * (x + shift), half, 1 - half)[0]
    np.testing.assert_allclose(sums.pulls[:, 1], [pull.sum(), pull[batch.outcome != 0].sum()])


def test_a_checkpoint_holds_the_first_sums(study, tmp_path):
    items, reader, parts, _ = study
    sums = total(TallyTask(reader, len(items), stride=7), parts)
    checkpoint = Checkpoint(tmp_path / "c.npz", "of these data")
    assert checkpoint.read(len(items), 8) == (None, 0)
    checkpoint.write(sums, 3)
    again, n_done = checkpoint.read(len(items), 8)
    assert n_done == 3
    for name in ("net_wins", "exposures", "n_comparisons"):
        np.testing.assert_array_equal(getattr(again.tally, name), getattr(sums.tally, name))
    for name in ("number", "weighted", "tied", "given", "weights", "seen", "dropped"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sums, name))
    np.testing.assert_array_equal(again.sample.amount, sums.sample.amount)
    with pytest.raises(PairscoreError, match="checkpoint of other files"):
        Checkpoint(tmp_path / "c.npz", "other data").read(len(items), 8)
    (tmp_path / "c.npz").write_text("nothing")
    with pytest.raises(PairscoreError, match="not a complete checkpoint"):
        checkpoint.read(len(items), 8)
    checkpoint.remove()
    assert checkpoint.read(len(items), 8) == (None, 0)


@pytest.mark.parametrize(("factor", "ridge"), [(1.0, 0.0), (1.004, 3.0), (1.05, 0.0)])
def test_one_pass_finds_a_scale_that_is_near(factor, ridge, study):
    """To the digits of a root of the likelihood itself; what is far is left to further passes."""
    items, reader, parts, batch = study
    link, scores = get_link("logit"), 0.1 * np.arange(len(items)) - 1
    x, share = scores[batch.left] - scores[batch.right], 0.5 + 0.5 * batch.outcome

    def slope(scale):
        pull = batch.amount * link.score(scale * x, share, 1 - share)[0]
        return float(pull @ x) - ridge * scale

    best = solve_falling(slope, -50.0, 50.0)
    start = best / factor
    task = ScoreTask(SourceRows(reader), link, start * scores, series=True)
    sums = total(task, parts)
    near = sums.best_scale(ridge * start**2)
    if factor > 1 + NEAR:
        assert near is None
        return
    assert near == pytest.approx(factor, rel=1e-11)
    decided = batch.amount * (batch.outcome != 0)
    wrong = decided @ link.cdf(-np.abs(best * x))
    assert sums.at_scale(near).totals[WRONG] == pytest.approx(wrong, rel=1e-7)
