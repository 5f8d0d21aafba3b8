"""Theorem 1 of the paper with numbers in it: how likely is `split` to be off by epsilon or more?

    Pr(|beta-hat - c1 beta| >= epsilon) <= sum of ten terms in N, M, d, the eigenvalues of Sigma and
    four trade-offs delta0 ... delta3

N items are compared M times and N more give the covariance. Each term bounds one source of error of
`pairscore.theory.decomposition`. Everything is kept as a logarithm, because 2^N overflows at once
and the bound says something only for N with many digits: give ``n_items=10**30`` as an integer.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from pairscore.core.roots import bisect
from pairscore.errors import PairscoreError
from pairscore.theory.bound_terms import (
    LOG2,
    LOG4,
    TERMS,
    BoundSetting,
    Condition,
    Tradeoffs,
    exp_or_inf,
    log_sum,
    side_conditions,
)

# by how much 2^N is to be outweighed at least: rounding errors times N would decide otherwise
MARGIN = 1e-9
HUGE = 1e300  # in place of infinity, with which the search for trade-offs cannot calculate
LARGEST_LOG_N = 1e6  # up to which the smallest number of items is sought
# trade-offs that share terms, and the terms they share
GROUPS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("log_delta0",): ("counts", "counts_length"),
    ("log_delta1", "log_delta2"): (
        "labels_counts",
        "labels_counts_length",
        "labels_length",
        "labels_noise",
    ),
    ("log_delta3",): ("partners_length", "partners_noise"),
}


@dataclass(frozen=True)
class Bound:
    """The bound: logarithms of its ten terms, the side conditions, and the trade-offs used."""

    terms: dict[str, float]
    conditions: list[Condition]
    tradeoffs: Tradeoffs

    @property
    def log_probability(self) -> float:
        """Logarithm of the sum of the terms; above zero the sum says nothing."""
        return log_sum(self.terms.values())

    @property
    def probability(self) -> float:
        """The bound: at most 1, and 1 if a side condition fails."""
        return 1.0 if self.vacuous else exp_or_inf(self.log_probability)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than that a probability is at most 1."""
        proved = all(condition.satisfied for condition in self.conditions)
        return not (self.log_probability < 0 and proved)


def theorem_bound(
    n_items: float,
    n_comparisons: float,
    n_features: int,
    min_eigenvalue: float,
    epsilon: float,
    *,
    max_eigenvalue: float = 1.0,
    tradeoff: Literal["paper", "best"] = "paper",
    c2: float = 1152.0,
    c3: float = 1.0,
    c4: float = 0.5,
) -> Bound:
    """How likely is it, at most, that the `split` estimate is epsilon or more away from c1 beta?

    Parameters
    ----------
    n_items, n_comparisons : int or float
        N, the number of compared items (as many again give the covariance), and M. Integers may be
        of any size.
    n_features : int
        d.
    min_eigenvalue, max_eigenvalue : float
        lambda_d and lambda_1 of the items' covariance.
    epsilon : float
        The error asked about, in the units of the coefficients; c1 beta has a length of at most
        2/sqrt(pi lambda_d).
    tradeoff : {"paper", "best"}
        delta0 ... delta3 of the paper, or those with the smallest sum.
    c2, c3, c4 : float
        Constants that the paper leaves open. The defaults are proved for normal features: c3 = 1
        and c4 = 1/2 (singular values of a normal matrix), c2 = 1152 = 2 * 576 (variance proxy 4 of
        W_n g_n).

    Examples
    --------
    >>> theorem_bound(10**6, 10**9, n_features=10, min_eigenvalue=1.0, epsilon=0.5).vacuous
    True
    >>> theorem_bound(10**8100, 10**8120, n_features=10, min_eigenvalue=1.0, epsilon=0.5).vacuous
    False
    """
    log_n = _log_size("n_items", n_items)
    log_m = _log_size("n_comparisons", n_comparisons)
    s = BoundSetting(log_n, log_m, n_features, min_eigenvalue, max_eigenvalue, epsilon, c2, c3, c4)
    if n_items <= n_features + 2:
        raise PairscoreError(
            f"n_items is {n_items} but must exceed n_features + 2 = {n_features + 2} for the"
            " covariance to exist; give more items."
        )
    return bound_at(_checked(s), tradeoff)


def bound_at(s: BoundSetting, tradeoff: str = "paper") -> Bound:
    """The bound of a setting whose sizes are logarithms."""
    if tradeoff not in ("paper", "best"):
        raise PairscoreError(f"tradeoff is {tradeoff!r}; use 'paper' or 'best'.")
    t = paper_tradeoffs(s) if tradeoff == "paper" else best_tradeoffs(s)
    return Bound({name: term(s, t) for name, term in TERMS.items()}, side_conditions(s, t), t)


