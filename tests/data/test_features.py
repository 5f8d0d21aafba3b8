"""Recipes: what they make of old and new items, their records, and what they refuse.

Recipes by hand are in test_feature_options.py.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.data.features import Recipe, is_numeric, level_names, read_plain
from pairscore.data.items import one_row
from pairscore.data.tables import Columns
from tests.data.conftest import says

RECIPE = Recipe(
    features=("mass", "age"),
    categorical={"style": ("oil", "vinegar")},
    squares=("age",),
    interactions=(("mass", "style"),),
)
EFFECTS = Recipe(
    features=("mass",), missing="item-effect", means={"mass": (2.5,)}, effect_items=("7", "b")
)


def salads(**columns):
    table = {"id": ["a", "b"], "mass": [1.0, 2.0], "age": [3.0, 4.0], "style": ["oil", "vinegar"]}
    return Columns(table | columns)


def test_features_are_named_and_made_in_one_order():
    items = RECIPE.items(salads())
    assert items.feature_names == (
        "mass",
        "age",
        "style=oil",
        "style=vinegar",
        "age^2",
        "mass:style=oil",
        "mass:style=vinegar",
    )
    assert items.values.tolist() == [[1, 3, 1, 0, 9, 1, 0], [2, 4, 0, 1, 16, 0, 2]]
    assert items.names == ["a", "b"]


def test_products_say_which_columns_they_are():
    recipe = replace(RECIPE, interactions=(("mass", "style"), ("style", "age"), ("mass", "age")))
    for pair, cells in recipe.product_blocks.items():
        levels = [[""] if name != "style" else ["=oil", "=vinegar"] for name in pair]
        for row, first in enumerate(levels[0]):
            for column, second in enumerate(levels[1]):
                name = f"{pair[0]}{first}:{pair[1]}{second}"
                assert recipe.names[cells[row, column]] == name
    assert RECIPE.product_blocks[("mass", "style")].tolist() == [[5, 6]]
    assert replace(RECIPE, interactions=()).product_blocks == {}


def test_an_item_with_an_effect_stands_at_the_mean_and_others_have_none():
    table = Columns({"id": ["b", 7, "new"], "mass": [np.nan, 9.0, 1.0]})
    assert EFFECTS.names == ("mass", "item 7", "item b")
    assert EFFECTS.items(table).values.tolist() == [[2.5, 0, 1], [2.5, 1, 0], [1, 0, 0]]


def test_ids_that_are_numbers_are_a_feature_too():
    """A file has ids as text where one of them is not a whole number."""
    recipe = Recipe(features=("mass",), id="mass")
    items = recipe.items(Columns({"mass": ["0.5", "2"]}, from_file=True))
    assert (items.values.tolist(), items.names) == ([[0.5], [2.0]], ["0.5", "2"])
    said = "'mass' has the ids and is also a feature of the model, but 'x7' is not a number; take"
    with pytest.raises(PairscoreError, match=says(said)):
        recipe.items(Columns({"mass": ["0.5", "x7"]}, from_file=True))


def test_items_without_ids_are_new_items_without_effects():
    unnamed = replace(EFFECTS, id=None)
    assert unnamed.items(Columns({"mass": [4.0, 5.0]})).values.tolist() == [[4, 0, 0], [5, 0, 0]]
    with pytest.raises(PairscoreError, match="the fit has no effect for these items"):
        unnamed.items(Columns({"mass": [4.0, np.nan]}))


def test_items_with_gaps_are_dropped_by_name_or_row_number():
    table = Columns({"id": ["a", "b", "c"], "mass": [1.0, np.nan, 3.0]})
    assert Recipe(("mass",), missing="drop-items").items(table).names == ["a", "c"]
    assert Recipe(("mass",), missing="drop-items", id=None).items(table).names == [0, 2]
    with pytest.raises(PairscoreError, match="no rows without missing values"):
        Recipe(("mass",), missing="drop-items").items(table.take(np.array([1])))


# -- records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", [RECIPE, EFFECTS, Recipe(("a",), id=None, note="nothing")])
def test_a_record_survives_json(recipe):
    assert Recipe.from_record(json.loads(json.dumps(recipe.to_record()))) == recipe


def test_model_files_call_the_items_with_effects_own_and_the_first_had_none():
    record = EFFECTS.to_record()
    assert record["own"] == ("7", "b")
    assert "effect_items" not in record
    record = RECIPE.to_record()
    del record["own"]
    assert Recipe.from_record(record) == RECIPE


@pytest.mark.parametrize(
    "damage",
    [
        {"features": None},
        {"features": [], "categorical": {}, "squares": [], "interactions": []},
        {"squares": ["height"]},
        {"interactions": [["mass", "height"]]},
        {"interactions": [["mass"]]},
        {"means": {"height": [1.0]}},
        {"means": {"mass": ["heavy"]}},
        {"missing": "guess"},
        {"categorical": ["style"]},
        {"reference": {"style": "soy"}},
        {"reference": {"mass": "oil"}},
    ],
)
def test_damaged_records_are_refused(damage):
    with pytest.raises(PairscoreError, match="the model's recipe for features cannot be read"):
        Recipe.from_record(RECIPE.to_record() | damage)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "facts"),
    [
        (salads(style=["oil", "soy"]), ("1 item has a level of 'style'", "'soy'", "'vinegar'")),
        (salads(style=["soy", "egg"]), ("2 items have levels of 'style'", "'soy', 'egg'")),
        (salads(mass=["x", None]), ("'mass'", "is text (such as 'x')", "0/1 columns")),
        (
            salads(mass=[1, None], style=[None, "oil"]),
            (
                "2 feature values are missing",
                "'mass' (1: 'b')",
                "'style' (1: 'a')",
                "missing='drop",
            ),
        ),
        (salads(mass=[1, np.inf]), ("3 feature values are NaN or infinite", "'mass' (1)")),
        (salads(id=["a", "a"]), ("1 row", "repeats an id")),
        (
            Columns({"id": ["a"], "masse": [1.0], "style": ["oil"]}),
            (
                "lacks 2 columns",
                "'mass', 'age'; add them, or fit again with exclude=. Did you mean",
            ),
        ),
        (
            Columns({"ID": ["a"], "mass": [1.0]}),
            ("no column 'id' for the ids", "id='NAME'. Did you mean 'ID'?"),
        ),
        (salads().take(np.array([], dtype=int)), ("the item table has no rows; give one row",)),
    ],
)
def test_tables_that_do_not_fit_the_recipe_are_refused(table, facts):
    with pytest.raises(PairscoreError, match=says(*facts)):
        RECIPE.items(table)


def test_levels_are_text_and_truth_values_are_numbers():
    assert level_names(np.array([7, "7", None, np.nan], dtype=object)) == ["7", "7", None, None]
    assert is_numeric(Columns({"a": [True, False]}), "a")
    assert not is_numeric(Columns({"a": ["1", "2"]}), "a")


# -- one item --------------------------------------------------------------------------------------


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


def test_single_values_become_columns_of_one_row():
    made = one_row({"mass": 1.5, "style": "oil", "gap": None, "size": [3.0]})
    assert made == {"mass": [1.5], "style": ["oil"], "gap": [None], "size": [3.0]}
