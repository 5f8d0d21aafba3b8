"""A slow twin of likelihoods with effects: of a side, of context, of ties as an outcome, of items.

Definitions are those of docs/explanation/methods.md, abilities.md and docs/howto/real_data.md; as
in tests/dense.py, nothing is shared with the package. A comparison has eta = D beta + Z gamma, Z
with a column of ones for a side effect and the columns of the context, and ends by

    half, drop    f(eta) and f(-eta), a tie as half of each or left out
    davidson      exp(eta/2), exp(-eta/2) and, for a tie, exp(t), over their sum
    rao-kupper    f(eta - t), f(-eta - t), and the rest for a tie

Effects of judges and of items that have features have no twin here. Classical errors, and the
floor of item-robust ones, are by the expected information, or where one asks by the observed one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linprog

from tests import dense
from tests.dense import Answer, Data

HAVE_PARAMETER = ("davidson", "rao-kupper")


@dataclass(frozen=True)
class Terms:
    """Of every comparison: log-likelihood (M), derivatives in (eta, t) (M x 2, M x 2 x 2)."""

    value: np.ndarray
    score: np.ndarray
    observed: np.ndarray
    expected: np.ndarray


def outcome_terms(rule, link, eta, t, outcome) -> Terms:
    if rule == "davidson":
        return _of_davidson(eta, t, outcome)
    if rule == "rao-kupper":
        return _of_rao_kupper(link, eta, t, outcome)
    ones = np.ones(len(eta))
    score, observed, expected, f, _ = dense.row_terms(link, eta, outcome, ones)
    lost = dense.win_terms(link, -eta)[0]
    won = 0.5 + 0.5 * outcome
    value = won * np.log(np.maximum(f, 1e-300)) + (1 - won) * np.log(np.maximum(lost, 1e-300))
    of_eta = np.zeros((2, len(eta), 2, 2))
    of_eta[:, :, 0, 0] = observed, expected
    return Terms(value, np.column_stack([score, 0 * ones]), *of_eta)


def _of_davidson(eta, t, outcome) -> Terms:
    top = np.maximum(np.abs(eta) / 2, t)
    each = np.exp(np.column_stack([-eta / 2, 0 * eta + t, eta / 2]) - top[:, None])
    chance = each / each.sum(axis=1, keepdims=True)  # loss, tie, win
    told = np.array([[-0.5, 0.0], [0.0, 1.0], [0.5, 0.0]])  # derivatives of the exponents
    mean = chance @ told
    information = np.einsum("mo,oi,oj->mij", chance, told, told) - np.einsum(
        "mi,mj->mij", mean, mean
    )
    value = np.log(np.maximum(chance[np.arange(len(eta)), outcome + 1], 1e-300))
    return Terms(value, told[outcome + 1] - mean, information, information)


def _of_rao_kupper(link, eta, t, outcome) -> Terms:
    """By the chances of the three outcomes with their first and second derivatives."""
    chance, first, second = [], [], []
    for sign in (-1, 1):  # loss, win: f(sign eta - t)
        f, of_win, bend = dense.win_terms(link, sign * eta - t)
        along = np.array([sign, -1.0])
        chance.append(f)
        first.append((f * of_win)[:, None] * along)
        second.append((f * (of_win**2 - bend))[:, None, None] * np.outer(along, along))
    # the rest, from the small tails: f(t - |eta|) - f(-t - |eta|)
    ends = [dense.win_terms(link, side * t - np.abs(eta))[0] for side in (1, -1)]
    chance.insert(1, np.maximum(ends[0] - ends[1], 1e-300))
    first.insert(1, -first[0] - first[1])
    second.insert(1, -second[0] - second[1])
    score = np.array([one / p[:, None] for one, p in zip(first, chance, strict=True)])
    products = np.einsum("omi,omj->omij", score, score)
    observed = products - np.array(
        [two / p[:, None, None] for two, p in zip(second, chance, strict=True)]
    )
    rows = outcome + 1, np.arange(len(eta))
    expected = np.einsum("om,omij->mij", np.array(chance), products)
    return Terms(np.log(np.array(chance)[rows]), score[rows], observed[rows], expected)


def is_separated(A, outcome, weight, ties) -> bool:
    """Whether the likelihood of eta = A theta and t has no maximum: a linear programme.

    Some direction of (theta, t) then makes no outcome less likely, and some more likely.
    """
    used = weight > 0
    A, outcome = A[used] / np.maximum(np.abs(A[used]).max(axis=0), 1e-300), outcome[used]
    ahead, tied = outcome[outcome != 0, None] * A[outcome != 0], A[outcome == 0]

    def rows(of_eta, of_t):
        return np.column_stack([of_eta, np.full(len(of_eta), float(of_t))])

    gains = {
        "davidson": [rows(ahead, 0), rows(ahead / 2, -1), rows(tied / 2, 1), rows(-tied / 2, 1)],
        "rao-kupper": [rows(ahead, -1), rows(tied, 1), rows(-tied, 1)],
    }.get(ties, [ahead, tied, -tied])
    gains = np.vstack(gains)
    limits = {"A_ub": -gains, "b_ub": np.zeros(len(gains)), "bounds": (-1, 1)}
    return bool(-linprog(-gains.sum(axis=0), **limits).fun > 1e-7)


def fit(
    data: Data,
    more,
    inference="items",
    link="logit",
    ties="half",
    l2=0.0,
    information="expected",
) -> Answer:
    """Of features, of the columns ``more`` (M x k), and of the tie parameter if there is one."""
    data = data.counted()
    n, d = data.X.shape
    weight = data.weight / (data.weight @ data.weight / data.weight.sum())
    exposures = np.bincount(data.left, weight, n) + np.bincount(data.right, weight, n)
    mean, sd = dense.spread(data.X, exposures)
    A = np.column_stack([data.X[data.left] - data.X[data.right], more])
    if np.count_nonzero(exposures) <= d + 1:
        inference = "model"
    unit = np.append(sd, np.sqrt(np.mean(np.square(more), axis=0)))
    W, undetermined = dense.determined(A, unit)
    basis, size, turn = np.linalg.svd(A @ W, full_matrices=False)
    back = W @ (turn.T / size)
    penalty = l2 * np.append(sd**2, np.zeros(len(unit) - d))
    has_t = int(ties in HAVE_PARAMETER)
    ridge = np.zeros((basis.shape[1] + has_t, basis.shape[1] + has_t))
    ridge[: basis.shape[1], : basis.shape[1]] = (back.T * penalty) @ back
    problem = Problem(basis, data.outcome, weight, ridge, ties, link, information)
    at = problem.maximum()
    back = block_diag(back, np.eye(has_t))
    covariance = problem.covariance(at, back, data, inference, exposures, mean, sd, l2)
    undetermined = np.append(undetermined, np.zeros(has_t, dtype=bool))
    return Answer(back @ at, back @ covariance @ back.T, undetermined)


@dataclass(frozen=True)
class Problem:
    """A likelihood in (a, t), eta = basis a; t only if ties have a parameter."""

    basis: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    ridge: np.ndarray
    ties: str
    link: str
    classical: str = "expected"

    def terms(self, at) -> Terms:
        r = self.basis.shape[1]
        t = at[r] if self.ties in HAVE_PARAMETER else 0.0
        return outcome_terms(self.ties, self.link, self.basis @ at[:r], t, self.outcome)

    def value(self, at) -> float:
        if self.ties == "rao-kupper" and at[-1] <= 0:
            return -np.inf
        return float(self.weight @ self.terms(at).value - 0.5 * at @ self.ridge @ at)

    def rows(self, score) -> np.ndarray:
        """Contributions (M x r or r + 1) of scores in (eta, t) (M x 2)."""
        columns = self.basis * score[:, :1]
        return np.column_stack([columns, score[:, 1:]])[:, : len(self.ridge)]

    def information(self, of_rows) -> np.ndarray:
        w, B = self.weight[:, None, None] * of_rows, self.basis
        mixed = B.T @ w[:, 0, 1]
        whole = np.block(
            [[(w[:, 0, 0, None] * B).T @ B, mixed[:, None]], [mixed[None], w[:, 1, 1].sum()]]
        )
        return whole[: len(self.ridge), : len(self.ridge)]

    def maximum(self) -> np.ndarray:
        at = np.zeros(len(self.ridge))
        if self.ties == "rao-kupper":
            at[-1] = 0.3
        for _ in range(500):
            terms = self.terms(at)
            slope = self.weight @ self.rows(terms.score) - self.ridge @ at
            step = np.linalg.solve(self.information(terms.observed) + self.ridge, slope)
            before = self.value(at)
            while self.value(at + step) < before - 1e-10 * abs(before):
                step = step / 2
            at = at + step
            if np.linalg.norm(step) <= 1e-13 * max(np.linalg.norm(at), 1e-6):
                break
        return at

    def covariance(self, at, back, data, inference, exposures, mean, sd, l2) -> np.ndarray:
        terms = self.terms(at)
        expected = self.information(getattr(terms, self.classical))
        if inference == "model":
            J = np.linalg.inv(expected + self.ridge)
            classical = J @ expected @ J
            if self.ties != "half" or not np.any(data.outcome == 0):
                return classical
            eta = self.basis @ at
            slope = dense.win_terms(self.link, eta)[1] + dense.win_terms(self.link, -eta)[1]
            tied = np.zeros_like(terms.expected)
            tied[:, 0, 0] = 0.25 * (data.outcome == 0) * slope**2
            taken = J @ self.information(tied) @ J
            return dense.less_ties(classical, taken, back)
        J = np.linalg.inv(self.information(terms.observed) + self.ridge)
        u = self.weight[:, None] * self.rows(terms.score)
        of_leverage = l2 * sd**2 / (4 * dense.slope_at_zero(self.link) ** 2)
        weighed = Data(data.X, data.left, data.right, data.outcome, self.weight)
        meat = dense.dyadic_meat(weighed, u, exposures, mean, of_leverage)
        return dense.floored(J @ meat @ J.T, J @ expected @ J.T, dense.SMALLEST_RATIO)


def abilities(data: Data, more, link="logit", ties="half", l2=0.0) -> Answer:
    """Of items without features (never compared: NaN), then ``more`` and the tie parameter.

    Abilities are centred, and intervals classical; with ties as half wins the information is
    divided by what the ties leave of a coin's variance, before a ridge is added.
    """
    data = data.counted()
    weight = data.weight / (data.weight @ data.weight / data.weight.sum())
    n, rows = len(data.X), np.arange(len(data.left))
    B = np.zeros((len(rows), n))
    B[rows, data.left] = 1.0
    B[rows, data.right] -= 1.0
    met = B.any(axis=0)
    A = np.column_stack([B[:, met], more])
    k = int(met.sum())
    centre = np.linalg.qr(np.eye(k) - 1 / k)[0][:, : k - 1]  # abilities that sum to zero
    back = np.zeros((A.shape[1], A.shape[1] - 1))
    back[:k, : k - 1], back[k:, k - 1 :] = centre, np.eye(A.shape[1] - k)
    has_t = int(ties in HAVE_PARAMETER)
    ridge = np.zeros((back.shape[1] + has_t,) * 2)
    ridge[: k - 1, : k - 1] = l2 * np.eye(k - 1)
    problem = Problem(A @ back, data.outcome, weight, ridge, ties, link)
    at = problem.maximum()
    terms = problem.terms(at)
    share = 1.0
    if ties == "half":
        f = dense.win_terms(link, problem.basis @ at)[0]
        share = 1 - 0.25 * (weight @ (data.outcome == 0)) / (weight @ (f * (1 - f)))
    back = block_diag(back, np.eye(has_t))
    covariance = np.linalg.inv(problem.information(terms.observed) / share + ridge)
    whole = np.full(n + len(back) - k, np.nan)
    known = np.append(met, np.ones(len(back) - k, dtype=bool))
    whole[known] = back @ at
    errors = np.full((len(whole), len(whole)), np.nan)
    errors[np.ix_(known, known)] = back @ covariance @ back.T
    return Answer(whole, errors, ~known)
