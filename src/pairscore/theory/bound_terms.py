"""The ten terms of Theorem 1's bound and its side conditions, as logarithms.

Every term is cut at what is always true (a probability of 1), so the sum holds whatever the
trade-offs are. Where the printed proof slips, the terms here are what its argument supports: see
docs/theory.md. Lemma numbers are the paper's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LOG2, LOG4, LOG8 = math.log(2), math.log(4), math.log(8)


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
        """Of |c1 beta| / N, by which pairs of an item with itself shorten the mean.

        c1 |Sigma^1/2 beta| <= E|z - z'| = 2/sqrt(pi).
        """
        return math.log(2) - 0.5 * math.log(math.pi * self.min_eigenvalue) - self.log_n

    @property
    def accuracy(self) -> float:
        """What is left of epsilon for the random error.

        A bias beyond epsilon leaves nothing, and the bound says nothing.
        """
        return self.epsilon * max(1 - exp_or_inf(self.log_bias - math.log(self.epsilon)), 1e-12)

    @property
    def log_signal(self) -> float:
        """log(epsilon^2 lambda_d)."""
        return 2 * math.log(self.accuracy) + math.log(self.min_eigenvalue)


@dataclass(frozen=True)
class Tradeoffs:
    """Logarithms of delta0.

    delta3, the lengths and deviations at which the proof cuts its events in two.
    """

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
        return (
            f"{self.name}: {'yes' if self.satisfied else 'no'} (logarithms {self.log_smaller:.6g}"
            f" and {self.log_larger:.6g})"
        )


# -- the ten terms, each the logarithm of what the appendix adds up ------------------------------------


def covariance(s: Setting, t: Tradeoffs) -> float:
    """8 exp(-c4 t^2), t the smaller slack of the two singular value conditions.

    Sigma-hat^-1 is off (Lemma 14).
    """
    slack = max(0.0, min(_slack_below(s), _slack_above(s)))
    return LOG8 - s.c4 * slack * slack


def items(s: Setting, t: Tradeoffs) -> float:
    """4 exp(-(sqrt(N eps^2 lambda_d / c2 - d) - sqrt d)^2 / 4).

    The average of W_n g_n over items is off (Lemma 13).
    """
    room = exp_or_inf(s.log_n + s.log_signal - math.log(s.c2))
    return (
        LOG4 - 0.25 * (math.sqrt(room - s.n_features) - math.sqrt(s.n_features)) ** 2
        if room > 2 * s.n_features
        else LOG4
    )


def counts(s: Setting, t: Tradeoffs) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / (1152 delta0)).

    How often items are drawn is uneven (Lemma 10).
    """
    return _uneven_counts(s, math.log(1152) + t.log_delta0)


def counts_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = delta0/d: some |W_n|^2 beyond delta0 (Lemma 10)."""
    return _long_item(s, t.log_delta0 - math.log(s.n_features))


def labels_counts(s: Setting, t: Tradeoffs) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / (4608 delta1 delta2)).

    Uneven counts again, now for the label noise (Lemma 11).
    """
    return _uneven_counts(s, math.log(4608) + t.log_delta1 + t.log_delta2)


def labels_counts_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = delta2/d: some |W_n|^2 beyond delta2 (Lemma 11)."""
    return _long_item(s, t.log_delta2 - math.log(s.n_features))


def labels_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = eps^2 lambda_d / (2304 d delta1).

    The mean |W_n| is large (Lemma 11).
    """
    return _long_item(s, s.log_signal - math.log(2304 * s.n_features) - t.log_delta1)


def labels_noise(s: Setting, t: Tradeoffs) -> float:
    """8N (1 - (1 - exp(-delta1/2))/N)^M.

    Some |Delta_n|^2 beyond delta1, by the exact moment generating function (Lemma 11).
    """
    log_share = (
        math.log(-math.expm1(-0.5 * exp_or_inf(t.log_delta1))) - s.log_n
        if t.log_delta1 > -700
        else t.log_delta1 - LOG2 - s.log_n
    )
    share = exp_or_inf(log_share)
    log_rate = math.log(-math.log1p(-share)) if share > 1e-300 else log_share
    return LOG8 + s.log_n - exp_or_inf(s.log_m + log_rate)


def partners_length(s: Setting, t: Tradeoffs) -> float:
    """4N (z e^(1-z))^(d/2), z = eps^2 lambda_d / (576 d delta3).

    The mean |W_n| is large (Lemma 12).
    """
    return _long_item(s, s.log_signal - math.log(576 * s.n_features) - t.log_delta3)


def partners_noise(s: Setting, t: Tradeoffs) -> float:
    """8N exp(-N delta3 / 2): some |z_n|^2 beyond delta3 (Lemma 12)."""
    return LOG8 + s.log_n - 0.5 * exp_or_inf(s.log_n + t.log_delta3)


