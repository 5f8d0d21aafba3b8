"""Theorem 1 of the paper with numbers in it: how likely is the `split` estimate to be off by epsilon or more?

    Pr(|beta-hat - c1 beta| >= epsilon) <= sum of ten terms in N, M, d, the eigenvalues of Sigma and four trade-offs delta0 ... delta3

N items are compared M times and N more give the covariance. Each term bounds one source of error of
`pairscore.decomposition`. Everything is kept as a logarithm, for 2^N overflows at once and the
bound says something only for N with many digits: give ``n_items=10**30`` as an integer.

Every term is cut at what is always true (a probability of 1), so the sum holds whatever the trade-offs
are. Where the printed proof slips, the terms here are what its argument supports: see docs/theory.md.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from pairscore.errors import PairscoreError

LOG2, LOG4, LOG8 = math.log(2), math.log(4), math.log(8)
MARGIN = 1e-9  # by how much 2^N is to be outweighed at least: times N, a difference of rounding errors would decide otherwise
HUGE = 1e300


@dataclass(frozen=True)
class Setting:
    """The sizes of a study, N and M as logarithms, and the constants that the proof leaves open."""

    log_n: float
    log_m: float
    n_features: int
    min_eigenvalue: float
    max_eigenvalue: float
    epsilon: float
    c2: float
    c3: float
    c4: float

    @property
    def log_bias(self) -> float:
        """Of |c1 beta| / N, by which pairs of an item with itself shorten the mean: c1 |Sigma^1/2 beta| <= E|z - z'| = 2/sqrt(pi)."""
        return math.log(2) - 0.5 * math.log(math.pi * self.min_eigenvalue) - self.log_n

    @property
    def accuracy(self) -> float:
        """What is left of epsilon for the random error; a bias beyond epsilon leaves nothing, and the bound says nothing."""
        return self.epsilon * max(1 - _exp(self.log_bias - math.log(self.epsilon)), 1e-12)

    @property
    def log_signal(self) -> float:
        """log(epsilon^2 lambda_d)."""
        return 2 * math.log(self.accuracy) + math.log(self.min_eigenvalue)


@dataclass(frozen=True)
class Tradeoffs:
    """Logarithms of delta0 ... delta3, the lengths and deviations at which the proof cuts its events in two."""

    log_delta0: float
    log_delta1: float
    log_delta2: float
    log_delta3: float


@dataclass(frozen=True)
class Condition:
    """One side condition, ``smaller < larger``; both sides are kept as logarithms."""

    name: str
    log_smaller: float
    log_larger: float

    @property
    def satisfied(self) -> bool:
        return self.log_smaller < self.log_larger

    @property
    def smaller(self) -> float:
        return _exp(self.log_smaller)

    @property
    def larger(self) -> float:
        return _exp(self.log_larger)

    def __str__(self) -> str:
        return f"{self.name}: {'yes' if self.satisfied else 'no'} (logarithms {self.log_smaller:.6g} and {self.log_larger:.6g})"


@dataclass(frozen=True)
class Bound:
    """The bound: its ten terms and their sum as logarithms, the side conditions and the trade-offs used."""

    terms: dict[str, float]
    conditions: list[Condition]
    tradeoffs: Tradeoffs

    @property
    def log_probability(self) -> float:
        """Logarithm of the sum of the terms; above zero the sum is no probability and says nothing."""
        return _log_sum(self.terms.values())

    @property
    def probability(self) -> float:
        """The bound: at most 1, and 1 if a side condition fails."""
        return min(1.0, _exp(self.log_probability)) if all(condition.satisfied for condition in self.conditions) else 1.0

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than that a probability is at most 1."""
        return not (self.log_probability < 0 and all(condition.satisfied for condition in self.conditions))


# -- the ten terms, each the logarithm of what the appendix adds up ------------------------------------


def covariance(s: Setting, t: Tradeoffs) -> float:
    """8 exp(-c4 t^2), t the smaller slack of the two singular value conditions: Sigma-hat^-1 is off (Lemma 14)."""
    slack = max(0.0, min(_slack_below(s), _slack_above(s)))
    return LOG8 - s.c4 * slack * slack


def items(s: Setting, t: Tradeoffs) -> float:
    """4 exp(-(sqrt(N eps^2 lambda_d / c2 - d) - sqrt d)^2 / 4): the average of W_n g_n over items is off (Lemma 13)."""
    room = _exp(s.log_n + s.log_signal - math.log(s.c2))
    return LOG4 - 0.25 * (math.sqrt(room - s.n_features) - math.sqrt(s.n_features)) ** 2 if room > 2 * s.n_features else LOG4


def counts(s: Setting, t: Tradeoffs) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / (1152 delta0)): how often items are drawn is uneven (Lemma 10)."""
    return _uneven_counts(s, math.log(1152) + t.log_delta0)


