"""Folds of nearly equal size: the greedy rule against a loop, and labels of groups as numbers."""

import signal
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore import PairscoreError
from pairscore.data.folds import (
    Workers,
    assign_folds,
    feature_keys,
    item_ranks,
    number_groups,
    number_units,
    rows_of_same_features,
    start_process,
)
from pairscore.data.items import read_items

ITEMS = read_items({"id": ["a", "b", "c", "d"], "mass": [1.0, 2.0, 3.0, 4.0]})


def greedy(sizes, order, n_folds):
    """The largest group first, those of one size in order, each where the fewest items are."""
    fold_of_group, filled = {}, [0] * n_folds
    for group in sorted(order, key=lambda group: -sizes[group]):
        fold_of_group[group] = filled.index(min(filled))
        filled[fold_of_group[group]] += sizes[group]
    return [fold_of_group[group] for group in range(len(sizes))]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(1, 6), st.randoms())
def test_folds_are_those_of_the_greedy_rule(sizes, n_folds, random):
    order = list(range(len(sizes)))
    random.shuffle(order)
    folds = assign_folds(np.array(sizes), np.array(order), n_folds)
    assert folds.tolist() == greedy(sizes, order, n_folds)


@pytest.mark.parametrize("in_threads", [True, False])
@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_jobs_side_by_side_come_back_in_their_order(n_jobs, in_threads):
    jobs = (partial(pow, 2, number) for number in range(6))
    assert list(Workers(n_jobs).each(jobs, in_threads)) == [1, 2, 4, 8, 16, 32]


def test_progress_is_told_after_every_job():
    told = []
    workers = Workers(progress=lambda *done_of: told.append(done_of))
    assert workers.all([partial(int, "3"), partial(int, "4")]) == [3, 4]
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("n_jobs", [0, "2", 1.5, True])
def test_a_number_of_jobs_that_is_none_is_refused_in_a_sentence(n_jobs):
    with pytest.raises(PairscoreError, match=r"n_jobs is .*; use a number of jobs .* or None\."):
        Workers(n_jobs)


def test_groups_are_numbered_in_the_order_of_first_appearance():
    rows = np.array([3, 0, 2, 1])
    assert number_groups(["x", 5, "x", ("y",)], ITEMS, rows) == [0, 1, 1, 2]
    by_id = {"a": "x", "b": 5, "c": "x", "d": ("y",), "e": "unknown"}
    assert number_groups(by_id, ITEMS, rows) == [0, 1, 1, 2]
    assert number_groups({"d": 1, "a": 2}, ITEMS, rows[:2]) == [0, 1]


@pytest.mark.parametrize(
    ("item_groups", "sentence"),
    [
        ("x", "item_groups is 'x'; give one label for each item of the table, or a dict"),
        (["x"], "item_groups has 1 label for 4 items; give one for each item"),
        ({"a": 1, "b": 2}, "item_groups has no label for 2 compared items: 'c', 'd'; give each"),
        ([1, np.nan, None, []], "item_groups has no label for 3 compared items: 'b', 'c', 'd'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(item_groups, sentence):
    with pytest.raises(PairscoreError, match=sentence):
        number_groups(item_groups, ITEMS, np.arange(4))


def test_folds_load_no_scikit_learn():
    from tests.test_package import heavy_modules_after

    assert "sklearn" not in heavy_modules_after("import pairscore.data.folds")


@given(st.integers(0, 10**6), st.booleans())
def test_ranks_of_items_do_not_depend_on_their_rows(seed, are_alike):
    rng = np.random.default_rng(seed)
    X = np.ones((12, 1)) if are_alike else rng.integers(0, 2, (12, 3)) * 1.0
    low, high = np.triu_indices(12, 1)
    number = rng.integers(0, 5, len(low))
    net = rng.integers(-number, number + 1)
    rank, order = item_ranks(X, low, high, net, number), rng.permutation(12)
    place = np.argsort(order)
    first, second = place[low], place[high]
    swap = first > second
    moved = item_ranks(
        X[order],
        np.where(swap, second, first),
        np.where(swap, first, second),
        np.where(swap, -net, net),
        number,
    )
    np.testing.assert_array_equal(moved, rank[order])
    assert len(set(rank.tolist())) >= 11  # two items may have met the same fate


def test_items_of_a_group_are_one_unit_and_others_are_alone():
    rank, used = np.array([4, 2, 0, 1, 3]), np.array([True, True, True, False, True])
    assert number_units(rank, used, None).tolist() == [3, 1, 0, -1, 2]
    assert number_units(rank, used, np.array([7, 7, -1, 7, -1])).tolist() == [1, 1, 0, -1, 2]


# -- who is who ------------------------------------------------------------------------------------


def test_the_key_of_one_item_is_that_of_its_row_in_a_table_and_in_older_files():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-300, 300, (40, 7))
    values[3] = [0.0, -0.0, 1.0, np.inf, -np.inf, 1e300, 1e-300]
    keys = feature_keys(values)
    assert [int(feature_keys(row[None])[0]) for row in values] == keys.tolist()
    known = np.array([[1.5, -0.0, 1e300], [0.1, 2.0, -3.0]])
    written = [15645634535919391716, 8933814505907578672]
    assert feature_keys(known).tolist() == written
    assert feature_keys(np.tile(known, (20, 1)))[:2].tolist() == written


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 5))
def test_one_item_is_found_where_it_would_be_among_others(known, key):
    known, one = np.array(known, dtype=np.uint64), np.array([key], dtype=np.uint64)
    stranger = np.append(one, np.uint64(99))  # two items are looked up by sorting
    assert rows_of_same_features(known, one)[0] == rows_of_same_features(known, stranger)[0]


# -- processes -------------------------------------------------------------------------------------


def answer_after_ctrl_c(connection):
    signal.raise_signal(signal.SIGINT)
    connection.send(connection.recv() + 1)


def test_a_process_is_spawned_answers_and_is_deaf_to_ctrl_c():
    handler = signal.getsignal(signal.SIGINT)
    connection, process = start_process(answer_after_ctrl_c)
    with connection:
        connection.send(41)
        assert connection.recv() == 42
    process.join()
    assert (process.exitcode, type(process).__name__) == (0, "SpawnProcess")
    assert signal.getsignal(signal.SIGINT) == handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
