"""Every block of code and every command of the README and the documentation runs."""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

import pairscore
from pairscore.cli import main
from pairscore.cli.demo import run_demo
from tests.docs.pages import LANGUAGES, OPTIONS, PAGES, ROOT, blocks_of, commands_of, needs_of
from tests.docs.pages import without_fences as prose_of

IN_MAKE_TEST = [page for page in PAGES if "spark" not in needs_of(page)]
SERVERS = ("dask", "object_store", "postgres")
SHELL = re.compile(r"[|&;<>*?$`]|^\w+=")  # what a shell has to read


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory):
    """What `pairscore demo` leaves behind."""
    folder = tmp_path_factory.mktemp("demo")
    run_demo(lambda text: None, folder=folder)
    return folder


@pytest.fixture
def folder(demo_folder, tmp_path, monkeypatch):
    """A fresh folder with the tables of the demo and the examples of the project."""
    for name in ("items.csv", "comparisons.csv", "new_items.csv"):
        shutil.copy(demo_folder / name, tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", str(Path(pairscore.__file__).parents[1]))
    return tmp_path


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("page", IN_MAKE_TEST)
def test_the_blocks_of_a_page_run(page, folder, request):
    for server in needs_of(page):
        request.getfixturevalue(f"docs_{server}")
    run_page(page)


def run_page(page):
    """Run the blocks of a page in this folder, one after the other."""
    mpl.use("Agg")
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        where = f"{page}, line {block.line}"
        if block.is_doctest:
            run_doctest(block, names, where)
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.body, page, "exec"), names)
        elif block.language == "console":
            for command in commands_of(block):
                run_command(command, block.exit_status, where)
        plt.close("all")


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


# -- nothing escapes the test ----------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    for block in blocks_of(page):
        assert block.language in LANGUAGES or block.is_directive, f"{page}, line {block.line}"
        if block.language == "text":
            assert not re.search(r"(?m)^(\$ |>>> |pairscore \w+ )", block.body), (page, block.line)
        if block.language == "console":
            assert block.body.startswith("$ "), (page, block.line)


@pytest.mark.parametrize("page", PAGES)
def test_no_command_hides_in_an_indented_block(page):
    hidden = re.findall(r"(?m)^(?: {4,}|\t)(?:\$ |>>> |pairscore |make |pip ).*$", prose_of(page))
    assert hidden == []


@pytest.mark.parametrize("page", PAGES)
def test_servers_that_a_page_needs_are_known(page):
    assert needs_of(page) <= {*SERVERS, "spark"}


def test_a_page_that_is_wrong_fails(folder, monkeypatch):
    """The runner itself: code, an output, a command and a status that are not true."""
    page = folder / "page.md"
    monkeypatch.setitem(PAGES, "page.md", page)
    for wrong in (
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nraise ValueError\n```\n",
        "```console\n$ pairscore fit nothing.csv nothing.csv\n```\n",
        "```console\n$ pairscore --version\nanother 9.9\n```\n",
        "```console\n$ make what-is-not-there\n```\n",
        "```console\n$ pip install 'pairscore[nothing]'\n```\n",
        "<!-- exit: 2 -->\n```console\n$ pairscore --version\n```\n",
    ):
        page.write_text(wrong)
        with pytest.raises((AssertionError, ValueError)):
            run_page("page.md")
    page.write_text(
        "```python\n>>> 1 + 1\n2\n```\n```console\n$ pairscore --version\npair...\n```\n"
    )
    run_page("page.md")
