"""Runs a page of the documentation, block by block."""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from click.testing import CliRunner

import pairscore
from pairscore.cli import main
from tests.docs.pages import OPTIONS, ROOT, Block, blocks_of, commands_of

SHELL = re.compile(r"[|&;<>*?$`]|^\w+=")  # what a shell has to read
TABLES = ("items.csv", "comparisons.csv", "new_items.csv")
WITHOUT_SPARK = frozenset({"dask", "object_store", "postgres"})


def enter_folder(folder, demo_folder, monkeypatch):
    """Go to a folder with the tables of the demo and the examples of the project."""
    for name in TABLES:
        shutil.copy(demo_folder / name, folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", str(Path(pairscore.__file__).parents[1]))
    return folder


def run_page(page, addresses=None, servers=WITHOUT_SPARK):
    """Run the blocks of a page in this folder, one after the other.

    ``addresses`` are those that the page writes, each with that of the server that is there.
    Blocks that need another server than one of ``servers`` are left out.
    """
    mpl.use("Agg")
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        if not block.needs <= servers:
            continue
        block = with_addresses(block, addresses or {})
        where = f"{page}, line {block.line}"
        if block.is_doctest:
            run_doctest(block, names, where)
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.body, page, "exec"), names)
        elif block.language == "console":
            for command in commands_of(block):
                run_command(command, block.exit_status, where)
        plt.close("all")


def with_addresses(block: Block, addresses: Mapping[str, str]) -> Block:
    """A block with other addresses, in its commands and in what they print."""
    body = block.body
    for written, real in addresses.items():
        body = body.replace(written, real)
    return replace(block, body=body)


def run_doctest(block, names, where):
    test = doctest.DocTestParser().get_doctest(block.body, names, where, block.page, block.line - 1)
    said = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    failed, _ = runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert failed == 0, "".join(said)


def run_command(command, status, where):
    """Run a command and hold what it prints to the page."""
    if command.words[:1] in (["make"], ["pip"], ["cd"], ["."]):
        return check_set_up(command.words, where)
    if command.words[:1] == ["pairscore"] and not SHELL.search(command.text.partition(" #")[0]):
        done = CliRunner().invoke(main, command.words[1:], prog_name="pairscore")
        found, printed, said = done.exit_code, done.stdout, done.output
    else:
        done = subprocess.run(
            ["bash", "-ec", command.text], capture_output=True, text=True, timeout=300
        )
        found, printed, said = done.returncode, done.stdout, done.stdout + done.stderr
    assert found == status, f"{where}: {command.text}\n{said}"
    if command.printed:
        shown = printed if status == 0 else said
        same = doctest.OutputChecker().check_output(command.printed + "\n", shown, OPTIONS)
        assert same, f"{where}: {command.text}\nprints\n{shown}"


def check_set_up(words, where):
    """What other targets run for real: that it names something that is there."""
    if words[0] == "make":
        targets = re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text())
        assert set(words[1:]) <= set(targets), where
    if words[0] == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extra in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(extra.split(",")) <= set(project["optional-dependencies"]), where
        assert words[1] == "install", where
