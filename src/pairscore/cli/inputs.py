"""The tables that a command reads: files, standard input, and the list of their bad rows."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.cli.options import (
    FILE_NAMES,
    LIST_NAMES,
    VOTE_COLUMNS,
    item_settings,
    vote_settings,
)
from pairscore.cli.printing import show_note
from pairscore.display import plural
from pairscore.errors import EmptyColumnsError, PairscoreError

if TYPE_CHECKING:
    from pairscore.files.study import StudyInput
    from pairscore.files.tables import OpenFiles


def with_study_file(
    items: Path | None, comparisons: tuple[Path, ...], given: dict[str, Any]
) -> tuple[Path | None, tuple[Path, ...], dict[str, Any]]:
    """The tables and settings of a command, as a study file (.toml) in place of ITEMS says.

    Files after the study file take the place of its comparisons, and options that were typed that
    of its settings. Settings for which the command has no option are added to those ``given``.
    """
    from pairscore.files.study_file import is_study_file, read_study_file

    if twice := [path for path in comparisons if is_study_file(path)]:
        raise PairscoreError(
            f"{str(twice[0])!r} is a study file, which names both tables; give it first, in place"
            " of the items."
        )
    if items is None or not is_study_file(items):
        return items, comparisons, given
    study = read_study_file(items)
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    said = {
        name: value
        for name, value in study.settings.items()
        if name not in given or context.get_parameter_source(name) is default
    }
    comparisons = comparisons or study.comparisons
    if comparisons:
        said.pop("comparisons_query", None)
    return study.items, comparisons, given | said


def study_tables(
    items: Path | None, comparisons: tuple[Path, ...], given: dict[str, Any]
) -> tuple[Path | None, tuple[Path, ...], dict[str, Any]]:
    """As with_study_file, for a command that needs items and comparisons, or one of these alone."""
    table, votes, said = with_study_file(items, comparisons, given)
    if table is not None or table is items or said.get("items_query"):
        return table, votes, said
    if len(votes) > 1:
        raise PairscoreError(
            f"{str(items)!r} names {len(votes)} files of comparisons and no items; add items ="
            ' "..." below [tables], or give the comparisons alone in one file.'
        )
    if not votes and not said.get("comparisons_query"):
        raise PairscoreError(
            f"{str(items)!r} names no tables; add items and comparisons below [tables]."
        )
    return table, votes, said


def second_table(items: Path, comparisons: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files of the comparisons; that of the items where one workbook has both."""
    refuse_twice(comparisons)
    if comparisons:
        return comparisons
    from pairscore.files.source import table_kind

    if table_kind(items) != "workbook":
        raise click.UsageError("Missing argument 'COMPARISONS...'.")
    return (items,)


def refuse_twice(comparisons: tuple[Path, ...]) -> None:
    """Each file of comparisons may be given once."""
    if twice := [str(file) for file in comparisons if comparisons.count(file) > 1]:
        raise PairscoreError(f"{twice[0]!r} is given twice; give each file of comparisons once.")


def is_alone(items: Path, comparisons: tuple[Path, ...], given: dict[str, Any]) -> bool:
    """Whether one file was given, and has comparisons alone."""
    from pairscore.data.column_roles import VoteColumns
    from pairscore.files.choose_sheets import are_all_comparisons
    from pairscore.files.source import table_kind

    return not comparisons and (
        table_kind(items) != "workbook"
        or are_all_comparisons(
            items, VoteColumns.of({name: given.get(name) for name in VOTE_COLUMNS})
        )
    )


@contextmanager
def input_path(path: Path) -> Iterator[Path]:
    """The file itself; a copy of standard input for ``-``."""
    if str(path) != "-":
        yield path
        return
    from pairscore.files.atomic import scratch_folder

    with scratch_folder() as folder:
        copy = folder / "standard input"
        copy.write_bytes(sys.stdin.buffer.read())
        yield copy


@contextmanager
def list_bad_rows(output: Path | None, decimal: str | None = None) -> Iterator[None]:
    """Write all bad rows of the files that are read to a list next to the output.

    The message, which shows the first ones, says where the list is. A list of an earlier run is
    removed where no row is bad. Another file of its name stays as it is. Without an output file
    there is no list.
    """
    from pairscore.errors import BadRowsError
    from pairscore.files.atomic import is_device
    from pairscore.files.bad_rows import (
        BadFilesError,
        SeveralFaultsError,
        is_bad_rows,
        write_bad_rows,
    )

    # nobody looks for a list in /dev
    has_list = output is not None and str(output) != "-" and not is_device(output)
    path = Path(f"{output}.bad-rows.csv")
    try:
        yield
    except (BadRowsError, BadFilesError) as error:
        errors = error.errors if isinstance(error, BadFilesError) else [error]
        if has_list and path.exists() and not is_bad_rows(path):
            told = PairscoreError(
                f"All of them would be listed in {str(path)!r}, but that has something else in it",
                "move it away",
            )
            raise SeveralFaultsError([error, told]) from error
        if has_list and write_bad_rows(errors, path, decimal):
            told = PairscoreError(f"All of them are in {str(path)!r}; nothing else was written")
            raise SeveralFaultsError([error, told]) from error
        raise
    if has_list and is_bad_rows(path):
        with suppress(OSError):
            path.unlink()


