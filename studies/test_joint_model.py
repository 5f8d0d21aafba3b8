"""The joint model against known truths: context and side related to the items, judges, ties.

200 items; 3 to 100 comparisons of each, effects of items up to five times the noise. A cell is
fitted PAIRSCORE_STUDIES times (40 unless the environment says otherwise; 500 take about three
hours on two cores).
"""

import os
import warnings

import numpy as np
import pytest
from tests.effects.joint_study import BETA, CONTEXT, SIDE, TIE, draw_study
from tests.limits import fair_squares, largest_mean

from pairscore import RankRegression

N_STUDIES = int(os.environ.get("PAIRSCORE_STUDIES", "40"))
PER_ITEM, SIZES = (3, 10, 30, 100), (0.0, 0.5, 1.0, 5.0)
SETTINGS = {"context": ["length"], "side_effect": True}
CELLS = [
    (per_item, sd, related, judges)
    for per_item in PER_ITEM
    for sd in SIZES
    for related in (False, True)
    for judges in (False, True)
]


def errors_of(model, judges):
    """Gaps of coefficients, context, side (and tie parameter) to the truth; standard errors."""
    truth = [*BETA, CONTEXT, SIDE, *[TIE] * judges]
    found = np.concatenate([model.coef_, model.effects_.values])
    return found - truth, np.concatenate([model.std_errors_, model.effects_.std_errors])


def cell(per_item, sd, related, judges):
    """Gaps, errors, gaps of the plain fit, sigma^2 covered or reached, z-scores of slopes."""
    settings = SETTINGS | ({"judge_slopes": True, "ties": "davidson"} if judges else {})
    found = {name: [] for name in ("gap", "error", "plain", "held", "reached", "slopes", "along")}
    for seed in range(N_STUDIES):
        rng = np.random.default_rng([23, seed, per_item, int(10 * sd), related, judges])
        X, votes, slopes = draw_study(rng, per_item, sd, related, judges)
        model = RankRegression(item_effects=True, **settings).fit(X, votes)
        plain = RankRegression(inference=None, **SETTINGS).fit(X, votes)
        gap, error = errors_of(model, judges)
        low, high = model.item_effects_.interval
        found["gap"].append(gap)
        found["error"].append(error)
        found["plain"].append(plain.effects_.values[:2] - [CONTEXT, SIDE])
        found["held"].append(low <= sd**2 <= high)
        found["reached"].append(high >= sd**2)
        found["along"].append(np.sign(model.coef_) == np.sign(BETA))
        if judges:
            found["slopes"].append((model.judges_.slope - slopes) / model.judges_.std_error)
    return {name: np.array(values) for name, values in found.items()}


def name_of(per_item, sd, related, judges):
    words = f"{per_item} per item, item sd {sd:g}, {'' if related else 'un'}related"
    return words + (", ten judges and ties" if judges else "")


@pytest.mark.parametrize("setting", CELLS, ids=[name_of(*one) for one in CELLS])
def test_bias_and_coverage_of_the_joint_model(setting, figures):
    """Biases within a quarter of a standard error or 0.03; intervals that hold what they say.

    Where effects are five times the noise and context and side follow them, the bias of the side is
    told, and has to be smaller than without item effects; with three comparisons of an item, too,
    only directions are held.
    """
    per_item, sd, related, judges = setting
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cell(*setting)
    gap, error = found["gap"], found["error"]
    z, strong = gap / error, sd >= 5
    bias, typical = gap.mean(axis=0), np.median(error, axis=0)
    held = np.mean(np.abs(z) < 1.96, axis=0)
    names = ["x0", "x1", "context", "side", "tie"][: gap.shape[1]]
    told = ", ".join(f"{n} {b:+.3f}" for n, b in zip(names, bias, strict=True))
    covered = f"{held.mean():.1%}; of sigma^2 {found['held'].mean():.0%}"
    if judges:
        covered += f", of slopes {np.mean(np.abs(found['slopes']) < 1.96):.1%}"
    figures(f"{name_of(*setting)}: bias; covered", "0; 95 %", f"{told}; {covered}")
    allowed = np.maximum(0.25 * typical, 0.03) + largest_mean(gap, len(CELLS) * gap.shape[1])
    inside = np.abs(bias) < allowed
    if strong and related:
        assert abs(bias[3]) < abs(found["plain"][:, 1].mean()) + allowed[3]
        inside[3] = True
    if strong and per_item == 3:
        assert found["along"].mean() > 0.7
        return
    assert inside.all(), dict(zip(names, bias, strict=True))
    kept = np.delete(z, 3, axis=1) if strong and related else z
    low, high = fair_squares(kept.size, n_sums=len(CELLS), alike=kept.shape[1])
    assert low < np.sum(kept**2) < high