def simplified_log_bound(
    n_items: float,
    n_features: int,
    min_eigenvalue: float,
    epsilon: float,
    *,
    c2: float = 44.0,
    c3: float = 2304.0,
) -> float:
    """Logarithm of Theorem 1 as it is printed.

    c2 N max{(sqrt(6 log N)/N)^d, exp(-N eps^2 lambda_d / (c3 d log N))}.

    It leaves out M and the covariance, and is no bound before log N > 18432
    (docs/explanation/theory.md says what else it needs). c2 = 44 adds up the
    prefactors of the five terms it stands for, c3 is that of the last one left.

    Parameters
    ----------
    n_items, n_features, min_eigenvalue, epsilon, c2, c3
        N, d, lambda_d, the error asked about, and the two constants.
    """
    log_n = _log_size("n_items", n_items)
    largest = max(1.0, min_eigenvalue)
    _checked(BoundSetting(log_n, 0.0, n_features, min_eigenvalue, largest, epsilon, c2, c3, 1.0))
    tail = n_features * (0.5 * math.log(6 * log_n) - log_n)
    average = -exp_or_inf(
        log_n + 2 * math.log(epsilon) + math.log(min_eigenvalue / (c3 * n_features * log_n))
    )
    return math.log(c2) + log_n + max(tail, average)


def log_paper_comparisons(
    log_n: float, n_features: int, min_eigenvalue: float, epsilon: float
) -> float:
    """Logarithm of the theorem's number of comparisons, M = d N log^3 N / (eps^2 lambda_d)."""
    return math.log(n_features / (epsilon**2 * min_eigenvalue)) + log_n + 3 * math.log(log_n)


def smallest_log_n_items(
    n_features: int,
    min_eigenvalue: float,
    epsilon: float,
    *,
    max_eigenvalue: float = 1.0,
    tradeoff: Literal["paper", "best"] = "best",
    comparisons: float = 1.0,
    c2: float = 1152.0,
    c3: float = 1.0,
    c4: float = 0.5,
) -> float:
    """The smallest log N at which the bound is below 1, to six digits.

    M is ``comparisons`` times as large as the theorem asks for, d N log^3 N / (epsilon^2 lambda_d).

    Parameters
    ----------
    n_features, min_eigenvalue, epsilon, max_eigenvalue, tradeoff, c2, c3, c4
        As in :func:`theorem_bound`.
    comparisons : float
        The multiple.
    """
    if not comparisons > 0:
        raise PairscoreError(
            f"comparisons is {comparisons}; give a positive multiple of d N log^3 N / (epsilon^2"
            " lambda_d)."
        )
    base = _checked(
        BoundSetting(1.0, 1.0, n_features, min_eigenvalue, max_eigenvalue, epsilon, c2, c3, c4)
    )

    def vacuous(log_n: float) -> bool:
        log_m = log_paper_comparisons(log_n, n_features, min_eigenvalue, epsilon)
        s = replace(base, log_n=log_n, log_m=log_m + math.log(comparisons))
        return bound_at(s, tradeoff).vacuous

    low = math.log(n_features + 3)
    high = 2 * low
    while vacuous(high):
        if high >= LARGEST_LOG_N:
            raise PairscoreError(
                f"the bound stays at 1 up to log N = {high:.3g}; use tradeoff='best', more"
                f" comparisons or an epsilon below {epsilon}."
            )
        low, high = high, 2 * high
    return bisect(vacuous, low, high, rtol=1e-6)[1]


def paper_tradeoffs(s: BoundSetting) -> Tradeoffs:
    """delta0 = delta2 = d log^2 N, delta1 = 4 eps^2 lambda_d / (d log^2 N), delta3 = eps^2 lambda_d
    / (1152 d log N).
    """
    log_d = math.log(s.n_features)
    log_log_n = math.log(s.log_n)
    long = log_d + 2 * log_log_n
    return Tradeoffs(
        log_delta0=long,
        log_delta1=LOG4 + s.log_signal - long,
        log_delta2=long,
        log_delta3=s.log_signal - math.log(1152) - log_d - log_log_n,
    )


