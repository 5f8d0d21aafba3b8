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
"""

import re
from ast import literal_eval
from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any

import click

from pairscore.cli.old_options import OLD_OPTIONS
from pairscore.errors import Worded
from pairscore.messages import UNSET, Action, Message, Part, Piece, Setting, Value, plain_value

PHRASES = {
    "a target (angle=, misordered= or norm_error=)": "a target (misordered=)",
    ", or pass self_pairs='keep'": "",
    "draw at least 2, or keep self_pairs": "draw at least 2",
    "give them with items=": "give them with items_file=",
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
    "n_jobs": ("--processes", False),
    "n_judges": ("--judges", False),
}
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
        line = line.replace("side_effect='judges'", "--side-effect judges")
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
    return f"--na {quote(_cells(words))}"


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


# -- settings of messages --------------------------------------------------------------------------

# by setting, or setting with its value: the option that has another name
OTHER_NAMES: dict[str | tuple[str, Any], str] = {
    "item_groups": "group",
    "n_splits": "folds",
    "n_jobs": "processes",
    "n_judges": "judges",
    "votes": "comparisons",
    "data": "keep_data",
}
# the same in one command
OTHER_NAMES_HERE: dict[str, dict[str, str]] = {
    "plan": {"items": "items_file", "n_features": "features"},
}
# what a command does where Python calls a function
ACTIONS = {
    "RankRegression.save": "pairscore fit",
    "compare": "pairscore compare",
    "fit_stream": "pairscore fit --stream",
    "rank": "pairscore rank",
}


def in_options(part: Part) -> str | None:
    """A setting as the option of a command, such as ``--method mle``; None if no command has it.

    ``compare`` has the settings of models as words, such as ``judge-slopes=yes``.
    """
    match part:
        case Action(name):
            return ACTIONS.get(name)
        case Value(value):
            return plain_value(value)
        case Setting(name, value):
            known = parameters()
            param = known.get(_other_name(name, value), known.get(name))
            if isinstance(param, click.Argument):
                return param.human_readable_name.rstrip(".")
            if isinstance(param, click.Option):
                return _as_key(param, value) or _as_assigned(param, value)
            if name in known:  # of a model of `compare`
                word = name.replace("_", "-")
                return word if value is UNSET else f"{word}={_as_cells(value)}"
    return None


def _as_key(option: click.Option, value: Any) -> str | None:
    """What a study file says in place of an option that the command has no more; None if it has."""
    name = max(option.opts, key=len)
    if name not in OLD_OPTIONS.get(_command(), {}):
        return None
    key, where = name.removeprefix("--"), "in a study file"
    if key == "winner-codes":
        lines = value.items() if isinstance(value, Mapping) else ()
        codes = ", ".join(f'"{code or ""}" = "{meaning}"' for code, meaning in lines)
        return f"{codes} below [codes] {where}".lstrip()
    return f"{key} {where}" if value is UNSET else f'{key} = "{_as_cells(value)}" {where}'


def _other_name(name: str, value: Any) -> str:
    here = OTHER_NAMES_HERE.get(_command(), {})
    with_value = (name, value) if isinstance(value, str) else name
    return here.get(name) or OTHER_NAMES.get(with_value) or OTHER_NAMES.get(name, name)


def _command() -> str:
    """The name of the command that runs, or nothing."""
    return click.get_current_context().find_root().invoked_subcommand or ""


def parameters() -> dict[str, click.Parameter | None]:
    """Options and arguments by the name that commands have for them in Python.

    Those of the command that runs come first; others may be named too, as those of the fit are by
    the commands that use a model. None is a setting of a model, where these are words.
    """
    root = click.get_current_context().find_root()
    commands = root.command.commands if isinstance(root.command, click.Group) else {}
    known = {
        name: {param.name: param for param in command.params if param.name}
        for name, command in commands.items()
    }
    here = known.get(root.invoked_subcommand or "", {})
    all_known: dict[str, click.Parameter | None] = {}
    for of_command in (*known.values(), here):
        all_known |= of_command
    if "models" in here:
        all_known |= {name: None for name in known["fit"] if name not in here}
    return all_known


def _as_assigned(option: click.Option, value: Any) -> str | None:
    """An option with its value, ready for a shell."""
    name = max(option.opts, key=len)
    if value is UNSET or value is True or (option.is_flag and value is not False):
        return name
    return None if value is False else f"{name} {quote(_as_cells(value))}"


def _as_cells(value: Any) -> str:
    """A value as an option takes it: lists and codes with commas."""
    if isinstance(value, Mapping):
        return _cells(f"{'' if key is None else key}={one}" for key, one in value.items())
    return _cells(value) if isinstance(value, list | tuple) else plain_value(value)


def _cells(words: Iterable[str]) -> str:
    return ",".join(f'"{word}"' if "," in word else word for word in words)


def worded(said: Worded | Piece) -> str:
    """What the library says, in the words of the command line."""
    if isinstance(said, str):
        return translate(said)
    said = said if isinstance(said, Worded) else Message.of(said)
    return translate(said.worded(in_options))
