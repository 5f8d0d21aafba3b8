"""Sums that sites with disjoint items send, from which models are merged.

At first each site writes the sums of its own items and comparisons (:class:`SiteSums`): moments,
X'w, the scatter of differences and a few numbers; nothing about any one item. Sums of sites with
*disjoint* items add, and give the closed form of all data together
(:func:`pairscore.streaming.merge.merge_sites`).

Its scale and intervals, or maximum likelihood, take rounds. A model of merged sums carries the sums
themselves (:class:`Point`). At such a model each site makes sums again (:func:`site_round`), and
merging these gives the next model. A site goes through its comparisons twice: along the score, and
by pairs.

Along the score, comparisons come down to the distribution of their differences. It does not leave
the site; sums over it do, at a few logarithms of scale around that of the model (SCALES). They are
smooth in log t, and a spline gives them at any scale between
(:func:`pairscore.streaming.merge.at_scale`). So it is with the sums over pairs for the intervals of
a closed form, at fewer scales (PAIR_SCALES). Maximum likelihood takes a step of Newton's method in
each round.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_type_hints

import numpy as np

from pairscore.choices import LINKS, TIE_RULES
from pairscore.core.differences import Differences
from pairscore.core.links import Link
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import Tally
from pairscore.core.sandwich import PairContributions
from pairscore.core.scale import NO_RIDGE, Scale, ScaleLoss
from pairscore.core.sums import Sums
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError, warn_caller
from pairscore.estimators.checks import refuse_lost_digits
from pairscore.estimators.closed_form import Direction, NetSums, closed_direction, first_scale
from pairscore.estimators.closed_form_covariance import (
    ClosedFormEquations,
    ClosedFormSums,
    ClosedFormTerms,
    ScaledClosedForm,
)
from pairscore.estimators.fit_data import Along, PairCounts, Tile, jackknife_of_items
from pairscore.estimators.item_table import ItemTable, SecondHalfSums
from pairscore.estimators.likelihood import LikelihoodEquations, LikelihoodSums
from pairscore.estimators.pair_sums import Meat, PairSums, PairTask
from pairscore.estimators.settings import Settings, check_settings
from pairscore.files.archive import (
    DamagedFileError,
    Field,
    has_type,
)
from pairscore.model.odd_data import one_sided_notes
from pairscore.model.regression import RankRegression
from pairscore.streaming.engines import local_engine
from pairscore.streaming.site_files import (
    VERSION,
    array_faults,
    arrays_of,
    of_arrays,
    write_sums_file,
)
from pairscore.streaming.stream_data import (
    StreamData,
    StreamJob,
    StreamSource,
    bytes_of,
    fingerprint,
    refuse_settings,
)

FEWEST_ITEMS = 20
EQUAL = 1e-12  # of sums of weights that are all the same: rounding errors
# Logarithms of scale, relative to that of the model, at which sums are made. They reach as far as
# the model's may be off, and up to that of decided comparisons where nine of ten tied; their
# distance makes the error of the spline, about 1e-10 of log t.
SCALES = 0.1 * np.arange(-15, 26)
# At each of these a site sends matrices of d x d; standard errors are off by 1e-6 of them at most
# where the scale is off by 0.1, as it mostly is, and by 1e-5 at the ends.
PAIR_SCALES = 0.15 * np.arange(-3, 4)


# -- first sums ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """In what sums of two sites must agree."""

    features: tuple[str, ...]
    link: str
    ties: str
    side_effect: bool
    version: int = VERSION

    def refuse_other(self, other: "Terms") -> None:
        """Say in which of the terms two sites differ."""
        for name, ours in asdict(self).items():
            theirs = getattr(other, name)
            if ours != theirs:
                both = f"{ours!r} and {theirs!r}"
                how = _other_names(ours, theirs) if name == "features" else both
                raise PairscoreError(
                    f"the sums of two sites differ in their {name.replace('_', ' ')} ({how}); make"
                    " both with the same settings and columns."
                )


def _other_names(ours: Sequence[str], theirs: Sequence[str]) -> str:
    """In which names two lists differ."""
    sides = {"the first": (ours, theirs), "the second": (theirs, ours)}
    only = {
        side: first_few(repr(name) for name in own if name not in other)
        for side, (own, other) in sides.items()
    }
    parts = [f"only {side} has {names}" for side, names in only.items() if names]
    return "; ".join(parts) or "their order"


@dataclass(frozen=True)
class Numbers(Sums):
    """How much there is at a site.

    ``n_items`` were compared with another. ``n_comparisons`` is the amount of all comparisons,
    ``number`` how many have a positive one, ``weighted`` the sum of amount times weight. ``tied``
    is the amount of ties, ``given`` that of all comparisons, with ties that are left out.
    """

    n_items: float
    n_comparisons: float
    number: float
    weighted: float
    tied: float
    given: float


@dataclass(frozen=True)
class SiteSums:
    """What one site, or several with disjoint items, know: sums over items and comparisons.

    ``compared`` are moments of the compared items, each as often as it was compared, ``second``
    those of the items in no comparison; ``label_sum`` is X'w (d), ``counts`` has the scatter of the
    observed differences. ``sources`` are digests of the data, so that none is added twice.
    """

    terms: Terms
    sources: tuple[str, ...]
    compared: Moments
    second: Moments
    label_sum: np.ndarray
    counts: PairCounts
    numbers: Numbers

    def __add__(self, other: "SiteSums") -> "SiteSums":
        self.terms.refuse_other(other.terms)
        refuse_counted_twice(self.sources, other.sources)
        return SiteSums(
            terms=self.terms,
            sources=self.sources + other.sources,
            compared=self.compared + other.compared,
            second=self.second + other.second,
            label_sum=self.label_sum + other.label_sum,
            counts=self.counts + other.counts,
            numbers=self.numbers + other.numbers,
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays by name, for a file."""
        return arrays_of({name: getattr(self, name) for name in IN_ARRAYS})

    def meta(self) -> dict[str, Any]:
        """What is no array."""
        return {"terms": asdict(self.terms), "sources": list(self.sources)}

    def to_record(self) -> dict[str, Any]:
        """All of it as plain values."""
        arrays = {name: array.tolist() for name, array in self.to_arrays().items()}
        return {**self.meta(), "arrays": arrays}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "SiteSums":
        """The sums again; what no site could have is a DamagedFileError."""
        arrays = {name: np.asarray(of, dtype=float) for name, of in record["arrays"].items()}
        for fault in _faults(record, arrays):
            raise DamagedFileError(fault)
        terms = Terms(**record["terms"] | {"features": tuple(record["terms"]["features"])})
        hints = get_type_hints(cls)
        sums = of_arrays({name: hints[name] for name in IN_ARRAYS}, arrays)
        return cls(terms, tuple(record["sources"]), **sums)


