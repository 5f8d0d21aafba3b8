"""What the library says, in the words of the command line: options instead of settings.

    Setting("side_effect", True)            --side-effect
    Setting("n_items") + " is 0"            --items is 0
    Setting("method", "pooled")             --method pooled
    Setting("categorical", ["eye colour"])  --categorical 'eye colour'
    Setting("winner_codes", {"A": "left"})  --winner-codes A=left
    Value(True), Value(None)                yes, none
    Action("fit_stream")                    pairscore fit --stream

``compare`` has the settings of models as words, such as ``judge-slopes=yes``, and not as options.
What a command does not have has no words here: a remedy that names it is left out.
"""

import json
from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any

import click

from pairscore.cli.old_options import OLD_OPTIONS
from pairscore.errors import Worded
from pairscore.messages import UNSET, Action, Message, Part, Piece, Setting, Value, plain_value

# by setting, or setting with its value: the option that has another name
OTHER_NAMES: dict[str | tuple[str, Any], str] = {
    "item_groups": "group",
    "n_splits": "folds",
    "n_jobs": "processes",
    "n_judges": "judges",
    "votes": "comparisons",
    "data": "keep_data",
    "folder": "output",
}
# the same in one command
OTHER_NAMES_HERE: dict[str, dict[str, str]] = {
    "plan": {"items": "items_file", "n_features": "features"},
}
# what a command does where Python calls a function
ACTIONS = {
    "RankRegression.fit": "pairscore fit without --stream",
    "RankRegression.save": "pairscore fit",
    "compare": "pairscore compare",
    "fit_stream": "pairscore fit --stream",
    "rank": "pairscore rank",
    "read_sql": "--db, with a query for each table",
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
    from pairscore.files.study_file import LISTS, SECTIONS, SETTINGS

    option_name = name.removeprefix("--")
    where = "of a study file (.toml) that is given in place of the tables"
    if option_name == "winner-codes":
        lines = value.items() if isinstance(value, Mapping) else ()
        codes = ", ".join(
            f"{_as_toml(code or '')} = {_as_toml(meaning)}" for code, meaning in lines
        )
        return f"{codes} below [codes] {where}".lstrip()
    keys = {setting: key for key, setting in SETTINGS.items()}
    key = keys.get(option_name, option_name)
    section = next((one for one, of in SECTIONS.items() if key in of), "")
    where = f"below [{section}] {where}" if section else f"at the top {where}"
    if value is UNSET:
        return f"{key} {where}"
    is_list = key in LISTS and isinstance(value, list | tuple)
    return f"{key} = {_as_toml([*value] if is_list else _as_cells(value))} {where}"


def _as_toml(value: str | list[str]) -> str:
    """A text, or a list of texts, as a study file has it: JSON writes them in the same way."""
    return json.dumps(value, ensure_ascii=False)


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
        each = {key: _knots(one) if isinstance(one, list) else one for key, one in value.items()}
        return _cells(f"{'' if key is None else key}={one}" for key, one in each.items())
    return _cells(value) if isinstance(value, list | tuple) else plain_value(value)


def _knots(numbers: list[float]) -> str:
    """The knots of a curve, as its option takes them."""
    return "/".join(map(str, numbers))


def _cells(words: Iterable[str]) -> str:
    return ",".join(f'"{word}"' if "," in word else word for word in words)


def worded(said: Worded | Piece) -> str:
    """What the library says, in the words of the command line; a text is as it is."""
    if isinstance(said, str):
        return said
    said = said if isinstance(said, Worded) else Message.of(said)
    return said.worded(in_options)
