"""Chances beside item effects, as steep as held-out comparisons say.

Beside effects, the chance of a comparison is an average over a normal law of what is not known of
its items. Effects of real items are not normal, votes may be majorities of several, and fits look
surer of what they have seen. So the log odds of every chance are multiplied by a factor that was
estimated on comparisons that the fit had not seen: one factor for pairs of known items, one for
pairs with one new item, one for pairs of two (:mod:`pairscore.effects.held_out_items`).

What a context column has of the items is an effect of theirs, which nobody knows of a new one. As
far as the column of a comparison tells of it, it is put back: ``shift`` per unit of the column.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.ties import OutcomeLaw

KINDS = ("known", "one new", "two new")  # pairs, by how many of the two items are new
# standard deviation of the logarithm of a factor: a prior, which decides where tests are few
PRIOR_SD = 0.25
PRIOR_SHIFT = 1.0  # the same of a shift times the size of its column
LARGEST_FACTOR = 5.0
MOST_TESTED = 200_000  # comparisons, evenly spaced, that a factor is estimated from
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Calibration:
    """Factors of log odds and shifts by context, for each of the three KINDS of pairs.

    ``shift`` has a row for each kind and a column for each effect of context, then of the common
    side if there is one; it is empty without any. ``coin_share`` of the comparisons are taken for
    coin tosses, so that no chance is 0 or 1: of n comparisons 2 / (n + 2), by which even the next
    one after n that all agreed disagrees in one of n + 2 (Laplace's rule of succession).
    ``n_tested`` comparisons of each kind were held out.
    """

    factor: tuple[float, float, float] = (1.0, 1.0, 1.0)
    shift: tuple[tuple[float, ...], ...] = field(default=((), (), ()))
    coin_share: float = 0.0
    n_tested: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Calibration":
        """From what a file holds."""
        lists = {name: tuple(record[name]) for name in ("factor", "n_tested")}
        shift = tuple(tuple(row) for row in record["shift"])
        return cls(**lists, shift=shift, coin_share=float(record["coin_share"]))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        shift = [list(row) for row in self.shift]
        lists = {"factor": list(self.factor), "n_tested": list(self.n_tested), "shift": shift}
        return lists | {"coin_share": self.coin_share}

    def of_context(self, n_new: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """What is put back of the items for columns (M x e), by how many items are new (M)."""
        shift = np.array(self.shift)
        if not shift.size:
            return np.zeros(len(n_new))
        return np.asarray(np.einsum("me,me->m", columns, shift[n_new]))

    def probabilities(
        self, loss: np.ndarray, tie: np.ndarray, win: np.ndarray, n_new: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a loss, a tie and a win, from those of a model; ties stay as likely as they are."""
        factor = np.array(self.factor)[n_new]
        odds = np.log(np.maximum(win, TINY)) - np.log(np.maximum(loss, TINY))
        decided = win + loss
        share = self.coin_share
        chance = (1 - share) * expit(factor * odds) + share / 2
        against = (1 - share) * expit(-factor * odds) + share / 2
        return decided * against, tie, decided * chance


@dataclass(frozen=True)
class HeldOutChances:
    """Comparisons (M) of one kind, as a fit predicts them that has not seen them.

    ``eta`` and ``sd`` are those of the score difference, ``columns`` (M x e) what may be put back
    of context, ``outcome`` (1, 0, -1) and ``amount`` what was seen, and ``first`` and ``second``
    number the two items, or their groups. Only decided comparisons are looked at.
    """

    eta: np.ndarray
    sd: np.ndarray
    columns: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def decided(self) -> "HeldOutChances":
        """Those without ties whose difference is known."""
        used = np.flatnonzero((self.outcome != 0) & (self.amount > 0) & np.isfinite(self.eta))
        return self.take(used)

    def take(self, rows: Any) -> "HeldOutChances":
        """Some of the comparisons."""
        return HeldOutChances(**{name: column[rows] for name, column in vars(self).items()})

    def odds_for_winner(self, law: OutcomeLaw, shift: np.ndarray) -> np.ndarray:
        """Log odds of what was seen (M)."""
        eta = self.eta + self.columns @ shift
        loss, _, win = averaged_probabilities(law, eta, self.sd)
        odds = np.log(np.maximum(win, TINY)) - np.log(np.maximum(loss, TINY))
        return self.outcome * odds


def fit_factor(held: HeldOutChances, law: OutcomeLaw) -> tuple[float, np.ndarray]:
    """The likeliest factor and shifts (e) under a prior around 1 and 0, by decided comparisons.

    M comparisons that share items, whose effects they share then, tell no more than
    M / :func:`design_effect` independent ones.
    """
    from scipy.optimize import minimize  # takes a tenth of a second, and predictions do without

    n_shifts = held.columns.shape[1]
    used = held.decided()
    used = used.take(slice(None, None, max(len(used.eta) // MOST_TESTED, 1)))
    if not len(used.eta):
        return 1.0, np.zeros(n_shifts)
    size = np.sqrt(np.mean(used.columns**2, axis=0))
    size = np.where(size > 0, size, 1.0)
    without = used.odds_for_winner(law, np.zeros(n_shifts))
    inflation = design_effect(used, without)

    def loss(params: np.ndarray) -> float:
        odds = used.odds_for_winner(law, params[1:] / size) if n_shifts else without
        fitted = -used.amount @ log_expit(np.exp(params[0]) * odds) / inflation
        prior = (params[0] / PRIOR_SD) ** 2 + np.sum((params[1:] / PRIOR_SHIFT) ** 2)
        return float(fitted + 0.5 * prior)

    most = float(np.log(LARGEST_FACTOR))
    bounds = [(-most, most)] + [(None, None)] * n_shifts
    found = minimize(loss, np.zeros(1 + n_shifts), method="L-BFGS-B", bounds=bounds)
    return float(np.exp(found.x[0])), found.x[1:] / size


def design_effect(held: HeldOutChances, odds: np.ndarray) -> float:
    """Variance of the score of the factor at 1 if comparisons that share an item vary together,
    over the variance if they do not; at least 1.

    ``odds`` (M) are those of the winner. Scores are summed by item, and their squares by item added
    up; what two comparisons of one pair have in common is in both, and taken off once.
    """
    score = expit(-odds) * odds
    score = score - np.average(score, weights=held.amount)
    total = held.amount * score
    n = int(max(held.first.max(), held.second.max())) + 1
    low, high = np.minimum(held.first, held.second), np.maximum(held.first, held.second)
    _, pair = np.unique(low * n + high, return_inverse=True)
    of_item = np.bincount(low, total, n)
    apart = low != high
    of_item += np.bincount(high[apart], total[apart], n)
    of_both = np.bincount(pair[apart], total[apart]) if apart.any() else np.zeros(1)
    alone = float(held.amount @ score**2)
    together = float(of_item @ of_item - of_both @ of_both)
    return max(1.0, together / alone) if alone > 0 else 1.0
