"""Rounds of sums that sites make at a model of merged sums, for its scale and intervals.

A model of merged sums carries the sums themselves (:class:`Point`). At such a model each site makes
sums again (:func:`site_round`), and merging these gives the next model. A site goes through its
comparisons twice: along the score, and by pairs.

Along the score, comparisons come down to the distribution of their differences. It does not leave
the site; sums over it do, at a few logarithms of scale around that of the model (SCALES). They are
smooth in log t, and a spline gives them at any scale between
(:mod:`pairscore.streaming.scale_sums`). So it is with the sums over pairs for the intervals of a
closed form, at fewer scales (PAIR_SCALES). Maximum likelihood takes a step of Newton's method in
each round.
"""

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

import numpy as np

from pairscore.core.sandwich import PairContributions
from pairscore.core.scale import Scale
from pairscore.core.sums import Sums
from pairscore.errors import PairscoreError
from pairscore.estimators.closed_form import Direction, NetSums, closed_direction, first_scale
from pairscore.estimators.closed_form_errors import (
    ClosedFormEquations,
    ClosedFormSums,
    ClosedFormTerms,
    ScaledClosedForm,
)
from pairscore.estimators.item_table import SecondHalfSums
from pairscore.estimators.leverage import jackknife_of_items
from pairscore.estimators.likelihood_errors import LikelihoodEquations, LikelihoodSums
from pairscore.estimators.pair_sums import Meat, PairSums, PairTask
from pairscore.estimators.settings import Settings, check_settings
from pairscore.estimators.tile import Tile
from pairscore.files.archive import (
    DamagedFileError,
    Field,
    has_type,
)
from pairscore.model.regression import RankRegression
from pairscore.streaming.scale_sums import PAIR_SCALES, SCALES, ScaleSums
from pairscore.streaming.site_files import (
    array_faults,
    arrays_of,
    of_arrays,
    write_sums_file,
)
from pairscore.streaming.sites import (
    SiteSums,
    SiteTotal,
    refuse_counted_twice,
    refuse_small,
    site_data,
    terms_of,
)
from pairscore.streaming.stream_data import StreamData, fingerprint
from pairscore.streaming.stream_job import StreamSource

# -- where sums are made ------------------------------------------------------------------------

RECORD = {
    "total": dict[str, Any],
    "method": str,
    "l2": float,
    "inference": str | None,
    "theta": list[float],
    "scale": float,
    "number": int,
}


