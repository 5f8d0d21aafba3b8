"""What the library says, in the words of the command line: options instead of settings.

Messages of the library name settings as Python does. This is the one place that translates them:

    side_effect=True                   --side-effect
    n_items is 0                       --items is 0
    method='pooled'                    --method pooled
    l2=1.0                             --l2 1.0
    id='NAME'                          --id NAME
    categorical=['colour']             --categorical 'colour'
    features names 'x'                 --features names 'x'
    leave it out of squares=           leave it out of --square
    the votes have no column           the comparisons have no column
    winner_codes={'A': 'left'}         --winner-codes A=left
    na=['<5', 'not done']              --na '<5,not done'

``compare`` has the settings of models as words, such as ``judge-slopes=yes``, and not as options.
Also what is printed besides results: rankings, notes, and the layout of ``--help``.
"""

import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import cleandoc
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, TypeVar

import click

from pairscore.display import first_few, visible
from pairscore.errors import MOST_WORDS
from pairscore.passwords import without_password

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]

PHRASES = {
    "fit_stream reads it": "pairscore fit --stream reads it",
    "read its tables with read_sql": "name it with --db, and give a query for each table",
    # what only Python has
    "None, a number from 0 to 1": "a number from 0 to 1",
    "True, False or ": "yes, no or ",
    "True or False": "yes or no",
    "'model' or None": "'model' or none",
    "column names of the votes, or None": "column names of the comparisons",
    "shuffle=True, ": "",
    "name some with covariance_items=, ": "",
    ", test='touch'": "",
    "raise max_iter or add": "add",
    "raise max_iter, add": "add",
    ", comparisons of a pilot (pilot=), or population=": ", or comparisons of a pilot (pilot=)",
    "n_features=, items= or population=": "n_features= or items_file=",
    "n_features= and min_eigenvalue=, or items=": "min_eigenvalue=, or items_file=",
    "more than one of noise=, slope= and judge_noise= is given, and each determines the others": (
        "both noise= and judge_noise= are given, and each determines the other"
    ),
    "pass it again: load(path, link=(f, f'))": "use it in Python, where load takes the link again",
    "a file that RankRegression.save made": "a model that pairscore fit wrote",
    ", or give them to Comparisons.from_frames, whose comparisons any l2 takes": "",
    "of another kind; save the model again": (
        "of another kind; give the model first, then the tables, or fit again"
    ),
    "is a table and not a model; give the file of the model": (
        "is a table and not a model; give the model first, then the tables"
    ),
    "give the comparisons alone (None as items)": "give the comparisons alone",
    "or fit it whole": "or fit it whole, without --stream",
    # what is said in other words
    "is not numeric (String)": "is text",
    "item_groups are": "items of one --group are",
    "leave them out of the table": "leave them out: --exclude NAME",
    "make a text column 0/1 columns": "use --categorical NAME",
    "or 0/1 columns for its levels": "or use --categorical in the fit",
    "name another folder": "name another folder with -o",
    "give item_groups for all items, the new ones last": "fit again to all items with --group",
    "inference='items+judges' need; add it": (
        "inference='items+judges' need; add it, or name the column that says who judged: --judge"
    ),
}
# settings that have an option of another name
ALIASES = {
    "item_groups": ("--group", False),
    "n_splits": ("--folds", False),
    "n_jobs": ("--threads", False),
    "n_judges": ("--judges", False),
}
SHOWN_ITEMS = 20  # of a ranking
OPTIONS, OUTPUT = "Options", "Output"  # sections: of options in no other, and the last one
EXAMPLE_WIDTH = 74
HYPHEN = "\N{NON-BREAKING HYPHEN}"
BAD_ROW_INDENT = "  "  # lines of bad rows begin so; they show the text of a file and stay as it is
WORD = r"'([\w+-]+)'"
NUMBER = r"([0-9.]+(?:e[+-]?[0-9]+)?)(?<![.])"
NAME_IN_QUOTES = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
# the argument of Python that has the comparisons; not in a name in quotes nor in that of a file
VOTES = rf"(?<!\w){NAME_IN_QUOTES}|(?<![\w/\\.-])votes(?![\w/\\=-]|\.\w)"


def translate(text: str) -> str:
    """A message of the library with options in place of settings.

    Lines that show bad rows of a file are left as they are.
    """
    return "\n".join(
        line if line.startswith(BAD_ROW_INDENT) else _translate_line(line)
        for line in text.split("\n")
    )


