"""The summary: every fact in words, every number against a loop."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit
from scipy.stats import norm

from pairscore import RankRegression, load
from pairscore.data.recipe import Recipe
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewItemsWarning,
    PairscoreWarning,
    PairsNotRandomWarning,
    SeparationWarning,
)
from pairscore.model.summary import single_features
from tests.evaluation.bradley_terry import draw_study

METHODS = ("split", "pooled", "paired", "mle")
COLUMNS = ["feature", "coef", "std_error", "z", "p", "low", "high", "wins_of_100"]


def study(names=("bmi", "age", "pulse"), n_items=80, n_comparisons=600, seed=0, compared=60):
    """Items of which the first 60 are compared; votes with sides, ties and counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, len(names))) * np.arange(1, len(names) + 1)
    left = rng.integers(0, compared, n_comparisons)
    right = (left + rng.integers(1, compared, n_comparisons)) % compared
    lead = (
        (X[left] - X[right]) @ np.linspace(1.0, -0.2, len(names))
        + 0.4
        + rng.logistic(size=n_comparisons)
    )
    winner = np.select([lead > 0.3, lead < -0.3], ["left", "right"], "tie")
    votes = pd.DataFrame(
        {"left": left, "right": right, "winner": winner, "count": rng.integers(1, 4, n_comparisons)}
    )
    return pd.DataFrame(X, columns=list(names)), votes


def fitted(method="mle", names=("bmi", "age", "pulse"), **options):
    return RankRegression(method, **options).fit(*study(names))


