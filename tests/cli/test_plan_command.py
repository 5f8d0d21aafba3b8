"""`pairscore plan`: the answer in words, as JSON and as a picture.

Exit codes and one sentence for what cannot be.
"""

import json
import struct

import numpy as np
import pytest
from click.testing import CliRunner

from pairscore import Population, plan
from pairscore.cli.commands import main
from pairscore.planning.text import plan_curves, plan_record, plan_text

BASE = ["plan", "--features", "20", "--noise", "0.2"]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_the_words_have_the_numbers_of_the_library():
    result = run(*BASE, "--misordered", 0.05)
    made = plan(n_features=20, noise=0.2, misordered=0.05)
    assert result.exit_code == 0, result.output
    assert (
        f"{made.n_items:,} items, {made.n_comparisons:,} comparisons, {made.hours:,.1f} hours"
        in result.output
    )
    for method in ("split", "pooled", "paired", "mle", "10 per item"):
        assert method in result.output


def test_json_is_the_same_plan_and_is_valid_where_a_number_is_infinite():
    result = run(*BASE, "--angle", 0.3, "--items", 100, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.output)
    made = plan(n_features=20, noise=0.2, angle=0.3, n_items=100)
    assert record == json.loads(json.dumps(plan_record(made)))
    assert record["n_comparisons"] == made.n_comparisons
    assert "cannot reach" in record["methods"]["split"]["impossible"]
    few = run(*BASE, "--items", 100, "--comparisons", 5, "--json")
    assert json.loads(few.output)["norm_error"] is None


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_chart_is_written(tmp_path, suffix):
    path = tmp_path / f"plan.{suffix}"
    result = run(*BASE, "--misordered", 0.05, "--chart", path)
    assert result.exit_code == 0, result.output
    content = path.read_bytes()
    if suffix == "png":
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", content[16:24])[0] >= 900
    else:
        assert b"</svg>" in content


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


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ["--items", 100, "--angle", 0.3, "--method", "split"],
            1,
            "with 100 items 'split' cannot reach angle 0.3",
        ),
        (["--noise", 0.5, "--angle", 0.3], 1, "labels are coins"),
        (["--noise", 0, "--angle", 0.3, "--method", "mle"], 1, "the likelihood has no maximum"),
        (["--noise", 0.7, "--angle", 0.3], 2, "Error: --noise is 0.7"),
        (["--noise", -0.1, "--angle", 0.3], 2, "noise is -0.1"),
        (["--misordered", 0.6], 2, "misordered is 0.6"),
        (["--angle", 2], 2, "angle is 2.0"),
        (["--norm-error", 0], 2, "--norm-error is 0.0"),
        (["--angle", 0.3, "--misordered", 0.1], 2, "are both targets"),
        (["--angle", 0.3, "--items", 15], 2, "--items is 15"),
        (
            ["--items", 100],
            2,
            (
                "two of three are needed: give two of --items, --comparisons and a target (angle,"
                " misordered or --norm-error)"
            ),
        ),
        (["--angle", 0.3, "--item-cost", 3], 2, "--item-cost and --comparison-cost are weighed"),
        (["--angle", 0.3, "--pilot", "nowhere.csv"], 2, "nowhere.csv"),
        (["--angle", 0.3, "--chart", "plan.bmp"], 2, "name a .png, .svg or .pdf file"),
        (["--angle", 0.3, "--method", "best"], 2, "'best' is not one of"),
        (["--angle", "wide"], 2, "'wide' is not a valid float"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_an_exit_code(arguments, code, sentence):
    result = run(*BASE, *arguments)
    assert result.exit_code == code, result.output
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert not isinstance(result.exception, ValueError)


@pytest.fixture
def study_files(tmp_path):
    items, votes = Population(4, noise=0.2, rng=0).draw(60, 150, rng=1, second_half=False)
    apart = votes.left != votes.right
    lines = [
        ",".join(["id", "a", "b", "c", "d"]),
        *(f"item{row}," + ",".join(map(repr, values.tolist())) for row, values in enumerate(items)),
    ]
    (tmp_path / "items.csv").write_text("\n".join(lines) + "\n")
    winner = np.where(votes.outcome > 0, "left", "right")
    votes_lines = [
        f"item{a},item{b},{w}"
        for a, b, w in zip(votes.left[apart], votes.right[apart], winner[apart], strict=True)
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *votes_lines]) + "\n")
    return tmp_path, items, votes


