"""Items and comparisons of a command, from files: checked once, with all faults of both files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pairscore.data.column_roles import VoteColumns, VoteRoles
from pairscore.data.comparisons import Comparisons, without_incomplete_items
from pairscore.data.find_ids import (
    FaultyIdsError,
    IdsUnclearError,
    find_id_column,
    find_rows,
    found_words,
    id_settings,
    most_faults,
    names_in,
    refuse_counts_from_1,
)
from pairscore.data.items import Items, plain_id
from pairscore.data.recipe import Recipe
from pairscore.data.tables import Columns
from pairscore.data.votes import CodesUnclearError, Votes
from pairscore.display import first_few, plural
from pairscore.errors import BadEntriesError, EmptyColumnsError, PairscoreError
from pairscore.files.bad_rows import BadFilesError, SeveralFaultsError, all_faults, locate_faults
from pairscore.files.choose_sheets import choose_sheets
from pairscore.files.columns_to_read import (
    ItemColumns,
    VoteChoice,
    open_table,
    open_tables,
    sheet_of_items,
)
from pairscore.files.comparisons import VoteRows, VoteRules
from pairscore.files.find_sides import (
    ColumnsUnclearError,
    Rows,
    Texts,
    as_texts,
    find_sides,
    id_columns,
    unclear_columns,
    with_sides,
)
from pairscore.files.kinds_of_text import kinds_of_text, likely_id
from pairscore.files.tables import (
    JoinedTables,
    OpenFiles,
    StoredTable,
    once,
    warn_of,
)
from pairscore.messages import Piece, Setting, join

ANSWERS = ("left", "right", "winner", "loser", "winner_codes")  # in the order of a command

BY_ROW = "the items have no column 'id': they are known by row number, from 0 to"


@dataclass(frozen=True)
class ItemsInput:
    """Items from a file, ready for use.

    ``recipe`` made their features. No features are ``left_out``, text that could be categories;
    ``nested``, lists or records; ``dates``; ``labels``, text of single items; ``signed``, with %;
    ``mixed``, numbers among a few words, which it counts.
    """

    items: Items
    recipe: Recipe
    left_out: list[str]
    nested: list[str]
    dates: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)
    mixed: dict[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StudyInput(ItemsInput):
    """Items and votes from files, and the group of every item where groups were named.

    ``vote_columns`` has the columns of the comparisons by role, where they have other names;
    ``unused`` the others; ``sheets`` is that of the items, and ``vote_sheets`` are those of the
    comparisons, if they were named.
    """

    votes: Votes
    groups: np.ndarray | None = None
    vote_columns: dict[str, Any] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    sheets: list[str] = field(default_factory=list)
    vote_sheets: list[str] = field(default_factory=list)

    @property
    def comparisons(self) -> Comparisons:
        """Items with the votes on them; the items know how their features were made."""
        recipe = self.recipe.to_record() if self.recipe.sources else None
        return Comparisons.of(replace(self.items, recipe=recipe), self.votes)


# -- which columns are read ------------------------------------------------------------------------


# -- comparisons under known names -----------------------------------------------------------------


# -- items and comparisons -------------------------------------------------------------------------


def read_item_file(items_file: Any, *, columns: Mapping[str, Any], **reading: Any) -> ItemsInput:
    """Read items from a file.

    ``columns`` are the settings of ``make_recipe``; ``reading`` may name delimiter and encoding.
    """
    needed, reading = ItemColumns(columns), sheet_of_items(reading)
    with open_table(items_file, needed, **reading) as stored:
        table = stored.read()
        recipe, left_out = needed.make_recipe(table)
        items = items_or_faults(recipe, table, stored)
    dropped = len(table) - len(items)
    note = f"{plural(dropped, 'item')} dropped" if dropped else recipe.note
    unused = kinds_of_text(table, left_out)
    return ItemsInput(items, replace(recipe, note=note), nested=needed.nested, **unused)


def read_study(items_file: Any, votes_file: Any, **settings: Any) -> StudyInput:
    """Read items and comparisons from files; see :func:`_read_study`.

    What has to be asked of the user is asked in one refusal: words in place of numbers are taken
    for missing values, and an unclear column for the winner, to see what else is wrong.
    """
    if "files" not in settings:
        with OpenFiles() as files:
            return read_study(items_file, votes_file, files=files, **settings)
    refusal: PairscoreError | None = None
    also: list[PairscoreError] = []
    while True:
        try:
            study = _read_study(items_file, votes_file, **settings)
        except PairscoreError as error:
            # a column without any value is left out where the user lets the command choose
            is_second = refusal is not None and not isinstance(error, EmptyColumnsError)
            were_listed = isinstance(refusal, BadFilesError)
            also += (_in_short(error) if were_listed else [error]) if is_second else []
            refusal = error if refusal is None else refusal
            more = {} if "-" in map(str, (items_file, votes_file)) else _assumed(error, settings)
            if more:
                settings = settings | more | {"say": lambda text: None}
                continue
        if refusal is None:
            return study
        if not also:
            raise refusal
        remedy = _in_one_line([refusal, *also])
        if isinstance(refusal, BadFilesError):
            raise BadFilesError(refusal.errors, [*refusal.also, *also], remedy) from None
        raise SeveralFaultsError([refusal], also, remedy) from None


def _in_one_line(faults: Sequence[PairscoreError]) -> Piece:
    """What several questions ask for, in one line to copy; nothing where one alone does."""
    asked: dict[str, Any] = {}
    for fault in faults:
        if isinstance(fault, ColumnsUnclearError):
            asked |= fault.likely
        if isinstance(fault, CodesUnclearError):
            asked["winner_codes"] = fault.codes
    if len(asked) < 2 or len(faults) < 2:
        return ""
    answers = [Setting(name, asked[name]) for name in sorted(asked, key=ANSWERS.index)]
    return "In one line, to be corrected where it is otherwise: " + join(" ", answers)


def _in_short(error: PairscoreError) -> list[PairscoreError]:
    """What else is wrong; of values that are missing, which were listed already, what to do."""
    if isinstance(error, BadFilesError):
        reasons = {row.reason for one in error.errors for row in one.rows}
        if reasons == {"missing"}:
            remedies = error.errors[0].message.remedies
            return [PairscoreError("missing values need a rule", remedies), *error.also]
    return [error]


def _assumed(error: PairscoreError, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with which a file can be read on, after a refusal; nothing where there are none."""
    if isinstance(error, BadFilesError):
        words = {word for one in error.errors for word in one.words}
        is_new = words and not words <= {*settings.get("na", ())}
        all_words = all(one.words for one in error.errors)
        return {"na": [*settings.get("na", ()), *sorted(words)]} if is_new and all_words else {}
    if isinstance(error, ColumnsUnclearError):
        given = settings.get("vote_columns") or {}
        is_new = bool(error.likely) and not {*error.likely.items()} <= {*given.items()}
        return {"vote_columns": {**given, **error.likely}} if is_new else {}
    return {}


