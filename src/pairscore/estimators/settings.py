"""The settings of a fit, each stated once: default, what it may be, and which go together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.choices import (
    INFERENCES,
    METHODS,
    MISSING_RULES,
    NO_INFERENCE,
    RIDGES,
    SHRINKAGES,
    TIE_RULES,
)
from pairscore.core.links import Link, Logit, get_link, with_lapse
from pairscore.display import shown
from pairscore.errors import PairscoreError
from pairscore.messages import Piece, Setting, Value, either

LONGEST_TEXT = 200  # characters of a title


def _is_word(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _are_names(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    return is_list and len(set(value)) == len(value)


def _is_number(value: Any, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool) and bool(low <= value <= high)


@dataclass(frozen=True)
class Parameter:
    """A parameter of ``RankRegression``: default, test of a value, and what to use instead."""

    default: Any
    allows: Callable[[Any], bool]
    remedy: Piece


def _words(default: str, words: tuple[str, ...]) -> Parameter:
    remedy = either([Value(word) for word in words])
    return Parameter(default, lambda value: _is_word(value, words), remedy)


def _flag(default: bool = False) -> Parameter:
    return Parameter(default, _is_flag, Value(True) + " or " + Value(False))


SETTINGS = {
    "missing": _words("refuse", MISSING_RULES),
    "method": _words("mle", METHODS),
    "link": Parameter("logit", lambda value: True, "a link"),  # get_link says what is wrong with it
    "inference": Parameter(
        "auto",
        lambda value: value is None or _is_word(value, (*INFERENCES, NO_INFERENCE)),
        either([Value(one) for one in ("auto", "items", "items+judges", "model", None)]),
    ),
    "judge_slopes": _flag(),
    "context": Parameter(
        None,
        lambda value: value is None or _are_names(value),
        "a list of column names of the comparisons, or " + Value(None),
    ),
    "ties": _words("half", TIE_RULES),
    "l2": Parameter(
        0.0,
        lambda value: _is_number(value, 0, np.finfo(float).max) or _is_word(value, RIDGES),
        either(["a number that is not negative", Value("auto"), Value("auto-known")]),
    ),
    "lapse": Parameter(
        0.0,
        lambda value: (_is_number(value, 0, 0.5) and value < 0.5) or _is_word(value, ("auto",)),
        either(["a number from 0 to below 0.5", Value("auto")]),
    ),
    "shrinkage": Parameter(
        None,
        lambda value: value is None or _is_number(value, 0, 1) or _is_word(value, SHRINKAGES),
        either([Value(None), "a number from 0 to 1", Value("ledoit-wolf"), Value("oas")]),
    ),
    "side_effect": Parameter(
        False,
        lambda value: _is_flag(value) or _is_word(value, ("judges",)),
        either([Value(True), Value(False), Value("judges")]),
    ),
    "item_effects": Parameter(
        False,
        lambda value: _is_flag(value) or _is_word(value, ("auto",)),
        either([Value(True), Value(False), Value("auto")]),
    ),
    "max_iter": Parameter(
        100,
        lambda value: _is_number(value, 1, 10**9) and int(value) == value,
        "a whole number from 1",
    ),
    "tol": Parameter(1e-9, lambda value: _is_number(value, 0, 1), "a number from 0 to 1"),
    "n_jobs": Parameter(None, lambda value: True, "a number"),  # Workers say what is wrong with it
}
DEFAULTS = {name: parameter.default for name, parameter in SETTINGS.items()}


@dataclass(frozen=True)
class Settings:
    """What a fit is asked for, as the estimators take it.

    ``link`` has the slips of answers, those that are estimated once they are if ``choose_lapse``;
    ``l2`` is None until it is chosen if ``choose_l2``, for known items if ``l2_for_known``;
    ``item_effects`` is False until it is decided if ``choose_item_effects``; ``context`` has names
    of columns; ``free_abilities`` where items have no features, and effects without a law.
    See ``RankRegression`` for what each means. ``ridge_weights`` (d) multiply the ridge of each
    feature; none are all 1.
    """

    method: str
    link: Link
    l2: float | None = 0.0
    shrinkage: float | str | None = None
    side_effect: bool = False
    inference: str | None = "items"
    max_iter: int = 100
    tol: float = 1e-9
    choose_l2: bool = False
    l2_for_known: bool = False
    side_by_judge: bool = False
    judge_slopes: bool = False
    context: tuple[str, ...] = ()
    ties: str = "half"
    item_effects: bool = False
    choose_item_effects: bool = False
    free_abilities: bool = False
    choose_lapse: bool = False
    ridge_weights: tuple[float, ...] = ()

    @property
    def ridge(self) -> float:
        """The number l2, once it has been chosen: what estimators take."""
        assert self.l2 is not None  # else it is still to be chosen from the data
        return self.l2

    @property
    def needs_judges(self) -> bool:
        return self.judge_slopes or self.side_by_judge or self.inference == "items+judges"

    @property
    def holds_items_out(self) -> bool:
        """Whether the ridge is chosen for new items."""
        return self.choose_l2 and not self.l2_for_known

    @property
    def by_comparison(self) -> bool:
        """Whether comparisons of a pair differ in more than who won, so they cannot be summed."""
        has_tie_parameter = self.ties not in ("half", "drop")
        return self.needs_judges or bool(self.context) or has_tie_parameter


@dataclass(frozen=True)
class Wording:
    """How people call the study and the two ends of its ranking.

    Parameters
    ----------
    title : str
        Of the study, for the summary and the report.
    top, bottom : str
        What the items of the highest and of the lowest scores are, such as "most severe" and
        "least severe"; empty, they are the highest and the lowest.
    question : str
        That the judges answered, such as "Who is more severely ill?"; the report shows it.

    Examples
    --------
    >>> Wording(top="most severe").wins, Wording(top="tastiest").wins, Wording().wins
    ('is judged more severe', 'is ranked higher', 'wins')
    """

    title: str = ""
    top: str = ""
    bottom: str = ""
    question: str = ""

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            if not isinstance(text, str):
                raise PairscoreError(Setting(name) + f" is {shown(text)}", "give it as text")
            if len(text) > LONGEST_TEXT:
                raise PairscoreError(
                    Setting(name) + f" has {len(text):,} characters", f"use {LONGEST_TEXT} at most"
                )
            # lines and several blanks would break tables that the text stands in
            object.__setattr__(self, name, " ".join(text.split()))

    def with_words(self, **given: str | None) -> "Wording":
        """Other words where some are given; None keeps what is."""
        return replace(self, **{name: text for name, text in given.items() if text is not None})

    @property
    def ends(self) -> tuple[str, str]:
        """What the two ends of the ranking are called."""
        return self.top or "highest", self.bottom or "lowest"

    @property
    def order(self) -> str:
        """The order of the ranking, if somebody named an end; else empty."""
        parts = [f"{self.top} first"] * bool(self.top) + [f"{self.bottom} last"] * bool(self.bottom)
        return ", ".join(parts)

    @property
    def wins(self) -> str:
        """What the winner of a comparison does, of one item."""
        return self._won("wins", "is ")

    @property
    def would_win(self) -> str:
        return self._won("would win", "would be ")

    def _won(self, plain: str, verb: str) -> str:
        if not self.top:
            return plain
        first, _, quality = self.top.partition(" ")
        compared = f"judged more {quality}" if first.lower() == "most" and quality else ""
        return verb + (compared or "ranked higher")


def check_settings(**given: Any) -> Settings:
    """Settings that mean something, from the parameters of ``RankRegression``.

    Parameters that are not given have their defaults; the first that makes no sense, or does not go
    with another, is refused in a sentence.
    """
    given = DEFAULTS | given
    for name, parameter in SETTINGS.items():
        if not parameter.allows(given[name]):
            raise PairscoreError(
                Setting(name) + f" is {shown(given[name])}", "use " + parameter.remedy
            )
    settings = make_settings(given)
    _refuse_what_does_not_go_together(settings)
    return settings


def make_settings(given: dict[str, Any]) -> Settings:
    """All parameters of ``RankRegression`` as settings, unchecked."""
    l2, shrinkage, side_effect = given["l2"], given["shrinkage"], given["side_effect"]
    choose = isinstance(l2, str)
    lapse = given["lapse"]
    return Settings(
        method=given["method"],
        link=with_lapse(get_link(given["link"]), 0.0 if isinstance(lapse, str) else float(lapse)),
        l2=None if choose else float(l2),
        shrinkage=float(shrinkage) if _is_number(shrinkage, 0, 1) else shrinkage,
        side_effect=bool(side_effect),
        inference=None if given["inference"] == NO_INFERENCE else given["inference"],
        max_iter=int(given["max_iter"]),
        tol=float(given["tol"]),
        choose_l2=choose,
        l2_for_known=l2 == "auto-known" if choose else False,
        side_by_judge=isinstance(side_effect, str),
        judge_slopes=bool(given["judge_slopes"]),
        context=tuple(given["context"] or ()),
        ties=given["ties"],
        item_effects=not isinstance(given["item_effects"], str) and bool(given["item_effects"]),
        choose_item_effects=isinstance(given["item_effects"], str),
        choose_lapse=isinstance(lapse, str),
    )


def _refuse_what_does_not_go_together(settings: Settings) -> None:
    method = settings.method
    if method == "mle" and settings.shrinkage is not None:
        raise PairscoreError(
            Setting("shrinkage")
            + " acts on the covariance of a closed form, and "
            + Setting("method", "mle")
            + " has none",
            ["use " + Setting("l2"), "use another method"],
        )
    if method != "mle" and (settings.item_effects or settings.choose_item_effects):
        value = True if settings.item_effects else "auto"
        raise PairscoreError(
            Setting("item_effects", value)
            + " adds effects of items to the likelihood, and "
            + Setting("method", method)
            + " has none",
            "use " + Setting("method", "mle"),
        )
    if method != "mle" and settings.by_comparison:
        raise PairscoreError(
            "judges, context and ties as a parameter are fitted by maximum likelihood, and the"
            f" method is {method!r}",
            "use " + Setting("method", "mle"),
        )
    if settings.ties == "davidson" and not isinstance(settings.link.plain, Logit):
        raise PairscoreError(
            Setting("ties", "davidson") + " belongs to the logit link",
            "use " + Setting("ties", "rao-kupper") + ", which takes any",
        )
