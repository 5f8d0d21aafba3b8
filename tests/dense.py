"""A slow twin of every estimator without effects: dense matrices, double precision, loops.

tests/dense_effects.py does the same for likelihoods with effects of sides, context and ties.

It forms the difference of every comparison, climbs by Newton's method along the singular vectors of
the differences, and sums the item-robust covariance over every two comparisons that share an item.
Nothing is shared with the package but the definitions of docs/explanation/methods.md and
intervals.md; links are SciPy's functions. Small-sample rules are those stated there:

- an item's contributions are divided by 1 - its leverage, at most 0.8; an item with a column of its
  own counts each of its comparisons once;
- contributions are taken less their mean;
- item-robust variances below half of the classical ones are raised to it;
- with no more items than features plus one, intervals are classical;
- ties as half wins take their share off the classical variance;
- of a closed form, the guard's shift is added as variance, and `split` adds the error of its items;
- a ridge is in the leverage as in a closed form: l2 sd^2 / (4 f'(0)^2) on the scatter of items.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linprog
from scipy.special import expit, log_ndtr

LARGEST_LEVERAGE = 0.8
SMALLEST_RATIO = 0.5  # of item-robust over classical variance
SMALLEST_SHARE = 0.05  # of a coin's variance, that ties leave
MANY = 1000  # comparisons, every two of which are looked at
OPEN = 1e-6  # singular value of standardised differences, over the largest: that of no difference


@dataclass(frozen=True)
class Data:
    """Comparisons: features (N x d), rows of left and right, outcome in {-1, 0, 1}, weight."""

    X: np.ndarray
    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray | None = None

    @property
    def second_half(self) -> np.ndarray:
        """Items that were never compared, behind the covariance of `split`."""
        return np.delete(self.X, np.unique([self.left, self.right]), axis=0)

    def counted(self) -> "Data":
        """Without comparisons of an item with itself, and with weights."""
        apart = self.left != self.right
        weight = np.ones(len(self.left)) if self.weight is None else self.weight
        columns = self.left, self.right, self.outcome, weight
        return Data(self.X, *(np.asarray(column)[apart] for column in columns))

    @property
    def votes(self) -> dict:
        """As the package reads them."""
        names = np.array(["right", "tie", "left"])[np.asarray(self.outcome) + 1]
        votes = {"left": self.left, "right": self.right, "winner": names}
        return votes if self.weight is None else votes | {"weight": self.weight}


@dataclass(frozen=True)
class Answer:
    """Coefficients, covariance, and which coefficients the comparisons leave open, of a method."""

    coef: np.ndarray
    covariance: np.ndarray
    undetermined: np.ndarray

    @property
    def std_errors(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))


# -- links -------------------------------------------------------------------------------------


def secant(x):
    """The law of the hyperbolic secant, of the kind of link that a user brings."""
    with np.errstate(over="ignore"):
        return 2 / np.pi * np.arctan(np.exp(np.pi / 2 * np.asarray(x, dtype=float)))


def secant_density(x):
    far = -np.pi / 2 * np.abs(x)
    return np.exp(far) / (1 + np.exp(2 * far))


def win_terms(link, x):
    """f, f'/f at x, and minus the second derivative of log f."""
    if link == "logit":
        return expit(x), expit(-x), expit(x) * expit(-x)
    if link == "secant":
        ratio = secant_density(x) / secant(x)
        return secant(x), ratio, ratio * (np.pi / 2 * np.tanh(np.pi / 2 * x) + ratio)
    ratio = np.exp(-0.5 * x * x - log_ndtr(x)) / np.sqrt(2 * np.pi)
    return np.exp(log_ndtr(x)), ratio, ratio * (x + ratio)


def row_terms(link, eta, outcome, amount):
    """Of every comparison: score in eta, observed and expected information, f and f'."""
    f, of_win, bend_win = win_terms(link, eta)
    _, of_loss, bend_loss = win_terms(link, -eta)
    won = 0.5 + 0.5 * outcome
    score = amount * (won * of_win - (1 - won) * of_loss)
    observed = amount * (won * bend_win + (1 - won) * bend_loss)
    return score, observed, amount * of_win * of_loss, f, f * of_win


# -- estimators ----------------------------------------------------------------------------------


