"""auto_fit: the settings that a study needs, each tried on comparisons that were held out.

Starting from plain maximum likelihood without ties, one setting after the other is added: an effect
of the side, ties as half wins or by a rule, a ridge, item effects, a sharpness for every judge.
A setting stays if it lowers the log-loss of held-out comparisons by more than one standard error of
the difference, so that of models that predict equally well the simplest is taken. Item effects have
a test of their own (``item_effects="auto"``), and stay unless held-out comparisons speak against
them. Without features, items have abilities; whether an estimated variance shrinks them is tried in
place of the ridge and of item effects.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pairscore.choices import USES
from pairscore.core.passes import one_blas_thread
from pairscore.core.shares import InfluenceSums, ItemPairs, influence_sums
from pairscore.data.comparisons import Comparisons, refuse_missing_judges
from pairscore.data.folds import ALONE, Progress, Workers, nobody
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.ridge import RidgeCurve
from pairscore.estimators.settings import DEFAULTS, Settings, check_settings
from pairscore.evaluation.compare import assign_pairs, linking, split_comparisons
from pairscore.evaluation.measures import HeldOutComparisons, log_loss
from pairscore.evaluation.results import Choice, Score, Trial
from pairscore.model.fit import fit_comparisons
from pairscore.model.predict import outcome_probabilities
from pairscore.model.regression import RankRegression

FOLDS = {"known": 3, "new": 5}
TRIED, FEWER = 3, 2  # of these folds; fewer where a fit takes long, with item effects
ENOUGH = 50_000  # held-out comparisons, after which no further fold is needed
# time of a fit with a setting, roughly, where a plain one takes 1
COSTS = {"l2": 15, "item_effects": 30, "judge_slopes": 60}
MANY = 1000  # comparisons per feature, from which on a ridge has nothing to gain
Folds = list[tuple[np.ndarray, np.ndarray]]  # rows to train on, rows to test on


def auto_fit(
    X: Any,
    y: Any = None,
    *,
    use: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress = nobody,
    **settings: Any,
) -> Choice:
    """Choose the settings that these comparisons need, and fit.

    Parameters
    ----------
    X, y : items and votes, or Comparisons
        As in ``RankRegression.fit``; items are None where there are comparisons alone.
    use : {"known", "new"} or None
        Whether the score is for the items at hand or for new ones; "known" unless some item of the
        table is in no comparison. Without features it is always "known".
    random_state : int
        Seed of the folds.
    n_jobs : int or None
        Folds that are fitted side by side, as in scikit-learn; also of the model. No result
        depends on it.
    progress : callable
        Told how much is done, and of how much; what fits cost is guessed.
    settings
        Of ``RankRegression``, such as ``context``; they are not tried but taken as given.

    Returns
    -------
    Choice
        ``choice.model`` is the fitted model; ``print(choice)`` shows what was tried.

    Examples
    --------
    >>> from pairscore import Population
    >>> items, votes = Population(n_features=3, rng=0).draw(80, 600, rng=1, second_half=False)
    >>> choice = auto_fit(items, votes)
    >>> choice.in_words
    'Chosen: the plain model. Nothing else predicted clearly better.'
    """
    if unknown := sorted(settings.keys() - DEFAULTS.keys()):
        known = f"the settings of a model are {', '.join(map(repr, DEFAULTS))}."
        raise PairscoreError(f"there is no setting {unknown[0]!r}; {known}")
    if use not in (None, *USES):
        raise PairscoreError(f"use is {use!r}; use {', '.join(map(repr, USES))} or None.")
    if y is not None and not isinstance(X, Comparisons):
        context, missing = settings.get("context") or (), settings.get("missing", "refuse")
        X, y = Comparisons.from_frames(X, y, context=context, missing=missing)
    data = set_covariance_items(X if y is None else X.with_outcome(y))
    data = data.with_relative_weights()
    if not np.any(data.outcome[data.amount > 0]):
        raise PairscoreError("every comparison is a tie, so no model can be shown to be better.")
    use = _use(data, use)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        counted = data[data.amount > 0]
        folds, workers = hold_out(counted, use, random_state), Workers(n_jobs)
        tests = replace(HeldOutTests.of(counted, use, folds), workers=workers)
        trials = tuple(_try_settings(tests, settings, progress))
    chosen = {name: value for name, value in _kept(trials).items() if name not in settings}
    model = RankRegression(**settings | chosen, n_jobs=n_jobs).fit(data)
    return Choice(model, chosen, use, tests.n_tested, trials)


def _use(data: Comparisons, use: str | None) -> str:
    if data.items.values.shape[1]:
        return use or ("known" if data.compared.all() else "new")
    if use == "new":
        raise PairscoreError(
            "use is 'new', but without features nothing is known of new items; leave it out, or"
            " give a table of items with features."
        )
    return "known"


def _kept(trials: Any) -> dict[str, Any]:
    kept = [trial.settings for trial in trials if trial.kept]
    return kept[-1] if kept else {}


def _try_settings(
    tests: "HeldOutTests", given: dict[str, Any], progress: Progress = nobody
) -> Iterator[Trial]:
    """The plain model, then one setting after the other on top of those that stayed."""
    # ties may disturb the rest by more than they tell of decided comparisons
    ties = {"ties": "drop"} if np.any(tests.data.outcome == 0) else {}
    now, all_tests = ties | given, tests
    before, reason = tests.measure(now)
    unknown = Score(float("nan"), float("nan"))
    yield Trial(now, None, before.score if before else unknown, unknown, True, reason)
    to_try = [
        (name, value)
        for name, value in _settings_to_try(tests.data, tests.use, before is None)
        if name not in given
    ]
    costs = [1, *(COSTS.get(name, 1) for name, _ in to_try)]
    whole = sum(costs) + max(costs) / 2  # with the fit to all
    for number, (name, value) in enumerate(to_try, start=1):
        progress(sum(costs[:number]), whole)
        takes_long = value == "auto" and name == "item_effects"
        if takes_long and before is not None:
            everywhere = before
            tests = all_tests.first(FEWER)
            before = tests.loss(before.chances)
        settings = now | {name: value}
        impossible = _impossible(tests.data, name)
        after, reason = (None, impossible) if impossible else tests.measure(settings)
        if after is None:
            yield Trial(settings, name, unknown, unknown, False, reason)
            continue
        gain = unknown if before is None else before.gain(after)
        least = -gain.std_error if takes_long else gain.std_error
        kept = before is None or gain.value > least or gain.value == 0 == least
        yield Trial(settings, name, after.score, gain, kept)
        if kept:
            before, now = after, settings
        if takes_long and gain.value == 0:  # none were seen, so fits are quick
            tests, before = all_tests, everywhere
    progress(sum(costs), whole)


def _settings_to_try(data: Comparisons, use: str, needs_ridge: bool) -> Iterator[tuple[str, Any]]:
    """Settings that these comparisons have something for, in the order in which they are tried.

    The ridge comes late, because its choice takes time, unless nothing can be fitted without it.
    """
    has_features = data.items.values.shape[1] > 0
    by_fit: tuple[str, Any] = ("l2", "auto" if use == "new" else "auto-known")
    ridge = by_fit if has_features else ("item_effects", True)
    if needs_ridge:
        yield ridge
    if data.sides_known:
        yield "side_effect", True
    if np.any(data.outcome == 0):
        yield "ties", "half"
        yield "ties", "davidson"
    n_parameters = data.items.values.shape[1] or len(data.items)
    if not needs_ridge and data.amount.sum() < MANY * n_parameters:
        yield ridge
    if has_features:
        yield "item_effects", "auto"
    if data.judge is not None and len(np.unique(data.judge.astype(str))) > 1:
        yield "judge_slopes", True


def _impossible(data: Comparisons, name: str) -> str:
    """Why a setting cannot be tried on these comparisons, whatever is held out of them; or nothing.

    With one winning side everywhere the effect of the side has no finite size.
    """
    won = {side for side, sign in (("left", 1), ("right", -1)) if np.any(data.outcome == sign)}
    if name == "side_effect" and len(won) == 1:
        return (
            f"the {won.pop()} item won every decided comparison, so that an effect of the side"
            " cannot be told from the items; if winners were always written there, name the two"
            " columns winner and loser."
        )
    try:
        if name == "judge_slopes" and data.judge is not None:
            refuse_missing_judges(data.judge)
    except PairscoreError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class HeldOutLoss:
    """Mean log-loss of a model on held-out comparisons, and each item's part in it.

    ``chances`` has the predicted probabilities, an array for each fold.
    """

    score: Score
    sums: InfluenceSums
    chances: list[np.ndarray]

    def gain(self, other: "HeldOutLoss") -> Score:
        """How much lower the loss of another model is on the same comparisons."""
        return Score(self.score.value - other.score.value, (self.sums - other.sums).std_error)


@dataclass(frozen=True)
class HeldOutTests:
    """Comparisons with the rows (train, test) of each fold."""

    data: Comparisons
    use: str
    folds: Folds
    tested: HeldOutComparisons
    pairs: ItemPairs
    ridges: dict[tuple[Any, ...], RidgeCurve] = field(default_factory=dict)
    workers: Workers = ALONE

    @classmethod
    def of(cls, data: Comparisons, use: str, folds: Folds) -> "HeldOutTests":
        part = data[np.concatenate([test for _, test in folds])]
        fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
        count = np.ones(len(part)) if part.count is None else part.count
        tested = HeldOutComparisons(part.left, part.right, part.outcome, part.amount, count, fold)
        group = ItemKFold(2).group_of_item(data)
        return cls(data, use, folds, tested, ItemPairs(group[part.left], group[part.right]))

    def first(self, n_folds: int) -> "HeldOutTests":
        """The tests of some folds."""
        fewer = HeldOutTests.of(self.data, self.use, self.folds[:n_folds])
        return replace(fewer, ridges=self.ridges, workers=self.workers)

    @property
    def n_tested(self) -> int:
        """Decided comparisons that are tested; once, though both items may be held out in turn."""
        part = self.data[np.unique(np.concatenate([test for _, test in self.folds]))]
        count = np.ones(len(part)) if part.count is None else part.count
        return round(float(count[part.outcome != 0].sum()))

    def measure(self, settings: dict[str, Any]) -> tuple[HeldOutLoss | None, str]:
        """The held-out loss of a model with these settings, or the reason why there is none."""
        checked = check_settings(**settings | {"inference": None})
        # the ridge depends on the comparisons, on the side and on ties: chosen once for each
        depends_on = checked.l2_for_known, checked.side_effect, checked.ties
        keys = [(number, *depends_on) for number in range(len(self.folds))]
        jobs = (
            partial(
                _fit_and_predict, self.data[train], self.data[test], checked, self.ridges.get(key)
            )
            for (train, test), key in zip(self.folds, keys, strict=True)
        )
        try:
            chances, ridges = zip(*self.workers.each(jobs, in_threads=True), strict=True)
        except PairscoreError as error:
            return None, str(error)
        self.ridges.update((key, ridge) for key, ridge in zip(keys, ridges, strict=True) if ridge)
        return self.loss(list(chances)), ""

    def loss(self, chances: list[np.ndarray]) -> HeldOutLoss:
        """The loss of what was predicted in these folds, or in these and more."""
        found = log_loss(self.tested, np.concatenate(chances[: len(self.folds)]))
        sums = influence_sums(found, self.pairs)
        return HeldOutLoss(Score(found.value, sums.std_error), sums, chances)


def _fit_and_predict(
    train: Comparisons, test: Comparisons, settings: Settings, ridge: RidgeCurve | None
) -> tuple[np.ndarray, RidgeCurve | None]:
    """P(left wins) of the test comparisons, and the ridge that was chosen from the others."""
    with one_blas_thread:
        fit, _ = fit_comparisons(train, settings, ridge=ridge)
        lose, _, win = outcome_probabilities(fit, test)
    return win / (win + lose), fit.ridge_curve


def hold_out(data: Comparisons, use: str, seed: int) -> Folds:
    """Rows to train on and to test on, until enough are tested."""
    folds: Folds = []
    with suppress(PairscoreError):  # a fold that has nothing to train on, or to test
        for train, test in _folds(data, use, seed):
            enough = sum(len(tested) for _, tested in folds) >= ENOUGH or len(folds) == TRIED
            if not enough and len(train) and len(test):
                folds.append((train, test))
    if not folds:
        raise PairscoreError(
            "the comparisons are too few to hold some out; give more, or choose the settings"
            " yourself."
        )
    return folds


def _folds(data: Comparisons, use: str, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs are held out for known items, items for new ones."""
    if use == "new":
        n_groups = len(np.unique(ItemKFold(2).group_of_item(data)[data.compared]))
        n_folds = min(FOLDS["new"], n_groups)
        yield from ItemKFold(n_folds, random_state=seed, test="touch").split(data)
        return
    fold = assign_pairs(data, FOLDS["known"], np.random.default_rng(seed))
    nobody = np.zeros(len(data.items), dtype=bool)
    for number in range(FOLDS["known"]):
        aside = fold == number
        if not data.items.values.shape[1]:
            aside &= ~linking(data, aside)
        train, test, _ = split_comparisons(data, nobody, aside)
        yield train, test
