"""The oldest versions that pyproject.toml allows, as requirements for pip.

``make test-oldest`` installs what this prints and runs the tests on it. Every dependency, those of
the extras too, is pinned to its lower bound. What only the tests need has no bound: the names are
those of requirements-dev.txt, and pip takes the newest versions that go with the old ones.
"""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
NOT_RUN_BY_TESTS = {"mypy", "ruff"}


def lower_bound(requirement: Requirement) -> Version:
    """The version that ``>=`` names; a requirement without one has no oldest version."""
    bounds = [one.version for one in requirement.specifier if one.operator == ">="]
    if len(bounds) != 1:
        raise SystemExit(f"pyproject.toml: {requirement} has no lower bound, such as >=1.2.")
    return Version(bounds[0])


def oldest_pins(project: dict) -> dict[str, str]:
    """The oldest version of every dependency and extra, as a pin by its name.

    Where extras name one package with several bounds, the highest holds for all of them.
    """
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    found: dict[str, Requirement] = {}
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name not in found or lower_bound(requirement) > lower_bound(found[name]):
            found[name] = requirement
    return {name: pinned(found[name]) for name in sorted(found)}


def pinned(requirement: Requirement) -> str:
    """``name[extras]==oldest``."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}=={lower_bound(requirement)}"


def test_tools(text: str) -> list[str]:
    """Names of the packages in requirements-dev.txt that tests may import."""
    pins = [line for line in text.splitlines() if "==" in line]
    names = sorted(canonicalize_name(Requirement(pin).name) for pin in pins)
    return [name for name in names if name not in NOT_RUN_BY_TESTS]


def main() -> None:
    """Print the requirements, one a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = oldest_pins(project)
    tools = test_tools((ROOT / "requirements-dev.txt").read_text(encoding="utf-8"))
    sys.stdout.writelines(f"{pin}\n" for pin in pins.values())
    sys.stdout.writelines(f"{name}\n" for name in tools if name not in pins)


if __name__ == "__main__":
    main()