def table_lines(text):
    """The lines of the coefficient table, its head first."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("  feature"))
    return lines[first : [*lines, ""].index("", first)]


# -- the numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_comes_as_any_frame_with_the_models_numbers(method, backend):
    model = fitted(method)
    frame = model.summary().to_frame(backend)
    assert isinstance(
        frame, {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}[backend]
    )
    assert list(getattr(frame, "column_names", frame.columns)) == COLUMNS
    numbers = {name: np.asarray(frame[name]) for name in COLUMNS}
    z = model.coef_ / model.std_errors_
    assert numbers["feature"].tolist() == ["bmi", "age", "pulse"]
    np.testing.assert_array_equal(numbers["coef"], model.coef_)
    np.testing.assert_array_equal(numbers["std_error"], model.std_errors_)
    np.testing.assert_allclose(numbers["z"], z, rtol=1e-14)
    np.testing.assert_allclose(numbers["p"], 2 * norm.sf(np.abs(z)), rtol=1e-12)
    np.testing.assert_allclose(
        numbers["low"], model.coef_ - norm.ppf(0.975) * model.std_errors_, rtol=1e-12
    )
    np.testing.assert_allclose(
        numbers["high"], model.coef_ + norm.ppf(0.975) * model.std_errors_, rtol=1e-12
    )
    np.testing.assert_allclose(
        numbers["wins_of_100"],
        100 * expit(model.decided_scale_ * model.coef_ * model.feature_sd_),
        rtol=1e-12,
    )


# -- the words -------------------------------------------------------------------------------------


def test_the_text_says_what_was_fitted():
    model = fitted(side_effect=True, l2=0.5)
    text = str(model.summary())
    low, high = model.side_effect_ + norm.ppf([0.025, 0.975]) * model.side_effect_std_error_
    z = model.side_effect_ / model.side_effect_std_error_
    for line in (
        "items compared   60",
        f"comparisons      {model.n_comparisons_:,.0f} ({model.tie_share_:.1%} ties)",
        "method, link     mle, logit, ridge l2 = 0.5",
        (
            f"side effect      {model.side_effect_:+.4g} for left (standard error"
            f" {model.side_effect_std_error_:.2g}, interval [{low:.4g}, {high:.4g}],"
            f" z = {z:.2f}, p < 0.0001)"
        ),
        f"agreement        {model.agreement_:.1%} of the fit's decided comparisons agree with the"
        f" score",
        (
            f"estimated noise  about {100 * model.noise_:.0f} of 100 decided comparisons contradict"
            " the score's order"
        ),
        (
            f"decided scale    {model.decided_scale_:.4g}; probabilities use the score difference"
            f" times this number"
        ),
        "intervals        95 %, item-robust",
    ):
        assert f"  {line}\n" in text
    assert text == repr(model.summary())


@pytest.mark.parametrize("method", METHODS)
def test_the_text_names_method_and_link_and_whether_pairs_look_random(method):
    text = str(fitted(method, link="probit", inference="model").summary())
    assert f"method, link     {method}, probit\n" in text
    assert "side effect      not estimated\n" in text
    assert "intervals        95 %, classical\n" in text
    assert ("No sign that the pairs are not random." in text) == (method != "mle")


def test_a_coefficient_is_explained_in_a_sentence():
    model = fitted()
    surest = int(np.argmax(np.abs(model.z_values_)))
    step = model.decided_scale_ * model.feature_sd_[surest]
    wins = 100 * expit(abs(model.coef_[surest]) * step)
    more = "higher" if model.coef_[surest] > 0 else "lower"
    name = model.feature_names_in_[surest]
    sentence = (
        f"For example, with {name} one standard deviation {more} and all else equal, an item wins"
        f" in {wins:.0f} of 100 decided comparisons."
    )
    assert model.summary().meaning() == sentence
    assert sentence in str(model.summary())


def test_a_harmful_feature_is_explained_with_less_of_it():
    items, votes = study(["dose"])
    flipped = RankRegression().fit(-items, votes)
    assert flipped.coef_[0] < 0
    assert "with dose one standard deviation lower" in flipped.summary().meaning()


def test_warnings_are_repeated_in_words():
    items, votes = study(n_items=20, compared=20)
    with pytest.warns(PairscoreWarning) as caught:
        model = RankRegression("pooled").fit(items.assign(again=items["bmi"], always=1.0), votes)
    assert {warning.category for warning in caught} == {FewItemsWarning, CollinearFeaturesWarning}
    text, page = str(model.summary()), model.summary()._repr_html_()
    for warning in caught:
        assert f"\n  Warning: {warning.message}" in text
    assert (
        "3 features are constant or a combination of others among the compared items: 'bmi',"
        " 'again', 'always';" in text
    )
    assert page.count("<b>Warning:</b>") == len(caught)


def test_pairs_that_do_not_look_random_are_said_in_the_text():
    rng = np.random.default_rng(1)
    X = np.sort(rng.normal(size=(200, 1)), axis=0)
    first = rng.integers(0, 195, 1500)
    second = first + rng.integers(1, 6, 1500)
    up = rng.random(1500) < 0.6
    votes = np.column_stack([np.where(up, second, first), np.where(up, first, second)])
    with pytest.warns(PairsNotRandomWarning):
        model = RankRegression("pooled").fit(X, votes)
    text = str(model.summary())
    assert "pairs            The pairs do not look random: items that meet are alike" in text
    assert "Warning: The pairs do not look random" in text
    assert "use 'paired' or 'mle'." in text


def test_separation_is_said_in_the_text():
    X = np.arange(60.0)[:, None]
    votes = np.array([[row + 1, row] for row in range(59)])
    with pytest.warns(SeparationWarning):
        model = RankRegression().fit(X, votes)
    assert "Warning: some direction in the features (or the side) explains every comparison" in str(
        model.summary()
    )
    assert "agreement        100.0% of the fit's decided comparisons" in str(model.summary())


def test_without_inference_every_interval_is_unknown():
    model = fitted(inference=None, side_effect=True)
    text = str(model.summary())
    assert "intervals        not computed\n" in text
    assert f"side effect      {model.side_effect_:+.4g} for left\n" in text
    for line in table_lines(text)[1:]:
        assert line.split()[2:6] == ["unknown"] * 4
    assert model.summary()._repr_html_().count("<td>unknown</td>") == 3 * 5
    assert model.summary().meaning() == ""


def test_intervals_that_the_data_do_not_determine_are_unknown_and_others_known():
    items, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        model = RankRegression().fit(items.assign(again=items["bmi"]), votes)
    rows = {line.split()[0]: line.split()[2:6] for line in table_lines(str(model.summary()))[1:]}
    assert rows["bmi"] == rows["again"] == ["unknown"] * 4
    assert "unknown" not in rows["age"] + rows["pulse"]


def test_ties_alone_leave_nothing_to_agree_with():
    items, votes = study()
    model = RankRegression().fit(items, votes.assign(winner="tie"))
    assert "agreement        no comparison was decided\n" in str(model.summary())
    assert "(100.0% ties)" in str(model.summary())


def test_differences_have_no_items():
    items, votes = study()
    values = items.to_numpy()
    model = RankRegression().fit(
        values[votes["left"]] - values[votes["right"]],
        votes["winner"].map({"left": 1, "right": -1, "tie": 0}).to_numpy(),
    )
    text = str(model.summary())
    assert "items compared   differences only\n" in text
    assert "intervals        95 %, classical\n" in text
    assert [line.split()[0] for line in table_lines(text)] == ["feature", "x0", "x1", "x2"]


def test_small_p_values_are_not_printed_as_zero():
    model = fitted()
    rows = {line.split()[0]: line for line in table_lines(str(model.summary()))[1:]}
    for name, p in zip(model.feature_names_in_, model.p_values_, strict=True):
        assert ("<0.0001" if p < 1e-4 else f"{p:.4f}") in rows[name]
    assert model.p_values_.min() < 1e-4
    assert " 0.0000" not in str(model.summary())


@pytest.mark.parametrize(
    "names", [["x"], ["a", "b" * 200], ["one feature with spaces", "ünïcode", "c"]]
)
def test_columns_stay_aligned_whatever_the_names(names):
    head, *rows = table_lines(str(fitted(names=names).summary()))
    assert len(rows) == len(names)
    assert {len(row) for row in rows} == {len(head)}
    for name, row in zip(names, rows, strict=True):
        assert row.startswith(f"  {name} ")


def test_markup_in_a_feature_name_is_only_text():
    page = fitted(names=["<script>alert(1)</script>", "a & b", "c"]).summary()._repr_html_()
    assert "<script>" not in page
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in page
    assert "<td>a &amp; b</td>" in page


def test_the_page_holds_the_facts_the_table_and_the_sentence():
    model = fitted()
    page = model.summary()._repr_html_()
    assert page.count("<tr>") == len(model.summary().facts()) + 1 + 3
    assert f"<td>{model.coef_[0]:.4g}</td>" in page
    assert model.summary().meaning() in page
    assert "Warning" not in page


def test_a_summary_does_not_change_when_the_model_is_fitted_again():
    model = fitted()
    summary = model.summary()
    before = str(summary)
    model.fit(*study(["other"]))
    assert str(summary) == before
    assert str(model.summary()) != before


def coins(d=10, n_comparisons=400, seed=0):
    """Features that have nothing to do with who wins."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 60, n_comparisons)
    votes = np.column_stack([left, (left + rng.integers(1, 60, n_comparisons)) % 60])
    return pd.DataFrame(rng.normal(size=(60, d))).rename(columns=str), votes


