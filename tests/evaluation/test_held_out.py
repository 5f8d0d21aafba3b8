"""Held-out comparisons: what is set aside leaves the rest linked; rows, folds and counts."""

import numpy as np
import pytest

from pairscore import Comparisons
from pairscore.evaluation.held_out import assign_pairs, linking, split_comparisons


def n_groups(left, right, items):
    """Groups of items that comparisons link, by a loop."""
    group = {item: item for item in items}
    for one, other in zip(left, right, strict=True):
        old, new = group[one], group[other]
        group = {item: new if of == old else of for item, of in group.items()}
    return len(set(group.values()))


@pytest.mark.parametrize("seed", range(4))
def test_no_item_loses_its_link_to_the_others_by_what_is_held_out(seed):
    """A chain and a cluster: every pair of the chain is needed, those of the cluster are not all.

    Of what stays for its link alone, nothing could be spared.
    """
    rng = np.random.default_rng(seed)
    cluster = rng.integers(6, 12, size=(40, 2))
    chain = np.column_stack([np.arange(7), np.arange(1, 8)])
    pairs = np.vstack([chain, cluster[cluster[:, 0] != cluster[:, 1]]])
    X = Comparisons(np.zeros((12, 1)), *pairs.T, rng.choice([-1, 0, 1], len(pairs)))
    items = sorted(set(pairs.ravel().tolist()))
    for number in range(3):
        aside = assign_pairs(X, 3, np.random.default_rng(seed)) == number
        kept = linking(X, aside)
        assert not np.any(kept & ~aside)
        train = ~aside | kept
        assert n_groups(X.left[train], X.right[train], items) == n_groups(X.left, X.right, items)
        for pair in np.unique(X.pair[kept]):
            less = train & (X.pair != pair)
            assert n_groups(X.left[less], X.right[less], items) > 1


def test_all_comparisons_of_a_pair_have_one_part_and_parts_are_even():
    rng = np.random.default_rng(1)
    X = Comparisons(np.zeros((9, 1)), *rng.integers(0, 9, (2, 300)), rng.choice([-1, 1], 300))
    part = assign_pairs(X, 4, np.random.default_rng(2))
    pairs = {(min(one), max(one)) for one in zip(X.left, X.right, strict=True)}
    parts = {pair: set() for pair in pairs}
    for one, number in zip(zip(X.left, X.right, strict=True), part, strict=True):
        parts[min(one), max(one)].add(int(number))
    assert all(len(numbers) == 1 for numbers in parts.values())
    sizes = np.bincount([numbers.pop() for numbers in parts.values()], minlength=4)
    assert np.ptp(sizes) <= 1


def test_who_is_trained_on_and_who_is_new_is_that_of_a_loop():
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 12, (2, 60))
    X = Comparisons(np.zeros((12, 1)), left, right, rng.choice([-1, 1], 60))
    held_out, aside = rng.random(12) < 0.3, rng.random(60) < 0.2
    train, test, n_new = split_comparisons(X, held_out, aside)
    expected = [m for m in range(60) if not (held_out[left[m]] or held_out[right[m]] or aside[m])]
    assert train.tolist() == expected
    known = {*left[expected].tolist(), *right[expected].tolist()}
    rows = [
        m
        for m in range(60)
        if m not in expected
        and left[m] != right[m]
        and all(held_out[item] or item in known for item in (left[m], right[m]))
    ]
    assert test.tolist() == rows
    assert n_new.tolist() == [int(held_out[left[m]]) + int(held_out[right[m]]) for m in rows]
