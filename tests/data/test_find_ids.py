"""Ids in a column that is not called ``id``: found in the same way in memory, streams and files."""

import warnings

import numpy as np
import pandas as pd
import pytest

from pairscore import Comparisons, RankRegression, fit_stream
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.files.write import write_table
from pairscore.model.regression import load
from pairscore.streaming.sites import site_sums
from tests.cli.running import run


def study(ids, column="product", n=60, m=900, seed=0, **more):
    """Items known by ``ids``, and comparisons of them; scores follow two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = (X[left] - X[right]) @ [1.5, -1.0] + rng.logistic(size=m) > 0
    items = pd.DataFrame({column: ids, "a": X[:, 0], "b": X[:, 1], **more})
    votes = pd.DataFrame({"left": ids[left], "right": ids[right]})
    return items, votes.assign(winner=np.where(won, "left", "right"))


def shuffled(n=60, first=0, seed=1):
    return first + np.random.default_rng(seed).permutation(n)


def in_memory(items, votes, **columns):
    return RankRegression().fit(items, votes, **columns)


def of_comparisons(items, votes, **columns):
    return RankRegression().fit(*Comparisons.from_frames(items, votes, **columns))


def from_parquet(items, votes, **columns):
    items.to_parquet("i.parquet")
    votes.to_parquet("v.parquet")
    return fit_stream("i.parquet", "v.parquet", **columns)


def from_csv(items, votes, **columns):
    items.to_csv("i.csv", index=False)
    votes.to_csv("v.csv", index=False)
    return fit_stream("i.csv", "v.csv", **columns)


def by_command(options=""):
    def fit(items, votes, id=None):
        items.to_csv("i.csv", index=False)
        votes.to_csv("v.csv", index=False)
        named = "" if id is None else f"--id {id}"
        said = run(f"fit i.csv v.csv {options} {named} -o m.npz").stderr
        if "the ids of the items are in" in said:
            assert "Note: " in said
            warnings.warn(said, PairscoreWarning, stacklevel=1)
        return load("m.npz")

    return fit


WAYS = {
    "memory": in_memory,
    "comparisons": of_comparisons,
    "stream of tables": fit_stream,
    "stream of Parquet": from_parquet,
    "stream of CSV": from_csv,
    "fit": by_command(),
    "fit --stream": by_command("--stream"),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@every_way
@pytest.mark.parametrize(
    ("column", "ids"),
    [
        ("product", shuffled(first=1)),
        ("item_id", shuffled()),
        ("product", np.array([f"p{number:03}" for number in shuffled()], dtype=object)),
    ],
    ids=["numbers from 1", "numbers from 0, in a column that is called so", "text"],
)
def test_ids_are_found_in_the_column_that_has_what_the_comparisons_name(way, column, ids):
    items, votes = study(ids, column)
    with pytest.warns(PairscoreWarning, match=f"the ids of the items are in '{column}'"):
        found = way(items, votes)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the ids of the items")
        named = way(items, votes, id=column)
    assert found.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found.coef_, named.coef_)
    assert found.agreement_ == named.agreement_ > 0.7
    # the model remembers it
    assert found.recipe_["id"] == column


@every_way
def test_what_row_numbers_and_a_column_have_alike_is_asked_for(way):
    items, votes = study(shuffled())
    if way in (WAYS["fit"], WAYS["fit --stream"]):
        items.to_csv("i.csv", index=False)
        votes.to_csv("v.csv", index=False)
        stream = "--stream" if way is WAYS["fit --stream"] else ""
        said = run(f"fit i.csv v.csv {stream} -o m.npz", code=2).stderr
        assert said.count("\n") == 1
        assert "by row number or by 'product'" in said
        assert "name the column of ids with --id" in said
        return
    with pytest.raises(PairscoreError, match="by row number or by 'product', and these are diff"):
        way(items, votes)
    assert way(items, votes, id="product").agreement_ > 0.7


@every_way
def test_a_column_that_numbers_the_rows_in_order_is_no_feature(way):
    items, votes = study(np.arange(60))
    with pytest.warns(PairscoreWarning, match="the ids of the items are in 'product'"):
        found = way(items, votes)
    assert found.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found.coef_, way(items, votes, id="product").coef_)


@every_way
def test_row_numbers_are_taken_where_no_column_has_the_ids(way):
    items, votes = study(np.arange(60), count=np.random.default_rng(3).poisson(30, 60))
    items = items.drop(columns="product")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the ids of the items")
        model = way(items, votes)
    assert model.feature_names_in_.tolist() == ["a", "b", "count"]
    assert model.agreement_ > 0.7


@every_way
def test_the_only_feature_is_not_taken_for_ids(way):
    items, votes = study(np.arange(60))
    items = pd.DataFrame({"rank": np.argsort(np.argsort(items["a"] * 1.5 - items["b"]))})
    model = way(items, votes)
    assert model.feature_names_in_.tolist() == ["rank"]
    assert model.coef_[0] > 0


def test_two_columns_that_mean_different_items_are_asked_for():
    items, votes = study(shuffled(first=1), bed=shuffled(first=1, seed=7))
    with pytest.raises(PairscoreError, match=r"more than one column .* 'product', 'bed'; name"):
        in_memory(items, votes)
    told = items.rename(columns={"bed": "ID"})
    with pytest.warns(PairscoreWarning, match="in 'ID'"):
        in_memory(told, votes)


@every_way
@pytest.mark.parametrize("name", ["Nr", "No.", "Number", "Name", "item", "bed_id"])
def test_a_name_that_looks_like_ids_does_not_choose_between_columns(way, name):
    """A column ``Nr`` was taken in silence where ``product`` had the ids, and the ranks were wrong.

    Both had 1 to 60, in another order.
    """
    items, votes = study(shuffled(first=1), **{name: shuffled(first=1, seed=7)})
    said = refused(way, items, votes)
    assert "more than one column of the items has the ids that the comparisons name:" in said
    assert f"'product', '{name}'" in said
    assert "name the right one with" in said


@every_way
def test_columns_that_mean_the_same_items_are_not_asked_for(way):
    items, votes = study(np.arange(60, 0, -1), more_than=np.arange(60, 0, -1))
    with pytest.warns(PairscoreWarning, match="in 'Nr'"):
        way(items.rename(columns={"more_than": "Nr"}), votes)


def test_features_that_are_named_are_not_ids():
    items, votes = study(np.arange(60))
    model = in_memory(items, votes, features=["a", "product"])
    assert model.feature_names_in_.tolist() == ["a", "product"]
    model = in_memory(items, votes, exclude=["product"])
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_an_index_with_a_name_has_the_ids_and_another_one_may():
    items, votes = study(shuffled(), "item_id")
    named = items.set_index("item_id").assign(bed=np.arange(60))
    model = in_memory(named, votes)
    assert model.agreement_ > 0.7
    assert model.feature_names_in_.tolist() == ["a", "b", "bed"]
    mixed = items.sample(frac=1, random_state=0)  # whose index has the old row numbers
    with pytest.warns(PairscoreWarning, match="in 'item_id'"):
        np.testing.assert_allclose(in_memory(mixed, votes).coef_, model.coef_[:2], atol=0.1)
    with pytest.raises(PairscoreError, match="by row number or by 'product'"):
        in_memory(mixed.rename(columns={"item_id": "product"}), votes)


def test_an_array_of_votes_has_row_numbers_whatever_the_columns_are():
    items, votes = study(np.arange(60))
    items = items.assign(product=shuffled(), item_id=shuffled(seed=2))
    won = votes["winner"] == "left"
    pairs = np.column_stack(
        [np.where(won, votes["left"], votes["right"]), np.where(won, votes["right"], votes["left"])]
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the ids of the items")
        model = RankRegression().fit(items, pairs)
    assert "product" in model.feature_names_in_


def test_a_few_comparisons_of_unknown_items_are_named_and_not_hidden():
    items, votes = study(shuffled(first=1))
    votes.loc[3, "left"] = 61
    with (
        pytest.warns(PairscoreWarning, match="in 'product'"),
        pytest.raises(PairscoreError, match=r"names an unknown item: row 3 \(61\)"),
    ):
        in_memory(items, votes)


def test_sums_of_a_site_know_the_ids():
    items, votes = study(shuffled(first=1))
    with pytest.warns(PairscoreWarning, match="in 'product'"):
        sums = site_sums(items, votes)
    assert sums.terms.features == ("a", "b")
    np.testing.assert_array_equal(
        sums.label_sum, site_sums(items.rename(columns={"product": "id"}), votes).label_sum
    )
    items.to_csv("i.csv", index=False)
    votes.to_csv("v.csv", index=False)
    assert "Note: the ids of the items are in 'product'" in run("stats i.csv v.csv").stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_stream_takes_the_columns_that_settings_name_of_a_table_in_memory(kind):
    items, votes = study(shuffled(first=1), c=np.arange(60) % 7)
    write_table(items, f"i.{kind}")
    asked = {"id": "product", "features": ["b", "a"]}
    from_file = fit_stream(f"i.{kind}", votes, **asked)
    assert from_file.feature_names_in_.tolist() == ["b", "a"]
    np.testing.assert_array_equal(fit_stream(items, votes, **asked).coef_, from_file.coef_)
    without = fit_stream(items, votes, id="product", exclude=["c"])
    assert without.feature_names_in_.tolist() == ["a", "b"]


def test_commands_on_a_model_that_was_fitted_in_python_find_the_ids():
    items, votes = study(shuffled(first=1))
    RankRegression().fit(items.rename(columns={"product": "id"}), votes).save("m.npz")
    items.to_csv("i.csv", index=False)
    votes.to_csv("v.csv", index=False)
    run("predict m.npz i.csv v.csv -o found.csv")
    run("predict m.npz i.csv v.csv --id product -o named.csv")
    with open("found.csv") as found, open("named.csv") as named:
        assert found.read() == named.read()
    said = run("report m.npz i.csv v.csv -o page.html").stderr
    assert "Note: 'i.csv': the ids of the items are in 'product'" in said
    said = run("compare i.csv v.csv --folds 2 --model a: --model 'b: l2=9'").stderr
    assert "Note: 'i.csv': the ids of the items are in 'product'" in said


def test_the_note_on_row_numbers_is_true():
    """Ids 0, 1, 2, ... in order were said to be others than those of the comparisons."""
    items, votes = study(np.arange(60))
    items.to_csv("i.csv", index=False)
    votes.to_csv("v.csv", index=False)
    assert "the comparisons" not in run("fit i.csv v.csv -o m.npz").stderr.replace(
        "which has those that the comparisons name", ""
    )
    items.assign(product=[f"p{row}" for row in range(60)]).to_csv("i.csv", index=False)
    said = run("fit i.csv v.csv -o m.npz").stderr
    assert "known by row number, from 0 to 59; 'product' looks like ids, but the comp" in said


def test_the_rule_by_rows():
    """What names stand for by each column decides, and -1 is an item that is not there."""
    from pairscore.data.find_ids import choose_ids

    rows = np.arange(10)
    assert choose_ids({None: [rows], "x": [np.full(10, -1)]}) is None
    assert choose_ids({None: [np.full(10, -1)], "x": [rows]}) == "x"
    assert choose_ids({None: [rows], "x": [rows]}) is None
    assert choose_ids({None: [rows], "x": [rows]}, in_order=["x"]) == "x"
    assert choose_ids({None: [rows], "nr": [rows[::-1]], "x": [rows[::-1]]}) == "nr"
    for others in ({None: [rows]}, {"y": [np.roll(rows, 1)]}):
        with pytest.raises(PairscoreError, match="'x'"):
            choose_ids({"x": [rows[::-1]], **others})
    mostly = rows.copy()
    mostly[0] = -1  # one mistake in ten does not make row numbers ids
    with pytest.raises(PairscoreError, match="by row number or by 'x'"):
        choose_ids({None: [rows], "x": [np.where(mostly < 0, -1, rows[::-1])]})


def refused(way, items, votes, **columns):
    """The sentence of a refusal, in Python or by a command."""
    if way in (WAYS["fit"], WAYS["fit --stream"]):
        items.to_csv("i.csv", index=False)
        votes.to_csv("v.csv", index=False)
        stream = "--stream" if way is WAYS["fit --stream"] else ""
        return run(f"fit i.csv v.csv {stream} -o m.npz", code=2).stderr
    with pytest.raises(PairscoreError) as error:
        way(items, votes, **columns)
    return str(error.value)


@every_way
@pytest.mark.parametrize("column", ["nr", "product"])
@pytest.mark.parametrize("fault", ["twice", "empty"])
def test_ids_with_one_fault_are_no_feature_beside_row_numbers(way, column, fault):
    """One id that is empty or occurs twice, and the column was a feature, items row numbers."""
    items, votes = study(shuffled(), column)
    items[column] = items[column].astype("Int64")
    items.loc[7, column] = items.loc[3, column] if fault == "twice" else pd.NA
    said = refused(way, items, votes)
    assert f"'{column}'" in said
    assert "that the comparisons name" in said
    if way is WAYS["fit"]:
        assert (
            f"line 9, column '{column}': {'an id already' if fault == 'twice' else 'miss'}" in said
        )
    else:
        assert ("row 8" if "i." in said else "row 7") in said
        assert "give every item an id that no other has" in said


@pytest.mark.parametrize("options", ["--auto", "--missing mean-with-flag"])
def test_an_empty_id_is_no_missing_value_of_a_feature(options):
    items, votes = study(shuffled(), "nr")
    items.astype({"nr": "Int64"}).assign(nr=lambda of: of["nr"].mask(of.index == 7)).to_csv(
        "i.csv", index=False
    )
    votes.to_csv("v.csv", index=False)
    said = run(f"fit i.csv v.csv {options} -o m.npz", code=2).stderr
    assert "line 9, column 'nr': missing" in said


def test_ids_of_text_with_one_fault_are_found_in_columns_of_any_name():
    ids = np.array([f"p{number:03}" for number in shuffled()], dtype=object)
    items, votes = study(ids, "product")
    items.loc[7, "product"] = items.loc[3, "product"]
    items.to_csv("i.csv", index=False)
    votes.rename(columns={"left": "eins", "right": "zwei"}).to_csv("v.csv", index=False)
    said = run("fit i.csv v.csv -o m.npz", code=2).stderr
    assert "line 9, column 'product': an id already seen" in said


@pytest.mark.parametrize("way", [in_memory, of_comparisons, fit_stream, from_parquet])
def test_ids_that_a_dataframe_made_doubles_are_found(way):
    items, votes = study(shuffled(), "nr")
    right = way(items, votes, id="nr")
    doubles = items.astype({"nr": float}), votes.astype({"left": float, "right": float})
    for others in ((doubles[0], votes), (items, doubles[1]), doubles):
        with pytest.warns(PairscoreWarning, match="the ids of the items are in 'nr'"):
            found = way(*others)
        np.testing.assert_array_equal(found.coef_, right.coef_)
        named = way(others[0].rename(columns={"nr": "id"}), others[1])
        np.testing.assert_array_equal(named.coef_, right.coef_)


@pytest.mark.parametrize("way", [in_memory, of_comparisons])
def test_ids_as_text_and_as_numbers_are_not_taken_for_row_numbers(way):
    items, votes = study(shuffled(), "nr")
    text = items.astype({"nr": str}), votes.astype({"left": str, "right": str})
    assert "'nr' has the ids that the comparisons name" in refused(way, text[0], votes)
    assert "make both text, or both numbers" in refused(way, items, text[1])
    assert way(*text).agreement_ > 0.7


def test_numbers_that_are_no_ids_stay_features():
    """Row numbers are the ids where no column could be, also beside counts and other codes."""
    items, votes = study(np.arange(60), "count")
    rng = np.random.default_rng(2)
    for other in (np.arange(60) % 37, 10_000 + 7 * np.arange(60), rng.integers(0, 60, 60)):
        fit = in_memory(items.assign(count=other), votes)
        assert fit.feature_names_in_.tolist() == ["count", "a", "b"]
