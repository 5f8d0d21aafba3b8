"""compare: every measure and error against a slow twin, and errors that cover the truth over fresh
items.
"""

import json
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairscore import (
    Comparisons,
    ItemKFold,
    OnItems,
    PairscoreError,
    Population,
    RankRegression,
    compare,
)
from pairscore.core.links import get_link
from pairscore.core.outcomes import TieRule
from pairscore.errors import FewItemsWarning
from pairscore.evaluation.measures import (
    MEASURES,
    Meetings,
    Outcomes,
    calibration_error,
    calibration_slope,
    influence_of,
    log_loss,
)
from pairscore.evaluation.table import KINDS, Counts, ModelComparison, Score
from tests.laws import NODES, WEIGHTS

LEVEL = 1e-6  # chance that a right program fails a statistical test
QUICK = RankRegression(inference=None)
SEEN = []  # what Witness was given to learn and to predict


class Fixed(BaseEstimator):
    """A model that learns nothing: P(left wins) = f(coef'(x_left - x_right) + side)."""

    def __init__(self, coef=(1.0, 0.0), side=0.0):
        self.coef, self.side = coef, side

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        scores = X.items.values @ np.asarray(self.coef)
        left = expit(scores[X.left] - scores[X.right] + self.side)
        return np.column_stack([1 - left, left])


class Witness(Fixed):
    """Keeps what it is given, fold by fold."""

    def fit(self, X, y):
        SEEN.append([X])
        np.testing.assert_array_equal(X.outcome, y)
        return self

    def predict_proba(self, X):
        SEEN[-1].append(X)
        return super().predict_proba(X)


def study(n_items=40, n_comparisons=800, *, ties=0.2, weights=False, counts=False, seed=0):
    """Items with two features and an effect of their own; some pairs meet often."""
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(n_items, 2))
    score = items @ [1.5, -0.5] + rng.normal(size=n_items)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items // 2, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(score[left] - score[right])
    votes = {
        "left": left,
        "right": right,
        "winner": np.where(rng.random(n_comparisons) < ties, "tie", np.where(won, "left", "right")),
    }
    if weights:
        votes["weight"] = rng.integers(0, 8, n_comparisons) / 4
    if counts:
        votes["count"] = rng.integers(0, 4, n_comparisons)
    return items, pd.DataFrame(votes)


def outcomes(n_rows=300, n_items=15, n_folds=3, seed=0):
    """Test comparisons with weights, counts, ties and repeated pairs, and predictions of which some
    are equal.
    """
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_rows)
    right = (left + rng.integers(1, n_items, n_rows)) % n_items
    count = rng.integers(1, 4, n_rows).astype(float)
    outcome = rng.choice([-1, 0, 1], n_rows, p=[0.4, 0.2, 0.4])
    data = Outcomes(
        left,
        right,
        outcome,
        count * rng.choice([0.25, 1.0, 2.0], n_rows),
        count,
        rng.integers(0, n_folds, n_rows),
    )
    p = np.where(rng.random(n_rows) < 0.1, 0.5, expit(outcome + 1.5 * rng.normal(size=n_rows)))
    return data, p


def rows(data, p):
    """Plain rows for the twins."""
    return list(zip(data.left, data.right, data.outcome, data.amount, data.fold, p, strict=True))


# -- naive twins of the measures ---------------------------------------------------------------------


def naive_accuracy(data, p):
    points = total = 0.0
    for _, _, outcome, amount, _, chance in rows(data, p):
        if outcome != 0:
            total += amount
            points += amount * (0.5 if chance == 0.5 else float((chance > 0.5) == (outcome > 0)))
    return points / total


def naive_log_loss(data, p):
    loss = total = 0.0
    for _, _, outcome, amount, _, chance in rows(data, p):
        total += amount
        halves = {1: (1.0, 0.0), 0: (0.5, 0.5), -1: (0.0, 1.0)}[int(outcome)]
        loss -= amount * (halves[0] * np.log(chance) + halves[1] * np.log(1 - chance))
    return loss / total


def naive_slope(data, p):
    """scikit-learn's logistic regression, with a tie as half a win and half a loss."""
    logit = np.log(p / (1 - p))
    x, y, weight = (
        np.tile(logit, 2)[:, None],
        np.repeat([1, 0], len(p)),
        np.concatenate([data.amount * (1 + data.outcome), data.amount * (1 - data.outcome)]),
    )
    return (
        LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=1000)
        .fit(x, y, sample_weight=weight)
        .coef_[0, 0]
    )


def naive_calibration_error(data, p):
    """Walk up the favourite's probabilities and note whenever another tenth of the weight is full."""
    groups = {}
    for _, _, outcome, amount, _, chance in rows(data, p):
        share = 0.5 if chance == 0.5 else (1 + (outcome if chance > 0.5 else -outcome)) / 2
        groups.setdefault(max(chance, 1 - chance), []).append((amount, share))
    total, below, bins = data.amount.sum(), 0.0, Counter()
    for confidence in sorted(groups):
        weight = sum(amount for amount, _ in groups[confidence])
        tenth = int(10 * (below + weight / 2) / total)
        bins[tenth] += sum(amount * (share - confidence) for amount, share in groups[confidence])
        below += weight
    return sum(abs(surplus) for surplus in bins.values()) / total


def naive_misordered(data, p):
    won, chance_of_low = Counter(), Counter()
    for left, right, outcome, amount, fold, chance in rows(data, p):
        unit, sign = (fold, *sorted([left, right])), 1 if left < right else -1
        won[unit] += sign * outcome * amount
        chance_of_low[unit] += sign * amount * (chance - 0.5)
    decided = [unit for unit in won if abs(won[unit]) > 1e-6]
    return np.mean(
        [
            0.5 if chance_of_low[unit] == 0 else float(chance_of_low[unit] * won[unit] < 0)
            for unit in decided
        ]
    )


