"""Messages of the library in the words of the command line."""

import ast
import re
from pathlib import Path

import click
import pytest

import pairscore
from pairscore import load
from pairscore.cli import main
from pairscore.cli.words import in_options, worded
from pairscore.messages import Action, Message, Setting, Text, Value
from tests.cli.running import run


def worded_in(command, said):
    """A text of the library in the words of a command."""
    context = click.Context(main)
    context.invoked_subcommand = command
    with context:
        return worded(Message.of(said))


OF_STUDY_FILE = "of a study file (.toml) that is given in place of the tables"


@pytest.mark.parametrize(
    ("command", "said", "words"),
    [
        (None, "use " + Setting("side_effect", True), "use --side-effect."),
        ("fit", "use " + Setting("side_effect", "judges"), "use --side-effect judges."),
        (None, Setting("n_items") + " is 0", "--items is 0."),
        (None, "use " + Setting("method", "pooled"), "use --method pooled."),
        (None, "set " + Setting("inference", None), "set --inference none."),
        (None, "use " + Value(True) + " or " + Value("auto"), "use yes or auto."),
        (None, "use " + Setting("categorical", ['a "b" c']), "use --categorical 'a \"b\" c'."),
        (None, "use " + Setting("categorical", ["k's"]), """use --categorical 'k'"'"'s'."""),
        (None, Setting("interactions", ["a:a"]) + " is odd", "--interact a:a is odd."),
        (None, "leave it out of " + Setting("squares"), "leave it out of --square."),
        (None, "use " + Setting("l2", 1.0), "use --l2 1."),
        (None, "Did you mean " + Setting("left", "home") + "?", "Did you mean --left home?"),
        (None, Setting("n_splits") + " is 9", "--folds is 9."),
        (None, Setting("item_groups") + " has 3 labels", "--group has 3 labels."),
        ("fit", "pass " + Setting("na", ["<5", "n/a"]), "pass --na '<5,n/a'."),
        ("fit", Setting("winner_codes", {"A": "left"}) + "", "--winner-codes A=left."),
        ("plan", "give " + Setting("items"), "give --items-file."),
        ("plan", "give " + Setting("n_features"), "give --features."),
        ("compare", "use " + Setting("judge_slopes", True), "use judge-slopes=yes."),
        (
            "update",
            "give " + Setting("decimal", ","),
            f'give decimal = "," below [format] {OF_STUDY_FILE}.',
        ),
        (
            "rank",
            Setting("na", ["1,5", 'a "b"']) + "",
            rf'na = ["1,5", "a \"b\""] below [format] {OF_STUDY_FILE}.',
        ),
        (
            "report",
            "name " + Setting("sheet", ["A"]),
            f'name sheets = ["A"] below [tables] {OF_STUDY_FILE}.',
        ),
        (
            "report",
            Setting("winner_codes", {'"': "left"}) + "",
            rf'"\"" = "left" below [codes] {OF_STUDY_FILE}.',
        ),
        (None, "take " + Action("fit_stream"), "take pairscore fit --stream."),
        (None, Setting("rng") + " is 'x'", "rng is 'x'."),
    ],
)
def test_settings_become_options(command, said, words):
    assert worded_in(command, said) == words


def test_a_remedy_that_only_python_has_is_left_out():
    remedies = ["raise " + Setting("max_iter"), "use " + Setting("l2", 1), "see " + Action("load")]
    assert worded_in("fit", Message.of("no maximum", remedies)) == "no maximum; use --l2 1."


@pytest.mark.parametrize(
    "text",
    [
        "the link is fine and its method too; some features are missing.",
        "the column 'n_items' of \"method='mle'\" is text.",
        "line 3, column 'id': missing: \"method='mle'\".",
    ],
)
def test_texts_stay_as_they_are(text):
    assert worded_in("fit", text) == text
    assert worded_in("fit", Text.of(text)) == text


