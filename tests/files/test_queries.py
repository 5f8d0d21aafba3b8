"""Tables from databases: every value survives, nothing is written, faults are one sentence."""

import hashlib
import sqlite3
import sys
import tempfile

import duckdb
import numpy as np
import pytest

from pairscore import PairscoreError, RankRegression, fit_stream, read_sql
from pairscore.files import queries
from pairscore.files.queries import query_tables
from tests.postgres import PASSWORD, url

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
# texts in which a file between the database and the fit could lose something
TEXTS = ["007", "", None, 'a "quoted" one', "two\nlines", "two\r\nlines", "a,b;c", r"\N", "Ünal "]
TEXTS += ["NULL", "NA", "1,5", "'", "true", "x" * 100_000]
NUMBERS = [0.1, 1 / 3, 0.0, 5e-324, 1.7976931348623157e308, None, 2.0**53 + 2, 1e16, -7.25]
NUMBERS += [float(number) for number in range(len(TEXTS) - len(NUMBERS))]
WHOLE = [2**63 - 1, -(2**63), 2**53 + 1, *range(len(TEXTS) - 3)]


@pytest.fixture
def sqlite(tmp_path):
    """A database of three columns that are hard to copy, and its address."""
    path = tmp_path / "study.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE hard (place INTEGER, text TEXT, number REAL, whole INTEGER)")
        rows = zip(range(len(TEXTS)), TEXTS, NUMBERS, WHOLE, strict=True)
        database.executemany("INSERT INTO hard VALUES (?, ?, ?, ?)", rows)
    database.close()
    return f"sqlite:///{path}"


@pytest.fixture
def hard_postgres(postgres):
    import psycopg

    with psycopg.connect(url(postgres)) as connection:
        connection.execute(
            "CREATE TEMP TABLE gone AS SELECT 1; DROP TABLE IF EXISTS hard; CREATE TABLE hard"
            " (place int, text text, number double precision, whole bigint)"
        )
        with connection.cursor() as cursor:
            rows = zip(range(len(TEXTS)), TEXTS, NUMBERS, WHOLE, strict=True)
            cursor.executemany("INSERT INTO hard VALUES (%s, %s, %s, %s)", list(rows))
    return url(postgres)


def same_numbers(column, numbers):
    wanted = np.array([np.nan if number is None else number for number in numbers])
    return column.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", ["sqlite", "hard_postgres"])
def test_texts_numbers_and_gaps_come_as_they_are(kind, request):
    address = request.getfixturevalue(kind)
    table = read_sql(address, "SELECT * FROM hard ORDER BY place")
    assert table["text"].tolist() == TEXTS
    assert same_numbers(table["number"], NUMBERS)
    assert table["whole"].dtype == np.int64
    assert table["whole"].tolist() == WHOLE


def test_types_of_postgresql_mean_what_they_mean_there(postgres):
    query = """SELECT * FROM (VALUES
        ('ab'::char(5), 12345678901234567890::numeric, 1::numeric, 1.50::numeric(8, 2), true,
         '2024-02-03'::date, '{1,2.5}'::float8[], '\\x01ff'::bytea),
        ('c', 12345678901234567891, 2, NULL, NULL, NULL, '{3,4}', NULL))
        AS made (padded, long, short, price, agreed, day, embedding, raw)"""
    table = read_sql(url(postgres), query)
    assert table["padded"].tolist() == ["ab", "c"]
    assert table["long"].tolist() == ["12345678901234567890", "12345678901234567891"]
    assert table["short"].tolist() == [1, 2]
    assert same_numbers(table["price"], [1.5, None])
    assert same_numbers(table["agreed"], [1.0, None])
    assert table["day"].tolist() == ["2024-02-03", None]
    assert [list(values) for values in table["embedding"]] == [[1, 2.5], [3, 4]]
    assert table["raw"].tolist() == ["\\x01ff", None]


