"""Hostile copies of the files that pairscore writes: models, sums, rounds, checkpoints, tiles.

Bytes are mutated, and entries forged with right checksums; each copy is used by commands in a child
with limits (:mod:`studies.hostile`). None may end in a traceback, a crash or a hang, take much
memory, or cost anything that was there before.
"""

import io
import itertools
import os
import shutil
import struct
import subprocess
import sys
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests import forged

from studies.hostile import HEAD, Case, attempt, command, count, mutations

SEED = 33
KEPT = "what the user had before\n"
CHECKPOINT = """
import sys
from pyarrow import csv, parquet
parquet.write_table(csv.read_csv("votes.csv"), "votes.parquet", row_group_size=40)
from pairscore import fit_stream
from pairscore.streaming import first_pass, stream_job
from pairscore.streaming.checkpoint import Checkpoint
stream_job.PARTITION_ROWS, first_pass.PARTS_AT_ONCE = 40, 1
write = Checkpoint.write
def write_and_end(self, sums, n_done):
    write(self, sums, n_done)
    if n_done == 3:
        raise KeyboardInterrupt
Checkpoint.write = write_and_end
try:
    fit_stream("items.csv", "votes.parquet", memory=1e5, checkpoint="ck")
except KeyboardInterrupt:
    pass
"""
MAKE = {
    "plain.npz": "fit items.csv votes.csv --exclude style --keep-data",
    "effects.npz": "fit items.csv votes.csv --exclude style --item-effects --keep-data",
    "rich.npz": "fit items.csv votes.csv --categorical style --judge-slopes --side-effect judges"
    " --context rest --ties davidson --keep-data",
    "alone.npz": "fit votes.csv --keep-data",
    "ridge.npz": "fit items.csv votes.csv --exclude style --l2 auto --keep-data",
    "site1.npz": "stats items.csv votes.csv --exclude style",
    "site2.npz": "stats items2.csv votes2.csv --exclude style",
    "merged.npz": "merge site1.npz site2.npz",
    "merged-mle.npz": "merge site1.npz site2.npz --method mle",
    "round1.npz": "stats items.csv votes.csv --exclude style --at merged.npz",
    "round2.npz": "stats items2.csv votes2.csv --exclude style --at merged.npz",
    "round1-mle.npz": "stats items.csv votes.csv --exclude style --at merged-mle.npz",
    "round2-mle.npz": "stats items2.csv votes2.csv --exclude style --at merged-mle.npz",
}
MODELS = ("plain.npz", "effects.npz", "rich.npz", "alone.npz", "ridge.npz")
PARTNER = {
    "site1.npz": "site2.npz",
    "round1.npz": "round2.npz",
    "round1-mle.npz": "round2-mle.npz",
}


