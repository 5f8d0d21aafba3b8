"""The error's sources: an exact identity, each part against its own definition and its known
moments.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from pairscore import PairscoreError
from pairscore.core.links import Logit, Probit
from pairscore.theory.decomposition import (
    decompose,
    decomposition_rows,
    population_label,
    sample_label,
)


class Law:
    """Normal items of a known population.

    Pairs drawn with self-pairs and repeats, as the paper does.
    """

    def __init__(self, n_features, link=None, slope=1.3, seed=0):
        rng = np.random.default_rng(seed)
        self.link, self.slope = link or Logit(), slope
        root = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features) + np.eye(n_features)
        self.root, self.covariance = root, root @ root.T
        self.mean, self.beta = rng.uniform(-5, 5, n_features), rng.normal(size=n_features)
        self.q = float(np.sqrt(self.beta @ self.covariance @ self.beta))
        s = np.linspace(-9, 9, 20_001)
        weight = norm.pdf(s) / norm.pdf(s).sum()
        self.c1 = 4 * slope * float(weight @ self.link.pdf(slope * np.sqrt(2) * self.q * s))

    def items(self, n_items, rng):
        return rng.normal(size=(n_items, len(self.mean))) @ self.root.T + self.mean

    def labels(self, X, left, right, rng):
        return np.where(
            rng.random(len(left)) < self.link.cdf(self.slope * (X[left] - X[right]) @ self.beta),
            1,
            -1,
        )

    def study(self, n_items, n_comparisons, rng):
        X = self.items(2 * n_items, rng)
        left, right = rng.integers(0, n_items, (2, n_comparisons))
        return X[:n_items], left, right, self.labels(X, left, right, rng), X[n_items:]

    def decompose(self, study):
        return decompose(
            *study,
            beta=self.beta,
            mean=self.mean,
            covariance=self.covariance,
            link=self.link,
            c1=self.c1,
            slope=self.slope,
        )

    def draw(self, n_items, n_comparisons, rng):
        return self.decompose(self.study(n_items, n_comparisons, rng))


def estimate(X, left, right, outcome, second_half):
    """The paper's eqs. 3 and 4, one comparison at a time."""
    n, d = second_half.shape
    off = second_half - second_half.mean(axis=0)
    covariance = sum(np.outer(row, row) for row in off) / (n - d - 2)
    return (
        np.linalg.inv(covariance)
        @ sum(y * (X[i] - X[j]) for i, j, y in zip(left, right, outcome, strict=True))
        / len(left)
    )


def naive_terms(law, X, left, right, outcome, second_half):
    """Every part from its definition in the paper, with loops, dictionaries and the square root of
    Sigma.
    """
    n_items, n_comparisons, d = len(X), len(left), X.shape[1]
    values, vectors = np.linalg.eigh(law.covariance)
    minus_half, half = vectors / np.sqrt(values) @ vectors.T, vectors * np.sqrt(values) @ vectors.T
    W = (X - law.mean) @ minus_half

    def expected_label(x, y):
        return 2 * float(law.link.cdf(law.slope * law.beta @ (x - y))) - 1

    def g(x):
        at, sd = law.beta @ (x - law.mean), law.q
        return quad(
            lambda t: (2 * float(law.link.cdf(law.slope * (at - sd * t))) - 1) * norm.pdf(t),
            -9,
            9,
            epsabs=1e-12,
            limit=200,
        )[0]

    parts = {name: np.zeros(d) for name in ("counts", "labels", "partners", "items")}
    for side, label in ((left, outcome), (right, [-y for y in outcome])):
        for n in range(n_items):
            mine = [y for i, y in zip(side, label, strict=True) if i == n]
            g_tilde = sum(expected_label(X[n], X[j]) for j in range(n_items)) / n_items
            parts["counts"] += (len(mine) / n_comparisons - 1 / n_items) * W[n] * g_tilde
            if mine:
                parts["labels"] += (
                    W[n] * len(mine) * (sum(mine) / len(mine) - g_tilde) / n_comparisons
                )
            parts["partners"] += W[n] * (g_tilde - g(X[n])) / n_items
            parts["items"] += W[n] * g(X[n]) / n_items
        parts["items"] -= half @ law.beta * law.c1 / 2
    parts = {name: minus_half @ part for name, part in parts.items()}
    off = second_half - second_half.mean(axis=0)
    gap = np.linalg.inv(off.T @ off / (len(second_half) - d - 2)) - np.linalg.inv(law.covariance)
    label_sum = (
        sum(y * (X[i] - X[j]) for i, j, y in zip(left, right, outcome, strict=True)) / n_comparisons
    )
    centre = law.covariance @ law.beta * law.c1
    return parts | {"covariance": gap @ centre, "interaction": gap @ (label_sum - centre)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("n_items", "n_comparisons", "n_features"), [(12, 60, 3), (40, 15, 1), (150, 2000, 20)]
)
def test_the_parts_add_up_to_the_error(seed, n_items, n_comparisons, n_features):
    law, rng = (
        Law(n_features, link=(Logit(), Probit())[seed % 2], seed=seed),
        np.random.default_rng([7, seed]),
    )
    study = list(law.study(n_items, n_comparisons, rng))
    study[1][:4] = study[2][:4] = study[1][0]  # an item with itself, again and again
    study[1][4:8], study[2][4:8] = study[1][4], study[2][4]  # one pair four times
    error = estimate(*study) - law.c1 * law.beta
    assert np.linalg.norm(law.decompose(study).total - error) <= 1e-10 * np.linalg.norm(error)


