"""Sides found by their entries, and the questions where it is not clear who won."""

import numpy as np
import pytest

from pairscore.data.column_roles import VoteColumns
from pairscore.data.tables import Columns
from pairscore.errors import PairscoreError
from pairscore.files.find_sides import as_texts, find_sides, id_columns, unclear_columns

RNG = np.random.default_rng(0)
IDS = [f"P{row}" for row in range(12)]
LEFT = RNG.integers(0, 12, 60)
RIGHT = (LEFT + RNG.integers(1, 12, 60)) % 12
FIRST = RNG.random(60) < 0.5
ITEMS = {"Nr": list(range(12)), "Fall": IDS, "Alter": [40 + row % 5 for row in range(12)]}
PAIRS = {"eins": [IDS[row] for row in LEFT], "zwei": [IDS[row] for row in RIGHT]}
WINNERS = [IDS[a if first else b] for a, b, first in zip(LEFT, RIGHT, FIRST, strict=True)]
LOSERS = [b if won == a else a for a, b, won in zip(*PAIRS.values(), WINNERS, strict=True)]


def found(votes, items=ITEMS, codes=None, context=(), **named):
    ids = id_columns(as_texts(Columns(items)))
    roles = VoteColumns.of(named, context).roles([*votes])
    return find_sides(ids, as_texts(Columns(votes)), roles, codes)


def said(votes, items=ITEMS, codes=None, context=(), **named):
    """What is asked, as Python words it."""
    texts, ids = as_texts(Columns(votes)), id_columns(as_texts(Columns(items)))
    roles = VoteColumns.of(named, context).roles([*votes])
    return str(unclear_columns(texts, roles, find_sides(ids, texts, roles, codes), ids))


@pytest.mark.parametrize("role", ["winner", "loser"])
def test_two_columns_of_ids_are_the_sides_where_an_id_tells_who_won(role):
    of = WINNERS if role == "winner" else LOSERS
    for votes, named in (
        (PAIRS | {"Tag": [1] * 60, role: of}, {}),
        (PAIRS | {"Tag": [1] * 60, "wer": of}, {role: "wer"}),
        (PAIRS | {"wer": ["tie", "Tie", *of[2:]]}, {role: "wer"}),
        (PAIRS | {"wer": [None, "unsure", *of[2:]]}, {role: "wer"}),
    ):
        sides = found(votes, **named)
        assert (sides.id, sides.pair, sides.is_told) == ("Fall", ("eins", "zwei"), True)


def test_two_columns_of_ids_are_the_sides_where_the_name_of_one_tells_who_won():
    sides = found(PAIRS | {"winner": np.where(FIRST, "eins", "zwei").tolist()})
    assert sides.pair == ("eins", "zwei")
    assert sides.is_told


@pytest.mark.parametrize(
    ("first", "second"), [("left", "right"), ("A", "B"), ("1", "2"), ("oben", "unten")]
)
def test_which_column_is_left_is_asked_where_a_word_or_code_tells_who_won(first, second):
    """The first of two columns was taken for the left one, also where it was called rechts."""
    of = np.where(FIRST, first, second).tolist()
    for names in (("eins", "zwei"), ("rechts", "links")):
        votes = {**dict(zip(names, PAIRS.values(), strict=True)), "winner": of}
        for codes in (None, {first: "left", second: "right"}):
            assert not found(votes, codes=codes).is_told
        question = said(votes)
        assert f"left={names[0]!r} right={names[1]!r} if the first of them is left" in question
        assert "'winner' does not say who won by an id" in question
    mixed = PAIRS | {"winner": [*WINNERS[:-1], "left"]}
    assert not found(mixed).is_told


def test_which_column_is_left_is_asked_where_context_is_of_left_minus_right():
    votes = PAIRS | {"winner": WINNERS, "rest": [1.0, -1.0] * 30}
    assert found(votes).is_told
    assert not found(votes, context=["rest"]).is_told
    assert "the context 'rest' is of left minus right" in said(votes, context=["rest"])


