"""`python -m benchmarks.ridge`.

How good is the ridge that `l2="auto"` chooses, and what does it cost?
"""

import sys
import warnings

import numpy as np
from scipy.special import expit

from benchmarks.__main__ import medians, report
from pairscore import RankRegression

N_NEW = 20_000  # pairs of new items


def design(rng, d, n, m, size, smallest):
    """Items with eigenvalues equally spaced in [smallest, 1], scores with standard deviation
    ``size``, and votes.
    """
    basis, spectrum = np.linalg.qr(rng.normal(size=(d, d)))[0], np.linspace(smallest, 1, d)
    X = (rng.normal(size=(n, d)) * np.sqrt(spectrum)) @ basis.T
    beta = rng.normal(size=d)
    beta *= size / np.sqrt(beta @ ((basis * spectrum) @ basis.T) @ beta)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    score = X @ beta
    won = rng.random(m) < expit(score[first] - score[second])
    new = (rng.normal(size=(N_NEW, d)) * np.sqrt(2 * spectrum)) @ basis.T
    return (
        X,
        np.where(won[:, None], np.column_stack([first, second]), np.column_stack([second, first])),
        new,
        expit(new @ beta),
    )


def expected_loss(coef, new, probability):
    """Log-loss on pairs of new items, over their outcomes."""
    eta = new @ coef
    return float(
        np.mean(probability * np.logaddexp(0, -eta) + (1 - probability) * np.logaddexp(0, eta))
    )


def excess(seed, method="mle"):
    """Size of a design, and by how much the chosen ridge loses to the best of the thirty, as a
    share.
    """
    rng = np.random.default_rng([3, seed])
    d = round(10 * 40 ** rng.random())
    m = round(d * 5 * 20 ** rng.random())
    n = max(20, m // int(rng.choice([2, 4, 10])))
    X, votes, new, probability = design(
        rng, d, n, m, rng.choice([0.5, 1, 2, 4]), rng.choice([1, 1 / 20, 1 / 200])
    )
    auto = RankRegression(method, l2="auto", inference=None).fit(X, votes)
    chosen = expected_loss(auto.coef_, new, probability)
    losses = [
        expected_loss(
            RankRegression(method, l2=l2, inference=None).fit(X, votes).coef_, new, probability
        )
        for l2 in auto.ridge_curve_.l2
    ]
    return (d, n, m), chosen / min(losses) - 1


def quality(n_designs, method):
    found = np.array([excess(seed, method)[1] for seed in range(n_designs)])
    report(
        f"{method}: chosen over best ridge, mean excess log-loss in %, {n_designs} designs",
        100 * found.mean(),
        1.0,
        "at most",
    )
    print(
        f"  (median {100 * np.median(found):.2f} %, nine of ten below"
        f" {100 * np.quantile(found, 0.9):.1f} %, largest {100 * found.max():.0f} %)",
        flush=True,
    )


def cost():
    for n, m in ((2000, 10_000), (4000, 30_000), (4000, 100_000)):
        X, votes, _, _ = design(np.random.default_rng(0), 400, n, m, 2.0, 1 / 20)
        l2 = RankRegression(l2="auto", inference=None).fit(X, votes).l2_
        jobs = {
            "auto": (
                lambda X=X, votes=votes: RankRegression(l2="auto", inference=None).fit(X, votes)
            ),
            "fixed": (
                lambda X=X, votes=votes, l2=l2: RankRegression(l2=l2, inference=None).fit(X, votes)
            ),
            "plain": lambda X=X, votes=votes: RankRegression().fit(X, votes),
        }
        seconds = medians(3, **jobs)
        path = seconds["auto"] - seconds["fixed"]
        print(
            "  (seconds: "
            + ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
            + ")"
        )
        report(
            f"d = 400, M = {m:,}: 30 ridges x 5 folds over one mle fit with errors",
            path / seconds["plain"],
            6.0,
            "at most",
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    cost()
    for name in ("mle", "paired", "pooled"):
        quality(int(sys.argv[1]) if len(sys.argv) > 1 else 60, name)
