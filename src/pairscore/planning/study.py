"""A planned study, and the plan that weighs it against others."""

from dataclasses import dataclass, fields
from typing import Any

from pairscore.display import html_text, plural
from pairscore.errors import PairscoreError
from pairscore.planning.pilot import NoiseEstimate
from pairscore.theory.predicted_error import ErrorLaw, ErrorPrediction

SECONDS_PER_COMPARISON = 23.0
PER_ITEM = 10  # the rule of thumb: every item compared ten times
HTML_COLUMNS = {
    "items": ("n_items", ",d"),
    "comparisons": ("n_comparisons", ",d"),
    "hours": ("hours", ",.1f"),
    "misordered": ("misordered", ".2%"),
    "angle": ("angle", ".3f"),
}


@dataclass(frozen=True)
class PlannedStudy:
    """A study of one method: its size, its expected error and what it costs."""

    method: str
    n_items: int
    n_items_total: int
    n_comparisons: int
    error: ErrorPrediction
    hours: float
    cost: float | None = None

    @property
    def angle(self) -> float:
        """Expected angle to the truth in the units of the features, in radians."""
        return self.error.angle

    @property
    def misordered(self) -> float:
        """Expected share of pairs of new items in another order than by the best score that the
        features allow.
        """
        return self.error.misordered

    @property
    def norm_error(self) -> float:
        """Expected length of the error of the coefficients."""
        return self.error.norm_error


@dataclass(frozen=True, kw_only=True)
class Plan(PlannedStudy):
    """The study to make, and what it was weighed against.

    Attributes
    ----------
    method, n_items, n_items_total, n_comparisons, error, hours, cost
        The study: `split` has as many items again behind its covariance, so ``n_items_total`` is
        twice the number of compared items. ``error`` has ranges too, ``hours`` are those of
        experts, ``cost`` is None unless costs were given.
    law : ErrorLaw
        The population that errors were predicted for.
    noise : float
        Share of flipped labels.
    target : (str, float) or None
        The measure of error asked for, and its value.
    solved_for : {"n_comparisons", "n_items", "both", "error"}
        What was found; "n_items" without a target is the number that makes the most of the
        comparisons.
    explained : float
        Share of the scores' variance that the features explain.
    experts : int or None
        Who share the hours, if that was said; ``seconds`` is the time of one comparison.
    alternatives : dict
        Every method's study, or the error that says why it has none.
    rule_of_ten : PlannedStudy
        The same study with every item compared ten times.
    noise_estimate : NoiseEstimate or None
        What the pilot says of the noise.
    interval : pair of float or None
        Where the number found lies given the uncertainty of the pilot's noise (90 %); its upper end
        is inf if the pilot does not exclude that labels are coins. Where items and comparisons were
        both found it is that of the comparisons, and ``items_interval`` that of the items.
    notes : tuple of str
        Sentences on what the answer takes for granted.
    """

    law: ErrorLaw
    noise: float
    target: tuple[str, float] | None
    solved_for: str
    alternatives: dict[str, PlannedStudy | PairscoreError]
    rule_of_ten: PlannedStudy
    noise_estimate: NoiseEstimate | None = None
    interval: tuple[float, float] | None = None
    items_interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    experts: int | None = None
    seconds: float = SECONDS_PER_COMPARISON

    @property
    def explained(self) -> float:
        """Share of the scores' variance that the features explain."""
        return self.law.labels.explained

    @property
    def study(self) -> PlannedStudy:
        """The study without the rest of the plan."""
        names = [field.name for field in fields(PlannedStudy)]
        return PlannedStudy(**{name: getattr(self, name) for name in names})

    def plot(self, *, ax: Any = None) -> Any:
        """Expected error against comparisons, on a matplotlib Axes: ``pairscore.plots.plan``."""
        import pairscore

        return pairscore.plots.plan(self, ax=ax)

    def _repr_html_(self) -> str:
        studies = self.alternatives | {f"{PER_ITEM} per item": self.rule_of_ten}
        found = {name: one for name, one in studies.items() if isinstance(one, PlannedStudy)}
        columns: dict[str, list[Any]] = {"method": list(found)}
        columns |= {
            head: [format(getattr(study, name), style) for study in found.values()]
            for head, (name, style) in HTML_COLUMNS.items()
        }
        sizes = (
            f"{plural(self.n_items, 'item', ',')}, {plural(self.n_comparisons, 'comparison', ',')}"
        )
        facts = [("method", self.method), ("noise", f"{self.noise:.3g}")]
        facts += [] if self.target is None else [("target", "{} {:.4g}".format(*self.target))]
        refusals = [str(one) for one in studies.values() if isinstance(one, PairscoreError)]
        return html_text(f"Plan: {sizes}", facts, columns, [*refusals, *self.notes])
