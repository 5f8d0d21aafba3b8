"""rank: the screen and the file, models made in Python, and what cannot be ranked."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pairscore import load
from pairscore.cli.rank import ranking_text
from pairscore.files.tables import StoredTable, read_table
from pairscore.files.write import write_table
from pairscore.model.score_scales import scale_of
from tests.cli.running import FAULTY_ITEMS, RANKING, faults, fine_files, fit_frames, ranking, run
from tests.model.test_open_directions import study_of_years
from tests.model.test_ranks import fitted

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


def test_the_screen_shows_twenty_and_the_file_has_all(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    shown = run("rank m.npz items.csv").stdout.splitlines()
    average = "the average compared item (each counted as often as it was compared)"
    assert shown[0] == f"score: 0 is {average}, on the logit scale"
    assert len(shown) == 23
    assert shown[-1].startswith("and 10 more")
    record = json.loads(run("rank m.npz items.csv --json").stdout)
    assert record["n_items"] == len(record["ranking"]) == 30
    assert list(record["ranking"][0]) == RANKING
    for suffix in ("csv", "parquet", "jsonl"):
        assert run(f"rank m.npz items.csv -o r.{suffix}").output == f"Wrote r.{suffix}.\n"
        assert ranking(folder / f"r.{suffix}")["id"] == [row["id"] for row in record["ranking"]]
    assert shown[2].split()[1:3] == record["ranking"][0]["id"].split()


@pytest.mark.usefixtures("study")
def test_level_and_simultaneous_widen():
    run("fit items.csv votes.csv -o m.npz")

    def width(option):
        best = json.loads(run(f"rank m.npz items.csv --json {option}").stdout)["ranking"][0]
        return best["high"] - best["low"]

    assert width("--level 0.5") < width("") < width("--simultaneous")


def test_items_of_equal_score_keep_the_order_of_the_file(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "equal.csv").write_text("id,mass,height\nd,1,0\nb,1,0\nc,5,0\na,1,0\n")
    run("rank m.npz equal.csv -o r.csv")
    found = ranking(folder / "r.csv")
    assert found["id"] == ["c", "d", "b", "a"]
    assert found["rank"] == [1, 2, 2, 2]
    assert found["outside"] == [1, 0, 0, 0]


def test_models_made_in_python_rank_files_too(study):
    folder, items, votes = study
    fit_frames(items, votes).save(folder / "m.npz")
    assert load(folder / "m.npz").recipe_ is None
    run("rank m.npz items.csv -o r.csv")
    table = {name: items[name] for name in ("id", "mass", "height")}
    assert ranking(folder / "r.csv")["id"] == fit_frames(items, votes).rank(table)["id"].tolist()
    (folder / "no_id.csv").write_text("height,mass\n1,2\n3,4\n")
    run("rank m.npz no_id.csv -o r.csv")
    assert sorted(ranking(folder / "r.csv")["id"]) == [0, 1]


def test_model_files_of_before_have_no_recipe_and_broken_recipes_are_refused(study):
    folder, _, _ = study
    run("fit items.csv votes.csv --categorical style -o m.npz")
    with np.load(folder / "m.npz") as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())

    good = header.pop("recipe")

    def save(name, **recipe):
        changed = np.frombuffer(json.dumps(header | recipe).encode(), dtype=np.uint8)
        np.savez(folder / name, header=changed, **arrays)

    save("old.npz")
    assert load(folder / "old.npz").recipe_ is None
    other = good | {"features": ["height", "mass"]}
    broken = [
        {},
        [],
        "x",
        5,
        good | {"means": {"nothing": [1]}},
        good | {"interactions": [["a", "b"]]},
        good | {"categorical": 3},
        good | {"missing": "x"},
        other,
    ]
    for recipe in broken:
        save("broken.npz", recipe=recipe)
        assert "fit again" in run("rank broken.npz items.csv", code=2).stderr, recipe


def test_bad_rows_of_a_ranking(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "new.csv").write_text(
        "id,mass,height\n" + "\n".join(f"{row},1,2" for row in range(50)) + "\nz,1,2,3\n"
    )
    result = run("rank m.npz new.csv -o r.csv", code=2)
    assert "4 cells instead of 3" in result.stderr
    assert read_table(folder / "r.csv.bad-rows.csv")["line"].tolist() == [52]
    assert not (folder / "r.csv").exists()
    assert "4 cells instead of 3" in run("rank m.npz new.csv", code=2).stderr


def test_rank_says_all_that_is_wrong_with_its_items(tmp_path, monkeypatch):
    (tmp_path / "good.csv").write_text("name,a,b\n1,2,3\n2,1,4\n3,5,2\n")
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n2,1\n2,3\n3,1\n1,3\n3,2\n")
    run("fit good.csv votes.csv --id name --inference none -o m.npz")
    (tmp_path / "items.csv").write_text(FAULTY_ITEMS)
    for rows in (50_000, 2):  # in one piece, or with faults in several
        monkeypatch.setattr(StoredTable.pieces, "__defaults__", (rows,))
        result = run("rank m.npz items.csv --unknown stop -o r.csv", code=2)
        assert faults(result.stderr) == {
            ("7", "name", "missing"),
            ("6", "name", "an id already seen"),
            ("4", "b", "not finite"),
            ("3", "a", "missing"),
        }
        assert not (tmp_path / "r.csv").exists()


def test_rank_refuses_what_it_cannot_rank(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "less.csv").write_text("id,mas,height\na,1,2\n")
    (folder / "words.csv").write_text("id,mass,height\na,heavy,2\nb,light,1\n")
    (folder / "none.csv").write_text("id,mass,height\n")
    (folder / "twice.csv").write_text("id,mass,height\na,1,2\na,1,2\n")
    (folder / "gap.csv").write_text("id,mass,height\na,,2\nb,1,2\n")
    (folder / "fine.csv").write_text("id,mass,height\nb,1,2\n")
    wrong = {
        "made of: 'mass'; add it, or fit again with --exclude mass. Did you mean 'm": (
            "m.npz less.csv"
        ),
        "column 'mass': not a number: 'heavy'": "m.npz words.csv",
        "no items to rank": "m.npz none.csv",
        "an id already seen": "m.npz twice.csv --unknown stop",
        "': missing: ''": "m.npz gap.csv --unknown stop",
        "'fine.csv' is a table and not a model": "fine.csv fine.csv",
        "level is 2.0": "m.npz fine.csv --level 2",
        "both": "- -",
    }
    for message, words in wrong.items():
        result = run(f"rank {words} -o r.csv", code=2, stdin=b"")
        assert message in result.stderr, (message, result.stderr)
        assert not (folder / "r.csv").exists()


def test_a_ranking_of_years_that_never_meet_has_its_group_in_text_csv_and_json(tmp_path):
    items, votes = study_of_years()
    write_table({name: items[name].to_numpy() for name in items}, tmp_path / "items.csv")
    write_table({name: votes[name].to_numpy() for name in votes}, tmp_path / "votes.csv")
    files = f"{tmp_path}/items.csv {tmp_path}/votes.csv"
    fitted = run(f"fit {files} -o {tmp_path}/model.npz")
    assert "no two items that met differ in 'year'" in fitted.stderr
    command = f"rank {tmp_path}/model.npz {tmp_path}/items.csv"
    _, head, first, *_ = run(command).stdout.splitlines()
    assert head.split()[:3] == ["group", "rank", "id"]
    assert first.split()[:2] == ["year=2001", "1"]
    run(f"{command} -o {tmp_path}/ranking.csv")
    table = ranking(tmp_path / "ranking.csv")
    assert list(table) == [*RANKING, "group"]
    assert table["group"][-1] == "year=2004"
    record = json.loads(run(f"{command} --json").stdout)
    assert record["ranking"][0]["group"] == "year=2001"


def test_scores_come_on_the_scale_that_was_asked_for_and_new_items_among_the_fitted(tmp_path):
    fine_files(tmp_path)
    fit = json.loads(run("fit items.csv votes.csv --exclude style --json -o m.npz").stdout)
    (tmp_path / "new.csv").write_text("id,mass,height\nnew,0.5,0\nother,-3,0\n")
    first, header, *_ = run("rank m.npz new.csv --scale elo").stdout.splitlines()
    assert first.startswith("score: Elo: 1500 is the average compared item")
    assert header.endswith("among the 30 fitted")
    record = json.loads(run("rank m.npz new.csv --scale elo --json").stdout)
    plain = json.loads(run("rank m.npz new.csv --json").stdout)
    assert (record["scale"], plain["scale"]) == ("elo", "link")
    for row, link in zip(record["ranking"], plain["ranking"], strict=True):
        points = 400 / np.log(10) * fit["decided_scale"] * link["score"]
        assert row["score"] == pytest.approx(1500 + points)
        assert 1 <= row["place_low"] <= row["place_high"] <= 31
    run("fit items.csv votes.csv --exclude style --link probit -o p.npz")
    for command in ("rank p.npz new.csv", "report p.npz items.csv votes.csv -o page.html"):
        said = run(f"{command} --scale elo", code=2).stderr
        assert "--scale elo is for --link logit, and the link is 'probit'" in said


def test_printed_scores_of_a_column_have_the_same_number_of_digits():
    X, model = fitted()
    for scale in ("link", "0-100", "elo", "wins"):
        ranking = model.rank(X, scale=scale)
        columns = {name: ranking[name] for name in ranking.dtype.names}
        text = ranking_text(columns, model.result_, scale)
        numbers = re.findall(r"-?\d+(?:\.\d+)?(?=[,\]])", text)
        assert len(numbers) == 40
        assert text.endswith(f"\nand {len(X) - 20} more; -o ranking.csv writes them all.")
        assert len({len(number.partition(".")[2]) for number in numbers}) == 1
        assert text.startswith(f"score: {scale_of(model.result_, scale).in_words}\n")


@pytest.mark.parametrize("unknown", ["skip", "stop"])
def test_numbers_with_the_other_decimal_sign_are_no_missing_values(tmp_path, monkeypatch, unknown):
    """It was said to count them as missing, in words that no study file can have."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, left = rng.normal(size=30), rng.integers(0, 30, 200)
    right = (left + rng.integers(1, 30, 200)) % 30
    write_table({"id": np.arange(30), "a": a}, "i.csv")
    won = np.where(a[left] - a[right] + rng.logistic(size=200) > 0, "left", "right")
    write_table({"left": left, "right": right, "winner": won}, "v.csv")
    run("fit i.csv v.csv -o m.npz")
    Path("new.csv").write_text("id;a\n" + "".join(f"n{k};{k},5\n" for k in range(12)))
    said = run(f"rank m.npz new.csv --decimal . --unknown {unknown} -o r.csv", code=2).stderr
    assert "one decimal sign, or give --decimal , if the file has decimal commas" in said
    assert "missing" not in said
    assert "na =" not in said
    run("rank m.npz new.csv --decimal , -o r.csv")
    Path("new.csv").write_text('id,a\nn1,1.5\nn2,"2,5"\nn3,"n/x"\nn4,"<1,5"\n')
    code = 2 if unknown == "stop" else 0
    said = run(f"rank m.npz new.csv --decimal . --unknown {unknown} -o r.csv", code=code).stderr
    assert "give --decimal , if the file has decimal commas" in said
    assert 'give na = ["n/x", "<1,5"] below [format] of a study file' in said
