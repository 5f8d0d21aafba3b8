"""Fit: from checked comparisons to coefficients with their covariance. Pure functions of arrays."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pairscore import inference as inf
from pairscore.basis import Basis, whitening_basis
from pairscore.closed_form import closed_form, ridge_penalty, shrunk, split_scatter
from pairscore.comparisons import Comparisons
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewItemsWarning,
    NotConvergedWarning,
    PairscoreError,
    PairscoreWarning,
    PairsNotRandomWarning,
    SeparationWarning,
    first_few,
    plural,
)
from pairscore.likelihood import Climb, Maximum, maximise, predictor
from pairscore.links import Link, Logit
from pairscore.moments import Moments, Tally, difference_scatter, moments, net, tally
from pairscore.pairing import Pairing, check_pairing
from pairscore.pairs import Pairs, over_sides, pair_up
from pairscore.scale import SAMPLE, SEPARATION_L2, Scale, fit_scale, overfit_guard, starting_factor

FEW_ITEMS = 50
Note = tuple[type[PairscoreWarning], str]


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    method: str
    link: Link
    l2: float = 0.0
    shrinkage: float | str | None = None
    side_effect: bool = False
    inference: str | None = "items"
    max_iter: int = 100
    tol: float = 1e-9


@dataclass(frozen=True)
class Study:
    """The data of one fit as arrays, with the sums that several steps share, each made once."""

    data: Comparisons
    keep_sides: bool
    has_items: bool = True

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        return self.data.items.values

    @cached_property
    def amount(self) -> np.ndarray:
        return self.data.amount

    @cached_property
    def tally(self) -> Tally:
        return tally(self.data.left, self.data.right, self.data.outcome, self.amount, len(self.X))

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w = sum_m Y_m (x_left - x_right)."""
        return self.tally.net_wins @ self.X

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        return moments(self.X, self.tally.exposures)

    @cached_property
    def whitener(self) -> np.ndarray:
        """W with W' (X~'KX~) W = I."""
        return whitening_basis(self.item_moments.scatter, self.item_moments.sd).transform

    @cached_property
    def pairs(self) -> Pairs:
        data = self.data
        return pair_up(data.left, data.right, data.outcome, self.amount, len(self.X), self.keep_sides)

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def second_half(self) -> np.ndarray:
        """The items behind the covariance of `split`: those named, else those of no comparison."""
        rows = self.data.covariance_items
        rows = np.flatnonzero(~self.data.compared) if rows is None else np.asarray(rows)
        together = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and bool(np.all(np.diff(rows) == 1))
        return self.X[rows[0] : rows[-1] + 1] if together else self.X[rows]


@dataclass(frozen=True)
class Estimate:
    """What a fit found.

    ``covariance`` is that of the coefficients, then of the side effect if there is one. ``difference``
    is the score difference of every comparison, side effect included.
    """

    coef: np.ndarray
    side_effect: float | None
    undetermined: np.ndarray
    center: Moments
    difference: np.ndarray
    closed_form_coef: np.ndarray | None = None
    covariance: np.ndarray | None = None
    guard: float = 1.0
    pairing: Pairing | None = None
    n_iterations: int = 0
    inference: str | None = None
    notes: list[Note] = field(default_factory=list)


def estimate(data: Comparisons, settings: Settings, has_items: bool = True) -> Estimate:
    """Fit ``data`` as ``settings`` say."""
    study = Study(data, settings.side_effect, has_items)
    refuse_too_many_features(study, settings)
    kind, notes = choose_inference(study, settings)
    settings = replace(settings, inference=kind)
    fit = fit_likelihood if settings.method == "mle" else fit_closed_form
    result = fit(study, settings)
    notes += result.notes + _open_features(study, result.undetermined)
    return replace(result, notes=notes, inference=kind)


def refuse_too_many_features(study: Study, settings: Settings) -> None:
    """Without a ridge, features must not outnumber items or comparisons."""
    d, m = study.X.shape[1], study.tally.n_comparisons
    if study.tally.exposures.sum() == 0:
        raise PairscoreError("no comparison is between two different items with a positive weight; nothing can be learnt from these votes.")
    if settings.l2 == 0 and (d > study.n_items or d > m):
        few = plural(study.n_items, "compared item") if study.has_items and d > study.n_items else plural(int(m), "comparison")
        raise PairscoreError(f"there are {d} features but only {few}, so many scores fit equally well; set a ridge such as l2=1.0, or use fewer features.")


