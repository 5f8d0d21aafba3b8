"""Recipes: what they make of old and new items, their records, and what they refuse.

Also missing values: the mean with a flag, or an effect of the item.
"""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.data.recipe import Recipe, is_numeric, level_names, make_recipe, recipe_of
from pairscore.data.tables import Columns
from pairscore.errors import CollinearFeaturesWarning
from tests.cli.running import run
from tests.data.conftest import says
from tests.model.test_fit import FEATURES, tables

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
        (salads(mass=["x", None]), ("'mass'", "is text (such as 'x')", "use categorical")),
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
                "'mass', 'age'; add them, or fit again with exclude=['mass', 'age']. Did you mean",
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


def gappy():
    items, votes = tables(m=2000)
    items.loc[[3, 9], "a"] = np.nan
    items.loc[[9, 20], "c"] = np.nan
    return items, votes


def test_an_effect_of_its_own_is_an_ability_without_features():
    """As R's BradleyTerry2 does it: the item has a parameter instead of its linear predictor."""
    items, votes = gappy()
    model = RankRegression(missing="item-effect").fit(items, votes)
    explicit = items.copy()
    for row in (3, 9, 20):
        explicit.loc[row, FEATURES] = 0.0
        explicit[f"item item {row}"] = (explicit.index == row).astype(float)
    witness = RankRegression().fit(explicit, votes)
    assert list(model.feature_names_in_) == [
        *FEATURES,
        "item item 3",
        "item item 9",
        "item item 20",
    ]
    # the effects differ by where the others stand
    np.testing.assert_allclose(model.coef_[:3], witness.coef_[:3], atol=1e-7)
    # leverage is measured from another mean
    np.testing.assert_allclose(model.std_errors_[:3], witness.std_errors_[:3], rtol=0.02)
    scores = [
        one.rank(table).set_index("id").loc[list(items["id"]), "score"].to_numpy()
        for one, table in ((model, items), (witness, explicit))
    ]
    np.testing.assert_allclose(np.diff(scores[0]), np.diff(scores[1]), atol=1e-6)
    rival = RankRegression(missing="mean-with-flag").fit(items, votes)
    assert np.abs(rival.coef_[:3] - witness.coef_[:3]).max() > 1e-4
    assert "3 items with an effect of their own: 'item 3', 'item 9', 'item 20'" in str(
        model.summary()
    )


def test_two_columns_with_the_same_gaps_share_one_flag(tmp_path):
    items, votes = gappy()
    items.loc[[3, 9], "b"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollinearFeaturesWarning)
        model = RankRegression(missing="mean-with-flag").fit(items, votes)
    assert list(model.feature_names_in_) == [*FEATURES, "a, b missing", "c missing"]
    assert np.isfinite(model.std_errors_).all()
    assert "2 of a, 2 of b, 2 of c; missing together, with one flag: a, b" in str(model.summary())
    explicit = items.fillna(items[FEATURES].mean())
    explicit["a, b missing"] = items["a"].isna().astype(float)
    explicit["c missing"] = items["c"].isna().astype(float)
    np.testing.assert_allclose(model.coef_, RankRegression().fit(explicit, votes).coef_)
    model.save(tmp_path / "model.npz")
    new = items.copy()
    new.loc[5, "a"] = np.nan  # alone, as never in the fit: the flag is for any of the two
    ranking = load(tmp_path / "model.npz").rank(new).set_index("id")["score"]
    at = explicit[list(model.feature_names_in_)].loc[5].to_numpy(copy=True)
    at[[0, 3]] = items["a"].mean(), 1.0
    assert ranking["item 5"] == pytest.approx((at - model.feature_mean_) @ model.coef_)


