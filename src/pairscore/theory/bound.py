"""Theorem 1 of the paper with numbers in it: how likely is `split` to be off by epsilon or more?

    Pr(|beta-hat - c1 beta| >= epsilon) <= sum of ten terms in N, M, d, the eigenvalues of Sigma and
    four trade-offs delta0 ... delta3

N items are compared M times and N more give the covariance. Each term bounds one source of error of
`pairscore.theory.decomposition`. Everything is kept as a logarithm, because 2^N overflows at once
and the bound says something only for N with many digits: give ``n_items=10**30`` as an integer.

Each ``log_..._term(s, t)`` is the logarithm of one summand of the appendix, whose formula its
docstring gives: N and M are the numbers of items and comparisons, d that of features, lambda_1 and
lambda_d the largest and smallest eigenvalue of Sigma, eps what is left of epsilon after the bias
(:attr:`BoundSetting.accuracy`), and delta0 ... delta3 the trade-offs.

Every term is cut at what is always true (a probability of 1), so the sum holds whatever the
trade-offs are. Where the printed proof slips, the terms here are what its argument supports: see
docs/explanation/theory.md. Lemma numbers are the paper's.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from pairscore.core.roots import bisect
from pairscore.errors import PairscoreError, one_of
from pairscore.messages import Setting

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
LOG2, LOG4, LOG8 = math.log(2), math.log(4), math.log(8)
LARGEST_EXPONENT = 709  # of e, that a float can hold
LEAST_ACCURACY = 1e-12  # share of epsilon that is left where the bias takes all: it has a logarithm


@dataclass(frozen=True)
class BoundSetting:
    """The sizes of a study, N and M as logarithms, and the constants that the proof leaves open.

    N and M may be too large for a float: ``log_n=18651`` is a number of 8100 digits.
    """

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
        """Log of 2/(N sqrt(pi lambda_d)), a bound on the bias |c1 beta| / N.

        Pairs of an item with itself shorten the mean by 1/N, and c1 |Sigma^1/2 beta| <= E|z - z'| =
        2/sqrt(pi).
        """
        return math.log(2) - 0.5 * math.log(math.pi * self.min_eigenvalue) - self.log_n

    @property
    def accuracy(self) -> float:
        """What the bias leaves of epsilon for the random error; almost nothing if it is larger."""
        left = 1 - exp_or_inf(self.log_bias - math.log(self.epsilon))
        return self.epsilon * max(left, LEAST_ACCURACY)

    @property
    def log_signal(self) -> float:
        """log(epsilon^2 lambda_d)."""
        return 2 * math.log(self.accuracy) + math.log(self.min_eigenvalue)


@dataclass(frozen=True)
class Tradeoffs:
    """Logarithms of delta0 ... delta3, where the proof cuts its events in two."""

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
        return exp_or_inf(self.log_smaller)

    @property
    def larger(self) -> float:
        return exp_or_inf(self.log_larger)

    def __str__(self) -> str:
        answer = "yes" if self.satisfied else "no"
        logs = f"logarithms {self.log_smaller:.6g} and {self.log_larger:.6g}"
        return f"{self.name}: {answer} ({logs})"


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
            Setting("n_items")
            + f" is {n_items} but must exceed the number of features + 2 = {n_features + 2} for the"
            " covariance to exist",
            "give more items",
        )
    return bound_at(_checked(s), tradeoff)


def bound_at(s: BoundSetting, tradeoff: str = "paper") -> Bound:
    """The bound of a setting whose sizes are logarithms."""
    one_of(tradeoff, "tradeoff", ("paper", "best"))
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
            Setting("comparisons") + f" is {comparisons}",
            "give a positive multiple of d N log^3 N / (epsilon^2 lambda_d)",
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
                f"the bound stays at 1 up to log N = {high:.3g}",
                [
                    "use " + Setting("tradeoff", "best"),
                    "use more comparisons",
                    f"use an epsilon below {epsilon}",
                ],
            )
        low, high = high, 2 * high
    return bisect(vacuous, low, high, rtol=1e-6)[1]


# -- trade-offs --------------------------------------------------------------------------------


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


# -- arguments ---------------------------------------------------------------------------------


def _log_size(name: str, size: float) -> float:
    """Logarithm of a number of things; Python's integers may be too large for a float."""
    if not (isinstance(size, (int, np.integer)) or math.isfinite(size)) or size < 1:
        raise PairscoreError(Setting(name) + f" is {size}", "give a number of at least 1")
    return math.log(size)


