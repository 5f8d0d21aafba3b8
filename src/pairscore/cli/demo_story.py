"""The demo: a severity score for real patients, learnt from comparisons alone."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.cli.printing import terminal_width
from pairscore.data.items import Items
from pairscore.display import text_table
from pairscore.errors import PairscoreError
from pairscore.estimators.settings import Wording
from pairscore.files.write import write_table
from pairscore.messages import Words, in_python
from pairscore.metrics import kendall_distance
from pairscore.model.ranks import MULTIPLICITY
from pairscore.model.regression import RankRegression
from pairscore.report.page import write_report

FEATURES = (
    *("age", "sex", "bmi", "blood_pressure", "cholesterol", "ldl", "hdl", "chol_hdl_ratio"),
    *("log_triglycerides", "glucose"),
)
WORDING = Wording("Severity of diabetes", top="most severe", bottom="least severe")
N_COMPARISONS = 3000
HELD_OUT = 110
# of the standard deviation of the recorded progression, on each look at a patient
GRADER_NOISE = 0.5

DATA_STEPS = """\
1. The items.
{n_patients} real patients with diabetes (scikit-learn's data): ten features each, and the disease \
progression recorded one year later.

2. The comparisons.
{n_held_out} patients are held out. Of the other {n_training}, {n_comparisons:,} random pairs go \
to a grader who says which one is worse.
The grader is simulated: she sees the recorded progression, blurred by noise of half its standard \
deviation at each look.
The model sees features and her answers only, never the recorded progression."""
FIT_STEP = """
3. The fit: which features make a patient look worse, and how certain that is.
"""
RANKING_STEP = """
4. The ranking: the held-out patients, ranked by features alone (the ten most severe). A score of \
0 is the average compared patient; the last column but one says where each would rank among the \
compared patients.
"""
TEST_STEP = """
5. The test: are new patients put in the order of what was recorded later?"""
TEST_RESULT = """\
Check: of all pairs of the {n_held_out} held-out patients, the score puts {score:.1%} in the order \
of their recorded progression. Least squares, fitted directly to the recorded progression of \
the training patients, gets {least_squares:.1%}; a coin toss, 50%."""
REPORT_STEP = """
6. The report: all of this and more on one page, for people who were not involved. Open it in \
a browser:"""
FILES_STEP = """
7. Your turn: the tables of this study are in a separate folder, where these commands start.
  cd {folder}
  pairscore fit {items} {comparisons} -o model.npz
  pairscore rank model.npz {new_items}"""


@dataclass(frozen=True)
class Demo:
    """What the demo came to.

    Parameters
    ----------
    model : RankRegression
    score, least_squares : float
        Shares of held-out pairs in the right order: by the score, and by least squares that was
        told the recorded progression of the training patients.
    report : Path or None
    """

    model: RankRegression
    score: float
    least_squares: float
    report: Path | None

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        shares = {"score": self.score, "least_squares": self.least_squares}
        return {
            **self.model.summary().to_record(),
            "held_out_pairs_in_order": {"n_patients": HELD_OUT, **shares},
            "report": None if self.report is None else str(self.report),
        }


def run_demo(
    say: Callable[[str], None],
    seed: int = 1,
    folder: Path | None = None,
    words: Words = in_python,
) -> Demo:
    """Tell the story of one study, from patients to a report, and return what it came to.

    Parameters
    ----------
    say : function
        Called with each part of the story when it is ready; a part may have several lines.
    seed : int
        Of who is held out, of the pairs, and of the simulated grader.
    folder : Path
        Where the report and the tables go; None for neither.
    words : function
        How settings are called.
    """
    patients, progression = diabetes_patients()
    rng = np.random.default_rng(seed)
    held_out, training = np.split(rng.permutation(len(patients)), [HELD_OUT])
    sizes = {"n_patients": len(patients), "n_held_out": HELD_OUT, "n_training": len(training)}
    say(DATA_STEPS.format(**sizes, n_comparisons=N_COMPARISONS))
    votes = simulate_grades(progression, training, rng)
    say(FIT_STEP)
    model = RankRegression().fit(patients, votes)
    model.wording_ = WORDING
    say(model.summary().text(width=terminal_width()))
    say(RANKING_STEP)
    say(severity_table(model, patients.take(held_out), progression))
    say(f"\n{MULTIPLICITY.worded(words)}")
    say(TEST_STEP)
    score, least_squares = shares_in_order(model, patients, progression, training, held_out)
    say(TEST_RESULT.format(**sizes, score=score, least_squares=least_squares))
    report = None
    if folder is not None:
        say(REPORT_STEP)
        report = write_demo_report(model, patients, votes, folder)
        say(str(report))
        files = write_demo_tables(patients, training, held_out, votes, folder)
        names = {name: path.name for name, path in files.items()}
        say(FILES_STEP.format(folder=shlex.quote(str(folder)), **names))
    return Demo(model, score, least_squares, report)


def write_demo_report(
    model: RankRegression, patients: Items, votes: np.ndarray, folder: Path
) -> Path:
    """Write the report of all patients, those never compared among them, and return its path."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(
            f"the folder {str(folder)!r} cannot be created ({error.strerror}); name another with"
            " --output."
        ) from None
    write_report(model, patients, votes, folder / "report.html")
    return folder / "report.html"


