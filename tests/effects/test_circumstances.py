"""Scores of comparisons from scores of items, with context, judge and side."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.model_selection import cross_val_score

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression, load
from tests.effects.simulators import judged_votes


def test_everything_is_saved_and_predicted(tmp_path):
    X, votes = judged_votes(np.random.default_rng(8), tie=0.4, slopes=np.array([0.5, 1.0, 1.5]))
    model = RankRegression(
        context=["rest"], ties="davidson", judge_slopes=True, side_effect="judges"
    ).fit(X, votes)
    model.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    for method in ("decision_function", "predict_proba", "predict_ties"):
        assert np.array_equal(getattr(model, method)(data), getattr(again, method)(data))
    assert str(again.summary()) == str(model.summary())
    assert again.judges_.to_columns() == model.judges_.to_columns()
    slope = dict(zip(model.judges_.name.tolist(), model.judges_.slope.tolist(), strict=True))
    side = model.effects_.of_kind("side")
    scores = X @ model.coef_
    row = 5
    who = votes["judge"][row]
    expected = (
        slope[who]
        * (
            scores[data.left[row]]
            - scores[data.right[row]]
            + model.effects_.values[0] * votes["rest"][row]
        )
        + side[f"left, {who}"]
    )
    assert model.decision_function(data)[row] == pytest.approx(expected)
    eta = model.decision_function(data)
    # of decided comparisons, whatever the ties
    scale = model.decided_scale_
    np.testing.assert_allclose(model.predict_proba(data)[:, 1], expit(scale * eta))
    assert 0.8 < scale < 1.2
    stranger, _ = Comparisons.from_frames(
        X, votes | {"judge": np.array(["new"] * len(eta), dtype=object)}, context=["rest"]
    )
    plain = (
        scores[data.left]
        - scores[data.right]
        + model.effects_.values[0] * votes["rest"]
        + np.mean(list(side.values()))
    )
    np.testing.assert_allclose(model.decision_function(stranger), plain)


def test_slices_and_folds_keep_context_and_judges():

    X, votes = judged_votes(np.random.default_rng(9))
    data, y = Comparisons.from_frames(X, votes, context=["rest"])
    part = data[10:20]
    assert np.array_equal(part.context["rest"], votes["rest"][10:20])
    with_context = cross_val_score(
        RankRegression(context=["rest"], inference=None),
        data,
        y,
        cv=ItemKFold(4),
        scoring="neg_log_loss",
    ).mean()
    without = cross_val_score(
        RankRegression(inference=None), data, y, cv=ItemKFold(4), scoring="neg_log_loss"
    ).mean()
    assert with_context > without


def test_context_must_be_in_the_comparisons():
    X, votes = judged_votes(np.random.default_rng(22))
    with pytest.raises(PairscoreError, match="lack the context 'rest'"):
        RankRegression(context=["rest"]).fit(Comparisons.from_frames(X, votes)[0])
