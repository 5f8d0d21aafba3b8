"""The claims, judged on rows whose truth is known."""

import re

import numpy as np
import pytest

from pairscore.paper.claims import check_claims
from pairscore.paper.experiments import N_GRID, predicted_errors
from pairscore.paper.rows import error_factor
from pairscore.paper.verdicts import APPROXIMATELY, HOLDS, NOT
from tests.paper.conftest import error_rows, law, need_rows


def one(claims, words):
    (found,) = [claim for claim in claims if words in claim.sentence]
    return found


def test_every_claim_holds_where_the_paper_is_right():
    rows = [row for figure in "234" for row in error_rows(figure, lambda cell: 0.2 * law(cell))]
    needed = [
        row
        for figure in "56"
        for row in need_rows(
            figure, lambda need: 2 * need.n_features / need.min_eigenvalue * (1 + need.noise)
        )
    ]
    claims = check_claims(rows, needed)
    assert len(claims) == 15
    assert {claim.verdict for claim in claims} == {HOLDS}, [
        claim for claim in claims if claim.verdict != HOLDS
    ]
    assert all(claim.rule and claim.measured and claim.where for claim in claims)


def test_no_claim_about_errors_holds_where_nothing_helps():
    rows = [row for figure in "234" for row in error_rows(figure, lambda cell: 0.5)]
    claims = check_claims(rows)
    for words in (
        "converges to c₁β",
        "inverse square",
        "as far as desired",
        "the angle 0.3 is reached",
    ):
        assert one(claims, words).verdict == NOT
    for claim in claims:
        if "increase" in claim.sentence or "reduce the error" in claim.sentence:
            assert claim.verdict != HOLDS, claim


@pytest.mark.parametrize(("late", "verdict"), [(0.0, HOLDS), (2.0, APPROXIMATELY), (10.0, NOT)])
def test_comparisons_beyond_n_log_n_are_weighed_by_the_noise_level_where_they_matter_most(
    late, verdict
):
    # the share of the squared error at N log N = 19,560 that is due to M: late = 2 gives 0.28, late
    # = 10 gives 0.66 at the highest noise
    def error(cell):
        return 0.001 * np.sqrt(
            cell.n_features * (1 + (1000 + 19560 * late * cell.noise / 2) / cell.n_comparisons)
        )

    claim = one(check_claims(error_rows("4", error)), "Once M = N log N")
    share = (1000 + 19560 * late * 0.2) / (19560 + 1000 + 19560 * late * 0.2)
    assert float(re.findall(r"p_e = 0\.4: ([\d.]+)", claim.measured)[0]) == pytest.approx(
        share, abs=0.04
    )
    assert claim.verdict == verdict
    assert ("p_e = 0.4" in claim.why) == (verdict != HOLDS)


def test_the_predicted_floor_stands_beside_the_measured_share():
    claims = check_claims(error_rows("2", law), predicted=predicted_errors("2"))
    assert re.search(r"predicted 0\.1[23]", one(claims, "Once M = N log N").measured)


@pytest.mark.parametrize(("factor", "verdict"), [(0.9, HOLDS), (1.01, APPROXIMATELY), (1.5, NOT)])
def test_the_target_is_reached_or_missed_by_chance_or_missed(factor, verdict):
    def error(cell):
        return 0.3 * factor * np.sqrt(N_GRID[-1] / cell.n_items * cell.n_features / 250)

    rows = error_rows("3", error, spread=0)
    for row in rows:  # a standard error of 1.8 %, the mean unmoved
        row["angle"] *= 1 + 0.04 * (-1) ** row["generation"]
    claims = check_claims(rows, need_rows("5", lambda need: 31_000.0))
    claim = one(claims, "the angle 0.3 is reached")
    assert claim.verdict == verdict
    assert ("N = 31,000" in claim.why) == (verdict != HOLDS)


def test_the_line_in_d_may_have_an_intercept_but_no_bend():
    def judged(size):
        return one(check_claims([], need_rows("5", size)), "linearly in d").verdict

    assert judged(lambda need: 1000 + 60 * need.n_features) == HOLDS
    assert (
        judged(lambda need: 1000 + 60 * need.n_features + 0.05 * need.n_features**2)
        == APPROXIMATELY
    )
    assert judged(lambda need: need.n_features**2) == NOT
    assert judged(lambda need: 300 * np.sqrt(need.n_features)) == NOT


def test_inverse_proportion_holds_on_exact_data_and_not_with_a_constant_or_a_trace():
    def judged(size):
        return one(check_claims([], need_rows("6", size, spread=0.001)), "inversely proportional")

    assert judged(lambda need: 20 / need.min_eigenvalue).verdict == HOLDS
    assert judged(lambda need: need.min_eigenvalue**-0.8).verdict == APPROXIMATELY
    constant = judged(lambda need: 1000 + 20 / need.min_eigenvalue)
    assert constant.verdict == NOT
    assert "from N = a + b/λ_d 0% to 0%" in constant.measured
    trace = judged(lambda need: 25 * error_factor(need.n_features, need.min_eigenvalue))
    assert trace.verdict == NOT
    assert "tr(Σ⁻¹)(1 + λ_d) 0% to 0%" in trace.measured
    assert "equally spaced" in trace.why


def test_noise_that_costs_nothing_between_two_levels_holds_only_approximately():
    flat = need_rows(
        "5",
        lambda need: 10 * need.n_features / need.min_eigenvalue * (1.5 if need.noise > 0.3 else 1),
    )
    claim = one(check_claims([], flat), "More flipped labels")
    assert claim.verdict == APPROXIMATELY
    assert "p_e = 0 → 0.2" in claim.why
    fewer = need_rows("5", lambda need: 100 * (1 - need.noise))
    assert one(check_claims([], fewer), "More flipped labels").verdict == NOT


def test_what_cannot_be_judged_is_left_out():
    assert check_claims([]) == []
    assert check_claims(error_rows("2", law, generations=2)) == []
    only_a = [row for row in error_rows("2", law) if row["panel"] == "a"]
    assert {claim.where for claim in check_claims(only_a)} == {
        "figure 2a",
        "caption of figure 4, measured on 2a",
    }
    unknown = [{**row, "low": np.nan, "high": np.nan} for row in need_rows("5", lambda need: 100.0)]
    assert check_claims([], unknown) == []


def test_rows_as_text_are_judged_alike():
    rows, needed = error_rows("3", law), need_rows("6", lambda need: 20 / need.min_eigenvalue)
    as_text = [
        [
            {
                name: value if isinstance(value, str) else repr(float(value))
                for name, value in row.items()
            }
            for row in table
        ]
        for table in (rows, needed)
    ]
    assert check_claims(*as_text) == check_claims(rows, needed)
