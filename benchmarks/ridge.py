"""`python -m benchmarks.ridge`.

How good are the ridges that `l2="auto"` and `l2="auto-known"` choose, and what do they cost?

The bar is for 100 designs: 60 plain ones, and ten each with outliers, few items, groups and ties.
Ten more, with few comparisons for each feature, are beyond the bar and have figures of their own.

Sizes of the designs were set by rules, not by results. A study has at least 32 comparisons, so that
each of five folds tests six or more. Where features are many it has at least ten items, because a
score for new items is not sought from fewer; fewer items are a family of their own, with at most a
third as many features. What was chosen in `pairscore.estimators.ridge_choice` (the width of the
prior, folds, deals, the design effect of groups) was chosen on studies of other seeds, among them
the series DEVELOPMENT. The figures are those of the series PUBLISHED, which had no part in that.
"""

import sys
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.__main__ import medians, report
from pairscore import RankRegression

N_NEW = 20_000  # pairs of new items, and of known ones
N_PLAIN, N_ODD, N_BEYOND = 60, 40, 10  # designs; the last are not part of the bar
ENOUGH = 500  # held-out comparisons, each counted once
FEWEST, FEWEST_ITEMS = 32, 10
PUBLISHED, DEVELOPMENT = 6, 5  # series of seeds
N_ALIKE = 12  # other studies of the same law


class Study(NamedTuple):
    """Items and votes, and comparisons to come: differences, and how often left wins (a tie half).

    ``new`` are of new items, ``known`` of the items of the study.
    """

    X: np.ndarray
    votes: dict[str, np.ndarray]
    new: tuple[np.ndarray, np.ndarray]
    known: tuple[np.ndarray, np.ndarray]
    groups: np.ndarray | None = None


class Law:
    """Items with eigenvalues equally spaced in [smallest, 1] and scores of standard deviation
    ``size``.
    """

    def __init__(self, rng, d, size, smallest):
        self.rng, self.size, self.spectrum = rng, size, np.linspace(smallest, 1, d)
        self.basis = np.linalg.qr(rng.normal(size=(d, d)))[0]

    def draw(self, n):
        normal = self.rng.normal(size=(n, len(self.spectrum)))
        return (normal * np.sqrt(self.spectrum)) @ self.basis.T

    def draw_coef(self):
        beta = self.rng.normal(size=len(self.spectrum))
        return beta * self.size / np.sqrt(np.sum(self.spectrum * (beta @ self.basis) ** 2))


def draw_pairs(rng, n, m):
    first = rng.integers(0, n, m)
    return first, (first + rng.integers(1, n, m)) % n


def draw_votes(rng, score, pairs, tie=0.0):
    """Ties by the rule of Rao and Kupper: left wins with f(difference - tie)."""
    left, right = pairs
    difference, luck = score[left] - score[right], rng.random(len(left))
    decided = np.where(luck < expit(difference - tie), "left", "right")
    winner = np.where((decided == "right") & (luck < expit(difference + tie)), "tie", decided)
    return {"left": left, "right": right, "winner": winner}


def chance(difference, tie=0.0):
    return (expit(difference - tie) + expit(difference + tie)) / 2


def simple_study(rng, law, n, m, tie=0.0, effect=0.0, disjoint=False, n_outliers=0):
    """Random pairs; items have effects of standard deviation ``effect`` beyond their features, and
    some have a feature 10 to 40 standard deviations off that says nothing of their score.
    """
    X, beta = law.draw(n), law.draw_coef()
    score = X @ beta + (effect * rng.normal(size=n) if effect else 0.0)
    pairs = (np.arange(0, n, 2), np.arange(1, n, 2)) if disjoint else draw_pairs(rng, n, m)
    votes = draw_votes(rng, score, pairs, tie)
    new = np.sqrt(2) * law.draw(N_NEW)
    new_score = new @ beta + np.sqrt(2) * effect * rng.normal(size=N_NEW)
    odd = rng.choice(n, n_outliers, replace=False)
    X[odd, rng.integers(0, len(beta), n_outliers)] += rng.choice([-1, 1], n_outliers) * rng.uniform(
        10, 40, n_outliers
    )
    some = rng.integers(0, m, N_NEW)
    left, right = (side[some] for side in pairs) if disjoint else draw_pairs(rng, n, N_NEW)
    return Study(
        X,
        votes,
        (new, chance(new_score, tie)),
        (X[left] - X[right], chance(score[left] - score[right], tie)),
    )


