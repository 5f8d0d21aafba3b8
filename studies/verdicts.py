"""What the dense twin says of a design, where it knows the kind of fit."""

from typing import Any

import numpy as np
from tests import dense, dense_effects
from tests.dense import Answer, Data

from studies.designs import SECANT, Design, make

NAMES_OF_LINKS = {"logit": "logit", "probit": "probit", SECANT: "secant"}
DIGITS = 1e-6
NO_TWIN = ("judge_slopes", "item_effects", "missing")


def has_twin(design: Design) -> bool:
    """Whether dense matrices answer this: not for judges, item effects, rules that choose."""
    settings = design.settings
    asked = [settings.get(name) for name in NO_TWIN]
    chosen = isinstance(settings.get("l2"), str) or isinstance(settings.get("shrinkage"), str)
    by_judge = "judge" in design.votes or settings.get("side_effect") == "judges"
    return not (any(asked) or chosen or by_judge or design.columns)


def expanded(design: Design) -> tuple[Data, np.ndarray]:
    """Every comparison in a row of its own, weights in their unit; and the columns beside items."""
    data, m = design.data, len(design.data.left)
    rows = np.repeat(np.arange(m), design.votes.get("count", np.ones(m, dtype=int)))
    if design.settings.get("ties") == "drop":
        rows = rows[data.outcome[rows] != 0]
    weight = np.ones(len(rows)) if data.weight is None else data.weight[rows]
    weight = weight * weight.sum() / (weight @ weight)
    votes = (column[rows] for column in (data.left, data.right, data.outcome))
    names = design.settings.get("context") or ()
    more = [design.votes[name][rows] for name in names]
    more += [np.ones(len(rows))] * bool(design.settings.get("side_effect"))
    return Data(data.X, *votes, weight), np.array(more).reshape(-1, len(rows)).T


def is_separated(design: Design) -> bool:
    """Whether the likelihood has no maximum."""
    data, more = expanded(design)
    X = np.eye(len(data.X)) if design.items is None else data.X
    A = np.column_stack([X[data.left] - X[data.right], more])
    ties = design.settings.get("ties", "half")
    return dense_effects.is_separated(A, data.outcome, data.weight, ties)


def answer(design: Design) -> Answer | None:
    """Of the dense twin: coefficients, context, side, tie parameter; None where there is none."""
    if not has_twin(design):
        return None
    data, more = expanded(design)
    asked = design.settings
    link = NAMES_OF_LINKS[asked.get("link", "logit")]
    method, ties = asked.get("method", "mle"), asked.get("ties", "half")
    inference, l2 = asked.get("inference", "items") or "items", asked.get("l2", 0.0)
    if not np.any(data.outcome) or (not l2 and is_separated(design)):
        return None
    if design.items is None:
        return dense_effects.abilities(data, more, link, ties, l2)
    if method != "mle":
        further = {"side": bool(asked.get("side_effect")), "l2": l2}
        shrinkage = asked.get("shrinkage") or 0.0
        return dense.fit(data, method, inference, link, shrinkage=shrinkage, **further)
    # fits with context or a tie parameter take the observed information for the classical one
    by_comparison = bool(asked.get("context")) or ties in dense_effects.HAVE_PARAMETER
    information = "observed" if by_comparison else "expected"
    return dense_effects.fit(data, more, inference, link, ties, l2, information)


def digits(design: Design) -> float:
    """How near two right answers are, in standard errors, and relative to these: 1e-6, or rounding.

    A sum over M comparisons is off by sqrt(M) eps of the size of its terms; solving its equations
    multiplies that by their condition, and both answers have such an error. Equations are those of
    the items (`pooled`, `split`) or of the differences of items that met (`paired`, `mle`).
    """
    if design.items is None:
        return DIGITS
    data = design.data
    centred = data.X - data.X.mean(axis=0)
    met = data.X[data.left] - data.X[data.right]
    weight = np.ones(len(met)) if data.weight is None else data.weight
    condition = max(_condition(centred.T @ centred), _condition(met.T @ (weight[:, None] * met)))
    rounding = 2 * np.sqrt(len(met)) * np.finfo(float).eps * condition
    return max(DIGITS, float(rounding))


def _condition(scatter: np.ndarray) -> float:
    """Of equations in standardised features; of more than 1e12 some direction is undetermined."""
    size = np.sqrt(np.diag(scatter))
    varies = size > 1e-12 * size.max(initial=0.0)
    if not varies.any():
        return 1.0
    unit = size[varies]
    values = np.linalg.eigvalsh(scatter[np.ix_(varies, varies)] / np.outer(unit, unit))
    return float(values[-1] / values[0]) if values[0] > 1e-12 * values[-1] else 1.0


def gaps(expected: Answer, got: dict[str, Any], design: Design) -> tuple[float, float]:
    """Largest distance of values in standard errors, and of errors relative to them.

    ``got`` has what the model has, under the names of its attributes.
    """
    values, errors = told(got, design, len(expected.coef))
    known = ~expected.undetermined
    wanted = expected.std_errors[known]
    seen = wanted > 1e-9 * np.max(wanted, initial=0.0)
    far = np.abs(values - expected.coef)[known][seen] / wanted[seen]
    off = np.zeros(1) if errors is None else np.abs(errors[known][seen] / wanted[seen] - 1)
    return float(np.max(far, initial=0.0)), float(np.max(off, initial=0.0))


def told(got: dict[str, Any], design: Design, number: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Values and errors of a model in the order of the twin."""
    effects = got.get("effects")
    values, errors = np.asarray(got["coef_"]), got["std_errors_"]
    if design.items is None:
        values = np.full(len(design.data.X), np.nan)
        errors = values.copy()
        for name, value, error in zip(*got["abilities"], strict=True):
            values[int(name.split()[-1])], errors[int(name.split()[-1])] = value, error
    if effects is not None:
        values = np.append(values, effects["coef"])
        errors = None if errors is None else np.append(errors, effects["std_error"])
    elif got["side_effect_"] is not None:
        values = np.append(values, got["side_effect_"])
        errors = None if errors is None else np.append(errors, got["side_effect_std_error_"])
    assert len(values) == number, (design.name, len(values), number)
    return values, errors


def attributes(model: Any) -> dict[str, Any]:
    """Of a fitted model, those that a twin has."""
    got = {name: getattr(model, name) for name in ("coef_", "std_errors_", "side_effect_")}
    got["side_effect_std_error_"] = model.side_effect_std_error_
    if model.effects_ is not None:
        got["effects"] = model.effects_.to_columns()
    if model.item_effects_ is not None:
        found = model.item_effects_
        got["abilities"] = found.ids, found.effect, found.std_error
    return got


def verdict(name: str, got: dict[str, Any] | None) -> str:
    """In words, for a list of disagreements."""
    design = make(name)
    expected = answer(design)
    if expected is None:
        return "no twin"
    if got is None or "error" in got:
        return "no answer"
    try:
        far, off = gaps(expected, got, design)
    except (KeyError, AssertionError, TypeError, ValueError) as error:
        return f"cannot be compared ({type(error).__name__})"
    return f"{far:.1g} standard errors, errors {off:.1g} from the twin"