def maximise(link, design, outcome, amount, ridge=0.0):
    """Newton's method on a design (M x r) with orthonormal columns, or nearly; halved steps.

    Half of at' ridge at is taken off the log-likelihood, ridge (r x r).
    """
    ridge = ridge + np.zeros((design.shape[1], design.shape[1]))

    def value(at):
        eta = design @ at
        f = np.maximum(win_terms(link, eta)[0], 1e-300)
        g = np.maximum(win_terms(link, -eta)[0], 1e-300)
        won = 0.5 + 0.5 * outcome
        return amount @ (won * np.log(f) + (1 - won) * np.log(g)) - 0.5 * at @ ridge @ at

    at = np.zeros(design.shape[1])
    for _ in range(200):
        score, observed, *_ = row_terms(link, design @ at, outcome, amount)
        information = (observed[:, None] * design).T @ design + ridge
        step = np.linalg.solve(information, design.T @ score - ridge @ at)
        before = value(at)
        while value(at + step) < before - 1e-9 * abs(before):
            step = step / 2
        at = at + step
        if np.linalg.norm(step) <= 1e-13 * np.linalg.norm(at) or not at.any():
            break
    return at


def determined(D, sd):
    """Directions (d x r) in which differences are seen; which coefficients (d) others move.

    The directions are orthonormal in standardised features, so that the solution along them is the
    one of smallest norm there.
    """
    unit = np.where(sd > 0, sd, 1.0)
    _, size, right = np.linalg.svd(D / unit, full_matrices=False)
    seen = right[size > OPEN * max(size.max(), OPEN)].T
    left_open = np.diag(np.eye(len(sd)) - seen @ seen.T)
    return seen / unit[:, None], left_open > OPEN**2


def is_separated(data: Data) -> bool:
    """Whether some direction explains every comparison, and some strictly: a linear programme."""
    data = data.counted()
    D = data.X[data.left] - data.X[data.right]
    D = D / np.maximum(np.abs(D).max(axis=0), 1e-300)
    gains = data.outcome[:, None] * D
    used = data.weight > 0
    tied, decided = D[used & (data.outcome == 0)], gains[used & (data.outcome != 0)]
    if not len(decided):
        return False
    best = linprog(
        -decided.sum(axis=0),
        A_ub=-decided,
        b_ub=np.zeros(len(decided)),
        A_eq=tied if len(tied) else None,
        b_eq=np.zeros(len(tied)) if len(tied) else None,
        bounds=(-1, 1),
    )
    return bool(-best.fun > 1e-7)


def spread(X, exposures):
    """Mean and standard deviation of features (d), each item as often as it was compared."""
    mean = exposures @ X / exposures.sum()
    sd = np.sqrt(exposures @ (X - mean) ** 2 / exposures.sum())
    sd[sd <= 1e-13 * np.abs(mean)] = 0.0
    return mean, sd


def slope_at_zero(link):
    f, of_win, _ = win_terms(link, np.zeros(1))
    return float(f[0] * of_win[0])


def fit(
    data: Data,
    method="mle",
    inference="items",
    link="logit",
    *,
    side=False,
    l2=0.0,
    shrinkage=0.0,
) -> Answer:
    """The answer of a method to data that are not separated.

    With a side effect, its value and covariance come last; that of `mle`, and its ridge, are in
    tests/dense_effects.py.
    """
    assert method != "mle" or not (side or l2)
    second = data.second_half
    data = data.counted()
    n, d = data.X.shape
    exposures = np.bincount(data.left, data.weight, n) + np.bincount(data.right, data.weight, n)
    mean, sd = spread(data.X, exposures)
    D = data.X[data.left] - data.X[data.right]
    if np.count_nonzero(exposures) <= d + 1:
        inference = "model"
    W, undetermined = determined(D, sd)
    if not W.size:
        return Answer(np.zeros(d), np.full((d, d), np.nan), undetermined)
    if method == "mle":
        return Answer(*_likelihood(data, D @ W, W, inference, link, exposures, mean), undetermined)
    S, M = _covariance_of(method, data, D, exposures, mean, second), data.weight.sum()
    S = (1 - shrinkage) * S + shrinkage * np.diag(np.diag(S))
    if method == "pooled":  # all that differs among items
        W, _ = determined((data.X - mean)[exposures > 0], sd)
    if method == "paired" and shrinkage:  # each feature that differs
        W = np.eye(d)[:, D.any(axis=0)] / np.where(sd > 0, sd, 1.0)[:, None]
    if method == "split":  # and among those behind the covariance
        W, constant = determined(second - second.mean(axis=0), second.std(axis=0))
        undetermined = undetermined | constant
    of_ridge = second.std(axis=0) if method == "split" else sd
    penalty = l2 * of_ridge**2 / (4 * slope_at_zero(link) ** 2)
    L = W @ np.linalg.inv(np.linalg.cholesky(W.T @ (S * M + np.diag(penalty) / 2) @ W)).T
    of_leverage = l2 * sd**2 / (4 * slope_at_zero(link) ** 2)
    freedom = float(np.vdot(L, M * S @ L)) if l2 else L.shape[1]
    ridge = Ridge(l2 * (L.T * of_ridge**2) @ L, of_leverage, freedom)
    form = _closed_form(data, D, L, method, inference, link, exposures, mean, second, side, ridge)
    return Answer(*form, np.append(undetermined, np.zeros(int(side), dtype=bool)))


