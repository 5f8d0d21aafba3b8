"""From two files to items and votes.

Columns by the names that the user gave them, features by a recipe.
"""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.data.feature_options import item_columns, make_recipe
from pairscore.data.features import Recipe, recipe_of
from pairscore.data.items import Items, refuse_bad_ids, refuse_non_finite
from pairscore.data.tables import Column, Columns
from pairscore.data.votes import LAYOUTS, Votes, layout_of, read_votes
from pairscore.errors import (
    BadEntriesError,
    BadRowsError,
    PairscoreError,
    closest,
    did_you_mean,
    first_few,
    plural,
)
from pairscore.files.faults import BadFilesError, all_faults, refused
from pairscore.files.source import Choice
from pairscore.files.tables import StoredTable, stored_table

SIDES = tuple(name for layout in LAYOUTS for name in layout)
VOTE_IDENTIFIERS = (*SIDES, "winner", "loser", "judge")
VOTE_ROLES = (*VOTE_IDENTIFIERS, "weight", "count")


@dataclass(frozen=True)
class ItemIntake:
    """Items ready for use, the recipe that made their features, and the columns that it left out.

    Of text, and of lists or records.
    """

    items: Items
    recipe: Recipe
    left_out: list[str]
    nested: list[str]


@dataclass(frozen=True)
class Intake(ItemIntake):
    """Items and votes ready for a fit, and the group of every item where a column of groups was
    named.
    """

    votes: Votes
    groups: np.ndarray | None = None


def read_item_file(
    items_file: Any,
    *,
    columns: Mapping[str, Any],
    delimiter: str | None = None,
    encoding: str | None = None,
) -> ItemIntake:
    """Read items from a file; ``columns`` are the settings of ``make_recipe``."""
    nested: list[str] = []
    reading: dict[str, Any] = {
        "identifiers": item_identifiers(None, **columns),
        "columns": settings_choice(columns, nested),
        "delimiter": delimiter,
        "encoding": encoding,
    }
    with stored_table(items_file, **reading) as stored:
        table = stored.read()
        recipe, left_out = make_recipe(table, **{**columns, "exclude": ()})
        try:
            items = recipe.items(table)
        except BadEntriesError as error:
            raise refused(
                all_faults(recipe.items, table), stored, {"id": recipe.id or "id"}
            ) from error
    dropped = len(table) - len(items)
    return ItemIntake(
        items,
        replace(recipe, note=f"{plural(dropped, 'item')} dropped" if dropped else recipe.note),
        left_out,
        nested,
    )


