"""The error of an estimate before any data: mean angle, norm error and misordered share.

In whitened coordinates the estimate is (1 + a) e + p, with e the true direction, a its error along
e and p its error across, whose direction is uniform by symmetry. Back in the units of the features,
x -> covariance^(-1/2) x stretches p differently in every direction, so that the mean angle is that
of a quadratic form in few normals where one eigenvalue is small. Means are therefore taken over a
fixed set of directions and lengths (:class:`QuasiRandomErrors`), not over mean squares.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from pairscore.choices import METHODS
from pairscore.core.links import Link
from pairscore.display import plural
from pairscore.errors import PairscoreError, is_real, one_of
from pairscore.messages import Setting
from pairscore.theory.direction_variance import (
    WIDEST_SPREAD,
    LabelConstants,
    LabelLaw,
    StudySize,
    direction_variance,
    known_misordered,
    label_constants,
    length_variance,
    likelihood_variance,
    wrong_sign,
)
from pairscore.theory.integrals import (
    fisher_information,
    flip_probability,
    length_bias,
    length_information,
    spread_for_noise,
)
from pairscore.theory.population import checked_population

MOST_LONGER = 300.0  # logarithm of a length, whose square is still a number
# too few comparisons for so many features: any direction is as good
ANY_DIRECTION = {
    "angle": np.full(1, np.pi / 2),
    "sigma_angle": np.full(1, np.pi / 2),
    "norm_error": np.full(1, np.inf),
    "misordered": np.full(1, 0.5),
    "misordered_new": np.full(1, 0.5),
}
# a power of two, at which a Sobol sequence is even: more nodes would bring a mean angle closer than
# a quarter of a percent, and take longer than the 20 ms that they take for a hundred features
NODES = 4096
# of the lattice of directions: 4096 is a power of two and GENERATOR is 5 modulo 8, so that its
# powers recur as late as they can. Mean angles vary by shift as little as with a Sobol sequence
# (`tests/theory/test_predicted_error.py`), for which scipy.stats takes as long to import as all
# that a plan does.
GENERATOR = 3197
PERIOD = NODES // 4
# fixed, so that a prediction is a number and not a draw; of 30, the one whose mean angles in eight
# populations were nearest to those of 40 Sobol sequences (within 0.13 %; others are within 0.5 %)
SEED = 20226


@dataclass(frozen=True)
class QuasiRandomErrors:
    """Nodes of a quadrature over the errors of studies, in one population or in many.

    Directions come from a shifted lattice: with as many random ones a mean angle would be
    off by a percent where one eigenvalue dominates, with these by a quarter of a percent.

    In whitened coordinates an estimate is ``along`` e + ``across`` u, e the true direction and u a
    unit vector orthogonal to it, both relative to the length of the truth. All fields are arrays
    with one entry for each node.

    Attributes
    ----------
    truth
        Length of covariance^(-1/2) e.
    parallel, perpendicular
        Parts of covariance^(-1/2) u along and across beta, u uniform.
    length, normal
        Length of D = d - 1 standard normals, and one more normal.
    other_length, turn, normal2
        The same again for the covariance of `split`; ``turn`` is the cosine of its direction.
    study
        One normal for how lucky the whole study is.
    """

    truth: np.ndarray
    parallel: np.ndarray
    perpendicular: np.ndarray
    length: np.ndarray
    normal: np.ndarray
    other_length: np.ndarray
    turn: np.ndarray
    normal2: np.ndarray
    study: np.ndarray

    @classmethod
    def of_covariance(
        cls, eigenvalues: np.ndarray, beta: np.ndarray | None, n_nodes: int = NODES
    ) -> "QuasiRandomErrors":
        """Nodes for items whose covariance has these eigenvalues (length d).

        ``beta`` (length d) is in the coordinates of its eigenvectors; None stands for all
        directions, each as likely.
        """
        d = len(eigenvalues)
        rng = np.random.default_rng(SEED)
        even_normals = _even_normals(n_nodes, 2 * d, rng)
        g = even_normals[:, :d]
        beta = even_normals[:, d:] if beta is None else np.broadcast_to(beta, (n_nodes, d))
        beta = beta / np.linalg.norm(beta, axis=1, keepdims=True)
        e = np.sqrt(eigenvalues) * beta
        spread = np.linalg.norm(e, axis=1)
        e /= spread[:, None]
        u = g - np.sum(g * e, axis=1)[:, None] * e
        length = np.linalg.norm(u, axis=1)
        stretched = u / np.where(length > 0, length, 1.0)[:, None] / np.sqrt(eigenvalues)
        parallel = np.sum(stretched * beta, axis=1)
        perpendicular = np.sqrt(np.maximum(np.sum(stretched**2, axis=1) - parallel**2, 0.0))
        normal = _shuffled_normals(n_nodes, rng)
        study = _shuffled_normals(n_nodes, rng)
        first, normal2 = rng.normal(size=(n_nodes, 2)).T
        along_first = first if d > 1 else np.zeros(n_nodes)
        rest = rng.chisquare(d - 2, n_nodes) if d > 2 else np.zeros(n_nodes)
        other_length = np.sqrt(along_first**2 + rest)
        turn = along_first / np.where(other_length > 0, other_length, 1.0)
        return cls(
            truth=1 / spread,
            parallel=parallel,
            perpendicular=perpendicular,
            length=length,
            normal=normal,
            other_length=other_length,
            turn=turn,
            normal2=normal2,
            study=study,
        )

    def chi_square(self, freedom: float) -> np.ndarray:
        """Chi-squared values at ``normal2`` by the cube of Wilson and Hilferty (1931), good to a
        thousandth from ten degrees of freedom.
        """
        freedom = max(freedom, 1.0)
        f = 2 / (9 * freedom)
        return freedom * np.maximum(1 - f + np.sqrt(f) * self.normal2, 0.01) ** 3

    def errors(
        self,
        along: np.ndarray,
        across: np.ndarray,
        length: float,
        along_in_norm: np.ndarray | None = None,
    ) -> dict[str, np.ndarray]:
        """Errors of estimates whose limit has length ``length`` in the metric of the covariance.

        ``angle`` and ``sigma_angle`` in radians, ``norm_error`` in the units of the coefficients
        (with ``along_in_norm`` for along, where that differs), and ``misordered``, the share of
        pairs of new items that are put in the wrong order: sigma_angle / pi for normal items.
        """
        sigma_angle = np.arctan2(across, along)
        sideways = across * self.perpendicular
        forward = across * self.parallel
        excess = (along if along_in_norm is None else along_in_norm) - 1
        return {
            "angle": np.arctan2(sideways, along * self.truth + forward),
            "sigma_angle": sigma_angle,
            "norm_error": length * np.hypot(excess * self.truth + forward, sideways),
            "misordered": sigma_angle / np.pi,
        }


def _even_normals(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Normals (n x d) that fill space evenly: a lattice of Korobov (1959), shifted at random.

    The coordinates of point i are the fractions of i a^j / n + shift_j. The powers of a recur from
    1024 on; beyond, normals are drawn: in so many dimensions the mean over directions hardly
    varies.
    """
    if d > PERIOD:
        return rng.normal(size=(n, d))
    powers = [pow(GENERATOR, j, n) for j in range(d)]
    fractions = (np.arange(n)[:, None] * powers / n + rng.random(d)) % 1
    return ndtri(np.clip(fractions, np.finfo(float).tiny, None))


