"""The package as a whole: a light import and names that resolve."""

import subprocess
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files

import pytest

import pairscore

HEAVY = ("numpy", "scipy", "sklearn", "narwhals", "duckdb")


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
    assert heavy_modules_after("import pairscore.metrics") == "loaded: ['numpy', 'scipy']"


@pytest.mark.parametrize("name", pairscore.__all__)
def test_every_public_name_resolves_and_says_what_it_is(name):
    thing = getattr(pairscore, name)
    assert thing.__name__.rpartition(".")[2] == name
    assert getattr(thing, "__module__", thing.__name__).startswith("pairscore.")
    assert thing.__doc__


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
    assert command.load().name == "main"


def test_the_package_is_typed():
    assert files("pairscore").joinpath("py.typed").is_file()
