"""Options: what is a number, a word, or a name with commas."""

from pairscore.cli.options import number_or_word, split_names


def test_names_in_options_may_have_commas():
    assert split_names(["a, b", '"x, y",b', "c"]) == ["a", "b", "x, y", "c"]


def test_a_text_is_a_number_or_a_word():
    assert [number_or_word(text) for text in ("2.5", "1e-3", "auto", "", None)] == [
        *(2.5, 0.001, "auto", "", None)
    ]
