"""Settings of a model, from options and from texts."""

import json

import numpy as np
import pytest

from pairscore import PairscoreError, load
from pairscore.cli.compare import parse_models
from pairscore.cli.options import number_or_word
from tests.cli.running import (
    fit_frames,
    run,
)

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


SETTINGS = {
    "--method paired": {"method": "paired"},
    "--link probit": {"link": "probit"},
    "--l2 2.5": {"l2": 2.5},
    "--method pooled --shrinkage 0.3": {"method": "pooled", "shrinkage": 0.3},
    "--method paired --shrinkage oas": {"method": "paired", "shrinkage": "oas"},
    "--side-effect": {"side_effect": True},
    "--item-effects": {"item_effects": True},
    "--item-effects auto": {"item_effects": "auto"},
    "--inference model": {"inference": "model"},
    "--inference none": {"inference": None},
}


@pytest.mark.parametrize("options", SETTINGS)
def test_every_setting_reaches_the_model(study, options):
    folder, items, votes = study
    settings = SETTINGS[options]
    run(f"fit items.csv votes.csv {options} -o m.npz")
    model = load(folder / "m.npz")
    assert {key: model.get_params()[key] for key in settings} == settings
    expected = fit_frames(items, votes, **settings)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.side_effect_ == expected.side_effect_
    if settings.get("inference", "items") is None:
        assert model.covariance_ is None
        result = run("rank m.npz items.csv --json")
        assert {row["low"] for row in json.loads(result.stdout)["ranking"]} == {None}
    else:
        np.testing.assert_array_equal(model.std_errors_, expected.std_errors_)


def test_item_effects_alone_do_not_take_a_file_for_their_value(study):
    for options, expected in {"--item-effects": True, "--item-effects auto": "auto"}.items():
        run(f"fit {options} items.csv votes.csv -o m.npz")
        assert load(study[0] / "m.npz").item_effects == expected
    command = "fit items.csv votes.csv -o m.npz"
    assert "'yes', 'auto'" in run(f"{command} --item-effects=x", code=2).output
    said = run(f"{command} --method paired --item-effects auto", code=2).output
    assert "--item-effects auto adds effects" in said


def test_a_text_is_a_number_or_a_word():
    assert [number_or_word(text) for text in ("2.5", "1e-3", "auto", "", None)] == [
        *(2.5, 0.001, "auto", "", None)
    ]


def test_models_by_name_and_settings():
    models = parse_models(("plain:", "rich : l2=auto side_effect=yes context=a+b tol=1e-6"))
    rich = {"l2": "auto", "side_effect": True, "context": ["a", "b"], "tol": 1e-6}
    assert models == {"plain": {}, "rich": rich}
    as_options = parse_models(("a: side-effect=yes judge-slopes=no", "b: item-effects=auto"))
    a = {"side_effect": True, "judge_slopes": False}
    assert as_options == {"a": a, "b": {"item_effects": "auto"}}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["a: b"], "is not of the form"),
        (["no colon", "b:"], "is not of the form"),
        ([": l2=1", "b:"], "is not of the form"),
        (["a:"], "compare needs at least two models; you gave one. Give --model at least twice"),
        (["a: l2=1", "a: l2=2", "b:"], "3 models have 2 names"),
        (["a: judge_slope=yes", "b:"], r"settings are 'context', .*Did you mean 'judge_slopes'\?"),
        (["a: inference=model", "b:"], "has a setting 'inference'"),
        (["a: missing=mean-with-flag", "b:"], "use --missing"),
    ],
)
def test_models_that_nobody_can_mean(models, message):
    with pytest.raises(PairscoreError, match=message):
        parse_models(tuple(models))


