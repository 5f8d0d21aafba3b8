"""What the library says, in the words of the command line: options instead of settings.

Messages of the library name settings as Python does. This is the one place that translates them:

    side_effect=True                   --side-effect
    n_items is 0                       --items is 0
    method='pooled'                    --method pooled
    id='NAME'                          --id NAME
    categorical=['colour']             --categorical 'colour'
    features names 'x'                 --features names 'x'
    leave it out of squares=           leave it out of --square
"""

import re

import click

PHRASES = {
    # what only Python has
    "use None, ": "use ",
    "name some with covariance_items=, ": "",
    ", or give them to Comparisons.from_frames, whose comparisons any l2 takes": "",
    # what is said in other words
    "item_groups are": "items of one --group are",
    "leave them out of the table, or name them in exclude=": "leave them out: --exclude NAME",
    "name a text column in categorical=": "use --categorical NAME",
}
BAD_ROW_INDENT = "  "  # lines of bad rows begin so; they show the text of a file and stay as it is
WORD = r"'([\w+-]+)'"
NAME_IN_QUOTES = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""


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
    for name, (option, is_flag) in _options().items():
        setting = rf"(?<![\w'\"-]){name}"
        line = re.sub(rf"{setting}=True\b", option, line)
        line = re.sub(rf"{setting}=None\b", f"{option} none", line)
        line = re.sub(rf"{setting}={WORD}", option if is_flag else rf"{option} \1", line)
        line = re.sub(rf"{setting}=\[{NAME_IN_QUOTES}\]", rf"{option} \1", line)
        line = re.sub(rf"{setting}=(?=[.,:; ]|$)", option, line)
        # a name such as `link` is also a word of the language, unless it begins the message
        bare = rf"{setting}(?![\w'\"=])" if "_" in name else rf"^{name}(?= is | names )"
        line = re.sub(bare, option, line)
    return line


def _options() -> dict[str, tuple[str, bool]]:
    """By the name of a setting: its option, of whatever command, and whether that is a flag."""
    root = click.get_current_context().find_root().command
    commands = root.commands.values() if isinstance(root, click.Group) else []
    known = {
        option.name: (max(option.opts, key=len), option.is_flag)
        for command in commands
        for option in command.params
        if isinstance(option, click.Option)
    }
    return {name: option for name, option in known.items() if name}
