"""Links: how a difference of scores becomes the probability that the left item wins.

A link is a function f that rises from 0 to 1 with f(-x) = 1 - f(x) (eq. 2 of the paper):
P(left wins) = f(beta'(x_left - x_right)).

    logit     f(x) = 1 / (1 + exp(-x))   Bradley and Terry (1952)
    probit    f(x) = Phi(x)              Thurstone (1927), case V

Where a share e of the answers are slips, p(x) = e + (1 - 2e) f(x) is a link again (:class:`Lapse`).

The paper prints (1 + erf(x))/2 for probit, which has variance 1/2; Phi here has variance 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from pairscore.errors import CallError, PairscoreError
from pairscore.messages import Setting

Function = Callable[[np.ndarray], np.ndarray]
TwoArrays = tuple[np.ndarray, np.ndarray]
ThreeArrays = tuple[np.ndarray, np.ndarray, np.ndarray]

FAR_OUT = 10.0 ** np.arange(1, 9)  # differences of scores at which a user's link is looked at
NEARLY_ZERO = 1e-3  # a link's value far out
LARGEST_DIFFERENCE = 1e3  # of scores, that odds are led back to
BISECTIONS = 60  # from there to the last digit
LARGEST_EXPONENT = 700.0  # whose exponential, and one over it, are numbers


class Link:
    """A link given by its function ``f`` and derivative ``f'``, both of arrays.

    Everything the likelihood needs follows from the ratio f'(x)/f(x): the derivative of the log
    probability of a win. That of a loss is -f'(-x)/f(-x), because f(-x) = 1 - f(x). In all methods
    ``x`` are differences of scores of any shape, and ``win`` and ``lose`` in the same shape how
    often left won and lost there; a tie is half of each.
    """

    is_logistic = False  # has a compiled pass over terms of expectation propagation
    lapse = 0.0  # share of answers that are slips

    def __init__(self, function: Function, derivative: Function, name: str = "custom"):
        self.name, self._function, self._derivative = name, function, derivative

    def __repr__(self) -> str:
        return f"Link({self.name})"

    @property
    def plain(self) -> "Link":
        """The link of answers without slips."""
        return self

    def _parts(self) -> tuple[Any, ...]:
        return type(self), self.name, self._function, self._derivative

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Link) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def cdf(self, x: Any) -> np.ndarray:
        """Probability that the left item wins at score difference ``x``."""
        return np.asarray(self._function(np.asarray(x, dtype=float)), dtype=float)

    def pdf(self, x: Any) -> np.ndarray:
        """Derivative of :meth:`cdf`."""
        return np.asarray(self._derivative(np.asarray(x, dtype=float)), dtype=float)

    def log_cdf(self, x: Any) -> np.ndarray:
        """Logarithm of :meth:`cdf`: of the probability of a win."""
        return np.log(np.maximum(self.cdf(x), np.finfo(float).tiny))

    def inverse(self, odds: np.ndarray) -> np.ndarray:
        """The difference x at which the logarithm of f(x)/f(-x) is this, by bisection."""
        odds = np.asarray(odds, dtype=float)
        low, high = (
            np.full(odds.shape, -LARGEST_DIFFERENCE),
            np.full(odds.shape, LARGEST_DIFFERENCE),
        )
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            is_low = self.log_cdf(middle) - self.log_cdf(-middle) < odds
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return (low + high) / 2

    def ratio(self, x: Any) -> np.ndarray:
        """f'(x)/f(x), the derivative of :meth:`log_cdf`."""
        return self.pdf(x) / np.maximum(self.cdf(x), np.finfo(float).tiny)

    def curvature(self, x: Any) -> np.ndarray:
        """Minus the second derivative of log f, here by central differences of the ratio."""
        x = np.asarray(x, dtype=float)
        step = 1e-5 * (1 + np.abs(x))
        return (self.ratio(x - step) - self.ratio(x + step)) / (2 * step)

    def expansion(self, x: np.ndarray) -> ThreeArrays:
        """f, f' and f'' at ``x``."""
        f, ratio = self.cdf(x), self.ratio(x)
        return f, f * ratio, f * (ratio**2 - self.curvature(x))

    def score(self, x: np.ndarray, win: np.ndarray, lose: np.ndarray) -> TwoArrays:
        """Derivative of the log-likelihood in ``x``, and its expected (Fisher) information.

        The log-likelihood is win log f(x) + lose log f(-x), its information with n = win + lose is
        n f'^2 / (f (1 - f)).
        """
        of_win, of_loss = self.ratio(x), self.ratio(-x)
        return win * of_win - lose * of_loss, (win + lose) * of_win * of_loss

    def taken_by_ties(self, x: np.ndarray, tied: np.ndarray) -> np.ndarray:
        """How much less than the information the variance of the score is where ``tied`` is tied.

        A half win has variance f (1 - f) - P(tie)/4, and the score is f'/(f (1 - f)) times its
        distance from f: that factor squared, times a quarter of the ties.
        """
        return 0.25 * tied * (self.ratio(x) + self.ratio(-x)) ** 2

    def observed_information(self, x: np.ndarray, win: np.ndarray, lose: np.ndarray) -> np.ndarray:
        """Minus the second derivative of the log-likelihood in ``x``."""
        return win * self.curvature(x) + lose * self.curvature(-x)

    def newton(self, x: np.ndarray, win: np.ndarray, lose: np.ndarray) -> tuple[Any, Any, bool]:
        """Score and information of a Newton step, and whether the information is the observed one.

        Where a link is not log-concave the observed information may be negative; then it is the
        expected one, and the step is Fisher's.
        """
        score, expected = self.score(x, win, lose)
        observed = self.observed_information(x, win, lose)
        exact = bool(np.all((observed > 0) | (win + lose <= 0)))
        return score, observed if exact else expected, exact


