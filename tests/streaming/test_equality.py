"""A fit to comparisons in parts is the fit to the same comparisons in memory.

Estimators are written once, so that this holds by construction; here are random settings on random
designs, easy and hard, in which something would show that it does not.
"""

import warnings
from collections import Counter

import numpy as np
import pytest

from pairscore import RankRegression, fit_stream
from pairscore.errors import PairscoreError
from pairscore.streaming import fit_stream as stream_fit
from pairscore.streaming.fit_stream import keep_fit
from tests.hard_designs import NAMES, draw
from tests.streaming.studies import in_parts

N_CASES = 204
DESIGNS = (*NAMES, "rare feature", "one side")
MEMORY = 2e4  # bytes, for several blocks of items
METHODS = ("split", "pooled", "paired", "mle")
IN_ERRORS = 1e-6  # of a coefficient, in standard errors
RELATIVE = 1e-6  # of errors, shares and likelihoods
SHARES = ("agreement_", "noise_", "tie_share_", "decided_scale_", "guard_")


def study(rng, name):
    """Items and votes of a design, perhaps with ties, weights, counts and an effect of the side.

    rare feature   few items have it, and win against any without: one direction is separated
    one side       left wins every comparison
    """
    drawn = draw(name, rng, 60, 400, 3, spare=20)
    X, outcome = drawn.X, drawn.outcome.copy()
    if name == "rare feature":
        X[:, 2] = rng.random(80) < 0.15
        ahead = X[drawn.left, 2] - X[drawn.right, 2]
        outcome = np.where(ahead == 0, outcome, ahead).astype(int)
        outcome[(ahead == 0) & (rng.random(400) < 0.2)] = 0
    elif name == "one side":
        outcome = np.ones(400, dtype=int)
    if name in ("random", "nearly matched", "weights", "half with one item"):
        on_left = rng.random(400) < 0.15  # left wins whatever the items are
        outcome[on_left] = 1
    if name not in ("separated", "ties only", "rare feature", "one side") and rng.random() < 0.5:
        outcome[rng.random(400) < 0.2] = 0
    ids = np.array([f"i{row}" for row in range(80)])
    votes = {
        "left": ids[drawn.left],
        "right": ids[drawn.right],
        "winner": np.array(["right", "tie", "left"])[outcome + 1],
    }
    if drawn.weight is not None:
        votes["weight"] = drawn.weight
    elif rng.random() < 0.3:
        votes["weight"] = rng.choice([0.5, 1.0, 4.0], 400)
    if rng.random() < 0.2:
        votes["weight"] = np.where(rng.random(400) < 0.1, 0.0, votes.get("weight", 1.0))
    if rng.random() < 0.3:
        votes["count"] = rng.integers(1, 5, 400)
    if rng.random() < 0.2:
        votes["right"] = np.where(rng.random(400) < 0.05, votes["left"], votes["right"])
    items = {"id": ids} | {f"x{column}": values for column, values in enumerate(X.T)}
    return items, votes


def in_tables(votes):
    """The same rows in five tables."""
    rows = [slice(first, first + 80) for first in range(0, 400, 80)]
    return [{name: column[some] for name, column in votes.items()} for some in rows]


def settings_of(rng, name):
    settings = {
        "method": METHODS[rng.integers(4)],
        "link": ["logit", "probit"][rng.integers(2)],
        "ties": "drop" if name != "ties only" and rng.random() < 0.3 else "half",
        "side_effect": bool(rng.random() < 0.4),
        "l2": [0.0, 0.0, 1e-6, 2.0][rng.integers(4)],
        "inference": ["items", "items", "model", None][rng.integers(4)],
    }
    if settings["method"] != "mle" and rng.random() < 0.2:
        settings["shrinkage"] = 0.3
    if rng.random() < 0.3:
        settings["lapse"] = [0.04, "auto"][rng.integers(2)]
    return settings


