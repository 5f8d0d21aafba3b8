"""Run the commands of pairscore on fixed seeds and keep what they print.

``python tests/golden/record.py``.

With a tolerance (``record.py 1e-12``) it compares instead of writing.

Every case is one command line in a folder of simulated files. Outputs are kept without what differs
from run to run (versions, dates, times). ``test_golden.py`` runs the same cases and compares.
"""

import csv
import json
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import chdir
from html import unescape
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

import pairscore
from pairscore.cli import main as pairscore_main

HERE = Path(__file__).parent
SIMULATE = (
    "simulate --items 90 --features 5 --comparisons 900 --judge-noise 0.1,0.2,0.4 --item-effect 0.6"
    " --seed 3 -o study"
)
STUDY = "study/items.csv study/comparisons.csv"
RICH = "rich/items.csv rich/comparisons.csv"

# name: command, and the file whose content is kept instead of what is printed
CASES: dict[str, tuple[str, str | None]] = {
    "fit": (f"fit {STUDY} -o plain.npz --json", None),
    "fit_text": (f"fit {STUDY} -o plain.npz", None),
    "fit_split": (f"fit {STUDY} --method split -o split.npz --json", None),
    "fit_pooled": (f"fit {STUDY} --method pooled -o pooled.npz --json", None),
    "fit_paired": (
        f"fit {STUDY} --method paired --link probit --side-effect -o paired.npz --json",
        None,
    ),
    "fit_side": (
        f"fit {STUDY} --side-effect --square x1 --interact x1:x2 -o side.npz --json",
        None,
    ),
    "fit_ridge": (f"fit {STUDY} --l2 auto -o ridge.npz --json", None),
    "fit_effects": (f"fit {STUDY} --item-effects -o effects.npz --json", None),
    "fit_judges": (
        f"fit {STUDY} --judge-slopes --inference items+judges -o judges.npz --json",
        None,
    ),
    "fit_rich": (
        (
            f"fit {RICH} --judge-slopes --side-effect judges --context rest --ties davidson"
            " --categorical kind --missing mean-with-flag --keep-data -o rich.npz --json"
        ),
        None,
    ),
    "fit_stream": (f"fit {STUDY} --stream --method pooled -o stream.npz --json", None),
    "stats": (f"stats {STUDY} -o site.npz --json", None),
    "merge": ("merge site.npz -o merged.npz --json", None),
    "stats_at": (f"stats {STUDY} --at merged.npz -o round.npz --json", None),
    "merge_text": ("merge round.npz -o final.npz", None),
    "update": (f"update rich.npz {RICH.split()[1]} --repeated add -o updated.npz --json", None),
    "rank": ("rank plain.npz study/items.csv -o ranking.csv", "ranking.csv"),
    "rank_text": ("rank effects.npz study/items.csv", None),
    "rank_rich": ("rank rich.npz rich/items.csv --simultaneous --json", None),
    "plan": ("plan --features 20 --noise 0.2 --misordered 0.05 --json", None),
    "plan_text": (
        "plan --items-file study/items.csv --pilot study/comparisons.csv --misordered 0.1",
        None,
    ),
    "plan_explained": (
        "plan --features 12 --noise 0.2 --explained 0.6 --hours 6",
        None,
    ),
    "plan_noises": ("plan --features 12 --noise 0.1-0.3 --misordered 0.05", None),
    "plan_cost": (
        (
            "plan --features 20 --noise 0.2 --misordered 0.1 --item-cost 2 --comparison-cost 1"
            " --method split --json"
        ),
        None,
    ),
    "pairs": (
        "pairs study/items.csv --comparisons 90 --judges 2 --repeats 10% --show x1 -o sheet.csv",
        "sheet-judge2.csv",
    ),
    "predict": ("predict effects.npz study/items.csv sheet-judge1.csv --json", None),
    "predict_text": ("predict rich.npz rich/items.csv rich/comparisons.csv", None),
    "report": (f"report plain.npz {STUDY} -o report.html --json", None),
    "report_page": (f"report plain.npz {STUDY} -o report.html", "report.html"),
    "report_rich_page": (f"report rich.npz {RICH} -o rich.html", "rich.html"),
    "report_effects_page": (f"report effects.npz {STUDY} -o effects.html", "effects.html"),
    "compare": (f"compare {STUDY} --json", None),
    "compare_text": (f"compare {STUDY} --model plain: --model 'side: side_effect=yes'", None),
    "demo": ("demo --seed 1", None),
    "demo_json": ("demo --seed 1 --json", None),
    "reproduce": ("reproduce 2a --seeds 1 --json -o paper", "paper/rows.csv"),
}
# kept as files, for the test that old models load
OLD_MODELS = ("plain.npz", "rich.npz", "effects.npz")


