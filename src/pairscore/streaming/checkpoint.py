"""A checkpoint of the first pass: its sums in a file, its comparisons in tiles."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from pairscore.core.pair_graph import Tally
from pairscore.core.sums import Range
from pairscore.data.items import LARGEST_NUMBER
from pairscore.errors import PairscoreError
from pairscore.files.archive import INTEGER, DamagedFileError, Field, faults_of, read_archive
from pairscore.files.atomic import atomic_write
from pairscore.streaming.passes import FirstSums, Sample

# of the first sums
NUMBERS = ("number", "weighted", "tied", "given", "n_given", "left_won", "right_won", "n_rows")
MARK = ".pairscore-tiles"  # a file that is in folders of checkpoints, and in no others
# what the arrays of a checkpoint are
SCHEMA = {
    "digest": Field("", "U"),
    "n_done": Field("", INTEGER, below="parts + 1"),
    "numbers": Field(str(len(NUMBERS)), low=0, high=LARGEST_NUMBER),
    "weights": Field("2", nan=True),
    "n_comparisons": Field("", low=0, high=LARGEST_NUMBER),
    "net_wins": Field("N", low=-LARGEST_NUMBER, high=LARGEST_NUMBER),
    "exposures": Field("N", low=0, high=LARGEST_NUMBER),
    "counted": Field("2,counted", low=-LARGEST_NUMBER, high=LARGEST_NUMBER),
    "masks": Field("2,bytes", "u"),
    **dict.fromkeys(("left", "right"), Field("sample", INTEGER, below="N")),
    "outcome": Field("sample", INTEGER, low=-1, high=1),
    "amount": Field("sample", low=0, high=LARGEST_NUMBER),
}


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

    def write(self, sums: FirstSums, n_done: int) -> None:
        """The sums of the first ``n_done`` parts; the file is replaced whole."""
        arrays = {
            "digest": np.array(self.digest),
            "n_done": np.array(n_done),
            "numbers": np.array([getattr(sums, name) for name in NUMBERS]),
            "weights": np.array([sums.weights.low, sums.weights.high]),
            "n_comparisons": np.array(sums.tally.n_comparisons),
            "net_wins": sums.tally.net_wins,
            "exposures": sums.tally.exposures,
            "counted": sums.counted,
            "masks": np.packbits(np.stack([sums.seen, sums.dropped]), axis=1),
            **vars(sums.sample),
        }
        with atomic_write(self.path, "the checkpoint") as path, path.open("wb") as file:
            np.savez(file, **arrays)

    def read(self, n_items: int, n_parts: int) -> tuple[FirstSums | None, int]:
        """The sums, and of how many parts they are; None and 0 where there is no file."""
        if not self.path.exists():
            return None, 0
        try:
            arrays = read_archive(self.path)
            if "digest" not in arrays:
                raise DamagedFileError("it has other entries than a checkpoint")
        except (OSError, DamagedFileError):
            raise PairscoreError(
                f"{str(self.path)!r} is not a complete checkpoint of a fit; remove it, or name"
                " another file."
            ) from None
        if str(arrays["digest"]) != self.digest:
            raise PairscoreError(
                f"{str(self.path)!r} is the checkpoint of other files or settings; remove it to"
                " begin again, or name another file."
            )
        lengths = {"N": n_items, "bytes": -(-n_items // 8), "parts + 1": n_parts + 1}
        for fault in chain(faults_of(arrays, SCHEMA, lengths), _contradictions(arrays)):
            raise PairscoreError(
                f"{str(self.path)!r} is not the checkpoint that was written: {fault}; remove it to"
                " begin again."
            )
        return _first_sums(arrays, n_items), int(arrays["n_done"])

    def remove(self) -> None:
        """Remove the file and the folder: the fit is done."""
        self.path.unlink(missing_ok=True)
        self.remove_folder()

    def remove_folder(self) -> None:
        """Remove the folder, if it is a checkpoint's."""
        if (self.folder / MARK).exists():
            shutil.rmtree(self.folder, ignore_errors=True)


def _contradictions(arrays: dict[str, np.ndarray]) -> Iterator[str]:
    """What single arrays do not show."""
    yield from (f"{name!r} is missing" for name in SCHEMA if name not in arrays)
    if np.any(np.abs(arrays["net_wins"]) > (1 + 1e-9) * arrays["exposures"]):
        yield "items have won more comparisons than they were in"
    if arrays["counted"].shape[1] not in (0, len(arrays["exposures"])):
        yield "comparisons are counted of other items"


def _first_sums(arrays: dict[str, np.ndarray], n_items: int) -> FirstSums:
    tally = Tally(arrays["net_wins"], arrays["exposures"], float(arrays["n_comparisons"]))
    seen, dropped = np.unpackbits(arrays["masks"], axis=1, count=n_items).astype(bool)
    sample = Sample(*(arrays[name] for name in ("left", "right", "outcome", "amount")))
    numbers = dict(zip(NUMBERS, arrays["numbers"].tolist(), strict=True))
    weights = Range(*arrays["weights"].tolist())
    return FirstSums(
        tally=tally,
        **numbers,
        counted=arrays["counted"],
        weights=weights,
        seen=seen,
        dropped=dropped,
        sample=sample,
    )