def csv(path, **columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def tables(folder, name, seed, n=30, m=260):
    """Items with two numbers and a category, and comparisons with judges, ties and a context."""
    rng = np.random.default_rng(seed)
    mass, height = rng.normal(size=(2, n)).round(4)
    ids = [f"i{seed}-{row}" for row in range(n)]
    csv(folder / f"items{name}.csv", id=ids, mass=mass, height=height, style=["a", "b", "c"] * 10)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    lead = mass[left] - mass[right] + rng.logistic(size=m)
    winner = np.select([lead > 0.3, lead < -0.3], ["left", "right"], "tie")
    sides = {"left": [ids[row] for row in left], "right": [ids[row] for row in right]}
    judge, rest = rng.integers(1, 4, m), rng.normal(size=m).round(3)
    csv(folder / f"votes{name}.csv", **sides, winner=winner, judge=judge, rest=rest)
    csv(folder / f"pairs{name}.csv", **{side: ids[:8] for side, ids in sides.items()},
        judge=judge[:8], rest=rest[:8])  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with tables and one good file of each kind, made by children: forks stay safe."""
    return make_files(tmp_path_factory.mktemp("hostile"))


def make_files(folder):
    tables(folder, "", 1)
    tables(folder, "2", 2)
    for name, words in MAKE.items():
        made = attempt(Case(name, command(*words.split(), "-o", name, folder=folder)))
        assert made.end == "accepted", f"{made.end}: {made.said}"
    # a fit in parts that ends after three of them
    subprocess.run([sys.executable, "-W", "ignore", "-c", CHECKPOINT], cwd=folder, check=True)
    assert (folder / "ck").exists()
    return folder


# -- what is done with a file ----------------------------------------------------------------------


AT = "stats", "items.csv", "votes.csv", "--exclude", "style", "--at"
IN_PARTS = "fit", "items.csv", "votes.csv", "--exclude", "style", "--stream", "--checkpoint"


def commands(name):
    """The commands that use a file of this kind, as words."""
    if name in MODELS:
        items = [] if name == "alone.npz" else ["items.csv"]
        yield "rank", "x.npz", *items, "-o", "out.csv"
        yield "predict", "x.npz", *items, "pairs.csv", "-o", "out.csv"
        yield "update", "x.npz", "votes.csv", "--repeated", "add", "-o", "out.npz"
        yield "report", "x.npz", *items, "votes.csv", "-o", "r.html"
    elif name.startswith("merged"):
        yield *AT, "x.npz", "-o", "out.npz"
        yield "rank", "x.npz", "items.csv", "-o", "out.csv"
    elif name == "site1.npz":
        for method in ("pooled", "split", "paired", "mle"):
            yield "merge", "x.npz", PARTNER[name], "--method", method, "-o", "out.npz"
    else:
        yield "merge", "x.npz", PARTNER[name], "-o", "out.npz"


def use(folder, name, write):
    """Write the hostile file as x.npz to a folder of links to the others, and use it."""

    def run():
        place = folder / f"case-{os.getpid()}"
        place.mkdir()
        for path in folder.iterdir():
            if path.is_file() and path.suffix in (".csv", ".npz"):
                (place / path.name).symlink_to(path)
        write(place / "x.npz")
        os.chdir(place)
        codes = []
        try:
            for words in commands(name):
                try:
                    command(*words)()
                except SystemExit as ended:
                    codes.append(ended.code)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        sys.exit(next((code for code in codes if code not in (0, None)), 0))

    return run


def some(things, number, seed=SEED):
    """So many of a list, spread over all of it."""
    things = list(things)
    rng = np.random.default_rng(seed)
    keep = sorted(rng.permutation(len(things))[:number].tolist())
    return [things[place] for place in keep]


def put(path, content):
    path.write_bytes(content)


def forged_cases(folder, names, number):
    """As many changes of arrays as of JSON."""
    each = -(-number // (2 * len(names)))
    for name in names:
        arrays = forged.read(folder / name)
        for half in (forged.of_arrays(arrays), forged.of_texts(arrays)):
            for what, changed in some(half, each):
                write = partial(forged.write, arrays=changed)
                yield Case(f"{name} {what}", use(folder, name, write))


def mutated_cases(folder, names, number):
    for place, name in enumerate(names):
        content = (folder / name).read_bytes()
        for what, changed in mutations(content, -(-number // len(names)), SEED + place):
            yield Case(f"{name} {what}", use(folder, name, partial(put, content=changed)))


# -- archives that lie about their size, hold objects, or are something else -----------------------


def member(header, content=b""):
    header = header.encode().ljust(118 - 10) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def archive(members, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def foreign(first):
    """Bytes by name, of which none is a file of ours; ``first`` is the JSON's name."""
    claim = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}".format
    plain = {f"{first}.npy": member(claim("|u1", "(2,)"), b"{}")}
    zeros, deflated = bytes(400_000_000), zipfile.ZIP_DEFLATED
    shapes = "(1000000000000,)", "(-1,)", "(True,)", "(2.5,)", "()", "None", "(0, 1000000000000)"
    for shape in (*shapes, "(1, " * 40 + ")" * 40, "(99999999999999999999999,)"):
        coef = {"coef_.npy": member(claim("<f8", shape))}
        yield f"a shape of {shape[:20]}", archive(plain | coef)
    for kind in ("|O", "V8", "<U999999999", "<f8,<f8", "<c16", "S10", "<m8[s]", "zz", "|b8"):
        coef = {"coef_.npy": member(claim(kind, "(1,)"), b"12345678")}
        yield f"entries of {kind}", archive(plain | coef)
    bomb = {"coef_.npy": member(claim("<f8", "(50000000,)"), zeros)}
    yield "a bomb", archive(plain | bomb, deflated)
    many = {f"a{k}.npy": bomb["coef_.npy"] for k in range(8)}
    yield "a bomb of many arrays", archive(plain | many, deflated)
    text = {f"{first}.npy": member(claim("|u1", "(400000000,)"), zeros)}
    yield "a bomb of JSON", archive(text, deflated)
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"compressed by {method}", archive(plain, method)
    buffer = io.BytesIO()
    np.savez(buffer, **{first: np.array([Trap()], dtype=object)})
    yield "a pickle in an archive", buffer.getvalue()
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    yield "a single array", buffer.getvalue()
    yield "nothing", b""
    yield "text", b"id,score\n1,2\n"
    yield "zeros", bytes(100_000)
    yield "an archive's first bytes", b"PK\x03\x04"
    yield "an archive's last bytes", b"PK\x05\x06" + bytes(18)
    deep = {f"{first}.npy": member(claim("|u1", "(200000,)"), b"[" * 200_000)}
    yield "deep JSON", archive(deep)
    yield "another archive", archive({"mimetype": b"application/zip"})
    yield "the same name twice", _twice(plain)