def _translate_line(line: str) -> str:
    for phrase, other in PHRASES.items():
        line = line.replace(phrase, other)
    line = re.sub(r"winner_codes=(\{[^}]*\})", lambda codes: _as_codes(codes[1]), line)
    line = re.sub(rf"(?<![\w'\"-])na=(\[{NAME_IN_QUOTES}(?:, {NAME_IN_QUOTES})*\])", _as_na, line)
    options, settings = _options()
    for name in settings:
        line = _as_words(line, name) if name in line else line
    if "side_effect" not in settings:
        line = line.replace("side_effect='judges'", "--side-by-judge")
    for name, (option, is_flag) in options.items():
        line = _as_option(line, name, option, is_flag) if name in line else line
    # 'home' as left: the column of a side under another name
    line = re.sub(rf"{NAME_IN_QUOTES} as (left|right|winner|loser|judge)\b", r"--\2 \1", line)
    return re.sub(VOTES, lambda found: found[1] or "comparisons", line)


def _as_option(line: str, name: str, option: str, is_flag: bool) -> str:
    setting = rf"(?<![\w'\"-]){name}"
    line = re.sub(rf"{setting}=True\b", option, line)
    line = re.sub(rf"{setting}=None\b", f"{option} none", line)
    line = re.sub(rf"{setting}={WORD}", option if is_flag else rf"{option} \1", line)
    line = re.sub(rf"{setting}={NUMBER}", rf"{option} \1", line)
    line = re.sub(rf"{setting}=\[{NAME_IN_QUOTES}\]", rf"{option} \1", line)
    line = re.sub(rf"{setting}=(?=[.,:;) ]|$)", option, line)
    # a name such as `link` is also a word of the language, unless it begins the message
    bare = rf"^{name}(?= is | names )" if name.isalpha() else rf"{setting}(?![\w'\"=]| = )"
    return re.sub(bare, option, line)


def _as_codes(text: str) -> str:
    """Codes of winners as the option takes them, ready for a shell."""
    codes = literal_eval(text)
    pairs = [f"{'' if code is None else code}={meaning}" for code, meaning in codes.items()]
    cells = [f'"{pair}"' if "," in pair else pair for pair in pairs]
    return f"--winner-codes {quote(','.join(cells))}"


def _as_na(found: re.Match[str]) -> str:
    return na_option(literal_eval(found[1]))


def na_option(words: Iterable[str]) -> str:
    """The option that names words for missing values."""
    cells = [f'"{word}"' if "," in word else word for word in words]
    return f"--na {quote(','.join(cells))}"


def _as_words(line: str, name: str) -> str:
    """A setting as `compare` takes it."""
    setting = rf"(?<![\w'\"-]){name}"
    line = re.sub(rf"{setting}=True\b", f"{name}=yes", line)
    line = re.sub(rf"{setting}=None\b", f"{name}=none", line)
    return re.sub(rf"{setting}={WORD}", rf"{name}=\1", line)


def _options() -> tuple[dict[str, tuple[str, bool]], list[str]]:
    """By the name of a setting: its option, and whether that is a flag; and settings without one.

    An option of the command that runs comes before one of the same name. Others may be named too,
    as those of the fit are by the commands that use a model.
    """
    root = click.get_current_context().find_root()
    commands = root.command.commands if isinstance(root.command, click.Group) else {}
    known = {name: _options_of(command) for name, command in commands.items()}
    here = known.get(root.invoked_subcommand or "", {})
    options = dict(ALIASES)
    for others in known.values():
        options |= others
    words = [name for name in known["fit"] if name not in here] if "models" in here else []
    return {name: of for name, of in (options | here).items() if name not in words}, words


def _options_of(command: click.Command) -> dict[str, tuple[str, bool]]:
    return {
        option.name: (max(option.opts, key=len), option.is_flag)
        for option in command.params
        if isinstance(option, click.Option) and option.name
    }


# -- a ranking on the screen -----------------------------------------------------------------------


def with_id_name(ranking: dict[str, Any], name: str | None) -> dict[str, Any]:
    """The ranking with the user's name for the column of ids, unless another column has it."""
    if name is None or name in ranking:
        return ranking
    return {name if column == "id" else column: values for column, values in ranking.items()}


