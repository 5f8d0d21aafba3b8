"""Item effects against a known truth.

Is sigma^2 unbiased, do intervals cover, and is the score ever worse than its parents?

`python -m benchmarks.item_effects` prints the tables; `--write` also puts them into
docs/explanation/item_effects.md; `--fits 2000` sets how many studies are simulated in each row;
names of tables (truth, loss, speed) make those only.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtr

from benchmarks.item_effects_loss import loss_table
from pairscore import Comparisons, RankRegression
from pairscore.errors import PairscoreWarning

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "item_effects.md"
CDF = {"logit": expit, "probit": ndtr}


@dataclass(frozen=True)
class Study:
    """Normal items with normal effects, random pairs."""

    n_items: int
    per_item: float
    n_features: int = 5
    sd: float = 1.0
    length: float = 1.0
    link: str = "logit"
    uneven: bool = False

    @property
    def beta(self):
        return np.full(self.n_features, self.length / np.sqrt(self.n_features))

    def draw(self, rng):
        """Features, true scores, and comparisons of the first n items.

        As many more items are never compared.
        """
        X = rng.normal(size=(2 * self.n_items, self.n_features))
        score = X @ self.beta + self.sd * rng.normal(size=len(X))
        n_comparisons = round(self.n_items * self.per_item / 2)
        share = rng.gamma(0.5, size=self.n_items) + 0.02 if self.uneven else np.ones(self.n_items)
        left, right = (
            rng.choice(self.n_items, n_comparisons, p=share / share.sum()) for _ in range(2)
        )
        apart = left != right
        left, right = left[apart], right[apart]
        won = rng.random(len(left)) < CDF[self.link](score[left] - score[right])
        return X, score, Comparisons(X, left, right, np.where(won, 1, -1))


def fitted(*data, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        return RankRegression(**settings).fit(*data)


TRUTHS = [
    Study(400, 3),
    Study(400, 10),
    Study(400, 30),
    Study(400, 10, sd=0.0),
    Study(400, 10, sd=0.3),
    Study(400, 10, sd=2.0),
    Study(100, 20, n_features=8, sd=0.7),
    Study(400, 10, sd=0.5, link="probit"),
    Study(400, 10, uneven=True),
]


def truth_row(study, n_fits, seed=0):
    """Mean of sigma^2 with its error, coverage of its interval, of a coefficient, of scores of old
    and new items.
    """
    rng, rows = np.random.default_rng([seed, TRUTHS.index(study)]), []
    for _ in range(n_fits):
        X, score, data = study.draw(rng)
        model = fitted(data, link=study.link, item_effects=True)
        low, high = model.item_effects_.interval
        z = (model.coef_[0] - study.beta[0]) / model.std_errors_[0]
        ranking = np.sort(model.rank(X), order="id")
        inside = (ranking["low"] <= score) & (score <= ranking["high"])
        covered = [
            low <= study.sd**2 <= high,
            abs(z) < 1.96,
            inside[data.compared].mean(),
            inside[study.n_items :].mean(),
        ]
        rows.append([model.item_effects_.sigma2, model.coef_.mean() / study.beta[0], *covered])
    return np.mean(rows, axis=0), np.std(rows, axis=0) / np.sqrt(n_fits)


def truth_table(n_fits):
    lines = [
        f"{n_fits} studies in each row, with standard errors of the means.",
        "",
        (
            "| items, comparisons of each | σ² | mean estimate | coefficients / truth | covered: σ²"
            " | a coefficient | scores of old items | of new items |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for study in TRUTHS:
        mean, error = truth_row(study, n_fits)
        kind = (
            f"{study.n_items}, {study.per_item:g}{', uneven' if study.uneven else ''},"
            f" {study.link}, d = {study.n_features}"
        )
        estimates = [
            f"{value:.3f} ± {noise:.3f}" for value, noise in zip(mean[:2], error[:2], strict=True)
        ]
        lines.append(
            "| "
            + " | ".join(
                [kind, f"{study.sd**2:.2f}", *estimates, *(f"{share:.1%}" for share in mean[2:])]
            )
            + " |"
        )
        print(lines[-1], flush=True)
    return lines


def many_judges(rng, n_items=2000, n_judges=5000, m=180_000):
    """Judges with slopes, and effects of items."""
    X, judge = rng.normal(size=(n_items, 10)), rng.integers(0, n_judges, m)
    left = rng.integers(0, n_items, m)
    right = (left + rng.integers(1, n_items, m)) % n_items
    score = X.sum(axis=1) / 4 + rng.normal(size=n_items)
    sharp = 1 + 0.4 * rng.normal(size=n_judges)
    won = rng.random(m) < expit(sharp[judge] * (score[left] - score[right]))
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    return X, votes | {"judge": judge}


def many_votes(rng, n_items=200, m=200_000):
    """Context and ties, and effects of items."""
    X, length, luck = rng.normal(size=(n_items, 5)), rng.normal(size=m), rng.random(m)
    left = rng.integers(0, n_items, m)
    right = (left + rng.integers(1, n_items, m)) % n_items
    score = X.sum(axis=1) / 4 + rng.normal(size=n_items)
    eta = score[left] - score[right] + 0.3 * length
    decided = np.where(luck < expit(eta - 0.4), "left", "right")
    winner = np.where((decided == "right") & (luck < expit(eta + 0.4)), "tie", decided)
    return X, {"left": left, "right": right, "winner": winner, "length": length}


def speed_table(_):
    """CPU seconds, medians of three."""
    lines = [
        "| items | comparisons | | plain fit, s | with item effects, s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for n_items, per_item, n_features in ((1000, 20, 10), (100_000, 20, 10)):
        _, _, data = Study(n_items, per_item, n_features).draw(np.random.default_rng(0))
        plain, effects = (cpu(fitted, data, **one) for one in ({}, {"item_effects": True}))
        lines.append(
            f"| {n_items:,} | {len(data):,} | ten features | {plain:.3g} | {effects:.3g} |"
            f" {effects / plain:.1f} |"
        )
        print(lines[-1], flush=True)
    for what, draw, settings in (
        ("5000 judges with slopes", many_judges, {"judge_slopes": True}),
        ("context and Davidson's ties", many_votes, {"context": ["length"], "ties": "davidson"}),
    ):
        X, votes = draw(np.random.default_rng(0))
        plain, effects = (
            cpu(fitted, X, votes, item_effects=one, **settings) for one in (False, True)
        )
        lines.append(
            f"| {len(X):,} | {len(votes['left']):,} | {what} | {plain:.3g} | {effects:.3g} |"
            f" {effects / plain:.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def cpu(function, *args, **settings):
    """Median CPU seconds of three calls."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        function(*args, **settings)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


TABLES = {"truth": truth_table, "loss": loss_table, "speed": speed_table}


def write(name, lines):
    """Put a table between its two marks on the page."""
    page = PAGE.read_text()
    start, end = (f"<!-- {name}{mark} -->" for mark in ("", " ends"))
    before, after = page[: page.index(start) + len(start)], page[page.index(end) :]
    PAGE.write_text("\n".join([before, "", *lines, "", after]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for name in given.tables or TABLES:
        lines = TABLES[name](given.fits)
        if given.write:
            write(name, lines)


if __name__ == "__main__":
    main()
