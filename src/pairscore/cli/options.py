"""Options that several commands share, and what they mean to the library."""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from pairscore.choices import LINKS, MISSING_RULES, SCALES
from pairscore.cli.help import OUTPUT, Command, Option, section
from pairscore.cli.printing import show_note
from pairscore.errors import PairscoreError, share_meant
from pairscore.files.source import Kept

# -- kinds of values -------------------------------------------------------------------------------


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


class ShareList(click.ParamType):
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
SHARE, SHARES, PERCENTAGE = Share(), ShareList(), Percentage()
SHARE, SHARES, PERCENTAGE = Share(), ShareList(), Percentage()
SHARE, SHARES, PERCENTAGE = Share(), ShareList(), Percentage()


# -- making options --------------------------------------------------------------------------------


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
SCALE_OPTION = word(
    "--scale",
    SCALES,
    "Scale of the scores. link: 0 is the average compared item; 0-100: from the lowest to the"
    " highest compared item; elo: 1500 is the average compared item (logit only); wins: wins of 100"
    " decided comparisons with the compared items.",
    "link",
)
WORDING_OPTIONS = section(
    "Words of the summary and the report",
    option("--title", help="Title of the study."),
    option("--top", metavar="TEXT", help="What the highest scores mean, such as 'most severe'."),
    option("--bottom", metavar="TEXT", help="What the lowest scores mean, such as 'least severe'."),
)
(EXCEL_SAFE_OPTION,) = section(
    OUTPUT,
    flag(
        "--excel-safe",
        help="In CSV, an apostrophe before text that begins with = + - @, which spreadsheets would"
        " run as a formula.",
    ),
)


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


def wording_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Title, top and bottom, from WORDING_OPTIONS; None for what is not given."""
    return {name: given[name] for name in ("title", "top", "bottom")}


def columns_given(given: dict[str, Any]) -> dict[str, Any]:
    """Columns of items and comparisons that options name."""
    names = (*VOTE_COLUMNS, "id")
    columns: dict[str, Any] = {name: given[name] for name in names if given.get(name)}
    lists = {name: split_names(given[name]) for name in ("features", "exclude")}
    return columns | {name: of for name, of in lists.items() if of}


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


def split_names(texts: Iterable[str]) -> list[str]:
    """The names in texts such as ``a,b`` or ``"x, y",z``, each once.

    >>> split_names(["a,b", '"x, y",b'])
    ['a', 'b', 'x, y']
    """
    rows = csv.reader(texts, skipinitialspace=True)
    return list(dict.fromkeys(name.strip() for row in rows for name in row if name.strip()))


def number_or_word(text: str | None) -> float | str | None:
    """A number where the text is one; the library says which words a setting may be."""
    try:
        return float(text or "")
    except ValueError:
        return text
