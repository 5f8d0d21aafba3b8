"""Tables and addresses that are meant to do harm, counted by how commands end.

Every input is tried in a process of its own with limits (:mod:`studies.hostile`). Run as a program,
this prints the counts of all classes: ``python -m studies.test_hostile_tables``.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from tests.hostile_tables import archive, ods, ods_cell, ods_row, xls, xlsx, xlsx_cell, xlsx_rows

from studies.hostile import Case, Count, command, count, mutations, table

N_ITEMS, N_VOTES = 40, 200
SECRET = "hidden"
FORMS = [
    "postgresql://ann:{}@pairscore.invalid/db",
    "postgresql://ann:a/{}@pairscore.invalid/db",
    "postgresql://ann:a@{}@pairscore.invalid/db",
    "postgresql://pairscore.invalid/db?user=ann&password={}",
    "host=pairscore.invalid password='a {}' user=ann",
    "host=pairscore.invalid password={}",
    "mysql://ann:{}@pairscore.invalid/db",
    "https://ann:{}@pairscore.invalid/a.csv",
    "https://pairscore.invalid/a.csv?token={}",
    "s3://key:{}@bucket/a.csv",
    "s3://key:{}/bucket/a.csv",
    "s3://bucket/a.csv?secret_key={}&none=1",
]


def study(folder: Path) -> dict[str, Any]:
    """A small study in every format, and its rows."""
    from pairscore.files.write import write_table

    rng = np.random.default_rng(8)
    ids = np.array([f"i{place}" for place in range(N_ITEMS)], dtype=object)
    items = {"id": ids, "x": rng.normal(size=N_ITEMS).round(4), "y": rng.normal(size=N_ITEMS)}
    left, right = rng.permuted(np.tile(np.arange(N_ITEMS), (N_VOTES, 1)), axis=1)[:, :2].T
    wins = items["x"][left] - items["x"][right] + rng.logistic(size=N_VOTES) > 0
    votes = {
        "left": ids[left],
        "right": ids[right],
        "winner": np.where(wins, ids[left], ids[right]),
    }
    for suffix in ("csv", "jsonl", "parquet"):
        write_table(items, folder / f"items.{suffix}")
        write_table(votes, folder / f"votes.{suffix}")
    rows = [list(items), *zip(*(column.tolist() for column in items.values()), strict=True)]
    (folder / "items.xlsx").write_bytes(xlsx(xlsx_rows(*rows)))
    (folder / "items.ods").write_bytes(ods("".join(ods_row(*row) for row in rows)))
    cells = {(r, c): cell for r, row in enumerate(rows) for c, cell in enumerate(row)}
    (folder / "items.xls").write_bytes(xls(cells))
    with sqlite3.connect(folder / "study.sqlite") as database:
        database.execute("CREATE TABLE items (id TEXT, x REAL, y REAL)")
        database.executemany("INSERT INTO items VALUES (?, ?, ?)", rows[1:])
        database.execute("CREATE TABLE votes (left TEXT, right TEXT, winner TEXT)")
        columns = zip(*(column.tolist() for column in votes.values()), strict=True)
        database.executemany("INSERT INTO votes VALUES (?, ?, ?)", columns)
    database.close()
    import duckdb

    with duckdb.connect(str(folder / "study.duckdb")) as database:
        for name in ("items", "votes"):
            database.execute(f"CREATE TABLE {name} AS FROM '{folder}/{name}.parquet'")
    return {"rows": rows, "items": items, "votes": votes}


class Cases:
    """Collects the cases of a class; files go into folders of their own."""

    def __init__(self, folder: Path):
        self.folder, self.cases = folder, []

    def fit(self, name: str, items: str, votes: str, *more: str) -> None:
        words = ("fit", items, votes, *more, "-o", "m.npz")
        self.cases.append(Case(f"{name} {' '.join(more)}", command(*words, folder=self.folder)))

    def table(self, name: str, suffix: str, content: bytes, streams: bool = True) -> None:
        """A damaged table of items, in memory and as a stream."""
        file = f"h{len(self.cases)}.{suffix}"
        (self.folder / file).write_bytes(content)
        self.fit(name, file, "votes.csv")
        if streams:
            self.fit(name, file, "votes.csv", "--stream")


def csv_cases(cases: Cases, rows: list[Any]) -> None:
    sound = (cases.folder / "items.csv").read_bytes()
    text = sound.decode()
    for name, content in mutations(sound, 110, seed=1):
        cases.table(name, "csv", content)
    blanks, body = " " * 100_000, text.split("\n", 1)[1]
    made = {
        "cells of blanks": "id,x\n" + "".join(f"i{n},{blanks}{n}\n" for n in range(20)),
        "a long cell": text.replace("i3,", f"i3,{blanks}{blanks}x", 1),
        "a long name": text.replace("id,x", f"id,x{blanks}{blanks}", 1),
        "wide rows": "id,x\n" + ("a," * 100_000 + "\n") * 20,
        "short rows": "id," + ",".join(f"x{n}" for n in range(19_000)) + "\n" + "a\n" * 9000,
        "commas": text + "," * 200_000 + "x\n",
        "20 001 columns": "id," + ",".join(f"x{n}" for n in range(20_000)) + "\na" + ",1" * 20_000,
        "a million columns": "id," + ",".join(f"x{n}" for n in range(10**6)) + "\n",
        "a name of 10 MB": "id," + "x" * 10_000_000 + "\na,1\n",
        "quotes": '"' * 999_999,
        "an open quote": text + '"' + "a" * 5_000_000,
        "NUL": text.replace("i4", "i\0"),
        "one line": "id,x" * 3_000_000,
        "control signs": text.replace("i4", "\x1b[2J\x07"),
        "infinite": text.replace(body.split(",")[1], "1e999"),
        "two forms of one id": text + "i\u00e9,1,1\nie\u0301,1,1\n",
        "nothing": "",
        "a line": "\n",
        "line ends": "\r\n" * 100_000,
        "only names": "id,x\n",
        "one name": "id\n" + "a\n" * 5,
        "formulas": text.replace("i4", "=cmd|' /C calc'!A0"),
        "bytes": bytes(range(256)).decode("latin-1") * 100,
    }
    for name, content in made.items():
        cases.table(name, "csv", content.encode("utf-8", "surrogatepass"))


def workbook_cases(cases: Cases, rows: list[Any]) -> None:
    for suffix, number in (("xlsx", 21), ("ods", 14), ("xls", 14)):
        sound = (cases.folder / f"items.{suffix}").read_bytes()
        for name, content in mutations(sound, number, seed=2):
            cases.table(name, suffix, content, streams=False)
    tags = xlsx_rows(*rows)
    for name, content in mutations(tags.encode(), 14, seed=3):
        cases.table(f"tags {name}", "xlsx", xlsx(content.decode("utf-8", "replace")), False)
    last = xlsx(tags + '<row r="1048576">' + xlsx_cell("XFD1048576", 1) + "</row>")
    far = xlsx(tags + '<row r="30000">' + xlsx_cell("CWX30000", 1) + "</row>")
    long = f"<si><t>{'a' * 30_000}</t></si>"
    many = xlsx(tags + '<row r="99">' + '<c t="s"><v>0</v></c>' * 99_999 + "</row>", long)
    bomb = archive({"xl/workbook.xml": " " * (1 << 30)})
    cell = xlsx(f'<row r="1">{xlsx_cell("A1", "a" * (1 << 30))}</row>')
    repeats = ods(ods_row("id", "x") + ods_row(ods_cell("a", 16384), times=1_048_576))
    for name, suffix, content in (
        ("the last cell", "xlsx", last),
        ("a far cell", "xlsx", far),
        ("a text in many cells", "xlsx", many),
        ("a bomb", "xlsx", bomb),
        ("a cell of 1 GB", "xlsx", cell),
        ("repeated cells", "ods", repeats),
        ("the last cell", "xls", xls({(0, 0): "id", (65535, 65535): 1.0})),
        ("text", "xlsx", b"id,x\n"),
        ("nothing", "xlsx", b""),
        ("nothing", "xls", b""),
        ("an archive", "xlsx", archive({"a": "b"})),
        ("an archive", "ods", archive({"content.xml": "<a/>"})),
        ("XML in another", "xlsx", xlsx('<!DOCTYPE a [<!ENTITY b "c">]>')),
        ("cells of no column", "xlsx", xlsx('<row r="1"><c r="1"><v>1</v></c></row>')),
        ("numbers that are none", "xlsx", xlsx('<row><c t="s"><v>x</v></c></row>')),
    ):
        cases.table(name, suffix, content, streams=False)


def parquet_cases(cases: Cases, rows: list[Any]) -> None:
    sound = (cases.folder / "items.parquet").read_bytes()
    for name, content in mutations(sound, 58, seed=4):
        cases.table(name, "parquet", content)
    cases.table("nothing", "parquet", b"")
    cases.table("a mark twice", "parquet", b"PAR1" * 2)


def jsonl_cases(cases: Cases, rows: list[Any]) -> None:
    sound = (cases.folder / "items.jsonl").read_bytes()
    for name, content in mutations(sound, 63, seed=5):
        cases.table(name, "jsonl", content)
    deep = 100_000
    made = {
        "brackets": b'{"id":"a","x":' + b"[" * deep + b"]" * deep + b"}\n",
        "objects": b'{"a":' * deep + b"1" + b"}" * deep + b"\n",
        "brackets in lines": b'{"a":' + b"[\n" * deep,
        "brackets and texts": b'{"a":' + b'["]",' * deep + b"1" + b"]" * deep + b"}\n",
        "an id of 10 MB": b'{"id":"' + b"a" * 10_000_000 + b'","x":1}\n',
        "a name of 1 MB": b'{"id":"a","' + b"x" * 1_000_000 + b'":1}\n',
        "names": b'{"id":"a",' + b",".join(b'"x%d":1' % n for n in range(20_001)) + b"}\n",
        "one name twice": b'{"id":"a","id":"b","x":1}\n',
        "a number": b"1\n" * 100,
        "digits": b'{"id":"a","x":' + b"1" * 100_000 + b"}\n",
        "nothing": b"",
        "NUL": sound.replace(b"i3", b"\0"),
        "an open text": sound + b'{"id":"' + b"a" * 5_000_000,
        "lists": b'{"id":"a","x":[' + b",".join([b"1"] * 30_000) + b"]}\n",
    }
    for name, content in made.items():
        cases.table(name, "jsonl", content)


def database_cases(cases: Cases, rows: list[Any]) -> None:
    for kind in ("sqlite", "duckdb"):
        sound = (cases.folder / f"study.{kind}").read_bytes()
        for place, (name, content) in enumerate(mutations(sound, 28, seed=6)):
            (cases.folder / f"d{place}.{kind}").write_bytes(content)
            address = f"{kind}:///d{place}.{kind}"
            cases.cases.append(_query(cases.folder, f"{kind} {name}", address))
    import duckdb

    private = cases.folder / "private.csv"
    private.write_text("id,x,y\n" + "".join(f"i{n},{n},1\n" for n in range(N_ITEMS)))
    with duckdb.connect(str(cases.folder / "view.duckdb")) as database:
        database.execute(f"CREATE VIEW items AS FROM read_csv('{private}')")
        database.execute(f"CREATE TABLE votes AS FROM '{cases.folder}/votes.parquet'")
    cases.cases.append(_query(cases.folder, "a view of a file", "duckdb:///view.duckdb"))


def _query(folder: Path, name: str, address: str) -> Case:
    words = ("--items", "SELECT * FROM items", "--comparisons", "SELECT * FROM votes")
    return Case(name, command("fit", "--db", address, *words, "-o", "m.npz", folder=folder))


def device_cases(cases: Cases, rows: list[Any]) -> None:
    os.mkfifo(cases.folder / "fifo")
    for target in ("fifo", "/dev/zero", "/dev/null", "/dev/urandom", "circle.csv"):
        for suffix in ("csv", "jsonl", "xlsx") if target in ("fifo", "/dev/zero") else ("csv",):
            link = "circle.csv" if "circle" in target else f"{Path(target).name}.{suffix}"
            os.symlink(target, cases.folder / link)
            cases.fit(link, link, "votes.csv")
            if suffix != "xlsx":
                cases.fit(link, link, "votes.csv", "--stream")


def path_cases(cases: Cases, rows: list[Any]) -> None:
    (cases.folder / "folder.csv").mkdir()
    (cases.folder / "locked").mkdir()
    names = ["none.csv", "folder.csv", "a" * 300 + ".csv", "\n.csv", "-x.csv", "*.csv", "[.csv"]
    names += [
        "items",
        "items.doc",
        "items.csv/",
        "/",
        ".",
        "..",
        "",
        "~",
        "items.csv.gz",
        "a\\b.csv",
    ]
    for name in names:
        cases.fit(repr(name), name or " ", "votes.csv")
        cases.fit(repr(name), name or " ", "votes.csv", "--stream")
    for output in ("items.csv", "folder.csv", "none/m.npz", "/dev/full", "/proc/m.npz", "a" * 300):
        words = ("fit", "items.csv", "votes.csv", "-o", output)
        keep = (cases.folder / "items.csv", cases.folder / "votes.csv")
        cases.cases.append(Case(f"-o {output}", command(*words, folder=cases.folder), keep))


def secret_cases(cases: Cases, rows: list[Any]) -> None:
    for form in FORMS:
        address = form.format(SECRET)
        cases.fit("items", address, "votes.csv")
        cases.fit("votes", "items.csv", address, "--stream")
        cases.cases.append(_query(cases.folder, "database", address))


CLASSES: dict[str, Callable[[Cases, list[Any]], None]] = {
    "CSV (mutated, hand-made; memory and --stream)": csv_cases,
    "XLSX/XLS/ODS": workbook_cases,
    "Parquet": parquet_cases,
    "JSONL": jsonl_cases,
    "SQL (SQLite, DuckDB files)": database_cases,
    "FIFO, devices, circular links": device_cases,
    "paths": path_cases,
    "secrets in messages": secret_cases,
}


def counted(name: str, folder: Path, **limits: Any) -> Count:
    """The outcomes of a class, in a new folder."""
    import pairscore.cli.report
    import pairscore.streaming.fit_stream  # noqa: F401  (loaded once, before the children)

    folder.mkdir()
    cases = Cases(folder)
    CLASSES[name](cases, study(folder)["rows"])
    return count(name, cases.cases, **limits)


def leaks(of: Count) -> list[str]:
    """The outcomes that show the secret."""
    return [outcome.name for outcome in of.outcomes if SECRET in outcome.said]


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_meant_to_do_harm_is_an_answer_or_a_sentence(name, tmp_path):
    of = counted(name, tmp_path / "class")
    assert not [(one.name, one.end, one.peak >> 20, one.said[-300:]) for one in of.bad]
    assert not leaks(of)


def rows_of_all(only: list[str]) -> Iterator[Count]:
    for place, name in enumerate(CLASSES):
        if not only or any(word in name for word in only):
            with TemporaryDirectory() as folder:
                of = counted(name, Path(folder) / str(place))
            for bad in of.bad:
                print(
                    f"{bad.end}: {bad.name}, {bad.seconds:.0f} s, {bad.peak >> 20} MB", flush=True
                )
            print(f"{name}: secrets shown {len(leaks(of))}", flush=True)
            yield of


if __name__ == "__main__":
    import sys

    print(table(list(rows_of_all(sys.argv[1:]))))
