"""What a site sends at a model of merged sums: for its scale and intervals, or its likelihood.

A model of merged sums carries the sums themselves (:class:`Point`). At such a model each site makes
sums again (:func:`site_round`), and merging these gives the next model
(:mod:`pairscore.streaming.merge`). Of a closed form sums are made at nodes of the logarithm of its
scale t, between which they are interpolated. They are smooth in log t: under logit the nearest pole
is pi/2 away, whatever the difference. Maximum likelihood takes a step of Newton's method in each
round.
"""

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.core.linalg import whitening_basis
from pairscore.core.sandwich import PairContributions, inflation_of
from pairscore.core.scale import DECIDED, EX, RIGHT, WRONG, E, Scale, initial_factor
from pairscore.errors import PairscoreError
from pairscore.estimators.penalty import ridge_penalty
from pairscore.estimators.settings import Settings, check_settings
from pairscore.files.archive import DamagedFileError, Field, faults_of, has_type
from pairscore.model.regression import RankRegression
from pairscore.streaming.data import Source, StreamData
from pairscore.streaming.engines import Sums
from pairscore.streaming.estimates import (
    Direction,
    closed_direction,
    scaled_form,
)
from pairscore.streaming.passes import LOGLIK, XX
from pairscore.streaming.sites import (
    SiteSums,
    SiteTotal,
    refuse_small,
    refuse_twice,
    site_data,
    terms_of,
    write_sums,
)
from pairscore.streaming.table import fingerprint
from pairscore.streaming.tiles import (
    ClosedFormEquations,
    ClosedFormSums,
    LikelihoodEquations,
    PairTask,
    Tile,
)

WIDTH = float(np.log(3.0))  # of the nodes to either side, in log t
SCALE_NODES, PAIR_NODES = 24, 16