def fitted(fit):
    """A model and what it warned of, or the sentence by which it was refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fit()
        except PairscoreError as error:
            return None, str(error)
    # files that other tests left open are closed, and warned of, whenever memory is tidied up
    of_fit = [w.category for w in caught if not issubclass(w.category, ResourceWarning)]
    return model, Counter(category.__name__ for category in of_fit)


def assert_equal(parts, whole):
    """To IN_ERRORS and RELATIVE; what is unknown in one is unknown in the other."""
    assert parts.notes_ == whole.notes_
    np.testing.assert_array_equal(parts.undetermined_, whole.undetermined_)
    errors = np.full(len(whole.coef_), np.nan)
    if whole.std_errors_ is None:
        assert parts.std_errors_ is None
    else:
        errors = whole.std_errors_
        np.testing.assert_allclose(parts.std_errors_, errors, rtol=RELATIVE)
        size = np.outer(errors, errors)
        np.testing.assert_allclose(
            parts.covariance_ / size, whole.covariance_ / size, atol=2 * RELATIVE
        )
    # where there is no error, a hundredth of the coefficients stands for one
    unit = np.where(errors > 0, errors, 1e-2 * np.abs(whole.coef_).max() + 1e-9)
    assert np.all(np.abs(parts.coef_ - whole.coef_) <= IN_ERRORS * unit)
    if whole.side_effect_ is not None:
        error = whole.side_effect_std_error_
        known = error is not None and np.isfinite(error)
        unit = error if known else 1e-2 * abs(whole.side_effect_) + 1e-9
        assert abs(parts.side_effect_ - whole.side_effect_) <= IN_ERRORS * unit
        if error is not None:
            np.testing.assert_allclose(parts.side_effect_std_error_, error, rtol=RELATIVE)
    for name in (*SHARES, "n_comparisons_", "n_items_", "n_groups_", "feature_sd_"):
        ours, theirs = getattr(parts, name), getattr(whole, name)
        np.testing.assert_allclose(ours, theirs, rtol=RELATIVE, err_msg=name)
    assert parts.likelihood_.reason == whole.likelihood_.reason
    if whole.likelihood_.value is not None:
        assert parts.likelihood_.value == pytest.approx(whole.likelihood_.value, rel=1e-9)
        assert parts.likelihood_.n_parameters == whole.likelihood_.n_parameters
    assert parts.lapse_.rate == pytest.approx(whole.lapse_.rate, abs=1e-7)
    if whole.pairing_ is not None:
        ours, theirs = (list(vars(model.pairing_).values()) for model in (parts, whole))
        np.testing.assert_allclose(ours, theirs, rtol=RELATIVE, atol=1e-9)


@pytest.mark.parametrize("case", range(N_CASES))
def test_a_fit_in_parts_is_the_fit_in_memory(case, monkeypatch):
    rng = np.random.default_rng([34, case])
    name = DESIGNS[case % len(DESIGNS)]
    items, votes = study(rng, name)
    settings = settings_of(rng, name)
    in_parts(monkeypatch, sample=10**6 if rng.random() < 0.2 else 120)
    asked = {"self_pairs": "keep"}
    whole, said = fitted(lambda: RankRegression(**settings, tol=1e-14).fit(items, votes, **asked))
    tables = in_tables(votes)
    parts, told = fitted(lambda: fit_stream(items, tables, **settings, **asked, memory=MEMORY))
    assert told == said
    if whole is not None:
        assert_equal(parts, whole)


def test_these_fits_have_several_parts_and_blocks_and_a_sample(monkeypatch):
    """Otherwise there would be nothing in the test above."""
    seen = []

    def keep(data, *rest):
        seen.append(data)
        return keep_fit(data, *rest)

    monkeypatch.setattr(stream_fit, "keep_fit", keep)
    in_parts(monkeypatch, sample=120)
    items, votes = study(np.random.default_rng(0), "random")
    fit_stream(items, in_tables(votes), memory=MEMORY, self_pairs="keep")
    (data,) = seen
    assert len(data.parts) >= 4
    assert data.tiles.n_blocks >= 4
    assert 50 < len(data.first.sample) < 200