@dataclass(frozen=True)
class Ridge:
    """Of a closed form along L: what acts on its scale (r x r), the leverage (d), the freedom."""

    of_scale: np.ndarray
    of_leverage: np.ndarray
    freedom: float


def _likelihood(data, along, W, inference, link, exposures, mean):
    """Coefficients W a and their covariance, from differences ``along`` (M x r)."""
    basis, size, turn = np.linalg.svd(along, full_matrices=False)
    back = W @ (turn.T / size)  # coefficients of parameters of the orthonormal design
    at = maximise(link, basis, data.outcome, data.weight)
    score, observed, expected, *_ = row_terms(link, basis @ at, data.outcome, data.weight)
    J = np.linalg.inv((observed[:, None] * basis).T @ basis)
    model = (expected[:, None] * basis).T @ basis
    if inference == "model":
        J = np.linalg.inv(model)
        _, of_win, _ = win_terms(link, basis @ at)
        of_loss = win_terms(link, -(basis @ at))[1]
        taken = 0.25 * data.weight * (data.outcome == 0) * (of_win + of_loss) ** 2
        taken = J @ ((taken[:, None] * basis).T @ basis) @ J.T
        return back @ at, back @ less_ties(J @ model @ J.T, taken, back) @ back.T
    meat = dyadic_meat(data, score[:, None] * basis, exposures, mean)
    unit = data.weight @ data.weight / data.weight.sum()
    V = floored(J @ meat @ J.T, unit * J @ model @ J.T, SMALLEST_RATIO)
    return back @ at, back @ V @ back.T


def less_ties(model, taken, back):
    """Classical covariance (r x r) less that of ties, half of what is left at least.

    What is left is averaged over the coefficients, which are ``back`` times the parameters.
    """
    if not taken.any():
        return model
    whole, less = (np.einsum("ij,jk,ik->i", back, one, back) for one in (model, taken))
    left = max(1 - np.mean(less[whole > 0] / whole[whole > 0]), SMALLEST_SHARE)
    return floored(model - taken, model, SMALLEST_RATIO * left)


def _covariance_of(method, data, D, exposures, mean, second):
    """S of a closed form (d x d)."""
    M = data.weight.sum()
    if method == "split":
        z = second - second.mean(axis=0)
        return z.T @ z / (len(z) - z.shape[1] - 2)
    if method == "pooled":
        z = data.X - mean
        return (exposures[:, None] * z).T @ z / (2 * M)
    return (data.weight[:, None] * D).T @ D / (2 * M)


