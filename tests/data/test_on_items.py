"""OnItems: any scikit-learn transformer, learning from the compared items and changing all."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from pairscore import Comparisons, ItemKFold, OnItems, PairscoreError, RankRegression, compare


def wines(n_items=60, n_comparisons=500, seed=0):
    """A table of 60 wines, the last ten of which (with huge values) are never compared."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    X[-10:] += 1000.0
    table = pd.DataFrame(X, columns=["acid", "sugar", "oak"])
    table.insert(0, "id", [f"wine {row}" for row in range(n_items)])
    left = rng.integers(0, n_items - 10, n_comparisons)
    right = (left + rng.integers(1, n_items - 10, n_comparisons)) % (n_items - 10)
    left_won = (X[left] - X[right]) @ [1.0, -1.0, 0.5] + rng.logistic(size=n_comparisons) > 0
    names = table["id"].to_numpy()
    votes = pd.DataFrame(
        {"left": names[left], "right": names[right], "winner": np.where(left_won, "left", "right")}
    )
    return table, votes


def test_a_scaler_learns_from_the_compared_items_only():
    table, votes = wines()
    X, y = Comparisons.from_frames(table, votes)
    scaled = OnItems(StandardScaler()).fit_transform(X, y)
    expected = (
        StandardScaler().fit(table.iloc[:50, 1:].to_numpy()).transform(table.iloc[:, 1:].to_numpy())
    )
    np.testing.assert_allclose(scaled.items.values, expected, rtol=1e-12)
    np.testing.assert_allclose(scaled.items.values[:50].mean(axis=0), 0, atol=1e-12)
    assert scaled.items.values[50:].min() > 500


def test_everything_but_the_features_stays_as_it_was():
    X, _ = Comparisons.from_frames(*wines())
    scaled = OnItems(StandardScaler()).fit_transform(X)
    assert scaled.left is X.left
    assert scaled.right is X.right
    assert scaled.outcome is X.outcome
    assert scaled.items.names == X.items.names
    assert scaled.items.feature_names == ("acid", "sugar", "oak")
    assert X.items.values[0, 0] == wines()[0]["acid"][0]


def test_a_scaler_in_a_pipeline_does_not_change_probabilities():
    X, y = Comparisons.from_frames(*wines())
    plain, piped = (
        RankRegression().fit(X, y),
        make_pipeline(OnItems(StandardScaler()), RankRegression()).fit(X, y),
    )
    np.testing.assert_allclose(piped.predict_proba(X), plain.predict_proba(X), rtol=1e-6)


def test_new_items_are_transformed_as_the_old_ones_and_come_back_in_the_callers_kind():
    table, votes = wines()
    X, y = Comparisons.from_frames(table, votes)
    scaler = OnItems(StandardScaler()).fit(X)
    model, plain = RankRegression().fit(scaler.transform(X), y), RankRegression().fit(X, y)
    new = pl.DataFrame(
        {
            "id": ["a", "b", "c"],
            "acid": [0.5, 1.0, -1.0],
            "sugar": [0.0, 0.1, 0.2],
            "oak": [0.0, 0.0, 0.0],
        }
    )
    ranking = model.rank(scaler.transform(new))
    assert isinstance(ranking, pl.DataFrame)
    assert ranking["id"].to_list() == plain.rank(new)["id"].to_list() == ["b", "a", "c"]
    np.testing.assert_allclose(
        np.diff(ranking["score"]), np.diff(plain.rank(new)["score"]), rtol=1e-6
    )


def test_an_item_table_can_be_learnt_from_whole():
    table, _ = wines()
    everything = OnItems(StandardScaler()).fit_transform(table)
    np.testing.assert_allclose(everything.values.mean(axis=0), 0, atol=1e-12)


def test_principal_components_change_the_number_of_features_and_their_names():
    X, y = Comparisons.from_frames(*wines())
    pca = OnItems(PCA(2)).fit(X)
    reduced = pca.transform(X)
    assert reduced.shape == (500, 2)
    assert reduced.items.feature_names == ("pca0", "pca1")
    model = RankRegression().fit(reduced, y)
    assert model.coef_.shape == (2,)
    assert list(model.summary().to_frame()["feature"]) == ["pca0", "pca1"]


def test_products_of_features_are_named():
    X, _ = Comparisons.from_frames(*wines())
    products = OnItems(
        PolynomialFeatures(2, include_bias=False, interaction_only=True)
    ).fit_transform(X)
    assert products.items.feature_names == (
        "acid",
        "sugar",
        "oak",
        "acid sugar",
        "acid oak",
        "sugar oak",
    )


