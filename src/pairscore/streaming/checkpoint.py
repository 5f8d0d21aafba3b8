"""Checkpoints of the first pass: its sums in a file, its comparisons in a folder of tiles."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.archive import INTEGER, DamagedFileError, Field, faults_of, read_archive
from pairscore.files.atomic import atomic_write

MARK = ".pairscore-tiles"  # a file that is in folders of checkpoints, and in no others
# what a checkpoint has next to the sums
SCHEMA = {"digest": Field("", "U"), "n_done": Field("", INTEGER, below="parts + 1")}
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Checkpoint:
    """A file with the sums of the first parts, and a folder with their comparisons in tiles.

    ``digest`` is that of the data and of what was asked; another one is refused.
    """

    path: Path
    digest: str = ""

    @property
    def folder(self) -> Path:
        return self.path.with_name(self.path.name + ".tiles")

    def make_folder(self) -> str:
        """The folder, made if it is not there; another's of this name is refused."""
        mark = self.folder / MARK
        if self.folder.exists() and not mark.exists():
            raise PairscoreError(
                f"there is already a folder or file {str(self.folder)!r}, which no checkpoint made;"
                " give the checkpoint another name, or move that away."
            )
        try:
            self.folder.mkdir(exist_ok=True)
            mark.touch()
        except OSError as error:
            raise PairscoreError(
                f"the checkpoint could not be saved as {str(self.path)!r} ({error.strerror});"
                " choose a place that can be written to."
            ) from None
        return str(self.folder)

    def write(self, sums: Arrays, n_done: int) -> None:
        """The sums of the first ``n_done`` parts; the file is replaced whole."""
        arrays = sums | {"digest": np.array(self.digest), "n_done": np.array(n_done)}
        with atomic_write(self.path, "the checkpoint") as path, path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def read(
        self, n_parts: int, faults: Callable[[Arrays], Iterable[str]]
    ) -> tuple[Arrays | None, int]:
        """The sums, and of how many parts they are; None and 0 where there is no file.

        ``faults`` says what is wrong with the sums.
        """
        if not self.path.exists():
            return None, 0
        try:
            sums = read_archive(self.path)
            if "digest" not in sums:
                raise DamagedFileError("it has other entries than a checkpoint")
        except (OSError, DamagedFileError):
            raise PairscoreError(
                f"{str(self.path)!r} is not a complete checkpoint of a fit; remove it, or name"
                " another file."
            ) from None
        own = {name: sums.pop(name) for name in SCHEMA if name in sums}
        if str(own["digest"]) != self.digest:
            raise PairscoreError(
                f"{str(self.path)!r} is the checkpoint of other files or settings; remove it to"
                " begin again, or name another file."
            )
        missing = [f"{name!r} is missing" for name in SCHEMA if name not in own]
        of_own = faults_of(own, SCHEMA, {"parts + 1": n_parts + 1})
        for fault in chain(of_own, missing, faults(sums)):
            raise PairscoreError(
                f"{str(self.path)!r} is not the checkpoint that was written: {fault}; remove it to"
                " begin again."
            )
        return sums, int(own["n_done"])

    def remove(self) -> None:
        """Remove the file and the folder: the fit is done."""
        self.path.unlink(missing_ok=True)
        self.remove_folder()

    def remove_folder(self) -> None:
        """Remove the folder, if it is a checkpoint's."""
        if (self.folder / MARK).exists():
            shutil.rmtree(self.folder, ignore_errors=True)