def ranking_text(ranking: dict[str, Any], fit: Any, scale: str, id_name: str = "id") -> str:
    """The first items of a ranking as a table for the screen; ``id_name`` is the user's word."""
    from pairscore.display import same_digits, text_table
    from pairscore.model.score_scales import scale_of
    from pairscore.model.summary import interval_in_words
    from pairscore.records import row_records

    def cells(row: dict[str, Any]) -> tuple[Any, ...]:
        interval = interval_in_words(row["low"], row["high"], style)
        ranks = f"{row['rank_low']}-{row['rank_high']}"
        places = [f"{row['place_low']}-{row['place_high']}"] if has_places else []
        outside = "outside the fitted items" if row["outside"] else ""
        known = row["rank"], row["id"], f"{row['score']:{style}}", interval, ranks
        return *([row["group"]] if in_groups else []), *known, *places, outside

    in_groups, has_places = "group" in ranking, "place_low" in ranking
    style = same_digits(ranking["score"])
    few = {name: values[:SHOWN_ITEMS] for name, values in ranking.items()}
    ends = zip(few["low"], few["high"], strict=True)  # as they are: JSON knows no open ones
    first = [
        row | {"low": float(low), "high": float(high)}
        for row, (low, high) in zip(row_records(few), ends, strict=True)
    ]
    places = [f"among the {fit.n_items:,} fitted"] * has_places
    header, layout = (
        (*["group"] * in_groups, "rank", id_name, "score", "interval", "ranks", *places, ""),
        "{:<}  " * in_groups + "{:>}  {:<}  {:>}  {:>}  {:>}  " + "{:>}  " * has_places + "{:<}",
    )
    n_more = len(ranking["id"]) - len(first)
    lines = [
        ": ".join(filter(None, (fit.wording.title, fit.wording.order))),
        f"score: {scale_of(fit, scale).in_words}",
        text_table(header, map(cells, first), layout),
        f"and {n_more:,} more; -o ranking.csv writes them all." if n_more else "",
    ]
    return "\n".join(filter(None, lines))


# -- what is shown --------------------------------------------------------------------------------


def echo(text: str, err: bool = False) -> None:
    """Print words, with ids and names in them; all that commands say to people goes through here.

    Signs that would steer the terminal are shown as text, and addresses without their passwords.
    """
    click.echo(visible("\n".join(map(without_password, text.split("\n")))), err=err)


def show_json(record: Any, err: bool = False) -> None:
    """Print a result as JSON."""
    from pairscore.records import json_text

    click.echo(json_text(record), err=err)


def terminal_width() -> int:
    """Columns of the terminal that reads the output; 0 where none does."""
    return get_terminal_size().columns if sys.stdout.isatty() else 0


def folded(text: str, width: int) -> str:
    """Text whose long lines are broken between words; tables and commands stay as they are.

    A line goes on below its text, to the right of a label such as "agreement  ".
    """
    return "\n".join(_folded_line(line, width) for line in text.split("\n"))


def _folded_line(line: str, width: int) -> str:
    is_table = len(re.findall(r"\S {2,}", line)) > 1
    if not 0 < width < len(line) or is_table or line.lstrip().startswith("pairscore "):
        return line
    label = re.match(r"( *\S+(?: \S+)* {2,}| *)", line)
    start = label.end() if label else 0
    pieces = wrap(line[start:], width - start, break_long_words=False, break_on_hyphens=False)
    return line[:start] + f"\n{' ' * start}".join(pieces)


def show_text(text: str) -> None:
    """Print a result in words, folded to the terminal if there is one."""
    echo(folded(text, terminal_width()))


def show_warnings(texts: Iterable[str]) -> None:
    """Print what a fit warns of, each once, in the words of the command line."""
    for text in dict.fromkeys(texts):
        echo(f"Warning: {translate(text)}", err=True)


def show_note(text: str) -> None:
    """Print what is good to know, in the words of the command line."""
    echo(f"Note: {translate(text)}", err=True)


def show_unused_columns(items: Any) -> None:
    """Print a note on each column of the items that is no feature, and how it could be one."""
    for name, words in items.mixed.items():
        is_few = len(words) <= MOST_WORDS
        proposal = f"; {na_option(words)} counts these as missing" if is_few else ""
        show_note(
            f"the column {name!r} was left out, because {sum(words.values())} of its entries are"
            f" not numbers: {first_few(map(repr, words))}{proposal}."
        )
    for name in items.left_out:
        show_note(
            f"the column {name!r} is text and was left out; --categorical {quote(name)} makes it"
            " 0/1 columns."
        )
    for name in items.dates:
        show_note(
            f"the column {name!r} has dates and was left out; a number, such as days since the"
            " first one, could be a feature."
        )
    if items.labels:
        show_note(
            f"{first_few(map(repr, items.labels))} left out: text that differs from item to item."
        )
    if items.signed:
        show_note(
            f"{first_few(map(repr, items.signed))} left out: numbers with a sign such as % or $;"
            " write the numbers alone to make them features."
        )
    for name in items.nested:
        show_note(
            f"the column {name!r} holds lists or records and was left out; lists of equally many"
            " numbers, or a column for each value, make it features."
        )


