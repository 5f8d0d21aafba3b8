"""What commands print: folded lines, and signs that steer a terminal."""

import re
from pathlib import Path

import numpy as np
import pytest

from pairscore.cli import words
from pairscore.cli.printing import folded
from pairscore.display import text_table
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.cli.running import run


def test_long_lines_are_folded_below_their_text():
    label, sentence = "  agreement        ", "  and a sentence of eight short words here"
    text = f"{label}71.2% of the comparisons agree\n{sentence}"
    assert folded(text, 34).splitlines() == [
        "  agreement        71.2% of the",
        "                   comparisons",
        "                   agree",
        "  and a sentence of eight short",
        "  words here",
    ]
    assert folded(text, 0) == text


@pytest.mark.parametrize(
    "line", ["rank  id         score  interval", "  pairscore fit items.csv votes.csv -o model.npz"]
)
def test_tables_and_commands_are_not_folded(line):
    assert folded(line, 20) == line


# the title of the window, a bell, a cleared screen, one byte of the same, and letters backwards
STEERING = "\x1b]0;title\x07\x1b[2J\x9b2J\u202e"
STEERED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def steering(tmp_path, monkeypatch):
    """Ids, names of columns, levels and judges that would steer a terminal."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    ids = np.array([f"{STEERING}{place}" for place in range(14)], dtype=object)
    sides = np.array([rng.choice(ids, 2, replace=False) for _ in range(150)])
    items = {"id": ids, f"x{STEERING}": rng.normal(size=14), "level": ids[rng.integers(0, 2, 14)]}
    votes = {"left": sides[:, 0], "right": sides[:, 1], "judge": ids[rng.integers(0, 3, 150)]}
    votes["winner"] = np.where(rng.random(150) < 0.5, votes["left"], votes["right"])
    write_table(items, "items.csv")
    write_table(votes, "votes.csv")
    run("fit items.csv votes.csv --categorical level --judge-slopes -o model.npz")


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize(
    "command",
    [
        "fit items.csv votes.csv --categorical level --judge-slopes -o m.npz",
        "fit items.csv votes.csv --stream -o m.npz",
        "fit votes.csv -o m.npz",
        "rank model.npz items.csv",
        "rank model.npz items.csv --json",
        "predict model.npz items.csv votes.csv",
        "pairs items.csv --comparisons 9 -o sheet.csv",
    ],
)
def test_no_sign_of_a_table_steers_the_terminal(command, steering):
    result = run(command)
    said = result.stdout + result.stderr
    assert said
    assert not STEERED.search(said)


def test_names_that_steer_are_shown_as_text(steering):
    said = run("rank model.npz items.csv").stdout
    assert r"\x1b]0;title\x07\x1b[2J\x9b2J\u202e" in said
    ids = read_table("items.csv")["id"].tolist()
    run("rank model.npz items.csv -o ranking.csv")
    assert sorted(read_table("ranking.csv")["id"].tolist()) == sorted(ids)  # data stay as they are


def test_a_line_break_in_an_id_stays_in_its_row():
    assert text_table(["id"], [["a\nb"], ["c\td"]], "{:<}").splitlines() == ["id", r"a\nb", r"c\td"]


def test_commands_print_words_in_one_place():
    """Where a command prints by itself, signs of ids and names would reach the terminal."""
    for path in Path(words.__file__).parent.glob("*.py"):
        if path.name != "printing.py":
            assert not re.search(r"click\.s?echo|\bprint\(", path.read_text(encoding="utf-8")), path


def test_rankings_and_chances_are_safe_to_open_in_a_spreadsheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    ids = np.array([f"=cmd{place}" for place in range(14)], dtype=object)
    sides = np.array([rng.choice(ids, 2, replace=False) for _ in range(150)])
    write_table({"id": ids, "x": rng.normal(size=14)}, "items.csv")
    winner = np.where(rng.random(150) < 0.5, *sides.T)
    write_table({"left": sides[:, 0], "right": sides[:, 1], "winner": winner}, "votes.csv")
    run("fit items.csv votes.csv -o model.npz")
    for command in ("rank model.npz items.csv", "predict model.npz items.csv votes.csv"):
        run(f"{command} -o plain.csv")
        run(f"{command} -o safe.csv --excel-safe")
        plain, safe = Path("plain.csv").read_text(), Path("safe.csv").read_text()
        assert "\n=cmd" in plain
        assert safe == plain.replace("=cmd", "'=cmd")
