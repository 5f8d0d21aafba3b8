"""`plan`: the numbers of the library, in words, as JSON and as a chart."""

import json
import re
import struct

import numpy as np
import pytest

from pairscore import plan
from pairscore.planning.text import plan_record, plan_text
from tests.cli.running import (
    run,
)

PLAN = "plan --features 20 --noise 0.2"


def test_the_words_have_the_numbers_of_the_library():
    result = run(f"{PLAN} --misordered 0.05")
    made = plan(n_features=20, noise=0.2, misordered=0.05)
    size = f"{made.n_items:,} items, {made.n_comparisons:,} comparisons, {made.hours:,.1f} hours"
    assert size in result.output
    for method in ("split", "pooled", "paired", "mle", "10 per item"):
        assert method in result.output


def test_json_is_the_same_plan_and_is_valid_where_a_number_is_infinite():
    record = json.loads(run(f"{PLAN} --misordered 0.1 --items 100 --json").output)
    made = plan(n_features=20, noise=0.2, misordered=0.1, n_items=100)
    assert record == json.loads(json.dumps(plan_record(made)))
    assert record["n_comparisons"] == made.n_comparisons
    assert "cannot reach" in record["methods"]["split"]["impossible"]
    few = run(f"{PLAN} --items 100 --comparisons 5 --json")
    assert json.loads(few.output)["norm_error"] is None


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_chart_is_written(tmp_path, suffix):
    run(f"{PLAN} --misordered 0.05 --chart plan.{suffix}")
    content = (tmp_path / f"plan.{suffix}").read_bytes()
    if suffix == "png":
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", content[16:24])[0] >= 900
    else:
        assert b"</svg>" in content


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (
            "--items 100 --misordered 0.1 --method split",
            1,
            "with 100 items 'split' cannot reach misordered 0.1",
        ),
        ("--noise 0.5 --misordered 0.1", 1, "labels are coin tosses"),
        ("--noise 0 --misordered 0.1 --method mle", 1, "the likelihood has no maximum"),
        ("--noise 0.7 --misordered 0.1", 2, "Error: --noise is 0.7"),
        ("--noise -0.1 --misordered 0.1", 2, "noise is -0.1"),
        ("--misordered 0.6", 2, "misordered is 0.6"),
        ("--misordered 0", 2, "--misordered is 0.0"),
        ("--misordered 0.1 --items 15", 2, "--items is 15"),
        (
            "--items 100",
            2,
            "there is no target and no number of comparisons; give a target (such as"
            " --misordered), or give --comparisons, or give the time of the experts (--hours)",
        ),
        ("--misordered 0.1 --item-cost 3", 2, "--item-cost and --comparison-cost are weighed"),
        ("--misordered 0.1 --pilot nowhere.csv", 2, "nowhere.csv"),
        ("--misordered 0.1 --chart plan.bmp", 2, "name a .png, .svg or .pdf file"),
        ("--misordered 0.1 --method best", 2, "'best' is not one of"),
        ("--hours wide", 2, "'wide' is not a valid float"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_an_exit_code(options, code, sentence):
    assert sentence in run(f"{PLAN} {options}", code=code).output


def test_items_and_a_pilot_from_files(study_files):
    _, items, votes = study_files
    result = run("plan --items-file items.csv --pilot votes.csv --misordered 0.1")
    assert "In the pilot about" in result.output
    assert "60 items" in result.output
    apart = votes.left != votes.right
    pilot = {
        "left": votes.left[apart],
        "right": votes.right[apart],
        "winner": np.where(votes.outcome > 0, "left", "right")[apart],
    }
    made = plan(items=items, pilot=pilot, misordered=0.1)
    assert plan_text(made) in result.output.replace("\r\n", "\n")


def test_an_items_file_with_text_for_a_number_is_refused_by_name(study_files):
    folder, *_ = study_files
    text = (folder / "items.csv").read_text()
    (folder / "items.csv").write_text(re.sub("item7,[^,]*,", "item7,many,", text))
    result = run("plan --items-file items.csv --noise 0.2 --misordered 0.1", code=2)
    assert "many" in result.output


def test_text_columns_are_left_out_of_the_plan_as_of_the_fit(study_files):
    folder, items, _ = study_files
    head, *lines = (folder / "items.csv").read_text().splitlines()
    (folder / "items.csv").write_text(
        "\n".join([f"{head},style", *(f"{line},oil" for line in lines)]) + "\n"
    )
    result = run("plan --items-file items.csv --noise 0.2 --misordered 0.1")
    assert result.stderr == (
        "Note: the column 'style' is text and was left out; --categorical style makes it 0/1"
        " columns.\n"
    )
    assert result.stdout == plan_text(plan(items=items, noise=0.2, misordered=0.1)) + "\n"


def test_columns_of_items_and_pilot_are_named_as_in_the_fit(study_files):
    folder, items, _ = study_files
    head, *lines = (folder / "items.csv").read_text().splitlines()
    wide = [f"{head.replace('id', 'name')};extra;style".replace(",", ";")]
    wide += [
        f"{line};{'?' if row == 3 else row};{'oil' if row % 2 else 'ink'}".replace(",", ";")
        for row, line in enumerate(lines)
    ]
    (folder / "wide.csv").write_text("\n".join(wide) + "\n")
    votes = (folder / "votes.csv").read_text().replace("left,right,winner", "home,away,result", 1)
    (folder / "named.csv").write_text(votes.replace(",", ";"))
    files = "plan --items-file wide.csv --id name --delimiter ';' --encoding utf-8 --misordered 0.1"
    pilot = "--pilot named.csv --left home --right away --winner result"
    plain = run("plan --items-file items.csv --pilot votes.csv --misordered 0.1")
    for columns in (
        "--exclude extra,style",
        "--features a,b,c,d",
        "--features a,b --features c,d",
    ):
        assert run(f"{files} {columns} {pilot}").stdout == plain.stdout
    with_style = run(f"{files} --exclude extra --categorical style --square a --noise 0.2")
    table = {name: items[:, column] for column, name in enumerate("abcd")}
    by_hand = {
        **table,
        "style=ink": np.arange(60) % 2 == 0,
        "style=oil": np.arange(60) % 2 == 1,
        "a^2": items[:, 0] ** 2,
    }
    assert with_style.stdout == plan_text(plan(items=by_hand, noise=0.2, misordered=0.1)) + "\n"
    dropped = run(f"{files} --missing drop-items --exclude style --noise 0.2")
    assert "Note: 1 item dropped." in dropped.stderr
    gap = run(f"{files} --noise 0.2", code=2)
    assert "line 5, column 'extra': missing: '?'" in gap.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            "--features a,b",
            "--features is 'a,b'; give the number of features, or a file with these"
            " columns: --items-file",
        ),
        ("--features 20 --id name", "--id is about a file that is not given; add --items-file"),
        (
            "--features 20 --left home --missing drop-items",
            "--missing, --left are about a file that is not given",
        ),
        (
            "--items-file items.csv --winner x",
            "--winner is about a file that is not given; add --pilot",
        ),
        (
            "--items-file items.csv --features 4",
            "--features names '4', and the item table has no such column",
        ),
        (
            "--features 20 --pilot votes.csv",
            "the pilot 'votes.csv' compares items, and their features are missing",
        ),
        ("--items-file - --pilot -", "not both"),
    ],
)
@pytest.mark.usefixtures("study_files")
def test_options_about_files_need_the_file(options, sentence):
    assert sentence in run(f"plan --noise 0.2 --misordered 0.1 {options}", code=2).output


