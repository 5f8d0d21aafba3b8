"""Item effects beside those of R: lme4, mgcv and BradleyTerry2, on the same studies.

`python -m benchmarks.item_effects_r [STUDIES]` needs R with these packages
(`apt-get install --no-install-recommends r-base-core r-cran-lme4 r-cran-mgcv
r-cran-bradleyterry2`). 80 items with two features (true coefficients 1 and -0.5) and effects of
a known standard deviation. What is printed are means over the studies: the standard deviation of
the effects and the first coefficient, each over its true value, and the standard error over the
standard deviation of the coefficient.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from pairscore import RankRegression

N_ITEMS, BETA = 80, np.array([1.0, -0.5])
CELLS = [(per_item, sd) for sd in (0.5, 1.0, 3.0) for per_item in (4, 10, 40, 160)]
SCRIPT = Path(__file__).with_suffix("").with_name("item_effects.R")


def draw_study(rng: np.random.Generator, per_item: int, sd: float) -> tuple[np.ndarray, dict]:
    """Features of the items, and votes."""
    X, m = rng.normal(size=(N_ITEMS, 2)), N_ITEMS * per_item // 2
    score = X @ BETA + sd * rng.normal(size=N_ITEMS)
    left = rng.integers(0, N_ITEMS, m)
    right = (left + rng.integers(1, N_ITEMS, m)) % N_ITEMS
    won = rng.random(m) < 1 / (1 + np.exp(score[right] - score[left]))
    return X, {"left": left, "right": right, "won": won}


def by_us(X: np.ndarray, votes: dict) -> list[float]:
    outcome = np.where(votes["won"], "left", "right")
    frame = {"left": votes["left"], "right": votes["right"], "winner": outcome}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression(item_effects=True).fit(X, frame)
    return [*model.coef_, *model.std_errors_, np.sqrt(model.item_effects_.sigma2)]


def cell(per_item: int, sd: float, n_studies: int) -> pd.DataFrame:
    """What each method found, one row for each study and method."""
    items, votes, ours = [], [], []
    for study in range(n_studies):
        X, drawn = draw_study(
            np.random.default_rng([41, study, per_item, int(10 * sd)]), per_item, sd
        )
        ours.append([study, "pairscore", *by_us(X, drawn)])
        items.append(pd.DataFrame({"study": study, "x1": X[:, 0], "x2": X[:, 1]}))
        rows = {"left": drawn["left"] + 1, "right": drawn["right"] + 1, "won": drawn["won"] * 1}
        votes.append(pd.DataFrame({"study": study, **rows}))
    with tempfile.TemporaryDirectory() as folder:
        pd.concat(items).to_csv(Path(folder) / "items.csv", index=False)
        pd.concat(votes).to_csv(Path(folder) / "votes.csv", index=False)
        subprocess.run(["Rscript", str(SCRIPT), folder], check=True, capture_output=True)
        theirs = pd.read_csv(Path(folder) / "found.csv")
    return pd.concat([pd.DataFrame(ours, columns=theirs.columns), theirs])


def main(n_studies: int) -> None:
    if shutil.which("Rscript") is None:
        sys.exit("Rscript is not installed; see the head of benchmarks/item_effects_r.py.")
    print(
        "| effects' sd | per item | method | sd found | coefficient | error told / true | failed |"
    )
    print("|---|---|---|---|---|---|---|")
    for per_item, sd in CELLS:
        for method, found in cell(per_item, sd, n_studies).groupby("method", sort=False):
            fine = found.dropna()
            told = fine.error1.mean() / fine.coef1.std()
            numbers = f"{fine.sd.mean() / sd:.2f} | {fine.coef1.mean():.2f} | {told:.2f}"
            failed = len(found) - len(fine)
            print(f"| {sd:g} | {per_item} | {method} | {numbers} | {failed} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
