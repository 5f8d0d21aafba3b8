"""The paper's experiments.

The same rows in any order and after any kill, equal in law to a simulation written from the paper
alone.
"""

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import norm

from pairscore import PairscoreError
from pairscore.cli.commands import main
from pairscore.paper import beyond
from pairscore.paper import run as runner
from pairscore.paper.experiments import (
    NOISES,
    Cell,
    Need,
    figure_cells,
    paper_comparisons,
    run_cell,
    solve_need,
)
from pairscore.paper.run import Folder, chosen_panels, jobs_of, run_jobs

TIMING = {"seconds"}


def without_times(row):
    return {name: value for name, value in row.items() if name not in TIMING}


def quiet(done, total):
    """No progress."""


# -- a simulation written from section 8 of the paper alone ------------------------------------------


def naive_study(n, m, d, smallest, noise, rng):
    """Features, differences, labels, eqs.

    3 and 4, and the integrals of the appendix by brute force.
    """
    beta, mu = rng.normal(0, np.sqrt(10), d), rng.uniform(-5, 5, d)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    root = basis * np.sqrt(np.linspace(smallest, 1, d))
    X = mu + rng.normal(size=(2 * n, d)) @ root.T
    sigma = np.sqrt(2) * np.linalg.norm(root.T @ beta)
    grid = np.linspace(-12, 12, 24_001)
    weight = np.exp(-0.5 * grid**2)
    weight /= weight.sum()
    if noise == 0:
        alpha, c1 = np.inf, 4 / np.sqrt(2 * np.pi) / sigma
    else:
        low, high = -20.0, 20.0
        for _ in range(80):
            middle = (low + high) / 2
            flipped = weight @ (1 / (1 + np.exp(np.exp(middle) * sigma * np.abs(grid))))
            low, high = (middle, high) if flipped > noise else (low, middle)
        alpha = np.exp(middle)
        f = 1 / (1 + np.exp(-alpha * sigma * grid))
        c1 = 4 * alpha * weight @ (f * (1 - f))
    left, right = rng.integers(0, n, m), rng.integers(0, n, m)
    difference = X[left] - X[right]
    score = difference @ beta
    chance = 0.5 + 0.5 * np.sign(score) if noise == 0 else 1 / (1 + np.exp(-alpha * score))
    y = np.where(rng.random(m) < chance, 1, -1)
    second = X[n:] - X[n:].mean(axis=0)
    estimate = np.linalg.solve(
        second.T @ second / (n - d - 2), (y[:, None] * difference).mean(axis=0)
    )
    cosine = estimate @ beta / np.linalg.norm(estimate) / np.linalg.norm(beta)
    return np.arccos(cosine), np.linalg.norm(estimate - c1 * beta)


PANELS = [
    ("2a", 300, paper_comparisons(300), 10, 1.0, 0.2),
    ("2b", 400, 900, 90, 1.0, 0.2),
    ("3a", 300, paper_comparisons(300), 90, 1 / 200, 0.0),
    ("3b", 533, paper_comparisons(533), 10, 1 / 200, 0.2),
    ("3c", 300, paper_comparisons(300), 90, 1 / 200, 0.4),
    ("4a", 400, 300, 10, 1 / 200, 0.0),
    ("4b", 400, 2000, 90, 1 / 200, 0.2),
    ("4c", 400, 5000, 10, 1 / 200, 0.4),
]
REPEATS = 120


@pytest.mark.parametrize(("panel", "n", "m", "d", "smallest", "noise"), PANELS)
def test_every_panel_agrees_with_a_direct_simulation_from_the_paper(
    panel, n, m, d, smallest, noise
):
    rng = np.random.default_rng(7)
    direct = np.array([naive_study(n, m, d, smallest, noise, rng) for _ in range(REPEATS)])
    cells = [
        Cell(panel[0], panel[1], n, m, d, smallest, noise, generation)
        for generation in range(1000, 1000 + REPEATS)
    ]
    fast = np.array([(row["angle"], row["norm_error"]) for row in map(run_cell, cells)])
    z = (fast.mean(axis=0) - direct.mean(axis=0)) / np.sqrt(
        (fast.var(axis=0, ddof=1) + direct.var(axis=0, ddof=1)) / REPEATS
    )
    assert np.all(np.abs(z) < norm.isf(1e-4 / (2 * len(PANELS)))), z


