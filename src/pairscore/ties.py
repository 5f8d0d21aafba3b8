"""Ties: as half a win each way, or as an outcome of its own with a parameter.

    half         the likelihood of a tie is that of half a win and half a loss
    davidson     win : tie : loss = exp(eta/2) : exp(t) : exp(-eta/2), for the logit link
    rao-kupper   win f(eta - t), loss f(-eta - t), tie the rest, for any link; t >= 0

All three are log-concave in (eta, t) if the link is.
"""

from dataclasses import dataclass

import numpy as np

from pairscore.links import Link

LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Slopes:
    """Of each comparison's log-likelihood: value, derivatives in eta and t, and minus the second derivatives."""

    value: np.ndarray
    eta: np.ndarray
    t: np.ndarray
    eta_eta: np.ndarray
    eta_t: np.ndarray
    t_t: np.ndarray


@dataclass(frozen=True)
class TieRule:
    """A rule by its name and the link it is used with."""

    name: str
    link: Link

    @property
    def has_parameter(self) -> bool:
        return self.name != "half"

    def start(self, tie_share: float) -> float:
        """The parameter under which equal items tie about as often as all do."""
        share = min(max(tie_share, 1e-3), 0.9)
        if self.name == "davidson":
            return float(np.log(2 * share / (1 - share)))
        low, high = 0.0, 20.0
        for _ in range(60):  # f(t) - f(-t) rises with t
            middle = (low + high) / 2
            low, high = (middle, high) if 2 * float(self.link.cdf(middle)) - 1 < share else (low, middle)
        return middle

    def allowed(self, t: float) -> bool:
        """A threshold must not be negative."""
        return self.name != "rao-kupper" or t > 0

    def probabilities(self, eta: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a loss, a tie and a win of left; half the ties of the rule without a parameter are wins, so none are left."""
        if self.name == "half":
            return self.link.cdf(-eta), np.zeros_like(eta), self.link.cdf(eta)
        if self.name == "rao-kupper":
            win, loss = self.link.cdf(eta - t), self.link.cdf(-eta - t)
            return loss, np.maximum(1 - win - loss, 0.0), win
        size = np.abs(eta)  # all three over the likelier of win and loss, so that none overflows
        less, tie = np.exp(-size), np.exp(np.minimum(t - size / 2, LARGEST_EXPONENT))
        total = 1 + less + tie
        more, less = 1 / total, less / total
        return np.where(eta > 0, less, more), tie / total, np.where(eta > 0, more, less)

    def slopes(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> Slopes:
        """Log-likelihood of outcomes -1, 0, 1 with its derivatives."""
        return {"half": self._half, "davidson": self._davidson, "rao-kupper": self._rao_kupper}[self.name](eta, outcome, t)

    def _half(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> Slopes:
        win = 0.5 * (1 + outcome)
        value = win * self.link.log_cdf(eta) + (1 - win) * self.link.log_cdf(-eta)
        score, weight, _ = self.link.newton(eta, win, 1 - win)
        nothing = np.zeros_like(eta)
        return Slopes(value, score, nothing, weight, nothing, nothing)

    def _davidson(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> Slopes:
        loss, tie, win = self.probabilities(eta, t)
        expected, tied = win - loss, outcome == 0
        chosen = np.where(tied, tie, np.where(outcome > 0, win, loss))
        variance = win + loss - expected**2
        return Slopes(np.log(chosen), 0.5 * (outcome - expected), tied - tie, 0.25 * variance, -0.5 * expected * tie, tie * (1 - tie))

    def _rao_kupper(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> Slopes:
        sign = np.where(outcome < 0, -1.0, 1.0)
        lower = sign * eta - t  # of the winner; of a tie, the end below
        ratio, curvature = self.link.ratio(lower), self.link.curvature(lower)
        won = Slopes(self.link.log_cdf(lower), sign * ratio, -ratio, curvature, -sign * curvature, curvature)
        tied = outcome == 0
        if not tied.any():
            return won
        between = self._between(eta[tied], t)
        parts = {}
        for name in vars(won):
            parts[name] = getattr(won, name).copy()
            parts[name][tied] = getattr(between, name)
        return Slopes(**parts)

    def _between(self, eta: np.ndarray, t: float) -> Slopes:
        """log(f(eta + t) - f(eta - t)), whose tails are taken on the side where they are small."""
        eta_up = -np.abs(eta)
        upper, lower = eta_up + t, eta_up - t
        mass = np.maximum(self.link.cdf(upper) - self.link.cdf(lower), np.finfo(float).tiny)
        (f_up, df_up), (f_low, df_low) = (self.density(end) for end in (upper, lower))
        in_eta, in_t = (f_up - f_low) / mass, (f_up + f_low) / mass
        bend, twist = (df_up - df_low) / mass, (df_up + df_low) / mass
        sign = np.where(eta > 0, -1.0, 1.0)
        return Slopes(np.log(mass), sign * in_eta, in_t, in_eta**2 - bend, sign * (in_eta * in_t - twist), in_t**2 - bend)

    def density(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f' and f''."""
        ratio, f = self.link.ratio(x), self.link.cdf(x)
        return f * ratio, f * (ratio**2 - self.link.curvature(x))
