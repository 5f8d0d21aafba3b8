"""What the constants of item effects and of slopes of judges are worth: half and twice of each.

Studies of 60 to 800 items, of every kind of graph. No estimate may move by a visible share of its
own error, so that none of these constants is a choice that a user would have to know of; the table
says how many sweeps each saves or costs.
"""

import numpy as np
import pytest

from pairscore import Comparisons, RankRegression
from pairscore.effects import (
    belief_propagation,
    expectation_propagation,
    item_variance,
    judge_slopes,
)
from studies.test_many_items import draw_study

CELLS = [
    ("random", 60, 20, 0.3),
    ("random", 120, 10, 9.0),
    ("star", 150, 5, 1.0),
    ("chain", 150, 10, 1.0),
    ("random", 150, 10, 0.0),
    ("topics of 8", 400, 5, 1.0),
    ("chain", 400, 10, 9.0),
    ("star", 400, 5, 1.0),
    ("neighbours", 400, 10, 1.0),
    ("random", 800, 10, 1.0),
]
CONSTANTS = {
    belief_propagation: ("STEADY", "INEXACT"),
    expectation_propagation: ("STEADY", "SLOW", "FAR", "SMALLEST_SHARE", "LONGEST"),
    item_variance: (
        *("LONGEST", "PRECISION", "LOOSE", "MOST_LAG", "CLOSEST", "FURTHEST", "UNSETTLED"),
        *("MOST_OFF", "STEP", "SURE", "OFF", "NOTICED", "WIDEST", "SEEN"),
    ),
}
NAMED = [(module, name) for module, names in CONSTANTS.items() for name in names]
MOST_SHARES = {"SLOW": 1.0, "MOST_LAG": 0.75, "SWINGS_ON": 1.0}  # twice as much is not possible
TINY = 1e-3  # sigma^2 below which effects are none


def drawn(cell):
    rng = np.random.default_rng([9, CELLS.index(cell)])
    X, _, left, right, outcome = draw_study(rng, *cell)
    return Comparisons(X, left, right, outcome)


def fits():
    return [RankRegression(item_effects=True).fit(drawn(cell)) for cell in CELLS]


@pytest.fixture(scope="module")
def usual():
    return fits()


def moved(model, usual):
    """Coefficients in their standard errors; log sigma^2 and its ends in that of log sigma^2."""
    coef = np.max(np.abs(model.coef_ - usual.coef_) / usual.std_errors_)
    effects, before = model.item_effects_, usual.item_effects_
    of_both = np.log(
        np.clip([[*one.interval, one.sigma2] for one in (effects, before)], TINY, 1 / TINY)
    )
    low, high, _ = of_both[1]
    change = np.abs(of_both[0] - of_both[1]) / max((high - low) / 4, 0.02)
    return coef, change[2], max(change[:2])


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize(
    ("module", "name"), NAMED, ids=[f"{one.__name__.split('.')[-1]}-{name}" for one, name in NAMED]
)
def test_half_or_twice_of_a_constant_moves_no_estimate(
    module, name, factor, usual, monkeypatch, figures
):
    value = min(factor * getattr(module, name), MOST_SHARES.get(name, np.inf))
    for one in CONSTANTS:
        if hasattr(one, name) and (one is module or name == "INEXACT"):
            monkeypatch.setattr(one, name, value)
    found = fits()
    coef, sigma2, ends = np.max(
        [moved(one, before) for one, before in zip(found, usual, strict=True)], axis=0
    )
    sweeps, before = (sum(model.n_iter_ for model in models) for models in (found, usual))
    figures(
        f"{module.__name__.split('.')[-1]}.{name} = {value:g}: coefficients, sigma^2, its ends",
        ".1, .25, .5 of their errors",
        f"{coef:.3f}, {sigma2:.3f}, {ends:.3f}; sweeps {sweeps / before - 1:+.0%}",
    )
    assert coef < 0.1
    assert sigma2 < 0.25
    assert ends < 0.5


# -- slopes of judges ------------------------------------------------------------------------------

# judges, their comparisons each, spread of log slopes, whether some are opposed, item effects
PANELS = [
    (12, 60, 0.4, False, False),
    (40, 15, 0.4, False, False),
    (6, 200, 0.1, False, False),
    (15, 60, 0.8, True, False),
    (12, 100, 0.4, False, True),
    (10, 100, 0.6, True, True),
]
OF_SLOPES = ("N_SPREADS", "LEAST_KNOWN", "LONGEST_STEP", "SWINGS_ON", "LEAST_DAMPING")


def fit_to_panel(panel):
    n_judges, each, spread, opposed, has_effects = panel
    rng = np.random.default_rng([10, PANELS.index(panel)])
    n = 80
    X = rng.normal(size=(n, 3))
    score = X @ [1.0, -0.5, 0.0] + 0.8 * has_effects * rng.normal(size=n)
    judge = np.repeat(np.arange(n_judges), each)
    left = rng.integers(0, n, len(judge))
    right = (left + rng.integers(1, n, len(judge))) % n
    slope = np.exp(spread * rng.normal(size=n_judges))
    if opposed:
        slope[:2] *= -1
    chance = 1 / (1 + np.exp(-slope[judge] * (score[left] - score[right])))
    outcome = np.where(rng.random(len(judge)) < chance, 1, -1)
    data = Comparisons(X, left, right, outcome, judge=judge)
    return RankRegression(judge_slopes=True, item_effects=has_effects).fit(data)


@pytest.fixture(scope="module")
def usual_panels():
    return [fit_to_panel(panel) for panel in PANELS]


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("name", OF_SLOPES)
def test_half_or_twice_of_a_constant_moves_no_slope(
    name, factor, usual_panels, monkeypatch, figures
):
    value = factor * getattr(judge_slopes, name)
    value = int(value) if name == "N_SPREADS" else min(value, MOST_SHARES.get(name, np.inf))
    monkeypatch.setattr(judge_slopes, name, value)
    coef, slopes, errors = 0.0, 0.0, 0.0
    for panel, usual in zip(PANELS, usual_panels, strict=True):
        found = fit_to_panel(panel)
        coef = max(coef, np.max(np.abs(found.coef_ - usual.coef_) / usual.std_errors_))
        before = usual.judges_
        slopes = max(slopes, np.max(np.abs(found.judges_.slope - before.slope) / before.std_error))
        errors = max(errors, np.max(np.abs(found.judges_.std_error / before.std_error - 1)))
    figures(
        f"judge_slopes.{name} = {value:g}: coefficients, slopes, errors of slopes",
        ".1, .1 of their errors, 10 %",
        f"{coef:.4f}, {slopes:.4f}, {errors:.1%}",
    )
    assert coef < 0.1
    assert slopes < 0.1
    assert errors < 0.1