def _read_study(
    items_file: Any,
    votes_file: Any,
    *,
    recipe: Recipe | None = None,
    columns: Mapping[str, Any] | None = None,
    vote_columns: Mapping[str, str | None] | None = None,
    kept_columns: Mapping[str, str] | None = None,
    winner_codes: Mapping[Any, str] | None = None,
    self_pairs: str = "error",
    id_is_optional: bool = False,
    seed: int = 0,
    context: Collection[str] = (),
    group: str | None = None,
    sheet: Sequence[str] = (),
    say: Callable[[Piece], None] = warn_of,
    files: OpenFiles,
    **reading: Any,
) -> StudyInput:
    """Read items and comparisons from files; columns that neither needs may hold anything.

    The sides of the comparisons and the ids of the items are found by what is in the columns, where
    there is only one way to understand the files, and ``say`` is told.

    Parameters
    ----------
    items_file, votes_file
        Paths of CSV, Parquet or JSONL files or workbooks; one of them may be ``-``, CSV from
        standard input. One workbook may hold both. Comparisons may be in several files with the
        same columns (one for each judge): a list.
    recipe : Recipe or None
        That of a model; without one it is made from ``columns``.
    columns : dict
        Settings of ``make_recipe``: id, features, exclude, categorical, ...
    vote_columns, kept_columns : dict
        Which columns of the comparisons are ``left``, ``winner``, ... under other names; kept ones
        are those of an earlier file, and count where this one has such columns.
    winner_codes, self_pairs, seed, context
        As in :func:`~pairscore.data.votes.read_votes`.
    id_is_optional : bool
        Whether items are known by row number where the recipe's column of ids is absent.
    group : str or None
        A column of the items that says which belong together.
    sheet : names
        Sheets of workbooks: that of the items, if these are in one, then those of the comparisons.
        Without names, all sheets of comparisons with the same columns are read.
    files
        Those of the command: what was read once is not read again.
    **reading
        Delimiter, encoding, decimal sign and words for missing entries of CSV files.
    """
    votes_files = votes_file if isinstance(votes_file, list | tuple) else [votes_file]
    if [str(file) for file in (items_file, *votes_files)].count("-") > 1:
        raise PairscoreError(
            "standard input can be the items or the comparisons, not both; name a file for one of"
            " them."
        )
    items = ItemColumns(columns or {}, recipe, id_is_optional, group)
    votes = VoteChoice(VoteColumns.of(vote_columns, context, kept_columns))
    say = once(say)
    reading |= {"say": say, "files": files}
    with ExitStack() as stack:
        sheets = choose_sheets(items_file, votes_files, sheet, say, files, votes.columns)
        chosen: list[Any] = [(items_file, items, sheets.items)]
        chosen += [(file, votes, one) for file, one in sheets.votes]
        table, *of_votes = open_tables(stack, chosen, reading)
        rules = VoteRules(self_pairs, seed, context, winner_codes)
        study = _Reader((table, JoinedTables(of_votes)), items, votes, rules, say).read()
        of_items = [sheets.items] if sheets.items else []
        return replace(study, sheets=of_items, vote_sheets=sheets.named)


