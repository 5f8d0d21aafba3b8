"""Two hundred random designs of every kind of fit, in memory and by streams, against dense twins.

Designs are those of studies/designs.py; what the twins of tests/dense.py and tests/dense_effects.py
answer is in studies/verdicts.py. Where there is no twin (judges, effects of items with features,
settings chosen from the data, separated comparisons) a fit in memory and one by a stream are held
against each other.
"""

import warnings
from collections import Counter

import numpy as np
import pytest

from pairscore import PairscoreError, PairscoreWarning, RankRegression, fit_stream
from pairscore.errors import NotConvergedWarning
from studies.designs import INFERENCES, LINKS, METHODS, NUMBER_OF, SHAPES, make, name_of, names
from studies.verdicts import DIGITS, answer, attributes, digits, gaps

FAMILIES_WITH_TWINS = ("plain", "side", "ridge", "tie parameter", "context", "abilities")
# a link of the user's own whose curvature, by differences, is not positive far out: the expected
# information takes the place of the observed one, and errors are 5 % off; coefficients are not
OTHER_INFORMATION = {"abilities, weights, 8": 0.05}


def fit(design, how):
    """The model and the kinds of its warnings; those of NumPy and of Python are errors."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        warnings.simplefilter("always", PairscoreWarning)
        if how == "memory":
            model = RankRegression(**design.settings)
            model.fit(design.items, design.votes, **design.columns)
        else:
            model = fit_stream(design.items, design.votes, **design.settings, **design.columns)
    return model, {one.category for one in said}


def designs_of(family):
    return [make(name_of(family, number)) for number in range(NUMBER_OF[family])]


def test_designs_are_two_hundred_of_every_kind():
    designs = [make(name) for name in names()]
    assert len({design.name for design in designs}) == 200
    values = {
        "method": METHODS,
        "link": LINKS,
        "inference": (*INFERENCES, "items+judges"),
        "ties": ("half", "drop", "davidson", "rao-kupper"),
        "l2": (0.0, "auto", "auto-known"),
        "shrinkage": (0.2, 1.0, "ledoit-wolf", "oas"),
        "side_effect": (True, "judges"),
        "judge_slopes": (True,),
        "item_effects": (True, "auto"),
        "missing": ("mean-with-flag", "item-effect", "drop-items"),
    }
    for name, known in values.items():
        seen = [design.settings[name] for design in designs if name in design.settings]
        assert all(value in seen for value in known), name
    assert Counter(design.shape for design in designs).keys() == {*SHAPES}
    assert sum("weight" in design.votes for design in designs) > 20
    assert sum("count" in design.votes for design in designs) > 20
    assert sum(design.settings.get("context") is not None for design in designs) > 10


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("family", FAMILIES_WITH_TWINS)
def test_estimates_of_random_designs_are_those_of_a_dense_twin(family, how, figures):
    """A fit that says that it did not reach the maximum is counted, and not held against a twin."""
    worst, n_fits, refused, unfinished = np.zeros(2), 0, 0, 0
    for design in designs_of(family):
        expected = answer(design)
        if expected is None:
            continue
        try:
            model, said = fit(design, how)
        except PairscoreError:
            refused += 1
            continue
        if NotConvergedWarning in said:
            unfinished += 1
            continue
        of_values, of_errors = gaps(expected, attributes(model), design)
        if design.name in OTHER_INFORMATION:
            assert of_errors < OTHER_INFORMATION[design.name]
            of_errors = 0.0
        if design.items is not None:
            known = expected.undetermined[: len(model.coef_)]
            np.testing.assert_array_equal(model.undetermined_, known, err_msg=design.name)
        assert max(of_values, of_errors) < digits(design), design.name
        worst = np.maximum(worst, (of_values, of_errors))
        n_fits += 1
    figures(
        f"random designs, {family}, {how}: {n_fits} fits against a dense twin, {refused} refused,"
        f" {unfinished} not converged",
        f"below {DIGITS:g} standard errors, {DIGITS:g} of an error",
        f"{worst[0]:.1g}, {worst[1]:.1g}",
    )
    assert unfinished <= 1
    if how == "memory":
        assert n_fits >= NUMBER_OF[family] // 3


@pytest.mark.parametrize("family", list(NUMBER_OF))
def test_streams_of_random_designs_give_what_fits_in_memory_give(family, figures):
    """Whatever a stream does not refuse; of judges, who do not count in a stream, coefficients."""
    worst, n_fits = np.zeros(2), 0
    for design in designs_of(family):
        try:
            stream, _ = fit(design, "stream")
        except PairscoreError:
            continue
        memory, _ = fit(design, "memory")
        errors = memory.std_errors_
        known = ~memory.undetermined_
        np.testing.assert_array_equal(stream.undetermined_, memory.undetermined_)
        apart = np.abs(stream.coef_ - memory.coef_)[known]
        unit = np.maximum(np.abs(memory.coef_)[known], 1e-12) if errors is None else errors[known]
        off = np.zeros(0)
        if errors is not None and memory.inference_ == stream.inference_:
            np.testing.assert_array_equal(np.isnan(errors), np.isnan(stream.std_errors_))
            off = np.abs(stream.std_errors_ / errors - 1)[known & (errors > 0)]
        with np.errstate(invalid="ignore"):
            of_values = np.max((apart / unit)[unit > 0], initial=0.0)
        both = of_values, np.max(off, initial=0.0)
        assert max(both) < digits(design), (design.name, both)
        worst = np.maximum(worst, both)
        n_fits += 1
    figures(
        f"random designs, {family}: {n_fits} streams against fits in memory",
        f"below {DIGITS:g} standard errors, {DIGITS:g} of an error",
        f"{worst[0]:.1g}, {worst[1]:.1g}",
    )
