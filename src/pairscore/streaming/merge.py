"""Models from sums of sites: of their first sums, or of those that they made at a model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.core.moments import share_of
from pairscore.core.optimise import solve_falling
from pairscore.core.sandwich import centred_meat
from pairscore.core.scale import PRIOR_SD, Scale
from pairscore.errors import (
    PairscoreError,
    RoundNeededWarning,
    SeparationWarning,
)
from pairscore.estimators.checks import refuse_too_many_features
from pairscore.estimators.closed_form import error_of_sums, overfit_guard
from pairscore.estimators.criteria import Likelihood, no_likelihood
from pairscore.estimators.likelihood import observed_basis
from pairscore.estimators.penalty import ridge_is_weak
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.settings import DEFAULTS, check_settings
from pairscore.model.fit import fit_of
from pairscore.model.intervals import choose_inference
from pairscore.model.notes import feature_notes, side_notes
from pairscore.model.record import record_of
from pairscore.model.regression import RankRegression
from pairscore.streaming.estimates import (
    Direction,
    closed_estimate,
    likelihood_estimate,
    scaled_form,
)
from pairscore.streaming.rounds import (
    PAIR_NODES,
    SCALE_NODES,
    Point,
    RoundSums,
    lagrange,
    nodes,
    start_of,
)
from pairscore.streaming.sites import (
    SiteSums,
    SiteTotal,
    read_sums,
    refuse_damage,
)
from pairscore.streaming.tiles import (
    ClosedFormSums,
    LikelihoodSums,
    closed_covariance,
    likelihood_covariance,
)

CLOSE = 1e-13  # gap to the maximum, per comparison, at which rounds may end
LONGEST_STEP = 3.0  # of a standardised coefficient
AT_SITES = (
    "hold for the judges at these sites; other judges may see it differently (sums do not say who"
    " judged)"
)


@contextmanager
def _of_real_data() -> Iterator[None]:
    """Refuse sums from which no model follows: each may look like one, and all be no data's."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (np.linalg.LinAlgError, ArithmeticError):
        raise PairscoreError(NO_DATA) from None


NO_DATA = (
    "no model follows from these sums, which contradict each other; make the sums of every site"
    " again."
)


def merge_sites(
    sites: Sequence[SiteSums],
    *,
    method: str = "pooled",
    l2: float = 0.0,
    inference: str | None = "items",
) -> RankRegression:
    """A model from the sums of sites with disjoint items.

    The closed form is that of all data together. Its scale on the link is a first guess, by the
    spread of its scores, and there are no intervals: these take another exchange
    (:func:`site_round`, :func:`merge_rounds`). With ``method="mle"`` it is the start.

    Parameters
    ----------
    sites : list of SiteSums
        What :func:`site_sums` gave at each site.
    method : {"pooled", "split", "paired", "mle"}
        The estimator.
    l2 : float
        Ridge, as in :class:`~pairscore.RankRegression`.
    inference : {"items", "model", None}
        The intervals that the next exchange will give.
    """
    with _of_real_data():
        return _merge_first(sites, method, l2, inference)


def _merge_first(
    sites: Sequence[SiteSums], method: str, l2: float, inference: str | None
) -> RankRegression:
    first, *others = sites
    for site in others:
        first = first + site
    if first.terms.side_effect and method != "mle":
        raise PairscoreError(
            "a side effect over sites is estimated by method='mle'; use that, or make the sums"
            " without it."
        )
    if method in ("paired", "mle") and not np.all(np.isfinite(first.scatter)):
        raise PairscoreError(
            f"method={method!r} needs differences of items that met, and sums for each item do not"
            " have them; use 'pooled' or 'split', or make the sums of all comparisons at once."
        )
    point = Point(first, method, float(l2), check_settings(inference=inference).inference)
    refuse_too_many_features(point.data, point.data.number, point.settings)
    found, start = point.direction, point.start
    scale = Scale(start, 0.0)
    settings = replace(point.settings, inference=None)
    estimate = closed_estimate(replace(settings, side_effect=False), found, scale, [])
    estimate = replace(estimate, settings=settings)
    if method == "mle":
        theta = np.append(estimate.coef, [0.0] * first.terms.side_effect)
        point = replace(point, theta=tuple(theta.tolist()))
        side = 0.0 if first.terms.side_effect else None
        estimate = replace(estimate, side_effect=side, closed_form_coef=None)
    text = (
        "the scale of the coefficients is a first guess, and there are no intervals: every site"
        " has to make sums at this model, and these are merged again."
    )
    estimate = replace(estimate, notes=[(RoundNeededWarning, text)])
    return _model(point, estimate, {})


