"""The summary: what was fitted, how sure it is, and what it means, in one table for everybody."""

from collections.abc import Iterable
from functools import cached_property
from textwrap import wrap
from typing import Any

import numpy as np

from pairscore.core.significance import interval_width, p_in_words, z_and_p
from pairscore.data.recipe import n_smooth, recipe_of
from pairscore.display import first_few, html_text, interval_in_words, number_in_words, text_table
from pairscore.estimators.ridge import NO_SMOOTH_PART
from pairscore.model.categories import CategoryTerm, shown_coefficients
from pairscore.model.coefficient_intervals import effect_intervals
from pairscore.model.contrasts import (
    PARTLY,
    JointTest,
    category_tests,
    statistic_name,
    straightness_tests,
)
from pairscore.model.fit import Fit
from pairscore.model.inference import intervals_in_words
from pairscore.model.item_lookup import items_of_fit
from pairscore.model.odd_data import FEWEST_OF_ITEM
from pairscore.model.predict import item_scores, neutral_chances
from pairscore.model.rank_intervals import shared_ranks
from pairscore.records import plain, row_records

LAYOUT = "  {:<}  {:>11} {:>10} {:>8} {:>8}   {:^24} {:>12}"
NARROW_LAYOUT = "  {:<}  {:>}  {:>}  {:^}  {:>}"
NARROW_HEADER = ("feature", "coef", "p", "95 % interval", "wins of 100")
CATEGORY_LAYOUT = "  {:<}  {:>}  {:<}"
CATEGORY_HEADER = ("category", "levels", "joint test")
CURVE_HEADER = ("curve", "bends", "test of a straight line")
HEADER = ("feature", "coef", "std.error", "z", "p", "95 % interval", "wins of 100")
ABILITY_MODELS = {"logit": "Bradley-Terry model", "probit": "Thurstone model"}
MOST_FEATURES = 40  # of a table that is shown whole
SHOWN_FEATURES = 20  # of a longer one
SHOWN_ITEMS = 10  # from each end of a table of abilities
LONGEST_FACT = 100  # letters of a line
SMALLEST_SHOWN_P = 1e-4
SEE_ALL = {True: "model.rank()", False: "model.summary().to_frame()"}  # of abilities, of features
COUNTS_AND_SHARES = (
    "n_items",
    "n_comparisons",
    "agreement",
    "noise",
    "tie_share",
    "decided_scale",
)
CLEARLY = 0.05  # level at which the surest of all coefficients is put into words
TWO_VALUES = 0.98  # share of the largest variance from which on a feature has two values
EFFECT_LABELS = {"context": "context {name}", "side": "side {name}", "tie": "ties ({ties})"}


