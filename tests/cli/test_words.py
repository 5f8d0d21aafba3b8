"""Messages of the library in the words of the command line."""

import re

import click
import pytest

from pairscore import load
from pairscore.cli import main
from pairscore.cli.words import translate
from tests.cli.running import run


def translated(text):
    with click.Context(main):
        return translate(text)


@pytest.mark.parametrize(
    ("of_the_library", "of_the_command"),
    [
        ("use side_effect=True.", "use --side-effect."),
        ("n_items is 0; use a whole number from 1.", "--items is 0; use a whole number from 1."),
        ("use method='pooled'.", "use --method pooled."),
        ("use ties='rao-kupper', which takes any.", "use --ties rao-kupper, which takes any."),
        ("set inference=None.", "set --inference none."),
        ("use None, a number from 0 to 1.", "use a number from 0 to 1."),
        (
            "the votes of 'votes' in votes.csv and my/votes: give votes.",
            "the comparisons of 'votes' in votes.csv and my/votes: give comparisons.",
        ),
        ("the context 'a' is not numeric (String);", "the context 'a' is text;"),
        ("judges' votes, use side_effect=True.", "judges' comparisons, use --side-effect."),
        ("them: id='NAME'. Did you mean 'ID'?", "them: --id NAME. Did you mean 'ID'?"),
        ("use categorical=['a \"b\" c'] here.", "use --categorical 'a \"b\" c' here."),
        ('use categorical=["k\'s"] here.', 'use --categorical "k\'s" here.'),
        (
            "interactions=['a:a'] is a column with itself; use squares=['a'].",
            "--interact 'a:a' is a column with itself; use --square 'a'.",
        ),
        ("leave it out of squares=.", "leave it out of --square."),
        ("squares names 'b', which is no feature", "--square names 'b', which is no feature"),
        ("features names 'x', and the item table", "--features names 'x', and the item table"),
        (
            "'a'; leave them out of the table.",
            "'a'; leave them out: --exclude NAME.",
        ),
        ("add one, or make a text column 0/1 columns;", "add one, or use --categorical NAME;"),
        ("use l2=1.0, or item_effect=0.", "use --l2 1.0, or --item-effect 0."),
        ("set l2 above 0.01; chosen as l2 = 3", "set --l2 above 0.01; chosen as l2 = 3"),
        ("Did you mean 'home' as left?", "Did you mean --left 'home'?"),
        ("n_splits is 9; item_groups has 3", "--folds is 9; --group has 3"),
        (
            "fit with missing='drop-items', missing='mean-with-flag' or missing='item-effect'.",
            "fit with --missing drop-items, --missing mean-with-flag or --missing item-effect.",
        ),
    ],
)
def test_settings_become_options(of_the_library, of_the_command):
    assert translated(of_the_library) == of_the_command


@pytest.mark.parametrize(
    "text",
    [
        "the link is fine and its method too; some features are missing",
        "the column 'n_items' of \"method='mle'\" is text",
        "  line 3, column 'id': missing: \"method='mle'\"",
    ],
)
def test_words_of_the_language_names_and_rows_of_files_stay(text):
    assert translated(text) == text


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
