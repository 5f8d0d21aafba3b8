"""Profile likelihood intervals, against R and by their definition."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from pairscore import PairscoreError, RankRegression
from pairscore.errors import CollinearFeaturesWarning
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study


@pytest.mark.parametrize(
    ("study", "side"), [("baseball", True), ("citations", False), ("heaviness", True)]
)
def test_profile_intervals_are_those_of_r_to_six_digits(study, side):
    model = RankRegression(inference="model", side_effect=side).fit(*read_study(study))
    known = r_numbers(study, "profile")
    found = model.confidence_intervals(method="profile")
    for name, ends in zip(model.feature_names_in_, found, strict=True):
        np.testing.assert_allclose(ends, known[name.replace(" ", "_")], rtol=1e-7)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("level", [0.5, 0.999])
def test_at_the_ends_of_a_profile_interval_the_likelihood_is_a_quantile_lower(ties, level):
    """The naive twin: fix the coefficient by scipy, maximise the rest, look at the loss."""
    items, votes = draw_study(5, n_items=30, n_votes=200)
    votes.loc[::5, "winner"] = "tie"
    model = RankRegression(ties=ties, context=["rest"], inference="model").fit(items, votes)
    rule, X = model.outcome_law.rule, items[list("abcd")].to_numpy()
    D = np.column_stack([X[votes["left"]] - X[votes["right"]], votes["rest"]])
    y = votes["winner"].map({"left": 1.0, "tie": 0.0, "right": -1.0}).to_numpy()

    def loss(theta):
        if not rule.allowed(theta[-1]):
            return np.inf
        return -float(rule.derivatives(D @ theta[:-1], y, theta[-1]).value.sum())

    ends = model.confidence_intervals(level, method="profile")
    start = np.concatenate([model.coef_, model.effects_.values])
    for column, end in ((0, ends[0, 0]), (3, ends[3, 1])):
        rest = np.delete(start, column)
        held = minimize(lambda r: loss(np.insert(r, column, end)), rest, method="BFGS")
        gap = 2 * (held.fun + model.loglik_)
        assert gap == pytest.approx(chi2.ppf(level, 1), rel=1e-4)


def test_profile_intervals_are_unknown_for_what_is_not_determined():
    items, votes = draw_study(6)
    model = RankRegression(inference="model").fit(items, votes)
    with pytest.warns(CollinearFeaturesWarning):
        more = RankRegression(inference="model").fit(items.assign(e=items["a"]), votes)
    found, known = (one.confidence_intervals(method="profile") for one in (more, model))
    assert np.isnan(found[[0, 4]]).all()
    np.testing.assert_allclose(found[1:4], known[1:], rtol=1e-7)
    with pytest.raises(PairscoreError, match="use 'wald' or 'profile'"):
        model.confidence_intervals(method="bayes")
