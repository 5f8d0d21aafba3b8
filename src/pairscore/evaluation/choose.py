"""auto_fit: the settings that a study needs, each tried on comparisons that were held out.

Starting from plain maximum likelihood without ties, one setting after the other is added: an effect
of the side, ties as half wins or by a rule, a ridge, item effects, a sharpness for every judge.
A setting stays if it lowers the log-loss of held-out comparisons by more than one standard error of
the difference, so that of models that predict equally well the simplest is taken. Item effects are
tried where a test in all comparisons sees some (that of ``item_effects="auto"``), and stay unless
held-out comparisons speak against them; so does a sharpness for every judge where some judge
clearly differs from the others. Without features, items have abilities; whether an
estimated variance shrinks them is tried in place of the ridge and of item effects.

Some settings help only together. The answers of a careless judge hide item effects, and without
these a judge's sharpness is measured at a score that misses much of the order: where the two were
not both kept one after the other, they are tried at once. An advantage of the left side is hidden
where better items stood on the right more often, so that it is tried again next to item effects.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pairscore.choices import USES
from pairscore.core.quantiles import z_and_p
from pairscore.core.shares import InfluenceSums, ItemPairs, influence_sums
from pairscore.core.threads import one_blas_thread
from pairscore.data.comparisons import Comparisons, refuse_missing_judges
from pairscore.data.folds import ALONE, Progress, Workers, nobody
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.results import Fit, ItemEffectsTest
from pairscore.estimators.ridge import RidgeCurve
from pairscore.estimators.settings import DEFAULTS, Settings, check_settings
from pairscore.evaluation.compare import assign_pairs, linking, split_comparisons
from pairscore.evaluation.measures import HeldOutComparisons, log_loss
from pairscore.evaluation.results import Choice, Score, Trial
from pairscore.model.fit import fit_comparisons
from pairscore.model.predict import outcome_probabilities
from pairscore.model.regression import RankRegression

FOLDS = {"known": 3, "new": 5}
TRIED, FEWER = 3, 2  # of these folds; fewer where a fit takes long: item effects of many
QUICK = 2000  # comparisons up to which a fit with item effects takes a fraction of a second
ENOUGH = 50_000  # held-out comparisons, after which no further fold is needed
# time of a fit with a setting, roughly, where a plain one takes 1
COSTS = {"l2": 15, "item_effects": 30, "judge_slopes": 60}
MANY = 1000  # comparisons per feature, from which on a ridge has nothing to gain
JUDGE_LEVEL = 0.01  # chance that one of several equal judges is taken for a different one
EFFECTS, SLOPES, SIDE = {"item_effects": True}, {"judge_slopes": True}, {"side_effect": True}
UNKNOWN = Score(float("nan"), float("nan"))
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
        search = try_settings(tests, settings, progress)
    chosen = {name: value for name, value in search.now.items() if name not in settings}
    model = RankRegression(**settings | chosen, n_jobs=n_jobs).fit(data)
    choice = Choice(model, chosen, use, tests.n_tested, tuple(search.trials))
    # what was found out on the way stays with the model, so that its page agrees
    model.result_ = replace(
        model.result_,
        item_effects_test=search.test_of_chosen or model.result_.item_effects_test,
        record=model.result_.record | {"rejected": choice.rejected},
    )
    return choice


def _use(data: Comparisons, use: str | None) -> str:
    if data.items.values.shape[1]:
        return use or ("known" if data.compared.all() else "new")
    if use == "new":
        raise PairscoreError(
            "use is 'new', but without features nothing is known of new items; leave it out, or"
            " give a table of items with features."
        )
    return "known"


@dataclass
class Search:
    """Trials in turn, with the settings that were kept so far and their held-out loss.

    ``effects_tests`` has what the test of item effects said, by the settings that it was made with.
    """

    tests: "HeldOutTests"
    now: dict[str, Any]
    loss: "HeldOutLoss | None" = None
    trials: list[Trial] = field(default_factory=list)
    effects_tests: list[tuple[dict[str, Any], ItemEffectsTest]] = field(default_factory=list)

    @property
    def has_features(self) -> bool:
        return self.tests.data.items.values.shape[1] > 0

    @property
    def test_of_chosen(self) -> ItemEffectsTest | None:
        """The test of item effects that agrees with what was chosen, if there was one.

        Of effects that are kept, the last one; other settings may have been added since.
        """
        if "item_effects" in self.now:
            return next((t for _, t in reversed(self.effects_tests) if t.used), None)
        said = [test for tested, test in self.effects_tests if tested == self.now | EFFECTS]
        return next((test for test in said if not test.used), None)

    def start(self) -> None:
        """Try the plain model, which is where the others start from."""
        self.loss, reason = self.tests.measure(self.now)
        score = self.loss.score if self.loss else UNKNOWN
        self.trials.append(self._trial({}, score, UNKNOWN, True, reason))

    def add(self, more: dict[str, Any]) -> None:
        """Try to add settings, and keep them if held-out comparisons say so."""
        added, settings = tuple(more), self.now | more
        reason = next(filter(None, (_impossible(self.tests.data, name) for name in added)), "")
        test = None
        if self.has_features and "item_effects" in more and not reason:
            test, reason = self._test_item_effects(settings, is_alone=more == EFFECTS)
        loss = None
        if not reason and (test is None or test.used):
            loss, reason = self.tests.measure(settings)
        if loss is None:
            self.trials.append(self._trial(more, UNKNOWN, UNKNOWN, False, reason, test))
            return
        gain = UNKNOWN if self.loss is None else self.tests.gain(self.loss, loss)
        kept = self.loss is None or gain.value > gain.std_error
        if not kept and (gain.value > -gain.std_error or gain.value == 0 == gain.std_error):
            # held-out comparisons say neither yes nor no; do all of them together?
            kept = self._judges_differ(settings) if "judge_slopes" in more else test is not None
        self.trials.append(self._trial(more, loss.score, gain, kept, "", test))
        if kept:
            self.now, self.loss = settings, loss

    def _trial(self, more: dict[str, Any], *found: Any) -> Trial:
        return Trial(self.now | more, tuple(more), not self.has_features, *found)

    def _test_item_effects(
        self, settings: dict[str, Any], is_alone: bool
    ) -> tuple[ItemEffectsTest | None, str]:
        """Whether items differ beyond their features in all comparisons; or why nobody can say.

        The test is made at a fit without effects. Where they are tried together with something that
        such a fit cannot measure, only their estimated size counts, and held-out comparisons.
        """
        try:
            fit = self.tests.fit_all(settings | {"item_effects": "auto" if is_alone else True})
        except PairscoreError as error:
            return None, str(error)
        test = fit.item_effects_test
        if not is_alone:
            unseen = fit.item_effects is None or fit.item_effects.sigma2 == 0
            return (ItemEffectsTest(estimate_is_zero=True) if unseen else None), ""
        assert test is not None
        self.effects_tests.append((settings, test))
        return test, ""

    def _judges_differ(self, settings: dict[str, Any]) -> bool:
        """Whether some judge is clearly less or more sharp than average, in all comparisons."""
        try:
            judges = self.tests.fit_all(settings).judges
        except PairscoreError:
            return False
        if judges is None:
            return False
        _, p = z_and_p(judges.slope - 1, judges.std_error)
        return bool(np.any(p < JUDGE_LEVEL / len(p)))

    def drop_effects_of_size_zero(self) -> None:
        """Take item effects back where what was kept after them leaves nothing for them.

        A careless judge's answers may look like effects of items, until the judge has a sharpness.
        """
        alone = [one.kept and one.added == ("item_effects",) for one in self.trials]
        places = [place for place, is_alone in enumerate(alone) if is_alone]
        if not (self.has_features and places) or "item_effects" not in self.now:
            return
        found = self.tests.fit_all(self.now).item_effects
        if found is not None and found.sigma2 > 0:
            return
        trial = self.trials[places[-1]]
        test = replace(trial.effects_test or ItemEffectsTest(), estimate_is_zero=True)
        self.trials[places[-1]] = replace(trial, kept=False, effects_test=test)
        self.effects_tests.append((self.now, test))
        self.now = {name: value for name, value in self.now.items() if name != "item_effects"}

    def may_help(self, more: dict[str, Any]) -> bool:
        """Whether settings are new together, and each of them was possible alone."""
        impossible = {name for trial in self.trials if trial.reason for name in trial.added}
        is_new = not any(trial.settings == self.now | more for trial in self.trials)
        return is_new and impossible.isdisjoint(more)


def try_settings(
    tests: "HeldOutTests", given: dict[str, Any], progress: Progress = nobody
) -> Search:
    """The plain model, then one setting after the other on top of those that stayed, then those
    that may help only together.
    """
    # ties may disturb the rest by more than they tell of decided comparisons
    ties = {"ties": "drop"} if np.any(tests.data.outcome == 0) else {}
    search = Search(tests, ties | given)
    search.start()
    alone = [
        {name: value}
        for name, value in _settings_to_try(tests.data, tests.use, search.loss is None)
        if name not in given
    ]
    cost = 1 + sum(map(_cost, alone)) + sum(map(_cost, _pairs(alone)))
    whole = cost + max(map(_cost, alone), default=0) / 2  # with the fit to all
    done = 1
    for more in _steps(search, alone):
        progress(done, whole)
        search.add(more)
        done += _cost(more)
    search.drop_effects_of_size_zero()
    progress(cost, whole)
    return search


def _cost(more: dict[str, Any]) -> int:
    return sum(COSTS.get(name, 1) for name in more)


def _steps(search: Search, alone: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What to try next, after what was kept so far."""
    yield from alone
    for pair in _pairs(alone):
        more = {name: value for name, value in pair.items() if search.now.get(name) != value}
        # only effects that a test sees hide a side, and so do abilities that are not shrunk: it is
        # tried only next to effects that stayed
        hidden = "side_effect" not in more or (more == SIDE and "item_effects" in search.now)
        if hidden and search.may_help(more):
            yield more


