"""How tests run commands, and the small studies that they run them on."""

import csv
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from pairscore import RankRegression
from pairscore.cli import main
from pairscore.files.tables import read_table
from pairscore.files.write import write_table

RANKING = ["id", "score", "low", "high", "rank", "rank_low", "rank_high", "outside"]
FAULTY_ITEMS = 'name,a,b,style\n1,2,3,x\n2,,4,y\n"3\n4",5,inf,x\n1,1,1,x\n,1,1,x\n7,1,2,\n'
FAULTY_VOTES = (
    "left,right,winner,weight\n1,2,left,1\n1,9,left,1\n\n2,2,left,1\n1,2,huh,1\n1,2,left,-4\n"
    "8,2,left,1\n"
)


def run(command, *more, code=0, stdin=None):
    """The command line in this process: words as a shell splits them, then ``more`` of them."""
    words = [*shlex.split(command), *map(str, more)]
    result = CliRunner().invoke(main, words, input=stdin)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def shell(command, *more, **options):
    """The command line in a process of its own, where pipes, signals or a fresh start matter."""
    code = "from pairscore.cli import main; main(prog_name='pairscore')"
    words = [*shlex.split(command), *map(str, more)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120} | options
    return subprocess.run([sys.executable, "-c", code, *words], **options)


def ranking(path):
    """The columns of a ranking, from its file."""
    table = read_table(path)
    return {name: table[name].tolist() for name in table.columns}


def scores(path):
    """Scores by id, from the file of a ranking."""
    table = ranking(path)
    return dict(zip(table["id"], table["score"], strict=True))


def state(path):
    """All of a model file, without the command that made it and how files were read."""
    with np.load(path) as file:
        arrays = {
            name: (file[name].dtype.str, file[name].shape, file[name].tobytes())
            for name in file.files
            if name != "header"
        }
        header = json.loads(file["header"].tobytes())
    for how in ("command", "reading"):
        header["fitted"]["record_"].pop(how, None)
    return arrays, header


def fine_files(directory, seed=0, n=30, m=300):
    """Items with two numeric features and a text, and votes that follow the first feature."""
    rng = np.random.default_rng(seed)
    mass, height = rng.normal(size=n), rng.normal(size=n)
    ids = np.array([f"item {row}" for row in range(n)], dtype=object)
    style = np.array(["oil", "ink", "chalk"], dtype=object)[rng.integers(0, 3, n)]
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    score = mass + 0.4 * (style == "oil")
    wins = rng.random(m) < 1 / (1 + np.exp(score[right] - score[left]))
    winner = np.where(wins, "left", "right").astype(object)
    winner[::25] = "tie"
    items = {"id": ids, "mass": mass, "height": height, "style": style}
    votes = {"left": ids[left], "right": ids[right], "winner": winner}
    write_table(items, directory / "items.csv")
    write_table(votes, directory / "votes.csv")
    return items, votes


def fit_frames(items, votes, **settings):
    """The fit of such a study from Python, without its column of text."""
    return RankRegression(**settings).fit(
        {name: values for name, values in items.items() if name != "style"}, votes
    )


def faults(stderr):
    """(line, column, what) of every bad row on the screen."""
    return {
        tuple(re.fullmatch(r"  line (\d+), column '(.*?)': (.*?): '.*'", line).groups())
        for line in stderr.splitlines()
        if line.startswith("  line")
    }


def device(folder, name):
    """A device of our own: null swallows everything, full has no space.

    Who may not make one cannot replace that in /dev either.
    """
    if os.geteuid() != 0:
        return Path("/dev") / name
    (folder / name).unlink(missing_ok=True)
    os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(1, {"null": 3, "full": 7}[name]))
    return folder / name


ALONE = "--left home --right away --winner result"


def fill_in(path, score, rng):
    """Do what a judge does, by a score with some noise."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        won = score[row["left"]] - score[row["right"]] + 0.5 * rng.logistic() > 0
        row["winner"] = "left" if won else "right"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)
