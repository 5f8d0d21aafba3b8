"""Fits larger than memory: time against scanning the same files, peak memory, and growth.

    python -m benchmarks.scale                 10^6 and 10^7 comparisons
    python -m benchmarks.scale 1e6 1e7 1e8     other sizes
    python -m benchmarks.scale 1e8 --processes --rounds 3 --folder /tmp/made

Files are made in a temporary folder: Parquet, whole numbers as ids, one item for ten comparisons
and at most 10^6 items, with 64 features. Every fit runs in a process of its own, on one thread
unless ``--threads`` says otherwise; seconds are those of the processor, memory is the peak above a
process that has only imported pairscore. Scanning reads every column of items and comparisons with
the same library and as many threads, right before each of the others: a busy machine is slower for
both. "user" is the same ratio without the time of the kernel, most of which goes into new pages of
memory. Before each process as much memory as a fit may take is used and given back, see
:func:`touch_memory`; ``--cold`` leaves that out. ``--intervals`` adds item-robust intervals,
``--processes`` what two processes gain at the pass over comparisons, and at work that needs no
memory.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FEATURES, MOST_ITEMS, ROWS_PER_FILE = 64, 10**6, 5_000_000
MEMORY = 1_500_000_000  # bytes that a fit may take
FITS = (("direction", "pooled"), ("pooled", "none"), ("mle", "none"), ("pooled", "items"))
TITLES = f"{'scan s':>7} {'CPU s':>8} {'wall s':>8} {'× scan':>8} {'user':>6} {'MB':>7}"
HEADER = f"{'comparisons':>12} {'what':<17} {TITLES}"


def make(folder, m):
    """Draw items and comparisons by the logit model, and write them."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng, n = np.random.default_rng(0), min(m // 10, MOST_ITEMS)
    X = rng.normal(size=(n, FEATURES))
    scores = X @ rng.normal(size=FEATURES) / np.sqrt(FEATURES)
    columns = {"id": np.arange(n)} | {f"x{k}": X[:, k] for k in range(FEATURES)}
    parquet.write_table(pa.table(columns), folder / "items.parquet", row_group_size=100_000)
    (folder / "comparisons").mkdir()
    for number, first in enumerate(range(0, m, ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, m - first)
        left = rng.integers(0, n, size, dtype=np.int32)
        right = (left + rng.integers(1, n, size, dtype=np.int32)) % n
        lost = rng.random(size) > 1 / (1 + np.exp(scores[right] - scores[left]))
        winner = pa.DictionaryArray.from_arrays(lost.astype(np.int8), pa.array(["left", "right"]))
        table = pa.table({"left": left, "right": right, "winner": winner})
        path = folder / "comparisons" / f"{number:04d}.parquet"
        parquet.write_table(table, path, row_group_size=1_000_000)


def scan(folder, threads):
    """Read every column of every file, batch by batch, with as many threads over row groups."""
    from pairscore.files.partitions import partitions
    from pairscore.streaming.engines import LocalEngine

    def read(part):
        return sum(len(batch) for _, batch in part.read(part.column_names()))

    parts = [
        part for name in ("items.parquet", "comparisons") for part in partitions(folder / name)
    ]
    LocalEngine(threads).total(read, parts)


def fit(folder, threads, method, inference):
    from pairscore import fit_stream

    asked = {"method": method, "inference": None if inference == "none" else inference}
    fit_stream(str(folder / "items.parquet"), str(folder / "comparisons"), n_jobs=threads, **asked)


def direction(folder, threads, method):
    """The direction of a closed form alone: one pass over comparisons, one over items."""
    from contextlib import ExitStack

    from pairscore.estimators.closed_form import closed_direction
    from pairscore.estimators.settings import check_settings
    from pairscore.streaming.engines import LocalEngine
    from pairscore.streaming.stream_job import StreamJob, StreamSource

    names = str(folder / "items.parquet"), str(folder / "comparisons")
    settings = check_settings(method=method, inference=None)
    source = StreamSource(*names, "error", None, {})
    job = StreamJob(source, settings, 1e9, LocalEngine(threads))
    with ExitStack() as stack:
        closed_direction(job.prepare(stack), settings)


def tally(folder, share, shares):
    """One of some equal shares of the comparison pass."""
    import numpy as np

    from pairscore.data.items import Items
    from pairscore.files.partitions import partitions
    from pairscore.streaming.batches import BatchLayout, BatchReader, NumberedPart
    from pairscore.streaming.first_pass import TallyTask

    n = MOST_ITEMS
    items = Items(np.broadcast_to(0.0, (n, 1)), ("x",), np.arange(n))
    parts = partitions(folder / "comparisons")
    reader = BatchReader(items, BatchLayout.of_names(parts[0].column_names(), {}))
    task = TallyTask(reader, n, 100)
    for number, part in list(enumerate(parts))[share::shares]:
        task(NumberedPart(number, part))


def spin(folder, share, shares):
    """One of some equal shares of work that needs no memory: what two processes can gain."""
    import numpy as np

    small = np.ones(1000)
    for _ in range(400_000 // shares):
        np.exp(small, out=small)
        np.log(small, out=small)


def peak_memory():
    """Of this process so far, in MB; what its parent held does not count (Linux)."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1e3


def measure(folder, threads, what):
    """Run one thing in this process, and print its seconds and its peak memory."""
    import pyarrow.parquet  # noqa: F401

    import pairscore.streaming.fit_stream  # noqa: F401

    kinds = {"scan": scan, "direction": direction, "tally": tally, "spin": spin}
    name, *rest = what
    before = peak_memory()
    user, cpu, wall = os.times().user, time.process_time(), time.perf_counter()
    if name in ("tally", "spin"):
        kinds[name](folder, *map(int, rest))
    else:
        kinds.get(name, fit)(folder, threads, *(rest if name in kinds else what))
    took = {"user": os.times().user - user, "cpu": time.process_time() - cpu}
    took |= {"wall": time.perf_counter() - wall, "peak": peak_memory() - before}
    print(json.dumps(took))


def touch_memory():
    """Use as much memory as a fit may, and give it back.

    A virtual machine gets pages from its host when they are first used, and returns them after a
    while: a gigabyte takes from 0.2 to 10 seconds, whoever asks for it first.
    """
    import numpy as np

    np.ones(MEMORY // 8)


def start(folder, threads, *what):
    command = [sys.executable, "-m", "benchmarks.scale", "--in", str(folder), *map(str, what)]
    command += ["--threads", str(threads)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)


def result(process):
    text, _ = process.communicate()
    if process.returncode:
        raise SystemExit(process.returncode)
    return json.loads(text.splitlines()[-1])


def run(folder, threads, *what, is_cold=False):
    if not is_cold:
        touch_memory()
    return result(start(folder, threads, *what))


def two_processes(folder, is_cold, rounds=3):
    """How much faster two processes are than one, at the pass over comparisons and at best.

    By the clock, and by the processor: what the slower of two at once took of it, beside what one
    alone took. On a busy machine only the latter says something.
    """
    for what in ("tally", "spin"):
        gains = {"wall": [], "cpu": []}
        for _ in range(rounds):
            alone = run(folder, 1, what, 0, 1, is_cold=is_cold)
            both = [result(of) for of in [start(folder, 1, what, share, 2) for share in (0, 1)]]
            for unit, of in gains.items():
                of.append(alone[unit] / max(took[unit] for took in both))
        for unit, of in gains.items():
            shown = " ".join(f"{gain:.2f}" for gain in of)
            print(f"two processes over one, {what}, by {unit}: {shown}", flush=True)


def compare(folder, m, given):
    """Everything once, each right after a scan; prints seconds over those of that scan."""
    fits = FITS if given.intervals else FITS[:3]
    run(folder, given.threads, "scan")  # so that all is in the cache of the disk
    for _ in range(given.rounds):
        for what in fits:
            scanned, took = (
                run(folder, given.threads, *each, is_cold=given.cold) for each in (["scan"], what)
            )
            ratio, user = (took[unit] / scanned[unit] for unit in ("cpu", "user"))
            print(
                f"{m:>12,} {' '.join(what):<17} {scanned['cpu']:>7.2f} {took['cpu']:>8.2f}"
                f" {took['wall']:>8.2f} {ratio:>8.1f} {user:>6.1f} {took['peak']:>7.0f}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--processes", action="store_true", help="two processes over one, too")
    parser.add_argument("--cold", action="store_true", help="memory is not used before")
    parser.add_argument("--folder", type=Path, help="where files are made; kept, and used again")
    parser.add_argument("--in", dest="within", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.within is not None:
        return measure(given.within, given.threads, given.sizes)
    print(HEADER)
    for m in [int(float(size)) for size in given.sizes or ("1e6", "1e7")]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) if given.folder is None else given.folder / str(m)
            if not (folder / "items.parquet").exists():
                folder.mkdir(parents=True, exist_ok=True)
                make(folder, m)
            compare(folder, m, given)
            if given.processes:
                two_processes(folder, given.cold)


if __name__ == "__main__":
    main()