def read_study(
    items_file: Any,
    votes_file: Any,
    *,
    recipe: Recipe | None = None,
    columns: Mapping[str, Any] | None = None,
    vote_columns: Mapping[str, str | None] | None = None,
    self_pairs: str = "error",
    id_is_optional: bool = False,
    seed: int = 0,
    context: Collection[str] = (),
    group: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Intake:
    """Read items and comparisons from files; columns that neither needs may hold anything.

    ``recipe`` is that of a model; without one it is made from ``columns``, the settings of
    ``make_recipe``. ``vote_columns`` says which columns of the comparisons are ``left``,
    ``winner``, ... where they have other names; ``context`` names numeric columns of theirs to
    keep, ``group`` a column of the items. A ``recipe`` with ``id_is_optional`` knows items by row
    number where its column of ids is absent.
    """
    if str(items_file) == str(votes_file) == "-":
        raise PairscoreError(
            "standard input can be the items or the comparisons, not both; name a file for one of"
            " them."
        )
    settings, named = (
        dict(columns or {}),
        {role: name for role, name in (vote_columns or {}).items() if name},
    )
    if group is not None:
        settings["exclude"] = [*settings.get("exclude", ()), group]
    nested: list[str] = []
    choice = with_group(
        (
            settings_choice(settings, nested)
            if recipe is None
            else recipe_choice(recipe, id_is_optional)
        ),
        group,
    )
    vote_identifiers = {
        *VOTE_IDENTIFIERS,
        *(name for role, name in named.items() if role in VOTE_IDENTIFIERS),
    }
    identifiers = item_identifiers(recipe, **settings) | ({group} if group else set())
    files = (
        (items_file, identifiers, choice),
        (votes_file, vote_identifiers, vote_choice(named, context)),
    )
    with ExitStack() as stack:
        stored_items, stored_votes = _opened(
            stack, files, {"delimiter": delimiter, "encoding": encoding}
        )
        table, votes = stored_items.read(), stored_votes.read()
        ungrouped = {"exclude": [group] if group else ()}
        recipe, left_out = (
            make_recipe(table, **settings | ungrouped)
            if recipe is None
            else (for_table(recipe, table, id_is_optional), [])
        )
        votes = rename_votes(votes, named, recipe.ids(table), context)
        try:
            items, read, recipe, kept = _dropped(recipe, table, votes, self_pairs, seed, context)
            return Intake(
                items, recipe, left_out, nested, read, None if group is None else table[group][kept]
            )
        except BadEntriesError as error:
            if error.table == "items":
                raise refused(
                    all_faults(recipe.items, table), stored_items, {"id": recipe.id or "id"}
                ) from error
            faults = all_faults(
                lambda rows: _dropped(recipe, table, rows, self_pairs, seed, context), votes
            )
            raise refused(faults, stored_votes, named, _id_meant(recipe, table)) from error


def read_new_votes(
    votes_file: Any,
    items: Items,
    context: Collection[str],
    vote_columns: Mapping[str, str | None],
    *,
    self_pairs: str = "error",
    **reading: Any,
) -> Votes:
    """Comparisons from a file, of items that are known already."""
    named = {role: name for role, name in vote_columns.items() if name}
    identifiers = {
        *VOTE_IDENTIFIERS,
        *(name for role, name in named.items() if role in VOTE_IDENTIFIERS),
    }
    with stored_table(
        votes_file, identifiers=identifiers, columns=vote_choice(named, context), **reading
    ) as stored:
        votes = rename_votes(stored.read(), named, items.ids, context)

        def read(rows: Columns) -> Votes:
            return replace(read_votes(rows, items, self_pairs, 0, context), self_pairs=self_pairs)

        try:
            return read(votes)
        except BadEntriesError as error:
            raise refused(all_faults(read, votes), stored, named) from error


def read_new_items(items_file: Any, model: Any, **reading: Any) -> Items:
    """Items from a file, with the features of a model."""
    recipe = recipe_of(model)
    with stored_table(
        items_file,
        identifiers=item_identifiers(recipe),
        columns=recipe_choice(recipe, model.recipe is None),
        **reading,
    ) as stored:
        table = stored.read()
        try:
            return for_table(recipe, table.columns, model.recipe is None).items(table)
        except BadEntriesError as error:
            raise refused(
                all_faults(recipe.items, table), stored, {"id": recipe.id or "id"}
            ) from error


def _id_meant(recipe: Recipe, table: Columns) -> str:
    """Where items are known by row number: the column that may have their ids."""
    close = closest("id", table.columns) if recipe.id is None else None
    return "" if close is None else f" (did you mean --id {close}?)"


def _opened(stack: ExitStack, files: Any, options: Mapping[str, Any]) -> list[StoredTable]:
    """Tables that stay while the stack does; the bad rows of all are reported together."""
    tables, errors = [], []
    for path, identifiers, choice in files:
        try:
            tables.append(
                stack.enter_context(
                    stored_table(path, identifiers=identifiers, columns=choice, **options)
                )
            )
        except BadRowsError as error:
            errors.append(error)
    if errors:
        raise BadFilesError(errors)
    return tables


# -- which columns ---------------------------------------------------------------------------------


def settings_choice(settings: Mapping[str, Any], nested: list[str]) -> Choice:
    """The columns of the items that these settings need.

    ``nested`` collects the lists and records that might have been features.
    """

    def choose(names: list[str], lists: list[str]) -> Collection[str]:
        chosen = item_columns(names, lists, **settings)
        if not settings.get("features"):
            nested.extend(
                name for name in lists if name not in (*chosen, *settings.get("exclude", ()))
            )
        return chosen

    return choose


def with_group(choice: Choice, group: str | None) -> Choice:
    """The same columns, and that of the groups."""

    def choose(names: list[str], lists: list[str]) -> Collection[str]:
        if group is not None and group not in names:
            known = first_few(map(repr, names), 8)
            raise PairscoreError(
                f"--group names {group!r}, and the item table has no such column; it has"
                f" {known}.{did_you_mean(group, names)}"
            )
        return {*choice(names, lists), *([group] if group else [])}

    return choose


def recipe_choice(recipe: Recipe, id_is_optional: bool) -> Choice:
    """The columns of the items that a recipe needs."""

    def choose(names: list[str], lists: list[str]) -> Collection[str]:
        known = for_table(recipe, names, id_is_optional)
        known.refuse_absent(names)
        return {*known.sources, *([known.id] if known.id else [])}

    return choose


def for_table(recipe: Recipe, names: Collection[str], id_is_optional: bool) -> Recipe:
    """The recipe, without ids where they are optional and a table has none."""
    return replace(recipe, id=None) if id_is_optional and recipe.id not in names else recipe


def item_identifiers(
    recipe: Recipe | None, *, id: str | None = None, categorical: Any = (), **_: Any
) -> set[str]:
    """The columns of an item table that are read as exact text: the ids and the categories."""
    return (
        {id or "id", *categorical} if recipe is None else {recipe.id or "id", *recipe.categorical}
    )


def vote_choice(named: Mapping[str, str], context: Collection[str] = ()) -> Choice:
    """The columns of the comparisons that have a role, and those of the context."""

    def choose(names: list[str], lists: list[str]) -> Collection[str]:
        for role, name in (*named.items(), *(("context", name) for name in context)):
            if name not in names:
                known = first_few(map(repr, names), 8)
                raise PairscoreError(
                    f"--{role} names {name!r}, and the comparisons have no such column; they have"
                    f" {known}.{did_you_mean(name, names)}"
                )
        if "loser" in named and {"left", "right"} & set(named):
            raise PairscoreError(
                "--loser goes without --left and --right: either a row names a winner and a loser,"
                " or two sides and the winner of them."
            )
        roles = _unnamed_roles(named)
        layout_of(
            [
                *named,
                *(
                    name
                    for name in names
                    if name in roles or name not in (*VOTE_ROLES, *named.values())
                ),
            ]
        )
        return {*roles, *named.values(), *context}

    return choose


def _unnamed_roles(named: Mapping[str, str]) -> set[str]:
    """Roles that columns have by their own name.

    Not those given to others, nor sides beside a named loser or side.
    """
    without_sides = (
        SIDES if "loser" in named else LAYOUTS[1] if {"left", "right"} & set(named) else ()
    )
    return set(VOTE_ROLES) - {*named, *named.values(), *without_sides}


def rename_votes(
    votes: Columns,
    named: Mapping[str, str],
    ids: np.ndarray | None = None,
    context: Collection[str] = (),
) -> Columns:
    """The comparisons under the names that pairscore knows; columns of the context keep theirs.

    The winner may be told by the name of a side's column, as in ``model_a``.
    """
    columns = {
        name: votes.get_column(name) for name in votes.columns if name in _unnamed_roles(named)
    }
    columns = (
        {name: votes.get_column(name) for name in context}
        | columns
        | {role: votes.get_column(name) for role, name in named.items()}
    )
    sides = {
        named[role]: role for role in ("left", "right") if role in named and named[role] != role
    }
    if sides and "winner" in columns:
        columns["winner"] = _by_side(columns["winner"], sides, ids)
    return Columns(columns, from_file=True)


def _by_side(winner: Column, sides: dict[str, str], ids: np.ndarray | None) -> Column:
    """The names of the sides' columns, in the column of winners, as left and right."""
    told = [name for name in sides if name in set(winner.values.tolist())]
    clash = sorted(set(told) & set(map(str, [] if ids is None else ids.tolist())))
    if clash:
        raise PairscoreError(
            f"{clash[0]!r} is both an item and the column of a side, so a winner of that name is"
            " unclear; rename the item or the column."
        )
    if not told:
        return winner
    values = np.array(
        [
            sides.get(value, value) if isinstance(value, str) else value
            for value in winner.values.tolist()
        ],
        dtype=object,
    )
    return Column(values, winner.codes)


def _dropped(
    recipe: Recipe,
    table: Columns,
    votes: Columns,
    self_pairs: str,
    seed: int,
    context: Collection[str] = (),
) -> tuple[Items, Votes, Recipe, np.ndarray]:
    """Items and votes without the items that the recipe drops for missing values, a note on how
    many, and a mask of those kept.
    """
    ids = recipe.ids(table)
    if recipe.missing != "drop-items":
        items = recipe.items(table)
        return (
            items,
            replace(read_votes(votes, items, self_pairs, seed, context), self_pairs=self_pairs),
            recipe,
            np.ones(len(table), dtype=bool),
        )
    if ids is not None:
        refuse_bad_ids(ids)
    values = recipe.matrix(table)
    kept = recipe.complete_rows(values, np.arange(len(table)) if ids is None else ids)
    everything = Items(values, recipe.names, ids, Columns)
    read = read_votes(votes, everything, self_pairs, seed, context)
    whole = kept[read.left] & kept[read.right]
    if not kept.any() or not whole.any():
        raise PairscoreError(
            f"{plural(int((~kept).sum()), 'item')} of {len(kept)} with missing values, and no"
            " comparison without them; fill some in."
        )
    place = np.cumsum(kept) - 1
    columns: dict[str, Any] = {
        name: column[whole]
        for name in ("outcome", "weight", "count", "judge")
        if (column := getattr(read, name)) is not None
    }
    columns["context"] = {name: column[whole] for name, column in read.context.items()}
    note = (
        f"{plural(int((~kept).sum()), 'item')} dropped, with {plural(int((~whole).sum()), 'row')}"
        " of comparisons"
        if not kept.all()
        else ""
    )
    items = Items(
        values[kept], recipe.names, np.flatnonzero(kept) if ids is None else ids[kept], Columns
    )
    refuse_non_finite(np.where(kept[:, None], values, 0.0), items.feature_names)
    read = replace(
        read,
        left=place[read.left[whole]],
        right=place[read.right[whole]],
        self_pairs=self_pairs,
        **columns,
    )
    return items, read, replace(recipe, note=note), kept
