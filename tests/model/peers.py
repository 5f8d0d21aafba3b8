"""What other programs say of drawn studies; ``peers.txt`` keeps it, and tests need none of them.

In an environment with them (`benchmarks/bradley_terry.py` says how to set it up):

    python -m tests.model.peers > tests/model/peers.txt
"""

import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from benchmarks import bradley_terry as programs
from benchmarks.bradley_terry import CASES, draw

NUMBERS = Path(__file__).with_name("peers.txt")
# items, comparisons, columns of context, threshold of a tie
STUDIES = {
    "plain": (30, 3000, 0, 0.0),
    "ties": (30, 3000, 0, 0.4),
    "context": (30, 3000, 4, 0.4),
    "large": CASES["context"],
}


def peers_votes(study):
    """Votes as a table, by columns."""
    left, right, outcome, context = draw(*STUDIES[study])
    winner = np.array(["right", "tie", "left"])[outcome + 1]
    named = {f"c{number}": column for number, column in enumerate(context.T)}
    return {"left": left, "right": right, "winner": winner, **named}


def peers_numbers(study):
    """By program, centred abilities and what else it has: coefficients, or a tie parameter."""
    found = {}
    for line in NUMBERS.read_text().splitlines():
        name, program, what, *numbers = line.split()
        if name == study:
            found.setdefault(program, {})[what] = np.array(numbers, dtype=float)
    return found


def show(study, program, abilities, **more):
    centred = np.asarray(abilities) - np.mean(abilities)
    for what, numbers in {"abilities": centred, **more}.items():
        if len(numbers):
            print(study, program, what, *(f"{number:.12g}" for number in numbers))


def main():
    for name in ("arena-rank", "choix", "evalica", "scikit-learn", "statsmodels"):
        print("version", name, version(name))
    for study, size in STUDIES.items():
        votes = size[0], *draw(*size)
        abilities, coef = programs.arena_rank(*votes, intervals=False, ftol=0.0)()
        show(study, "arena-rank", abilities, coef=coef)
        if study == "large":
            continue
        for name, program in {
            "scikit-learn": programs.scikit_learn,
            "statsmodels": programs.statsmodels,
        }.items():
            abilities, coef = program(*votes)()
            show(study, name, abilities, coef=coef)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "votes.csv"
            programs.write_votes(path, *votes[1:])
            _, abilities, coef = programs.by_r("BradleyTerry2", size[0], path)
            show(study, "BradleyTerry2", abilities, coef=coef)
            if study == "ties":
                show(study, "psychotools", programs.by_r("psychotools", size[0], path)[1])
        if study == "plain":
            show(study, "choix", programs.choix(*votes)()[0])
        if study != "context":
            show(study, "evalica", programs.evalica(*votes)()[0])
        if study == "ties":
            abilities, tie = programs.evalica(*votes, method="newman")()
            show(study, "evalica-newman", abilities, tie=tie)


if __name__ == "__main__":
    main()
