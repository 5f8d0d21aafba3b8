"""Ties: as half a win each way, or as an outcome of its own with a parameter.

    half         the likelihood of a tie is that of half a win and half a loss
    davidson     win : tie : loss = exp(eta/2) : exp(t) : exp(-eta/2), for the logit link
    rao-kupper   win f(eta - t), loss f(-eta - t), tie the rest, for any link; t >= 0

All three are log-concave in (eta, t) if the link is.

The outcome of a comparison as a number, 1 for a win, 1/2 for a tie, 0 for a loss: its mean and
variance, and averages over item effects.
"""

from dataclasses import dataclass

import numpy as np

from pairscore.core.links import Link

LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Slopes:
    """Of each comparison's log-likelihood.

    Value, derivatives in eta and t, and minus the second derivatives.
    """

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
            low, high = (
                (middle, high) if 2 * float(self.link.cdf(middle)) - 1 < share else (low, middle)
            )
        return middle

    def allowed(self, t: float) -> bool:
        """A threshold must not be negative."""
        return self.name != "rao-kupper" or t > 0

    def probabilities(self, eta: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a loss, a tie and a win of left.

        Half the ties of the rule without a parameter are wins, so none are left.
        """
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
        return {"half": self._half, "davidson": self._davidson, "rao-kupper": self._rao_kupper}[
            self.name
        ](eta, outcome, t)

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
        return Slopes(
            np.log(chosen),
            0.5 * (outcome - expected),
            tied - tie,
            0.25 * variance,
            -0.5 * expected * tie,
            tie * (1 - tie),
        )

    def _rao_kupper(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> Slopes:
        sign = np.where(outcome < 0, -1.0, 1.0)
        lower = sign * eta - t  # of the winner; of a tie, the end below
        ratio, curvature = self.link.ratio(lower), self.link.curvature(lower)
        won = Slopes(
            self.link.log_cdf(lower), sign * ratio, -ratio, curvature, -sign * curvature, curvature
        )
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
        return Slopes(
            np.log(mass),
            sign * in_eta,
            in_t,
            in_eta**2 - bend,
            sign * (in_eta * in_t - twist),
            in_t**2 - bend,
        )

    def density(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f' and f''."""
        ratio, f = self.link.ratio(x), self.link.cdf(x)
        return f * ratio, f * (ratio**2 - self.link.curvature(x))


FARTHEST = 6.0  # deviations of a normal variable to which averages go: 2e-9 is beyond
# on either side: enough for a deviation of 33, at which next to every outcome is sure
MOST_PLACES = 200
WIDEST_STEP = 0.7  # of its grid; the sum of a normal density on it is wrong by exp(-2 pi^2 / 0.7^2)


@dataclass(frozen=True)
class OutcomeLaw:
    """A rule for ties with its parameter."""

    rule: TieRule
    t: float = 0.0

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """Rises from 0 to 1 and is 1/2 at zero, like a link.

        Without a parameter of ties it is the link.
        """
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
        return (
            0.5 * (link.pdf(eta - self.t) + link.pdf(eta + self.t))
            if self.rule.has_parameter
            else link.pdf(eta)
        )

    def variance(self, eta: np.ndarray) -> np.ndarray:
        if not self.rule.has_parameter:
            return self.rule.link.cdf(eta) * self.rule.link.cdf(-eta)
        return np.maximum(self.from_half(eta) - (self.mean(eta) - 0.5) ** 2, 0.0)

    def from_half(self, eta: np.ndarray) -> np.ndarray:
        """Mean square of the outcome's distance from 1/2."""
        return 0.25 * (1 - self.rule.probabilities(eta, self.t)[1])

    def newton(
        self, eta: np.ndarray, win: np.ndarray, lose: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivative of the log-likelihood in eta, and its information.

        A row with ties of their own is one outcome, so often.
        """
        if not self.rule.has_parameter:
            score, information, _ = self.rule.link.newton(eta, win, lose)
            return score, information
        number = win + lose
        found = self.rule.slopes(eta, (win - lose) / number, self.t)
        return number * found.eta, number * found.eta_eta


def normal_grid(
    largest_sd: float, widest_step: float = WIDEST_STEP
) -> tuple[np.ndarray, np.ndarray]:
    """Places of a standard normal z with their weights, so close that functions of sd z with the
    bends of a link are averaged to 1e-6 or better.
    """
    n = int(np.ceil(min(FARTHEST * max(1 / widest_step, largest_sd), MOST_PLACES)))
    z = np.linspace(-FARTHEST, FARTHEST, 2 * n + 1)
    weight = np.exp(-0.5 * z**2)
    return z, weight / weight.sum()


def averaged_probabilities(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a loss, a tie and a win, each comparison averaged over eta + sd z."""
    total = np.zeros((3, *np.shape(eta)))
    for z, weight in zip(*normal_grid(float(np.max(sd, initial=0.0))), strict=True):
        total += weight * np.array(law.rule.probabilities(eta + sd * z, law.t))
    return total[0], total[1], total[2]


def averaged_slopes(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray
) -> Slopes:
    """The logarithm of each outcome's average probability, with its derivatives.

    Half a win each way is half the one logarithm and half the other.
    """
    if law.rule.has_parameter:
        return _of_one_outcome(law, eta, sd, outcome)
    found = _of_a_win(law, eta, sd, np.where(outcome < 0, -1.0, 1.0))
    between = np.abs(outcome) < 1
    if between.any():
        share = 0.5 * (1 + outcome[between])
        win, loss = (
            vars(_of_a_win(law, eta[between], sd[between], np.full(len(share), end)))
            for end in (1.0, -1.0)
        )
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
    return Slopes(
        np.log(mass),
        sign * ratio,
        np.zeros_like(eta),
        ratio**2 - second / mass,
        np.zeros_like(eta),
        np.zeros_like(eta),
    )


def _of_one_outcome(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray
) -> Slopes:
    """With p the probability at one place.

    p'/p of the average is the average of p'/p with weights p, and so on.
    """
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
    return Slopes(
        np.log(mass),
        of_eta,
        of_t,
        eta_eta / mass + of_eta**2,
        eta_t / mass + of_eta * of_t,
        t_t / mass + of_t**2,
    )


def averaged(link: Link, difference: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E f(d + sqrt(variance) z) for each difference with its own variance."""
    return averaged_probabilities(
        OutcomeLaw(TieRule("half", link)),
        np.asarray(difference),
        np.sqrt(np.broadcast_to(variance, np.shape(difference))),
    )[2]
