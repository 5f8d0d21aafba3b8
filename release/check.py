"""``make release-check``: build a release and try it on every Python that is found.

1. The source archive is built, and has every file of the package.
2. For every Python found, a wheel is built from that archive alone, not from this folder.
3. twine checks the metadata of all of them.
4. Each wheel is installed with its dependencies into an environment of its own, and run: the
   version, the demo and a fit in Python.
5. Then, for each, every block of the README and the tutorial and the core of the tests run on the
   wheel.

Pythons are looked for by name (python3.11, python3.12, ...) on PATH and in the folders that the
variable PAIRSCORE_PYTHONS names; versions after the command, such as 3.12, leave out the others.
With any fault the exit code is 1. A Python that pyproject.toml claims and that is not found is
named; with --all it is a fault.
"""

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

from release.oldest import ROOT

PLACE = ROOT / "build" / "release"
NEWEST_MINOR = 20  # a name beyond those claimed is looked for too
CORE = ("core", "estimators", "model", "data", "cli")
FIT = """
import pairscore
from pairscore import Population, RankRegression
assert "site-packages" in pairscore.__file__, pairscore.__file__
items, votes = Population(n_features=3, rng=0).draw(60, 400, rng=1, second_half=False)
model = RankRegression().fit(items, votes)
print("coefficients", model.coef_.round(3))
"""


FAULTS: list[str] = []  # what did not work, by Python


class FaultError(Exception):
    """Something of the release that does not work."""


# -- what runs -------------------------------------------------------------------------------------


def run(*words: object, where: Path = ROOT, **variables: str) -> str:
    """Run a program and return what it printed; a fault if it fails."""
    variables = {"OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1", **variables}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)),
        cwd=where,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise FaultError(f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}")
    return done.stdout.strip()


def pip(python: Path, *words: object) -> None:
    """Install with the newest pip into the environment of another Python, which needs none."""
    run(tool("pip"), "--python", python, "install", "--quiet", *words)


def tool(name: str) -> Path:
    """A program of the environment of tools."""
    return PLACE / "tools" / ("Scripts" if os.name == "nt" else "bin") / name


