"""A file is written whole or not at all: a crash or a full disk leaves the old one as it was."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from pairscore.errors import PairscoreError


@contextmanager
def atomic_write(path: Any, what: str = "the file") -> Iterator[Path]:
    """Write to the path that this yields; ``path`` then appears whole, or stays as it was.

    A link is followed and a file keeps its permissions. A device or a pipe gets the whole content:
    it is never replaced.
    """
    path = Path(path)
    try:
        with (_content_for if is_device(path) else _replacement_of)(path) as temporary:
            yield temporary
    except OSError as error:
        raise PairscoreError(
            f"{what} could not be saved as {str(path)!r} ({error.strerror}); choose a place that"
            " can be written to."
        ) from error


def is_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder.

    A device, a pipe, a socket.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # nothing is there
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


@contextmanager
def _replacement_of(path: Path) -> Iterator[Path]:
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".pairscore-{uuid4().hex}"
    try:
        temporary.open("xb").close()
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            temporary.chmod(S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _content_for(device: Path) -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        content = Path(directory) / "content"
        yield content
        with content.open("rb") as source, device.open("wb") as target:
            shutil.copyfileobj(source, target)


def write_whole(path: Any, content: bytes) -> Path:
    """Write ``content`` to ``path``, making its folder where there is none."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(
            f"the folder {str(path.parent)!r} cannot be made ({error.strerror}); choose a place"
            " that can be written to."
        ) from None
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    return path
