"""Win, tie or loss: four rules for ties, and averages over a normal item effect.

With eta the difference of scores and t the parameter of ties,

    half         a tie is half a win and half a loss; no parameter
    drop         only decided comparisons are looked at; no parameter
    davidson     win : tie : loss = exp(eta/2) : exp(t) : exp(-eta/2), for the logit link
    rao-kupper   win f(eta - t), loss f(-eta - t), tie the rest, for any link; t >= 0

(Davidson 1970, with nu = exp(t); Rao and Kupper 1967, with theta = exp(t) under logit.) All are
log-concave in (eta, t) if the link is.

Half wins pull a fit towards equal chances, and ties need not come about as a rule says. So the
chances of comparisons that are decided are those at scale * eta, with a scale found in these
(:mod:`pairscore.core.decided`).

As a number an outcome is 1 for a win of left, 1/2 for a tie, 0 for a loss: :class:`OutcomeLaw` has
its mean and variance. Where the score of an item has a normal effect beside its features, eta is
eta + sd z with z standard normal, and probabilities are averaged over z.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pairscore.core.links import Link, Probit

LARGEST_EXPONENT = 700.0
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class OutcomeDerivatives:
    """Of each comparison's log-likelihood, all arrays (M): ``value``, and its derivatives.

    ``eta`` and ``t`` are the first derivatives; ``eta_eta``, ``eta_t`` and ``t_t`` are minus the
    second ones, so that they are information.
    """

    value: np.ndarray
    eta: np.ndarray
    t: np.ndarray
    eta_eta: np.ndarray
    eta_t: np.ndarray
    t_t: np.ndarray


@dataclass(frozen=True)
class TieRule:
    """A rule for ties, one of ``choices.TIE_RULES``, with the link it is used with."""

    name: str
    link: Link

    @property
    def has_parameter(self) -> bool:
        return self.name in ("davidson", "rao-kupper")

    def start(self, tie_share: float) -> float:
        """The parameter under which equal items tie about as often as all do."""
        share = min(max(tie_share, 1e-3), 0.9)
        if self.name == "davidson":
            return float(np.log(2 * share / (1 - share)))
        low, high = 0.0, 20.0
        for _ in range(60):  # f(t) - f(-t) rises with t
            middle = (low + high) / 2
            too_low = 2 * float(self.link.cdf(middle)) - 1 < share
            low, high = (middle, high) if too_low else (low, middle)
        return middle

    def allowed(self, t: float) -> bool:
        """Whether t is in its range: the threshold of Rao and Kupper is positive."""
        return self.name != "rao-kupper" or t > 0

    def probabilities(self, eta: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a loss, a tie and a win of left, each in the shape of ``eta``.

        Without a parameter, ties are counted as wins and losses or not at all, so their
        probability is zero.
        """
        if not self.has_parameter:
            return self.link.cdf(-eta), np.zeros_like(eta), self.link.cdf(eta)
        if self.name == "rao-kupper":
            win, loss = self.link.cdf(eta - t), self.link.cdf(-eta - t)
            return loss, np.maximum(1 - win - loss, 0.0), win
        size = np.abs(eta)  # all three over the likelier of win and loss, so that none overflows
        less, tie = np.exp(-size), np.exp(np.minimum(t - size / 2, LARGEST_EXPONENT))
        total = 1 + less + tie
        more, less = 1 / total, less / total
        return np.where(eta > 0, less, more), tie / total, np.where(eta > 0, more, less)

    def decided(self, eta: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Probability that left wins a comparison that is not tied, and its derivative in eta."""
        if self.name != "rao-kupper":  # under logit, Davidson's odds of win and loss are exp(eta)
            return self.link.cdf(eta), self.link.pdf(eta)
        win, loss = self.link.cdf(eta - t), self.link.cdf(-eta - t)
        total = np.maximum(win + loss, TINY)
        rise = loss * self.link.pdf(eta - t) + win * self.link.pdf(-eta - t)
        return win / total, rise / total**2

    def derivatives(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> OutcomeDerivatives:
        """Log-likelihood of outcomes -1 (right won), 0 (tie) and 1 (left won), and derivatives."""
        rules = {"davidson": self._davidson, "rao-kupper": self._rao_kupper}
        return rules.get(self.name, self._half)(eta, outcome, t)

    def _half(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> OutcomeDerivatives:
        win = 0.5 * (1 + outcome)
        value = win * self.link.log_cdf(eta) + (1 - win) * self.link.log_cdf(-eta)
        score, weight, _ = self.link.newton(eta, win, 1 - win)
        zero = np.zeros_like(eta)
        return OutcomeDerivatives(value, score, zero, weight, zero, zero)

    def _davidson(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> OutcomeDerivatives:
        loss, tie, win = self.probabilities(eta, t)
        expected, tied = win - loss, outcome == 0
        chosen = np.where(tied, tie, np.where(outcome > 0, win, loss))
        variance = win + loss - expected**2
        return OutcomeDerivatives(
            value=np.log(np.maximum(chosen, TINY)),
            eta=0.5 * (outcome - expected),
            t=tied - tie,
            eta_eta=0.25 * variance,
            eta_t=-0.5 * expected * tie,
            t_t=tie * (1 - tie),
        )

    def _rao_kupper(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> OutcomeDerivatives:
        sign = np.where(outcome < 0, -1.0, 1.0)
        lower = sign * eta - t  # of the winner; of a tie, the end below
        ratio, curvature = self.link.ratio(lower), self.link.curvature(lower)
        won = OutcomeDerivatives(
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
        return OutcomeDerivatives(**parts)

    def _between(self, eta: np.ndarray, t: float) -> OutcomeDerivatives:
        """log(f(eta + t) - f(eta - t)) of a tie, with tails on the side where they are small."""
        upper, lower = t - np.abs(eta), -t - np.abs(eta)
        # so large that squares of what is divided by it are finite
        mass = np.maximum(self.link.cdf(upper) - self.link.cdf(lower), np.sqrt(TINY))
        (f_up, df_up), (f_low, df_low) = (self.densities(end) for end in (upper, lower))
        in_eta, in_t = (f_up - f_low) / mass, (f_up + f_low) / mass
        in_eta_eta, in_eta_t = (df_up - df_low) / mass, (df_up + df_low) / mass
        sign = np.where(eta > 0, -1.0, 1.0)
        return OutcomeDerivatives(
            value=np.log(mass),
            eta=sign * in_eta,
            t=in_t,
            eta_eta=in_eta**2 - in_eta_eta,
            eta_t=sign * (in_eta * in_t - in_eta_t),
            t_t=in_t**2 - in_eta_eta,
        )

    def densities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f' and f'' of the link."""
        ratio, f = self.link.ratio(x), self.link.cdf(x)
        return f * ratio, f * (ratio**2 - self.link.curvature(x))


LARGEST_Z = 6.0  # of a standard normal variable in averages: 2e-9 is beyond
# nodes on either side: enough for a deviation of 33, at which almost every outcome is sure
MAX_NODES = 200
# up to which sd how many nodes of Gauss and Hermite are enough (1e-6), none for zero
SD_CLASSES = np.array([0.0, 0.15, 0.25, 0.5, 0.75, 1.0, 1.4, 2.5, 5.0, 10.0, 20.0])
HERMITE_NODES = (3, 5, 7, 11, 15, 23)
BLOCK = 8192  # rows that are averaged at a time, so that they stay in the processor's cache
WIDEST_STEP = 0.7  # between nodes; a normal density sums to one but for exp(-2 pi^2 / 0.7^2)


@dataclass(frozen=True)
class OutcomeLaw:
    """The outcome of a comparison as a number (1, 1/2, 0), under a rule for ties with parameter t.

    All methods take differences of scores ``eta`` of any shape. ``scale`` is that of decided
    comparisons; what is said of all comparisons does not depend on it.
    """

    rule: TieRule
    t: float = 0.0
    scale: float = 1.0

    def probabilities(self, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a loss, a tie and a win of left; without a parameter, of decided comparisons.

        The tie is the rule's, and the rest is shared out as at ``scale * eta``.
        """
        loss, tie, win = self.rule.probabilities(self.scale * eta, self.t)
        if self.scale == 1 or not self.rule.has_parameter:
            return loss, tie, win
        tie, decided = self.rule.probabilities(eta, self.t)[1], np.maximum(loss + win, TINY)
        return (1 - tie) * loss / decided, tie, (1 - tie) * win / decided

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """P(win) + P(tie)/2: rises from 0 to 1 and is 1/2 at zero, like a link.

        Under the rule "half" it is the link.
        """
        if not self.rule.has_parameter:
            return self.rule.link.cdf(eta)
        loss, _, win = self.rule.probabilities(eta, self.t)
        return 0.5 * (1 + win - loss)

    def win_chance(self, eta: np.ndarray) -> np.ndarray:
        """Probability that left wins, of comparisons that do not end in a tie."""
        loss, _, win = self.probabilities(eta)
        return win / (win + loss)

    def share_flipped(self, size: np.ndarray, weight: np.ndarray) -> float:
        """Share of decided comparisons, at differences of these sizes, that go the wrong way."""
        loss, _, win = self.probabilities(size)
        return float(np.vdot(weight, loss) / np.vdot(weight, loss + win))

    def rise(self, eta: np.ndarray) -> np.ndarray:
        """Derivative of the mean."""
        link = self.rule.link
        if self.rule.name == "davidson":
            return self.variance(eta)
        if not self.rule.has_parameter:
            return link.pdf(eta)
        return 0.5 * (link.pdf(eta - self.t) + link.pdf(eta + self.t))

    def variance(self, eta: np.ndarray) -> np.ndarray:
        """Variance of the outcome."""
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

        Under a rule with a parameter, a row is one outcome that was seen win + lose times.
        """
        if not self.rule.has_parameter:
            score, information, _ = self.rule.link.newton(eta, win, lose)
            return score, information
        number = win + lose
        single = self.rule.derivatives(eta, (win - lose) / number, self.t)
        return number * single.eta, number * single.eta_eta


def normal_grid(
    largest_sd: float, widest_step: float = WIDEST_STEP
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of a standard normal z with their weights, for averages of functions of eta + sd z.

    The trapezoidal rule: functions as smooth as a link are averaged to 1e-6 or better, for any sd
    up to ``largest_sd``.
    """
    n = int(np.ceil(min(LARGEST_Z * max(1 / widest_step, largest_sd), MAX_NODES)))
    z = np.linspace(-LARGEST_Z, LARGEST_Z, 2 * n + 1)
    weight = np.exp(-0.5 * z**2)
    return z, weight / weight.sum()


def grid_for(sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for averages over eta + sd z of functions as smooth as a link.

    Few nodes of Gauss and Hermite where sd is small, the trapezoidal rule elsewhere.
    """
    kind = int(np.searchsorted(SD_CLASSES, sd))
    if kind == 0:
        return np.zeros(1), np.ones(1)
    if kind > len(HERMITE_NODES):
        return normal_grid(sd)
    z, weight = np.polynomial.hermite_e.hermegauss(HERMITE_NODES[kind - 1])
    return z, weight / weight.sum()


def grids_by_sd(sd: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows (indices) of about equal ``sd``, not too many, with the nodes and weights they need."""
    kind = np.searchsorted(SD_CLASSES, sd)
    order = np.argsort(kind.astype(np.int8), kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(kind))[:-1]):
        z, weight = grid_for(float(np.max(sd[rows], initial=0.0)))
        for first in range(0, len(rows), BLOCK):
            yield rows[first : first + BLOCK], z, weight


def average_expansion(
    link: Link, x: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f, f' and f'' of a link, each averaged over x + sd z, z standard normal; arrays (M)."""
    if isinstance(link, Probit):  # x + sd z and a normal noise make one normal variable
        scale = np.sqrt(1 + sd**2)
        f, rise, bend = link.expansion(x / scale)
        return f, rise / scale, bend / scale**2
    total = np.zeros((3, len(x)))
    for rows, nodes, weights in grids_by_sd(sd):
        at, spread = x[rows], sd[rows]
        sums = np.zeros((3, len(rows)))
        for z, weight in zip(nodes, weights, strict=True):
            for part, value in zip(sums, link.expansion(at + spread * z), strict=True):
                part += weight * value
        total[:, rows] = sums
    return total[0], total[1], total[2]


def averaged_probabilities(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a loss, a tie and a win, as the law has them, averaged over eta + sd z, z standard normal.

    ``eta`` and ``sd`` have one shape, that of each result; ``sd`` is the standard deviation of the
    difference of the two items' effects.
    """
    total = np.zeros((3, *np.shape(eta)))
    for z, weight in zip(*normal_grid(float(np.max(sd, initial=0.0))), strict=True):
        total += weight * np.array(law.probabilities(eta + sd * z))
    return total[0], total[1], total[2]


def averaged_derivatives(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray
) -> OutcomeDerivatives:
    """The logarithm of each outcome's average probability, with its derivatives.

    ``eta``, ``sd`` and ``outcome`` (-1, 0, 1) are arrays (M). Without a parameter a tie is half the
    logarithm of a win and half that of a loss.
    """
    if law.rule.has_parameter:
        return _average_outcome(law, eta, sd, outcome)
    derivatives = _average_win(law, eta, sd, np.where(outcome < 0, -1.0, 1.0))
    tied = np.abs(outcome) < 1
    if tied.any():
        share = 0.5 * (1 + outcome[tied])
        win, loss = (
            vars(_average_win(law, eta[tied], sd[tied], np.full(len(share), sign)))
            for sign in (1.0, -1.0)
        )
        for name, part in vars(derivatives).items():
            part[tied] = share * win[name] + (1 - share) * loss[name]
    return derivatives


def _average_win(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, sign: np.ndarray
) -> OutcomeDerivatives:
    """Of a win of left (sign 1) or right (-1), without ties: the averages of f, f' and f''."""
    mass, first, second = average_expansion(law.rule.link, sign * eta, sd)
    mass = np.maximum(mass, np.finfo(float).tiny)
    ratio, zero = first / mass, np.zeros_like(eta)
    return OutcomeDerivatives(
        value=np.log(mass),
        eta=sign * ratio,
        t=zero,
        eta_eta=ratio**2 - second / mass,
        eta_t=zero.copy(),
        t_t=zero.copy(),
    )


def _average_outcome(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray
) -> OutcomeDerivatives:
    """Of any outcome under a rule with a parameter.

    With p the probability at one node, p'/p of the average is the average of p'/p with weights p;
    second derivatives follow in the same way.
    """
    total = np.zeros((6, len(eta)))
    for rows, nodes, weights in grids_by_sd(sd):
        sums = np.zeros((6, len(rows)))
        for z, weight in zip(nodes, weights, strict=True):
            here = law.rule.derivatives(eta[rows] + sd[rows] * z, outcome[rows], law.t)
            p = weight * np.exp(here.value)
            sums[0] += p
            sums[1] += p * here.eta
            sums[2] += p * here.t
            sums[3] += p * (here.eta_eta - here.eta**2)
            sums[4] += p * (here.eta_t - here.eta * here.t)
            sums[5] += p * (here.t_t - here.t**2)
        total[:, rows] = sums
    mass, of_eta, of_t, eta_eta, eta_t, t_t = total
    mass = np.maximum(mass, np.finfo(float).tiny)
    of_eta, of_t = of_eta / mass, of_t / mass
    return OutcomeDerivatives(
        value=np.log(mass),
        eta=of_eta,
        t=of_t,
        eta_eta=eta_eta / mass + of_eta**2,
        eta_t=eta_t / mass + of_eta * of_t,
        t_t=t_t / mass + of_t**2,
    )
