"""The package as a whole: a light import, names that resolve, imports in one direction, pure mathematics."""

import ast
import subprocess
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path

import pytest

import pairscore

SOURCE = Path(pairscore.__file__).parent
ORDER = (
    "errors", "methods", "checks", "links", "columns", "items", "recipe", "recipe_options", "item_gaps", "votes", "comparisons", "kept_data",
    "pairs", "moments", "basis", "closed_form", "scale", "integrals",
    "likelihood", "inference", "pairing", "folds", "ridge", "ties", "outcomes", "judges", "shared_items", "item_variance", "item_effects", "known_items",
    "settings", "study",
    "closed_form_fit", "likelihood_fit", "judge_effects", "circumstances",
    "contest", "slope_bias", "contest_inference", "contest_fit", "effects_fit", "contest_effects", "estimate",
    "ranking", "summary", "record", "fitted", "fit_input", "whole_file",
    "text_file", "table_source", "csv_faults", "csv_file", "typed_file", "fetched", "files", "model_file", "regression",
    "file_faults", "item_pieces", "intake",
    "metrics", "splitters", "on_items", "item_errors", "prediction_measures", "model_comparison", "comparer",
    "draws", "population", "bound_terms", "bound", "decomposition", "label_law", "direction_error", "error_nodes", "theory",
    "pilot", "plan_question", "planner", "plan_text", "simulate", "charts",
    "report_words", "report_trials", "report_checks", "report_extras", "report_facts", "report_svg", "report_pieces", "report_trust",
    "report_beside", "report_parts", "report_style", "report",
    "demo", "cli_options", "cli_words", "cli_fit", "cli_update", "cli_report", "cli_plan", "cli", "__main__",
)  # fmt: skip
PAPER_ORDER = (
    "cells", "tidy", "engines", "needed", "beyond", "runner", "predicted", "measures", "claim", "claims_of_errors", "claims_of_needs", "claims",
    "panels", "figures", "page", "reproduce",
)  # fmt: skip
MATHS = (
    "settings",
    "contest",
    "slope_bias",
    "contest_fit",
    "contest_inference",
    "circumstances",
    "contest_effects",
    "judge_effects",
    "judges",
    "ties",
    "outcomes",
    "folds",
    "ridge",
    "links",
    "pairs",
    "moments",
    "basis",
    "closed_form",
    "scale",
    "integrals",
    "likelihood",
    "inference",
    "pairing",
    "shared_items",
    "item_variance",
    "item_effects",
    "known_items",
    "effects_fit",
    "study",
    "closed_form_fit",
    "likelihood_fit",
    "estimate",
    "label_law",
    "direction_error",
    "theory",
    "pilot",
    "checks",
    "item_errors",
    "prediction_measures",
    "draws",
    "bound_terms",
    "bound",
    "decomposition",
)
OUTSIDE_WORLD = {"os", "sys", "io", "time", "pathlib", "datetime", "random", "click", "tempfile", "logging", "subprocess", "secrets", "uuid"}
HEAVY = ("numpy", "scipy", "sklearn", "narwhals", "duckdb")


def heavy_modules_after(code):
    """Which heavy packages a fresh interpreter has loaded after running ``code``."""
    report = f"\nimport sys\nprint('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()[-1]


def without_type_checking(tree):
    """The nodes of a module that run; a block under ``if TYPE_CHECKING:`` does not."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from without_type_checking(node)


def imports(code):
    """Full names of what a module imports, wherever in it."""
    for node in without_type_checking(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{name.name}" for name in node.names)


def own_imports(code):
    """Which modules of pairscore a module imports."""
    return {name.split(".")[1] for name in imports(code) if name.startswith("pairscore.")}


def calls(code):
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)}


# -- import ------------------------------------------------------------------------------------------


def test_importing_the_package_loads_nothing_heavy():
    assert heavy_modules_after("import pairscore; dir(pairscore); pairscore.__version__") == "loaded: []"


def test_the_error_class_is_light_and_a_heavy_module_would_be_seen():
    assert heavy_modules_after("from pairscore import PairscoreError") == "loaded: []"
    assert heavy_modules_after("import pairscore.metrics") == "loaded: ['numpy', 'scipy']"


@pytest.mark.parametrize("name", pairscore.__all__)
def test_every_public_name_resolves_and_says_what_it_is(name):
    thing = getattr(pairscore, name)
    assert thing.__name__ == name
    assert thing.__module__.startswith("pairscore.")
    assert thing.__doc__


def test_public_names_are_listed():
    assert set(pairscore.__all__) | {"__version__"} == set(dir(pairscore))
    namespace = {}
    exec("from pairscore import *", namespace)
    assert set(pairscore.__all__) <= set(namespace)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pairscore' has no attribute 'RankRegresion'"):
        pairscore.RankRegresion  # noqa: B018
    with pytest.raises(ImportError):
        exec("from pairscore import nothing_of_the_kind")


def test_the_version_is_that_of_the_metadata():
    assert pairscore.__version__ == version("pairscore")


def test_the_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="pairscore")
    assert command.load().name == "main"


def test_the_package_is_typed():
    assert files("pairscore").joinpath("py.typed").is_file()


# -- structure ---------------------------------------------------------------------------------------


def test_every_module_has_its_place_in_the_order():
    assert sorted(ORDER) == sorted(path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", ORDER)
def test_a_module_imports_earlier_ones_only(module):
    earlier = set(ORDER[: ORDER.index(module)]) | ({"paper"} if module == "cli" else set())
    code = (SOURCE / f"{module}.py").read_text()
    assert own_imports(code) <= earlier
    assert not any(name.startswith(".") or name == "pairscore" for name in imports(code))


def test_the_papers_modules_import_earlier_ones_and_nothing_of_the_command_line():
    assert sorted(PAPER_ORDER) == sorted(path.stem for path in (SOURCE / "paper").glob("*.py") if path.stem != "__init__")
    for place, module in enumerate(PAPER_ORDER):
        tree = ast.parse((SOURCE / "paper" / f"{module}.py").read_text())
        names = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "pairscore.paper":
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pairscore.paper."):
                names.add(node.module.split(".")[2])
            else:
                assert not (isinstance(node, ast.ImportFrom) and node.module in ("pairscore.cli", "pairscore.demo"))
        assert names <= set(PAPER_ORDER[:place]), module


@pytest.mark.parametrize("module", MATHS)
def test_mathematics_touches_no_files_clocks_printing_or_global_randomness(module):
    code = (SOURCE / f"{module}.py").read_text()
    assert not {name.split(".")[0] for name in imports(code)} & OUTSIDE_WORLD
    assert not {
        name for name in calls(code) if name in ("print", "open", "input") or ("random" in name and not name.startswith("rng.")) or name.endswith("default_rng")
    }


def test_the_eye_on_imports_sees_what_it_should():
    code = "import os.path\nfrom pairscore import cli\nif TYPE_CHECKING:\n    import time\ndef f():\n    from pairscore.votes import Votes"
    assert own_imports(code) == {"cli", "votes"}
    assert set(imports(code)) == {"os.path", "pairscore.cli", "pairscore.votes.Votes"}
    assert calls("np.random.seed(1)\nrng = np.random.default_rng()") == {"np.random.seed", "np.random.default_rng"}