def _pairs(alone: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Settings that may help only together, of those that are tried alone."""
    return [EFFECTS | other for other in (SLOPES, SIDE) if EFFECTS in alone and other in alone]


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
        yield "item_effects", True
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
        takes_long = checked.item_effects and self.data.items.values.shape[1] > 0
        if takes_long and len(self.data) > QUICK and len(self.folds) > FEWER:
            return self.first(FEWER).measure(settings)
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

    def gain(self, before: HeldOutLoss, after: HeldOutLoss) -> Score:
        """How much lower the loss of the second model is, on the comparisons that tested both."""
        n_folds = min(len(before.chances), len(after.chances))
        tests = self if n_folds == len(self.folds) else self.first(n_folds)
        one, other = tests.loss(before.chances), tests.loss(after.chances)
        return Score(one.score.value - other.score.value, (one.sums - other.sums).std_error)

    def fit_all(self, settings: dict[str, Any]) -> Fit:
        """The fit to all comparisons, without intervals."""
        checked = check_settings(**settings | {"inference": None})
        key = ("all", checked.l2_for_known, checked.side_effect, checked.ties)
        fit, _ = fit_comparisons(self.data, checked, ridge=self.ridges.get(key))
        if fit.ridge_curve is not None:
            self.ridges[key] = fit.ridge_curve
        return fit

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
