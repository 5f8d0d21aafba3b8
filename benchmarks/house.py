"""`make house`: figures of the source in src/pairscore: a report, without targets.

Lines are counted as they stand in the files, blank lines and comments included, at 100 columns. A
function is counted without its docstring and decorators. The inside of ``effects`` is left out of
the figures on modules, functions and repeated blocks, and the table says so.
"""

import ast
import inspect
import os
import sys
import tempfile
from collections import defaultdict
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import TopologicalSorter
from io import StringIO
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "pairscore"
LEFT_OUT = "effects"
BLOCK = 10  # equal lines that make a repeated block
SMALL_STUDY = "simulate --items 60 --features 4 --comparisons 400 --seed 1 -o study"
ONE_FIT = "fit study/items.csv study/comparisons.csv -o model.npz"


@dataclass(frozen=True)
class Function:
    """A function or method: where it is, and its lines without docstring."""

    module: str
    name: str
    lines: int


@dataclass(frozen=True)
class Module:
    """A file of the package by its dotted name."""

    name: str
    path: Path

    @cached_property
    def text(self):
        return self.path.read_text()

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @property
    def room(self):
        """The room of a module; a module on the top floor has none."""
        inside = self.path.relative_to(SOURCE).parts
        return inside[0] if len(inside) > 1 else ""

    @property
    def n_lines(self):
        return self.text.count("\n")

    @property
    def n_docstring_lines(self):
        return sum(map(docstring_lines, ast.walk(self.tree)))

    @property
    def functions(self):
        return [
            Function(
                self.name, node.name, node.end_lineno - node.lineno + 1 - docstring_lines(node)
            )
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]


def docstring_lines(node):
    """How many lines the docstring of a module, class or function has; 0 for other nodes."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, documented) or ast.get_docstring(node, clean=False) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


@cache
def modules():
    """Every module of the package by its dotted name."""
    names = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
        for path in sorted(SOURCE.rglob("*.py"))
    }
    return {
        name.removesuffix(".__init__"): Module(name.removesuffix(".__init__"), path)
        for name, path in names.items()
    }


def counted_modules():
    """The modules whose inside is counted."""
    return [module for module in modules().values() if module.room != LEFT_OUT]


def entries():
    """Files and folders in src/pairscore."""
    return sorted(path.name for path in SOURCE.iterdir() if path.name != "__pycache__")


def rooms():
    """Names of the modules of each room, without ``__init__``."""
    found = defaultdict(list)
    for module in modules().values():
        if module.room and module.path.name != "__init__.py":
            found[module.room].append(module.path.stem)
    return dict(found)


# -- imports -----------------------------------------------------------------------------------


def running_nodes(tree, in_functions):
    """Nodes that run when a module is imported; with ``in_functions``, also those of functions.

    A block under ``if TYPE_CHECKING:`` never runs.
    """
    for node in ast.iter_child_nodes(tree):
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not typing and (in_functions or not inside):
            yield node
            yield from running_nodes(node, in_functions)


def imports(module, in_functions):
    """Which modules of the package a module imports."""
    known, found = modules(), set()
    for node in running_nodes(module.tree, in_functions):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{name.name}" for name in node.names}
            found |= {name if name in known else node.module for name in full}
    return {name for name in found if name in known and name not in ("pairscore", module.name)}


def longest_chain(in_functions, left_out=None):
    """The longest list of modules of which each imports the next, past one room or none."""
    kept = {name: one for name, one in modules().items() if not left_out or one.room != left_out}
    graph = {name: imports(one, in_functions) & set(kept) for name, one in kept.items()}
    chain = {}
    for name in TopologicalSorter(graph).static_order():
        chain[name] = [name, *max((chain[other] for other in graph[name]), key=len, default=[])]
    return [name.removeprefix("pairscore.") for name in max(chain.values(), key=len)]


# -- what one fit passes -----------------------------------------------------------------------


def functions_of_one_fit():
    """Functions of the package that one default fit from CSV files calls, by module.

    What only runs while a module is being imported is not counted.
    """
    from pairscore.cli.commands import main

    found, here = defaultdict(set), Path.cwd()

    def note(frame, event, _):
        name, code = frame.f_globals.get("__name__", ""), frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        of_package = event == "call" and is_function and name.startswith("pairscore")
        if of_package and not is_importing(frame):
            found[name].add(code.co_qualname)

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        os.chdir(folder)
        try:
            main(SMALL_STUDY.split(), standalone_mode=False)
            sys.setprofile(note)
            main(ONE_FIT.split(), standalone_mode=False)
        finally:
            sys.setprofile(None)
            os.chdir(here)
    return dict(found)


def is_importing(frame):
    """Whether a frame runs because a module of the package is being imported."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "<module>" and name.startswith("pairscore"):
            return True
        frame = frame.f_back
    return False