def counts_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = delta0/d: some |W_n|^2 beyond delta0 (Lemma 10)."""
    return _long_item(s, t.log_delta0 - math.log(s.n_features))


def labels_counts(s: Setting, t: Tradeoffs) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / (4608 delta1 delta2)): uneven counts again, now for the label noise (Lemma 11)."""
    return _uneven_counts(s, math.log(4608) + t.log_delta1 + t.log_delta2)


def labels_counts_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = delta2/d: some |W_n|^2 beyond delta2 (Lemma 11)."""
    return _long_item(s, t.log_delta2 - math.log(s.n_features))


def labels_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = eps^2 lambda_d / (2304 d delta1): the mean |W_n| is large (Lemma 11)."""
    return _long_item(s, s.log_signal - math.log(2304 * s.n_features) - t.log_delta1)


def labels_noise(s: Setting, t: Tradeoffs) -> float:
    """8N (1 - (1 - exp(-delta1/2))/N)^M: some |Delta_n|^2 beyond delta1, by the exact moment generating function (Lemma 11)."""
    log_share = math.log(-math.expm1(-0.5 * _exp(t.log_delta1))) - s.log_n if t.log_delta1 > -700 else t.log_delta1 - LOG2 - s.log_n
    share = _exp(log_share)
    log_rate = math.log(-math.log1p(-share)) if share > 1e-300 else log_share
    return LOG8 + s.log_n - _exp(s.log_m + log_rate)


def partners_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = eps^2 lambda_d / (576 d delta3): the mean |W_n| is large (Lemma 12)."""
    return _long_item(s, s.log_signal - math.log(576 * s.n_features) - t.log_delta3)


def partners_noise(s: Setting, t: Tradeoffs) -> float:
    """8N exp(-N delta3 / 2): some |z_n|^2 beyond delta3 (Lemma 12)."""
    return LOG8 + s.log_n - 0.5 * _exp(s.log_n + t.log_delta3)


TERMS: dict[str, Callable[[Setting, Tradeoffs], float]] = {
    "covariance": covariance,
    "items": items,
    "counts": counts,
    "counts_length": counts_length,
    "labels_counts": labels_counts,
    "labels_counts_length": labels_counts_length,
    "labels_length": labels_length,
    "labels_noise": labels_noise,
    "partners_length": partners_length,
    "partners_noise": partners_noise,
}


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _log_sum(logs: Iterable[float]) -> float:
    """log of a sum whose parts are given as logarithms, infinite ones included."""
    logs = list(logs)
    largest = max(logs)
    return largest + math.log(sum(math.exp(x - largest) for x in logs)) if math.isfinite(largest) else largest


def _long_item(s: Setting, log_z: float) -> float:
    """4N (z e^(1-z))^(d/2), the chi-squared tail of N items; no claim for z <= 1."""
    return LOG4 + s.log_n + (0.5 * s.n_features * (log_z + 1 - _exp(log_z)) if log_z > 0 else 0.0)


def _uneven_counts(s: Setting, log_divisor: float) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / divisor) = 4 exp(N (log 2 - rate)): one product, as the two parts may both overflow."""
    gain = LOG2 - _exp(s.log_signal + s.log_m - s.log_n - log_divisor)
    return LOG4 + (math.copysign(_exp(s.log_n + math.log(abs(gain))), gain) if gain != 0 else 0.0)


def _log_shift(s: Setting) -> float:
    """log a of a = lambda_d eps / (6 d sqrt(2 lambda_1)), how far an eigenvalue of Sigma^1/2 Sigma-hat^-1 Sigma^1/2 may be from 1."""
    return math.log(s.min_eigenvalue * s.accuracy / (6 * s.n_features * math.sqrt(2 * s.max_eigenvalue)))