@pytest.mark.parametrize("link", [Logit(), Probit()])
def test_each_part_is_its_definition(link):
    law, rng = Law(2, link=link, seed=3), np.random.default_rng(11)
    study = law.study(9, 30, rng)
    found, naive = law.decompose(study).terms, naive_terms(law, *study)
    assert set(found) == set(naive)
    for name, part in naive.items():
        assert found[name] == pytest.approx(part, rel=1e-8, abs=1e-11), name


@pytest.mark.parametrize("sd", [0.01, 1.0, 6.0, 40.0])
def test_the_expected_label_against_a_new_item(sd):
    score = sd * np.array([-3.0, -0.4, 0.0, 0.1, 2.0])
    # probit: E Phi(s - t) = Phi(s / sqrt(1 + sd^2)) exactly
    assert population_label(score, sd, Probit()) == pytest.approx(
        2 * norm.cdf(score / np.sqrt(1 + sd * sd)) - 1, abs=1e-13
    )
    assert sample_label(score, Probit())[2] == pytest.approx(
        np.mean(2 * norm.cdf(-score) - 1), abs=1e-14
    )


def test_long_item_tables_go_block_by_block(monkeypatch):
    law, rng = Law(3), np.random.default_rng(2)
    study = law.study(50, 200, rng)
    whole = law.decompose(study)
    monkeypatch.setattr("pairscore.theory.decomposition.BLOCK", 333)
    assert law.decompose(study).total == pytest.approx(whole.total, rel=1e-12)
    assert law.decompose(study).partners == pytest.approx(whole.partners, rel=1e-10)


def z_scores(samples, expected):
    samples = np.asarray(samples)
    return (samples.mean(axis=0) - expected) / (samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))


def test_given_the_items_counts_and_labels_have_the_moments_of_all_pairs():
    """Pairs are independent given the items, so that N^2 equally likely pairs and two outcomes give
    the exact mean squares.
    """
    law, rng = Law(2, seed=5), np.random.default_rng(17)
    n_items, n_comparisons, repeats = 8, 40, 1500
    X, second_half = law.items(n_items, rng), law.items(60, rng)
    score = law.slope * (X @ law.beta)
    label = 2 * law.link.cdf(score[:, None] - score) - 1
    V = np.linalg.solve(law.covariance, (X - law.mean).T).T
    g = label.mean(axis=1)
    # what a pair adds to counts, before its mean is taken off
    count = (V[:, None] * g[:, None, None] + V * g[:, None]).reshape(-1, 2)
    noise = [
        y * (V[:, None] - V) - (V[:, None] * g[:, None, None] + V * g[:, None]) for y in (1, -1)
    ]
    chance = [(1 + label) / 2, (1 - label) / 2]
    noise_mean = (
        sum(np.einsum("ij,ijk->k", p, v) for p, v in zip(chance, noise, strict=True)) / n_items**2
    )
    noise_square = (
        sum(np.einsum("ij,ijk,ijk->", p, v, v) for p, v in zip(chance, noise, strict=True))
        / n_items**2
    )
    assert noise_mean == pytest.approx([0, 0], abs=1e-14)
    # the two are not independent: which items are drawn also says how their labels will fall
    both = (
        sum(
            np.einsum("ij,ijk,ijk->", p, v, count.reshape(v.shape))
            for p, v in zip(chance, noise, strict=True)
        )
        / n_items**2
    )
    expected = [
        count.var(axis=0).sum() / n_comparisons,
        noise_square / n_comparisons,
        both / n_comparisons,
        0.0,
    ]
    samples = []
    for _ in range(repeats):
        left, right = rng.integers(0, n_items, (2, n_comparisons))
        parts = law.decompose((X, left, right, law.labels(X, left, right, rng), second_half))
        samples.append(
            [
                parts.counts @ parts.counts,
                parts.labels @ parts.labels,
                parts.counts @ parts.labels,
                parts.labels.sum(),
            ]
        )
    assert np.all(np.abs(z_scores(samples, expected)) < norm.isf(1e-6 / 4))


