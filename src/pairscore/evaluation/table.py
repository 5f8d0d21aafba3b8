"""What comes out of comparing models.

Values, errors and differences, as a table, as records and in words.
"""

from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from pairscore.errors import PairscoreError, first_few, plural
from pairscore.evaluation.measures import MEASURES
from pairscore.files.records import plain

KINDS = {  # by how many of the two items are new
    "train-train": "unseen comparisons of known items",
    "train-new": "pairs of a known and a new item",
    "new-new": "pairs of new items",
}
HEADS = {
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "calibration_slope": "slope",
    "calibration_error": "calib. error",
    "misordered": "misordered",
}
BEST = {
    "accuracy": "highest accuracy",
    "log_loss": "lowest log-loss",
    "calibration_slope": "calibration slope closest to 1",
    "calibration_error": "lowest calibration error",
    "misordered": "lowest share of misordered pairs",
}
DIGITS = 12  # beyond, a number may be rounding and is taken for zero
SURE = 1.96  # standard errors: a difference within them may be chance


@dataclass(frozen=True)
class Score:
    """A measure, or a difference of two, with its standard error."""

    value: float
    std_error: float

    def __str__(self) -> str:
        # three digits, or as many as show two of the error, unless that is mere rounding
        digits = (
            int(np.clip(1 - np.floor(np.log10(self.std_error)), 3, 9))
            if round(self.std_error, DIGITS) > 0
            else 3
        )
        return " ± ".join(
            "unknown" if np.isnan(number) else f"{number:.{digits}f}"
            for number in (self.value, self.std_error)
        )