def merge_rounds(sites: Sequence[RoundSums]) -> RankRegression:
    """The next model, from sums of all ``sites`` at the last one (:func:`site_round`)."""
    first, *others = sites
    for site in others:
        first = first + site
    missing = [source for source in first.point.total.sources if source not in first.sources]
    if missing:
        raise PairscoreError(
            f"the model was made from the sums of {len(first.point.total.sources)} sites, and"
            f" {len(first.sources)} have sent sums at it; give those of all sites."
        )
    merge = _merge_likelihood if first.point.method == "mle" else _merge_closed_form
    with _of_real_data():
        return merge(first)


def _merge_closed_form(sums: RoundSums) -> RankRegression:
    point, arrays = sums.point, sums.arrays
    kind, notes = choose_inference(point.data, point.settings)
    data = point.data
    data = replace(data, settings=replace(data.settings, inference=kind))
    found, at = point.direction, nodes(point.start, SCALE_NODES)
    norm = float(np.sum((found.center.sd * found.b) ** 2))
    ridge = (data.settings.l2 * norm, 0.0)

    def slope(u: float) -> float:
        return float(lagrange(at, u) @ arrays["score"]) - ridge[0] * float(np.exp(u))

    u = solve_falling(slope, float(at[0]), float(at[-1]))
    if not at[0] < u < at[-1]:  # a scale without an end has no intervals
        notes, kind = [*notes, (SeparationWarning, SEPARATED)], None
        data = replace(data, settings=replace(data.settings, inference=None))
    guard = _guard(data, found, arrays)
    scale = Scale(float(np.exp(u)) * guard, 0.0, guard, 1, ridge)
    estimate = closed_estimate(data.settings, found, scale, notes)
    if kind is not None:
        estimate = _with_intervals(data, estimate, found, scale, arrays, u)
    best = u + float(np.log(guard))
    square = float(np.exp(2 * best) * arrays["squares"][0]) / data.n_comparisons
    shares = _shares(data, arrays, at, best, square)
    return _model(replace(point, number=point.number + 1), estimate, shares)


SEPARATED = (
    "no scale of the closed form fits best, so that there are no intervals: the comparisons may be"
    " separated; use a ridge."
)
ALL_EXPLAINED = (
    "the score predicts every comparison correctly, so that the likelihood has no maximum and there"
    " are no intervals; use a ridge."
)


def _guard(data: SiteTotal, found: Direction, arrays: dict[str, np.ndarray]) -> float:
    explained, squares = float(arrays["explained"][0]), float(arrays["squares"][0])
    slope = explained / squares if squares > 0 else 0.0
    ww, wl, ll = arrays["residual"].tolist()
    residual = np.array([np.sqrt(max(ww - 2 * slope * wl + slope**2 * ll, 0.0))])
    freedom = found.freedom
    if data.settings.method != "split":
        n = float(data.n_items)
        freedom *= (n / max(n - freedom - 1, n / 2)) ** 2
    return overfit_guard(residual, np.array([data.item_moments.total]), freedom, explained)