def test_a_function_without_names_keeps_them_or_counts():
    X, _ = Comparisons.from_frames(*wines())
    assert OnItems(FunctionTransformer(np.abs)).fit_transform(X).items.feature_names == (
        "acid",
        "sugar",
        "oak",
    )
    assert OnItems(FunctionTransformer(lambda values: values[:, :2])).fit_transform(
        X
    ).items.feature_names == ("x0", "x1")


def test_a_sparse_answer_is_taken():
    X, _ = Comparisons.from_frames(np.array([[0.0], [1.0], [2.0]]), np.array([[1, 0], [2, 1]]))
    encoded = OnItems(OneHotEncoder()).fit_transform(X)
    np.testing.assert_array_equal(encoded.items.values, np.eye(3))


def test_the_settings_of_the_transformer_can_be_searched():
    X, y = Comparisons.from_frames(*wines())
    pipeline = make_pipeline(OnItems(PCA()), RankRegression(inference=None))
    search = GridSearchCV(
        pipeline, {"onitems__transformer__n_components": [1, 3]}, cv=ItemKFold(3)
    ).fit(X, y)
    assert search.best_params_ == {"onitems__transformer__n_components": 3}


def test_the_transformer_given_is_not_changed_by_fit():
    scaler = StandardScaler()
    fitted = OnItems(scaler).fit(Comparisons.from_frames(*wines())[0])
    assert fitted.transformer is scaler
    assert not hasattr(scaler, "mean_")


def test_it_must_be_fitted_first():
    with pytest.raises(NotFittedError):
        OnItems(StandardScaler()).transform(np.eye(2))


@pytest.mark.parametrize("columns", [["id", "acid", "sugar", "cork"], ["id", "acid", "sugar"]])
@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2)])
def test_a_feature_of_the_fit_that_is_not_there_is_named(columns, transformer):
    table, votes = wines()
    fitted = OnItems(transformer).fit(Comparisons.from_frames(table, votes)[0])
    with pytest.raises(PairscoreError, match=r"lack 1 feature of the 3 .*'oak'"):
        fitted.transform(
            table.rename(columns={"oak": "cork"} if "cork" in columns else {})[columns]
        )


@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2)])
def test_features_are_found_by_their_names(transformer):
    table, votes = wines()
    fitted = OnItems(transformer).fit(Comparisons.from_frames(table, votes)[0])
    other = table[["oak", "id", "sugar", "acid"]].assign(cork=1.0)
    expected = fitted.transform(table).values
    np.testing.assert_array_equal(fitted.transform(other).values, expected)
    pairs = Comparisons.from_frames(other, votes)[0]
    np.testing.assert_array_equal(fitted.transform(pairs).items.values, expected)


def test_a_transformation_that_leaves_no_number_is_refused():
    X, _ = Comparisons.from_frames(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[1, 0]]))
    with (
        np.errstate(divide="ignore"),
        pytest.raises(
            PairscoreError, match=r"^1 feature value is NaN or infinite, in 1 column: 'x1' \(1\);"
        ),
    ):
        OnItems(FunctionTransformer(np.log)).fit_transform(X)


def reward(values):
    return values[:, 0] - values[:, 1]


def test_a_score_of_items_from_elsewhere_is_a_feature_of_its_name():
    table, votes = wines()
    X, y = Comparisons.from_frames(table, votes)
    scored = OnItems(reward).fit_transform(X)
    assert scored.items.feature_names == ("reward",)
    np.testing.assert_array_equal(scored.items.values[:, 0], table["acid"] - table["sugar"])
    pipe = make_pipeline(OnItems(reward), RankRegression()).fit(X, y)
    assert pipe[-1].coef_[0] > 0
    both = compare({"all features": RankRegression(), "reward": pipe}, X, y)
    assert np.isfinite(both.score("reward").value)


def test_a_function_without_a_name_counts_its_features():
    X, _ = Comparisons.from_frames(*wines())
    assert OnItems(lambda values: values[:, 0]).fit_transform(X).items.feature_names == ("x0",)
    assert OnItems(lambda values: values[:, :2]).fit_transform(X).shape == (500, 2)


def test_a_function_of_items_that_takes_names_or_loses_rows_is_refused_in_a_sentence():
    X, y = Comparisons.from_frames(np.eye(4), np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    with pytest.raises(PairscoreError, match=r"array of shape \(4, 4\), .* f\[:, 0\] for 'x0'"):
        OnItems(lambda f: f["a"]).fit(X, y).transform(X)
    with pytest.raises(PairscoreError, match="got 2 rows of new features for 4 items"):
        OnItems(lambda f: f[:2, 0]).fit(X, y).transform(X)
