"""ItemKFold: test comparisons of new items only, training comparisons of the others only."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression


def study(n_items=40, n_comparisons=600, seed=0):
    """Items 0 to n-1 of which the last five are never compared."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    left = rng.integers(0, n_items - 5, n_comparisons)
    right = (left + rng.integers(1, n_items - 5, n_comparisons)) % (n_items - 5)
    left_won = (X[left] - X[right]) @ [2.0, 1.0] + rng.logistic(size=n_comparisons) > 0
    return Comparisons.from_frames(
        X, np.column_stack([np.where(left_won, left, right), np.where(left_won, right, left)])
    )


def items_of(X, rows):
    return set(X.left[rows]) | set(X.right[rows])


@pytest.mark.parametrize("shuffle", [True, False])
def test_test_comparisons_hold_out_both_items_and_training_ones_neither(shuffle):
    X, _ = study()
    for train, test in ItemKFold(4, shuffle=shuffle).split(X):
        assert len(train) > 0
        assert len(test) > 0
        assert not items_of(X, train) & items_of(X, test)


def test_mixed_comparisons_are_in_no_part_and_counted():
    X, _ = study()
    cv = ItemKFold(4)
    left_out = [len(X) - len(train) - len(test) for train, test in cv.split(X)]
    assert cv.mixed_counts(X) == left_out
    assert min(left_out) > 0


def test_touch_tests_the_mixed_comparisons_too():
    X, _ = study()
    both, touch = ItemKFold(4), ItemKFold(4, test="touch")
    for (train, test), (touch_train, touch_test), mixed in zip(
        both.split(X), touch.split(X), both.mixed_counts(X), strict=True
    ):
        np.testing.assert_array_equal(touch_train, train)
        assert set(test) < set(touch_test)
        assert len(touch_test) == len(test) + mixed
        assert sorted([*touch_train, *touch_test]) == list(range(len(X)))


def test_folds_partition_the_compared_items():
    X, _ = study(n_comparisons=3000)
    held_out = [items_of(X, test) for _, test in ItemKFold(5).split(X)]
    assert sorted(item for fold in held_out for item in fold) == list(range(35))
    assert [len(fold) for fold in held_out] == [7] * 5


def test_a_slice_deals_only_the_items_it_compares():
    X, _ = study(n_comparisons=3000)
    part = X[(X.left < 10) & (X.right < 10)]
    held_out = [items_of(part, test) for _, test in ItemKFold(2).split(part)]
    assert sorted(item for fold in held_out for item in fold) == list(range(10))


def test_the_same_seed_deals_the_same_folds_and_another_seed_others():
    X, _ = study()

    def tests(**options):
        return [test.tolist() for _, test in ItemKFold(3, **options).split(X)]

    assert tests(random_state=7) == tests(random_state=7)
    assert tests(random_state=7) != tests(random_state=8)
    assert tests(shuffle=False) == tests(shuffle=False, random_state=8)


def test_cross_validation_scores_every_fold():
    X, y = study()
    scores = cross_val_score(RankRegression(inference=None), X, y, cv=ItemKFold(4))
    assert scores.shape == (4,)
    assert scores.min() > 0.6
    assert ItemKFold(4).get_n_splits(X, y) == 4


def test_the_representation_names_the_settings():
    def on_one_line(cv):
        return " ".join(repr(cv).split())

    assert (
        on_one_line(ItemKFold(3, test="touch"))
        == "ItemKFold(item_groups=None, n_splits=3, random_state=0, shuffle=True, test='touch')"
    )
    assert on_one_line(ItemKFold(3, item_groups=["a", "b"])).startswith(
        "ItemKFold(item_groups=['a', 'b'], n_splits=3,"
    )
    assert len(repr(ItemKFold(3, item_groups=list(range(10_000))))) < 1000


