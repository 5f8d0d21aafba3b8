"""New comparisons for a model that is there, and pairs to predict."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from pairscore.data.column_roles import VoteColumns, VoteRoles
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, plain_id
from pairscore.data.tables import Columns
from pairscore.data.votes import items_of_votes
from pairscore.errors import BadEntriesError
from pairscore.files.bad_rows import all_faults, locate_faults
from pairscore.files.choose_sheets import choose_sheets
from pairscore.files.columns_to_read import (
    OpenPairColumns,
    VoteChoice,
    open_table,
    open_tables,
)
from pairscore.files.comparisons import VoteRows, VoteRules
from pairscore.files.find_sides import (
    Rows,
    as_texts,
    find_sides,
    unclear_columns,
    with_sides,
)
from pairscore.files.source import Kept, table_kind
from pairscore.files.study import point_out_rows
from pairscore.files.tables import (
    JoinedTables,
    OpenFiles,
    once,
    warn_of,
)
from pairscore.messages import Piece


def read_new_votes(votes_files: Any, *given: Any, **settings: Any) -> Comparisons:
    """Comparisons from files; see :func:`read_new_parts`."""
    return read_new_parts(votes_files, *given, **settings)[0]


def read_new_parts(
    votes_files: Any,
    items: Items | None,
    context: Collection[str],
    vote_columns: Mapping[str, str | None],
    *,
    kept_columns: Mapping[str, str] | None = None,
    winner_codes: Mapping[Any, str] | None = None,
    self_pairs: str = "error",
    sheet: Sequence[str] = (),
    judges: bool | None = None,
    say: Callable[[Piece], None] = warn_of,
    files: OpenFiles | None = None,
    **reading: Any,
) -> tuple[Comparisons, dict[str, np.ndarray]]:
    """Comparisons from files, of items that are known already or (None) are named in them.

    Also says which rows of them came from which file or sheet. Where no column has the ``judges``,
    files and sheets stand for them: if they are several, always (True), or never (False).
    """
    paths = votes_files if isinstance(votes_files, list | tuple) else [votes_files]
    columns = VoteChoice(VoteColumns.of(vote_columns, context, kept_columns))
    rules, say = VoteRules(self_pairs, 0, context, winner_codes), once(say)
    with ExitStack() as stack:
        opened = files or stack.enter_context(OpenFiles())
        chosen = choose_sheets(None, paths, sheet, say, opened, columns.columns)
        tables: list[Any] = [(file, columns, one) for file, one in chosen.votes]
        reading |= {"say": say, "files": opened}
        stored = JoinedTables(open_tables(stack, tables, reading))
        if columns.roles.layout is None:
            texts = as_texts(stored.read_texts())
            names = [] if items is None else items.names
            ids: dict[str | None, Rows] = {
                "id": {plain_id(name): row for row, name in enumerate(names)}
            }
            found = find_sides(ids, texts, columns.roles, winner_codes)
            if found is None or not found.is_told:
                raise unclear_columns(texts, columns.roles, found, ids)
            columns = with_sides(columns, found, stored.shown, say)
            stored = stored.again(columns.identifiers, columns.choose)
        return _read_new_votes(stored, items, columns.roles, rules, judges, say)


def _read_new_votes(
    stored: JoinedTables,
    items: Items | None,
    roles: VoteRoles,
    rules: VoteRules,
    judges: bool | None,
    say: Callable[[Piece], None],
) -> tuple[Comparisons, dict[str, np.ndarray]]:
    votes = VoteRows.of(roles, stored.read(), None if items is None else items.ids, say)
    votes = votes.with_judges(stored, say, judges)
    items = items_of_votes(votes.table) if items is None else items
    rules = votes.rules(rules, say)
    try:
        data = Comparisons.of(items, rules.read(votes.table, items))
    except BadEntriesError as error:
        faults = all_faults(lambda rows: rules.read(rows, items), votes.table)
        raise votes.located(faults, stored) from error
    point_out_rows(data.votes, data.items, say)
    part = votes.part_of_rows(stored, rules)
    names = [one.source.shown for one in stored.parts]
    return data, {name: np.flatnonzero(part == number) for number, name in enumerate(names)}


def read_pairs(
    pairs_file: Any,
    items: Items,
    context: Collection[str],
    vote_columns: Mapping[str, str | None],
    kept_columns: Mapping[str, str] | None = None,
    sheet: Sequence[str] = (),
    say: Callable[[Piece], None] = warn_of,
    files: OpenFiles | None = None,
    **reading: Any,
) -> Comparisons:
    """Pairs from a file that have no winner, or one that does not count; see ``from_pairs``."""
    columns = VoteChoice(OpenPairColumns.of(vote_columns, context, kept_columns))
    # as if left had won
    rules = VoteRules("refuse", 0, context, {"left": "left"})
    with ExitStack() as stack:
        files = files or stack.enter_context(OpenFiles())
        one_sheet = sheet_of_pairs(pairs_file, sheet, say, files, columns.columns)
        reading |= {"sheet": one_sheet, "files": files}
        stored = stack.enter_context(open_table(pairs_file, columns, say=say, **reading))
        pairs = columns.roles.rename(stored.read())
        winner = np.full(len(pairs), "left", dtype=object)
        rows = Columns({**pairs, "winner": winner}, from_file=True)
        try:
            data = Comparisons.of(items, rules.read(rows, items))
        except BadEntriesError as error:
            faults = all_faults(lambda some: rules.read(some, items), rows)
            raise locate_faults(faults, stored, columns.roles.columns) from error
        point_out_rows(data.votes, items, say)
        return data


def sheet_of_pairs(
    file: Any,
    named: Sequence[str],
    say: Callable[[Piece], None],
    files: OpenFiles,
    columns: VoteColumns,
) -> str | None:
    """The sheet of a workbook with pairs: the last one that is named, or the first with pairs."""
    given = [name for name in named if not isinstance(name, Kept)]
    if given and table_kind(file) == "workbook":
        return given[-1]
    return choose_sheets(None, [file], named, say, files, columns).votes[0][1]