TWINS = dict(
    zip(
        MEASURES,
        [naive_accuracy, naive_log_loss, naive_slope, naive_calibration_error, naive_misordered],
        strict=True,
    )
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_that_of_a_plain_loop(measure, seed):
    data, p = outcomes(seed=seed)
    assert MEASURES[measure](data, p).value == pytest.approx(
        TWINS[measure](data, p), rel=1e-6 if measure == "calibration_slope" else 1e-12
    )


def test_without_repeats_and_ties_the_misordered_are_those_called_wrongly():
    data, p = outcomes(40)
    once = Outcomes(
        np.arange(40),
        np.arange(40, 80),
        np.where(data.outcome >= 0, 1, -1),
        np.ones(40),
        np.ones(40),
        data.fold,
    )
    assert MEASURES["misordered"](once, p).value == pytest.approx(
        1 - MEASURES["accuracy"](once, p).value, rel=1e-12
    )
    repeated, p = outcomes()
    assert (
        abs(
            MEASURES["misordered"](repeated, p).value
            - (1 - MEASURES["accuracy"](repeated, p).value)
        )
        > 0.02
    )


def test_a_weak_majority_of_weights_is_no_rounding():
    """0.1 + 0.2 against 0.3 is even, however the sum is rounded."""
    data = Outcomes(
        np.zeros(4, int),
        np.array([1, 1, 1, 2]),
        np.array([1, 1, -1, 1]),
        np.array([0.1, 0.2, 0.3, 1.0]),
        np.ones(4),
        np.zeros(4, int),
    )
    assert data.amount[:2].sum() - data.amount[2] != 0
    assert MEASURES["misordered"](data, np.array([0.4, 0.4, 0.4, 0.9])).value == 0


def test_no_favourite_scores_half_everywhere():
    data, _ = outcomes()
    found = {
        name: measure(data, np.full(len(data.fold), 0.5)).value
        for name, measure in MEASURES.items()
    }
    assert np.isnan(found.pop("calibration_slope"))
    assert found == pytest.approx(
        {"accuracy": 0.5, "log_loss": np.log(2), "calibration_error": 0.0, "misordered": 0.5},
        abs=1e-15,
    )


def test_the_slope_is_infinite_where_the_favourite_always_or_never_won():
    data, p = outcomes()
    sided = np.where(p == 0.5, 0.6, p)
    for sign, slope in ((1, np.inf), (-1, -np.inf)):
        won = Outcomes(
            data.left,
            data.right,
            sign * np.where(sided > 0.5, 1, -1),
            data.amount,
            data.count,
            data.fold,
        )
        found = calibration_slope(won, sided)
        assert found.value == slope
        assert np.isnan(found.influence).all()


def test_an_impossible_outcome_costs_much_but_not_infinitely():
    data, p = outcomes()
    assert log_loss(data, np.where(data.outcome > 0, 0.0, p)).value < 36.1
    assert np.isfinite(calibration_slope(data, np.where(data.outcome > 0, 0.0, p)).value)


def test_one_half_of_the_logit_doubles_the_slope_and_the_errors_of_sure_predictions_grow():
    data, p = outcomes()
    logit = np.log(p / (1 - p))
    assert calibration_slope(data, expit(logit / 2)).value == pytest.approx(
        2 * calibration_slope(data, p).value, rel=1e-9
    )
    assert calibration_error(data, expit(4 * logit)).value > calibration_error(data, p).value


@pytest.mark.parametrize("measure", [name for name in MEASURES if name != "misordered"])
def test_an_influence_is_the_derivative_in_the_weight_of_the_row(measure):
    data, p = outcomes(60)
    found, step = MEASURES[measure](data, p), 1e-6
    for row in range(0, 60, 7):
        moved = [
            data.amount * np.where(np.arange(60) == row, 1 + sign * step, 1) for sign in (1, -1)
        ]
        up, down = (
            MEASURES[measure](
                Outcomes(data.left, data.right, data.outcome, amount, data.count, data.fold), p
            ).value
            for amount in moved
        )
        assert found.influence[row] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-8)
    assert found.share.sum() == pytest.approx(1)
    assert found.influence.sum() == pytest.approx(0, abs=1e-9)


# -- naive twins of the standard errors --------------------------------------------------------------


def naive_variance(psi, share, one, other):
    """sum_i t_i^2 / (1 - h_i)^2 - sum_p u_p^2, a row at a time."""
    t, h, u = Counter(), Counter(), Counter()
    for value, part, a, b in zip(psi, share, one, other, strict=True):
        for item in {a, b}:
            t[item] += value
            h[item] += part
        if a != b:
            u[frozenset([a, b])] += value
    return sum((t[item] / (1 - min(h[item], 0.8))) ** 2 for item in t) - sum(
        value**2 for value in u.values()
    )


@pytest.mark.parametrize("n_units", [2, 5, 15])
@pytest.mark.parametrize("seed", range(3))
def test_the_variance_sums_over_any_two_rows_that_share_an_item(seed, n_units):
    """With many rows to an item and shares of nothing, by a double loop.

    Items in groups share the group.
    """
    data, p = outcomes(120, seed=seed)
    psi = log_loss(data, p).influence
    one, other = data.left % n_units, data.right % n_units
    shared = [
        a * b
        for a, i, j in zip(psi, one, other, strict=True)
        for b, k, m in zip(psi, one, other, strict=True)
        if {i, j} & {k, m}
    ]
    found = influence_of(psi, np.full(120, 1e-15), np.full(120, np.inf), Meetings(one, other))
    assert found.of_items @ found.of_items - found.of_pairs @ found.of_pairs == pytest.approx(
        sum(shared), rel=1e-9, abs=1e-15
    )
    assert found.std_error == pytest.approx(np.sqrt(max(sum(shared), 0.0)), rel=1e-6, abs=1e-12)


