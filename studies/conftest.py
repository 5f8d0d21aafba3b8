"""The table that ends a run of the studies: one line for each, with what was expected and seen."""

import pytest

HEAD = ("study", "expected", "seen", "verdict")
WIDEST = (70, 40, 60, 10)


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
    if not rows:
        return
    cells = [[cell[:most] for cell, most in zip(row, WIDEST, strict=True)] for row in [HEAD, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    terminalreporter.section("studies")
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line(line.rstrip())
