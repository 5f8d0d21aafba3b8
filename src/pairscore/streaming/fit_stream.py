"""``fit_stream``: a fit to comparisons that need not fit into memory, and what a model keeps."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.core.sums import share_of
from pairscore.data.find_ids import refuse_counts_from_1
from pairscore.errors import PairscoreError, no_comparisons
from pairscore.estimators.checks import refuse_lost_digits, refuse_too_many_features, refuse_weights
from pairscore.estimators.closed_form import fit_closed_form
from pairscore.estimators.estimate import Estimate, Note
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.settings import DEFAULTS, Settings, check_settings
from pairscore.estimators.smooth_ridge import refuse_no_ridge
from pairscore.model.feature_notes import feature_notes, side_notes
from pairscore.model.fit import Fit
from pairscore.model.fit_comparisons import fit_lapse, keep_estimate, only_ties, without_decisions
from pairscore.model.inference import choose_inference
from pairscore.model.odd_data import alike_notes, extreme_items, one_sided_notes
from pairscore.model.provenance import record_of
from pairscore.model.regression import RankRegression
from pairscore.streaming.batches import FIT_WHOLE
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.engine_addresses import connected
from pairscore.streaming.progress import Progress
from pairscore.streaming.stream_data import StreamData, fingerprint
from pairscore.streaming.stream_items import item_parts
from pairscore.streaming.stream_job import StreamJob, StreamSource, bytes_of, refuse_settings

IN_PARTS = (
    "hold for these judges; other judges may see it differently (comparisons that are read in parts"
    " have no intervals that allow for other judges)"
)

# settings of whole tables, which remedies of reading name
WHOLE_ONLY = (
    *("winner_codes", "delimiter", "encoding", "decimal", "na", "sheet"),
    *("categorical", "reference", "missing"),
)


def fit_stream(
    items: Any,
    comparisons: Any,
    *,
    method: str = "mle",
    link: Any = "logit",
    l2: float | str = 0.0,
    lapse: float | str = 0.0,
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
    `mle` of more than five million comparisons to a millionth of a standard error, and standard
    errors to five digits. `split`, `pooled` and `paired` go through the comparisons two to four
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
    method, link, l2, lapse, shrinkage, side_effect, inference, ties
        As in :class:`~pairscore.RankRegression`; ``l2`` is a number, ``ties`` is ``"half"`` or
        ``"drop"``, and ``inference`` is ``"items"``, which ``"auto"`` means here, ``"model"`` or
        None: who judged is not looked at.
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
        ``id``, ``features``, ``exclude``, ``curves``, ``smooth`` of the items.

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
        "lapse": lapse,
        "shrinkage": shrinkage,
        "side_effect": side_effect,
        "inference": inference,
        "ties": ties,
    }
    settings = check_settings(**given)
    refuse_settings(settings)
    if settings.inference == "auto":
        settings = replace(settings, inference="items")
    size = bytes_of(memory)
    folder = None if scratch is None else str(Path(scratch).absolute())
    source = StreamSource(items, comparisons, self_pairs, covariance_items, columns)
    with ExitStack() as stack:
        where = stack.enter_context(connected(engine, n_jobs))
        job = StreamJob(source, settings, size, where, progress, checkpoint, folder)
        with possible_remedies():
            data = job.prepare(stack)
        if data.items.ids is None and item_parts(items) is not None:
            named = data.first.seen | data.first.dropped
            refuse_counts_from_1(np.flatnonzero(named), len(data.items))
        asked, notes = check_first(data, settings)
        notes = [*_odd_parts(data), *notes]
        estimator = fit_likelihood if asked.method == "mle" else fit_closed_form
        fit, more = keep_fit(data, fit_lapse(data, asked, partial(estimator, data)))
        names_judges = "judge" in columns or "judge" in data.parts[0].source.column_names()
    fit = replace(fit, settings=replace(fit.settings, l2=settings.ridge))
    if checkpoint is not None:
        Checkpoint(Path(checkpoint)).remove()
    fit = fit.with_kept(warnings=notes + more)
    if names_judges and settings.inference is not None:
        fit = fit.with_kept(interval_scope=IN_PARTS)
    model = RankRegression(**(DEFAULTS | given))
    model.classes_ = np.array([-1, 1])
    return model._keep(fit, notes + more)


@contextmanager
def possible_remedies() -> Iterator[None]:
    """Advise to fit whole tables in place of settings that only these have."""
    try:
        yield
    except PairscoreError as error:
        error.message = error.message.without(WHOLE_ONLY, FIT_WHOLE)
        error.args = (error.worded(),)
        raise


def check_first(data: StreamData, settings: Settings) -> tuple[Settings, list[Note]]:
    """Refuse what cannot be fitted, and choose the intervals that are possible.

    Weights are only known to be relative at the end of the first pass: sums keep their unit, and
    the ridge is brought to it.
    """
    first = data.first
    if not first.given and not first.seen.any():
        raise no_comparisons()
    if settings.ties == "drop" and first.tied > 0 and not data.tally.n_comparisons:
        raise only_ties()
    if np.isfinite(first.weights.low):
        refuse_weights(first.weights.low, first.weights.high)
    refuse_no_ridge(data.items, settings)
    refuse_too_many_features(data, first.number, settings)
    refuse_lost_digits(data.table, first.seen, data.items.feature_names)
    kind, notes = choose_inference(data, settings)
    return replace(settings, inference=kind, l2=settings.ridge * data.weight_unit), notes


# -- what a model keeps ------------------------------------------------------------------------


def keep_fit(data: StreamData, result: Estimate) -> tuple[Fit, list[Note]]:
    """All that a model keeps, and what the user should be warned of."""
    compared = data.first.seen
    fit = keep_estimate(
        data,
        result,
        data.table.compared(compared),
        fingerprint(data),
        n_items=int(np.count_nonzero(compared)),
        n_comparisons=data.first.n_given,
        tie_share=share_of(data.first.tied, data.first.given),
        record=record_of(fingerprint(data), None),
        feature_names=data.items.feature_names,
        recipe=data.items.recipe,
    )
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