def test_a_recipe_from_before_shared_flags_has_one_for_each_column():
    old = Recipe(("a", "b"), missing="mean-with-flag", means={"a": (1.0,), "b": (2.0,)}).to_record()
    del old["flags"]
    recipe = Recipe.from_record(old)
    assert recipe.names == ("a", "b", "a missing", "b missing")
    table = Columns({"id": np.array(["x", "y"]), "a": np.array([np.nan, 3]), "b": np.ones(2)})
    np.testing.assert_array_equal(recipe.matrix(table), [[1, 1, 1, 0], [3, 1, 0, 0]])
    with pytest.raises(PairscoreError, match="recipe for features cannot be read"):
        Recipe.from_record(old | {"flags": [["a", "z"]]})


def test_a_flag_is_the_same_as_from_a_file(tmp_path):
    items, votes = gappy()
    items.to_csv(tmp_path / "items.csv", index=False)
    votes.to_csv(tmp_path / "votes.csv", index=False)
    for missing in ("mean-with-flag", "item-effect"):
        model = RankRegression(missing=missing).fit(items, votes)
        run(
            "fit",
            tmp_path / "items.csv",
            tmp_path / "votes.csv",
            "--missing",
            missing,
            "-o",
            tmp_path / "m.npz",
        )
        filed = load(tmp_path / "m.npz")
        assert list(filed.feature_names_in_) == list(model.feature_names_in_)
        np.testing.assert_allclose(filed.coef_, model.coef_, atol=1e-9)
        ranked = filed.rank(items)  # the recipe travels, so that raw columns do
        np.testing.assert_allclose(ranked["score"], model.rank(items)["score"], atol=1e-7)
        run("rank", tmp_path / "m.npz", tmp_path / "items.csv", "-o", tmp_path / "r.csv")
        np.testing.assert_allclose(
            pd.read_csv(tmp_path / "r.csv")["score"], ranked["score"], atol=1e-9
        )


def test_new_items_with_gaps_need_an_effect_or_a_flag():
    items, votes = gappy()
    new = pd.DataFrame({"id": ["x", "y"], "a": [1.0, np.nan], "b": [1.0, 2.0], "c": [0.0, 1.0]})
    with pytest.raises(PairscoreError, match="the fit has no effect for these items"):
        RankRegression(missing="item-effect").fit(items, votes).rank(new)
    assert len(RankRegression(missing="mean-with-flag").fit(items, votes).rank(new)) == 2
    without = new.assign(a=1.0, b=[np.nan, 1.0])
    with pytest.raises(PairscoreError, match="it has no flag for them"):
        RankRegression(missing="mean-with-flag").fit(items, votes).rank(without)


def test_an_own_effect_stays_when_the_values_are_found_later():
    items, votes = gappy()
    model = RankRegression(missing="item-effect").fit(items, votes)
    found = items.fillna(0.0)
    np.testing.assert_array_equal(model.rank(items)["score"], model.rank(found)["score"])


@pytest.mark.parametrize("kind", ["pandas", "nullable", "polars", "dict", "index"])
def test_every_kind_of_table(kind):
    items, votes = gappy()
    table = {
        "pandas": lambda: items,
        "nullable": lambda: items.convert_dtypes(),
        "polars": lambda: pl.DataFrame(
            {name: items[name].to_list() for name in items.columns}, nan_to_null=True
        ),
        "dict": lambda: {name: items[name].to_numpy() for name in items.columns},
        "index": lambda: items.set_index("id"),
    }[kind]()
    model = RankRegression(missing="item-effect").fit(table, votes)
    expected = RankRegression(missing="item-effect").fit(items, votes)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    ranked = model.rank(table)
    assert isinstance(ranked, {"polars": pl.DataFrame, "dict": dict}.get(kind, pd.DataFrame))
    np.testing.assert_allclose(
        np.asarray(ranked["score"]), expected.rank(items)["score"], rtol=1e-9
    )


def test_without_gaps_nothing_changes_and_cross_validation_works():
    from sklearn.model_selection import cross_val_score

    items, votes = tables()
    plain = RankRegression().fit(items, votes)
    for missing in ("mean-with-flag", "item-effect"):
        np.testing.assert_array_equal(
            RankRegression(missing=missing).fit(items, votes).coef_, plain.coef_
        )
    X, y = Comparisons.from_frames(*gappy(), missing="mean-with-flag")
    assert cross_val_score(RankRegression(inference=None), X, y, cv=3).mean() > 0.6


