"""Items that a fit is asked about: one alone, as a dict or a row, with gaps."""

import numpy as np
import pandas as pd
import pytest

from pairscore import RankRegression
from pairscore.model.items_to_score import read_plain
from tests.model.test_fit import tables


def test_one_item_is_a_dict_of_numbers_in_any_order():
    items, votes = tables(seed=2)
    model = RankRegression().fit(items, votes)
    features = [name for name in items.columns if name != "id"]
    row = items[features].iloc[3]
    one = {name: float(row[name]) for name in reversed(features)}
    expected = model.decision_function(row.to_numpy()[None])
    for given in (one, {name: [one[name]] for name in features}, one | {"id": "new", "hue": "red"}):
        np.testing.assert_array_equal(model.decision_function(given), expected)
    assert model.rank(one | {"id": "new"})["id"].tolist() == ["new"]
    other = one | {features[0]: 0.0}
    assert model.difference(one, other) == model.difference(
        [one[name] for name in features], [other[name] for name in features]
    )


def test_one_item_with_a_missing_value_is_read_as_a_table_with_one():
    masses = {"id": np.arange(6), "mass": [1.0, 2.0, 4.0, np.nan, 3.0, 5.0]}
    votes = np.array([[1, 0], [2, 1], [2, 3], [3, 0], [1, 2], [0, 3], [4, 5], [5, 3], [4, 1]])
    model = RankRegression(missing="mean-with-flag", l2=1.0, inference=None).fit(masses, votes)
    for mass in (2.5, np.nan):
        table = model.decision_function({"id": [9], "mass": [mass]})
        np.testing.assert_array_equal(model.decision_function({"mass": mass}), table)
    np.testing.assert_array_equal(model.decision_function({"mass": None}), table)


@pytest.mark.parametrize("columns", [["id", "x0"], ["x0"]])
def test_a_known_item_is_known_when_it_comes_alone(columns):
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"id": [f"i{row}" for row in range(40)], "x0": rng.normal(size=40)})
    votes = np.array([(a, (a + k) % 40) for a in range(40) for k in (1, 2, 5, 11)])
    votes = np.where(rng.random((len(votes), 1)) < 0.5, votes, votes[:, ::-1])
    names = items["id"].to_numpy()[votes]
    table = {"winner": names[:, 0], "loser": names[:, 1]}
    model = RankRegression(item_effects=True).fit(items, table)
    scores = model.decision_function(items)
    assert np.ptp(scores - items["x0"] * model.coef_[0]) > 0
    for row in (0, 3, 39):
        alone = items[columns].iloc[row].to_dict()
        np.testing.assert_array_equal(model.decision_function(alone), scores[[row]])


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({"age": 3, "mass": 1.5}, None),
        ({"age": True, "mass": 1.5, "colour": "red", "id": "a"}, ["a"]),
        ({"age": [3], "mass": [1.5], "id": [7]}, [7]),
        (np.array([[1.5, 3.0]]), None),
        (np.array([[1.5, 3.0]], dtype=np.float32), None),
    ],
)
def test_a_plain_item_is_read_in_the_order_of_the_fit(given, ids):
    items = read_plain(given, ("mass", "age"), "id")
    assert items.values.tolist() == [[1.5, 1.0 if ids == ["a"] else 3.0]]
    assert items.values.dtype == float
    assert (None if items.ids is None else items.ids.tolist()) == ids


@pytest.mark.parametrize(
    "given",
    [
        {"mass": 1.5},
        {"mass": 1.5, "age": "old"},
        {"mass": 1.5, "age": None},
        {"mass": 1.5, "age": np.nan},
        {"mass": 1e200, "age": 1.0},
        {"mass": [1.5, 2.0], "age": [3.0, 4.0]},
        {"mass": [1.5], "age": 3.0},
        {},
        np.array([1.5, 3.0]),
        np.array([[1.5]]),
        np.array([["a", "b"]]),
        np.array([[1.5, np.inf]]),
        np.empty((0, 2)),
        np.array(3.0),
        np.ma.masked_array([[1.5, 3.0]], [[False, True]]),
        [[1.5, 3.0]],
        None,
    ],
    ids=repr,
)
def test_what_is_no_plain_item_is_left_to_those_who_explain(given):
    assert read_plain(given, ("mass", "age"), "id") is None
