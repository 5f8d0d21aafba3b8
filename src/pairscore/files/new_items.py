"""New items for a model that is there."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from pairscore.data.find_ids import (
    find_id_column,
    found_words,
    names_in,
)
from pairscore.data.items import Items
from pairscore.data.recipe import recipe_of
from pairscore.files.columns_to_read import (
    ItemColumns,
    OpenPairColumns,
    VoteChoice,
    open_table,
    open_tables,
    sheet_of_items,
)
from pairscore.files.new_comparisons import sheet_of_pairs
from pairscore.files.study import items_or_faults
from pairscore.files.tables import (
    OpenFiles,
    warn_of,
)
from pairscore.files.workbooks import first_sheet
from pairscore.messages import Piece


def read_new_items(items_file: Any, fit: Any, id: str | None = None, **reading: Any) -> Items:
    """Items from a file, with the features of a fit; ``id`` names another column of ids."""
    recipe = recipe_of(fit) if id is None else replace(recipe_of(fit), id=id)
    needed = ItemColumns(recipe=recipe, id_is_optional=id is None and fit.recipe is None)
    with open_table(items_file, needed, **sheet_of_items(reading)) as stored:
        table = stored.read()
        return items_or_faults(needed.recipe_for(table.columns), table, stored)


def find_id_for_pairs(
    items_file: Any,
    pairs_file: Any,
    fit: Any,
    context: Collection[str],
    vote_columns: Mapping[str, str | None],
    kept_columns: Mapping[str, str] | None = None,
    sheet: Sequence[str] = (),
    say: Callable[[Piece], None] = warn_of,
    files: OpenFiles | None = None,
    **reading: Any,
) -> str | None:
    """The column of ids of new items, by the pairs, where the model does not know which it is."""
    recipe = recipe_of(fit)
    needed = ItemColumns(recipe=recipe, id_is_optional=True)
    columns = VoteChoice(OpenPairColumns.of(vote_columns, context, kept_columns))
    quiet: dict[str, Any] = {"say": lambda text: None}  # it is said when they are read for good
    with ExitStack() as stack:
        files = files or stack.enter_context(OpenFiles())
        of_pairs = sheet_of_pairs(pairs_file, sheet, quiet["say"], files, columns.columns)
        table, pairs = open_tables(
            stack,
            [(items_file, needed, first_sheet(sheet)), (pairs_file, columns, of_pairs)],
            reading | quiet | {"files": files},
        )
        texts = table.read_texts()
        if recipe.id in texts.columns:
            return None
        names = names_in(columns.roles.rename(pairs.read()))
        found = find_id_column(texts, names, features=recipe.sources, by_text=True)
        if found is not None:
            say(f"{table.source.shown!r}: {found_words(found)}.")
        return found
