"""The sheets on which judges write who won, and the columns that they show."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.items import refuse_bad_ids
from pairscore.data.vote_layouts import compared_in
from pairscore.display import did_you_mean, first_few
from pairscore.errors import PairscoreError
from pairscore.files.atomic import atomic_write
from pairscore.files.kinds_of_text import likely_id
from pairscore.files.tables import stored_table, warn_of
from pairscore.files.workbooks import first_sheet
from pairscore.files.write import fill_table
from pairscore.files.write_workbook import NewSheet, fill_workbook
from pairscore.messages import Piece, Setting
from pairscore.planning.pairs import PairDesign

ANSWERS = ("left", "right", "tie")
WORKBOOK = ".xlsx"
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
MOST_DIGITS = 15  # that a spreadsheet keeps


def read_shown(
    path: Any,
    id: str | None,
    show: Sequence[str],
    sheet: Sequence[str] = (),
    say: Callable[[Piece], None] = warn_of,
    **reading: Any,
) -> dict[str, Any]:
    """The ids of a table of items, under "id", and the columns to show, as they are in the file.

    Without a column ``id``, the first one that looks like ids has them, else they are row numbers;
    ``say`` is told.
    """
    wanted = [*show, *([id] if id else [])]

    def choose(names: list[str], lists: list[str]) -> set[str]:
        _refuse_comparisons(names, wanted)
        for name in wanted:
            if name not in names:
                raise PairscoreError(
                    f"the items have no column {name!r}; they have"
                    f" {first_few(map(repr, names), 8)}.{did_you_mean(name, names)}"
                )
        return {*wanted, *({"id"} & {*names} if id is None else ())} or {names[0]}

    identifiers, reading = {*wanted, "id"}, {**reading, "say": say, "sheet": first_sheet(sheet)}
    with stored_table(path, identifiers=identifiers, columns=choose, **reading) as stored:
        table = stored.read()
        name = id or ("id" if "id" in table else likely_id(stored.read_texts()))
        if name is not None and name not in (id, "id"):
            say(f"the items have no column 'id'; their ids are taken from {name!r}.")
            table = stored.again({*identifiers, name}, lambda *_: {*wanted, name}).read()
    if name is None:
        say("the items have no column of ids: they are written as row numbers, which start at 0.")
    ids = np.arange(len(table)) if name is None else table[name]
    refuse_bad_ids(ids)
    return {"id": ids, **{column: table[column] for column in show}}


def _refuse_comparisons(names: list[str], wanted: list[str]) -> None:
    """Refuse a table that has a row for each comparison, unless somebody named its columns."""
    found = compared_in(names)
    if found and not wanted and "id" not in names:
        raise PairscoreError(
            f"the table has columns {found[0]!r} and {found[1]!r}, so its rows are comparisons and"
            " not items",
            [
                "give a table with a row for each item, such as the ranking of a model of these"
                " comparisons",
                "name the column of ids: " + Setting("id", "NAME"),
            ],
        )


def write_sheets(
    design: PairDesign, items: dict[str, Any], judges: Sequence[str], path: Path
) -> list[Path]:
    """Write one sheet for each judge to a workbook, or one file for each; say which files."""
    sheets = {
        name: _sheet(design, items, name, np.flatnonzero(design.judge == number))
        for number, name in enumerate(judges)
    }
    if path.suffix.lower() == WORKBOOK:
        with atomic_write(path, "the workbook") as temporary:
            fill_workbook(
                temporary,
                [
                    NewSheet(name, _with_numbers(columns, items), {"winner": ANSWERS})
                    for name, columns in sheets.items()
                ],
            )
        return [path]
    paths = [path] if len(judges) == 1 else [_file_of(path, name) for name in judges]
    with ExitStack() as stack:  # none of the files appears before all are written
        for one, columns in zip(paths, sheets.values(), strict=True):
            fill_table(stack.enter_context(atomic_write(one, "the sheet")), columns, one)
    return paths


def _file_of(path: Path, judge: str) -> Path:
    name = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in judge)
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def _with_numbers(columns: dict[str, np.ndarray], items: dict[str, Any]) -> dict[str, np.ndarray]:
    """Columns of a sheet in which shown numbers are numbers; ids stay as they are.

    A number like 007, or with more digits than a spreadsheet keeps, is text.
    """
    shown = {f"{side}_{name}" for side in ("left", "right") for name in items if name != "id"}
    return {
        name: np.array([*map(_as_number, values.tolist())], dtype=object)
        if name in shown
        else values
        for name, values in columns.items()
    }


def _as_number(cell: Any) -> Any:
    is_plain = isinstance(cell, str) and PLAIN_NUMBER.fullmatch(cell) and len(cell) <= MOST_DIGITS
    if not is_plain:
        return cell
    return float(cell) if "." in cell else int(cell)


def _sheet(
    design: PairDesign, items: dict[str, Any], judge: str, rows: np.ndarray
) -> dict[str, np.ndarray]:
    sides = {"left": design.left[rows], "right": design.right[rows]}
    columns: dict[str, np.ndarray] = {"comparison": np.arange(1, len(rows) + 1)}
    for side, which in sides.items():
        columns[side] = items["id"][which]
        columns |= {f"{side}_{name}": items[name][which] for name in items if name != "id"}
    empty = np.full(len(rows), None, dtype=object)
    return columns | {"winner": empty, "judge": np.full(len(rows), judge, dtype=object)}


def is_of_sheet(name: str, names: Sequence[str]) -> bool:
    """Whether a judging sheet has such a column for its readers: the number of the row, or what is
    known of the left and of the right item.
    """
    side, _, what = name.partition("_")
    other = {"left": "right", "right": "left"}.get(side)
    return name == "comparison" or (other is not None and f"{other}_{what}" in names)