def _closed_form(data, D, L, method, inference, link, exposures, mean, second, side, ridge):
    """Coefficients on the link's scale, with the guard, the side effect, and their covariance.

    Along L (d x r), with which L'(SM + ridge)L = I: a closed form b = L c has c = L'D'(a y).
    """
    a, y, n, r = data.weight, data.outcome, len(data.X), L.shape[1]
    along_L = D @ L
    c = along_L.T @ (a * y)
    x = along_L @ c
    scale_design = np.column_stack([x, np.ones(len(x))])[:, : 1 + side]
    unit = np.linalg.norm(scale_design, axis=0)
    of_scale = np.diag([float(c @ ridge.of_scale @ c), 0.0][: 1 + side])
    at = maximise(link, scale_design / unit, y, a, of_scale / np.outer(unit, unit)) / unit
    factor = float(at[0])
    net = np.bincount(data.left, a * y, n) - np.bincount(data.right, a * y, n)
    along = np.bincount(data.left, a * x, n) - np.bincount(data.right, a * x, n)
    explained, squares = float(a * y @ x), float(a @ x**2)
    residual = net - explained / squares * along
    freedom = ridge.freedom
    if method != "split":
        used = np.count_nonzero(exposures)
        freedom *= (used / max(used - freedom - 1, used / 2)) ** 2
    chance = 2 * freedom * float(residual @ residual) / exposures.sum()
    guard = float(np.clip(1 - chance / explained, 0.05, 1.0)) if explained > 0 else 1.0

    eta = scale_design @ at
    score, observed, expected, f, density = row_terms(link, eta, y, a)
    C = (observed[:, None] * scale_design).T @ scale_design + of_scale
    response = -factor * (observed[:, None] * scale_design).T @ along_L
    response[0] += score @ along_L - 2 * factor * ridge.of_scale @ c
    z = data.X - mean
    if method != "paired":
        Gc = (exposures[:, None] * (z @ L)).T @ (z @ L) @ c
        response = np.outer(response @ c, Gc) / (c @ Gc)
    on_scale = np.linalg.inv(C) @ np.column_stack([response, np.eye(1 + side)])
    J = np.outer(c, on_scale[0])
    J[:, :r] += factor * np.eye(r)
    J = np.vstack([J, on_scale[1:]])
    back = block_diag(L, np.eye(int(side)))

    def bordered(of_outcome, mixed, of_score):
        border = (mixed[:, None] * scale_design).T @ along_L
        corner = (of_score[:, None] * scale_design).T @ scale_design
        first = (of_outcome[:, None] * along_L).T @ along_L
        return np.block([[first, border.T], [border, corner]])

    covariance = J @ bordered(4 * a * f * (1 - f), 2 * a * density, expected) @ J.T
    if inference == "items":
        half = 0.5 * z @ L @ c
        own = {
            "paired": (y - 0.5 * x)[:, None] * D,
            "pooled": (y - half[data.left])[:, None] * z[data.left]
            - (y + half[data.right])[:, None] * z[data.right],
            "split": y[:, None] * D,
        }[method]
        if method == "pooled":
            own = net_of_open(own, D, z, exposures, L)
        u = np.column_stack([a[:, None] * (own @ L), score[:, None] * scale_design])
        meat = dyadic_meat(data, u, exposures, mean, ridge.of_leverage)
        unit = a @ a / a.sum()
        covariance = floored(J @ meat @ J.T, unit * covariance, SMALLEST_RATIO)
    elif np.any(y == 0):
        tied = a * (y == 0)
        slope = win_terms(link, eta)[1] + win_terms(link, -eta)[1]
        of_score = 0.25 * tied * slope**2
        taken = bordered(tied, np.sqrt(tied * of_score), of_score)
        covariance = less_ties(covariance, J @ taken @ J.T, back)
    if method == "split":
        covariance = _with_second_half(covariance, second, L, c, a.sum() * J[:, :r])
    shift = np.append(factor * (1 - guard) * c, [0.0] * side)
    covariance = back @ (covariance + np.outer(shift, shift)) @ back.T
    return back @ np.append(factor * guard * c, at[1:]), covariance


def net_of_open(u, D, z, exposures, L):
    """Contributions of `pooled` less what features that never differ in a pair take of them.

    Of an item's features, their regression on those is taken off.
    """
    V = np.eye(D.shape[1])[:, ~D.any(axis=0) & (exposures @ z**2 > 0)]
    if not V.size:
        return u
    GV = np.linalg.lstsq(L @ L.T, V, rcond=None)[0]
    return u - (u @ V) @ np.linalg.inv(V.T @ GV) @ GV.T


def _with_second_half(covariance, second, L, c, by_covariance):
    """What the items behind the covariance of `split` add, each left out in turn."""
    n, d = second.shape
    z = second - second.mean(axis=0)
    basis, size, _ = np.linalg.svd(z / np.where(z.any(axis=0), z.std(axis=0), 1.0), False)
    leverage = 1 / n + np.sum(basis[:, size > OPEN * size.max()] ** 2, axis=1)
    along = z @ L
    each = along * ((along @ c) / (1 - np.minimum(leverage, LARGEST_LEVERAGE)))[:, None]
    total = each.sum(axis=0)
    error = (each.T @ each - np.outer(total, total) / n) / (n - d - 2) ** 2
    return n / (n - d - 2) * (covariance + by_covariance @ error @ by_covariance.T)


# -- the dyadic sandwich ---------------------------------------------------------------------------


