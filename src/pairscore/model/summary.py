"""The summary: what was fitted, how sure it is, and what it means, in one table for everybody."""

from copy import copy
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.outcomes import OutcomeLaw
from pairscore.data.comparisons import Comparisons
from pairscore.model.ranking import interval_width

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

INTERVALS = {
    "items": "95 %, item-robust",
    "items+judges": "95 %, robust to items and judges",
    "model": "95 %, classical",
    None: "not computed",
}


def agreement_and_noise(
    difference: np.ndarray, data: Comparisons, law: OutcomeLaw
) -> tuple[float, float, float]:
    """Share of decided comparisons that the score orders rightly, estimated share of decided ones
    that are flipped, share of ties.
    """
    amount = data.amount
    total, right_way = float(amount.sum()), difference * data.outcome > 0
    decided = float(amount @ (data.outcome != 0))
    agreement = float(amount @ right_way) / decided if decided > 0 else float("nan")
    return agreement, law.share_flipped(np.abs(difference), amount), 1 - decided / total


class Summary:
    """A fitted model in words and numbers.

    ``str`` is text, ``to_frame`` a table, HTML in a notebook.
    """

    def __init__(self, model: "RankRegression"):
        self._model = copy(model)  # a later fit of the model does not change what was said

    def to_columns(self) -> dict[str, list[Any]]:
        """The coefficient table as lists."""
        m = self._model
        d = m.n_features_in_
        unknown = [float("nan")] * d
        known = m.std_errors_ is not None
        names = getattr(m, "feature_names_in_", [f"x{column}" for column in range(d)])
        wins = 100 * m.outcome_law.win_chance(m.coef_ * m.feature_sd_)
        low, high = m.confidence_intervals().T if known else (unknown, unknown)
        columns: dict[str, Any] = {
            "feature": list(names),
            "coef": m.coef_,
            "std_error": m.std_errors_ if known else unknown,
            "z": m.z_values_ if known else unknown,
            "p": m.p_values_ if known else unknown,
            "low": low,
            "high": high,
            "wins_of_100": wins,
        }
        return {
            name: [value if isinstance(value, str) else float(value) for value in values]
            for name, values in columns.items()
        }

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The coefficient table as a dataframe of some kind: pandas, polars or pyarrow."""
        import narwhals.stable.v2 as nw

        return nw.from_dict(self.to_columns(), backend=backend).to_native()

    def facts(self) -> list[tuple[str, str]]:
        """What stands above the table."""
        m = self._model
        side = "one for each judge" if m.side_effect == "judges" else "not estimated"
        if m.side_effect_ is not None:
            side = f"{m.side_effect_:+.4g} for left"
            if m.side_effect_std_error_ is not None:
                reach = interval_width(0.95, 1, simultaneous=False) * m.side_effect_std_error_
                interval = (
                    f"standard error {m.side_effect_std_error_:.2g}, interval"
                    f" [{m.side_effect_ - reach:.4g}, {m.side_effect_ + reach:.4g}]"
                )
                side += " (interval unknown)" if np.isnan(reach) else f" ({interval})"
        decided = (
            "no comparison was decided"
            if np.isnan(m.agreement_)
            else f"{m.agreement_:.1%} of decided comparisons go the way of the score"
        )
        facts = [
            ("items compared", "differences only" if m.n_items_ is None else f"{m.n_items_:,}"),
            (
                "comparisons",
                f"{m.n_comparisons_:,.10g}"
                + (f" ({m.tie_share_:.1%} ties)" if m.tie_share_ > 0 else ""),
            ),
            (
                "method, link",
                f"{m.method}, {m.link_.name}" + (f", ridge l2 = {m.l2_:.4g}" if m.l2_ else ""),
            ),
            ("side effect", side),
            ("agreement", decided),
            (
                "estimated noise",
                (
                    f"{m.noise_:.1%} of"
                    f" {'comparisons' if m.ties_ == 'half' else 'decided comparisons'} go against"
                    " the true order (p_e)"
                ),
            ),
            ("intervals", INTERVALS[m.inference_]),
        ]
        facts += self._effects()
        if m.judges_ is not None:
            facts.append(("judges", m.judges_.in_words))
        if m.item_effects_ is not None:
            facts.append(("item effects", m.item_effects_.in_words))
        if m.ridge_curve_ is not None:
            facts.append(("ridge", m.ridge_curve_.in_words))
        if m.pairing_ is not None:
            facts.append(("pairs", m.pairing_.in_words))
        if m.recipe_ and m.recipe_["note"]:
            facts.append(("missing values", m.recipe_["note"]))
        return facts

    def _effects(self) -> list[tuple[str, str]]:
        """Context, sides of judges and ties, each with its interval."""
        effects = self._model.effects_
        if effects is None:
            return []
        facts = []
        for name, kind, value, error in zip(
            effects.names,
            effects.kinds,
            effects.values.tolist(),
            effects.std_errors.tolist(),
            strict=True,
        ):
            reach = interval_width(0.95, 1, simultaneous=False) * error
            interval = (
                "interval unknown"
                if np.isnan(reach)
                else (
                    f"standard error {error:.2g}, interval [{value - reach:.4g},"
                    f" {value + reach:.4g}]"
                )
            )
            label = {
                "context": f"context {name}",
                "side": f"side {name}",
                "tie": f"ties ({self._model.ties_})",
            }[kind]
            if (kind, name) != ("side", "left"):
                facts.append((label, f"{value:+.4g} ({interval})"))
        return facts

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values for JSON; None for what is not known."""
        m, columns = self._model, self.to_columns()
        side = (
            None
            if m.side_effect_ is None
            else {"coef": m.side_effect_, "std_error": m.side_effect_std_error_}
        )
        record = {
            "method": m.method, "link": m.link_.name, "l2": m.l2_, "intervals": m.inference_, "n_items": m.n_items_, "n_comparisons": m.n_comparisons_,
            "agreement": m.agreement_, "noise": m.noise_, "tie_share": m.tie_share_, "side_effect": side,
            "coefficients": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "item_effects": None if m.item_effects_ is None else m.item_effects_.to_record(),
            "pairs": None if m.pairing_ is None else m.pairing_.in_words,
            "missing_values": m.recipe_["note"] if m.recipe_ else "",
            "effects": _rows({} if m.effects_ is None else m.effects_.to_columns()),
            "judges": _rows({} if m.judges_ is None else m.judges_.to_columns()),
            "ridge_curve": None if m.ridge_curve_ is None else m.ridge_curve_.to_record(),
            "warnings": list(m.notes_),
        }  # fmt: skip
        return without_nan(record)

    def meaning(self) -> str:
        """The surest coefficient (or, without intervals, the strongest) as a sentence."""
        columns = self.to_columns()
        wins = np.array(columns["wins_of_100"])
        sureness = np.abs(np.array(columns["z"]))
        best = (
            int(np.nanargmax(sureness))
            if np.isfinite(sureness).any()
            else int(np.argmax(np.abs(wins - 50)))
        )
        more, share = ("more", wins[best]) if wins[best] >= 50 else ("less", 100 - wins[best])
        often = f"{share:.0f}" if share < 99.5 else "more than 99"
        comparisons = "comparisons" if self._model.ties_ == "half" else "decided comparisons"
        return (
            f"For example, one standard deviation {more} of {columns['feature'][best]} beats its"
            f" twin, alike in all else, in {often} of 100 {comparisons}."
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, notes: bool = True) -> str:
        """The summary as text, with the warnings of the fit or without."""
        columns = self.to_columns()
        wide = max(len("feature"), *(len(name) for name in columns["feature"]))
        lines = ["Rank regression", ""]
        facts = self.facts()
        labels = max(16, *(len(label) for label, _ in facts))
        lines += [f"  {label:<{labels}} {text}" for label, text in facts]
        lines += [
            "",
            (
                f"  {'feature':<{wide}}  {'coef':>11} {'std.error':>10} {'z':>8} {'p':>8}  "
                f" {'95 % interval':^24} {'wins of 100':>12}"
            ),
        ]
        for row in zip(*columns.values(), strict=True):
            name, coef, error, z, p, low, high, wins = row
            interval = "unknown" if np.isnan(low) else f"[{low: .4g}, {high: .4g}]"
            numbers = " ".join(
                [
                    _cell(coef, ".4g", 11),
                    _cell(error, ".3g", 10),
                    _cell(z, ".2f", 8),
                    "<0.0001".rjust(8) if p < 1e-4 else _cell(p, ".4f", 8),
                ]
            )
            lines.append(f"  {name:<{wide}}  {numbers}   {interval:^24} {wins:>12.1f}")
        lines += ["", f"  {self.meaning()}"]
        lines += [f"  Warning: {note}" for note in self._model.notes_ if notes]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self.to_columns()
        left = "style='text-align:left'"
        facts = "".join(
            f"<tr><th {left}>{escape(label)}</th><td {left}>{escape(text)}</td></tr>"
            for label, text in self.facts()
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{escape(value) if isinstance(value, str) else _html_number(value)}</td>"
                for value in row
            )
            + "</tr>"
            for row in zip(*columns.values(), strict=True)
        )
        notes = "".join(f"<p><b>Warning:</b> {escape(note)}</p>" for note in self._model.notes_)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return (
            "<h4>Rank"
            f" regression</h4><table>{facts}</table>{table}<p>{escape(self.meaning())}</p>{notes}"
        )


def without_nan(value: Any) -> Any:
    """Plain values for JSON, which has no NaN and no infinity: None in their place."""
    if isinstance(value, dict):
        return {name: without_nan(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """A table of columns as one dict per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cell(value: float, style: str, width: int) -> str:
    return ("unknown" if np.isnan(value) else format(value, style)).rjust(width)


def _html_number(value: float) -> str:
    return "unknown" if np.isnan(value) else f"{value:.4g}"
