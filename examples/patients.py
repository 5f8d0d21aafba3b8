"""How severe is a patient's diabetes? A score from comparisons, tried on new patients.

    python examples/patients.py

442 real patients with ten features each, and how far the disease went on in the following year
(Efron and others 2004; the data come with scikit-learn). A simulated grader is shown 3,000 random
pairs of 332 patients and says who is worse; she sees the recorded progression, blurred by half its
standard deviation. The other 110 patients are new: the score ranks them by their features alone.
Prints the strongest features and how well new patients are ordered, and writes patients.svg.
"""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from pairscore import RankRegression, plots
from pairscore.metrics import kendall_distance

NAMES = {
    **{"age": "age", "sex": "sex", "bmi": "body mass index", "bp": "blood pressure"},
    **{"s1": "cholesterol", "s2": "LDL", "s3": "HDL", "s4": "cholesterol / HDL"},
    **{"s5": "log triglycerides", "s6": "glucose"},
}
N_COMPARED, N_COMPARISONS = 332, 3000
BLUE, PALE = "#0072B2", "#99C7E0"
STYLE = {"font.size": 11, "axes.titlesize": 12}
STYLE |= {"axes.spines.top": False, "axes.spines.right": False}


def study(rng):
    """Patients to compare, new patients, comparisons, and the recorded progression by id."""
    data = load_diabetes(as_frame=True, scaled=False)
    patients = data.data.rename(columns=NAMES)
    patients.insert(0, "id", [f"patient {number}" for number in range(1, len(patients) + 1)])
    progression = pd.Series(data.target.to_numpy(), patients["id"])
    patients = patients.sample(frac=1, random_state=rng)
    compared, new = patients[:N_COMPARED], patients[N_COMPARED:]
    left = rng.integers(0, N_COMPARED, N_COMPARISONS)
    right = (left + rng.integers(1, N_COMPARED, N_COMPARISONS)) % N_COMPARED
    left, right = compared["id"].to_numpy()[[left, right]]
    blur = 0.5 * progression.std() * rng.normal(size=(2, N_COMPARISONS))
    left_is_worse = progression[left] + blur[0] > progression[right].to_numpy() + blur[1]
    winner = np.where(left_is_worse, "left", "right")
    return (
        compared,
        new,
        pd.DataFrame({"left": left, "right": right, "winner": winner}),
        progression,
    )


def main(path="patients.svg"):
    compared, new, comparisons, progression = study(np.random.default_rng(1))
    model = RankRegression().fit(compared, comparisons)
    ranking = model.rank(new)  # a table like the one that came in: here pandas

    strength = model.coef_ * model.feature_sd_
    for row in np.argsort(-np.abs(strength))[:3]:
        print(f"{model.feature_names_in_[row]}: {strength[row]:+.2f} per standard deviation")
    recorded = progression[ranking["id"]].to_numpy()
    in_order = 1 - kendall_distance(ranking["score"].to_numpy(), recorded)
    print(f"{in_order:.1%} of the pairs of new patients are in the order of their progression")

    mpl.rcParams.update(STYLE | {"svg.hashsalt": "patients"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    plots.coefficients(model, ax=left)
    left.set_title("What makes a patient look worse")
    left.set_xlabel("Change in score per standard deviation\n(95 % interval)")
    errors = [ranking["score"] - ranking["low"], ranking["high"] - ranking["score"]]
    right.errorbar(
        recorded, ranking["score"], yerr=errors, fmt="o", color=BLUE, ecolor=PALE, markersize=4
    )
    right.set(
        xlabel="Recorded progression after one year\n(never shown to the model)",
        ylabel="Score (95 % interval)",
        title=f"{len(new)} new patients: {in_order:.0%} of pairs in order",
    )
    figure.savefig(path, metadata={"Date": None})
    return model, figure


if __name__ == "__main__":
    main(*sys.argv[1:])