@dataclass(frozen=True)
class Point:
    """Where sums are made in a round: the sums of all sites, the method, and the parameters.

    ``theta`` has coefficients and side effect of a likelihood; of a closed form it is empty, and
    ``scale`` is the factor from the closed form to the link. It is 1 of a likelihood.
    """

    total: SiteSums
    method: str
    l2: float
    inference: str | None
    theta: tuple[float, ...] = ()
    scale: float = 1.0
    number: int = 1

    @property
    def given(self) -> Settings:
        """What was asked for."""
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
    def settings(self) -> Settings:
        """The same with the ridge in the unit of weights, which is known of all sites together."""
        return replace(self.given, l2=self.l2 * self.data.weight_unit)

    @property
    def data(self) -> SiteTotal:
        """Sums of all sites."""
        return SiteTotal(self.total)

    @property
    def direction(self) -> Direction:
        """Of a closed form; that of `pooled` as a start of the likelihood."""
        method = "pooled" if self.method == "mle" else self.method
        return closed_direction(self.data, replace(self.settings, method=method))

    @property
    def first_scale(self) -> float:
        """A scale of the closed form on the link, by sums that do not know it."""
        b = self.direction.b
        m = self.data.tally.n_comparisons
        explained = float(self.total.label_sum @ b)
        return first_scale(self.squares_along(b), explained, m, self.given.link)

    def squares_along(self, b: np.ndarray) -> float:
        """The sum of the squares of all differences along b (d)."""
        d = len(b)
        return max(float(b @ self.total.counts.scatter[:d, :d] @ b), 0.0)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return vars(self) | {"total": self.total.to_record(), "theta": list(self.theta)}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "Point":
        """The point again; what no merge could give is a DamagedFileError."""
        for name, hint in RECORD.items():
            if not has_type(record[name], hint):
                raise DamagedFileError(f"{name!r} is of another kind")
        total = SiteSums.of_record(record["total"])
        theta = tuple(record["theta"])
        point = cls(**record | {"total": total, "theta": theta})
        n_parameters = len(total.label_sum) + total.terms.side_effect
        if len(theta) != (n_parameters if point.method == "mle" else 0):
            raise DamagedFileError("'theta' does not fit the rest")
        if not np.all(np.isfinite(theta)) or point.number < 1:
            raise DamagedFileError("'theta' has entries that are not finite numbers")
        if not 0 < point.scale < np.inf:
            raise DamagedFileError("'scale' is not a positive number")
        return point

    @property
    def digest(self) -> str:
        text = json.dumps(self.to_record(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


# -- sums at a point ----------------------------------------------------------------------------

# what the arrays of a round are
OF_SCALES = str(len(SCALES))
N_PAIR_SCALES = len(PAIR_SCALES)

ALONG = {
    **dict.fromkeys(("along_slope", "along_slope_of_decided"), Field(OF_SCALES)),
    "along_wrong": Field(OF_SCALES, low=0),
    **{
        f"along_{name}": Field("", low=0)
        for name in ("decided", "right", "against", "tied", "apart", "squares")
    },
}

AT_CLOSED_FORM = ALONG | {
    **dict.fromkeys(("net_wins", "net_differences"), Field("", low=0)),
    "net_mixed": Field(""),
    "equations_curvature": Field(f"{N_PAIR_SCALES},1,1"),
    "equations_response": Field(f"{N_PAIR_SCALES},1,d"),
    **dict.fromkeys(
        ("equations_model_meat", "equations_tied"), Field(f"{N_PAIR_SCALES},d+one,d+one")
    ),
    **dict.fromkeys(
        ("meat_items", "meat_pairs"), Field(f"d+{N_PAIR_SCALES + 1},d+{N_PAIR_SCALES + 1}")
    ),
    "meat_total": Field(f"d+{N_PAIR_SCALES}"),
    "second_half_squares": Field("d,d"),
    "second_half_total": Field("d"),
}

AT_LIKELIHOOD = ALONG | {
    **dict.fromkeys(
        ("equations_expected", "equations_observed", "equations_tied"), Field("d+side,d+side")
    ),
    **dict.fromkeys(("meat_items", "meat_pairs"), Field("d+side+one,d+side+one")),
    "meat_total": Field("d+side"),
    "loglik": Field(""),
    "left_won": Field("", low=0),
}


@dataclass(frozen=True)
class ClosedFormRound(Sums):
    """Sums at a closed form; ``equations`` and the scale's part of ``meat`` at PAIR_SCALES."""

    along: ScaleSums
    net: NetSums
    equations: ClosedFormSums
    meat: Meat
    second_half: SecondHalfSums


@dataclass(frozen=True)
class LikelihoodRound(Sums):
    """Sums at coefficients and side effect: the score is the total of ``meat``.

    ``loglik`` is that of decided comparisons of two items, ``left_won`` how much of these left won.
    """

    along: ScaleSums
    equations: LikelihoodSums
    meat: Meat
    loglik: float
    left_won: float


@dataclass(frozen=True)
class RoundSums:
    """Sums of one site at a point, or of several sites."""

    point: Point
    sources: tuple[str, ...]
    sums: Any  # ClosedFormRound or LikelihoodRound

    def __add__(self, other: "RoundSums") -> "RoundSums":
        if self.point.digest != other.point.digest:
            raise PairscoreError(
                "the sums of two sites were made at different models; make all of them at the same"
                " model."
            )
        refuse_counted_twice(self.sources, other.sources)
        return RoundSums(self.point, self.sources + other.sources, self.sums + other.sums)

    @classmethod
    def of_file(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> "RoundSums":
        """The sums of a file; what no site could send is a DamagedFileError."""
        point = Point.of_record(meta["point"])
        terms = point.total.terms
        lengths = {"d": len(terms.features), "side": int(terms.side_effect), "one": 1}
        is_likelihood = point.method == "mle"
        for fault in array_faults(
            arrays, AT_LIKELIHOOD if is_likelihood else AT_CLOSED_FORM, lengths
        ):
            raise DamagedFileError(fault)
        kind = LikelihoodRound if is_likelihood else ClosedFormRound
        sums = kind(**of_arrays(get_type_hints(kind), arrays))
        return cls(point, tuple(meta["sources"]), sums)


def save_round(sums: RoundSums, path: Any) -> None:
    """Write the ``sums`` of one site at a model to the file ``path``."""
    meta = {"sources": list(sums.sources), "point": sums.point.to_record()}
    write_sums_file(path, "round", meta, arrays_of(vars(sums.sums)))


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
    settings = replace(point.given, inference="items")
    recipe = point.total.terms.recipe
    features = {"features": list(recipe.features), "curves": recipe.curves} | columns
    source = StreamSource(items, comparisons, self_pairs, None, features)
    with ExitStack() as stack:
        data = site_data(stack, source, settings, memory, n_jobs)
        source_digest = fingerprint(data)
        point.total.terms.refuse_other(terms_of(data, settings))
        if source_digest not in point.total.sources:
            raise PairscoreError(
                "the data of this site are not among those of the model; give the items and"
                " comparisons whose sums were merged."
            )
        if not allow_small:
            refuse_small(data.n_items, len(data.feature_names))
        data = replace(data, center=point.total.compared)
        at_point = likelihood_round if point.method == "mle" else closed_form_round
        sums = at_point(data, point)
    return RoundSums(point, (source_digest,), sums)


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


def closed_form_round(data: StreamData, point: Point) -> ClosedFormRound:
    """Sums of the data of one site at the closed form of all sites."""
    direction = point.direction
    settings = point.settings
    b = direction.b
    m = point.data.tally.n_comparisons
    scores = data.table.times(b)
    along = data.along(scores)
    center = float(point.total.compared.mean @ b)
    forms = [
        ScaledClosedForm.of_direction(settings, direction, Scale(float(t), 0.0), m)
        for t in point.scale * np.exp(PAIR_SCALES)
    ]
    equations = ManyEquations(tuple(ClosedFormEquations(form, scores, center) for form in forms))
    total = site_pair_sums(data, point, equations, len(b) + len(forms))
    return ClosedFormRound(
        along=ScaleSums.of_along(along, settings.link, point.scale),
        net=NetSums.of_items(data.tally.net_wins, along.net),
        equations=total.equations,
        meat=total.meat,
        second_half=_second_half(data, point, b),
    )


def _second_half(data: StreamData, point: Point, b: np.ndarray) -> SecondHalfSums:
    """Of the items behind the covariance of `split`; zero of other methods."""
    if point.method == "split":
        return data.table.second_half(data.second_mask, point.total.second, b)
    return SecondHalfSums(np.zeros((len(b), len(b))), np.zeros(len(b)))


def likelihood_round(data: StreamData, point: Point) -> LikelihoodRound:
    """Sums of the data of one site at coefficients and side effect."""
    theta = np.array(point.theta)
    link = point.settings.link
    equations = LikelihoodEquations.of_theta(data, theta, link)
    total = site_pair_sums(data, point, equations, len(theta))
    scores = equations.scores
    side = equations.side_effect
    along = data.along(scores, side)
    distinct = along.differences
    if data.tally.exposures.sum() < 2 * data.tally.n_comparisons:  # some item met itself
        distinct = data.along(scores, side, distinct=True).differences
    return LikelihoodRound(
        along=ScaleSums.of_along(along, link, point.scale),
        equations=total.equations,
        meat=total.meat,
        loglik=distinct.outcomes(link).loglik,
        left_won=float(distinct.amount @ (distinct.outcome > 0)),
    )


def site_pair_sums(data: StreamData, point: Point, equations: Any, size: int) -> PairSums:
    """Sums of ``size`` equations over the pairs of one site, with leverages in all sites."""
    inflation = jackknife_of_items(data, point.settings, point.data)
    total: PairSums = data.sum_pairs(PairTask(equations, size, inflation), "Intervals")
    return total


@dataclass(frozen=True)
class ManyEquations:
    """Equations of a closed form at several scales: contributions of each, next to each other."""

    each: tuple[ClosedFormEquations, ...]

    def at(self, tile: Tile) -> "ManyTerms":
        return ManyTerms([equations.at(tile) for equations in self.each])


@dataclass(frozen=True)
class ManyTerms:
    """What the pairs of a tile add to these equations: sums (scales x ...)."""

    each: list[ClosedFormTerms]

    @property
    def contributions(self) -> PairContributions:
        every = [terms.contributions for terms in self.each]
        return replace(every[0], extra=np.hstack([u.extra for u in every]))

    @property
    def weights(self) -> dict[str, np.ndarray]:
        every = enumerate(terms.weights for terms in self.each)
        return {f"{name} {k}": weight for k, of in every for name, weight in of.items()}

    def sums(self, scatters: dict[str, np.ndarray]) -> ClosedFormSums:
        every = []
        for k, terms in enumerate(self.each):
            every.append(terms.sums({name: scatters[f"{name} {k}"] for name in terms.weights}))
        return ClosedFormSums(
            **{
                field.name: np.stack([getattr(of, field.name) for of in every])
                for field in fields(ClosedFormSums)
            }
        )
