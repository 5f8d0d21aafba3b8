"""What is given to ``fit``.

Items and votes, Comparisons, a matrix of differences, and odd things; and the record of it.
"""

import sys

import numpy as np
import pytest
from sklearn.base import clone

import pairscore
from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.errors import PairscoreWarning
from pairscore.model.fit_input import command_line, package_version
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


def comparisons(winner=1, values=((0.0,), (1.0,), (3.0,)), **columns):
    return Comparisons(np.array(values), [1, 2], [0, 1], [winner, 1], **columns)


def test_the_record_has_what_it_takes_to_make_the_model_again():
    X, _ = Comparisons.from_frames([[0.0], [1.0], [3.0]], np.array([[1, 0], [2, 1]]), seed=7)
    record = RankRegression("pooled", inference=None).fit(X).record_
    assert record["versions"]["pairscore"] == pairscore.__version__
    assert record["versions"]["numpy"] == np.__version__
    assert record["seed"] == 7
    assert record["fingerprint"] == X.fingerprint


@pytest.mark.parametrize("method", ["pooled", "mle"])
def test_no_fit_takes_a_fingerprint_before_somebody_asks(method, monkeypatch, tmp_path):
    asked = []

    def count(data):
        asked.append(len(data))
        return "of these data"

    monkeypatch.setattr(Comparisons, "fingerprint", property(count))
    model = RankRegression(method).fit(X).update(VOTES, repeated="add")
    model.rank(ITEMS)
    assert asked == []
    model.save(tmp_path / "model.npz")
    assert model.record_["fingerprint"] == "of these data"
    assert load(tmp_path / "model.npz").record_ == model.record_
    assert set(asked) == {len(X) + len(VOTES)}


def test_a_model_keeps_the_fingerprint_of_data_that_are_taken_away_and_what_is_noted():
    model = RankRegression("pooled", inference=None).fit(X)
    model.comparisons_ = None
    model.record_["note"] = "mine"
    assert model.record_["fingerprint"] == X.fingerprint
    assert model.record_["note"] == "mine"


def test_differences_alone_have_a_fingerprint_too():
    model = RankRegression(inference=None).fit(np.eye(3), [1, -1, 1])
    other = RankRegression(inference=None).fit(np.eye(3), [1, 1, -1])
    assert len(model.record_["fingerprint"]) == 32
    assert model.record_["fingerprint"] != other.record_["fingerprint"]


@pytest.mark.parametrize(
    "other",
    [
        comparisons(winner=-1),
        comparisons(values=((0.0,), (1.0,), (3.5,))),
        comparisons(weight=[1.0, 2.0]),
        comparisons(count=[1, 2]),
    ],
)
def test_other_data_have_another_fingerprint(other):
    assert comparisons().fingerprint == comparisons().fingerprint
    assert other.fingerprint != comparisons().fingerprint


def test_the_command_is_one_that_a_shell_takes(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/pairscore", "fit", "a b"])
    assert command_line() == "pairscore fit 'a b'"
    monkeypatch.setattr(sys, "argv", ["/somewhere/pairscore/__main__.py", "fit", "a b"])
    assert command_line() == "python -m pairscore fit 'a b'"
    monkeypatch.setattr(sys, "argv", [])
    assert command_line() == ""


def test_versions_are_those_installed():
    assert package_version("numpy") == np.__version__


def test_ties_alone_say_nothing_about_decided_comparisons():
    """The chance was 50 % with an interval of a few points, though nobody had ever won."""
    ties = {"left": ["a", "b", "c"] * 40, "right": ["b", "c", "a"] * 40, "winner": ["tie"] * 120}
    items = {"id": ["a", "b", "c"], "x": [0.0, 1.0, 3.0]}
    with pytest.warns(PairscoreWarning, match="every comparison is a tie: nothing was decided"):
        model = RankRegression(inference="model").fit(items, ties)
    chances = model.chances(Comparisons.from_frames(items, ties)[0])
    assert np.all(np.isnan(model.std_errors_))
    assert np.allclose(chances["chance"], 0.5)
    assert np.isnan([chances["low"], chances["high"]]).all()


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
