"""Every script of examples/ runs as it is, prints what is known and draws a figure with data."""

import re
import runpy
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from tests.docs.pages import ROOT
from tests.estimators.test_outside_results import PUBLISHED

EXAMPLES = ROOT / "examples"
WITH_FIGURE = ("baseball", "digits", "patients", "weights")
OTHERS = ("reproduction_docs", "sites")  # tested elsewhere, or write docs


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run an example in an empty folder: what it returns, its names, and what it prints."""
    monkeypatch.chdir(tmp_path)
    backend = mpl.get_backend()
    mpl.use("Agg")

    def run_example(name):
        names = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        result, figure = names["main"]()
        assert [path.name for path in tmp_path.iterdir()] == [f"{name}.svg"]
        check_figure(figure, tmp_path / f"{name}.svg")
        return result, names, capsys.readouterr().out

    with mpl.rc_context(), warnings.catch_warnings():
        yield run_example
    plt.close("all")
    mpl.use(backend)


def check_figure(figure, path):
    """Panels have data, a title and named axes, and the file is a picture with lines."""
    for panel in figure.axes:
        assert panel.has_data()
        assert panel.get_title() or panel.get_title(loc="left")
        assert panel.get_xlabel() or not panel.axison
    text = path.read_text()
    assert text.count("<path") > 50
    assert "<dc:date>" not in text  # the same picture tomorrow


@pytest.mark.parametrize("name", ["hero", "plots"])
def test_scripts_of_pictures_run(name, tmp_path):
    backend = mpl.get_backend()
    with mpl.rc_context():
        names = runpy.run_path(str(ROOT / "docs" / "figures" / f"{name}.py"))
        names["main"](tmp_path / "picture.svg")
        check_figure(plt.gcf(), tmp_path / "picture.svg")
    plt.close("all")
    mpl.use(backend)


def numbers(line):
    return [float(number) for number in re.findall(r"[-+]?\d+\.?\d*", line)]


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} - {*OTHERS} == {*WITH_FIGURE}


@pytest.mark.parametrize("name", WITH_FIGURE)
def test_every_figure_is_on_the_page_of_examples(name):
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert f"(figures/{name}.svg)" in page
    assert f"`python examples/{name}.py`" in page
    assert (ROOT / "docs" / "figures" / f"{name}.svg").exists()


def test_baseball_prints_what_r_found(run):
    model, _, printed = run("baseball")
    known = PUBLISHED["baseball"]
    side = next(line for line in printed.splitlines() if line.startswith("home advantage"))
    assert numbers(side) == [round(value, 3) for value in known["side"]]
    ability = dict(zip(model.rank()["id"], model.rank()["score"], strict=True))
    for team in ability.keys() - {"Baltimore"}:
        gap = ability[team] - ability["Baltimore"]
        assert gap == pytest.approx(known[team][0], abs=1e-6)
        assert re.search(rf"{team} +{ability[team]:.2f} ", printed)
    assert f"wins {100 / (1 + np.exp(-known['side'][0])):.0f} of 100 games" in printed


def test_weights_prints_what_r_found(run):
    _, _, printed = run("weights")
    mass, first, equal, threshold = printed.splitlines()
    (slope, slope_error), (side, side_error) = PUBLISHED["heaviness"].values()
    assert numbers(mass) == pytest.approx([slope, slope_error], abs=5.1e-5)
    assert numbers(first) == pytest.approx([side, side_error], abs=5.1e-5)
    assert numbers(equal) == [round(-side / slope, 1)]
    assert numbers(threshold) == [round(np.log(3) / slope, 1), 75, 100]


def test_patients_prints_the_share_of_new_pairs_in_order(run):
    model, names, printed = run("patients")
    compared, new, comparisons, progression = names["study"](np.random.default_rng(1))
    assert (len(compared), len(new)) == (332, 110)
    assert not set(new["id"]) & {*comparisons["left"], *comparisons["right"]}
    score = model.decision_function(new.drop(columns="id").to_numpy())
    recorded = progression[new["id"]].to_numpy()
    first, second = np.triu_indices(len(new), 1)
    decided = recorded[first] != recorded[second]
    same = (score[first] > score[second]) == (recorded[first] > recorded[second])
    in_order = np.where(decided, same, 0.5).mean()
    assert f"{in_order:.1%} of the pairs of new patients" in printed
    assert in_order > 0.7
    assert printed.startswith("body mass index: +")


def test_digits_shows_what_features_and_identities_are_good_for(run):
    table, names, _ = run("digits")
    known, new = (
        table.pivot(index="comparisons", columns="model", values=kind) for kind in ("known", "new")
    )
    few, many = names["SIZES"][0], names["SIZES"][-1]
    assert known["features"][few] > known["identities"][few] + 0.05
    assert known["identities"][many] > known["features"][many] + 0.05
    assert (known["both"] > known[["features", "identities"]].max(axis=1) - 0.02).all()
    assert (new["identities"] == 0.5).all()  # nothing is known of a new image but its features
    assert (new["both"] > new["features"] - 0.02).all()
    assert new["features"][many] > 0.75