# What only Python has. A remedy that names one is left out on the command line.
SETTINGS_OF_PYTHON = {
    "ax",
    "beta",
    "c3",
    "covariance",
    "covariance_items",
    "cv",
    "experts",
    "max_eigenvalue",
    "max_iter",
    "measure",
    "population",
    "rng",
    "sample_weight",
    "self_pairs",
    "shrinkage",
    "shuffle",
    "slope",
    "test",
    "tradeoff",
    "y",
}
ACTIONS_OF_PYTHON = {
    "Comparisons.from_frames",
    "Comparisons.from_pairs",
    "decomposition_rows",
    "load",
    "plots.ranking",
    "residuals",
    "summary",
    "update",
}
NAMED_BY = ("Setting", "whole_number", "number_between", "positive_number", "share_up_to", "one_of")


def named_in_the_source():
    """Names of settings and of actions that messages of the source have."""
    settings, actions = set(), set()
    for path in Path(pairscore.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            named = [one.value for one in node.args if isinstance(one, ast.Constant)]
            if node.func.id == "Action":
                actions.update(named[:1])
            elif node.func.id == "Setting" and isinstance(node.args[0], ast.Constant):
                settings.add(named[0])
            elif node.func.id in NAMED_BY[1:] and isinstance(node.args[1], ast.Constant):
                settings.add(node.args[1].value)
    return settings, actions


def test_whatever_a_message_names_has_words_or_is_of_python_alone():
    settings, actions = named_in_the_source()
    with click.Context(main):
        unknown = {name for name in settings if in_options(Setting(name)) is None}
        unknown_actions = {name for name in actions if in_options(Action(name)) is None}
    assert unknown == SETTINGS_OF_PYTHON
    assert unknown_actions == ACTIONS_OF_PYTHON


def test_the_text_of_a_file_is_never_put_in_other_words(study):
    folder, _, _ = study
    (folder / "same.csv").write_text("winner,loser\nitem 1,side_effect=True\n")
    result = run("fit items.csv same.csv -o m.npz", code=2)
    assert "unknown item: 'side_effect=True'" in result.stderr
    result = run("fit items.csv votes.csv --exclude n_items -o m.npz", code=2)
    assert "--exclude names 'n_items'" in result.stderr


# -- what users saw --------------------------------------------------------------------------------

JUDGE = (
    "the comparisons have no column 'judge', which --judge-slopes, --side-effect judges and"
    " --inference items+judges need; add it, or"
)
SENTENCES = {
    "fit items.csv votes.csv --side-effect judges -o m.npz": JUDGE,
    "compare items.csv votes.csv --model a: --model 'b: judge_slopes=yes'": (
        "which judge-slopes, side-effect=judges and inference=items+judges need"
    ),
    "report m.npz named.csv votes.csv": "name the column that has them: --id NAME",
    "update m.npz votes.csv --items named.csv -o n.npz": "name the column that has them: --id NAME",
    "rank m.npz named.csv": "name the column that has them: --id NAME",
    "plan --features 9 --misordered 0.1": (
        "give the share of comparisons that contradict the scores (--noise, 0.2 is common), or"
        " give comparisons of a pilot (--pilot)."
    ),
    "plan --noise 0.2 --misordered 0.1": (
        "the number of features is missing; give --features, or give --items-file."
    ),
    "plan --features 9 --noise 0.2": (
        "give a target (such as --misordered), or give --comparisons, or give the time of the"
        " experts (--hours)."
    ),
    "plan --items-file items.csv --noise 0.2 --min-eigenvalue 0.5 --misordered 0.1": (
        "leave out --min-eigenvalue, or leave out --items-file."
    ),
    "plan --items-file items.csv --pilot votes.csv --noise 0.2 --misordered 0.1": (
        "both --noise and --pilot are given"
    ),
    "plan --features 9 --noise 20 --misordered 0.1": (
        "--noise is 20.0; use the share of comparisons that contradict the scores, from 0 to 0.5."
        " Did you mean 0.2?"
    ),
    "plan --features 9 --noise 0.2 --explained 120 --comparisons 900": "at most 1.",
    "compare items.csv votes.csv --model a: --model 'b: side_effect=maybe'": (
        "side-effect is 'maybe'; use yes, no or judges."
    ),
    "plan --features 9 --noise 10% --misordered 0.1": "'10%' is not a number. Did you mean 0.1?",
    "plan --features 9 --noise 0,2 --misordered 0.1": "'0,2' is not a number. Did you mean 0.2?",
    "plan --features 9 --noise 0.2 --misordered 5": "between 0 and 0.5. Did you mean 0.05?",
    "simulate --items 9 --features 2 --comparisons 9 --noise 20 -o s": "Did you mean 0.2?",
    "simulate --items 9 --features 2 --comparisons 9 --judge-noise 10,20 -o s": "Did you mean 0.2?",
    "simulate --items 9 --features 2 --comparisons 9 --noise 0.1 --judge-noise 0.1 -o s": (
        "both --noise and --judge-noise are given, and each determines the other; give one."
    ),
    "rank m.npz items.csv --level 95": "such as 0.95. Did you mean 0.95?",
    "rank votes.csv items.csv": "a table and not a model; give the model first, then the tables.",
    "fit items.csv sides.csv -o n.npz": "no two columns of the comparisons have ids of the items",
    "fit empty.csv votes.csv --missing mean-with-flag -o n.npz": (
        "1 column without any value: 'height'; leave it out: --exclude height."
    ),
    "fit items.csv votes.csv --features style -o n.npz": "or use --categorical in the fit.",
    "compare items.csv votes.csv --folds 40": "--folds is 40",
}


@pytest.mark.parametrize("command", SENTENCES)
def test_advice_is_in_the_words_of_the_command(study, command):
    folder, _, _ = study
    run("fit items.csv votes.csv --keep-data -o m.npz")
    text = (folder / "items.csv").read_text()
    (folder / "named.csv").write_text(text.replace("id,", "name,", 1))
    lines = [line.split(",") for line in text.splitlines()]
    empty = [",".join([*line[:2], "height" if row == 0 else ""]) for row, line in enumerate(lines)]
    (folder / "empty.csv").write_text("\n".join(empty) + "\n")
    votes = (folder / "votes.csv").read_text()
    others = votes.replace("item", "thing").replace("left,right", "lefft,rigth", 1)
    (folder / "sides.csv").write_text(others)
    said = run(command, code=2).stderr
    assert SENTENCES[command] in " ".join(said.split())
    here = {option for param in main.commands[command.split()[0]].params for option in param.opts}
    assert set(re.findall(r"(?<!\S)--[\w-]+", said)) <= {*here, "--categorical", "--help"}


def test_an_id_of_another_name_can_be_told_to_report_and_update(study):
    folder, _, _ = study
    run("fit items.csv votes.csv --keep-data -o m.npz")
    text = (folder / "items.csv").read_text().replace("id,", "name,", 1)
    (folder / "named.csv").write_text(text)
    run("report m.npz named.csv votes.csv --id name -o report.html")
    assert "item 1" in (folder / "report.html").read_text()
    before = load(folder / "m.npz").n_items_
    (folder / "more.csv").write_text(text.replace("item ", "new "))
    (folder / "new.csv").write_text("left,right,winner\nnew 1,item 2,left\n")
    run("update m.npz new.csv --items more.csv --id name -o m.npz")
    assert load(folder / "m.npz").n_items_ == before + 1


def test_a_share_just_above_one_is_not_taken_for_a_percentage():
    said = run("plan --features 3 --noise 0.2 --explained 1.2 --comparisons 500", code=2).stderr
    assert said.rstrip().endswith("above 0 and at most 1.")
    said = run("plan --features 3 --noise 0.2 --explained 60 --comparisons 500", code=2).stderr
    assert said.rstrip().endswith("Did you mean 0.6?")
