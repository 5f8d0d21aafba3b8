"""What the commands print on fixed seeds is what they printed before.

Models written before load and rank the same.
"""

import csv

import pytest

from tests.golden.record import (
    HERE,
    OLD_MODELS,
    SIMULATE,
    differences,
    run_cases,
    run_pairscore,
    write_rich_study,
)

TOLERANCE = 1e-7  # other machines sum in another order; the move into rooms was held to 1e-12


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    return run_cases(tmp_path_factory.mktemp("golden"))


def test_commands_print_what_they_printed(outputs):
    changed = {
        name: found
        for name, text in outputs.items()
        if (found := differences((HERE / f"{name}.txt").read_text(), text, TOLERANCE))
    }
    assert not changed


@pytest.mark.parametrize("model", OLD_MODELS)
def test_a_model_written_before_ranks_the_same(model, tmp_path):
    run_pairscore(SIMULATE, tmp_path)
    write_rich_study(tmp_path)
    items = "rich/items.csv" if model == "rich.npz" else "study/items.csv"
    run_pairscore(f"rank {HERE / model} {items} -o ranking.csv", tmp_path)
    with open(tmp_path / "ranking.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["rank"]) for row in rows] == sorted(int(row["rank"]) for row in rows)
    if model == "plain.npz":
        with open(HERE / "rank.txt") as file:  # models of before place no item among the fitted
            kept = [{name: row[name] for name in rows[0]} for row in csv.DictReader(file)]
        assert not differences(str(kept), str(rows), TOLERANCE)


def test_a_difference_is_seen():
    kept = "coef 0.1234567890123 se 0.5"
    assert not differences(kept, "coef 0.1234567890124 se 0.5", 1e-9)
    assert differences(kept, "coef 0.1234567890124 se 0.5", 1e-15)
    assert differences(kept, "coef 0.1234567890123 error 0.5", 1e-9)
    assert differences(kept, "coef 0.1234567890123", 1e-9)
