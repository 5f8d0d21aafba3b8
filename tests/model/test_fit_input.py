"""What is given to ``fit``.

Items and votes, Comparisons, a matrix of differences and odd things.
"""

import numpy as np
import pytest
from sklearn.base import clone

from pairscore import Comparisons, PairscoreError, RankRegression
from tests.model.test_regression import ITEMS, QUICK, VOTES, X, Y, says


def test_fit_without_votes_says_what_is_missing():
    with pytest.raises(
        PairscoreError, match=says("y is None", "give votes with the items, or Comparisons")
    ):
        RankRegression().fit(ITEMS)


def test_comparisons_bring_their_own_outcomes():
    model = clone(QUICK).fit(X)
    assert np.array_equal(model.coef_, clone(QUICK).fit(X, Y).coef_)
    assert model.score(X) == model.score(X, Y)


def test_the_three_ways_in_agree():
    from_tables = RankRegression(inference="model").fit(ITEMS, VOTES)
    from_comparisons = RankRegression(inference="model").fit(X, Y)
    values = ITEMS.to_numpy()
    from_differences = RankRegression().fit(values[X.left] - values[X.right], Y)
    assert np.array_equal(from_tables.coef_, from_comparisons.coef_)
    assert from_differences.coef_ == pytest.approx(from_tables.coef_, rel=1e-7)
    assert from_differences.std_errors_ == pytest.approx(from_tables.std_errors_, rel=1e-6)


def test_no_votes_at_all_are_said_in_a_sentence():
    with pytest.raises(PairscoreError, match="there are no comparisons"):
        RankRegression().fit(ITEMS, [])


def test_covariance_items_given_to_fit_count_for_comparisons_too():

    rows = np.flatnonzero(np.arange(len(X.items)) % 2 == 0)
    given, inside = (
        QUICK.set_params(method="split").fit(X, Y, covariance_items=rows),
        X.with_covariance_items(rows),
    )
    coef = given.coef_.copy()
    assert coef.tolist() == QUICK.fit(inside, Y).coef_.tolist()
    QUICK.set_params(method="mle")
    with pytest.raises(PairscoreError, match="a matrix of differences has none"):
        RankRegression().fit(np.eye(3), [1, -1, 1], covariance_items=[0])


def test_self_pairs_of_comparisons_were_decided_when_they_were_made():
    votes = np.array([[0, 1], [2, 1], [1, 0], [2, 2]])
    kept, y = Comparisons.from_frames([[0.0], [1.0], [3.0]], votes, self_pairs="keep")
    one, two = (
        RankRegression(inference=None).fit(kept, y, self_pairs=choice)
        for choice in ("error", "keep")
    )
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.n_comparisons_ == two.n_comparisons_ == 4
    for data in (kept, np.eye(4)):
        with pytest.raises(PairscoreError, match="self_pairs is 'drop'; use 'error' or 'keep'"):
            RankRegression().fit(data, y, self_pairs="drop")


@pytest.mark.parametrize("votes", ["left", b"left", 3])
def test_votes_that_are_no_table_are_said_in_a_sentence(votes):
    with pytest.raises(PairscoreError, match=r"the votes are a (str|bytes|int); give a dataframe"):
        RankRegression().fit(ITEMS, votes)


def test_a_zero_that_stands_for_a_loss_is_not_taken_for_a_tie():
    decided = Y != 0
    untied, y = X[decided], Y[decided]
    encoded = RankRegression(inference=None).fit(untied, (y > 0).astype(int))
    assert encoded.coef_.tolist() == RankRegression(inference=None).fit(untied, y).coef_.tolist()
    with pytest.raises(PairscoreError, match="write -1 where right won"):
        RankRegression(inference=None).fit(untied, (y < 0).astype(int))


# -- the record ------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_dict", [False, True], ids=["array", "dict"])
def test_groups_of_all_items_of_a_table_hold_also_where_some_items_are_dropped(as_dict):
    rng = np.random.default_rng(4)
    ids, X = np.array([f"i{k}" for k in range(20)]), rng.normal(size=(20, 2))
    left = rng.integers(0, 20, 150)
    right = (left + rng.integers(1, 20, 150)) % 20
    won = rng.random(150) < 1 / (1 + np.exp(-(X[left] - X[right]) @ [1.0, -0.5]))
    votes = {"left": ids[left], "right": ids[right], "winner": np.where(won, "left", "right")}
    labels, kept = np.array(["even", "odd", "third", "last"])[np.arange(20) % 4], np.arange(20) != 7
    gap = np.where(kept, X[:, 0], np.nan)
    groups = dict(zip(ids, labels, strict=True)) if as_dict else labels
    both_kept = kept[left] & kept[right]
    complete = {"id": ids[kept], "x": X[kept, 0], "y": X[kept, 1]}
    whole = {name: column[both_kept] for name, column in votes.items()}
    expected = RankRegression(l2="auto", inference=None).fit(
        complete, whole, item_groups=groups if as_dict else labels[kept]
    )
    model = RankRegression(l2="auto", missing="drop-items", inference=None).fit(
        {"id": ids, "x": gap, "y": X[:, 1]}, votes, item_groups=groups
    )
    assert model.l2_ == expected.l2_
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
