"""What comparing and choosing models gives: scores and differences, as tables and in words."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pairscore.core.quantiles import p_in_words
from pairscore.errors import PairscoreError, first_few, plural
from pairscore.estimators.results import ItemEffectsTest
from pairscore.evaluation.measures import MEASURES
from pairscore.files.write import html_text, plain, row_records, text_table

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
ONLY_KNOWN = "Without features nothing is known of new items, so none were held out. "
IN_WORDS = {
    "side_effect": "an advantage of the left side",
    "l2": "a ridge",
    "item_effects": "item effects",
    "judge_slopes": "a separate sharpness for every judge",
    "ties": "ties",
}
TIES = {
    "drop": "ties left out",
    "half": "ties as half wins",
    "davidson": "Davidson's rule for ties",
}
TESTED = {"known": "new comparisons of known items", "new": "comparisons with new items"}
DIGITS = 12  # beyond, a number may be rounding and is taken for zero
SURE = 1.96  # standard errors: a difference within them may be chance


@dataclass(frozen=True)
class Score:
    """A measure, or a difference of two, with its standard error."""

    value: float
    std_error: float

    def __str__(self) -> str:
        digits = 3  # or as many as show two of the error, unless that is mere rounding
        if round(self.std_error, DIGITS) > 0:
            digits = int(np.clip(1 - np.floor(np.log10(self.std_error)), 3, 9))
        return " ± ".join(
            "unknown" if np.isnan(number) else f"{round(number, digits) + 0.0:.{digits}f}"
            for number in (self.value, self.std_error)
        )


@dataclass(frozen=True)
class Counts:
    """How much of one kind of comparisons was tested.

    ``n_comparisons`` counts a comparison twice if two folds tested it; ``rows_of_folds`` has the
    number of rows for each fold.
    """

    n_comparisons: float
    n_pairs: int
    n_items: int
    rows_of_folds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Models side by side on comparisons that they were not fitted to; ``print`` shows the table.

    Attributes
    ----------
    models : tuple of str
        Names of the K models.
    counts : dict from kind to Counts
        How much of each kind was tested: ``train-train``, ``train-new`` and ``new-new``.
    values, std_errors : (3, 5, K) arrays
        By kind, measure and model; NaN where nothing was tested.
    difference_errors : (3, 5, K, K) array
        Standard error of the difference of two models. It is smaller than those of the models
        suggest, because both are tested on the same comparisons.
    shared : str
        What dependent comparisons share: ``"items"`` or ``"groups"``.
    notes : tuple of str
        What the fits warned of.
    only_known : bool
        Whether no item was held out, because some model knows nothing of new ones.
    """

    models: tuple[str, ...]
    counts: dict[str, Counts]
    values: np.ndarray
    std_errors: np.ndarray
    difference_errors: np.ndarray
    shared: str
    notes: tuple[str, ...]
    only_known: bool = False

    # -- one number

    def score(self, model: str, kind: str = "new-new", measure: str = "log_loss") -> Score:
        """One measure of one model on one kind of comparisons."""
        index = (*_index(kind, measure), self._number(model))
        return Score(float(self.values[index]), float(self.std_errors[index]))

    def difference(
        self, model: str, other: str, kind: str = "new-new", measure: str = "log_loss"
    ) -> Score:
        """A measure of one model minus that of another on the same comparisons."""
        index, a, b = _index(kind, measure), self._number(model), self._number(other)
        value = self.values[index]
        with np.errstate(invalid="ignore"):  # slopes may both be infinite
            return Score(float(value[a] - value[b]), float(self.difference_errors[index][a, b]))

    def _number(self, model: str) -> int:
        if model not in self.models:
            raise PairscoreError(
                f"no model is called {model!r}; the models are"
                f" {first_few(map(repr, self.models), 20)}."
            )
        return self.models.index(model)

    # -- words

    def best(self, kind: str = "new-new", measure: str = "log_loss") -> str:
        """Name of the model that does best; of equals, the first by name."""
        return self._ranked(kind, measure)[0]

    def _ranked(self, kind: str, measure: str) -> list[str]:
        """Models from the best down, without those whose value is unknown."""
        value = self.values[_index(kind, measure)]
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
        score = self.score(name, kind, measure)
        if not others:
            return f"{name!r} has the {HEADS[measure]} {score} on {KINDS[kind]}."
        lead = f"{name!r} has the {BEST[measure]} on {KINDS[kind]} ({score})"
        gap = self.difference(name, others[0], kind, measure)
        if round(gap.value, DIGITS) == 0:
            return f"{lead}, the same as {others[0]!r}."
        side = "below" if gap.value < 0 else "above"
        sure = self._is_sure(name, others[0], kind, measure)
        size, chance = Score(abs(gap.value), gap.std_error), "" if sure else ", which may be chance"
        return f"{lead}, {size} {side} {others[0]!r}{chance}."

    def _is_sure(self, best: str, other: str, kind: str, measure: str) -> bool:
        """Whether the lead is beyond its error.

        For slopes, also whether it is sure that 1 is on the best one's side of their middle.
        """
        gap = self.difference(best, other, kind, measure)
        if measure == "calibration_slope":
            a, b = self.score(best, kind, measure), self.score(other, kind, measure)
            if not abs((a.value + b.value) / 2 - 1) > SURE * max(a.std_error, b.std_error):
                return False
        return abs(gap.value) > SURE * gap.std_error

    @property
    def in_words(self) -> str:
        """The best log-loss on the newest items of which there were test comparisons."""
        untested = ONLY_KNOWN if self.only_known else ""
        for kind in reversed(KINDS):
            if self.counts[kind].n_comparisons > 0:
                return untested + self.sentence(kind)
            untested += "" if self.only_known else f"No {KINDS[kind]} could be tested. "
        return untested.strip()

    def __str__(self) -> str:
        lines = [self._title]
        for kind in list(KINDS)[:1] if self.only_known else KINDS:
            lines += ["", self._heading(kind)]
            if self.counts[kind].n_comparisons:
                lines.append(self._table(kind))
        return "\n".join([*lines, "", self.in_words, *(f"Warning: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tested = [kind for kind in KINDS if self.counts[kind].n_comparisons]
        rows = list(product(tested, self.models))
        columns = {"tested on": [KINDS[kind] for kind, _ in rows], "model": [n for _, n in rows]}
        for measure, head in HEADS.items():
            columns[head] = [str(self.score(name, kind, measure)) for kind, name in rows]
        return html_text(self._title, (), columns, [self.in_words], self.notes)

    @property
    def _title(self) -> str:
        return (
            f"{plural(len(self.models), 'model')} on comparisons that were not in the fit; ± one"
            f" standard error that allows for shared {self.shared}"
        )

    def _heading(self, kind: str) -> str:
        tested = self.counts[kind]
        if tested.n_comparisons == 0:
            return f"  {kind}, {KINDS[kind]}: none, so nothing can be said"
        number = f"{tested.n_comparisons:,.10g} comparison{'s' * (tested.n_comparisons != 1)}"
        empty, folds = tested.rows_of_folds.count(0), plural(len(tested.rows_of_folds), "fold")
        return (
            f"  {kind}, {KINDS[kind]}: {number}, {plural(tested.n_pairs, 'pair', ',')},"
            f" {plural(tested.n_items, 'item', ',')}{f', none in {empty} of {folds}' * bool(empty)}"
        )

    def _table(self, kind: str) -> str:
        """One line for each model: its measures, and its log-loss less that of the first."""
        first, *others = self.models
        rows = [
            [name, *(self.score(name, kind, measure) for measure in MEASURES)]
            for name in self.models
        ]
        header, layout = ["", *HEADS.values()], "     {:<}" + "  {:>}" * len(HEADS)
        if others:
            differences = ["", *(self.difference(name, first, kind) for name in others)]
            rows = [[*row, gap] for row, gap in zip(rows, differences, strict=True)]
            header, layout = [*header, f"log-loss - {first}"], layout + "  {:>}"
        return text_table(header, rows, layout)

    # -- tables

    def to_columns(self) -> dict[str, list[Any]]:
        """Lists with one entry for each kind, model and measure.

        Differences are from the first model.
        """
        rows = list(product(KINDS, self.models, MEASURES))
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
        return plain(
            {
                "models": self.models,
                "counts": self.counts,
                "errors_allow_for_shared": self.shared,
                "scores": row_records(self.to_columns()),
                "in_words": self.in_words,
                "warnings": self.notes,
            }
        )


def _index(kind: str, measure: str) -> tuple[int, int]:
    """Where a kind and a measure stand in the arrays of a comparison."""
    if kind not in KINDS:
        raise PairscoreError(f"kind is {kind!r}; use {', '.join(map(repr, KINDS))}.")
    if measure not in MEASURES:
        raise PairscoreError(f"measure is {measure!r}; use {', '.join(map(repr, MEASURES))}.")
    return list(KINDS).index(kind), list(MEASURES).index(measure)


# -- chosen settings -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One model on the held-out comparisons.

    ``added`` names the settings that it has more than the model before, none for the plain one;
    ``abilities`` is whether items have no features. ``gain`` is how much lower its log-loss is than
    that model's. ``reason`` says why it could not be fitted. ``effects_test`` is that of item
    effects in all comparisons; where it sees none, they are not tried.
    """

    settings: dict[str, Any]
    added: tuple[str, ...]
    abilities: bool
    loss: Score
    gain: Score
    kept: bool
    reason: str = ""
    effects_test: ItemEffectsTest | None = None

    @property
    def name(self) -> str:
        if not self.added:
            return "plain, ties left out" if self.settings.get("ties") == "drop" else "plain"
        names = [said(name, self.settings, self.abilities) for name in self.added]
        return f"with {listed(names)}"

    @property
    def verdict(self) -> str:
        if self.reason:
            return "not possible"
        if self.effects_test is not None and not self.effects_test.used:
            p = self.effects_test.p_value
            if self.effects_test.estimate_is_zero and np.isfinite(self.gain.value):
                return "not kept: of size zero next to what was kept later"
            return f"no item effects seen{'' if np.isnan(p) else f' ({p_in_words(p)})'}"
        return f"kept{self._beside_the_trial}" if self.kept else "not kept"

    @property
    def _beside_the_trial(self) -> str:
        """Why a setting is kept that held-out comparisons say neither yes nor no to."""
        if not self.gain.value <= self.gain.std_error:  # NaN where there is nothing before it
            return ""
        if self.effects_test is not None:
            p = p_in_words(self.effects_test.p_value)
            return f": items differ beyond their features ({p})"
        return ": in all comparisons together, judges clearly differ"


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, fitted to all comparisons, and every trial on the way to it.

    Attributes
    ----------
    model : RankRegression
        Fitted.
    settings : dict
        What it has beyond the defaults.
    use : str
        ``"known"`` or ``"new"``: whether it was chosen for known items or for new ones.
    n_tested : int
        Held-out comparisons, ties left out.
    trials : tuple of Trial
        In the order in which they were tried.
    """

    model: Any
    settings: dict[str, Any]
    use: str
    n_tested: int
    trials: tuple[Trial, ...]

    @property
    def in_words(self) -> str:
        """What was chosen and why."""
        abilities = not self.model.n_features_in_
        chosen = [said(n, self.settings, abilities) for n in IN_WORDS if n in self.settings]
        if not chosen:
            return "Chosen: the plain model. Nothing else predicted clearly better."
        words = f"Chosen: the model with {listed(chosen)}."
        # of each step on its own comparisons: those with item effects are tested on fewer
        steps = [trial for trial in self.trials if trial.kept and np.isfinite(trial.gain.value)]
        ratio = float(np.prod([t.loss.value / (t.loss.value + t.gain.value) for t in steps]))
        if any(trial.effects_test is not None and trial.gain.value == 0 for trial in steps):
            words += " Item effects were seen in all comparisons together, but not in the trials."
        if ratio < 1:
            first = "first possible" if self.trials[0].reason else "plain"
            words += f" Its log-loss is about {1 - ratio:.1%} below that of the {first} model."
        return words

    @property
    def rejected(self) -> dict[str, str]:
        """Settings that were tried and that the model does not have, with the last verdict."""
        return {
            name: trial.verdict
            for trial in self.trials
            for name in trial.added
            if name not in self.settings
        }

    def __str__(self) -> str:
        return self.text()

    @property
    def _head(self) -> str:
        n = plural(self.n_tested, "held-out comparison", ",")
        return f"Models on {n} ({TESTED[self.use]}); ± one standard error"

    def _rows(self, reworded: Callable[[str], str] = str) -> list[tuple[Any, ...]]:
        """Name, log-loss, gain and verdict of every trial."""
        names = [trial.name for trial in self.trials]
        return [
            (
                f"{name}, again" if name in names[:number] else name,
                "" if np.isnan(trial.loss.value) or np.isfinite(trial.gain.value) else trial.loss,
                "" if np.isnan(trial.gain.value) else trial.gain,
                trial.verdict + (f": {reworded(trial.reason)}" if trial.reason else ""),
            )
            for number, (name, trial) in enumerate(zip(names, self.trials, strict=True))
        ]

    def text(self, reworded: Callable[[str], str] = str) -> str:
        """The table of trials and the choice; reasons may be ``reworded``."""
        header = ("", "log-loss", "lower by", "")
        table = text_table(header, self._rows(reworded), "  {:<}  {:>}  {:>}  {:<}")
        return "\n".join([self._head, table, self.in_words])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = ("model", "log-loss", "lower by", "verdict")
        columns = dict(zip(names, zip(*self._rows(), strict=True), strict=True))
        return html_text(self._head, (), columns, [self.in_words])

    def to_record(self) -> dict[str, Any]:
        """Everything but the model as plain values for JSON."""
        return plain(
            {
                "settings": self.settings,
                "for": self.use,
                "n_tested": self.n_tested,
                "trials": [
                    {
                        "model": trial.name,
                        "settings": trial.settings,
                        "log_loss": trial.loss.value,
                        "log_loss_std_error": trial.loss.std_error,
                        "gain": trial.gain.value,
                        "gain_std_error": trial.gain.std_error,
                        "kept": trial.kept,
                        "verdict": trial.verdict,
                        "reason": trial.reason,
                    }
                    for trial in self.trials
                ],
                "in_words": self.in_words,
            }
        )


def said(name: str, settings: dict[str, Any], abilities: bool) -> str:
    """A setting in words; ``abilities`` where items have no features."""
    if name == "item_effects" and abilities:
        return "abilities shrunk by an estimated variance"
    return TIES[settings["ties"]] if name == "ties" else IN_WORDS[name]


def listed(names: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])
