"""The table that ends a run of the studies: one line for each, with what was expected and seen."""

import pytest

from pairscore.display import text_table

HEAD = ("study", "expected", "seen", "verdict")


@pytest.fixture
def figures(record_property):
    """A function ``figures(what, expected, seen)`` that adds a line to the table.

    The line travels with the report of the test, so it arrives from any worker. A study may give
    several lines; one that gives none is listed by its name.
    """

    def add(what, expected, seen):
        record_property("figures", (str(what), str(expected), str(seen)))

    return add


def lines_of(report, verdict):
    """The lines of the table that come from the report of one study."""
    given = [value for name, value in report.user_properties if name == "figures"]
    name = report.nodeid.removeprefix("studies/")
    return [(*line, verdict) for line in given or [(name, "", "")]]


def pytest_terminal_summary(terminalreporter):
    """Print the table, failures last."""
    done = terminalreporter.stats
    rows = [
        line
        for verdict in ("passed", "skipped", "failed", "error")
        for report in sorted(done.get(verdict, []), key=lambda report: report.nodeid)
        if verdict != "passed" or report.when == "call"
        for line in lines_of(report, verdict)
    ]
    if rows:
        terminalreporter.section("studies")
        table = text_table(HEAD, rows, "  ".join(["{:<}"] * len(HEAD)))
        terminalreporter.write_line(table)
