"""Pipelines of items: what RankRegression does, after transformers, and in a file."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)

from pairscore import (
    Comparisons,
    ItemKFold,
    OnItems,
    PairscoreError,
    RankRegression,
    influence,
    load,
    make_item_pipeline,
    plots,
    residuals,
    scorers,
)

FEATURES = ["acid", "sugar", "oak", "age"]


def wines(n, seed, prefix):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 5.0] + [0.0, 50.0, 3.0, 20.0]
    return pd.DataFrame(values, columns=FEATURES).assign(id=[f"{prefix}{k}" for k in range(n)])


def judged(items, n=700, seed=1):
    """Votes with ties and a context column, and items with effects beyond their features."""
    rng = np.random.default_rng(seed)
    score = items[FEATURES].to_numpy() @ [1.0, 0.08, 0.0, -0.1] + 0.5 * rng.normal(size=len(items))
    left = rng.integers(0, len(items), n)
    right = (left + rng.integers(1, len(items), n)) % len(items)
    price = rng.normal(size=n)
    gap = score[left] - score[right] + 0.3 * price + rng.logistic(size=n)
    winner = np.where(rng.random(n) < 0.15, "tie", np.where(gap > 0, "left", "right"))
    names = items["id"].to_numpy()
    return pd.DataFrame(
        {"left": names[left], "right": names[right], "winner": winner, "price": price}
    )


ITEMS, NEW = wines(70, 0, "old"), wines(6, 5, "new")
VOTES = judged(ITEMS)


def assert_same_tables(one, other):
    assert list(one.columns) == list(other.columns)
    for name in set(one.columns) - {"outside"}:  # of other features
        if one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], other[name], rtol=1e-7, atol=1e-9)
        else:
            assert one[name].tolist() == other[name].tolist()


def same_differences(one, other):
    np.testing.assert_allclose([*vars(one).values()], [*vars(other).values()], rtol=1e-7)


def test_a_scaled_model_ranks_as_the_plain_one():
    plain = RankRegression().fit(ITEMS, VOTES)
    pipe = make_item_pipeline(StandardScaler(), RankRegression()).fit(ITEMS, VOTES)
    for table in (ITEMS, NEW):
        assert_same_tables(pipe.rank(table, level=0.9), plain.rank(table, level=0.9))
    assert_same_tables(pipe.worth(NEW), plain.worth(NEW))
    same_differences(pipe.difference("old3", "old4"), plain.difference("old3", "old4"))
    same_differences(
        pipe.difference(NEW.iloc[:1], NEW.iloc[1].drop("id").to_dict()),
        plain.difference(NEW.iloc[:1], NEW.iloc[1:2]),
    )
    pairs = Comparisons.from_pairs(NEW, ["new0", "new1"], ["new2", "new2"])
    for name, column in plain.chances(pairs).items():
        np.testing.assert_allclose(pipe.chances(pairs)[name], column, rtol=1e-7)
    np.testing.assert_allclose(pipe.predict_proba(pairs), plain.predict_proba(pairs), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"l2": "auto"},
        {"item_effects": True},
        {"method": "pooled", "link": "probit"},
        {"ties": "davidson", "side_effect": True, "context": ["price"]},
        {"inference": None},
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "steps",
    [[StandardScaler(), PCA(3)], [MinMaxScaler(), VarianceThreshold()], [PCA(4, whiten=True)]],
    ids=repr,
)
def test_a_saved_pipeline_ranks_as_it_did_from_the_items_own_features(tmp_path, settings, steps):
    pipe = make_item_pipeline(*steps, RankRegression(**settings)).fit(ITEMS, VOTES)
    pipe.save(tmp_path / "model.npz")
    model = load(tmp_path / "model.npz")
    assert list(model.feature_names_in_) == FEATURES
    both = pd.concat([ITEMS, NEW], ignore_index=True)
    for table in (NEW, both, both[FEATURES]):
        assert_same_tables(pipe.rank(table), model.rank(table))
    same_differences(pipe.difference(ITEMS[:1], NEW[:1]), model.difference(ITEMS[:1], NEW[:1]))
    X, _ = Comparisons.from_frames(ITEMS, VOTES, context=["price"])
    for name, column in pipe.chances(X).items():
        np.testing.assert_allclose(model.chances(X)[name], column, rtol=1e-7)


def test_coefficients_in_the_units_of_the_table_are_those_of_a_fit_without_the_pipeline():
    plain = RankRegression().fit(ITEMS, VOTES)
    pipe = make_item_pipeline(StandardScaler(), PCA(4), RankRegression()).fit(ITEMS, VOTES)
    model = pipe.to_model()
    for name in ("coef_", "std_errors_", "covariance_", "feature_mean_", "feature_sd_"):
        np.testing.assert_allclose(getattr(model, name), getattr(plain, name), rtol=1e-6)
    assert model.record_["transformers"] == ["StandardScaler", "PCA"]
    assert model.record_["fingerprint"] == pipe[-1].record_["fingerprint"]
    assert "acid" in str(model.summary())
    assert "pca0" in str(pipe.summary())


def test_what_the_data_leave_open_stays_open():
    alike = ITEMS.assign(vat=2.0 * ITEMS["acid"] - ITEMS["age"])
    settings = RankRegression()
    with pytest.warns(match="combination of others"):
        pipe = make_item_pipeline(StandardScaler(), settings).fit(alike, VOTES)
    with pytest.warns(match="combination of others"):
        plain = clone(settings).fit(alike, VOTES)
    model = pipe.to_model()
    np.testing.assert_array_equal(model.undetermined_, plain.undetermined_)
    odd = alike[["id", *FEATURES, "vat"]].iloc[:3].assign(vat=[0.0, 1.0, 2.0])
    given = alike.iloc[:3].drop(columns="id").assign(id=odd["id"])
    for table in (odd, given):
        table = table[["id", *model.feature_names_in_]]
        assert_same_tables(pipe.rank(table), model.rank(table))


@pytest.mark.parametrize(
    "transformer",
    [
        PolynomialFeatures(2, include_bias=False),
        MinMaxScaler(clip=True),  # weighted sums of the items at hand, but not beyond them
        FunctionTransformer(lambda x: np.log(x + 10.0)),  # not even finite everywhere
    ],
    ids=lambda one: type(one).__name__,
)
def test_features_that_a_file_cannot_hold_are_refused_when_saved(tmp_path, transformer):
    pipe = make_item_pipeline(transformer, RankRegression(l2=0.1)).fit(ITEMS, VOTES)
    assert len(pipe.rank(NEW)) == 6
    name = type(transformer).__name__
    with pytest.raises(PairscoreError, match=f"where {name} makes features that are not weighted"):
        pipe.save(tmp_path / "model.npz")
    again = pickle.loads(
        pickle.dumps(make_item_pipeline(PCA(2), RankRegression()).fit(ITEMS, VOTES))
    )
    assert len(again.rank(NEW)) == 6


def test_a_pipeline_can_be_pickled():
    pipe = make_item_pipeline(PCA(2), RankRegression()).fit(ITEMS, VOTES)
    assert_same_tables(pickle.loads(pickle.dumps(pipe)).rank(NEW), pipe.rank(NEW))


def test_groups_that_never_met_are_refused_when_saved(tmp_path):
    half = np.arange(len(ITEMS)) < 35
    items = ITEMS.assign(year=np.where(half, 2000.0, 2001.0))
    old = set(ITEMS["id"][half])
    votes = VOTES[VOTES["left"].isin(old) == VOTES["right"].isin(old)]
    with pytest.warns(match="no two items that met differ"):
        pipe = make_item_pipeline(StandardScaler(), RankRegression()).fit(items, votes)
    with pytest.raises(PairscoreError, match=r"fall into 2 groups.*without transformers"):
        pipe.save(tmp_path / "model.npz")


def test_a_search_over_a_pipeline_gives_a_pipeline_that_ranks(tmp_path):
    X, y = Comparisons.from_frames(ITEMS, VOTES)
    pipe = make_item_pipeline(StandardScaler(), PCA(), RankRegression())
    asked = {"pca__transformer__n_components": [1, 4], "rankregression__l2": [0.0, 1.0]}
    search = GridSearchCV(pipe, asked, cv=ItemKFold(3), scoring=scorers.neg_log_loss).fit(X, y)
    best = search.best_estimator_
    assert search.best_params_["pca__transformer__n_components"] == 4
    best.save(tmp_path / "model.npz")
    assert_same_tables(best.rank(NEW), load(tmp_path / "model.npz").rank(NEW))


def test_weights_reach_the_model_by_name_or_by_routing():
    X, y = Comparisons.from_frames(ITEMS, VOTES)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    expected = RankRegression().fit(X, y, sample_weight=weight)
    pipe = make_item_pipeline(StandardScaler(), RankRegression())
    named = clone(pipe).fit(X, y, rankregression__sample_weight=weight)
    np.testing.assert_allclose(named.to_model().coef_, expected.coef_, rtol=1e-7)
    np.testing.assert_allclose(named.to_model().feature_mean_, expected.feature_mean_, rtol=1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = RankRegression().set_fit_request(sample_weight=True)
        routed = make_item_pipeline(StandardScaler(), asking).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(routed[-1].coef_, named[-1].coef_)


def test_steps_are_named_by_what_they_do_and_wrapped_once():
    pipe = make_item_pipeline(PCA(2), OnItems(StandardScaler()), PCA(1), RankRegression())
    assert list(pipe.named_steps) == ["pca-1", "standardscaler", "pca-2", "rankregression"]
    assert all(isinstance(step, OnItems) for _, step in pipe.steps[:-1])
    pipe.set_params(standardscaler="passthrough").fit(ITEMS, VOTES)
    assert len(pipe.rank(NEW)) == 6


def test_what_cannot_rank_is_said_at_once():
    with pytest.raises(PairscoreError, match="the last step of a pipeline of items ranks them"):
        make_item_pipeline(StandardScaler())
    with pytest.raises(NotFittedError):
        make_item_pipeline(StandardScaler(), RankRegression()).rank(NEW)


def test_a_pipeline_takes_arrays_of_ids_and_dicts():
    plain = RankRegression().fit(ITEMS, VOTES)
    pipe = make_item_pipeline(StandardScaler(), PCA(4), RankRegression()).fit(ITEMS, VOTES)
    for left, right in (
        (["old0", "old2"], ["old1", "old3"]),
        (["old0"], ["old1"]),
        (["old0"], "old5"),
    ):
        same_arrays(pipe.difference(left, right), plain.difference(left, right))
    pairs = Comparisons.from_pairs(NEW, ["new0", "new1"], ["new2", "new2"])
    same_arrays(pipe.difference(pairs), plain.difference(pairs))
    one = NEW.iloc[1].to_dict()
    (score,) = pipe.decision_function(one)
    assert score == pytest.approx(pipe.decision_function(NEW)[1])
    assert pipe.rank(one)["id"].tolist() == ["new1"]
    model = pipe.to_model()
    gap = score - pipe.decision_function(NEW)[0]
    assert gap == pytest.approx(np.diff(model.decision_function(NEW))[0])


def same_arrays(one, other):
    for name, column in vars(one).items():
        np.testing.assert_allclose(column, vars(other)[name], rtol=1e-6, atol=1e-9)


def test_the_columns_of_a_pipeline_have_names_too(tmp_path):
    items = ITEMS.assign(cellar=np.array(["north", "south", "west"])[np.arange(70) % 3])
    items = items.rename(columns={"id": "wine"})
    votes = VOTES.rename(columns={"left": "one", "right": "other"})
    columns = {"id": "wine", "left": "one", "right": "other", "winner": "winner"}
    columns |= {"features": ["acid", "age"], "categorical": ["cellar"]}
    plain = RankRegression(l2=1e-6).fit(items, votes, **columns)
    pipe = make_item_pipeline(StandardScaler(), RankRegression(l2=1e-6)).fit(
        items, votes, **columns
    )
    np.testing.assert_allclose(pipe.rank(items)["score"], plain.rank(items)["score"], atol=1e-4)
    new = {"wine": "x", "acid": 0.3, "age": 20.0, "cellar": "south", "more": None}
    gaps = [m.difference(new, items.iloc[:1]).difference for m in (pipe, plain, pipe.to_model())]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-4)
    pipe.save(tmp_path / "m.npz")
    assert_same_tables(load(tmp_path / "m.npz").rank(items), pipe.rank(items))


def test_a_pipeline_says_what_it_cannot_do():
    pipe = make_item_pipeline(StandardScaler(), RankRegression())
    with pytest.raises(
        PairscoreError, match="transforms the features of items, and there are none"
    ):
        pipe.fit(None, VOTES)
    pipe.fit(ITEMS, VOTES)
    for ask in (
        residuals,
        influence,
        plots.ranking,
        plots.judges,
        plots.ridge_path,
        plots.win_matrix,
    ):
        with pytest.raises(
            PairscoreError, match=r"this is ItemPipeline; of a pipeline give .* pipe"
        ):
            ask(pipe)
    assert len(residuals(pipe[-1]).values) == len(VOTES)