def test_cells_of_sqlite_have_types_of_their_own(tmp_path):
    with sqlite3.connect(tmp_path / "mixed.db") as database:
        database.execute("CREATE TABLE mixed (a, b, c, d)")
        rows = [(1, 1, b"\x01", None), ("x", 2.5, None, None)]
        database.executemany("INSERT INTO mixed VALUES (?, ?, ?, ?)", rows)
    table = read_sql(f"sqlite:///{tmp_path}/mixed.db", "SELECT * FROM mixed")
    assert table["a"].tolist() == ["1", "x"]
    assert table["b"].tolist() == [1.0, 2.5]
    assert table["c"].tolist() == ["\\x01", None]
    assert np.isnan(table["d"].astype(float)).all()


def test_a_file_of_duckdb_is_read_too(tmp_path):
    with duckdb.connect(str(tmp_path / "study.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT 7 AS id, true AS ok, 0.5 AS x, '007' AS name")
    table = read_sql(
        f"duckdb:///{tmp_path}/study.duckdb", "SELECT *, sum(id) AS n FROM t GROUP BY ALL"
    )
    assert {name: table[name].tolist() for name in table.columns} == {
        "id": [7],
        "ok": [1],
        "x": [0.5],
        "name": ["007"],
        "n": [7.0],
    }


# -- a fit -----------------------------------------------------------------------------------------


def study_of(execute, many, seed=0, n=40, m=400):
    """Tables of a small study, with ids such as 007, by functions that run SQL."""
    rng = np.random.default_rng(seed)
    x, left = rng.normal(size=(n, 2)), rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    wins = rng.random(m) < 1 / (1 + np.exp(x[right, 0] - x[left, 0]))
    ids = [f"{number:03d}" for number in range(n)]
    execute("DROP TABLE IF EXISTS things")
    execute("DROP TABLE IF EXISTS games")
    execute("CREATE TABLE things (id text, mass double precision, height double precision)")
    execute("CREATE TABLE games (home text, away text, winner text, weight double precision)")
    things = [(ids[row], *map(float, x[row])) for row in range(n)]
    games = [
        (ids[a], ids[b], "left" if won else "right", float(weight))
        for a, b, won, weight in zip(left, right, wins, rng.random(m) + 0.5, strict=True)
    ]
    many("things", things)
    many("games", games)
    items = dict(
        zip(("id", "mass", "height"), map(np.array, zip(*things, strict=True)), strict=True)
    )
    names = ("left", "right", "winner", "weight")
    votes = dict(zip(names, map(np.array, zip(*games, strict=True)), strict=True))
    return items, votes


def study_in_sqlite(path):
    with sqlite3.connect(path) as database:
        tables = study_of(
            database.execute,
            lambda name, rows: database.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows
            ),
        )
    database.close()
    return tables


def study_in_postgres(address):
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        return study_of(
            cursor.execute,
            lambda name, rows: cursor.executemany(
                f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows
            ),
        )


ITEMS = "SELECT * FROM things ORDER BY id"
GAMES = 'SELECT home AS "left", away AS "right", winner, weight FROM games'


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_fit_of_a_database_is_that_of_its_tables(kind, tmp_path, request):
    if kind == "sqlite":
        address = f"sqlite:///{tmp_path}/study.db"
        items, votes = study_in_sqlite(tmp_path / "study.db")
    else:
        address = url(request.getfixturevalue("postgres"))
        items, votes = study_in_postgres(address)
    wanted = RankRegression().fit(items, votes)
    model = RankRegression().fit(read_sql(address, ITEMS), read_sql(address, GAMES))
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    with query_tables(address, {"items": ITEMS, "comparisons": GAMES}) as tables:
        parts = {name: table.partitions() for name, table in tables.items()}
        streamed = fit_stream(parts["items"], parts["comparisons"])
    np.testing.assert_allclose(streamed.coef_, wanted.coef_, rtol=1e-8)