@pytest.mark.parametrize("seed", range(5))
def test_no_example_is_built_on_a_coefficient_that_may_well_be_zero(seed):
    """The surest of ten coefficients of coins has a p-value below 0.05 in four of ten studies."""
    model = RankRegression(inference="model").fit(*coins(seed=seed))
    smallest, meaning = model.p_values_.min(), model.summary().meaning()
    if 10 * smallest > 0.05:
        assert meaning == (
            "No single coefficient is clearly different from zero (of 10, the smallest p-value is"
            f" {smallest:.2g})."
        )
    else:
        assert meaning.startswith("For example, ")
    alone = RankRegression(inference="model").fit(*coins(d=1, seed=seed))
    assert ("an item wins in" in alone.summary().meaning()) == (alone.p_values_[0] <= 0.05)


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_what_the_data_do_not_determine_has_no_wins_and_no_example():
    items, votes = study()
    model = RankRegression().fit(items.assign(again=items["bmi"]), votes)
    rows = {line.split()[0]: line.split()[-1] for line in table_lines(str(model.summary()))[1:]}
    assert rows["bmi"] == rows["again"] == "unknown"
    assert rows["age"] != "unknown"
    both = RankRegression().fit(items[["bmi"]].assign(again=items["bmi"]), votes)
    assert both.summary().meaning() == "No single coefficient is determined by the comparisons."


