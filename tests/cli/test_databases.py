"""``fit --db``: as a user runs it, and where a password may not be seen."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pairscore import PairscoreError, load, read_sql
from pairscore.cli import main
from pairscore.cli.databases import DB_VARIABLE, PASSWORD_VARIABLE, database_url
from pairscore.files.partitions import partitions
from pairscore.files.tables import read_table
from tests.cli.running import run, state
from tests.files.test_queries import GAMES, ITEMS, study_in_postgres, study_in_sqlite
from tests.postgres import PASSWORD, USER, WRITTEN, url

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
SECRETS = (PASSWORD, WRITTEN, "geheim")
LIMIT = 120  # seconds, after which a test has failed


@pytest.fixture(autouse=True)
def _no_database(monkeypatch):
    monkeypatch.delenv(DB_VARIABLE, raising=False)
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)


@pytest.fixture
def sqlite(tmp_path):
    items, votes = study_in_sqlite(tmp_path / "study.db")
    for name, table in (("items", items), ("votes", votes)):
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return "sqlite:///study.db"


def both(database, *more):
    return ("--db", database, "--items", ITEMS, "--comparisons", GAMES, *more)


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_a_fit_of_queries_is_that_of_the_same_files(more, sqlite):
    run("fit items.csv votes.csv -o files.npz", *more)
    shown = run("fit", *both(sqlite, "-o", "queries.npz", *more))
    assert "Next: pairscore rank queries.npz NEW_ITEMS.csv." in shown.stdout or more
    assert state("files.npz") == state("queries.npz")


def test_one_of_the_two_tables_may_be_a_file(sqlite):
    run("fit items.csv votes.csv -o files.npz")
    run("fit items.csv -o half.npz", "--db", sqlite, "--comparisons", GAMES)
    assert state("files.npz") == state("half.npz")
    run("fit votes.csv -o half.npz", "--db", sqlite, "--items", ITEMS)
    assert state("files.npz") == state("half.npz")


def test_comparisons_of_a_database_alone_give_abilities(sqlite):
    run("fit votes.csv -o files.npz")
    shown = run("fit -o queries.npz", "--db", sqlite, "--comparisons", GAMES)
    assert "Next: pairscore rank queries.npz." in shown.stdout
    assert state("files.npz") == state("queries.npz")


def test_sums_of_a_site_come_from_queries_too(sqlite):
    run("stats items.csv votes.csv -o files.npz")
    run("stats -o queries.npz", *both(sqlite))
    run("merge files.npz -o one.npz")
    run("merge queries.npz -o two.npz")
    assert np.array_equal(load("one.npz").coef_, load("two.npz").coef_)


def test_the_database_may_be_named_in_the_environment(sqlite, monkeypatch):
    monkeypatch.setenv(DB_VARIABLE, sqlite)
    run("fit -o model.npz", "--comparisons", GAMES)
    run("fit items.csv votes.csv -o files.npz")  # which has no query, and needs no database
    assert 0.5 <= load("model.npz").agreement_ <= 1
    assert load("files.npz").coef_.any()


def test_the_password_of_the_environment_belongs_to_its_address_alone(monkeypatch):
    monkeypatch.setenv(DB_VARIABLE, "postgresql://ann:geheim@host/db")
    assert database_url(None) == database_url("postgresql://ann@host/db")
    assert "geheim" in database_url(None)
    assert database_url("postgresql://ann@other/db") == "postgresql://ann@other/db"


@pytest.mark.parametrize(
    ("address", "whole"),
    [
        ("postgresql://ann@host:5432/db", "postgresql://ann:ge%2Fh%40im%25@host:5432/db"),
        ("postgres://ann@host/db?a=1", "postgres://ann:ge%2Fh%40im%25@host/db?a=1"),
        ("postgresql+psycopg://host", "postgresql+psycopg://host?password=ge%2Fh%40im%25"),
        ("postgresql:///db?user=ann", "postgresql:///db?user=ann&password=ge%2Fh%40im%25"),
        ("postgresql://ann:other@host/db", "postgresql://ann:other@host/db"),
        ("sqlite:///study.db", "sqlite:///study.db"),
        ("duckdb:///study.duckdb", "duckdb:///study.duckdb"),
    ],
)
def test_a_password_of_the_environment_is_that_of_a_server_without_one(address, whole, monkeypatch):
    monkeypatch.setenv(PASSWORD_VARIABLE, "ge/h@im%")
    monkeypatch.setenv(DB_VARIABLE, address)
    assert database_url(None) == whole


@pytest.mark.parametrize("command", ["fit", "stats"])
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:geheim@host/db",
        "postgresql://host/db?user=ann&password=geheim",
        "host=h password=geheim",
        "mysql://ann:geheim@host/db",
    ],
)
def test_a_password_that_was_typed_is_refused_before_anything_is_done(command, address):
    for words in (["--db", address], [f"--db={address}"]):
        said = run(command, *words, code=2).stderr
        assert said.startswith("Error: --db has a password in it")
        assert "PAIRSCORE_DB_PASSWORD" in said
        assert "~/.pgpass" in said
        assert "geheim" not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--comparisons", "SELECT 1"), "there is no database for the query"),
        (("--db", "sqlite:///study.db"), "--db names a database, and no query"),
        (("--db", "sqlite:///study.db", "--items", ITEMS), "Missing option '--comparisons'"),
        (("a.csv", *both("sqlite:///study.db")), "'a.csv' would be more comparisons"),
        (("a.csv", "b.csv", "--comparisons", GAMES), "'b.csv' would be more comparisons"),
        (both("sqlite:///none.db"), "there is no database at 'sqlite:///none.db'"),
        (both("sqlite:///study.db", "-o", "none/model.npz"), "there is no folder 'none'"),
        (
            ("--db", "sqlite:///study.db", "--comparisons", "SELECT x FROM games"),
            "the comparisons query cannot be run (no such column: 'x')",
        ),
        (
            ("--db", "sqlite:///study.db", "--comparisons", "SELECT side_effect FROM votes"),
            "(no such table: 'votes')",  # in the user's words, not in those of the library
        ),
        (
            both("sqlite:///study.db", "--stream", "--checkpoint", "c"),
            "a query may give its rows in another order",
        ),
        (
            ("--db", "sqlite:///study.db", "--comparisons", GAMES, "--items", ITEMS + " LIMIT 9"),
            "the comparisons query has",
        ),
        (
            ("--db", "sqlite:///study.db", "--comparisons", GAMES + " WHERE 1 = 2"),
            "there are no comparisons",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words, sentence, sqlite):
    assert sentence in run("fit", *words, code=2).stderr


def test_a_query_is_named_where_its_rows_are_wrong(sqlite):
    wrong = (
        "SELECT CASE home WHEN '007' THEN '7b' ELSE home END AS winner, away AS loser FROM games"
    )
    shown = run("fit", "--db", sqlite, "--items", ITEMS, "--comparisons", wrong, code=2).stderr
    assert shown.startswith("Error: the comparisons query has ")
    assert "column 'winner': unknown item: '7b'" in shown


# -- passwords -------------------------------------------------------------------------------------


def program(*words, **more):
    """The program as a shell starts it."""
    command = [sys.executable, "-m", "pairscore", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def ended(process, code=0):
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return out + err


@contextmanager
def waiting(postgres, *words, **more):
    """A program whose query waits for a lock that this block has."""
    import psycopg

    with psycopg.connect(url(postgres), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(7)")
        query = f"{GAMES}, (SELECT pg_advisory_lock_shared(7)) AS locked WHERE locked IS NOT NULL"
        process = program("fit", *words, "--items", ITEMS, "--comparisons", query, **more)
        blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while process.poll() is None and not connection.execute(blocked).fetchone()[0]:
            pass
        yield process
        connection.execute("SELECT pg_advisory_unlock(7)")


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc to look at")
@pytest.mark.parametrize("variable", [DB_VARIABLE, PASSWORD_VARIABLE])
def test_a_password_reaches_no_list_of_processes_record_or_page(variable, postgres, tmp_path):
    study_in_postgres(url(postgres))
    words = ("--db", f"postgresql://{USER}@127.0.0.1:{postgres}/postgres")
    output = ("-o", "model.npz", "--report", "page.html")
    names = {variable: PASSWORD if variable == PASSWORD_VARIABLE else url(postgres)}
    with waiting(postgres, *words, *output, cwd=tmp_path, env=os.environ | names) as process:
        seen = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
    printed = ended(process)
    assert f"postgresql://{USER}@127.0.0.1:{postgres}/postgres" in seen
    files = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    with np.load(tmp_path / "model.npz") as file:
        header = file["header"].tobytes()
    command = json.loads(header)["fitted"]["record_"]["command"]
    assert f"postgresql://{USER}@127.0.0.1:{postgres}/postgres" in command
    assert f"{USER}@127.0.0.1:{postgres}" in (tmp_path / "page.html").read_text()
    for secret in SECRETS:
        assert secret not in seen + printed + command
        assert not [one for one in (*files, header) if secret.encode() in one]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("fit", "postgresql://ann:geheim@host/db", "votes.csv"), "ann@host"),
        (("rank", "a", "b", "c", "postgresql://ann:geheim@host/db"), "ann@host"),
        (("fit", "--bd", "postgresql://ann:geheim@host/db"), "--bd"),
    ],
)
def test_no_message_has_the_password_of_the_command(words, sentence):
    printed = ended(program(*words), code=2)
    assert sentence in printed
    assert "geheim" not in printed


def test_a_script_in_python_records_no_password(tmp_path):
    code = (
        "import numpy as np, pairscore\n"
        "x = np.arange(60.0).reshape(30, 2) % 7\n"
        "pairs = {'winner': [0, 1, 2, 3] * 9, 'loser': [5, 7, 8, 9] * 9}\n"
        "print(pairscore.RankRegression(l2=1.0).fit(x, pairs).record_['command'])\n"
    )
    command = [sys.executable, "-c", code, "--db", "postgresql://ann:geheim@host/db"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
    assert "--db postgresql://ann@host/db" in done.stdout


def test_a_fit_that_is_stopped_leaves_nothing_behind(postgres, tmp_path):
    study_in_postgres(url(postgres))
    (tmp_path / "scratch").mkdir()
    names = {DB_VARIABLE: url(postgres), "TMPDIR": str(tmp_path / "scratch")}
    with waiting(postgres, cwd=tmp_path, env=os.environ | names) as process:
        process.send_signal(signal.SIGINT)
        printed = ended(process, code=130)
    assert "no file is half-written" in printed
    assert [*(tmp_path / "scratch").iterdir()] == []
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


# -- no message has a secret -----------------------------------------------------------------------

SECRET = "hidden"
ADDRESSES = [
    "postgresql://ann:{}@pairscore.invalid/db",
    "postgresql://ann:{}@pairscore.invalid:1/db?connect_timeout=1",
    "postgresql://ann:a%20{}@pairscore.invalid/db",
    "postgresql://ann:a/{}@pairscore.invalid/db",
    "postgresql://ann:a@{}@pairscore.invalid/db",
    "postgresql://ann:a b{}@pairscore.invalid/db",
    "postgresql+psycopg://ann:{}@pairscore.invalid/db",
    "postgres://ann:{}@pairscore.invalid/db",
    "postgresql://pairscore.invalid/db?user=ann&password={}",
    "postgresql://pairscore.invalid/db?PASSWORD={}&user=ann",
    "postgresql://pairscore.invalid/db?sslpassword={}",
    "postgresql://pairscore.invalid/db?none={}&password={}",
    "host=pairscore.invalid password={}",
    "host=pairscore.invalid password='a {}' user=ann",
    'host=pairscore.invalid password="a {}" user=ann',
    "host=pairscore.invalid password = {}",
    "mysql://ann:{}@pairscore.invalid/db",
    "sqlite:///none.db?password={}",
    "duckdb:///none.db?token={}",
    "https://ann:{}@pairscore.invalid/a.csv",
    "https://ann:a/{}@pairscore.invalid/a.csv",
    "https://pairscore.invalid/a.csv?token={}",
    "https://pairscore.invalid/a.csv?X-Amz-Signature={}&b=1",
    "https://pairscore.invalid/a.csv?sig={}",
    "ftp://ann:{}@pairscore.invalid/a.csv",
    "s3://key:{}@bucket/a.csv",
    "s3://key:{}/bucket/a.csv",
    "s3://key:a/{}/bucket/a.csv",
    "s3://bucket/a.csv?access_key=a&secret_key={}&none=1",
    "s3://bucket/a.csv?secret_key={}&none=1",
]


@pytest.mark.parametrize("form", ADDRESSES)
def test_no_message_has_the_secret_of_an_address(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = form.replace("none={}", "none=1").format(SECRET)
    commands = [
        ["fit", "--db", address, "--items", "SELECT 1", "--comparisons", "SELECT 1", "-o", "m.npz"],
        ["fit", f"--db={address}", "--items", "SELECT 1"],
        ["fit", address, "votes.csv", "-o", "m.npz"],
        ["fit", "items.csv", address, "-o", "m.npz"],
        ["fit", address, address, "--stream", "-o", "m.npz"],
        ["plan", f"--items-file={address}", "--error", "0.1"],
    ]
    said = [CliRunner().invoke(main, words).output for words in commands]
    for read in (read_table, partitions, lambda url: read_sql(url, "SELECT 1")):
        with pytest.raises(PairscoreError) as error:
            read(address)
        said.append(str(error.value))
    assert all(said)
    assert not [text for text in said if SECRET in text]
