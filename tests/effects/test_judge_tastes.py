"""Do judges weigh the features differently? Size and power of the test."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from scipy.stats import f as fisher

from pairscore import Comparisons, RankRegression
from pairscore.data.judges import panel_of
from pairscore.effects.judge_tastes import judge_tastes
from tests.effects.test_judges import COEF, judged_study
from tests.limits import CHANCE

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")


def test_judges_are_tested_as_if_comparisons_were_given_to_them_by_lot():
    """Against the shares of 4000 draws of lots whose statistic is as large."""
    rng = np.random.default_rng(0)
    shares = []
    for seed, taste in ((10, 0.0), (11, 0.3), (12, 0.3), (13, 0.0)):
        X, votes = judged_study(seed, [60, 40, 25, 25], taste=taste, effect=1.0)
        data, _ = Comparisons.from_frames(X, votes)
        fit = RankRegression(inference=None).fit(data)
        score = (data.outcome > 0) - fit.predict_proba(data)[:, 1]
        gap = fit.decision_function(data)
        found = judge_tastes(data, score, gap)
        u = score[:, None] * (X[data.left] - X[data.right])
        u = u - np.outer(score * gap, (score * gap) @ u / np.sum((score * gap) ** 2))
        u = (u - u.mean(axis=0)) / u.std(axis=0, ddof=1)
        judge = np.unique(data.judge, return_inverse=True)[1]

        def between(judge, u=u):
            sums = np.array([u[judge == one].sum(axis=0) for one in range(4)])
            return np.sum(sums**2 / np.bincount(judge)[:, None])

        drawn = np.array([between(rng.permutation(judge)) for _ in range(4000)])
        share = np.mean(drawn >= between(judge))
        exact = fisher.sf(
            found["statistic"] * found["design_effect"], found["df"], found["df_error"]
        )
        shares.append((share, exact))
    for share, exact in shares:
        error = np.sqrt(max(share * (1 - share), 1e-3) / 4000)
        assert exact == pytest.approx(share, abs=5 * error + 0.01)


def test_a_careless_judge_has_no_other_taste():
    """Coefficients that are all smaller by one factor weigh the features alike."""
    rejected, n_studies = 0, 80
    for seed in range(n_studies):
        X, votes = judged_study([seed, 5], [80] * 4)
        rng, coin = np.random.default_rng(seed), votes["judge"] == "judge 3"
        votes["winner"][coin] = rng.choice(["left", "right"], coin.sum())
        rejected += RankRegression().fit(X, votes).judge_tastes_["p"] < 0.05
    assert rejected <= binom.isf(CHANCE, n_studies, 0.05)


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_judges_who_are_alike_are_seldom_said_to_differ_and_others_often(effect):
    """Also where features leave much of the items out."""
    n_studies = 80
    alike, unlike = (
        [
            RankRegression()
            .fit(*judged_study([seed, 4], [50] * 4, taste=taste, effect=effect))
            .judge_tastes_["p"]
            for seed in range(n_studies)
        ]
        for taste in (0.0, 0.8)
    )
    assert np.sum(np.array(alike) < 0.05) <= binom.isf(CHANCE, n_studies, 0.05)
    assert np.mean(np.array(unlike) < 0.05) > 0.7


def test_judges_of_separate_items_do_not_differ_by_these():
    """Each judge has items of their own, which differ beyond their features."""
    rejected, n_studies = 0, 80
    for seed in range(n_studies):
        rng = np.random.default_rng([seed, 9])
        X, own, judge = rng.normal(size=(90, 3)), rng.normal(size=90), np.repeat([0, 1, 2], 80)
        left = 30 * judge + rng.integers(0, 30, 240)
        right = 30 * judge + (left + rng.integers(1, 30, 240)) % 30
        eta = (X[left] - X[right]) @ COEF + own[left] - own[right]
        winner = np.where(rng.random(240) < expit(eta), "left", "right")
        votes = {"left": left, "right": right, "winner": winner, "judge": judge}
        tastes = RankRegression().fit(X, votes).judge_tastes_
        assert tastes["design_effect"] >= 1
        rejected += tastes["p"] < 0.05
    assert rejected <= binom.isf(CHANCE, n_studies, 0.05)


def test_nothing_is_tested_where_there_are_not_two_judges_with_some_comparisons():
    assert RankRegression().fit(*judged_study(14, [100])).judge_tastes_ == {}
    assert RankRegression().fit(*judged_study(14, [100, 4])).judge_tastes_ == {}
    X, votes = judged_study(14, [100, 40])
    assert RankRegression(inference=None).fit(X, votes).judge_tastes_ == {}
    found = RankRegression().fit(None, votes).judge_tastes_
    assert "these 2 judges order the items differently" in found["in_words"]


def test_judges_are_counted_by_their_names():
    X, votes = judged_study(15, [3, 2, 1])
    data, _ = Comparisons.from_frames(X, votes)
    panel = panel_of(data)
    assert (panel.n_judges, panel.effective) == (3, pytest.approx(36 / 14))
    assert panel.all_named
    assert not panel.is_enough
    data, _ = Comparisons.from_frames(X, votes | {"judge": np.array([1, 1, 1, np.nan, 2, 2])})
    panel = panel_of(data)
    assert (panel.n_judges, panel.all_named) == (2, False)
