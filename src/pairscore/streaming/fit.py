"""``fit_stream``: a fit to comparisons that need not fit into memory, and what a model keeps."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.core.linalg import whitening_basis
from pairscore.core.moments import share_of
from pairscore.core.optimise import Derivatives, Step, minimise, solve_falling
from pairscore.core.scale import DECIDED, PRIOR_SD, RIGHT, WRONG, AlongScore, pull_of_decided
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.errors import PairscoreError
from pairscore.estimators.checks import refuse_too_many_features
from pairscore.estimators.criteria import Likelihood, no_likelihood
from pairscore.estimators.likelihood import SMALLEST_GAIN
from pairscore.estimators.penalty import SEPARATION_L2, ridge_is_weak
from pairscore.estimators.recession import Recession, least_certain
from pairscore.estimators.results import Estimate, Fit, Note
from pairscore.estimators.separation import (
    NO_GAIN,
    SIDE,
    SMALLEST_GAINS,
    basis_within,
    carry_over,
    directions_between,
    separation_note,
)
from pairscore.estimators.settings import DEFAULTS, check_settings
from pairscore.model.fit import fit_of, refuse_weights, without_decisions
from pairscore.model.intervals import choose_inference
from pairscore.model.notes import (
    alike_notes,
    extreme_items,
    feature_notes,
    one_sided_notes,
    side_notes,
)
from pairscore.model.record import record_of
from pairscore.model.regression import RankRegression
from pairscore.streaming.connect import connected
from pairscore.streaming.data import Job, Source, StreamData
from pairscore.streaming.engines import bytes_of
from pairscore.streaming.estimates import (
    CLOSE,
    LikelihoodPasses,
    PartsMaximum,
    curvature_of_parts,
    fit_closed_form,
    likelihood_equations,
    likelihood_estimate,
    maximum_of_parts,
)
from pairscore.streaming.passes import (
    LOGLIK,
    Checkpoint,
    ScoreSums,
    SourceRows,
    TallyTask,
    refuse_settings,
)
from pairscore.streaming.progress import Progress
from pairscore.streaming.table import (
    Choice,
    ChosenRows,
    ChosenSpill,
    Cut,
    Gains,
    GainTask,
    fingerprint,
)
from pairscore.streaming.tiles import PairTask

NODES = np.array([-1.5, -0.5, 0.5, 1.5])  # in units of their distance
FINE, COARSE = 0.01, 0.3  # distances of nodes, in the logarithm of a scale: fit for a cubic, most
MOST_ROUNDS = 8
IN_PARTS = (
    "hold for these judges; other judges may see it differently (comparisons that are read in parts"
    " have no intervals that allow for other judges)"
)


def fit_stream(
    items: Any,
    comparisons: Any,
    *,
    method: str = "mle",
    link: Any = "logit",
    l2: float | str = 0.0,
    shrinkage: float | str | None = None,
    side_effect: bool = False,
    inference: str | None = "auto",
    ties: str = "half",
    self_pairs: str = "error",
    covariance_items: Any = None,
    memory: str | float = "1GB",
    n_jobs: int | None = None,
    engine: Any = None,
    scratch: Any = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Any = None,
    **columns: Any,
) -> RankRegression:
    """Fit a model to comparisons that are read in parts, and give it as any other.

    Coefficients are those of ``RankRegression(...).fit(items, comparisons)`` to about nine digits,
    standard errors to five. `split`, `pooled` and `paired` go through the comparisons two to four
    times, `mle` about six times. With intervals, `paired`, a side effect, or `mle` on this machine
    they are also written to a temporary folder, 9 to 17 bytes each; `mle` without intervals reads
    its source again instead if the disk has no room. On a cluster the item table is written there
    too.

    Parameters
    ----------
    items : file, pattern, address or any table
        Ids and numeric features. Where no column is called ``id``, the ids are in the column that
        has those that the first comparisons name, as in a fit in memory. Features of a file are
        kept on disk where they take more than 60 % of ``memory``.
    comparisons : file, folder, pattern, address, list of these, table, or list of tables
        Parquet, CSV or JSONL with columns as ``RankRegression.fit`` knows them.
    method, link, l2, shrinkage, side_effect, inference, ties
        As in :class:`~pairscore.RankRegression`; ``l2`` and ``shrinkage`` are numbers, ``ties`` is
        ``"half"`` or ``"drop"``, and ``inference`` is ``"items"``, which ``"auto"`` means here,
        ``"model"`` or None: who judged is not looked at.
    self_pairs : {"error", "keep"}
    covariance_items : mask of shape (N,) or row numbers
        The items behind the covariance of ``method="split"``.
    memory : text such as ``"1GB"``, or bytes
        What the comparisons in memory may take, about; vectors with a number for each item come on
        top.
    n_jobs : int
        Threads; as many as BLAS may use unless given. Results do not depend on it.
    engine : address, client of Dask, Spark session, or Engine
        Where tasks run, if not on this machine: ``"dask://host:8786"``, ``"spark://host:7077"``.
    scratch : folder
        Where temporary files go; on a cluster one that every worker can read and write.
    progress : callable
        Told of :class:`~pairscore.streaming.progress.Progress` while passes go on.
    checkpoint : file
        Written during the first pass; a fit that was ended goes on from there. It is removed when
        the fit is done.
    columns : names of columns
        ``left``, ``right``, ``winner``, ``loser``, ``weight``, ``count`` of the comparisons;
        ``id``, ``features``, ``exclude`` of the items.

    Returns
    -------
    RankRegression

    Examples
    --------
    >>> from pairscore import Population
    >>> law = Population(n_features=2, noise=0.1, rng=0)
    >>> X, drawn = law.draw(60, 900, rng=1, second_half=False, self_pairs=False)
    >>> items = {"id": list(range(60)), "mass": X[:, 0], "size": X[:, 1]}
    >>> winner = ["left" if outcome > 0 else "right" for outcome in drawn.outcome]
    >>> votes = {"left": drawn.left, "right": drawn.right, "winner": winner}
    >>> fit_stream(items, votes).coef_.shape  # or "items.parquet", "votes/*.parquet"
    (2,)
    """
    given = {
        "method": method,
        "link": link,
        "l2": l2,
        "shrinkage": shrinkage,
        "side_effect": side_effect,
        "inference": inference,
        "ties": ties,
    }
    settings = check_settings(**given)
    refuse_settings(settings)
    if settings.inference == "auto":
        settings = replace(settings, inference="items")
    size, folder = bytes_of(memory), None if scratch is None else str(Path(scratch).absolute())
    source = Source(items, comparisons, self_pairs, covariance_items, columns)
    with ExitStack() as stack:
        where = stack.enter_context(connected(engine, n_jobs))
        job = Job(source, settings, size, where, progress, checkpoint, folder)
        data, notes = check_first(job.prepare(stack))
        notes = [*_odd_parts(data), *notes]
        fit, more = keep_fit(data, fit_parts(data))
        names_judges = "judge" in columns or "judge" in data.parts[0].source.column_names()
    fit = replace(fit, settings=replace(fit.settings, l2=settings.l2))
    if checkpoint is not None:
        Checkpoint(Path(checkpoint)).remove()
    fit = fit.with_notes(notes + more)
    if names_judges and settings.inference is not None:
        fit = fit.with_kept(interval_scope=IN_PARTS)
    model = RankRegression(**(DEFAULTS | given))
    model.classes_ = np.array([-1, 1])
    return model._keep(fit, notes + more)


def check_first(data: StreamData) -> tuple[StreamData, list[Note]]:
    """Refuse what cannot be fitted, and choose the intervals that are possible.

    Weights are only known to be relative at the end of the first pass: sums keep their unit, and
    the ridge is brought to it.
    """
    first = data.first
    if not first.given and not first.seen.any():
        raise PairscoreError("there are no comparisons; give at least one row of votes.")
    if data.settings.ties == "drop" and first.tied > 0 and not data.n_comparisons:
        raise PairscoreError(
            "every comparison is a tie, so ties='drop' leaves nothing to learn from; use"
            " ties='half'."
        )
    if np.isfinite(first.weights.low):
        refuse_weights(first.weights.low, first.weights.high)
    refuse_too_many_features(data, first.number, data.settings)
    data.table.refuse_lost_digits(first.seen, data.items.feature_names)
    kind, notes = choose_inference(data, data.settings)
    return data.with_settings(inference=kind, l2=data.settings.l2 * data.weight_unit), notes


# -- estimates, also of separated comparisons --------------------------------------------------


def fit_parts(data: StreamData) -> Estimate:
    """The estimate of the settings' method; see :func:`pairscore.estimators.likelihood`."""
    if data.settings.method != "mle":
        return fit_closed_form(data, partial(closed_recession, data))
    separates = partial(separates_all, data)
    best, notes = maximum_of_parts(data, separates), []
    if best.separated and ridge_is_weak(data.settings.l2, data.weight_unit):
        return fit_separated(data, best.theta)
    if best.separated:  # the features have a ridge, so that only the side can be without an end
        prior = SEPARATION_L2 * data.weight_unit
        best, notes = maximum_of_parts(data, separates, prior), [separation_note([SIDE])]
    found = curvature_of_parts(data, best.theta, best.ridge)
    args = found.basis, found.covariance, best.n_iterations, notes + best.notes
    estimate = likelihood_estimate(data, best.theta, *args)
    if not notes:
        return estimate
    side = np.eye(len(best.theta))[-1]
    return replace(estimate, recession=closed_recession(data, side, best.theta, True))