def plain(rng):
    d = round(10 * 40 ** rng.random())
    m = round(d * 5 * 20 ** rng.random())
    n = max(20, m // int(rng.choice([2, 4, 10])))
    law = Law(rng, d, rng.choice([0.5, 1, 2, 4]), rng.choice([1, 1 / 20, 1 / 200]))
    return simple_study(rng, law, n, m)


def outliers(rng):
    d, n = int(rng.integers(3, 21)), int(rng.integers(100, 1001))
    law = Law(rng, d, rng.choice([0.5, 1, 2]), rng.choice([1, 1 / 20]))
    m = n * int(rng.choice([3, 6, 12]))
    return simple_study(rng, law, n, m, n_outliers=int(rng.integers(1, 4)))


def few_items(rng):
    """4 to 15 items; in half of the studies features do not explain all of them."""
    n = int(rng.integers(4, 16))
    d, m = int(rng.integers(1, 1 + max(1, n // 3))), round(FEWEST * 50 ** rng.random())
    law = Law(rng, d, rng.choice([0.5, 1, 2]), 1.0)
    return simple_study(rng, law, n, m, effect=rng.choice([0, 0.3]))


def few_comparisons(rng, luck=None):
    """Half a comparison to five for each feature, of which some studies have more than items.

    ``rng`` draws the law, and ``luck``, if it is another generator, a study of this law.
    """
    d = round(20 * 20 ** rng.random())
    m = max(FEWEST, round(d * 0.5 * 10 ** rng.random()))
    size, smallest = rng.choice([0.5, 1, 2, 4]), rng.choice([1, 1 / 20, 1 / 200])
    per_item, disjoint = int(rng.choice([2, 4, 10])), rng.random() < 1 / 3
    n = 2 * m if disjoint else max(FEWEST_ITEMS, m // per_item)
    luck = rng if luck is None else luck
    return simple_study(luck, Law(luck, d, size, smallest), n, m, disjoint=disjoint)


def grouped(rng):
    """Items of a group are alike and have an effect in common; new items are of new groups."""
    n_groups, size, d = int(rng.integers(15, 80)), int(rng.integers(4, 20)), rng.integers(5, 61)
    law = Law(rng, int(d), rng.choice([0.5, 1, 2]), rng.choice([1, 1 / 20]))
    beta = law.draw_coef()
    share, effect, across = rng.choice([0.3, 0.8]), rng.choice([0, 0.5, 1]), rng.choice([0.2, 1])

    def items(number):
        common = np.repeat(law.draw(number), size, axis=0)
        X = np.sqrt(share) * common + np.sqrt(1 - share) * law.draw(number * size)
        return X, X @ beta + np.repeat(effect * rng.normal(size=number), size)

    def pairs(number, m):
        first, other = draw_pairs(rng, number * size, m)
        mate = first // size * size + (first + rng.integers(1, size, m)) % size
        return first, np.where(rng.random(m) < across, other, mate)

    def to_come(X, score):
        left, right = pairs(len(X) // size, N_NEW)
        return X[left] - X[right], chance(score[left] - score[right])

    X, score = items(n_groups)
    votes = draw_votes(rng, score, pairs(n_groups, len(X) * int(rng.choice([2, 4, 8]))))
    groups = np.repeat(np.arange(n_groups), size)
    return Study(X, votes, to_come(*items(400)), to_come(X, score), groups)


def tied(rng):
    d = round(5 * 20 ** rng.random())
    m = round(d * 5 * 10 ** rng.random())
    n = max(20, m // int(rng.choice([2, 4, 10])))
    law = Law(rng, d, rng.choice([0.5, 1, 2]), rng.choice([1, 1 / 20]))
    return simple_study(rng, law, n, m, tie=rng.uniform(0.3, 2))


ODD = (outliers, few_items, grouped, tied)  # ten of each


def draw_study(seed, series=PUBLISHED):
    rng = np.random.default_rng([series, seed])
    if seed < N_PLAIN:
        return plain(rng)
    return ODD[seed % len(ODD)](rng) if seed < N_PLAIN + N_ODD else few_comparisons(rng)


def expected_loss(coef, to_come):
    """Log-loss on comparisons to come, over their outcomes."""
    differences, probability = to_come
    eta = differences @ coef
    return float(
        np.mean(probability * np.logaddexp(0, -eta) + (1 - probability) * np.logaddexp(0, eta))
    )


def fit(study, method, l2, **arguments):
    return RankRegression(method, l2=l2, inference=None).fit(study.X, study.votes, **arguments)


def losses(study, coefs):
    """Of coefficients on comparisons of new and of known items (2 x number of coefficients)."""
    return np.array(
        [[expected_loss(coef, to_come) for coef in coefs] for to_come in (study.new, study.known)]
    )


def excess(seed, method="mle", series=PUBLISHED):
    """By how much the ridges chosen for new and for known items lose to the best of the thirty, as
    shares, and how many comparisons there were.
    """
    study = draw_study(seed, series)
    auto = fit(study, method, "auto", item_groups=study.groups)
    known = fit(study, method, "auto-known")
    best = losses(study, [fit(study, method, l2).coef_ for l2 in auto.ridge_curve_.l2]).min(axis=1)
    chosen = np.diag(losses(study, [auto.coef_, known.coef_]))
    return [*(chosen / best - 1), len(study.votes["left"])]


def excess_if_the_law_were_known(seed, series=PUBLISHED):
    """As :func:`excess`, for the ridge that is best on average in other studies of the same law.

    No rule can have it: the law includes how far apart the scores are. Of few comparisons.
    """
    study = draw_study(seed, series)
    l2s = fit(study, "mle", "auto").ridge_curve_.l2

    def curves(study):
        found = losses(study, [fit(study, "mle", l2).coef_ for l2 in l2s])
        return found / found.min(axis=1, keepdims=True) - 1

    others = 0.0
    for number in range(N_ALIKE):
        law, luck = (np.random.default_rng(key) for key in ([series, seed], [series, seed, number]))
        others = others + curves(few_comparisons(law, luck))
    return [*curves(study)[[0, 1], np.argmin(others, axis=1)], len(study.votes["left"])]


def quality(name, found, number):
    """Report excesses over the best ridge; ``number`` of comparisons, each held out once a deal."""
    found = 100 * found
    report(f"{name}: mean excess log-loss in %, {len(found)} designs", found.mean(), 1.0, "at most")
    report(f"{name}: nine of ten below", np.quantile(found, 0.9), 3.0, "at most")
    for words, many, bar in (("", number >= ENOUGH, 5.0), ("fewer than ", number < ENOUGH, 12.0)):
        if many.any():
            label = f"{name}: largest with {words}{ENOUGH} held-out comparisons"
            report(label, found[many].max(), bar, "at most")
    print(f"  (median {np.median(found):.2f} %)", flush=True)


def by_family(new, known, number, seeds):
    """Print the largest excesses of each family for new and for known items, in %."""
    family = np.array([0 if seed < N_PLAIN else 1 + seed % len(ODD) for seed in seeds])
    for place, one in enumerate((plain, *ODD)):
        some = family == place
        worst = [f"{100 * found[some].max():.1f}" for found in (new, known)]
        sizes = f"{number[some].min():.0f} to {number[some].max():.0f} comparisons"
        print(f"  ({one.__name__}, {some.sum()} designs, {sizes}: largest {', '.join(worst)} %)")


def beyond_the_bar(name, excesses, method="mle"):
    """Print excesses for few comparisons for each feature, which are not part of the bar, in %."""
    seeds = range(N_PLAIN + N_ODD, N_PLAIN + N_ODD + N_BEYOND)
    for items, found in zip(
        ("new", "known"), 100 * np.array([excesses(seed) for seed in seeds]).T[:2], strict=True
    ):
        print(
            f"  (few comparisons for each feature, {len(seeds)} designs, {method}, {name}, {items}"
            f" items: mean {found.mean():.2f}, median {np.median(found):.2f},"
            f" largest {found.max():.1f} %)",
            flush=True,
        )


def cost():
    for n, m in ((2000, 10_000), (4000, 30_000), (4000, 100_000)):
        rng = np.random.default_rng(0)
        study = simple_study(rng, Law(rng, 400, 2.0, 1 / 20), n, m)

        def job(inference=None, study=study, **settings):
            return RankRegression(inference=inference, **settings).fit(study.X, study.votes)

        fixed = job(l2="auto").l2_
        seconds = medians(
            3,
            auto=lambda job=job: job(l2="auto"),
            known=lambda job=job: job(l2="auto-known"),
            fixed=lambda job=job, l2=fixed: job(l2=l2),
            plain=lambda job=job: job("items"),
        )
        shown = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
        print(f"  (seconds: {shown})")
        for name in ("auto", "known"):
            report(
                f"d = 400, M = {m:,}, {name}: 30 ridges x 5 folds over one mle fit with errors",
                (seconds[name] - seconds["fixed"]) / seconds["plain"],
                6.0,
                "at most",
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    cost()
    n_plain = int(sys.argv[1]) if len(sys.argv) > 1 else N_PLAIN
    seeds = [*range(n_plain), *range(N_PLAIN, N_PLAIN + N_ODD)]
    for name in ("mle", "paired", "pooled"):
        new, known, number = np.array([excess(seed, name) for seed in seeds]).T
        quality(f"{name}, auto, new items", new, number)
        quality(f"{name}, auto-known, known items", known, number)
        by_family(new, known, number, seeds)
        beyond_the_bar("chosen", partial(excess, method=name), name)
    beyond_the_bar("best for the law, which nobody knows", excess_if_the_law_were_known)
