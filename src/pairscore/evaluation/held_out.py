"""Held-out comparisons: which are set aside, and the loss of settings on them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from pairscore.core.comparison_means import InfluenceSums, influence_sums
from pairscore.core.incidence import ItemPairs
from pairscore.core.threads import one_blas_thread
from pairscore.data.comparisons import Comparisons
from pairscore.data.recipe import recipe_of, with_curves
from pairscore.data.splitters import ItemKFold
from pairscore.errors import PairscoreError
from pairscore.estimators.ridge_choice import RidgeCurve
from pairscore.estimators.settings import Settings, check_settings
from pairscore.evaluation.measures import MeasuredComparisons, Score, log_loss
from pairscore.messages import Message
from pairscore.model.contrasts import straightness_tests
from pairscore.model.fit import Fit
from pairscore.model.fit_comparisons import fit_comparisons
from pairscore.model.predict import outcome_probabilities
from pairscore.parallel import ALONE, Workers

FOLDS = {"known": 3, "new": 4}
ENOUGH_NEW = 300  # comparisons of two held-out items, below which one of them may be in training
MOST_FOLDS = 3  # of these, which are fitted: more tests would take longer than they tell
FEWER_FOLDS = 2  # where a fit takes long: item effects in many comparisons
QUICK = 2000  # comparisons up to which a fit with item effects takes a fraction of a second
ENOUGH = 50_000  # held-out comparisons, after which no further fold is needed
TERMS = {"curves", "smooth"}  # settings of how features are made
Folds = list[tuple[np.ndarray, np.ndarray]]  # rows to train on, rows to test on


def assign_pairs(data: Comparisons, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    """A part for every comparison, the same for all of a pair: one answer tells the others."""
    pairs, pair = np.unique(data.pair, return_inverse=True)
    return (rng.permutation(len(pairs)) % n_parts)[pair]


def linking(data: Comparisons, aside: np.ndarray) -> np.ndarray:
    """Comparisons of the mask ``aside`` (M) without which items would lose their link to others.

    Abilities have a common scale only where comparisons link the items. Of a spanning tree that has
    as few of the pairs that are set aside as possible, it is those; decided ones come first, since
    ties may be left out.
    """
    pairs, first, pair = np.unique(data.pair, return_index=True, return_inverse=True)
    n = len(data.items)
    low, high = (end.astype(np.int32) for end in np.divmod(pairs, n))  # SciPy 1.16 takes no others
    decided = np.bincount(pair, data.outcome != 0, len(pairs)) > 0
    cost = np.where(low != high, 1.0 + 2 * aside[first] + ~decided, 0.0)
    tree = minimum_spanning_tree(sparse.csr_array((cost, (low, high)), shape=(n, n))).tocoo()
    return aside & np.isin(data.pair, tree.row.astype(np.int64) * n + tree.col)


def split_comparisons(
    data: Comparisons, held_out: np.ndarray, aside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows, and how many items of each test row are new.

    ``held_out`` marks items, ``aside`` comparisons. An item against itself tests nothing.
    """
    left, right = held_out[data.left], held_out[data.right]
    train = ~left & ~right & ~aside
    known = data[train].compared
    testable = (left | known[data.left]) & (right | known[data.right]) & (data.left != data.right)
    test = ~train & testable
    return np.flatnonzero(train), np.flatnonzero(test), (left.astype(int) + right)[test]


# -- settings ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOutLoss:
    """Mean log-loss of a model on held-out comparisons, and each item's part in it.

    ``chances`` has the predicted probabilities, an array for each fold.
    """

    score: Score
    sums: InfluenceSums
    chances: list[np.ndarray]


