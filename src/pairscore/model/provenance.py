"""Provenance of a fit: versions, the fingerprint of the data, and the command that was run."""

import platform
import shlex
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pairscore.passwords import without_password

PACKAGES = ("pairscore", "numpy", "scipy", "scikit-learn")


def record_of(fingerprint: str | None, seed: int | None) -> dict[str, Any]:
    """Versions, a fingerprint of the data, the seed of the sides, and the command that was run."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: package_version(name) for name in PACKAGES},
        },
        "fingerprint": fingerprint,
        "seed": seed,
        "command": command_line(),
    }


def command_line() -> str:
    """The command that was run, so that a shell takes it as it stands, without passwords."""
    if not sys.argv:
        return ""
    program = Path(sys.argv[0])
    as_module = program.name == "__main__.py" and program.parent.name == "pairscore"
    command = ["python", "-m", "pairscore"] if as_module else [program.name]
    return shlex.join([*command, *map(without_password, sys.argv[1:])])


@cache
def package_version(name: str) -> str:
    """Version of a package: of one that is not loaded, as installed, which takes longer to find."""
    loaded = sys.modules.get(name)
    return version(name) if loaded is None else str(loaded.__version__)