# what the arrays of a site are
IN_ARRAYS = ("compared", "second", "label_sum", "counts", "numbers")
SCHEMA = {
    **dict.fromkeys(("compared_total", "second_total"), Field("", low=0)),
    **dict.fromkeys(("compared_mean", "second_mean", "label_sum"), Field("d")),
    **dict.fromkeys(("compared_scatter", "second_scatter"), Field("d,d")),
    "counts_scatter": Field("d+side,d+side"),
    "counts_squares": Field("", low=0),
    **{f"numbers_{field.name}": Field("", low=0) for field in fields(Numbers)},
}
META = {"terms": dict[str, Any], "sources": list[str]}
TERMS = {
    "features": list[str],
    "link": str,
    "ties": str,
    "side_effect": bool,
    "version": int,
}
WORDS = {"link": LINKS, "ties": TIE_RULES}


def _faults(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> Iterable[str]:
    """What is wrong with the sums of a site."""
    terms = record["terms"]
    for values, hints in ((record, META), (terms, TERMS)):
        for name, hint in hints.items():
            if not has_type(values[name], hint):
                yield f"{name!r} is of another kind"
    for name, words in WORDS.items():
        if terms[name] not in words:
            yield f"{name!r} has a value that is not known"
    lengths = {"d": len(terms["features"]), "side": int(terms["side_effect"])}
    yield from array_faults(arrays, SCHEMA, lengths)
    for name in ("compared_scatter", "second_scatter", "counts_scatter"):
        if np.any(np.diag(arrays[name]) < 0):
            yield f"{name!r} has squares below zero"
    if not arrays["numbers_n_comparisons"] > 0 or arrays["numbers_tied"] > arrays["numbers_given"]:
        yield "its numbers of comparisons contradict each other"


def refuse_counted_twice(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """Data may not be counted twice."""
    if both := [source for source in first if source in second]:
        raise PairscoreError(
            f"the data of {plural(len(both), 'site')} would be counted twice; give the sums of"
            " every site once."
        )


@dataclass(frozen=True)
class SiteTotal:
    """Sums of all sites as the data of a fit (:class:`pairscore.estimators.fit_data.FitSums`)."""

    sums: SiteSums
    has_items: bool = True

    @property
    def table(self) -> ItemTable:
        """No item, of as many features."""
        return ItemTable(np.empty((0, len(self.feature_names))))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.sums.terms.features

    @property
    def keep_sides(self) -> bool:
        return self.sums.terms.side_effect

    @property
    def tally(self) -> Tally:
        """All comparisons, as if they were of one item."""
        exposures = np.array([self.sums.compared.total])
        return Tally(np.zeros(1), exposures, self.sums.numbers.n_comparisons)

    @property
    def n_items(self) -> int:
        """How many items were compared, at all sites."""
        return int(self.sums.numbers.n_items)

    @property
    def n_tied(self) -> float:
        return 0.0 if self._drops_ties else self.sums.numbers.tied

    @property
    def weight_unit(self) -> float:
        return self.sums.numbers.weighted / self.sums.numbers.n_comparisons

    @property
    def item_moments(self) -> Moments:
        return self.sums.compared

    @property
    def label_sum(self) -> np.ndarray:
        return self.sums.label_sum

    @property
    def second_mask(self) -> np.ndarray:
        """Of no item."""
        return np.zeros(0, dtype=bool)

    @property
    def n_second(self) -> int:
        return int(self.sums.second.total)

    @property
    def second_moments(self) -> Moments:
        return self.sums.second

    @property
    def counts(self) -> PairCounts:
        return self.sums.counts

    @property
    def has_weights(self) -> bool:
        """Whether weights differ: only then (sum c)(sum c w^2) is above (sum c w)^2."""
        numbers = self.sums.numbers
        return numbers.number * numbers.weighted > (1 + EQUAL) * numbers.n_comparisons**2

    @property
    def n_given(self) -> float:
        """How many comparisons there are, with ties that are left out."""
        numbers = self.sums.numbers
        return numbers.given / self.weight_unit if self._drops_ties else numbers.number

    @property
    def _drops_ties(self) -> bool:
        return self.sums.terms.ties == "drop"


# -- the first exchange ------------------------------------------------------------------------


def site_sums(
    items: Any,
    comparisons: Any,
    *,
    link: str = "logit",
    ties: str = "half",
    side_effect: bool = False,
    self_pairs: str = "error",
    allow_small: bool = False,
    memory: str | float = "1GB",
    n_jobs: int | None = None,
    **columns: Any,
) -> SiteSums:
    """The sums of one site, from its items and comparisons as ``fit_stream`` takes them.

    Sites of fewer than max(20, 2 (d + 1)) compared items are refused unless ``allow_small``: their
    sums may say much about single items.

    Parameters
    ----------
    items, comparisons
        Tables or files of this site.
    link, ties, side_effect
        As in :class:`~pairscore.RankRegression`; the same at every site.
    self_pairs : {"error", "keep"}
        Whether comparisons of an item with itself are an error.
    allow_small : bool
        Take sites of few items too.
    memory, n_jobs, columns
        As in :func:`~pairscore.fit_stream`.
    """
    asked = {"link": link, "ties": ties, "side_effect": side_effect, "method": "paired"}
    source = StreamSource(items, comparisons, self_pairs, None, columns)
    with ExitStack() as stack:
        settings = check_settings(**asked)
        data = site_data(stack, source, settings, memory, n_jobs)
        if not allow_small:
            refuse_small(data.n_items, data.X.shape[1])
        if data.reader.layout.has_sides:
            for warning in one_sided_notes(data.first.left_won, data.first.right_won):
                warn_caller(warning)
        return sums_of(data, settings)


def site_data(
    stack: ExitStack, source: StreamSource, settings: Settings, memory: Any, n_jobs: int | None
) -> StreamData:
    """The data of one site after the first pass."""
    refuse_settings(settings)
    job = StreamJob(source, settings, bytes_of(memory), local_engine(n_jobs))
    return job.prepare(stack)


def refuse_small(n_items: int, d: int) -> None:
    """Few items may be found in sums over them."""
    fewest = max(FEWEST_ITEMS, 2 * (d + 1))
    if n_items < fewest:
        raise PairscoreError(
            f"this site has {plural(n_items, 'compared item')}, and sums over fewer than {fewest}"
            f" items with {plural(d, 'feature')} may say much about each; compare more items, or"
            " pass allow_small=True."
        )


def sums_of(data: StreamData, settings: Settings) -> SiteSums:
    """The sums of the data of one site."""
    refuse_lost_digits(data.table, data.first.seen, data.feature_names)
    first = data.first
    return SiteSums(
        terms=terms_of(data, settings),
        sources=(fingerprint(data),),
        compared=data.item_moments,
        second=data.second_moments,
        label_sum=data.label_sum,
        counts=data.counts,
        numbers=Numbers(
            n_items=float(data.n_items),
            n_comparisons=first.tally.n_comparisons,
            number=first.number,
            weighted=first.weighted,
            tied=first.tied,
            given=first.given,
        ),
    )


def terms_of(data: StreamData, settings: Settings) -> Terms:
    """In what sums of other sites must agree with those of these data."""
    return Terms(data.feature_names, settings.link.name, settings.ties, settings.side_effect)


def save_site(sums: SiteSums, path: Any) -> None:
    """Write the ``sums`` of one site to the file ``path``."""
    write_sums_file(path, "site", sums.meta(), sums.to_arrays())


# -- rounds: where sums are made ---------------------------------------------------------------


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


RECORD = {
    "total": dict[str, Any],
    "method": str,
    "l2": float,
    "inference": str | None,
    "theta": list[float],
    "scale": float,
    "number": int,
}


# -- rounds: sums at a point -------------------------------------------------------------------


@dataclass(frozen=True)
class ScaleSums(Sums):
    """Comparisons along a score, at SCALES around that of the model.

    Attributes
    ----------
    slope, slope_of_decided : arrays (k)
        Derivative of the log-likelihood in the logarithm of scale, of all comparisons, and of those
        that no tie ended.
    wrong : array (k)
        How many decided comparisons the link expects to go against the score.
    decided, right, against : float
        Amounts of decided comparisons, of those that the score predicts, and of those that go
        against it.
    tied : float
        The amount of ties between two items.
    apart, squares : float
        The amount of comparisons with a difference along the score, and the sum of its squares.
    """

    slope: np.ndarray
    slope_of_decided: np.ndarray
    wrong: np.ndarray
    decided: float
    right: float
    against: float
    tied: float
    apart: float
    squares: float

    @classmethod
    def of_along(cls, along: Along, link: Link, scale: float) -> "ScaleSums":
        """From comparisons along a score, whose factor to the link is about ``scale``."""
        every = along.differences
        decided = every.take(every.outcome != 0)
        at = scale * np.exp(SCALES)
        outcomes = [decided.times(t).outcomes(link) for t in at]
        return cls(
            slope=np.array([log_slope(every, link, t) for t in at]),
            slope_of_decided=np.array([log_slope(decided, link, t) for t in at]),
            wrong=np.array([of.wrong for of in outcomes]),
            decided=outcomes[0].decided,
            right=outcomes[0].right,
            against=float(decided.amount @ (decided.x * decided.outcome < 0)),
            tied=along.tied,
            apart=float(every.amount @ (every.x != 0)),
            squares=every.squares,
        )

    @property
    def is_explained(self) -> bool:
        """Whether no comparison contradicts the score: then no finite scale is best."""
        return self.right > 0 and self.against == 0 and self.tied == 0


def log_slope(differences: Differences, link: Link, scale: float) -> float:
    """Derivative of the log-likelihood of scale * x in the logarithm of scale."""
    loss = ScaleLoss(differences, link, NO_RIDGE, side=False)
    return -scale * float(loss.derivatives(np.array([scale, 0.0])).gradient[0])


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


def save_round(sums: RoundSums, path: Any) -> None:
    """Write the ``sums`` of one site at a model to the file ``path``."""
    meta = {"sources": list(sums.sources), "point": sums.point.to_record()}
    write_sums_file(path, "round", meta, arrays_of(vars(sums.sums)))


# -- rounds: at a site -------------------------------------------------------------------------


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
    features = {"features": list(point.total.terms.features)} | columns
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
    total = pair_sums(data, point, equations, len(b) + len(forms))
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
    total = pair_sums(data, point, equations, len(theta))
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


def pair_sums(data: StreamData, point: Point, equations: Any, size: int) -> PairSums:
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
