"""What the library says, in the words of the command line: options instead of arguments."""

import re

import click

# there is no such option
PHRASES = {"use None, ": "use ", "name some with covariance_items=, ": ""}
AS_THEY_STAND = "  "  # lines of bad rows begin so, and show the text of a file


def in_options(text: str) -> str:
    """A message with ``--side-effect`` for ``side_effect=True``, ``--items`` for ``n_items``,
    ``--method pooled`` for ``method='pooled'``.
    """
    return "\n".join(
        line if line.startswith(AS_THEY_STAND) else _line_in_options(line)
        for line in text.split("\n")
    )


def _line_in_options(line: str) -> str:
    for phrase, other in PHRASES.items():
        line = line.replace(phrase, other)
    for name, (option, is_flag) in _options().items():
        word = rf"(?<![\w'\"-]){name}"
        line = re.sub(rf"{word}=True\b", option, line)
        line = re.sub(rf"{word}=None\b", f"{option} none", line)
        line = re.sub(rf"{word}='(\w+)'", option if is_flag else rf"{option} \1", line)
        line = re.sub(rf"{word}(?![\w'\"=])" if "_" in name else rf"^{name}(?= is )", option, line)
    return line


def _options() -> dict[str, tuple[str, bool]]:
    """By the name of an argument: its option, of whatever command, and whether that is a flag."""
    root = click.get_current_context().find_root().command
    commands = root.commands.values() if isinstance(root, click.Group) else []
    known = {
        option.name: (max(option.opts, key=len), option.is_flag)
        for command in commands
        for option in command.params
        if isinstance(option, click.Option)
    }
    return {name: option for name, option in known.items() if name}
