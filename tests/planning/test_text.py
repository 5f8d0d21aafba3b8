"""A plan in words, as a record, and as the rows of its chart."""

import json
import re

import numpy as np
import pytest

from pairscore import plan
from pairscore.planning.text import plan_curves, plan_record, plan_text


def test_the_words_are_question_answer_error_table_and_reasons():
    found = plan(n_features=5, noise=0, misordered=0.05)
    question, answer, error, table, reasons = plan_text(found).split("\n\n")
    assert question == (
        "To put on average at most 5 % of the pairs of new items in the wrong order, with 5"
        " features, where 0 of 100 comparisons contradict the score's order:"
    )
    assert f"{found.n_items:,} items, {found.n_comparisons:,} comparisons, " in answer
    assert answer.endswith("(method paired, M = N log N)")
    assert error.startswith(f"Expected: {100 * found.misordered:.2f} % of new pairs misordered")
    names = [line.split()[0] for line in table.splitlines()]
    assert names == ["items", "split", "pooled", "*", "10"]
    assert reasons.startswith("Without noise the likelihood has no maximum")


def test_a_study_without_a_target_is_described():
    found = plan(n_features=12, noise=0.2, n_items=20, n_comparisons=15, method="split")
    question, answer, *_, cautions = plan_text(found).split("\n\n")
    assert question == (
        "With 12 features, where 20 of 100 comparisons contradict the score's order, this study:"
    )
    assert "20 items compared, 40 in all, 15 comparisons" in answer
    assert cautions.splitlines() == [
        "20 items for 12 features are few: predictions were tested only from 48 items on.",
        "Some items will never be compared: predictions were tested only with at least as many"
        " comparisons as items.",
    ]


def test_the_record_is_plain_and_an_infinite_number_is_none():
    found = plan(n_features=60, noise=0.2, n_items=200, n_comparisons=15)
    assert found.norm_error == np.inf
    record = plan_record(found)
    assert record == json.loads(json.dumps(record, allow_nan=False))
    assert record["norm_error"] is None
    assert record["angle"] == found.angle == np.pi / 2
    assert (record["n_items"], record["n_comparisons"], record["target"]) == (200, 15, None)
    assert set(record["methods"]) == {"split", "pooled", "paired", "mle"}
    impossible = plan_record(plan(n_features=5, noise=0, misordered=0.1))["methods"]["mle"]
    assert "no maximum" in impossible["impossible"]


def test_curves_are_of_half_once_and_twice_the_items():
    found = plan(n_features=12, noise=0.2, misordered=0.1, method="paired", n_items=15)
    rows = plan_curves(found, n_points=5)
    assert sorted({row["n_items"] for row in rows}) == [14, 15, 30]  # 12 features need 14
    for row in rows:
        error = found.law.predict(row["n_items"], row["n_comparisons"], "paired")
        assert row["error"] == error.misordered
        assert (row["measure"], row["method"]) == ("misordered", "paired")


@pytest.mark.parametrize(("d", "n", "m"), [(1, 3, 1), (2, 5, 1), (1, 4, 2000)])
def test_one_is_singular_in_the_words(d, n, m):
    lines = plan_text(plan(n_features=d, noise=0.2, n_items=n, n_comparisons=m)).splitlines()
    # the theory's own sentence
    text = "\n".join(line for line in lines if "needs at least" not in line)
    assert not re.search(r"\b1 (items|comparisons|features)", text)
    assert not re.search(r"\b[\d,]*[02-9] (item|comparison|feature)\b", text)
    assert ("1 comparison for" in text and "is few" in text) == (m == 1)


def test_the_curves_fall_and_pass_through_the_chosen_study():
    made = plan(n_features=20, noise=0.2, angle=0.2)
    rows = plan_curves(made)
    sizes = sorted({row["n_items"] for row in rows})
    assert made.n_items in sizes
    assert len(sizes) == 3
    for n in sizes:
        errors = [row["error"] for row in rows if row["n_items"] == n]
        assert np.all(np.diff(errors) < 0)
    here = [(row["n_comparisons"], row["error"]) for row in rows if row["n_items"] == made.n_items]
    m, error = np.array(here).T
    assert np.interp(np.log(made.n_comparisons), np.log(m), error) == pytest.approx(
        made.angle, rel=0.01
    )


def test_misordered_is_told_from_wrong_predictions():
    """5 % of new pairs in another order is not 95 % of comparisons predicted."""
    found = plan(n_features=20, noise=0.2, misordered=0.05)
    text = " ".join(plan_text(found).split())
    assert "Misordered: in another order than by the best score that the features allow" in text
    share = re.search(r"which would predict 80\.0 % .* this study's about ([\d.]+) %", text)[1]
    assert 78 < float(share) < 80
    assert "Misordered: " not in plan_text(plan(n_features=1, noise=0.2, misordered=0.05))


def test_a_target_and_a_budget_say_what_more_items_would_give():
    """A plan of 8 items for 900 comparisons looked like advice."""
    found = plan(n_features=3, noise=0.2, misordered=0.1, n_comparisons=939)
    text = " ".join(plan_text(found).split())
    assert f"{found.n_items} items are the fewest that reach this with 939 comparisons." in text
    best = plan(n_features=3, noise=0.2, n_comparisons=939)
    assert best.n_items > 10 * found.n_items
    assert f"{best.n_items} items would have {100 * best.misordered:.2f} % of new pairs" in text
    assert "are the fewest" not in plan_text(plan(n_features=3, noise=0.2, misordered=0.1))
    assert "are the fewest" not in plan_text(best)
