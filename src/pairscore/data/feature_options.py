"""From settings such as ``features=["a", "b"]`` and ``squares=["a"]`` to a recipe for a table.

The settings are those of ``pairscore fit`` (``--features``, ``--square``, ...). In Python,
``RankRegression(missing=...)`` comes here for tables with missing values.
"""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.choices import ID_WORDS, MISSING_RULES, has_word
from pairscore.data.features import Recipe, is_numeric, level_names, numeric_column
from pairscore.data.items import Items, leave_out, plain_id, read_items
from pairscore.data.tables import (
    ID_COLUMN,
    Columns,
    Frame,
    as_frame,
    backend_of,
    column_of,
    ids_of,
    is_missing,
    list_lengths,
    refuse_other_dimensions,
    spread_lists,
    to_array,
)
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import EmptyColumnsError, PairscoreError, warn_caller

DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}){1,2}|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}"
    r"|[0-9]{2,4}年[0-9]{1,2}月([0-9]{1,2}日)?|[0-9]{1,2}[. ]+\w{3,9}[. ]+[0-9]{4})"
    r"([T ]+[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?)?Z?|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
)
SIGNED = re.compile(r"\s*([-+]?[%$€£¥]\s*[-+]?\d[\d.,' ]*|[-+]?\d[\d.,' ]*\s*[%$€£¥])\s*")
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
FEW_NUMBERS = 10  # different ones, up to which they may be levels such as grades
MOST_LEVELS = 20  # of text that is proposed as categories, where items are few
MAX_LEVELS = 1000
LIST_SETTINGS = {"features", "exclude", "categorical", "squares", "interactions"}


def make_recipe(
    table: Columns,
    *,
    id: str | None = None,
    features: Collection[str] = (),
    exclude: Collection[str] = (),
    categorical: Collection[str] = (),
    squares: Collection[str] = (),
    interactions: Collection[str] = (),
    missing: str = "refuse",
    reference: Mapping[str, str] | None = None,
) -> tuple[Recipe, list[str]]:
    """Decide how the columns of an item table become features.

    Parameters
    ----------
    table : Columns
        One row per item.
    id
        Column that names the items; ``id`` if there is one, else items go by row number.
    features
        Columns to use as numbers. Without any, every numeric column is a feature.
    exclude
        Columns to leave out.
    categorical
        Columns to make into 0/1 columns, one per level; at most 1000 levels.
    squares
        Features whose square to add.
    interactions
        Features whose product to add, written ``a:b``; a category gives one per level.
    missing : {"refuse", "drop-items", "mean-with-flag", "item-effect"}
        What happens to missing values. The last two look at ``table`` for gaps: they take the
        means that fill them, or the items that have some.
    reference
        By category, the level that the others are shown against, such as ``{"style": "oil"}``; a
        column that is named here is a category. Without one, coefficients of levels are shown
        against the average of all levels.

    Returns
    -------
    recipe : Recipe
    text : list of str
        Text columns that are no features, because nothing named them.

    Raises
    ------
    PairscoreError
        Where a setting names a column that is not there or text as a number, where nothing is left
        to learn from, or where a feature would be made twice.
    """
    if missing not in MISSING_RULES:
        raise PairscoreError(
            f"missing is {missing!r}; use one of {first_few(map(repr, MISSING_RULES))}."
        )
    id = id or (ID_COLUMN if ID_COLUMN in table else None)
    reference = dict(reference or {})
    categorical = tuple(dict.fromkeys([*categorical, *reference]))
    by_place = {*list_lengths([*features, *exclude])}
    features, categorical = _spread_names(features, table), _spread_names(categorical, table)
    _refuse_unknown(table, id=id, reference=reference, features=features, categorical=categorical)
    named = {id, *_spread_names(exclude, table), *categorical}
    others = [name for name in table if name not in named]
    text = [] if features else [name for name in others if not is_numeric(table, name)]
    no_numbers = {*categorical, *text}
    numeric = [name for name in features or others if name not in no_numbers]
    if not numeric and not categorical:
        left_out = f" (text: {first_few(map(repr, text))})" if text else ""
        raise PairscoreError(
            f"the item table has no numeric column to learn from{left_out}; add one, or make"
            " a text column 0/1 columns; to rank items without features, give the comparisons"
            " alone (None as items)."
        )
    levels = {name: _levels(table, name) for name in categorical}
    _refuse_other_levels(reference, levels)
    recipe = Recipe(tuple(numeric), levels, missing=missing, id=id, reference=reference)
    lists = {name: n for name, n in list_lengths(numeric).items() if name not in by_place}
    for name in numeric:
        numeric_column(table, name)  # text that is named as a feature is refused
    recipe = replace(
        recipe,
        lists=lists,
        squares=_squares(_spread_names(squares, table), recipe),
        interactions=tuple(_pair(term, recipe) for term in interactions),
    )
    recipe = GAP_RULES[missing](recipe, table) if missing in GAP_RULES else recipe
    _refuse_repeated(recipe.names)
    return recipe, text


