"""The line that shows progress: on a terminal, for what takes long, and erased at the end."""

import os
import pty
import signal
import sys
from io import StringIO

import pytest

from pairscore.cli import progress
from pairscore.cli.progress import ProgressLine, stage

STOPPED = "Error: stopped before it was done; no file is half-written.\n"

pytestmark = pytest.mark.usefixtures("study")


class Screen:
    """A clock that is set by hand, and what was written on one line meanwhile."""

    def __init__(self, text="Reading"):
        self.now, self.lines = 100.0, []
        self.progress = ProgressLine(text, lambda: self.now, self.lines.append)

    def after(self, seconds, *report):
        """Let some time pass, then report or draw again; the line as it is then."""
        self.now += seconds
        if report:
            self.progress.report(*report)
        else:
            self.progress.show()
        return self.lines[-1].replace("\x1b[K", "").replace("\r", "") if self.lines else ""


class Terminal(StringIO):
    """An error stream that is a terminal."""

    def isatty(self):
        return True


def test_time_left_is_shown_for_what_takes_longer_than_two_seconds():
    screen = Screen()
    assert screen.after(1.9, 1, 40) == ""
    assert screen.after(4.1, 2, 4) == "Reading … 50%, 6 s left"
    assert screen.after(3) == "Reading … 50%, 3 s left"  # it counts down
    assert screen.after(60) == "Reading … 50%, 0 s left"
    assert screen.after(231, 3, 4) == "Reading … 75%, 100 s left".replace("100 s", "2 min")
    screen.progress.erase()
    assert screen.lines[-1] == "\r\x1b[K"
    assert screen.after(1) == ""  # nothing is drawn on a line that was given back


def test_seconds_are_counted_where_nobody_knows_how_much_there_is_to_do():
    screen = Screen("Fitting")
    assert screen.after(1.5) == ""
    assert screen.after(1) == "Fitting … 2 s"
    assert screen.after(1, 0, 7) == "Fitting … 4 s"


def test_a_stage_without_work_is_finished():
    assert Screen("Computing").after(2, 0, 0) == "Computing … 100%, 0 s left"


def test_the_time_left_of_figures_is_not_that_of_cells():
    screen = Screen()
    screen.after(1000, 10, 10)
    screen.after(0, 0, 5)
    assert screen.after(3, 1, 5) == "Reading … 20%, 12 s left"


def test_a_narrow_terminal_has_no_second_line_that_would_stay(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert Screen("Fitting every model in every fold").after(5) == "Fitting every model"


def test_what_is_quick_leaves_no_trace_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with stage("Reading") as show:
        show(1, 4)
    assert sys.stderr.getvalue() == ""


def test_a_stage_says_nothing_where_nobody_looks(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    with stage("Reading") as show:
        show(1, 2)
    assert capsys.readouterr().err == ""


# the command with a line that is shown at once, and work that says how far it is and never ends
SHOWN = """
import pairscore.model.fit_comparisons
from pairscore.cli import commands, main
from pairscore.cli import progress
def endless(data, settings, workers, **more):
    workers.progress(1, 4)
    while {ever}: pass
    return fit(data, settings, workers=workers, **more)
module = pairscore.model.fit_comparisons
fit, module.fit_comparisons = module.fit_comparisons, endless
progress.SHOWN_AFTER, commands.GRACE = 0.0, 300
main()
"""


def typed(ever, until=b""):
    """All that a fit writes on a terminal; Ctrl-C is typed as soon as ``until`` is there."""
    words = [sys.executable, "-c", SHOWN.format(ever=ever), "fit", "items.csv", "votes.csv"]
    process, screen = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
        os.execv(sys.executable, words)
    text, typed_yet = b"", not until
    while True:
        try:
            text += os.read(screen, 4096)
        except OSError:  # the terminal was left
            break
        if not typed_yet and until in text:
            os.write(screen, b"\x03")
            typed_yet = True
    os.close(screen)
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_ctrl_c_leaves_a_clean_line():
    text, code = typed(True, until=b"25%")
    assert code == 130
    lines = text.split("\r\x1b[K")
    assert "Fitting … 25%" in lines[-2]
    assert lines[-1].replace("^C", "").replace("\r\n", "\n") == STOPPED


def test_progress_is_erased_when_it_is_done():
    text, code = typed(False)
    assert code == 0
    shown, summary = text.split("\r\x1b[K")[-2:]
    assert "Fitting … 25%" in shown
    assert "…" not in summary
    assert "Rank regression" in summary


def test_work_that_has_just_begun_has_no_time_left_yet():
    screen = Screen()
    screen.after(9, 9, 10)
    assert screen.after(1, 2, 10) == "Reading … 20%"
    assert screen.after(2, 12, 10) == "Reading … 100%, 0 s left"
