"""Maximum likelihood, from the study to coefficients with their covariance."""

from dataclasses import replace

import numpy as np

from pairscore import inference as inf
from pairscore.basis import Basis, apart_from_side, whitening_basis
from pairscore.closed_form import closed_form, ridge_penalty
from pairscore.errors import NotConvergedWarning, plural
from pairscore.likelihood import Climb, Maximum, maximise, predictor
from pairscore.links import Link, Logit
from pairscore.moments import Moments
from pairscore.scale import SAMPLE, SEPARATION_L2, fit_scale, starting_factor
from pairscore.settings import Settings
from pairscore.study import Estimate, Note, Study, bordered_scatter, leverage_whitener, ridge_is_weak, separation_note

LARGEST_WARM = 3.0  # coefficient of a standardised feature to start from


def fit_likelihood(study: Study, settings: Settings) -> Estimate:
    """Maximum likelihood, started from the pooled closed form."""
    center, link = study.item_moments, settings.link
    slope = float(link.pdf(0.0))
    basis = whitening_basis(center.scatter + np.diag(ridge_penalty(settings.l2, center.sd, slope)), center.sd)
    start = starting_coef(study, settings, closed_form(basis, study.label_sum), center) if study.start is None else _tame(study.start, center.sd)
    asked, weak = settings.l2 * center.sd**2, ridge_is_weak(study, settings)
    climb = Climb(study.X, study.pairs, link, basis, 0 * asked if weak else asked)
    top = maximise(climb, start, settings.max_iter, settings.tol)
    notes: list[Note] = []
    if top.separated:
        notes.append(separation_note())
        climb = replace(climb, ridge=SEPARATION_L2 * center.sd**2 if weak else asked, side_ridge=SEPARATION_L2)
        top = maximise(climb, start, settings.max_iter, settings.tol)
    elif weak and settings.l2 > 0:  # there is a maximum, and the weak ridge moves it a little
        climb = replace(climb, ridge=asked)
        top = maximise(climb, top.coef, settings.max_iter, settings.tol)
    if not top.converged:
        text = f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')}; raise max_iter or add a ridge (l2)."
        notes.append((NotConvergedWarning, text))
    return likelihood_estimate(study, settings, climb, top, notes)


def _tame(start: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Coefficients to start from; what is large may be on its way to infinity, and has to show it again."""
    unit = np.where(sd > 0, sd, 1.0)
    return np.clip(start * unit, -LARGEST_WARM, LARGEST_WARM) / unit


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
    expected = bordered_scatter(study, information)
    ridge = np.append(climb.ridge, [climb.side_ridge] * settings.side_effect)
    sd = np.append(center.sd, [1.0] * settings.side_effect)
    basis = whitening_basis(expected + np.diag(ridge), sd)
    d = X.shape[1]
    params = np.append(top.coef, [top.side_effect] * settings.side_effect)
    if basis.open_directions.size:  # same likelihood, smallest norm
        params = basis.solve((expected + np.diag(ridge)) @ params)
    coef, side_effect = params[:d], float(params[d]) if settings.side_effect else None
    covariance = None
    if settings.inference is not None:
        bread = basis if isinstance(link, Logit) else _bread(study, link, delta, ridge, sd, basis)
        robust = None
        if settings.inference == "items":
            robust = inf.item_meat(X, center, pairs, inf.likelihood_contributions(score, pairs), leverage_whitener(study, settings))
        model = inf.combine(basis.inverse, expected, None)
        covariance = model if robust is None else inf.combine(bread.inverse, expected, robust, study.weight_unit)
    scores = X @ coef
    features_basis, side_basis = apart_from_side(basis) if settings.side_effect else (basis, None)
    return Estimate(
        coef=coef,
        side_effect=side_effect,
        basis=features_basis,
        side_basis=side_basis,
        center=center.spread,
        difference=scores[study.data.left] - scores[study.data.right] + (side_effect or 0.0),
        covariance=covariance,
        n_iterations=top.n_iterations,
        notes=notes,
    )


def _bread(study: Study, link: Link, delta: np.ndarray, ridge: np.ndarray, sd: np.ndarray, fallback: Basis) -> Basis:
    """Whiten the observed information; a link that is not log-concave may leave it indefinite."""
    observed = bordered_scatter(study, link.observed_information(delta, study.pairs.win, study.pairs.lose)) + np.diag(ridge)
    W = fallback.transform
    return whitening_basis(observed, sd) if np.all(np.linalg.eigvalsh(W.T @ observed @ W) > 0) else fallback
