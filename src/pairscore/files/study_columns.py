"""Which columns of two files a study needs, and under which names.

Columns that nobody needs are not read, so they may hold anything.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pairscore.data.feature_options import item_columns, make_recipe
from pairscore.data.features import Recipe
from pairscore.data.tables import Column, Columns
from pairscore.data.votes import LAYOUTS, layout_of
from pairscore.errors import PairscoreError, did_you_mean, first_few

SIDES = tuple(name for layout in LAYOUTS for name in layout)
VOTE_IDENTIFIERS = (*SIDES, "winner", "loser", "judge")
VOTE_ROLES = (*VOTE_IDENTIFIERS, "weight", "count")


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
                f"group names {self.group!r}, and the item table has no such column; it has"
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

    def recipe_for(self, names: Collection[str]) -> Recipe:
        """The recipe of the model, without ids where they are optional and a table has none."""
        assert self.recipe is not None
        without_ids = self.id_is_optional and self.recipe.id not in names
        return replace(self.recipe, id=None) if without_ids else self.recipe

    def make_recipe(self, table: Columns) -> tuple[Recipe, list[str]]:
        """The recipe for a table that was read, and the text columns that it leaves out."""
        if self.recipe is not None:
            return self.recipe_for(table.columns), []
        return make_recipe(table, **{**self.settings, "exclude": list(self._group)})


@dataclass(frozen=True)
class VoteColumns:
    """The columns of comparisons, by their role.

    ``named`` says which columns are ``left``, ``winner``, ... where they have other names;
    ``context`` names numeric columns to keep.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    context: Collection[str] = ()

    @classmethod
    def of(
        cls, named: Mapping[str, str | None] | None, context: Collection[str] = ()
    ) -> "VoteColumns":
        """Only the roles for which a column is named."""
        return cls({role: name for role, name in (named or {}).items() if name}, context)

    @property
    def identifiers(self) -> set[str]:
        """The columns that are read as exact text: those with names of items and judges."""
        named = {name for role, name in self.named.items() if role in VOTE_IDENTIFIERS}
        return {*VOTE_IDENTIFIERS, *named}

    @property
    def _unnamed_roles(self) -> set[str]:
        """Roles that columns have by their own name.

        Not those given to other columns, nor sides next to a named loser or side.
        """
        others: tuple[str, ...] = ()
        if "loser" in self.named:
            others = SIDES
        elif {"left", "right"} & set(self.named):
            others = LAYOUTS[1]
        return set(VOTE_ROLES) - {*self.named, *self.named.values(), *others}

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table."""
        for role, name in (*self.named.items(), *(("context", name) for name in self.context)):
            if name not in names:
                raise PairscoreError(
                    f"{role} names {name!r}, and the comparisons have no such column; they have"
                    f" {first_few(map(repr, names), 8)}.{did_you_mean(name, names)}"
                )
        if "loser" in self.named and {"left", "right"} & set(self.named):
            raise PairscoreError(
                "loser= goes without left= and right=: either a row names a winner and a loser,"
                " or two sides and the winner of them."
            )
        roles, taken = self._unnamed_roles, (*VOTE_ROLES, *self.named.values())
        by_name = [name for name in names if name in roles or name not in taken]
        layout_of([*self.named, *by_name])  # refuses columns that do not say who was compared
        return {*roles, *self.named.values(), *self.context, "tie"}

    def rename(self, votes: Columns, ids: np.ndarray | None = None) -> Columns:
        """The comparisons under the names that pairscore knows; context keeps its names.

        The winner may be told by the name of a side's column, as in ``model_a``.
        """
        by_name = [name for name in votes.columns if name in self._unnamed_roles]
        columns = {name: votes.get_column(name) for name in (*self.context, *by_name)}
        columns |= {role: votes.get_column(name) for role, name in self.named.items()}
        if "tie" in votes.columns and "tie" not in self.named.values():
            columns.setdefault("tie", votes.get_column("tie"))
        sides = {name: role for role, name in self.named.items() if role in ("left", "right")}
        sides = {name: role for name, role in sides.items() if name != role}
        if sides and "winner" in columns:
            columns["winner"] = _winner_by_side(columns["winner"], sides, ids)
        return Columns(columns, from_file=True)


class PairColumns(VoteColumns):
    """The columns of pairs that nobody has compared: as comparisons, without a winner."""

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table; a winner is none of them."""
        known = {*names, *self.named} - {*self.named.values()}
        if not any(known >= {*sides} for sides in LAYOUTS):
            raise PairscoreError(
                f"the pairs have columns {first_few(map(repr, names), 8)}; they need left and right"
                " with the ids of two items; name those with other names: left=, right=."
            )
        chosen = super().choose([*names, *({"winner"} - {*names})], lists)
        return {*chosen} - {"winner", "tie"}

    def rename(self, votes: Columns, ids: np.ndarray | None = None) -> Columns:
        """The pairs under the names that pairscore knows, as if left had won."""
        columns = dict(super().rename(votes, ids))
        left = next(name for name in ("left", *SIDES) if name in columns)
        return Columns({**columns, "winner": columns[left]}, from_file=True)


def _winner_by_side(winner: Column, sides: dict[str, str], ids: np.ndarray | None) -> Column:
    """The names of the sides' columns, in the column of winners, as left and right."""
    used = [name for name in sides if name in set(winner.values.tolist())]
    clash = sorted(set(used) & set(map(str, [] if ids is None else ids.tolist())))
    if clash:
        raise PairscoreError(
            f"{clash[0]!r} is both an item and the column of a side, so a winner of that name is"
            " unclear; rename the item or the column."
        )
    if not used:
        return winner
    values = [sides.get(v, v) if isinstance(v, str) else v for v in winner.values.tolist()]
    return Column(np.array(values, dtype=object), winner.codes)
