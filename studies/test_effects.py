"""Context, judges, ties and item effects recovered from many simulated studies."""

import numpy as np
import pytest
from scipy.stats import binom
from tests.effects.recovery import (
    ITEM_VARIANCE,
    all_effects,
    assert_ends_in_a_model,
    context_and_items,
    item_effects_alone,
    opposed_judges,
    thin_studies,
    variances_from_few_comparisons,
)
from tests.limits import fair_squares, largest_mean

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")


def least_covered(number):
    """The lowest share of ``number`` independent 95 % intervals, at a chance of 1e-5."""
    return binom.ppf(1e-5, number, 0.95) / number


def test_slopes_ties_context_and_item_effects_together(figures):
    """Means by t-tests, squares of z-scores, coverage; slopes as if a study had three judges."""
    n = 40
    found = all_effects(range(n))
    z, slopes = found["z"], np.abs(found["slopes"]) < 1.96
    low, high = fair_squares(z.size, n_sums=2, alike=2)
    figures(
        "all effects: mean square of z-scores",
        f"{low / z.size:.2f} to {high / z.size:.2f}",
        f"{np.mean(z**2):.2f} (without item effects {np.mean(found['rival'] ** 2):.2f})",
    )
    variance = found["sigma2"] - ITEM_VARIANCE
    limit = largest_mean(variance) + 0.01
    figures("all effects: error of the item variance", f"0 ± {limit:.3f}", f"{variance.mean():.3f}")
    figures(
        "all effects: coverage of item variance, of slopes",
        f"at least {least_covered(n):.0%}, {least_covered(3 * n):.0%}",
        f"{found['held'].mean():.1%}, {slopes.mean():.1%}",
    )
    assert low < np.sum(z**2) < high
    assert np.sum(found["rival"] ** 2) > high
    assert np.all(np.abs(z.mean(axis=0)) < largest_mean(z, z.shape[1]) + 0.1)
    assert abs(variance.mean()) < limit
    assert found["held"].mean() >= least_covered(n)
    assert slopes.mean() >= least_covered(3 * n)
    assert 0.7 < found["shrunk"].mean() < 1.1  # shrunk a little towards one


def test_judges_who_vote_against_the_others_do_not_hide_what_items_are(figures):
    """The same votes, those of two inverted judges turned round, give the same sigma^2."""
    ratio, variance, finite, negative = opposed_judges(range(20))
    limit = largest_mean(variance) + 0.02
    figures("opposed judges: ratio of item variances", "0.9 to 1.1", f"{ratio.mean():.3f}")
    figures(
        "opposed judges: item variance",
        f"{ITEM_VARIANCE} ± {limit:.2f}",
        f"{variance.mean():.3f}",
    )
    assert abs(ratio.mean() - 1) < 0.1
    assert abs(variance.mean() - ITEM_VARIANCE) < limit
    assert finite.all()
    assert negative == [[4, 5]] * 20


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_studies_that_say_little_end_in_a_model(link, figures):
    """Few votes, large effects, judges who toss coins, and hardly any decision."""
    studies = list(thin_studies(range(4), n=60, m=400))
    for X, votes, ties in studies:
        assert_ends_in_a_model(X, votes, ties=ties, link=link)
    figures(
        f"studies that say little, {link}", "finite estimates", f"{len(studies)} fits, all finite"
    )


def test_context_and_item_effects_together(figures):
    """Mean errors by t-tests, squares of z-scores; without item effects all is too flat."""
    found = context_and_items(range(60))
    z, variance = found["z"], found["sigma2"] - ITEM_VARIANCE
    low, high = fair_squares(z.size, alike=2)
    figures(
        "context and item effects: mean square of z-scores",
        f"{low / z.size:.2f} to {high / z.size:.2f}",
        f"{np.mean(z**2):.2f} (without item effects {np.mean(found['rival'] ** 2):.2f})",
    )
    figures(
        "context and item effects: error of the item variance",
        f"0 ± {largest_mean(variance) + 0.02:.3f}",
        f"{variance.mean():.3f}",
    )
    assert low < np.sum(z**2) < high
    assert np.sum(found["rival"] ** 2) > high
    assert np.all(np.abs(z.mean(axis=0)) < largest_mean(z, z.shape[1]) + 0.1)
    assert abs(variance.mean()) < largest_mean(variance) + 0.02
    assert found["held"].mean() >= least_covered(60)


def test_item_variance_coefficients_and_scores(figures):
    """200 known and 200 new items, six comparisons an item."""
    n_fits = 100
    found = item_effects_alone(n_fits)
    for name, what in {"sigma2": "item variance", "coef": "coefficients"}.items():
        limit = largest_mean(found[name])
        figures(
            f"item effects: mean error of {what}", f"0 ± {limit:.3f}", f"{found[name].mean():.3f}"
        )
        assert abs(found[name].mean()) < limit
    for name in ("known", "new"):
        limit = 0.02 + largest_mean(found[name])
        figures(
            f"item effects: coverage of scores of {name} items",
            f"95 % ± {100 * limit:.1f}",
            f"{found[name].mean():.1%}",
        )
        assert abs(found[name].mean() - 0.95) < limit
    assert np.all(found["held"].mean(axis=0) >= least_covered(n_fits))
    assert found["rival"].mean() < -largest_mean(found["rival"])  # features alone: too flat


def test_laplace_is_too_small_where_comparisons_are_few(figures):
    """Four comparisons an item; ours has no bias, Laplace's variance is too small."""
    found = variances_from_few_comparisons(30, n_items=250)
    (ours, rival), (limit, rival_limit) = found.mean(axis=0), largest_mean(found)
    figures("item variance 2.25, few comparisons: error", f"0 ± {limit:.2f}", f"{ours:.2f}")
    figures("the same by Laplace: error", f"below {-rival_limit:.2f}", f"{rival:.2f}")
    assert abs(ours) < limit
    assert rival < -rival_limit