def write_rich_study(folder: Path) -> None:
    """Write the simulated study with ties, a context column, a category and missing values."""
    rich = folder / "rich"
    rich.mkdir()
    with open(folder / "study/items.csv") as file:
        header, *rows = csv.reader(file)
    rows = [
        [
            *(
                ("" if (number % 17 == 5 and column == 2) else cell)
                for column, cell in enumerate(row)
            ),
            "abc"[number % 3],
        ]
        for number, row in enumerate(rows)
    ]
    with open(rich / "items.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*header, "kind"], *rows])
    with open(folder / "study/comparisons.csv") as file:
        votes = list(csv.DictReader(file))
    for number, vote in enumerate(votes):
        vote["winner"] = "tie" if number % 7 == 3 else vote["winner"]
        vote["rest"] = str((number * 37 % 11 - 5) / 5)
    with open(rich / "comparisons.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(votes[0]))
        writer.writeheader()
        writer.writerows(votes)


def run_pairscore(arguments: str, folder: Path) -> str:
    """What ``pairscore`` prints in a folder; other exit codes than 0 end the run.

    It runs in this process, which spares an interpreter for each case. Reports and models show the
    command, so ``sys.argv`` is as ``python -m pairscore`` sets it.
    """
    words = shlex.split(arguments)
    command = [str(Path(pairscore.__file__).with_name("__main__.py")), *words]
    with chdir(folder), patch.object(sys, "argv", command):
        done = CliRunner().invoke(pairscore_main, words)
    if done.exit_code:
        raise RuntimeError(
            f"pairscore {arguments}: exit {done.exit_code}\n{done.stderr}"
        ) from done.exception
    return done.stdout


def page_text(page: str) -> str:
    """The words and numbers of an HTML page, one piece of text a line."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    pieces = map(unescape, re.split(r"<[^>]*>", page))
    return "\n".join(text for piece in pieces if (text := " ".join(piece.split())))


def stable_text(name: str, text: str) -> str:
    """The output without what differs from run to run."""
    if name == "reproduce":
        header, *rows = csv.reader(text.splitlines())
        keep = [
            column for column, title in enumerate(header) if title not in ("seconds", "version")
        ]
        return "\n".join(
            ",".join(row[column] for column in keep) for row in [header, *sorted(rows)]
        )
    if name == "compare":  # pairs with nearly the same score are ordered by the machine's rounding
        record = json.loads(text)
        for rows in record.values():
            if isinstance(rows, list):
                rows[:] = [row for row in rows if "misordered" not in str(row)]
        text = json.dumps(record, indent=2)
    text = page_text(text) if "<html" in text else text
    text = re.sub(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?( UTC)?", "TIME", text
    )
    text = re.sub(r"Made on \d{4}-\d\d-\d\d", "Made on DATE", text)
    # the last digits of simulated items, and so their hash, are those of the machine
    text = re.sub(r"\b[0-9a-f]{32}\b", "FINGERPRINT", text)
    return re.sub(r"(python|pairscore|numpy|scipy|scikit-learn) \d+\.\d+\S*", r"\1 VERSION", text)


def differences(kept: str, new: str, tolerance: float) -> list[str]:
    """What differs between two outputs.

    Words exactly, numbers by more than ``tolerance`` of themselves.
    """
    kept_words, new_words = (
        re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|[^\s\d]+", text) for text in (kept, new)
    )
    if len(kept_words) != len(new_words):
        first = next(
            (
                k
                for k, (a, b) in enumerate(zip(kept_words, new_words, strict=False))
                if a != b and not _near(a, b, tolerance)
            ),
            -1,
        )
        return [
            f"{len(kept_words)} words before, {len(new_words)} now, from"
            f" {' '.join(new_words[max(first - 5, 0) : first + 10])!r} on"
        ]
    return [
        f"{a!r} before, {b!r} now"
        for a, b in zip(kept_words, new_words, strict=True)
        if not _near(a, b, tolerance)
    ]


def _near(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    try:
        return abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), abs(float(b)), 1e-3)
    except ValueError:
        return False


def run_cases(folder: Path) -> dict[str, str]:
    """All outputs, by name of the case."""
    run_pairscore(SIMULATE, folder)
    write_rich_study(folder)
    outputs = {}
    for name, (command, kept) in CASES.items():
        printed = run_pairscore(command, folder)
        outputs[name] = stable_text(name, printed if kept is None else (folder / kept).read_text())
    return outputs


def main(tolerance: float | None) -> int:
    """Write all outputs, or with a tolerance compare them with those that are kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outputs = run_cases(folder)
        if tolerance is not None:
            changed = {
                case: found
                for case, text in outputs.items()
                if (found := differences((HERE / f"{case}.txt").read_text(), text, tolerance))
            }
            for case, found in changed.items():
                print(case, *found[:5], sep="\n    ")
            print(
                f"{len(outputs) - len(changed)} of {len(outputs)} outputs are the same to"
                f" {tolerance:g}"
            )
            return int(bool(changed))
        for case, text in outputs.items():
            (HERE / f"{case}.txt").write_text(text)
        for model in OLD_MODELS:
            shutil.copy(folder / model, HERE / model)
        return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else None))