@pytest.mark.parametrize(
    "need",
    [Need("5", panel, 10, 0.1, noise) for panel, noise in NOISES.items()]
    + [Need("6", panel, 10, 0.3, noise) for panel, noise in NOISES.items()],
    ids=lambda need: need.figure + need.panel,
)
def test_the_n_needed_of_every_panel_is_enough_in_a_direct_simulation_from_the_paper(need):
    row = solve_need(need, 120)
    n, rng = round(row["n_needed"]), np.random.default_rng(11)
    angles = np.array(
        [
            naive_study(
                n, paper_comparisons(n), need.n_features, need.min_eigenvalue, need.noise, rng
            )[0]
            for _ in range(REPEATS)
        ]
    )
    of_n = 0.3 * 0.5 * np.log(row["high"] / row["low"]) / (2 * 1.96)
    assert abs(angles.mean() - 0.3) < norm.isf(1e-4 / 12) * np.hypot(
        of_n, angles.std(ddof=1) / np.sqrt(REPEATS)
    )


def test_the_direct_engine_agrees_with_the_fast_one():
    angles = {}
    for engine in ("fast", "direct"):
        cells = [
            Cell("3", "b", 300, 1712, 20, 0.1, 0.2, generation, engine=engine)
            for generation in range(150)
        ]
        angles[engine] = np.array([run_cell(cell)["angle"] for cell in cells])
    # of the same populations, so the difference is taken study by study
    fast, direct = angles.values()
    z = (fast - direct).mean() / ((fast - direct).std(ddof=1) / np.sqrt(len(fast)))
    assert abs(z) < norm.isf(1e-5)
    assert not np.array_equal(fast, direct)


@pytest.mark.parametrize(
    ("need", "generations"),
    [
        (Need("5", "b", 10, 1 / 200, 0.2), 400),
        (Need("6", "a", 30, 0.1, 0.0), 100),
        (Need("8", "a", 10, 0.1, 0.2, "pooled"), 100),
    ],
)
def test_the_mean_angle_at_the_n_needed_is_the_target(need, generations):
    """On fresh generations, allowing for the chance in both.

    That of N, which moves the angle by half as much, and that of the check.
    """
    row = solve_need(need, generations)
    assert row["low"] < row["n_needed"] < row["high"]
    n = round(row["n_needed"])
    engine = "fast" if need.method == "split" else "direct"
    cell = Cell(
        need.figure,
        need.panel,
        n,
        paper_comparisons(n),
        need.n_features,
        need.min_eigenvalue,
        need.noise,
        0,
        need.method,
        engine,
    )
    angles = np.array(
        [
            run_cell(replace(cell, generation=5000 + generation))["angle"]
            for generation in range(generations)
        ]
    )
    of_n = 0.3 * 0.5 * np.log(row["high"] / row["low"]) / (2 * 1.96)
    of_check = angles.std(ddof=1) / np.sqrt(generations)
    assert abs(angles.mean() - 0.3) < norm.isf(1e-5) * np.hypot(of_n, of_check)
    # a rival: where one eigenvalue is small, a typical angle is far below the mean
    geometric = np.exp(np.log(angles).mean())
    assert need.min_eigenvalue > 0.01 or geometric < 0.28


# -- cells and seeds ---------------------------------------------------------------------------------


def test_a_seed_is_the_cells_identity():
    cells = [cell for figure in ("2", "3", "4", "7") for cell in figure_cells(figure, 3)]
    keys = {(cell.figure, cell.panel, cell.key) for cell in cells}
    assert len(keys) == len(cells)
    # never changes: published rows depend on it
    assert Cell("2", "a", 300, 1712, 10, 1.0, 0.2, 0).seed == 6184935417021038176
    assert len({cell.seed for cell in cells}) == len({cell.key for cell in cells})


