"""The ten terms of Theorem 1's bound and its side conditions, as natural logarithms.

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
from dataclasses import dataclass

import numpy as np

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
