"""Whether comparisons fit into the memory that is free, or have to be read in parts.

A fit in memory of 4 million comparisons takes about 135 bytes for each, with ids as text or as
numbers: 6 to 8 times the size of a CSV file, and 34 times that of a Parquet file. A source that
would take more than half of what is free is read in parts.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple

from pairscore.cli.databases import address

SHARE = 0.5  # of the free memory that comparisons may take; the other half is for what else runs
# bytes in memory for a byte of a file, rounded up from what was measured
GROWTH = {"csv": 8, "jsonl": 8, "parquet": 40}


class InParts(NamedTuple):
    """Why comparisons are read in parts, and whether more memory would change that."""

    reason: str
    is_too_large: bool


def why_in_parts(comparisons: Iterable[Any], memory: str | None) -> InParts | None:
    """Why comparisons are read in parts; None if they need not be.

    ``memory`` is what they may take, such as "2GB"; else a SHARE of what is free.
    """
    files = [path for path in comparisons if isinstance(path, Path)]
    for path in files:
        if reason := _kind_in_parts(path):
            return InParts(f"{address(path)!r} is {reason}, which is read in parts", False)
    limit = _limit(memory)
    needed = sum(map(_needed, files))
    if limit is None or needed <= limit:
        return None
    many = repr(str(files[0])) if len(files) == 1 else f"{len(files)} files"
    allowed = (
        f"--memory {memory}" if memory else f"half of the {_shown(limit / SHARE)} that is free"
    )
    reason = (
        f"{many} would take about {_shown(needed)} in memory, more than {allowed}, and"
        f" {'is' if len(files) == 1 else 'are'} read in parts"
    )
    return InParts(reason, True)


def _limit(memory: str | None) -> float | None:
    """Bytes that comparisons may take; None where nobody knows."""
    if memory is None:
        free = free_memory()
        return None if free is None else SHARE * free
    from pairscore.streaming.stream_job import bytes_of

    return bytes_of(memory)


def _kind_in_parts(path: Path) -> str | None:
    """What a source is that no table in memory can be: a folder, an address, a pattern, .gz."""
    from pairscore.files.source import STORES

    if address(path).partition("://")[0] in STORES:
        return "an address"
    with suppress(OSError):
        if path.is_dir():
            return "a folder"
        if path.suffix.lower() == ".gz":
            return "a packed file"
        if has_magic(str(path)) and not path.exists():
            return "a pattern"
    return None


def _needed(path: Path) -> float:
    """Bytes that the comparisons of a file take in memory, about; 0 if no stream could read it."""
    from pairscore.files.source import KINDS

    growth = GROWTH.get(KINDS.get(path.suffix.lower(), ""), 0)
    with suppress(OSError):
        return growth * path.stat().st_size if path.is_file() else 0
    return 0


def free_memory() -> float | None:
    """Bytes that this process may still take; None where the system does not say."""
    known = [free for free in (_free_of_machine(), _free_of_group()) if free is not None]
    return min(known, default=None)


def _free_of_machine() -> float | None:
    """What Linux calls available; elsewhere all memory that the machine has."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    if sys.platform != "win32":
        with suppress(ValueError, OSError):
            return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return None


def _free_of_group() -> float | None:
    """What is left of the limit of a container; None without one."""
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # "max" is no limit
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        return float(max(limit - int((group / "memory.current").read_text(encoding="ascii")), 0))
    return None


def _shown(size: float) -> str:
    """An amount of memory for people, such as 12 GB or 340 MB."""
    for unit, one in (("GB", 1e9), ("MB", 1e6)):
        if size >= one:
            return f"{size / one:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"