def test_what_cannot_be_meant(tmp_path):
    items, votes = gappy()
    with pytest.raises(PairscoreError, match="missing is 'guess'"):
        RankRegression(missing="guess").fit(items, votes)
    with pytest.raises(PairscoreError, match="NaN or infinite"):
        RankRegression().fit(items, votes)
    with pytest.raises(PairscoreError, match="the item table has none; add a column 'id'"):
        RankRegression(missing="item-effect").fit(
            items[FEATURES].to_numpy(), np.array([[0, 1], [1, 2]])
        )
    with pytest.raises(PairscoreError, match="80 of 80 items have missing values"):
        RankRegression(missing="item-effect").fit(items.assign(a=np.nan), votes)
    model = RankRegression(missing="item-effect").fit(items, votes)
    model.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(
        load(tmp_path / "m.npz").rank(items)["score"], model.rank(items)["score"]
    )


def test_masked_values_are_missing_values():
    items, votes = gappy()
    masked = np.ma.masked_invalid(items[FEATURES].to_numpy())
    masked.data[masked.mask] = 99.0  # what is under a mask counts for nothing
    rows = {name: row for row, name in enumerate(items["id"])}
    pairs = votes.assign(left=votes["left"].map(rows), right=votes["right"].map(rows))
    model = RankRegression(missing="mean-with-flag").fit(masked, pairs)
    expected = RankRegression(missing="mean-with-flag").fit(items, votes)
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x0 missing", "x2 missing"]
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def test_messages_name_settings_and_not_options():
    items, votes = gappy()
    with pytest.raises(PairscoreError) as caught:
        RankRegression(missing="mean-with-flag").fit(items.assign(b=np.nan), votes)
    assert str(caught.value) == ("1 column without any value: 'b'; leave it out: exclude=['b'].")
    with pytest.raises(
        PairscoreError, match=r"or use categorical='NAME' for a column of text, or give"
    ):
        RankRegression(missing="mean-with-flag").fit(items[["id"]], votes)


TABLE = Columns(
    {
        "id": ["p", "q", "r", "s"],
        "a": [1.0, 2, 3, 4],
        "b": [5.0, -1, 0.5, 2],
        "k": ["x", "y", "x", "z"],
        "note": ["-", "-", "-", "-"],
    }
)


def test_a_recipe_by_hand():
    recipe, left_out = make_recipe(
        TABLE, categorical=["k"], squares=["b"], interactions=["a:b", "k:a"]
    )
    assert left_out == ["note"]
    expected = {
        "a": [1, 2, 3, 4],
        "b": [5, -1, 0.5, 2],
        "k=x": [1, 0, 1, 0],
        "k=y": [0, 1, 0, 0],
        "k=z": [0, 0, 0, 1],
        "b^2": [25, 1, 0.25, 4],
        "a:b": [5, -2, 1.5, 8],
        "k=x:a": [1, 0, 3, 0],
        "k=y:a": [0, 2, 0, 0],
        "k=z:a": [0, 0, 0, 4],
    }
    assert recipe.names == tuple(expected)
    np.testing.assert_array_equal(recipe.matrix(TABLE), np.column_stack(list(expected.values())))
    new = Columns({"k": ["z"], "b": [3.0], "a": [10.0], "id": ["new"]})
    np.testing.assert_array_equal(recipe.matrix(new), [[10, 3, 0, 0, 1, 9, 30, 0, 0, 10]])
    assert Recipe.from_record(json.loads(json.dumps(recipe.to_record()))) == recipe


