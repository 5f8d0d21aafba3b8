"""Columns found by what is in them, and the sentences where that is not clear."""

import numpy as np
import pytest

from pairscore.data.tables import Column, Columns
from pairscore.errors import PairscoreError
from pairscore.files.find_columns import (
    as_texts,
    find_columns,
    id_columns,
    kinds_of_text,
    missing_columns,
    point_out_cases,
    side_words,
)

RNG = np.random.default_rng(0)
IDS = [f"P{row}" for row in range(12)]
LEFT = RNG.integers(0, 12, 60)
RIGHT = (LEFT + RNG.integers(1, 12, 60)) % 12
FIRST = RNG.random(60) < 0.5
ITEMS = {"Nr": list(range(12)), "Fall": IDS, "Alter": [40 + row % 5 for row in range(12)]}
PAIRS = {"eins": [IDS[row] for row in LEFT], "zwei": [IDS[row] for row in RIGHT]}
WINNERS = [IDS[a if first else b] for a, b, first in zip(LEFT, RIGHT, FIRST, strict=True)]


def found(votes, items=ITEMS, fixed=(), codes=()):
    ids = id_columns(as_texts(Columns(items)))
    return find_columns(ids, as_texts(Columns(votes)), dict(fixed), codes)


def test_two_columns_of_ids_are_the_sides_and_a_third_the_winner():
    columns = found(PAIRS | {"Tag": [1] * 60, "wer": WINNERS})
    assert (columns.id, columns.named) == (
        "Fall",
        {"left": "eins", "right": "zwei", "winner": "wer"},
    )
    assert columns.in_words({}) == "left is 'eins', right is 'zwei', winner is 'wer'"


def test_a_column_of_codes_is_the_winner_and_a_judge_is_told_by_name():
    codes = np.where(FIRST, "A", "B").tolist()
    judges = ["Anna", "Bernd", "Carla"] * 20
    columns = found(PAIRS | {"Urteil": codes, "Prüferin": judges})
    assert columns.named["winner"] == "Urteil"
    assert columns.named["judge"] == "Prüferin"


def test_names_that_say_right_and_left_give_the_sides():
    columns = found({"rechts": PAIRS["eins"], "links": PAIRS["zwei"], "wer": WINNERS})
    assert (columns.named["left"], columns.named["right"]) == ("links", "rechts")


def test_winner_and_loser_by_id_next_to_two_sides_are_understood():
    """It was said that no two columns have ids of the items."""
    loser = [b if won == a else a for a, b, won in zip(*PAIRS.values(), WINNERS, strict=True)]
    votes = {"A": PAIRS["eins"], "B": PAIRS["zwei"], "Sieger": WINNERS, "Verlierer": loser}
    columns = found(votes)
    sides = {"left": "A", "right": "B"}
    assert columns.named == sides | {"winner": "Sieger", "loser": "Verlierer"}
    said = str(missing_columns(as_texts(Columns(PAIRS | {"x": WINNERS})), None))
    assert "it is not clear which two have ids of the items" in said


def test_winner_and_loser_are_told_by_their_names():
    loser = [b if won == a else a for a, b, won in zip(*PAIRS.values(), WINNERS, strict=True)]
    columns = found({"Verlierer": loser, "Sieger": WINNERS})
    assert columns.named == {"winner": "Sieger", "loser": "Verlierer"}


LOSERS = [b if won == a else a for a, b, won in zip(*PAIRS.values(), WINNERS, strict=True)]


@pytest.mark.parametrize("name", ["Verlierer", "perdant", "loser_id", "weaker item", "敗者"])
def test_a_column_of_losers_is_not_taken_for_the_winner(name):
    columns = found(PAIRS | {name: LOSERS, "Runde": [1, 2] * 30})
    assert columns.named == {"left": "eins", "right": "zwei", "loser": name}
    assert columns.is_complete


def test_the_worse_side_in_words_is_refused_and_turned_round_in_the_proposal():
    worse = np.where(FIRST, "right", "left").tolist()
    votes = PAIRS | {"schlechter": worse, "Runde": [1, 2] * 30}
    columns = found(votes)
    assert not columns.is_complete
    message = str(missing_columns(as_texts(Columns(votes)), columns))
    assert "'schlechter' seems to say who lost" in message
    assert "winner_codes={'left': 'right', 'right': 'left'}" in message


UNSURE = ["weiss nicht" if row % 5 == 0 else won for row, won in enumerate(WINNERS)]


@pytest.mark.parametrize("codes", [(), ("weiss nicht",)])
def test_a_judge_who_is_unsure_at_times_does_not_vanish(codes):
    columns = found(PAIRS | {"Anna": WINNERS, "Bernd": UNSURE, "Carla": WINNERS}, codes=codes)
    assert columns.judges == ("Anna", "Bernd", "Carla")
    sides = np.where(FIRST, "links", "rechts").tolist()
    unsure = ["weiss nicht" if row % 5 == 0 else side for row, side in enumerate(sides)]
    columns = found(PAIRS | {"Anna": sides, "Bernd": unsure, "Tag": ["Mo", "Di"] * 30}, codes=codes)
    assert columns.judges == ("Anna", "Bernd")


