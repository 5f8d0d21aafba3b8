"""``fit --stream``: as a user runs it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pairscore import load
from pairscore.cli.databases import address
from tests.cli.running import run
from tests.streaming.studies import draw, write


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    write(folder, *draw(text=True), kind="csv")
    return folder


def test_a_fit_in_parts_prints_and_writes_what_a_fit_does(folder):
    whole, parts = folder / "whole.npz", folder / "parts.npz"
    files = " ".join(str(folder / f"votes{number}.csv") for number in range(3))
    run(f"fit {folder}/items.csv {files} -o {whole} --method pooled")
    shown = run(
        f"fit {folder}/items.csv '{folder}/votes*.csv' --stream --memory 1MB --processes 2"
        f" --method pooled --exclude x2,x1 --features x0,x1,x2 --json -o {parts}"
    )
    assert json.loads(shown.output)["n_items"] == 80
    run(
        f"fit {folder}/items.csv '{folder}/votes*.csv' --stream --checkpoint {folder}/c.npz"
        f" --method pooled -o {parts}"
    )
    np.testing.assert_allclose(load(parts).coef_, load(whole).coef_, rtol=1e-9)
    np.testing.assert_allclose(load(parts).std_errors_, load(whole).std_errors_, rtol=1e-5)
    assert "rank" in run(f"rank {parts} {folder}/items.csv").output
    assert not (folder / "c.npz").exists()


def test_what_is_said_of_csv_files_is_said_of_parts_of_them_too(tmp_path):
    """The model remembers it."""
    rng = np.random.default_rng(3)
    rows = "".join(f"ä{n}~{x:.3f}~{y:.3f}\n" for n, (x, y) in enumerate(rng.normal(size=(60, 2))))
    (tmp_path / "items.csv").write_text(
        "id~x~y\nweg~k.W.~1,5\n" + rows.replace(".", ","), "latin-1"
    )
    pairs = [(rng.choice(60, 2, replace=False), rng.choice(["left", "right"])) for _ in range(300)]
    votes = "".join(f"ä{left}~ä{right}~{winner}\n" for (left, right), winner in pairs)
    (tmp_path / "votes.csv").write_text("left~right~winner\n" + votes, "latin-1")
    said = "--delimiter ~ --encoding latin-1 --decimal ,"
    for way in ("", "--stream"):
        run(f"fit items.csv votes.csv {said} --features y --method pooled {way} -o m{way}.npz")
    np.testing.assert_allclose(
        load(tmp_path / "m--stream.npz").coef_, load(tmp_path / "m.npz").coef_
    )
    ranking = json.loads(run("rank m--stream.npz items.csv -o r.csv --json").output)["ranking"]
    assert "ä5" in {row["id"] for row in ranking}
    refused = run("fit items.csv votes.csv --delimiter ^ --stream -o n.npz", code=2).stderr
    assert "--delimiter is '^', and the first line of no CSV file has it; leave it out" in refused


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--categorical x0", "--categorical needs all data in memory"),
        ("--ties davidson", "fit without streaming"),
        ("--l2 auto", "give it as a number"),
        ("--memory lots", "--memory is 'lots'"),
        ("--memory 1kB", "--memory is '1kB', and even a small batch of comparisons takes more"),
        ("--keep-data", "--keep-data needs all data in memory"),
        ("--side-effect judges", "--side-effect judges needs all data in memory"),
    ],
)
def test_what_does_not_go_with_parts_is_said_in_a_sentence(options, sentence, folder):
    done = run(f"fit {folder}/items.csv {folder}/votes0.csv --stream {options}", code=2)
    assert sentence in done.output


def test_comparisons_alone_are_not_fitted_in_parts(folder):
    said = run(f"fit {folder}/votes0.csv --stream", code=2).output
    assert "--stream needs ITEMS as well as COMPARISONS" in said
    assert "--report" not in said


def test_a_fit_of_an_object_store_is_that_of_the_same_files(folder, object_store, monkeypatch):
    object_store.put("study")
    for path in folder.glob("*.csv"):
        object_store.put(f"study/{path.name}", path.read_bytes())
    object_store.use(monkeypatch)
    common = "--stream --method pooled"
    run(f"fit {folder}/items.csv '{folder}/votes*.csv' {common} -o {folder}/disk.npz")
    run(f"fit s3://study/items.csv 's3://study/votes*.csv' {common} -o {folder}/store.npz")
    assert np.array_equal(load(folder / "disk.npz").coef_, load(folder / "store.npz").coef_)
    missing = run("fit s3://study/items.csv s3://nowhere/votes.csv --stream", code=2)
    assert "there is no bucket 'nowhere'" in missing.stderr


@pytest.mark.parametrize("options", ["--engine dask://host:1", "--scratch here"])
def test_a_cluster_without_stream_is_told_instead_of_left_out(options, folder):
    done = run(f"fit {folder}/items.csv {folder}/votes0.csv {options}", code=2)
    option = options.split()[0]
    assert f"{option} is for data that are read in parts; add --stream" in done.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--engine here", "--engine is 'here'; give an address such as dask://host:8786"),
        ("--engine dask://host:1 --processes 2", "--processes asks for threads of this machine"),
        ("--scratch nowhere", "every worker can reach (--scratch)"),
    ],
)
def test_clusters_and_folders_that_are_not_there_are_told(options, sentence, folder):
    done = run(f"fit {folder}/items.csv {folder}/votes0.csv --stream {options}", code=2)
    assert sentence in done.output


def test_addresses_keep_their_slashes():
    from pathlib import Path

    assert address(Path("s3://bucket/votes")) == "s3://bucket/votes"
    assert address(Path("votes/a.csv")) == "votes/a.csv"


# -- one rule in memory and in a stream ------------------------------------------------------------


def small_study(items=None, votes=None):
    """Rows of a study of twenty items, with some of them replaced by place."""
    rows = [["id", "x", "y"], *([f"é{n}", str(n * n % 7), str(n * 0.3)] for n in range(20))]
    answers = [["left", "right", "winner", "count"]]
    answers += [[f"é{n % 20}", f"é{(n * 7 + 1) % 20}", "left", "1"] for n in range(0, 120, 2)]
    for table, changes in ((rows, items or {}), (answers, votes or {})):
        for (row, column), cell in changes.items():
            table[row][column] = cell
    return ["\n".join(map(",".join, table)) + "\n" for table in (rows, answers)]


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("stream", ["", " --stream"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"votes": {(3, 3): "1.5"}}, "not a whole number"),
        ({"votes": {(row, 3): "1.5" for row in range(1, 61)}}, "not a whole number"),
        ({"items": {(3, 0): "e\u03010"}}, "an id already seen"),
        ({"items": {(3, 0): " é0 "}}, "an id already seen"),
        ({"items": {(5, 1): "five"}}, "not a number"),
        ({"items": {(5, 2): "1.0\0"}}, "NUL bytes|not a number"),
        ({"items": {(5, 2): "1.2.3"}}, "not a number"),
    ],
)
def test_a_stream_refuses_what_memory_refuses(changes, said, stream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in zip(("items.csv", "votes.csv"), small_study(**changes), strict=True):
        Path(name).write_text(text, encoding="utf-8")
    result = run(f"fit items.csv votes.csv{stream} -o m.npz", code=2)
    assert re.search(said, result.stderr)
    assert not Path("m.npz").exists()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("stream", ["", " --stream"])
def test_ids_in_two_forms_of_one_text_are_one_item(stream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = {"items": {(1, 0): "e\u03010", (2, 0): " é1"}}
    for name, text in zip(("items.csv", "votes.csv"), small_study(**changes), strict=True):
        Path(name).write_text(text, encoding="utf-8")
    said = run(f"fit items.csv votes.csv{stream} -o m.npz").stdout
    assert re.search(r"items compared +20\n", said)


def test_losers_are_read_in_parts_as_in_memory(folder, tmp_path):
    """It proposed --winner, by which the ranking was inverted."""
    text = (folder / "votes0.csv").read_text().replace('"', "")
    rows = [line.split(",") for line in text.splitlines()]
    winner = rows[0].index("winner")
    other = {"left": "right", "right": "left"}
    for row in rows[1:]:
        row[winner] = other.get(row[winner], row[winner])
    rows[0][winner] = "worse"
    (tmp_path / "losers.csv").write_text("\n".join(map(",".join, rows)))
    run(f"fit {folder}/items.csv {folder}/votes0.csv --stream -o won.npz")
    run(f"fit {folder}/items.csv losers.csv --loser worse --stream -o lost.npz")
    np.testing.assert_allclose(load("lost.npz").coef_, load("won.npz").coef_)
    several = f"fit {folder}/items.csv losers.csv --winner worse,weight --stream"
    assert (
        "fit everything at once with pairscore fit without --stream" in run(several, code=2).stderr
    )


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("stream", ["", " --stream"])
def test_a_loser_that_won_is_asked_for(stream, tmp_path):
    items, votes = small_study()
    lines = [line.split(",") for line in votes.splitlines()]
    told = [["loser"], *([row[0] if row[0] == "é4" else row[1]] for row in lines[1:])]
    rows = [",".join(row + more) for row, more in zip(lines, told, strict=True)]
    (tmp_path / "items.csv").write_text(items, encoding="utf-8")
    (tmp_path / "votes.csv").write_text("\n".join(rows), encoding="utf-8")
    said = run(f"fit items.csv votes.csv{stream} -o m.npz", code=2).stderr
    assert "'winner' and 'loser' name the same item in 6 of 60 comparisons" in said
    assert "say who won with --winner winner, or say who lost with --loser loser" in said
    run(f"fit items.csv votes.csv --winner winner{stream} -o m.npz")


AMBIGUOUS = {(n, 1): f'"1,{n + 100}"' for n in range(1, 21)} | {(n, 2): "1" for n in range(1, 21)}


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize(
    ("changes", "said", "option"),
    [
        ({"votes": {(row, 2): "AB"[row % 2] for row in range(1, 61)}}, "may be", "codes"),
        (
            {"votes": {(row, 2): ("Ann", "Bob")[row % 2] for row in range(1, 61)}},
            "neither side",
            "codes",
        ),
        ({"items": AMBIGUOUS}, "may be", "decimal"),
        ({"items": {(5, 1): "five"}}, "not a number", "na"),
    ],
)
def test_no_remedy_of_a_stream_is_refused_with_it(changes, said, option, tmp_path):
    """It advised --winner-codes and --decimal, which --stream refuses."""
    for name, text in zip(("items.csv", "votes.csv"), small_study(**changes), strict=True):
        Path(name).write_text(text, encoding="utf-8")
    assert option in run("fit items.csv votes.csv -o m.npz", code=2).stderr
    shown = run("fit items.csv votes.csv --stream -o m.npz", code=2).stderr
    assert said in shown
    assert "fit everything at once with pairscore fit without --stream" in shown
    assert not re.search("--na|--decimal|--winner-codes|study file", shown)