def choose_inference(study: Study, settings: Settings) -> tuple[str | None, list[Note]]:
    """Item-robust intervals need items, and more of them than parameters."""
    if settings.inference != "items" or not study.has_items:
        return ("model" if settings.inference else None), []
    n, parameters = study.n_items, study.X.shape[1] + settings.side_effect
    if n <= parameters + 1:
        text = (
            f"{plural(n, 'item')} with {plural(parameters, 'parameter')} leave nothing to see how items differ from their features; "
            "the intervals are the classical ones (inference='model')."
        )
        return "model", [(FewItemsWarning, text)]
    if n < FEW_ITEMS:
        text = f"with {plural(n, 'item')} item-robust intervals are rough; below about {FEW_ITEMS} items read them with care."
        return "items", [(FewItemsWarning, text)]
    return "items", []


def _open_features(study: Study, undetermined: np.ndarray) -> list[Note]:
    if not undetermined.any():
        return []
    names = [study.data.items.feature_names[column] for column in np.flatnonzero(undetermined)]
    text = (
        f"{plural(len(names), 'feature')} {'is' if len(names) == 1 else 'are'} constant or a combination of others among the compared items: "
        f"{first_few(map(repr, names), 10)}; the solution of smallest norm is taken and their intervals are unknown."
    )
    return [(CollinearFeaturesWarning, text)]


def scatter_of(study: Study, settings: Settings) -> tuple[np.ndarray, Moments]:
    """The scatter matrix G of the method, and the moments of the items behind it."""
    if settings.method == "split":
        n, d = study.second_half.shape
        if n < d + 3:
            raise PairscoreError(
                f"method='split' needs at least {d + 3} items for the covariance of {plural(d, 'feature')} but has {n}; "
                "add items that occur in no comparison, name some with covariance_items=, or use method='pooled'."
            )
        center = moments(study.second_half)
        scatter = split_scatter(center, study.tally.n_comparisons)
    elif settings.method == "pooled":
        center = study.item_moments
        scatter = center.scatter
    else:
        center = study.item_moments
        scatter = difference_scatter(study.X, center.mean, study.pairs, study.pairs.number)
    return shrunk(scatter, chosen_shrinkage(study, settings, center)), center


def chosen_shrinkage(study: Study, settings: Settings, center: Moments) -> float:
    """The number given, or the one Ledoit and Wolf, or Chen et al. (OAS), choose for the standardised items."""
    if settings.shrinkage is None or isinstance(settings.shrinkage, float | int):
        return float(settings.shrinkage or 0.0)
    from sklearn.covariance import ledoit_wolf_shrinkage, oas

    items = study.second_half if settings.method == "split" else study.X[study.tally.exposures > 0]
    standard = (items - center.mean) / np.where(center.sd > 0, center.sd, 1.0)
    return float(ledoit_wolf_shrinkage(standard) if settings.shrinkage == "ledoit-wolf" else oas(standard)[1])


def fit_closed_form(study: Study, settings: Settings) -> Estimate:
    """Direction from a closed form, scale from a likelihood along it, covariance from both."""
    scatter, center = scatter_of(study, settings)
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    basis = whitening_basis(scatter + np.diag(penalty), center.sd)
    b = closed_form(basis, study.label_sum)
    scores = study.X @ b
    along = scores[study.data.left] - scores[study.data.right]
    scale, notes = link_scale(study, settings, along, b, center, basis, scatter)
    result = Estimate(
        coef=scale.factor * b,
        side_effect=scale.side_effect if settings.side_effect else None,
        undetermined=basis.undetermined,
        center=center,
        difference=scale.factor * along + scale.side_effect,
        closed_form_coef=b,
        guard=scale.guard,
        n_iterations=scale.n_iterations,
        notes=notes,
    )
    if settings.inference is None:
        return result
    form = inf.ScaledClosedForm(
        study.pairs, settings.link, b, 2 * basis.inverse, study.pairs.differences(scores), scale.factor / scale.guard, scale.side_effect, scale.guard
    )
    pairing = check_pairing(study.X, study.pairs, study.item_moments, center)
    notes = notes + _pairing_note(pairing, settings.method)
    return replace(result, covariance=closed_form_covariance(study, settings, form, center), pairing=pairing, notes=notes)