def make_environment(python: object, folder: Path) -> Path:
    """A fresh environment without pip; the path of its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", "--without-pip", folder)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


# -- Pythons ---------------------------------------------------------------------------------------


def claimed_pythons(project: dict) -> list[str]:
    """Versions that the classifiers name, such as 3.11."""
    names = [
        line.rpartition(" :: ")[2] for line in project["classifiers"] if ":: Python ::" in line
    ]
    return [name for name in names if name.startswith("3.")]


def find_pythons(minors: range) -> dict[str, Path]:
    """Interpreters that start, by their version."""
    places = os.pathsep.join([os.environ.get("PAIRSCORE_PYTHONS", ""), os.environ["PATH"]])
    found = {}
    for minor in minors:
        for place in filter(None, places.split(os.pathsep)):
            name = shutil.which(f"python3.{minor}", path=place)
            if name and starts(name, minor):
                found[f"3.{minor}"] = Path(name)
                break
    return found


def starts(name: str, minor: int) -> bool:
    """Whether an interpreter runs and is of the version that its name says."""
    code = f"import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"
    return subprocess.run([name, "-c", code], capture_output=True, check=False).returncode == 0


# -- building --------------------------------------------------------------------------------------


def build_source() -> Path:
    """The source archive, with every file of the package."""
    run(tool("python"), "-m", "build", "--sdist", "--outdir", PLACE / "dist", ".")
    (archive,) = (PLACE / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    tracked = run("git", "ls-files", "src", "LICENSE", "CITATION.cff", "SECURITY.md").splitlines()
    if missing := sorted(set(tracked) - inside):
        raise FaultError(f"{archive.name} lacks {', '.join(missing)}")
    return archive


def build_wheel(python: Path, archive: Path) -> Path:
    """A wheel for one Python, from the source archive alone."""
    folder = PLACE / "wheels" / python.parents[1].name
    run(tool("pip"), "--python", python, "wheel", "-q", "--no-deps", "-w", folder, archive)
    (wheel,) = folder.glob("*.whl")
    return wheel


# -- trying ----------------------------------------------------------------------------------------


def imported_packages(rooms: tuple[str, ...]) -> list[str]:
    """Names of the packages that the tests of these rooms import, and pytest's for processes."""
    packages, found = packages_distributions(), {"pytest-xdist"}
    for path in (path for room in rooms for path in (ROOT / "tests" / room).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {packages.get(name.partition(".")[0], ["pairscore"])[0] for name in names}
    return sorted(found - {"pairscore"})


def try_release(python: Path, archive: Path, version: str) -> Path:
    """Build a wheel, install it and run what a user would run first; the wheel."""
    wheel = build_wheel(python, archive)
    said = run(tool("twine"), "check", "--strict", wheel)
    print(f"  {wheel.name}: {said.split()[-1]}", flush=True)
    pip(python, wheel)
    scratch = python.parents[1] / "scratch"
    scratch.mkdir()
    said = run(python.with_name("pairscore"), "--version", where=scratch)
    if version not in said:
        raise FaultError(f"--version says {said!r}, and the release is {version}")
    print(f"  {said}")
    run(python.with_name("pairscore"), "demo", where=scratch)
    if not (scratch / "pairscore-demo" / "report.html").is_file():
        raise FaultError("the demo wrote no report")
    print("  demo: wrote its report\n ", run(python, "-c", FIT, where=scratch), flush=True)
    return wheel


def test_release(python: Path, wheel: Path) -> None:
    """Run the blocks of the README and the tutorial, and the core of the tests."""
    pip(python, f"{wheel}[postgres,stream]", *imported_packages((*CORE, "docs")))
    pages = ["tests/docs/test_blocks.py", "-k", "page_run and (README or tutorial)"]
    for name, words in (("README", pages), ("tests", ["-n", "2", *map(folder_of, CORE)])):
        said = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
        print(f"  {name}: {said.splitlines()[-1]}", flush=True)


def folder_of(room: str) -> str:
    """Where the tests of a room are."""
    return f"tests/{room}"


def attempt(minor: str, work: Callable[..., Path | None], *given: object) -> Path | None:
    """Do one part for one Python; a fault is told and counted."""
    print(f"Python {minor}: {work.__name__}", flush=True)
    try:
        return work(*given)
    except FaultError as fault:
        print(f"  FAULT: {fault}", flush=True)
        FAULTS.append(f"Python {minor}")
    return None


def main(words: list[str]) -> int:
    """Check everything; 0 where there is no fault."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = claimed_pythons(project)
    first = int(project["requires-python"].removeprefix(">=3."))
    found = find_pythons(range(first, NEWEST_MINOR + 1))
    absent = [name for name in claimed if name not in found]
    if chosen := [word for word in words if word != "--all"]:
        found = {name: python for name, python in found.items() if name in chosen}
    print(f"found: {', '.join(found) or 'none'}; not found: {', '.join(absent) or 'none'}")
    shutil.rmtree(PLACE, ignore_errors=True)
    run(sys.executable, "-m", "venv", PLACE / "tools")
    run(tool("pip"), "install", "--quiet", "--upgrade", "pip", "build", "twine")
    try:
        archive = build_source()
        print(f"{archive.name}: {run(tool('twine'), 'check', '--strict', archive).split()[-1]}")
    except FaultError as fault:
        print(f"FAULT: {fault}")
        return 1
    version = archive.name.removeprefix("pairscore-").removesuffix(".tar.gz")
    places = {name: make_environment(found[name], PLACE / f"python{name}") for name in found}
    wheels = {name: attempt(name, try_release, places[name], archive, version) for name in found}
    for name, wheel in wheels.items():
        if wheel is not None:
            attempt(name, test_release, places[name], wheel)
    FAULTS.extend(f"no Python {name}" for name in absent if "--all" in words)
    wrong = ", ".join(FAULTS)
    print(f"faults: {wrong}" if wrong else f"{version} works on Python {', '.join(found)}")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