def test_winner_and_loser_by_id_next_to_two_sides_are_understood():
    """It was said that no two columns have ids of the items."""
    votes = PAIRS | {"winner": WINNERS, "Verlierer": LOSERS}
    assert found(votes).pair == ("eins", "zwei")
    assert VoteColumns().roles(["winner", "loser", "a", "b"]).layout == (
        ("winner", "loser"),
        "winner",
    )


@pytest.mark.parametrize("of", [WINNERS, LOSERS, np.where(FIRST, "right", "left").tolist()])
@pytest.mark.parametrize(
    "name",
    [
        *("worse", "Who is worse off?", "Schlechterer Zustand", "le pire", "悪い方", "moins bon"),
        *("not preferred", "less preferred", "least_preferred", "unchosen", "notChosen", "H"),
        *("nicht bevorzugt", "weniger gut", "non choisi", "選択されなかった", "未選択"),
        *("Verlierer", "perdant", "loser_id", "rejeté", "不採用"),
        *("Won", "better one", "preferred_item", "WinnerID", "Sieger", "meilleur", "勝者"),
    ],
)
def test_whether_a_column_tells_who_won_or_who_lost_is_asked_whatever_it_is_called(name, of):
    """'worse' was read as the loser, 'not preferred' as the winner: the ranking was inverted."""
    votes = PAIRS | {name: of, "Runde": [1] * 60}
    question = said(votes)
    assert f"winner={name!r} if the items that it names are to rank high (such as" in question
    assert f"loser={name!r} if they are to rank low" in question
    assert found(votes, winner=name).pair == found(votes, loser=name).pair == ("eins", "zwei")


@pytest.mark.parametrize(
    "header",
    [
        "choix 1,choix 2,préféré",
        "choice 1,choice 2,preferred",
        "preferred A,preferred B,pick",
        "gagnant 1,gagnant 2,vote",
        "first choice,second choice,winner",
        "left choice,right choice,result",
    ],
)
def test_two_options_of_a_choice_are_sides_and_the_third_column_decides(header):
    """The two options were read as winner and loser, and the winners were ignored."""
    first, second, third = header.split(",")
    votes = dict(zip((first, second, third), (*PAIRS.values(), WINNERS), strict=True))
    assert found(votes, winner=third).pair == (first, second)
    if third != "winner":
        assert f"winner={third!r} if the items that it names" in said(votes)


@pytest.mark.parametrize("names", ["Lost,Won", "rejected,chosen", "敗者,勝者"])
def test_two_columns_of_ids_alone_may_be_winner_and_loser_in_either_order(names):
    first, second = names.split(",")
    question = said({first: LOSERS, second: WINNERS})
    assert f"winner={first!r} loser={second!r} if the first of these two won" in question
    roles = VoteColumns.of({"winner": second, "loser": first}).roles([first, second])
    assert roles.layout == (("winner", "loser"), "winner")


def test_the_kept_and_the_dropped_item_are_not_two_judges_who_never_agree():
    votes = PAIRS | {"kept": WINNERS, "dropped": LOSERS}
    for items in (ITEMS, {"Fall": IDS}):
        assert "it is not clear which two have ids of the items" in said(votes, items)
    question = said(votes, left="eins", right="zwei")
    assert "who won may be in 'kept', 'dropped'" in question
    assert "such as winner='kept', or who is to rank low, such as loser='kept'" in question


def test_judges_with_a_column_each_are_asked_for():
    unsure = ["weiss nicht" if row % 5 == 0 else won for row, won in enumerate(WINNERS)]
    votes = PAIRS | {"Anna": WINNERS, "Bernd": unsure}
    assert "winner='Anna' for" not in said(votes)
    votes["Bernd"] = WINNERS[::1]
    assert "winner='Anna,Bernd' if each of them has the winners by one judge" in said(votes)
    words = np.where(FIRST, "oben", "unten").tolist()
    assert "winner='Anna,Bernd' if each" in said(PAIRS | {"Anna": words, "Bernd": words})
    assert "by one judge" not in said(PAIRS | {"Anna": words, "Tag": ["Mo", "Di"] * 30})
    named = {"winner": "Anna,Bernd"}
    assert found(PAIRS | {"Anna": unsure, "Bernd": WINNERS}, **named).is_told
    names = np.where(FIRST, "eins", "zwei").tolist()
    assert found(PAIRS | {"Anna": names, "Bernd": names}, **named).is_told
    assert not found(PAIRS | {"Anna": names, "Bernd": words}, **named).is_told


