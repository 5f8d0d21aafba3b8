"""Tables from a database: a query runs where the data are, and its rows come as a file.

The database is opened for reading only, and all queries see it as it was at one time. Rows go, in
bounded memory, into a temporary Parquet file with the types that the database gives: text stays
text (``007``), NULL is not the empty text, truth values are 0 and 1. From there on a query is a
table like any other, with the same checks; messages call it by what it is ("the items query").
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairscore.data.tables import Columns
from pairscore.display import did_you_mean
from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.files.partitions import FilePartition, partitions
from pairscore.files.source import refuse_bad_names, refuse_twins
from pairscore.files.sql import SEALED, open_database, sql_name, sql_text
from pairscore.passwords import without_password

URLS = {  # by kind of database, what its address looks like
    "sqlite": "sqlite:///study.db",
    "postgresql": "postgresql://user@host:5432/database",
    "duckdb": "duckdb:///study.duckdb",
}
KIND = re.compile(r"([A-Za-z0-9]+)(?:\+[A-Za-z0-9]+)?://")  # postgresql+psycopg:// is known too
FIRST_WORDS = ("select", "with", "values", "table", "from")  # of a query that gives rows
# what in a query is no statement: comments, and texts and names in quotes
QUOTED = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1", re.DOTALL
)
MEMORY = "400MB"  # that DuckDB may take while it writes the file
BLOCK_ROWS = 10_000  # of SQLite at a time
PASSWORD_GIVEN = r"""password\s*=\s*(?:'([^']*)|"([^"]*)|([^&\s'"]+))"""  # in an address
WAIT = 10  # seconds for a server that does not answer
NULL = r"\N"  # without quotes, which every text has
LONGEST_LINE = 1 << 24  # characters, beyond which a row is refused
REASON_LENGTH = 300
READABLE = "check that it is such a database, that you may read it, and that nobody is writing now"
WHOLE = "0|-?[1-9][0-9]*"
# PostgreSQL's types by number; all others come as text
OF_NUMBER = {
    16: "BOOLEAN",
    **dict.fromkeys((20, 21, 23, 26), "BIGINT"),
    **dict.fromkeys((700, 701), "DOUBLE"),
    **dict.fromkeys((1005, 1007, 1016, 1021, 1022, 1231), "DOUBLE[]"),
    1042: "PADDED",
    1700: "NUMERIC",
}
# a cell of the rows as a value of a type, in SQL
AS_KIND = {
    "VARCHAR": "{}",
    "PADDED": "rtrim({}, ' ')",  # char(n): blanks at its end mean nothing
    "BOOLEAN": "CAST(CAST({} AS BOOLEAN) AS BIGINT)",
    "BIGINT": "CAST({} AS BIGINT)",
    "DOUBLE": "CAST({} AS DOUBLE)",
    "DOUBLE[]": "CAST(translate({}, '{{}}', '[]') AS DOUBLE[])",
}
Run = Callable[[str, "QueryTable"], None]  # writes the rows of a query to the file of its table


class Words(str):
    """What messages call a table that has no name; they do not put it in quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class QueryTable(os.PathLike[str]):
    """The rows of a query in a file, wherever a file is taken; ``shown`` is what messages say."""

    path: Path
    shown: Words

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.shown

    def partitions(self) -> list[Any]:
        """The rows in parts, as :func:`pairscore.fit_stream` takes them."""
        return [
            replace(part, name=self.shown, path=part.name) if type(part) is FilePartition else part
            for part in partitions(self.path)
        ]

    def read(self) -> Columns:
        """All rows, in memory."""
        with open_database() as database:
            file = f"read_parquet({sql_text(self.path)}, hive_partitioning=false)"
            return Columns(database.execute(f"SELECT * FROM {file}").fetchnumpy(), from_file=True)


def read_sql(url: str, query: str) -> Columns:
    """The rows of a query as a table that :meth:`RankRegression.fit` and the like take.

    Parameters
    ----------
    url : str
        ``sqlite:///study.db`` (four slashes before an absolute path), ``duckdb:///study.duckdb`` or
        ``postgresql://user:password@host:5432/database``, which needs
        ``pip install 'psycopg[binary]'``. Nothing is written to the database, and no message
        has the password.
    query : str
        One SELECT.

    Returns
    -------
    Columns
        ``table["mass"]`` is one column as an array, ``dict(table)`` all of them. Numbers that are
        NULL are NaN, other entries None.

    Examples
    --------
    >>> import sqlite3, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "study.db")
    >>> database = sqlite3.connect(path)
    >>> _ = database.executescript("CREATE TABLE things (id, mass REAL); "
    ...     "INSERT INTO things VALUES ('a', 1.5), ('b', NULL)")
    >>> database.close()
    >>> read_sql(f"sqlite:///{path}", "SELECT id, mass FROM things")["mass"].tolist()
    [1.5, nan]
    >>> folder.cleanup()
    """
    with query_tables(url, {"": query}) as tables:
        return tables[""].read()


@contextmanager
def query_tables(url: str, queries: Mapping[str, str]) -> Iterator[dict[str, QueryTable]]:
    """The rows of queries as files that are gone after the block, by name.

    ``queries`` has them by what they are, ``items`` or ``comparisons``. All see one state of the
    database.
    """
    shown = {name: Words(f"the {name} query" if name else "the query") for name in queries}
    single = {name: _one_select(query, shown[name]) for name, query in queries.items()}
    with scratch_folder() as folder:
        tables = {
            name: QueryTable(folder / f"{place}.parquet", shown[name])
            for place, name in enumerate(queries)
        }
        with _opened(url) as run:
            for name, query in single.items():
                with _in_a_sentence(shown[name], url):
                    run(query, tables[name])
        yield tables


def _opened(url: str) -> Any:
    """The database at an address, as a context that yields what runs its queries."""
    found = KIND.match(url)
    kind, end = (found[1].lower(), found.end()) if found else ("", 0)
    of_files = {"sqlite": _sqlite, "duckdb": _duckdb}
    if kind in of_files:
        return of_files[kind](_file_of(url, end))
    if kind in ("postgresql", "postgres"):
        return _postgresql(f"postgresql://{url[end:]}")
    like = ", ".join(URLS.values())
    raise PairscoreError(
        f"{without_password(url)!r} is not the address of a database; write it like one of"
        f" {like}.{did_you_mean(kind, URLS) if kind else ''}"
    )


def _one_select(query: str, shown: str) -> str:
    """The query without what may stand behind it, if it is one that gives rows."""
    # comments are nothing, quoted text is something, whatever is in it
    bare = QUOTED.sub(lambda of: (" " if of[0][:2] in ("--", "/*") else "'") * len(of[0]), query)
    statements = [text for text in bare.split(";") if text.strip()]
    word = (re.findall(r"\w+", bare) or [""])[0]
    if len(statements) > 1 or word.lower() not in FIRST_WORDS:
        what = f"has {len(statements)} statements" if len(statements) > 1 else "is not a SELECT"
        raise PairscoreError(
            f"{shown} {what}; give one, such as 'SELECT id, mass FROM items', which only reads."
        )
    return query[: len(bare.rstrip("; \t\r\n"))]


@contextmanager
def _in_a_sentence(shown: str, url: str) -> Iterator[None]:
    """What a database says about a query, without the password."""
    try:
        yield
    except PairscoreError:
        raise
    except Exception as error:
        if not _is_of_a_driver(error):
            raise
        if type(error).__name__ == "PermissionException":  # of DuckDB
            raise PairscoreError(
                f"{shown} or a view in it reads something outside of the database"
                f" ({_reason(error, url)}); copy that into a table of the database first."
            ) from None
        raise PairscoreError(
            f"{shown} cannot be run ({_reason(error, url)}); check the names of its tables and"
            " columns, and that it only reads."
        ) from None


def _is_of_a_driver(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg", "duckdb", "_duckdb")


def _reason(error: Exception, url: str) -> str:
    """The first thing that a driver says; nothing where that has the password in it."""
    diagnosis = getattr(error, "diag", None)
    said = (diagnosis and diagnosis.message_primary) or next(iter(_lines(error)), "no reason given")
    if diagnosis and diagnosis.message_hint:
        said += f": {diagnosis.message_hint}"
    said = re.sub(r"(: |with name )([\w.]+)(?=$| does not exist)", r"\1'\2'", said)  # a name
    if any(secret in said for secret in _secrets(url)):
        return "the reason has the password in it, and is not shown"
    return " ".join(said.split()).rstrip(".")[:REASON_LENGTH]


def _lines(error: Exception) -> list[str]:
    return [line.strip() for line in str(error).splitlines() if line.strip()]


def _secrets(url: str) -> list[str]:
    """The password of an address, as it is written and as it is meant."""
    from urllib.parse import unquote

    return [text for one in _written(url) for text in {one, unquote(one)} if text]


def _written(url: str) -> list[str]:
    found = re.findall(r"://[^:@]*:(.*)@", url, re.DOTALL)
    given = re.findall(PASSWORD_GIVEN, url, re.IGNORECASE)
    return found + [one for texts in given for one in texts if one]


# -- files -----------------------------------------------------------------------------------------


def _file_of(url: str, start: int) -> Path:
    """The file of an address: three slashes and a relative path, or four and an absolute one."""
    path = Path(url[start + 1 :])
    if not url[start:].startswith("/") or not path.is_file():
        kind = url.partition(":")[0]
        raise PairscoreError(
            f"there is no database at {without_password(url)!r}; write {kind}:///study.db for a"
            f" file in this folder, or {kind}:////data/study.db with its whole path."
        )
    return path


@contextmanager
def _sqlite(path: Path) -> Iterator[Run]:
    import sqlite3

    address = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise _not_opened(str(path), str(error), READABLE) from None
        yield lambda query, table: _write_sqlite(connection.execute(query), table)


def _not_opened(shown: str, reason: str, remedy: str) -> PairscoreError:
    return PairscoreError(f"the database {shown!r} cannot be opened ({reason}); {remedy}.")


def _write_sqlite(cursor: Any, table: QueryTable) -> None:
    """Rows of SQLite, in which every cell has a type; a column has that of all its cells."""
    names = [column[0] for column in cursor.description]
    types: list[set[type]] = [set() for _ in names]
    rows = table.path.with_suffix(".csv")
    with rows.open("w", encoding="utf-8", newline="") as lines:
        while block := cursor.fetchmany(BLOCK_ROWS):
            for seen, column in zip(types, zip(*block, strict=True), strict=True):
                seen.update(map(type, column))
            lines.writelines(",".join(map(_cell, row)) + "\n" for row in block)
    _write_parquet(rows, [*zip(names, map(_kind_of, types), strict=True)], table)


def _cell(value: Any) -> str:
    """A value, exactly: of numbers the shortest text that means them."""
    if value is None:
        return NULL
    if isinstance(value, int | float):
        return repr(value)
    text = f"\\x{value.hex()}" if isinstance(value, bytes) else value
    return '"' + text.replace('"', '""') + '"'


def _kind_of(types: set[type]) -> str:
    seen = types - {type(None)}
    if seen == {int}:
        return "BIGINT"
    return "DOUBLE" if seen <= {int, float} else "VARCHAR"


@contextmanager
def _sealed_duckdb(path: Path) -> Iterator[tuple[Any, Path]]:
    """A database that reaches no file but itself, no network and no extension, with a folder that
    its rows may go to. What its views or a query say otherwise is refused.
    """
    import duckdb

    with scratch_folder() as folder:
        try:
            connection = duckdb.connect(
                str(path), read_only=True, config=SEALED | {"temp_directory": str(folder)}
            )
        except duckdb.Error as error:
            raise _not_opened(str(path), _lines(error)[0], READABLE) from None
        with closing(connection):
            connection.execute("SET enable_progress_bar = false")
            connection.execute(f"SET allowed_directories = [{sql_text(folder)}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection, folder


@contextmanager
def _duckdb(path: Path) -> Iterator[Run]:
    def run(query: str, table: QueryTable) -> None:
        columns = connection.execute(f"DESCRIBE {query}").fetchall()
        _refuse_names([name for name, *_ in columns], table.shown)
        kinds = {"BOOLEAN": "BIGINT", "HUGEINT": "DOUBLE"}
        kinds |= {kind: "DOUBLE" for _, kind, *_ in columns if kind.startswith("DECIMAL")}
        chosen = ", ".join(
            f"CAST({sql_name(name)} AS {kinds[kind]}) AS {sql_name(name)}"
            if kind in kinds
            else sql_name(name)
            for name, kind, *_ in columns
        )
        copied = f"SELECT {chosen} FROM ({query}\n)"
        rows = folder / "rows"
        connection.execute(f"COPY ({copied}) TO {sql_text(rows)} (FORMAT parquet)")
        os.replace(rows, table.path)

    with _sealed_duckdb(path) as (connection, folder):
        connection.execute("BEGIN")
        yield run


# -- PostgreSQL ------------------------------------------------------------------------------------


@contextmanager
def _postgresql(url: str) -> Iterator[Run]:
    try:
        import psycopg
    except ImportError:
        raise PairscoreError(
            "reading from PostgreSQL needs psycopg; install it with: pip install 'psycopg[binary]'."
        ) from None
    try:
        asked: dict[str, Any] = dict(psycopg.conninfo.conninfo_to_dict(url))
        is_clear = not any(re.search("[@/]", text) for text in _written(url))
    except psycopg.Error:  # which shows the part of the address that it does not understand
        is_clear = False
    if not is_clear:
        raise PairscoreError(
            f"{without_password(url)!r} is not an address that PostgreSQL understands; write it"
            f" like {URLS['postgresql']}, and signs such as @, / and % of a password as %40, %2F"
            " and %25."
        )
    asked = {"connect_timeout": os.environ.get("PGCONNECT_TIMEOUT", WAIT), **asked}
    try:
        connection = psycopg.connect(**asked | {"client_encoding": "UTF8"})
    except psycopg.Error as error:
        shown, reason = without_password(url), _reason(error, url)
        raise _not_opened(
            shown,
            reason.removeprefix("connection failed: "),
            "check the address, the user and the password, and that the server runs",
        ) from None
    with closing(connection):
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for setting in ("datestyle = 'ISO'", "extra_float_digits = 3", "bytea_output = 'hex'"):
            connection.execute(f"SET {setting}")
        yield lambda query, table: _write_postgresql(connection, query, table)


def _write_postgresql(connection: Any, query: str, table: QueryTable) -> None:
    """Rows of PostgreSQL, copied as they come; prepared, so that it is one statement."""
    first = connection.execute(f"SELECT * FROM ({query}\n) AS rows LIMIT 0", prepare=True)
    columns = [(one.name, OF_NUMBER.get(one.type_code, "VARCHAR")) for one in first.description]
    copied = f"COPY ({query}\n) TO STDOUT (FORMAT csv, FORCE_QUOTE *, NULL E'\\\\N')"
    rows = table.path.with_suffix(".csv")
    with rows.open("wb") as lines, connection.cursor() as cursor, cursor.copy(copied) as blocks:
        lines.writelines(blocks)
    _write_parquet(rows, columns, table)


# -- types -----------------------------------------------------------------------------------------


def _write_parquet(rows: Path, columns: list[tuple[str, str]], table: QueryTable) -> None:
    """Make a Parquet file of rows in text, by the names and kinds of their columns."""
    _refuse_names([name for name, _ in columns], table.shown)
    cells = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(columns)))
    text = (
        f"read_csv({sql_text(rows)}, columns={{{cells}}}, auto_detect=false, header=false,"
        f" delim=',', quote='\"', escape='\"', new_line='\\n', nullstr={sql_text(NULL)},"
        f" allow_quoted_nulls=false, parallel=false, max_line_size={LONGEST_LINE},"
        f" buffer_size={2 * LONGEST_LINE})"
    )
    import duckdb

    try:
        with open_database(MEMORY) as database:
            database.execute("SET threads = 1")  # several keep rows in memory for each other
            chosen = ", ".join(
                f"{_in_kind(database, text, f'c{place}', kind)} AS {sql_name(name)}"
                for place, (name, kind) in enumerate(columns)
            )
            copied = f"SELECT {chosen} FROM {text}"
            database.execute(f"COPY ({copied}) TO {sql_text(table.path)} (FORMAT parquet)")
    except duckdb.Error as error:
        raise PairscoreError(
            f"{table.shown} gives rows that cannot be kept ({_lines(error)[0]}); leave out columns"
            " that are not names, numbers or short texts."
        ) from None
    rows.unlink()


def _in_kind(database: Any, text: str, cell: str, kind: str) -> str:
    if kind == "NUMERIC":
        # whole numbers of any length may be ids, of which no digit may be lost
        whole = f"bool_and(regexp_full_match({cell}, {sql_text(WHOLE)})), max(length({cell}))"
        is_whole, length = database.execute(f"SELECT {whole} FROM {text}").fetchone()
        kind = "DOUBLE" if not is_whole else "BIGINT" if length <= 18 else "VARCHAR"
    return AS_KIND[kind].format(cell)


def _refuse_names(names: list[str], shown: str) -> None:
    refuse_bad_names(names, shown)
    folded = [name.casefold() for name in names]
    refuse_twins([n for place, n in enumerate(names) if n.casefold() in folded[:place]], shown)