@dataclass(frozen=True)
class HeldOutTests:
    """Comparisons with the rows (train, test) of each fold."""

    data: Comparisons
    use: str
    folds: Folds
    tested: MeasuredComparisons
    pairs: ItemPairs
    ridges: dict[tuple[Any, ...], RidgeCurve] = field(default_factory=dict)
    workers: Workers = ALONE
    with_more: dict[tuple[Any, ...], "HeldOutTests"] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Comparisons, use: str, folds: Folds) -> "HeldOutTests":
        part = data[np.concatenate([test for _, test in folds])]
        fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
        tested = MeasuredComparisons.of(part, fold)
        group = ItemKFold(2).group_of_item(data)
        return cls(data, use, folds, tested, ItemPairs(group[part.left], group[part.right]))

    def first(self, n_folds: int) -> "HeldOutTests":
        """The tests of some folds."""
        fewer = HeldOutTests.of(self.data, self.use, self.folds[:n_folds])
        return replace(fewer, ridges=self.ridges, workers=self.workers)

    def with_terms(self, settings: dict[str, Any]) -> "HeldOutTests":
        """The same tests of comparisons whose items have the terms of these settings."""
        key = tuple(settings.get(name) for name in sorted(TERMS))
        if key not in self.with_more:
            self.with_more[key] = replace(self, data=of_terms(self.data, settings), ridges={})
        return self.with_more[key]

    def bent(self, level: float) -> tuple[str, ...]:
        """The curves that are not straight by a test of this level in all comparisons, in a plain
        fit; all of them where there is no test.
        """
        fit, _ = fit_comparisons(self.data, check_settings(inference="items"))
        tests = straightness_tests(fit)
        names = recipe_of(fit).curves
        return tuple(n for n, test in zip(names, tests, strict=True) if not test.p > level)

    @property
    def n_tested(self) -> int:
        """Decided comparisons that are tested; once, though both items may be held out in turn."""
        once = np.unique(np.concatenate([test for _, test in self.folds]))
        tested = MeasuredComparisons.of(self.data[once], np.zeros(len(once), dtype=int))
        return round(float(tested.count[tested.outcome != 0].sum()))

    def measure(self, settings: dict[str, Any]) -> tuple[HeldOutLoss | None, Message | None]:
        """The held-out loss of a model with these settings, or the reason why there is none."""
        if TERMS & {*settings}:
            return self.with_terms(settings).measure(of_models(settings))
        checked = check_settings(**settings | {"inference": None})
        takes_long = checked.item_effects and self.data.items.values.shape[1] > 0
        if takes_long and len(self.data) > QUICK and len(self.folds) > FEWER_FOLDS:
            return self.first(FEWER_FOLDS).measure(settings)
        # chosen once for each fold and all that it depends on
        keys = [(number, *_ridge_depends_on(checked)) for number in range(len(self.folds))]
        jobs = (
            partial(
                _fit_and_predict,
                self.data[train],
                self.data[test],
                self._with_known_ridge(checked, key),
                self._first_ridge(key),
                self.use == "new",
            )
            for (train, test), key in zip(self.folds, keys, strict=True)
        )
        try:
            chances, ridges = zip(*self.workers.each(jobs, in_threads=True), strict=True)
        except PairscoreError as error:
            return None, error.message
        chosen = zip(keys, ridges, strict=True)
        self.ridges.update((key, ridge) for key, ridge in chosen if ridge)
        return self.loss(list(chances)), None

    def _first_ridge(self, key: tuple[Any, ...]) -> RidgeCurve | None:
        """That without item effects, from which one beside them is chosen."""
        return self.ridges.get((*key[:-1], False))

    def _with_known_ridge(self, settings: Settings, key: tuple[Any, ...]) -> Settings:
        """Settings with the ridge beside item effects, if it has been chosen."""
        beside = settings.item_effects and settings.holds_items_out
        ridge = self.ridges.get(key) if beside else None
        if ridge is None:
            return settings
        return replace(settings, l2=ridge.chosen, choose_l2=False)

    def gain(self, before: HeldOutLoss, after: HeldOutLoss) -> Score:
        """How much lower the loss of the second model is, on the comparisons that tested both."""
        n_folds = min(len(before.chances), len(after.chances))
        tests = self if n_folds == len(self.folds) else self.first(n_folds)
        old = tests.loss(before.chances)
        new = tests.loss(after.chances)
        return Score(old.score.value - new.score.value, (old.sums - new.sums).std_error)

    def fit_all(self, settings: dict[str, Any]) -> Fit:
        """The fit to all comparisons, without intervals."""
        if TERMS & {*settings}:
            return self.with_terms(settings).fit_all(of_models(settings))
        checked = check_settings(**settings | {"inference": None})
        known = (
            self._first_ridge((n, *_ridge_depends_on(checked))) for n in range(len(self.folds))
        )
        ridge = next(filter(None, known), None)
        if ridge is not None and checked.holds_items_out:  # near enough for a test
            checked = replace(checked, l2=ridge.chosen, choose_l2=False)
        fit, _ = fit_comparisons(self.data, checked, ridge=ridge)
        return fit

    def loss(self, chances: list[np.ndarray]) -> HeldOutLoss:
        """The loss of what was predicted in these folds, or in these and more."""
        mean = log_loss(self.tested, np.concatenate(chances[: len(self.folds)]))
        sums = influence_sums(mean, self.pairs)
        return HeldOutLoss(Score(mean.value, sums.std_error), sums, chances)