def _twice(plain):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in itertools.chain(plain.items(), plain.items()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of the name
                file.writestr(name, content)
    return buffer.getvalue()


def foreign_cases(folder):
    for name, first in (("plain.npz", "header"), ("site1.npz", "meta")):
        for what, content in foreign(first):
            yield Case(f"{name} {what}", use(folder, name, partial(put, content=content)))
    for what, content in foreign("digest"):
        yield Case(f"checkpoint {what}", resumed(folder, lambda p, c=content: put(p / "ck", c)))


# -- checkpoints and their tiles -------------------------------------------------------------------


def resumed(folder, change, is_forged=False):
    """Go on with a copy of the checkpoint after a change in its folder.

    Forged sums may give other numbers; after any other change they are the same.
    """

    def run():
        place = folder / f"case-{os.getpid()}"
        place.mkdir()
        for name in ("items.csv", "votes.parquet", "ck"):
            shutil.copy(folder / name, place)
        shutil.copytree(folder / "ck.tiles", place / "ck.tiles")
        try:
            change(place)
            os.chdir(place)
            from pairscore import fit_stream
            from pairscore.streaming import first_pass, stream_job

            stream_job.PARTITION_ROWS, first_pass.PARTS_AT_ONCE = 40, 1
            model = fit_stream("items.csv", "votes.parquet", memory=1e5, checkpoint="ck")
            if not is_forged:
                np.testing.assert_array_equal(model.coef_, np.load(folder / "whole.npy"))
        finally:
            shutil.rmtree(place, ignore_errors=True)

    return run


def whole(folder):
    """The coefficients of a fit that nobody disturbed."""

    def run():
        from pairscore import fit_stream
        from pairscore.streaming import first_pass, stream_job

        os.chdir(folder)
        stream_job.PARTITION_ROWS, first_pass.PARTS_AT_ONCE = 40, 1
        np.save("whole.npy", fit_stream("items.csv", "votes.parquet", memory=1e5).coef_)

    return run


TILE_CHANGES = {
    "entries beyond": lambda a: np.full_like(a, 100 if a.dtype.itemsize == 1 else 10**8),
    "entries below zero": lambda a: -a - 1,
    "negated": lambda a: -a,
    "cut": lambda a: a[:-1],
    "another kind": lambda a: a.astype(np.float32),
    "flat": lambda a: a[None],
    "text": lambda a: a.astype("U4"),
}


def put_tile(name, content, place):
    path = place / "ck.tiles" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)


def tile_cases(folder, number):
    """Tiles with one column changed, cut, replaced or left out."""
    files = sorted(path.name for path in (folder / "ck.tiles").glob("*.npy"))
    for name, way in zip(some(files, number), itertools.cycle(TILE_CHANGES), strict=False):
        changed = io.BytesIO()
        np.save(changed, TILE_CHANGES[way](np.load(folder / "ck.tiles" / name)))
        yield Case(f"{name} {way}", resumed(folder, partial(put_tile, name, changed.getvalue())))
    for name in some(files, 3, SEED + 1):
        content = (folder / "ck.tiles" / name).read_bytes()
        for what, changed in mutations(content, 5, SEED):
            yield Case(f"{name} {what}", resumed(folder, partial(put_tile, name, changed)))
        yield Case(f"{name} left out", resumed(folder, partial(put_tile, name, None)))


