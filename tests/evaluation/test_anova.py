"""Nested models: against R, statsmodels and dense algebra, and what each test finds by chance."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import binom, chi2
from scipy.stats import f as f_law

from pairscore import PairscoreError, Population, RankRegression, anova, load
from pairscore.estimators.information_criteria import NO_MAXIMUM
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study, some
from tests.limits import CHANCE
from tests.model.test_contrasts import fit_table, graded_study

# -- witnesses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", ["baseball", "citations"])
def test_home_advantage_is_tested_as_in_r_to_six_digits(study):
    items, votes = read_study(study)
    known = r_numbers(study, "anova")
    small = RankRegression(inference="model").fit(items, votes)
    large = RankRegression(inference="model", side_effect=True).fit(items, votes)
    found = anova(small, large)
    assert (found.added, found.df) == (("left",), 1)
    assert found.likelihood_ratio == pytest.approx(known["ratio"], rel=1e-7)
    assert found.p == pytest.approx(known["p"], rel=1e-7)
    # R takes the weights of its last step but one
    assert found.wald.statistic == pytest.approx(known["wald"], rel=1e-6)
    free = [RankRegression(side_effect=side).fit(None, votes) for side in (False, True)]
    without_features = anova(*free)
    assert without_features.likelihood_ratio == pytest.approx(known["ratio"], rel=1e-6)
    assert without_features.wald.statistic == pytest.approx(known["wald"], rel=1e-5)
    assert without_features.note == ""  # items are explained fully


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_added_features_side_and_context_are_tested_as_in_statsmodels(link):
    items, votes = draw_study(1, side=0.3)
    settings = {"inference": "model", "link": link}
    small = RankRegression(**settings).fit(some(items, "ab"), votes)
    large = RankRegression(side_effect=True, context=["rest"], **settings).fit(items, votes)
    found = anova(small, large)
    X = items[list("abcd")].to_numpy()
    differences = X[votes["left"]] - X[votes["right"]]
    columns = np.column_stack([differences, votes["rest"], np.ones(len(votes))])
    kind, won = sm.Logit if link == "logit" else sm.Probit, (votes["winner"] == "left") * 1.0
    start = {"disp": 0, "method": "newton", "tol": 1e-13}
    theirs = [kind(won, one).fit(**start) for one in (differences[:, :2], columns)]
    ratio = 2 * (theirs[1].llf - theirs[0].llf)
    assert (found.df, found.added) == (4, ("c", "d", "rest", "left"))
    assert found.likelihood_ratio == pytest.approx(ratio, rel=1e-8)
    assert found.p == pytest.approx(chi2.sf(ratio, 4), rel=1e-7)
    if link == "logit":  # our classical errors are by the expected information
        test = theirs[1].wald_test(np.eye(6)[2:], use_f=False, scalar=True)
        assert found.wald.statistic == pytest.approx(float(test.statistic), rel=1e-6)
        assert found.wald.p == pytest.approx(float(test.pvalue), rel=1e-6)


def test_the_robust_test_is_dense_algebra_with_the_covariance_of_the_larger_model():
    items, votes = draw_study(2, spread=0.7)
    small = RankRegression().fit(some(items, "ab"), votes)
    large = RankRegression(side_effect=True).fit(items, votes)
    found = anova(small, large)
    d = 4
    V = np.zeros((d + 1, d + 1))
    V[:d, :d], V[:, d:] = large.covariance_, large.effects_covariance_
    V[d, :d] = V[:d, d]
    own = np.array([2, 3, 4])
    b = np.append(large.coef_, large.side_effect_)[own]
    n, q = large.n_items_ - d - 1, 3
    statistic = b @ np.linalg.solve(V[np.ix_(own, own)], b) * (n - q + 1) / (n * q)
    assert found.wald.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.wald.p == pytest.approx(f_law.sf(statistic, q, n - q + 1), rel=1e-9)
    assert "go by Wald's test" in found.note


def test_an_added_category_is_tested_as_joint_test_does():
    table, votes = graded_study(3)
    large = fit_table(table, votes)
    small = RankRegression().fit(pd.DataFrame({"mass": table["mass"]}), votes)
    found, joint = anova(small, large), large.joint_test("grade")
    assert found.df == joint.df == 3
    assert (found.wald.statistic, found.wald.p) == pytest.approx((joint.statistic, joint.p))


def test_features_are_tested_against_an_ability_for_every_item():
    items, votes = draw_study(4, n_items=12, n_votes=600)
    small = RankRegression().fit(items, votes)
    free = RankRegression().fit(None, votes)
    found = anova(small, free)
    assert found.df == 11 - 4
    assert found.likelihood_ratio == pytest.approx(2 * (free.loglik_ - small.loglik_), rel=1e-12)
    assert found.wald is None
    assert found.added == ("an ability for every item",)


# -- what is said and refused ----------------------------------------------------------------------


def test_the_result_prints_and_goes_into_json():
    items, votes = draw_study(5)
    models = [RankRegression().fit(some(items, names), votes) for names in ("ab", "abcd")]
    found = anova(*models)
    lines = str(found).splitlines()
    assert lines[0] == "Added: c, d"
    assert lines[1].startswith("  likelihood ratio  chi-square(2) = ")
    assert lines[2].endswith("(item-robust)")
    record = json.loads(json.dumps(found.to_record()))
    assert record["wald"]["p"] == pytest.approx(found.wald.p)
    assert record["added"] == ["c", "d"]


def test_a_notebook_shows_both_tests():
    items, votes = draw_study(2, spread=0.7)
    small = RankRegression().fit(some(items, "ab"), votes)
    found = anova(small, RankRegression().fit(items, votes))
    page = found._repr_html_()
    assert "<h4>Added: c, d</h4>" in page
    assert f">chi-square(2) = {found.likelihood_ratio:.4g}, " in page
    assert f">F(2, {found.wald.df_error:.4g}) = {found.wald.statistic:.4g}, " in page
    assert found.note.replace("'", "&#x27;") in page


def test_ties_as_half_wins_leave_walds_test_only():
    items, votes = draw_study(6)
    votes.loc[:30, "winner"] = "tie"
    models = [RankRegression().fit(some(items, names), votes) for names in ("ab", "abc")]
    found = anova(*models)
    assert np.isnan(found.likelihood_ratio)
    assert found.wald.p == pytest.approx(models[1].joint_test("c").p)
    assert "quasi-likelihood" in str(found)
    assert found.to_record()["p"] is None


def test_without_standard_errors_the_note_says_how_to_have_walds_test():
    items, votes = draw_study(9)
    models = [RankRegression(inference=None).fit(some(items, n), votes) for n in ("ab", "abc")]
    found = anova(*models)
    assert found.p < 1
    assert np.isnan(found.wald.p)
    assert found.note.endswith("fit with inference='items'.")
    assert "none, because no standard errors were computed" in str(found)


def test_models_from_files_are_compared(tmp_path):
    items, votes = draw_study(7)
    models = [RankRegression().fit(some(items, names), votes) for names in ("ab", "abc")]
    found = anova(*models)
    for number, model in enumerate(models):
        model.save(tmp_path / f"{number}.npz")
    again = anova(*(load(tmp_path / f"{number}.npz") for number in (0, 1)))
    assert again == found


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda small, large: (large, small), "lacks c, d of the first"),
        (lambda small, large: (small, small), "adds no parameter"),
        (lambda small, large: (small, None), "one is NoneType"),
        (lambda small, large: (small, "probit"), "different settings of link"),
        (lambda small, large: (small, "ridge"), "method='mle' and l2=0"),
        (lambda small, large: (small, "effects"), "only one of the models has item effects"),
        (lambda small, large: (small, "others"), "different comparisons"),
        (lambda small, large: (small, "values"), "different values in them: a"),
        (lambda small, large: ("free", large), "lacks an ability for every item"),
        (lambda small, large: ("older", large), "saved before"),
        (lambda small, large: (small, "separated"), "the likelihood has no maximum"),
    ],
)
def test_models_that_are_not_nested_are_refused_in_a_sentence(change, sentence):
    items, votes = draw_study(8, n_items=20)
    small = RankRegression(inference="model").fit(some(items, "ab"), votes)
    large = RankRegression(inference="model").fit(items, votes)
    older = RankRegression().set_params(inference="model").fit(some(items, "ab"), votes)
    older.result_ = replace(older.result_, likelihood=None)
    separated = RankRegression(inference="model").fit(items, votes)
    reason = replace(separated.result_.likelihood, value=None, reason=NO_MAXIMUM)
    separated.result_ = replace(separated.result_, likelihood=reason)
    others = {
        "probit": lambda: RankRegression(link="probit", inference="model").fit(items, votes),
        "ridge": lambda: RankRegression(l2=1.0, inference="model").fit(items, votes),
        "effects": lambda: RankRegression(item_effects=True).fit(items, votes),
        "others": lambda: RankRegression(inference="model").fit(items, votes[:400]),
        "values": lambda: RankRegression(inference="model").fit(items.assign(a=items.b), votes),
        "free": lambda: RankRegression().fit(None, votes),
        "older": lambda: older,
        "separated": lambda: separated,
    }
    pair = [others[one]() if isinstance(one, str) else one for one in change(small, large)]
    with pytest.raises(PairscoreError, match=sentence) as refused:
        anova(*pair)
    assert str(refused.value).count(". ") == 0


# -- what is found by chance -----------------------------------------------------------------------


def null_p_values(rng, n_fits, n_items=100, n_votes=1000, spread=0.7, n_null=3):
    """p-values of features without influence (n_fits x 2): likelihood ratio and robust Wald."""
    found = []
    for _ in range(n_fits):
        coef = (0.7,) + (0.0,) * n_null
        items, votes = draw_study(rng.integers(2**32), n_items, n_votes, coef, spread)
        small = RankRegression(inference=None).fit(some(items, "a"), votes)
        test = anova(small, RankRegression().fit(items, votes))
        found.append((test.p, test.wald.p))
    return np.array(found)


def test_the_likelihood_ratio_finds_too_much_where_items_are_shared_and_walds_test_does_not():
    """Of 120 studies the robust test may find 7 % at 5 %, the likelihood ratio must find more."""
    n = 120
    ratio, wald = np.sum(null_p_values(np.random.default_rng(0), n, spread=1.0) < 0.05, axis=0)
    assert wald <= binom.isf(CHANCE, n, 0.07)
    assert ratio > binom.isf(CHANCE, n, 0.07)


def test_anova_says_that_it_takes_two_models():
    items, votes = Population(n_features=2, rng=0).draw(60, 400, rng=1, second_half=False)
    model = RankRegression().fit(items, votes)
    with pytest.raises(PairscoreError, match=r"takes two models, the smaller first, and got 3"):
        anova(model, model, model)


def test_a_category_that_was_added_is_named_and_not_its_levels():
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    items = items.assign(id=np.arange(60), cat=np.array(["x", "y", "z"])[np.arange(60) % 3])
    votes = rng.permuted(np.tile(np.arange(60), (500, 1)), axis=1)[:, :2]
    votes = pd.DataFrame(votes, columns=["winner", "loser"])
    small = RankRegression().fit(items, votes, features=["a"])
    large = RankRegression().fit(
        items, votes, features=["a", "b"], categorical=["cat"], reference={"cat": "x"}
    )
    found = anova(small, large)
    assert found.added == ("b", "cat")
    assert found.df == 3
    assert str(found).startswith("Added: b, cat\n")