def test_the_agreement_of_judges_stands_beside_the_accuracy(tmp_path):
    """It is the ceiling of the accuracy; text, JSON and file have it."""
    rng = np.random.default_rng(5)
    X, left = rng.normal(size=(40, 2)), rng.integers(0, 40, 300)
    right = (left + rng.integers(1, 40, 300)) % 40
    rows, judge = np.tile(np.arange(300), 3), np.repeat(["Anna", "Ben", "Anna"], 300)
    gap = (X[left] - X[right])[rows, 0]
    won = rng.random(900) < 1 / (1 + np.exp(-gap))
    votes = {
        "left": left[rows],
        "right": right[rows],
        "winner": np.where(won, "left", "right"),
        "judge": judge,
    }
    model = RankRegression(inference="model").fit(X, votes)
    facts = dict(model.summary().facts())
    labels = list(facts)
    assert labels[labels.index("agreement") + 1 :][:2] == ["between judges", "within judges"]
    between, within = (model.judge_agreement_[kind] for kind in ("between", "within"))
    assert facts["between judges"] == (
        f"two judges named the same winner in {between['share']:.0%} of the pairs that both"
        f" compared"
        f" (95 %: {between['low']:.0%} to {between['high']:.0%}, from {between['n_pairs']} pairs);"
        " at best, one score for all judges could predict about"
        f" {between['ceiling']:.0%} (95 %: up to {between['ceiling_high']:.0%}) of such answers"
        " correctly"
    )
    assert facts["within judges"].startswith(
        "judges who compared a pair again named the same winner"
    )
    assert model.agreement_ < between["ceiling"]
    assert model.summary().to_record()["judge_agreement"]["within"] == within
    model.save(tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").judge_agreement_ == model.judge_agreement_
    del votes["judge"]
    assert RankRegression(inference="model").fit(X, votes).judge_agreement_ == {}


# -- examples --------------------------------------------------------------------------------------


def test_an_example_is_only_of_a_feature_that_can_be_higher_with_all_else_equal(tmp_path):
    """A page said what one standard deviation more of "sex=female" or of a flag does."""
    rng = np.random.default_rng(0)
    n, m = 80, 3000
    sex, size = rng.integers(0, 2, n).astype(float), rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    score = 2.0 * sex + 1.0 * size
    won = rng.random(m) < expit(score[left] - score[right])
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    model = RankRegression().fit({"sex": sex, "size": size}, votes)
    assert np.abs(model.z_values_)[0] > np.abs(model.z_values_)[1]
    assert "with size one standard deviation higher" in model.summary().meaning()
    only = RankRegression().fit({"sex": sex}, votes)
    assert only.p_values_[0] < 1e-6
    assert only.summary().meaning() == ""
    assert not str(only.summary()).endswith("\n")


def test_a_feature_with_its_square_a_category_and_a_flag_are_no_examples():
    items, votes = study(["dose", "bmi"], n_items=60, compared=60)
    model = RankRegression().fit(items, votes)
    recipes = {
        (True, True): Recipe(features=("dose", "bmi"), id=None),
        (False, False): Recipe(features=("dose",), squares=("dose",), id=None),
        (True, False): Recipe(features=("dose",), means={"dose": (0.0,)}, id=None),
    }
    for expected, recipe in recipes.items():
        fit = model.result_.with_kept(recipe=recipe.to_record(), feature_names=recipe.names)
        assert tuple(single_features(fit)) == expected


def test_without_intervals_there_is_no_example():
    items, votes = study()
    assert RankRegression(inference=None).fit(items, votes).summary().meaning() == ""


# -- abilities -------------------------------------------------------------------------------------


def compared_items(n, seed=0, m=None):
    rng = np.random.default_rng(seed)
    m = m or 60 * n
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit(np.linspace(-1, 1, n)[left] - np.linspace(-1, 1, n)[right])
    ids = np.array([f"<item {number}>" for number in range(n)])
    return {"left": ids[left], "right": ids[right], "winner": np.where(won, "left", "right")}


def ability_lines(text):
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("  item  "))
    return lines[first : lines.index("", first)]


