"""What a user asks of a stream: its source, memory and workers, checked."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.column_roles import NAMED_ROLES
from pairscore.data.items import (
    Items,
)
from pairscore.display import shown
from pairscore.errors import PairscoreError, no_comparisons
from pairscore.estimators.checks import no_sides
from pairscore.estimators.settings import Settings
from pairscore.files.partitions import (
    PARTITION_ROWS,
    REASON_LENGTH,
    partitions,
)
from pairscore.messages import Setting
from pairscore.streaming.batches import BatchLayout, BatchReader, NumberedPart
from pairscore.streaming.engines import Engine
from pairscore.streaming.first_pass import FirstPass
from pairscore.streaming.progress import Progress
from pairscore.streaming.scratch import shared_folder
from pairscore.streaming.shared_items import share_items
from pairscore.streaming.stream_data import StreamData
from pairscore.streaming.stream_ids import with_column_of_ids
from pairscore.streaming.stream_items import read_item_table

OF_ITEMS = ("id", "features", "exclude", "curves", "smooth")
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


SMALLEST_MEMORY = 1e4  # bytes; those of some dozen comparisons and their items


@dataclass(frozen=True)
class StreamSource:
    """The data that a fit was given; see :func:`pairscore.streaming.fit_stream.fit_stream`."""

    items: Any
    comparisons: Any
    self_pairs: str
    covariance_items: Any
    columns: dict[str, Any]


@dataclass(frozen=True)
class StreamJob:
    """What was asked for, until the first pass is done; see :func:`~pairscore.fit_stream`."""

    source: StreamSource
    settings: Settings
    memory: float
    engine: Engine
    progress: Callable[[Progress], None] | None = None
    checkpoint: Any = None
    scratch: str | None = None

    def prepare(self, stack: ExitStack) -> StreamData:
        """Read the items, and go through the comparisons once."""
        folder = stack.enter_context(shared_folder(self.scratch))
        columns = self.source.columns
        of_items = {name: columns[name] for name in OF_ITEMS if name in columns}
        of_votes = {name: of for name, of in columns.items() if name not in OF_ITEMS}
        if unknown := [name for name in of_votes if name not in NAMED_ROLES]:
            raise PairscoreError(
                f"there is no setting {unknown[0]!r}; columns can be named by"
                f" {', '.join((*OF_ITEMS, *NAMED_ROLES))}."
            )
        votes = stored(self.source.comparisons, folder, "comparisons")
        sources = partitions(votes, PARTITION_ROWS, anywhere=not self.engine.is_local)
        if not sources:
            raise no_comparisons()
        parts = [NumberedPart(number, source) for number, source in enumerate(sources)]
        layout = BatchLayout.of_names(sources[0].column_names(), of_votes)
        if self.settings.side_effect and not layout.has_sides:
            raise no_sides()
        table = stored(self.source.items, folder, "items")
        of_items = with_column_of_ids(table, sources, layout, of_items)
        if self.engine.is_local:
            items = read_item_table(table, of_items, 0.6 * self.memory, folder)
        else:
            items = share_items(table, of_items, folder, self.engine)
        drop = self.settings.ties == "drop"
        reader = BatchReader(ids_only(items), layout, self.source.self_pairs, drop)
        reader.refuse_possible_codes(sources)
        first_pass = FirstPass(
            items=items,
            parts=parts,
            reader=reader,
            settings=self.settings,
            engine=self.engine,
            memory=self.memory,
            folder=folder,
            checkpoint_file=self.checkpoint,
            progress=self.progress,
        )
        return StreamData(
            items=items,
            first=first_pass.sums(),
            parts=parts,
            rows=first_pass.rows,
            spill=first_pass.written,
            engine=self.engine,
            keep_sides=self.settings.side_effect,
            progress=self.progress,
            covariance_items=mask_of(self.source.covariance_items, len(items)),
            reader=reader,
        )


def refuse_settings(settings: Settings) -> None:
    """What takes more than sums over comparisons."""
    if settings.by_comparison or settings.side_by_judge:
        raise PairscoreError(
            "judges, context and ties as a parameter need all comparisons at once; fit without"
            " streaming, perhaps to a sample of the comparisons."
        )
    if settings.item_effects or settings.choose_item_effects:
        raise PairscoreError(
            Setting("item_effects") + " need all comparisons at once",
            ["fit without streaming", "fit without them"],
        )
    if settings.choose_l2:
        raise PairscoreError(
            "a ridge that is chosen from the data needs many fits; choose it with a sample of the"
            " comparisons, and give it as a number."
        )


def bytes_of(memory: Any) -> float:
    """An amount of memory in bytes.

    >>> bytes_of("1.5 GB"), bytes_of(20000)
    (1500000000.0, 20000.0)
    """
    found = re.fullmatch(r"([0-9.]+) *([kmgt]?)i?b?", str(memory).strip().lower())
    try:
        size = float(found[1]) * UNITS[found[2]] if found else 0.0
    except ValueError:
        size = 0.0
    if size <= 0:
        raise PairscoreError(
            Setting("memory") + f" is {shown(memory)}", "give it as '2GB' or '500MB'"
        )
    if size < SMALLEST_MEMORY:
        raise PairscoreError(
            Setting("memory")
            + f" is {shown(memory)}, and even a small batch of comparisons takes more",
            "give some megabytes at least, such as '500MB'",
        )
    return size


def stored(source: Any, folder: str, what: str) -> Any:
    """A lazy dataframe (Spark, Dask, DuckDB, polars, Ibis) as Parquet files in a folder.

    Its own engine writes them, so that the table is never in one place; any other source is
    returned as it is. ``what`` is what messages and the files call it.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(source, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        return source
    path = str(Path(folder) / f"{what}.parquet")
    try:
        frame.sink_parquet(path)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:REASON_LENGTH]
        raise PairscoreError(
            f"the {what} cannot be written to {folder!r} ({reason})",
            "give a folder that every worker can reach (" + Setting("scratch") + ")",
        ) from None
    return path


def mask_of(rows: Any, n_items: int) -> np.ndarray | None:
    """A mask (N) of row numbers, or of a mask."""
    if rows is None:
        return None
    mask = np.zeros(n_items, dtype=bool)
    rows = np.asarray(rows)
    mask[rows] = True
    return mask


def ids_only(items: Items) -> Items:
    """Items without their features, which is all that finding rows takes."""
    return Items(np.broadcast_to(0.0, (len(items), 1)), ("x",), items.ids, items.backend)
