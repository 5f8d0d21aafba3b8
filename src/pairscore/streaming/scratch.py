"""Folders for temporary files, on this machine or where all workers can reach them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socket import gethostname
from tempfile import gettempdir

from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.messages import Setting


class ScratchError(PairscoreError):
    """Temporary files cannot be read or written."""


@contextmanager
def shared_folder(inside: str | None) -> Iterator[str]:
    """A folder that is gone after the block; ``inside`` another, it has the same rights.

    It is renamed before it is removed: a worker that still writes, for a fit that was given up,
    then finds no folder of this name, and the folder stays as empty as it was left.
    """
    with ExitStack() as stack:
        with reachable(inside or gettempdir()):
            outer = stack.enter_context(scratch_folder(inside))
            folder = outer / "files"
            folder.mkdir()
            for made in (outer, folder) if inside else ():
                made.chmod(Path(inside or "").stat().st_mode & 0o777)
        try:
            yield str(folder)
        finally:
            with suppress(PermissionError):  # of Windows, where files are still mapped
                folder.rename(outer / "removed")


@contextmanager
def reachable(folder: str) -> Iterator[None]:
    """Say in a sentence where the folder cannot be read or written, and what folder is needed."""
    try:
        yield
    except OSError as error:
        raise ScratchError(
            f"temporary files in {folder!r} cannot be read or written on {gethostname()!r}"
            f" ({error.strerror or error})",
            "give a folder with enough room that every worker can reach ("
            + Setting("scratch")
            + ")",
        ) from None
