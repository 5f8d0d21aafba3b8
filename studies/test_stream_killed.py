"""A fit in parts that is ended ten times by kill -9 during its first pass, and goes on each time.

It dies while it reads a part, while the checkpoint is written, or after it was: whatever the place,
the model is the same to the last bit as that of a fit that nobody ended.
"""

import signal
import subprocess
import sys

import numpy as np
import pytest
from tests.streaming.studies import draw, write

KILLS = 10
FIT = """
import os, signal, sys
from pairscore import fit_stream
from pairscore.streaming.batches import BatchReader
from pairscore.streaming import first_pass, stream_job
from pairscore.streaming.checkpoint import Checkpoint

first_pass.PARTS_AT_ONCE, stream_job.PARTITION_ROWS, first_pass.SAMPLE = 1, 50, 300
items, votes, method, inference, kill, checkpoint, model = sys.argv[1:]
read, save, seen = BatchReader.all_batches, Checkpoint.write, []

def die(place):
    if kill == place and len(seen) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

def reading(self, part):
    seen.append(part)
    for batch in read(self, part):
        yield batch
        die("in a part")

def writing(self, sums, n_done):
    die("before the checkpoint")
    save(self, sums, n_done)
    die("after the checkpoint")

def replacing(old, new, replace=os.replace):
    if str(new) == checkpoint:
        die("in the checkpoint")  # written, and not yet in its place
    replace(old, new)

BatchReader.all_batches, Checkpoint.write, os.replace = reading, writing, replacing
asked = {"method": method, "inference": None if inference == "none" else inference}
fit_stream(items, votes, memory=1e5, checkpoint=checkpoint, **asked).save(model)
"""
PLACES = ("in a part", "before the checkpoint", "in the checkpoint", "after the checkpoint")


def arrays_of(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files if file[name].dtype.kind == "f"}


@pytest.mark.parametrize(
    ("method", "inference"),
    [*((method, "items") for method in ("pooled", "split", "paired", "mle")), ("mle", "none")],
)
def test_a_fit_that_is_killed_ten_times_is_the_one_that_nobody_killed(
    method, inference, tmp_path, figures
):
    files = write(tmp_path, *draw(10), group=50)

    def run(kill, name):
        paths = str(tmp_path / f"{name}.checkpoint"), str(tmp_path / f"{name}.npz")
        command = [sys.executable, "-W", "ignore", "-c", FIT, *files, method, inference]
        command += [kill, *paths]
        return subprocess.run(command, check=False).returncode

    assert run("never", "whole") == 0
    codes = [run(PLACES[number % len(PLACES)], "killed") for number in range(KILLS)]
    assert codes == [-signal.SIGKILL] * KILLS
    assert run("never", "killed") == 0
    whole, killed = (arrays_of(tmp_path / f"{name}.npz") for name in ("whole", "killed"))
    assert whole.keys() == killed.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(killed[name], array)
    assert not list(tmp_path.glob("killed.checkpoint*"))
    figures(
        f"{method} in parts, intervals {inference}, {KILLS} kills -9",
        "the same bits",
        f"{len(whole)} arrays the same",
    )