def show_unused_answers(study: Any, params: dict[str, Any], auto: bool) -> None:
    """Print a note on what the comparisons have and the fit does not use, and what could use it."""
    votes, judge = study.votes, study.vote_columns.get("judge", "judge")
    of_judges = params["side_effect"] == "judges"
    if votes.judge is not None and not (params["judge_slopes"] or of_judges or auto):
        show_note(
            f"{judge!r} changes no score; --judge-slopes estimates how careful each judge is, and"
            " counts careless ones less."
        )
    if params["ties"] == "half" and not auto and (votes.outcome == 0).any():
        show_note("ties count as half wins; --ties davidson estimates how likely a tie is.")
    if unused := [name for name in study.unused if not is_of_sheet(name, study.unused)]:
        are = "was" if len(unused) == 1 else "were"
        show_note(
            f"of the comparisons, {first_few(map(repr, unused))} {are} not used; --context"
            " takes numbers that describe a comparison."
        )


def is_of_sheet(name: str, names: Sequence[str]) -> bool:
    """Whether a judging sheet has such a column for its readers: the number of the row, or what is
    known of the left and of the right item.
    """
    side, _, what = name.partition("_")
    other = {"left": "right", "right": "left"}.get(side)
    return name == "comparison" or (other is not None and f"{other}_{what}" in names)


def show_written(output: Path, as_json: bool, ranks: str | None = None) -> None:
    """Print where the result is, unless it or JSON is on standard output.

    A model ``ranks`` the items of a file; none, where it knows them.
    """
    if str(output) != "-" and not as_json:
        model = quote(str(output))
        echo(
            f"Wrote {output}."
            if ranks is None
            else f"Wrote {output}. Next: pairscore rank {model}{ranks and f' {ranks}'}."
        )


def next_steps(items: Path, comparisons: tuple[Path, ...], output: Path, page: Path | None) -> str:
    """What was written, and what to do next."""
    tables = " ".join(quote(str(path)) for path in dict.fromkeys((items, *comparisons)))
    if page is not None:
        return f"Wrote {output} and {page}. Next: open {page} in a browser."
    if not all(isinstance(path, Path) for path in (items, *comparisons)):  # rows of a query
        new = " NEW_ITEMS.csv" if comparisons else ""
        return f"Wrote {output}. Next: pairscore rank {quote(str(output))}{new}."
    if not comparisons:
        return (
            f"Wrote {output}. Next: pairscore rank {quote(str(output))}, or"
            f" pairscore report {quote(str(output))} {tables}."
        )
    return (
        f"Wrote {output}. Next: pairscore rank {quote(str(output))} {quote(str(items))}, or"
        f" pairscore report {quote(str(output))} {tables}."
    )


# -- help ------------------------------------------------------------------------------------------


class HelpText(click.HelpFormatter):
    """Help in which no option is broken at a hyphen."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *widths: Any, **more: Any) -> None:
        super().write_dl([(a, b.replace("-", HYPHEN)) for a, b in rows], *widths, **more)

    def getvalue(self) -> str:
        return super().getvalue().replace(HYPHEN, "-")


class HelpContext(click.Context):
    """A context whose help is such a text."""

    formatter_class = HelpText


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections, in the order in which they come."""

    context_class = HelpContext

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                untitled = OUTPUT if "--help" in param.opts else OPTIONS
                sections.setdefault(getattr(param, "section", untitled), []).append(record)
        sections[OUTPUT] = sections.pop(OUTPUT)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


command = partial(click.command, cls=SectionedCommand)


def section(title: str, *members: Option) -> tuple[Option, ...]:
    """Options that ``--help`` lists below a title."""

    def titled(one: Option) -> Option:
        def decorate(command: Any) -> Any:
            command = one(command)
            command.__click_params__[-1].section = title
            return command

        return decorate

    return tuple(map(titled, members))


def examples(*commands: str) -> Callable[[Command], Command]:
    """Add examples to the docstring of a command, in lines that a shell takes as they are."""
    block = "\n  ".join(["Examples:", *(_in_lines(f"pairscore {one}") for one in commands)])

    def decorate(command: Command) -> Command:
        command.__doc__ = f"{cleandoc(command.__doc__ or '')}\n\n\b\n{block}\n"
        return command

    return decorate


def _in_lines(example: str) -> str:
    """A long command in several lines, broken before options."""
    lines = [""]
    for part in re.split(r" (?=-)", example):
        if len(f"{lines[-1]} {part}") > EXAMPLE_WIDTH:
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)
