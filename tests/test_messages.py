"""Messages as data: their parts, how they are worded, kept in files and sent to processes."""

import json
import pickle

import pytest

from pairscore.errors import PairscoreError, PairscoreWarning, SeparationWarning
from pairscore.messages import (
    UNSET,
    Action,
    Message,
    Setting,
    Text,
    Value,
    either,
    in_python,
    join,
)

MLE = Setting("method", "mle")
INNER = Message.of("the pilot has 3 rows", "give more with " + Setting("pilot"))
MESSAGES = [
    Message.of("too few items"),
    Message.of("the items have no features", "use " + MLE),
    Message.of(Setting("na", ["<5", "k.A."]) + " is odd", ["use " + Value(None), "leave it out"]),
    Message.of("the fit failed: " + INNER, ["take " + Action("fit_stream"), "raise " + MLE]),
    Message.of("{l2} and {0} in a file stay", "use " + Setting("l2", 0.5)),
]


def shouted(part):
    """A front end that knows methods and actions only."""
    known = isinstance(part, Action) or (isinstance(part, Setting) and part.name == "method")
    return in_python(part).upper() if known else None


def test_python_names_its_arguments():
    text = "fit with " + MLE + ", or without " + Setting("side_effect") + "; " + Value(True)
    assert str(text) == "fit with method='mle', or without side_effect; True"


def test_problem_and_remedies_are_one_sentence():
    assert MESSAGES[0].worded() == "too few items."
    assert MESSAGES[1].worded() == "the items have no features; use method='mle'."
    assert MESSAGES[2].worded() == "na=['<5', 'k.A.'] is odd; use None, or leave it out."
    assert MESSAGES[4].worded() == "{l2} and {0} in a file stay; use l2=0.5."


def test_what_ends_as_a_sentence_gets_no_second_stop():
    assert Message.of("noise is 20", "use a share. Did you mean 0.2?").worded().endswith("0.2?")
    assert Message.of("an old text; do this.").worded() == "an old text; do this."


def test_a_front_end_words_what_it_has_and_leaves_out_other_remedies():
    assert MESSAGES[3].worded(shouted) == (
        "the fit failed: the pilot has 3 rows.; take FIT_STREAM, or raise METHOD='MLE'."
    )
    assert MESSAGES[2].worded(shouted) == "na <5, k.A. is odd; leave it out."
    assert MESSAGES[4].worded(shouted) == "{l2} and {0} in a file stay."


def test_a_message_within_another_is_worded_with_it():
    inner = Message.of("x is 3", "use " + MLE)
    assert (
        Message.of("it failed: " + inner).worded(shouted) == "it failed: x is 3; use METHOD='MLE'."
    )


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_go_through_json_and_pickle(message):
    assert Message.from_record(json.loads(json.dumps(message.to_record()))) == message
    assert pickle.loads(pickle.dumps(message)) == message
    assert hash(pickle.loads(pickle.dumps(message))) == hash(message)
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET


def test_a_text_of_an_older_file_is_a_problem_without_settings():
    message = Message.from_record("set l2 above 1; or not.")
    assert message.worded(shouted) == "set l2 above 1; or not."
    assert not list(message.settings())


@pytest.mark.parametrize("record", [3, None, {"problem": [{"x": 1}]}, {"problem": [[]]}])
def test_other_records_are_refused(record):
    with pytest.raises((ValueError, AttributeError, TypeError)):
        Message.from_record(record)


def test_the_settings_of_a_message_are_found_wherever_they_are():
    assert [one.name for one in MESSAGES[3].settings()] == ["pilot", "method"]


def test_lists_in_words():
    settings = [Setting("angle"), Setting("misordered"), Setting("norm_error")]
    assert str(either(settings)) == "angle, misordered or norm_error"
    assert str(either(settings[:2], " and ")) == "angle and misordered"
    assert str(either(settings[:1])) == "angle"
    assert str(join("; ", ["a", MLE, "b"])) == "a; method='mle'; b"


def test_a_setting_cannot_be_lost_in_an_f_string():
    for part in (MLE, "use " + MLE):
        with pytest.raises(TypeError, match="add"):
            f"use {part}"


# -- errors and warnings -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PairscoreError, PairscoreWarning, SeparationWarning])
def test_what_is_raised_carries_its_message(kind):
    error = kind("the items have no features", ["use " + MLE, "add " + Setting("features")])
    assert str(error) == "the items have no features; use method='mle', or add features."
    assert error.worded(shouted) == "the items have no features; use METHOD='MLE'."
    assert error.args == (str(error),)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, str(copy)) == (kind, error.message, str(error))


def test_a_message_can_be_raised_as_it_is():
    assert PairscoreError(MESSAGES[1]).message == MESSAGES[1]


def test_warnings_are_equal_by_class_and_message():
    warning = SeparationWarning("x", "use " + MLE)
    assert warning == SeparationWarning("x", "use " + MLE)
    assert warning != PairscoreWarning("x", "use " + MLE)
    assert len({warning, SeparationWarning("x", "use " + MLE)}) == 1


def test_no_wording_has_a_password():
    error = PairscoreError("postgresql://ann:secret@host/db is away", "use " + MLE)
    for text in (str(error), error.worded(shouted), repr(error)):
        assert "secret" not in text


def test_texts_are_made_of_their_pieces():
    assert Text.of("a", Text.of("b", MLE)).parts == ("a", "b", MLE)
