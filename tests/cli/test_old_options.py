"""Options of the version before: one sentence each, and exit code 2."""

import pytest

from pairscore.cli import main
from pairscore.cli.old_options import OLD_OPTIONS
from tests.cli.running import run

OLD = [(command, option) for command, options in OLD_OPTIONS.items() for option in options]


@pytest.mark.parametrize(("command", "option"), OLD)
def test_an_old_option_says_what_to_do_now(command, option):
    for words in (f"{command} {option} x", f"{command} {option}=x"):
        done = run(words, code=2)
        assert done.stdout == ""
        assert done.stderr == (
            f"Error: {option} is no longer an option of pairscore {command};"
            f" {OLD_OPTIONS[command][option]}.\n"
        )


def test_old_options_are_no_options_now():
    for command, option in OLD:
        assert option not in {one for param in main.commands[command].params for one in param.opts}


def test_an_option_that_never_was_is_refused_by_click():
    assert "No such option '--treads'" in run("fit --treads 2", code=2).stderr