Term = Callable[[Setting, Tradeoffs], float]
TERMS: dict[str, Term] = {
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


def exp_or_inf(x: float) -> float:
    """e^x, infinite where a float ends."""
    return math.exp(x) if x < 709 else math.inf


def _long_item(s: Setting, log_z: float) -> float:
    """4N (z e^(1-z))^(d/2), the chi-squared tail of N items; no claim for z <= 1."""
    return (
        LOG4
        + s.log_n
        + (0.5 * s.n_features * (log_z + 1 - exp_or_inf(log_z)) if log_z > 0 else 0.0)
    )


def _uneven_counts(s: Setting, log_divisor: float) -> float:
    """2^(N+2) exp(-eps^2 M lambda_d / divisor) = 4 exp(N (log 2 - rate)).

    One product, as the two parts may both overflow.
    """
    gain = LOG2 - exp_or_inf(s.log_signal + s.log_m - s.log_n - log_divisor)
    return LOG4 + (
        math.copysign(exp_or_inf(s.log_n + math.log(abs(gain))), gain) if gain != 0 else 0.0
    )


def _log_shift(s: Setting) -> float:
    """log a of a = lambda_d eps / (6 d sqrt(2 lambda_1)), how far an eigenvalue of Sigma^1/2
    Sigma-hat^-1 Sigma^1/2 may be from 1.
    """
    return math.log(
        s.min_eigenvalue * s.accuracy / (6 * s.n_features * math.sqrt(2 * s.max_eigenvalue))
    )


def _log_share_left(s: Setting, lost: float) -> float:
    """log((N - lost)/N)."""
    return math.log1p(-lost * math.exp(-s.log_n))


def _slack_below(s: Setting) -> float:
    """sqrt(N-1) - sqrt((N-d-2)/(1+a)) - c3 sqrt d.

    Room for the smallest singular value of N-1 normal rows.
    """
    high, low = (
        0.5 * _log_share_left(s, 1),
        0.5 * (_log_share_left(s, s.n_features + 2) - math.log1p(exp_or_inf(_log_shift(s)))),
    )
    return exp_or_inf(0.5 * s.log_n) * math.exp(low) * math.expm1(high - low) - s.c3 * math.sqrt(
        s.n_features
    )


def _slack_above(s: Setting) -> float:
    """sqrt((N-d-2)/(1-a)) - sqrt(N-1) - c3 sqrt d: room for the largest.

    None is needed once a >= 1.
    """
    shift = exp_or_inf(_log_shift(s))
    if shift >= 1:
        return math.inf
    high, low = (
        0.5 * (_log_share_left(s, s.n_features + 2) - math.log1p(-shift)),
        0.5 * _log_share_left(s, 1),
    )
    return exp_or_inf(0.5 * s.log_n) * math.exp(low) * math.expm1(high - low) - s.c3 * math.sqrt(
        s.n_features
    )


# -- side conditions -----------------------------------------------------------------------------------


def side_conditions(s: Setting, t: Tradeoffs) -> list[Condition]:
    """What must hold for the terms to be proved (the first three) or to be below 1."""
    d, log_accuracy = s.n_features, math.log(s.accuracy)
    log_d, log_shift, log_edge = (
        math.log(d),
        _log_shift(s),
        math.log(s.c3 * math.sqrt(d)) if s.c3 > 0 else -math.inf,
    )
    half_n, half_rest = (
        0.5 * (s.log_n + _log_share_left(s, 1)),
        0.5 * (s.log_n + _log_share_left(s, d + 2)),
    )
    low, high = (
        half_rest - 0.5 * math.log1p(exp_or_inf(log_shift)),
        half_rest - 0.5 * math.log1p(-exp_or_inf(log_shift)) if log_shift < 0 else math.inf,
    )
    log_log_n, log_ratio = math.log(s.log_n), s.log_n + math.log(LOG2) - s.log_signal
    return [
        Condition(
            "bias of self-pairs 2/(N sqrt(pi lambda_d)) < epsilon", s.log_bias, math.log(s.epsilon)
        ),
        Condition(
            "epsilon < 12 d^2 lambda_1", log_accuracy, math.log(12 * d * d * s.max_eigenvalue)
        ),
        Condition(
            "epsilon < 6/(lambda_1 lambda_d)",
            log_accuracy,
            math.log(6 / (s.max_eigenvalue * s.min_eigenvalue)),
        ),
        Condition(
            "sqrt((N-d-2)/(1+a)) + c3 sqrt(d) < sqrt(N-1)",
            float(np.logaddexp(low, log_edge)),
            half_n,
        ),
        Condition(
            "sqrt(N-1) + c3 sqrt(d) < sqrt((N-d-2)/(1-a))",
            float(np.logaddexp(half_n, log_edge)),
            high,
        ),
        Condition(
            "2 d c2/(epsilon^2 lambda_d) < N", math.log(2 * d * s.c2) - s.log_signal, s.log_n
        ),
        Condition("d < delta0", log_d, t.log_delta0),
        Condition(
            "1152 delta0 N log 2/(epsilon^2 lambda_d) < M",
            math.log(1152) + t.log_delta0 + log_ratio,
            s.log_m,
        ),
        Condition("d < delta2", log_d, t.log_delta2),
        Condition(
            "4608 delta1 delta2 N log 2/(epsilon^2 lambda_d) < M",
            math.log(4608) + t.log_delta1 + t.log_delta2 + log_ratio,
            s.log_m,
        ),
        Condition(
            "delta1 < epsilon^2 lambda_d/(2304 d)", t.log_delta1, s.log_signal - math.log(2304 * d)
        ),
        Condition("2 N log(N)/M < delta1", LOG2 + s.log_n + log_log_n - s.log_m, t.log_delta1),
        Condition(
            "delta3 < epsilon^2 lambda_d/(576 d)", t.log_delta3, s.log_signal - math.log(576 * d)
        ),
        Condition("2 log(N)/N < delta3", LOG2 + log_log_n - s.log_n, t.log_delta3),
    ]
