"""Files written whole or not at all; what is unfinished is removed.

A crash or a full disk leaves the old file unchanged.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from pairscore.errors import PairscoreError


@contextmanager
def scratch_folder(inside: str | None = None) -> Iterator[Path]:
    """A folder that is gone after the block, perhaps ``inside`` another."""
    scratch = TemporaryDirectory(dir=inside, ignore_cleanup_errors=sys.platform == "win32")
    with scratch as name:
        yield Path(name)


@contextmanager
def atomic_write(path: Any, what: str = "the file") -> Iterator[Path]:
    """Write to the path that this yields; ``path`` then appears whole, or stays as it was.

    A link is followed and a file keeps its permissions. A device or a pipe gets the whole content:
    it is never replaced.

    Parameters
    ----------
    path
        The file to write or to replace.
    what
        What the file is called in the message if it cannot be written.
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
    """Whether ``path`` is neither a file nor a folder but a device, a pipe or a socket."""
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
    with scratch_folder() as folder:
        content = folder / "content"
        yield content
        with content.open("rb") as source, device.open("wb") as target:
            shutil.copyfileobj(source, target)


def write_whole(path: Any, content: bytes) -> Path:
    """Write ``content`` to ``path``, making its folder where there is none, and return the path."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(
            f"the folder {str(path.parent)!r} cannot be created ({error.strerror}); choose a place"
            " that can be written to."
        ) from None
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    return path