# functions with a name, because a fitted model keeps its link and must pickle
def _logistic(x: np.ndarray) -> np.ndarray:
    """Full digits at both ends: the exponential that overflows makes a zero."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _logistic_density(x: np.ndarray) -> np.ndarray:
    return _logistic(x) * _logistic(-x)


def _normal_density(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


class Logit(Link):
    """f(x) = 1 / (1 + exp(-x)): Bradley and Terry (1952)."""

    is_logistic = True

    def __init__(self) -> None:
        super().__init__(_logistic, _logistic_density, "logit")

    def log_cdf(self, x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))  # five times as fast as log_expit

    def inverse(self, odds: np.ndarray) -> np.ndarray:
        return np.asarray(odds, dtype=float)

    def ratio(self, x: Any) -> np.ndarray:
        return _logistic(-np.asarray(x))

    def curvature(self, x: Any) -> np.ndarray:
        return self.pdf(x)

    def expansion(self, x: np.ndarray) -> ThreeArrays:
        f = _logistic(x)  # all three in a third of the time of the general way
        rise = f - f * f
        return f, rise, rise - 2 * f * rise

    def score(self, x: np.ndarray, win: np.ndarray, lose: np.ndarray) -> TwoArrays:
        small = np.exp(np.minimum(-x, LARGEST_EXPONENT))  # f(-x)/f(x): one exponential for both
        chance = 1 / (1 + small)
        rest = small * chance
        return win * rest - lose * chance, (win + lose) * chance * rest

    def observed_information(self, x: np.ndarray, win: np.ndarray, lose: np.ndarray) -> np.ndarray:
        return self.score(x, win, lose)[1]  # both are n f (1 - f)

    def newton(self, x: np.ndarray, win: np.ndarray, lose: np.ndarray) -> tuple[Any, Any, bool]:
        return *self.score(x, win, lose), True


FAR = 1e3  # score difference, from which on series have more digits than logarithms


class Probit(Link):
    """f(x) = Phi(x), the standard normal distribution function: Thurstone (1927), case V."""

    def __init__(self) -> None:
        super().__init__(ndtr, _normal_density, "probit")

    def expansion(self, x: np.ndarray) -> ThreeArrays:
        near = np.clip(x, -FAR, FAR)  # from there on the density is zero
        rise = _normal_density(near)
        return ndtr(x), rise, -near * rise

    def log_cdf(self, x: Any) -> np.ndarray:
        return log_ndtr(x)

    def ratio(self, x: Any) -> np.ndarray:
        with np.errstate(divide="ignore"):  # infinite at the left end
            # one over Mills' ratio of -x; erfcx has all its digits far out on both sides
            return np.sqrt(2 / np.pi) / erfcx(np.asarray(x) * -np.sqrt(0.5))

    def curvature(self, x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        near, of_far = np.clip(x, -FAR, FAR), 1 / np.maximum(-x, FAR)
        ratio = self.ratio(near)
        return np.where(x < -FAR, 1 - of_far**2, ratio * (near + ratio))


class Lapse(Link):
    """p(x) = e + (1 - 2e) f(x): a share e of the answers are slips, which go the other way.

    p rises with p(-x) = 1 - p(x), between e and 1 - e. Its score (1 - 2e) f'/p tends to zero for an
    answer against a large difference, which therefore moves a fit by a bounded amount; p is not
    log-concave.
    """

    def __init__(self, plain: Link, lapse: float):
        self.name, self._plain, self.lapse = plain.name, plain, float(lapse)

    def __repr__(self) -> str:
        return f"{self._plain!r} with lapses of {self.lapse:.4g}"

    def _parts(self) -> tuple[Any, ...]:
        return type(self), self.lapse, *self._plain._parts()

    @property
    def plain(self) -> Link:
        return self._plain

    @property
    def rest(self) -> float:
        """1 - 2e: what slips leave of every slope."""
        return 1 - 2 * self.lapse

    def cdf(self, x: Any) -> np.ndarray:
        return self.lapse + self.rest * self._plain.cdf(x)

    def pdf(self, x: Any) -> np.ndarray:
        return self.rest * self._plain.pdf(x)

    def log_cdf(self, x: Any) -> np.ndarray:
        return np.log(np.maximum(self.cdf(x), np.finfo(float).tiny))

    def ratio(self, x: Any) -> np.ndarray:
        return self.pdf(x) / np.maximum(self.cdf(x), np.finfo(float).tiny)

    def curvature(self, x: Any) -> np.ndarray:
        f, rise, bend = self.expansion(np.asarray(x, dtype=float))
        f = np.maximum(f, np.finfo(float).tiny)
        return (rise / f) ** 2 - bend / f

    def expansion(self, x: np.ndarray) -> ThreeArrays:
        f, rise, bend = self._plain.expansion(x)
        return self.lapse + self.rest * f, self.rest * rise, self.rest * bend


def with_lapse(link: Link, lapse: float) -> Link:
    """A link with this share of slips in the place of those that it has."""
    return Lapse(link.plain, lapse) if lapse > 0 else link.plain


KINDS: dict[str, type[Link]] = {"logit": Logit, "probit": Probit}  # by the names in choices.LINKS


def get_link(link: Any) -> Link:
    """The link that a user means by ``"logit"``, ``"probit"``, a ``Link`` or a pair ``(f, f')``.

    A pair of functions is checked to be a link: to rise with f(-x) = 1 - f(x), and to have the
    second function as derivative.
    """
    if isinstance(link, Link):
        return link
    if isinstance(link, str) and link in KINDS:
        return KINDS[link]()  # type: ignore[call-arg]
    if isinstance(link, tuple) and len(link) == 2 and all(callable(part) for part in link):
        return _check_link(Link(*link))
    raise PairscoreError(
        Setting("link") + f" is {link!r}",
        ["use 'logit' or 'probit'", "use a pair of functions, f and its derivative"],
    )


def link_name(link: Link) -> str:
    """The name by which :func:`get_link` knows the link, or ``"custom"`` for a user's own."""
    kinds = KINDS.items()
    return next((name for name, kind in kinds if type(link.plain) is kind), "custom")


def _reaches_zero(link: Link) -> bool:
    """Whether f falls to zero on the left: by a link with heavy tails, or of any unit, far out.

    A function that overflows there is looked at as far as it has values.
    """
    with np.errstate(all="ignore"):
        f = link.cdf(-FAR_OUT)
    known = f[np.isfinite(f)]
    return bool(np.all(known >= 0) and np.any(known <= NEARLY_ZERO))


def _check_link(link: Link) -> Link:
    """A user's own link, or an error where it is none (eq. 2) or the derivative does not fit."""
    x, step = np.linspace(-3, 3, 61), 1e-5
    f = link.cdf(x)
    symmetric = f.shape == x.shape and np.allclose(f + f[::-1], 1, atol=1e-6)
    if not symmetric or np.any(np.diff(f) < 0) or not f[-1] > f[0] or not _reaches_zero(link):
        raise CallError(
            "the link function must rise from 0 to 1 with f(-x) = 1 - f(x) for every x; the one"
            " given does not"
        )
    derivative = (link.cdf(x + step) - link.cdf(x - step)) / (2 * step)
    if not np.allclose(link.pdf(x), derivative, rtol=1e-3, atol=1e-6):
        raise CallError(
            "the second function of the link is not the derivative of the first",
            "give (f, f') in this order",
        )
    return link