def test_rows_of_a_query_that_are_wrong_are_said_to_be_its_own(tmp_path):
    study_in_sqlite(tmp_path / "study.db")
    wrong = "SELECT '999' AS winner, away AS loser FROM games"
    address = f"sqlite:///{tmp_path}/study.db"
    with query_tables(address, {"items": ITEMS, "comparisons": wrong}) as tables:
        parts = {name: table.partitions() for name, table in tables.items()}
        with pytest.raises(
            PairscoreError, match=r"^the comparisons query, row 1: 'winner' is '999'"
        ):
            fit_stream(parts["items"], parts["comparisons"])


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM hard",
        "SELECT 1; DELETE FROM hard",
        "SELECT 1) AS q; DELETE FROM hard; --",
        "WITH gone AS (DELETE FROM hard RETURNING place) SELECT * FROM gone",
        "WITH one AS (SELECT 1) DELETE FROM hard",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "CREATE TABLE more AS SELECT 1",
        "",
        "-- SELECT 1",
        "SELECT nothing FROM hard",
        "SELECT * FROM nothing",
        "SELECT * FROM hard WHERE",
        "SELECT place, text AS place FROM hard",
        'SELECT place, text AS "PLACE" FROM hard',
    ],
)
@pytest.mark.parametrize("kind", ["sqlite", "hard_postgres"])
def test_what_does_not_read_rows_is_refused_in_a_sentence(kind, query, request):
    address = request.getfixturevalue(kind)
    with pytest.raises(PairscoreError) as caught:
        read_sql(address, query)
    assert str(caught.value).startswith("the query ")
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert len(read_sql(address, "SELECT * FROM hard; -- all of them")) == len(TEXTS)


def test_a_row_that_is_far_too_long_is_refused(sqlite):
    with pytest.raises(PairscoreError, match=r"^the query gives rows that cannot be kept"):
        read_sql(sqlite, "SELECT hex(zeroblob(9000000)) AS picture")


def test_nothing_is_written_to_the_database(sqlite, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before = hashlib.sha256((tmp_path / "study.db").read_bytes()).digest()
    read_sql(sqlite, "SELECT * FROM hard")
    with pytest.raises(PairscoreError):
        read_sql(sqlite, "SELECT * FROM none")
    assert hashlib.sha256((tmp_path / "study.db").read_bytes()).digest() == before
    assert {path.name for path in tmp_path.iterdir()} == {"study.db", "scratch"}
    assert [*scratch.iterdir()] == []


def test_both_queries_see_one_state_of_the_database(postgres, monkeypatch):
    """A row that comes between the two is in neither."""
    import psycopg

    run, count = queries._write_postgresql, "SELECT count(*) AS n FROM growing"
    with psycopg.connect(url(postgres), autocommit=True) as other:
        other.execute("DROP TABLE IF EXISTS growing; CREATE TABLE growing (n int)")

        def run_and_add(*given):
            run(*given)
            other.execute("INSERT INTO growing VALUES (1)")

        monkeypatch.setattr(queries, "_write_postgresql", run_and_add)
        with query_tables(url(postgres), {"items": count, "comparisons": count}) as tables:
            assert [table.read()["n"].tolist() for table in tables.values()] == [[0], [0]]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("study.db", "is not the address of a database"),
        ("mysql://ann:geheim@host/db", "'mysql://ann@host/db' is not the address of a database"),
        ("postgre://host/db", "Did you mean 'postgresql'"),
        ("sqlite:///none.db", "there is no database at 'sqlite:///none.db'"),
        ("sqlite://none.db", "there is no database at"),
        ("duckdb:///none.db", "there is no database at"),
    ],
)
def test_an_address_that_is_none_is_refused(address, sentence):
    with pytest.raises(PairscoreError, match=sentence):
        read_sql(address, "SELECT 1")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database_is_refused(kind, tmp_path):
    (tmp_path / "notes.db").write_text("notes " * 2000)
    with pytest.raises(PairscoreError, match=r"notes.db' cannot be opened \("):
        read_sql(f"{kind}:///{tmp_path}/notes.db", "SELECT 1")