# -- repeated blocks ---------------------------------------------------------------------------


def code_lines(module):
    """Pairs of line number and text, without blank lines, imports and docstrings."""
    skipped = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, node.end_lineno + 1))
        elif docstring_lines(node):
            skipped |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return [
        (number, " ".join(line.split()))
        for number, line in enumerate(module.text.splitlines(), start=1)
        if line.strip() and number not in skipped
    ]


def repeated_blocks(chosen):
    """Blocks of ten or more equal lines that stand in two places, as (place, place, lines)."""
    lines = {module.name: code_lines(module) for module in chosen}
    windows = defaultdict(list)
    for name, rows in lines.items():
        for start in range(len(rows) - BLOCK + 1):
            windows[tuple(text for _, text in rows[start : start + BLOCK])].append((name, start))
    pairs = {
        (one, other)
        for spots in windows.values()
        for place, one in enumerate(spots)
        for other in spots[place + 1 :]
        if one[0] != other[0] or other[1] - one[1] >= BLOCK
    }
    blocks = []
    for (a, i), (b, j) in sorted(pairs):
        if ((a, i - 1), (b, j - 1)) not in pairs:  # the block starts here
            length = 0
            while ((a, i + length), (b, j + length)) in pairs:
                length += 1
            where = [f"{name}:{lines[name][start][0]}" for name, start in ((a, i), (b, j))]
            blocks.append((*where, length + BLOCK - 1))
    return blocks


# -- the table ---------------------------------------------------------------------------------


def show(what, value):
    """One line: a figure."""
    print(f"  {what:<58} {value:>8}")


def quantile(values, share):
    """The value below or at which a share of the sorted values lies."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def show_sizes():
    """Entries, rooms, modules, functions and lines."""
    counted = counted_modules()
    show("entries in src/pairscore", len(entries()))
    for room, names in rooms().items():
        show(f"modules in {room}", len(names))
    show("longest module, lines", max(module.n_lines for module in counted))
    functions = sorted(
        (function for module in counted for function in module.functions),
        key=lambda function: -function.lines,
    )
    sizes = [function.lines for function in functions]
    show("functions", len(sizes))
    show("median function, lines", quantile(sizes, 0.5))
    show("90 % of functions, lines", quantile(sizes, 0.9))
    show("longest function, lines", sizes[0])


def show_lines():
    """Lines in all and without docstrings, with and without the room that is left out."""
    for label, chosen in (
        (f"without {LEFT_OUT}", counted_modules()),
        (f"with {LEFT_OUT}", modules().values()),
    ):
        total = sum(module.n_lines for module in chosen)
        documentation = sum(module.n_docstring_lines for module in chosen)
        show(f"lines {label}", total)
        show(f"lines {label}, without docstrings", total - documentation)
        show(f"share of docstring lines {label}, %", round(100 * documentation / total))


def main():
    """Print all figures."""
    passed = functions_of_one_fit()
    print(f"\nsrc/pairscore; the inside of {LEFT_OUT} is left out unless a line says otherwise")
    show_sizes()
    show_lines()
    for label, in_functions, left_out in (  # never those under TYPE_CHECKING
        ("at module level", False, None),
        ("and those inside functions", True, LEFT_OUT),
        ("and those inside functions, with effects", True, None),
    ):
        chain = longest_chain(in_functions, left_out)
        show(f"longest chain of imports {label}", len(chain))
        print(f"      {' > '.join(chain)}")
    show("modules that one default fit passes", len(passed))
    print(f"      {', '.join(sorted(name.removeprefix('pairscore.') for name in passed))}")
    show("functions that one default fit passes", sum(map(len, passed.values())))
    blocks = repeated_blocks(counted_modules())
    show(f"blocks of {BLOCK} or more equal lines that stand twice", len(blocks))
    for one, other, length in blocks:
        print(f"      {one} and {other}: {length} lines")


if __name__ == "__main__":
    main()