def test_an_item_counts_as_its_absence_would_move_the_mean():
    """t_i / (1 - h_i) is exactly what leaving out item i takes off a weighted mean."""
    data, p = outcomes()
    found = log_loss(data, p)
    of_items = influence_of(
        found.influence, found.share, found.number, Meetings(data.left, data.right)
    ).of_items
    for item in range(15):
        rest = (data.left != item) & (data.right != item)
        part = Outcomes(
            data.left[rest],
            data.right[rest],
            data.outcome[rest],
            data.amount[rest],
            data.count[rest],
            data.fold[rest],
        )
        assert found.value - log_loss(part, p[rest]).value == pytest.approx(
            of_items[item], rel=1e-9, abs=1e-12
        )


def test_an_error_is_never_below_that_of_independent_comparisons():
    """Two equal and opposite influences at each item.

    The item-robust variance alone would be negative.
    """
    one, other, psi = (
        np.array([0, 0, 1, 1]),
        np.array([2, 3, 2, 3]),
        np.array([1.0, -1.0, -1.0, 1.0]),
    )
    found = influence_of(psi, np.full(4, 0.25), np.ones(4), Meetings(one, other))
    assert naive_variance(psi, np.full(4, 0.25), one, other) == -4
    assert found.std_error == 2
    assert influence_of(psi, np.full(4, 0.25), np.full(4, 4.0), Meetings(one, other)).std_error == 1


def test_one_comparison_has_no_error():
    psi = np.zeros(2)
    assert np.isnan(
        influence_of(
            psi, np.array([1.0, 0.0]), np.ones(2), Meetings(np.array([0, 0]), np.array([1, 2]))
        ).std_error
    )
    assert (
        influence_of(
            psi, np.array([0.5, 0.5]), np.ones(2), Meetings(np.array([0, 0]), np.array([1, 2]))
        ).std_error
        == 0
    )


# -- compare against the same by hand ----------------------------------------------------------------


def by_hand(models, X, cv):
    """Kind by kind: the rows that compare tested, and each model's probabilities, as a witness saw
    them.
    """
    SEEN.clear()
    compare({"witness": Witness()}, X, cv=cv)
    group, fold, collected = cv.group_of_item(X), cv.fold_of_item(X), {kind: [] for kind in KINDS}
    for number, (train, test) in enumerate(SEEN):
        new = (fold[test.left] == number).astype(int) + (fold[test.right] == number)
        p = [model.fit(train, train.outcome).predict_proba(test)[:, 1] for model in models]
        for n_new, kind in enumerate(KINDS):
            rows = new == n_new
            collected[kind].append(
                (test[rows], np.full(rows.sum(), number), [one[rows] for one in p])
            )
    return {kind: put_together(parts, group) for kind, parts in collected.items()}


def put_together(parts, group):
    left, right, outcome, amount, count = (
        np.concatenate([getattr(part, name) for part, _, _ in parts])
        for name in ("left", "right", "outcome", "amount", "count")
    )
    data = Outcomes(
        left, right, outcome, amount, count, np.concatenate([fold for _, fold, _ in parts])
    )
    return data, np.concatenate([p for _, _, p in parts], axis=1), group