def _checked(s: BoundSetting) -> BoundSetting:
    """A setting whose numbers make sense, or one sentence about the first that does not."""
    if s.n_features < 1 or s.n_features != int(s.n_features):
        raise PairscoreError(
            Setting("n_features") + f" is {s.n_features}", "give a whole number of at least 1"
        )
    for name in ("min_eigenvalue", "max_eigenvalue", "epsilon", "c2", "c4"):
        value = getattr(s, name)
        if not (math.isfinite(value) and value > 0):
            raise PairscoreError(Setting(name) + f" is {value}", "give a positive number")
    if not (math.isfinite(s.c3) and s.c3 >= 0):
        raise PairscoreError(Setting("c3") + f" is {s.c3}", "give a number of at least 0")
    if s.max_eigenvalue < s.min_eigenvalue:
        raise PairscoreError(
            Setting("max_eigenvalue")
            + f" is {s.max_eigenvalue}, below "
            + Setting("min_eigenvalue", s.min_eigenvalue),
            "give the largest eigenvalue of the covariance",
        )
    return s


# -- the ten terms -----------------------------------------------------------------------------


def log_covariance_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Sigma-hat^-1 is off (Lemma 14): 8 exp(-c4 t^2), t the smaller slack of the two conditions on
    singular values.
    """
    slack = max(0.0, min(_slack_below(s), _slack_above(s)))
    return LOG8 - s.c4 * slack * slack


def log_items_term(s: BoundSetting, t: Tradeoffs) -> float:
    """The average of W_n g_n over items is off (Lemma 13): 4 exp(-(sqrt(N eps^2 lambda_d / c2 - d)
    - sqrt d)^2 / 4).
    """
    d = s.n_features
    room = exp_or_inf(s.log_n + s.log_signal - math.log(s.c2))
    if room <= 2 * d:
        return LOG4
    return LOG4 - 0.25 * (math.sqrt(room - d) - math.sqrt(d)) ** 2


def log_counts_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Items are drawn unevenly (Lemma 10): 2^(N+2) exp(-eps^2 M lambda_d / (1152 delta0))."""
    return _uneven_counts(s, math.log(1152) + t.log_delta0)


def log_counts_length_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Some |W_n|^2 exceeds delta0 (Lemma 10): 4N (z e^(1-z))^(d/2), z = delta0/d."""
    return _long_item(s, t.log_delta0 - math.log(s.n_features))


def log_labels_counts_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Items are drawn unevenly, for the label noise (Lemma 11): 2^(N+2) exp(-eps^2 M lambda_d /
    (4608 delta1 delta2)).
    """
    return _uneven_counts(s, math.log(4608) + t.log_delta1 + t.log_delta2)


def log_labels_counts_length_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Some |W_n|^2 exceeds delta2 (Lemma 11): 4N (z e^(1-z))^(d/2), z = delta2/d."""
    return _long_item(s, t.log_delta2 - math.log(s.n_features))


def log_labels_length_term(s: BoundSetting, t: Tradeoffs) -> float:
    """The mean |W_n| is large, for the label noise (Lemma 11): 4N (z e^(1-z))^(d/2), z = eps^2
    lambda_d / (2304 d delta1).
    """
    return _long_item(s, s.log_signal - math.log(2304 * s.n_features) - t.log_delta1)


def log_labels_noise_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Some |Delta_n|^2 exceeds delta1 (Lemma 11): 8N (1 - (1 - exp(-delta1/2))/N)^M, the exact
    moment generating function.
    """
    log_share = t.log_delta1 - LOG2 - s.log_n  # its limit for a delta1 that a float cannot hold
    if t.log_delta1 > -700:
        log_share = math.log(-math.expm1(-0.5 * exp_or_inf(t.log_delta1))) - s.log_n
    share = exp_or_inf(log_share)
    log_rate = math.log(-math.log1p(-share)) if share > 1e-300 else log_share
    return LOG8 + s.log_n - exp_or_inf(s.log_m + log_rate)


