"""Pages of commands from the commands themselves: help, options with defaults, examples.

A page writes

    ```{command} fit
    ```

and gets what ``pairscore fit --help`` says as headings, paragraphs and lists. ``{command_list}`` is
a table of all commands with links to their pages.
"""

import re
from collections.abc import Iterator

import click

from pairscore.cli import main
from pairscore.cli.help import OPTIONS, OUTPUT

EXAMPLES = "Examples:"
COMMAND = re.compile(r"(?m)^```\{command\} (\w+)\n```$")
COMMAND_LIST = "```{command_list}\n```"


def context_of(name: str) -> click.Context:
    """The context of ``pairscore NAME``."""
    return click.Context(main.commands[name], info_name=f"pairscore {name}")


def paragraphs_of(name: str) -> tuple[list[str], list[str]]:
    """The help of a command: its paragraphs, and its examples as lines for a shell."""
    text, _, examples = (main.commands[name].help or "").partition(f"\b\n{EXAMPLES}\n")
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.replace("\b\n", ""))]
    return [part for part in paragraphs if part], examples.strip("\n").splitlines()


def sentence_of(name: str) -> str:
    """The first sentence of the help, as ``pairscore --help`` lists it."""
    first = paragraphs_of(name)[0][0]
    return first.split(". ")[0].removesuffix(".") + "."


def sections_of(name: str) -> dict[str, list[tuple[str, str]]]:
    """By the title of a section: its options with what they do, in the order of ``--help``."""
    context = context_of(name)
    found: dict[str, list[tuple[str, str]]] = {}
    for param in main.commands[name].get_params(context):
        record = param.get_help_record(context)
        if record is not None and isinstance(param, click.Option):
            untitled = OUTPUT if "--help" in param.opts else OPTIONS
            found.setdefault(getattr(param, "section", untitled), []).append(record)
    found[OUTPUT] = found.pop(OUTPUT)
    return found


def markdown_of(name: str) -> str:
    """The reference of a command."""
    return "\n".join(_lines(name))


def _lines(name: str) -> Iterator[str]:
    paragraphs, examples = paragraphs_of(name)
    usage = " ".join(main.commands[name].collect_usage_pieces(context_of(name)))
    yield from ("```text", f"pairscore {name} {usage}", "```", "")
    for paragraph in paragraphs:
        yield from (_escaped(paragraph), "")
    if examples:
        lines = [line.removeprefix("  ") for line in examples]
        shown = [f"$ {line}" if line.startswith("pairscore ") else line for line in lines]
        yield from ("## Examples", "", "```console", *shown, "```", "")
    for title, options in sections_of(name).items():
        yield from (f"## {title}", "")
        for option, text in options:
            yield from (f"`{option}`", f": {_escaped(' '.join(text.split()))}", "")


def _escaped(text: str) -> str:
    """Text with options as code, and without signs that Markdown would read."""
    text = re.sub(r"([\\*_<>$\[\]{}])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--?[a-zA-Z][\w-]*)", r"`\1`", text)


def list_of_commands() -> str:
    """A table of the commands, in the order of the work."""
    rows = [
        f"| [`{name}`](commands/{name}.md) | {_escaped(sentence_of(name))} |"
        for name in main.commands
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def fill_in(app, name: str, source: list[str]) -> None:
    """Put the references of commands in place of the blocks that ask for them."""
    text = COMMAND.sub(lambda match: markdown_of(match[1]), source[0])
    source[0] = text.replace(COMMAND_LIST, list_of_commands())


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True}