def best_tradeoffs(s: BoundSetting) -> Tradeoffs:
    """The trade-offs with the smallest sum, if any have one below 1; never a larger sum than the
    paper's.

    delta0, delta3 and the couple (delta1, delta2) meet in no common term. Each weighs a term that
    falls in it against one that rises: where they meet is within a small factor of the best, and a
    bounded search from there finds the rest.
    """
    paper = paper_tradeoffs(s)
    limit = _log_count_limit(s)
    log_d = math.log(s.n_features)
    noise = LOG2 + math.log(s.log_n)  # log(2 log N): delta1 M/N and delta3 N must exceed 2 log N

    def with_delta2(log_delta1: float) -> Tradeoffs:
        t = replace(paper, log_delta1=log_delta1)
        high = limit - math.log(4608) - log_delta1
        return _balance(s, t, "log_delta2", "labels_counts_length", "labels_counts", log_d, high)

    def still_falling(log_delta1: float) -> bool:
        t = with_delta2(log_delta1)
        rising = ("labels_length", "labels_counts", "labels_counts_length")
        return TERMS["labels_noise"](s, t) > max(TERMS[name](s, t) for name in rising)

    ends = sorted((noise + s.log_n - s.log_m, s.log_signal - math.log(2304) - log_d))
    t = with_delta2(bisect(still_falling, *ends)[0])
    high = limit - math.log(1152)
    t = _balance(s, t, "log_delta0", "counts_length", "counts", log_d, high)
    low = noise - s.log_n
    high = s.log_signal - math.log(576) - log_d
    t = _balance(s, t, "log_delta3", "partners_noise", "partners_length", low, high)
    for names in GROUPS:
        t = _polish(s, t, paper, names)
    return t


def _log_count_limit(s: BoundSetting) -> float:
    """log(eps^2 lambda_d M / (N log 2)).

    1152 delta0 and 4608 delta1 delta2 must stay below it for 2^N to be outweighed.
    """
    return s.log_signal + s.log_m - s.log_n - math.log(LOG2) - MARGIN


def _balance(
    s: BoundSetting, t: Tradeoffs, name: str, falling: str, rising: str, low: float, high: float
) -> Tradeoffs:
    """Move one trade-off to where its falling and its rising term meet, from below.

    By comparisons only, as both terms may be infinite.
    """

    def still_falling(x: float) -> bool:
        moved = replace(t, **{name: x})
        return TERMS[falling](s, moved) > TERMS[rising](s, moved)

    return replace(t, **{name: bisect(still_falling, *sorted((low, high)))[0]})


def _polish(
    s: BoundSetting, start: Tradeoffs, paper: Tradeoffs, names: tuple[str, ...]
) -> Tradeoffs:
    """The best of the meeting point, the paper's choice and a bounded search around the former, for
    trade-offs that share terms.
    """

    def moved(x: Iterable[float]) -> Tradeoffs:
        return replace(start, **dict(zip(names, map(float, x), strict=True)))

    def objective(x: Iterable[float]) -> float:
        t = moved(x)
        return log_sum(TERMS[name](s, t) for name in GROUPS[names])

    def guarded(x: np.ndarray) -> float:
        t = moved(x)
        counts = math.log(1152) + t.log_delta0
        labels = math.log(4608) + t.log_delta1 + t.log_delta2
        within = max(counts, labels) <= _log_count_limit(s)
        return float(np.clip(objective(x), -HUGE, HUGE)) if within else HUGE

    candidates = [np.array([getattr(choice, name) for name in names]) for choice in (start, paper)]
    near = [(x - 1.0, x + 1.0) for x in candidates[0]]
    simplex = candidates[0] - np.vstack([np.zeros(len(names)), 0.05 * np.eye(len(names))])
    options = {"initial_simplex": simplex, "xatol": 1e-9, "fatol": 1e-9, "maxiter": 200}
    search = minimize(guarded, candidates[0], method="Nelder-Mead", bounds=near, options=options)
    return moved(min([*candidates, search.x], key=objective))


def _log_size(name: str, size: float) -> float:
    """Logarithm of a number of things; Python's integers may be too large for a float."""
    if not (isinstance(size, (int, np.integer)) or math.isfinite(size)) or size < 1:
        raise PairscoreError(f"{name} is {size}; give a number of at least 1.")
    return math.log(size)


def _checked(s: BoundSetting) -> BoundSetting:
    """A setting whose numbers make sense, or one sentence about the first that does not."""
    if s.n_features < 1 or s.n_features != int(s.n_features):
        raise PairscoreError(f"n_features is {s.n_features}; give a whole number of at least 1.")
    for name in ("min_eigenvalue", "max_eigenvalue", "epsilon", "c2", "c4"):
        value = getattr(s, name)
        if not (math.isfinite(value) and value > 0):
            raise PairscoreError(f"{name} is {value}; give a positive number.")
    if not (math.isfinite(s.c3) and s.c3 >= 0):
        raise PairscoreError(f"c3 is {s.c3}; give a number of at least 0.")
    if s.max_eigenvalue < s.min_eigenvalue:
        raise PairscoreError(
            f"max_eigenvalue is {s.max_eigenvalue}, below min_eigenvalue = {s.min_eigenvalue}; give"
            " the largest eigenvalue of the covariance."
        )
    return s