def checkpoint_cases(folder, number):
    content = (folder / "ck").read_bytes()
    for what, changed in mutations(content, number // 3, SEED):
        yield Case(what, resumed(folder, lambda p, c=changed: (p / "ck").write_bytes(c)))
    for what, arrays in some(forged.forgeries(folder / "ck"), number - number // 3):
        yield Case(what, resumed(folder, lambda p, a=arrays: forged.write(p / "ck", a), True))


# -- paths -----------------------------------------------------------------------------------------


def path_cases(folder):
    """Pipes, devices, loops and folders where files are expected, and files that are another's."""
    inside = folder / "paths"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    for path in folder.iterdir():
        if path.is_file() and path.suffix in (".csv", ".npz"):
            (inside / path.name).symlink_to(path)
    os.mkfifo(inside / "pipe.npz")
    (inside / "loop.npz").symlink_to("loop.npz")
    (inside / "loop.csv").symlink_to("loop.csv")
    (inside / "folder.npz").mkdir()
    (inside / "zero.npz").symlink_to("/dev/zero")
    run = partial(command, folder=inside)
    for odd in ("pipe.npz", "loop.npz", "folder.npz", "zero.npz", "none.npz"):
        yield Case(f"rank {odd}", run("rank", odd, "items.csv", "-o", "o.csv"))
        yield Case(f"update {odd}", run("update", odd, "votes.csv", "-o", "o.npz"))
        yield Case(f"merge {odd}", run("merge", odd, "site2.npz", "-o", "o.npz"))
        yield Case(f"stats at {odd}", run(*AT, odd, "-o", "o.npz"))
        yield Case(f"checkpoint {odd}", run(*IN_PARTS, odd, "-o", "o.npz"))
    yield Case("fit loop", run("fit", "loop.csv", "votes.csv", "-o", "o.npz"))
    yield Case("fit to loop", run("fit", "items.csv", "votes.csv", "-o", "loop.npz"))
    for name in ("mine", "other", "empty"):
        own = inside / f"{name}.tiles"
        own.mkdir()
        if name != "empty":
            (own / "thesis.txt").write_text(KEPT)
        yield Case(f"folder {own.name}", run(*IN_PARTS, name, "-o", f"{name}.npz"), keep=(own,))
    (inside / "file.tiles").write_text(KEPT)
    yield Case("a file", run(*IN_PARTS, "file", "-o", "f.npz"), keep=(inside / "file.tiles",))
    (inside / "notes.csv").write_text(KEPT)
    yield Case(
        "a file of the user as checkpoint",
        run(*IN_PARTS, "notes.csv", "-o", "n.npz"),
        keep=(inside / "notes.csv", inside / "notes.csv.tiles"),
    )
    for name, words in {
        "a.npz": "fit items.csv votes.csv --exclude style",
        "b.csv": "rank plain.npz items.csv",
        "c.csv": "predict plain.npz items.csv pairs.csv",
    }.items():
        own = inside / f"{name}.bad-rows.csv"
        own.write_text(KEPT)
        yield Case(f"{words} next to a list", run(*words.split(), "-o", name), keep=(own,))


# -- the table -------------------------------------------------------------------------------------


def classes(folder):
    """Every class of inputs by name."""
    attempt(Case("whole", whole(folder)))
    models = (*MODELS, "merged.npz")
    sums = tuple(PARTNER)
    yield "model, bytes mutated", mutated_cases(folder, MODELS[:3], 90)
    yield "model, forged with right checksum", forged_cases(folder, models, 347)
    yield "site/round, bytes mutated", mutated_cases(folder, sums, 60)
    yield "site/round, forged", forged_cases(folder, sums, 100)
    yield "bombs, shapes, pickles, foreign", foreign_cases(folder)
    yield "checkpoint, mutated and forged", checkpoint_cases(folder, 60)
    yield "checkpoint tiles", tile_cases(folder, 28)
    yield "paths, files and folders of the user", path_cases(folder)


@pytest.mark.parametrize("place", range(8))
def test_hostile_files_are_refused_or_harmless(place, files, figures):
    name, cases = next(itertools.islice(classes(files), place, None))
    counted = count(name, cases)
    _, tried, refused, accepted, *_ = counted.row()
    seen = f"{tried} tried: {refused} refused, {accepted} accepted"
    figures(name, "no traceback, crash or hang", seen)
    assert not counted.bad, "\n".join(f"{o.name}: {o.end}\n{o.said[-600:]}" for o in counted.bad)


def main():
    """Print the table for files in a new folder, of all classes or of those that are named."""
    place, *wanted = sys.argv[1:]
    folder = Path(place)
    folder.mkdir()
    make_files(folder)
    print("| " + " | ".join(HEAD) + " |", flush=True)
    for name, cases in classes(folder):
        if not wanted or any(word in name for word in wanted):
            counted = count(name, cases)
            print("| " + " | ".join(counted.row()) + " |", flush=True)
            with (folder / "bad.txt").open("a") as file:
                for o in counted.bad:
                    what = f"{name}: {o.name}: {o.end}, {o.peak / 1e9:.2f} GB, lost {o.lost}"
                    file.write(f"#### {what}\n{o.said[-900:]}\n")


if __name__ == "__main__":
    main()
