"""The record a model keeps of where it came from."""

import hashlib
import platform
import shlex
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.comparisons import Comparisons

PACKAGES = ("pairscore", "numpy", "scipy", "scikit-learn")
SAMPLED_ITEMS = 256


def make_record(data: Comparisons) -> dict[str, Any]:
    """Versions, a fingerprint of the data, the seed of the sides, and the command that was run."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: package_version(name) for name in PACKAGES},
        },
        "fingerprint": fingerprint(data),
        "seed": data.seed,
        "command": command_line(),
    }


def command_line() -> str:
    """The command that was run, so that a shell takes it as it stands."""
    if not sys.argv:
        return ""
    program = Path(sys.argv[0])
    as_module = program.name == "__main__.py" and program.parent.name == "pairscore"
    return shlex.join(
        [*(("python", "-m", "pairscore") if as_module else (program.name,)), *sys.argv[1:]]
    )


@cache
def package_version(name: str) -> str:
    """Version of an installed package, looked up once: it takes as long as a small fit."""
    return version(name)


def fingerprint(data: Comparisons) -> str:
    """A hash of every comparison and of up to 256 item rows evenly spaced in the table."""
    digest = hashlib.sha256(repr((data.items.values.shape, data.items.feature_names)).encode())
    rows = np.linspace(0, len(data.items) - 1, min(len(data.items), SAMPLED_ITEMS)).astype(int)
    digest.update(data.items.values[rows].tobytes())
    for column in (
        data.left.astype(np.int32),
        data.right.astype(np.int32),
        data.outcome,
        data.weight,
        data.count,
    ):
        digest.update(b"-" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:32]
