"""Files of sums of sites: arrays by name, and what else there is as JSON; checked when read."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.archive import (
    DamagedFileError,
    Field,
    faults_of,
    has_type,
    read_archive,
    read_json,
)
from pairscore.files.atomic import atomic_write

VERSION = 2
KINDS = ("site", "round")  # of files of sums


def arrays_of(sums: dict[str, Any], prefix: str = "") -> dict[str, np.ndarray]:
    """Sums by name as arrays by name; those within others have the names of both."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in sums.items():
        if is_dataclass(value):
            inner = {field.name: getattr(value, field.name) for field in fields(value)}
            arrays |= arrays_of(inner, f"{prefix}{name}_")
        else:
            arrays[prefix + name] = np.asarray(value, dtype=float)
    return arrays


def of_arrays(
    kinds: dict[str, Any], arrays: dict[str, np.ndarray], prefix: str = ""
) -> dict[str, Any]:
    """Sums by name, given their types, from the arrays that :func:`arrays_of` made of them."""
    sums: dict[str, Any] = {}
    for name, kind in kinds.items():
        if is_dataclass(kind) and isinstance(kind, type):
            sums[name] = kind(**of_arrays(get_type_hints(kind), arrays, f"{prefix}{name}_"))
        else:
            array = arrays[prefix + name]
            sums[name] = float(array) if kind is float else array
    return sums


def array_faults(
    arrays: dict[str, np.ndarray], schema: dict[str, Field], lengths: dict[str, int]
) -> Iterable[str]:
    """What is wrong with arrays, and which are missing."""
    yield from faults_of(arrays, schema, lengths)
    yield from (f"{name!r} is missing" for name in schema if name not in arrays)


def write_sums_file(
    path: Any, kind: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """A file of sums, whole or not at all."""
    text = json.dumps({"kind": kind, "version": VERSION, **meta})
    with atomic_write(path, "the sums") as temporary, temporary.open("wb") as file:
        np.savez(file, **{"meta": np.array(text), **arrays})  # type: ignore[arg-type]


def read_sums_file(path: Any) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """The kind of a file of sums, what is no array in it, and its arrays."""
    try:
        with refuse_damage(path):
            arrays = read_archive(Path(path))
            meta = read_json(str(arrays.pop("meta")))
            version = meta["version"]
            kind = meta["kind"]
            if kind not in KINDS or not has_type(meta["sources"], list[str]):
                raise DamagedFileError("its kind is not known")
    except FileNotFoundError:
        raise PairscoreError(f"there is no file {str(path)!r}; check its name.") from None
    except OSError as error:
        raise PairscoreError(
            f"the file of sums {str(path)!r} cannot be read ({error.strerror}); check the path."
        ) from None
    if version != VERSION:
        raise PairscoreError(
            f"{str(path)!r} has sums of version {version}, and this is version {VERSION}; make them"
            " with the same release of pairscore."
        )
    return kind, meta, arrays


@contextmanager
def refuse_damage(path: Any) -> Iterator[None]:
    """Say in a sentence that a file of sums is not what was written, and why."""
    try:
        yield
    except PairscoreError:
        raise
    except DamagedFileError as error:
        reason = str(error)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        reason = "it has other entries than sums have"
    else:
        return
    raise PairscoreError(
        f"{str(path)!r} is not a complete file of sums: {reason}; give files that pairscore stats"
        " wrote."
    )