def _log_share_left(s: Setting, lost: float) -> float:
    """log((N - lost)/N)."""
    return math.log1p(-lost * math.exp(-s.log_n))


def _slack_below(s: Setting) -> float:
    """sqrt(N-1) - sqrt((N-d-2)/(1+a)) - c3 sqrt d: room for the smallest singular value of N-1 normal rows."""
    high, low = 0.5 * _log_share_left(s, 1), 0.5 * (_log_share_left(s, s.n_features + 2) - math.log1p(_exp(_log_shift(s))))
    return _exp(0.5 * s.log_n) * math.exp(low) * math.expm1(high - low) - s.c3 * math.sqrt(s.n_features)


def _slack_above(s: Setting) -> float:
    """sqrt((N-d-2)/(1-a)) - sqrt(N-1) - c3 sqrt d: room for the largest; none is needed once a >= 1."""
    shift = _exp(_log_shift(s))
    if shift >= 1:
        return math.inf
    high, low = 0.5 * (_log_share_left(s, s.n_features + 2) - math.log1p(-shift)), 0.5 * _log_share_left(s, 1)
    return _exp(0.5 * s.log_n) * math.exp(low) * math.expm1(high - low) - s.c3 * math.sqrt(s.n_features)


# -- side conditions -----------------------------------------------------------------------------------


def side_conditions(s: Setting, t: Tradeoffs) -> list[Condition]:
    """What must hold for the terms to be proved (the first three) or to be below 1."""
    d, log_accuracy = s.n_features, math.log(s.accuracy)
    log_d, log_shift, log_edge = math.log(d), _log_shift(s), math.log(s.c3 * math.sqrt(d)) if s.c3 > 0 else -math.inf
    half_n, half_rest = 0.5 * (s.log_n + _log_share_left(s, 1)), 0.5 * (s.log_n + _log_share_left(s, d + 2))
    low, high = half_rest - 0.5 * math.log1p(_exp(log_shift)), half_rest - 0.5 * math.log1p(-_exp(log_shift)) if log_shift < 0 else math.inf
    log_log_n, log_ratio = math.log(s.log_n), s.log_n + math.log(LOG2) - s.log_signal
    return [
        Condition("bias of self-pairs 2/(N sqrt(pi lambda_d)) < epsilon", s.log_bias, math.log(s.epsilon)),
        Condition("epsilon < 12 d^2 lambda_1", log_accuracy, math.log(12 * d * d * s.max_eigenvalue)),
        Condition("epsilon < 6/(lambda_1 lambda_d)", log_accuracy, math.log(6 / (s.max_eigenvalue * s.min_eigenvalue))),
        Condition("sqrt((N-d-2)/(1+a)) + c3 sqrt(d) < sqrt(N-1)", float(np.logaddexp(low, log_edge)), half_n),
        Condition("sqrt(N-1) + c3 sqrt(d) < sqrt((N-d-2)/(1-a))", float(np.logaddexp(half_n, log_edge)), high),
        Condition("2 d c2/(epsilon^2 lambda_d) < N", math.log(2 * d * s.c2) - s.log_signal, s.log_n),
        Condition("d < delta0", log_d, t.log_delta0),
        Condition("1152 delta0 N log 2/(epsilon^2 lambda_d) < M", math.log(1152) + t.log_delta0 + log_ratio, s.log_m),
        Condition("d < delta2", log_d, t.log_delta2),
        Condition("4608 delta1 delta2 N log 2/(epsilon^2 lambda_d) < M", math.log(4608) + t.log_delta1 + t.log_delta2 + log_ratio, s.log_m),
        Condition("delta1 < epsilon^2 lambda_d/(2304 d)", t.log_delta1, s.log_signal - math.log(2304 * d)),
        Condition("2 N log(N)/M < delta1", LOG2 + s.log_n + log_log_n - s.log_m, t.log_delta1),
        Condition("delta3 < epsilon^2 lambda_d/(576 d)", t.log_delta3, s.log_signal - math.log(576 * d)),
        Condition("2 log(N)/N < delta3", LOG2 + log_log_n - s.log_n, t.log_delta3),
    ]


# -- trade-offs ----------------------------------------------------------------------------------------


