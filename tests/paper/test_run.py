"""The resumable run: the same rows after any kill, with any number of processes."""

import csv
import json
import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import pytest
from click.testing import CliRunner

from pairscore import PairscoreError, __version__
from pairscore.cli.commands import main
from pairscore.paper.run import (
    DATABASE,
    TABLES,
    Job,
    chosen_panels,
    jobs_of,
    open_results,
    reproduce,
    run_jobs,
)

FIGURES = ["2b", "10"]  # 27 quick cells in two batches, and six jobs with a row for each method
LIMIT = 300  # seconds; far beyond any load
# a line of output for each call of progress; it ends when every process of the run has ended
SCRIPT = """
import sys
from pathlib import Path
from pairscore.paper.run import chosen_panels, jobs_of, open_results, run_jobs
if __name__ == "__main__":
    folder, n_generations, *figures = sys.argv[1:]
    jobs = jobs_of(chosen_panels(figures), int(n_generations), "fast")
    with open_results(Path(folder)) as results:
        run_jobs(results, jobs, 2, lambda done, total: print(done, flush=True))
        results.write_tables(jobs)
"""


def jobs_of_figures(n_generations=1):
    return jobs_of(chosen_panels(FIGURES), n_generations, "fast")


def quiet(done, total):
    """No progress."""


def without_times(row):
    return {name: value for name, value in row.items() if name != "seconds"}


def table(path):
    with open(path, newline="") as file:
        return [without_times(row) for row in csv.DictReader(file)]


def tables(folder):
    return {name: table(folder / name) for name in ("rows.csv", "scenarios.csv")}


def start(folder, *figures, n_generations=1):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(n_generations), *figures],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill_after(process, n_lines):
    """Kill a run when it has said so much, and wait until its workers have ended too."""
    for _ in range(n_lines):
        assert process.stdout.readline()
    process.kill()
    process.communicate(timeout=LIMIT)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run in peace, and what it printed."""
    folder = tmp_path_factory.mktemp("run") / "out"
    result = CliRunner().invoke(main, ["reproduce", *FIGURES, "--seeds", "1", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result.output


@pytest.fixture
def finished(run, tmp_path):
    """A copy of the folder of the run."""
    return shutil.copytree(run[0], tmp_path / "finished")


@pytest.fixture
def without_database(finished):
    """The folder as an earlier version has left it."""
    (finished / DATABASE).unlink()
    return finished


# -- interruptions ---------------------------------------------------------------------------------


def assert_killed_runs_give_the_rows_of_a_run_in_peace(folder, peace, n_lines, n_generations=1):
    """Kill runs after so many lines of output each, then let one end."""
    for lines in n_lines:
        kill_after(start(folder, *FIGURES, n_generations=n_generations), lines)
    last = start(folder, *FIGURES, n_generations=n_generations)
    assert last.wait(timeout=LIMIT) == 0
    assert tables(folder) == peace
    return int(last.communicate()[0].split()[-1])


def test_killed_three_times_the_rows_are_those_of_a_run_in_peace(run, tmp_path):
    left = assert_killed_runs_give_the_rows_of_a_run_in_peace(
        tmp_path / "out", tables(run[0]), [1, 2, 2]
    )
    assert left < len(jobs_of_figures())


def test_workers_end_when_their_parent_is_killed(tmp_path):
    process = start(tmp_path / "out", "10", n_generations=50)
    kill_after(process, 2)  # its pipe ends only when the workers, who hold it too, have ended
    assert process.returncode == -9
    assert process.stdout.closed


# the command with two jobs: one that ends, and one that holds Python's lock for hours
STUCK = """
from functools import partial
from pairscore.cli import main
from pairscore.paper import run
jobs = [
    run.Job("scenarios.csv", "quick", partial(dict, version=run.__version__)),
    run.Job("scenarios.csv", "endless", partial(pow, 7, 10**9)),
]
if __name__ == "__main__":
    run.jobs_of = lambda *_: jobs
    main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_does_not_wait_for_the_cells_in_hand(tmp_path, number, code):
    folder = tmp_path / "out"
    process = start_command(folder, "10", "--processes", "1", script=STUCK)
    wait_for_key(process, folder, b"quick")
    os.killpg(process.pid, number)  # as a terminal does: to every process of the run
    _, said = process.communicate(timeout=LIMIT)  # its pipe ends when the last of them has ended
    assert process.returncode == code
    assert said.startswith("Error: stopped; finished work is kept in")
    assert said.count("\n") == 1
    assert [row["job"] for row in table(folder / "scenarios.csv")] == ["quick"]