def test_the_grid_is_the_papers():
    cells = {figure: list(figure_cells(figure, 1)) for figure in ("2", "3", "4")}
    for figure, panels in (("2", "ab"), ("3", "abc"), ("4", "abc")):
        assert {cell.panel for cell in cells[figure]} == set(panels)
        assert {cell.n_features for cell in cells[figure]} == {10, 90, 250}
    assert {cell.noise for cell in cells["3"]} == {0.0, 0.2, 0.4}
    assert (min(cell.n_items for cell in cells["3"]), max(cell.n_items for cell in cells["3"])) == (
        300,
        30_000,
    )
    assert all(
        cell.n_comparisons == int(np.ceil(cell.n_items * np.log(cell.n_items)))
        for cell in cells["3"]
    )
    assert (
        min(cell.n_comparisons for cell in cells["4"]),
        max(cell.n_comparisons for cell in cells["4"]),
    ) == (300, 50_000)
    assert {cell.n_items for cell in cells["4"]} == {2500}


def test_one_cell_alone_gives_the_row_of_the_whole_run(tmp_path):
    jobs = jobs_of(chosen_panels(["2a"]), 2, "fast")
    with Folder(tmp_path).opened() as folder:
        run_jobs(folder, jobs, 2, quiet)
        whole = folder.rows("rows.csv", jobs)
    job = jobs[17]
    (alone,) = job.run()
    assert without_times(alone) == {
        name: value for name, value in without_times(whole[17]).items() if name != "job"
    }


def test_scenarios_and_sources_are_reproducible():
    first, again = (beyond.scenario_rows("pairs matched on one feature", 3) for _ in range(2))
    assert first == again
    rows = [
        row
        for generation in range(6)
        for row in beyond.scenario_rows("pairs matched on one feature", generation)
    ]
    mean = {
        method: np.mean([row["angle"] for row in rows if row["method"] == method])
        for method in ("pooled", "paired", "mle")
    }
    # matched pairs mislead the item covariance, not the likelihood
    assert mean["mle"] < 0.8 * mean["pooled"]
    assert mean["paired"] < 0.8 * mean["pooled"]
    assert len(beyond.source_rows(100, 461, 3)) == beyond.N_PARTS


# -- interruptions -----------------------------------------------------------------------------------

KILLED = """
import sys
from pathlib import Path
from pairscore.paper.run import Folder, chosen_panels, jobs_of, run_jobs
if __name__ == "__main__":
    jobs = jobs_of(chosen_panels(["2a", "10"]), 2, "fast")
    with Folder(Path(sys.argv[1])).opened() as folder:
        run_jobs(folder, jobs, 2, lambda done, total: None)
        folder.sort(jobs)
"""


def table(path):
    with open(path, newline="") as file:
        return [without_times(row) for row in csv.DictReader(file)]


