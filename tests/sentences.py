"""Collect every sentence that pairscore can show a user, from its source.

A sentence is any text of two words or more in a module (without docstrings, but with those that are
the help of a command), in a template of a page or in its script. What is filled in when the program
runs is shown as …, in quotes where the program quotes it; a choice of words as {is|are}.
"""

import ast
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from jinja2 import Environment

ROOT = Path(__file__).resolve().parents[1] / "src" / "pairscore"
FILLED = "…"
TEXT_IN_SCRIPT = r'"([^"\n]*)"|`([^`]*)`'
# what no user sees: statements for DuckDB, drawings and their places, names
NOT_SHOWN = re.compile(
    r"""
    \b(SELECT|CREATE|COPY|INSERT|DROP|FROM|UNION|CAST|AND|TABLE|PRAGMA|FORMAT|NOT|WHERE|AS)\b
    | \b(DESCRIBE\ |regexp_full_match\(|replace\(|read_parquet\(|read_json\(|read_csv\()
    | ^[A-Z\ ]+$ | \\[sdwb1] | ^use\ strict$
    | <[?/]?\w+[\ >/] | ^[MmLlHhVvZz]\ ?[\d…] | xmlns | sans-serif | ="…"
    | ^(axes\ fraction|offset\ points|outside\ upper\ center|interval\ …-line|accent\ faint)$
    | ^(\w+_\w+|[A-Z]\w+)(\ \w+)*\ \w+_
    """,
    re.VERBOSE,
)


def collect() -> dict[str, list[str]]:
    """By file, relative to the package: its sentences in their order, each once."""
    found = {}
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in READERS and (texts := READERS[path.suffix](path)):
            found[str(path.relative_to(ROOT))] = list(dict.fromkeys(texts))
    return found


def is_sentence(text: str) -> bool:
    """Whether a text has two words, one after the other, and is for people."""
    words = re.search(r"[^\W\d_]{2,}[^\w\s]*\s+[(\"'“]?(…|[^\W\d_]+)", text)
    return bool(words) and not NOT_SHOWN.search(text)


# -- modules ---------------------------------------------------------------------------------------


def of_module(path: Path) -> list[str]:
    return list(of_source(path.read_text(encoding="utf-8")))


def of_source(source: str) -> Iterator[str]:
    """The sentences of a module."""
    tree = ast.parse(source)
    for node in in_order(tree, docstrings(tree)):
        text = (text_of(node) or "").strip()
        if is_sentence(text):
            yield "\n".join(line.strip() for line in text.splitlines())


def docstrings(tree: ast.AST) -> set[int]:
    """The docstrings that are not the help of a command, by the id of their node."""
    kinds = ast.Module | ast.FunctionDef | ast.ClassDef
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, kinds) and ast.get_docstring(node) is not None and not is_command(node)
    }


def is_command(node: ast.AST) -> bool:
    names = [ast.unparse(one) for one in getattr(node, "decorator_list", ())]
    return any(name.startswith(("click.command", "click.group", "command(")) for name in names)


def in_order(node: ast.AST, skipped: set[int]) -> Iterator[ast.AST]:
    """All nodes, but nothing inside a text that is whole, other than what is filled in."""
    if id(node) in skipped:
        return
    yield node
    inner = ast.iter_child_nodes(node)
    if isinstance(node, ast.JoinedStr):
        inner = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.BinOp) and text_of(node) is not None:
        inner = (part for part in parts_of_sum(node) if text_of(part) is None)
    for child in inner:
        yield from in_order(child, skipped)


def parts_of_sum(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from parts_of_sum(node.left)
        yield from parts_of_sum(node.right)
    else:
        yield node


def text_of(node: ast.AST) -> str | None:
    """The text that an expression is, as far as the source says it; None if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[^{}]*!r\}", f"'{FILLED}'", re.sub(r"\{[\w:.,%+]*\}", FILLED, node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(map(part_of, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [text_of(part) for part in parts_of_sum(node)]
        return "".join(part or FILLED for part in parts) if any(parts) else None
    return None


def part_of(node: ast.AST) -> str:
    """A piece of an f-string."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.FormattedValue)
    inner = node.value
    if isinstance(inner, ast.IfExp) and None not in (
        both := [text_of(inner.body), text_of(inner.orelse)]
    ):
        return "{" + "|".join(map(str, both)) + "}"
    if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "plural":
        nouns = [text_of(one) or FILLED for one in inner.args[1:2]]
        verbs = [f" {text_of(one.value) or FILLED}" for one in inner.keywords if one.arg == "verb"]
        return f"{FILLED} {''.join(nouns + verbs)}"
    return f"'{FILLED}'" if node.conversion == ord("r") else FILLED


# -- pages -----------------------------------------------------------------------------------------


def of_template(path: Path) -> list[str]:
    """The text of a template: what its tags enclose, and texts inside its expressions."""
    now, inner = "", []
    for _, kind, value in Environment().lex(path.read_text(encoding="utf-8")):
        if kind == "data":
            now += value
        elif kind == "variable_begin":
            now += FILLED
        elif kind == "string":
            inner.append(value[1:-1])
    now = re.sub(r'\b(?:aria-label|title|alt|placeholder)="([^"]*)"', r">\1<br ", now)
    now = re.sub(r"</?(?:b|i|em|strong|code|a|span|small|sup|sub|abbr)\b[^>]*>", "", now)
    texts = [" ".join(unescape(one).split()) for one in [*re.split(r"<[^>]*>", now), *inner]]
    # behind a condition a piece of a sentence may begin with its comma
    return [text for text in (re.sub(r" (?=[,;])", "", one) for one in texts) if is_sentence(text)]


def of_script(path: Path) -> list[str]:
    found = re.findall(TEXT_IN_SCRIPT, re.sub(r"//.*", "", path.read_text(encoding="utf-8")))
    texts = [re.sub(r"\$\{[^}]*\}", FILLED, one or other) for one, other in found]
    return [text for text in texts if is_sentence(text)]


READERS = {".py": of_module, ".j2": of_template, ".js": of_script}


def all_sentences() -> str:
    """Every sentence on a line, below the name of its module."""
    lines = []
    for name, texts in collect().items():
        lines += [f"== {name}", *(text.replace("\n", " ⏎ ") for text in texts), ""]
    return "\n".join(lines)
