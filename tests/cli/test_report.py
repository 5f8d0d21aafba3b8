"""report: through pipes and as JSON, under the user's words."""

import html
import json
import re

import numpy as np
import pytest

from pairscore import load
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.cli.running import fine_files, run
from tests.estimators.test_new_items import draw

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


def test_numeric_ids_are_ids_for_a_report_though_they_are_a_feature_as_well(study):
    """It said that the column is text."""
    run("fit items.csv votes.csv --inference none -o m.npz")
    mass = dict(zip(study[1]["id"].tolist(), study[1]["mass"].tolist(), strict=True))
    votes = {side: [mass[name] for name in study[2][side]] for side in ("left", "right")}
    write_table({**votes, "winner": study[2]["winner"]}, study[0] / "by_mass.csv")
    run("report m.npz items.csv by_mass.csv --id mass -o page.html")
    by_mass, by_id = (
        read_table(study[0] / name, identifiers=("mass", "id"))[name[3:-4]].tolist()
        for name in ("by_mass.csv", "by_id.csv")
        if run(f"rank m.npz items.csv {'--id mass' * ('mass' in name)} -o {name}")
    )
    assert [float(name) for name in by_mass] == [mass[name] for name in by_id]


def test_a_report_through_pipes_and_as_json(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    assert run("report m.npz items.csv votes.csv -o page.html").stdout == "page.html\n"
    model = (folder / "m.npz").read_bytes()
    page = run("report - items.csv votes.csv -o -", stdin=model)
    record = json.loads(run("report m.npz items.csv votes.csv -o page.html --json").stdout)
    assert record["path"] == "page.html"
    assert (record["n_items"], record["n_comparisons"]) == (30, 300)
    assert "comes first of 30 items" in record["answer"][0]
    for text in (page.stdout, (folder / "page.html").read_text()):
        assert text.startswith("<!DOCTYPE html>")
        assert text.rstrip().endswith("</html>")
        assert html.escape(record["answer"][0]) in text.replace("\u00a0", " ")
    both = run("report m.npz items.csv votes.csv -o - --json")
    assert both.stdout.startswith("<!DOCTYPE html>")
    assert json.loads(both.stderr) == record | {"path": None}
    assert "only one of the model" in run("report - - votes.csv", code=2, stdin=b"").stderr


def test_a_hopeless_fit_points_to_the_option_of_the_ridge(tmp_path):
    X, votes = draw(np.random.default_rng(0), 110, 1100, 75)
    columns = {f"f{column}": X[:, column] for column in range(75)}
    write_table({"id": np.arange(110), **columns}, tmp_path / "items.csv")
    write_table({name: votes[name].to_numpy() for name in votes}, tmp_path / "votes.csv")
    fitted = run(f"fit {tmp_path}/items.csv {tmp_path}/votes.csv -o {tmp_path}/model.npz")
    assert "fit with --l2 auto, or use fewer features." in fitted.stderr
    assert "\n  new items        about " in fitted.stdout


SICK = "--title 'Severity of pneumonia' --top 'most severe' --bottom 'least severe'"


def assert_nobody_is_the_best(text):
    """The best score, or accuracy, is one of a method; an item is never called so."""
    told = re.sub(r"best (score|one|possible)|better\s+features", "", text, flags=re.IGNORECASE)
    assert not re.search(r"\b(best|worst|better|beats)\b", told, re.IGNORECASE), told


def test_nothing_calls_the_sickest_patient_the_best(tmp_path):
    fine_files(tmp_path)
    summary = run(
        f"fit items.csv votes.csv --categorical style {SICK} -o m.npz --report first.html"
    ).stdout
    assert summary.startswith("Severity of pneumonia: rank regression\n")
    assert "most severe first, least severe last" in summary
    assert re.search(r"an item is judged more severe in \d+ of 100 decided comparisons", summary)
    shown = run("rank m.npz items.csv").stdout
    assert shown.startswith("Severity of pneumonia: most severe first, least severe last\n")
    run("report m.npz items.csv votes.csv -o page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    assert "<title>Severity of pneumonia – Ranking report</title>" in page
    assert "The 12 most severe and the 12 least severe" in page
    assert "rank (1 = most severe)" in page
    assert "comes first (most severe) of 30 items and would be judged more severe in" in page
    for text in (summary, shown, re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)):
        assert_nobody_is_the_best(text)


def test_words_stay_in_the_model_and_the_report_may_say_others(tmp_path):
    fine_files(tmp_path)
    words = "--title Pictures --top loveliest"
    run(f"fit items.csv votes.csv --exclude style {words} --keep-data -o m.npz --report p.html")
    run("update m.npz votes.csv --repeated add -o n.npz")
    assert vars(load("n.npz").wording_) == {
        "title": "Pictures",
        "top": "loveliest",
        "bottom": "",
        "question": "",
    }
    run("report n.npz items.csv votes.csv --title 'A <b>hall</b>' --bottom plainest -o page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>A &lt;b&gt;hall&lt;/b&gt;</h1>" in page
    assert "The 12 loveliest and the 12 plainest" in page
    assert "would be ranked higher in" in page
    record = json.loads(run("fit items.csv votes.csv --exclude style --json -o m.npz").stdout)
    assert [record[name] for name in ("title", "top", "bottom")] == ["", "", ""]
    assert (
        "200"
        in run(
            f"fit items.csv votes.csv -o m.npz --report p.html --title {'a' * 300}", code=2
        ).stderr
    )


def test_a_report_of_a_model_that_goes_to_standard_output_is_refused(study):
    assert (
        "give -o and --report a file each"
        in run("fit items.csv votes.csv -o - --report p.html", code=2).stderr
    )