def log_partners_length_term(s: BoundSetting, t: Tradeoffs) -> float:
    """The mean |W_n| is large, for the partners (Lemma 12): 4N (z e^(1-z))^(d/2), z = eps^2
    lambda_d / (576 d delta3).
    """
    return _long_item(s, s.log_signal - math.log(576 * s.n_features) - t.log_delta3)


def log_partners_noise_term(s: BoundSetting, t: Tradeoffs) -> float:
    """Some |z_n|^2 exceeds delta3 (Lemma 12): 8N exp(-N delta3 / 2)."""
    return LOG8 + s.log_n - 0.5 * exp_or_inf(s.log_n + t.log_delta3)


Term = Callable[[BoundSetting, Tradeoffs], float]


TERMS: dict[str, Term] = {
    "covariance": log_covariance_term,
    "items": log_items_term,
    "counts": log_counts_term,
    "counts_length": log_counts_length_term,
    "labels_counts": log_labels_counts_term,
    "labels_counts_length": log_labels_counts_length_term,
    "labels_length": log_labels_length_term,
    "labels_noise": log_labels_noise_term,
    "partners_length": log_partners_length_term,
    "partners_noise": log_partners_noise_term,
}


def exp_or_inf(x: float) -> float:
    """e^x, infinite where a float ends."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


def log_sum(logs: Iterable[float]) -> float:
    """log of a sum whose parts are given as logarithms, infinite ones included."""
    return float(np.logaddexp.reduce(list(logs)))


def _long_item(s: BoundSetting, log_z: float) -> float:
    """4N (z e^(1-z))^(d/2), the chi-squared tail of N items; no claim for z <= 1."""
    tail = 0.5 * s.n_features * (log_z + 1 - exp_or_inf(log_z)) if log_z > 0 else 0.0
    return LOG4 + s.log_n + tail


def _uneven_counts(s: BoundSetting, log_divisor: float) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / divisor) = 4 exp(N (log 2 - rate)).

    One product, as the two parts may both overflow.
    """
    gain = LOG2 - exp_or_inf(s.log_signal + s.log_m - s.log_n - log_divisor)
    size = exp_or_inf(s.log_n + math.log(abs(gain))) if gain != 0 else 0.0
    return LOG4 + math.copysign(size, gain)


def _log_shift(s: BoundSetting) -> float:
    """log a of a = lambda_d eps / (6 d sqrt(2 lambda_1)), how far an eigenvalue of Sigma^1/2
    Sigma-hat^-1 Sigma^1/2 may be from 1.
    """
    edge = 6 * s.n_features * math.sqrt(2 * s.max_eigenvalue)
    return math.log(s.min_eigenvalue * s.accuracy / edge)


def _log_share_left(s: BoundSetting, lost: float) -> float:
    """log((N - lost)/N)."""
    return math.log1p(-lost * math.exp(-s.log_n))


def _slack_below(s: BoundSetting) -> float:
    """sqrt(N-1) - sqrt((N-d-2)/(1+a)) - c3 sqrt d.

    Room for the smallest singular value of N-1 normal rows.
    """
    low = _log_share_left(s, s.n_features + 2) - math.log1p(exp_or_inf(_log_shift(s)))
    return _slack(s, low, _log_share_left(s, 1))


def _slack_above(s: BoundSetting) -> float:
    """sqrt((N-d-2)/(1-a)) - sqrt(N-1) - c3 sqrt d: room for the largest.

    None is needed once a >= 1.
    """
    shift = exp_or_inf(_log_shift(s))
    if shift >= 1:
        return math.inf
    high = _log_share_left(s, s.n_features + 2) - math.log1p(-shift)
    return _slack(s, _log_share_left(s, 1), high)


