"""The notebook for analysts runs from its first cell to its last, and is kept without outputs."""

import ast
import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebooks" / "analysts.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


def run(source, names):
    """The value of the last line, if it has one, as a notebook shows it."""
    tree = ast.parse(source)
    *_, last = tree.body
    shown = tree.body.pop() if isinstance(last, ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if shown is not None:
        return eval(compile(ast.Expression(shown.value), NOTEBOOK.name, "eval"), names)


@pytest.mark.filterwarnings("error::pairscore.PairscoreWarning")
def test_every_cell_of_the_notebook_runs_and_shows_what_it_should(monkeypatch):
    mpl.use("Agg")
    plt.close("all")  # what other tests have drawn
    monkeypatch.chdir(NOTEBOOK.parent)
    names = {"__name__": "__main__"}
    n_figures = n_tables = 0
    for source in CODE:
        value = run(source, names)
        for figure in map(plt.figure, plt.get_fignums()):
            figure.canvas.draw()
            assert all(panel.has_data() for panel in figure.axes)
            n_figures += 1
        plt.close("all")
        if type(value).__module__.startswith("pairscore"):
            assert "<table" in value._repr_html_()
            n_tables += 1
    assert (n_figures, n_tables) == (4, 9)
    assert names["severity"].rank(names["patients"]).shape == (442, 10)
    log_loss = {name: names["found"].score(name).value for name in names["found"].models}
    assert log_loss["all features"] < min(log_loss["boosted trees"], log_loss["body mass alone"])


def test_the_notebook_is_kept_without_outputs_and_within_the_width_of_a_page():
    assert all(not cell.get("outputs") for cell in CELLS)
    lines = [line for cell in CELLS for line in "".join(cell["source"]).splitlines()]
    assert [line for line in lines if len(line) > 100] == []
