"""The group of commands: help, exit codes, signals, and what a start loads."""

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from pairscore import Population, __version__, load
from pairscore.cli import main
from pairscore.cli.help import examples
from pairscore.core import kernels
from pairscore.files.write import write_table
from pairscore.files.write_workbook import NewSheet, fill_workbook
from tests.cli.running import (
    device,
    run,
    shell,
)

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


# -- help ------------------------------------------------------------------------------------------


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "pairscore", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "fit" in done.stdout


def examples_of(name):
    """The examples in the help of a command, as a shell would take them."""
    block = run(f"{name} --help").output.partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in re.sub(r" \\\n +", " ", block).splitlines()]


EXAMPLES = [example for name in main.commands for example in examples_of(name)]


@pytest.mark.parametrize("name", main.commands)
def test_every_command_has_two_examples_and_its_options_in_sections(name, monkeypatch):
    assert len(examples_of(name)) >= 2
    assert all(example.startswith(f"pairscore {name}") for example in examples_of(name))
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(f"{name} --help").output
    titles = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert titles[-1] == "Output"
    assert len(titles) == len({*titles}) >= 2
    opts = [max(param.opts, key=len) for param in main.commands[name].params]
    whole = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w-])", shown)
    assert {one for one in opts if one.startswith("-")} <= {*whole}
    assert not [one for one in whole if one.endswith("-")]  # at the end of a line
    assert max(map(len, shown.splitlines())) <= 80