def paper_tradeoffs(s: Setting) -> Tradeoffs:
    """delta0 = delta2 = d log^2 N, delta1 = 4 eps^2 lambda_d / (d log^2 N), delta3 = eps^2 lambda_d / (1152 d log N)."""
    log_d, log_log_n = math.log(s.n_features), math.log(s.log_n)
    long = log_d + 2 * log_log_n
    return Tradeoffs(long, LOG4 + s.log_signal - long, long, s.log_signal - math.log(1152) - log_d - log_log_n)


def best_tradeoffs(s: Setting) -> Tradeoffs:
    """The trade-offs with the smallest sum, if any have one below 1, and never a larger sum than the paper's.

    delta0, delta3 and the couple (delta1, delta2) meet in no common term. Each weighs a term that
    falls in it against one that rises: their crossing is within a factor of 2 of the best, and a
    bounded search from there finds the rest.
    """
    paper, d = paper_tradeoffs(s), s.n_features
    reach, short, noise = _log_reach(s), math.log(d), LOG2 + math.log(s.log_n)

    def with_delta2(x: float) -> Tradeoffs:
        t = replace(paper, log_delta1=x)
        return _balanced(s, t, "log_delta2", labels_counts_length, labels_counts, short, reach - math.log(4608) - x)

    def still_falling(x: float) -> bool:
        t = with_delta2(x)
        return labels_noise(s, t) > max(labels_length(s, t), labels_counts(s, t), labels_counts_length(s, t))

    t = with_delta2(_last_true(still_falling, noise + s.log_n - s.log_m, s.log_signal - math.log(2304 * d)))
    t = _balanced(s, t, "log_delta0", counts_length, counts, short, reach - math.log(1152))
    t = _balanced(s, t, "log_delta3", partners_noise, partners_length, noise - s.log_n, s.log_signal - math.log(576 * d))
    for names in GROUPS:
        t = _polished(s, t, paper, names)
    return t


Term = Callable[[Setting, Tradeoffs], float]
GROUPS: dict[tuple[str, ...], tuple[Term, ...]] = {
    ("log_delta0",): (counts, counts_length),
    ("log_delta1", "log_delta2"): (labels_counts, labels_counts_length, labels_length, labels_noise),
    ("log_delta3",): (partners_length, partners_noise),
}


def _log_reach(s: Setting) -> float:
    """log(eps^2 lambda_d M / (N log 2)): 1152 delta0 and 4608 delta1 delta2 must stay below it for 2^N to be outweighed."""
    return s.log_signal + s.log_m - s.log_n - math.log(LOG2) - MARGIN