@pytest.mark.parametrize("what", ["rank", "score", "Punkte"])
def test_numbers_for_each_side_are_asked_for(what):
    """Ranks of both sides were read as two judges, and scores as the winner."""
    numbers = {f"{what}_left": np.where(FIRST, 1, 2).tolist(), f"{what}_right": [2] * 60}
    assert "is called winner or loser" in said(PAIRS | numbers)
    assert found(PAIRS | numbers | {"winner": WINNERS}).pair == ("eins", "zwei")


def test_a_third_column_of_ids_that_is_no_winner_is_no_side():
    third = [IDS[row] for row in RNG.integers(0, 12, 60)]
    votes = PAIRS | {"vorher": third, "winner": WINNERS}
    assert found(votes).pair == ("eins", "zwei")
    assert found(PAIRS | {"vorher": third, "winner": np.where(FIRST, "A", "B").tolist()}) is None


def test_one_side_that_is_named_is_not_joined_by_two_others():
    third = [IDS[row] for row in RNG.integers(0, 12, 60)]
    votes = PAIRS | {"vorher": third, "winner": WINNERS}
    assert found(votes, left="eins") is None
    assert "it is not clear which two have ids" in said(votes, left="eins")


def test_the_winner_is_no_side():
    """Of winner, opponent and somebody else, none is a pair: it is asked who was compared."""
    third = [IDS[row] for row in RNG.integers(0, 12, 60)]
    assert found({"winner": WINNERS, "opponent": LOSERS}) is None
    assert found({"winner": WINNERS, "opponent": LOSERS, "next": third}) is None
    assert "they need left, right, winner" in said({"winner": WINNERS, "opponent": LOSERS})


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


def test_a_file_without_column_names_does_not_lose_its_first_comparison():
    sides = np.where(FIRST, "links", "rechts").tolist()
    votes = {"P1": PAIRS["eins"], "P2": PAIRS["zwei"], "rechts": sides}
    with pytest.raises(PairscoreError, match="no line of column names: the first line has 'P1'"):
        found(votes)
    question = said(votes, left="P1", right="P2")
    assert "winner='rechts' if the items that it names are to rank high" in question


def test_a_small_number_that_is_also_an_id_is_no_side():
    """Judges 0, 1, 2 are ids of items as well, but of a few only."""
    items = {"Nr": list(range(12)), "x": [1] * 12}
    votes = {"judge no": [0, 1, 2] * 20, "a": LEFT.tolist(), "b": RIGHT.tolist()}
    assert found(votes | {"winner": np.where(FIRST, "A", "B").tolist()}, items).pair == ("a", "b")


def test_nothing_is_found_where_ids_do_not_match():
    assert found({"eins": ["x", "y"] * 30, "zwei": ["y", "x"] * 30, "winner": WINNERS}) is None


def test_the_question_names_the_likely_columns():
    votes = PAIRS | {"Anna": ["oben", "unten"] * 30, "Bernd": ["unten"] * 60}
    question = said(votes)
    assert "'eins' and 'zwei' have the ids of the two items" in question
    assert "winner='Anna' if the items that it names are to rank high" in question
    assert "winner='eins' loser='zwei' if the first of these two won" in question
    names = ["vin gauche", "vin droite", "résultat"]
    texts = {name: np.array(["a", "b"]) for name in names}
    question = str(unclear_columns(texts, VoteColumns().roles(names), None, {}))
    assert "have columns 'vin gauche', 'vin droite', 'résultat', and it is not clear" in question
