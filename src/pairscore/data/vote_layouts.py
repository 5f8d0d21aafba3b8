"""Layouts: the columns that say together who was compared and who won."""

from collections.abc import Collection
from typing import NamedTuple

from pairscore.display import closest, first_few
from pairscore.errors import (
    PairscoreError,
)
from pairscore.messages import Setting, Text, either, join

LAYOUTS = (("left", "right"), ("model_a", "model_b"))
NO_SIDES = ("winner", "loser")
NEEDED = "; or ".join(
    ", ".join(dict.fromkeys((*sides, "winner"))) for sides in (*LAYOUTS, NO_SIDES)
)
SAY_WHICH = (
    " Say which these are with "
    + either([Setting(role) for role in ("left", "right", "winner")], " and ")
    + "."
)


class Layout(NamedTuple):
    """Who was compared is in two columns, and who won, or who lost, in the one that is ``told``."""

    sides: tuple[str, str]
    told: str

    @property
    def has_sides(self) -> bool:
        """Whether comparisons have a left and a right side."""
        return self.sides != NO_SIDES


def compared_in(names: Collection[str]) -> tuple[str, str] | None:
    """The two columns that say who was compared, if columns of these names have them."""
    return next((two for two in (*LAYOUTS, NO_SIDES) if {*two} <= {*names}), None)


def layout_of(known: Collection[str], named: Collection[str] = ()) -> Layout | None:
    """The layout of comparisons with columns of these roles; None if they are not enough.

    Columns that somebody ``named`` come first: a loser before a winner that is only called so.
    """
    both = next((two for two in LAYOUTS if {*two} <= {*known}), None)
    if {*NO_SIDES} <= {*named} and not (both and {*both} <= {*named}):
        return Layout(NO_SIDES, "winner")
    if both and "loser" in named and "winner" not in named:
        return Layout(both, "loser")
    told = next((role for role in NO_SIDES if role in known), None)
    if both and told:
        return Layout(both, told)
    return Layout(NO_SIDES, "winner") if {*NO_SIDES} <= {*known} else None


def no_layout(names: Collection[str]) -> PairscoreError:
    """The sentence where columns of these names do not say who was compared and who won."""
    return PairscoreError(
        f"the comparisons have columns {first_few(map(repr, names), 8)}; they need {NEEDED}."
        + SAY_WHICH
        + likely_layout(names)
    )


def likely_layout(names: Collection[str]) -> Text:
    """The first layout whose columns have names like these, as a question."""
    for sides in (*LAYOUTS, NO_SIDES):
        roles = (*sides, "winner")
        likely = {role: role if role in names else closest(role, names) for role in roles}
        if None not in likely.values():
            others = [Setting(role, name) for role, name in likely.items() if name != role]
            return " Did you mean " + join(", ", others) + "?" if others else Text.of("")
    return Text.of("")