def _last_true(still_falling: Callable[[float], bool], low: float, high: float) -> float:
    """Where a falling function meets a rising one, from below; comparisons only, as both may be infinite."""
    low, high = min(low, high), max(low, high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if still_falling(middle) else (low, middle)
    return low


def _balanced(s: Setting, t: Tradeoffs, name: str, falling: Term, rising: Term, low: float, high: float) -> Tradeoffs:
    """The trade-offs with one of them moved to where its falling and its rising term meet."""

    def moved(x: float) -> Tradeoffs:
        return replace(t, **{name: x})

    return moved(_last_true(lambda x: falling(s, moved(x)) > rising(s, moved(x)), low, high))


def _polished(s: Setting, start: Tradeoffs, paper: Tradeoffs, names: tuple[str, ...]) -> Tradeoffs:
    """The best of the meeting point, the paper's choice and a bounded search around the former, for trade-offs that share terms."""

    def moved(x: Iterable[float]) -> Tradeoffs:
        return replace(start, **dict(zip(names, map(float, x), strict=True)))

    def objective(x: Iterable[float]) -> float:
        t = moved(x)
        return _log_sum(term(s, t) for term in GROUPS[names])

    def guarded(x: np.ndarray) -> float:
        t = moved(x)
        within = max(math.log(1152) + t.log_delta0, math.log(4608) + t.log_delta1 + t.log_delta2) <= _log_reach(s)
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

    ``n_items`` is N, the number of compared items (as many again give the covariance); integers may be
    of any size. ``tradeoff`` takes delta0 ... delta3 from the paper or the best ones. The defaults of the constants are proved for
    normal features: c3 = 1 and c4 = 1/2 (singular values of a normal matrix), c2 = 1152 = 2 * 576 (variance proxy 4 of W_n g_n).

    >>> theorem_bound(10**6, 10**9, n_features=10, min_eigenvalue=1.0, epsilon=0.5).vacuous
    True
    >>> theorem_bound(10**8100, 10**8120, n_features=10, min_eigenvalue=1.0, epsilon=0.5).vacuous
    False
    """
    s = Setting(
        _log_size("n_items", n_items), _log_size("n_comparisons", n_comparisons), n_features, min_eigenvalue, max_eigenvalue, epsilon, c2, c3, c4
    )
    if n_items <= n_features + 2:
        raise PairscoreError(f"n_items is {n_items} but must exceed n_features + 2 = {n_features + 2} for the covariance to exist; give more items.")
    return bound_at(_checked(s), tradeoff)


def bound_at(s: Setting, tradeoff: str = "paper") -> Bound:
    """The bound of a setting whose sizes are logarithms."""
    if tradeoff not in ("paper", "best"):
        raise PairscoreError(f"tradeoff is {tradeoff!r}; use 'paper' or 'best'.")
    t = paper_tradeoffs(s) if tradeoff == "paper" else best_tradeoffs(s)
    return Bound({name: term(s, t) for name, term in TERMS.items()}, side_conditions(s, t), t)


def simplified_log_bound(n_items: float, n_features: int, min_eigenvalue: float, epsilon: float, *, c2: float = 44.0, c3: float = 2304.0) -> float:
    """Logarithm of Theorem 1 as it is printed: c2 N max{(sqrt(6 log N)/N)^d, exp(-N eps^2 lambda_d / (c3 d log N))}.

    It leaves out M and the covariance, and is no bound before log N > 18432 (docs/theory.md says what
    else it needs). c2 = 44 adds up the prefactors of the five terms it stands for, c3 is that of the last one left.
    """
    s = _checked(Setting(_log_size("n_items", n_items), 0.0, n_features, min_eigenvalue, max(1.0, min_eigenvalue), epsilon, c2, c3, 1.0))
    tail = n_features * (0.5 * math.log(6 * s.log_n) - s.log_n)
    average = -_exp(s.log_n + 2 * math.log(epsilon) + math.log(min_eigenvalue / (c3 * n_features * s.log_n)))
    return math.log(c2) + s.log_n + max(tail, average)


def log_paper_comparisons(log_n: float, n_features: int, min_eigenvalue: float, epsilon: float) -> float:
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
    """The smallest log N at which the bound is below 1, given ``comparisons`` times as many comparisons as the theorem asks for."""
    if not comparisons > 0:
        raise PairscoreError(f"comparisons is {comparisons}; give a positive multiple of d N log^3 N / (epsilon^2 lambda_d).")
    base = _checked(Setting(1.0, 1.0, n_features, min_eigenvalue, max_eigenvalue, epsilon, c2, c3, c4))

    def vacuous(log_n: float) -> bool:
        log_m = log_paper_comparisons(log_n, n_features, min_eigenvalue, epsilon) + math.log(comparisons)
        return bound_at(replace(base, log_n=log_n, log_m=log_m), tradeoff).vacuous

    low = math.log(n_features + 3)
    high = 2 * low
    while vacuous(high) and high < 1e6:
        low, high = high, 2 * high
    if vacuous(high):
        raise PairscoreError(f"the bound stays at 1 up to log N = {high:.3g}; a side condition on epsilon = {epsilon} cannot hold, so give a smaller one.")
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
    positive = {"min_eigenvalue": s.min_eigenvalue, "max_eigenvalue": s.max_eigenvalue, "epsilon": s.epsilon, "c2": s.c2, "c4": s.c4}
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise PairscoreError(f"{name} is {value}; give a positive number.")
    if not (math.isfinite(s.c3) and s.c3 >= 0):
        raise PairscoreError(f"c3 is {s.c3}; give a number of at least 0.")
    if s.max_eigenvalue < s.min_eigenvalue:
        raise PairscoreError(f"max_eigenvalue is {s.max_eigenvalue}, below min_eigenvalue = {s.min_eigenvalue}; give the largest eigenvalue of the covariance.")
    return s
