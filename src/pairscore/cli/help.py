"""The layout of ``--help``: options in sections, examples in lines that a shell takes."""

import re
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Any, TypeVar

import click

from pairscore.cli.old_options import refuse_old_option

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]
OPTIONS, OUTPUT = "Options", "Output"  # sections: of options in no other, and the last one
EXAMPLE_WIDTH = 74


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections, in the order in which they come."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; an option that an earlier version had answers with what to do now."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            refuse_old_option(self.name or "", error.option_name)
            raise

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
