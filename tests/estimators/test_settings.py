"""Settings: each with its default and its sentence, and which do not go together."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.choices import INFERENCES, METHODS, SHRINKAGES, TIE_RULES
from pairscore.core.links import Logit
from pairscore.estimators.settings import DEFAULTS, SETTINGS, Settings, Wording, check_settings
from pairscore.messages import Text

ALLOWED = {
    "method": METHODS,
    "link": ("logit", "probit"),
    "inference": (*INFERENCES, None),
    "ties": TIE_RULES,
    "l2": (0, 3, 2.5, np.float64(1.0), "auto"),
    "side_effect": (True, False, np.True_, "judges"),
    "context": (None, [], ["a", "b"], ("a",)),
    "judge_slopes": (True, False),
    "item_effects": (True, False, "auto"),
    "missing": ("refuse", "mean-with-flag", "item-effect"),
    "max_iter": (1, 10**6),
    "tol": (0.0, 1e-9),
}
REFUSED = {
    "method": ("best", None, 3, ["mle"]),
    "inference": ("robust", True),
    "ties": ("drop-them", None),
    "l2": (-1, np.nan, np.inf, True, "much", None),
    "shrinkage": (-0.1, 1.1, "lasso", True),
    "side_effect": ("left", 1, None),
    "context": ("rest", [1], ["a", "a"]),
    "judge_slopes": (1, "yes", None),
    "item_effects": ("yes", None),
    "missing": ("drop", None),
    "max_iter": (0, 1.5, "10"),
    "tol": (-1e-9, 2, None),
}


def test_the_defaults_are_a_plain_likelihood_fit():
    assert check_settings() == Settings("mle", Logit(), inference="auto")
    assert all(setting.allows(DEFAULTS[name]) for name, setting in SETTINGS.items())


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_taken(name):
    for value in ALLOWED[name]:
        assert SETTINGS[name].allows(value), value


@pytest.mark.parametrize("name", REFUSED)
def test_what_means_nothing_is_refused_in_a_sentence_with_the_remedy(name):
    for value in REFUSED[name]:
        with pytest.raises(PairscoreError) as error:
            check_settings(**{name: value})
        remedy = Text.of(SETTINGS[name].remedy)
        assert str(error.value) == f"{name} is {value!r}; use {remedy.worded()}."


def test_words_become_what_the_estimators_take():
    chosen = check_settings(l2="auto", side_effect="judges", context=["rest"])
    assert chosen.choose_l2
    assert chosen.l2 is None
    with pytest.raises(AssertionError):
        _ = chosen.ridge
    assert (chosen.side_effect, chosen.side_by_judge, chosen.context) == (True, True, ("rest",))
    assert check_settings(method="pooled", shrinkage=1).shrinkage == 1.0
    assert check_settings(method="pooled", shrinkage=SHRINKAGES[0]).shrinkage == SHRINKAGES[0]


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({"shrinkage": 0.5}, "method='mle' has none"),
        ({"method": "paired", "item_effects": True}, "method='paired' has none"),
        ({"method": "pooled", "context": ["rest"]}, "the method is 'pooled'"),
        ({"method": "split", "ties": "rao-kupper"}, "the method is 'split'"),
        ({"link": "probit", "ties": "davidson"}, "belongs to the logit link"),
    ],
)
def test_settings_that_do_not_go_together(settings, fact):
    with pytest.raises(PairscoreError, match=fact):
        check_settings(**settings)


@pytest.mark.parametrize(
    ("settings", "by_comparison"),
    [
        ({}, False),
        ({"side_effect": True, "l2": 1.0, "item_effects": True}, False),
        ({"side_effect": "judges"}, True),
        ({"judge_slopes": True}, True),
        ({"inference": "items+judges"}, True),
        ({"context": ["rest"]}, True),
        ({"ties": "davidson"}, True),
    ],
)
def test_which_settings_keep_comparisons_single(settings, by_comparison):
    assert check_settings(**settings).by_comparison == by_comparison


# -- words -----------------------------------------------------------------------------------------


def test_what_winning_means_is_said_in_the_users_words():
    assert Wording(top="most severe").would_win == "would be judged more severe"
    assert Wording(top="Most likely to last").wins == "is judged more likely to last"
    assert Wording(top="most").wins == Wording(top="tastiest").wins == "is ranked higher"
    assert Wording(bottom="worst").wins == "wins"
    assert Wording(bottom="mildest").ends == ("highest", "mildest")


def test_words_are_one_line_of_text_and_short():
    assert Wording(title=" two\n lines\t").title == "two lines"
    assert Wording("old", top="most severe").with_words(title="new", top=None) == Wording(
        "new", top="most severe"
    )
    for title, said in ((3, "title is 3; give it as text."), ("a" * 201, "201 characters")):
        with pytest.raises(PairscoreError, match=said):
            Wording(title=title)
