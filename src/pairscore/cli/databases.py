"""Tables from a database: rows of queries in place of files."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pairscore.cli.help import section
from pairscore.cli.options import option
from pairscore.errors import PairscoreError
from pairscore.passwords import without_password

# of the environment: the address of a database, and its password
DB_VARIABLE = "PAIRSCORE_DB"
PASSWORD_VARIABLE = "PAIRSCORE_DB_PASSWORD"
DB_OPTIONS = section(
    "From a database",
    option(
        "--db",
        metavar="URL",
        help=f"Such as sqlite:///study.db; a password is that in {PASSWORD_VARIABLE}."
        f"  [default: that in {DB_VARIABLE}]",
    ),
    option("--items", "items_query", metavar="SELECT", help="Query that gives the items."),
    option(
        "--comparisons",
        "comparisons_query",
        metavar="SELECT",
        help="Query that gives the comparisons.",
    ),
)


def address(path: Path) -> str:
    """A file or an address as it was written: a path has one slash where an address has two."""
    return re.sub(r"^([a-z][a-z0-9+]*):/(?=[^/])", r"\1://", str(path))


@contextmanager
def tables_of(
    items: Path | None,
    comparisons: tuple[Path, ...],
    given: dict[str, Any],
    comparisons_alone: bool = False,
) -> Iterator[list[Any]]:
    """The items, if there are any, then the comparisons: files, or rows of queries.

    A table that is a query takes the place of its file.
    """
    refuse_password(given.get("db"))
    files = [*([] if items is None else [items]), *comparisons]
    asked = {name: given.get(f"{name}_query") for name in ("items", "comparisons")}
    queries = {name: query for name, query in asked.items() if query}
    if not queries:
        if given.get("db"):
            raise PairscoreError(
                "--db names a database, and no query; add --comparisons 'SELECT ...', and --items"
                " 'SELECT ...' if items have features."
            )
        if not files:
            raise click.UsageError(
                "Missing files: give ITEMS and COMPARISONS, or COMPARISONS alone."
                if comparisons_alone
                else "Missing files: give ITEMS and COMPARISONS."
            )
        yield files
        return
    if "comparisons" in queries and len(files) > ("items" not in queries):
        raise PairscoreError(
            f"--comparisons is a query, and {str(files[-1])!r} would be more comparisons; leave one"
            " of the two out."
        )
    if "comparisons" not in queries and not files:
        raise click.UsageError("Missing option '--comparisons'.")
    from pairscore.files.queries import query_tables

    with query_tables(database_url(given.get("db")), queries) as tables:
        first, last = ([tables[name]] if name in tables else [] for name in asked)
        yield [*first, *files, *last]


def database_url(given: str | None) -> str:
    """The address of the database, with its password, which is in the environment alone."""
    known = os.environ.get(DB_VARIABLE)
    if known and given in (None, without_password(known)):
        return _with_password(known)
    if not given:
        raise PairscoreError(
            f"there is no database for the query; name it with --db, or in {DB_VARIABLE}."
        )
    return _with_password(given)


def refuse_password(given: str | None) -> None:
    """Everyone on a machine can read the words of a command, and only its user the environment."""
    if given is not None and without_password(given) != given:
        raise PairscoreError(
            "--db has a password in it, and every user of this machine can see the words of a"
            f" command; leave it out, and put it into the environment as {PASSWORD_VARIABLE}, or"
            " into the file in which PostgreSQL looks for passwords (~/.pgpass)."
        )


def _with_password(address: str) -> str:
    """The address with the password of the environment, where it is of a server and has none."""
    from urllib.parse import quote

    password = quote(os.environ.get(PASSWORD_VARIABLE, ""), safe="")
    is_server = re.match(r"postgres(ql)?(\+\w+)?://", address)
    if not password or not is_server or without_password(address) != address:
        return address
    if user := re.match(r"\w[\w+]*://[^/?@]+(?=@)", address):
        return f"{user[0]}:{password}{address[user.end() :]}"
    return f"{address}{'&' if '?' in address else '?'}password={password}"


def parts_of(tables: tuple[Any, ...], reading: Any = None, anywhere: bool = False) -> list[Any]:
    """Files by name or address; parts of files where some are rows of queries, or where the user
    says how files are written (``reading``, a ``TextReading``). Are they read ``anywhere``?
    """
    from pairscore.files.partitions import AS_IT_IS, partitions

    reading = reading or AS_IT_IS
    names = [address(table) if isinstance(table, Path) else table for table in tables]
    if reading == AS_IT_IS and all(isinstance(table, str) for table in names):
        return names
    parts = [
        partitions(one, anywhere=anywhere, reading=reading)
        if isinstance(one, str)
        else one.partitions()
        for one in names
    ]
    return [part for some in parts for part in some]
