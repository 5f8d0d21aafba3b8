"""Abilities from comparisons alone, beside choix and evalica.

`python -m benchmarks.bradley_terry` fits 200 items with 200 000 comparisons and 10^5 items with
10^6, each in a process of its own, and prints CPU seconds (medians of three, arrays in) and the
largest difference of abilities. Peers that are not installed are left out
(`pip install choix evalica`).
"""

import subprocess
import sys
import time
import warnings

import numpy as np

SIZES = {"200 items, 200 000 comparisons": (200, 200_000), "10^5 items, 10^6": (100_000, 10**6)}
FITS = ("pairscore", "pairscore without intervals", "pairscore shrunk", "choix", "evalica")
TOO_LONG = 300  # seconds for one fit


def draw(n, m):
    """Rows of winners and losers."""
    rng = np.random.default_rng(0)
    ability = rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(ability[right] - ability[left]))
    return np.where(won, left, right), np.where(won, right, left)


def ours(winner, loser, **settings):
    from pairscore import RankRegression

    votes = np.column_stack([winner, loser])
    return lambda: RankRegression(**settings).fit(None, votes).item_effects_.effect


def fit_of(name, winner, loser, n):
    """A function that fits, and returns centred abilities."""
    if name.startswith("pairscore"):
        settings = {"without intervals": {"inference": None}, "shrunk": {"item_effects": True}}
        return ours(winner, loser, **settings.get(name.removeprefix("pairscore "), {}))
    if name == "choix":
        import choix

        data = list(zip(winner.tolist(), loser.tolist(), strict=True))
        return lambda: choix.ilsr_pairwise(n, data, max_iter=1000, tol=1e-10)
    import evalica

    sides, won = (winner.tolist(), loser.tolist()), [evalica.Winner.X] * len(winner)

    def fit():
        found = evalica.bradley_terry(*sides, won, tolerance=1e-12, limit=10_000)
        return np.log(found.scores.sort_index().to_numpy())

    return fit


def measure(name, size):
    """CPU seconds, and the abilities, written to a file."""
    warnings.simplefilter("ignore")
    n, m = SIZES[size]
    fit, seconds = fit_of(name, *draw(n, m), n), []
    for _ in range(3):
        start = time.process_time()
        abilities = fit()
        seconds.append(time.process_time() - start)
    print(f"{np.median(seconds):.3g}", " ".join(map(repr, (abilities - abilities.mean())[:200])))


def main():
    for size in SIZES:
        first = None
        for name in FITS:
            command = [sys.executable, "-m", "benchmarks.bradley_terry", name, size]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=TOO_LONG)
            except subprocess.TimeoutExpired:
                print(f"{size}: {name}: more than {TOO_LONG / 3:.0f} s a fit", flush=True)
                continue
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["killed"])[-1]
                first_line = next((x for x in done.stderr.splitlines() if "memory" in x), why)
                print(f"{size}: {name}: {first_line}", flush=True)
                continue
            seconds, *abilities = done.stdout.split()
            found = np.array([float(x.removeprefix("np.float64(").rstrip(")")) for x in abilities])
            first = found if first is None else first
            off = np.max(np.abs(found - first))
            print(f"{size}: {name}: {seconds} s, abilities differ by {off:.1e}", flush=True)


if __name__ == "__main__":
    measure(*sys.argv[1:]) if len(sys.argv) > 1 else main()
