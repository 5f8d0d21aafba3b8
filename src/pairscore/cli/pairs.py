"""Commands about items and pairs: ``pairs`` writes those to compare, ``rank`` ranks items,
``predict`` says who will win, and ``compare`` which model says it best.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import UNKNOWN_RULES
from pairscore.cli.model_options import (
    SCALE_OPTION,
    collect_warnings,
    parse_models,
    read_alone,
    read_files,
)
from pairscore.cli.options import (
    EXCEL_SAFE_OPTION,
    FILE_OPTIONS,
    ID_OF_FIT_OPTION,
    ITEM_OPTIONS,
    PERCENTAGE,
    SEED,
    SHARE,
    VOTE_COLUMNS,
    VOTE_OPTIONS,
    column_options,
    file_settings,
    files,
    flag,
    input_path,
    is_alone,
    json_flag,
    list_bad_rows,
    option,
    options,
    output_option,
    processes_option,
    refuse_output,
    second_table,
    word,
)
from pairscore.cli.progress import stage
from pairscore.cli.words import (
    command,
    echo,
    examples,
    na_option,
    ranking_text,
    section,
    show_json,
    show_note,
    show_text,
    show_unused_columns,
    show_warnings,
    show_written,
    with_id_name,
)
from pairscore.display import plural
from pairscore.errors import NO_NUMBER, BadEntriesError, PairscoreError
from pairscore.files.source import Unsaid

if TYPE_CHECKING:
    from pairscore.errors import BadRow, BadRowsError
    from pairscore.estimators.results import Fit

SHOWN_FAULTS = 20  # of items that are not scored, on the screen
MEMORY = "1GB"  # of a table to rank; what is beyond goes to disk
SHOWN_PAIRS = 20  # of predictions, on the screen
PAIR_COLUMNS = {name: VOTE_COLUMNS[name] for name in ("left", "right", "judge")}

# -- pairs -----------------------------------------------------------------------------------------


@command()
@files("items")
@option(
    "--comparisons",
    "n_comparisons",
    type=int,
    required=True,
    help="Number of comparisons of all judges together, with repeats.",
)
@option("--judges", default="1", metavar="N|A,B,C", help="How many judges, or their names.")
@option(
    "--repeats",
    type=PERCENTAGE,
    default="0",
    help="Share of each judge's comparisons that repeat a pair of that judge, such as 5%.",
)
@option(
    "--shared",
    type=PERCENTAGE,
    default="0",
    help="Share of each judge's comparisons whose pair another judge gets too, such as 10%.",
)
@option("--show", multiple=True, metavar="X,Y", help="Columns of ITEMS to show next to the ids.")
@option("--id", metavar="NAME", help="Column with the items' ids.  [default: id]")
@option("--seed", type=SEED, default=0, help="Seed of pairs, sides and order.")
@options(FILE_OPTIONS)
@output_option("Workbook (.xlsx) with a sheet for each judge, or .csv.", required=True)
@json_flag("Print what was written as JSON.")
@examples(
    "pairs images.csv --comparisons 900 --judges 3 --repeats 5% --shared 10% -o sheet.xlsx",
    "pairs wines.csv --id wine --show name,year --comparisons 400 --judges Anna,Ben -o sheet.csv",
)
def pairs(items: Path, judges: str, seed: int, output: Path, as_json: bool, **given: Any) -> None:
    """Write the pairs to compare, one sheet for each judge, with an empty column winner.

    Pairs, sides and order are random. All items are compared equally often, and no pair occurs
    twice before all pairs have occurred, other than by --repeats and --shared. Each judge writes
    left, right or tie into the column winner, and fit reads the filled sheets. As .csv, each judge
    gets a file.
    """
    refuse_output(output, items, is_table=output.suffix.lower() != ".xlsx")
    import numpy as np

    from pairscore.cli.options import split_names
    from pairscore.planning.pairs import (
        design_pairs,
        pairs_record,
        pairs_text,
        read_shown,
        write_sheets,
    )

    names = judge_names(judges)
    show = split_names(given["show"])
    with list_bad_rows(output):
        table = read_shown(items, given["id"], show, **file_settings(given))
    design = design_pairs(
        len(table["id"]),
        given["n_comparisons"],
        np.random.default_rng(seed),
        n_judges=len(names),
        repeats=given["repeats"],
        shared=given["shared"],
    )
    paths = write_sheets(design, table, names, output)
    record = pairs_record(design, len(table["id"]), names) | {"seed": seed}
    if as_json:
        show_json(record | {"paths": [str(path) for path in paths]})
    else:
        echo("\n".join([pairs_text(record), *map(str, paths)]))


def judge_names(judges: str) -> list[str]:
    """The names of judges: judge1, judge2, ... if their number is given."""
    if judges.strip().isdecimal() and int(judges) > 0:
        return [f"judge{number + 1}" for number in range(int(judges))]
    names = [name.strip() for name in judges.split(",")]
    if judges.strip().lstrip("-").isdecimal() or not all(names) or len({*names}) < len(names):
        raise PairscoreError(
            f"--judges is {judges!r}; give the number of judges, or different names with commas."
        )
    return names


# -- rank ------------------------------------------------------------------------------------------


@command()
@files("model", "[items]")
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@flag("--simultaneous", help="Wider intervals that hold for all items together.")
@SCALE_OPTION
@word(
    "--unknown",
    UNKNOWN_RULES,
    "Items that cannot be scored (a level that the fit did not know, a missing value): rank the"
    " others and list these, or stop.",
    "skip",
)
@options(FILE_OPTIONS)
@output_option(
    "Write the ranking to this .csv, .xlsx, .parquet or .jsonl file (-: CSV to standard output)."
)
@EXCEL_SAFE_OPTION
@json_flag("Print the ranking as JSON.")
@examples(
    "rank model.npz new_items.csv",
    "rank model.npz new_items.csv -o scores.xlsx",
    "rank model.npz new_items.parquet --unknown stop -o ranking.csv",
)
def rank(model: Path, items: Path | None, output: Path | None, as_json: bool, **given: Any) -> None:
    """Rank ITEMS, old or new, highest first, by the score in MODEL.

    A model of comparisons alone ranks the items that were compared, without ITEMS.
    ITEMS needs the columns that the fit used, under the same names; other columns are ignored.
    Features are made as in the fit. Columns of the ranking: id, score, low, high (an interval),
    rank, rank_low, rank_high, and outside: 1 if some feature lies outside the range of the fit;
    with new items, place_low and place_high: where each would rank among the items of the fit.
    Where a feature never differs between two compared items (such as the year), ranks are within
    groups of items that are equal in it, and a column group names them. Items that cannot be scored
    are listed with the reason, in a workbook on a separate sheet. Without -o, the first 20 are
    shown.
    """
    refuse_output(output, model, *([items] if items else []), is_table=True)
    from pairscore.data.recipe import recipe_of
    from pairscore.files.write import write_table
    from pairscore.model.file import load_model
    from pairscore.records import row_records

    if str(model) == str(items) == "-":
        raise PairscoreError(
            "standard input can be the model or the items, not both; name a file for one of them."
        )
    with input_path(model) as path:
        fit = load_model(path).fit
    reading = file_settings(given, fit.record.get("reading"))
    dropped, unscored = 0, Unscored()
    notes: list[str] = []
    reading["say"] = notes.append  # what is left out is said first
    with list_bad_rows(output, reading["decimal"]):
        asked = {name: given[name] for name in ("level", "simultaneous", "scale")}
        if fit.n_features == 0:
            ranking = rank_compared(fit, items, **asked)
        elif items is None:
            raise click.UsageError("Missing argument 'ITEMS'.")
        else:
            asked |= {"unknown": given["unknown"]}
            try:
                ranking, dropped, unscored = rank_file(fit, items, given["id"], **asked, **reading)
            except PairscoreError:
                show_notes(notes)
                raise
    unscored.show(len(ranking["id"]), output, reading["decimal"])
    show_notes(notes)
    if dropped:
        show_note(f"{plural(dropped, 'item')} with missing values left out, as in the fit.")
    named = with_id_name(ranking, given["id"] or recipe_of(fit).id)
    if output is not None:
        write_table(
            named,
            output,
            reading["decimal"],
            unscored.sheets(),
            excel_safe=given["excel_safe"],
        )
        show_written(output, as_json)
    if as_json and str(output) != "-":
        about = {"n_items": len(ranking["id"]), "dropped": dropped, "scale": given["scale"]}
        about["not_scored"] = row_records(unscored.columns()) if unscored.rows else []
        show_json(about | {"ranking": row_records(ranking)})
    elif output is None:
        show_text(ranking_text(ranking, fit, given["scale"], next(iter(named))))


def show_notes(texts: Iterable[str]) -> None:
    """Print notes that were held back, each once."""
    for text in dict.fromkeys(texts):
        show_note(text)


def rank_compared(fit: "Fit", items: Path | None, **asked: Any) -> dict[str, Any]:
    """The ranking of the items of a fit without features, as columns."""
    from pairscore.data.tables import Columns
    from pairscore.model.item_lookup import items_of_fit
    from pairscore.model.ranks import rank_items

    if items is not None:
        raise PairscoreError(
            "the model was fitted to comparisons alone, and ranks the items that were compared;"
            " leave ITEMS out."
        )
    return dict(rank_items(fit, replace(items_of_fit(fit), backend=Columns), **asked))


@dataclass(frozen=True)
class Unscored:
    """Items that were not scored: by the row of each, its id, and what is wrong with it."""

    ids: dict[int, Any] = field(default_factory=dict)
    rows: list[tuple[int, "BadRow"]] = field(default_factory=list)
    errors: list["BadRowsError"] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """A row for each fault: id, line, column, text, reason."""
        import numpy as np

        faults = [
            (self.ids[row], bad.line, bad.column or "", bad.text, bad.reason)
            for row, bad in self.rows
        ]
        names = ("id", "line", "column", "text", "reason")
        columns = zip(names, zip(*faults, strict=True), strict=True)
        return {name: np.array(of, dtype=int if name == "line" else object) for name, of in columns}

    def sheets(self) -> dict[str, Any]:
        return {"not scored": self.columns()} if self.rows else {}

    def show(self, n_scored: int, output: Path | None, decimal: str | None) -> None:
        """Say first how many items were left out, then which, and why."""
        if not self.rows:
            return
        from pairscore.data.recipe import LEAVE_OUT
        from pairscore.files.faults import write_bad_rows
        from pairscore.files.write import is_xlsx

        n = len(self.ids)
        lines = [
            str(bad) if self.ids[row] is None else f"{self.ids[row]!r}: {bad}"
            for row, bad in self.rows[:SHOWN_FAULTS]
        ]
        n_more = len(self.rows) - len(lines)
        lines += [f"and {n_more:,} more"] if n_more else []
        show_note(
            f"{n:,} of {plural(n + n_scored, 'item', ',')} could not be scored, and"
            f" {'is' if n == 1 else 'are'} not in the ranking:\n  " + "\n  ".join(lines)
        )
        show_notes(
            f"{error.rows[0].reason}: {error.hint.partition(LEAVE_OUT)[0]}."
            for error in self.errors
        )
        if output is not None and str(output) != "-" and not is_xlsx(output):
            path = Path(f"{output}.bad-rows.csv")
            if write_bad_rows(self.errors, path, decimal):
                show_note(f"all of these are in {str(path)!r}.")


def rank_file(
    fit: "Fit",
    items: Path,
    id: str | None,
    level: float,
    simultaneous: bool,
    scale: str = "link",
    unknown: str = "skip",
    **reading: Any,
) -> tuple[dict[str, Any], int, Unscored]:
    """Rank the items of a file of any size, piece by piece.

    Returns the ranking as columns, best item first, how many items were left out for missing
    values as in the fit, and those that could not be scored, if they are to be skipped.
    """
    from pairscore.errors import BadRowsError

    asked: dict[str, Any] = {"level": level, "simultaneous": simultaneous, "scale": scale}
    asked["unknown"] = unknown
    try:
        return rank_stored(fit, items, id, {}, **asked, **reading)
    except BadRowsError:
        words = words_among_numbers(fit, items, id, reading)
        if not words:
            raise
        return rank_stored(fit, items, id, words, **asked, **reading)


def new_item_columns(fit: "Fit", id: str | None, reading: dict[str, Any]) -> tuple[Any, Any]:
    """The columns that a table of new items needs, and how it is read."""
    from pairscore.data.recipe import recipe_of
    from pairscore.files.study import ItemColumns
    from pairscore.files.workbooks import first_sheet

    recipe = recipe_of(fit) if id is None else replace(recipe_of(fit), id=id)
    # a model that was fitted in Python may know its items by row number
    needed = ItemColumns(recipe=recipe, id_is_optional=id is None and fit.recipe is None)
    columns = {"columns": needed.choose, "identifiers": needed.identifiers, "memory": MEMORY}
    return needed, reading | columns | {"sheet": first_sheet(reading["sheet"])}


def rank_stored(
    fit: "Fit",
    items: Path,
    id: str | None,
    words: dict[tuple[int, str], str],
    *,
    level: float,
    simultaneous: bool,
    scale: str,
    unknown: str,
    **given: Any,
) -> tuple[dict[str, Any], int, Unscored]:
    """As :func:`rank_file`, of a file with these words in place of numbers, by line and column."""
    from pairscore.errors import BadRow, BadRowsError
    from pairscore.files.faults import BadFilesError, locate_faults
    from pairscore.files.item_pieces import ItemPieces
    from pairscore.files.tables import stored_table
    from pairscore.model.ranks import rank_pieces

    needed, reading = new_item_columns(fit, id, given)
    reading["na"] = [*reading["na"], *map(Unsaid, sorted({*words.values()}))]
    with stage("Reading") as show, stored_table(items, **reading) as table:
        if not words and (found := table.words_among_numbers(needed.recipe.features)):
            bad = [BadRow(line, name, text, NO_NUMBER) for (line, name), text in found.items()]
            raise BadRowsError(table.source.shown, bad)
        recipe = needed.recipe_for(table.cells)
        pieces, unscored = ItemPieces(table, recipe), Unscored()

        def rank() -> dict[str, Any]:
            return rank_pieces(
                fit,
                with_progress(pieces, show, n_passes=1 if fit.covariance is None else 3),
                ids=lambda: pieces.ids if recipe.id else None,
                level=level,
                simultaneous=simultaneous,
                scale=scale,
            )

        try:
            if texts := words_as_faults(pieces, words):
                raise texts[0]
            columns = rank()
        except BadEntriesError as error:
            others = [*without_entries(pieces.faults(), texts)]
            if unknown == "skip":
                unscored = items_unscored([*texts, *others], pieces)
            if len(unscored.ids) == pieces.n_rows:
                raise BadFilesError(unscored.errors) from error
            if unknown == "stop":
                located = locate_faults(others, table, {"id": recipe.id or "id"}).errors
                words_in = items_unscored(texts, pieces).errors  # cells that were read as missing
                raise BadFilesError([*words_in, *located]) from error
            pieces = ItemPieces(table, recipe, unscored.ids)
            columns = rank()
    rows = columns.pop("row")
    ids = rows if pieces.ids is None else pieces.ids[rows]
    return {"id": ids, **columns}, pieces.dropped, unscored


def words_among_numbers(
    fit: "Fit", items: Path, id: str | None, given: dict[str, Any]
) -> dict[tuple[int, str], str]:
    """By line and column, entries of features that are no numbers, where a file may be read again.

    Of a column with a few words each is a bad row, and one with many is text.
    """
    from pairscore.errors import BadRowsError
    from pairscore.files.source import table_kind
    from pairscore.files.tables import stored_table

    words: dict[tuple[int, str], str] = {}
    if str(items) == "-" or table_kind(items) not in ("csv", "workbook"):
        return words
    needed, reading = new_item_columns(fit, id, given | {"say": _nothing})
    while True:
        asked = reading | {"na": [*reading["na"], *words.values()]}
        try:
            with stored_table(items, **asked) as table:
                more = table.words_among_numbers(needed.recipe.features)
        except BadRowsError as error:
            more = {(r.line, r.column or ""): r.text for r in error.rows if r.reason == NO_NUMBER}
        if not {*more} - {*words}:
            return words
        words |= more


def _nothing(text: str) -> None:
    """It is said when the file is read for good."""


def words_as_faults(pieces: Any, words: dict[tuple[int, str], str]) -> list[BadEntriesError]:
    """What is wrong with cells that were read as missing because they are no numbers."""
    entries: list[tuple[int, str, object]] = []
    for name in dict.fromkeys(column for _, column in words):
        rows = pieces.missing(name).tolist()
        for row, (line, _) in zip(
            rows, pieces.table.locate([(r, name) for r in rows]), strict=True
        ):
            entries += [(row, name, words[line, name])] if (line, name) in words else []
    if not entries:
        return []
    texts = [*dict.fromkeys(str(text) for _, _, text in entries)]
    what = f"{plural(len(entries), 'feature value', verb='is')} not a number"
    remedy = f"if they mean that a value is missing, {na_option(texts)} says so"
    return [BadEntriesError(what, remedy, "items", entries, "not a number")]


def without_entries(
    faults: Iterable[BadEntriesError], told: Iterable[BadEntriesError]
) -> Iterator[BadEntriesError]:
    """Faults of other cells than those that were told: a cell that is no number is not missing."""
    known = {(row, column) for fault in told for row, column, _ in fault.entries}
    for fault in faults:
        entries = [entry for entry in fault.entries if entry[:2] not in known]
        if entries:
            yield BadEntriesError(fault.what, fault.remedy, fault.table, entries, fault.reason)


def items_unscored(faults: list[BadEntriesError], pieces: Any) -> Unscored:
    """The rows of all faults, with their ids and where they are in the file."""
    from pairscore.data.items import with_same_ids
    from pairscore.errors import BadRow, BadRowsError

    id, rows, errors = pieces.recipe.id, [], []
    names = pieces.names_of(range(pieces.n_rows))
    for fault in (with_same_ids(one, [*names.values()]) for one in faults):
        lines = pieces.table.locate([(row, id or column) for row, column, _ in fault.entries])
        bad = [
            (
                row,
                BadRow(
                    line, id if id and column == "id" else column, str(value or ""), fault.reason
                ),
            )
            for (row, column, value), (line, _) in zip(fault.entries, lines, strict=True)
        ]
        rows += bad
        errors.append(BadRowsError(pieces.table.source.shown, [of for _, of in bad], fault.remedy))
    ids = {row: names[row] for row in sorted({row for row, _ in rows})}
    return Unscored(ids, sorted(rows, key=lambda one: one[0]), errors)


# -- predict ---------------------------------------------------------------------------------------


@command()
@files("model", "items", "[pairs]")
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@options(section("Columns of the pairs", *column_options(PAIR_COLUMNS)), FILE_OPTIONS)
@output_option(
    "Write the chances to this .csv, .xlsx, .parquet or .jsonl file (-: CSV to standard output)."
)
@EXCEL_SAFE_OPTION
@json_flag("Print the chances as JSON.")
@examples(
    "predict model.npz items.csv pairs.csv",
    "predict teams.npz teams.csv sunday.csv --left home --right away -o chances.csv",
)
def predict(
    model: Path, items: Path, pairs: Path | None, output: Path | None, as_json: bool, **given: Any
) -> None:
    """Predict for each of PAIRS how likely the left item is to win, with an interval.

    PAIRS has columns left and right with ids of ITEMS, old or new, and, if the fit had them, judge
    and context; a winner is not needed. Columns of the result: left, right, chance (that left wins,
    if it is not a tie), low and high (an interval for the chance); and tie, tie_low, tie_high if
    the model gives ties a probability. Without -o, the first 20 are shown. A model of comparisons
    alone takes PAIRS without ITEMS.
    """
    given_files = [model, items, *([pairs] if pairs else [])]
    refuse_output(output, *given_files, is_table=True)
    if [str(path) for path in given_files].count("-") > 1:
        raise PairscoreError(
            "standard input can be only one of the model, the items and the pairs; name files for"
            " the others."
        )
    import numpy as np

    from pairscore.data.tables import Columns
    from pairscore.files.study import find_id_for_pairs, read_new_items, read_pairs
    from pairscore.files.write import write_table
    from pairscore.model.file import load_model
    from pairscore.model.item_lookup import items_of_fit
    from pairscore.model.predict import pair_chances
    from pairscore.records import row_records

    with list_bad_rows(output), stage("Reading"):
        with input_path(model) as path:
            fit = load_model(path).fit
        kept, context = fit.record.get("reading", {}), fit.settings.context or ()
        reading = file_settings(given, kept)
        if (pairs is None) == bool(fit.n_features):
            with_items = "ITEMS and PAIRS" if fit.n_features else "PAIRS alone"
            raise click.UsageError(f"This model takes {with_items}.")
        of_pairs = reading | {"kept_columns": kept.get("vote_columns", {})}
        named, id = {name: given[name] for name in PAIR_COLUMNS}, given["id"]
        if pairs is None:
            table, pairs = replace(items_of_fit(fit), backend=Columns), items
        else:
            if id is None and fit.recipe is None and "-" not in (str(items), str(pairs)):
                id = find_id_for_pairs(items, pairs, fit, context, named, **of_pairs)
            table = read_new_items(items, fit, id, **reading)
        data = read_pairs(pairs, table, context, named, **of_pairs)
    sides = {
        side: np.array([table.names[row] for row in rows])
        for side, rows in {"left": data.left, "right": data.right}.items()
    }
    sides |= {} if data.judge is None else {"judge": data.judge}
    result = {**sides, **pair_chances(fit, data, given["level"])}
    if output is not None:
        write_table(result, output, excel_safe=given["excel_safe"])
        show_written(output, as_json)
    if as_json and str(output) != "-":
        show_json({"n_pairs": len(data), "chances": row_records(result)})
    elif output is None:
        echo(chances_text(result))


def chances_text(chances: dict[str, Any]) -> str:
    """The first chances as a table for the screen."""
    from pairscore.display import text_table
    from pairscore.records import row_records

    def percent(row: dict[str, Any], value: str, low: str, high: str) -> tuple[str, str]:
        ends = row[low], row[high]
        interval = "unknown" if None in ends else " to ".join(f"{100 * end:.1f}" for end in ends)
        return f"{100 * row[value]:.1f} %", interval if interval == "unknown" else f"{interval} %"

    first = row_records({name: values[:SHOWN_PAIRS] for name, values in chances.items()})
    header = ["left", "right", "left wins", "interval"]
    header += ["tie", "interval"] if "tie" in chances else []
    rows = [
        (row["left"], row["right"], *percent(row, "chance", "low", "high"))
        + (percent(row, "tie", "tie_low", "tie_high") if "tie" in chances else ())
        for row in first
    ]
    text = text_table(header, rows, "{:<}  {:<}" + "  {:>}" * (len(header) - 2))
    n_more = len(chances["left"]) - len(first)
    return text + (f"\nand {n_more:,} more; -o chances.csv writes them all." if n_more else "")


# -- compare ---------------------------------------------------------------------------------------


@command()
@files("items", "[comparisons...]")
@option(
    "--model",
    "models",
    multiple=True,
    metavar="'NAME: SETTINGS'",
    help="A model by a name and settings such as 'ridge: l2=auto'; give several.",
)
@option("--folds", type=click.IntRange(min=2), default=5, help="Number of folds of items.")
@option(
    "--group",
    metavar="NAME",
    help="Column of ITEMS: items of one group (topic, patient) are held out together.",
)
@processes_option("Fits side by side, of every model in every fold.  [default: 1]")
@options(ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@json_flag("Print everything as JSON.")
@examples(
    "compare items.csv votes.csv",
    "compare items.csv votes.csv --model 'features:' --model 'abilities: features=no'",
    "compare items.csv votes.csv --model 'plain:' --model 'judges: l2=auto judge-slopes=yes'"
    " --group topic",
)
def compare(
    items: Path,
    comparisons: tuple[Path, ...],
    models: tuple[str, ...],
    folds: int,
    n_jobs: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare models on comparisons that they have not seen: of known items, of known with new,
    and of new items.

    Settings are those of fit, as name=value: method, link, l2, side-effect, judge-slopes, context
    (a+b), ties, item-effects; and features=no, which ignores the features and gives every item its
    own ability. Without --model, plain maximum likelihood is compared with a ridge chosen from the
    data. One file alone has comparisons: abilities as they are and shrunk are compared. Abilities
    are tested on known items only.
    """
    from pairscore.data.splitters import ItemKFold
    from pairscore.estimators.fit_data import TableData
    from pairscore.evaluation.compare import compare as compare_models

    alone = is_alone(items, comparisons)
    other = "shrunk: item-effects=yes" if alone else "ridge: l2=auto"
    settings = parse_models(models or ("plain:", other))
    context = sorted({name for one in settings.values() for name in one.get("context") or ()})
    with stage("Reading"):
        if alone:
            study = read_alone(items, context, given)
        else:
            study = read_files(items, second_table(items, comparisons), context, given)
    show_unused_columns(study)
    candidates = {name: candidate(**one) for name, one in settings.items()}
    data = study.comparisons
    if alone and not models and (n_groups := TableData(data, False).n_groups) > 1:
        del candidates["plain"]
        show_note(
            f"the items fall into {n_groups} groups that were never compared with each other, so"
            " that plain abilities have no common scale; only shrunk ones are tested."
        )
    data = data if study.groups is None else data.with_item_groups(study.groups)
    with stage("Fitting every model in every fold") as show, collect_warnings() as texts:
        cv = ItemKFold(folds)
        result = compare_models(candidates, data, cv=cv, n_jobs=n_jobs, progress=show)
    show_warnings(texts)
    if as_json:
        show_json(result.to_record())
    else:
        echo(str(result))


def candidate(features: bool = True, **settings: Any) -> Any:
    """A model to compare, which may ignore the features."""
    from pairscore.evaluation.compare import WithoutFeatures
    from pairscore.model.regression import RankRegression

    model = RankRegression(**settings, inference=None)
    return model if features else WithoutFeatures(model)


def with_progress(
    pieces: Any, show: Callable[[float, float], None], n_passes: int
) -> Callable[[], Iterator[Any]]:
    """The pieces; after each, ``show`` is told how many rows of all passes are done."""
    done = 0

    def one_pass() -> Iterator[Any]:
        nonlocal done
        for values in pieces():
            done += len(values)
            yield values
            show(done, n_passes * pieces.n_rows)

    return one_pass