def test_items_and_covariance_have_their_population_moments():
    """E|items|^2 = 4/N (E|V|^2 g^2 - |c1 beta / 2|^2), V = Sigma^-1 (X - mu).

    The covariance's from the inverse Wishart law.

    With W ~ Wishart_d(n, I), E W^-2 = (n-1) / ((n-d)(n-d-1)(n-d-3)) I; n = N-1 and Sigma-hat = W /
    (n-d-1).
    """
    law, rng = Law(4, seed=9), np.random.default_rng(23)
    law.root = law.covariance = np.eye(4)
    law.q = float(np.linalg.norm(law.beta))
    law.c1 = (
        4
        * law.slope
        * quad(
            lambda s: float(law.link.pdf(law.slope * np.sqrt(2) * law.q * s)) * norm.pdf(s), -9, 9
        )[0]
    )
    n_items, d, repeats = 40, 4, 1500
    z = np.linspace(-9, 9, 4001)
    weight, g = (
        norm.pdf(z) / norm.pdf(z).sum(),
        population_label(law.slope * law.q * z, law.slope * law.q, law.link),
    )
    kappa = law.c1 * law.q / 2
    # Stein's lemma, for the mean of the items' part
    assert kappa == pytest.approx(weight @ (z * g), rel=1e-8)
    expected = [
        4 / n_items * ((d - 1) * (weight @ g**2) + weight @ (z * g) ** 2 - kappa**2),
        (law.c1 * law.q) ** 2
        * ((n_items - d - 2) * (n_items - 2) / ((n_items - d - 1) * (n_items - d - 4)) - 1),
        0.0,
        0.0,
    ]
    samples = []
    for _ in range(repeats):
        parts = law.draw(n_items, 5, rng)
        samples.append(
            [
                parts.items @ parts.items,
                parts.covariance @ parts.covariance,
                parts.items @ parts.covariance,
                parts.items.sum(),
            ]
        )
    assert np.all(np.abs(z_scores(samples, expected)) < norm.isf(1e-6 / 4))


def test_pairs_of_an_item_with_itself_pull_the_partners_part_towards_zero():
    """E beta-hat = (1 - 1/N) c1 beta.

    The missing part is in z_n, whose average has the partner n itself, and nowhere else.
    """
    law, rng = Law(1, seed=1), np.random.default_rng(31)
    n_items = 4
    samples = [
        [parts.partners @ law.beta, parts.items @ law.beta]
        for parts in (law.draw(n_items, 3, rng) for _ in range(1500))
    ]
    assert np.all(
        np.abs(z_scores(samples, [-law.c1 * law.beta @ law.beta / n_items, 0.0]))
        < norm.isf(1e-6 / 2)
    )
    # the paper's lemma, taken at its word
    assert abs(z_scores(samples, [0.0, 0.0])[0]) > norm.isf(1e-6 / 2)


def test_rows_are_mean_squares_of_the_draws():
    law = Law(2)
    rows = decomposition_rows(law.draw, [(10, 20), (30, 50)], 5, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    draws = [law.draw(10, 20, rng) for _ in range(5)]
    squares = np.array([np.sum(part.labels**2) for part in draws])
    (row,) = [row for row in rows if row["n_items"] == 10 and row["term"] == "labels"]
    assert row["mean_square"] == pytest.approx(squares.mean(), rel=1e-12)
    assert row["std_error"] == pytest.approx(squares.std(ddof=1) / np.sqrt(5), rel=1e-12)
    assert {row["term"] for row in rows} == {*draws[0].terms, "total"}
    assert len(rows) == 2 * 7
    with pytest.raises(PairscoreError, match="repeats is 1; give at least 2"):
        decomposition_rows(law.draw, [(10, 20)], 1, rng)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (1, [0, 1], "left, right and outcome have 2, 3 and 3 rows"),
        (1, [0, 1, 12], "row numbers from 0 to 11"),
        (2, [0, -1, 2], "row numbers from 0 to 11"),
        (4, np.zeros((12, 3)), "items have 2 features but second_half has 3 columns"),
        (4, np.zeros((4, 2)), r"second_half has 4 items but needs more than 4, the number"),
    ],
)
def test_bad_input_is_one_sentence(place, value, words):
    law = Law(2)
    study = list(law.study(12, 3, np.random.default_rng(0)))
    study[place] = value
    with pytest.raises(PairscoreError, match=words):
        law.decompose(study)