def link_scale(
    study: Study, settings: Settings, along: np.ndarray, b: np.ndarray, center: Moments, basis: Basis, scatter: np.ndarray
) -> tuple[Scale, list[Note]]:
    """Scale of a closed form on the link, guarded against overfitting."""
    data, amount = study.data, study.amount
    separated = bool(np.all(data.outcome * along > 0))
    notes = [_separation_note()] if separated and settings.l2 == 0 else []
    ridge = (settings.l2 or SEPARATION_L2 * separated) * float(np.sum((center.sd * b) ** 2))
    start = starting_factor(float(np.sqrt(b @ center.covariance @ b)), float(settings.link.pdf(0.0)))
    scale = fit_scale(along, data.outcome, amount, settings.link, start, settings.side_effect, ridge)
    explained, spread = float(amount * data.outcome @ along), float(amount * along @ along)
    residual = amount * (data.outcome - explained / spread * along) if spread > 0 else amount * data.outcome
    freedom = basis.transform.shape[1] if settings.l2 == 0 else float(np.vdot(basis.transform, scatter @ basis.transform))
    if settings.method != "split":
        # residuals and scatter are both fitted to the compared items, which hides part of the chance
        freedom *= (study.n_items / max(study.n_items - freedom - 1, study.n_items / 2)) ** 2
    guard = overfit_guard(net(data.left, data.right, residual, len(study.X)), study.tally.exposures, freedom, explained)
    return replace(scale, factor=scale.factor * guard, guard=guard), notes


def closed_form_covariance(study: Study, settings: Settings, form: inf.ScaledClosedForm, center: Moments) -> np.ndarray:
    """Covariance of coefficients and side effect on the link's scale."""
    X, mean = study.X, study.item_moments.mean
    jacobian, model_meat = form.jacobian(X, None if settings.method == "paired" else study.item_moments.scatter), form.model_meat(X, mean)
    robust = None
    if settings.inference == "items":
        if settings.method == "pooled":
            u = inf.pooled_contributions(form, X @ form.coef - mean @ form.coef)
        else:
            u = inf.paired_contributions(form) if settings.method == "paired" else inf.split_contributions(form)
        robust = inf.item_meat(X, mean, study.pairs, u, study.whitener)
        if settings.method == "split":
            d = X.shape[1]
            average = study.label_sum / form.pairs.number.sum()
            fold = np.eye(len(robust))[:-1]
            fold[:d, -1] = -average  # the last extra column is the mean that each comparison takes off
            robust = fold @ robust @ fold.T
    covariance = inf.combine(jacobian, model_meat, robust)
    if settings.method == "split":
        error = inf.covariance_error(study.second_half, center, form.coef)
        # db = -Sigma^-1 dSigma b, while the closed form has db = A d(X'w) with A = Sigma^-1 / M
        through = study.tally.n_comparisons * jacobian[:, : X.shape[1]]
        covariance = covariance + through @ error @ through.T
    return covariance


def fit_likelihood(study: Study, settings: Settings) -> Estimate:
    """Maximum likelihood, started from the pooled closed form."""
    center, link = study.item_moments, settings.link
    slope = float(link.pdf(0.0))
    basis = whitening_basis(center.scatter + np.diag(ridge_penalty(settings.l2, center.sd, slope)), center.sd)
    start = starting_coef(study, settings, closed_form(basis, study.label_sum), center)
    climb = Climb(study.X, study.pairs, link, basis, settings.l2 * center.sd**2)
    top = maximise(climb, start, settings.max_iter, settings.tol)
    notes: list[Note] = []
    if top.separated:
        notes.append(_separation_note())
        climb = replace(climb, ridge=SEPARATION_L2 * center.sd**2)
        top = maximise(climb, start, settings.max_iter, settings.tol)
    if not top.converged:
        text = f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')}; raise max_iter or add a ridge (l2)."
        notes.append((NotConvergedWarning, text))
    return likelihood_estimate(study, settings, climb, top, notes)


