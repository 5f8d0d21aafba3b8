"""The error of an estimate before any data.

Mean angle, norm error and misordered share for every method.

In whitened coordinates the estimate is (1 + a) e + p, with e the true direction, a its error along
e and p its error across, whose direction is uniform by symmetry. Back in the units of the features,
x -> covariance^(-1/2) x stretches p differently in every direction, so that the mean angle is that
of a quadratic form in few normals where one eigenvalue is small. Means are therefore taken over a
fixed set of directions and lengths, not over mean squares.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pairscore.choices import METHODS
from pairscore.core.links import Link
from pairscore.errors import PairscoreError, is_real, plural
from pairscore.theory.bound import theorem_bound
from pairscore.theory.direction_error import (
    WIDEST,
    LabelConstants,
    LabelLaw,
    closed_form_length_variance,
    label_constants,
    likelihood_variance,
    paired_variance,
    pooled_variance,
    wrong_sign,
)
from pairscore.theory.error_nodes import NODES, QuasiRandomErrors, make_nodes
from pairscore.theory.integrals import (
    closed_form_length,
    eta,
    fisher_information,
    flip_probability,
    kappa,
    length_bias,
    length_information,
    spread_for_noise,
)
from pairscore.theory.population import checked_population

__all__ = [
    "ErrorLaw",
    "ErrorPrediction",
    "closed_form_length",
    "eta",
    "first_order_variance",
    "fisher_information",
    "flip_probability",
    "kappa",
    "label_constants",
    "predict_error",
    "spread_for_noise",
    "theorem_bound",
]


@dataclass(frozen=True)
class ErrorPrediction:
    """What to expect of an estimate, on average over studies.

    ``angle`` between estimate and truth in the units of the features (radians), ``sigma_angle`` in
    the metric of the items' covariance, ``norm_error`` of the coefficients (closed forms: against
    c1 beta;
    ``mle``: against slope * beta), ``misordered`` the share of pairs of new items put in the wrong
    order. Nine of ten studies have an error within ``ranges[name]``.
    """

    angle: float
    sigma_angle: float
    norm_error: float
    misordered: float
    ranges: dict[str, tuple[float, float]]


class ErrorLaw:
    """Everything about a population that the size of the error depends on.

    ``eigenvalues`` of the items' covariance, ``beta`` in their eigenvectors' coordinates (None: any
    direction is as likely, and means are over all), and the law of the labels.
    """

    def __init__(
        self,
        eigenvalues: Any,
        link: Link,
        spread: float,
        beta: Any = None,
        item_effect: float = 0.0,
    ):
        self.eigenvalues, self.beta = np.asarray(eigenvalues, dtype=float), beta
        self.labels = LabelLaw(link, spread, item_effect)

    @classmethod
    def of(cls, population: Any) -> "ErrorLaw":
        """The law behind a :class:`pairscore.Population`."""
        if population.judge_noise is not None:
            raise PairscoreError(
                f"the population has {len(population.judge_noise)} judges, each with their own"
                " noise, and errors are predicted for one noise; use a Population with their"
                f" average, noise={population.noise:g}."
            )
        eigenvalues, vectors = np.linalg.eigh(population.covariance)
        return cls(
            eigenvalues,
            population.link,
            population.spread,
            vectors.T @ population.beta,
            population.item_effect,
        )

    @property
    def n_features(self) -> int:
        return len(self.eigenvalues)

    @property
    def noise(self) -> float:
        """Share of labels that go against the scores."""
        return flip_probability(self.labels.link, self.labels.spread)

    def with_noise(self, noise: float) -> "ErrorLaw":
        """The same items, judged with another noise."""
        other = ErrorLaw(
            self.eigenvalues,
            self.labels.link,
            spread_for_noise(self.labels.link, noise),
            self.beta,
            self.labels.item_effect,
        )
        other.__dict__["nodes"] = self.nodes  # they depend on the items alone
        return other

    @cached_property
    def constants(self) -> LabelConstants:
        return label_constants(self.labels)

    @cached_property
    def nodes(self) -> QuasiRandomErrors:
        return make_nodes(self.eigenvalues, self.beta)

    def errors(
        self,
        n_items: float,
        n_comparisons: float,
        method: str,
        n_covariance_items: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Errors of ``method`` with so many compared items and comparisons, one for every node."""
        _refuse(self, n_items, n_comparisons, method)
        if method == "split":
            along, across = _split_errors(
                self,
                n_items,
                n_comparisons,
                n_items if n_covariance_items is None else n_covariance_items,
            )
        else:
            across_variance, along_variance = (
                direction_variance(self, n_items, n_comparisons, method),
                length_variance(self, n_items, n_comparisons, method),
            )
            # too few comparisons for so many features: any direction is as good
            if np.isinf(across_variance):
                quarter = np.full(1, np.pi / 2)
                return {
                    "angle": quarter,
                    "sigma_angle": quarter,
                    "norm_error": np.full(1, np.inf),
                    "misordered": np.full(1, 0.5),
                }
            across = (
                np.sqrt(across_variance)
                * self.nodes.length
                * self._study_factor(n_items, n_comparisons)
            )
            # labels are as noisy along the truth as across
            along = 1 + np.sqrt(across_variance) * self.nodes.normal
            if method == "mle":  # steeper or flatter labels stretch the whole estimate
                longer = (
                    2
                    * self.n_features
                    * across_variance
                    * length_bias(self.labels.link, min(self.labels.spread, WIDEST))
                )
                stretch = (1 + longer) * np.exp(
                    np.sqrt(max(along_variance - across_variance, 0.0)) * self.nodes.normal2
                )
                along, across = stretch * along, stretch * across
        errors = self.nodes.errors(
            along, across, self.labels.spread if method == "mle" else self.constants.length
        )
        # what the items' own spread adds to the length, or takes from it, turns nothing
        if method in ("pooled", "paired"):
            errors["norm_error"] = self.nodes.norm_error(
                1 + np.sqrt(along_variance) * self.nodes.normal, across, self.constants.length
            )
        return errors | (self._sign_errors(n_items, n_comparisons) if self.n_features == 1 else {})

    def _sign_errors(self, n_items: float, n_comparisons: float) -> dict[str, np.ndarray]:
        """With one feature a study is wholly right or wholly wrong.

        Ones for the share of wrong ones, at most one node between.
        """
        wrong = np.clip(
            NODES * wrong_sign(self.labels, n_items, n_comparisons) - np.arange(NODES), 0.0, 1.0
        )
        return {"angle": np.pi * wrong, "sigma_angle": np.pi * wrong, "misordered": wrong}

    def _study_factor(self, n_items: float, n_comparisons: float) -> np.ndarray:
        """The error of a study over its root mean square.

        Residuals and scatter differ between studies, as chi-squared variables do.
        """
        spread = np.sqrt(
            2 / max(n_items - self.n_features, 1) + 4 / min(n_items, 2 * n_comparisons)
        )
        return np.exp(0.5 * spread * self.nodes.study - 0.25 * spread**2)

    def predict(
        self,
        n_items: float,
        n_comparisons: float,
        method: str,
        n_covariance_items: float | None = None,
    ) -> ErrorPrediction:
        """The expected error of ``method`` with so many compared items and comparisons."""
        errors = self.errors(n_items, n_comparisons, method, n_covariance_items)
        ranges = {
            name: (
                float(np.quantile(values, 0.05, method="lower")),
                float(np.quantile(values, 0.95, method="higher")),
            )
            for name, values in errors.items()
        }
        return ErrorPrediction(
            **{name: float(values.mean()) for name, values in errors.items()}, ranges=ranges
        )