class Summary:
    """A fit in words and numbers.

    ``str`` is text, ``to_frame`` a table, ``to_record`` plain values for JSON, HTML in a notebook.
    """

    def __init__(self, fit: Fit):
        self._fit = fit
        self.shown = shown_coefficients(fit)

    @cached_property
    def tests(self) -> list[tuple[CategoryTerm, JointTest]]:
        """The joint test of each category, and of each product with one."""
        return category_tests(self.shown)

    @cached_property
    def straightness(self) -> list[JointTest]:
        """The joint test of the bends of each curve."""
        return straightness_tests(self._fit)

    @property
    def of_abilities(self) -> bool:
        """Whether the items have abilities and no features."""
        return self._fit.n_features == 0

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists: of coefficients, or of abilities where there are no features."""
        return dict(self._abilities) if self.of_abilities else self.coefficient_columns()

    @cached_property
    def _abilities(self) -> dict[str, list[Any]]:
        return ability_columns(self._fit)

    def coefficient_columns(self) -> dict[str, list[Any]]:
        """The coefficient table as lists, one entry per feature; NaN for what is not known.

        Intervals are infinite where they are open (see :mod:`pairscore.estimators.separation`).
        Coefficients of levels are against the average of all levels of their category, or against
        its reference level, which is zero.
        """
        fit = self._fit
        shown = self.shown
        coef = shown.coef
        errors = shown.std_errors
        if errors is None:
            errors = np.full(fit.n_features, np.nan)
        z, p = z_and_p(coef, errors, fit.panel.df_error)
        rows = np.eye(fit.n_features) if shown.rows is None else shown.rows
        low, high = fit.interval_ends(rows, coef, errors, fit.width(0.95))
        columns = {
            "coef": coef,
            "std_error": errors,
            "z": z,
            "p": p,
            "low": low,
            "high": high,
            "wins_of_100": np.where(shown.undetermined, np.nan, 100 * self._wins()),
        }
        return {"feature": list(fit.names)} | {n: c.tolist() for n, c in columns.items()}

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The table as a dataframe of some kind: pandas, polars or pyarrow."""
        import narwhals.stable.v2 as nw

        return nw.from_dict(self.to_columns(), backend=backend).to_native()

    def facts(self) -> list[tuple[str, str]]:
        """What is shown above the table: labels and texts."""
        fit = self._fit
        outcomes = fit.outcomes
        left_out = ", left out" if fit.ties == "drop" else ""
        ties = f" ({outcomes.tie_share:.1%} ties{left_out})" if outcomes.tie_share > 0 else ""
        ridge = f", ridge l2 = {fit.l2:.4g}" if fit.l2 else ""
        decided = f"{outcomes.agreement:.1%} of the fit's decided comparisons agree with the score"
        noise = (
            f"about {100 * outcomes.noise:.0f} of 100 {self._decided} contradict the score's order"
        )
        if outcomes.agreement == 1:
            noise = "none seen, as no comparison contradicts the score's order"
        undecided = "not known yet" if outcomes.tie_share < 1 else "no comparison was decided"
        order = fit.wording.order
        facts = [
            *([("ranking", order)] if order else []),
            ("items compared", "differences only" if fit.n_items is None else f"{fit.n_items:,}"),
            ("comparisons", f"{fit.n_comparisons:,.10g}{ties}"),
            *self._extreme_items(),
            ("method, link", f"{fit.settings.method}, {fit.link.name}{ridge}"),
            *self._smooth_part(),
            ("side effect", self._side()),
            ("agreement", undecided if np.isnan(outcomes.agreement) else decided),
            *((f"{kind} judges", one["in_words"]) for kind, one in fit.panel.agreement.items()),
            *self._new_items(),
            ("estimated noise", "not known yet" if np.isnan(outcomes.noise) else noise),
            *self._slips(),
            ("intervals", intervals_in_words(fit)),
        ]
        tastes = fit.panel.tastes.get("in_words")
        if tastes:
            facts.append(("judges' taste", tastes))
        parts = {
            "judges": fit.judges and fit.judges.in_words,
            "item effects": fit.item_effects_in_words,
            "ridge": fit.ridge_curve and fit.ridge_curve.in_words,
            "pairs": fit.pairing and fit.pairing.in_words,
            "missing values": self._missing_note(),
        }
        facts += self._scale() + self._effects() + self._context_of_items()
        return facts + [(label, words) for label, words in parts.items() if words]

    def _extreme_items(self) -> list[tuple[str, str]]:
        """Items that won or lost everything, if there are any."""
        told = []
        for how, one in self._fit.extreme_items.items():
            more = one["number"] - len(one["names"])
            who = ", ".join(map(repr, one["names"])) + (f" and {more:,} more" if more else "")
            told.append(f"{one['number']:,} {how} everything ({who})")
        often = f"of items compared {FEWEST_OF_ITEM} times or more"
        return [("extremes", f"{often}, {', '.join(told)}")] if told else []

    def _new_items(self) -> list[tuple[str, str]]:
        expected = self._fit.new_items
        return [] if expected is None else [("new items", expected.in_words)]

    def _slips(self) -> list[tuple[str, str]]:
        words = "" if self._fit.lapse is None else self._fit.lapse.in_words
        return [("slips", words)] if words else []

    def _missing_note(self) -> str:
        return self._fit.recipe["note"] if self._fit.recipe else ""

    def _side(self) -> str:
        fit = self._fit
        if fit.side_effect is None:
            return "one for each judge" if fit.settings.side_by_judge else "not estimated"
        if fit.side_effect_std_error is None:
            return f"{fit.side_effect:+.4g} for left"
        low, high = self._effect_ends("left")
        interval = _interval(
            fit.side_effect, fit.side_effect_std_error, fit.panel.df_error, low, high
        )
        return f"{fit.side_effect:+.4g} for left ({interval})"

    def _effect_ends(self, name: str) -> tuple[float, float]:
        """Ends of the interval of an effect that only the prior holds; NaN of any other."""
        low, high = effect_intervals(self._fit).get(name, (np.nan, np.nan))
        return (low, high) if np.isinf(low) or np.isinf(high) else (np.nan, np.nan)

    @property
    def _decided(self) -> str:
        """What probabilities are of."""
        return "decided comparisons" if self._fit.outcomes.tie_share > 0 else "comparisons"

    def _scale(self) -> list[tuple[str, str]]:
        """How probabilities differ from those of the link; nothing where they do not."""
        scale = self._fit.outcomes.decided_scale
        text = f"{scale:.4g}; probabilities use the score difference times this number"
        return [] if scale == 1 else [("decided scale", text)]

    def _effects(self) -> list[tuple[str, str]]:
        """Context, sides of judges and ties, each with its interval."""
        if self._fit.effects is None:
            return []
        facts = []
        for row in row_records(self._fit.effects.to_columns()):
            if (row["kind"], row["name"]) != ("side", "left"):  # that one has a line of its own
                label = EFFECT_LABELS[row["kind"]].format(name=row["name"], ties=self._fit.ties)
                ends = self._effect_ends(row["name"])
                interval = _interval(row["coef"], row["std_error"], self._fit.panel.df_error, *ends)
                facts.append((label, f"{row['coef']:+.4g} ({interval})"))
        return facts

    def _context_of_items(self) -> list[tuple[str, str]]:
        """Context and side that are related to the items, each in a sentence."""
        found = self._fit.context_of_items
        return [(f"{n} and items", one["in_words"]) for n, one in found.items() if one["in_words"]]

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values for JSON; None for what is not known."""
        fit = self._fit
        test = fit.item_effects_test
        side = {"coef": fit.side_effect, "std_error": fit.side_effect_std_error}
        if fit.side_effect is not None and fit.side_effect_std_error is not None:
            z, p = z_and_p(fit.side_effect, fit.side_effect_std_error, fit.panel.df_error)
            side |= {"z": float(z), "p": float(p)}
        likelihood = None if fit.likelihood is None else fit.likelihood.to_record()
        record = {
            **vars(fit.wording),
            "method": fit.settings.method,
            "link": fit.link.name,
            "l2": fit.l2,
            "lapse": None if fit.lapse is None else vars(fit.lapse),
            "intervals": fit.inference,
            "intervals_in_words": intervals_in_words(fit),
            "df_error": fit.panel.df_error,
            **{name: fit.kept(name) for name in COUNTS_AND_SHARES},
            "likelihood": likelihood,
            "side_effect": None if fit.side_effect is None else side,
            "coefficients": row_records(self.coefficient_columns()),
            **({"abilities": row_records(self.to_columns())} if self.of_abilities else {}),
            "categories": [_category_record(term, test) for term, test in self.tests],
            "curves": self._curve_records(),
            "item_effects": None if fit.item_effects is None else fit.item_effects.to_record(),
            "item_effects_test": None if test is None else vars(test) | {"used": test.used},
            "pairs": None if fit.pairing is None else fit.pairing.in_words,
            "missing_values": self._missing_note(),
            "effects": [] if fit.effects is None else row_records(fit.effects.to_columns()),
            "context_of_items": fit.context_of_items,
            "judge_agreement": fit.panel.agreement,
            "judge_tastes": fit.panel.tastes or None,
            "judges": [] if fit.judges is None else row_records(fit.judges.to_columns()),
            "ridge_curve": None if fit.ridge_curve is None else fit.ridge_curve.to_record(),
            "new_items": None if fit.new_items is None else vars(fit.new_items),
            "warnings": list(fit.notes),
        }
        return plain(record)

    def _wins(self) -> np.ndarray:
        """Chance of one standard deviation more of each feature against none.

        Of a level, against the average level of its category or its reference.
        """
        return self._fit.outcome_law.win_chance(self.shown.coef * self.one_sd())

    def one_sd(self) -> np.ndarray:
        """One standard deviation of each feature, (d,); of a level, all of it."""
        return np.where(self.shown.is_level, 1.0, self._fit.features.sd)

    def meaning(self) -> str:
        """The surest coefficient as a sentence, if it is clearly not zero among all of them.

        That is, if its p-value times the number of coefficients is at most 0.05 (Bonferroni), and
        if its feature is one that can be higher with all else equal: no category, flag, square or
        product. Empty where there is no such coefficient but others are clear, or no intervals.
        """
        fit = self._fit
        columns = self.to_columns()
        if self.of_abilities:
            return self._meaning_of_abilities()
        wins = np.array(columns["wins_of_100"])
        p = np.array(columns["p"])
        p[len(p) - self._n_smooth :] = np.nan
        if np.isnan(wins).all():
            return "No single coefficient is determined by the comparisons."
        number = int(np.isfinite(p).sum())
        if number and number * np.nanmin(p) > CLEARLY:
            smallest = f"p = {np.nanmin(p):.2g}"
            if number > 1:
                smallest = f"of {number}, the smallest p-value is {np.nanmin(p):.2g}"
            return f"No single coefficient is clearly different from zero ({smallest})."
        p = np.where(single_features(fit), p, np.nan)
        if np.isnan(p).all() or number * np.nanmin(p) > CLEARLY:
            return ""
        surest = int(np.nanargmin(p))
        is_more = wins[surest] >= 50
        more, share = ("higher", wins[surest]) if is_more else ("lower", 100 - wins[surest])
        return (
            f"For example, with {columns['feature'][surest]} one standard deviation {more} and all"
            f" else equal, an item {fit.wording.wins} in {_often(share)} of 100 {self._decided}."
        )

    def _meaning_of_abilities(self) -> str:
        """How often the highest item wins against the lowest."""
        fit = self._fit
        items = items_of_fit(fit)
        scores = item_scores(fit, items)
        ends = np.argsort(-scores, kind="stable")[[0, -1]]  # two items, if all are equal
        share = 100 * float(neutral_chances(fit, items, ends[:1], ends[1:])[0])
        first, last = ends.tolist()
        return (
            f"For example, {items.names[first]} {fit.wording.wins} in {_often(share)} of 100"
            f" {self._decided} with {items.names[last]}."
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, notes: bool = True, see_all: str = "", width: int = 0) -> str:
        """The summary as text, with the warnings of the fit or without.

        ``see_all`` is what shows all rows of a long table: a call in Python unless it is given.
        Coefficients that are wider than ``width`` (of a terminal) come without std.error and z.
        """
        facts = text_table(None, _in_lines(self.facts()), "  {:<16} {:<}")
        warnings = [f"  Warning: {note}" for note in self._fit.notes if notes]
        parts = [self._title, "", facts, "", self._table(width), ""]
        what_is_shown = self._what_is_shown(see_all)
        if what_is_shown:
            parts += [f"  {what_is_shown}", ""]
        parts += self._category_text()
        parts += self._curve_text()
        meaning = self.meaning()
        if meaning:
            parts.append(f"  {meaning}")
        return "\n".join([*parts, *warnings]).rstrip()

    def _table(self, width: int = 0) -> str:
        """The rows that are shown of the table, as text."""
        columns = self._shown_columns()
        rows = zip(*columns.values(), strict=True)
        if not self.of_abilities:
            header = [*HEADER]
            header[HEADER.index("z")] = "z" if self._fit.panel.df_error is None else "t"
            lines = [header, *map(self._coefficient_cells, rows)]
            table = text_table(lines[0], lines[1:], LAYOUT)
            if not 0 < width < max(map(len, table.splitlines())):
                return table
            kept = [HEADER.index(name) for name in NARROW_HEADER]
            lines = [[line[column] for column in kept] for line in lines]
            return text_table(lines[0], lines[1:], NARROW_LAYOUT)
        quasi = ["quasi std.error"] if "quasi_std_error" in columns else []
        header = ["item", "ability", "std.error", *quasi, "95 % interval", "rank"]
        layout = "  {:<}  {:>8}  {:>}" + "  {:>}" * len(quasi) + "  {:^}  {:>}"
        return text_table(header, (_ability_cells(*row) for row in rows), layout)

    def _shown_columns(self) -> dict[str, list[Any]]:
        """The table that text and HTML show, without quasi standard errors if there are none."""
        columns = self.to_columns()
        rows = self.shown_rows()
        if self.of_abilities and np.isnan(columns["quasi_std_error"]).all():
            del columns["quasi_std_error"]
        return {name: [column[row] for row in rows] for name, column in columns.items()}

    def shown_rows(self) -> list[int]:
        """Rows of the table that are shown: of a long one both ends, or the surest features."""
        if self.of_abilities:
            n = len(self.to_columns()["item"])
            return [row for row in range(n) if row < SHOWN_ITEMS or row >= n - SHOWN_ITEMS]
        n = self._fit.n_features - self._n_smooth  # which mean nothing one by one
        if n <= MOST_FEATURES:
            return list(range(n))
        z = np.array(self.coefficient_columns()["z"])
        if np.isnan(z).all():  # no errors are known
            z = self.shown.coef * self.one_sd()
        surest = np.argsort(-np.abs(z[:n]), kind="stable")  # unknown ones last
        return surest[:SHOWN_FEATURES].tolist()

    def _what_is_shown(self, see_all: str = "") -> str:
        """What a long table shows, and what has all of it; empty where it is whole."""
        n = len(next(iter(self.to_columns().values()))) - self._n_smooth
        if len(self.shown_rows()) == n:
            return ""
        largest = "|z|" if self._fit.std_errors is not None else "effects"
        shown = f"The {SHOWN_FEATURES} of {n:,} features with the largest {largest}"
        if self.of_abilities:
            shown = f"The {SHOWN_ITEMS} highest and {SHOWN_ITEMS} lowest of {n:,} items"
        return f"{shown}; {see_all or SEE_ALL[self.of_abilities]} has all of them."

    def _coefficient_cells(self, row: tuple[Any, ...]) -> list[str]:
        """A row of the text table; a reference level says so in place of an interval."""
        name, coef, *_ = cells = _cells(*row)
        is_reference = self.shown.is_reference[self._fit.names.index(row[0])]
        return [name, coef, "", "", "", "reference", ""] if is_reference else cells

    def _category_text(self) -> list[str]:
        """Joint tests of categories as a table, and what their coefficients are against."""
        if not self.tests:
            return []
        rows = [
            (term.name, len(term.columns), "none" if np.isnan(test.p) else test.in_words)
            for term, test in self.tests
        ]
        table = text_table(CATEGORY_HEADER, rows, CATEGORY_LAYOUT)
        return [table, "", *(f"  {sentence}" for sentence in self.category_sentences()), ""]

    @property
    def _n_smooth(self) -> int:
        """How many features are those of a smooth part; they are the last ones."""
        return n_smooth(self._fit.recipe)

    def _smooth_part(self) -> list[tuple[str, str]]:
        """What the smooth part is, if there is one."""
        if not self._n_smooth:
            return []
        weight = self._fit.settings.ridge_weights[-1:] or (1.0,)
        held = f"its ridge is {weight[0]:g} times that of the others"
        if weight[0] == NO_SMOOTH_PART:
            held = "held-out comparisons are predicted no better with it, so it is held at zero"
        return [("smooth part", f"{self._n_smooth} features of all numeric columns; {held}")]

    def _curve_text(self) -> list[str]:
        """Tests of straightness as a table."""
        curves = recipe_of(self._fit).curves if self.straightness else {}
        rows = [
            (name, len(knots) - 2, test.in_words)
            for (name, knots), test in zip(curves.items(), self.straightness, strict=True)
        ]
        return [text_table(CURVE_HEADER, rows, CATEGORY_LAYOUT), ""] if rows else []

    def _curve_records(self) -> list[dict[str, Any]]:
        """What JSON has of curves: their knots, and the test of a straight line."""
        curves = recipe_of(self._fit).curves if self.straightness else {}
        return [
            {"name": name, "knots": knots}
            | {field: one for field, one in vars(test).items() if field != "names"}
            for (name, knots), test in zip(curves.items(), self.straightness, strict=True)
        ]

    def category_sentences(self) -> list[str]:
        """What the coefficients of levels are against, and what of them is not known."""
        references = {term.name: term.reference for term, _ in self.tests if not term.is_product}
        by_average = [name for name, level in references.items() if not level]
        sentences = [
            f"{name}: against {level}, which is zero."
            for name, level in references.items()
            if level
        ]
        if by_average:
            average = "against the average of all levels, so that coefficients sum to zero"
            sentences.insert(0, f"{first_few(by_average)}: {average}.")
        sentences += [f"{term.name}: {term.in_words}." for term, _ in self.tests if term.in_words]
        for note in dict.fromkeys(test.note for _, test in self.tests if test.note):
            names = first_few(term.name for term, test in self.tests if test.note == note)
            test = "joint test" if note == PARTLY else "no joint test, because"
            sentences.append(f"{names}: {test} {note}.")
        return sentences

    @property
    def _title(self) -> str:
        title = self._fit.wording.title
        kind = "rank regression"
        if self.of_abilities:
            kind = ABILITY_MODELS.get(self._fit.link.name, "model of abilities")
        return f"{title}: {kind}" if title else f"{kind[0].upper()}{kind[1:]}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [self._what_is_shown(), *(str(test) for _, test in self.tests)]
        lines += map(str, self.straightness)
        lines += [*self.category_sentences(), self.meaning()]
        return html_text(self._title, self.facts(), self._shown_columns(), lines, self._fit.notes)


def single_features(fit: Fit) -> np.ndarray:
    """Mask of the features that can be one standard deviation higher with all else equal, (d,).

    Columns of numbers without a square or a product, and of more than two values: of those in
    [0, 1] with mean m, only two values have a variance of m(1 - m).
    """
    reach = fit.features.max - fit.features.min
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (fit.features.mean - fit.features.min) / reach
        sd = fit.features.sd / reach
        many_values = sd**2 < TWO_VALUES * mean * (1 - mean)
    if fit.recipe is None:
        return many_values
    recipe = recipe_of(fit)
    in_products = (name for pair in recipe.interactions for name in pair)
    bound = {*recipe.squares, *recipe.curves, *in_products}
    plain = [name in recipe.features and name not in bound for name in fit.names]
    return many_values & np.array(plain, dtype=bool)


def _often(share: float) -> str:
    """A share of 100 that is at least 50."""
    return f"{share:.0f}" if share < 99.5 else "more than 99"


def _interval(
    value: float,
    error: float | None,
    df: float | None,
    low: float = np.nan,
    high: float = np.nan,
) -> str:
    if np.isinf(low) and np.isinf(high):
        return "no interval"
    if np.isinf(low) or np.isinf(high):
        return f"interval: {interval_in_words(low, high)}"
    if error is None or np.isnan(error):
        return "interval unknown"
    half = interval_width(0.95, df) * error
    z, p = z_and_p(value, error, df)
    interval = f"interval [{value - half:.4g}, {value + half:.4g}]"
    statistic = f"{statistic_name(df)} = {z:.2f}"
    return f"standard error {error:.2g}, {interval}, {statistic}, {p_in_words(float(p))}"


def _cells(
    name: str, coef: float, error: float, z: float, p: float, low: float, high: float, wins: float
) -> list[str]:
    """A coefficient's row of the text table."""
    tested = [number_in_words(error, "#.3g"), number_in_words(z, ".2f"), number_in_words(p, ".4f")]
    if p < SMALLEST_SHOWN_P:
        tested[-1] = f"<{SMALLEST_SHOWN_P:.4f}"
    interval = f"[{number_in_words(low, ' #.4g')}, {number_in_words(high, ' #.4g')}]"
    if np.isinf(low) or np.isinf(high):
        tested = ["none", "none", "none"]
    if np.isnan(low) or np.isinf(low) or np.isinf(high):
        interval = interval_in_words(low, high, "#.4g")
    return [name, number_in_words(coef, "#.4g"), *tested, interval, number_in_words(wins, ".1f")]