def test_means_and_flags_by_hand():
    table = Columns(
        {
            "id": ["p", "q", "r", "s"],
            "a": [1.0, np.nan, 3, 8],
            "b": [1.0, 2, 3, 4],
            "k": ["x", "x", None, "z"],
        }
    )
    recipe, _ = make_recipe(table, categorical=["k"], squares=["a"], missing="mean-with-flag")
    assert recipe.names == ("a", "b", "k=x", "k=z", "a missing", "k missing", "a^2")
    third = 1 / 3
    expected = [
        [1, 1, 1, 0, 0, 0, 1],
        [4, 2, 1, 0, 1, 0, 16],
        [3, 3, 2 * third, third, 0, 1, 9],
        [8, 4, 0, 1, 0, 0, 64],
    ]
    np.testing.assert_allclose(recipe.matrix(table), expected, rtol=1e-15)
    assert recipe.note == "filled with the mean, and flagged: 1 of a, 1 of k"
    new = Columns({"id": ["n"], "a": [np.nan], "b": [0.0], "k": ["z"]})
    np.testing.assert_allclose(recipe.items(new).values, [[4, 0, 0, 1, 1, 0, 16]])
    with pytest.raises(PairscoreError, match=r"'b' \(1: 'n'\); no value was missing there"):
        recipe.items(Columns({"id": ["n"], "a": [1.0], "b": [np.nan], "k": ["z"]}))


REFUSED = {
    "square of text": ({"squares": ["k"], "categorical": ["k"]}, "is the category itself"),
    "square of nothing": ({"squares": ["c"]}, "squares names 'c'"),
    "square of no feature": ({"features": ["a"], "squares": ["b"]}, "squares names 'b'"),
    "interaction of one": ({"interactions": ["a"]}, "does not name two features"),
    "interaction of unknown": ({"interactions": ["a:c"]}, "does not name two features"),
    "interaction with itself": ({"interactions": ["a:a"]}, r"use squares=\['a'\]"),
    "no numbers": ({"exclude": ["a", "b"]}, "no numeric column"),
    "unknown category": ({"categorical": ["K"]}, "categorical names 'K'"),
    "reference of nothing": ({"reference": {"K": "x"}}, "reference names 'K'"),
    "unknown reference": ({"reference": {"k": "X"}}, "the level 'X' of 'k', which no item has"),
    "text as number": ({"features": ["k"]}, "is text"),
    "unknown rule": ({"missing": "guess"}, "missing is 'guess'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_recipes_that_cannot_be(name):
    options, message = REFUSED[name]
    with pytest.raises(PairscoreError, match=message):
        make_recipe(TABLE, **options)


def test_a_column_with_a_reference_level_is_a_category():
    recipe, _ = make_recipe(TABLE, reference={"k": "y"})
    plain, _ = make_recipe(TABLE, categorical=["k"])
    assert recipe == replace(plain, reference={"k": "y"})
    assert Recipe.from_record(json.loads(json.dumps(recipe.to_record()))) == recipe
    old = plain.to_record()
    del old["reference"]  # of a model from before
    assert Recipe.from_record(old) == plain


def test_the_id_may_be_a_category_too():
    """One strength for each item, as in Bradley and Terry's model without features."""
    recipe, _ = make_recipe(TABLE, categorical=["id"], exclude=["a", "b"])
    items = recipe.items(TABLE)
    assert items.feature_names == ("id=p", "id=q", "id=r", "id=s")
    np.testing.assert_array_equal(items.values, np.eye(4))
    assert items.ids.tolist() == ["p", "q", "r", "s"]


def test_a_feature_is_not_made_twice():
    with pytest.raises(PairscoreError, match="made twice: 'a\\^2'"):
        make_recipe(Columns({"a": [1.0, 2], "a^2": [1.0, 4]}), squares=["a"])


def test_a_colon_may_be_part_of_a_name():
    recipe, _ = make_recipe(Columns({"a:b": [1.0, 2], "c": [3.0, 4]}), interactions=["a:b:c"])
    assert recipe.interactions == (("a:b", "c"),)


def test_the_recipe_of_a_model_is_checked_against_its_features():
    model = RankRegression(inference=None).fit(
        [[0.0], [1.0], [2.0]], np.array([[1, 0], [2, 1], [1, 2]])
    )
    assert recipe_of(model).names == ("x0",)
