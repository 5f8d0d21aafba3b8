"""compare: the same by hand, errors that cover the truth over fresh items, refusals."""

from collections import Counter

import numpy as np
import pytest
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairscore import (
    Comparisons,
    ItemKFold,
    OnItems,
    PairscoreError,
    Population,
    RankRegression,
    WithoutFeatures,
    compare,
)
from pairscore.core.links import get_link
from pairscore.core.ties import TieRule
from pairscore.errors import FewItemsWarning
from pairscore.evaluation.compare import KINDS, Counts, drop_features
from pairscore.evaluation.measures import MEASURES, MeasuredComparisons, Score
from tests.evaluation.coverage import z_scores
from tests.evaluation.twins import QUICK, SEEN, TWINS, Fixed, Witness, naive_variance, study
from tests.limits import fair_squares


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
    data = MeasuredComparisons(
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
                independent = np.sum(one.influence**2 / one.count)
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


def test_ties_count_in_no_measure():
    items, votes = study(ties=0.5)
    X, y = Comparisons.from_frames(items, votes)
    tied, decided = compare([Fixed()], X, y), compare([Fixed()], X, np.where(y == 0, 1, y))
    assert tied.values[2, 0, 0] != decided.values[2, 0, 0]
    all_tied = compare([Fixed()], items, votes.assign(winner="tie"))
    assert np.isnan(all_tied.values).all()
    assert np.isnan(all_tied.std_errors).all()


def test_errors_cover_the_expected_loss_of_fixed_models_over_fresh_items():
    """Squared z-scores of every measure; those of rows taken for independent must be too large.

    ``make studies`` counts the intervals that hold the truth in many more draws.
    """
    n_draws = 150
    z, rival = z_scores(n_draws, seed=1)
    low, high = fair_squares(n_draws, n_sums=len(z), covered=(0.92, 0.98))
    squares = {key: np.sum(values**2) for key, values in z.items()}
    assert all(low < total < high for total in squares.values()), squares
    assert np.sum(rival**2) > high


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
    assert "  new-new, pairs of new items: none, so nothing can be said" in str(found)
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
    assert "train-train, unseen comparisons of known items: none, so nothing can be said" in str(
        found
    )


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


def test_pipelines_and_searches_are_models_too():
    models = {
        "components": make_pipeline(OnItems(PCA(1)), QUICK),
        "search": GridSearchCV(QUICK, {"l2": [0.1, 10.0]}, cv=ItemKFold(2)),
        "by hand": QUICK,
    }
    found = compare(models, *study())
    assert found.score("by hand").value == pytest.approx(found.score("search").value, abs=0.05)
    assert found.best() != "components"


def test_a_model_with_ties_as_a_class_is_asked_about_decided_comparisons():
    class Tying(Fixed):
        def fit(self, X, y):
            self.classes_ = np.array([-1, 0, 1])
            return self

        def predict_proba(self, X):
            left = super().predict_proba(X)[:, 1]
            return np.column_stack([0.8 * (1 - left), np.full(len(left), 0.2), 0.8 * left])

    found = compare([Tying(), Fixed()], *study())
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
    assert str(note).startswith("'items' in 5 of 5 folds: with 3")
    assert str(found).splitlines()[-1] == f"Warning: {note}"
    assert found.to_record()["warnings"] == [str(note)]


@pytest.mark.filterwarnings("error::pairscore.errors.FewItemsWarning")
def test_a_warning_made_an_error_by_the_user_is_one():
    with pytest.raises(
        PairscoreError,
        match=(
            r"^the model 'items' failed in fold 1 of 5 \(\d+ training comparisons\):"
            r" FewItemsWarning: with 3"
        ),
    ) as caught:
        compare({"items": RankRegression()}, *study())
    assert isinstance(caught.value.__cause__, FewItemsWarning)


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
        ("fit", 2, "RuntimeError: out of luck."),
        (
            "nan",
            0,
            "it did not predict 2 probabilities from 0 to 1 for each comparison.",
        ),
        (
            "logit",
            0,
            "it did not predict 2 probabilities from 0 to 1 for each comparison.",
        ),
        (
            "one column",
            0,
            "it did not predict 2 probabilities from 0 to 1 for each comparison.",
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
    assert words.startswith(f"the model 'odd' failed in fold {fold + 1} of 5 (")
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
            "y is missing; give comparisons with the items, or Comparisons.",
        ),
        (
            lambda X: compare([QUICK], X[:0]),
            "there are no comparisons, or all of them count zero; give some that count.",
        ),
        (
            lambda X: compare([QUICK], X[:1], cv=2),
            "fold 1 of 2 has no training comparison; use other folds or more comparisons.",
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


def test_a_classifier_of_scikit_learn_is_a_model_too():
    """On differences, without ridge and intercept, logistic regression is our likelihood."""
    X, y = Comparisons.from_frames(*study(60, 900, ties=0.0, seed=3))
    same = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8)
    forest = make_pipeline(OnItems(StandardScaler()), RandomForestClassifier(20, random_state=0))
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 10.0]}, cv=ItemKFold(3))
    models = {"ours": RankRegression(inference=None), "theirs": same, "rf": forest, "cv": search}
    found = compare(models, X, y)
    for kind in KINDS:
        ours, theirs = (found.score(name, kind, "log_loss").value for name in ("ours", "theirs"))
        assert theirs == pytest.approx(ours, abs=1e-4)
    assert 0.5 < found.score("rf", "train-train", "accuracy").value < 1
    scores = cross_val_score(same, X, y, cv=ItemKFold(3))
    np.testing.assert_allclose(
        scores, cross_val_score(RankRegression(), X, y, cv=ItemKFold(3)), atol=1e-9
    )


