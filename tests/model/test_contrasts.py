"""Contrasts and joint tests: against dense algebra and statsmodels."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import chi2, norm
from scipy.stats import f as f_law

from pairscore import PairscoreError, RankRegression
from pairscore.core.significance import wald
from pairscore.data.recipe import make_recipe
from pairscore.data.tables import Columns
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewItemsWarning,
    PairscoreWarning,
    SeparationWarning,
)
from tests.limits import fair_squares

LEVELS = np.array(list("ABCD"), dtype=object)
EFFECTS = np.array([0.8, 0.1, -0.3, -0.6])


def draw_items(rng, n_items=90, n_levels=4):
    level = np.append(np.arange(n_levels), rng.integers(0, n_levels, n_items - n_levels))
    names = np.array([f"{LEVELS[one % 4]}{one // 4 or ''}" for one in level], dtype=object)
    return level, {
        "id": np.arange(n_items),
        "mass": rng.normal(size=n_items),
        "grade": names,
        "site": np.array(["east", "north", "west"], dtype=object)[rng.integers(0, 3, n_items)],
    }


def draw_votes(rng, score, n_votes=1200, may_meet=lambda left, right: left != right):
    """Rows of winner and loser."""
    left, right = rng.integers(0, len(score), (2, 20 * n_votes))
    met = np.flatnonzero((left != right) & may_meet(left, right))[:n_votes]
    left, right = left[met], right[met]
    won = rng.logistic(size=len(met)) < score[left] - score[right]
    return np.where(won[:, None], np.column_stack([left, right]), np.column_stack([right, left]))


def graded_study(seed=0, **pairs):
    rng = np.random.default_rng(seed)
    level, table = draw_items(rng)
    return table, draw_votes(rng, table["mass"] + EFFECTS[level], **pairs)


def fit_table(table, votes, recipe=None, **settings):
    """A fit to a table with text, by a recipe with the settings of ``make_recipe``."""
    columns = Columns(table)
    recipe, _ = make_recipe(columns, **{"categorical": ["grade"]} | (recipe or {}))
    items = replace(recipe.items(columns), recipe=recipe.to_record())
    return RankRegression(**settings).fit(items, votes)


def without_first_level(table, votes, names=("grade", "site"), **settings):
    """The fit that has no open direction: the first level of each category is left out."""
    columns = {"mass": table["mass"]}
    for name in names:
        for level in sorted(set(table[name]))[1:]:
            columns[f"{name}={level}"] = (table[name] == level).astype(float)
    return RankRegression(**settings).fit(pd.DataFrame(columns), votes)


def summary_rows(model, name):
    frame = model.summary().to_frame()
    return frame[frame["feature"].str.fullmatch(f"{name}=[^:]*")]


# -- levels of categories --------------------------------------------------------------------------


# -- numbers ---------------------------------------------------------------------------------------


def test_contrasts_and_joint_tests_are_those_of_statsmodels_to_six_digits():
    table, votes = graded_study(4)
    model = fit_table(table, votes, {"categorical": ["grade", "site"]}, inference="model")
    twin = without_first_level(table, votes, inference=None)
    X = twin.comparisons_.items.values
    names = list(twin.feature_names_in_)
    difference = pd.DataFrame(X[votes[:, 0]] - X[votes[:, 1]], columns=names)
    theirs = sm.GLM(np.ones(len(votes)), difference, family=sm.families.Binomial()).fit(tol=1e-12)
    for category in ("grade", "site"):
        R = np.array([[name == one for name in names] for one in names if category in one], float)
        wald_test = theirs.wald_test(R, use_f=False, scalar=True)
        ours = model.joint_test(category)
        assert ours.statistic == pytest.approx(float(wald_test.statistic), rel=1e-6)
        assert ours.p == pytest.approx(float(wald_test.pvalue), rel=1e-6)
        assert (ours.df, ours.df_error) == (len(R), None)
    weights = {"mass": 0.5, "grade=B": 1.0, "grade=D": -1.0}
    t_test = theirs.t_test([[weights.get(name, 0.0) for name in names]])
    ours = model.contrast(weights, level=0.9)
    assert ours.estimate == pytest.approx(t_test.effect.item(), rel=1e-6)
    assert ours.std_error == pytest.approx(t_test.sd.item(), rel=1e-6)
    assert ours.p == pytest.approx(t_test.pvalue.item(), rel=1e-5)
    assert [ours.low, ours.high] == pytest.approx(t_test.conf_int(0.1)[0].tolist(), rel=1e-6)
    joint = model.joint_test(["mass", "grade", "site"])
    everything = theirs.wald_test(np.eye(len(names)), use_f=False, scalar=True)
    assert joint.statistic == pytest.approx(float(everything.statistic), rel=1e-6)
    assert joint.df == len(names)


def test_joint_tests_are_dense_algebra_with_the_item_robust_covariance():
    table, votes = graded_study(5)
    model = fit_table(table, votes, {"categorical": ["grade", "site"]})
    twin = without_first_level(table, votes)
    for category, q in (("grade", 3), ("site", 2)):
        columns = [category in name for name in twin.feature_names_in_]
        b, V = twin.coef_[columns], twin.covariance_[np.ix_(columns, columns)]
        W = float(b @ np.linalg.inv(V) @ b)
        exposures = np.bincount(votes.ravel(), minlength=90)
        noise, factor, N = 0.0, 0.0, twin.n_items_
        for level in set(table[category]):
            n_level = N * exposures[table[category] == level].sum() / exposures.sum()
            noise += 2 * (1 - n_level / N) ** 2 / (n_level - 1)
            factor += (1 - n_level / N) / (1 - 1 / n_level) / q
        most = N - len(twin.coef_) - 1
        for test, n, times in (
            (model.joint_test(category), min(q * (q + 1) / noise, most), factor),
            (twin.joint_test([one for one in twin.feature_names_in_ if category in one]), most, 1),
        ):
            statistic = W * times * (n - q + 1) / (n * q)
            assert test.statistic == pytest.approx(statistic, rel=1e-5)
            assert test.p == pytest.approx(f_law.sf(statistic, q, n - q + 1), rel=1e-4)
            assert (test.df, test.df_error) == (q, pytest.approx(n - q + 1))
    single, z = model.joint_test("mass"), model.z_values_[0]
    assert (single.statistic, single.p) == pytest.approx((z**2, model.p_values_[0]), rel=1e-9)
    row = summary_rows(model, "grade").iloc[1]
    contrast = model.contrast({"grade=B": 1})
    assert (contrast.estimate, contrast.std_error, contrast.statistic, contrast.p) == pytest.approx(
        tuple(row[["coef", "std_error", "z", "p"]]), rel=1e-9
    )


def test_a_joint_test_does_not_depend_on_units_or_on_repeated_names():
    table, votes = graded_study(6)
    model = fit_table(table, votes)
    other = fit_table(table | {"mass": 1e5 * table["mass"]}, votes)
    first = model.joint_test(["mass", "grade"])
    assert other.joint_test(["grade", "mass", "grade=A"]).p == pytest.approx(first.p, rel=1e-5)
    small = model.contrast({"grade=A": 1e-9, "grade=B": -1e-9})
    assert small.p == pytest.approx(model.contrast({"grade=A": 1, "grade=B": -1}).p, rel=1e-9)


def test_which_law_a_joint_test_has_goes_by_the_covariance():
    table, votes = graded_study(8)
    judged = {
        "left": votes[:, 0],
        "right": votes[:, 1],
        "winner": np.full(len(votes), "left"),
        "judge": np.arange(len(votes)) % 30,
    }
    laws = {}
    for inference in ("items", "items+judges", "model"):
        laws[inference] = fit_table(table, judged, inference=inference).joint_test("grade")
    assert laws["items+judges"].df_error == pytest.approx(29 - 3 + 1)
    assert 29 < laws["items"].df_error < 90
    assert laws["model"].df_error is None
    assert laws["items+judges"].covariance == "robust to items and judges"


def test_wald_of_a_singular_covariance_counts_its_rank():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 3)) * np.array([[1.0], [1e3], [1e-3], [1], [1]])
    estimate = A @ rng.normal(size=3)
    statistic, df, p = wald(estimate, A @ A.T)
    whole = np.linalg.lstsq(A, estimate)[0]
    assert (statistic, df) == (pytest.approx(whole @ whole, rel=1e-6), 3)
    assert p == pytest.approx(chi2.sf(statistic, 3))


def null_p_values(n_studies, seed=0, **settings):
    """p-values of a category without influence, among items that differ beyond their features."""
    rng, p = np.random.default_rng(seed), np.empty(n_studies)
    for study in range(n_studies):
        _, table = draw_items(rng, 60, 6)
        votes = draw_votes(rng, table["mass"] + 0.7 * rng.normal(size=60), 600)
        p[study] = fit_table(table, votes, **settings).joint_test("grade").p
    return p


def test_a_category_without_influence_is_found_as_seldom_as_the_p_value_says():
    n_studies = 150
    limits = fair_squares(n_studies)
    squares = norm.isf(null_p_values(n_studies) / 2) ** 2
    assert limits[0] < squares.sum() < limits[1]
    # a rival that takes comparisons for independent, and fails
    rival = norm.isf(null_p_values(n_studies, inference="model") / 2) ** 2
    assert rival.sum() > limits[1]


# -- refusals and words ----------------------------------------------------------------------------


def test_with_a_ridge_there_is_no_joint_test_and_one_sentence_says_so():
    table, votes = graded_study()
    model = fit_table(table, votes, l2=2.0)
    with pytest.raises(PairscoreError, match=r"because a ridge shrinks .*; fit with l2=0\."):
        model.joint_test("grade")
    text = str(model.summary())
    assert text.count("grade: no joint test, because a ridge shrinks") == 1
    assert np.isfinite(summary_rows(model, "grade")["std_error"]).all()
    assert "shrunk by a ridge" in str(model.contrast({"grade=A": 1, "grade=B": -1}))


def test_without_errors_contrasts_are_refused_and_the_summary_goes_on():
    table, votes = graded_study()
    model = fit_table(table, votes, inference=None)
    for ask in (lambda: model.contrast({"mass": 1}), lambda: model.joint_test("grade")):
        with pytest.raises(PairscoreError, match="inference='items'"):
            ask()
    assert "no joint test, because no standard errors were computed" in str(model.summary())
    assert summary_rows(model, "grade")["coef"].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({}, "give for example {'mass': 1}"),
        ([1, 2], "has weights by the names of features"),
        ({"grade=a": 1}, "no coefficient 'grade=a'; it has .* Did you mean 'grade=A'"),
        ({"mass": "much"}, "the weight of 'mass' is 'much'; give a number"),
        ({"mass": float("nan")}, "the weight of 'mass' is nan"),
        ({"mass": 0}, "is zero whatever the coefficients are"),
    ],
)
def test_a_contrast_that_is_none_is_refused_in_a_sentence(weights, said):
    table, votes = graded_study()
    model = fit_table(table, votes)
    with pytest.raises(PairscoreError, match=said):
        model.contrast(weights)


def test_names_of_a_joint_test_are_checked():
    table, votes = graded_study()
    model = fit_table(table, votes)
    with pytest.raises(PairscoreError, match=r"no coefficient 'grad'; .* Did you mean 'grade'"):
        model.joint_test(["mass", "grad"])
    with pytest.raises(PairscoreError, match="needs the name of a feature or category"):
        model.joint_test([])
    with pytest.warns(CollinearFeaturesWarning):
        twice = RankRegression().fit(
            pd.DataFrame({"a": table["mass"], "b": 2 * table["mass"]}), votes
        )
    with pytest.raises(PairscoreError, match=r"do not determine a: any amount of -?a . 0\.5 b"):
        twice.joint_test(["a", "b"])
    assert twice.contrast({"a": 1, "b": 2}).std_error > 0


def test_too_few_items_for_so_many_levels_have_no_joint_test():
    rng = np.random.default_rng(0)
    _, table = draw_items(rng, 22, 12)
    votes = draw_votes(rng, table["mass"], 3000)
    with pytest.warns((FewItemsWarning, SeparationWarning)):
        model = fit_table(table, votes)
    assert "too few to test all of these coefficients at once" in str(model.summary())
    with pytest.raises(PairscoreError, match="compare more items, or test fewer coefficients"):
        model.joint_test("grade")


def test_results_read_as_sentences_and_as_records():
    table, votes = graded_study()
    model = fit_table(table, votes)
    contrast = model.contrast({"grade=A": -1, "grade=B": 0.5, "mass": 1})
    assert str(contrast).startswith("-grade=A + 0.5 grade=B + mass = ")
    assert str(contrast).endswith("; item-robust)")
    assert contrast.to_record()["weights"] == {"grade=A": -1.0, "grade=B": 0.5, "mass": 1.0}
    test = model.joint_test("grade")
    assert str(test).startswith(f"Joint test of grade: F(3, {test.df_error:.4g}) = ")
    assert test.to_record() == json.loads(json.dumps(test.to_record()))
    category = model.summary().to_record()["categories"][0]
    assert (category["name"], category["p"], category["reference"]) == ("grade", test.p, None)
    assert "Joint test of grade" in model.summary()._repr_html_()


def test_a_notebook_shows_a_contrast_and_a_joint_test():
    table, votes = graded_study()
    model = RankRegression().fit(
        pd.DataFrame({"<b>": table["mass"], "square": np.square(table["mass"])}), votes
    )
    one, joint = model.contrast({"<b>": 1, "square": -2}), model.joint_test(["<b>", "square"])
    page = one._repr_html_()
    assert "<h4>&lt;b&gt; - 2 square</h4>" in page
    numbers = (one.estimate, one.std_error, one.low, one.high, 0.95, one.statistic, one.p)
    assert "".join(f"<td>{number:.4g}</td>" for number in numbers) in page
    assert "<p>item-robust</p>" in page
    page = joint._repr_html_()
    assert "<h4>Joint test of &lt;b&gt;, square</h4>" in page
    assert f">{joint.in_words.replace('<', '&lt;')}</td>" in page


def test_side_and_context_enter_contrasts_and_joint_tests_by_their_names():
    """They were refused: no coefficient 'left'."""
    rng = np.random.default_rng(5)
    items, m = {"id": np.arange(60), "mass": rng.normal(size=60)}, 900
    left = rng.integers(0, 60, m)
    right = (left + rng.integers(1, 60, m)) % 60
    length = rng.normal(size=m)
    eta = items["mass"][left] - items["mass"][right] + 0.3 + 0.4 * length
    winner = np.where(rng.random(m) < 1 / (1 + np.exp(-eta)), "left", "right")
    votes = {"left": left, "right": right, "winner": winner, "length": length}
    model = RankRegression(side_effect=True, context=["length"]).fit(items, votes)
    V = np.vstack(
        [
            np.hstack([model.covariance_, model.effects_covariance_[:1]]),
            np.hstack([model.effects_covariance_[:1].T, model.effects_covariance_[1:]]),
        ]
    )
    values = dict(zip(("mass", *model.effects_.names), range(3), strict=True))
    row = np.zeros(3)
    row[values["mass"]], row[values["left"]], row[values["length"]] = 1, -1, 0.5
    theta = np.append(model.coef_, model.effects_.values)
    found = model.contrast({"mass": 1, "left": -1, "length": 0.5})
    assert (found.estimate, found.std_error) == pytest.approx((row @ theta, np.sqrt(row @ V @ row)))
    single = model.joint_test("left")
    assert single.statistic == pytest.approx(
        (model.side_effect_ / model.side_effect_std_error_) ** 2
    )
    assert model.joint_test(["mass", "left", "length"]).df == 3
    alone = RankRegression(side_effect=True).fit(items, votes)
    expected = alone.side_effect_std_error_
    assert alone.contrast({"left": 1}).std_error == pytest.approx(expected)
    with pytest.raises(PairscoreError, match=r"no coefficient 'lefft'.*Did you mean 'left'"):
        model.contrast({"lefft": 1})


def test_intervals_and_p_values_of_levels_are_those_of_the_summary():
    """They were unknown, though the summary and contrasts had them."""
    table, votes = graded_study()
    for reference in ({}, {"grade": "B"}):
        model = RankRegression().fit(
            pd.DataFrame(table), votes, categorical=["grade", "site"], reference=reference
        )
        intervals, names = model.confidence_intervals(), model.feature_names_in_
        levels = [k for k, name in enumerate(names) if "=" in name]
        assert len(levels) >= 6
        for k in levels:
            if names[k] == "grade=B" and reference:
                continue
            found = model.contrast({names[k]: 1.0})
            assert intervals[k] == pytest.approx([found.low, found.high], rel=1e-9)
            assert model.p_values_[k] == pytest.approx(found.p, rel=1e-7)


def test_ties_alone_have_a_summary_and_no_joint_test_of_a_category():
    table, winners_and_losers = graded_study()
    left, right = np.asarray(winners_and_losers).T
    votes = pd.DataFrame({"left": left, "right": right, "winner": "tie"})
    with pytest.warns(PairscoreWarning, match="every comparison is a tie"):
        model = fit_table(table, votes)
    assert "grade: no joint test, because their standard errors are unknown." in str(
        model.summary()
    )
    with pytest.raises(PairscoreError, match="standard errors are unknown; fit to comparisons"):
        model.joint_test("grade")