def item_columns(
    names: Collection[str],
    nested: Collection[str],
    *,
    id: str | None = None,
    features: Collection[str] = (),
    exclude: Collection[str] = (),
    categorical: Collection[str] = (),
    reference: Collection[str] = (),
    **_: Any,
) -> set[str]:
    """The columns of a file that :func:`make_recipe` looks at with these settings.

    Those that the settings name and, without ``features``, all others of ``names`` but the
    ``nested`` ones (lists and records), which can be no features.
    """
    named_columns = {"features": features, "exclude": exclude, "categorical": categorical}
    named_columns = {setting: _spread_names(n, names) for setting, n in named_columns.items()}
    features, exclude, categorical = named_columns.values()
    _refuse_unknown(names, id=id, reference=reference, **named_columns)
    others = set() if features else {*names}.difference(exclude, nested)
    return {id or ID_COLUMN, *features, *categorical, *others}


def split_names(texts: Iterable[str]) -> list[str]:
    """The names in texts such as ``a,b`` or ``"x, y",z``, each once.

    >>> split_names(["a,b", '"x, y",b'])
    ['a', 'b', 'x, y']
    """
    rows = csv.reader(texts, skipinitialspace=True)
    return list(dict.fromkeys(name.strip() for row in rows for name in row if name.strip()))


def _levels(table: Columns, name: str) -> tuple[str, ...]:
    """The levels of a category, sorted."""
    levels = {level for level in level_names(table.get_column(name).values) if level is not None}
    if not levels or len(levels) > MAX_LEVELS:
        raise PairscoreError(
            f"the column {name!r} has {plural(len(levels), 'level')}, and a category has from 1 to"
            f" {MAX_LEVELS}; leave it out, or group its levels."
        )
    return tuple(sorted(levels))


def _squares(names: Collection[str], recipe: Recipe) -> tuple[str, ...]:
    for name in names:
        if name in recipe.categorical:
            raise PairscoreError(
                f"the square of the category {name!r} is the category itself; leave it out of"
                " squares=."
            )
        if name not in recipe.features:
            known = first_few(map(repr, recipe.features), 8)
            raise PairscoreError(
                f"squares names {name!r}, which is not a feature; the features are"
                f" {known}.{did_you_mean(name, recipe.features)}"
            )
    return tuple(names)


def _pair(term: str, recipe: Recipe) -> tuple[str, str]:
    """The two columns of ``a:b``; a colon may also belong to a name."""
    parts = term.split(":")
    splits = [
        (":".join(parts[:cut]).strip(), ":".join(parts[cut:]).strip())
        for cut in range(1, len(parts))
    ]
    known = [pair for pair in splits if set(pair) <= set(recipe.sources)]
    if len(known) != 1:
        unknown = [name for pair in splits for name in pair if name not in recipe.sources]
        close = did_you_mean(unknown[0], recipe.sources) if unknown else ""
        raise PairscoreError(
            f"interactions=[{term!r}] does not name two features; write a:b, with two of"
            f" {first_few(map(repr, recipe.sources), 8)}.{close}"
        )
    first, second = known[0]
    if first == second:
        raise PairscoreError(
            f"interactions=[{term!r}] is a column with itself; use squares=[{first!r}]."
        )
    return first, second


