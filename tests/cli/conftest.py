"""Every test of the command line has a folder of its own, and some have a study in it."""

import numpy as np
import pytest

from pairscore import Population
from pairscore.files.write import write_table
from tests.cli.running import (
    fine_files,
)
from tests.model.test_fit import tables


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Commands name files without their folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def study(tmp_path):
    items, votes = fine_files(tmp_path)
    return tmp_path, items, votes


@pytest.fixture
def cluttered(tmp_path):
    """Sixty items and their votes, each with a column of numbers that has some words, or a list.

    And the same without.
    """
    items, votes = fine_files(tmp_path, n=60, m=400)
    phone = np.array([f"{row}" for row in range(60)], dtype=object)
    phone[[3, 20, 59]] = "unknown"
    seconds = np.array([f"{row}" for row in range(400)], dtype=object)
    seconds[::20] = "too long"
    write_table(items | {"phone": phone}, tmp_path / "cluttered.csv")
    write_table(votes | {"seconds": seconds}, tmp_path / "timed.csv")
    return tmp_path


@pytest.fixture
def gappy(study):
    folder, items, votes = study
    mass, style = items["mass"].copy(), items["style"].copy()
    mass[[3, 7]], style[[7, 9]] = np.nan, None
    write_table(
        {"id": items["id"], "mass": mass, "height": items["height"], "style": style},
        folder / "gappy.csv",
    )
    return folder, items, votes


@pytest.fixture
def files(tmp_path):
    items, votes = tables(m=1500, tie=0.4, slopes=np.array([1.0, 1.2, 0.8, 0.0, -1.0]))
    items = items.assign(topic=[f"topic {row // 8}" for row in range(80)])
    items.to_csv(tmp_path / "items.csv", index=False)
    votes.drop(columns="number").to_csv(tmp_path / "votes.csv", index=False)
    votes[:1000].to_csv(tmp_path / "early.csv", index=False)
    votes[1000:].to_csv(tmp_path / "late.csv", index=False)
    return tmp_path, items.drop(columns="topic"), votes


@pytest.fixture
def study_files(tmp_path):
    items, votes = Population(4, noise=0.2, rng=0).draw(60, 150, rng=1, second_half=False)
    apart = votes.left != votes.right
    lines = [
        ",".join(["id", "a", "b", "c", "d"]),
        *(f"item{row}," + ",".join(map(repr, values.tolist())) for row, values in enumerate(items)),
    ]
    (tmp_path / "items.csv").write_text("\n".join(lines) + "\n")
    winner = np.where(votes.outcome > 0, "left", "right")
    votes_lines = [
        f"item{a},item{b},{w}"
        for a, b, w in zip(votes.left[apart], votes.right[apart], winner[apart], strict=True)
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *votes_lines]) + "\n")
    return tmp_path, items, votes


@pytest.fixture
def games(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    names, ability = ["Ajax", "Bayern", "Celtic", "Dynamo"], np.array([1.5, 0.5, -0.5, -1.5])
    rows = ["home,away,result"]
    for _ in range(300):
        one, other = rng.choice(4, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(ability[other] - ability[one]))
        rows.append(f"{names[one]},{names[other]},{'home' if won else 'away'}")
    (tmp_path / "games.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return names


@pytest.fixture
def items(tmp_path, monkeypatch):
    """A folder with items.csv; the score is the feature a."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2))
    lines = [f"{row:03d},{a:.3f},{b:.3f},name {row}" for row, (a, b) in enumerate(values)]
    (tmp_path / "items.csv").write_text("\n".join(["id,a,b,title", *lines]) + "\n")
    return {f"{row:03d}": a for row, (a, _) in enumerate(values)}
