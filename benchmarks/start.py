"""The start of commands: CPU time of `fit`, `rank` and `plan` on a small file, over that of a
process that imports the libraries they need; and of plans and a report, in seconds.
"""

import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAM = "from pairscore.__main__ import run; run()"  # as the script `pairscore` does
LIBRARIES = {
    "fit": "numpy, scipy.special, scipy.sparse.csgraph, duckdb, click, narwhals, threadpoolctl",
    "rank": "numpy, scipy.special, scipy.sparse.csgraph, duckdb, click, narwhals",
    "plan": "numpy, scipy.special, scipy.sparse.csgraph, click, narwhals",
}
SMALL = {
    "fit": "fit small/items.csv small/comparisons.csv -o small.npz",
    "rank": "rank small.npz small/items.csv",
    "plan": "plan --features 3 --noise 0.2 --items 50 --comparisons 500",
}
LARGER = {
    "plan with a pilot": (
        2.0,
        "plan --items-file pilot/items.csv --pilot pilot/comparisons.csv --misordered 0.05",
    ),
    "plan --chart": (2.0, "plan --features 90 --noise 0.2 --misordered 0.05 --chart chart.png"),
    "fit --item-effects --report, 200 000 votes": (
        10.0,
        "fit large/items.csv large/comparisons.csv --item-effects --report page.html -o large.npz",
    ),
}
STUDIES = {
    "small": "--items 100 --features 3 --comparisons 800",
    "pilot": "--items 400 --features 20 --comparisons 2000",
    "large": "--items 200 --features 10 --comparisons 200000 --item-effect 0.5"
    " --judge-noise 0.1,0.2,0.3",
}


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start(medians, report):
    with TemporaryDirectory() as folder:

        def run(*words):
            subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)

        def command(words):
            return lambda: run("-c", PROGRAM, *words.split())

        for name, words in STUDIES.items():
            command(f"simulate {words} --no-second-half --seed 1 -o {name}")()
        jobs = {name: command(words) for name, words in SMALL.items()}
        libraries = {
            f"{name} libraries": lambda words=words: run("-c", f"import {words}")
            for name, words in LIBRARIES.items()
        }
        for job in jobs.values():
            job()  # compiles its modules, once
        seconds = medians(15, cpu_of_children, **jobs, **libraries)
        print(f"  (CPU seconds: {', '.join(f'{name} {s:.2f}' for name, s in seconds.items())})")
        for name in SMALL:
            ratio = seconds[name] / seconds[f"{name} libraries"]
            report(f"{name} of a small file, over importing its libraries", ratio, 1.3, "at most")
        for name, (bar, words) in LARGER.items():
            used = medians(3, cpu_of_children, job=command(words))["job"]
            report(f"{name}, CPU seconds", used, bar, "at most")
        assert (Path(folder) / "page.html").is_file()


if __name__ == "__main__":
    from benchmarks.__main__ import medians, report

    start(medians, report)
