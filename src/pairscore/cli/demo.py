"""The demo: a severity score for real patients, learnt from comparisons alone."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.items import Items
from pairscore.errors import PairscoreError
from pairscore.metrics import kendall_distance
from pairscore.model.ranking import MULTIPLICITY
from pairscore.model.regression import RankRegression
from pairscore.report.page import write_report

FEATURES = (
    "age",
    "sex",
    "bmi",
    "blood_pressure",
    "cholesterol",
    "ldl",
    "hdl",
    "chol_hdl_ratio",
    "log_triglycerides",
    "glucose",
)
N_COMPARISONS = 3000
HELD_OUT = 110
# of the standard deviation of the recorded progression, on each look at a patient
GRADER_NOISE = 0.5


@dataclass(frozen=True)
class Demo:
    """The model, the shares of held-out pairs in the right order (of the score, and of least
    squares that was told more), and the report.
    """

    model: RankRegression
    right: float
    told: float
    report: Path | None

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        test = {"n_patients": HELD_OUT, "score": self.right, "least_squares": self.told}
        return {
            **self.model.summary().to_record(),
            "held_out_pairs_in_order": test,
            "report": None if self.report is None else str(self.report),
        }


def run_demo(say: Callable[[str], None], seed: int = 1, folder: Path | None = None) -> Demo:
    """Tell the story of one study with ``say``, write its report to ``folder`` if there is one, and
    return what came out.
    """
    patients, progression = diabetes_patients()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(patients))
    held_out, training = order[:HELD_OUT], order[HELD_OUT:]
    say("1. The items.")
    say(
        f"{len(patients)} real patients with diabetes (scikit-learn's data): ten features each, and"
        " the disease progression recorded one year later."
    )
    say("\n2. The comparisons.")
    say(
        f"{HELD_OUT} patients are held out. Of the other {len(training)}, {N_COMPARISONS:,} random"
        " pairs go to a grader who says which one is worse."
    )
    say(
        "The grader is simulated: she sees the recorded progression, blurred by noise of half its"
        " standard deviation at each look."
    )
    say("The model sees features and her answers only, never the recorded progression.")
    votes = simulated_grades(progression, training, rng)
    say("\n3. The fit: which features make a patient look worse, and how sure that is.\n")
    model = RankRegression().fit(patients, votes)
    say(str(model.summary()))
    say(
        "\n4. The ranking: the held-out patients, ranked by features alone (the ten most severe).\n"
    )
    say(ranking_text(model, patients.take(held_out), progression))
    say(f"\n{MULTIPLICITY}")
    say("\n5. The test: are new patients put in the order of what was recorded later?")
    right, told = shares_in_order(model, patients, progression, training, held_out)
    say(
        f"Check: of all pairs of the {len(held_out)} held-out patients, the score puts {right:.1%}"
        " in the order of their recorded progression. Least squares that was told the recorded"
        f" progression of the training patients gets {told:.1%}; a coin, 50 %."
    )
    report = None
    if folder is not None:
        say(
            "\n6. The report: all of this and more on one page, for people who were not there. Open"
            " it in a browser:"
        )
        report = write_demo_report(model, patients, votes, folder)
        say(str(report))
    return Demo(model, right, told, report)


def write_demo_report(
    model: RankRegression, patients: Items, votes: np.ndarray, folder: Path
) -> Path:
    """Write the report of all patients, those never compared among them, and say where it is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(
            f"the folder {str(folder)!r} cannot be made ({error.strerror}); name another with"
            " --output."
        ) from None
    write_report(model, patients, votes, folder / "report.html")
    return folder / "report.html"


def diabetes_patients() -> tuple[Items, np.ndarray]:
    """The 442 patients in their own units, and their recorded progression."""
    from sklearn.datasets import load_diabetes

    values, progression = load_diabetes(return_X_y=True, scaled=False)
    ids = np.array([f"patient {number}" for number in range(1, len(values) + 1)])
    return Items(np.ascontiguousarray(values), FEATURES, ids), progression


def simulated_grades(
    progression: np.ndarray, patients: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
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
    lines = [
        f"  {'rank':>4}  {'of ranks':>9}  {'patient':<12} {'score':>7}  {'95 % interval':^17} "
        " recorded progression"
    ]
    for row in ranking:
        recorded = progression[int(row["id"].split()[1]) - 1]
        span, interval = (
            f"{row['rank_low']}-{row['rank_high']}",
            f"[{row['low']:.2f}, {row['high']:.2f}]",
        )
        note = "  (a feature beyond all training patients)" if row["outside"] else ""
        lines.append(
            f"  {row['rank']:>4}  {span:>9}  {row['id']:<12} {row['score']:>7.2f}  {interval:^17} "
            f" {recorded:.0f}{note}"
        )
    return "\n".join(lines)


def shares_in_order(
    model: RankRegression,
    patients: Items,
    progression: np.ndarray,
    training: np.ndarray,
    held_out: np.ndarray,
) -> tuple[float, float]:
    """How well the score orders new patients, beside least squares that was told the progression
    itself.
    """
    X = patients.values
    design = np.column_stack([np.ones(len(X)), X])
    told = design @ np.linalg.lstsq(design[training], progression[training], rcond=None)[0]
    right, ceiling = (
        1 - kendall_distance(scores[held_out], progression[held_out])
        for scores in (model.decision_function(X), told)
    )
    return right, ceiling
