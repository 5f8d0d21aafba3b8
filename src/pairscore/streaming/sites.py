"""Sums that sites with disjoint items send, from which models are merged.

Each site writes the sums of its own items and comparisons (:class:`SiteSums`): moments, X'w, the
scatter of differences and a few numbers; nothing about any one item. Sums of sites with *disjoint*
items add, and give the closed form of all data together
(:func:`pairscore.streaming.merge.merge_sites`). Its scale and intervals, or maximum likelihood,
take rounds (:mod:`pairscore.streaming.rounds`).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_type_hints

import numpy as np

from pairscore.choices import LINKS, TIE_RULES
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import Tally
from pairscore.core.sums import Sums
from pairscore.data.recipe import Recipe
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError, warn_caller
from pairscore.estimators.checks import refuse_lost_digits
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.settings import Settings, check_settings
from pairscore.estimators.tile import PairCounts
from pairscore.files.archive import (
    DamagedFileError,
    Field,
    has_type,
)
from pairscore.messages import Setting
from pairscore.model.odd_data import one_sided_notes
from pairscore.streaming.engines import local_engine
from pairscore.streaming.site_files import (
    VERSION,
    array_faults,
    arrays_of,
    of_arrays,
    write_sums_file,
)
from pairscore.streaming.stream_data import StreamData, fingerprint
from pairscore.streaming.stream_job import StreamJob, StreamSource, bytes_of, refuse_settings

FEWEST_ITEMS = 20
EQUAL = 1e-12  # of sums of weights that are all the same: rounding errors


# -- first sums ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """In what sums of two sites must agree."""

    features: tuple[str, ...]
    link: str
    ties: str
    side_effect: bool
    version: int = VERSION
    curves: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "Terms":
        """The terms again from what JSON has of them; before curves there were none."""
        curves = {name: tuple(knots) for name, knots in record.get("curves", {}).items()}
        return cls(**record | {"features": tuple(record["features"]), "curves": curves})

    @property
    def recipe(self) -> Recipe:
        """How features are made of the columns of the items, before bends."""
        n_bends = sum(len(knots) - 2 for knots in self.curves.values())
        columns = self.features[: len(self.features) - n_bends]
        return Recipe(columns, curves=self.curves)

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
        terms = Terms.of_record(record["terms"])
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
    "curves": dict[str, list[float]],
}
WORDS = {"link": LINKS, "ties": TIE_RULES}


def _faults(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> Iterable[str]:
    """What is wrong with the sums of a site."""
    terms = record["terms"]
    for values, hints in ((record, META), (terms, TERMS)):
        for name, hint in hints.items():
            if not has_type(values.get(name, {}) if name == "curves" else values[name], hint):
                yield f"{name!r} is of another kind"
    for name, words in WORDS.items():
        if terms[name] not in words:
            yield f"{name!r} has a value that is not known"
    lengths = {"d": len(terms["features"]), "side": int(terms["side_effect"])}
    if Terms.of_record(terms).recipe.names != tuple(terms["features"]):
        yield "its curves make other features than it has"
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
    refuse_no_knots(columns.get("curves") or {})
    if columns.get("smooth"):
        raise PairscoreError(
            "a smooth part needs the spread of all items, and a site knows its own",
            "leave out " + Setting("smooth"),
        )
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


def refuse_no_knots(curves: Any) -> None:
    """Knots at quantiles would differ from site to site."""
    if without := [n for n in curves if not isinstance(curves, Mapping) or not curves[n]]:
        raise PairscoreError(
            f"sites have to agree on the knots of the curve of {without[0]!r}, and none are given",
            "give the same at every site, such as " + Setting("curves", {without[0]: [20, 40, 60]}),
        )


def refuse_small(n_items: int, d: int) -> None:
    """Few items may be found in sums over them."""
    fewest = max(FEWEST_ITEMS, 2 * (d + 1))
    if n_items < fewest:
        raise PairscoreError(
            f"this site has {plural(n_items, 'compared item')}, and sums over fewer than {fewest}"
            f" items with {plural(d, 'feature')} may say much about each",
            ["compare more items", "pass " + Setting("allow_small", True)],
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
    recipe = data.items.recipe
    return Terms(
        data.feature_names,
        settings.link.name,
        settings.ties,
        settings.side_effect,
        curves={} if recipe is None else Recipe.from_record(recipe).curves,
    )


def save_site(sums: SiteSums, path: Any) -> None:
    """Write the ``sums`` of one site to the file ``path``."""
    write_sums_file(path, "site", sums.meta(), sums.to_arrays())