@pytest.mark.parametrize("item_effects", [False, True])
def test_without_features_the_summary_is_a_table_of_abilities(item_effects):
    model = RankRegression(item_effects=item_effects).fit(None, compared_items(12))
    summary, ranking = model.summary(), model.rank()
    columns = summary.to_columns()
    assert columns["item"] == ranking["id"].tolist()
    for name, of_rank in {"ability": "score", "low": "low", "high": "high", "rank": "rank"}.items():
        np.testing.assert_allclose(columns[name], ranking[of_rank], atol=1e-12)
    effects = model.item_effects_
    order = np.argsort(-effects.effect)
    np.testing.assert_allclose(columns["std_error"], effects.std_error[order])
    quasi = np.full(12, np.nan) if item_effects else np.sqrt(effects.quasi_variance[order])
    np.testing.assert_allclose(columns["quasi_std_error"], quasi)
    assert summary.to_frame()["ability"].tolist() == columns["ability"]
    assert [row["rank"] for row in summary.to_record()["abilities"]] == list(range(1, 13))
    assert summary.to_record()["coefficients"] == []
    text = str(summary)
    assert text.startswith("Bradley-Terry model\n")
    assert "coefficient" not in text
    head, *rows = ability_lines(text)
    assert ("quasi std.error" in head) != item_effects
    numbers = [f"{columns[name][0]:.3f}" for name in ("ability", "std_error")]
    assert rows[0].split()[:4] == [*ranking["id"][0].split(), *numbers]
    best, worst = (str(ranking["id"][end]) for end in (0, -1))
    chance = 100 * model.difference(best, worst).probability
    assert f"For example, {best} wins in {chance:.0f} of 100 comparisons with {worst}." in text
    assert "the features explain" not in text


def test_abilities_have_a_headline_of_their_link_and_title():
    votes = compared_items(5)
    assert str(RankRegression(link="probit").fit(None, votes).summary()).startswith("Thurstone mod")
    model = RankRegression().fit(None, votes)
    model.wording_ = replace(model.wording_, title="Teas")
    assert str(model.summary()).startswith("Teas: Bradley-Terry model\n")


@pytest.mark.parametrize("n", [20, 21, 45])
def test_of_many_items_the_ten_highest_and_lowest_are_shown_and_how_to_see_the_rest(n):
    model = RankRegression().fit(None, compared_items(n))
    summary, names = model.summary(), model.rank()["id"].tolist()
    shown = names if n == 20 else [*names[:10], *names[-10:]]
    _, *rows = ability_lines(str(summary))
    assert [f"<{row.split('<')[1].split('>')[0]}>" for row in rows] == shown
    line = f"The 10 highest and 10 lowest of {n} items; model.rank() has all of them."
    assert (line in str(summary)) == (n > 20)
    assert (line in summary._repr_html_()) == (n > 20)
    assert summary._repr_html_().count("<td>&lt;item") == 20
    assert "; --json has all of them." in summary.text(see_all="--json") or n == 20
    assert len(summary.to_frame()) == len(summary.to_record()["abilities"]) == n


def test_abilities_without_inference_and_from_a_file(tmp_path):
    model = RankRegression(inference=None).fit(None, compared_items(6))
    _, *rows = ability_lines(str(model.summary()))
    assert all("unknown" in row for row in rows)
    fitted = RankRegression().fit(None, compared_items(6))
    fitted.save(tmp_path / "model.npz")
    assert str(load(tmp_path / "model.npz").summary()) == str(fitted.summary())


# -- many features ---------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["items", None])
@pytest.mark.parametrize("d", [40, 41])
def test_a_summary_of_many_features_shows_the_twenty_that_matter_and_how_to_see_the_rest(
    d, inference
):
    model = RankRegression(inference=inference, l2=1.0).fit(
        *study([f"f{number}" for number in range(d)], 150, 4000, compared=150)
    )
    summary = model.summary()
    _, *rows = table_lines(str(summary))
    size = np.abs(model.z_values_ if inference else model.coef_ * model.feature_sd_)
    order = np.argsort(-size)[:20] if d > 40 else range(d)
    assert [row.split()[0] for row in rows] == [f"f{number}" for number in order]
    what = "|z|" if inference else "effects"
    line = f"The 20 of {d} features with the largest {what}; model.summary().to_frame() has all"
    assert (line in str(summary)) == (line in summary._repr_html_()) == (d > 40)
    assert len(summary.to_frame()) == len(summary.to_record()["coefficients"]) == d