def predict_error(
    population: Any, n_items: int, n_comparisons: int, method: str = "mle"
) -> ErrorPrediction:
    """Expect this error of a study before it is made.

    ``population`` is a :class:`pairscore.Population`, ``n_items`` the number of compared items
    (``split`` has as many again behind its covariance).

    >>> from pairscore import Population
    >>> population = Population(n_features=10, noise=0.2, rng=0)
    >>> error = predict_error(population, n_items=500, n_comparisons=5000, method="pooled")
    >>> 0.05 < error.angle < 0.15
    True
    """
    for name, value in {"n_items": n_items, "n_comparisons": n_comparisons}.items():
        if not is_real(value):
            raise PairscoreError(f"{name} is {value!r}; use a whole number from 1.")
    return ErrorLaw.of(checked_population(population)).predict(n_items, n_comparisons, method)


def direction_variance(law: ErrorLaw, n_items: float, n_comparisons: float, method: str) -> float:
    """R: variance of the error per direction orthogonal to the truth, relative to the squared
    length.
    """
    d = law.n_features
    if d == 1:
        return 0.0
    if method == "mle":
        return likelihood_variance(law.labels, n_items, n_comparisons, d)
    return (pooled_variance if method == "pooled" else paired_variance)(
        law.constants, n_items, n_comparisons, d
    )


