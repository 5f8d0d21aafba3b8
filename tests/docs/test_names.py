"""Every public name, every command and every option is documented."""

import inspect
import re
import sys
from importlib import import_module

import click
import pytest

import pairscore
from pairscore import planning, theory
from pairscore.cli import main
from tests.docs.pages import PAGES, ROOT, text_of

sys.path.append(str(ROOT / "docs" / "extensions"))
import command_pages

API = [page for page in PAGES if page.startswith("docs/reference/api/")]
DIRECTIVE = re.compile(r"(?m)^\.\. (auto\w+|py:data):: (pairscore[\w.]*)$")
MODULES = ("plots", "scorers")


def documented():
    """Names on the pages of the API, by the page that has them."""
    return {name: page for page in API for _, name in DIRECTIVE.findall(text_of(page))}


def public_names():
    """Names that a program may rely on."""
    yield from (f"pairscore.{name}" for name in pairscore.__all__ if name not in MODULES)
    for name in MODULES:
        module = getattr(pairscore, name)
        found = [thing for thing in vars(module) if is_public(module, thing)]
        assert found, name
        yield from (f"pairscore.{name}.{thing}" for thing in found)
    for package in (theory, planning):
        homes = {name: getattr(package, name) for name in package._HOME}
        yield from (f"{package.__name__}.{name}" for name in homes)
    yield from (f"pairscore.files.{name}" for name in import_module("pairscore.files").__all__)
    errors = import_module("pairscore.errors")
    kinds = [name for name, thing in vars(errors).items() if isinstance(thing, type)]
    yield from (f"pairscore.errors.{name}" for name in kinds if name.endswith(("Error", "Warning")))


def is_public(module, name):
    thing = getattr(module, name)
    is_own = getattr(thing, "__module__", None) == module.__name__
    return not name.startswith("_") and is_own and (callable(thing) or not inspect.ismodule(thing))


def resolved(name):
    """The thing of a dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


def undocumented(names, pages):
    """Names that are on no page, whichever of their homes a page names."""
    there = {id(resolved(name)) for name in pages}
    return [name for name in names if id(resolved(name)) not in there]


def test_every_public_name_is_on_a_page():
    names = list(public_names())
    assert len(names) > 80
    assert undocumented(names, documented()) == []


def test_a_name_that_is_on_no_page_is_seen():
    pages = {name: page for name, page in documented().items() if not name.endswith("anova")}
    assert undocumented(public_names(), pages) == ["pairscore.anova"]


@pytest.mark.parametrize("name", documented())
def test_what_is_on_a_page_exists_and_says_what_it_takes(name):
    thing = resolved(name)
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        assert missing_parameters(thing) == []


def missing_parameters(function):
    """Parameters of a function that its docstring does not name."""
    words = set(re.findall(r"\w+", inspect.getdoc(function) or ""))
    return [name for name in inspect.signature(function).parameters if name not in words]


def test_a_parameter_that_is_not_named_is_seen():
    def function(items, votes):
        """Take items."""

    assert missing_parameters(function) == ["votes"]


# -- commands --------------------------------------------------------------------------------------


def options_of(name):
    params = main.commands[name].params
    return [one for param in params if isinstance(param, click.Option) for one in param.opts]


@pytest.mark.parametrize("name", main.commands)
def test_every_command_has_a_page_with_all_its_options(name):
    page = text_of(f"docs/reference/commands/{name}.md")
    assert command_pages.COMMAND.findall(page) == [name]
    assert f"commands/{name}\n" in text_of("docs/reference/commands.md")
    shown = command_pages.markdown_of(name)
    terms = re.findall(r"(?m)^`([^`]+)`$", shown)
    written = {word for term in terms for word in re.findall(r"(?<![\w-])--?[\w-]+", term)}
    assert set(options_of(name)) <= written
    assert len(options_of(name)) > 1
    for example in command_pages.paragraphs_of(name)[1]:
        assert example.strip() in shown
    assert "## Examples" in shown


def test_pages_of_commands_are_of_commands():
    folder = "docs/reference/commands/"
    assert {page for page in PAGES if page.startswith(folder)} == {
        f"{folder}{name}.md" for name in main.commands
    }


def test_an_option_that_is_added_is_on_the_page(monkeypatch):
    command = main.commands["rank"]
    added = click.Option(["--newly-added"], help="What it does; *see* <there>.", default="x")
    monkeypatch.setattr(command, "params", [*command.params, added])
    assert "`--newly-added TEXT`\n: What it does; \\*see\\* \\<there\\>." in (
        command_pages.markdown_of("rank")
    )


def test_a_page_is_filled_in_where_it_asks_for_a_command():
    source = ["# Title\n\n```{command} rank\n```\n\n```{command_list}\n```\n"]
    command_pages.fill_in(None, "page", source)
    assert source[0].count("```{command") == 0
    assert "pairscore rank [OPTIONS] MODEL" in source[0]
    assert all(f"[`{name}`](commands/{name}.md)" in source[0] for name in main.commands)