@dataclass(frozen=True)
class Counts:
    """How much of a kind was tested.

    Comparisons (twice if by two folds), pairs, items, and the rows of each fold.
    """

    n_comparisons: float
    n_pairs: int
    n_items: int
    rows_of_folds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Models beside each other on comparisons that they were not fitted to.

    ``print`` shows the table.

    ``values`` and ``std_errors`` go by kind, measure and model, ``difference_errors`` by kind,
    measure and two models.
    ``counts`` says how much of each kind was tested, ``shared`` what dependent comparisons share
    (items or groups),
    ``notes`` what the fits warned of.
    """

    models: tuple[str, ...]
    counts: dict[str, Counts]
    values: np.ndarray
    std_errors: np.ndarray
    difference_errors: np.ndarray
    shared: str
    notes: tuple[str, ...]

    # -- one number
    # ----------------------------------------------------------------------------------

    def score(self, model: str, kind: str = "new-new", measure: str = "log_loss") -> Score:
        """One measure of one model on one kind of comparisons."""
        place = (*_place(kind, measure), self._number(model))
        return Score(float(self.values[place]), float(self.std_errors[place]))

    def difference(
        self, model: str, other: str, kind: str = "new-new", measure: str = "log_loss"
    ) -> Score:
        """A measure of one model minus that of another on the same comparisons."""
        place, a, b = _place(kind, measure), self._number(model), self._number(other)
        with np.errstate(invalid="ignore"):  # slopes may both be infinite
            return Score(
                float(self.values[place][a] - self.values[place][b]),
                float(self.difference_errors[place][a, b]),
            )

    def _number(self, model: str) -> int:
        if model not in self.models:
            raise PairscoreError(
                f"no model is called {model!r}; the models are"
                f" {first_few(map(repr, self.models), 20)}."
            )
        return self.models.index(model)

    # -- words
    # ---------------------------------------------------------------------------------------

    def best(self, kind: str = "new-new", measure: str = "log_loss") -> str:
        """Name of the model that does best; of equals, the first by name."""
        return self._ranked(kind, measure)[0]

    def _ranked(self, kind: str, measure: str) -> list[str]:
        """Models from the best down, without those whose value is unknown."""
        value = self.values[_place(kind, measure)]
        if np.isnan(value).all():
            raise PairscoreError(
                f"no model has a known {HEADS[measure]} on {KINDS[kind]}, of which"
                f" {plural(int(self.counts[kind].n_comparisons), 'comparison')} could be tested;"
                " use fewer folds, more comparisons, or another kind or measure."
            )
        badness = {"accuracy": -value, "calibration_slope": np.abs(value - 1)}.get(measure, value)
        order = sorted(
            (round(bad, DIGITS), name)
            for bad, name in zip(badness.tolist(), self.models, strict=True)
            if not np.isnan(bad)
        )
        return [name for _, name in order]

    def sentence(self, kind: str = "new-new", measure: str = "log_loss") -> str:
        """Which model is best at this, and how far from the next."""
        name, *others = self._ranked(kind, measure)
        if not others:
            return (
                f"{name!r} has the {HEADS[measure]} {self.score(name, kind, measure)} on"
                f" {KINDS[kind]}."
            )
        lead = (
            f"{name!r} has the {BEST[measure]} on {KINDS[kind]} ({self.score(name, kind, measure)})"
        )
        gap = self.difference(name, others[0], kind, measure)
        if round(gap.value, DIGITS) == 0:
            return f"{lead}, the same as {others[0]!r}."
        side, chance = (
            "below" if gap.value < 0 else "above",
            "" if self._is_sure(name, others[0], kind, measure) else ", which may be chance",
        )
        return f"{lead}, {Score(abs(gap.value), gap.std_error)} {side} {others[0]!r}{chance}."

    def _is_sure(self, best: str, other: str, kind: str, measure: str) -> bool:
        """Whether the lead is beyond its error.

        For slopes, also whether it is sure that 1 is on the best one's side of their middle.
        """
        a, b, gap = (
            self.score(best, kind, measure),
            self.score(other, kind, measure),
            self.difference(best, other, kind, measure),
        )
        aside = measure != "calibration_slope" or abs((a.value + b.value) / 2 - 1) > SURE * max(
            a.std_error, b.std_error
        )
        return abs(gap.value) > SURE * gap.std_error and aside

    @property
    def in_words(self) -> str:
        """The best log-loss on the newest items of which there were test comparisons."""
        newest_first = list(reversed(KINDS))
        untested = list(takewhile(lambda kind: self.counts[kind].n_comparisons == 0, newest_first))
        told = [f"No {KINDS[kind]} could be tested." for kind in untested]
        return " ".join(told + [self.sentence(kind) for kind in newest_first[len(untested) :][:1]])

    def __str__(self) -> str:
        lines = [
            f"{plural(len(self.models), 'model')} on comparisons not fitted to; ± one standard"
            f" error that allows for shared {self.shared}"
        ]
        for kind in KINDS:
            lines += [
                "",
                *self._heading(kind),
                *(self._table(kind) if self.counts[kind].n_comparisons else []),
            ]
        return "\n".join([*lines, "", self.in_words, *(f"Warning: {note}" for note in self.notes)])

    __repr__ = __str__

    def _heading(self, kind: str) -> list[str]:
        done = self.counts[kind]
        if done.n_comparisons == 0:
            return [f"  {kind}, {KINDS[kind]}: none, so nothing is known"]
        count = (
            "1 comparison" if done.n_comparisons == 1 else f"{done.n_comparisons:,.10g} comparisons"
        )
        empty = (
            f", none in {done.rows_of_folds.count(0)} of {plural(len(done.rows_of_folds), 'fold')}"
            if 0 in done.rows_of_folds
            else ""
        )
        return [
            f"  {kind}, {KINDS[kind]}: {count}, {plural(done.n_pairs, 'pair', ',')},"
            f" {plural(done.n_items, 'item', ',')}{empty}"
        ]

    def _table(self, kind: str) -> list[str]:
        """One line for each model.

        Its measures, and how its log-loss differs from that of the first.
        """
        first, *others = self.models
        rows = [["", *HEADS.values()]] + [
            [name, *(str(self.score(name, kind, measure)) for measure in MEASURES)]
            for name in self.models
        ]
        if others:
            gaps = [
                f"log-loss - {first}",
                "",
                *(str(self.difference(name, first, kind)) for name in others),
            ]
            rows = [[*row, gap] for row, gap in zip(rows, gaps, strict=True)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return [
            "  ".join(
                ["   ", row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
            ).rstrip()
            for row in rows
        ]

    # -- tables
    # --------------------------------------------------------------------------------------

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each kind, model and measure as lists.

        Differences are from the first model.
        """
        rows = [
            (kind, model, measure)
            for kind in KINDS
            for model in self.models
            for measure in MEASURES
        ]
        scores = [self.score(model, kind, measure) for kind, model, measure in rows]
        gaps = [
            self.difference(model, self.models[0], kind, measure) for kind, model, measure in rows
        ]
        return {
            "kind": [kind for kind, _, _ in rows],
            "model": [model for _, model, _ in rows],
            "measure": [measure for _, _, measure in rows],
            "value": [score.value for score in scores],
            "std_error": [score.std_error for score in scores],
            "difference": [gap.value for gap in gaps],
            "difference_std_error": [gap.std_error for gap in gaps],
            "n_comparisons": [self.counts[kind].n_comparisons for kind, _, _ in rows],
        }

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The columns as a dataframe of some kind: pandas, polars or pyarrow."""
        import narwhals.stable.v2 as nw

        return nw.from_dict(self.to_columns(), backend=backend).to_native()

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values for JSON; None for what is not known."""
        columns = self.to_columns()
        record = {
            "models": list(self.models),
            "counts": {
                kind: asdict(done) | {"rows_of_folds": list(done.rows_of_folds)}
                for kind, done in self.counts.items()
            },
            "errors_allow_for_shared": self.shared,
            "scores": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "in_words": self.in_words,
            "warnings": list(self.notes),
        }
        return plain(record)


def _place(kind: str, measure: str) -> tuple[int, int]:
    if kind not in KINDS:
        raise PairscoreError(f"kind is {kind!r}; use {', '.join(map(repr, KINDS))}.")
    if measure not in MEASURES:
        raise PairscoreError(f"measure is {measure!r}; use {', '.join(map(repr, MEASURES))}.")
    return list(KINDS).index(kind), list(MEASURES).index(measure)