def _shares(
    data: SiteTotal, arrays: dict[str, np.ndarray], at: np.ndarray, best: float, square: float
) -> dict[str, Any]:
    """How scores and outcomes agree, by sums at nodes of a logarithm of scale that is ``best``.

    ``square`` is the mean square of the score differences there. See
    :func:`pairscore.core.scale.decided_scale`; ties are looked at as far as the nodes reach.
    """
    precision, scale = square / 2 / PRIOR_SD**2, 1.0

    def root(pulls: np.ndarray) -> float:
        def pull(v: float) -> float:
            value = float(lagrange(at, v) @ pulls) / data.weight_unit
            return value - precision * float(np.exp(2 * (v - best)))

        return solve_falling(pull, float(at[0]), float(at[-1]))

    if data.n_tied > 0:
        of_all, of_decided = map(root, arrays["pulls"])
        scale = float(np.exp(of_decided - of_all))
    place = float(np.clip(best + np.log(scale), at[0], at[-1]))
    decided, right = arrays["agreed"].tolist()
    noise = share_of(float(lagrange(at, place) @ arrays["wrong"]), decided)
    return {"decided_scale": scale, "agreement": share_of(right, decided), "noise": noise}


def _with_intervals(
    data: SiteTotal,
    estimate: Estimate,
    found: Direction,
    scale: Scale,
    arrays: dict[str, np.ndarray],
    u: float,
) -> Estimate:
    """The estimate with its covariance, from sums at nodes."""
    d = len(found.b)
    weight = lagrange(nodes(start_of(data, found), PAIR_NODES), u)
    names = ("curvature", "response", "model_meat", "taken")
    values = {name: np.tensordot(weight, arrays[name], axes=1) for name in names}
    robust = None
    if data.settings.inference == "items":
        map_to = np.zeros((d + 2, d + len(weight) + 1))
        map_to[:d, :d] = np.eye(d)
        map_to[d, d:-1], map_to[d + 1, -1] = weight, 1.0
        meat = map_to @ (arrays["items"] - arrays["pairs"]) @ map_to.T
        total = map_to[:-1, :-1] @ arrays["total"]
        robust = centred_meat(meat, total, 0.5 * data.item_moments.total)
    error = None
    if data.settings.method == "split":
        error = error_of_sums(arrays["second_meat"], arrays["second_total"], data.n_second)
    form = scaled_form(data.settings, found, scale, data.n_comparisons)
    covariance = closed_covariance(data, form, ClosedFormSums(**values), robust, error)
    shift = form.factor * found.b - estimate.coef
    return replace(estimate, covariance=covariance + np.outer(shift, shift))


def _merge_likelihood(sums: RoundSums) -> RankRegression:
    point, arrays = sums.point, sums.arrays
    kind, notes = choose_inference(point.data, point.settings)
    data = point.data
    data = replace(data, settings=replace(data.settings, inference=kind))
    theta, side = np.array(point.theta), point.total.terms.side_effect
    sd = data.item_moments.sd
    decided, right = arrays["agreed"].tolist()
    is_explained = right >= decided and not data.n_tied
    if is_explained and ridge_is_weak(data.settings.l2, data.weight_unit):
        notes, kind = [*notes, (SeparationWarning, ALL_EXPLAINED)], None
        data = replace(data, settings=replace(data.settings, inference=None))
    ridge = np.append(data.settings.l2 * sd**2, [0.0] * side)
    equations = LikelihoodSums(arrays["expected"], arrays["observed"], arrays["taken"])
    meat = arrays["items"] - arrays["pairs"]
    robust = None
    if kind == "items":
        robust = centred_meat(meat, arrays["total"], 0.5 * data.item_moments.total)
    basis, covariance = likelihood_covariance(data, equations, robust, ridge)
    gradient = arrays["gradient"] - ridge * theta
    step = observed_basis(arrays["observed"] + np.diag(ridge), basis, None).solve(gradient)
    gap = 0.5 * float(gradient @ step) / data.n_comparisons
    longest = float(np.max(np.abs(step) * np.append(sd, [1.0] * side), initial=0.0))
    theta = theta + step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
    if gap > CLOSE:
        text = (
            f"the likelihood may still rise by about {gap:.1g} for each comparison: every site has"
            " to make sums at this model, and these are merged again."
        )
        notes = [*notes, (RoundNeededWarning, text)]
    estimate = likelihood_estimate(data, theta, basis, covariance, point.number, notes)
    point = replace(point, theta=tuple(theta.tolist()), number=point.number + 1)
    square = float(arrays["squares"][0] / arrays["squares"][1])
    shares = _shares(data, arrays, nodes(1.0, SCALE_NODES), 0.0, square)
    outcomes = {sign for sign, seen in zip((1, -1), arrays["won"], strict=True) if seen}
    outcomes |= {0} if data.n_tied > 0 else set()
    reason = no_likelihood(estimate, outcomes, data.has_weights)
    value = None if reason else float(arrays["loglik"][0]) / data.weight_unit
    number = 0.5 * data.item_moments.total / data.weight_unit
    likelihood = Likelihood(value, estimate.n_parameters, number, point.digest, reason)
    return _model(point, estimate, shares | {"likelihood": likelihood})