def of_models(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that are those of a model, not of how features are made."""
    return {name: value for name, value in settings.items() if name not in TERMS}


def of_terms(data: Comparisons, settings: dict[str, Any]) -> Comparisons:
    """The comparisons with the curves and the smooth part of the items that settings name."""
    terms = {name: settings[name] for name in TERMS if name in settings}
    return Comparisons.of(with_curves(data.items, **terms), data.votes) if terms else data


def _ridge_depends_on(settings: Settings) -> tuple[Any, ...]:
    """What else than the comparisons decides which ridge is chosen; a side hardly does."""
    return settings.l2_for_known, settings.ties, settings.item_effects


def _fit_and_predict(
    train: Comparisons,
    test: Comparisons,
    settings: Settings,
    ridge: RidgeCurve | None,
    as_new: bool,
) -> tuple[np.ndarray, RidgeCurve | None]:
    """P(left wins) of the test comparisons, and the ridge that was chosen from the others.

    Where both items are wanted ``as_new``, what was learnt of one in training is forgotten.
    """
    with one_blas_thread:
        fit, _ = fit_comparisons(train, settings, ridge=ridge)
        if as_new and fit.item_effects is not None and not fit.item_effects.free:
            fit = replace(fit, item_effects=fit.item_effects.forgotten())
        lose, _, win = outcome_probabilities(fit, test)
    return win / (win + lose), fit.ridge_curve


def hold_out(data: Comparisons, use: str, seed: int) -> Folds:
    """Rows to train on and to test on, until enough are tested."""
    folds: Folds = []
    with suppress(PairscoreError):  # a fold that has nothing to train on, or to test
        for train, test in _folds(data, use, seed):
            enough = sum(len(tested) for _, tested in folds) >= ENOUGH or len(folds) == MOST_FOLDS
            if not enough and len(train) and len(test):
                folds.append((train, test))
    if not folds:
        raise PairscoreError(
            "the comparisons are too few to hold some out; give more, or choose the settings"
            " yourself."
        )
    return folds


def _splits(folds: ItemKFold, data: Comparisons) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Those that there are: a fold may have nothing to train on, or to test."""
    with suppress(PairscoreError):
        yield from folds.split(data)


def _folds(data: Comparisons, use: str, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs are held out for known items, items for new ones."""
    if use == "new":
        n_groups = len(np.unique(ItemKFold(2).group_of_item(data)[data.compared]))
        n_folds = min(FOLDS["new"], n_groups)
        both = ItemKFold(n_folds, random_state=seed, test="both")
        number = sum(len(test) for _, test in list(_splits(both, data))[:MOST_FOLDS])
        enough = number >= ENOUGH_NEW or (number > 0 and data.item_groups is not None)
        touch = ItemKFold(n_folds, random_state=seed, test="touch")
        yield from _splits(both if enough else touch, data)
        return
    fold = assign_pairs(data, FOLDS["known"], np.random.default_rng(seed))
    none_held_out = np.zeros(len(data.items), dtype=bool)
    for number in range(FOLDS["known"]):
        aside = fold == number
        if not data.items.values.shape[1]:
            aside &= ~linking(data, aside)
        train, test, _ = split_comparisons(data, none_held_out, aside)
        yield train, test
