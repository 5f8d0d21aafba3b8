"""Columns found by what is in them, and the sentences where that is not clear."""

import numpy as np
import pytest

from pairscore.data.tables import Column, Columns
from pairscore.data.votes import side_words
from pairscore.errors import PairscoreError
from pairscore.files.find_columns import (
    as_texts,
    find_columns,
    id_columns,
    missing_columns,
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
    columns = found(PAIRS | {"Tag": [1] * 60, "Sieger": WINNERS})
    assert (columns.id, columns.named) == (
        "Fall",
        {"left": "eins", "right": "zwei", "winner": "Sieger"},
    )
    assert columns.in_words({}) == "left is 'eins', right is 'zwei', winner is 'Sieger'"


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
    message = str(missing_columns(as_texts(Columns(PAIRS | {"x": WINNERS})), None))
    assert "it is not clear which two have ids of the items" in message


def test_winner_and_loser_are_told_by_their_names():
    loser = [b if won == a else a for a, b, won in zip(*PAIRS.values(), WINNERS, strict=True)]
    columns = found({"Verlierer": loser, "Sieger": WINNERS})
    assert columns.named == {"winner": "Sieger", "loser": "Verlierer"}


LOSERS = [b if won == a else a for a, b, won in zip(*PAIRS.values(), WINNERS, strict=True)]


@pytest.mark.parametrize("name", ["Verlierer", "perdant", "loser_id", "rejeté", "不採用"])
def test_a_column_of_losers_is_not_taken_for_the_winner(name):
    columns = found(PAIRS | {name: LOSERS, "Runde": [1, 2] * 30})
    assert columns.named == {"left": "eins", "right": "zwei", "loser": name}
    assert columns.is_complete


def said(votes, items=ITEMS, **given):
    ids = id_columns(as_texts(Columns(items)))
    return str(missing_columns(as_texts(Columns(votes)), found(votes, items, **given), ids))


@pytest.mark.parametrize("of", [LOSERS, np.where(FIRST, "right", "left").tolist()])
@pytest.mark.parametrize(
    "name",
    [
        "worse",
        "Who is worse off?",
        "Schlechterer Zustand",
        "le pire",
        "悪い方",
        "weaker",
        "moins bon",
    ],
)
def test_whether_worse_means_severe_or_lost_is_asked_and_not_decided(name, of):
    """'worse' was read as the loser, also where the most severe cases are to rank first."""
    votes = PAIRS | {name: of, "Runde": [1, 2] * 30}
    assert not found(votes).is_complete
    message = said(votes)
    assert f"winner={name!r} if it ranks high (such as the most severe case)" in message
    assert f"loser={name!r} if it ranks low" in message


@pytest.mark.parametrize(
    "name",
    [
        "not preferred",
        "less preferred",
        "least_preferred",
        "unchosen",
        "notChosen",
        "dropped",
        "H",
        "nicht bevorzugt",
        "weniger gut",
        "non choisi",
        "moins apprécié",
        "選択されなかった",
        "未選択",
    ],
)
def test_a_third_column_that_may_name_the_loser_is_not_taken_for_the_winner(name):
    """The ranking was exactly inverted, without a word."""
    for of in (LOSERS, np.where(FIRST, "right", "left").tolist()):
        votes = PAIRS | {name: of}
        assert not found(votes).is_complete
        assert f"winner={name!r}" in said(votes)
        assert f"loser={name!r}" in said(votes)
        assert found(votes, fixed={"winner": name}).named["winner"] == name
        assert found(votes, fixed={"loser": name}).is_complete


@pytest.mark.parametrize(
    "name",
    [
        "winner",
        "Won",
        "better one",
        "preferred_item",
        "Chosen",
        "best",
        "pick",
        "WinnerID",
        "vote",
        "Sieger",
        "Gewinner",
        "besser",
        "bevorzugt",
        "Ergebnis",
        "Entscheidung",
        "Antwort",
        "gagnant",
        "vainqueur",
        "préféré",
        "meilleur",
        "choisi",
        "résultat",
        "Réponse",
        "勝者",
        "勝ち",
        "良い方",
        "選択",
        "回答",
        "結果",
        "Winner No.",
    ],
)
def test_a_third_column_whose_name_says_winner_is_read_without_a_question(name):
    for of in (WINNERS, np.where(FIRST, "A", "B").tolist()):
        assert found(PAIRS | {name: of}).named["winner"] == name


@pytest.mark.parametrize(
    "header",
    [
        "choix 1,choix 2,préféré",
        "choice 1,choice 2,preferred",
        "Choice A,Choice B,Answer",
        "Wahl 1,Wahl 2,Entscheidung",
        "選択肢1,選択肢2,回答",
        "選択肢Ａ,選択肢Ｂ,回答",
        "preferred A,preferred B,pick",
        "gagnant 1,gagnant 2,vote",
        "first choice,second choice,winner",
        "left choice,right choice,result",
    ],
)
def test_two_options_of_a_choice_are_sides_and_the_third_column_decides(header):
    """The two options were read as winner and loser, and the winners were ignored."""
    first, second, third = header.split(",")
    for of in (WINNERS, np.where(FIRST, "1", "2").tolist()):
        votes = dict(zip((first, second, third), (*PAIRS.values(), of), strict=True))
        assert found(votes).named == {"left": first, "right": second, "winner": third}
    without = dict(zip((first, second), PAIRS.values(), strict=True))
    assert not found(without).is_complete
    assert "no column of the comparisons says who won" in said(without)


@pytest.mark.parametrize("names", ["Lost,Won", "rejected,chosen", "worse,better", "敗者,勝者"])
def test_names_of_losers_and_winners_are_known_in_any_order(names):
    loser, winner = names.split(",")
    assert found({loser: LOSERS, winner: WINNERS}).named == {"winner": winner, "loser": loser}


def test_the_kept_and_the_dropped_item_are_not_two_judges_who_never_agree():
    votes = PAIRS | {"kept": WINNERS, "dropped": LOSERS}
    assert not found(votes).is_complete
    assert "winner='kept' if it says who won" in said(votes)


@pytest.mark.parametrize("what", ["rank", "score", "Punkte"])
def test_numbers_for_each_side_are_neither_judges_nor_winners(what):
    """Ranks of both sides were read as two judges, and scores as the winner."""
    for one, two in ((f"{what}_left", f"{what}_right"), (f"{what} 1", f"{what} 2")):
        votes = PAIRS | {one: np.where(FIRST, 1, 2).tolist(), two: [2] * 60}
        assert not found(votes).is_complete
        assert f"{one!r} and {two!r} have an entry for each side" in said(votes)
        assert found(votes | {"Sieger": WINNERS}).named["winner"] == "Sieger"


def test_ids_that_differ_in_zeros_or_case_are_said_to():
    """It was said that it is not clear which two columns have ids."""
    items = {"Nr": [f"{row:03d}" for row in range(1, 13)], "x": [1.5] * 12}
    votes = {"a": (LEFT + 1).tolist(), "b": (RIGHT + 1).tolist(), "Sieger": ["a", "b"] * 30}
    assert "those of 'Nr' differ from the comparisons in zeros in front ('001' and '1'" in said(
        votes, items
    )
    lower = {name: [id.lower() for id in of] for name, of in PAIRS.items()}
    assert "in upper and lower case ('P0' and 'p0'" in said(lower | {"Sieger": ["a", "b"] * 30})
    other = {name: ["x" + id for id in of] for name, of in PAIRS.items()}
    assert "no entry occurs in a column of the items that could have ids ('Nr', 'Fall')" in said(
        other
    )


def test_a_file_with_names_of_columns_only_has_no_comparisons():
    assert said({"eins": [], "zwei": [], "Sieger": []}).startswith("there are no comparisons")


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
    assert found(votes, fixed={"left": "P1", "right": "P2"}).unclear == ("rechts",)


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
    assert "left='eins', right='zwei'" in message
    assert "winner is one of 'Anna', 'Bernd'" in message
    assert "by one judge each" in message
    assert "winner_codes={'oben': '?', 'unten': '?'}" in message
    names = ["vin gauche", "vin droite", "résultat"]
    message = str(missing_columns({name: np.array(["a", "b"]) for name in names}, None))
    assert "left='vin gauche', right='vin droite', winner='résultat'" in message


def test_words_for_sides_in_other_languages_need_no_codes():
    words = Column(np.array(["gauche", "Droite", "égalité", None], dtype=object))
    assert side_words(words, None) == {"gauche": "left", "Droite": "right", "égalité": "tie"}
    assert side_words(Column(np.array(["A", "B"], dtype=object)), None) == {}
    assert side_words(words, np.array(["gauche", "x"], dtype=object)) == {}  # an item is called so
