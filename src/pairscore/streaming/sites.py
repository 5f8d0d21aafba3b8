"""Sites that pool what they know without sharing an item: sums that add.

Each site writes the sums of its own items and comparisons (:class:`SiteSums`): moments, X'w, the
scatter of differences and a few numbers; nothing about any one item. Sums of sites with *disjoint*
items add, and give the closed form of all data together (:func:`merge_sites`). What follows, its
scale and intervals or maximum likelihood, is in :mod:`pairscore.streaming.rounds`.

Comparisons of *one* item table that lie in several files are another thing: their sums are numbers
for each item (:class:`ShardSums`), and the items are counted once.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.choices import LINKS, TIE_RULES
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import Tally
from pairscore.errors import PairscoreError, first_few, plural, warn_caller
from pairscore.estimators.settings import Settings, check_settings
from pairscore.files.archive import (
    DamagedFileError,
    Field,
    faults_of,
    has_type,
    read_archive,
    read_json,
)
from pairscore.files.write import atomic_write
from pairscore.model.notes import one_sided_notes
from pairscore.streaming.data import Job, Source, StreamData
from pairscore.streaming.engines import bytes_of, local_engine
from pairscore.streaming.passes import FirstSums, refuse_settings
from pairscore.streaming.table import fingerprint
from pairscore.streaming.tiles import PairCounts, without_difference

VERSION = 1
KINDS = ("site", "round")  # of files of sums
FEWEST_ITEMS = 20
EQUAL = 1e-12  # of sums of weights that are all the same: rounding errors
NO_TALLY = Tally.zero(0)  # where a digest is of the items alone
NUMBERS = ("n_items", "n_comparisons", "number", "weighted", "tied", "given", "squares")


# -- the first exchange ------------------------------------------------------------------------


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
class SiteSums:
    """What one site, or several with disjoint items, know: sums over items and comparisons.

    ``compared`` are moments of the compared items, each as often as it was compared, ``second``
    those of the items in no comparison; ``label_sum`` is X'w (d), ``scatter`` X'LX of the observed
    differences with the side's row; ``numbers`` are those of NUMBERS. ``sources`` are digests of
    the data, so that none is added twice.
    """

    terms: Terms
    sources: tuple[str, ...]
    compared: Moments
    second: Moments
    label_sum: np.ndarray
    scatter: np.ndarray
    numbers: np.ndarray
    has_weights: bool = False

    def __add__(self, other: "SiteSums") -> "SiteSums":
        if not isinstance(other, SiteSums):
            raise PairscoreError(
                "sums of sites and sums for each item of one table are different things; add those"
                " of one kind only."
            )
        self.terms.refuse_other(other.terms)
        refuse_twice(self.sources, other.sources)
        return SiteSums(
            self.terms,
            self.sources + other.sources,
            self.compared + other.compared,
            self.second + other.second,
            self.label_sum + other.label_sum,
            self.scatter + other.scatter,
            self.numbers + other.numbers,
            self.has_weights or other.has_weights,
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays by name, for a file."""
        return {
            **{f"compared_{name}": np.asarray(of) for name, of in vars(self.compared).items()},
            **{f"second_{name}": np.asarray(of) for name, of in vars(self.second).items()},
            "label_sum": self.label_sum,
            "scatter": self.scatter,
            "numbers": self.numbers,
        }

    def to_record(self) -> dict[str, Any]:
        """All of it as plain values."""
        arrays = {name: array.tolist() for name, array in self.to_arrays().items()}
        return {**self.meta(), "arrays": arrays}

    def meta(self) -> dict[str, Any]:
        """What is no array."""
        given = {"sources": list(self.sources), "has_weights": self.has_weights}
        return {"terms": asdict(self.terms), **given}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "SiteSums":
        """The sums again; what no site could have is a DamagedFileError."""
        arrays = {name: np.asarray(of, dtype=float) for name, of in record["arrays"].items()}
        terms = dict(record["terms"]) | {"features": tuple(record["terms"]["features"])}
        for fault in _faults(record, arrays):
            raise DamagedFileError(fault)
        compared, second = (
            Moments(float(arrays[f"{n}_total"]), arrays[f"{n}_mean"], arrays[f"{n}_scatter"])
            for n in ("compared", "second")
        )
        rest = {name: arrays[name] for name in ("label_sum", "scatter", "numbers")}
        sources, has_weights = tuple(record["sources"]), bool(record["has_weights"])
        return cls(Terms(**terms), sources, compared, second, **rest, has_weights=has_weights)