def _shuffled_normals(n: int, rng: np.random.Generator) -> np.ndarray:
    """Quantiles of the normal law at n even levels, in random order."""
    return ndtri((rng.permutation(n) + 0.5) / n)


@dataclass(frozen=True)
class ErrorPrediction:
    """What to expect of an estimate, on average over studies.

    Attributes
    ----------
    angle : float
        Between estimate and truth in the units of the features, in radians.
    sigma_angle : float
        The same in the metric of the items' covariance.
    norm_error : float
        Length of the error of the coefficients (closed forms: against c1 beta; ``mle``: against
        slope * beta).
    misordered : float
        Share of pairs of new items put in another order than by the best score that the features
        allow, sigma_angle / pi.
    misordered_new, misordered_known : float
        Share of pairs of new items, and of the compared items, put in another order than by their
        whole scores, with what features do not explain. `mle` has item effects there, by which the
        compared items' own comparisons count; other methods know features alone. Both are
        ``misordered`` where features explain everything.
    ranges : dict of pairs
        Nine of ten studies have an error within ``ranges[name]``.
    """

    angle: float
    sigma_angle: float
    norm_error: float
    misordered: float
    misordered_new: float
    misordered_known: float
    ranges: dict[str, tuple[float, float]]


class ErrorLaw:
    """Everything about a population that the size of the error depends on.

    Parameters
    ----------
    eigenvalues : array of length d
        Of the items' covariance.
    link : Link
    spread : float
        Standard deviation q of one item's score on the link's scale; inf for labels without noise.
    beta : array of length d, optional
        In the coordinates of the eigenvectors; None: any direction is as likely, and means are over
        all.
    item_effect : float
        Standard deviation of what features do not explain, on the link's scale.
    """

    def __init__(
        self,
        eigenvalues: Any,
        link: Link,
        spread: float,
        beta: Any = None,
        item_effect: float = 0.0,
    ):
        self.eigenvalues = np.asarray(eigenvalues, dtype=float)
        self.beta = beta
        self.labels = LabelLaw(link, spread, item_effect)

    @classmethod
    def of(cls, population: Any) -> "ErrorLaw":
        """The law behind a :class:`pairscore.Population` with one noise."""
        if population.judge_noise is not None:
            raise PairscoreError(
                f"the population has {len(population.judge_noise)} judges, with different noise,"
                " and errors are predicted for one noise",
                f"use a population with their average, a noise of {population.noise:g}",
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
        """Share of labels that contradict the items' whole scores."""
        return flip_probability(self.labels.link, self.labels.total_spread)

    def with_noise(self, noise: float) -> "ErrorLaw":
        """The same items, judged with another noise."""
        labels = self.labels.with_total_spread(spread_for_noise(self.labels.link, noise))
        other = ErrorLaw(
            self.eigenvalues, labels.link, labels.spread, self.beta, labels.item_effect
        )
        other.nodes = self.nodes
        return other

    @cached_property
    def constants(self) -> LabelConstants:
        """kappa, eta and the like of the labels."""
        return label_constants(self.labels)

    @cached_property
    def nodes(self) -> QuasiRandomErrors:
        """Errors to average over; they depend on the items alone."""
        return QuasiRandomErrors.of_covariance(self.eigenvalues, self.beta)

    def errors(
        self,
        n_items: float,
        n_comparisons: float,
        method: str,
        n_covariance_items: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Errors of ``method`` with N items and M comparisons, one for every node.

        ``n_covariance_items`` are behind the covariance of `split`, as many as are compared unless
        given. The names are those of :class:`ErrorPrediction`.
        """
        _check_predictable(self, n_items, n_comparisons, method)
        size = StudySize(n_items, n_comparisons, self.n_features)
        if method == "split":
            errors = _split_errors(self, size, n_covariance_items)
        else:
            errors = _regression_errors(self, size, method)
        if self.n_features == 1:
            errors |= _sign_errors(self, size)
        # estimate and whole score of a new item have this correlation
        correlation = self.labels.correlation * np.cos(errors["sigma_angle"])
        return errors | {"misordered_new": np.arccos(correlation) / np.pi}

    def predict(
        self,
        n_items: float,
        n_comparisons: float,
        method: str,
        n_covariance_items: float | None = None,
    ) -> ErrorPrediction:
        """The expected error of ``method``; arguments as for :meth:`errors`."""
        errors = self.errors(n_items, n_comparisons, method, n_covariance_items)
        ranges = {
            name: (
                float(np.quantile(values, 0.05, method="lower")),
                float(np.quantile(values, 0.95, method="higher")),
            )
            for name, values in errors.items()
        }
        means = {name: float(values.mean()) for name, values in errors.items()}
        known = means["misordered_new"]
        if method == "mle" and self.labels.item_effect > 0:
            size = StudySize(n_items, n_comparisons, self.n_features)
            known = min(known_misordered(self.labels, size), known)
        return ErrorPrediction(**means, misordered_known=known, ranges=ranges)


def predict_error(
    population: Any, n_items: int, n_comparisons: int, method: str = "mle"
) -> ErrorPrediction:
    """Predict the error of a study before it is made.

    Parameters
    ----------
    population : Population
        The law of items and labels, with one noise for all judges.
    n_items : int
        Number N of compared items (``split`` has as many again behind its covariance).
    n_comparisons : int
        Number M of comparisons, of uniformly random pairs.
    method : {"mle", "paired", "pooled", "split"}
        The estimator.

    Examples
    --------
    >>> from pairscore import Population
    >>> population = Population(n_features=10, noise=0.2, rng=0)
    >>> error = predict_error(population, n_items=500, n_comparisons=5000, method="pooled")
    >>> 0.05 < error.angle < 0.15
    True
    """
    for name, value in {"n_items": n_items, "n_comparisons": n_comparisons}.items():
        if not is_real(value):
            raise PairscoreError(Setting(name) + f" is {value!r}", "use a whole number from 1")
    return ErrorLaw.of(checked_population(population)).predict(n_items, n_comparisons, method)


def first_order_variance(law: ErrorLaw, n_items: float, n_comparisons: float, method: str) -> float:
    """R for M much larger than N, in one line: where each part of the error comes from.

    - split: 1/(N-d-4) + (2/M + 4 eta/N) (N-2)/(N-d-4) / (c1 q)^2
    - pooled: (2 (1-kappa^2)/M + 4 eta'/N) N/(N-d-1) / (c1 q)^2
    - paired: (2 (1-2 kappa^2)/M + 4 eta'/N) N/(N-d-1) / (c1 q)^2
    - mle: N/(N-d-1) / (M I), I the Fisher information

    R is the variance of the error in one direction orthogonal to the truth, whitened and relative
    to the squared length. In the metric of the covariance tan^2(angle) is then about (d-1) R.

    Parameters
    ----------
    law : ErrorLaw
        The population.
    n_items, n_comparisons : float
        N and M.
    method : {"mle", "paired", "pooled", "split"}
        The estimator.
    """
    n, m, d = n_items, n_comparisons, law.n_features
    c = law.constants
    if method == "split":
        return 1 / (n - d - 4) + (2 / m + 4 * c.eta / n) * (n - 2) / (n - d - 4) / c.length**2
    if method == "mle":
        return n / (n - d - 1) / (m * fisher_information(law.labels.link, law.labels.spread))
    noise = 1 - c.kappa**2 if method == "pooled" else 1 - 2 * c.kappa**2
    return (2 * noise / m + 4 * c.unexplained / n) * n / (n - d - 1) / c.length**2


def study_factor(law: ErrorLaw, size: StudySize) -> np.ndarray:
    """The error of a study over its root mean square, one for each node.

    Residuals and scatter differ between studies, as chi-squared variables do.
    """
    n, m = size.n_items, size.n_comparisons
    spread = np.sqrt(2 / max(n - size.n_features, 1) + 4 / min(n, 2 * m))
    return np.exp(0.5 * spread * law.nodes.study - 0.25 * spread**2)


def _regression_errors(law: ErrorLaw, size: StudySize, method: str) -> dict[str, np.ndarray]:
    """Errors of `pooled`, `paired` or `mle`."""
    across_variance = direction_variance(law.labels, law.constants, size, method)
    if np.isinf(across_variance):
        return dict(ANY_DIRECTION)
    nodes = law.nodes
    sd = across_variance**0.5
    along = 1 + sd * nodes.normal  # labels are as noisy along the truth as across
    across = sd * nodes.length * study_factor(law, size)
    if method == "mle":  # steeper or flatter labels stretch the whole estimate
        bias, excess = _stretch(law, size, across_variance)
        longer = np.clip(np.sqrt(excess) * nodes.normal2, -MOST_LONGER, MOST_LONGER)
        stretch = (1 + bias) * np.exp(longer)
        return nodes.errors(stretch * along, stretch * across, law.labels.spread)
    # what the spread of the items adds to the length, or takes from it, turns nothing
    along_in_norm = (
        1 + np.sqrt(length_variance(law.labels, law.constants, size, method)) * nodes.normal
    )
    return nodes.errors(along, across, law.constants.length, along_in_norm)


def _stretch(law: ErrorLaw, size: StudySize, across: float) -> tuple[float, float]:
    """Bias of the length of `mle`, and by how much its variance is above that ``across``.

    A label has less information on the length than across, because it tells most where scores are
    close. With item effects a part 1 - explained of the difference of two items is across; and
    their fit has no bias to first order.
    """
    labels = law.labels
    if labels.item_effect == 0:
        bias = 2 * size.n_features * across * length_bias(labels.link, labels.capped_spread)
        return bias, max(length_variance(law.labels, law.constants, size, "mle") - across, 0.0)
    total = min(labels.total_spread, WIDEST_SPREAD)
    part = labels.explained
    along_truth = length_information(labels.link, total)
    across_truth = fisher_information(labels.link, total)
    excess = 1 / (part * along_truth + (1 - part) * across_truth) - 1 / across_truth
    excess *= size.inflation / size.n_comparisons / part
    if law.n_features == 1:  # there is no across, where items' effects would count
        excess += likelihood_variance(labels, replace(size, n_features=2))
    return 0.0, excess


def _split_errors(
    law: ErrorLaw, size: StudySize, n_covariance: float | None
) -> dict[str, np.ndarray]:
    """Errors of `split`: its exact law with the label sums at their means.

    docs/explanation/population.md has the argument.

    v = a e + r g, and W^-1 v has the length |v| / chi^2 and the direction of v/|v| + t, t
    orthogonal to v with |t|^2 = chi^2_{d-1} / chi^2_{N_c-d+1}, turned by a uniform angle about v.
    """
    nodes = law.nodes
    c = law.constants
    n, m, d = size.n_items, size.n_comparisons, size.n_features
    n_covariance = n if n_covariance is None else n_covariance
    a = c.length + np.sqrt(4 * c.drift / n + (2 - c.length**2) / m) * nodes.normal
    r = np.sqrt((1 - 1 / n) * (2 / m + 4 * c.eta / n))
    v = np.hypot(a, r * nodes.length)
    cosine, sine = a / v, r * nodes.length / v
    t = nodes.other_length / np.sqrt(nodes.chi_square(n_covariance - d + 1))
    x = cosine - t * sine * nodes.turn
    across = np.sqrt(np.maximum(1 + t**2 - x**2, 0.0))
    scale = v * (n_covariance - d - 2) / nodes.chi_square(n_covariance - d) / c.length
    return nodes.errors(scale * x, scale * across, c.length)


def _sign_errors(law: ErrorLaw, size: StudySize) -> dict[str, np.ndarray]:
    """With one feature a study is wholly right or wholly wrong: ones for the share of wrong ones,
    at most one node between.
    """
    wrong = wrong_sign(law.labels, size.n_items, size.n_comparisons)
    wrong = np.clip(NODES * wrong - np.arange(NODES), 0.0, 1.0)
    return {"angle": np.pi * wrong, "sigma_angle": np.pi * wrong, "misordered": wrong}


def checked_method(method: Any) -> str:
    """The argument itself if it names a method; a sentence with the four names if not."""
    one_of(method, "method", METHODS)
    return str(method)


def fewest_items(method: str, n_features: int) -> int:
    """The smallest number of compared items for which an error is predicted."""
    return n_features + (4 if method == "split" else 2)


def _check_predictable(law: ErrorLaw, n_items: float, n_comparisons: float, method: str) -> None:
    """A sentence for what has no error to predict."""
    least = fewest_items(checked_method(method), law.n_features)
    if not n_items >= least:
        raise PairscoreError(
            Setting("n_items")
            + f" is {n_items!r}, and {method!r} with {plural(law.n_features, 'feature')} needs at"
            f" least {least}",
            "use more items",
        )
    if not n_comparisons >= 1:
        raise PairscoreError(
            Setting("n_comparisons") + f" is {n_comparisons!r}", "use a number from 1"
        )
    if method == "mle" and np.isinf(law.labels.spread):
        raise PairscoreError(
            "without noise the likelihood has no maximum, so 'mle' has no error to predict",
            ["use " + Setting("method", "paired"), "use a noise above 0"],
        )
    if law.labels.spread == 0:
        raise PairscoreError(
            Setting("noise")
            + " is 0.5, so labels are coin tosses and no number of comparisons is enough",
            "use a noise below 0.5",
        )
