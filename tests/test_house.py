"""No block of lines stands twice, and ``make house`` counts what it says it counts."""

from itertools import pairwise

from benchmarks.house import (
    BLOCK,
    Module,
    counted_modules,
    functions_of_one_fit,
    imports,
    longest_chain,
    modules,
    repeated_blocks,
)


def test_no_block_of_lines_stands_twice():
    assert repeated_blocks(counted_modules()) == []


# -- the figures themselves --------------------------------------------------------------------


def module_of(folder, name, text):
    path = folder / f"{name}.py"
    path.write_text(text)
    return Module(name, path)


def test_lines_are_counted_without_docstrings(tmp_path):
    text = (
        '"""One.\n\nTwo.\n"""\n\n\n@wrap\ndef f(x):\n'
        '    """Three."""\n    return (\n        x\n    )\n'
    )
    module = module_of(tmp_path, "a", text)
    assert (module.n_lines, module.n_docstring_lines) == (12, 5)
    (function,) = module.functions
    assert (function.name, function.lines) == ("f", 4)


def test_a_block_that_stands_twice_is_seen_whatever_its_indent(tmp_path):
    block = [f"call({number})" for number in range(BLOCK + 2)]
    one = module_of(tmp_path, "one", "import os\n\n" + "\n\n".join(block) + "\nlast()\n")
    inside = "\n".join(f"    {line}" for line in block)
    two = module_of(tmp_path, "two", f'def f():\n    """Text."""\n{inside}\n')
    assert repeated_blocks([one, two]) == [("one:3", "two:3", BLOCK + 2)]
    short = module_of(tmp_path, "short", "\n".join(block[: BLOCK - 1]))
    assert repeated_blocks([one, short]) == []


def test_imports_inside_functions_are_told_from_those_of_the_module(tmp_path):
    text = (
        "from pairscore import errors\nif TYPE_CHECKING:\n    import pairscore.metrics\n"
        "def f():\n    from pairscore.choices import METHODS\n"
    )
    module = module_of(tmp_path, "a", text)
    assert imports(module, in_functions=False) == {"pairscore.errors"}
    assert imports(module, in_functions=True) == {"pairscore.errors", "pairscore.choices"}


def test_a_chain_is_of_modules_each_of_which_imports_the_next():
    chain = longest_chain(in_functions=False)
    for one, other in pairwise(chain):
        assert f"pairscore.{other}" in imports(modules()[f"pairscore.{one}"], in_functions=False)


def test_one_fit_passes_the_likelihood_and_nothing_of_item_effects():
    passed = functions_of_one_fit()
    assert "fit_likelihood" in passed["pairscore.estimators.likelihood"]
    assert not [name for name in passed if name.startswith("pairscore.effects")]
