"""The rooms: each says in its docstring which others it imports, and that is the truth.

No circles; pure mathematics.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import pairscore

SOURCE = Path(pairscore.__file__).parent
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
MATHS = ("core", "estimators", "effects", "theory")
OUTSIDE_WORLD = {
    "os",
    "sys",
    "io",
    "time",
    "pathlib",
    "datetime",
    "random",
    "click",
    "tempfile",
    "logging",
    "subprocess",
    "secrets",
    "uuid",
}
FORBIDDEN_CALLS = ("print", "open", "input")


def modules():
    """Path of every module of the package by its dotted name."""
    names = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
        for path in SOURCE.rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


def running_nodes(tree):
    """The nodes of a module that run; a block under ``if TYPE_CHECKING:`` does not."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
                yield node
                waiting.append(node)


@cache
def imported_names(code):
    """Full names of what a module imports, wherever in it."""
    names = []
    for node in running_nodes(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{'.' * node.level}{node.module}.{name.name}" for name in node.names]
    return tuple(names)


def own_imports(code, known):
    """Which modules of pairscore a module imports."""
    names = [name for name in imported_names(code) if name.startswith("pairscore.")]
    return {name if name in known else name.rpartition(".")[0] for name in names}


def room_of(module):
    """The room of a module; a module on the top floor is its own."""
    return [*module.split("."), ""][1]


@cache
def graph():
    """What each module imports."""
    known = modules()
    return {name: own_imports(path.read_text(), known) for name, path in known.items()}


def calls(code):
    """What some code calls; a generator made from a seed that was given is no global randomness."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {
        ast.unparse(node.func)
        for node in found
        if not (node.args and ast.unparse(node.func) == "np.random.default_rng")
    }


def impurities(code):
    """Modules of the outside world that code imports, and calls that mathematics may not make."""
    names = {name.split(".")[0] for name in imported_names(code)} & OUTSIDE_WORLD
    return names | {
        name
        for name in calls(code)
        if name in FORBIDDEN_CALLS or name.startswith(("np.random.", "random."))
    }


def test_no_room_hides_a_public_name():
    assert not set(ROOMS) & set(pairscore.__all__)
    from pairscore import compare, plan

    assert callable(plan)
    assert callable(compare)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_imports(room):
    doc = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text()))
    last = " ".join(doc.split("\n\n")[-1].split())
    said = re.fullmatch(r"Imports: ([\w, ]+)\.", last).group(1).split(", ")
    found = {
        room_of(name)
        for module, names in graph().items()
        if room_of(module) == room
        for name in names
    } - {room, ""}
    assert set(said) == found
    assert len(said) == len(set(said))


def test_imports_go_one_way_between_rooms_and_between_modules():
    rooms = defaultdict(set)
    for module, names in graph().items():
        if module != "pairscore":  # its public names are imported when they are asked for
            rooms[room_of(module)] |= {room_of(name) for name in names} - {room_of(module), ""}
    modules_apart = {name: names for name, names in graph().items() if name != "pairscore"}
    order = list(TopologicalSorter(rooms).static_order())  # CycleError names the circle
    assert order.index("errors") < order.index("data") < order.index("model") < order.index("cli")
    assert set(TopologicalSorter(modules_apart).static_order()) >= set(modules_apart)


def test_imports_are_absolute():
    for path in modules().values():
        assert not [name for name in imported_names(path.read_text()) if name.startswith(".")]


@pytest.mark.parametrize("room", MATHS)
def test_mathematics_touches_no_files_clocks_printing_or_global_randomness(room):
    for path in (SOURCE / room).glob("*.py"):
        assert not impurities(path.read_text()), path.name
    assert not {"files", "cli"} & {
        room_of(name)
        for module, names in graph().items()
        if room_of(module) == room
        for name in names
    }


def test_the_eye_on_imports_sees_what_it_should():
    code = (
        "import os.path\nfrom pairscore.cli import main\nif TYPE_CHECKING:\n    import time\ndef"
        " f():\n    from pairscore.data.votes import Votes"
    )
    assert own_imports(code, {"pairscore.data.votes"}) == {"pairscore.cli", "pairscore.data.votes"}
    assert set(imported_names(code)) == {
        "os.path",
        "pairscore.cli.main",
        "pairscore.data.votes.Votes",
    }
    assert impurities(
        "import time\nprint(1)\nnp.random.seed(1)\nrng = np.random.default_rng()\nrng.random()"
    ) == {
        "time",
        "print",
        "np.random.seed",
        "np.random.default_rng",
    }
    with pytest.raises(ValueError, match="cycle"):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