def length_variance(law: ErrorLaw, n_items: float, n_comparisons: float, method: str) -> float:
    """Variance of the estimate's length along the truth, relative to the truth's, to first order."""
    n, m, d = n_items, n_comparisons, law.n_features
    if method == "mle":
        return (
            n
            / (n - d - 1)
            / (m * length_information(law.labels.link, min(law.labels.spread, WIDEST)))
        )
    return closed_form_length_variance(law.constants, n, m, d, method)


def first_order_variance(law: ErrorLaw, n_items: float, n_comparisons: float, method: str) -> float:
    """R for M much larger than N, in one line: where each part of the error comes from."""
    n, m, d, c = n_items, n_comparisons, law.n_features, law.constants
    if method == "split":
        return 1 / (n - d - 4) + (2 / m + 4 * c.eta / n) * (n - 2) / (n - d - 4) / c.length**2
    if method == "mle":
        return n / (n - d - 1) / (m * fisher_information(law.labels.link, law.labels.spread))
    noise = 1 - c.kappa**2 if method == "pooled" else 1 - 2 * c.kappa**2
    return (2 * noise / m + 4 * c.unexplained / n) * n / (n - d - 1) / c.length**2


def _split_errors(
    law: ErrorLaw, n: float, m: float, n_covariance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Along and across the truth, the law of `split` with the label sums at their means
    (docs/population.md).

    v = a e + r g, and W^-1 v has the length |v| / chi^2 and the direction of v/|v| + t, t
    orthogonal to v with |t|^2 = chi^2_{d-1} / chi^2_{N_c-d+1}, turned by a uniform angle about v.
    """
    nodes, c, d = law.nodes, law.constants, law.n_features
    variance_of_a = 4 * c.drift / n + (2 - c.length**2) / m
    a = c.length + np.sqrt(variance_of_a) * nodes.normal
    r = np.sqrt((1 - 1 / n) * (2 / m + 4 * c.eta / n))
    v = np.hypot(a, r * nodes.length)
    cosine, sine = a / v, r * nodes.length / v
    t = nodes.other_length / np.sqrt(nodes.chi_square(n_covariance - d + 1))
    x = cosine - t * sine * nodes.turn
    scale = v * (n_covariance - d - 2) / nodes.chi_square(n_covariance - d) / c.length
    return scale * x, scale * np.sqrt(np.maximum(1 + t**2 - x**2, 0.0))


def _refuse(law: ErrorLaw, n_items: float, n_comparisons: float, method: str) -> None:
    if method not in METHODS:
        raise PairscoreError(f"method is {method!r}; use one of {', '.join(map(repr, METHODS))}.")
    least = law.n_features + (4 if method == "split" else 2)
    if not n_items >= least:
        raise PairscoreError(
            f"n_items is {n_items!r}, and {method!r} with {plural(law.n_features, 'feature')} needs"
            f" at least {least}; use more items."
        )
    if not n_comparisons >= 1:
        raise PairscoreError(f"n_comparisons is {n_comparisons!r}; use a number from 1.")
    if method == "mle" and np.isinf(law.labels.spread):
        raise PairscoreError(
            "without noise the likelihood has no maximum, so 'mle' has no error to predict; use"
            " 'paired', or a noise above 0."
        )
    if method == "mle" and law.labels.item_effect > 0:
        raise PairscoreError(
            "the error of 'mle' is predicted for items that their features explain; use"
            " item_effect=0, or 'paired'."
        )
    if law.labels.spread == 0:
        raise PairscoreError(
            "noise is 0.5, so labels are coins and no number of comparisons tells anything; use a"
            " noise below 0.5."
        )