# what the arrays of a site are; those of shards have no differences
SCHEMA = {
    **dict.fromkeys(("compared_total", "second_total"), Field("", low=0)),
    **dict.fromkeys(("compared_mean", "second_mean", "label_sum"), Field("d")),
    **dict.fromkeys(("compared_scatter", "second_scatter"), Field("d,d")),
    "scatter": Field("d+side,d+side", nan=True),
    "numbers": Field(str(len(NUMBERS)), low=0, nan=True),
}
META = {"terms": dict[str, Any], "sources": list[str], "has_weights": bool}
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
    yield from faults_of(arrays, SCHEMA, lengths)
    if missing := [name for name in SCHEMA if name not in arrays]:
        yield f"{missing[0]!r} is missing"
    if not np.all(np.isfinite(arrays["numbers"][: NUMBERS.index("squares")])):
        yield "'numbers' has entries that are not finite numbers"
    for name in ("compared_scatter", "second_scatter", "scatter"):
        if np.any(np.diag(arrays[name]) < 0):
            yield f"{name!r} has squares below zero"
    numbers = dict(zip(NUMBERS, arrays["numbers"].tolist(), strict=True))
    if not numbers["n_comparisons"] > 0 or numbers["tied"] > numbers["given"]:
        yield "its numbers of comparisons contradict each other"


