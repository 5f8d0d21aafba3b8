"""A file is written whole or not at all: a crash leaves the old one as it was."""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pairscore.errors import PairscoreError


def write_whole(path: str | Path, content: bytes) -> Path:
    """Write ``content`` to ``path``, making its folder where there is none."""
    path = Path(path)
    temporary = path.parent / f".pairscore-{uuid4().hex}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise PairscoreError(f"{str(path)!r} could not be written ({error.strerror or error}); choose a folder that can be written to.") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
    return path
