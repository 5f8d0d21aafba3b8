"""`pairscore fit --method pooled` on large CSV files, over the CPU time that DuckDB needs to read
them into arrays.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

from benchmarks.law import draw
from benchmarks.start import cpu_of_children

N_ITEMS, N_FEATURES, N_COMPARISONS = 100_000, 50, 5_000_000
BARS = {"point": 2.0, "fit": 3.0}
READ = """
import duckdb
numbers = ", ".join(f"'x{column}': 'DOUBLE'" for column in range({N_FEATURES}))
words = ", ".join(f"'{name}': 'VARCHAR'" for name in ("left", "right", "winner"))
for name, columns in (("items", f"'id': 'VARCHAR', {numbers}"), ("votes", words)):
    format = f"auto_detect=false, header=true, delim=',', columns={{{columns}}}"
    duckdb.connect().execute(f"SELECT * FROM read_csv('{name}.csv', {format})").fetchnumpy()
""".replace("{N_FEATURES}", str(N_FEATURES))
FIT = [
    sys.executable,
    *["-m", "pairscore", "fit", "items.csv", "votes.csv", "--method", "pooled", "-o", "model.npz"],
]


def write_files(directory):
    problem = draw(N_ITEMS, N_FEATURES, N_COMPARISONS)
    left_won = np.random.default_rng(1).random(N_COMPARISONS) < 0.5
    sides = {
        "l": np.where(left_won, *problem.votes.T),
        "r": np.where(left_won, *problem.votes.T[::-1]),
        "won": left_won,
    }
    connection = duckdb.connect()
    connection.register("sides", sides)
    name = "printf('item%06d', {})"
    votes = (
        f'SELECT {name.format("l")} AS "left", {name.format("r")} AS "right", CASE WHEN won'
        " THEN 'left' ELSE 'right' END AS winner FROM sides"
    )
    connection.execute(f"COPY ({votes}) TO '{directory / 'votes.csv'}' (HEADER)")
    connection.register(
        "items",
        {"number": np.arange(N_ITEMS)}
        | {f"x{column}": values for column, values in enumerate(problem.compared.T)},
    )
    connection.execute(
        f"COPY (SELECT {name.format('number')} AS id, * EXCLUDE (number) FROM items) TO"
        f" '{directory / 'items.csv'}' (HEADER)"
    )


def command(medians, report):
    with TemporaryDirectory() as name:
        write_files(Path(name))

        def run(*words):
            # an installed package is compiled once, and not in each run
            env = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
            return lambda: subprocess.run(words, cwd=name, check=True, capture_output=True, env=env)

        seconds = medians(
            5,
            cpu_of_children,
            read=run(sys.executable, "-c", READ),
            fit=run(*FIT),
            point=run(*FIT, "--inference", "none"),
        )
    print(f"  (CPU seconds: {', '.join(f'{job} {value:.1f}' for job, value in seconds.items())})")
    report(
        "fit --method pooled --inference none, over reading both files",
        seconds["point"] / seconds["read"],
        BARS["point"],
        "at most",
    )
    report(
        "fit --method pooled, with item-robust intervals, over the same",
        seconds["fit"] / seconds["read"],
        BARS["fit"],
        "at most",
    )


if __name__ == "__main__":
    from benchmarks.__main__ import medians, report

    command(medians, report)
