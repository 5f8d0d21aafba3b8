"""Theorem 1 of the paper with numbers in it.

How likely is the `split` estimate to be off by epsilon or more?

    Pr(|beta-hat - c1 beta| >= epsilon) <= sum of ten terms in N, M, d, the eigenvalues of Sigma and
    four trade-offs delta0 ... delta3

N items are compared M times and N more give the covariance. Each term bounds one source of error of
`pairscore.theory.decomposition`. Everything is kept as a logarithm, for 2^N overflows at once and
the bound says something only for N with many digits: give ``n_items=10**30`` as an integer.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from pairscore.errors import PairscoreError
from pairscore.theory.bound_terms import (
    LOG2,
    LOG4,
    TERMS,
    Condition,
    Setting,
    Term,
    Tradeoffs,
    counts,
    counts_length,
    exp_or_inf,
    labels_counts,
    labels_counts_length,
    labels_length,
    labels_noise,
    partners_length,
    partners_noise,
    side_conditions,
)

# by how much 2^N is to be outweighed at least: times N, a difference of rounding errors would
# decide otherwise
MARGIN = 1e-9
HUGE = 1e300


@dataclass(frozen=True)
class Bound:
    """The bound: its ten terms and their sum as logarithms, the side conditions and the trade-offs
    used.
    """

    terms: dict[str, float]
    conditions: list[Condition]
    tradeoffs: Tradeoffs

    @property
    def log_probability(self) -> float:
        """Logarithm of the sum of the terms.

        Above zero the sum is no probability and says nothing.
        """
        return _log_sum(self.terms.values())

    @property
    def probability(self) -> float:
        """The bound: at most 1, and 1 if a side condition fails."""
        return (
            min(1.0, exp_or_inf(self.log_probability))
            if all(condition.satisfied for condition in self.conditions)
            else 1.0
        )

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than that a probability is at most 1."""
        return not (
            self.log_probability < 0 and all(condition.satisfied for condition in self.conditions)
        )


def _log_sum(logs: Iterable[float]) -> float:
    """log of a sum whose parts are given as logarithms, infinite ones included."""
    logs = list(logs)
    largest = max(logs)
    return (
        largest + math.log(sum(math.exp(x - largest) for x in logs))
        if math.isfinite(largest)
        else largest
    )


# -- trade-offs ----------------------------------------------------------------------------------------


def paper_tradeoffs(s: Setting) -> Tradeoffs:
    """delta0 = delta2 = d log^2 N, delta1 = 4 eps^2 lambda_d / (d log^2 N), delta3 = eps^2 lambda_d
    / (1152 d log N).
    """
    log_d, log_log_n = math.log(s.n_features), math.log(s.log_n)
    long = log_d + 2 * log_log_n
    return Tradeoffs(
        long, LOG4 + s.log_signal - long, long, s.log_signal - math.log(1152) - log_d - log_log_n
    )


def best_tradeoffs(s: Setting) -> Tradeoffs:
    """The trade-offs with the smallest sum, if any have one below 1, and never a larger sum than
    the paper's.

    delta0, delta3 and the couple (delta1, delta2) meet in no common term. Each weighs a term that
    falls in it against one that rises: where they meet is within a small factor of the best, and a
    bounded search from there finds the rest.
    """
    paper, d = paper_tradeoffs(s), s.n_features
    reach, short, noise = _log_reach(s), math.log(d), LOG2 + math.log(s.log_n)

    def with_delta2(x: float) -> Tradeoffs:
        t = replace(paper, log_delta1=x)
        return _balanced(
            s,
            t,
            "log_delta2",
            labels_counts_length,
            labels_counts,
            short,
            reach - math.log(4608) - x,
        )

    def still_falling(x: float) -> bool:
        t = with_delta2(x)
        return labels_noise(s, t) > max(
            labels_length(s, t), labels_counts(s, t), labels_counts_length(s, t)
        )

    t = with_delta2(
        _last_true(still_falling, noise + s.log_n - s.log_m, s.log_signal - math.log(2304 * d))
    )
    t = _balanced(s, t, "log_delta0", counts_length, counts, short, reach - math.log(1152))
    t = _balanced(
        s,
        t,
        "log_delta3",
        partners_noise,
        partners_length,
        noise - s.log_n,
        s.log_signal - math.log(576 * d),
    )
    for names in GROUPS:
        t = _polished(s, t, paper, names)
    return t


GROUPS: dict[tuple[str, ...], tuple[Term, ...]] = {
    ("log_delta0",): (counts, counts_length),
    ("log_delta1", "log_delta2"): (
        labels_counts,
        labels_counts_length,
        labels_length,
        labels_noise,
    ),
    ("log_delta3",): (partners_length, partners_noise),
}


def _log_reach(s: Setting) -> float:
    """log(eps^2 lambda_d M / (N log 2)).

    1152 delta0 and 4608 delta1 delta2 must stay below it for 2^N to be outweighed.
    """
    return s.log_signal + s.log_m - s.log_n - math.log(LOG2) - MARGIN