def test_killed_ten_times_the_rows_are_those_of_a_run_in_peace(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    subprocess.run([sys.executable, str(script), str(tmp_path / "peace")], check=True, timeout=120)
    rng = random.Random(1)
    for _ in range(10):
        process = subprocess.Popen([sys.executable, str(script), str(tmp_path / "killed")])
        time.sleep(rng.uniform(0.5, 3.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, str(script), str(tmp_path / "killed")], check=True, timeout=120)
    for name in ("rows.csv", "scenarios.csv"):
        assert table(tmp_path / "killed" / name) == table(tmp_path / "peace" / name)


def test_ctrl_c_ends_with_a_sentence_and_the_next_run_goes_on(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from pairscore.cli import main; main()",
        "reproduce",
        "5",
        "--seeds",
        "6",
        "-o",
        str(tmp_path / "out"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(600):
        if (tmp_path / "out" / "needed.csv").exists():
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the run
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said.startswith("Error: stopped; what is finished is kept in")
    assert said.count("\n") == 1
    kept = table(tmp_path / "out" / "needed.csv")
    assert kept
    with Folder(tmp_path / "out").opened() as folder:
        jobs = jobs_of(chosen_panels(["5"]), 6, "fast")
        assert sum(folder.is_finished(job) for job in jobs) == len(kept)


def test_a_second_run_repeats_nothing_and_mends_lines_cut_short(tmp_path):
    jobs = jobs_of(chosen_panels(["2b", "10"]), 1, "fast")
    with Folder(tmp_path).opened() as folder:
        assert run_jobs(folder, jobs, 1, quiet) == len(jobs)
        folder.sort(jobs)
    whole = {name: table(tmp_path / name) for name in ("rows.csv", "scenarios.csv")}
    with Folder(tmp_path).opened() as folder:
        assert run_jobs(folder, jobs, 1, quiet) == 0
    for name in whole:
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: -len(content.splitlines()[-1]) // 2])
    with Folder(tmp_path).opened() as folder:
        assert run_jobs(folder, jobs, 1, quiet) == 2
        folder.sort(jobs)
    assert {name: table(tmp_path / name) for name in whole} == whole


def test_the_lock_keeps_a_second_run_out(tmp_path):
    with (
        Folder(tmp_path).opened(),
        pytest.raises(PairscoreError, match="another run is writing"),
        Folder(tmp_path).opened(),
    ):
        pass


# -- bad input ---------------------------------------------------------------------------------------


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


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(main, ["reproduce", "2a", "-o", str(tmp_path / "file" / "out")])
    assert result.exit_code == 2
    assert "cannot be written to" in result.output


@pytest.mark.parametrize("damage", ["version", "columns"])
def test_rows_of_another_version_are_refused_and_kept(tmp_path, damage):
    jobs = jobs_of(chosen_panels(["2b"]), 1, "fast")
    with Folder(tmp_path).opened() as folder:
        run_jobs(folder, jobs[:3], 1, quiet)
    path = tmp_path / "rows.csv"
    text = path.read_text()
    path.write_text(
        text.replace(",0.1.0\n", ",9.9\n")
        if damage == "version"
        else text.replace("job,", "task,", 1)
    )
    before = path.read_bytes()
    result = CliRunner().invoke(main, ["reproduce", "2b", "--seeds", "1", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert "name another directory with -o" in result.output
    assert path.read_bytes() == before


@pytest.mark.parametrize("foreign", [b"hello", b"job,figure,pain", b"hello\nthere", b"\n"])
def test_what_somebody_else_wrote_is_refused_and_kept(tmp_path, foreign):
    path = tmp_path / "rows.csv"
    path.write_bytes(foreign)
    result = CliRunner().invoke(main, ["reproduce", "2b", "--seeds", "1", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert "is no table of this version" in result.output
    assert path.read_bytes() == foreign


@pytest.mark.parametrize("length", [0, 7, -1])
def test_a_first_line_cut_short_is_our_own(tmp_path, length):
    header = f"{','.join(('job', *runner.TABLES['rows.csv']))}\n"
    (tmp_path / "rows.csv").write_text(header[:length])
    with Folder(tmp_path).opened():
        assert not (tmp_path / "rows.csv").exists()


def test_the_times_of_cells_and_of_the_page_are_both_said(tmp_path):
    first, second = (
        CliRunner().invoke(main, ["reproduce", "2b", "--seeds", "1", "-o", str(tmp_path), *more])
        for more in ([], ["--json"])
    )
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    assert re.search(
        r"^27 cells \(27 run now\) in \d+ s; predictions, figures and page in \d+ s; calibration"
        r" loop",
        first.output,
    )
    record = json.loads(second.output)
    assert (record["cells"], record["cells_run"]) == (27, 0)
    assert record["seconds"] == pytest.approx(record["cell_seconds"] + record["page_seconds"])
    assert "27 cells, all run before" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not (tmp_path / ".seconds").exists()


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        KILLED.replace('["2a", "10"]', '["5", "6"]').replace(', 2, "fast"', ', 10, "fast"')
    )
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "out")], start_new_session=True
    )
    time.sleep(3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(60):
        if not _alive(process.pid):
            break
        time.sleep(0.5)
    assert not _alive(process.pid)


def _alive(group):
    """Whether any process of the group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_table_has_the_columns_of_the_contract():
    contract = (
        "figure panel n_items n_comparisons n_features min_eigenvalue noise generation seed method"
        " engine angle norm_error c1 seconds"
    )
    assert set(contract.split()) <= set(runner.TABLES["rows.csv"])
    assert set(
        [
            "figure",
            "panel",
            "n_features",
            "min_eigenvalue",
            "noise",
            "method",
            "n_needed",
            "low",
            "high",
        ]
    ) <= set(runner.TABLES["needed.csv"])
