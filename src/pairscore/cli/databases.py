"""Tables from a database: rows of queries in place of files."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pairscore.choices import DB_VARIABLE
from pairscore.cli.help import section
from pairscore.cli.options import option
from pairscore.errors import PairscoreError
from pairscore.passwords import without_password

DB_OPTIONS = section(
    "From a database",
    option(
        "--db",
        metavar="URL",
        help="Database to read from, such as sqlite:///study.db or postgresql://user@host/name."
        f" A password may be in it, and is kept nowhere.  [default: that in {DB_VARIABLE}]",
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
    files = [*([] if items is None else [items]), *comparisons]
    asked = {name: given[f"{name}_query"] for name in ("items", "comparisons")}
    queries = {name: query for name, query in asked.items() if query}
    if not queries:
        if given["db"]:
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

    with query_tables(database_url(given["db"]), queries) as tables:
        first, last = ([tables[name]] if name in tables else [] for name in asked)
        yield [*first, *files, *last]


def database_url(given: str | None) -> str:
    """The address of the database; with the password, which may be in the environment alone."""
    known = os.environ.get(DB_VARIABLE)
    if known and given in (None, without_password(known)):
        return known
    if not given:
        raise PairscoreError(
            f"there is no database for the query; name it with --db, or in {DB_VARIABLE}."
        )
    return given


def parts_of(tables: tuple[Any, ...]) -> list[Any]:
    """Files by name or address; parts of files where some are rows of queries."""
    from pairscore.files.partitions import partitions

    names = [address(table) if isinstance(table, Path) else table for table in tables]
    if all(isinstance(table, str) for table in names):
        return names
    parts = [partitions(one) if isinstance(one, str) else one.partitions() for one in names]
    return [part for some in parts for part in some]
