"""The demo: a severity score for real patients, learnt from comparisons alone."""

from collections.abc import Callable

import numpy as np

from pairscore.items import Items
from pairscore.metrics import kendall_distance
from pairscore.ranking import MULTIPLICITY
from pairscore.regression import RankRegression

FEATURES = ("age", "sex", "bmi", "blood_pressure", "cholesterol", "ldl", "hdl", "chol_hdl_ratio", "log_triglycerides", "glucose")
N_COMPARISONS = 3000
HELD_OUT = 110
GRADER_NOISE = 0.5  # of the standard deviation of the recorded progression, on each look at a patient


def run_demo(say: Callable[[str], None], seed: int = 1) -> RankRegression:
    """Tell the story of one study with ``say``, and return its model."""
    patients, progression = diabetes_patients()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(patients))
    held_out, training = order[:HELD_OUT], order[HELD_OUT:]
    say(f"{len(patients)} real patients with diabetes (scikit-learn's data): ten features each, and the disease progression recorded one year later.")
    say(f"{HELD_OUT} patients are held out. Of the other {len(training)}, {N_COMPARISONS:,} random pairs go to a grader who says which one is worse.")
    say("The grader is simulated: she sees the recorded progression, blurred by noise of half its standard deviation at each look.")
    say("The model sees features and her answers only, never the recorded progression.\n")
    votes = simulated_grades(progression, training, rng)
    model = RankRegression().fit(patients, votes)
    say(str(model.summary()))
    say("\nThe held-out patients, ranked by features alone (the ten most severe):\n")
    say(ranking_text(model, patients.take(held_out), progression))
    say(f"\n{MULTIPLICITY}\n")
    say(verdict(model, patients, progression, training, held_out))
    return model


def diabetes_patients() -> tuple[Items, np.ndarray]:
    """The 442 patients in their own units, and their recorded progression."""
    from sklearn.datasets import load_diabetes

    values, progression = load_diabetes(return_X_y=True, scaled=False)
    ids = np.array([f"patient {number}" for number in range(1, len(values) + 1)])
    return Items(np.ascontiguousarray(values), FEATURES, ids), progression


def simulated_grades(progression: np.ndarray, patients: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pairs of patients, the one graded as worse first."""
    first = rng.integers(0, len(patients), N_COMPARISONS)
    second = (first + rng.integers(1, len(patients), N_COMPARISONS)) % len(patients)
    first, second = patients[first], patients[second]
    blur = GRADER_NOISE * progression.std() * rng.normal(size=(2, N_COMPARISONS))
    worse = progression[first] + blur[0] > progression[second] + blur[1]
    return np.column_stack([np.where(worse, first, second), np.where(worse, second, first)])


def ranking_text(model: RankRegression, patients: Items, progression: np.ndarray) -> str:
    """The top of a ranking as text, with the recorded progression beside it."""
    ranking = model.rank(patients)[:10]
    lines = [f"  {'rank':>4}  {'of ranks':>9}  {'patient':<12} {'score':>7}  {'95 % interval':^17}  recorded progression"]
    for row in ranking:
        recorded = progression[int(row["id"].split()[1]) - 1]
        span, interval = f"{row['rank_low']}-{row['rank_high']}", f"[{row['low']:.2f}, {row['high']:.2f}]"
        note = "  (a feature beyond all training patients)" if row["outside"] else ""
        lines.append(f"  {row['rank']:>4}  {span:>9}  {row['id']:<12} {row['score']:>7.2f}  {interval:^17}  {recorded:.0f}{note}")
    return "\n".join(lines)


def verdict(model: RankRegression, patients: Items, progression: np.ndarray, training: np.ndarray, held_out: np.ndarray) -> str:
    """How well the score orders new patients, beside least squares that was told the progression itself."""
    X = patients.values
    right = 1 - kendall_distance(model.decision_function(X)[held_out], progression[held_out])
    design = np.column_stack([np.ones(len(X)), X])
    told = design @ np.linalg.lstsq(design[training], progression[training], rcond=None)[0]
    ceiling = 1 - kendall_distance(told[held_out], progression[held_out])
    return (
        f"Check: of all pairs of the {len(held_out)} held-out patients, the score puts {right:.1%} in the order of their recorded progression. "
        f"Least squares that was told the recorded progression of the training patients gets {ceiling:.1%}; a coin, 50 %."
    )