def test_an_unsure_winner_is_not_passed_over_for_a_second_opinion():
    columns = found(PAIRS | {"Sieger": UNSURE, "Zweitmeinung": WINNERS})
    assert columns.named["winner"] == "Sieger"
    assert columns.in_words({}).endswith("'Zweitmeinung' could also be the winner; it is not read")


def test_a_file_without_column_names_does_not_lose_its_first_comparison():
    sides = np.where(FIRST, "links", "rechts").tolist()
    votes = {"P1": PAIRS["eins"], "P2": PAIRS["zwei"], "rechts": sides}
    with pytest.raises(PairscoreError, match="no line of column names: the first line has 'P1'"):
        found(votes)
    assert found(votes, fixed={"left": "P1", "right": "P2"}).named["winner"] == "rechts"


def test_several_columns_of_winners_are_those_of_judges():
    for of in (WINNERS, np.where(FIRST, "links", "rechts").tolist()):
        columns = found(PAIRS | {"Anna": of, "Bernd": of[::1]})
        assert columns.judges == ("Anna", "Bernd")
        assert columns.is_complete


def test_codes_of_judges_that_are_no_known_words_are_read_once_they_are_named():
    of = np.where(FIRST, "oben", "unten").tolist()
    votes = PAIRS | {"Anna": of, "Bernd": of}
    assert not found(votes).is_complete
    assert found(votes, codes={"oben", "unten"}).judges == ("Anna", "Bernd")


def test_a_small_number_that_is_also_an_id_is_no_side():
    """Judges 0, 1, 2 are ids of items as well, but of a few only."""
    items = {"Nr": list(range(12)), "x": [1] * 12}
    votes = {"judge no": [0, 1, 2] * 20, "a": LEFT.tolist(), "b": RIGHT.tolist()}
    columns = found(votes | {"Ergebnis": np.where(FIRST, "A", "B").tolist()}, items)
    assert (columns.named["left"], columns.named["right"]) == ("a", "b")


def test_nothing_is_found_where_ids_do_not_match():
    assert found({"eins": ["x", "y"] * 30, "zwei": ["y", "x"] * 30, "wer": WINNERS}) is None


def test_the_message_names_the_likely_columns():
    votes = PAIRS | {"Anna": ["oben", "unten"] * 30, "Bernd": ["unten"] * 60}
    message = str(missing_columns(as_texts(Columns(votes)), found(votes)))
    assert "'eins' as left, 'zwei' as right" in message
    assert "winner= is one of 'Anna', 'Bernd'" in message
    assert "by one judge each" in message
    assert "winner_codes={'oben': '?', 'unten': '?'}" in message
    names = ["vin gauche", "vin droite", "résultat"]
    message = str(missing_columns({name: np.array(["a", "b"]) for name in names}, None))
    assert "'vin gauche' as left, 'vin droite' as right, 'résultat' as winner" in message


@pytest.mark.parametrize(
    "dates",
    [
        ["03.05.2024", "4.5.24"],
        ["2024-05-03", "2024/5/4 12:30"],
        ["2023年5月3日", "2023年12月"],
        ["3 mai 2024", "12:30"],
    ],
)
def test_dates_are_never_categories(dates):
    table = Columns({"d": np.array(dates * 20, dtype=object)})
    assert kinds_of_text(table, ["d"])["dates"] == ["d"]


def test_text_that_differs_from_item_to_item_is_no_category():
    table = Columns({"name": IDS * 1 + [f"Q{n}" for n in range(28)], "k": ["a", "b"] * 20})
    kinds = kinds_of_text(table, ["name", "k"])
    assert (kinds["labels"], kinds["left_out"]) == (["name"], ["k"])


def test_levels_that_differ_in_case_only_are_pointed_out():
    said = []
    point_out_cases(
        {"smokes": ("Ja", "ja", "nein")}, Columns({"judge": ["Ann", "ann"]}), said.append
    )
    assert len(said) == 2
    assert "'Ja' and 'ja'" in said[0]
    assert "'Ann' and 'ann'" in said[1]


def test_words_for_sides_in_other_languages_need_no_codes():
    words = Column(np.array(["gauche", "Droite", "égalité", None], dtype=object))
    assert side_words(words, None) == {"gauche": "left", "Droite": "right", "égalité": "tie"}
    assert side_words(Column(np.array(["A", "B"], dtype=object)), None) == {}
    assert side_words(words, np.array(["gauche", "x"], dtype=object)) == {}  # an item is called so