def test_items_and_a_pilot_from_files(study_files):
    folder, items, votes = study_files
    result = run(
        "plan",
        "--items-file",
        folder / "items.csv",
        "--pilot",
        folder / "votes.csv",
        "--misordered",
        0.1,
    )
    assert result.exit_code == 0, result.output
    assert "The pilot says that" in result.output
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
    text = (folder / "items.csv").read_text().replace("item7,", "item7,many,", 1)
    (folder / "items.csv").write_text(
        text.replace("item7,many," + text.split("item7,many,")[1].split(",")[0], "item7,many")
    )
    result = run("plan", "--items-file", folder / "items.csv", "--noise", 0.2, "--misordered", 0.1)
    assert result.exit_code == 2, result.output
    assert "many" in result.output
    assert "Traceback" not in result.output


def test_text_columns_are_left_out_of_the_plan_as_of_the_fit(study_files):
    folder, items, _ = study_files
    head, *lines = (folder / "items.csv").read_text().splitlines()
    (folder / "items.csv").write_text(
        "\n".join([f"{head},style", *(f"{line},oil" for line in lines)]) + "\n"
    )
    result = run("plan", "--items-file", folder / "items.csv", "--noise", 0.2, "--misordered", 0.1)
    assert result.exit_code == 0, result.output
    assert (
        result.stderr
        == "Note: the column 'style' is text and was left out; --categorical style makes it 0/1"
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
    renamed = (
        (folder / "votes.csv")
        .read_text()
        .replace("left,right,winner", "home,away,result", 1)
        .replace(",", ";")
    )
    (folder / "named.csv").write_text(renamed)
    files = [
        "plan",
        "--items-file",
        folder / "wide.csv",
        "--id",
        "name",
        "--delimiter",
        ";",
        "--encoding",
        "utf-8",
        "--misordered",
        0.1,
    ]
    pilot = [
        "--pilot",
        folder / "named.csv",
        "--left",
        "home",
        "--right",
        "away",
        "--winner",
        "result",
    ]
    plain = run(
        "plan",
        "--items-file",
        folder / "items.csv",
        "--pilot",
        folder / "votes.csv",
        "--misordered",
        0.1,
    )
    for options in (
        ["--exclude", "extra,style"],
        ["--features", "a,b,c,d"],
        ["--features", "a,b", "--features", "c,d"],
    ):
        result = run(*files, *options, *pilot)
        assert result.exit_code == 0, result.output
        assert result.stdout == plain.stdout
    with_style = run(
        *files, "--exclude", "extra", "--categorical", "style", "--square", "a", "--noise", 0.2
    )
    table = {name: items[:, column] for column, name in enumerate("abcd")}
    by_hand = {
        **table,
        "style=ink": np.arange(60) % 2 == 0,
        "style=oil": np.arange(60) % 2 == 1,
        "a^2": items[:, 0] ** 2,
    }
    assert with_style.stdout == plan_text(plan(items=by_hand, noise=0.2, misordered=0.1)) + "\n"
    dropped = run(*files, "--missing", "drop-items", "--exclude", "style", "--noise", 0.2)
    assert "Note: 1 item dropped." in dropped.stderr
    assert dropped.exit_code == 0, dropped.output
    assert "line 5, column 'extra': missing: '?'" in run(*files, "--noise", 0.2).output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--features", "a,b"],
            (
                "--features is 'a,b'; give the number of features, or the items that have these"
                " columns: --items-file"
            ),
        ),
        (
            ["--features", "20", "--id", "name"],
            "--id is about a file that is not given; add --items-file",
        ),
        (
            ["--features", "20", "--left", "home", "--missing", "drop-items"],
            "--missing, --left are about a file that is not given",
        ),
        (
            ["--items-file", "items.csv", "--winner", "x"],
            "--winner is about a file that is not given; add --pilot",
        ),
        (
            ["--items-file", "items.csv", "--features", "4"],
            "--features names '4', and the item table has no such column",
        ),
        (
            ["--features", "20", "--pilot", "votes.csv"],
            "the pilot 'votes.csv' names items, and there are none",
        ),
        (["--items-file", "-", "--pilot", "-"], "not both"),
    ],
)
def test_options_about_files_need_the_file(study_files, monkeypatch, arguments, sentence):
    monkeypatch.chdir(study_files[0])
    result = run("plan", "--noise", 0.2, "--misordered", 0.1, *arguments)
    assert result.exit_code == 2, result.output
    assert sentence in result.output


def test_help_shows_an_example():
    assert (
        "pairscore plan --features 90 --noise 0.2 --misordered 0.05" in run("plan", "--help").output
    )
