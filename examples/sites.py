"""Three hospitals fit one model by maximum likelihood without sharing a patient.

    python examples/sites.py

Each hospital writes sums over its own patients; a coordinator merges them. Rounds of sums at the
merged model are steps of Newton's method, and end at the fit of all data together.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from pairscore import RankRegression, load
from pairscore.streaming.merge import merge_files
from pairscore.streaming.rounds import save_round, site_round
from pairscore.streaming.sites import save_site, site_sums

FEATURES = ("age", "pressure", "oxygen")
BETA = np.array([0.8, 0.5, -1.0])


def hospital(number, n_patients, n_comparisons):
    """Patients and comparisons of one hospital, with ids that no other has."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n_patients, len(FEATURES)))
    ids = np.array([f"hospital {number}, patient {row}" for row in range(n_patients)])
    left = rng.integers(0, n_patients, n_comparisons)
    right = (left + rng.integers(1, n_patients, n_comparisons)) % n_patients
    p = 1 / (1 + np.exp((X[right] - X[left]) @ BETA))
    winner = np.where(rng.random(n_comparisons) < p, "left", "right")
    items = {"id": ids} | {name: X[:, k] for k, name in enumerate(FEATURES)}
    return items, {"left": ids[left], "right": ids[right], "winner": winner}


def joined(tables):
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def main(folder):
    warnings.simplefilter("ignore")  # each round says that another one is needed
    hospitals = [hospital(k, 200 + 100 * k, 3000 + 1000 * k) for k in (1, 2, 3)]
    for k, data in enumerate(hospitals):
        save_site(site_sums(*data), folder / f"site{k}.npz")  # what a hospital sends
    model = merge_files(sorted(folder.glob("site*.npz")), method="mle")
    whole = RankRegression().fit(*(joined(tables) for tables in zip(*hospitals, strict=True)))
    for number in range(1, 7):
        model.save(folder / "merged.npz")  # what hospitals get
        for k, data in enumerate(hospitals):
            at = load(folder / "merged.npz")
            save_round(site_round(at, *data), folder / f"round{k}.npz")
        model = merge_files(sorted(folder.glob("round*.npz")))
        off = np.abs(model.coef_ / whole.coef_ - 1).max()
        print(f"round {number}: coefficients off by {off:.0e}, errors by", end=" ")
        print(f"{np.abs(model.std_errors_ / whole.std_errors_ - 1).max():.0e}")
        if not model.notes_:
            break
    print(model.summary())
    return model, whole


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else name))
