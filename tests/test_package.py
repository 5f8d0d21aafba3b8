"""The package as a whole: a light import and names that resolve."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, requires, version
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import pairscore
from tests.docs.pages import blocks_of
from tests.sentences import all_sentences

HEAVY = ("numpy", "scipy", "sklearn", "narwhals", "duckdb", "matplotlib")
ROOT = Path(__file__).resolve().parents[1]


def heavy_modules_after(code):
    """Which heavy packages a fresh interpreter has loaded after running ``code``."""
    report = f"\nimport sys\nprint('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code + report],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.splitlines()[-1]


# -- import ----------------------------------------------------------------------------------------


def test_importing_the_package_loads_nothing_heavy():
    assert (
        heavy_modules_after("import pairscore; dir(pairscore); pairscore.__version__")
        == "loaded: []"
    )


def test_the_error_class_is_light_and_a_heavy_module_would_be_seen():
    assert heavy_modules_after("from pairscore import PairscoreError") == "loaded: []"
    assert heavy_modules_after("import pairscore.core.links") == "loaded: ['numpy', 'scipy']"


@pytest.mark.parametrize("name", pairscore.__all__)
def test_every_public_name_resolves_and_says_what_it_is(name):
    thing = getattr(pairscore, name)
    assert thing.__name__.rpartition(".")[2] == name
    assert getattr(thing, "__module__", thing.__name__).startswith("pairscore.")
    assert thing.__doc__


@pytest.mark.parametrize("name", ["plots", "scorers"])
def test_a_public_module_is_imported_under_its_public_name(name):
    code = f"import pairscore.{name} as one; from pairscore import {name} as other"
    code += f"; import pairscore; print(one is other is pairscore.{name})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True", done.stderr


def test_public_names_are_listed():
    assert set(pairscore.__all__) | {"__version__"} == set(dir(pairscore))
    namespace = {}
    exec("from pairscore import *", namespace)
    assert set(pairscore.__all__) <= set(namespace)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pairscore' has no attribute 'RankRegresion'"):
        pairscore.RankRegresion  # noqa: B018
    with pytest.raises(ImportError):
        exec("from pairscore import nothing_of_the_kind")


def test_the_version_is_that_of_the_metadata():
    assert pairscore.__version__ == version("pairscore")


def test_the_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="pairscore")
    assert command.load().__name__ == "run"
    program = Path(sys.executable).with_name("pairscore")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert pairscore.__version__ in said.stdout


# -- installation ----------------------------------------------------------------------------------


def needed(requirements):
    """Names of the packages that these requirements bring with them, their own needs too."""
    names, open_ones = set(), list(requirements)
    while open_ones:
        requirement = Requirement(open_ones.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if (name := requirement.name.lower()) not in names:
            names.add(name)
            open_ones += requires(name) or []
    return names


def test_charts_need_no_second_installation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    assert "matplotlib" in {Requirement(line).name for line in project["dependencies"]}
    assert needed(project["dependencies"]) == {Requirement(pin).name.lower() for pin in pins}


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_demo_brings_what_its_first_pages_import(page):
    code = "".join(block.body for block in blocks_of(page) if block.language == "python")
    imported = set(re.findall(r"(?m)^(?:>>> )?(?:import|from) (\w+)", code))
    plan = subprocess.run(
        ["make", "-n", "-B", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    lists = re.findall(r"-r (\S+)", plan)
    lines = [line for name in lists for line in (ROOT / name).read_text().splitlines()]
    brought = {Requirement(line).name.lower() for line in lines if "==" in line}
    assert imported - sys.stdlib_module_names - {"pairscore"} == {"pandas"}
    assert "pandas" in brought


def test_messages_name_packages_of_an_extra():
    """The project itself may not be on the index that pip asks; what it needs is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        frozenset(Requirement(line).name for line in lines)
        for lines in project["optional-dependencies"].values()
    }
    named = re.findall(r"pip install ([^.\n]+)\.", all_sentences())
    assert {frozenset(Requirement(w.strip("'")).name for w in line.split()) for line in named} == (
        extras
    )


def test_the_paper_is_reproduced_from_a_fresh_copy(tmp_path):
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    kernels = "src/pairscore/core/_kernels.pyx"
    for name in ("requirements.txt", "pyproject.toml", "setup.py", kernels):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    plan = subprocess.run(
        ["make", "-n", "paper"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert plan.index("-r requirements.txt") < plan.index("pairscore reproduce")
    assert "requirements-dev" not in plan


def test_the_package_is_typed():
    assert files("pairscore").joinpath("py.typed").is_file()