def test_weights_reach_a_classifier_of_scikit_learn():
    heavy, _ = Comparisons.from_frames(*study(50, 500, ties=0.0, weights=True, seed=4))
    theirs = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8)
    models = {"ours": RankRegression(inference=None), "theirs": theirs}
    models["search"] = GridSearchCV(make_pipeline(OnItems(StandardScaler()), theirs), {}, cv=3)
    found = compare(models, heavy)
    losses = [found.score(name, "new-new", "log_loss").value for name in models]
    np.testing.assert_allclose(losses, losses[0], atol=1e-4)


def test_ties_are_a_class_to_a_classifier_of_scikit_learn():
    X, y = Comparisons.from_frames(*study(50, 500, seed=5))
    found = compare([LogisticRegression(fit_intercept=False), RankRegression(inference=None)], X, y)
    one, two = (found.score(name, "train-train", "log_loss").value for name in found.models)
    assert one == pytest.approx(two, abs=0.05)


# -- abilities -------------------------------------------------------------------------------------


def test_do_features_help_beyond_abilities_is_asked_of_known_items():
    """A model that ignores features is that of comparisons alone, on the same folds of pairs."""
    items, votes = Population(n_features=3, rng=0).draw(30, 600, rng=1, second_half=False)
    models = {"features": RankRegression(inference=None)}
    found = compare(models | {"abilities": WithoutFeatures(RankRegression())}, items, votes)
    data = drop_features(Comparisons.from_frames(items, votes)[0])
    alone = compare({"abilities": RankRegression()}, data)
    assert found.only_known
    assert found.counts["new-new"].n_comparisons == found.counts["train-new"].n_comparisons == 0
    for measure in MEASURES:
        score = found.score("abilities", "train-train", measure)
        assert score.value == pytest.approx(
            alone.score("abilities", "train-train", measure).value, rel=1e-9
        )
    assert "so none were held out" in found.in_words
    assert "train-new" not in str(found)


def test_folds_side_by_side_give_the_same_numbers_and_warnings():
    items, votes = Population(n_features=3, rng=0).draw(40, 300, rng=1, second_half=False)
    models = {"plain": RankRegression(), "ridge": RankRegression(l2=5.0)}
    told = []
    progress = lambda *done_of: told.append(done_of)  # noqa: E731
    one, two = (compare(models, items, votes, n_jobs=n, progress=progress) for n in (1, 2))
    assert told == 2 * [(number, 10) for number in range(1, 11)]
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.std_errors, two.std_errors)
    assert one.notes == two.notes
    with pytest.raises(PairscoreError, match="the model 'bad' failed in fold 1 of 5"):
        compare({"bad": RankRegression(l2=-1.0), "plain": RankRegression()}, items, votes, n_jobs=2)