def _last_true(still_falling: Callable[[float], bool], low: float, high: float) -> float:
    """Where a falling function meets a rising one, from below.

    Comparisons only, as both may be infinite.
    """
    low, high = min(low, high), max(low, high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if still_falling(middle) else (low, middle)
    return low


def _balanced(
    s: Setting, t: Tradeoffs, name: str, falling: Term, rising: Term, low: float, high: float
) -> Tradeoffs:
    """The trade-offs with one of them moved to where its falling and its rising term meet."""

    def moved(x: float) -> Tradeoffs:
        return replace(t, **{name: x})

    return moved(_last_true(lambda x: falling(s, moved(x)) > rising(s, moved(x)), low, high))


def _polished(s: Setting, start: Tradeoffs, paper: Tradeoffs, names: tuple[str, ...]) -> Tradeoffs:
    """The best of the meeting point, the paper's choice and a bounded search around the former, for
    trade-offs that share terms.
    """

    def moved(x: Iterable[float]) -> Tradeoffs:
        return replace(start, **dict(zip(names, map(float, x), strict=True)))

    def objective(x: Iterable[float]) -> float:
        t = moved(x)
        return _log_sum(term(s, t) for term in GROUPS[names])

    def guarded(x: np.ndarray) -> float:
        t = moved(x)
        within = max(
            math.log(1152) + t.log_delta0, math.log(4608) + t.log_delta1 + t.log_delta2
        ) <= _log_reach(s)
        return float(np.clip(objective(x), -HUGE, HUGE)) if within else HUGE

    candidates = [np.array([getattr(choice, name) for name in names]) for choice in (start, paper)]
    near = [(x - 1.0, x + 1.0) for x in candidates[0]]
    simplex = candidates[0] - np.vstack([np.zeros(len(names)), 0.05 * np.eye(len(names))])
    options = {"initial_simplex": simplex, "xatol": 1e-9, "fatol": 1e-9, "maxiter": 200}
    found = minimize(guarded, candidates[0], method="Nelder-Mead", bounds=near, options=options)
    return moved(min([*candidates, found.x], key=objective))


# -- the doors -----------------------------------------------------------------------------------------


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
    """How likely is it, at most, that |beta-hat - c1 beta| >= epsilon for the `split` estimate?

    ``n_items`` is N, the number of compared items (as many again give the covariance); integers may
    be of any size. ``tradeoff`` takes delta0 ... delta3 from the paper or the best ones. The
    defaults of the constants are proved for normal features: c3 = 1 and c4 = 1/2 (singular values
    of a normal matrix), c2 = 1152 = 2 * 576 (variance proxy 4 of W_n g_n).

    >>> theorem_bound(10**6, 10**9, n_features=10, min_eigenvalue=1.0, epsilon=0.5).vacuous
    True
    >>> theorem_bound(10**8100, 10**8120, n_features=10, min_eigenvalue=1.0, epsilon=0.5).vacuous
    False
    """
    s = Setting(
        _log_size("n_items", n_items),
        _log_size("n_comparisons", n_comparisons),
        n_features,
        min_eigenvalue,
        max_eigenvalue,
        epsilon,
        c2,
        c3,
        c4,
    )
    if n_items <= n_features + 2:
        raise PairscoreError(
            f"n_items is {n_items} but must exceed n_features + 2 = {n_features + 2} for the"
            " covariance to exist; give more items."
        )
    return bound_at(_checked(s), tradeoff)


def bound_at(s: Setting, tradeoff: str = "paper") -> Bound:
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

    It leaves out M and the covariance, and is no bound before log N > 18432 (docs/theory.md says
    what else it needs). c2 = 44 adds up the prefactors of the five terms it stands for, c3 is that
    of the last one left.
    """
    s = _checked(
        Setting(
            _log_size("n_items", n_items),
            0.0,
            n_features,
            min_eigenvalue,
            max(1.0, min_eigenvalue),
            epsilon,
            c2,
            c3,
            1.0,
        )
    )
    tail = n_features * (0.5 * math.log(6 * s.log_n) - s.log_n)
    average = -exp_or_inf(
        s.log_n + 2 * math.log(epsilon) + math.log(min_eigenvalue / (c3 * n_features * s.log_n))
    )
    return math.log(c2) + s.log_n + max(tail, average)


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
    """The smallest log N at which the bound is below 1, given ``comparisons`` times as many
    comparisons as the theorem asks for.
    """
    if not comparisons > 0:
        raise PairscoreError(
            f"comparisons is {comparisons}; give a positive multiple of d N log^3 N / (epsilon^2"
            " lambda_d)."
        )
    base = _checked(
        Setting(1.0, 1.0, n_features, min_eigenvalue, max_eigenvalue, epsilon, c2, c3, c4)
    )

    def vacuous(log_n: float) -> bool:
        log_m = log_paper_comparisons(log_n, n_features, min_eigenvalue, epsilon) + math.log(
            comparisons
        )
        return bound_at(replace(base, log_n=log_n, log_m=log_m), tradeoff).vacuous

    low = math.log(n_features + 3)
    high = 2 * low
    while vacuous(high) and high < 1e6:
        low, high = high, 2 * high
    if vacuous(high):
        raise PairscoreError(
            f"the bound stays at 1 up to log N = {high:.3g}; use tradeoff='best', more comparisons"
            f" or an epsilon below {epsilon}."
        )
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if vacuous(middle) else (low, middle)
    return high


def _log_size(name: str, size: float) -> float:
    """Logarithm of a number of things; Python's integers may be too large for a float."""
    if not (isinstance(size, (int, np.integer)) or math.isfinite(size)) or size < 1:
        raise PairscoreError(f"{name} is {size}; give a number of at least 1.")
    return math.log(size)


def _checked(s: Setting) -> Setting:
    """A setting whose numbers make sense, or one sentence about the first that does not."""
    if s.n_features < 1 or s.n_features != int(s.n_features):
        raise PairscoreError(f"n_features is {s.n_features}; give a whole number of at least 1.")
    positive = {
        "min_eigenvalue": s.min_eigenvalue,
        "max_eigenvalue": s.max_eigenvalue,
        "epsilon": s.epsilon,
        "c2": s.c2,
        "c4": s.c4,
    }
    for name, value in positive.items():
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