# -- notebooks -------------------------------------------------------------------------------------


def test_a_notebook_shows_the_summary_of_a_fitted_model_and_the_settings_of_another():
    model = fitted()
    assert model._repr_mimebundle_()["text/html"] == model.summary()._repr_html_()
    assert "<h4>Rank regression</h4>" in model._repr_html_()
    assert "sk-" in RankRegression()._repr_html_()


def test_side_context_ties_and_slopes_have_z_and_p():
    """A side effect that is the only one too; slopes are against 1, the average judge's."""
    items, votes = draw_study(20, side=0.3)
    votes.loc[::6, "winner"] = "tie"
    votes["judge"] = np.arange(len(votes)) % 7
    settings = {"side_effect": True, "context": ["rest"], "ties": "davidson"}
    model = RankRegression(judge_slopes=True, **settings).fit(items, votes)
    record = model.summary().to_record()
    for one in [*record["effects"], record["side_effect"]]:
        assert one["z"] == pytest.approx(one["coef"] / one["std_error"], rel=1e-12)
        assert one["p"] == pytest.approx(2 * norm.sf(abs(one["z"])), rel=1e-9)
    assert [one["name"] for one in record["effects"]] == ["rest", "left", "tie"]
    for judge in record["judges"]:
        assert judge["z"] == pytest.approx((judge["slope"] - 1) / judge["std_error"], rel=1e-12)
        assert judge["p"] == pytest.approx(2 * norm.sf(abs(judge["z"])), rel=1e-9)
    alone = RankRegression(side_effect=True).fit(items, votes)
    side = alone.summary().to_record()["side_effect"]
    assert side["z"] == pytest.approx(alone.side_effect_ / alone.side_effect_std_error_)
    assert f"z = {side['z']:.2f}, p" in str(alone.summary())


def test_the_record_has_the_likelihood_where_there_is_one():
    items, votes = draw_study(21)
    model = RankRegression().fit(items, votes)
    record = model.summary().to_record()["likelihood"]
    assert record == {
        "loglik": model.loglik_,
        "deviance": model.deviance_,
        "df_model": 4,
        "aic": model.aic_,
        "bic": model.bic_,
        "n_comparisons": 500,
    }
    assert RankRegression(l2=1.0).fit(items, votes).summary().to_record()["likelihood"] is None


def test_a_narrow_table_leaves_out_standard_errors_and_z():
    model = RankRegression().fit(*draw_study(40, 300))
    summary = model.summary()
    wide, narrow = summary.text(width=200), summary.text(width=80)
    assert wide == str(summary)
    (header,) = [line for line in narrow.splitlines() if line.startswith("  feature")]
    assert header.split() == ["feature", "coef", "p", "95", "%", "interval", "wins", "of", "100"]
    assert max(map(len, summary._table(80).splitlines())) <= 80
    assert len(summary._table(80).splitlines()) == len(summary._table().splitlines())


def test_no_fact_of_a_summary_is_a_line_of_250_letters():
    """That of judges who agreed was, and a terminal broke it within words."""
    rng = np.random.default_rng(0)
    names = np.array([f"item {row}" for row in range(12)])
    left = rng.integers(0, 12, 400)
    right = (left + rng.integers(1, 12, 400)) % 12
    votes = {"left": names[left], "right": names[right], "judge": rng.choice(["Ann", "Bo"], 400)}
    model = RankRegression().fit(None, votes | {"winner": rng.choice(["left", "right"], 400)})
    lines = model.summary().text().splitlines()
    first = next(row for row, line in enumerate(lines) if "between judges" in line)
    assert max(map(len, lines)) <= 125
    assert lines[first + 1].startswith(" " * 19)
    told = dict(model.summary().facts())["between judges"]
    assert told in " ".join(" ".join(lines).split())
