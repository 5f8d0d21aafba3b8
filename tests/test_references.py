"""Modules and names that docstrings and documentation name are there."""

import importlib
import re
from pathlib import Path

import pytest

import pairscore

SOURCE = Path(pairscore.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
DOTTED = re.compile(r"(?<![\w./-])pairscore(?:\.\w+)+")
# not a name of Python
SUFFIXES = ("toml", "log", "svg", "css", "html", "npz", "py", "csv")


def is_there(name):
    """Whether a dotted name is a module, or what a module has."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(found, attribute) and attribute not in getattr(
                found, "__annotations__", {}
            ):
                return False
            found = getattr(found, attribute, None)
        return True
    return False


def named_in(path):
    """What a file names, less names of files."""
    text = path.read_text(encoding="utf-8")
    return {name for name in DOTTED.findall(text) if not name.endswith(SUFFIXES)}


@pytest.mark.parametrize("folder", [SOURCE, DOCS], ids=["source", "documentation"])
def test_names_are_there(folder):
    paths = [*folder.rglob("*.py"), *folder.rglob("*.md")]
    missing = {
        f"{path.relative_to(folder)}: {name}"
        for path in paths
        if "_build" not in path.parts
        for name in named_in(path)
        if not is_there(name)
    }
    assert not missing


def test_a_name_that_is_not_there_is_seen():
    assert is_there("pairscore.core.links.Logit")
    assert is_there("pairscore.RankRegression.fit")
    assert not is_there("pairscore.core.recession")
    assert not is_there("pairscore.core.links.Probability")