def _model(point: Point, estimate: Estimate, shares: dict[str, Any]) -> RankRegression:
    """A model of merged sums; nothing in it is about any one item."""
    data, terms = point.data, point.total.terms
    if not np.all(np.isfinite(estimate.coef)):
        raise PairscoreError(NO_DATA)
    estimate = replace(estimate, never_differing=data.never_differing())
    settings = replace(estimate.settings or point.settings, l2=point.l2)
    fit = fit_of(
        replace(estimate, settings=settings),
        None,
        n_items=int(data.n_items),
        n_comparisons=data.n_given,
        record=record_of(point.digest, None) | {"sites": point.to_record()},
        feature_names=terms.features,
        **{"tie_share": share_of(data.tied, data.given)} | shares,
    )
    notes: list[Note] = [*estimate.notes, *feature_notes(fit, estimate), *side_notes(fit, estimate)]
    scope = "" if fit.covariance is None else AT_SITES
    fit = fit.with_kept(interval_scope=scope).with_notes(notes)
    given = {"method": point.method, "link": terms.link, "ties": terms.ties, "l2": point.l2}
    given |= {"side_effect": terms.side_effect, "inference": point.inference}
    model = RankRegression(**(DEFAULTS | given))
    model.classes_ = np.array([-1, 1])
    return model._keep(fit, notes)


def merge_files(
    paths: Sequence[Any], *, method: str = "pooled", l2: float = 0.0, inference: Any = "items"
) -> RankRegression:
    """The model of files of sums: those of sites, or those that sites made at a model.

    ``paths`` are the files that :func:`save_site` or :func:`save_round` wrote; ``method``, ``l2``
    and ``inference`` are as in :func:`merge_sites`, for sums of sites.
    """
    read = [read_sums(path) for path in paths]
    path_of: dict[tuple[str, str], Any] = {}
    for path, (kind, meta, _) in zip(paths, read, strict=True):
        for source in ((kind, one) for one in meta.get("sources", ())):
            if source in path_of:
                raise PairscoreError(
                    f"{str(path)!r} has the data of {str(path_of[source])!r} again, which would be"
                    " counted twice; give the sums of every site once."
                )
            path_of[source] = path
    kinds = {kind for kind, _, _ in read}
    if kinds == {"site"}:
        sites = []
        for path, (_, meta, arrays) in zip(paths, read, strict=True):
            with refuse_damage(path):
                sites.append(SiteSums.of_record(meta | {"arrays": arrays}))
        return merge_sites(sites, method=method, l2=l2, inference=inference)
    if kinds == {"round"}:
        rounds = []
        for path, (_, meta, arrays) in zip(paths, read, strict=True):
            with refuse_damage(path):
                rounds.append(RoundSums.of_file(meta, arrays))
        return merge_rounds(rounds)
    raise PairscoreError(
        "some of these files have sums of sites and others sums at a model; merge those of one kind"
        " at a time."
    )