def starting_coef(study: Study, settings: Settings, b: np.ndarray, center: Moments) -> np.ndarray:
    """A closed form on the link's scale, by a glance at some of the comparisons."""
    data, scores = study.data, study.X @ b
    few = slice(None, None, 1 + len(data) // SAMPLE)
    start = starting_factor(float(np.sqrt(b @ center.covariance @ b)), float(settings.link.pdf(0.0)))
    along = scores[data.left[few]] - scores[data.right[few]]
    scale = fit_scale(along, data.outcome[few], study.amount[few], settings.link, start, side=False, max_iter=5)
    return min(scale.factor, 2 * start) * b


def likelihood_estimate(study: Study, settings: Settings, climb: Climb, top: Maximum, notes: list[Note]) -> Estimate:
    """The Hessian at the maximum says what is determined, and how well."""
    X, pairs, center, link = study.X, study.pairs, study.item_moments, settings.link
    delta = predictor(X, pairs, top.coef, top.side_effect)
    score, information = link.score(delta, pairs.win, pairs.lose)
    expected = _bordered(study, information)
    ridge = np.append(climb.ridge, [0.0] * settings.side_effect)
    sd = np.append(center.sd, [1.0] * settings.side_effect)
    basis = whitening_basis(expected + np.diag(ridge), sd)
    d = X.shape[1]
    coef = top.coef
    if basis.undetermined.any():  # same likelihood, smallest norm
        params = np.append(coef, [top.side_effect] * settings.side_effect)
        coef = basis.solve((expected + np.diag(ridge)) @ params)[:d]
    covariance = None
    if settings.inference is not None:
        bread = basis if isinstance(link, Logit) else _bread(study, link, delta, ridge, sd, basis)
        robust = inf.item_meat(X, center.mean, pairs, inf.likelihood_contributions(score, pairs), study.whitener) if settings.inference == "items" else None
        model = inf.combine(basis.inverse, expected, None)
        covariance = model if robust is None else inf.combine(bread.inverse, expected, robust)
    scores = X @ coef
    return Estimate(
        coef=coef,
        side_effect=top.side_effect if settings.side_effect else None,
        undetermined=basis.undetermined[:d],
        center=center,
        difference=scores[study.data.left] - scores[study.data.right] + top.side_effect,
        covariance=covariance,
        n_iterations=top.n_iterations,
        notes=notes,
    )


def _bread(study: Study, link: Link, delta: np.ndarray, ridge: np.ndarray, sd: np.ndarray, fallback: Basis) -> Basis:
    """Whiten the observed information; a link that is not log-concave may leave it indefinite."""
    observed = _bordered(study, link.observed_information(delta, study.pairs.win, study.pairs.lose)) + np.diag(ridge)
    return whitening_basis(observed, sd) if np.all(np.linalg.eigvalsh(observed) > 0) else fallback


def _bordered(study: Study, information: np.ndarray) -> np.ndarray:
    """X' L X with each pair's information as weight, bordered by the side effect's row if there is one."""
    hessian = difference_scatter(study.X, study.item_moments.mean, study.pairs, over_sides(information))
    if not study.keep_sides:
        return hessian
    border = study.pairs.net(study.pairs.side @ information) @ study.X
    return np.block([[hessian, border[:, None]], [border[None], information.sum()]])


def _separation_note() -> Note:
    text = (
        "some direction in the features explains every comparison, so the likelihood grows without end; the fit is the one with a ridge of "
        f"l2={SEPARATION_L2:g} (a normal prior with standard deviation 2.5 on standardised coefficients). Set l2 to choose your own."
    )
    return SeparationWarning, text


def _pairing_note(pairing: Pairing, method: str) -> list[Note]:
    if method == "paired" or pairing.looks_random:
        return []
    return [(PairsNotRandomWarning, f"{pairing.in_words} method={method!r} assumes random pairs; use 'paired' or 'mle'.")]