@dataclass(frozen=True)
class _Reader:
    """Two stored tables on their way to a study."""

    files: tuple[StoredTable, JoinedTables]
    items: ItemColumns
    votes: VoteChoice
    rules: VoteRules
    say: Callable[[Piece], None]

    def read(self) -> StudyInput:
        """The study; with sides found by what is in them where no columns are called so."""
        return (self._with_found_sides() if self.votes.roles.layout is None else self)._read()

    def _read(self) -> StudyInput:
        table, rows = (file.read() for file in self.files)
        recipe, left_out = self.items.make_recipe(table)
        ids = recipe.ids(table)
        votes = VoteRows.of(self.votes.roles, rows, ids, self.say)
        votes = votes.with_judges(self.files[1], self.say)
        if recipe.id is None and (id := self._find_id(table, votes.table)) is not None:
            return self._with_id(id)._read()
        rules = votes.rules(self.rules, self.say)
        try:
            study, complete = _read_complete(recipe, table, votes.table, rules)
        except PairscoreError as error:
            self._refuse_other_ids(recipe, ids, votes.table)
            if not isinstance(error, BadEntriesError):
                raise
            if error.table == "items":
                also = _refusal_of_votes(votes, rules, len(table), ids)
                raise _item_faults(recipe, table, self.files[0], also) from error
            faults = all_faults(lambda of: _read_complete(recipe, table, of, rules), votes.table)
            raise votes.located(faults, self.files[1]) from error
        groups = None if self.items.group is None else table[self.items.group][complete]
        point_out_cases(recipe.categorical, votes.table, self.say)
        names: dict[str, Any] = {**kinds_of_text(table, left_out), "nested": self.items.nested}
        names |= {"vote_columns": votes.named, "unused": [*votes.roles.unused], "groups": groups}
        study = replace(study, **names)
        if recipe.id is None and self.items.recipe is None:
            self.say(known_by_row(study.votes, study.items, table))
        else:
            point_out_rows(study.votes, study.items, self.say)
        return study

    def _find_id(self, table: Columns, votes: Columns) -> str | None:
        """The column of ids of items that have none called so; those of a model have features."""
        names = names_in(votes)
        settings: dict[str, Any] = id_settings(self.items.settings)
        if self.items.recipe is not None:
            table = self.files[0].read_texts()
            settings = {"features": self.items.recipe.sources}
        try:
            if self.items.recipe is None and any(map(has_zeros_in_front, names)):
                table = with_zeros_in_front(table, self.files[0].read_texts())
            return find_id_column(table, names, by_text=True, **settings)
        except FaultyIdsError as error:
            return error.column  # as ids, they are refused with their lines

    def _refuse_other_ids(self, recipe: Recipe, ids: np.ndarray | None, votes: Columns) -> None:
        """Refuse a column of ids that the comparisons do not name, where another one has them."""
        if ids is None or self.items.recipe is not None:
            return
        names = names_in(votes)
        rows = np.concatenate(find_rows(ids, len(ids), names, by_text=True))
        if len(rows) == 0 or np.any(rows >= 0):
            return
        settings = id_settings(self.items.settings)
        try:
            found = find_id_column(self.files[0].read_texts(), names, by_text=True, **settings)
        except (FaultyIdsError, IdsUnclearError):
            return
        if found is not None:
            raise PairscoreError(
                f"no item that the comparisons name is in the column {recipe.id!r} of the items,"
                f" and {found!r} has them",
                "say " + Setting("id", found),
            )

    def _with_id(self, id: str) -> "_Reader":
        """A reader of the same files with the ids of the items in this column."""
        self.say(f"{self.files[0].source.shown!r}: {found_words(id)}.")
        items = self.items.with_id(id)
        table = self.files[0].again(items.identifiers, items.choose)
        return replace(self, files=(table, self.files[1]), items=items)

    def _again(self, items: ItemColumns, votes: VoteChoice) -> "_Reader":
        files = (
            self.files[0].again(items.identifiers, items.choose),
            self.files[1].again(votes.identifiers, votes.choose),
        )
        return replace(self, files=files, items=items, votes=votes)

    def _with_found_sides(self) -> "_Reader":
        """A reader of the columns that have the sides, or the question which these are."""
        of_items = self.files[0].read_texts(only_ids=True)
        texts = [as_texts(of_items), as_texts(self.files[1].read_texts())]
        roles, codes = self.votes.roles, self.rules.winner_codes
        expected, ids = self._id(texts[0]), self._ids(texts[0])
        found = find_sides(ids, texts[1], roles, codes, expected)
        n_items = len(next(iter(texts[0].values()), ()))
        likely = self._ids(texts[0], most_faults(n_items))
        if found is None and likely != ids:
            found = find_sides(likely, texts[1], roles, codes, expected)
        if found is None:
            self._refuse_swapped(texts)
        if found is None or not found.is_told:
            raise unclear_columns(texts[1], roles, found, ids)
        votes = with_sides(self.votes, found, self.files[1].shown, self.say)
        items = self.items
        if found.id is not None and found.id != expected:
            self.say(f"{self.files[0].source.shown!r}: {found_words(found.id)}.")
            items = items.with_id(found.id)
        return self._again(items, votes)

    def _id(self, names: Collection[str]) -> str | None:
        """The column of ids that was expected, if any."""
        if self.items.recipe is not None:
            return self.items.recipe_for(names).id
        return self.items.settings.get("id") or ("id" if "id" in names else None)

    def _ids(self, texts: Texts, faults: int = 0) -> dict[str | None, Rows]:
        """Columns that could name the items, the expected one first, row numbers last.

        Of so many items at most the entry may be missing, or that of another.
        """
        expected, named = self._id(texts), id_settings(self.items.settings)
        first: dict[str | None, Rows] = {}
        if expected in texts:
            first = {expected: {entry: row for row, entry in enumerate(texts[expected].tolist())}}
        others = {*(named["features"] or ()), *named["others"]}
        likely = id_columns(texts, faults)
        ids = {name: rows for name, rows in likely.items() if name not in others}
        n_items = len(next(iter(texts.values()), ()))
        return first | ids | ({} if first else {None: {str(row): row for row in range(n_items)}})

    def _refuse_swapped(self, texts: list[Texts]) -> None:
        """Refuse files in the wrong order: the first has the comparisons of items in the second."""
        try:
            other = find_sides(id_columns(texts[1]), texts[0], VoteRoles({}, None))
        except IdsUnclearError:
            return
        if other is not None:
            items, votes = self.files[0].source.shown, self.files[1].shown
            of_items, _, sheet = items.rpartition(", sheet ")
            others = [part.source.shown.rpartition(", sheet ") for part in self.files[1].parts]
            remedy: Piece = "give the items first"
            if of_items and others[0][0] == of_items:
                remedy = "give the items first: " + Setting("sheet", [others[0][2], sheet])
            raise PairscoreError(f"{items!r} has the comparisons, and {votes!r} the items", remedy)


