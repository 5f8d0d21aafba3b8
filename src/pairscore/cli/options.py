"""Options that several commands share, and what commands do around their one library call.

First tables of options and the settings that they mean to the library; then where a command reads
and writes, and the list of bad rows next to its output.
"""

import csv
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from pairscore.choices import LINKS, MISSING_RULES
from pairscore.cli.words import OUTPUT, Command, Option, section, show_note
from pairscore.errors import PairscoreError, share_meant
from pairscore.files.source import Kept


class Share(click.ParamType):
    """A number, with a hint where it is written as a percentage."""

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.{share_meant(value)}", param, ctx)


class Percentage(Share):
    """A share, as 0.05 or as 5%."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        text, unit = str(value).strip(), 100 if str(value).strip().endswith("%") else 1
        return super().convert(text.removesuffix("%"), param, ctx) / unit


class Shares(click.ParamType):
    """Numbers as a tuple: one, several with commas, or a range such as 0.1-0.3, which is five."""

    name = "shares"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        one = Share()
        ends = [end for end in value.split("-") if end.strip()]
        if len(ends) == 2 and "e" not in value.lower():
            low, high = (one.convert(end, param, ctx) for end in ends)
            return tuple(round(low + (high - low) * step / 4, 6) for step in range(5))
        is_decimal = value.startswith("0,") and value[2:].isdecimal()  # 0,2 is 0.2 to many
        numbers = [value] if is_decimal else value.split(",")
        return tuple(one.convert(number, param, ctx) for number in numbers)


FILE = click.Path(path_type=Path, allow_dash=True)
FOLDER = click.Path(path_type=Path)
SEED = click.IntRange(min=0)
SHARE, SHARES, PERCENTAGE = Share(), Shares(), Percentage()


def option(*names: str, help: str, **settings: Any) -> Option:
    """Make an option of click that shows its default where it has one."""
    has_default = settings.get("default") is not None
    return click.option(*names, help=help, show_default=has_default, **settings)


def flag(*names: str, help: str) -> Option:
    """Make an option without a value."""
    return click.option(*names, is_flag=True, help=help)


def word(name: str, words: Iterable[str], help: str, default: str | None = None) -> Option:
    """Make an option that is one of some words."""
    return option(name, type=click.Choice([*words]), default=default, help=help)


def column_options(helps: dict[str, str]) -> tuple[Option, ...]:
    """Make options that name a column of a table, from what each of them is."""
    return tuple(option(f"--{name}", metavar="NAME", help=help) for name, help in helps.items())


def output_option(help: str, type: click.Path = FILE, **settings: Any) -> Option:
    """Make the option ``-o``."""
    (titled,) = section(OUTPUT, option("-o", "--output", type=type, help=help, **settings))
    return titled


def json_flag(help: str) -> Option:
    """Make the option ``--json``."""
    (titled,) = section(OUTPUT, flag("--json", "as_json", help=help))
    return titled


(EXCEL_SAFE_OPTION,) = section(
    OUTPUT,
    flag(
        "--excel-safe",
        help="In CSV, an apostrophe before text that begins with = + - @, which spreadsheets would"
        " run as a formula.",
    ),
)


def options(*groups: tuple[Option, ...]) -> Callable[[Command], Command]:
    """Decorate a command with all options of some groups, in their order."""

    def decorate(command: Command) -> Command:
        for one in reversed([option for group in groups for option in group]):
            command = one(command)
        return command

    return decorate


def files(*names: str) -> Callable[[Command], Command]:
    """Decorate a command with arguments that are files; ``-`` is standard input.

    A name that ends in ``...`` is one or more files, as a tuple; in brackets it may be left out.
    """
    return options(
        tuple(
            click.argument(name.strip("[.]"), type=FILE, nargs=-1, required=name[0] != "[")
            if "..." in name
            else click.argument(name.strip("[]"), type=FILE, required=name[0] != "[")
            for name in names
        )
    )


def processes_option(help: str, setting: str = "n_jobs") -> Option:
    """Make the option ``--processes``, of what runs side by side; no result depends on it."""
    return option("--processes", setting, type=click.IntRange(min=1), help=help)


# -- tables of options -----------------------------------------------------------------------------

FILE_OPTIONS = section(
    "How files are read",
    option(
        "--delimiter",
        help="Separator in CSV files, such as ';' or tab; not used for a file whose first line"
        " does not have it.  [default: detected]",
    ),
    option("--encoding", help="Encoding of CSV files, such as latin-1.  [default: detected]"),
    option(
        "--decimal",
        type=click.Choice([",", "."]),
        help="Decimal sign in CSV files; the other sign may separate thousands.  [default:"
        " detected, for each file]",
    ),
    option(
        "--na",
        multiple=True,
        metavar="X,Y",
        help="Entries that mean missing, such as k.A.,n.b.; usual ones are known in columns of"
        " numbers.",
    ),
    option(
        "--sheet",
        multiple=True,
        metavar="A,B",
        help="Sheets of workbooks: first that of the items, if they are in one, then those of the"
        " comparisons.  [default: all that have the same columns; a note names them]",
    ),
)
ITEM_COLUMNS = "Columns of the items"
RECIPE_OPTIONS = section(
    ITEM_COLUMNS,
    option(
        "--id",
        metavar="NAME",
        help="Column with the items' ids.  [default: id; without one, the row number from 0]",
    ),
    option("--exclude", multiple=True, metavar="X,Y", help="Columns to leave out."),
    option(
        "--categorical",
        multiple=True,
        metavar="X,Y",
        help="Columns to turn into 0/1 columns, one for each level.",
    ),
    option(
        "--square", "squares", multiple=True, metavar="A,B", help="Features to add the square of."
    ),
    option(
        "--interact",
        "interactions",
        multiple=True,
        metavar="A:B",
        help="Pairs of features to add the product of.",
    ),
    word(
        "--missing",
        MISSING_RULES,
        "If feature values are missing: stop; leave out those items and their comparisons; fill in"
        " the mean and add a 0/1 flag; or give each such item a separate effect.",
        default="refuse",
    ),
)
ITEM_OPTIONS = (
    *section(
        ITEM_COLUMNS,
        option(
            "--features",
            multiple=True,
            metavar="A,B,C",
            help="Columns to use as features.  [default: every numeric column]",
        ),
    ),
    *RECIPE_OPTIONS,
)
VOTE_COLUMNS = {
    "winner": "Column with the winner: left, right, tie, or its id.  [default: winner]",
    "loser": "Column with the loser's id.  [default: loser]",
    "left": "Column with the left item's id.  [default: left or model_a]",
    "right": "Column with the right item's id.  [default: right or model_b]",
    "judge": "Column that says who judged.  [default: judge]",
    "weight": "Column with the weight of each row, relative to the others.  [default: weight]",
    "count": "Column with the number of equal comparisons in a row.  [default: count]",
}
VOTE_OPTIONS = section(
    "Columns of the comparisons",
    *column_options(VOTE_COLUMNS),
    option(
        "--winner-codes",
        metavar="A=left,B=right",
        help="What entries of the winner column mean: left, right, tie, or skip to leave those"
        " rows out.",
    ),
)
LIST_NAMES = ("features", "exclude", "categorical", "squares", "interactions")
ITEM_NAMES = ("id", *LIST_NAMES, "missing")
VOTE_NAMES = (*VOTE_COLUMNS, "winner_codes")
FILE_NAMES = ("delimiter", "encoding", "decimal", "na", "sheet")
(ID_OF_FIT_OPTION,) = section(
    ITEM_COLUMNS,
    option("--id", metavar="NAME", help="Column with the items' ids.  [default: as in the fit]"),
)
LINK_OPTION = word("--link", LINKS, "How a score difference becomes a probability.", "logit")
SELF_PAIRS_OPTION = flag("--self-pairs", help="Keep comparisons of an item with itself.")


# -- what options mean to the library --------------------------------------------------------------


def item_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of ``make_recipe``, from ITEM_OPTIONS."""

    lists = {name: split_names(given[name]) for name in LIST_NAMES}
    return {name: given[name] for name in ITEM_NAMES} | lists


