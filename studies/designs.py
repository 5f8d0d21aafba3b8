"""Two hundred random designs of every kind of fit, easy and hard, small enough for a dense twin.

A design is a shape (what is hard about the data) and a family (what is fitted). Both, with a
number, are its name, and its random numbers come from the name alone.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.dense import Data, secant, secant_density
from tests.hard_designs import draw

# of tests/hard_designs.py, and those of `added_shape`
SHAPES = (
    "random",
    "matched",
    "nearly matched",
    "all nearly matched",
    "never differs",
    "weights",
    "half with one item",
    "half ties",
    "ties only",
    "separated",
    "nearly collinear",
    "wild scales",
    "groups apart",
    "rare feature",
)
# without features, groups of matched items would have no common scale
SHAPES_OF = {
    "abilities": (
        "random",
        "weights",
        "half with one item",
        "half ties",
        "ties only",
        "separated",
        "groups apart",
    )
}
NUMBER_OF = {
    "plain": 70,
    "side": 20,
    "ridge": 20,
    "chosen ridge": 8,
    "tie parameter": 20,
    "context": 10,
    "judges": 16,
    "item effects": 10,
    "abilities": 18,
    "incomplete items": 4,
    "categories": 4,
}
METHODS = ("mle", "paired", "pooled", "split")
SECANT = (secant, secant_density)  # a link of the user's own
LINKS = ("logit", "probit", SECANT)
INFERENCES = ("items", "model", "items", None)
JUDGES = 12


@dataclass(frozen=True)
class Design:
    """What is given to a fit: tables of items and votes, settings, and names of columns."""

    name: str
    items: dict[str, Any] | None
    votes: dict[str, Any]
    settings: dict[str, Any]
    data: Data
    columns: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        return self.name.split(", ")[0]

    @property
    def shape(self) -> str:
        return self.name.split(", ")[1]


def names(rounds: int = 1) -> list[str]:
    """Of the 200 designs, or so many times 200: every family goes through all its shapes."""
    return [
        name_of(family, number)
        for family, total in NUMBER_OF.items()
        for number in range(rounds * total)
    ]


def name_of(family: str, number: int) -> str:
    shapes = SHAPES_OF.get(family, SHAPES)
    return f"{family}, {shapes[number % len(shapes)]}, {number}"


def make(name: str) -> Design:
    """The design of this name, always the same."""
    family, shape, number = name.split(", ")
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    study = Study.draw(shape, rng, *size_of(family, rng))
    return FAMILIES[family](study, int(number), rng).design(name)


def size_of(family: str, rng: np.random.Generator) -> tuple[int, int, int]:
    """Items, comparisons and features."""
    n = int(rng.choice([8, 12, 20, 30, 60]))
    m, d = int(n * rng.uniform(3, 8)), int(rng.integers(1, 4))
    if family in ("item effects", "judges", "chosen ridge"):
        return max(n, 20), max(m, 160), d
    if rng.random() < 0.08:
        return 5, 12, 1
    return (200, 400, 5) if rng.random() < 0.08 else (n, m, d)


class Study:
    """A design that is being put together."""

    def __init__(self, data: Data, shape: str):
        self.X, self.left, self.right = data.X, data.left, data.right
        self.outcome, self.weight = np.array(data.outcome), data.weight
        self.shape = shape
        self.more: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.columns: dict[str, Any] = {}
        self.table: dict[str, Any] | None = None

    @classmethod
    def draw(cls, shape: str, rng: np.random.Generator, n: int, m: int, d: int) -> "Study":
        known = shape in SHAPES[:10]
        if not known or shape in ("matched", "nearly matched", "never differs"):
            d = max(d, 2)
        data = draw(shape if known else "random", rng, n, m, d, spare=d + 8)
        study = cls(data, shape)
        if not known:
            study.make_harder(rng, n)
        return study

    def make_harder(self, rng: np.random.Generator, n: int) -> None:
        """
        nearly collinear  the last feature is the first, up to 1e-4 of it
        wild scales       features in units from 1e-7 to 1e7, far from zero
        groups apart      the first half of the items never met the second, which differs in x0
        rare feature      x0 is 1 for a single item and 0 for all others
        """
        X = self.X
        if self.shape == "nearly collinear":
            X[:, -1] = X[:, 0] + 1e-4 * X[:, -1]
        elif self.shape == "wild scales":
            X *= 10.0 ** rng.uniform(-7, 7, X.shape[1])
            X += 30 * X.std(axis=0)
        elif self.shape == "groups apart":
            X[:, 0] = np.arange(len(X)) < n // 2
            second = self.left >= n // 2
            half = np.where(second, n - n // 2, n // 2)
            step = 1 + rng.integers(0, np.maximum(half - 1, 1))
            self.right = second * (n // 2) + (self.left - second * (n // 2) + step) % half
        else:
            X[:, 0] = 0.0
            X[self.left[0], 0] = 1.0

    def answer(self, rng: np.random.Generator, more: Any = 0.0, slope: Any = 1.0) -> None:
        """Outcomes by features and ``more``; those that make the shape stay."""
        if self.shape in ("separated", "ties only"):
            return
        D = self.X[self.left] - self.X[self.right]
        unit = np.sqrt(np.mean(D**2, axis=0))
        D = D / np.where(unit > 0, unit, 1.0)
        eta = slope * 0.8 * D.sum(axis=1) / np.sqrt(D.shape[1]) + more
        tied = self.outcome == 0
        self.outcome = np.where(rng.logistic(size=len(eta)) < eta, 1, -1)
        self.outcome[tied] = 0

    def tie(self, rng: np.random.Generator, share: float) -> None:
        if self.shape not in ("half ties", "ties only"):
            self.outcome = np.where(rng.random(len(self.outcome)) < share, 0, self.outcome)

    def amounts(self, rng: np.random.Generator) -> None:
        """Weights in a third of the designs, counts in another."""
        kind = rng.integers(0, 3)
        if kind == 0 and self.weight is None:
            self.weight = rng.choice([0.5, 1.0, 2.0], len(self.left))
        if kind == 1:
            self.more["count"] = rng.integers(1, 4, len(self.left))

    def design(self, name: str) -> Design:
        data = Data(self.X, self.left, self.right, self.outcome, self.weight)
        names = [f"x{k}" for k in range(self.X.shape[1])]
        items = {"id": np.arange(len(self.X))} | dict(zip(names, self.X.T, strict=True))
        if name.startswith("abilities"):
            items, label = None, np.array([f"item {k}" for k in range(len(self.X))])
            votes = data.votes | {"left": label[self.left], "right": label[self.right]}
        else:
            items |= self.table or {}
            votes = data.votes
        return Design(name, items, votes | self.more, self.settings, data, self.columns)


# -- families: what is fitted ----------------------------------------------------------------------


def plain(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng)
    study.amounts(rng)
    if rng.random() < 0.3:
        study.tie(rng, 0.2)
    study.settings |= {
        # shapes repeat after 14: each meets every method and every link
        "method": METHODS[(number + number // len(SHAPES)) % 4],
        "link": LINKS[(number + number // len(SHAPES)) % 3],
        "inference": INFERENCES[rng.integers(0, 4)],
        "ties": "drop" if rng.random() < 0.25 and study.shape != "ties only" else "half",
    }
    return study


def side(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng, more=0.5)
    study.amounts(rng)
    study.settings |= {
        "side_effect": True,
        "method": "mle" if number % 2 else METHODS[number // 2 % 4],
        "link": LINKS[rng.integers(0, 3)],
        "inference": INFERENCES[rng.integers(0, 4)],
    }
    return study


def ridge(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng)
    study.amounts(rng)
    method = METHODS[(number + number // len(SHAPES)) % 4]
    study.settings |= {"method": method, "link": LINKS[rng.integers(0, 3)]}
    if method == "mle" or number % 3 == 0:
        study.settings["l2"] = float(10.0 ** rng.integers(-2, 3))
    else:
        study.settings["shrinkage"] = (0.2, "ledoit-wolf", "oas", 1.0)[number // 3 % 4]
    study.settings["inference"] = INFERENCES[rng.integers(0, 4)]
    return study


def chosen_ridge(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng)
    method = "mle" if number % 2 else METHODS[1 + number // 2 % 3]
    study.settings |= {"l2": ("auto", "auto-known")[number // 2 % 2], "method": method}
    return study


def tie_parameter(study: Study, number: int, rng: np.random.Generator) -> Study:
    rule = ("davidson", "rao-kupper")[number % 2]
    study.answer(rng, more=0.3)
    study.tie(rng, 0.25)
    study.amounts(rng)
    study.settings |= {"ties": rule, "inference": INFERENCES[rng.integers(0, 4)]}
    if rule == "rao-kupper":
        study.settings["link"] = LINKS[number // 2 % 3]
    if number % 3 == 0:
        study.settings["side_effect"] = True
    if number % 4 == 0:
        add_context(study, rng, 1)
    return study


def add_context(study: Study, rng: np.random.Generator, number: int) -> np.ndarray:
    """Columns c0, c1, ... of the votes; returns what they add to the score difference."""
    context = rng.normal(size=(number, len(study.left)))
    names = [f"c{k}" for k in range(number)]
    study.more |= dict(zip(names, context, strict=True))
    study.settings["context"] = names
    return 0.4 * context.sum(axis=0)


def with_context(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng, more=add_context(study, rng, 1 + number % 2))
    study.amounts(rng)
    study.settings |= {
        "link": LINKS[number % 3],
        "side_effect": number % 2 == 0,
        "inference": INFERENCES[rng.integers(0, 4)],
        "l2": 1.0 if number % 5 == 4 else 0.0,
    }
    return study


def judges(study: Study, number: int, rng: np.random.Generator) -> Study:
    who = rng.integers(0, JUDGES, len(study.left))
    study.answer(rng, more=rng.normal(0, 0.5, JUDGES)[who], slope=rng.uniform(0.2, 2, JUDGES)[who])
    study.more["judge"] = np.array([f"judge {k}" for k in range(JUDGES)])[who]
    study.settings |= (
        {"judge_slopes": True},
        {"side_effect": "judges"},
        {"inference": "items+judges"},
        {"judge_slopes": True, "side_effect": "judges"},
        {},  # inference="auto" allows for other judges
        {"inference": "items+judges", "side_effect": True, "link": "probit"},
    )[number % 6]
    return study


def item_effects(study: Study, number: int, rng: np.random.Generator) -> Study:
    beyond = rng.normal(0, 0.8, len(study.X))
    study.answer(rng, more=beyond[study.left] - beyond[study.right])
    study.settings |= {"item_effects": "auto" if number % 4 == 3 else True}
    if number % 3 == 1:
        study.settings["side_effect"] = True
    if number % 5 == 2:
        study.tie(rng, 0.2)
        study.settings["ties"] = "rao-kupper"
    if number % 5 == 4:
        study.settings["link"] = "probit"
    return study


def abilities(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng, more=add_context(study, rng, 1) if number % 6 == 4 else 0.0)
    study.amounts(rng)
    if number % 4 in (1, 2):
        study.tie(rng, 0.25)
    study.settings |= {
        "link": LINKS[number % 3] if number % 4 != 1 else "logit",
        "ties": ("half", "davidson", "rao-kupper", "drop")[number % 4],
        "side_effect": number % 5 == 0,
        "l2": 0.5 if number % 9 == 6 else 0.0,
    }
    if study.shape == "ties only":
        study.settings["ties"] = "half"
    if number % 6 == 5:
        who = rng.integers(0, JUDGES, len(study.left))
        study.more["judge"] = who
        study.settings["judge_slopes"] = number % 12 == 5
    return study


def incomplete_items(study: Study, number: int, rng: np.random.Generator) -> Study:
    study.answer(rng)
    last = f"x{study.X.shape[1] - 1}"
    column = study.X[:, -1].copy()
    column[rng.choice(len(column), 3, replace=False)] = np.nan
    study.table = {last: column}
    study.settings["missing"] = ("mean-with-flag", "item-effect", "drop-items", "refuse")[
        number % 4
    ]
    return study


def categories(study: Study, number: int, rng: np.random.Generator) -> Study:
    style = np.array(["ink", "oil", "chalk"])[np.arange(len(study.X)) % 3]
    study.answer(rng, more=0.7 * (style[study.left] == "oil") - 0.7 * (style[study.right] == "oil"))
    study.table = {"style": style}
    study.columns = {"categorical": "style"}
    if number % 2:
        study.columns["reference"] = {"style": "oil"}
    study.settings["method"] = METHODS[number % 4]
    return study


FAMILIES: dict[str, Callable[[Study, int, np.random.Generator], Study]] = {
    "plain": plain,
    "side": side,
    "ridge": ridge,
    "chosen ridge": chosen_ridge,
    "tie parameter": tie_parameter,
    "context": with_context,
    "judges": judges,
    "item effects": item_effects,
    "abilities": abilities,
    "incomplete items": incomplete_items,
    "categories": categories,
}