@dataclass(frozen=True)
class Point:
    """Where sums are made in a round: the sums of all sites, the method, and the parameters.

    ``theta`` has coefficients and side effect of a likelihood; for a closed form it is empty.
    """

    total: SiteSums
    method: str
    l2: float
    inference: str | None
    theta: tuple[float, ...] = ()
    number: int = 1

    @property
    def settings(self) -> Settings:
        terms = self.total.terms
        return check_settings(
            method=self.method,
            link=terms.link,
            ties=terms.ties,
            side_effect=terms.side_effect,
            l2=self.l2,
            inference=self.inference,
        )

    @property
    def data(self) -> SiteTotal:
        """Sums of all sites; the ridge is in the unit of their weights, which is known now."""
        data = SiteTotal(self.total, self.settings)
        return replace(data, settings=replace(data.settings, l2=self.l2 * data.weight_unit))

    @property
    def direction(self) -> Direction:
        """Of a closed form; that of `pooled` as a start of the likelihood."""
        data = self.data
        kind = "pooled" if self.method == "mle" else self.method
        return closed_direction(replace(data, settings=replace(data.settings, method=kind)))

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return vars(self) | {"total": self.total.to_record(), "theta": list(self.theta)}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "Point":
        """The point again; what no merge could give is a DamagedFileError."""
        for name, hint in RECORD.items():
            if not has_type(record[name], hint):
                raise DamagedFileError(f"{name!r} is of another kind")
        total, theta = SiteSums.of_record(record["total"]), tuple(record["theta"])
        point = cls(**record | {"total": total, "theta": theta})
        n_parameters = len(total.label_sum) + total.terms.side_effect
        if len(theta) != (n_parameters if point.method == "mle" else 0):
            raise DamagedFileError("'theta' does not fit the rest")
        if not np.all(np.isfinite(theta)) or point.number < 1:
            raise DamagedFileError("'theta' has entries that are not finite numbers")
        return point

    @property
    def digest(self) -> str:
        text = json.dumps(self.to_record(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def start(self) -> float:
        """A scale of the closed form on the link, by its spread alone."""
        return start_of(self.data, self.direction)


RECORD = {
    "total": dict[str, Any],
    "method": str,
    "l2": float,
    "inference": str | None,
    "theta": list[float],
    "number": int,
}


def start_of(data: SiteTotal, found: Direction) -> float:
    """The scale that the spread of its scores suggests for a closed form."""
    spread = float(np.sqrt(max(found.b @ data.item_moments.covariance @ found.b, 0.0)))
    return initial_factor(spread, float(data.settings.link.pdf(0.0)))


def nodes(start: float, number: int) -> np.ndarray:
    """Chebyshev's nodes of log t around that of ``start``, lowest first."""
    angles = (2 * np.arange(number)[::-1] + 1) * np.pi / (2 * number)
    return np.log(start) + WIDTH * np.cos(angles)


def lagrange(at: np.ndarray, u: float) -> np.ndarray:
    """The weights (k) by which values at nodes (k) give that at u."""
    if np.any(same := at == u):
        return same.astype(float)
    angles = (2 * np.arange(len(at))[::-1] + 1) * np.pi / (2 * len(at))
    weight = (-1.0) ** np.arange(len(at)) * np.sin(angles) / (u - at)
    return weight / weight.sum()


@dataclass(frozen=True)
class RoundSums:
    """Sums of one site at a point, or of several sites: arrays by name, which add."""

    point: Point
    sources: tuple[str, ...]
    arrays: dict[str, np.ndarray]

    def __add__(self, other: "RoundSums") -> "RoundSums":
        if self.point.digest != other.point.digest:
            raise PairscoreError(
                "the sums of two sites were made at different models; make all of them at the same"
                " model."
            )
        refuse_twice(self.sources, other.sources)
        arrays = {name: array + other.arrays[name] for name, array in self.arrays.items()}
        return RoundSums(self.point, self.sources + other.sources, arrays)

    @classmethod
    def of_file(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> "RoundSums":
        """The sums of a file; what no site could send is a DamagedFileError."""
        point = Point.of_record(meta["point"])
        total, is_likelihood = point.total, point.method == "mle"
        schema = AT_LIKELIHOOD if is_likelihood else AT_CLOSED_FORM
        lengths = {"d": len(total.label_sum), "side": int(total.terms.side_effect)}
        for fault in faults_of(arrays, schema, lengths | {"one": 1}):
            raise DamagedFileError(fault)
        if missing := [name for name in schema if name not in arrays]:
            raise DamagedFileError(f"{missing[0]!r} is missing")
        return cls(point, tuple(meta["sources"]), arrays)


# what the arrays of a round are: at nodes of the scale, and of the parameters
SHARES = {
    "pulls": Field(f"2,{SCALE_NODES}"),
    "wrong": Field(str(SCALE_NODES), low=0),
    "agreed": Field("2", low=0),
}
AT_CLOSED_FORM = SHARES | {
    "score": Field(str(SCALE_NODES)),
    "squares": Field("1", low=0),
    "residual": Field("3"),
    "explained": Field("1"),
    "curvature": Field(f"{PAIR_NODES},1,1"),
    "response": Field(f"{PAIR_NODES},1,d"),
    **dict.fromkeys(("model_meat", "taken"), Field(f"{PAIR_NODES},d+one,d+one")),
    **dict.fromkeys(("items", "pairs"), Field(f"d+{PAIR_NODES + 1},d+{PAIR_NODES + 1}")),
    "total": Field(f"d+{PAIR_NODES}"),
    "second_meat": Field("d,d"),
    "second_total": Field("d"),
}
AT_LIKELIHOOD = SHARES | {
    **dict.fromkeys(("gradient", "total"), Field("d+side")),
    "loglik": Field("1"),
    "won": Field("2", low=0),
    "squares": Field("2", low=0),
    **dict.fromkeys(("expected", "observed", "taken"), Field("d+side,d+side")),
    **dict.fromkeys(("items", "pairs"), Field("d+side+one,d+side+one")),
}


# -- at a site ---------------------------------------------------------------------------------


def site_round(
    model: RankRegression,
    items: Any,
    comparisons: Any,
    *,
    self_pairs: str = "error",
    allow_small: bool = False,
    memory: str | float = "1GB",
    n_jobs: int | None = None,
    **columns: Any,
) -> RoundSums:
    """The sums of one site at a model that sums of sites gave.

    Parameters
    ----------
    model : RankRegression
        What merging the sums of all sites gave.
    items, comparisons
        Tables or files of this site, the same as for its first sums.
    self_pairs : {"error", "keep"}
        Whether comparisons of an item with itself are an error.
    allow_small : bool
        Take sites of few items too.
    memory, n_jobs, columns
        As in :func:`~pairscore.fit_stream`.
    """
    point = point_of(model)
    settings = replace(point.settings, inference="items")
    features = {"features": list(point.total.terms.features)} | columns
    source = Source(items, comparisons, self_pairs, None, features)
    with ExitStack() as stack:
        data = site_data(stack, source, settings, memory, n_jobs)
        source_digest = fingerprint(data)
        point.total.terms.refuse_other(terms_of(data))
        if source_digest not in point.total.sources:
            raise PairscoreError(
                "the data of this site are not among those of the model; give the items and"
                " comparisons whose sums were merged."
            )
        if not allow_small:
            refuse_small(data.n_items, data.X.shape[1])
        data = replace(data, center=point.total.compared)
        inflation = _inflation(data, point)
        arrays = (_at_likelihood if point.method == "mle" else _at_closed_form)(
            data, point, inflation
        )
    return RoundSums(point, (source_digest,), arrays)


def point_of(model: RankRegression) -> Point:
    """Where a model stands between rounds."""
    record = model.result_.record.get("sites")
    if record is None:
        raise PairscoreError(
            "the model was not made by merging sums of sites; give one that pairscore merge wrote."
        )
    try:
        return Point.of_record(record)
    except PairscoreError:
        raise
    except (DamagedFileError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise PairscoreError(
            "the sums of sites in the model are not those that were merged; merge them again."
        ) from None


def _inflation(data: StreamData, point: Point) -> np.ndarray:
    """The jackknife's factor of every item of the site, by the moments of all sites."""
    center, settings = point.total.compared, point.data.settings
    ridge = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    whitener = whitening_basis(center.scatter + np.diag(ridge), center.sd).transform
    along = data.table.lengths(center.mean, whitener)
    exposures = data.tally.exposures
    return inflation_of(along, exposures, data.table.own_columns(exposures, center), center.total)


@dataclass(frozen=True)
class NodeSums(Sums):
    """Sums of a closed form at nodes of its scale, stacked: arrays (nodes x ...)."""

    curvature: np.ndarray
    response: np.ndarray
    model_meat: np.ndarray
    taken: np.ndarray


@dataclass(frozen=True)
class NodeEquations:
    """Equations of a closed form at several scales: contributions of each, next to each other."""

    each: tuple[ClosedFormEquations, ...]

    def contributions(self, tile: Tile) -> PairContributions:
        all_of = [equations.contributions(tile) for equations in self.each]
        extra = np.hstack([u.extra for u in all_of])
        return replace(all_of[0], extra=extra)

    def sums(self, tile: Tile) -> NodeSums:
        all_of: list[ClosedFormSums] = [equations.sums(tile) for equations in self.each]
        stacked = {name: np.stack([getattr(of, name) for of in all_of]) for name in vars(all_of[0])}
        return NodeSums(**stacked)


def _at_closed_form(data: StreamData, point: Point, inflation: np.ndarray) -> dict[str, np.ndarray]:
    found, m = point.direction, point.data.n_comparisons
    scores, d, start = data.table.times(found.b), len(found.b), point.start
    at = np.exp(nodes(start, SCALE_NODES))
    along = [data.score_pass("Scale", t * scores, wants=("squared",)) for t in at]
    pulls = data.score_pass("Ties", scores, scales=tuple(at.tolist())).pulls
    net, differences = data.tally.net_wins, along[0].squared / at[0]
    few = np.exp(nodes(start, PAIR_NODES))
    forms = [scaled_form(point.settings, found, Scale(float(t), 0.0), m) for t in few]
    centred = scores - point.total.compared.mean @ found.b
    equations = NodeEquations(
        tuple(
            ClosedFormEquations(form, point.method, scores, centred, point.data.n_tied > 0)
            for form in forms
        )
    )
    task = PairTask(data.tiles, equations, d + PAIR_NODES, inflation)
    total: Any = data.over_blocks("Intervals", task)
    second = (np.zeros((d, d)), np.zeros(d))
    if point.method == "split" and data.n_second:
        second = data.table.error_sums(data.second_mask, point.total.second, found.b)
    return {
        "score": np.array([of.totals[EX] / t for of, t in zip(along, at, strict=True)]),
        "pulls": pulls,
        "wrong": np.array([of.totals[WRONG] for of in along]),
        "agreed": along[0].totals[[DECIDED, RIGHT]],
        "squares": np.array([along[0].totals[XX] / at[0] ** 2]),
        "residual": np.array([net @ net, net @ differences, differences @ differences]),
        "explained": np.array([net @ scores]),
        **vars(total.equations),
        "items": total.items,
        "pairs": total.pairs,
        "total": total.total,
        "second_meat": second[0],
        "second_total": second[1],
    }


def _at_likelihood(data: StreamData, point: Point, inflation: np.ndarray) -> dict[str, np.ndarray]:
    theta, d = np.array(point.theta), data.X.shape[1]
    scores, side = data.table.times(theta[:d]), float(theta[d:].sum())
    sums = data.score_pass("Likelihood", scores, side, wants=("net", "loglik"), distinct=True)
    gradient = np.append(data.table.total(sums.net), sums.totals[E])[: len(theta)]
    equations = LikelihoodEquations(point.settings.link, scores, side, point.data.n_tied > 0)
    task = PairTask(data.tiles, equations, len(theta), inflation)
    total: Any = data.over_blocks("Intervals", task)
    at = np.exp(nodes(1.0, SCALE_NODES))
    ties = data.score_pass("Ties", scores, side, scales=tuple(at.tolist()))
    along = [data.score_pass("Agreement", t * scores, t * side) for t in at]
    return {
        "gradient": gradient,
        "loglik": sums.totals[[LOGLIK]],
        "won": np.array([np.isfinite(of.low) for of in (sums.wins, sums.losses)], dtype=float),
        "squares": ties.squares,
        "pulls": ties.pulls,
        "wrong": np.array([of.totals[WRONG] for of in along]),
        "agreed": along[0].totals[[DECIDED, RIGHT]],
        **vars(total.equations),
        **{"items": total.items, "pairs": total.pairs, "total": total.total},
    }


# -- files -------------------------------------------------------------------------------------


def save_round(sums: RoundSums, path: Any) -> None:
    """Write the ``sums`` of one site at a model to the file ``path``."""
    meta = {"sources": list(sums.sources), "point": sums.point.to_record()}
    write_sums(path, "round", meta, sums.arrays)
