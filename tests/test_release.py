"""What a release says of itself: versions, citation, security, and the oldest versions allowed."""

import os
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from release.check import claimed_pythons, find_pythons
from release.oldest import oldest_pins
from release.oldest import test_tools as names_of_tools

import pairscore

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def words(name):
    return (ROOT / name).read_text(encoding="utf-8")


# -- what is said ----------------------------------------------------------------------------------


def test_the_citation_is_of_this_version_and_names_the_paper():
    assert CITATION["cff-version"] == "1.2.0"
    assert (CITATION["title"], CITATION["version"]) == ("pairscore", pairscore.__version__)
    assert CITATION["license"] == PROJECT["license"]
    paper = CITATION["preferred-citation"]
    assert paper["title"] == (
        "On the Sample Complexity of Rank Regression from Pairwise Comparisons"
    )
    authors = [author["family-names"] for author in paper["authors"]]
    assert authors == ["Kadıoğlu", "Tian", "Dy", "Erdoğmuş", "Ioannidis"]
    assert all(author["given-names"] for author in paper["authors"])


def test_the_version_is_one_of_the_changelog():
    headings = re.findall(r"^## (\S+)", words("CHANGELOG.md"), re.MULTILINE)
    assert pairscore.__version__ in headings
    assert str(Version(pairscore.__version__)) == pairscore.__version__


def test_security_says_what_is_trusted_and_how_to_report():
    text = words("SECURITY.md")
    assert "pickle" in text
    assert "issue tracker" in text
    assert not re.search(r"\S+@\S+\.\S+|https?://", text)  # no address that nobody reads


def test_metadata_claim_the_python_that_runs_this_and_none_below_the_bound():
    claimed = [tuple(map(int, name.split("."))) for name in claimed_pythons(PROJECT)]
    assert claimed == sorted(claimed)
    assert sys.version_info[:2] in claimed
    assert min(claimed) == (3, int(PROJECT["requires-python"].removeprefix(">=3.")))


def test_a_model_file_of_the_first_version_is_read():
    for name in ("plain", "rich", "effects"):
        model = pairscore.load(ROOT / "tests" / "golden" / f"{name}.npz")
        assert np.isfinite(model.coef_).all()


# -- the oldest versions ---------------------------------------------------------------------------


def test_every_dependency_has_one_oldest_version():
    pins = oldest_pins(PROJECT)
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    assert {Requirement(line).name.lower() for line in lines} == set(pins)
    for line in lines:
        requirement = Requirement(line)
        oldest = Requirement(pins[requirement.name.lower()])
        (version,) = (one.version for one in oldest.specifier)
        assert requirement.specifier.contains(version)
        assert oldest.extras == requirement.extras


def test_the_highest_of_several_bounds_counts_and_one_without_is_refused():
    project = {"dependencies": ["a>=1", "B[x]>=2.5"], "optional-dependencies": {"e": ["a>=1.10"]}}
    assert oldest_pins(project) == {"a": "a==1.10", "b": "B[x]==2.5"}
    project["dependencies"] += ["c"]
    with pytest.raises(SystemExit, match="c has no lower bound"):
        oldest_pins(project)


def test_tools_of_the_tests_have_no_version():
    assert names_of_tools("# pinned\n-r more.txt\nPyYAML==6.0\nmypy==2\nhypothesis==6\n") == [
        "hypothesis",
        "pyyaml",
    ]


# -- Pythons ---------------------------------------------------------------------------------------


def test_a_python_is_found_by_its_name_and_one_that_does_not_start_is_not(tmp_path, monkeypatch):
    minor = sys.version_info.minor
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder in (good, bad):
        folder.mkdir()
    (good / f"python3.{minor}").symlink_to(sys.executable)
    for number in (minor, minor + 1):
        broken = bad / f"python3.{number}"
        broken.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
        broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(good))
    monkeypatch.setenv("PAIRSCORE_PYTHONS", os.pathsep.join([str(bad), str(tmp_path / "none")]))
    assert find_pythons(range(minor, minor + 3)) == {f"3.{minor}": good / f"python3.{minor}"}