def refuse_twice(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """Data may not be counted twice."""
    if both := [source for source in first if source in second]:
        raise PairscoreError(
            f"the data of {plural(len(both), 'site')} would be counted twice; give the sums of"
            " every site once."
        )


@dataclass(frozen=True)
class ShardSums:
    """Sums for each item of one table, of some of its comparisons; shards of one table add."""

    table: str
    sources: tuple[str, ...]
    first: FirstSums

    def __add__(self, other: "ShardSums") -> "ShardSums":
        if not isinstance(other, ShardSums) or self.table != other.table:
            raise PairscoreError(
                "these comparisons are of different item tables; sums for each item add where the"
                " table is the same, and sums of sites where no item is in two of them."
            )
        refuse_twice(self.sources, other.sources)
        return ShardSums(self.table, self.sources + other.sources, self.first + other.first)


@dataclass(frozen=True)
class SiteTotal:
    """Sums of all sites as data of a fit."""

    sums: SiteSums
    settings: Settings
    has_items: bool = True

    def __getattr__(self, name: str) -> Any:
        if name in NUMBERS:
            return float(self.sums.numbers[NUMBERS.index(name)])
        raise AttributeError(name)

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        """No items, of as many features."""
        return np.empty((0, len(self.sums.label_sum)))

    @property
    def n_items(self) -> int:
        """How many items were compared, at all sites."""
        return int(self.sums.numbers[0])

    @property
    def tally(self) -> Tally:
        """All comparisons, as if they were of one item."""
        total = np.array([self.sums.compared.total])
        return Tally(0 * total, total, float(self.n_comparisons))

    @property
    def item_moments(self) -> Moments:
        return self.sums.compared

    @property
    def second_moments(self) -> Moments:
        return self.sums.second

    @property
    def n_second(self) -> int:
        return int(self.sums.second.total)

    @property
    def label_sum(self) -> np.ndarray:
        return self.sums.label_sum

    @property
    def counts(self) -> PairCounts:
        """The scatter of differences."""
        return PairCounts(self.sums.scatter, float(self.squares))

    @property
    def weight_unit(self) -> float:
        return float(self.weighted / self.n_comparisons)

    @property
    def has_weights(self) -> bool:
        """Whether weights differ: only then (sum c)(sum c w^2) is above (sum c w)^2."""
        return self.number * self.weighted > (1 + EQUAL) * self.n_comparisons**2

    @property
    def n_given(self) -> float:
        """How many comparisons there are, with ties that are left out."""
        is_dropped = self.settings.ties == "drop"
        return float(self.given / self.weight_unit if is_dropped else self.number)

    @property
    def n_tied(self) -> float:
        return 0.0 if self.settings.ties == "drop" else float(self.tied)

    def never_differing(self) -> np.ndarray:
        """Directions in which no two items that met differ, as a feature of whole sites."""
        d, sd = len(self.label_sum), self.item_moments.sd
        is_asked = self.settings.method in ("pooled", "split") or self.settings.l2 > 0
        if not is_asked or not np.all(np.isfinite(self.sums.scatter)):  # as of shards
            return np.empty((d, 0))
        scatter = self.sums.scatter[:d, :d] / self.n_comparisons
        covariance = self.item_moments.covariance
        alone = without_difference(np.eye(d)[:, sd > 0], scatter, covariance)
        rest = np.flatnonzero((sd > 0) & ~alone.any(axis=1))
        values, vectors = np.linalg.eigh(scatter[np.ix_(rest, rest)] / np.outer(sd[rest], sd[rest]))
        combined = np.zeros((d, int(np.sum(values <= 1e-10))))
        combined[rest] = vectors[:, values <= 1e-10] / sd[rest, None]
        return np.hstack([alone, without_difference(combined, scatter, covariance)])


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
    source = Source(items, comparisons, self_pairs, None, columns)
    with ExitStack() as stack:
        data = site_data(stack, source, check_settings(**asked), memory, n_jobs)
        if not allow_small:
            refuse_small(data.n_items, data.X.shape[1])
        if data.reader.layout.has_sides:
            for kind, text in one_sided_notes(data.first.left_won, data.first.right_won):
                warn_caller(text, kind)
        return sums_of(data)


def site_data(
    stack: ExitStack, source: Source, settings: Settings, memory: Any, n_jobs: int | None
) -> StreamData:
    """The data of one site after the first pass."""
    refuse_settings(settings)
    job = Job(source, settings, bytes_of(memory), local_engine(n_jobs), None, None)
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


def sums_of(data: StreamData) -> SiteSums:
    """The sums of the data of one site."""
    data.table.refuse_lost_digits(data.first.seen, data.items.feature_names)
    first, d = data.first, data.X.shape[1]
    second = data.second_moments if data.n_second else Moments.zero(d)
    numbers = [data.n_items, first.tally.n_comparisons, first.number, first.weighted]
    numbers += [first.tied, first.given, data.counts.squares]
    weights = first.weights
    return SiteSums(
        terms_of(data),
        (fingerprint(data),),
        data.item_moments,
        second,
        data.label_sum,
        data.counts.scatter,
        np.array(numbers, dtype=float),
        bool(np.isfinite(weights.low) and (weights.low != 1 or weights.high != 1)),
    )


def terms_of(data: StreamData) -> Terms:
    """In what sums of other sites must agree with those of these data."""
    settings = data.settings
    names = data.items.feature_names
    return Terms(names, settings.link.name, settings.ties, settings.side_effect)


def shard_sums(
    items: Any, comparisons: Any, *, self_pairs: str = "error", **columns: Any
) -> ShardSums:
    """Sums for each item, of a part of the comparisons of one item table."""
    settings = check_settings(method="pooled", inference=None)
    with ExitStack() as stack:
        source = Source(items, comparisons, self_pairs, None, columns)
        data = site_data(stack, source, settings, "1GB", None)
        table = fingerprint(replace(data, first=replace(data.first, tally=NO_TALLY)))
        return ShardSums(table, (fingerprint(data),), data.first)


def site_of_shards(items: Any, shards: ShardSums, **columns: Any) -> SiteSums:
    """The sums of a site whose comparisons were counted in shards, without their differences.

    They give `pooled` and `split`; `paired` needs the comparisons themselves.
    """
    from pairscore.streaming.spill import read_item_table

    table = read_item_table(items, columns, np.inf, "")
    settings = check_settings(method="pooled", inference=None)
    nothing: Any = None  # there are no comparisons to read
    data = StreamData(table, shards.first, (), nothing, nothing, local_engine(), settings)
    if fingerprint(replace(data, first=replace(shards.first, tally=NO_TALLY))) != shards.table:
        raise PairscoreError(
            "these are not the items that the comparisons were counted for; give the same table and"
            " the same names of columns, such as id=."
        )
    d = data.X.shape[1]
    vars(data)["counts"] = PairCounts(np.full((d, d), np.nan), np.nan)
    return sums_of(data)


# -- files -------------------------------------------------------------------------------------


def write_sums(path: Any, kind: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A file of sums, whole or not at all."""
    text = json.dumps({"kind": kind, "version": VERSION, **meta})
    with atomic_write(path, "the sums") as temporary, temporary.open("wb") as file:
        np.savez(file, **{"meta": np.array(text), **arrays})  # type: ignore[arg-type]


def read_sums(path: Any) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """The kind of a file of sums, what is no array in it, and its arrays."""
    try:
        with refuse_damage(path):
            arrays = read_archive(Path(path))
            meta = read_json(str(arrays.pop("meta")))
            version, kind = meta["version"], meta["kind"]
            if kind not in KINDS or not has_type(meta["sources"], list[str]):
                raise DamagedFileError("its kind is not known")
    except FileNotFoundError:
        raise PairscoreError(f"there is no file {str(path)!r}; check its name.") from None
    except OSError as error:
        raise PairscoreError(
            f"the file of sums {str(path)!r} cannot be read ({error.strerror}); check the path."
        ) from None
    if version != VERSION:
        raise PairscoreError(
            f"{str(path)!r} has sums of version {version}, and this is version {VERSION}; make them"
            " with the same release of pairscore."
        )
    return kind, meta, arrays


@contextmanager
def refuse_damage(path: Any) -> Iterator[None]:
    """Say in a sentence that a file of sums is not what was written, and why."""
    try:
        yield
    except PairscoreError:
        raise
    except DamagedFileError as error:
        reason = str(error)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        reason = "it has other entries than sums have"
    else:
        return
    raise PairscoreError(
        f"{str(path)!r} is not a complete file of sums: {reason}; give files that pairscore stats"
        " wrote."
    )


def save_site(sums: SiteSums, path: Any) -> None:
    """Write the ``sums`` of one site to the file ``path``."""
    write_sums(path, "site", sums.meta(), sums.to_arrays())
