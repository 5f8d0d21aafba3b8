"""Study files: what they may say, and what is refused in a sentence."""

from pathlib import Path

import pytest

from pairscore.errors import PairscoreError
from pairscore.files.study_file import SECTIONS, read_study_file

WHOLE = """
title = "Severity"
top = "most severe"
bottom = "least severe"
question = "Who is more severely ill?"

[tables]
items = "patients.csv"
comparisons = ["anna.csv", "/data/ben.csv", "s3://bucket/votes"]
sheets = ["Patients", "Votes"]
database = "sqlite:///study.db"
items_query = "SELECT * FROM items"
comparisons_query = "SELECT * FROM votes"

[columns]
id = "patient"
left = "a"
right = "b"
winner = "worse"
loser = "better"
judge = "grader"
weight = "w"
count = "n"
group = "clinic"
context = "rest_days"
features = ["age, in years", "bmi"]
exclude = ["name"]
categorical = ["sex"]
square = ["age"]
curves = ["bmi"]
interact = ["age:bmi"]
missing = "mean-with-flag"
reference = {sex = "f"}

[codes]
L = "left"
R = "right"
"" = "skip"

[format]
delimiter = ";"
encoding = "latin-1"
decimal = ","
na = "k.A."
"""


def read(tmp_path, text, name="study.toml"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return read_study_file(path)


def test_a_study_file_may_say_all_of_this(tmp_path):
    study = read(tmp_path, WHOLE)
    assert study.items == tmp_path / "patients.csv"
    assert study.comparisons == (
        tmp_path / "anna.csv",
        Path("/data/ben.csv"),
        Path("s3://bucket/votes"),
    )
    assert study.settings == {
        "title": "Severity",
        "top": "most severe",
        "bottom": "least severe",
        "question": "Who is more severely ill?",
        "sheet": ["Patients", "Votes"],
        "db": f"sqlite:///{tmp_path / 'study.db'}",
        "items_query": "SELECT * FROM items",
        "comparisons_query": "SELECT * FROM votes",
        "id": "patient",
        "left": "a",
        "right": "b",
        "winner": "worse",
        "loser": "better",
        "judge": "grader",
        "weight": "w",
        "count": "n",
        "group": "clinic",
        "context": ["rest_days"],
        "features": ["age, in years", "bmi"],
        "exclude": ["name"],
        "categorical": ["sex"],
        "squares": ["age"],
        "curves": ["bmi"],
        "interactions": ["age:bmi"],
        "missing": "mean-with-flag",
        "reference": {"sex": "f"},
        "winner_codes": {"L": "left", "R": "right", "": "skip"},
        "delimiter": ";",
        "encoding": "latin-1",
        "decimal": ",",
        "na": ["k.A."],
    }


def test_every_key_is_tried_here():
    """The study above says every key that there is."""
    keys = {line.split(" = ")[0] for line in WHOLE.splitlines() if " = " in line}
    assert {key for known in SECTIONS.values() for key in known} <= keys


def test_an_empty_study_file_says_nothing(tmp_path):
    study = read(tmp_path, "\ufeff# nothing yet\n")
    assert (study.items, study.comparisons, study.settings) == (None, (), {})


@pytest.mark.parametrize("address", ["sqlite:////data/a.db", "postgresql://me@host/a", "sqlite://"])
def test_addresses_of_databases_stay_as_they_are(tmp_path, address):
    assert read(tmp_path, f"[tables]\ndatabase = '{address}'").settings == {"db": address}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title = Severity", "is not a study file: Invalid value (at line 1, column 9). Write"),
        ('[tables]\nitems = "C:\\data"', "and file names with \\ in single ones"),
        ("titel = 'a'", "has a key 'titel' in its beginning, before the first section; keys there"),
        ("titel = 'a'", "Did you mean 'title'?"),
        ("[colums]\nid = 'a'", "has a section [colums]; sections are tables, columns, codes, form"),
        ("[colums]\nid = 'a'", "Did you mean 'columns'?"),
        ("[columns]\nwiner = 'a'", "Did you mean 'winner'?"),
        (
            "id = 'a'",
            "has 'id' in its beginning, before the first section; write it below [columns]",
        ),
        (
            "[format]\ntitle = 'a'",
            "'title' in [format]; write it at the beginning, before the first",
        ),
        (
            "columns = 'id'",
            "has columns = 'id'; columns is a section: write [columns], and its keys",
        ),
        ("title = 3", 'has title = 3; give a text, in quotes: title = "...".'),
        ("[columns]\nexclude = [1]", "has exclude = 1; give a text or a list of texts, in quotes"),
        (
            "[columns]\nreference = 'f'",
            "give a level for each category, such as reference = {grape",
        ),
        ("[columns]\nreference = {sex = 1}", "has sex = 1; give a text"),
        (
            "[columns]\nmissing = 'refuses'",
            "missing = 'refuses'; use one of 'refuse', 'drop-items'",
        ),
        ("[format]\ndecimal = ';'", "has decimal = ';'; use one of ',', '.'"),
        ("[codes]\n1 = 2", "has 1 = 2; give a text"),
        ("[columns]\nleft = 2020-01-01", "give a text, in quotes: left ="),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(PairscoreError) as refused:
        read(tmp_path, text)
    said = str(refused.value)
    assert sentence in said
    assert "study.toml" in said


def test_a_file_that_is_no_text_or_not_there(tmp_path):
    (tmp_path / "latin.toml").write_bytes("title = 'Größe'".encode("latin-1"))
    with pytest.raises(PairscoreError, match="is not text in UTF-8; save it as UTF-8"):
        read_study_file(tmp_path / "latin.toml")
    with pytest.raises(PairscoreError, match="there is no file"):
        read_study_file(tmp_path / "none.toml")
    with pytest.raises(PairscoreError, match="cannot be read"):
        read_study_file(tmp_path)