def test_a_reference_level_is_named_on_the_command_line_and_kept_in_the_model(study):
    """A column with a reference is a category; levels are against it, in the JSON too."""
    folder, items, _ = study
    level = sorted({str(one) for one in items["style"]})[-1]
    said = run(f"fit items.csv votes.csv --reference style={level} -o m.npz --json").stdout
    record = json.loads(said)
    rows = {row["feature"]: row for row in record["coefficients"]}
    assert rows[f"style={level}"]["coef"] == rows[f"style={level}"]["std_error"] == 0
    assert all(row["std_error"] is not None for row in rows.values())
    assert record["categories"][0]["reference"] == level
    assert load(folder / "m.npz").recipe_["reference"] == {"style": level}
    plain = json.loads(run("fit items.csv votes.csv --categorical style --json").stdout)
    levels = [row["coef"] for row in plain["coefficients"] if row["feature"].startswith("style=")]
    assert sum(levels) == pytest.approx(0, abs=1e-9)
    assert plain["warnings"] == record["warnings"]
    assert not any("unknown" in text for text in plain["warnings"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("style", "--reference 'style' does not name a level; write for example"),
        ("style=nowhere", "--reference names the level 'nowhere' of 'style', which no item has"),
        ("stile=oil", "--reference names 'stile', and the item table has no such column"),
    ],
)
def test_a_reference_that_is_none_is_refused_in_a_sentence(study, option, said):
    assert said in run(f"fit items.csv votes.csv --reference {option} -o m.npz", code=2).stderr


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        ([""] * 6, "left out, because they have no value at all: 'more'."),
        (["7"] * 6, "left out, because all items have the same: 'more'."),
        (["yes"] * 6, "left out, because all items have the same: 'more'."),
        (
            ["yes", "", "yes", "", "", ""],
            "left out, because it has one value and is blank for 4 of 6 items: 'more'; if blank"
            " means something, write it in the cells.",
        ),
    ],
)
def test_auto_is_not_stopped_by_a_column_that_is_empty_or_always_the_same(entries, note, tmp_path):
    x = [0.3, 1.1, 0.2, 2.5, 1.9, 0.7]
    rows = [f"i{k},{value},{more}" for k, (value, more) in enumerate(zip(x, entries, strict=True))]
    (tmp_path / "items.csv").write_text("\n".join(["id,x,more", *rows]) + "\n")
    pairs = [(a, b) for a in range(6) for b in range(6) if a != b] * 2
    won = ["left" if (x[a] > x[b]) != (k % 5 == 0) else "right" for k, (a, b) in enumerate(pairs)]
    lines = [f"i{a},i{b},{winner}" for (a, b), winner in zip(pairs, won, strict=True)]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *lines]) + "\n")
    files = [tmp_path / name for name in ("items.csv", "votes.csv")]
    done = run("fit", *files, "--auto", "-o", tmp_path / "model.npz")
    assert f"Note: {note}" in done.stderr
    assert done.stderr.count("'more'") == 1  # it does not become a category as well
    assert load(tmp_path / "model.npz").feature_names_in_.tolist() == ["x"]
    run("rank", tmp_path / "model.npz", files[0])


def test_a_file_with_decimal_points_is_not_read_with_the_commas_of_an_earlier_one(tmp_path):
    x = ["0,5", "1,25", "2,125", "0,75", "3,5"]
    for name, sign in (("commas", ","), ("points", ".")):
        rows = [f"i{k};{value.replace(',', sign)}" for k, value in enumerate(x)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id;x", *rows]) + "\n")
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    lines = [f"i{a};i{b};{'left' if (a * b) % 3 else 'right'}" for a, b in pairs]
    (tmp_path / "votes.csv").write_text("\n".join(["left;right;winner", *lines]) + "\n")
    model = tmp_path / "model.npz"
    run("fit", tmp_path / "commas.csv", tmp_path / "votes.csv", "--decimal", ",", "-o", model)
    one, other = (
        run("rank", model, tmp_path / f"{name}.csv", "--json") for name in ("commas", "points")
    )
    assert one.stdout == other.stdout
    assert one.stderr == ""
    assert "has decimal signs '.', not ',' as before." in other.stderr


def test_auto_keeps_a_column_that_was_asked_for_whatever_signs_its_name_has(tmp_path):
    """Names are compared with names, not with how Python would print a list of them."""
    names = ["it's", 'a "quoted" one', "plain"]
    header = ["id", "mass", *(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)]
    rows = [[f"P{row}", str(row % 7), "3", "3", "3"] for row in range(30)]
    table = "\n".join(",".join(row) for row in [header, *rows])
    (tmp_path / "items.csv").write_text(table + "\n")
    pairs = [(row, (row * 7 + 3) % 30) for row in range(30)] * 4
    votes = [
        f"P{a},P{b},{'left' if (a % 7 + n) % 3 else 'right'}" for n, (a, b) in enumerate(pairs)
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *votes]) + "\n")
    files = [tmp_path / "items.csv", tmp_path / "votes.csv", "-o", tmp_path / "model.npz"]
    asked = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in [*names[:2], "mass"])
    done = run("fit", *files, "--auto", "--features", asked)
    assert done.exit_code == 0, done.output
    assert "left out, because all items have the same" not in done.stderr
    assert load(tmp_path / "model.npz").feature_names_in_.tolist() == [*names[:2], "mass"]
    done = run("fit", *files, "--auto")
    assert "left out, because all items have the same" in done.stderr
    assert load(tmp_path / "model.npz").feature_names_in_.tolist() == ["mass"]
