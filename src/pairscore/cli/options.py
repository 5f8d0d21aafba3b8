"""Options that several commands share, and what they mean to the library."""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from pairscore.choices import LINKS, MISSING_RULES, SCALES
from pairscore.cli.help import OUTPUT, Command, Option, section
from pairscore.cli.printing import (
    show_note,
)
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


# -- making options --------------------------------------------------------------------------------


def option(*names: str, help: str, **settings: Any) -> Option:
    """Make an option of click that shows its default where it has one."""
    has_default = settings.get("default") is not None
    return click.option(*names, help=help, show_default=has_default, **settings)


def flag(*names: str, help: str) -> Option:
    """Make an option without a value."""
    return click.option(*names, is_flag=True, help=help)


def word(
    name: str,
    words: Iterable[str],
    help: str,
    default: str | None = None,
    metavar: str | None = None,
) -> Option:
    """Make an option that is one of some words; ``metavar`` stands for a long list of them."""
    kind = click.Choice([*words])
    return option(name, type=kind, default=default, help=help, metavar=metavar)


class YesOr(click.Choice):
    """Whether, or a word that says more; files after the bare option are not a value of it."""

    def __init__(self, word: str) -> None:
        super().__init__(["yes", word, "no"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            name = param.opts[0] if param else ""
            raise PairscoreError(
                f"{name} is followed by {value!r}, which is neither yes, no nor {self.choices[1]};"
                f" write {name} yes, or give the files before it."
            )
        return str(value)


def flag_or(name: str, word: str, help: str) -> Option:
    """Make a flag that may be followed by a word that says more; ``no`` is its default."""
    return click.option(
        name,
        type=YesOr(word),
        is_flag=False,
        flag_value="yes",
        default="no",
        metavar=f"[{word}]",
        help=help,
    )


def names(name: str, *setting: str, metavar: str, help: str) -> Option:
    """Make an option that takes names with commas, and may be given more than once."""
    return option(
        name,
        *setting,
        multiple=True,
        metavar=metavar,
        callback=lambda ctx, param, texts: split_names(texts),
        help=help,
    )


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


def file_argument(name: str, required: bool = True) -> Option:
    """Make an argument that is a file; ``-`` is standard input."""
    return click.argument(name, type=FILE, required=required)


def file_arguments(name: str, required: bool = True) -> Option:
    """Make an argument that is one or more files, as a tuple."""
    return click.argument(name, type=FILE, nargs=-1, required=required)


def processes_option(help: str, setting: str = "n_jobs") -> Option:
    """Make the option ``--processes``, of what runs side by side; no result depends on it."""
    return option("--processes", setting, type=click.IntRange(min=1), metavar="N", help=help)


# -- tables of options -----------------------------------------------------------------------------


SHEET_OPTION = names(
    "--sheet",
    metavar="A,B",
    help="Sheets of workbooks: that of the items, then those of the comparisons.",
)
FILE_OPTIONS = section(
    "How files are read, unless it is detected",
    option("--delimiter", metavar="SIGN", help="Separator in CSV files, such as ';' or tab."),
    option("--encoding", metavar="NAME", help="Encoding of CSV files, such as latin-1."),
    word("--decimal", (",", "."), "Decimal sign in CSV files; the other may separate thousands."),
    names("--na", metavar="X,Y", help="Entries that mean missing, such as k.A.,n.b."),
    SHEET_OPTION,
)
ITEM_COLUMNS = "Columns of the items"
CURVES_OPTION = option(
    "--curves",
    multiple=True,
    metavar="A,B",
    callback=lambda ctx, param, texts: parse_curves(texts),
    help="Features to make curves; A=20/40/60: with these knots.",
)
SMOOTH_OPTION = flag("--smooth", help="Add a smooth function of all features, held by the ridge.")
ID_HELP = "Column with the ids.  [default: id, or row numbers]"
RECIPE_OPTIONS = section(
    ITEM_COLUMNS,
    option("--id", metavar="NAME", help=ID_HELP),
    names("--exclude", metavar="X,Y", help="Columns to leave out."),
    names("--categorical", metavar="X,Y", help="Columns to turn into 0/1 columns of their levels."),
    names("--square", "squares", metavar="A,B", help="Features to add the square of."),
    CURVES_OPTION,
    SMOOTH_OPTION,
    names(
        "--interact",
        "interactions",
        metavar="A:B",
        help="Pairs of features to add the product of.",
    ),
    word(
        "--missing",
        MISSING_RULES,
        "Missing values: refuse, drop-items, mean-with-flag, or item-effect (an effect for such an"
        " item).",
        default="refuse",
        metavar="RULE",
    ),
)
ITEM_OPTIONS = (
    *section(
        ITEM_COLUMNS,
        names(
            "--features",
            metavar="A,B,C",
            help="Columns to use as features.  [default: every numeric one]",
        ),
    ),
    *RECIPE_OPTIONS,
)
VOTE_COLUMNS = {
    "winner": "Who won: left, right, tie, or an id; A,B: columns by judges A and B.",
    "loser": "The loser's id, if it has a column.",
    "left": "The left item's id; model_a is known too.",
    "right": "The right item's id; model_b is known too.",
    "judge": "Who judged.",
    "weight": "The weight of a row, relative to the others.",
    "count": "The number of equal comparisons in a row.",
}
CODES_OPTION = option(
    "--winner-codes",
    metavar="A=left,...",
    callback=lambda ctx, param, text: parse_codes(text),
    help="What entries of the winner column mean: left, right, tie, skip or id.",
)
VOTE_OPTIONS = section(
    "Columns of the comparisons, if they have other names",
    *column_options(VOTE_COLUMNS),
    CODES_OPTION,
)
LIST_NAMES = ("features", "exclude", "categorical", "squares", "curves", "interactions")
ITEM_NAMES = ("id", *LIST_NAMES, "smooth", "missing")
VOTE_NAMES = (*VOTE_COLUMNS, "winner_codes")
WORDING_NAMES = ("title", "top", "bottom", "question")
FILE_NAMES = ("delimiter", "encoding", "decimal", "na", "sheet")
(ID_OF_FIT_OPTION,) = section(
    ITEM_COLUMNS,
    option("--id", metavar="NAME", help="Column with the items' ids.  [default: as in the fit]"),
)
LINK_OPTION = word("--link", LINKS, "How a score difference becomes a probability.", "logit")
SCALE_OPTION = word(
    "--scale",
    SCALES,
    "Scale of the scores. link: 0 is the average compared item; 0-100: from the lowest to the"
    " highest compared item; elo: 1500 is the average compared item (logit only); wins: wins of 100"
    " decided comparisons with the compared items.",
    "link",
)
WORDING_OPTIONS = section(
    "Words of the report",
    option("--title", metavar="TEXT", help="Title of the study."),
    option("--top", metavar="TEXT", help="What the highest scores mean, such as 'most severe'."),
    option("--bottom", metavar="TEXT", help="What the lowest scores mean, such as 'least severe'."),
)
(DECIMAL_OPTION,) = section(
    OUTPUT,
    word(
        "--decimal",
        (",", "."),
        "Decimal sign of CSV files that are read and written.  [default: as in the fit]",
    ),
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
    return {name: given[name] for name in ITEM_NAMES}


def vote_settings(given: dict[str, Any], kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """What reads comparisons takes, from VOTE_OPTIONS and FILE_OPTIONS or a study file.

    ``kept`` is what a model knows of the files of its fit; what is given comes first.
    """
    kept = kept or {}
    return {
        "vote_columns": {name: given.get(name) for name in VOTE_COLUMNS},
        "kept_columns": kept.get("vote_columns", {}),
        "winner_codes": given.get("winner_codes") or kept.get("winner_codes"),
    } | file_settings(given, kept)


def file_settings(given: dict[str, Any], kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """How files are read, from FILE_OPTIONS or a study file; what is unusual about one is shown."""
    lists = {name: given.get(name) or [] for name in ("na", "sheet")}
    settings = {name: given.get(name) for name in FILE_NAMES} | lists
    of_fit = {name: value for name, value in (kept or {}).items() if value}
    kept = {n: of_fit[n] for n in FILE_NAMES if n in of_fit and n != "sheet" and not settings[n]}
    as_kept = ("decimal", "encoding", "delimiter")
    settings |= {name: Kept(v) if name in as_kept else v for name, v in kept.items()}
    if not settings["sheet"] and ("sheet" in of_fit or "vote_sheets" in of_fit):
        of_items = of_fit.get("sheet", [""])[0]  # comes first; files without sheets have none
        settings["sheet"] = [Kept(name) for name in (of_items, *of_fit.get("vote_sheets", ()))]
    return settings | {"say": show_note}


def wording_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Title, top and bottom, from WORDING_OPTIONS or a study file; None for what is not given."""
    return {name: given.get(name) for name in WORDING_NAMES}


def columns_given(given: dict[str, Any]) -> dict[str, Any]:
    """Columns of items and comparisons that are named, as a stream takes them."""
    asked = (*VOTE_COLUMNS, "id", "features", "exclude", "curves", "smooth")
    return {name: given[name] for name in asked if given.get(name)}


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


def parse_curves(texts: Iterable[str]) -> dict[str, tuple[float, ...] | None]:
    """By column its knots, None where none are given, from texts such as ``bmi,age=20/40/60``."""
    curves: dict[str, tuple[float, ...] | None] = {}
    for part in split_names(texts):
        name, _, given = part.rpartition("=")
        try:
            knots = tuple(map(float, given.split("/"))) if name else None
        except ValueError:
            raise PairscoreError(
                f"--curves {part!r} does not give knots; write for example"
                f" --curves {name.strip()}=20/40/60, or the name of the column alone."
            ) from None
        curves[name.strip() if name else part] = knots
    return curves


def parse_reference(texts: Iterable[str]) -> dict[str, str]:
    """By category its reference level, from texts such as ``grape=merlot,site=north``."""
    parts = [part.partition("=") for part in split_names(texts)]
    for name, _, level in parts:
        if not name.strip() or not level.strip():
            raise PairscoreError(
                f"--reference {name!r} does not name a level; write for example"
                f" --reference {name.strip() or 'grape'}=LEVEL."
            )
    return {name.strip(): level.strip() for name, _, level in parts}


def number_or_word(text: str | None) -> float | str | None:
    """A number where the text is one; the library says which words a setting may be."""
    try:
        return float(text or "")
    except ValueError:
        return text


SUMMARY_JSON = json_flag("Print coefficients, standard errors and more as JSON.")
