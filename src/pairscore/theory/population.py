"""Population: the law of the paper's data (section 7), to read constants off and to draw from.

Closed forms are drawn exactly without any item table. In whitened coordinates items are standard
normal, and the score depends on the first coordinate z only. Labels are then independent of the
other d - 1 coordinates, and what these contribute to a closed form has a law that can be drawn from
a few normals and chi-squares (docs/explanation/population.md).
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.linalg.blas import dtrsv

from pairscore.core.links import Link, get_link, with_lapse
from pairscore.core.moments import moments
from pairscore.data.items import read_items
from pairscore.data.votes import Votes
from pairscore.display import plural
from pairscore.errors import (
    CallError,
    PairscoreError,
    number_between,
    share_meant,
    share_up_to,
    whole_number,
)
from pairscore.messages import Setting, Value, either
from pairscore.theory.draws import (
    Judging,
    pooled_draw,
    random_comparisons,
    random_covariance,
    reflect_first_axis,
    split_draw,
)
from pairscore.theory.integrals import (
    CONTRADICTIONS,
    flip_probability,
    mean_derivative,
    spread_for_noise,
)

DEFAULT_NOISE = 0.2
LARGEST_LAPSE = 0.499  # of half, labels are coins
# of the largest, 1: below, rounding decides whether the covariance has an inverse
SMALLEST_EIGENVALUE = 1e-12
# smallest eigenvalue of a correlation matrix, per feature, that rounding could not have made
SINGULAR = 1e-12


def link_with_slips(link: Any, lapse: Any) -> Link:
    """The link that a user means, with a share of slips, where it has none of its own."""
    chosen = get_link(link)
    remedy = "a share of answers from 0 to below 0.5"
    rate = number_between(lapse, "lapse", 0, LARGEST_LAPSE, remedy)
    return with_lapse(chosen, rate) if rate > 0 else chosen


class Population:
    """Normal items whose scores decide random comparisons: the law of the paper's experiments.

    Items are x ~ N(mean, covariance). Pairs are uniform, an item may meet itself, and left wins
    with probability f(slope * beta'(x_left - x_right)) (eq. 1). What is not given is drawn as in
    section 7 of the paper: beta from N(0, 10 I), the mean uniform in [-5, 5]^d, the covariance with
    a random orthonormal basis and eigenvalues equally spaced in [min_eigenvalue, 1]; the slope is
    such that a share ``noise`` of the labels contradicts the scores.

    Parameters
    ----------
    n_features : int
        Number d of features; may be left out if beta, mean or covariance tells it.
    min_eigenvalue : float in (0, 1]
        Smallest eigenvalue of the covariance, 1.0 unless given.
    noise : float in [0, 0.5]
        Share of flipped labels, 0.2 unless given. At 0 the slope is infinite and the better item
        always wins; at 0.5 labels are coins. An item against itself is a coin at any noise.
    slope : float
        Instead of ``noise``: the slope itself.
    link : {"logit", "probit"} or pair of functions (f, f')
        How a score difference becomes a probability.
    lapse : float in [0, 0.5)
        Share of labels that are slips, which go the other way however far apart two items are. They
        are part of the ``noise``; the rest of it is of items that are close.
    beta, mean, covariance : arrays of shape (d,), (d,) and (d, d)
        Your own, instead of random ones.
    item_effect : float
        Standard deviation, on the link's scale, of what an item has beyond its features: N(0,
        item_effect^2) is added to slope * beta'x. Neither slope nor ``noise`` change with it,
        ``c1`` does. Without noise the link has no scale, so it must be zero there.
    judge_noise : list of float
        Several judges, each with a separate noise; every comparison goes to one of them at random.
    rng : seed or numpy.random.Generator
        Where the random parts come from; None is a fresh seed, as in NumPy.

    Attributes
    ----------
    beta, mean, covariance, eigenvalues, min_eigenvalue, n_features, link
        The law; eigenvalues from the largest down; ``link`` is a ``Link``. The arrays are
        read-only.
    noise, slope, spread
        Share of labels that features alone would flip; the paper's alpha; slope * sqrt(beta'
        covariance beta), the standard deviation of scores on the link's scale. With several judges
        ``noise`` is their average, and ``slope`` and ``spread`` are those of one judge with that
        noise.
    slopes, judge_noise
        One for each judge; ``judge_noise`` is None without judges.
    c1
        Every closed form estimates c1 * beta (the paper's lemma 7); ``mle`` estimates slope * beta.
    feature_names
        Of the table behind :meth:`from_items`, else None.

    Examples
    --------
    >>> population = Population(n_features=3, noise=0.1, rng=0)
    >>> items, votes = population.draw(n_items=100, n_comparisons=500, rng=1)
    >>> items.shape, len(votes)
    ((200, 3), 500)
    >>> from pairscore import RankRegression, angle
    >>> bool(angle(RankRegression().fit(items, votes).coef_, population.beta) < 0.5)
    True
    """

    def __init__(
        self,
        n_features: int | None = None,
        *,
        min_eigenvalue: float | None = None,
        noise: float | None = None,
        slope: float | None = None,
        link: Any = "logit",
        lapse: float = 0.0,
        beta: Any = None,
        mean: Any = None,
        covariance: Any = None,
        item_effect: float = 0.0,
        judge_noise: Any = None,
        rng: Any = None,
    ):
        rng = _generator(rng)
        self.link = link_with_slips(link, lapse)
        self.n_features = d = _size(n_features, beta=beta, mean=mean, covariance=covariance)
        self.beta = _vector(np.sqrt(10) * rng.normal(size=d) if beta is None else beta, "beta", d)
        self.mean = _vector(rng.uniform(-5, 5, size=d) if mean is None else mean, "mean", d)
        if covariance is None:
            self.eigenvalues = _read_only(_equally_spaced(min_eigenvalue, d))
            self.covariance = _read_only(random_covariance(self.eigenvalues, rng))
        elif min_eigenvalue is not None:
            raise PairscoreError(
                "both "
                + Setting("covariance")
                + " and "
                + Setting("min_eigenvalue")
                + " are given, but a covariance has its own eigenvalues",
                "give one of them",
            )
        else:
            self.covariance = _read_only(_positive_definite(covariance, d))
            self.eigenvalues = _read_only(np.linalg.eigvalsh(self.covariance)[::-1])
        self.min_eigenvalue = float(self.eigenvalues[-1])
        self.feature_names: tuple[str, ...] | None = None
        self._backend: Any = None
        self._root = np.linalg.cholesky(self.covariance)
        whitened = self._root.T @ self.beta
        self._length = float(np.linalg.norm(whitened))
        if not self._length > 0:
            raise PairscoreError(
                Setting("beta") + " is zero, so there is no score",
                "give another, and " + Setting("noise", 0.5) + " if labels are coin tosses",
            )
        self._direction = whitened / self._length
        self._set_noise(noise, slope, judge_noise)
        self._set_item_effect(item_effect)
        self.c1 = float(np.mean([self._c1(one) for one in self.slopes]))

    def _set_noise(self, noise: Any, slope: Any, judge_noise: Any) -> None:
        """Noise, slopes and spread, from the one of the three that is given."""
        values = {"noise": noise, "slope": slope, "judge_noise": judge_noise}
        given = [Setting(name) for name, value in values.items() if value is not None]
        if len(given) > 1:
            both, others = ("both ", "other") if len(given) == 2 else ("", "others")
            raise PairscoreError(
                both + either(given, " and ") + f" are given, and each determines the {others}",
                "give one",
            )
        self.judge_noise = None if judge_noise is None else _read_only(_shares(judge_noise))
        if slope is not None:
            remedy = "a number from 0, inf for labels without noise"
            self.slope = number_between(slope, "slope", 0, np.inf, remedy)
            if np.isinf(self.slope) and self.link.lapse > 0:
                raise PairscoreError(
                    Setting("slope") + " is inf, and slips are part of a noise",
                    ["use a finite slope", "leave out " + Setting("lapse")],
                )
            self.noise = flip_probability(self.link, self.slope * self._length)
        else:
            share = DEFAULT_NOISE if noise is None else noise
            share = share if self.judge_noise is None else float(self.judge_noise.mean())
            self.noise = share_up_to(share, "noise", 0.5, CONTRADICTIONS)
            self.slope = self._slope_for(self.noise)
        noises = [self.noise] if self.judge_noise is None else self.judge_noise
        slopes = [self.slope] if slope is not None else [*map(self._slope_for, noises)]
        self.slopes = _read_only(np.array(slopes))
        self.spread = self.slope * self._length

    def _slope_for(self, noise: float) -> float:
        return spread_for_noise(self.link, noise) / self._length

    def _set_item_effect(self, item_effect: Any) -> None:
        self.item_effect = number_between(
            item_effect, "item_effect", 0, 1e10, "a standard deviation that is not negative"
        )
        if self.item_effect > 0 and np.isinf(self.slopes).any():
            raise PairscoreError(
                Setting("item_effect")
                + " is on the link's scale, which labels without noise do not have",
                ["set a positive noise", "set " + Setting("item_effect", 0)],
            )
        self._judging = Judging(self.link, self.slopes * self._length, self.item_effect)

    def _c1(self, slope: float) -> float:
        """c1 = 4 slope E f'(score difference, item effects included); its limit without noise."""
        if np.isinf(slope):
            return 2 / np.sqrt(np.pi) / self._length
        spread = float(np.hypot(slope * self._length, self.item_effect))
        return 4 * slope * mean_derivative(self.link, spread)

    @classmethod
    def from_items(
        cls,
        items: Any,
        beta: Any = None,
        *,
        noise: float | None = None,
        slope: float | None = None,
        link: Any = "logit",
        lapse: float = 0.0,
        item_effect: float = 0.0,
        judge_noise: Any = None,
        rng: Any = None,
    ) -> "Population":
        """A population like your own items: their mean, covariance and feature names.

        ``items`` is any table that ``fit`` takes, or an array (n x d) with n > d. Without ``beta``,
        that of the features in units of their standard deviation is drawn from N(0, 10 I). The rest
        is as in :class:`Population`.

        >>> Population.from_items({"mass": [1.0, 2.0, 4.0], "size": [3, 1, 2]}, rng=0).feature_names
        ('mass', 'size')
        """
        table = read_items(items)
        n, d = table.values.shape
        if n <= d:
            raise PairscoreError(
                f"{plural(n, 'item')} cannot tell the covariance of {plural(d, 'feature')}; give at"
                f" least {d + 1} items, or fewer features."
            )
        sample = moments(table.values)
        constant = [table.feature_names[column] for column in np.flatnonzero(sample.sd == 0)]
        if constant:
            raise PairscoreError(
                f"{plural(len(constant), 'feature')} of the items never vary"
                f" ({', '.join(map(repr, constant[:5]))}); drop such columns."
            )
        rng = _generator(rng)
        beta = np.sqrt(10) * rng.normal(size=d) / sample.sd if beta is None else beta
        items_law = dict(beta=beta, mean=sample.mean, covariance=sample.scatter / (n - 1), rng=rng)
        noise_law = dict(noise=noise, slope=slope, judge_noise=judge_noise)
        link = link_with_slips(link, lapse)
        population = cls(d, link=link, item_effect=item_effect, **items_law, **noise_law)
        population.feature_names = table.feature_names
        population._backend = table.backend
        return population

    def __repr__(self) -> str:
        judges = "" if self.judge_noise is None else f", {plural(len(self.judge_noise), 'judge')}"
        slips = f", lapse={self.link.lapse:g}" if self.link.lapse else ""
        effect = f", item_effect={self.item_effect:g}" if self.item_effect else ""
        return (
            f"Population({plural(self.n_features, 'feature')},"
            f" min_eigenvalue={self.min_eigenvalue:g}, noise={self.noise:g},"
            f" {self.link.name}{slips}{judges}{effect})"
        )

    def draw(
        self,
        n_items: int,
        n_comparisons: int,
        rng: Any = None,
        *,
        second_half: bool = True,
        repeats: int = 1,
        self_pairs: bool = True,
    ) -> tuple[Any, Votes]:
        """Draw items and votes, ready for ``RankRegression().fit(items, votes)`` with any method.

        N items are compared M times. With ``second_half`` N more follow that are never compared and
        give ``split`` its covariance; the votes name them. With ``repeats`` every pair is judged so
        many times, M staying the number of comparisons. ``self_pairs`` says whether an item may be
        compared with itself, as in the paper.

        Returns
        -------
        items : array (2N or N x d), or a table of the kind :meth:`from_items` was given
        votes : Votes
        """
        n, m = whole_number(n_items, "n_items"), whole_number(n_comparisons, "n_comparisons")
        repeats = whole_number(repeats, "repeats")
        if not self_pairs and n == 1:
            raise PairscoreError(
                "one item has no other to be compared with",
                ["draw at least 2", "pass " + Setting("self_pairs", "keep")],
            )
        rng = _generator(rng)
        white = rng.normal(size=(2 * n if second_half else n, self.n_features))
        pairs = random_comparisons(
            white[:n] @ self._direction, m, self._judging, rng, repeats, self_pairs
        )
        judge = None
        if self.judge_noise is not None:
            names = np.array([f"judge{number + 1}" for number in range(len(self.slopes))])
            judge = names[np.zeros(m, dtype=int) if pairs.judge is None else pairs.judge]
        votes = Votes(
            pairs.left,
            pairs.right,
            np.where(pairs.won, 1, -1).astype(np.int8),
            judge=judge,
            self_pairs="keep",
            covariance_items=np.arange(n, 2 * n) if second_half else None,
        )
        return self._table(white @ self._root.T + self.mean), votes

    def draw_split(
        self, n_items: int, n_comparisons: int, rng: Any = None, *, repeats: int = 1
    ) -> np.ndarray:
        """Draw the `split` estimate (eq. 3) of a fresh study, exactly from its law.

        An array of length d. It is distributed as the ``closed_form_coef_`` of
        ``RankRegression("split").fit(*population.draw(n_items, n_comparisons))`` but costs
        O(N + M + d^2), because no items are made.
        """
        n, m, d = self._sizes(n_items, n_comparisons, 3, "split")
        rng = _generator(rng)
        z = rng.normal(size=n)
        pairs = random_comparisons(z, m, self._judging, rng, whole_number(repeats, "repeats"))
        return self._unwhitened(split_draw(z, pairs.net_wins(n), m, d, rng))

    def draw_pooled(
        self, n_items: int, n_comparisons: int, rng: Any = None, *, repeats: int = 1
    ) -> np.ndarray:
        """Draw the unweighted `pooled` estimate of a fresh study, exactly from its law.

        That is 2 (k X~'X~)^-1 X~'w with X~ the compared items less their plain mean, w their net
        wins and k = 2 M'/N the average exposure in place of each item's (M' comparisons are between
        different items). It costs O(N + M + d^2). An array of length d.
        """
        n, m, d = self._sizes(n_items, n_comparisons, 2, "pooled")
        rng = _generator(rng)
        z = rng.normal(size=n)
        pairs = random_comparisons(z, m, self._judging, rng, whole_number(repeats, "repeats"))
        n_distinct = int(np.count_nonzero(pairs.left != pairs.right))
        if n_distinct == 0:
            raise PairscoreError(
                f"none of the {plural(m, 'comparison')} drawn was between two different items; draw"
                " more comparisons or items."
            )
        return self._unwhitened(pooled_draw(z, pairs.net_wins(n), n_distinct, d, rng))

    def _sizes(self, n_items: Any, n_comparisons: Any, extra: int, method: str) -> Sequence[int]:
        """N, M and d, where ``method`` needs N >= d + extra."""
        n, m = whole_number(n_items, "n_items"), whole_number(n_comparisons, "n_comparisons")
        if n < self.n_features + extra:
            raise PairscoreError(
                Setting("n_items")
                + f" is {n}, and {method!r} with {plural(self.n_features, 'feature')} needs at"
                f" least {self.n_features + extra}",
                "draw more items",
            )
        return n, m, self.n_features

    def _unwhitened(self, y: np.ndarray) -> np.ndarray:
        """From coordinates whose first axis is the score to those of the features."""
        return dtrsv(self._root.T, reflect_first_axis(y, self._direction))  # R' b = y

    def _table(self, values: np.ndarray) -> Any:
        """The kind of table that :meth:`from_items` was given."""
        if self._backend is None or self.feature_names is None:
            return values
        return nw.from_dict(
            dict(zip(self.feature_names, values.T, strict=True)), backend=self._backend
        ).to_native()


# -- arguments ---------------------------------------------------------------------------------


def _equally_spaced(smallest: Any, d: int) -> np.ndarray:
    value = 1.0 if smallest is None else smallest
    remedy = f"a number above 0 (from {SMALLEST_EIGENVALUE:g}) and at most 1"
    last = number_between(value, "min_eigenvalue", SMALLEST_EIGENVALUE, 1, remedy)
    return np.linspace(1.0, last, d)


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise CallError(
            Setting("rng") + f" is {rng!r} ({error})",
            "give a whole number as seed, a numpy Generator, or " + Value(None),
        ) from None


def _size(n_features: Any, **given: Any) -> int:
    """The number of features, as said or as the first array given tells."""
    if n_features is not None:
        return whole_number(n_features, "n_features")
    for name, value in given.items():
        if value is not None:
            return whole_number(len(np.atleast_1d(_floats(value, name))), "n_features")
    raise PairscoreError(
        "the number of features is missing",
        ["give " + Setting(name) for name in ("n_features", *given)],
    )


def _floats(value: Any, name: str) -> np.ndarray:
    try:
        values = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise CallError(
            Setting(name) + f" is not an array of numbers ({error})",
            "give one number for each feature",
        ) from None
    if not np.all(np.isfinite(values)):
        raise PairscoreError(
            f"{plural(int(np.sum(~np.isfinite(values))), 'number')} of "
            + Setting(name)
            + " NaN or infinite",
            "give finite numbers",
        )
    return values


def _vector(value: Any, name: str, d: int) -> np.ndarray:
    return _read_only(_of_shape(value, name, (d,), "one number for each"))


def _of_shape(value: Any, name: str, shape: tuple[int, ...], remedy: str) -> np.ndarray:
    values = _floats(value, name)
    d = shape[0]
    if values.shape != shape:
        raise PairscoreError(
            Setting(name) + f" has shape {values.shape} but there {'is' if d == 1 else 'are'}"
            f" {plural(d, 'feature')}",
            f"give {remedy}",
        )
    return values


def _positive_definite(value: Any, d: int) -> np.ndarray:
    values = _of_shape(value, "covariance", (d, d), f"a {d} x {d} matrix")
    if not np.allclose(values, values.T, rtol=1e-8, atol=1e-12 * np.abs(values).max()):
        raise PairscoreError(
            Setting("covariance")
            + f" is not symmetric (entries differ by up to {np.abs(values - values.T).max():.3g})",
            "give a symmetric matrix",
        )
    variances = np.diag(values)
    if np.all(variances > 0):
        sd = np.sqrt(variances)
        smallest = float(np.linalg.eigvalsh(values / sd[:, None] / sd)[0])
        if smallest > SINGULAR * d:
            return (values + values.T) / 2
        reason = f"the smallest eigenvalue of its correlations is {smallest:.3g}"
    else:
        reason = f"{plural(int(np.sum(variances <= 0)), 'variance')} not positive"
    raise PairscoreError(
        Setting("covariance") + f" is not positive definite ({reason})",
        ["drop constant or repeated features", "give another matrix"],
    )


def _shares(value: Any) -> np.ndarray:
    shares = _floats(value, "judge_noise")
    if shares.ndim != 1 or len(shares) == 0 or np.any((shares < 0) | (shares > 0.5)):
        raise PairscoreError(
            Setting("judge_noise") + f" is {value!r}",
            "give the share of comparisons that contradict the scores, from 0 to 0.5, for each"
            f" judge.{share_meant(np.max(shares, initial=0), 0.5)}",
        )
    return shares


def _read_only(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values


def checked_population(population: Any) -> Population:
    """The argument itself if it is a :class:`Population`; a sentence that asks for one if not."""
    if not isinstance(population, Population):
        raise CallError(
            Setting("population") + f" is {population!r}", "give a pairscore.Population"
        )
    return population


# -- random parts ------------------------------------------------------------------------------
