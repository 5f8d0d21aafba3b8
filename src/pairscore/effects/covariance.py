"""The covariance of theta: that of the joint model, or where items have no effects the classical
one, or one robust to shared items and judges; and what it adds to the errors of items' scores.

Comparisons that share an item, or a judge, depend on each other; the covariance allows for it.
Profile likelihoods do not: they are those of independent comparisons.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pairscore.core.linalg import conjugate_gradients
from pairscore.core.pair_graph import Pairs
from pairscore.core.sandwich import (
    DyadicSums,
    floored_covariance,
    item_incidence,
    jackknife_inflation,
    less_ties,
    sandwich,
)
from pairscore.core.ties import TieRule
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import read_names
from pairscore.effects.circumstances import effect_columns, prepare_fit
from pairscore.effects.item_posterior import (
    Covariance,
    FormedCovariance,
    own_variance,
    shared_variance,
)
from pairscore.effects.item_variance import ItemVariance
from pairscore.effects.propagation import Posterior
from pairscore.effects.separation import climb_held
from pairscore.effects.single_comparisons import (
    BLOCK_NUMBERS,
    Contributions,
    Optimum,
    RowDerivatives,
    SingleComparisons,
    whole_groups,
)
from pairscore.errors import PairscoreError
from pairscore.estimators.criteria import kept_likelihood
from pairscore.estimators.fit_data import FitData, leverage_whitener
from pairscore.estimators.results import Fit, comparisons_of_fit
from pairscore.estimators.settings import Settings

QUASI_STEPS, QUASI_CLOSE = 50, 1e-9  # of quasi-variances, and a relative step that is none

SMALLEST_GAP = 1e-13  # to the maximum, per comparison, that one more step closes
PROFILE_STEPS = 100
LARGEST_MOVE = 2.0  # of a comparison's eta in one step along a profile
NO_MOVE = 1e-9
MOST_ABILITIES = 3000  # items with an ability each, of which an inverse is formed
NEEDED = 1e-9  # share of the information of an effect that others leave, if it is determined


def joint_covariance(
    data: FitData, settings: Settings, post: Posterior, variance: ItemVariance | None
) -> np.ndarray:
    """Of theta; with effects of items it is that of the joint model, and the error of sigma^2."""
    if not post.averaged:
        return post.share_of_coin * post.basis.inverse
    if post.sigma2 == 0 or variance is None:
        return robust_covariance(data, settings, post, post.basis.inverse)
    covariance, d = post.basis.inverse + np.outer(variance.lean, variance.lean), data.X.shape[1]
    covariance[:d, :d] += projection_covariance(data, post)
    if settings.inference == "items+judges":
        return with_shared_judges(post, covariance)
    return covariance


def projection_covariance(data: FitData, post: Posterior) -> np.ndarray:
    """What coefficients (d x d) are unsure of because the projected context is net of the features.

    As far as the features of the items at hand go along with it by chance, the coefficients have
    it: they carry the regression of pi p on X, whose error is that of weighted least squares.
    """
    rows, d = post.rows, data.X.shape[1]
    of_context = (rows.X[:, d:] - rows.mean[d:]) @ post.theta[d : len(rows.mean)]
    exposures, centred = data.tally.exposures, data.X - data.item_moments.mean
    unit = np.where(data.item_moments.sd > 0, data.item_moments.sd, 1.0)
    scatter = data.item_moments.scatter / np.outer(unit, unit)
    inverse = np.linalg.pinv(scatter, hermitian=True) / np.outer(unit, unit)
    weighted = (exposures * of_context)[:, None] * centred
    return inverse @ (weighted.T @ weighted) @ inverse


def robust_covariance(
    data: FitData, settings: Settings, post: Posterior, bread: np.ndarray
) -> np.ndarray:
    """Of theta, k x k, where ``bread`` is its inverse information."""
    rows = post.rows
    expected = rows.information(post.derivatives) - rows.ridge
    if settings.inference == "model":
        classical, taken = sandwich(bread, expected, None), rows.taken_by_ties(post.theta)
        return classical if taken is None else less_ties(classical, bread @ taken @ bread.T)
    inflation = jackknife_inflation(
        data.X - data.item_moments.mean,
        data.tally.exposures,
        leverage_whitener(data, settings),
    )
    add = rows.contributions(post.derivatives, post.theta)
    meat = item_robust_meat(rows, add, inflation)
    by_items = sandwich(bread, expected, meat)
    if settings.inference == "items":
        return by_items
    both = bread @ (meat + judge_robust_meat(rows, add, inflation > 0)) @ bread.T
    return floored_covariance(both, by_items, 1.0)  # sharing judges too only ever adds variance


def with_shared_judges(post: Posterior, covariance: np.ndarray) -> np.ndarray:
    """The covariance of the joint model, with what comparisons of one judge have in common.

    What a comparison adds to the equations of theta is taken net of the items' effects.
    """
    rows, s, solved = post.rows, post.derivatives, post.solved
    add = rows.contributions(s, post.theta)

    def net(some: np.ndarray) -> np.ndarray:
        through_items = solved[rows.left[some]] - solved[rows.right[some]]
        return add(some) - s.delta[some, None] * through_items

    meat, bread = judge_robust_meat(rows, net, rows.compared), post.basis.inverse
    return floored_covariance(covariance + bread @ meat @ bread.T, covariance, 1.0)


def item_robust_meat(
    rows: SingleComparisons, add: Contributions, inflation: np.ndarray
) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 - sum_p u_p u_p', as for the pairs alone."""
    numbers, size = np.arange(len(rows.left)), len(rows.ridge)
    sums = DyadicSums.zero(len(rows.X), size)
    for part in whole_groups(rows.pairs[1], BLOCK_NUMBERS // size):
        left, right = rows.left[part], rows.right[part]
        sums = sums + DyadicSums.of_rows(left, right, add(numbers[part]), inflation)
    return sums.meat(inflation)


def judge_robust_meat(
    rows: SingleComparisons, add: Contributions, counts: np.ndarray
) -> np.ndarray:
    """What comparisons of one judge add to the meat that do not share an item that ``counts`` (N).

    All of a judge's, less those that do: by items that are others for every judge.
    """
    n, size = len(rows.X), len(rows.ridge)
    block, place = BLOCK_NUMBERS // size, rows.pairs[1].astype(np.int64)
    order = np.lexsort((place, rows.judge))
    judge, together, shared = rows.judge[order], *np.zeros((2, size, size))
    for some in whole_groups(judge, block):
        chosen = order[some]
        _, number = np.unique(judge[some], return_inverse=True)
        items = np.concatenate([rows.left[chosen], rows.right[chosen]])
        codes, code = np.unique(np.tile(number, 2) * n + items, return_inverse=True)
        left, right = code.reshape(2, len(chosen))
        inflation = counts[codes % n].astype(float)
        per_judge, sums = np.zeros((number[-1] + 1, size)), DyadicSums.zero(len(codes), size)
        # one judge may have more comparisons than are held at a time
        for part in whole_groups(number * (place.max() + 1) + place[chosen], block):
            u = add(chosen[part])
            sums = sums + DyadicSums.of_rows(left[part], right[part], u, inflation)
            per_judge += item_incidence(number[part], number[part], len(per_judge)) @ u
        together += per_judge.T @ per_judge
        shared += sums.meat(inflation)
    few = rows.n_judges / max(rows.n_judges - 1, 1)
    return few * together - shared


def score_errors(post: Posterior, d: int, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance of each item's effect (N), and the share of its features' error in its score.

    If coefficients move by D, scores move by X~ D with X~ = V X / sigma^2 = X - V L X, L the
    Laplacian: the surer an item is by its own comparisons, the less it depends on the coefficients.
    The error of X~ D is split, item
    by item, into share times that of the item's own features, and a rest that is taken for
    independent of other items.
    """
    X = post.rows.X - post.rows.mean
    kept = (X - post.solved[:, : X.shape[1]]) @ root
    of_features = X[:, :d] @ root[:d]
    own, along = np.sum(of_features**2, axis=1), np.sum(of_features * kept, axis=1)
    share = np.divide(along, own, out=np.ones(len(X)), where=own > 0)
    rest = np.maximum(np.sum(kept**2, axis=1) - share**2 * own, 0.0)
    return post.covariance.diagonal + rest, share


def matrix_root(matrix: np.ndarray) -> np.ndarray:
    """R with R R' the matrix, but for what is negative in it.

    In units in which its diagonal has ones, because features may differ in scale.
    """
    unit = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    return unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))


def rows_at_maximum(fit: Fit, data: Comparisons) -> tuple[SingleComparisons, Optimum]:
    """The comparisons of a fit with features as rows, and the maximum of their likelihood.

    ``data`` are those that the fit is to; it has no item effects and no slopes of judges.
    """
    settings = replace(fit.settings, inference=None)
    given = FitData(data, settings.side_effect)
    prepared = prepare_fit(given, settings)
    effects = [fit.side_effect] if fit.side_effect is not None else []
    values = effects if fit.effects is None else fit.effects.values
    start = np.concatenate([fit.coef, values])
    held = climb_held(given, settings, prepared, start, SMALLEST_GAP)
    return held.prepared.rows, held.top


def profile_ends(
    rows: SingleComparisons, top: Optimum, columns: np.ndarray, drop: float
) -> np.ndarray:
    """Where the profile likelihood of each parameter is ``drop`` below its maximum (len x 2).

    Newton's method for all parameters at once (Venzon and Moolgavkar 1988): the step from theta is
    -H^-1 g + c H^-1 e_j, g and H gradient and Hessian of the loss, with c such that the quadratic
    approximation of the loss, loss - g'H^-1 g / 2 + c^2 (H^-1)_jj / 2, is the one that is asked
    for. The first step ends at the classical interval. NaN where it does not converge.
    """
    target = rows.loss(rows.derivatives(top.theta), top.theta) + drop
    return np.array(
        [[_profile_end(rows, top.theta, j, sign, target) for sign in (-1, 1)] for j in columns]
    ).reshape(len(columns), 2)


def _profile_end(
    rows: SingleComparisons, theta: np.ndarray, j: int, sign: int, target: float
) -> float:
    for _ in range(PROFILE_STEPS):
        s = rows.derivatives(theta)
        gradient, basis = rows.gradient(s, theta), rows.basis(s)
        along, down = basis.solve(np.eye(len(theta))[j]), basis.solve(gradient)
        rest = 2 * (target - rows.loss(s, theta)) + float(gradient @ down)
        step = sign * np.sqrt(max(rest, 0.0) / along[j]) * along - down
        move = float(np.max(np.abs(rows.predictor(step)), initial=0.0))
        step *= min(1.0, LARGEST_MOVE / max(move, NO_MOVE))
        while not rows.rule.allowed(rows.tie(theta + step)):
            step = step / 2
        theta = theta + step
        if move < NO_MOVE:
            return float(theta[j])
    return np.nan


def information_of_rows(
    rows: SingleComparisons, s: RowDerivatives, some: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What ``some`` comparisons add to the score (k) and the information (k x k) of theta."""
    difference = rows.X[rows.left[some]] - rows.X[rows.right[some]]
    v = np.hstack([rows.sharpness[some, None] * difference, rows.columns[some].toarray()])
    score, information = v.T @ s.eta[some], v.T @ (s.eta_eta[some, None] * v)
    if not rows.rule.has_parameter:
        return score, information
    border = v.T @ s.eta_t[some]
    corner = np.block([[information, border[:, None]], [border[None], s.t_t[some].sum()]])
    return np.append(score, s.t[some].sum()), corner


# -- abilities -------------------------------------------------------------------------------------


class AbilityRows:
    """Comparisons of a fit without features: n abilities, then k effects of comparisons.

    The score of a comparison is D theta, D (M x (n + k)) with 1 at left, -1 at right and the
    columns of the effects; a tie parameter is one of the k and has zeros there. ``inverse`` is that
    of the information, to which c 11' is added for the abilities, of which only differences are
    known: that does not change how these vary, and centres abilities. ``eta`` (M) are the scores of
    the comparisons by the fit.
    """

    def __init__(self, fit: Fit, data: Comparisons, eta: np.ndarray):
        self.items = np.flatnonzero(data.compared)
        self.n, rows = len(self.items), np.arange(len(data))
        if self.n > MOST_ABILITIES:
            raise PairscoreError(
                f"abilities of {self.n} items need the inverse of a matrix of that size here, which"
                f" is formed up to {MOST_ABILITIES} items; use residuals(model, kind='pearson')."
            )
        place = np.cumsum(data.compared) - 1
        self.left, self.right = place[data.left], place[data.right]
        kinds = () if fit.effects is None else fit.effects.kinds
        self.tie = self.n + kinds.index("tie") if "tie" in kinds else None
        self.beside = effect_columns(data, fit.effects, fit.side_effect, np.ones(len(data)))
        entries = np.append(np.ones(len(data)), -np.ones(len(data)))
        at = np.tile(rows, 2), np.append(self.left, self.right)
        D = sparse.coo_array((entries, at), shape=(len(data), self.n))
        self.D = sparse.csr_array(sparse.hstack([D, sparse.csr_array(self.beside)]))
        rule = TieRule(fit.ties, fit.link)
        self.s = rule.derivatives(eta, data.outcome.astype(float), fit.tie_parameter or 0.0)
        self.amount = np.where(data.left == data.right, 0.0, data.amount)
        H, n = self.information(rows).toarray(), self.n
        c, l2 = float(np.trace(H[:n, :n])) / n**2, fit.settings.l2
        H[:n, :n] += l2 * np.eye(n) if l2 else c
        self.inverse = _inverse_by_parts(H, n)

    def score(self, rows: np.ndarray) -> np.ndarray:
        """What some comparisons add to the score of theta, (n + k)."""
        g = self.D[rows].T @ (self.amount[rows] * self.s.eta[rows])
        if self.tie is not None:
            g[self.tie] += self.amount[rows] @ self.s.t[rows]
        return g

    def information(self, rows: np.ndarray) -> sparse.csr_array:
        """What some comparisons add to the information of theta, ((n + k) x (n + k)), sparse."""
        D, amount = self.D[rows], self.amount[rows]
        H = sparse.csr_array(D.T @ (D * (amount * self.s.eta_eta[rows])[:, None]))
        if self.tie is None:
            return H
        border = D.T @ (amount * self.s.eta_t[rows])
        border[self.tie] += amount @ self.s.t_t[rows] / 2
        at, p = np.full(len(border), self.tie), len(border)
        one = sparse.coo_array((border, (np.arange(p), at)), shape=(p, p))
        return sparse.csr_array(H + one + one.T)

    def squares(self, in_eta: np.ndarray, in_t: np.ndarray) -> np.ndarray:
        """J H^-1 J' of each comparison (M), J = dmu/deta D + dmu/dt."""
        V, n, a, b = self.inverse, self.n, self.left, self.right
        q = in_eta[:, None] * self.beside
        if self.tie is not None:
            q[:, self.tie - n] += in_t
        of_items = in_eta**2 * (V[a, a] + V[b, b] - 2 * V[a, b])
        across = 2 * in_eta * np.einsum("ij,ij->i", q, V[a, n:] - V[b, n:])
        return of_items + across + np.einsum("ij,ij->i", q @ V[n:, n:], q)


def _inverse_by_parts(H: np.ndarray, n: int) -> np.ndarray:
    """An inverse of H, of whose last k directions some may not be determined: these stay put."""
    V = np.linalg.inv(H[:n, :n])
    C, unit = V @ H[:n, n:], np.sqrt(np.diag(H)[n:])
    size, axes = np.linalg.eigh((H[n:, n:] - H[n:, :n] @ C) / np.outer(unit, unit))
    root = axes * np.where(size > NEEDED, 1 / np.sqrt(np.maximum(size, NEEDED)), 0.0)
    along = np.vstack([-C, np.eye(len(H) - n)]) @ (root / unit[:, None])
    inverse = along @ along.T
    inverse[:n, :n] += V
    return inverse


def profile_intervals(fit: Fit, width: float) -> np.ndarray:
    """Where the profile likelihood of each coefficient is width^2 / 2 below its maximum (d x 2).

    NaN where the comparisons do not determine the coefficient.
    """
    if not fit.n_features:
        raise PairscoreError(
            "profile intervals are of coefficients of features, and the model has none; use"
            " method='wald' for the abilities of items, and summary() for effects."
        )
    kept_likelihood(fit.likelihood).refuse_none("there are no profile intervals")
    data, ends = comparisons_of_fit(fit, "profile intervals"), np.full((fit.n_features, 2), np.nan)
    determined = np.flatnonzero(~fit.open.undetermined)
    ends[determined] = profile_ends(*rows_at_maximum(fit, data), determined, width**2 / 2)
    return ends


def named_abilities(fit: Fit, names: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Abilities (k) of the items of these ids, and their covariance (k x k); None if none is one.

    Of a fit without features, in which an item goes before an effect of the same name.
    """
    if fit.item_effects is None or not names:
        return None
    ids = read_names(names).ids
    known = fit.item_effects.known(ids, np.empty(0))
    if not np.any(known.row >= 0):
        return None
    if np.any(known.row < 0):
        other = names[int(np.argmin(known.row))]
        raise PairscoreError(
            f"the fit has no item {other!r}, and has others that were named; ask for items alone."
        )
    first, second = (one.ravel() for one in np.meshgrid(known.row, known.row))
    shared = shared_variance(fit.item_effects, first, second)
    variance = fit.item_effects.std_error[first] ** 2
    if fit.item_effects.component is not None:
        variance = own_variance(fit.item_effects, first)
    own = np.where(first == second, variance, shared)
    return known.effect, own.reshape(len(names), len(names))


def centred_variances(covariance: Covariance, pairs: Pairs, sigma2: float) -> np.ndarray:
    """Variances (N) of effects less the mean of all that were compared.

    Of n compared items it is V - sigma^2 / n, because V 1 = sigma^2 1: V 1 of a group of items is
    what a ridge knows of their mean, and no comparison does. Where V is formed, each group of s
    items is centred first, and sigma^2 (1 / s - 1 / n) is added, so that a ridge may be small.
    """
    if np.isinf(sigma2):
        return covariance.diagonal
    size = np.bincount(pairs.component)[pairs.component].astype(float)
    n = max(int(np.count_nonzero(size > 1)), 1)
    if not isinstance(covariance, FormedCovariance):
        return np.maximum(covariance.diagonal - sigma2 / n, 0.0)
    return covariance.centred_diagonal() + sigma2 * (1 / size - 1 / n)


def quasi_variances(covariance: Covariance, along: np.ndarray) -> np.ndarray | None:
    """q (N) with q_i + q_j about the variance of the difference of any two abilities.

    Least squares of log(q_i + q_j) - log v_ij over all pairs (Firth and de Menezes 2004), by the
    method of Gauss and Newton; ``along`` (N x k) is what effects of comparisons add to V. None
    where V is not formed in one block, or of abilities without a law in blocks: these hold within
    a block, and one of a single item has none.
    """
    if not isinstance(covariance, FormedCovariance):
        return None
    V = covariance.whole()
    if V is not None:
        return None if len(V) < 3 else _quasi_variances(V + along @ along.T)
    if not covariance.is_free:
        return None
    q = np.full(len(along), np.nan)
    for items, inverse in covariance.blocks():
        if len(items) > 1:
            own = inverse + along[items] @ along[items].T
            v = own[0, 0] + own[1, 1] - 2 * own[0, 1]
            q[items] = v / 2 if len(items) == 2 else _quasi_variances(own)
    return q


def _quasi_variances(V: np.ndarray) -> np.ndarray:
    """Those of one block."""
    own = np.diag(V)
    wanted = own[:, None] + own - 2 * V
    np.fill_diagonal(wanted, 1.0)
    logs, q = np.log(wanted), own.copy()
    for _ in range(QUASI_STEPS):
        slope = 1 / (q[:, None] + q)
        off = -np.log(slope) - logs
        np.fill_diagonal(slope, 0.0)
        np.fill_diagonal(off, 0.0)
        squares = slope**2
        information = squares + np.diag(squares.sum(axis=1))
        wrong = np.sum(slope * off, axis=1)[:, None]
        step = conjugate_gradients(information, wrong, close=QUASI_CLOSE)[0][:, 0]
        step /= max(1.0, float(np.max(2 * step / q)))  # q stays positive
        q = q - step
        if np.max(np.abs(step) / q) < QUASI_CLOSE:
            break
    return q