def has_zeros_in_front(names: np.ndarray) -> bool:
    """Whether some names are numbers such as 007."""
    return any(isinstance(name, str) and name.isdecimal() and name[0] == "0" for name in names)


def with_zeros_in_front(table: Columns, texts: Columns) -> Columns:
    """A table with exact text in place of numbers such as 007, which may be ids."""
    exact = {
        name: texts.get_column(name)
        for name in table.columns
        if name in texts
        and table[name].dtype.kind == "f"
        and all(isinstance(entry, str) and entry.isdecimal() for entry in texts[name].tolist())
    }
    return Columns({**dict(table), **exact}, from_file=True) if exact else table


def _read_complete(
    recipe: Recipe, table: Columns, votes: Columns, rules: VoteRules
) -> tuple[StudyInput, np.ndarray]:
    """Items and votes without what the recipe drops for missing values, and a mask of the rest."""
    if recipe.missing != "drop-items":
        items = recipe.items(table)
        study = StudyInput(items, recipe, [], [], votes=rules.read(votes, items))
        return study, np.ones(len(table), dtype=bool)
    with_gaps = recipe.items_with_gaps(table, Columns)
    read = rules.read(votes, with_gaps)
    items, left, recipe, complete = without_incomplete_items(recipe, with_gaps, read)
    return StudyInput(items, recipe, [], [], votes=left), complete


