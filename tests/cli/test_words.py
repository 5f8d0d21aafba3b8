"""Messages of the library in the words of the command line: options instead of settings."""

import click
import pytest

from pairscore.cli import main
from pairscore.cli.words import translate
from tests.cli.running import run


def translated(text):
    with click.Context(main):
        return translate(text)


@pytest.mark.parametrize(
    ("of_the_library", "of_the_command"),
    [
        ("use side_effect=True.", "use --side-effect."),
        ("n_items is 0; use a whole number from 1.", "--items is 0; use a whole number from 1."),
        ("use method='pooled'.", "use --method pooled."),
        ("use ties='rao-kupper', which takes any.", "use --ties rao-kupper, which takes any."),
        ("set inference=None.", "set --inference none."),
        ("use None, a number from 0 to 1.", "use a number from 0 to 1."),
        ("them: id='NAME'. Did you mean 'ID'?", "them: --id NAME. Did you mean 'ID'?"),
        ("use categorical=['a \"b\" c'] here.", "use --categorical 'a \"b\" c' here."),
        ('use categorical=["k\'s"] here.', 'use --categorical "k\'s" here.'),
        (
            "interactions=['a:a'] is a column with itself; use squares=['a'].",
            "--interact 'a:a' is a column with itself; use --square 'a'.",
        ),
        ("leave it out of squares=.", "leave it out of --square."),
        ("squares names 'b', which is no feature", "--square names 'b', which is no feature"),
        ("features names 'x', and the item table", "--features names 'x', and the item table"),
        (
            "'a'; leave them out of the table, or name them in exclude=.",
            "'a'; leave them out: --exclude NAME.",
        ),
        ("add one, or name a text column in categorical=.", "add one, or use --categorical NAME."),
        (
            "fit with missing='drop-items', missing='mean-with-flag' or missing='item-effect'.",
            "fit with --missing drop-items, --missing mean-with-flag or --missing item-effect.",
        ),
    ],
)
def test_settings_become_options(of_the_library, of_the_command):
    assert translated(of_the_library) == of_the_command


@pytest.mark.parametrize(
    "text",
    [
        "the link is fine and its method too; some features are missing",
        "the column 'n_items' of \"method='mle'\" is text",
        "  line 3, column 'id': missing: \"method='mle'\"",
    ],
)
def test_words_of_the_language_names_and_rows_of_files_stay(text):
    assert translated(text) == text


def test_the_text_of_a_file_is_never_put_in_other_words(study):
    folder, _, _ = study
    (folder / "same.csv").write_text("winner,loser\nitem 1,side_effect=True\n")
    result = run("fit items.csv same.csv -o m.npz", code=2)
    assert "unknown item: 'side_effect=True'" in result.stderr
    result = run("fit items.csv votes.csv --exclude n_items -o m.npz", code=2)
    assert "--exclude names 'n_items'" in result.stderr