def gains_of(data: StreamData, direction: np.ndarray) -> tuple[Gains, Cut]:
    """What a step along (coefficients, side effect) adds to winners; a cut by any gain at all."""
    d = data.X.shape[1]
    scores, shift = data.table.times(direction[:d]), float(direction[d:].sum())
    gains: Gains = data.run("Separation", GainTask(data.rows, scores, shift), data.parts)
    return gains, Cut(scores, shift, 0.0)


def separates_all(data: StreamData, direction: np.ndarray) -> bool:
    """See :meth:`pairscore.estimators.likelihood.PairLikelihood.separates`."""
    gains, _ = gains_of(data, direction)
    worst = 1e-4 * gains.largest
    none_worse = gains.decided.low >= -worst and gains.tied.high <= worst
    return none_worse and gains.largest >= SMALLEST_GAIN


def chosen(data: StreamData, *cuts: Cut, touched: bool = False) -> StreamData:
    """Some of the comparisons, with their own sums and a sample of their own."""
    choice, size = Choice(cuts, touched), max(len(data.first.sample), 1)
    reader: Any = ChosenRows(data.reader, choice)
    first, stride = data.first, 0
    while (more := 1 + max(int(first.n_rows) - 1, 0) // size) != stride:  # they may be few of all
        first, stride = (
            data.run("Separation", TallyTask(reader, len(data.items), more), data.parts),
            more,
        )
    spill: Any = ChosenSpill(data.spill(), choice)
    changed: dict[str, Any] = {"first": first, "rows": SourceRows(reader), "reader": reader}
    return replace(data, **changed, spill=lambda: spill, agreed=[])


def unseen(data: StreamData, unit: np.ndarray) -> np.ndarray:
    """See :func:`pairscore.estimators.separation.unseen`."""
    if not data.tally.exposures.any():
        return np.eye(len(unit))
    size = float(data.tally.exposures.sum())
    basis = whitening_basis(data.counts.scatter, unit, size)
    return basis.open_directions * basis.unit[:, None]


def explained(data: StreamData, direction: np.ndarray, unit: np.ndarray) -> Cut:
    """See :func:`pairscore.estimators.separation.explained_rows`."""
    gains, cut = gains_of(data, direction)
    unit = np.where(unit > 0, unit, 1.0)
    for smallest in SMALLEST_GAINS:
        cut = replace(cut, smallest=smallest * gains.largest)
        free = unseen(chosen(data, cut), unit)
        exact = free @ (free.T @ (unit * direction)) / unit
        along, _ = gains_of(chosen(data, cut, touched=True), exact)
        if along.decided.low > NO_GAIN * along.decided.high:
            return cut
    return replace(cut, smallest=-1.0)  # all of them


def fit_separated(data: StreamData, direction: np.ndarray) -> Estimate:
    """See :func:`pairscore.estimators.likelihood.fit_separated`, step by step the same."""
    unit = np.append(data.item_moments.sd, [1.0] * data.settings.side_effect)
    cuts = [explained(data, direction, unit)]
    rest, others = None, chosen(data, *cuts)
    while rest is None and others.tally.exposures.any():
        rest = maximum_of_parts(others, partial(separates_all, others))
        if rest.separated:
            cuts.append(explained(others, rest.theta, unit))
            rest, others = None, chosen(data, *cuts)
    never_seen = unseen(data, unit)
    directions = directions_between(unseen(others, unit), never_seen, unit)
    part = chosen(data, *cuts, touched=True)
    origin = np.zeros(len(unit)) if rest is None else rest.theta
    prior = SEPARATION_L2 * data.weight_unit * unit**2
    held = held_maximum(part, prior, directions, origin)
    found = curvature_of_parts(part, held.theta, held.ridge, directions)
    if rest is not None:
        found = carry_over(curvature_of_parts(others, rest.theta, rest.ridge), found)
        held = held._replace(
            n_iterations=held.n_iterations + rest.n_iterations,
            converged=held.converged and rest.converged,
        )
    unit = np.where(unit > 0, unit, 1.0)
    basis = replace(found.basis, open_directions=never_seen / unit[:, None], unit=unit)
    recession = recession_of(data, part, directions, held.theta, origin)
    names = [*data.items.feature_names, *[SIDE] * data.settings.side_effect]
    touched = [name for name, of in zip(names, recession.touched, strict=True) if of]
    notes = [separation_note(touched), *held.notes]
    estimate = likelihood_estimate(
        data, held.theta, basis, found.covariance, held.n_iterations, notes
    )
    return replace(estimate, recession=recession)


def recession_of(
    data: StreamData,
    part: StreamData,
    directions: np.ndarray,
    theta: np.ndarray,
    origin: np.ndarray,
) -> Recession:
    """See :func:`pairscore.estimators.separation.recession_of`, of the sample of what is explained.

    Only of few comparisons the sample is all of them; of more, intervals are the wider for it.
    """
    unit = np.append(data.item_moments.sd, [1.0] * data.settings.side_effect)
    votes = part.first.sample
    left, right = (part.table.take(items) for items in (votes.left, votes.right))
    rows = votes.outcome[:, None] * (left - right)
    if part.settings.side_effect:
        rows = np.column_stack([rows, votes.outcome])
    rows, amount = least_certain(rows, votes.amount / data.weight_unit, theta)
    return Recession(directions, np.where(unit > 0, unit, 1.0), rows, amount, origin)


def closed_recession(
    data: StreamData, direction: np.ndarray, theta: np.ndarray, only_side: bool
) -> Recession:
    """See :func:`pairscore.estimators.closed_form.closed_recession`."""
    unit = np.append(data.item_moments.sd, [1.0] * data.settings.side_effect)
    gains, cut = gains_of(data, direction)
    cut = replace(cut, smallest=NO_GAIN * gains.largest)
    part = chosen(data, cut, touched=True)
    if only_side:
        return recession_of(data, part, direction[:, None], theta, theta * (1 - direction))
    directions = directions_between(unseen(chosen(data, cut), unit), unseen(data, unit), unit)
    return recession_of(data, part, directions, theta, theta)


@dataclass
class HeldPasses(LikelihoodPasses):
    """With the Hessian of every point, from a pass over tiles: a sample may not show it."""

    def newton_step(self, params: np.ndarray, here: Derivatives, iteration: int) -> Step:
        equations = likelihood_equations(self.data, self.origin + self.transform @ params)
        task, T = PairTask(self.data.tiles, equations, 0, None), self.transform
        sums: Any = self.data.over_blocks("Separation", task).equations
        values, vectors = np.linalg.eigh(T.T @ (sums.observed + np.diag(self.ridge)) @ T)
        if values.min() <= 0:
            values, vectors = np.linalg.eigh(T.T @ (sums.expected + np.diag(self.ridge)) @ T)
        self.inverse = (vectors / values) @ vectors.T
        return super().newton_step(params, here, iteration)

    def _improve(self, moved: np.ndarray, change: np.ndarray) -> None:
        """The Hessian is known."""


def held_maximum(
    data: StreamData, ridge: np.ndarray, directions: np.ndarray, origin: np.ndarray
) -> PartsMaximum:
    """See :func:`pairscore.estimators.likelihood.held_optimum`."""
    unit = np.append(data.item_moments.sd, [1.0] * data.settings.side_effect)
    T = basis_within(data.counts.scatter + np.diag(ridge), unit, directions).transform
    passes = HeldPasses(data, T, ridge, np.eye(T.shape[1]), origin)
    best = minimise(passes, np.zeros(T.shape[1]), data.settings.max_iter, CLOSE)
    return PartsMaximum(origin + T @ best.params, ridge, best.n_iterations, best.converged)


# -- what a model keeps ------------------------------------------------------------------------


def keep_fit(data: StreamData, result: Estimate) -> tuple[Fit, list[Note]]:
    """All that a model keeps, and what the user should be warned of."""
    result = replace(result, never_differing=data.never_differing())
    compared = data.first.seen
    fit = fit_of(
        result,
        data.table.compared(compared),
        n_items=int(np.count_nonzero(compared)),
        n_comparisons=data.first.n_given,
        record=record_of(fingerprint(data), None),
        feature_names=data.items.feature_names,
        recipe=data.items.recipe,
    )
    fit = fit.with_kept(**_agreement(data, result, fit))
    scores = data.table.fitted_scores(fit, data.items.feature_names, compared)
    fit = replace(fit, fitted_scores=scores)
    fit, undecided = without_decisions(fit)
    notes = [*result.notes, *feature_notes(fit, result), *side_notes(fit, result), *undecided]
    fit = replace(fit, extreme_items=extreme_items(data.items, *data.first.won_and_lost))
    return fit, notes


def _odd_parts(data: StreamData) -> list[Note]:
    """What is odd about comparisons in parts, and about the names of their items."""
    notes = alike_notes(data.items)
    if not data.reader.layout.has_sides:
        return notes
    return notes + one_sided_notes(data.first.left_won, data.first.right_won)


def _agreement(data: StreamData, result: Estimate, fit: Fit) -> dict[str, Any]:
    """How scores and outcomes agree, and the log-likelihood, by one pass; by more with ties."""
    scores, shift = data.table.times(result.coef), result.side_effect or 0.0
    has_ties = data.first.tied > 0 and fit.ties == "half"
    scale = _decided_scale(data, scores, shift) if has_ties else 1.0
    wants = ("loglik",) if data.settings.method == "mle" else ()
    if data.agreed and not has_ties:
        sums: ScoreSums = data.agreed.pop()
    else:
        sums = data.score_pass("Agreement", scale * scores, scale * shift, wants=wants)
    decided, total = float(sums.totals[DECIDED]), data.first.given
    shares = {
        "decided_scale": scale,
        "agreement": share_of(sums.totals[RIGHT], decided) if decided else float("nan"),
        "noise": share_of(sums.totals[WRONG], decided) if decided else 0.5,
        "tie_share": share_of(data.first.tied, total),
    }
    return shares | {"likelihood": _likelihood(data, result, sums, has_ties)}


def _likelihood(data: StreamData, result: Estimate, sums: ScoreSums, has_ties: bool) -> Likelihood:
    """The log-likelihood, an item with itself left out, or why there is none."""
    ranges = {1: sums.wins, -1: sums.losses}
    outcomes = {sign for sign, of in ranges.items() if np.isfinite(of.low)} | (
        {0} if has_ties else set()
    )
    weights = data.first.weights
    has_weights = np.isfinite(weights.low) and weights.low != weights.high
    reason, value = no_likelihood(result, outcomes, has_weights), None
    number = 0.5 * float(data.tally.exposures.sum())
    if not reason:
        alone = data.n_comparisons - number
        of_self = float(data.settings.link.log_cdf(np.zeros(1))[0]) if alone else 0.0
        value = (float(sums.totals[LOGLIK]) - alone * of_self) / data.weight_unit
    number /= data.weight_unit
    return Likelihood(value, result.n_parameters, number, fingerprint(data), reason)


def _decided_scale(data: StreamData, scores: np.ndarray, shift: float) -> float:
    """See :func:`pairscore.core.scale.decided_scale`: from the sample, then from all."""
    rows, link = data.first.sample, data.settings.link
    eta = scores[rows.left] - scores[rows.right] + shift
    rows, eta = rows[eta != 0], eta[eta != 0]  # the others prefer no scale
    unit = data.first.weight_unit
    decided = rows.outcome != 0
    if not decided.any():
        return 1.0
    square = float(np.average(eta**2, weights=rows.amount))
    if square == 0:  # of differences that are next to nothing
        return 1.0
    law, precision = OutcomeLaw(TieRule("half", link)), square / 2 / PRIOR_SD**2
    sd, amount = np.zeros(len(eta)), rows.amount / unit / data.share
    near: list[float] = []
    for of in (np.ones(len(eta), dtype=bool), decided):
        along = AlongScore(law, eta[of], sd[of], rows.outcome[of], amount[of], precision)
        near.append(along.likeliest(pull_of_decided, near[0] if near else 0.0))
    distance = float(np.clip(4 / np.sqrt(len(eta)), 1e-3, COARSE))  # what a sample is off by
    for _ in range(MOST_ROUNDS):
        nodes = [place + distance * NODES for place in near]
        scales = tuple(np.exp(np.concatenate(nodes)).tolist())
        sums: ScoreSums = data.score_pass("Ties", scores, shift, scales=scales)
        precision = float(sums.squares[0] / sums.squares[1]) / 2 / PRIOR_SD**2
        pulls = sums.pulls / unit - precision * np.array(scales) ** 2
        curves = pulls[0, : len(NODES)], pulls[1, len(NODES) :]
        before, near = near, [_root(at, of) for at, of in zip(nodes, curves, strict=True)]
        moved = float(np.max(np.abs(np.subtract(near, before))))
        if distance <= FINE and moved <= 2 * distance:
            break
        distance = float(np.clip(max(distance, moved) ** 2, 1e-3, COARSE))
    return float(np.exp(near[1] - near[0]))


def _root(nodes: np.ndarray, values: np.ndarray) -> float:
    """Where the cubic through four falling values crosses zero: between two nodes, or near them."""
    middle, width = nodes.mean(), np.ptp(nodes)
    curve = np.polynomial.Polynomial.fit(nodes - middle, values, len(nodes) - 1)
    ends = np.array([-2.5 * width, *(nodes - middle), 2.5 * width])
    place = np.count_nonzero(values > 0)  # beyond nodes that cross zero, a cubic may turn round
    return middle + solve_falling(lambda x: float(curve(x)), *ends[place : place + 2].tolist())
