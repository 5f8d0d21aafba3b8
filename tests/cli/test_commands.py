"""The group of commands: help, exit codes, signals, and what a start loads."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pairscore import Population, __version__, load
from pairscore.cli import main
from pairscore.files.write import write_table
from tests.cli.running import (
    device,
    run,
    shell,
)
from tests.estimators.test_outside_results import DATA

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


# -- help ------------------------------------------------------------------------------------------


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "pairscore", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "fit" in done.stdout


def test_every_command_has_an_example_and_each_example_a_line():
    for name in main.commands:
        shown = run(f"{name} --help").output
        assert re.search(rf"  Examples?: pairscore {name}", shown), name
        for line in shown.partition("Examples:")[2].partition("\n\n")[0].splitlines():
            assert line.strip().startswith(f"pairscore {name}"), line


def test_a_shell_can_ask_for_completion():
    script = shell("", env={**os.environ, "_PAIRSCORE_COMPLETE": "bash_source"})
    assert b"complete -o nosort -F" in script.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pairscore re", {"plain,report", "plain,reproduce"}),
        ("pairscore fit --cat", {"plain,--categorical"}),
        ("pairscore fit --method p", {"plain,pooled", "plain,paired"}),
        ("pairscore rank m", {"file,m"}),
    ],
)
def test_the_shell_completes_what_is_typed(typed, offered):
    """As bash asks: the words so far, and which of them is being typed."""
    words = {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_PAIRSCORE_COMPLETE": "bash_complete",
    }
    assert set(shell("", env={**os.environ, **words}, text=True).stdout.split()) == offered


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("fti", "Did you mean 'fit'?"),
        ("rank m i --leevl 1", "--level"),
        ("fit --categoric x", "--categorical"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(wrong, hint):
    assert hint in run(wrong, code=2).stderr


# -- what a start loads ----------------------------------------------------------------------------


def modules_after(*commands):
    """What a fresh interpreter has loaded after some commands, and what they printed."""
    code = f"""
import sys
from pairscore.cli import main
for words in {[shlex.split(command) for command in commands]!r}:
    main(words, standalone_mode=False)
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    printed, _, modules = done.stdout.rstrip().rpartition("\n")
    return set(modules.split()), printed


@pytest.mark.parametrize("command", ["--help", "-h", "demo --help", "--version"])
def test_help_and_version_come_without_numpy(command):
    modules, printed = modules_after(command)
    assert not modules & {"numpy", "scipy", "sklearn", "narwhals", "duckdb"}
    assert (__version__ if command == "--version" else "Usage: ") in printed


@pytest.mark.usefixtures("study")
def test_to_fit_rank_update_and_plan_takes_no_scikit_learn_matplotlib_or_effects():
    modules, printed = modules_after(
        "fit items.csv votes.csv --keep-data -o m.npz",
        "rank m.npz items.csv",
        "update m.npz votes.csv -o m.npz",
        "plan --features 3 --noise 0.2 --items 50 --comparisons 500",
    )
    assert "numpy" in modules
    assert not modules & {"sklearn", "matplotlib"}
    assert not {name for name in modules if name.startswith("pairscore.effects")}
    assert "Rank regression" in printed


# -- errors ----------------------------------------------------------------------------------------


def test_no_traceback_where_the_disk_refuses(study):
    folder, _, _ = study
    if os.geteuid() == 0:
        target = Path("/proc/model.npz")  # a folder where not even root can write
    else:
        (folder / "locked").mkdir(mode=0o500)
        target = folder / "locked" / "m.npz"
    assert "could not be saved" in run("fit items.csv votes.csv -o", target, code=2).stderr


def test_a_full_disk_behind_standard_output_is_a_sentence_too(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    for command in ("rank m.npz items.csv -o -", "rank m.npz items.csv"):
        with device(folder, "full").open("wb") as full:
            done = shell(command, stdout=full)
        assert done.returncode == 2
        assert done.stderr.count(b"No space left on device") == 1, done.stderr
        assert b"Traceback" not in done.stderr


def test_more_than_the_memory_holds_is_one_sentence(tmp_path, monkeypatch):
    def too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Population, "draw", too_much)
    result = run("simulate --items 60 --features 3 --comparisons 500 -o study", code=2)
    assert result.output == (
        "Error: this needs more memory than there is; use fewer items, comparisons or features.\n"
    )
    assert not (tmp_path / "study").exists()


def test_the_command_in_the_record_can_be_run_again(study):
    folder, _, _ = study
    command = """fit items.csv votes.csv --interact mass:height -o "it's a model.npz\""""
    done = shell(command)
    assert done.returncode == 0, done.stderr
    recorded = load(folder / "it's a model.npz").record_["command"]
    assert shlex.split(recorded)[1:] == shlex.split(command)


# -- the examples of the documentation -------------------------------------------------------------


ROOT = DATA.parent.parent
DOCUMENTS = {
    "README.md": r"(?m)^    (pairscore (?:plan|pairs|fit|rank) .*?)(?:\s+#.*)?$",
    "docs/commands.md": r"(?m)^\$ (pairscore .*)$",
}


def documented(document):
    return re.findall(DOCUMENTS[document], (ROOT / document).read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documented_commands_run_as_they_stand(study, document):
    folder, items, _ = study
    if document == "README.md":  # there all features are numeric
        write_table({name: items[name] for name in ("id", "mass", "height")}, folder / "items.csv")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "votes.csv").rename(folder / "comparisons.csv")
    (folder / "new_items.csv").write_bytes((folder / "items.csv").read_bytes())
    (folder / "tuesday.csv").write_bytes((folder / "comparisons.csv").read_bytes())
    (folder / "wednesdays_items.csv").write_text(
        (folder / "items.csv").read_text().replace("item ", "later ")
    )
    (folder / "wednesday.csv").write_text(
        "left,right,winner\nlater 1,item 1,left\nlater 2,later 3,right\n"
    )
    messy = ROOT / "tests" / "fixtures" / "studies"
    (folder / "study.xlsx").symlink_to(messy / "german_workbook" / "auswahl.xlsx")
    for name in ("patienten.csv", "vergleiche.csv"):
        (folder / name).symlink_to(messy / "german_clinic" / name)
    commands = documented(document)
    assert len(commands) >= 3
    for command in commands:
        command, _, target = command.partition(" > ")
        command, _, source = command.partition(" < ")
        stdin = (folder / source).read_bytes() if source else None
        result = run(command.removeprefix("pairscore "), stdin=stdin)
        if target:
            (folder / target).write_bytes(result.stdout_bytes)


def test_the_documented_table_is_what_comes_out(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    fit, rank, *_ = documented("docs/commands.md")
    run(fit.removeprefix("pairscore "))
    shown = run(rank.removeprefix("pairscore ")).stdout
    assert shown in (ROOT / "docs" / "commands.md").read_text()
