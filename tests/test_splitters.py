"""ItemKFold: test comparisons of new items only, training comparisons of the others only."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression


def study(n_items=40, n_comparisons=600, seed=0):
    """Items 0 to n-1 of which the last five are never compared."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    left = rng.integers(0, n_items - 5, n_comparisons)
    right = (left + rng.integers(1, n_items - 5, n_comparisons)) % (n_items - 5)
    left_won = (X[left] - X[right]) @ [2.0, 1.0] + rng.logistic(size=n_comparisons) > 0
    return Comparisons.from_frames(X, np.column_stack([np.where(left_won, left, right), np.where(left_won, right, left)]))


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
    for (train, test), (touch_train, touch_test), mixed in zip(both.split(X), touch.split(X), both.mixed_counts(X), strict=True):
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
    assert repr(ItemKFold(3, test="touch")) == "ItemKFold(n_splits=3, random_state=0, shuffle=True, test='touch')"


@pytest.mark.parametrize(
    ("cv", "sentence"),
    [
        (ItemKFold(36), "n_splits is 36, and the comparisons are of 35 items; use a whole number from 2 to the number of items."),
        (ItemKFold(1), "n_splits is 1, and the comparisons are of 35 items; use a whole number from 2 to the number of items."),
        (ItemKFold(2.0), "n_splits is 2.0, and the comparisons are of 35 items; use a whole number from 2 to the number of items."),
        (ItemKFold(test="all"), "test is 'all'; use 'both' or 'touch'."),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_a_sentence(cv, sentence):
    with pytest.raises(PairscoreError) as caught:
        next(cv.split(study()[0]))
    assert str(caught.value) == sentence


def test_only_comparisons_can_be_split():
    with pytest.raises(PairscoreError, match=r"^ItemKFold splits Comparisons, not ndarray; use X, y = Comparisons.from_frames\(items, votes\)\.$"):
        next(ItemKFold().split(np.eye(4)))


def test_a_fold_without_test_comparisons_is_refused_with_a_remedy():
    X, _ = Comparisons.from_frames(np.arange(4.0)[:, None], np.array([[0, 1], [2, 3], [1, 2], [0, 3]]))
    with pytest.raises(PairscoreError) as caught:
        list(ItemKFold(4).split(X))
    assert str(caught.value) == (
        "fold 0 of 4 has no test comparison, because 2 of 4 comparisons mix held-out and other items; use fewer folds, test='touch' or more comparisons."
    )


def test_a_fold_without_training_comparisons_is_refused_with_a_remedy():
    X, _ = Comparisons.from_frames(np.arange(4.0)[:, None], np.array([[0, 2]] * 3 + [[0, 1]]))
    with pytest.raises(PairscoreError) as caught:
        list(ItemKFold(2, shuffle=False, test="touch").split(X))
    assert str(caught.value) == (
        "fold 0 of 2 has no training comparison, because 1 of 4 comparisons mix held-out and other items; use more folds or more comparisons."
    )
