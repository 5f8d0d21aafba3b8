"""Groups of items that no comparison connects, against fits without what separates them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from pairscore import RankRegression
from pairscore.errors import CollinearFeaturesWarning
from pairscore.model.open_directions import ComparedRows, OpenPart, count_groups, named_groups
from pairscore.model.ranks import rank_pieces

YEARS = (2001, 2002, 2003, 2004)
COLUMNS = ["score", "low", "high", "rank", "rank_low", "rank_high"]


def items_of_years(rng, per_year=25):
    n = per_year * len(YEARS)
    columns = {"a": rng.normal(size=n), "b": rng.normal(size=n), "year": np.repeat(YEARS, per_year)}
    return pd.DataFrame({"id": [f"item {row}" for row in range(n)], **columns})


def votes_within(rng, items, labels, n_votes=1200):
    """Random pairs of items with the same label; higher a and lower b win more often."""
    n = len(items)
    left, right = rng.integers(0, n, (2, 60 * n_votes))
    met = (left != right) & (np.asarray(labels)[left] == np.asarray(labels)[right])
    left, right = left[met][:n_votes], right[met][:n_votes]
    score = (items["a"] - 0.5 * items["b"]).to_numpy()
    won = rng.random(len(left)) < expit(score[left] - score[right])
    ids = items["id"].to_numpy()
    votes = {"left": ids[left], "right": ids[right], "winner": np.where(won, "left", "right")}
    return pd.DataFrame(votes | {"judge": left % 3})


def study_of_years(seed=0):
    rng = np.random.default_rng(seed)
    items = items_of_years(rng)
    return items, votes_within(rng, items, items["year"])


def fitted_to_years(items, votes, **settings):
    with pytest.warns(CollinearFeaturesWarning):
        return RankRegression(**settings).fit(items, votes)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "paired"},
        {"l2": 2.0},
        {"side_effect": True},
        {"side_effect": "judges"},
        {"link": "probit"},
    ],
)
def test_items_of_years_that_never_meet_have_the_ranks_and_intervals_of_a_fit_without_the_year(
    settings,
):
    """What the comparisons determine does not depend on a column that no comparison speaks of."""
    items, votes = study_of_years()
    settings = {"inference": "model"} | settings
    ranking = fitted_to_years(items, votes, **settings).rank(items)
    assert not ranking["outside"].any()
    assert ranking[COLUMNS].notna().all(axis=None)
    assert ranking["group"].tolist() == [f"year={year}" for year in YEARS for _ in range(25)]
    without = RankRegression(**settings).fit(items.drop(columns="year"), votes)
    for year in YEARS:
        twin = without.rank(items[items["year"] == year].drop(columns="year"))
        mine = ranking[ranking["group"] == f"year={year}"]
        assert mine["id"].tolist() == twin["id"].tolist()
        np.testing.assert_allclose(mine[COLUMNS], twin[COLUMNS], rtol=1e-6)


def with_second_half(items, seed=9):
    """The items, and as many that were never compared, for the covariance of `split`."""
    more = items_of_years(np.random.default_rng(seed))
    return pd.concat([items, more.assign(id="second " + more["id"])], ignore_index=True)


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairsNotRandomWarning")
@pytest.mark.parametrize("method", ["pooled", "split"])
@pytest.mark.parametrize("settings", [{}, {"l2": 2.0}, {"side_effect": True}, {"inference": None}])
def test_closed_forms_of_random_pairs_do_not_rank_across_years_that_never_meet(method, settings):
    """They gave the year a coefficient, and ranked the items of all years together."""
    items, votes = study_of_years()
    items = with_second_half(items) if method == "split" else items
    model = fitted_to_years(items, votes, method=method, **settings)
    assert model.notes_[-1].startswith("no two items that met differ in 'year', so its effect is")
    assert (model.n_groups_, model.coef_[2]) == (4, 0)
    ranking = model.rank(items)
    size = len(items) // 4
    assert ranking["group"].tolist() == [f"year={year}" for year in YEARS for _ in range(size)]
    assert ranking["rank"].tolist() == [*range(1, size + 1)] * 4
    if settings.get("inference", "items"):
        assert np.isnan(model.std_errors_).tolist() == [False, False, True]
        assert ranking[COLUMNS].notna().all(axis=None)
        across = model.difference(items.iloc[[0]], items.iloc[[30]])
        assert np.isnan([across.low, across.high]).all()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairsNotRandomWarning")
def test_pooled_compares_items_with_their_own_year_where_features_follow_the_year():
    """As if the regression on the year had been taken off the features before."""
    items, votes = study_of_years()
    items["a"] += 3 * (items["year"] - 2002.5)
    model = fitted_to_years(items, votes, method="pooled")
    ids, count = np.unique(votes[["left", "right"]].to_numpy(), return_counts=True)
    root = np.sqrt(pd.Series(count, ids).reindex(items["id"]).fillna(0).to_numpy())[:, None]
    by = np.column_stack([np.ones(100), items["year"] - 2002.5])
    values = items[["a", "b"]].to_numpy()
    values = values - by @ np.linalg.lstsq(root * by, root * values, rcond=None)[0]
    without = items.assign(a=values[:, 0], b=values[:, 1]).drop(columns="year")
    twin = RankRegression("pooled").fit(without, votes)
    np.testing.assert_allclose(model.closed_form_coef_[:2], twin.closed_form_coef_, rtol=1e-8)
    np.testing.assert_allclose(model.coef_[:2], twin.coef_, rtol=0.01)  # one parameter more
    np.testing.assert_allclose(model.std_errors_[:2], twin.std_errors_, rtol=0.05)


def test_item_robust_intervals_are_nearly_those_of_a_fit_without_the_year():
    """The year takes part in the leverage of an item: one feature more of 100 items."""
    items, votes = study_of_years()
    ranking = fitted_to_years(items, votes).rank(items).set_index("id")
    without = RankRegression().fit(items.drop(columns="year"), votes)
    twin = without.rank(items.drop(columns="year")).set_index("id").loc[ranking.index]
    ratio = (ranking["high"] - ranking["low"]) / (twin["high"] - twin["low"])
    assert ratio.between(1, 1.05).all()
    np.testing.assert_allclose(ranking["score"], twin["score"], rtol=1e-6)


def test_new_items_of_a_year_that_was_never_compared_are_ranked_among_themselves():
    items, votes = study_of_years()
    model = fitted_to_years(items, votes)
    new = pd.DataFrame({"id": list("pqrs"), "a": [0, 1, 2, 0.5], "b": 0.0, "year": 2020})
    new.loc[3, "year"] = 2002
    ranking = model.rank(new).set_index("id")
    assert ranking.loc[["r", "q", "p"], "rank"].tolist() == [1, 2, 3]
    assert (ranking.loc["s", "rank"], ranking.loc["s", "group"]) == (1, "year=2002")
    assert ranking.loc["s", "rank_high"] == 1
    assert ranking["low"].notna().all()
    assert ranking["outside"].tolist() == [False, True, True, True]  # groups from small to large


def test_a_difference_within_a_year_is_known_and_one_across_years_is_not():
    items, votes = study_of_years()
    model = fitted_to_years(items, votes)
    first = items.iloc[[0]]
    within, across = (model.difference(first, items.iloc[[row]]) for row in (1, 30))
    assert np.isfinite([within.low, within.high]).all()
    assert np.isnan([across.low, across.high]).all()


def test_one_sentence_says_within_what_the_ranking_holds(tmp_path):
    items, votes = study_of_years()
    with pytest.warns(CollinearFeaturesWarning) as caught:
        model = RankRegression().fit(items, votes)
    (text,) = {str(warning.message) for warning in caught}
    assert text == (
        "no two items that met differ in 'year', so its effect is unknown: scores, intervals and"
        " ranks hold within each of the 4 groups of items that are alike in it, not across groups."
    )
    assert f"Warning: {text}" in str(model.summary())
    assert model.coef_[2] == 0  # of smallest norm, not a rounding error
    model.save(tmp_path / "model.npz")
    again = RankRegression.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(again.rank(items), model.rank(items))


def test_prompts_with_features_of_their_own_are_groups_by_number():
    """Each answer repeats the features of its prompt: more open directions than can be named."""
    rng = np.random.default_rng(1)
    prompt = np.repeat(np.arange(30), 4)
    items = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    of_prompts = rng.normal(size=(30, 6))[prompt]
    items[[f"prompt {column}" for column in range(6)]] = of_prompts
    items.insert(0, "id", [f"answer {row}" for row in range(120)])
    model = fitted_to_years(items, votes_within(rng, items, prompt))
    shuffled = items.sample(frac=1.0, random_state=0)
    ranking = model.rank(shuffled)
    assert model.n_groups_ == 30
    assert ranking["group"].unique().tolist() == [f"group {number}" for number in range(1, 31)]
    row = ranking["id"].str.split().str[1].astype(int)
    assert prompt[row[::4]].tolist() == list(dict.fromkeys(prompt[shuffled.index]))
    assert ranking["rank"].tolist() == [1, 2, 3, 4] * 30
    assert (ranking.groupby("group")["score"].diff().dropna() <= 0).all()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairsNotRandomWarning")
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("method", ["mle", "paired", "pooled", "split"])
def test_a_year_hidden_in_two_columns_is_found(method, l2):
    """Of x and x + year neither is constant in any group; their difference is.

    Errors of the other coefficients are those of a fit to x and the year, up to the ridge.
    """
    items, votes = study_of_years()
    items = with_second_half(items) if method == "split" else items
    plain = fitted_to_years(items, votes, method=method, l2=l2)
    items["year"] += items["a"]
    model = fitted_to_years(items, votes, method=method, l2=l2)
    assert model.n_groups_ == 4
    ranking = model.rank(items)
    assert ranking["group"].value_counts().tolist() == [len(items) // 4] * 4
    assert ranking["low"].notna().all()
    assert "differ in some combination of 'a', 'year'" in model.notes_[-1]
    assert np.isnan(model.std_errors_).tolist() == [True, False, True]
    np.testing.assert_allclose(model.coef_[1], plain.coef_[1], rtol=0.01)
    np.testing.assert_allclose(model.std_errors_[1], plain.std_errors_[1], rtol=0.01)


@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_columns_that_repeat_each_other_beside_a_ridge_make_no_groups(method):
    rng = np.random.default_rng(0)
    items = items_of_years(rng).assign(year=lambda table: 2 * table["a"] - table["b"])
    model = RankRegression(method, l2=2.0).fit(items, votes_within(rng, items, np.zeros(100)))
    assert model.n_groups_ == 1
    assert not model.undetermined_.any()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairsNotRandomWarning")
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_one_column_for_each_year_is_as_open_beside_a_ridge_as_the_year_itself(method):
    """Columns of 0 and 1 that add up to one, so that the last repeats the others."""
    items, votes = study_of_years()
    columns = {f"is {year}": (items["year"] == year).astype(float) for year in YEARS}
    items = items.drop(columns="year").assign(**columns)
    model = fitted_to_years(items, votes, method=method, l2=2)
    assert model.n_groups_ == 4
    assert np.isnan(model.std_errors_).tolist() == [False, False, True, True, True, True]
    assert np.all(model.coef_[2:] == 0)


@pytest.mark.filterwarnings("error::pairscore.errors.CollinearFeaturesWarning")
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_more_features_than_comparisons_make_no_groups_beside_a_ridge(method):
    """Some combination of them never differs by mere count; a ridge is there to choose."""
    rng = np.random.default_rng(0)
    model = RankRegression(method, l2=1.0, inference=None)
    model.fit(rng.normal(size=(40, 30)), np.arange(40).reshape(20, 2))
    assert model.n_groups_ == 1


def test_items_in_pieces_are_grouped_as_in_one_table():
    items, votes = study_of_years()
    fit = fitted_to_years(items, votes).result_
    values = items[["a", "b", "year"]].to_numpy()
    whole = rank_pieces(fit, lambda: [values])
    pieces = rank_pieces(fit, lambda: iter([values[:7], values[7:60], values[60:]]))
    for name, column in whole.items():
        np.testing.assert_array_equal(pieces[name], column)


def test_a_fit_without_intervals_ranks_within_groups():
    items, votes = study_of_years()
    ranking = fitted_to_years(items, votes, inference=None).rank(items)
    assert ranking["rank"].tolist() == [*range(1, 26)] * 4
    assert set(ranking["rank_low"]) == {1}
    assert set(ranking["rank_high"]) == {25}


def test_a_constant_column_makes_no_groups_and_no_column():
    rng = np.random.default_rng(0)
    items = items_of_years(rng).assign(year=2001)
    model = fitted_to_years(items, votes_within(rng, items, items["year"]))
    assert model.n_groups_ == 1
    assert "group" not in model.rank(items)


def test_rounding_does_not_split_a_group():
    items, votes = study_of_years()
    fit = fitted_to_years(items, votes).result_
    values = items[["a", "b", "year"]].to_numpy()
    rounded = values * (1 + 1e-12 * np.random.default_rng(0).normal(size=values.shape))
    every = np.ones(len(rounded), dtype=bool)
    assert count_groups(fit, ComparedRows(rounded, every)) == 4
    group, names = named_groups(fit, OpenPart.of_values(fit, rounded))
    np.testing.assert_array_equal(group, np.repeat(np.arange(4), 25))
    assert names.tolist() == [f"year={year}" for year in YEARS]


@pytest.mark.parametrize("settings", [{}, {"method": "paired"}, {"link": "probit"}])
def test_errors_beside_a_ridge_are_not_rounding_errors_of_a_feature_that_never_differs(settings):
    """A fit without the feature has nearly the same; some were a thousand times as large."""
    for seed in range(6):
        items, votes = study_of_years(seed)
        model = fitted_to_years(items, votes, l2=5.0, **settings)
        without = RankRegression(l2=5.0, **settings).fit(items.drop(columns="year"), votes)
        np.testing.assert_allclose(model.std_errors_[:2], without.std_errors_, rtol=0.1)
        assert np.isnan(model.std_errors_[2])
        assert model.coef_[2] == 0