def test_help_shows_an_example():
    assert "pairscore plan --features 90 --noise 0.2 --misordered 0.05" in run("plan --help").output


def test_several_noises_or_a_range_are_a_table():
    result = run(f"{PLAN.replace('0.2', '0.1,0.2,0.5')} --misordered 0.05")
    header, ten, twenty = result.stdout.splitlines()[:3]
    assert header.split()[:3] == ["noise", "items", "comparisons"]
    made = plan(n_features=20, noise=0.2, misordered=0.05)
    assert twenty.split()[:4] == ["20", "%", f"{made.n_items:,}", f"{made.n_comparisons:,}"]
    assert ten.startswith(" 10 %")
    assert "noise 50 %: --noise is 0.5, so labels are coin tosses" in result.stdout
    assert "in another order than by the best score that the features allow" in result.stdout
    record = json.loads(run(f"{PLAN.replace('0.2', '0.1-0.3')} --misordered 0.05 --json").stdout)
    assert [one["noise"] for one in record["plans"]] == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3])
    assert record["plans"][2] == json.loads(json.dumps(plan_record(made)))
    sentence = run(f"{PLAN.replace('0.2', '0.1,20')} --misordered 0.05", code=2).output
    assert (
        "--noise is 20.0; use the share of comparisons that contradict the scores, from 0 to 0.5"
        in sentence
    )
    assert (
        "'low' is not a number"
        in run("plan --features 3 --noise low --misordered 0.1", code=2).output
    )


def test_hours_are_a_budget_and_explained_gives_two_errors():
    result = run("plan --features 12 --noise 0.2 --explained 0.6 --hours 6")
    made = plan(12, noise=0.2, explained=0.6, hours=6)
    assert result.stdout == plan_text(made) + "\n"
    assert "the best use of 939 comparisons" in result.stdout
    assert re.search(r"new items +[\d.]+ %.*\n  the compared items +[\d.]+ %", result.stdout)
    both = run("plan --features 12 --noise 0.2 --comparisons 9 --hours 3", code=2).output
    assert "--comparisons and --hours both say how many comparisons there are" in both


def test_a_chart_of_several_noises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(f"{PLAN.replace('0.2', '0.1,0.2')} --misordered 0.05 --chart plan.svg")
    assert (tmp_path / "plan.svg").read_text().count("noise") >= 2