def _slack(s: BoundSetting, low: float, high: float) -> float:
    """sqrt(N e^high) - sqrt(N e^low) - c3 sqrt d without cancellation."""
    room = exp_or_inf(0.5 * s.log_n) * math.exp(0.5 * low) * math.expm1(0.5 * high - 0.5 * low)
    return room - s.c3 * math.sqrt(s.n_features)


# -- side conditions ---------------------------------------------------------------------------


def side_conditions(s: BoundSetting, t: Tradeoffs) -> list[Condition]:
    """What must hold for the terms to be proved (the first three) or to be below 1."""
    conditions = _size_conditions(s) | _tradeoff_conditions(s, t)
    return [Condition(name, *logs) for name, logs in conditions.items()]


def _size_conditions(s: BoundSetting) -> dict[str, tuple[float, float]]:
    """Logarithms of both sides of what does not depend on the trade-offs; a as in _log_shift."""
    d = s.n_features
    log_accuracy = math.log(s.accuracy)
    shift = exp_or_inf(_log_shift(s))
    log_edge = math.log(s.c3 * math.sqrt(d)) if s.c3 > 0 else -math.inf
    root_n = 0.5 * (s.log_n + _log_share_left(s, 1))  # logarithms of sqrt(N-1), sqrt(N-d-2)
    root_rest = 0.5 * (s.log_n + _log_share_left(s, d + 2))
    low = root_rest - 0.5 * math.log1p(shift)
    high = root_rest - 0.5 * math.log1p(-shift) if shift < 1 else math.inf
    product = s.max_eigenvalue * s.min_eigenvalue
    return {
        "bias of self-pairs 2/(N sqrt(pi lambda_d)) < epsilon": (s.log_bias, math.log(s.epsilon)),
        "epsilon < 12 d^2 lambda_1": (log_accuracy, math.log(12 * d * d * s.max_eigenvalue)),
        "epsilon < 6/(lambda_1 lambda_d)": (log_accuracy, math.log(6 / product)),
        "sqrt((N-d-2)/(1+a)) + c3 sqrt(d) < sqrt(N-1)": (log_sum((low, log_edge)), root_n),
        "sqrt(N-1) + c3 sqrt(d) < sqrt((N-d-2)/(1-a))": (log_sum((root_n, log_edge)), high),
        "2 d c2/(epsilon^2 lambda_d) < N": (math.log(2 * d * s.c2) - s.log_signal, s.log_n),
    }


def _tradeoff_conditions(s: BoundSetting, t: Tradeoffs) -> dict[str, tuple[float, float]]:
    """Logarithms of both sides of what keeps each term below 1."""
    d = s.n_features
    log_d = math.log(d)
    log_log_n = math.log(s.log_n)
    log_ratio = s.log_n + math.log(LOG2) - s.log_signal
    counts = math.log(1152) + t.log_delta0 + log_ratio
    labels = math.log(4608) + t.log_delta1 + t.log_delta2 + log_ratio
    return {
        "d < delta0": (log_d, t.log_delta0),
        "1152 delta0 N log 2/(epsilon^2 lambda_d) < M": (counts, s.log_m),
        "d < delta2": (log_d, t.log_delta2),
        "4608 delta1 delta2 N log 2/(epsilon^2 lambda_d) < M": (labels, s.log_m),
        "delta1 < epsilon^2 lambda_d/(2304 d)": (t.log_delta1, s.log_signal - math.log(2304 * d)),
        "2 N log(N)/M < delta1": (LOG2 + s.log_n + log_log_n - s.log_m, t.log_delta1),
        "delta3 < epsilon^2 lambda_d/(576 d)": (t.log_delta3, s.log_signal - math.log(576 * d)),
        "2 log(N)/N < delta3": (LOG2 + log_log_n - s.log_n, t.log_delta3),
    }
