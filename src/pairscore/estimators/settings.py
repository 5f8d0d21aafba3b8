"""What the user asked for: every setting with what it may be, and which go together."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.choices import INFERENCES, METHODS, SHRINKAGES, TIE_RULES
from pairscore.core.links import Link, Logit, get_link
from pairscore.errors import PairscoreError, first_few


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    method: str
    link: Link
    l2: float = 0.0  # not known yet if it is to be chosen
    shrinkage: float | str | None = None
    side_effect: bool = False
    inference: str | None = "items"
    max_iter: int = 100
    tol: float = 1e-9
    choose_l2: bool = False
    side_by_judge: bool = False
    judge_slopes: bool = False
    context: tuple[str, ...] = ()
    ties: str = "half"
    item_effects: bool = False

    @property
    def needs_judges(self) -> bool:
        return self.judge_slopes or self.side_by_judge or self.inference == "items+judges"

    @property
    def by_comparison(self) -> bool:
        """Whether comparisons of a pair differ in more than who won, so that they cannot be summed."""
        return self.needs_judges or bool(self.context) or self.ties != "half"


def check_settings(**given: Any) -> Settings:
    """Settings that mean something, or a sentence on the first that does not."""
    for name, (right, remedy) in _allowed(**given).items():
        if not right:
            raise PairscoreError(f"{name} is {given[name]!r}; use {remedy}.")
    l2, shrinkage, side_effect = given["l2"], given["shrinkage"], given["side_effect"]
    choose = isinstance(l2, str)
    settings = Settings(
        method=given["method"],
        link=get_link(given["link"]),
        l2=np.nan if choose else float(l2),
        shrinkage=float(shrinkage) if _is_number(shrinkage, 0, 1) else shrinkage,
        side_effect=bool(side_effect),
        inference=given["inference"],
        max_iter=int(given["max_iter"]),
        tol=float(given["tol"]),
        choose_l2=choose,
        side_by_judge=isinstance(side_effect, str),
        judge_slopes=bool(given["judge_slopes"]),
        context=tuple(given["context"] or ()),
        ties=given["ties"],
        item_effects=bool(given["item_effects"]),
    )
    _refuse_what_does_not_go_together(settings)
    return settings


def _allowed(
    *,
    method: Any,
    l2: Any,
    shrinkage: Any,
    side_effect: Any,
    inference: Any,
    max_iter: Any,
    tol: Any,
    judge_slopes: Any,
    context: Any,
    ties: Any,
    item_effects: Any,
    **_: Any,
) -> dict[str, tuple[bool, str]]:
    """Of every setting: whether it may be so, and what it may be. A link says so itself."""
    return {
        "method": (_is_word(method, METHODS), f"one of {first_few(map(repr, METHODS))}"),
        "inference": (
            inference is None or _is_word(inference, INFERENCES),
            "'items', 'items+judges', 'model' or None",
        ),
        "judge_slopes": (_is_flag(judge_slopes), "True or False"),
        "context": (
            context is None or _are_names(context),
            "a list of column names of the votes, or None",
        ),
        "ties": (_is_word(ties, TIE_RULES), f"one of {first_few(map(repr, TIE_RULES))}"),
        "l2": (
            _is_number(l2, 0, np.finfo(float).max) or _is_word(l2, ("auto",)),
            "a number that is not negative, or 'auto'",
        ),
        "shrinkage": (
            shrinkage is None or _is_number(shrinkage, 0, 1) or _is_word(shrinkage, SHRINKAGES),
            "None, a number from 0 to 1, 'ledoit-wolf' or 'oas'",
        ),
        "side_effect": (
            _is_flag(side_effect) or _is_word(side_effect, ("judges",)),
            "True, False or 'judges'",
        ),
        "item_effects": (_is_flag(item_effects), "True or False"),
        "max_iter": (
            _is_number(max_iter, 1, 10**9) and int(max_iter) == max_iter,
            "a whole number from 1",
        ),
        "tol": (_is_number(tol, 0, 1), "a number from 0 to 1"),
    }


def _refuse_what_does_not_go_together(settings: Settings) -> None:
    method = settings.method
    if method == "mle" and settings.shrinkage is not None:
        raise PairscoreError(
            "shrinkage acts on the covariance of a closed form, and method='mle' has none; use l2,"
            " or another method."
        )
    if method != "mle" and settings.item_effects:
        raise PairscoreError(
            f"item_effects=True adds effects of items to the likelihood, and method={method!r} has"
            " none; use method='mle'."
        )
    if method != "mle" and settings.by_comparison:
        raise PairscoreError(
            "judges, context and ties as a parameter are fitted by maximum likelihood, and the"
            f" method is {method!r}; use method='mle'."
        )
    if settings.ties == "davidson" and not isinstance(settings.link, Logit):
        raise PairscoreError(
            "ties='davidson' belongs to the logit link; use ties='rao-kupper', which takes any."
        )


def _is_word(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _are_names(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


def _is_number(value: Any, low: float, high: float) -> bool:
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and bool(low <= value <= high)
    )
