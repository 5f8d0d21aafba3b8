"""Levels of categories as they are shown: against dense algebra."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from pairscore import PairscoreError, load
from pairscore.errors import CollinearFeaturesWarning
from pairscore.model.categories import shown_coefficients
from pairscore.model.contrasts import category_tests
from tests.model.test_contrasts import (
    EFFECTS,
    draw_items,
    draw_votes,
    fit_table,
    graded_study,
    summary_rows,
    without_first_level,
)

NO_WARNING = pytest.mark.filterwarnings("error::pairscore.errors.CollinearFeaturesWarning")


def twin_of_levels(twin, table, name, weights=None):
    """Coefficients of all levels against their average, with errors, and the contrasts (k x d)."""
    levels, features = sorted(set(table[name])), list(twin.feature_names_in_)
    rows = np.zeros((len(levels), len(features)))
    for number, level in enumerate(levels[1:], 1):
        rows[number, features.index(f"{name}={level}")] = 1.0
    weights = np.full(len(levels), 1 / len(levels)) if weights is None else np.asarray(weights)
    rows = rows - weights @ rows
    return rows @ twin.coef_, np.sqrt(np.diag(rows @ twin.covariance_ @ rows.T)), rows


@NO_WARNING
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"inference": "model"},
        {"method": "paired"},
        {"method": "pooled"},
        {"link": "probit", "side_effect": True},
        {"item_effects": True},
    ],
)
def test_every_level_of_a_category_has_an_interval_and_none_is_unknown(settings):
    table, votes = graded_study()
    if settings.get("side_effect"):
        ids = votes.copy()
        ids[::2] = ids[::2, ::-1]
        winner = np.where(np.arange(len(ids)) % 2 == 0, "right", "left")
        votes = {"left": ids[:, 0], "right": ids[:, 1], "winner": winner}
    recipe = {"categorical": ["grade", "site"]}
    model = fit_table(table, votes, recipe, **settings)
    twin = without_first_level(table, votes, **settings)
    rtol = 0.02 if settings.get("item_effects") else 1e-5  # two variational fits
    for name, n_levels in (("grade", 4), ("site", 3)):
        rows = summary_rows(model, name)
        coef, errors, _ = twin_of_levels(twin, table, name)
        assert len(rows) == n_levels
        assert rows["coef"].sum() == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(rows["coef"], coef, rtol=rtol, atol=1e-6)
        np.testing.assert_allclose(rows["std_error"], errors, rtol=rtol)
        half = norm.ppf(0.975) * rows["std_error"]
        np.testing.assert_allclose(rows["high"] - rows["low"], 2 * half, rtol=1e-9)
    assert "unknown" not in str(model.summary())


def test_levels_are_shown_against_a_reference_level_and_the_model_file_keeps_it(tmp_path):
    table, votes = graded_study()
    model = fit_table(table, votes, {"reference": {"grade": "C"}})
    coef, errors, _ = twin_of_levels(
        without_first_level(table, votes, ("grade",)), table, "grade", [0, 0, 1, 0]
    )
    rows = summary_rows(model, "grade")
    np.testing.assert_allclose(rows["coef"], coef, rtol=1e-6)
    np.testing.assert_allclose(rows["std_error"], errors, rtol=1e-5, atol=1e-12)
    assert rows["coef"].tolist()[2] == rows["std_error"].tolist()[2] == 0
    assert "reference" in str(model.summary())
    model.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    assert str(loaded.summary()) == str(model.summary())
    json.dumps(model.summary().to_record())
    plain = fit_table(table, votes)  # what is shown changes nothing else
    assert plain.coef_.tobytes() == model.coef_.tobytes() == loaded.coef_.tobytes()
    assert plain.covariance_.tobytes() == model.covariance_.tobytes()


@NO_WARNING
@pytest.mark.parametrize("reference", [{}, {"grade": "B"}, {"grade": "B", "site": "west"}])
@pytest.mark.parametrize("missing", ["refuse", "mean-with-flag", "item-effect"])
def test_shown_coefficients_with_products_and_gaps_give_the_scores_but_for_a_constant(
    reference, missing
):
    table, votes = graded_study(1)
    if missing != "refuse":
        table["grade"][[7, 40]] = None
        table["mass"] = table["mass"].copy()
        table["mass"][[7, 55]] = np.nan
    recipe = {
        "categorical": ["grade", "site"],
        "interactions": ["mass:grade", "grade:site", "site:mass"],
        "squares": ["mass"],
        "reference": reference,
        "missing": missing,
    }
    model = fit_table(table, votes, recipe)
    shown = shown_coefficients(model.result_)
    values = model.comparisons_.items.values
    moved = values @ shown.coef - values @ model.coef_
    assert np.ptp(moved) < 1e-9 * np.ptp(values @ model.coef_)
    assert not shown.undetermined.any()
    cells = dict(zip(model.feature_names_in_, shown.coef, strict=True))
    for level in "ABCD":
        parts = [cells[f"grade={level}:site={site}"] for site in ("east", "north", "west")]
        if "site" in reference:
            assert parts[2] == pytest.approx(0, abs=1e-9)
        else:
            assert sum(parts) == pytest.approx(0, abs=1e-9)
    if not reference:
        for one in ("mass:grade={}", "grade={}"):
            total = sum(cells[one.format(level)] for level in "ABCD")
            assert total == pytest.approx(0, abs=1e-9)
    freedom = {term.name: test.df for term, test in category_tests(shown)}
    assert freedom == {"grade": 3, "site": 2, "mass:grade": 3, "grade:site": 6, "site:mass": 2}


SETS = np.array([0, 0, 1, 1])  # A and B meet, and C and D


def apart_study(seed=3):
    rng = np.random.default_rng(seed)
    level, table = draw_items(rng)
    meet = SETS[level]
    return table, draw_votes(
        rng, table["mass"] + EFFECTS[level], may_meet=lambda left, right: meet[left] == meet[right]
    )


def test_levels_that_never_met_are_unknown_to_each_other_only():
    table, votes = apart_study()
    with pytest.warns(CollinearFeaturesWarning, match="no two items that met differ in some"):
        model = fit_table(table, votes)
    (term, test), *_ = model.summary().tests
    assert term.sets == (("A", "B"), ("C", "D"))
    rows = summary_rows(model, "grade")
    assert np.isfinite(rows["std_error"]).all()
    assert rows["coef"].iloc[:2].sum() == pytest.approx(0, abs=1e-9)
    assert rows["coef"].iloc[2:].sum() == pytest.approx(0, abs=1e-9)
    gap = model.contrast({"grade=A": 1, "grade=B": -1})
    assert gap.estimate == pytest.approx(2 * rows["coef"].iloc[0], rel=1e-9)
    assert test.df == 2
    assert "of the differences that the comparisons determine" in str(model.joint_test("grade"))
    assert "2 sets of levels compare: (A, B), (C, D); coefficients sum to zero within each" in str(
        model.summary()
    )
    open_ones = ({"grade=A": 1, "grade=C": -1}, {"grade=A": 1}, {"mass": 1, "grade=D": 0.01})
    for weights in open_ones:
        with pytest.raises(
            PairscoreError, match=r"any amount of grade=(A \+ grade=B|C \+ grade=D)"
        ):
            model.contrast(weights)
    with pytest.warns(CollinearFeaturesWarning):
        referred = fit_table(table, votes, {"reference": {"grade": "B"}})
    assert np.isnan(summary_rows(referred, "grade")["std_error"]).tolist() == [0, 0, 1, 1]


def test_a_level_of_items_that_were_never_compared_leaves_the_others_as_they_are():
    table, votes = graded_study()
    extra = {name: np.append(column, column[:1]) for name, column in table.items()}
    extra["id"][-1], extra["grade"][-1] = 90, "Z"
    with pytest.warns(CollinearFeaturesWarning, match="'grade=Z'"):
        model = fit_table(extra, votes)
    rows, before = summary_rows(model, "grade"), summary_rows(fit_table(table, votes), "grade")
    np.testing.assert_allclose(rows["coef"].iloc[:4], before["coef"], rtol=1e-9)
    np.testing.assert_allclose(rows["std_error"].iloc[:4], before["std_error"], rtol=1e-6)
    assert np.isnan(rows["std_error"].iloc[4])


@NO_WARNING
@pytest.mark.parametrize("by_file", [False, True])
def test_levels_keep_their_intervals_when_a_model_is_updated(tmp_path, by_file):
    table, votes = graded_study(n_votes=1500)
    whole = fit_table(table, votes, {"reference": {"grade": "B"}})
    model = fit_table(table, votes[:1000], {"reference": {"grade": "B"}})
    if by_file:
        model.save(tmp_path / "m.npz", data=True)
        model = load(tmp_path / "m.npz")
    model.update(votes[1000:])
    assert model.recipe_["reference"] == {"grade": "B"}
    ours, theirs = (one.summary().to_frame() for one in (model, whole))
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-6)