@pytest.fixture(scope="module")
def example_files(tmp_path_factory):
    """Every file that an example names, and the models."""
    folder = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(0)
    n, m = 60, 500
    x = rng.normal(size=(n, 2))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    wins = rng.random(m) < 1 / (1 + np.exp(x[right, 0] - x[left, 0]))
    ids = np.array([f"i{row}" for row in range(n)], dtype=object)
    kinds = np.array(["a", "b", "c"], dtype=object)
    text = {"topic": ids[np.arange(n) // 6], "grape": kinds[np.arange(n) % 3], "name": ids}
    features = {"alcohol": x[:, 0], "year": x[:, 1], **text}
    winner = np.where(wins, "left", "right").astype(object)
    winner[::10] = "tie"
    judge = np.array(["Ann", "Ben", "Cem"], dtype=object)[np.arange(m) % 3]
    for name in ("items", "new_items", "patients", "images", "answers", "teams"):
        write_table({"id": ids, **features}, folder / f"{name}.csv")
    write_table({"id": ids, **features}, folder / "new_items.parquet")
    write_table({"wine": ids, **features}, folder / "wines.csv")
    votes = {"left": ids[left], "right": ids[right], "winner": winner, "judge": judge}
    for name in ("votes", "tastings", "pairs"):
        write_table(votes, folder / f"{name}.csv")
    for seed, name in enumerate(("monday", "tuesday", "ann", "bob")):
        rows = np.random.default_rng(seed).permutation(m)
        write_table({column: of[rows] for column, of in votes.items()}, folder / f"{name}.csv")
    last = {column: of[::-1] for column, of in votes.items()}
    fill_workbook(folder / "filled.xlsx", [NewSheet("Dora", last)])
    games = {
        "home": ids[left],
        "away": ids[right],
        "winner": winner,
        "rest_days": rng.normal(size=m),
    }
    for name in ("games", "sunday"):
        write_table(games, folder / f"{name}.csv")
    (folder / "study.toml").write_text(
        '[tables]\nitems = "patients.csv"\ncomparisons = "votes.csv"\n'
        '[columns]\nexclude = ["topic", "name"]\n'
    )
    fresh = ids + "n"
    write_table({"id": fresh, **features}, folder / "fresh.csv")
    again = {"left": fresh[left[:400]], "right": fresh[right[:400]], "winner": winner[:400]}
    write_table(again, folder / "fresh_votes.csv")
    with closing(sqlite3.connect(folder / "study.db")) as database, database:
        database.execute("CREATE TABLE things (id TEXT, mass REAL)")
        database.executemany("INSERT INTO things VALUES (?, ?)", zip(ids, x[:, 0], strict=True))
        database.execute("CREATE TABLE games (a TEXT, b TEXT)")
        winners, losers = np.where(wins, left, right), np.where(wins, right, left)
        pairs = zip(ids[winners], ids[losers], strict=True)
        database.executemany("INSERT INTO games VALUES (?, ?)", pairs)
    return folder


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_in_the_help_is_understood(example):
    words = shlex.split(example)[1:]
    command = main.commands[words[0]]
    given = command.make_context(words[0], [*words[1:]])
    options = {param.name for param in command.params if {*param.opts} & {*words}}
    assert all(given.get_parameter_source(name).name == "COMMANDLINE" for name in options)
    assert len(options) == len({word for word in words if word.startswith("-") and word != "-"})


# reproduce takes minutes
@pytest.mark.parametrize("example", [one for one in EXAMPLES if " reproduce" not in one])
def test_every_example_in_the_help_runs(example, example_files, monkeypatch):
    words = shlex.split(example)[1:]
    monkeypatch.chdir(example_files)
    if words[0] in ("rank", "report", "predict", "update"):
        run("fit items.csv votes.csv --keep-data -o model.npz")
        context = "--left home --right away --side-effect --context rest_days"
        run(f"fit teams.csv games.csv {context} -o teams.npz")
    if words[0] in ("stats", "merge"):
        run("stats items.csv votes.csv -o site1.npz")
        run("stats fresh.csv fresh_votes.csv -o site2.npz")
        run("merge site1.npz site2.npz -o merged.npz")
    if "arena.npz" in example:
        run("fit votes.csv -o arena.npz")
    if "new_items.csv" in words and words[0] == "update":
        words[words.index("new_items.csv")] = "fresh.csv"  # new items have new ids
    before = {path: path.stat().st_mtime_ns for path in example_files.iterdir()}
    done = run(shlex.join(words))
    changed = {p.name for p in example_files.iterdir() if before.get(p) != p.stat().st_mtime_ns}
    asked = {words[words.index(name) + 1] for name in ("-o", "--report") if name in words}
    assert done.stdout.strip() or changed
    stems = {Path(name).stem for name in asked}
    assert all(any(name.startswith(stem) for name in changed) for stem in stems)


def test_a_long_example_is_in_lines_that_a_shell_joins():
    long = "fit a.csv b.csv " + " ".join(f"--exclude 'column {number}'" for number in range(9))

    @click.command()
    @examples("fit a b", long)
    def command():
        """Do it.

        Well.
        """

    shown = CliRunner().invoke(command, ["--help"]).output
    assert "  Do it.\n\n  Well.\n\n  Examples:\n    pairscore fit a b\n    pairscore fit" in shown
    block = shown.partition("Examples:\n")[2].partition("\n\n")[0]
    assert max(map(len, block.splitlines())) <= 80
    assert f"pairscore {long}" in re.sub(r" \\\n +", " ", block)


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
    if command == "--version":  # says which twin of the passes runs
        assert ("(compiled)" if kernels.IS_COMPILED else "built without a compiler") in printed


KEPT_OF_EFFECTS = {
    "pairscore.effects",
    *(
        f"pairscore.effects.{name}"
        for name in ("calibration", "comparison_effects", "item_effects", "judges")
    ),
}
# what a model may keep of an estimate, and what its settings mean
KEPT_OF_ESTIMATORS = {
    "pairscore.estimators",
    *(f"pairscore.estimators.{name}" for name in ("information_criteria", "lapse")),
    *(f"pairscore.estimators.{name}" for name in ("ridge", "settings")),
}


@pytest.mark.usefixtures("study")
def test_to_fit_rank_and_update_takes_only_what_they_use():
    """scipy.stats alone took longer to import than all that is needed.

    Of effects only what a model may keep is there, and nothing that fits them.

    scipy.optimize is for comparisons that tied: their scale is a root.
    """
    modules, printed = modules_after(
        "fit items.csv votes.csv --keep-data -o m.npz",
        "rank m.npz items.csv",
        "update m.npz votes.csv -o m.npz",
    )
    assert "numpy" in modules
    assert not modules & {"sklearn", "matplotlib", "jinja2", "pandas", "polars", "pyarrow"}
    assert not modules & {"scipy.stats", "scipy.interpolate", "xml.sax", "urllib.request"}
    assert {name for name in modules if name.startswith("pairscore.effects")} <= KEPT_OF_EFFECTS
    chosen = {"ridge_choice", "lapse_rate", "closed_form"}  # only where somebody asks for them
    assert not modules & {f"pairscore.estimators.{name}" for name in chosen}
    assert "Rank regression" in printed


@pytest.mark.usefixtures("study")
def test_to_rank_takes_nothing_that_fits():
    """Of SciPy the special functions alone; its linear algebra takes longer than a ranking."""
    run("fit items.csv votes.csv -o m.npz")
    modules, printed = modules_after("rank m.npz items.csv")
    of_scipy = {"linalg", "sparse", "optimize", "interpolate", "spatial"}
    assert not modules & {f"scipy.{name}" for name in of_scipy}
    for room, kept in (("effects", KEPT_OF_EFFECTS), ("estimators", KEPT_OF_ESTIMATORS)):
        assert {name for name in modules if name.startswith(f"pairscore.{room}")} <= kept
    assert "score" in printed


def test_to_plan_takes_neither_tables_nor_models():
    """Its directions are a lattice; scipy.stats, for Sobol's, took longer than a plan."""
    modules, printed = modules_after("plan --features 3 --noise 0.2 --items 50 --comparisons 500")
    assert not modules & {"scipy.stats", "duckdb"}
    assert not modules & {"sklearn", "matplotlib", "jinja2", "pandas", "polars", "pyarrow"}
    assert not {name for name in modules if name.startswith("pairscore.effects")}
    assert "50 items" in printed


@pytest.mark.parametrize(
    "command",
    [
        "fit items.csv votes.csv -o m.npz",
        "fit items.csv votes.csv --auto -o m.npz",
        "fit items.csv votes.csv --stream -o m.npz",
        "fit items.csv items.csv -o m.npz",
    ],
)
def test_a_process_ends_without_complaints(study, command):
    """Modules are not freed at its end; of objects of DuckDB that were not freed it would tell."""
    folder, _, _ = study
    words = [sys.executable, "-m", "pairscore", *command.split()]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert "leaked" not in done.stderr
    assert done.returncode in (0, 2)


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


# -- what commands say -----------------------------------------------------------------------------


@pytest.mark.usefixtures("study")
def test_every_command_says_what_it_wrote():
    """rank, predict, update, merge and fit --stream ended without a word."""
    rank = "Next: pairscore rank m.npz"
    run("stats items.csv votes.csv --allow-small -o s.npz")
    lines = {
        "fit items.csv votes.csv --stream -o m.npz": f"Wrote m.npz. {rank} items.csv.",
        "merge s.npz -o m.npz": "Wrote m.npz.",
        "fit items.csv votes.csv --keep-data -o m.npz": f"Wrote m.npz. {rank} items.csv, or",
        "update m.npz votes.csv --repeated add -o m.npz": f"Wrote m.npz. {rank} NEW_ITEMS.csv.",
        "predict m.npz items.csv votes.csv -o p.csv": "Wrote p.csv.",
    }
    for command, line in lines.items():
        assert run(command).stdout.splitlines()[-1].startswith(line), command
    assert "Wrote" not in run("update m.npz votes.csv --repeated add -o m.npz --json").output
    assert "Wrote" not in run("rank m.npz items.csv -o -").output


def test_commands_are_listed_in_the_order_of_the_work_with_whole_sentences():
    said = run("--help").stdout
    order = [said.index(f"\n  {name} ") for name in ("plan", "pairs", "fit", "rank", "report")]
    assert order == sorted(order)
    assert "..." not in said.split("Commands")[1]


# -- the size of the help --------------------------------------------------------------------------

SCREENS = 100  # lines: two of 50, 80 columns wide


@pytest.mark.parametrize("name", main.commands)
def test_the_help_of_a_command_fits_on_two_screens(name):
    context = click.Context(
        main.commands[name], info_name=f"pairscore {name}", max_content_width=80
    )
    context.terminal_width = 80
    lines = main.commands[name].get_help(context).splitlines()
    assert len(lines) <= SCREENS
    assert max(map(len, lines)) <= 80
    broken = [line for line in lines if re.search(r"(^| )--[\w-]+-$", line)]
    assert broken == []  # an option is in one line
