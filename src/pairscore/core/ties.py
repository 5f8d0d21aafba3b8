"""Win, tie or loss: four rules for ties.

With eta the difference of scores and t the parameter of ties,

    half         a tie is half a win and half a loss; no parameter
    drop         only decided comparisons are looked at; no parameter
    davidson     win : tie : loss = exp(eta/2) : exp(t) : exp(-eta/2), for the logit link
    rao-kupper   win f(eta - t), loss f(-eta - t), tie the rest, for any link; t >= 0

(Davidson 1970, with nu = exp(t); Rao and Kupper 1967, with theta = exp(t) under logit.) All are
log-concave in (eta, t) if the link is. A slip (:class:`pairscore.core.links.Lapse`) swaps win and
loss; a tie stays one.

Half wins pull a fit towards equal chances, and ties need not come about as a rule says. So the
chances of comparisons that are decided are those at scale * eta, with a scale found in these
(:mod:`pairscore.core.decided_scale`).

As a number an outcome is 1 for a win of left, 1/2 for a tie, 0 for a loss: :class:`OutcomeLaw` has
its mean and variance. Averages over a normal effect of items are in
:mod:`pairscore.core.normal_average`.

With ties as half wins the outcome has variance p (1 - p) - P(tie)/4, p its mean, less than a coin.
P(tie) is not known without a rule, but ties are seen: :func:`share_of_coin`.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from pairscore.core.links import Link

LARGEST_EXPONENT = 350.0  # half of what overflows
TINY = float(np.finfo(float).tiny)
SMALLEST_SHARE = 0.05  # of a coin's variance; with less left, nearly all comparisons tied


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

    @property
    def plain(self) -> "TieRule":
        """The rule of answers without slips."""
        return TieRule(self.name, self.link.plain)

    def start(self, tie_share: float) -> float:
        """The parameter under which equal items tie about as often as all do."""
        share = min(max(tie_share, 1e-3), 0.9)
        if self.name == "davidson":
            return float(np.log(2 * share / (1 - share)))
        low, high = 0.0, 20.0
        for _ in range(60):  # f(t) - f(-t) rises with t
            middle = (low + high) / 2
            too_low = 2 * float(self.link.plain.cdf(middle)) - 1 < share
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
        if self.link.lapse > 0:
            slip = self.link.lapse
            loss, tie, win = self.plain.probabilities(eta, t)
            return loss + slip * (win - loss), tie, win + slip * (loss - win)
        if self.name == "rao-kupper":
            win, loss = self.link.cdf(eta - t), self.link.cdf(-eta - t)
            return loss, np.maximum(1 - win - loss, 0.0), win
        root = np.exp(np.clip(0.5 * eta, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        win, tie = root * root, np.exp(min(t, LARGEST_EXPONENT)) * root
        loss = 1 / (1 + tie + win)
        return loss, tie * loss, win * loss

    def decided(self, eta: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Probability that left wins a comparison that is not tied, and its derivative in eta."""
        if self.name != "rao-kupper":  # under logit, Davidson's odds of win and loss are exp(eta)
            return self.link.expansion(eta)[:2]
        if self.link.lapse > 0:
            chance, slope = self.plain.decided(eta, t)
            slip = self.link.lapse
            return slip + (1 - 2 * slip) * chance, (1 - 2 * slip) * slope
        # by logarithms: both chances may be next to nothing
        odds = self.link.log_cdf(eta - t) - self.link.log_cdf(-eta - t)
        slope = self.link.ratio(eta - t) + self.link.ratio(-eta - t)
        return expit(odds), expit(odds) * expit(-odds) * slope

    def ends(self, outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What must not fall along a direction in which no outcome becomes less likely.

        Sums ``of_eta`` eta + ``of_t`` t, arrays (k) after the number of the outcome they belong
        to. The logarithm of an outcome's probability rises in each of them, and falls without end
        where one of them does:

            half         win eta; tie eta and -eta
            rao-kupper   win eta - t; tie t - eta and t + eta
            davidson     win eta and eta/2 - t; tie t - eta/2 and t + eta/2

        A loss is a win at -eta.
        """
        signs = np.where(outcome < 0, -1.0, 1.0)
        if self.name == "davidson":
            tied = (outcome == 0)[:, None]
            of_eta = np.where(tied, [-0.5, 0.5], signs[:, None] * [1.0, 0.5])
            of_t = np.where(tied, 1.0, [0.0, -1.0])
            return np.repeat(np.arange(len(outcome)), 2), of_eta.ravel(), of_t.ravel()
        number = np.where(outcome == 0, 2, 1)
        place = np.repeat(np.arange(len(outcome)), number)
        is_second = np.diff(place, prepend=-1) == 0
        of_eta = np.where(is_second, -1.0, signs[place])
        of_t = np.where(outcome[place] == 0, 1.0, -1.0) if self.has_parameter else 0.0 * of_eta
        return place, of_eta, of_t

    def derivatives(
        self, eta: np.ndarray, outcome: np.ndarray, t: float, value: bool = True
    ) -> OutcomeDerivatives:
        """Log-likelihood of outcomes -1 (right won), 0 (tie) and 1 (left won), and derivatives.

        Without ``value`` the former may be zeros: its logarithms cost more than all the rest.
        With slips the likelihood is not log-concave, and second derivatives are the expected ones.
        """
        if not self.has_parameter:
            return self._half(eta, outcome, value)
        if self.link.lapse == 0:
            return self.observed(eta, outcome, t)
        expected = dict.fromkeys(("eta_eta", "eta_t", "t_t"), np.zeros(np.shape(eta)))
        for one in (-1.0, 0.0, 1.0):
            s = self.observed(eta, np.full(np.shape(eta), one), t)
            chance = np.exp(s.value)
            expected["eta_eta"] = expected["eta_eta"] + chance * s.eta**2
            expected["eta_t"] = expected["eta_t"] + chance * s.eta * s.t
            expected["t_t"] = expected["t_t"] + chance * s.t**2
        return replace(self.observed(eta, outcome, t), **expected)

    def observed(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> OutcomeDerivatives:
        """The same under a rule with a parameter, with the observed second derivatives."""
        if self.link.lapse > 0:
            return self._with_slips(eta, outcome, t)
        rule = self._davidson if self.name == "davidson" else self._rao_kupper
        return rule(eta, outcome, t)

    def _with_slips(self, eta: np.ndarray, outcome: np.ndarray, t: float) -> OutcomeDerivatives:
        """Of an outcome or of its opposite, meant and given by a slip: (1 - e) P + e P'.

        With r the chance that what was given is a slip, first derivatives of the logarithm are
        averages of those of both with weights 1 - r and r, and so are g g' - h with second
        derivatives -h. A tie is its own opposite.
        """
        slip = self.link.lapse
        meant, opposite = (self.plain.observed(eta, o, t) for o in (outcome, -outcome))
        odds = np.exp(np.clip(opposite.value - meant.value, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        share = slip * odds / (1 - slip + slip * odds)

        def average(of_meant: np.ndarray, of_opposite: np.ndarray) -> np.ndarray:
            return (1 - share) * of_meant + share * of_opposite

        in_eta, in_t = average(meant.eta, opposite.eta), average(meant.t, opposite.t)
        second = [
            average(meant.eta**2 - meant.eta_eta, opposite.eta**2 - opposite.eta_eta),
            average(meant.eta * meant.t - meant.eta_t, opposite.eta * opposite.t - opposite.eta_t),
            average(meant.t**2 - meant.t_t, opposite.t**2 - opposite.t_t),
        ]
        return OutcomeDerivatives(
            value=meant.value + np.log1p(slip * (odds - 1)),
            eta=in_eta,
            t=in_t,
            eta_eta=in_eta**2 - second[0],
            eta_t=in_eta * in_t - second[1],
            t_t=in_t**2 - second[2],
        )

    def _half(self, eta: np.ndarray, outcome: np.ndarray, value: bool) -> OutcomeDerivatives:
        win, zero = 0.5 * (1 + outcome), np.broadcast_to(0.0, np.shape(eta))
        loglik = zero
        if value:
            loglik = win * self.link.log_cdf(eta) + (1 - win) * self.link.log_cdf(-eta)
        score, weight, _ = self.link.newton(eta, win, 1 - win)
        return OutcomeDerivatives(loglik, score, zero, weight, zero, zero)

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
        return self.rule.decided(self.scale * eta, self.t)[0]

    def difference_at_odds(self, odds: float) -> float:
        """The difference of scores at which left wins ``odds`` times as often as right does.

        Of decided comparisons under the logit link, slips left out. With x = exp(scale eta), the
        odds are x under three of the rules, and (1 + T x) / (1 + T / x) under Rao and Kupper's,
        T = exp(t), of which x is a root.
        """
        assert self.rule.link.plain.is_logistic
        x = odds
        if self.rule.name == "rao-kupper":
            less, threshold = odds - 1, np.exp(self.t)
            x = (less + np.sqrt(less**2 + 4 * threshold**2 * odds)) / (2 * threshold)
        return float(np.log(x)) / self.scale

    def share_flipped(self, size: np.ndarray, weight: np.ndarray) -> float:
        """Share of decided comparisons, at differences of these sizes, that go the wrong way."""
        wrong = self.win_chance(-size)
        likely = weight * (1 - self.rule.probabilities(size, self.t)[1])
        if not likely.any():  # all would tie
            likely = weight
        return float(np.vdot(likely, wrong) / likely.sum())

    def rise(self, eta: np.ndarray) -> np.ndarray:
        """Derivative of the mean."""
        link = self.rule.link
        if self.rule.name == "davidson":
            plain = OutcomeLaw(self.rule.plain, self.t)
            return (1 - 2 * link.lapse) * plain.variance(eta)
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


def share_of_coin(mean: np.ndarray, outcome: np.ndarray, amount: np.ndarray) -> float:
    """Variance of outcomes with ties as half wins, over that of coins with the same means p.

        sum_m a_m (p (1 - p) - [tie]/4)  /  sum_m a_m p (1 - p)

    ``mean`` p, ``outcome`` (1, 0, -1) and ``amount`` a are arrays (M). 1 without ties.
    """
    coins = float(amount @ (mean * (1 - mean)))
    ties = float(amount @ (outcome == 0)) / 4
    return max(1 - ties / coins, SMALLEST_SHARE) if coins > 0 else 1.0
