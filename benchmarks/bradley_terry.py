"""Abilities from comparisons alone, beside other programs.

`python -m benchmarks.bradley_terry [CASE ...]` fits the cases below with every program that is
installed where it runs, each fit in a process of its own, the programs taking turns, and prints CPU
seconds (medians; from arrays or tables to abilities), their ratio to ours, and the largest
difference of abilities and coefficients. In an environment of its own, because arena-rank asks for
one version of NumPy:

    pip install . arena-rank choix evalica statsmodels
    apt-get install --no-install-recommends r-cran-bradleyterry2 r-cran-psychotools
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

# items, comparisons, columns of context, threshold of a tie
CASES = {
    "plain": (200, 200_000, 0, 0.0),
    "ties": (200, 200_000, 0, 0.4),
    "context": (200, 200_000, 4, 0.4),
    "many": (100_000, 10**6, 0, 0.0),
}
COEF = (0.4, -0.2, 0.1, 0.0)
ROUNDS, SHORT = 3, 20  # turns, and CPU seconds of a fit up to which another one warms up
TOO_LONG = 1800  # seconds for one process
MEMORY = 12 * 2**30  # bytes of address space for one process
RIDGE = 0.16  # where items won or lost everything, as some of many do
SCRIPT = Path(__file__).with_suffix(".R")
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def draw(n, m, n_context=0, threshold=0.0, seed=0):
    """Left, right, outcome (1, 0, -1; ties as in Rao and Kupper's law) and context (M x c).

    By a generator whose numbers are the same in every version of NumPy.
    """
    rng = np.random.RandomState(seed)
    ability, left = rng.standard_normal(n), rng.randint(0, n, m)
    right = (left + rng.randint(1, n, m)) % n
    context, chance = rng.standard_normal((m, n_context)), rng.random_sample(m)
    eta = ability[left] - ability[right] + context @ np.array(COEF[:n_context])
    latent = eta + np.log(chance / (1 - chance))
    return (
        left,
        right,
        np.where(latent > threshold, 1, np.where(latent < -threshold, -1, 0)),
        context,
    )


def columns(context):
    return {f"c{number}": column for number, column in enumerate(context.T)}


# -- programs: each takes votes, and returns a function that fits them -----------------------------


def pairscore(n, left, right, outcome, context, **settings):
    from pairscore import RankRegression

    votes = {"left": left, "right": right, **columns(context)}
    votes["winner"] = np.array(["right", "tie", "left"])[outcome + 1]
    if n > 1000:  # by row numbers, winner first
        won = outcome > 0
        votes = np.column_stack([np.where(won, left, right), np.where(won, right, left)])
        settings |= {"l2": RIDGE}
    settings |= {"context": list(columns(context))} if context.size else {}

    def fit():
        model = RankRegression(**settings).fit(None, votes)
        effects = () if model.effects_ is None else model.effects_.values[: context.shape[1]]
        return model.item_effects_.effect, effects

    return fit


def choix(n, left, right, outcome, context):
    import choix

    refuse(context.size, "no columns of comparisons")
    refuse(np.any(outcome == 0), "no ties")
    won = outcome > 0
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    data = list(zip(winner.tolist(), loser.tolist(), strict=True))
    return lambda: (choix.ilsr_pairwise(n, data, max_iter=1000, tol=1e-10), ())


def evalica(n, left, right, outcome, context, method="bradley_terry", resamples=0):
    import evalica

    refuse(context.size, "no columns of comparisons")
    words = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}
    won, exact = [words[one] for one in outcome.tolist()], {"tolerance": 1e-12, "limit": 10_000}
    law = getattr(evalica, method)

    def fit():
        if resamples:
            how = {"n_resamples": resamples, "bootstrap_method": "percentile"}
            found = evalica.bootstrap(law, left, right, won, **how, random_state=0).result
        else:
            found = law(left, right, won, **exact)
        tie = [np.log(2 * found.v)] if method == "newman" else ()
        return np.log(found.scores.sort_index().to_numpy()), tie

    return fit


def arena_rank(n, left, right, outcome, context, intervals=True, **exact):
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset, PairDataset

    winner = np.array(["model_b", "tie", "model_a"])[outcome + 1]
    frame = pd.DataFrame({"model_a": left, "model_b": right, "winner": winner, **columns(context)})

    def fit():
        if context.size:
            # as we have it: votes of equal weight, columns as they are, no ridge on coefficients
            plain = {"reweighted": False, "normalize_features": False}
            data = ContextualPairDataset.from_pandas(frame, list(columns(context)), **plain)
            model = ContextualBradleyTerry(n, context.shape[1], reg=0.0, **exact)
        else:
            data = PairDataset.from_pandas(frame)
            model = BradleyTerry(n, **exact)
        model.fit(data)
        if intervals:
            np.asarray(model.compute_ratings_and_cis(data)["variances"])
        return np.asarray(model.params["ratings"]), np.asarray(model.params.get("coeffs", ()))

    return fit


def scikit_learn(n, left, right, outcome, context):
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    def fit():
        won, lost = np.flatnonzero(outcome >= 0), np.flatnonzero(outcome <= 0)
        rows = np.concatenate([won, lost])  # a tie is half a win for each
        y = np.repeat([1, 0], [len(won), len(lost)])
        ends = np.column_stack([left[rows], right[rows]]).ravel()
        signs, start = np.tile([1.0, -1.0], len(rows)), np.arange(0, 2 * len(rows) + 1, 2)
        X = sparse.csr_array((signs, ends, start), shape=(len(rows), n))
        if context.size:
            X = sparse.csr_array(sparse.hstack([X, context[rows]]))
        ridge = RIDGE if n > 1000 else 0.0
        model = LogisticRegression(
            C=1 / ridge if ridge else np.inf, fit_intercept=False, tol=1e-10, max_iter=10_000
        )
        weight = np.where(outcome[rows] == 0, 0.5, 1.0)
        found = model.fit(X, y, sample_weight=weight).coef_[0]
        return found[:n], found[n:]

    return fit


def statsmodels(n, left, right, outcome, context):
    from statsmodels.discrete.discrete_model import Logit

    def fit():
        m = len(left)
        X = np.zeros((m, n))
        X[np.arange(m), left], X[np.arange(m), right] = 1.0, -1.0
        design = np.hstack([X[:, 1:], context])  # the first item is the zero
        found = Logit(0.5 + 0.5 * outcome, design, check_rank=False).fit(disp=0, tol=1e-10)
        values = np.asarray(found.params)
        np.asarray(found.bse)
        return np.append(0.0, values[: n - 1]), values[n - 1 :]

    return fit


PROGRAMS = {
    "pairscore": pairscore,
    "pairscore, no intervals": lambda *a: pairscore(*a, inference=None),
    "pairscore, Davidson's ties": lambda *a: pairscore(*a, ties="davidson"),
    "evalica": evalica,
    "evalica, Newman's ties": lambda *a: evalica(*a, method="newman"),
    "evalica, 100 resamples": lambda *a: evalica(*a, resamples=100),
    "choix": choix,
    "arena-rank": arena_rank,
    "arena-rank, no intervals": lambda *a: arena_rank(*a, intervals=False),
    "arena-rank, ftol=0": lambda *a: arena_rank(*a, ftol=0.0),
    "scikit-learn": scikit_learn,
    "statsmodels": statsmodels,
    "BradleyTerry2": None,
    "psychotools": None,
}


def refuse(reason, text):
    if reason:
        raise NotImplementedError(text)


# -- one process -----------------------------------------------------------------------------------


def measure(name, case):
    """Print CPU seconds, centred abilities (200 at most) and coefficients."""
    warnings.simplefilter("ignore")
    n, *_ = CASES[case]
    fit = PROGRAMS[name](n, *draw(*CASES[case]))
    for _ in range(2):
        start = time.process_time()
        abilities, coef = fit()
        seconds = time.process_time() - start
        if seconds > SHORT:
            break
    show(seconds, abilities, coef)


def show(seconds, abilities, coef):
    shown = np.asarray(abilities) - np.mean(abilities)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = {"seconds": seconds, "gigabytes": peak, "coef": [float(x) for x in coef]}
    print(json.dumps(found | {"abilities": shown[:200].tolist()}))


class FitError(RuntimeError):
    """Why a process did not end with a fit."""


def run(command):
    """What one process printed."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # noqa: E731
    how = {"capture_output": True, "text": True, "timeout": TOO_LONG, "preexec_fn": limit}
    try:
        done = subprocess.run(command, env=os.environ | ONE_THREAD, **how)
    except subprocess.TimeoutExpired:
        raise FitError(f"more than {TOO_LONG} s") from None
    except FileNotFoundError as missing:
        raise FitError(str(missing)) from None
    if done.returncode:
        lines = [x for x in done.stderr.splitlines() if x.strip() and "halted" not in x]
        of_memory = (x for x in lines if "memory" in x or "allocate" in x)
        raise FitError(next(of_memory, lines[-1] if lines else "killed"))
    return done.stdout


def write_votes(path, left, right, outcome, context):
    import pandas as pd

    table = {"left": left, "right": right, "outcome": outcome, **columns(context)}
    pd.DataFrame(table).to_csv(path, index=False)


def by_r(name, n, path):
    """CPU seconds, abilities and coefficients of a program in R."""
    first, coef = run(["Rscript", str(SCRIPT), name, str(n), str(path)]).split("|")
    seconds, *abilities = map(float, first.split())
    return seconds, np.array(abilities), np.array(coef.split(), dtype=float)


def fit_in_process(name, case, folder):
    if PROGRAMS[name] is not None:
        return json.loads(run([sys.executable, "-m", "benchmarks.bradley_terry", name, case]))
    path = Path(folder) / f"{case}.csv"
    if not path.exists():
        write_votes(path, *draw(*CASES[case]))
    seconds, abilities, coef = by_r(name, CASES[case][0], path)
    return {"seconds": seconds, "abilities": (abilities - abilities.mean())[:200], "coef": coef}


def compare_programs(case, folder):
    found, failed = {}, {}
    for turn in range(ROUNDS):
        for name in PROGRAMS:
            slow = turn and name in found and found[name][0]["seconds"] > SHORT
            if name in failed or slow:
                continue
            try:
                one = fit_in_process(name, case, folder)
            except FitError as why:
                failed[name] = why
            else:
                found.setdefault(name, []).append(one)
    ours = found["pairscore"]
    for name in PROGRAMS:
        if name in failed:
            print(f"{case}: {name}: {failed[name]}", flush=True)
            continue
        seconds = np.median([one["seconds"] for one in found[name]])
        ratio = seconds / np.median([one["seconds"] for one in ours])
        off = ["-"] * 2
        for number, part in enumerate(("abilities", "coef")):
            a, b = (np.asarray(some[0][part]) for some in (found[name], ours))
            if len(b):
                off[number] = f"{np.max(np.abs(a - b)):.1e}"
        memory = found[name][0].get("gigabytes", np.nan)
        print(
            f"{case}: {name}: {seconds:.3g} s ({len(found[name])} turns), ratio {ratio:.2f},"
            f" {memory:.1f} GB; abilities differ by {off[0]}, coefficients by {off[1]}",
            flush=True,
        )


def main(cases):
    with tempfile.TemporaryDirectory() as folder:
        for case in cases or CASES:
            compare_programs(case, folder)


if __name__ == "__main__":
    words = sys.argv[1:]
    measure(*words) if words and words[0] in PROGRAMS else main(words)