def write_demo_tables(
    patients: Items, training: np.ndarray, held_out: np.ndarray, votes: np.ndarray, folder: Path
) -> dict[str, Path]:
    """Write the patients that were compared, their comparisons and the new patients as CSV files.

    A seeded coin decides who is on the left. Returns the paths by what is in them.
    """
    left_won = np.random.default_rng(0).random(len(votes)) < 0.5
    left, right = np.where(left_won[:, None], votes, votes[:, ::-1]).T
    assert patients.ids is not None
    tables: dict[str, dict[str, Any]] = {
        name: {"id": chosen.ids, **dict(zip(FEATURES, chosen.values.T, strict=True))}
        for name, rows in (("items", np.sort(training)), ("new_items", np.sort(held_out)))
        for chosen in [patients.take(rows)]
    }
    tables["comparisons"] = {
        "left": patients.ids[left],
        "right": patients.ids[right],
        "winner": np.where(left_won, "left", "right"),
    }
    paths = {name: folder / f"{name}.csv" for name in tables}
    for name, table in tables.items():
        write_table(table, paths[name])
    return paths


def diabetes_patients() -> tuple[Items, np.ndarray]:
    """The 442 patients with ten features each, and their recorded progression."""
    from sklearn.datasets import load_diabetes

    values, progression = load_diabetes(return_X_y=True, scaled=False)
    ids = np.array([f"patient {number}" for number in range(1, len(values) + 1)])
    return Items(np.ascontiguousarray(values), FEATURES, ids), progression


def simulate_grades(
    progression: np.ndarray, patients: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Random pairs of patients as votes, shape (N_COMPARISONS, 2), the one graded as worse first.

    ``patients`` are the row numbers to choose from. The grader sees the progression of both, each
    with normal noise of GRADER_NOISE of its standard deviation.
    """
    first = rng.integers(0, len(patients), N_COMPARISONS)
    second = (first + rng.integers(1, len(patients), N_COMPARISONS)) % len(patients)
    first, second = patients[first], patients[second]
    blur = GRADER_NOISE * progression.std() * rng.normal(size=(2, N_COMPARISONS))
    worse = progression[first] + blur[0] > progression[second] + blur[1]
    return np.column_stack([np.where(worse, first, second), np.where(worse, second, first)])


def severity_table(model: RankRegression, patients: Items, progression: np.ndarray) -> str:
    """The ten most severe patients as a table, with their recorded progression."""

    def cells(row: Any) -> tuple[Any, ...]:
        recorded = f"{progression[int(row['id'].split()[1]) - 1]:.0f}"
        note = "  (a feature beyond all training patients)" if row["outside"] else ""
        interval = f"[{row['low']:.2f}, {row['high']:.2f}]"
        ranks = f"{row['rank_low']}-{row['rank_high']}"
        known = row["rank"], ranks, row["id"], f"{row['score']:.2f}", interval
        return *known, f"{row['place_low']}-{row['place_high']}", recorded + note

    among = f"among the {model.n_items_}"
    header = ("rank", "ranks", "patient", "score", "95 % interval", among, "recorded")
    layout = "  {:>}  {:>}  {:<}  {:>}  {:^}  {:>}  {:<}"
    return text_table(header, map(cells, model.rank(patients)[:10]), layout)


def shares_in_order(
    model: RankRegression,
    patients: Items,
    progression: np.ndarray,
    training: np.ndarray,
    held_out: np.ndarray,
) -> tuple[float, float]:
    """Shares of pairs of held-out patients in the order of their progression.

    By the score of the model, and by least squares that was told the progression of the training
    patients: 1 - Kendall's distance. ``training`` and ``held_out`` are row numbers.
    """
    X = patients.values
    design = np.column_stack([np.ones(len(X)), X])
    coef = np.linalg.lstsq(design[training], progression[training], rcond=None)[0]
    score, least_squares = (
        1 - kendall_distance(values[held_out], progression[held_out])
        for values in (model.decision_function(X), design @ coef)
    )
    return score, least_squares
