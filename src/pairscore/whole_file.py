"""A file is written whole or not at all: a crash or a full disk leaves the old one as it was."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from pairscore.errors import PairscoreError


@contextmanager
def atomic_write(path: Any, what: str = "the file") -> Iterator[Path]:
    """Write to the path that this yields; ``path`` then appears whole, or stays as it was."""
    path = Path(path)
    temporary = path.parent / f".pairscore-{uuid4().hex}"
    try:
        temporary.open("xb").close()
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise PairscoreError(f"{what} could not be saved as {str(path)!r} ({error.strerror}); choose a place that can be written to.") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_whole(path: Any, content: bytes) -> Path:
    """Write ``content`` to ``path``, making its folder where there is none."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(f"the folder {str(path.parent)!r} cannot be made ({error.strerror}); choose a place that can be written to.") from None
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    return path