def inflation(data, exposures, mean, ridge):
    """1 / (1 - leverage) of every item; 0 of one that has a column of its own."""
    used = exposures > 0
    sd = spread(data.X, exposures)[1]
    unit = np.where(sd > 0, sd, 1.0)
    z = np.where(sd > 0, data.X - mean, 0.0) / unit
    scatter = (exposures[:, None] * z).T @ z + np.diag(ridge / unit**2)
    along = np.einsum("ij,jk,ik->i", z, np.linalg.pinv(scatter, 1e-12, hermitian=True), z)
    leverage = exposures * (1 / exposures.sum() + along)
    factor = 1 / (1 - np.minimum(leverage, LARGEST_LEVERAGE))
    for column in data.X.T:
        values, place, count = np.unique(column[used], return_inverse=True, return_counts=True)
        if len(values) == 2 and count.min() == 1 and count.max() > 1:
            factor[np.flatnonzero(used)[place == count.argmin()]] = 0.0
    return factor


def dyadic_meat(data, u, exposures, mean, ridge=0.0):
    """The sum of u_m u_n' over every two comparisons that share an item, by loops.

    Of more than MANY comparisons, by sums over items and pairs of explicit contributions.
    """
    u = u - data.weight[:, None] * u.sum(axis=0) / data.weight.sum()
    factor = inflation(data, exposures, mean, ridge + np.zeros(data.X.shape[1]))
    if len(u) > MANY:
        return meat_by_items(data, u, factor)
    ends = [frozenset(pair) for pair in zip(data.left.tolist(), data.right.tolist(), strict=True)]
    share = np.zeros((len(u), len(u)))
    for m, one in enumerate(ends):
        for n, other in enumerate(ends):
            both = one & other
            share[m, n] = sum(factor[item] ** 2 for item in both)
            if len(both) == 2:  # counted by both items
                share[m, n] -= sum(factor[item] > 0 for item in both) - 1
    return u.T @ share @ u


def meat_by_items(data, u, factor):
    """sum_i c_i^2 t_i t_i' - sum_p u_p u_p', for items without a column of their own."""
    n, low, high = len(factor), np.minimum(data.left, data.right), np.maximum(data.left, data.right)
    of_items = np.zeros((n, u.shape[1]))
    np.add.at(of_items, data.left, u)
    np.add.at(of_items, data.right, u)
    pair = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)[1].ravel()
    of_pairs = np.zeros((pair.max() + 1, u.shape[1]))
    np.add.at(of_pairs, pair, u)
    t = factor[:, None] * of_items
    return t.T @ t - of_pairs.T @ of_pairs


def floored(robust, model, smallest):
    """The robust covariance, no less than a share of the model's in any direction.

    What is lacking is added: the rest, put together again from its axes, would lose all but four
    digits where the model's covariance has a condition of 1e13.
    """
    unit = np.sqrt(np.where(np.diag(model) > 0, np.diag(model), 1.0))
    model, robust = model / np.outer(unit, unit), robust / np.outer(unit, unit)
    values, vectors = np.linalg.eigh(model)
    seen = values > 1e-13 * values.max(initial=0.0)
    root, back = vectors[:, seen] * np.sqrt(values[seen]), vectors[:, seen] / np.sqrt(values[seen])
    ratios, axes = np.linalg.eigh(back.T @ robust @ back)
    axes = root @ axes
    floor = robust + (axes * np.maximum(smallest - ratios, 0.0)) @ axes.T
    return floor * np.outer(unit, unit)


# -- separation ------------------------------------------------------------------------------------


def recession(data: Data) -> np.ndarray:
    """How far each coefficient (d) falls and rises along directions of recession, (d x 2) masks.

    A direction of recession makes no comparison less likely, however far it is followed: it gains
    nothing in a tie, and never less than nothing in a decided comparison. Where one exists along
    which a coefficient falls (rises), data do not bound it from below (above).
    """
    data = data.counted()
    used = data.weight > 0
    D = (data.X[data.left] - data.X[data.right])[used]
    unit = np.maximum(np.abs(D).max(axis=0, initial=0.0), 1e-300)
    D, outcome = D / unit, data.outcome[used]
    tied, decided = D[outcome == 0], (outcome[:, None] * D)[outcome != 0]
    limits = {"A_ub": -decided, "b_ub": np.zeros(len(decided)), "bounds": (-1, 1)}
    if len(tied):
        limits |= {"A_eq": tied, "b_eq": np.zeros(len(tied))}
    reach = np.zeros((D.shape[1], 2))
    for k in range(D.shape[1]):
        for side, sign in enumerate((1.0, -1.0)):
            reach[k, side] = -linprog(sign * np.eye(D.shape[1])[k], **limits).fun
    return reach > 1e-7