def read_files(
    items: Path, comparisons: tuple[Path, ...], context: Any, given: dict[str, Any]
) -> "StudyInput":
    """Items and comparisons, as ITEM_OPTIONS, VOTE_OPTIONS and FILE_OPTIONS say.

    ``context`` has names of numeric columns of the comparisons.
    """
    from pairscore.files.tables import OpenFiles

    with OpenFiles() as files:
        return _read_files(items, comparisons, context, given, files)


def _read_files(
    items: Path,
    comparisons: tuple[Path, ...],
    context: Any,
    given: dict[str, Any],
    files: "OpenFiles",
) -> "StudyInput":
    """As :func:`read_files`, of files that stay open while ``--auto`` asks for other columns."""
    from pairscore.files.study import read_study
    from pairscore.files.tables import once

    columns, auto = (
        item_settings(given) | {"reference": given.get("reference") or {}},
        given.get("auto"),
    )
    columns["categorical"] = list(dict.fromkeys([*columns["categorical"], *columns["reference"]]))
    if auto and columns["missing"] == "refuse":
        columns |= {"missing": "mean-with-flag"}
    settings = vote_settings(given) | {"group": given["group"], "context": context}
    settings["say"] = say = once(show_note)

    def read(**more: Sequence[str]) -> "StudyInput":
        columns.update({key: [*columns.get(key, ()), *names] for key, names in more.items()})
        return read_study(items, comparisons, columns=columns, files=files, **settings)

    if not auto:
        return read()
    try:
        study = read()
    except EmptyColumnsError as error:
        say(f"left out, because they have no value at all: {', '.join(map(repr, error.names))}.")
        study = read(exclude=error.names)
    texts = study.left_out
    if texts:
        study = read(categorical=texts)
    constant = constant_columns(study, given)
    if categories := [name for name in texts if name not in constant]:
        say(f"text columns that become categories: {', '.join(map(repr, categories))}.")
    if constant:
        blanks = [(name, blank_cells(study, name)) for name in constant]
        if alike := [repr(name) for name, blank in blanks if not blank]:
            say(f"left out, because all items have the same: {', '.join(alike)}.")
        for name, blank in blanks:
            if blank:
                say(
                    f"left out, because it has one value and is blank for {blank} of"
                    f" {plural(len(study.items), 'item')}: {name!r}; if blank means something,"
                    " write it in the cells."
                )
        columns["categorical"] = [n for n in columns["categorical"] if n not in constant]
        study = read(exclude=constant)
    return study


def read_alone(
    votes: Path, context: Any, given: dict[str, Any], kept: dict[str, Any] | None = None
) -> "StudyInput":
    """Comparisons without a table of items; ``kept`` is how those of a fit were read."""
    from pairscore.data.recipe import Recipe
    from pairscore.files.new_comparisons import read_new_votes
    from pairscore.files.study import StudyInput
    from pairscore.files.tables import once

    asked = [name for name in ("group", "reference", "id", *LIST_NAMES) if given.get(name)]
    if asked:
        raise PairscoreError(
            f"--{asked[0]} needs a table of items, and {str(votes)!r} was given alone, which is"
            " taken for the comparisons; give the items first."
        )
    settings = vote_settings(given, kept) | {"say": once(show_note)}
    data = read_new_votes(votes, None, context, **settings)
    named = {role: name for role, name in settings["vote_columns"].items() if name}
    return StudyInput(data.items, Recipe(), [], [], votes=data.votes, vote_columns=named)


def constant_columns(study: "StudyInput", given: dict[str, Any]) -> list[str]:
    """Columns that nobody asked for and that say nothing about any item; none if all are such."""
    import numpy as np

    settings = item_settings(given)
    products = [part for product in settings["interactions"] for part in product.split(":")]
    asked = {name for lists in LIST_NAMES for name in settings[lists]} | {*products, settings["id"]}
    alike = np.ptp(study.items.values, axis=0) == 0
    found = [name for name, block in study.recipe.blocks.items() if alike[block].all()]
    return [] if alike.all() else [name for name in found if name not in asked]


def blank_cells(study: "StudyInput", name: str) -> int:
    """How many items have no value in a column whose gaps are flagged."""
    recipe = study.recipe
    flags = [number for number, group in enumerate(recipe.flag_groups) if name in group]
    if recipe.missing != "mean-with-flag" or not flags:
        return 0
    n_values = len(recipe.features) + sum(map(len, recipe.categorical.values()))
    return int(study.items.values[:, n_values + flags[0]].sum())


def kept_reading(settings: dict[str, Any]) -> dict[str, Any]:
    """The part of a model's record that says how its files were read."""
    names = (*FILE_NAMES, "vote_sheets", "winner_codes", "vote_columns")
    kept = {name: settings[name] for name in names if settings.get(name)}
    return {"reading": kept} if kept else {}
