"""The lapse rate: which share e of the answers are slips, with its interval and its test.

An answer goes by p = e + (1 - 2e) f(x) (:class:`pairscore.core.links.Lapse`). Given e a fit is one
with another link. Given the direction of its score the likelihood is a function of two numbers, e
and a scale of the score (:class:`Answers`), and cheap. So e is found in rounds: a fit at e, then
the likeliest (e, scale) along its score, until both agree; that is the maximum over all parameters.

Few answers tell slips from a flat link, and comparisons that nearly all agree with the score leave
open whether e or the scale explains the rest. So e has a prior: as if PRIOR_ANSWERS more answers
between items far apart had been seen, none of them a slip. It shrinks e by its own share of the
answers that tell of e, and lets e = 0 be the likeliest where nothing contradicts the score.

What e adds to the covariance of other parameters theta is v D D', with v the variance of e and
D = d theta / de, the difference of two fits: by the inverse of a bordered matrix this is exact.

e = 0 is at the end of its range, and an answer against a large difference x has a score in e of
1/f(-x), of which far fewer than a normal law takes are seen. So the test of e = 0 is the likelihood
ratio along the score, compared with that of answers drawn at e = 0 along the same score, after
division by how much more the score in e varies than that of independent answers, because
comparisons that share an item are dependent. (Half of the draws have a ratio of zero: Chernoff
1954.)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pairscore.core.links import Link, with_lapse
from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.roots import solve_falling
from pairscore.core.sandwich import DyadicSums, PairContributions
from pairscore.core.significance import interval_width
from pairscore.core.sums import Sums
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.errors import NotConvergedWarning
from pairscore.estimators.agreement import differences_along, score_differences
from pairscore.estimators.estimate import Estimate
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.lapse import N_DRAWS, LapseRate
from pairscore.estimators.likelihood_errors import LikelihoodEquations, LikelihoodTerms
from pairscore.estimators.pair_sums import NoSums, PairTask
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.estimators.tile import Tile

PRIOR_ANSWERS = 10.0
LARGEST_RATE = 0.49
SCALES = (0.2, 5.0)  # of a score, relative to that of the fit, within which one is looked for
ROUNDS = 30
# Rates in turn end within CLOSE of each other; where items or judges have effects, whose sweeps end
# before all digits are right, within ROUGHLY, a hundredth of an error of e.
CLOSE, ROUGHLY = 1e-8, 1e-4
STEPS = 100  # of Newton's method along a score
EXACT, ROUGH = 1e-13, 1e-4  # last step of scale and e: of the fit, and of drawn answers
# standard errors, by which e is moved for derivatives, and where it is found roughly
STEP_OF_RATE, LONG_STEP = 0.05, 0.5
FIRST_GUESSES = (0.01, 0.05, 0.15)  # of e, to start from where it was zero
N_BINS = 96  # of differences, for the test and the interval
LEAST_WIDER = 0.5  # estimate of a variance over that of independent answers
END_LEVEL = 0.025  # of a test of one end of an interval
TINY = float(np.finfo(float).tiny)
LEAST_CHANCE = 1e-140  # of an answer along a score: one over its square is a number, times others


class Along(NamedTuple):
    """A point along a score: its scale and e, the log-likelihood there, and its curvature in e."""

    scale: np.ndarray
    rate: np.ndarray
    value: np.ndarray


@dataclass(frozen=True)
class Answers:
    """Decided answers along a score, by the size ``x`` of its difference (K), zero or more.

    ``right`` and ``wrong`` are how many went with the score and against it, (K), or (B x K) of B
    studies that are looked at side by side. ``pull`` is taken off the derivative in the scale, and
    ``prior`` is PRIOR_ANSWERS, or zero.
    """

    x: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    link: Link
    pull: float = 0.0
    prior: float = PRIOR_ANSWERS

    @classmethod
    def of_differences(cls, x: np.ndarray, win: np.ndarray, lose: np.ndarray, link: Link) -> Any:
        """From signed differences, with how often left won and lost."""
        ahead = x >= 0
        right, wrong = np.where(ahead, win, lose), np.where(ahead, lose, win)
        return cls(np.abs(x), right, wrong, link.plain)

    def in_bins(self) -> "Answers":
        """About the same in N_BINS of equal amount."""
        order = np.argsort(self.x, kind="stable")
        amount = (self.right + self.wrong)[order]
        before = np.cumsum(amount) - 0.5 * amount
        number = np.minimum((N_BINS * before / max(amount.sum(), TINY)).astype(int), N_BINS - 1)
        total, along, right, wrong = (
            np.bincount(number, values, N_BINS)
            for values in (
                amount,
                amount * self.x[order],
                self.right[order],
                self.wrong[order],
            )
        )
        used = total > 0
        return replace(self, x=along[used] / total[used], right=right[used], wrong=wrong[used])

    def derivatives(self, scale: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, ...]:
        """Value, gradient (2) and minus the second derivatives (3) in (scale, e), studies last.

        And the expected ones, which are positive definite.
        """
        s, e = scale[:, None], rate[:, None]
        f, rise, bend = self.link.expansion(s * self.x)
        rest = 1 - 2 * e
        p = np.maximum(e + rest * f, LEAST_CHANCE)
        q = np.maximum(1 - e - rest * f, LEAST_CHANCE)
        value = (self.right * np.log(p) + self.wrong * np.log(q)).sum(axis=1)
        in_s = rest * rise * self.x
        in_e = 1 - 2 * f
        score = self.right / p - self.wrong / q
        square = self.right / p**2 + self.wrong / q**2
        known = (self.right + self.wrong) / (p * q)
        gradient = np.array([(score * in_s).sum(axis=1), (score * in_e).sum(axis=1)])
        observed = [
            (square * in_s**2 - score * rest * bend * self.x**2).sum(axis=1),
            (square * in_s * in_e + 2 * score * rise * self.x).sum(axis=1),
            (square * in_e**2).sum(axis=1),
        ]
        expected = [(known * one).sum(axis=1) for one in (in_s**2, in_s * in_e, in_e**2)]
        value += self.prior * np.log1p(-rate) - self.pull * (scale - 1)
        gradient[0] -= self.pull
        gradient[1] -= self.prior / (1 - rate)
        of_prior = self.prior / (1 - rate) ** 2
        observed[2] = observed[2] + of_prior
        expected[2] = expected[2] + of_prior
        return value, gradient, np.array(observed), np.array(expected)

    def likeliest(self, rate: np.ndarray, free: bool = True, close: float = EXACT) -> Along:
        """The likeliest scale and e (B) from a start; the scale alone unless e is ``free``."""
        rate = np.atleast_1d(np.asarray(rate, dtype=float))
        scale = np.ones_like(rate)
        value, gradient, observed, expected = self.derivatives(scale, rate)
        length = np.ones_like(rate)
        for _ in range(STEPS):
            step = _newton_step(gradient, observed, expected, rate, free)
            moved_scale = np.clip(scale + length * step[0], *SCALES)
            moved_rate = np.clip(rate + length * step[1], 0.0, LARGEST_RATE)
            there = self.derivatives(moved_scale, moved_rate)
            better = there[0] >= value - 1e-12 * np.abs(value)
            moved = np.abs(moved_scale - scale) + np.abs(moved_rate - rate)
            scale = np.where(better, moved_scale, scale)
            rate = np.where(better, moved_rate, rate)
            value = np.where(better, there[0], value)
            gradient = np.where(better, there[1], gradient)
            observed = np.where(better, there[2], observed)
            expected = np.where(better, there[3], expected)
            length = np.where(better, np.minimum(2 * length, 1.0), length / 4)
            if np.all(moved < close):
                break
        return Along(scale, rate, value)

    def near(self, rate: float) -> Along:
        """The likeliest scale and e, from this e, or from several where it is zero."""
        guesses = (rate,) if rate > 0 else FIRST_GUESSES
        found = [self.likeliest(np.array([one])) for one in (0.0, *guesses)]
        return max(found, key=lambda one: float(one.value[0]))

    def at_rate(self, rate: float) -> float:
        """The log-likelihood at the likeliest scale."""
        return float(self.likeliest(np.array([rate]), free=False).value[0])

    def score(self, rate: float) -> float:
        """The derivative in e at the scale of the fit."""
        return float(self.derivatives(np.ones(1), np.array([rate]))[1][1, 0])

    def information(self, rate: float) -> float:
        """That on e where the scale is not known, at the scale of the fit."""
        _, _, _, (of_scale, mixed, of_rate) = self.derivatives(np.ones(1), np.array([rate]))
        return float(of_rate[0] - mixed[0] ** 2 / max(of_scale[0], TINY))

    def pulled(self, rate: float) -> "Answers":
        """With the scale of the fit as the likeliest at e: what held the fit holds the scale."""
        return replace(self, pull=float(self.derivatives(np.ones(1), np.array([rate]))[1][0, 0]))


def _newton_step(
    gradient: np.ndarray,
    observed: np.ndarray,
    expected: np.ndarray,
    rate: np.ndarray,
    free: bool,
) -> np.ndarray:
    """Steps in (scale, e) (2 x B): Newton's where its matrix is positive definite, else Fisher's.

    The scale's alone where e is at zero, and would go below.
    """
    determinant = observed[0] * observed[2] - observed[1] ** 2
    proper = (observed[0] > 0) & (determinant > 1e-10 * observed[0] * np.abs(observed[2]))
    a, b, c = np.where(proper, observed, expected)
    determinant = np.maximum(a * c - b**2, 1e-14 * np.abs(a * c) + TINY)
    step = np.array([c * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]])
    step /= determinant
    alone = np.maximum(np.where(observed[0] > 0, observed[0], expected[0]), TINY)
    # at the end of the range the scale follows e, so that the sign is that of the step of both
    held = (not free) | ((rate <= 0) & (step[1] <= 0))
    step[0] = np.where(held, gradient[0] / alone, step[0])
    step[1] = np.where(held, 0.0, step[1])
    return step


def answers_of(data: FitData, result: Estimate) -> Answers:
    """The decided answers along the score of an estimate, each as often as it counts."""
    settings = result.settings
    rule = TieRule(settings.ties, settings.link)
    along = result.predictor.by_others
    if along is None:
        along = differences_along(data, result)
        if rule.has_parameter:
            law = OutcomeLaw(rule, result.effects.tie_parameter)
            along = replace(along, x=difference_of_decided(law, along.x, None))
    win, lose = along.wins / data.weight_unit, (along.amount - along.wins) / data.weight_unit
    x = along.x
    if rule.has_parameter:
        decided = along.outcome != 0
        x, win, lose = x[decided], win[decided], lose[decided]
    answers: Answers = Answers.of_differences(x, win, lose, settings.link)
    return answers


def difference_of_decided(law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray | None) -> np.ndarray:
    """The difference (M) at which the link without slips has the chance of a decided comparison.

    By its difference of scores ``eta`` (M), averaged over a normal variable of standard deviation
    ``sd`` (M) where it is not known.
    """
    plain = replace(law, rule=law.rule.plain)
    if sd is None:
        loss, _, win = plain.probabilities(eta)
    else:
        loss, _, win = averaged_probabilities(plain, eta, sd)
    odds = np.log(np.maximum(win, TINY)) - np.log(np.maximum(loss, TINY))
    return plain.rule.link.inverse(odds)


def fit_likeliest(
    data: FitData, settings: Settings, fit: Callable[[Settings], Estimate]
) -> Estimate:
    """The fit with the likeliest lapse rate.

    ``fit`` makes an estimate of the same data with other settings.
    """
    quick = replace(settings, inference=None)
    rate, settled = _rate_in_rounds(data, quick, fit)
    result = fit(_at_rate(settings, rate))
    answers = answers_of(data, result)
    answers = answers.pulled(rate)
    wider, variance = 1.0, float("nan")
    if settings.inference is not None:
        if rate > 0:
            result, variance, wider = _with_errors(data, quick, fit, result, answers)
        lapse = _interval_and_test(answers, rate, variance, wider)
    else:
        lapse = LapseRate(rate, True)
    notes = result.notes
    if not settled:
        notes = [*notes, NotConvergedWarning("the lapse rate was not found to full precision")]
    return replace(result, lapse=lapse, notes=notes)


def _has_sweeps(settings: Settings) -> bool:
    """Whether items or judges have effects, perhaps."""
    return settings.item_effects or settings.choose_item_effects or settings.judge_slopes


def _at_rate(settings: Settings, rate: float) -> Settings:
    return replace(settings, link=with_lapse(settings.link, rate))


def _rate_in_rounds(
    data: FitData, settings: Settings, fit: Callable[[Settings], Estimate]
) -> tuple[float, bool]:
    """The rate at which the likeliest one along the score is that of the fit; and if it was found.

    Each round goes on by the secant of the last two.
    """
    rate, last = settings.link.lapse, None
    close = ROUGHLY if _has_sweeps(settings) else CLOSE
    for _ in range(ROUNDS):
        answers = answers_of(data, fit(_at_rate(settings, rate)))
        found = float(answers.pulled(rate).near(rate).rate[0])
        gap = found - rate
        if abs(gap) < close:
            return found if found == 0 else rate, True
        following = found
        if last is not None and found > 0:
            slope = (gap - last[1]) / (rate - last[0])
            if slope < -0.2:
                following = rate - gap / slope
        last = rate, gap
        rate = float(np.clip(following, 0.0, LARGEST_RATE))
        if rate == last[0]:
            return rate, True
    return rate, False


def _parameters(result: Estimate) -> np.ndarray:
    """In the order of the covariance."""
    effects = result.effects.of_comparisons
    if effects is not None:
        return np.append(result.coef, effects.values)
    return np.append(result.coef, [] if result.side_effect is None else [result.side_effect])


def _with_errors(
    data: FitData,
    settings: Settings,
    fit: Callable[[Settings], Estimate],
    result: Estimate,
    answers: Answers,
) -> tuple[Estimate, float, float]:
    """The estimate with errors that allow for that of e, the variance of e, and how many times
    that of independent answers along a known score it is.
    """
    rate = result.settings.link.lapse
    usual = 1 / np.sqrt(max(answers.information(rate), TINY))
    by_errors = LONG_STEP if _has_sweeps(settings) else STEP_OF_RATE
    step = min(by_errors * usual, (LARGEST_RATE - rate) / 2, rate / 2)
    moved = fit(_at_rate(settings, rate + step))
    of_moved = answers_of(data, moved)
    information = (answers.score(rate) - of_moved.score(rate + step)) / step
    # at least a tenth of what would be known if only the scale were not
    information = max(information, 0.1 / usual**2)
    by_answers = information - answers.prior / (1 - rate) ** 2
    meat, own = shared_meat(data, result, moved, step)
    of_prior = answers.prior / (1 - rate) ** 2
    seen = max(meat / data.weight_unit**2, by_answers) if np.isfinite(meat) else by_answers
    variance = (seen + of_prior) / information**2
    wider = max(meat / own, LEAST_WIDER) if own > 0 else 1.0
    if _has_sweeps(settings):  # effects may take what slips explain
        wider *= max(answers.information(rate) / information, 1.0)
    if result.covariance is None:
        return result, variance, wider
    D = (_parameters(moved) - _parameters(result)) / step
    covariance = result.covariance + variance * np.outer(D, D)
    effects, d = result.effects, len(result.coef)
    if effects.of_comparisons is not None:
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(effects.of_comparisons.std_errors**2 + variance * D[d:] ** 2)
        table = replace(effects.of_comparisons, std_errors=errors)
        effects = replace(effects, of_comparisons=table)
    return replace(result, covariance=covariance, effects=effects), variance, wider


def _interval_and_test(answers: Answers, rate: float, variance: float, wider: float) -> LapseRate:
    """A 95 % interval by the likelihood along the score, brought to the ``variance`` of e, and the
    p-value of e = 0.
    """
    bins = answers.in_bins()
    best = bins.near(rate)
    at_best, top = float(best.rate[0]), float(best.value[0])
    stretch = max(wider, 1.0)
    if np.isfinite(variance):
        stretch = max(variance * bins.information(rate), 1.0)
    reach = 0.5 * interval_width(0.95, None) ** 2 * stretch

    def left(one: float) -> float:
        return reach - (top - bins.at_rate(one))

    high = solve_falling(left, at_best, LARGEST_RATE, xtol=1e-6)
    low = 0.0
    if at_best > 0 and left(0.0) < 0:
        low = -solve_falling(lambda minus: left(-minus), -at_best, 0.0, xtol=1e-6)
    shift = rate - at_best  # of bins: next to nothing
    low, high = max(min(low + shift, rate), 0.0), max(min(high + shift, 0.5), rate)
    p = 1.0 if rate == 0 else p_of_no_slips(bins, wider)
    if p > END_LEVEL:  # near zero the likelihood is steeper than that of a normal law
        low = 0.0
    error = float(np.sqrt(variance)) if np.isfinite(variance) else None
    return LapseRate(rate, True, low, high, error, p)


def p_of_no_slips(bins: Answers, wider: float) -> float:
    """The p-value of e = 0 by drawn answers without slips; see the head of this file."""
    plain = replace(bins, pull=0.0, prior=0.0)
    alone = plain.likeliest(np.zeros(1), free=False)
    ratio = 2 * float(plain.near(0.0).value[0] - alone.value[0]) / wider
    number = np.rint(plain.right + plain.wrong).astype(int)
    chance = plain.link.cdf(float(alone.scale[0]) * plain.x)
    rng = np.random.default_rng(0)
    right = rng.binomial(number, chance, size=(N_DRAWS, len(number)))
    drawn = replace(plain, right=right, wrong=number - right)
    without = drawn.likeliest(np.zeros(N_DRAWS), free=False, close=ROUGH).value
    found = [drawn.likeliest(np.full(N_DRAWS, e), close=ROUGH).value for e in FIRST_GUESSES[:2]]
    ratios = 2 * (np.max(found, axis=0) - without)
    return float(1 + np.count_nonzero(ratios >= ratio)) / (1 + N_DRAWS)


# -- comparisons that share an item ----------------------------------------------------------------


def shared_meat(
    data: FitData, result: Estimate, moved: Estimate, step: float
) -> tuple[float, float]:
    """Variance of the score in e, all else allowed for, where comparisons share items; and what it
    would be if each pair were independent of the others.

    The score of a comparison is d log p / de + (d log p / d eta) (d eta / de), with the derivative
    of eta by two fits. NaN where items have effects, given which comparisons are independent.
    """
    settings = result.settings
    if result.effects.items is not None or settings.inference == "model":
        return float("nan"), float("nan")
    inflation = np.ones(len(data.tally.exposures))
    change = (moved.coef - result.coef) / step
    if not isinstance(data, TableData):
        of_side = ((moved.side_effect or 0.0) - (result.side_effect or 0.0)) / step
        theta = np.append(result.coef, [result.side_effect] * data.keep_sides).astype(float)
        inner = LikelihoodEquations.of_theta(data, theta, settings.link)
        equations = LapseEquations(inner, data.table.times(change), of_side)
        total = data.sum_pairs(PairTask(equations, len(change) + 1, inflation), "Intervals").meat
        own = float(total.pairs[-2, -2])  # the last equation is the number of comparisons
        return float(total.items[-2, -2]) - own, own
    votes = data.comparisons
    rule = TieRule(settings.ties, settings.link)
    eta = score_differences(data, result)
    t = result.effects.tie_parameter
    s = rule.derivatives(eta, votes.outcome.astype(float), t, value=False)
    u = score_in_rate(rule, eta, votes.outcome, t)
    u = u + s.eta * (score_differences(data, moved) - eta) / step
    u = u + s.t * (moved.effects.tie_parameter - t) / step
    u = votes.amount * u
    rows = votes.left != votes.right
    sums = DyadicSums.of_rows(votes.left[rows], votes.right[rows], u[rows, None], inflation)
    return float(sums.meat(inflation)[0, 0]), float(sums.pair_meat[0, 0])


def score_in_rate(
    rule: TieRule, eta: np.ndarray, outcome: np.ndarray, t: float = 0.0
) -> np.ndarray:
    """d log p / de of each comparison (M): of a win (P(loss) - P(win)) / p, both without slips.

    Zero of a tie under a rule with a parameter, else half that of a win and half that of a loss.
    """
    e = rule.link.lapse
    loss, _, win = rule.plain.probabilities(eta, t)
    of_win = (loss - win) / np.maximum(win + e * (loss - win), TINY)
    of_loss = (win - loss) / np.maximum(loss + e * (win - loss), TINY)
    tied = 0.0 if rule.has_parameter else 0.5 * (of_win + of_loss)
    return np.where(outcome > 0, of_win, np.where(outcome < 0, of_loss, tied))


@dataclass(frozen=True)
class LapseEquations:
    """The equation of e with all else allowed for; ``change`` (N) and ``of_side`` are how fast
    scores and the side effect change with e.
    """

    likelihood: LikelihoodEquations
    change: np.ndarray
    of_side: float

    def at(self, tile: Tile) -> "LapseTerms":
        return LapseTerms(self.likelihood.at(tile), tile.take(self.change), self.of_side)


@dataclass(frozen=True)
class LapseTerms:
    """What the pairs of a tile add to it."""

    likelihood: LikelihoodTerms
    change: np.ndarray
    of_side: float

    @property
    def contributions(self) -> PairContributions:
        terms, pairs = self.likelihood, self.likelihood.tile.pairs
        rule = TieRule("half", terms.link)
        one = np.ones(terms.predictor.shape)
        u = pairs.win * score_in_rate(rule, terms.predictor, one)
        u += pairs.lose * score_in_rate(rule, terms.predictor, -one)
        moved = pairs.differences(self.change) + self.of_side * pairs.side[:, None]
        u += terms.score_and_information[0] * moved
        none = np.zeros(u.shape[1])
        return PairContributions(none, none, u.sum(axis=0)[:, None])

    @property
    def weights(self) -> dict[str, np.ndarray]:
        return {}

    def sums(self, scatters: dict[str, np.ndarray]) -> Sums:
        return NoSums()