def _category_record(term: CategoryTerm, test: JointTest) -> dict[str, Any]:
    """What JSON has of a category: its joint test, and which levels can be compared."""
    record = {"name": term.name, "reference": term.reference or None, "sets": term.sets}
    return record | {name: one for name, one in vars(test).items() if name != "names"}


def _in_lines(facts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Facts in lines of at most LONGEST_FACT letters, the further ones without a name."""
    return [
        (name if number == 0 else "", line)
        for name, text in facts
        for number, line in enumerate(wrap(text, LONGEST_FACT, break_long_words=False) or [""])
    ]


def _ability_cells(
    name: Any, ability: float, error: float, *quasi_error_ends_and_rank: Any
) -> list[str]:
    """An item's row of the text table."""
    *quasi_error, low, high, rank = quasi_error_ends_and_rank
    errors = [number_in_words(number, "z.3f") for number in (error, *quasi_error)]
    interval = f"[{low: .3f}, {high: .3f}]"
    if np.isinf(low) or np.isinf(high):
        errors = ["none" for _ in errors]
    if not (np.isfinite(low) and np.isfinite(high)):
        interval = interval_in_words(low, high, ".3f")
    return [str(name), number_in_words(ability, "z.3f"), *errors, interval, str(rank)]


def ability_columns(fit: Fit) -> dict[str, list[Any]]:
    """The items of a fit without features, highest first, with the errors of their abilities.

    Squares of ``quasi_std_error`` add up to about the variance of a difference; NaN where the fit
    has none. ``low`` and ``high`` are the ends of 95 % intervals.
    """
    effects = fit.item_effects
    assert effects is not None  # without features every fit has them
    nothing = np.full(len(effects.effect), np.nan)
    known = fit.covariance is not None
    quasi = effects.quasi_variance if known and effects.quasi_variance is not None else nothing
    quasi = np.where(effects.held, np.nan, quasi)
    order = np.argsort(-effects.effect, kind="stable")[: np.isfinite(effects.effect).sum()]
    ability = effects.effect[order]
    error = (effects.std_error if known else nothing)[order]
    from pairscore.effects.open_abilities import ability_ends  # with effects alone

    low, high = ability_ends(fit, fit.width(0.95))
    ids = order if effects.ids is None else effects.ids[order]
    with np.errstate(invalid="ignore"):  # a quasi-variance may be negative
        quasi_error = np.sqrt(quasi[order])
    columns = {
        "item": ids,
        "ability": ability,
        "std_error": error,
        "quasi_std_error": quasi_error,
        "low": low[order],
        "high": high[order],
        "rank": shared_ranks(ability),
    }
    return {name: column.tolist() for name, column in columns.items()}
