"""Numbers and names as text."""

import re

import numpy as np
import pytest

from pairscore.errors import PairscoreWarning
from pairscore.messages import Action, Setting
from pairscore.report.words import as_sentence, plain_text, shorten_names, text_width
from tests.report.conftest import NAMES, baseball, draw_study, page_of, text_of


@pytest.mark.parametrize("case", ["few items", "no spare items", "separated", "all ties"])
def test_reasons_are_in_plain_words(case, tmp_path):
    items, votes = draw_study(20, 100, ties=True)
    if case == "separated":
        first = dict(zip(items["id"], items["feature 0"], strict=True))
        votes["winner"] = np.where(
            [first[a] > first[b] for a, b in zip(votes["left"], votes["right"], strict=True)],
            "left",
            "right",
        )
    if case == "all ties":
        votes["winner"] = np.full(100, "tie")
    if case == "few items":
        text = baseball(tmp_path)[1]
    else:
        with pytest.warns(PairscoreWarning):
            text = page_of(items, votes)
    said = text_of(re.sub("<(pre|dl).*?</\\1>", "", text, flags=re.DOTALL))
    assert "a ridge chosen from the data" in said or case != "few items"
    assert not re.search(r"\w=|\bl2\b|\w_\w", said.replace("simultaneous=True", ""))


@pytest.mark.parametrize("room", [4.0, 9.0, 15.0])
def test_cut_names_fit_and_are_told_apart(room):
    rng = np.random.default_rng(0)
    random = ["".join(rng.choice(list("ab-W日"), rng.integers(1, 40))) for _ in range(200)]
    for names in (
        NAMES,
        random,
        [f"{'a' * 40}{row}{'b' * 40}" for row in range(30)],
        ["abcdefghijkl", "abcdefghijklm"],
    ):
        cut = shorten_names(names, room)
        assert max(map(text_width, cut)) <= room
        assert len(set(cut)) == len(set(names))
        assert all(name == text or "…" in text for name, text in zip(names, cut, strict=True))
        assert [
            text for name, text in zip(names, cut, strict=True) if text_width(name) <= room
        ] == [name for name in names if text_width(name) <= room]
    assert len({name[:15] for name in NAMES}) < len(NAMES)  # the rival: the left end alone


def test_a_page_words_settings_for_people_who_use_no_commands():
    warning = PairscoreWarning(
        "the items differ",
        [
            "fit with " + Setting("item_effects", True),
            "fit with " + Setting("l2", "auto"),
            "see " + Action("summary"),
        ],
    )
    assert as_sentence(warning) == (
        "The items differ; fit with item effects, or fit with a ridge chosen from the data."
    )
    assert plain_text(PairscoreWarning(Setting("n_items") + " is 0")) == (
        "number of compared items is 0."
    )