def test_a_missing_driver_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PairscoreError, match=r"pip install 'psycopg\[binary\]'"):
        read_sql("postgresql://ann@host/db", "SELECT 1")


# -- passwords -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"password": "wrong-word"}, "password authentication failed"),
        ({"database": "nowhere"}, "does not exist"),
        ({"host": "nowhere.invalid"}, "nowhere.invalid"),
        ({"password": "wrong-word%zz"}, "as %40, %2F and %25"),
        ({"password": "wrong@wo/rd"}, "as %40, %2F and %25"),
    ],
)
def test_no_message_of_a_server_has_the_password(changes, sentence, postgres):
    with pytest.raises(PairscoreError, match=sentence) as caught:
        read_sql(url(postgres, **changes), "SELECT 1")
    assert "postgresql://ann@" in str(caught.value)
    hidden = ("wrong", "wo/rd", "wo@rd", PASSWORD, "geheim")
    assert not [word for word in hidden if word in str(caught.value)]
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_server_that_is_not_there_is_named(postgres):
    from tests.postgres import free_port

    with pytest.raises(PairscoreError, match=r"'postgresql://ann@127.0.0.1:\d+/postgres' cannot"):
        read_sql(url(free_port()), "SELECT 1")


def test_a_query_that_shows_the_password_does_not_get_it_shown(postgres):
    with pytest.raises(PairscoreError, match="has the password in it, and is not shown"):
        read_sql(url(postgres), f"SELECT CAST('{PASSWORD}' AS int)")


@pytest.mark.parametrize(
    "query",
    [
        "select * from v where winner <> 'x'",
        "select * from v where winner <> 'it''s; x' ; -- all of them;",
        'select * from "v"',
    ],
)
def test_a_query_may_end_in_quotes(query):
    assert queries._one_select(query, "the query") == query.split(" ; --")[0]


# -- databases of strangers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM things",
        "SELECT * FROM both_of_them()",
        "SELECT * FROM read_csv('{folder}/private.csv')",
        "SELECT * FROM read_text('{folder}/private.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('https://pairscore.invalid/a.parquet')",
    ],
)
def test_a_database_of_duckdb_reads_nothing_but_itself(query, tmp_path):
    """A view of a stranger could otherwise bring a local file into the ids of a model."""
    (tmp_path / "private.csv").write_text("id,x\nroot,1\n")
    private = f"read_csv('{tmp_path}/private.csv')"
    with duckdb.connect(str(tmp_path / "study.duckdb")) as database:
        database.execute("CREATE TABLE own AS SELECT 1 AS id")
        database.execute(f"CREATE VIEW things AS SELECT id FROM {private}")
        database.execute(f"CREATE MACRO both_of_them() AS TABLE SELECT * FROM own, {private}")
    before = sorted(tmp_path.iterdir())
    url = f"duckdb:///{tmp_path}/study.duckdb"
    with pytest.raises(PairscoreError, match="reads something outside of the database") as error:
        read_sql(url, query.format(folder=tmp_path))
    assert "\n" not in str(error.value)
    assert read_sql(url, "SELECT id FROM own")["id"].tolist() == [1]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable_external_access", "false"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("lock_configuration", "true"),
    ],
)
def test_settings_of_duckdb_are_closed_and_locked(name, value, tmp_path):
    duckdb.connect(str(tmp_path / "study.duckdb")).close()
    query = f"SELECT CAST(current_setting('{name}') AS VARCHAR) AS value"
    table = read_sql(f"duckdb:///{tmp_path}/study.duckdb", query)
    assert table["value"].tolist() == [value]


def test_sqlite_loads_no_extension(sqlite):
    with pytest.raises(PairscoreError, match="not authorized"):
        read_sql(sqlite, "SELECT load_extension('harm') AS id")