def start_command(folder, *arguments, script="from pairscore.cli import main; main()"):
    return subprocess.Popen(
        [sys.executable, "-c", script, "reproduce", *arguments, "-o", str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_key(process, folder, key):
    """Wait until a job is finished: the database is locked, but a key in it can be seen."""
    end = time.monotonic() + LIMIT
    while not (folder / DATABASE).exists() or key not in (folder / DATABASE).read_bytes():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)


def test_after_ctrl_c_the_next_run_goes_on(tmp_path):
    folder = tmp_path / "out"
    process = start_command(folder, "10", "--seeds", "50", "--processes", "2")
    wait_for_key(process, folder, b"10/as assumed/0")
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    jobs = jobs_of(chosen_panels(["10"]), 50, "fast")
    with open_results(folder) as results:
        missing = results.missing(jobs)
    assert 0 < len(missing) < len(jobs)


def test_a_worker_that_is_killed_is_told_in_a_sentence(tmp_path):
    jobs = [Job("scenarios.csv", "ended", partial(os.abort))]
    with open_results(tmp_path) as results, pytest.raises(PairscoreError, match="n_workers"):
        run_jobs(results, jobs, 1, quiet)


def test_an_error_in_a_worker_is_raised_here(tmp_path):
    jobs = [Job("scenarios.csv", "wrong", partial(int, "three"))]
    with open_results(tmp_path) as results, pytest.raises(ValueError, match="'three'"):
        run_jobs(results, jobs, 1, quiet)


def test_an_error_ends_the_workers_and_leaves_tables(tmp_path, run):
    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    others = set(multiprocessing.active_children())  # of tests that ran in this process before
    with pytest.raises(KeyboardInterrupt):
        reproduce(FIGURES, 1, tmp_path, n_workers=1, progress=stop)
    assert set(multiprocessing.active_children()) <= others
    (row, *_), whole = table(tmp_path / "scenarios.csv"), tables(run[0])["scenarios.csv"]
    assert row in whole
    assert not (tmp_path / "index.html").exists()


def test_a_second_run_repeats_nothing(finished):
    jobs = jobs_of_figures()
    with open_results(finished) as results:
        assert run_jobs(results, jobs, 1, quiet) == 0
        assert [job.key for job in results.missing(jobs_of_figures(2))] == [
            job.key for job in jobs_of_figures(2) if "/1/" in job.key or job.key.endswith("/1")
        ]


def test_one_cell_alone_gives_the_row_of_the_whole_run(finished):
    jobs = jobs_of_figures()
    with open_results(finished) as results:
        whole = results.rows("rows.csv", jobs)
    (alone,) = jobs[17].run()
    assert without_times(whole[17]) == {"job": jobs[17].key, **without_times(alone)}


def test_a_second_run_is_kept_out(tmp_path):
    with (
        open_results(tmp_path),
        pytest.raises(PairscoreError, match="another run is writing"),
        open_results(tmp_path),
    ):
        pass
    with open_results(tmp_path):
        pass


# -- tables of an earlier version, and of others ---------------------------------------------------


def test_tables_without_a_database_are_imported_and_lines_cut_short_are_run_again(without_database):
    whole = tables(without_database)
    bytes_before = {name: (without_database / name).read_bytes() for name in whole}
    jobs = jobs_of_figures()
    with open_results(without_database) as results:
        assert results.missing(jobs) == []
        results.write_tables(jobs)
    assert {name: (without_database / name).read_bytes() for name in whole} == bytes_before
    (without_database / DATABASE).unlink()
    for name, content in bytes_before.items():
        cut = content[: -len(content.splitlines()[-1]) // 2]
        (without_database / name).write_bytes(cut)
    with open_results(without_database) as results:
        assert run_jobs(results, jobs, 1, quiet) == 2
        results.write_tables(jobs)
    assert tables(without_database) == whole


def refused(folder):
    """What `reproduce` says of a folder that it refuses."""
    result = CliRunner().invoke(main, ["reproduce", "2b", "--seeds", "1", "-o", str(folder)])
    assert result.exit_code == 2, result.output
    assert result.output.count("\n") == 1
    return result.output


@pytest.mark.parametrize("damage", ["version", "columns"])
def test_rows_of_another_version_are_refused_and_kept(without_database, damage):
    path = without_database / "rows.csv"
    text = path.read_text()
    old, new = (
        (f",{__version__}\n", ",9.9\n") if damage == "version" else ("job,figure", "task,figure")
    )
    assert old in text
    path.write_text(text.replace(old, new))
    before = path.read_bytes()
    assert "name another folder with --output" in refused(without_database)
    assert path.read_bytes() == before
    assert refused(without_database)  # also the second time


def test_a_database_of_another_version_is_refused_and_kept(finished):
    with closing(sqlite3.connect(finished / DATABASE)) as database, database:
        database.execute("UPDATE finished SET version = '9.9' WHERE job LIKE '10/%'")
    said = refused(finished)
    assert f"has rows of version '9.9', and this is {__version__}" in said
    assert "name another folder with --output" in said


@pytest.mark.parametrize("foreign", [b"hello", b"job,figure,pain", b"hello\nthere", b"\n"])
def test_what_somebody_else_wrote_is_refused_and_kept(tmp_path, foreign):
    path = tmp_path / "rows.csv"
    path.write_bytes(foreign)
    assert "is not a table of this version" in refused(tmp_path)
    assert path.read_bytes() == foreign


def test_a_database_that_is_none_is_refused_and_kept(tmp_path):
    (tmp_path / DATABASE).write_text("hello " * 100)
    assert "is not a database of this version" in refused(tmp_path)
    assert (tmp_path / DATABASE).read_text() == "hello " * 100


@pytest.mark.parametrize("length", [0, 7, -1])
def test_a_first_line_cut_short_is_our_own(tmp_path, length):
    header = f"{','.join(TABLES['rows.csv'])}\n"
    (tmp_path / "rows.csv").write_text(header[:length])
    jobs = jobs_of_figures()
    with open_results(tmp_path) as results:
        assert results.missing(jobs) == jobs


# -- the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["11"], "there is no figure '11'"),
        (["2d"], "there is no figure '2d'"),
        (["2", "--seeds", "0"], "0 seeds make no figure"),
        (["2", "--seeds", "-1"], "-1 seeds make no figure"),
        (["2", "--seeds", "many"], "'many' is not a valid integer"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, arguments, sentence):
    result = CliRunner().invoke(main, ["reproduce", *arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2, result.output
    assert sentence in result.output
    assert not (tmp_path / "out").exists()


def test_panels_are_chosen_by_words():
    assert chosen_panels(["3", "2b", "2a"]) == {"3": "abc", "2": "ab"}
    assert list(chosen_panels([])) == [str(number) for number in range(1, 11)]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written to" in refused(tmp_path / "file" / "out")


def test_the_times_of_cells_and_of_the_page_are_both_said(run, finished):
    assert re.search(
        r"^33 cells \(33 run now\) in \d+ s; predictions, figures and page in \d+ s; calibration"
        r" loop",
        run[1],
    )
    arguments = ["reproduce", "10", "--seeds", "1", "-o", str(finished), "--json"]
    result = CliRunner().invoke(main, arguments)
    record = json.loads(result.output)
    assert (record["cells"], record["cells_run"]) == (6, 0)
    assert record["seconds"] == pytest.approx(record["cell_seconds"] + record["page_seconds"])
    assert "6 cells, all run before" in (finished / "index.html").read_text(encoding="utf-8")
    # what other figures have left stays, after what was asked for
    for name, rows in tables(run[0]).items():
        in_order = rows if name == "scenarios.csv" else sorted(rows, key=lambda row: row["job"])
        assert table(finished / name) == in_order


def test_every_table_has_the_columns_of_the_contract():
    contract = (
        "figure panel n_items n_comparisons n_features min_eigenvalue noise generation seed method"
        " engine angle norm_error c1 seconds"
    )
    assert set(contract.split()) <= set(TABLES["rows.csv"])
    contract = "figure panel n_features min_eigenvalue noise method n_needed low high"
    assert set(contract.split()) <= set(TABLES["needed.csv"])
