"""More votes, and perhaps items, for a model that is fitted already."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.choices import REPEATED
from pairscore.data.column_roles import check_names, rename_votes
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.data.repeated_comparisons import refuse_repeated
from pairscore.data.votes import PER_ROW, Votes, items_of_votes, read_votes
from pairscore.errors import PairscoreError
from pairscore.estimators.estimate import Note
from pairscore.estimators.settings import Settings
from pairscore.messages import Action, Setting
from pairscore.model.fit import KEEP_THE_DATA, Fit
from pairscore.model.fit_comparisons import fit_comparisons
from pairscore.parallel import ALONE, Workers


def update_fit(
    fit: Fit,
    settings: Settings,
    votes: Any,
    items: Items | None = None,
    *,
    self_pairs: str = "error",
    item_groups: np.ndarray | None = None,
    columns: Mapping[str, Any] | None = None,
    repeated: str = "refuse",
    parts: Mapping[str, np.ndarray] | None = None,
    workers: Workers = ALONE,
) -> tuple[Fit, list[Note]]:
    """Add votes, and perhaps items, to those of a fit, and fit to all from where it stands.

    ``items`` has new items with the same features and ids of their own; without features, the items
    that a table of votes names for the first time are added. ``votes`` are of any kind that
    :func:`~pairscore.data.votes.read_votes` takes, and ``columns`` has their names by role, and
    perhaps ``winner_codes``. Votes that the fit has already are refused unless ``repeated`` is
    ``"add"``; ``parts`` says which rows came from which file.
    """
    if repeated not in REPEATED:
        raise PairscoreError(Setting("repeated") + f" is {repeated!r}", "use 'refuse' or 'add'")
    if fit.comparisons is None:
        raise PairscoreError("the model has no comparisons to add to", KEEP_THE_DATA)
    if fit.item_groups is not None and item_groups is None and items is not None:
        raise PairscoreError(
            "the fit held groups of items out together",
            [
                "pass the groups of all items to " + Action("update") + ", the new ones last",
                "fit again to all items with " + Setting("item_groups"),
            ],
        )
    before = fit.comparisons
    names = dict(columns or {})
    codes = names.pop("winner_codes", None)
    of_items, roles = check_names(names)
    if of_items:
        raise PairscoreError(
            Setting(next(iter(of_items))) + " is part of the fit, and new items are read as there",
            ["leave it out", "fit again"],
        )
    votes, sides = rename_votes(votes, roles, settings.context)
    if not fit.n_features and items is None and not isinstance(votes, Votes):
        items = unknown_items(before.items, items_of_votes(votes))
    table = before.items if items is None else before.items.with_new_items(items)
    more = read_votes(votes, table, self_pairs, len(before), settings.context, codes, sides)
    groups = fit.item_groups if item_groups is None else item_groups
    votes = join_votes(before.votes, more)
    if repeated == "refuse":
        refuse_repeated(before.votes, more, parts)
    if groups is not None or items is not None:
        votes = replace(votes, item_groups=groups)
    data = Comparisons.of(table, votes)
    result, notes = fit_comparisons(data, settings, item_groups=groups, start=fit, workers=workers)
    return replace(result, wording=fit.wording), notes


def unknown_items(known: Items, named: Items) -> Items | None:
    """Those of the named items that are not known yet; None if all are."""
    rows = known.find_rows_by_text(np.asarray(named.names))
    return named.take(np.flatnonzero(rows < 0)) if np.any(rows < 0) else None


def join_votes(votes: Votes, more: Votes) -> Votes:
    """The comparisons of both, which are of one item table."""
    columns: dict[str, Any] = {}
    for name in PER_ROW:
        first = getattr(votes, name)
        second = getattr(more, name)
        if name == "judge" and (first is None) != (second is None):
            raise PairscoreError(
                "only some of the comparisons say who judged", "give a judge for all, or for none"
            )
        if (first is None) != (second is None):
            first = np.ones(len(votes)) if first is None else first
            second = np.ones(len(more)) if second is None else second
        try:
            columns[name] = None if first is None else np.concatenate([first, second])
        except TypeError:
            raise PairscoreError(
                f"the {name} of the new comparisons is of another kind than that of the old ones",
                "write both in the same way",
            ) from None
    if set(votes.context) != set(more.context):
        raise PairscoreError(
            f"the new comparisons have the context {sorted(more.context)} and the old ones"
            f" {sorted(votes.context)}; give the same columns."
        )
    context = {name: np.concatenate([c, more.context[name]]) for name, c in votes.context.items()}
    sides_known = votes.sides_known and more.sides_known
    return replace(votes, **columns, context=context, sides_known=sides_known)