def vote_settings(given: dict[str, Any], kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """What reads comparisons takes, from VOTE_OPTIONS, FILE_OPTIONS and ``--self-pairs``.

    ``kept`` is what a model knows of the files of its fit; options that are given come first.
    """
    codes = parse_codes(given["winner_codes"])
    return {
        "vote_columns": {name: given[name] for name in VOTE_COLUMNS},
        "kept_columns": (kept or {}).get("vote_columns", {}),
        "winner_codes": codes or (kept or {}).get("winner_codes"),
        "self_pairs": "keep" if given.get("self_pairs") else "error",
    } | file_settings(given, kept)


def file_settings(given: dict[str, Any], kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """How files are read, from FILE_OPTIONS; what is unusual about a file is shown."""

    lists = {name: split_names(given[name]) for name in ("na", "sheet")}
    settings = {name: given[name] for name in FILE_NAMES} | lists
    of_fit = {name: value for name, value in (kept or {}).items() if value}
    kept = {n: of_fit[n] for n in FILE_NAMES if n in of_fit and n != "sheet" and not settings[n]}
    settings |= {name: Kept(v) if name == "decimal" else v for name, v in kept.items()}
    if not settings["sheet"] and ("sheet" in of_fit or "vote_sheets" in of_fit):
        of_items = of_fit.get("sheet", [""])[0]  # comes first; files without sheets have none
        settings["sheet"] = [Kept(name) for name in (of_items, *of_fit.get("vote_sheets", ()))]
    return settings | {"say": show_note}


def parse_codes(text: str | None) -> dict[str, str]:
    """Codes of winners and what they mean, from a text such as ``A=left,B=right,gleich=tie``."""
    from pairscore.data.votes import check_codes

    parts = [part.rpartition("=") for part in split_names([text] if text else [])]
    if not all(sign for _, sign, _ in parts):
        raise PairscoreError(
            f"--winner-codes {text!r} is not a list of codes and their meaning; write for example"
            " --winner-codes A=left,B=right,gleich=tie."
        )
    codes: dict[str, str] = {}
    for code, meaning in ((code.strip(), meaning.strip()) for code, _, meaning in parts):
        if codes.setdefault(code, meaning) != meaning:
            raise PairscoreError(
                f"--winner-codes says that {code!r} means {codes[code]} and {meaning}; leave one"
                " of them out."
            )
    check_codes(codes)
    return codes


# -- files in, files out ---------------------------------------------------------------------------


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


def is_alone(items: Path, comparisons: tuple[Path, ...]) -> bool:
    """Whether one file was given, and has comparisons alone."""
    from pairscore.files.choose_sheets import are_all_comparisons
    from pairscore.files.source import table_kind

    return not comparisons and (table_kind(items) != "workbook" or are_all_comparisons(items))


def refuse_output(output: Path | None, *inputs: Path, is_table: bool = False) -> None:
    """Refuse an output that cannot be written, before a long computation and not after.

    There must be a folder for it, it may not be one of the ``inputs``, and with ``is_table`` it
    must be a table of a known kind. None and ``-`` (standard output) are always possible.
    """
    if output is None or str(output) == "-":
        return
    if is_table:
        from pairscore.files.write import refuse_workbook

        refuse_workbook(output)
    try:
        has_folder, is_folder = output.parent.is_dir(), output.is_dir()
    except OSError as error:  # such as a name of 300 letters
        raise PairscoreError(
            f"there can be no file {shorten_name(str(output))!r} ({error.strerror}); choose another"
            " name with -o."
        ) from None
    if not has_folder:
        raise PairscoreError(
            f"there is no folder {str(output.parent)!r} to write {output.name!r} to; make it first."
        )
    if is_folder:
        raise PairscoreError(f"{str(output)!r} is a folder; name a file.")
    target = os.path.realpath(output)  # where links go round in circles, resolve() fails
    if any(target == os.path.realpath(path) for path in inputs if str(path) != "-"):
        raise PairscoreError(
            f"{str(output)!r} is an input of this command and would be overwritten; choose another"
            " name with -o."
        )


def shorten_name(name: str) -> str:
    """A name in a sentence: its beginning and end if it is very long."""
    return name if len(name) <= 80 else f"{name[:50]}…{name[-20:]}"


def refuse_other_kind(output: Path) -> None:
    """Refuse to write a model under the name of a page or a table."""
    from pairscore.files.source import KINDS

    suffix = output.suffix.lower()
    if suffix in (".html", ".htm"):
        raise PairscoreError(
            f"-o names the file of the model, and {str(output)!r} is the name of a page; write the"
            f" page with --report {shlex.quote(str(output))}, and the model to a file such as"
            " model.npz."
        )
    if suffix in KINDS:
        raise PairscoreError(
            f"-o names the file of the model, and {str(output)!r} is the name of a table; choose a"
            " name such as model.npz. pairscore rank writes the ranking."
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
def output_path(path: Path, name: str) -> Iterator[Path]:
    """The file itself; for ``-``, one that goes to standard output when it is written."""
    if str(path) != "-":
        yield path
        return
    from pairscore.files.atomic import scratch_folder

    with scratch_folder() as folder:
        yield folder / name
        with (folder / name).open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@contextmanager
def list_bad_rows(output: Path | None, decimal: str | None = None) -> Iterator[None]:
    """Write all bad rows of the files that are read to a list next to the output.

    The message, which shows the first ones, says where the list is. A list of an earlier run is
    removed where no row is bad. Another file of its name stays as it is. Without an output file
    there is no list.
    """
    from pairscore.errors import BadRowsError
    from pairscore.files.atomic import is_device
    from pairscore.files.faults import BadFilesError, is_bad_rows, write_bad_rows

    # nobody looks for a list in /dev
    has_list = output is not None and str(output) != "-" and not is_device(output)
    path = Path(f"{output}.bad-rows.csv")
    try:
        yield
    except (BadRowsError, BadFilesError) as error:
        errors = error.errors if isinstance(error, BadFilesError) else [error]
        if has_list and path.exists() and not is_bad_rows(path):
            raise PairscoreError(
                f"{error}\nAll of them would be listed in {str(path)!r}, but that has something"
                " else in it; move it away."
            ) from error
        if has_list and write_bad_rows(errors, path, decimal):
            raise PairscoreError(
                f"{error}\nAll of them are in {str(path)!r}; nothing else was written."
            ) from error
        raise
    if has_list and is_bad_rows(path):
        with suppress(OSError):
            path.unlink()


def split_names(texts: Iterable[str]) -> list[str]:
    """The names in texts such as ``a,b`` or ``"x, y",z``, each once.

    >>> split_names(["a,b", '"x, y",b'])
    ['a', 'b', 'x, y']
    """
    rows = csv.reader(texts, skipinitialspace=True)
    return list(dict.fromkeys(name.strip() for row in rows for name in row if name.strip()))
