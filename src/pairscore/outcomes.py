"""The outcome of a comparison as a number, 1 for a win, 1/2 for a tie, 0 for a loss: its mean and variance, and averages over item effects."""

from dataclasses import dataclass

import numpy as np

from pairscore.links import Link
from pairscore.ties import Slopes, TieRule

FARTHEST = 6.0  # deviations of a normal variable to which averages go: 2e-9 is beyond
MOST_PLACES = 200  # on either side: enough for a deviation of 33, at which next to every outcome is sure
WIDEST_STEP = 0.7  # of its grid; the sum of a normal density on it is wrong by exp(-2 pi^2 / 0.7^2)


@dataclass(frozen=True)
class OutcomeLaw:
    """A rule for ties with its parameter."""

    rule: TieRule
    t: float = 0.0

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """Rises from 0 to 1 and is 1/2 at zero, like a link: without a parameter of ties it is the link."""
        if not self.rule.has_parameter:
            return self.rule.link.cdf(eta)
        loss, _, win = self.rule.probabilities(eta, self.t)
        return 0.5 * (1 + win - loss)

    def win_chance(self, eta: np.ndarray) -> np.ndarray:
        """Probability that left wins, of comparisons that do not end in a tie."""
        loss, _, win = self.rule.probabilities(eta, self.t)
        return win / (win + loss)

    def share_flipped(self, size: np.ndarray, weight: np.ndarray) -> float:
        """Share of decided comparisons, at differences of these sizes, that go the wrong way."""
        if not self.rule.has_parameter:
            return float(np.vdot(weight, self.rule.link.cdf(-size)) / np.sum(weight))
        loss, _, win = self.rule.probabilities(size, self.t)
        return float(np.vdot(weight, loss) / np.vdot(weight, loss + win))

    def rise(self, eta: np.ndarray) -> np.ndarray:
        """Derivative of the mean."""
        link = self.rule.link
        if self.rule.name == "davidson":
            return self.variance(eta)
        return 0.5 * (link.pdf(eta - self.t) + link.pdf(eta + self.t)) if self.rule.has_parameter else link.pdf(eta)

    def variance(self, eta: np.ndarray) -> np.ndarray:
        if not self.rule.has_parameter:
            return self.rule.link.cdf(eta) * self.rule.link.cdf(-eta)
        return np.maximum(self.from_half(eta) - (self.mean(eta) - 0.5) ** 2, 0.0)

    def from_half(self, eta: np.ndarray) -> np.ndarray:
        """Mean square of the outcome's distance from 1/2."""
        return 0.25 * (1 - self.rule.probabilities(eta, self.t)[1])

    def newton(self, eta: np.ndarray, win: np.ndarray, lose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivative of the log-likelihood in eta, and its information; a row with ties of their own is one outcome, so often."""
        if not self.rule.has_parameter:
            score, information, _ = self.rule.link.newton(eta, win, lose)
            return score, information
        number = win + lose
        found = self.rule.slopes(eta, (win - lose) / number, self.t)
        return number * found.eta, number * found.eta_eta


def normal_grid(largest_sd: float, widest_step: float = WIDEST_STEP) -> tuple[np.ndarray, np.ndarray]:
    """Places of a standard normal z with their weights, so close that functions of sd z with the bends of a link are averaged to 1e-6 or better."""
    n = int(np.ceil(min(FARTHEST * max(1 / widest_step, largest_sd), MOST_PLACES)))
    z = np.linspace(-FARTHEST, FARTHEST, 2 * n + 1)
    weight = np.exp(-0.5 * z**2)
    return z, weight / weight.sum()


def averaged_probabilities(law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a loss, a tie and a win, each comparison averaged over eta + sd z."""
    total = np.zeros((3, *np.shape(eta)))
    for z, weight in zip(*normal_grid(float(np.max(sd, initial=0.0))), strict=True):
        total += weight * np.array(law.rule.probabilities(eta + sd * z, law.t))
    return total[0], total[1], total[2]


def averaged_slopes(law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray) -> Slopes:
    """The logarithm of each outcome's average probability, with its derivatives; half a win each way is half the one logarithm and half the other."""
    if law.rule.has_parameter:
        return _of_one_outcome(law, eta, sd, outcome)
    found = _of_a_win(law, eta, sd, np.where(outcome < 0, -1.0, 1.0))
    between = np.abs(outcome) < 1
    if between.any():
        share = 0.5 * (1 + outcome[between])
        win, loss = (vars(_of_a_win(law, eta[between], sd[between], np.full(len(share), end))) for end in (1.0, -1.0))
        for name, part in vars(found).items():
            part[between] = share * win[name] + (1 - share) * loss[name]
    return found


def _of_a_win(law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, sign: np.ndarray) -> Slopes:
    """Of a win of left (sign 1) or right (-1), without ties: the averages of f, f' and f''."""
    mass, first, second = np.zeros((3, len(eta)))
    for z, weight in zip(*normal_grid(float(np.max(sd, initial=0.0))), strict=True):
        at = sign * eta + sd * z
        density, bend = law.rule.density(at)
        mass += weight * law.rule.link.cdf(at)
        first += weight * density
        second += weight * bend
    mass = np.maximum(mass, np.finfo(float).tiny)
    ratio = first / mass
    return Slopes(np.log(mass), sign * ratio, np.zeros_like(eta), ratio**2 - second / mass, np.zeros_like(eta), np.zeros_like(eta))


def _of_one_outcome(law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray) -> Slopes:
    """With p the probability at one place: p'/p of the average is the average of p'/p with weights p, and so on."""
    mass, of_eta, of_t, eta_eta, eta_t, t_t = np.zeros((6, len(eta)))
    for z, weight in zip(*normal_grid(float(np.max(sd, initial=0.0))), strict=True):
        here = law.rule.slopes(eta + sd * z, outcome, law.t)
        p = weight * np.exp(here.value)
        mass += p
        of_eta += p * here.eta
        of_t += p * here.t
        eta_eta += p * (here.eta_eta - here.eta**2)
        eta_t += p * (here.eta_t - here.eta * here.t)
        t_t += p * (here.t_t - here.t**2)
    mass = np.maximum(mass, np.finfo(float).tiny)
    of_eta, of_t = of_eta / mass, of_t / mass
    return Slopes(np.log(mass), of_eta, of_t, eta_eta / mass + of_eta**2, eta_t / mass + of_eta * of_t, t_t / mass + of_t**2)


def averaged(link: Link, difference: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E f(d + sqrt(variance) z) for each difference with its own variance."""
    return averaged_probabilities(OutcomeLaw(TieRule("half", link)), np.asarray(difference), np.sqrt(np.broadcast_to(variance, np.shape(difference))))[2]