# -- missing values --------------------------------------------------------------------------------


def _flag_gaps(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with means, and a note, for the columns that have gaps."""
    values = _source_values(recipe, table)
    counts = np.isnan(values).sum(axis=0)
    gaps = {name: count for name, block in recipe.blocks.items() if (count := counts[block.start])}
    empty = [name for name, count in gaps.items() if count == len(table)]
    if empty:
        raise EmptyColumnsError(empty)
    by_column = first_few(f"{count} of {name}" for name, count in gaps.items())
    note = f"filled with the mean, and flagged: {by_column}" if gaps else ""
    groups: dict[bytes, list[str]] = {}  # by the items where they are missing
    for name in gaps:
        where = np.isnan(values[:, recipe.blocks[name].start])
        groups.setdefault(where.tobytes(), []).append(name)
    shared = [first_few(names, 3) for names in groups.values() if len(names) > 1]
    note += f"; missing together, with one flag: {first_few(shared)}" if shared else ""
    flags = tuple(map(tuple, groups.values()))
    return replace(recipe, means=_means(recipe, values, gaps), flags=flags, note=note)


def _give_effects(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with an effect for every item that has gaps, and a note that names them."""
    values = _source_values(recipe, table)
    gaps = np.isnan(values).any(axis=1)
    n_gaps = int(gaps.sum())
    if n_gaps == 0:
        return recipe
    if recipe.id is None:
        raise PairscoreError(
            "items with missing values get separate effects by their ids, and the item table"
            " has none; add a column 'id'."
        )
    if n_gaps == len(table) or n_gaps > MAX_LEVELS:
        raise PairscoreError(
            f"{n_gaps} of {plural(len(table), 'item')} have missing values, too many for"
            " separate effects; use missing='mean-with-flag'."
        )
    names = tuple(str(name) for name in table[recipe.id][gaps].tolist())
    own = f"an effect of {'its' if len(names) == 1 else 'their'} own"
    note = f"{plural(len(names), 'item')} with {own}: {first_few(map(repr, names))}"
    means = _means(recipe, values, recipe.blocks)
    return replace(recipe, means=means, effect_items=names, note=note)


GAP_RULES = {"mean-with-flag": _flag_gaps, "item-effect": _give_effects}


def _source_values(recipe: Recipe, table: Columns) -> np.ndarray:
    """The columns of the sources alone (N x width of all blocks), with NaN in the gaps."""
    return replace(recipe, squares=(), interactions=()).matrix(table)


def _means(
    recipe: Recipe, values: np.ndarray, names: Collection[str]
) -> dict[str, tuple[float, ...]]:
    """Means of the values that are there, by column; one for each level of a category."""
    return {
        name: tuple(np.nanmean(values[:, recipe.blocks[name]], axis=0).tolist()) for name in names
    }


def read_with_settings(items: Any, missing: str = "refuse", **settings: Any) -> Items:
    """Read a table of items, of any kind that ``read_items`` takes, as settings say.

    Parameters
    ----------
    items
        Missing are NaN, None and the empty cells of a dataframe. Text that no setting names is
        left out with a warning.
    missing : {"refuse", "drop-items", "mean-with-flag", "item-effect"}
        Leave items with missing values out; fill in the mean of the column and add a 0/1 column
        ``<name> missing`` (one for columns that are missing for the same items); or give each item
        with missing values a 0/1 column ``item <id>`` and the mean of every feature.
    settings
        Of :func:`make_recipe`; the name of a column of lists stands for all their numbers.

    Returns
    -------
    Items
        With the ``recipe``, if there were settings, by which new items get the same features.
    """
    if missing not in MISSING_RULES:
        raise PairscoreError(
            f"missing is {missing!r}; use one of {first_few(map(repr, MISSING_RULES))}."
        )
    settings = {setting: given for setting, given in settings.items() if given}
    if isinstance(items, Items) and settings:
        raise PairscoreError(
            f"{next(iter(settings))}= is for a table, and these items have been read; name columns"
            " where they are read."
        )
    if isinstance(items, Items) or (missing == "refuse" and not settings):
        return read_items(items)
    recipe, table = _recipe_of_table(items, missing, settings)
    return _read_by_recipe(recipe, table, items)


def read_with_gaps(items: Any, **settings: Any) -> tuple[Recipe, Items]:
    """The items of a table with NaN where values are missing, and the recipe that drops these."""
    settings = {setting: given for setting, given in settings.items() if given}
    recipe, table = _recipe_of_table(items, "drop-items", settings)
    return recipe, recipe.items_with_gaps(table, backend_of(as_frame(items)))


def _recipe_of_table(items: Any, missing: str, settings: dict[str, Any]) -> tuple[Recipe, Columns]:
    """How a table of any kind becomes features, and its columns; text is left out and told."""
    for name in LIST_SETTINGS & {*settings}:
        settings[name] = [settings[name]] if isinstance(settings[name], str) else settings[name]
    table = _to_columns(items, settings.get("id"), settings.get("exclude", ()))
    recipe, text = make_recipe(table, missing=missing, **settings)
    if text:
        leave_out(table, text)
    return recipe, table


def _spread_names(names: Iterable[str], columns: Collection[str]) -> list[str]:
    """Names of columns, with those of its numbers for a column of lists."""
    numbers: dict[str, list[str]] = {}
    for name in names:
        of_list = () if name in columns else (c for c in columns if {*list_lengths([c])} == {name})
        numbers[name] = [*of_list] or [name]
    return [one for name in names for one in numbers[name]]


def apply_recipe(recipe: Recipe, items: Any) -> Items:
    """The items of a table of any kind, with features by the recipe of a model.

    A table that already has the features of the recipe, and not the columns they are made of, is
    read as it is, as are :class:`Items`. Without an ``id`` column, items go by row number.
    """
    if isinstance(items, Items):
        return items
    frame = as_frame(items)
    if frame is None:
        has_features = to_array(items, "the items are").shape[1:] == (len(recipe.names),)
    else:
        columns = set(map(str, frame.columns))
        has_features = set(recipe.names) <= columns and not set(recipe.sources) <= columns
    if has_features:
        return read_items(items)
    table = _to_columns(items, wanted=recipe.sources)
    id = next((name for name in (recipe.id, ID_COLUMN) if name in table.columns), None)
    read = _read_by_recipe(replace(recipe, id=id), table, items)
    if dropped := len(table) - len(read):
        who = f"{plural(dropped, 'item')} of {len(table)}"
        warn_caller(f"{who} with missing values left out, as in the fit.")
    return read


def _read_by_recipe(recipe: Recipe, table: Columns, items: Any) -> Items:
    """Items by the recipe, which remember it and the kind of the caller's table."""
    backend = backend_of(as_frame(items))
    return replace(recipe.items(table), backend=backend, recipe=recipe.to_record())


def _to_columns(
    items: Any,
    id: str | None = None,
    exclude: Collection[str] = (),
    wanted: Collection[str] | None = None,
) -> Columns:
    """Any table as named columns, without those to exclude; an index that says something is the
    id, unless another column is. Of lists, only the ``wanted`` ones are spread.
    """
    given = as_frame(items)
    if given is None:
        values = items if np.ma.isMaskedArray(items) else to_array(items, "the items are")
        refuse_other_dimensions(values)
        given = Columns({f"x{number}": column for number, column in enumerate(values.T)})
    _refuse_unknown([str(name) for name in given.columns], None, exclude=exclude)
    kept = _without(given, [name for name in given.columns if str(name) in {*exclude}])
    spread = spread_lists(kept, wanted)
    columns: dict[str, Any] = {str(n): column_of(spread, n) for n in spread.columns}
    if id is not None and ID_COLUMN not in given.columns:
        columns.pop(ID_COLUMN, None)  # the index
    elif ID_COLUMN not in columns and (ids := ids_of(given)) is not None:
        columns = {ID_COLUMN: ids, **columns}
    return Columns(columns, isinstance(given, Columns) and given.from_file)


def _without(frame: Frame, names: list[Any]) -> Frame:
    if not isinstance(frame, Columns):
        return frame.drop(*names) if names else frame
    kept = {name: frame.get_column(name) for name in frame if name not in names}
    return Columns(kept, frame.from_file)


# -- refusals --------------------------------------------------------------------------------------


def _refuse_unknown(columns: Collection[str], id: str | None, **settings: Collection[str]) -> None:
    """Every name in a setting must be that of a column."""
    present = set(columns)
    for setting, names in {"id": [id] if id else [], **settings}.items():
        for name in names:
            if name not in present:
                known = first_few(map(repr, columns), 8)
                raise PairscoreError(
                    f"{setting} names {name!r}, and the item table has no such column; it has"
                    f" {known}.{did_you_mean(name, columns)}"
                )


def _refuse_repeated(names: tuple[str, ...]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise PairscoreError(
            f"{plural(len(repeated), 'feature')} would be made twice:"
            f" {first_few(map(repr, repeated))}; rename a column or drop a term."
        )


def _refuse_other_levels(reference: dict[str, str], levels: dict[str, tuple[str, ...]]) -> None:
    for name, level in reference.items():
        if level not in levels[name]:
            raise PairscoreError(
                f"reference names the level {level!r} of {name!r}, which no item has; its levels"
                f" are {first_few(map(repr, levels[name]), 8)}.{did_you_mean(level, levels[name])}"
            )


def kinds_of_text(table: Columns, names: Iterable[str]) -> dict[str, Any]:
    """Text as dates, numbers with a sign, numbers among words, labels that differ by item, or
    possible categories.
    """
    kinds: dict[str, Any] = {"left_out": [], "dates": [], "labels": [], "signed": [], "mixed": {}}
    for name in names:
        filled = [str(entry) for entry in table[name].tolist() if not is_missing(entry)]
        dates = sum(DATE.fullmatch(entry.strip()) is not None for entry in filled)
        kind = "labels" if len(set(filled)) > max(MOST_LEVELS, len(filled) / 2) else "left_out"
        kind = "signed" if filled and all(map(SIGNED.fullmatch, filled)) else kind
        kind = "dates" if filled and dates >= 0.9 * len(filled) else kind
        words = [entry for entry in filled if not PLAIN_NUMBER.fullmatch(entry.strip())]
        numbers = len({*filled} - {*words})
        if (
            kind in ("left_out", "labels")
            and numbers > FEW_NUMBERS
            and 2 * len(words) < len(filled)
        ):
            kinds["mixed"][name] = Counter(words)
        else:
            kinds[kind].append(name)
    return kinds


def likely_id(table: Columns) -> str | None:
    """The first column that could have ids: each entry once, text or numbers that count items."""
    for place, name in enumerate(table.columns):
        texts = ["" if is_missing(entry) else plain_id(entry) for entry in table[name].tolist()]
        if len({*texts}) < len(texts) or "" in texts or any(map(DATE.fullmatch, texts)):
            continue
        if all(text.isdecimal() for text in texts):
            counts = int(max(texts, key=int)) - int(min(texts, key=int)) == len(texts) - 1
            if place == 0 or counts or has_word(name, ID_WORDS):
                return name
        elif not any(re.fullmatch(r"\W*\d[\d.,' ]*\W*", text) for text in texts):
            return name
    return None
