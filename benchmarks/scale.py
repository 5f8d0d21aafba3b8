"""Fits larger than memory: time against scanning the same files, peak memory, and growth.

    python -m benchmarks.scale                 10^6 and 10^7 comparisons
    python -m benchmarks.scale 1e6 1e7 1e8     other sizes

Files are made in a temporary folder: Parquet, whole numbers as ids, one item for ten comparisons
and at most 10^6 items, with 64 features. Every fit runs in a process of its own, on one thread
unless ``--threads`` says otherwise; seconds are those of the processor, memory is the peak above a
process that has only imported pairscore. Scanning reads every column of items and comparisons with
the same library and as many threads.
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
FITS = (("pooled", "none"), ("mle", "none"), ("pooled", "items"))
HEADER = f"{'comparisons':>12} {'what':<14} {'CPU s':>8} {'wall s':>8} {'× scan':>8} {'MB':>7}"


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
    from pairscore.parts.engines import LocalEngine
    from pairscore.parts.sources import partitions

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


def peak_memory():
    """Of this process so far, in MB; what its parent held does not count (Linux)."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1e3


def measure(folder, threads, what):
    """Run one thing in this process, and print its seconds and its peak memory."""
    import pairscore.streaming.fit  # noqa: F401

    before = peak_memory()
    cpu, wall = time.process_time(), time.perf_counter()
    scan(folder, threads) if what == ["scan"] else fit(folder, threads, *what)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = peak_memory() - before
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak}))


def run(folder, threads, *what):
    command = [sys.executable, "-m", "benchmarks.scale", "--in", str(folder), *what]
    command += ["--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-intervals", action="store_true")
    parser.add_argument("--in", dest="folder", type=Path)
    given = parser.parse_args()
    if given.folder is not None:
        return measure(given.folder, given.threads, given.sizes)
    print(HEADER)
    for m in [int(float(size)) for size in given.sizes or ("1e6", "1e7")]:
        with tempfile.TemporaryDirectory() as name:
            make(folder := Path(name), m)
            run(folder, given.threads, "scan")  # so that all is in the cache of the disk
            scanned = run(folder, given.threads, "scan")
            for what in (("scan",), *FITS[: 2 if given.no_intervals else 3]):
                took = scanned if what == ("scan",) else run(folder, given.threads, *what)
                print(
                    f"{m:>12,} {' '.join(what):<14} {took['cpu']:>8.2f} {took['wall']:>8.2f}"
                    f" {took['cpu'] / scanned['cpu']:>8.1f} {took['peak']:>7.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