@pytest.mark.parametrize(
    ("cv", "sentence"),
    [
        (
            ItemKFold(36),
            (
                "n_splits is 36, and the comparisons are of 35 items; use a whole number from 2 to"
                " the number of items."
            ),
        ),
        (
            ItemKFold(1),
            (
                "n_splits is 1, and the comparisons are of 35 items; use a whole number from 2 to"
                " the number of items."
            ),
        ),
        (
            ItemKFold(2.0),
            (
                "n_splits is 2.0, and the comparisons are of 35 items; use a whole number from 2 to"
                " the number of items."
            ),
        ),
        (ItemKFold(test="all"), "test is 'all'; use 'both' or 'touch'."),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_a_sentence(cv, sentence):
    with pytest.raises(PairscoreError) as caught:
        next(cv.split(study()[0]))
    assert str(caught.value) == sentence


def test_only_comparisons_can_be_split():
    with pytest.raises(
        PairscoreError,
        match=(
            r"^ItemKFold splits Comparisons, not ndarray; use what Comparisons.from_frames"
            r" returns\.$"
        ),
    ):
        next(ItemKFold().split(np.eye(4)))


def test_a_fold_without_test_comparisons_is_refused_with_a_remedy():
    X, _ = Comparisons.from_frames(
        np.arange(4.0)[:, None], np.array([[0, 1], [2, 3], [1, 2], [0, 3]])
    )
    with pytest.raises(PairscoreError) as caught:
        list(ItemKFold(4).split(X))
    assert (
        str(caught.value)
        == "fold 1 of 4 has no test comparison, because 2 of 4 comparisons mix held-out and other"
        " items; use fewer folds, or use test='touch', or use more comparisons."
    )


def test_a_fold_without_training_comparisons_is_refused_with_a_remedy():
    X, _ = Comparisons.from_frames(np.arange(4.0)[:, None], np.array([[0, 2]] * 3 + [[0, 1]]))
    with pytest.raises(PairscoreError) as caught:
        list(ItemKFold(2, shuffle=False, test="touch").split(X))
    assert (
        str(caught.value)
        == "fold 1 of 2 has no training comparison, because 1 of 4 comparisons mix held-out and"
        " other items; use shuffle=True, or use more folds, or use more comparisons."
    )


def disjoint_pairs(n_pairs):
    pairs = np.arange(2 * n_pairs).reshape(n_pairs, 2)
    return Comparisons.from_frames(np.arange(2.0 * n_pairs)[:, None], pairs)[0]


@pytest.mark.parametrize("seed", range(5))
def test_an_empty_fold_does_not_stop_a_cross_validation(seed):
    """Items are assigned again, around a comparison for each fold, if that is possible."""
    X = disjoint_pairs(5)
    cv = ItemKFold(5, random_state=seed)
    parts = list(cv.split(X))
    assert [len(test) for _, test in parts] == [1] * 5
    assert [len(train) for train, _ in parts] == [4] * 5
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(5))
    assert items_per_fold(cv, X).tolist() == [2] * 5
    assert cv.mixed_counts(X) == [0] * 5


def test_few_comparisons_can_be_cross_validated_with_any_seed():
    X, y = study(n_items=35, n_comparisons=40)
    for seed in range(30):
        cv = ItemKFold(5, random_state=seed)
        assert all(len(train) and len(test) for train, test in cv.split(X))
        assert np.ptp(items_per_fold(cv, X)) <= 2
    scores = cross_val_score(RankRegression(inference=None, l2=1.0), X, y, cv=ItemKFold(5))
    assert len(scores) == 5


def test_groups_of_items_are_assigned_around_comparisons_too():
    """Each topic has one comparison of its own; the two of the last one are one fold's."""
    X = disjoint_pairs(6)
    topics = np.repeat(np.arange(6), 2)
    for seed in range(10):
        cv = ItemKFold(6, random_state=seed, item_groups=topics)
        assert [len(test) for _, test in cv.split(X)] == [1] * 6
    star, _ = Comparisons.from_frames(
        np.arange(9.0)[:, None], np.array([[0, k] for k in range(9)][1:])
    )
    with pytest.raises(PairscoreError, match=r"has no (test|training) comparison, because"):
        list(ItemKFold(3).split(star))


def test_folds_that_were_right_stay_as_they_were():
    X, _ = study()
    fold, order = ItemKFold(4).fold_of_item(X), np.random.default_rng(0).permutation(35)
    np.testing.assert_array_equal(fold[order], np.arange(35) % 4)


# -- groups of items -------------------------------------------------------------------------------


def items_per_fold(cv, X):
    return np.bincount(cv.fold_of_item(X)[X.compared], minlength=cv.n_splits)


def greedy_by_hand(sizes, n_folds):
    """Numbers of items in the folds if the largest group always goes where there are fewest."""
    filled = [0] * n_folds
    for size in sorted(sizes, reverse=True):
        filled[filled.index(min(filled))] += size
    return filled


def test_the_items_of_a_group_are_held_out_together():
    X, _ = study(n_comparisons=3000)
    topics = np.array([f"topic {row % 9}" for row in range(40)])
    split_topics = 0
    for train, test in ItemKFold(4, item_groups=topics).split(X):
        assert not {topics[item] for item in items_of(X, train)} & {
            topics[item] for item in items_of(X, test)
        }
    for train, test in ItemKFold(4).split(X):  # folds of items do not keep topics together
        split_topics += len(
            {topics[item] for item in items_of(X, train)}
            & {topics[item] for item in items_of(X, test)}
        )
    assert split_topics > 0


@given(st.lists(st.integers(0, 7), min_size=40, max_size=40), st.integers(2, 4), st.integers(0, 5))
def test_folds_are_filled_as_evenly_as_the_greedy_rule_does(labels, n_splits, seed):
    X, _ = study(n_comparisons=3000)
    # the last five items are never compared
    sizes = [labels[:35].count(label) for label in set(labels[:35])]
    cv = ItemKFold(n_splits, random_state=seed, item_groups=labels)
    if len(sizes) < n_splits:
        with pytest.raises(
            PairscoreError, match="use a whole number from 2 to the number of groups"
        ):
            cv.fold_of_item(X)
        return
    assert sorted(items_per_fold(cv, X)) == sorted(greedy_by_hand(sizes, n_splits))
    fold = cv.fold_of_item(X)
    assert all(
        len({fold[row] for row in range(35) if labels[row] == label}) == 1 for label in labels[:35]
    )
    np.testing.assert_array_equal(fold[35:], -1)


def test_one_large_group_leaves_the_small_ones_to_the_other_folds():
    X, _ = study(n_comparisons=3000)
    assert sorted(items_per_fold(ItemKFold(3, item_groups=[0] * 19 + list(range(1, 22))), X)) == [
        8,
        8,
        19,
    ]


@pytest.mark.parametrize("shuffle", [True, False])
def test_groups_of_one_item_are_dealt_as_the_items_are(shuffle):
    X, _ = study()
    alone = ItemKFold(
        4, shuffle=shuffle, random_state=3, item_groups=[f"item {row}" for row in range(40)]
    )
    np.testing.assert_array_equal(
        alone.fold_of_item(X), ItemKFold(4, shuffle=shuffle, random_state=3).fold_of_item(X)
    )


def test_groups_of_one_size_are_dealt_by_the_seed():
    X, _ = study()
    labels = np.arange(40) // 5
    folds = {
        tuple(ItemKFold(3, random_state=seed, item_groups=labels).fold_of_item(X))
        for seed in range(10)
    }
    assert len(folds) > 1
    assert (
        len(
            {
                tuple(
                    ItemKFold(3, random_state=seed, shuffle=False, item_groups=labels).fold_of_item(
                        X
                    )
                )
                for seed in range(10)
            }
        )
        == 1
    )


def test_labels_come_in_any_kind():
    X, _ = study()
    labels = [row % 6 for row in range(40)]
    expected = ItemKFold(3, item_groups=labels).fold_of_item(X)
    mixed = [("six", label) if label else 0 for label in labels]
    index = pd.Series(labels, index=range(100, 140))
    kinds = [
        np.array(labels),
        tuple(labels),
        mixed,
        index,
        pl.Series(labels),
        dict(enumerate(labels)),
        dict(enumerate(labels[:35])),
    ]
    for item_groups in kinds:
        np.testing.assert_array_equal(
            ItemKFold(3, item_groups=item_groups).fold_of_item(X), expected
        )


def test_a_dict_goes_by_the_ids_and_only_compared_items_need_a_label():
    items = pd.DataFrame({"id": list("dcbax"), "size": [4.0, 3.0, 2.0, 1.0, 0.0]})
    votes = pd.DataFrame({"winner": list("adbcab"), "loser": list("bcaadd")})
    X, _ = Comparisons.from_frames(items, votes)
    fold = ItemKFold(
        2, item_groups={"a": "first", "b": "first", "c": "last", "d": "last", "unknown": "none"}
    ).fold_of_item(X)
    assert fold[0] == fold[1] != fold[2] == fold[3]
    assert fold[4] == -1
    np.testing.assert_array_equal(
        ItemKFold(2, item_groups=["last", "last", "first", "first", None]).fold_of_item(X), fold
    )


def test_mixed_comparisons_are_counted_with_groups_too():
    X, _ = study()
    cv = ItemKFold(4, item_groups=np.arange(40) % 8)
    assert cv.mixed_counts(X) == [len(X) - len(train) - len(test) for train, test in cv.split(X)]


def test_groups_survive_clone_and_a_search():
    X, y = study()
    cv = ItemKFold(3, item_groups=[f"topic {row % 7}" for row in range(40)])
    search = clone(GridSearchCV(RankRegression(inference=None), {"l2": [0.1, 1.0]}, cv=cv))
    assert search.get_params()["cv"].item_groups == cv.item_groups
    assert search.fit(X, y).n_splits_ == 3
    np.testing.assert_array_equal(clone(cv, safe=False).fold_of_item(X), cv.fold_of_item(X))


@pytest.mark.parametrize(
    ("item_groups", "sentence"),
    [
        (
            ["a"] * 39,
            (
                "item_groups has 39 labels for 40 items; give one for each item of the table, or"
                " give a dict from id to label."
            ),
        ),
        (
            ["a", "b"] * 20,
            (
                "n_splits is 5, and the comparisons are of 35 items in 2 groups; use a whole number"
                " from 2 to the number of groups."
            ),
        ),
        (
            [1.0] * 33 + [np.nan, None] + [2.0] * 5,
            (
                "item_groups has no label for 2 compared items: 33, 34; give each a text or a"
                " number as its group."
            ),
        ),
        (
            {row: row % 6 for row in range(34)},
            (
                "item_groups has no label for 1 compared item: 34; give each a text or a number as"
                " its group."
            ),
        ),
        (
            [["a"]] * 40,
            (
                "item_groups has no label for 35 compared items: 0, 1, 2, 3, 4 and 30 more; give"
                " each a text or a number as its group."
            ),
        ),
        (
            "topic",
            (
                "item_groups is 'topic'; give one label for each item of the table, or give a dict"
                " from id to label."
            ),
        ),
        (
            7,
            (
                "item_groups is 7; give one label for each item of the table, or give a dict from"
                " id to label."
            ),
        ),
    ],
)
def test_groups_that_do_not_fit_are_refused_in_a_sentence(item_groups, sentence):
    with pytest.raises(PairscoreError) as caught:
        next(ItemKFold(5, item_groups=item_groups).split(study()[0]))
    assert str(caught.value) == sentence


def test_groups_of_the_comparisons_are_held_out_together():
    X, _ = study()
    topics = [f"topic {row % 7}" for row in range(40)]
    expected = ItemKFold(3, item_groups=topics).fold_of_item(X)
    known = X.with_item_groups(topics)
    np.testing.assert_array_equal(ItemKFold(3).fold_of_item(known), expected)
    alone = ItemKFold(3, item_groups=list(range(40)))
    np.testing.assert_array_equal(alone.fold_of_item(known), ItemKFold(3).fold_of_item(X))
    with pytest.raises(PairscoreError, match="of 35 items in 7 groups; use"):
        ItemKFold(8).fold_of_item(known)


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_item_groups_go_through_a_search_over_l2():
    X, y = study()
    topics = [f"topic {row // 5}" for row in range(40)]
    known = X.with_item_groups(topics)
    search = GridSearchCV(
        RankRegression(inference=None),
        {"l2": [1.0, "auto", "auto-known"]},
        cv=ItemKFold(3),
        error_score="raise",
    )
    assert search.fit(known, y).n_splits_ == 3
    scores = cross_val_score(
        RankRegression(l2="auto"), known, y, cv=ItemKFold(3), error_score="raise"
    )
    assert np.isfinite(scores).all()
    # within a fold, too, the ridge is chosen with whole groups held out
    train, _ = next(ItemKFold(3).split(known))
    in_fold = RankRegression(l2="auto", inference=None).fit(known[train], y[train])
    by_hand = RankRegression(l2="auto", inference=None).fit(X[train], y[train], item_groups=topics)
    alone = RankRegression(l2="auto", inference=None).fit(X[train], y[train])
    assert np.array_equal(in_fold.ridge_curve_.loss, by_hand.ridge_curve_.loss)
    assert not np.allclose(in_fold.ridge_curve_.loss, alone.ridge_curve_.loss, rtol=1e-6)
