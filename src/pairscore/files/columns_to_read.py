"""Which columns of a study's tables are read, and the tables opened for them."""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from pairscore.data.column_roles import VoteColumns, VoteRoles
from pairscore.data.recipe import Recipe, item_columns, make_recipe
from pairscore.data.tables import Columns
from pairscore.data.vote_layouts import LAYOUTS, NO_SIDES, Layout
from pairscore.display import did_you_mean, first_few
from pairscore.errors import BadRowsError, PairscoreError
from pairscore.files.bad_rows import BadFilesError
from pairscore.files.tables import (
    StoredTable,
    stored_table,
)
from pairscore.files.workbooks import first_sheet
from pairscore.messages import Setting, join


@dataclass(frozen=True)
class ItemColumns:
    """The columns of an item table that settings, or the recipe of a model, need.

    Parameters
    ----------
    settings : dict
        Of ``make_recipe``, where there is no recipe yet.
    recipe : Recipe or None
        That of a model.
    id_is_optional : bool
        Whether items of a table without the recipe's column of ids are known by row number.
    group : str or None
        A column that says which items belong together; it is never a feature.
    nested : list
        Collects the lists and records that might have been features, while columns are chosen.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None
    id_is_optional: bool = False
    group: str | None = None
    nested: list[str] = field(default_factory=list)

    @property
    def identifiers(self) -> set[str]:
        """The columns that are read as exact text: ids, categories and groups."""
        id, categories = self.settings.get("id"), self.settings.get("categorical", ())
        if self.recipe is not None:
            id, categories = self.recipe.id, self.recipe.categorical
        return {id or "id", *categories, *self._group}

    @property
    def _group(self) -> tuple[str, ...]:
        return () if self.group is None else (self.group,)

    @property
    def _excluded(self) -> list[str]:
        return [*self.settings.get("exclude", ()), *self._group]

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table; ``lists`` hold lists and records."""
        if self.group is not None and self.group not in names:
            raise PairscoreError(
                Setting("group")
                + f" names {self.group!r}, and the item table has no such column; it has"
                f" {first_few(map(repr, names), 8)}.{did_you_mean(self.group, names)}"
            )
        if self.recipe is not None:
            recipe = self.recipe_for(names)
            recipe.refuse_absent(names)
            return {*recipe.sources, *([recipe.id] if recipe.id else []), *self._group}
        chosen = item_columns(names, lists, **{**self.settings, "exclude": self._excluded})
        if not self.settings.get("features"):
            unused = (name for name in lists if name not in (*chosen, *self._excluded))
            self.nested.extend(unused)
        return {*chosen, *self._group}

    def with_id(self, id: str) -> "ItemColumns":
        """The same with another column of ids."""
        if self.recipe is not None:
            return replace(self, recipe=replace(self.recipe, id=id), id_is_optional=False)
        return replace(self, settings={**self.settings, "id": id}, nested=[])

    def recipe_for(self, names: Collection[str]) -> Recipe:
        """The recipe of the model, without ids where they are optional and a table has none."""
        assert self.recipe is not None
        without_ids = self.id_is_optional and self.recipe.id not in names
        return replace(self.recipe, id=None) if without_ids else self.recipe

    def make_recipe(self, table: Columns) -> tuple[Recipe, list[str]]:
        """The recipe for a table that was read, and the text columns that it leaves out."""
        if self.recipe is not None:
            return self.recipe_for(table.columns), []
        return make_recipe(table, **{**self.settings, "exclude": self._excluded})


class OpenPairColumns(VoteColumns):
    """The columns of pairs that nobody has compared: as comparisons, without a winner."""

    def roles(self, names: Collection[str], lists: Collection[str] = ()) -> VoteRoles:
        """The role of each column; a winner has none."""
        named, kept = (
            {role: name for role, name in of.items() if role not in NO_SIDES}
            for of in (self.named, self.kept)
        )
        roles = VoteColumns(named, self.context, kept).roles(names, lists)
        sides = next((two for two in LAYOUTS if {*two} <= {*roles.columns}), None)
        if sides is None:
            known = {*roles.columns.values()}
            others = [name for name in names if name not in known]
            missing = [role for role in LAYOUTS[0] if role not in roles.columns]
            answers: list[Setting] = [Setting(role) for role in missing]
            if len(others) == len(missing):  # which is left can be seen in the answer
                answers = [Setting(*answer) for answer in zip(missing, others, strict=True)]
            raise PairscoreError(
                f"the pairs have columns {first_few(map(repr, names), 8)}; they need left and right"
                " with the ids of two items",
                "name those with other names: " + join(" ", answers),
            )
        columns = {role: of for role, of in roles.columns.items() if role not in (*NO_SIDES, "tie")}
        return replace(roles, columns=columns, layout=Layout(sides, "winner"), loser=None)


@dataclass
class VoteChoice:
    """Chooses which columns of a file of comparisons are read, and keeps the role of each."""

    columns: VoteColumns
    roles: VoteRoles = field(default_factory=lambda: VoteRoles({}, None))

    @property
    def identifiers(self) -> Collection[str]:
        """The columns that are read as exact text."""
        return self.columns.identifiers

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table."""
        self.roles = self.columns.roles(names, lists)
        return self.roles.read or {*names[:1]}


def sheet_of_items(reading: dict[str, Any]) -> dict[str, Any]:
    """How a file of items alone is read: with its sheet, of those of a study."""
    return reading | {"sheet": first_sheet(reading.get("sheet", ()))}


def open_table(path: Any, columns: ItemColumns | VoteChoice, **reading: Any) -> Any:
    """A table of some columns, as long as the block that uses it lasts."""
    identifiers = columns.identifiers
    return stored_table(path, identifiers=identifiers, columns=columns.choose, **reading)


def open_tables(
    stack: ExitStack,
    files: list[tuple[Any, ItemColumns | VoteChoice, str | None]],
    reading: Mapping[str, Any],
) -> list[StoredTable]:
    """Tables that stay while the stack does; the bad rows of all are reported together."""
    tables, errors = [], []
    for path, columns, sheet in files:
        try:
            tables.append(stack.enter_context(open_table(path, columns, sheet=sheet, **reading)))
        except BadRowsError as error:
            errors.append(error)
    if errors:
        raise BadFilesError(errors)
    return tables
