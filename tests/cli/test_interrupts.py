"""Ctrl-C and SIGTERM: one sentence, an exit code, and nothing left behind."""

import signal
import subprocess
import sys

import pytest

import pairscore.model.fit_comparisons
from tests.cli.running import run

LIMIT = 300  # seconds; far beyond any load
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
STOPPED = "Error: stopped before it was done; no file is half-written.\n"
# what a command may be doing when it is stopped: each says that it has begun, and never ends
LONG = {
    "Python": "while True: pass",
    "a file of DuckDB": (
        "duckdb.connect().execute('SELECT count(*) FROM range(10000000) a, range(10000000) b"
        " WHERE a.range * b.range % 7 = 9').fetchall()"
    ),
}
LOST = """try:
        print('inside', flush=True)
        while True: pass
    except KeyboardInterrupt:
        print('lost', flush=True)
    while True: pass"""
SCRIPT = """
import duckdb, numpy as np
from pairscore.cli import main
def write_half(file, **arrays):
    file.write(b'half')
    file.flush()
    print('begun', flush=True)
    {work}
np.savez = write_half
main()
"""

pytestmark = pytest.mark.usefixtures("study")


@pytest.mark.parametrize(
    ("work", "number"), [*((work, signal.SIGINT) for work in LONG), ("Python", signal.SIGTERM)]
)
def test_ctrl_c_ends_a_fit_whatever_it_is_doing(study, number, work):
    folder, _, _ = study
    before = sorted(path.name for path in folder.iterdir())
    words = ["fit", "items.csv", "votes.csv", "-o", "m.npz"]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(work=LONG[work]), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == CODES[number]
    assert said.endswith(STOPPED)
    assert "Traceback" not in said
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_second_ctrl_c_ends_what_lost_the_first(study):
    folder, _, _ = study
    words = ["fit", "items.csv", "votes.csv", "-o", "m.npz"]
    program = [sys.executable, "-c", SCRIPT.format(work=LOST), *words]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    for said in ("inside\n", "lost\n"):
        assert process.stdout.readline() == said
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == -signal.SIGINT  # 130 to a shell
    assert "Traceback" not in said
    assert not (folder / "m.npz").exists()


def test_a_signal_means_what_it_did_before_when_the_command_is_over():
    before = [signal.getsignal(number) for number in CODES]
    run("fit items.csv votes.csv -o m.npz")
    assert [signal.getsignal(number) for number in CODES] == before


def test_a_signal_that_is_ignored_stays_ignored(monkeypatch):
    fit = pairscore.model.fit_comparisons.fit_comparisons

    def interrupted(*arguments, **settings):
        signal.raise_signal(signal.SIGINT)
        return fit(*arguments, **settings)

    monkeypatch.setattr(pairscore.model.fit_comparisons, "fit_comparisons", interrupted)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does in the background
    try:
        run("fit items.csv votes.csv -o m.npz")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert run("fit items.csv votes.csv -o m.npz", code=130).stderr.endswith(STOPPED)
    finally:
        signal.signal(signal.SIGINT, before)


# -- the start of a program ------------------------------------------------------------------------

IMPORTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
from pairscore.__main__ import run
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv[1:] = ["--version"]
run()
"""


@pytest.mark.parametrize("name", ["pairscore.cli.commands", "click"])
def test_ctrl_c_while_modules_are_imported_leaves_no_trace(name):
    program = [sys.executable, "-c", IMPORTED.format(name=name)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")  # 130 to a shell