def point_out_cases(
    categories: Mapping[str, Collection[str]], votes: Columns, say: Callable[[Piece], None]
) -> None:
    """Say which levels, and which judges, differ in upper and lower case only."""
    groups = {repr(name): levels for name, levels in categories.items()}
    if "judge" in votes:
        groups["judge"] = set(map(str, votes.get_column("judge").values.tolist()))
    for what, levels in groups.items():
        spellings: dict[str, list[str]] = {}
        for level in sorted(levels):
            spellings.setdefault(level.casefold(), []).append(level)
        same = [" and ".join(map(repr, of)) for of in spellings.values() if len(of) > 1]
        if same:
            say(
                f"{what} has entries that differ in upper and lower case only: {first_few(same)};"
                " they are treated as different."
            )


def known_by_row(votes: Votes, items: Items, table: Columns) -> str:
    """The note that comparisons name items by row number; refused where they never name row 0."""
    names, likely, n = np.asarray(items.names, dtype=int), likely_id(table), len(table)
    used = names[np.union1d(votes.left, votes.right)]  # items with missing values may be gone
    if names[0] == 0:
        refuse_counts_from_1(used, n, likely)
    but = ""
    if likely is not None and not {*map(str, used)} <= {*map(plain_id, table[likely].tolist())}:
        but = f"; {likely!r} looks like ids, but the comparisons name others"
    return f"{BY_ROW} {n - 1}{but}."


def point_out_rows(votes: Votes, items: Items, say: Callable[[Piece], None]) -> None:
    """Say that items of a model are known by row number, where some comparisons never name row 0.

    These may count the items from 1, or be about others.
    """
    if items.ids is None and min(votes.left.min(), votes.right.min()) > 0:
        say(f"{BY_ROW} {len(items) - 1}, and no comparison names row 0.")


# -- files and their faults ------------------------------------------------------------------------


def items_or_faults(recipe: Recipe, table: Columns, stored: StoredTable) -> Items:
    """The items of a table, or all that is wrong with them, by their lines."""
    try:
        return recipe.items(table)
    except BadEntriesError as error:
        raise _item_faults(recipe, table, stored) from error


def _item_faults(
    recipe: Recipe, table: Columns, stored: StoredTable, also: Sequence[PairscoreError] = ()
) -> BadFilesError:
    named = {"id": recipe.id or "id"}
    return locate_faults(all_faults(recipe.items, table), stored, named, also=also)


def _refusal_of_votes(
    votes: VoteRows, rules: VoteRules, n_items: int, ids: np.ndarray | None
) -> list[PairscoreError]:
    """What is wrong with the winners as a whole, beside faults of the items; or nothing."""
    try:
        rules.read(votes.table, Items(np.zeros((n_items, 1)), ("x",), ids, Columns))
    except BadEntriesError:
        return []  # entries are told when the items are in order
    except PairscoreError as error:
        return [error]
    return []