@pytest.mark.parametrize("item_groups", [None, np.arange(40) // 2])
def test_values_errors_and_differences_are_those_by_hand(item_groups):
    X, _ = Comparisons.from_frames(*study(weights=True, counts=True))
    X = X[X.amount > 0]
    models = {
        "plain": QUICK,
        "ridge": RankRegression(l2=30, inference=None),
        "fixed": Fixed((0.3, 0.4), side=0.2),
    }
    cv = ItemKFold(3, random_state=5, item_groups=item_groups)
    found = compare(models, X, cv=cv)
    assert found.shared == ("items" if item_groups is None else "groups")
    for kind, (data, p, group) in by_hand(models.values(), X, cv).items():
        assert found.counts[kind].n_comparisons == data.count.sum()
        assert found.counts[kind].n_items == len({*data.left, *data.right})
        assert found.counts[kind].n_pairs == len(
            {frozenset(pair) for pair in zip(data.left, data.right, strict=True)}
        )
        assert found.counts[kind].rows_of_folds == tuple(
            int(np.sum(data.fold == number)) for number in range(3)
        )
        for name, twin in TWINS.items():
            measured = [MEASURES[name](data, one) for one in p]
            for model, one, chances in zip(models, measured, p, strict=True):
                score = found.score(model, kind, name)
                assert score.value == pytest.approx(twin(data, chances), rel=1e-6)
                independent = np.sum(one.influence**2 / one.number)
                robust = naive_variance(
                    one.influence, one.share, group[data.left], group[data.right]
                )
                assert score.std_error == pytest.approx(np.sqrt(max(robust, independent)), rel=1e-9)
    assert (
        found.difference("ridge", "fixed").value
        == found.score("ridge").value - found.score("fixed").value
    )


def test_a_difference_has_the_error_of_the_differences_of_losses():
    X, _ = Comparisons.from_frames(*study(ties=0))
    models = {"a": Fixed((1.0, 0.0)), "b": Fixed((1.2, -0.1))}
    found = compare(models, X)
    for kind, (data, p, _) in by_hand(
        models.values(),
        Comparisons(X.items, X.left, X.right, X.outcome, count=np.ones(len(X))),
        ItemKFold(5),
    ).items():
        loss_a, loss_b = (np.logaddexp(0, -data.outcome * np.log(one / (1 - one))) for one in p)
        gap = loss_a - loss_b
        n = len(gap)
        twin = naive_variance((gap - gap.mean()) / n, np.full(n, 1 / n), data.left, data.right)
        score = found.difference("a", "b", kind)
        assert score.value == pytest.approx(gap.mean(), rel=1e-9)
        assert score.std_error == pytest.approx(
            np.sqrt(max(twin, np.sum((gap - gap.mean()) ** 2) / n**2)), rel=1e-9
        )
        # the rival: errors added as if each model had comparisons of its own
        assert (
            np.hypot(found.score("a", kind).std_error, found.score("b", kind).std_error)
            > 3 * score.std_error
        )
        assert found.difference("b", "a", kind) == Score(-score.value, score.std_error)


def test_a_model_differs_from_its_twin_by_exactly_nothing():
    found = compare({"a": QUICK, "b": RankRegression(inference=None)}, *study())
    for kind in KINDS:
        for measure in MEASURES:
            assert (
                found.difference("a", "b", kind, measure)
                == found.difference("a", "a", kind, measure)
                == Score(0.0, 0.0)
            )
    assert found.in_words.endswith("the same as 'b'.")


# -- what is fitted, what is tested ------------------------------------------------------------------


def test_known_items_are_in_training_new_ones_are_not_and_no_tested_pair_is():
    X, _ = Comparisons.from_frames(*study(60, 150))
    SEEN.clear()
    cv = ItemKFold(4, random_state=2)
    found = compare({"witness": Witness()}, X, cv=cv)
    fold, times = cv.fold_of_item(X), {kind: Counter() for kind in KINDS}
    for number, (train, test) in enumerate(SEEN):
        assert not np.isin(fold[np.concatenate([train.left, train.right])], number).any()
        assert not set(train.pair) & set(test.pair)
        n_new = (fold[test.left] == number).astype(int) + (fold[test.right] == number)
        n_known = train.compared[test.left].astype(int) + train.compared[test.right]
        np.testing.assert_array_equal(n_known + n_new, 2)
        for kind, new in zip(KINDS, range(3), strict=True):
            times[kind].update(test.pair[n_new == new].tolist())
    often = Counter(X.pair.tolist())
    assert all(times["train-train"][pair] in (0, often[pair]) for pair in often)
    assert all(times["train-new"][pair] <= 2 * often[pair] for pair in often)
    same_fold = fold[X.left] == fold[X.right]
    assert times["new-new"] == Counter(X.pair[same_fold].tolist())
    assert found.counts["new-new"].n_comparisons == same_fold.sum()


def test_a_share_of_the_known_pairs_is_set_aside():
    X, _ = Comparisons.from_frames(*study(100, 3000))
    SEEN.clear()
    compare({"witness": Witness()}, X)
    for number, (train, test) in enumerate(SEEN):
        fold = ItemKFold(5).fold_of_item(X)
        known = np.sum((fold[test.left] != number) & (fold[test.right] != number))
        # 1900 comparisons or so: six standard errors
        assert known / (known + len(train)) == pytest.approx(0.2, abs=0.06)


def test_the_seed_deals_items_and_pairs():
    items, votes = study()
    words = [
        str(compare([QUICK], items, votes, cv=ItemKFold(5, random_state=seed)))
        for seed in (1, 1, 2)
    ]
    assert words[0] == words[1] != words[2]
    assert str(compare([QUICK], items, votes, cv=4)) == str(
        compare([QUICK], items, votes, cv=ItemKFold(4))
    )
    assert str(compare([QUICK], items, votes)) == str(
        compare([QUICK], items, votes, cv=ItemKFold(5))
    )


def test_held_out_items_never_join_the_second_half_of_split():
    items, votes = Population(n_features=2, rng=0).draw(40, 600, rng=1)
    X, _ = Comparisons.from_frames(
        items[:60], votes.__class__(votes.left, votes.right, votes.outcome, self_pairs="keep")
    )
    SEEN.clear()
    compare({"witness": Witness(), "split": RankRegression("split", inference=None)}, X)
    for train, test in SEEN:
        np.testing.assert_array_equal(train.covariance_items, np.arange(40, 60))
        # an item against itself tests nothing, though split counts it
        assert np.all(test.left != test.right)
        assert np.any(train.left == train.right)


def test_the_models_given_are_not_changed():
    model = RankRegression(inference=None)
    compare([model], *study())
    assert not hasattr(model, "coef_")


# -- the same data written otherwise -----------------------------------------------------------------

MODELS = {"plain": QUICK, "other": Fixed((0.5, 0.5))}


def assert_same(one, other, rel=1e-6):
    np.testing.assert_allclose(one.values, other.values, rtol=rel)
    np.testing.assert_allclose(one.std_errors, other.std_errors, rtol=rel)
    np.testing.assert_allclose(one.difference_errors, other.difference_errors, rtol=rel, atol=1e-12)


def test_counts_and_expanded_rows_agree():
    items, votes = study(counts=True)
    expanded = votes.loc[votes.index.repeat(votes["count"])].drop(columns="count")
    counted = compare(MODELS, items, votes)
    assert_same(counted, compare(MODELS, items, expanded))
    assert (
        counted.counts["new-new"].n_comparisons
        == compare(MODELS, items, expanded).counts["new-new"].n_comparisons
    )
    assert counted.score("plain").value != pytest.approx(
        compare(MODELS, items, votes.drop(columns="count")).score("plain").value, rel=1e-3
    )


def test_neither_the_order_of_rows_nor_the_sides_nor_the_unit_of_weights_matter():
    items, votes = study(weights=True)
    base = compare(MODELS, items, votes)
    assert_same(base, compare(MODELS, items, votes.sample(frac=1, random_state=1)))
    swapped = votes.rename(columns={"left": "right", "right": "left"}).assign(
        winner=votes["winner"].replace({"left": "right", "right": "left"})
    )
    assert_same(base, compare(MODELS, items, swapped))
    assert_same(base, compare(MODELS, items, votes.assign(weight=7 * votes["weight"])))
    assert_same(base, compare(MODELS, items, votes[votes["weight"] > 0]))
    assert base.score("plain").value != pytest.approx(
        compare(MODELS, items, votes.drop(columns="weight")).score("plain").value, rel=1e-3
    )


def test_the_order_of_the_models_does_not_matter():
    data = study()
    models = {"plain": QUICK, "ridge": RankRegression(l2=30, inference=None), "fixed": Fixed()}
    one, other = compare(models, *data), compare(dict(reversed(models.items())), *data)
    for kind in KINDS:
        for measure in MEASURES:
            assert one.best(kind, measure) == other.best(kind, measure)
            assert one.sentence(kind, measure) == other.sentence(kind, measure)
            for a in models:
                assert one.score(a, kind, measure) == other.score(a, kind, measure)
                for b in models:
                    assert one.difference(a, b, kind, measure) == other.difference(
                        a, b, kind, measure
                    )
    assert one.in_words == other.in_words


def test_ties_count_half_in_the_log_loss_and_nothing_in_the_accuracy():
    items, votes = study(ties=0.5)
    X, y = Comparisons.from_frames(items, votes)
    tied, decided = compare([Fixed()], X, y), compare([Fixed()], X, np.where(y == 0, 1, y))
    assert tied.values[2, 0, 0] != decided.values[2, 0, 0]
    all_tied = compare([Fixed()], items, votes.assign(winner="tie"))
    assert np.isnan(all_tied.score("Fixed", measure="accuracy").value)
    assert np.isnan(all_tied.score("Fixed", measure="misordered").std_error)
    assert all_tied.score("Fixed").value > np.log(2)
    assert all_tied.score("Fixed", measure="calibration_slope").value == pytest.approx(0, abs=1e-9)


# -- coverage ----------------------------------------------------------------------------------------

TRUTH = Population(
    beta=[1.0, 0.0], mean=[0.0, 0.0], covariance=np.eye(2), slope=1.5, item_effect=1.5
)
COEFS = {"near": (1.2, 0.2), "far": (0.8, 0.9)}


def law(coef):
    """Spread of a model's difference m = coef'(x_left - x_right), and E[f(true difference) | m],
    item effects averaged out.
    """
    spread, along = np.sqrt(2) * np.linalg.norm(coef), 1.5 * coef[0] / (coef[0] ** 2 + coef[1] ** 2)
    # item effects and what of the score m leaves open
    rest = np.sqrt(2 * 1.5**2 + 2 * 1.5**2 - (along * spread) ** 2)
    return spread, lambda m: float(WEIGHTS @ expit(along * m + rest * NODES))


def mean_over_pairs(function, spread):
    """E function(m) for m ~ N(0, spread^2) and an even function."""
    return 2 * quad(lambda z: function(spread * z) * norm.pdf(z), 0, 9)[0]


def expected(coef):
    """What log-loss, accuracy and calibration slope of a fixed model are on average over all pairs
    of items there could be.
    """
    spread, wins = law(coef)
    loss = mean_over_pairs(lambda m: np.logaddexp(0, -m) + (1 - wins(m)) * m, spread)
    right = mean_over_pairs(wins, spread)
    slope = brentq(
        lambda b: mean_over_pairs(lambda m: (wins(m) - expit(b * m)) * m, spread), 0.01, 5
    )
    return {"log_loss": loss, "accuracy": right, "calibration_slope": slope}


def z_scores(n_draws, seed):
    """Deviations from the truth over their errors, and the rival's.

    Each tested row as if independent of the others.
    """
    truth, rng = {name: expected(coef) for name, coef in COEFS.items()}, np.random.default_rng(seed)
    models = {name: Fixed(coef) for name, coef in COEFS.items()}
    z, rival = {}, []
    for _ in range(n_draws):
        X, _ = Comparisons.from_frames(
            *TRUTH.draw(120, 1200, rng, second_half=False, self_pairs=False)
        )
        found = compare(models, X)
        for kind in KINDS:
            for measure in truth["far"]:
                score = found.score("far", kind, measure)
                z.setdefault((kind, measure), []).append(
                    (score.value - truth["far"][measure]) / score.std_error
                )
            gap = found.difference("far", "near", kind)
            z.setdefault((kind, "difference"), []).append(
                (gap.value - truth["far"]["log_loss"] + truth["near"]["log_loss"]) / gap.std_error
            )
        fold, scores = ItemKFold(5).fold_of_item(X), X.items.values @ COEFS["far"]
        loss = np.logaddexp(0, -X.outcome * (scores[X.left] - scores[X.right]))
        mixed = loss[fold[X.left] != fold[X.right]].repeat(2)  # two folds test them
        rival.append(
            (mixed.mean() - truth["far"]["log_loss"]) / (mixed.std() / np.sqrt(len(mixed)))
        )
    return {key: np.array(values) for key, values in z.items()}, np.array(rival)


def test_errors_cover_the_expected_loss_of_fixed_models_over_fresh_items_and_independent_rows_do_not():
    """Shares of 95 % intervals that hold the truth.

    None significantly outside 92 to 98 %, the rival's far below.
    """
    n_draws = 500
    z, rival = z_scores(n_draws, seed=1)
    reach = norm.isf(LEVEL / len(z)) / np.sqrt(n_draws)
    low, high = 0.92 - reach * np.sqrt(0.92 * 0.08), 0.98 + reach * np.sqrt(0.98 * 0.02)
    shares = {key: np.mean(np.abs(values) < 1.959964) for key, values in z.items()}
    assert all(low < share < high for share in shares.values()), shares
    assert np.mean(np.abs(rival) < 1.959964) < low - 0.1


# -- words and tables --------------------------------------------------------------------------------


def made_up(value, error, gap_error, kind="new-new", measure="log_loss", n_new=512):
    """A result with known numbers in one place."""
    models = tuple(["ridge", "plain", "forest"][: len(value)])
    shape = (len(KINDS), len(MEASURES), len(models))
    values, errors, gap_errors = (
        np.full(shape, 0.5),
        np.full(shape, 0.01),
        np.full((*shape, len(models)), 0.02),
    )
    place = list(KINDS).index(kind), list(MEASURES).index(measure)
    values[place], errors[place], gap_errors[place] = value, error, gap_error
    counts = {
        "train-train": Counts(1000, 900, 80, (500, 500)),
        "train-new": Counts(1, 1, 2, (0, 1)),
        "new-new": Counts(n_new, 300, 80, (256, 256)),
    }
    return ModelComparison(models, counts, values, errors, gap_errors, "items", ())


@pytest.mark.parametrize(
    ("result", "where", "sentence"),
    [
        (
            made_up([0.512, 0.533], [0.011, 0.012], 0.006),
            (),
            (
                "'ridge' has the lowest log-loss on pairs of new items (0.512 ± 0.011), 0.0210 ±"
                " 0.0060 below 'plain'."
            ),
        ),
        (
            made_up([0.533, 0.512], [0.011, 0.012], 0.011),
            (),
            (
                "'plain' has the lowest log-loss on pairs of new items (0.512 ± 0.012), 0.021 ±"
                " 0.011 below 'ridge', which may be chance."
            ),
        ),
        (
            made_up([0.7, 0.75, 0.8], 0.01, 0.02, "train-new", "accuracy"),
            ("train-new", "accuracy"),
            (
                "'forest' has the highest accuracy on pairs of a known and a new item (0.800 ±"
                " 0.010), 0.050 ± 0.020 above 'plain'."
            ),
        ),
        (
            made_up([1.3, 0.95, np.inf], 0.01, 0.02, "train-train", "calibration_slope"),
            ("train-train", "calibration_slope"),
            (
                "'plain' has the calibration slope closest to 1 on unseen comparisons of known"
                " items (0.950 ± 0.010), 0.350 ± 0.020 below 'ridge'."
            ),
        ),
        (
            made_up([1.3, 0.95], [0.2, 0.2], 0.02, "train-train", "calibration_slope"),
            ("train-train", "calibration_slope"),
            (
                "'plain' has the calibration slope closest to 1 on unseen comparisons of known"
                " items (0.950 ± 0.200), 0.350 ± 0.020 below 'ridge', which may be chance."
            ),
        ),
        (
            made_up([0.5, np.nan, 0.5], 0.01, 0.02, "new-new", "misordered"),
            ("new-new", "misordered"),
            (
                "'forest' has the lowest share of misordered pairs on pairs of new items (0.500 ±"
                " 0.010), the same as 'ridge'."
            ),
        ),
        (
            made_up([0.5], 0.01, 0.0),
            (),
            "'ridge' has the log-loss 0.500 ± 0.010 on pairs of new items.",
        ),
    ],
)
def test_a_sentence_says_who_is_best_and_by_how_much(result, where, sentence):
    assert result.sentence(*where) == sentence
    assert result.best(*where) == sentence.split("'")[1]


def test_the_slope_nearest_one_is_the_best_and_not_the_largest():
    assert (
        made_up([1.3, 0.95, 0.2], 0.01, 0.02, "new-new", "calibration_slope").best(
            measure="calibration_slope"
        )
        == "plain"
    )


def test_a_score_shows_two_digits_of_its_error():
    assert [str(Score(0.5, error)) for error in (0.2, 0.011, 0.0004, 0.0, 1e-17, np.nan)] == [
        "0.500 ± 0.200", "0.500 ± 0.011", "0.50000 ± 0.00040", "0.500 ± 0.000", "0.500 ± 0.000", "0.500 ± unknown",
    ]  # fmt: skip


def test_the_table_has_a_line_for_each_model_under_each_kind():
    text = str(made_up([0.512, 0.533], [0.011, 0.012], 0.006))
    assert text.splitlines()[12:] == [
        "  new-new, pairs of new items: 512 comparisons, 300 pairs, 80 items",
        (
            "                 accuracy       log-loss          slope   calib. error     misordered "
            " log-loss - ridge"
        ),
        "     ridge  0.500 ± 0.010  0.512 ± 0.011  0.500 ± 0.010  0.500 ± 0.010  0.500 ± 0.010",
        (
            "     plain  0.500 ± 0.010  0.533 ± 0.012  0.500 ± 0.010  0.500 ± 0.010  0.500 ± 0.010 "
            "  0.0210 ± 0.0060"
        ),
        "",
        (
            "'ridge' has the lowest log-loss on pairs of new items (0.512 ± 0.011), 0.0210 ± 0.0060"
            " below 'plain'."
        ),
    ]
    assert (
        "  train-new, pairs of a known and a new item: 1 comparison, 1 pair, 2 items, none in 1 of"
        " 2 folds" in text
    )
    assert repr(made_up([0.5], 0.01, 0.0)) == str(made_up([0.5], 0.01, 0.0))


def test_every_line_of_a_real_table_ends_at_the_same_column():
    lines = str(
        compare({"plain": QUICK, "a model with a long name": Fixed()}, *study())
    ).splitlines()
    last = [line for line in lines if line.startswith("     a model")]
    heads = [line for line in lines if line.rstrip().endswith("log-loss - plain")]
    assert len(last) == len(heads) == 3
    assert all(len(one) == len(two) for one, two in zip(last, heads, strict=True))


def test_columns_frames_and_records_hold_the_same_numbers():
    found = compare({"plain": QUICK, "fixed": Fixed()}, *study())
    columns = found.to_columns()
    assert {len(column) for column in columns.values()} == {3 * 2 * 5}
    for kind, model, measure, value, error, gap, gap_error, n_comparisons in zip(
        *columns.values(), strict=True
    ):
        assert found.score(model, kind, measure) == Score(value, error)
        assert found.difference(model, "plain", kind, measure) == Score(gap, gap_error)
        assert n_comparisons == found.counts[kind].n_comparisons
    pd.testing.assert_frame_equal(found.to_frame(), pd.DataFrame(columns))
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    record = json.loads(json.dumps(found.to_record(), allow_nan=False))
    assert record["scores"] == [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    assert record["in_words"] == found.in_words
    assert record["models"] == ["plain", "fixed"]
    assert (
        sum(record["counts"]["new-new"]["rows_of_folds"])
        == record["counts"]["new-new"]["n_comparisons"]
    )


# -- kinds of which there are none -------------------------------------------------------------------


def across_thirds(n_items=30, n_comparisons=300):
    """Items whose row numbers are equal modulo three never meet.

    Without a shuffle no fold of three has two of its items compared.
    """
    rng = np.random.default_rng(0)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.choice([1, 2, 4, 5, 7, 8], n_comparisons)) % n_items
    X = rng.normal(size=(n_items, 2))
    won = rng.random(n_comparisons) < expit(X[left, 0] - X[right, 0])
    return X, np.column_stack([np.where(won, left, right), np.where(won, right, left)])


def test_a_kind_without_comparisons_is_unknown_and_said_to_be():
    found = compare(
        {"plain": QUICK, "fixed": Fixed()}, *across_thirds(), cv=ItemKFold(3, shuffle=False)
    )
    assert found.counts["new-new"] == Counts(0.0, 0, 0, (0, 0, 0))
    for measure in MEASURES:
        assert np.isnan(
            [
                found.score("plain", "new-new", measure).value,
                found.score("plain", "new-new", measure).std_error,
            ]
        ).all()
        assert np.isnan(found.difference("plain", "fixed", "new-new", measure).std_error)
        assert np.isfinite(found.score("plain", "train-new", measure).std_error)
    assert "  new-new, pairs of new items: none, so nothing is known" in str(found)
    assert found.in_words.startswith("No pairs of new items could be tested. ")
    assert "on pairs of a known and a new item (" in found.in_words
    assert {row["value"] for row in found.to_record()["scores"] if row["kind"] == "new-new"} == {
        None
    }
    with pytest.raises(PairscoreError) as caught:
        found.best()
    assert (
        str(caught.value)
        == "no model has a known log-loss on pairs of new items, of which 0 comparisons could be"
        " tested; use fewer folds, more comparisons, or another kind or measure."
    )


def test_items_that_meet_no_others_are_only_tested_as_new_ones():
    """Three pairs, each of one fold.

    Of the two that are left to train on, the one set aside is of unknown items.
    """
    X, _ = Comparisons.from_frames(np.arange(6.0)[:, None], np.array([[0, 3], [1, 4], [2, 5]] * 2))
    found = compare([Fixed((1.0,))], X, cv=ItemKFold(3, shuffle=False))
    assert [found.counts[kind].n_comparisons for kind in KINDS] == [0, 0, 6]
    assert "train-train, unseen comparisons of known items: none, so nothing is known" in str(found)


def test_a_single_comparison_has_a_loss_without_an_error():
    items, votes = across_thirds()
    found = compare([Fixed()], items, np.vstack([votes, [0, 3]]), cv=ItemKFold(3, shuffle=False))
    assert found.counts["new-new"] == Counts(1.0, 1, 2, (1, 0, 0))
    assert found.score("Fixed").value == pytest.approx(
        np.logaddexp(0, items[3, 0] - items[0, 0]), rel=1e-9
    )
    assert np.isnan(found.score("Fixed").std_error)
    assert (
        "new-new, pairs of new items: 1 comparison, 1 pair, 2 items, none in 2 of 3 folds"
        in str(found)
    )
    assert found.in_words.endswith("± unknown on pairs of new items.")


# -- models of every kind ----------------------------------------------------------------------------


def test_pipelines_and_searches_are_models_too():
    models = {
        "components": make_pipeline(OnItems(PCA(1)), QUICK),
        "search": GridSearchCV(QUICK, {"l2": [0.1, 10.0]}, cv=ItemKFold(2)),
        "by hand": QUICK,
    }
    found = compare(models, *study())
    assert found.score("by hand").value == pytest.approx(found.score("search").value, abs=0.05)
    assert found.best() != "components"


def test_a_model_with_ties_as_a_class_gives_half_of_them_to_left():
    class Tying(Fixed):
        def fit(self, X, y):
            self.classes_ = np.array([-1, 0, 1])
            return self

        def predict_proba(self, X):
            left = super().predict_proba(X)[:, 1]
            return np.column_stack([0.8 * (1 - left), np.full(len(left), 0.2), 0.8 * left])

    class Halved(Fixed):
        def predict_proba(self, X):
            left = 0.1 + 0.8 * super().predict_proba(X)[:, 1]
            return np.column_stack([1 - left, left])

    found = compare([Tying(), Halved()], *study())
    np.testing.assert_allclose(found.values[..., 0], found.values[..., 1], rtol=1e-9)


def test_models_of_a_list_are_named_by_class_or_settings():
    data = study()
    assert compare([QUICK, Fixed()], *data).models == ("RankRegression", "Fixed")
    assert compare([make_pipeline(OnItems(PCA(1)), QUICK), QUICK], *data).models == (
        "OnItems > RankRegression",
        "RankRegression",
    )
    assert compare((Fixed((1.0, 2.0)), Fixed()), *data).models == (
        "Fixed(coef=(1.0, 2.0))",
        "Fixed()",
    )
    assert compare([Fixed(), Fixed(side=1.0), Fixed()], *data).models == (
        "Fixed() (1)",
        "Fixed(side=1.0)",
        "Fixed() (3)",
    )


def test_warnings_of_the_fits_are_kept_once_for_each_model():
    found = compare({"items": RankRegression(), "none": QUICK}, *study())
    (note,) = found.notes
    assert note.startswith("'items' in 5 of 5 folds: with 3")
    assert str(found).splitlines()[-1] == f"Warning: {note}"
    assert found.to_record()["warnings"] == [note]


@pytest.mark.filterwarnings("error::pairscore.errors.FewItemsWarning")
def test_a_warning_made_an_error_by_the_user_is_one():
    with pytest.raises(
        PairscoreError,
        match=(
            r"^the model 'items' failed in fold 0 of 5 \(\d+ training comparisons\):"
            r" FewItemsWarning: with 3"
        ),
    ) as caught:
        compare({"items": RankRegression()}, *study())
    assert isinstance(caught.value.__cause__, FewItemsWarning)


# -- errors ------------------------------------------------------------------------------------------


class Broken(Fixed):
    """Fails in the third fold, or says what is no probability."""

    def __init__(self, how="fit"):
        super().__init__()
        self.how = how

    def fit(self, X, y):
        SEEN.append(X)
        if self.how == "fit" and len(SEEN) == 3:
            raise RuntimeError("out of luck")
        self.classes_ = np.array([0.0, 5.0]) if self.how == "classes" else np.array([-1, 1])
        return self

    def predict_proba(self, X):
        said = super().predict_proba(X)
        return {"nan": said * np.nan, "logit": said - 1, "one column": said[:, :1]}.get(
            self.how, said
        )


@pytest.mark.parametrize(
    ("how", "fold", "reason"),
    [
        ("fit", 2, "RuntimeError: out of luck"),
        (
            "nan",
            0,
            "it predicted something else than 2 probabilities from 0 to 1 for each comparison.",
        ),
        (
            "logit",
            0,
            "it predicted something else than 2 probabilities from 0 to 1 for each comparison.",
        ),
        (
            "one column",
            0,
            "it predicted something else than 2 probabilities from 0 to 1 for each comparison.",
        ),
        (
            "classes",
            0,
            (
                "its classes are [0.0, 5.0]; give a model whose classes are -1 (right won) and 1"
                " (left won)."
            ),
        ),
    ],
)
def test_a_model_that_fails_is_named_with_its_fold(how, fold, reason):
    SEEN.clear()
    with pytest.raises(PairscoreError) as caught:
        compare({"plain": Fixed(), "odd": Broken(how)}, *study())
    words = str(caught.value)
    assert words.startswith(f"the model 'odd' failed in fold {fold} of 5 (")
    assert words.endswith(f" training comparisons): {reason}")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda X: compare({}, X),
            (
                "models is {}; give a dict from name to estimator, or a list of estimators, with at"
                " least one."
            ),
        ),
        (
            lambda X: compare("mle", X),
            (
                "models is 'mle'; give a dict from name to estimator, or a list of estimators, with"
                " at least one."
            ),
        ),
        (
            lambda X: compare({1: QUICK}, X),
            "a model is called 1; give text as the name of every model.",
        ),
        (
            lambda X: compare([PCA()], X),
            "the model 'PCA' is a PCA and lacks fit or predict_proba; give estimators with both.",
        ),
        (
            lambda X: compare([QUICK], X, cv=KFold(3)),
            (
                "cv is KFold(n_splits=3, random_state=None, shuffle=False), but models are compared"
                " on held-out items; use ItemKFold or a number of folds."
            ),
        ),
        (
            lambda X: compare([QUICK], X, cv=50),
            (
                "n_splits is 50, and the comparisons are of 40 items; use a whole number from 2 to"
                " the number of items."
            ),
        ),
        (
            lambda X: compare([QUICK], X.items.values),
            "y is missing: give votes beside the items, or Comparisons.",
        ),
        (
            lambda X: compare([QUICK], X[:0]),
            "there are no comparisons, or all of them count zero; give some that count.",
        ),
        (
            lambda X: compare([QUICK], X[:1], cv=2),
            "fold 0 of 2 has no training comparison; use other folds or more comparisons.",
        ),
        (
            lambda X: made_up([0.5], 0.1, 0.0).best("old-old"),
            "kind is 'old-old'; use 'train-train', 'train-new', 'new-new'.",
        ),
        (
            lambda X: made_up([0.5], 0.1, 0.0).best(measure="auc"),
            (
                "measure is 'auc'; use 'accuracy', 'log_loss', 'calibration_slope',"
                " 'calibration_error', 'misordered'."
            ),
        ),
        (
            lambda X: made_up([0.5, 0.6], 0.1, 0.0).score("lasso"),
            "no model is called 'lasso'; the models are 'ridge', 'plain'.",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(PairscoreError) as caught:
        call(Comparisons.from_frames(*study())[0])
    assert str(caught.value) == sentence


def test_ties_count_also_behind_a_pipeline_and_a_search():
    rng = np.random.default_rng(12)
    X, left = rng.normal(size=(60, 2)), rng.integers(0, 60, 900)
    right = (left + rng.integers(1, 60, 900)) % 60
    loss, _, win = TieRule("davidson", get_link("logit")).probabilities(
        (X[left] - X[right]) @ [1.0, -0.5], 0.5
    )
    chance = rng.random(900)
    votes = {
        "left": left,
        "right": right,
        "winner": np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie")),
    }
    bare = RankRegression(ties="davidson", inference=None)
    models = {
        "bare": bare,
        "scaled": make_pipeline(OnItems(StandardScaler()), bare),
        "alone": make_pipeline(bare),
        "searched": GridSearchCV(bare, {"l2": [1e-9]}, cv=ItemKFold(3)),
    }
    scores = compare(models, X, votes, cv=ItemKFold(3)).to_record()["scores"]
    for kind in ("train-train", "train-new", "new-new"):
        values = [
            one["value"] for one in scores if (one["kind"], one["measure"]) == (kind, "log_loss")
        ]
        assert len(values) == 4
        np.testing.assert_allclose(values, values[0], rtol=1e-4)
