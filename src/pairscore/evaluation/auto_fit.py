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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pairscore.choices import USES
from pairscore.core.incidence import ItemPairs
from pairscore.core.quantiles import p_in_words, z_and_p
from pairscore.core.shares import InfluenceSums, influence_sums
from pairscore.core.threads import one_blas_thread
from pairscore.data.comparisons import Comparisons
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.data.votes import refuse_missing_judges
from pairscore.display import html_text, plural, text_table
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.results import Fit, ItemEffectsTest
from pairscore.estimators.ridge_choice import RidgeCurve
from pairscore.estimators.settings import DEFAULTS, Settings, check_settings
from pairscore.evaluation.held_out import (
    HeldOutComparisons,
    assign_pairs,
    linking,
    split_comparisons,
)
from pairscore.evaluation.measures import Score, log_loss
from pairscore.model.fit import fit_comparisons
from pairscore.model.predict import outcome_probabilities
from pairscore.model.regression import RankRegression
from pairscore.parallel import ALONE, Progress, Workers, nobody
from pairscore.records import plain

IN_WORDS = {
    "side_effect": "an advantage of the left side",
    "l2": "a ridge",
    "item_effects": "item effects",
    "judge_slopes": "a separate sharpness for every judge",
    "ties": "ties",
}
TIES = {
    "drop": "ties left out",
    "half": "ties as half wins",
    "davidson": "Davidson's rule for ties",
}
TESTED = {"known": "new comparisons of known items", "new": "comparisons with new items"}
FOLDS = {"known": 3, "new": 5}
MOST_FOLDS = 3  # of these, which are fitted: more tests would take longer than they tell
FEWER_FOLDS = 2  # where a fit takes long: item effects in many comparisons
QUICK = 2000  # comparisons up to which a fit with item effects takes a fraction of a second
ENOUGH = 50_000  # held-out comparisons, after which no further fold is needed
# time of a fit with a setting, roughly, where a plain one takes 1
COSTS = {"l2": 15, "item_effects": 30, "judge_slopes": 60}
MANY = 1000  # comparisons per feature, from which on a ridge has nothing to gain
JUDGE_LEVEL = 0.01  # chance that one of several equal judges is taken for a different one
EFFECTS = {"item_effects": True}
SLOPES = {"judge_slopes": True}
SIDE = {"side_effect": True}
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
) -> "Choice":
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
    unknown = sorted(settings.keys() - DEFAULTS.keys())
    if unknown:
        known = f"the settings of a model are {', '.join(map(repr, DEFAULTS))}."
        raise PairscoreError(f"there is no setting {unknown[0]!r}; {known}")
    if use not in (None, *USES):
        raise PairscoreError(f"use is {use!r}; use {', '.join(map(repr, USES))} or None.")
    if y is not None and not isinstance(X, Comparisons):
        context = settings.get("context") or ()
        missing = settings.get("missing", "refuse")
        X, y = Comparisons.from_frames(X, y, context=context, missing=missing)
    data = set_covariance_items(X if y is None else X.with_outcome(y)).with_relative_weights()
    if not np.any(data.outcome[data.amount > 0]):
        raise PairscoreError("every comparison is a tie, so no model can be shown to be better.")
    use = _use(data, use)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        counted = data[data.amount > 0]
        folds = hold_out(counted, use, random_state)
        tests = replace(HeldOutTests.of(counted, use, folds), workers=Workers(n_jobs))
        search = try_settings(tests, settings, progress)
    chosen = {name: value for name, value in search.kept.items() if name not in settings}
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


# -- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SettingsTrial:
    """One model on the held-out comparisons.

    ``added`` names the settings that it has more than the model before, none for the plain one;
    ``abilities`` is whether items have no features. ``gain`` is how much lower its log-loss is than
    that model's. ``reason`` says why it could not be fitted. ``effects_test`` is that of item
    effects in all comparisons; where it sees none, they are not tried.
    """

    settings: dict[str, Any]
    added: tuple[str, ...]
    abilities: bool
    kept: bool
    loss: Score = UNKNOWN
    gain: Score = UNKNOWN
    reason: str = ""
    effects_test: ItemEffectsTest | None = None

    @property
    def name(self) -> str:
        if not self.added:
            return "plain, ties left out" if self.settings.get("ties") == "drop" else "plain"
        names = [setting_in_words(name, self.settings, self.abilities) for name in self.added]
        return f"with {word_list(names)}"

    @property
    def verdict(self) -> str:
        if self.reason:
            return "not possible"
        if self.effects_test is not None and not self.effects_test.used:
            p = self.effects_test.p_value
            if self.effects_test.estimate_is_zero and np.isfinite(self.gain.value):
                return "not kept: of size zero next to what was kept later"
            return f"no item effects seen{'' if np.isnan(p) else f' ({p_in_words(p)})'}"
        return f"kept{self._why_without_gain}" if self.kept else "not kept"

    @property
    def _why_without_gain(self) -> str:
        """Why a setting is kept that held-out comparisons say neither yes nor no to."""
        if not self.gain.value <= self.gain.std_error:  # NaN where there is nothing before it
            return ""
        if self.effects_test is not None:
            p = p_in_words(self.effects_test.p_value)
            return f": items differ beyond their features ({p})"
        return ": in all comparisons together, judges clearly differ"


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, fitted to all comparisons, and every trial on the way to it.

    Attributes
    ----------
    model : RankRegression
        Fitted.
    settings : dict
        What it has beyond the defaults.
    use : str
        ``"known"`` or ``"new"``: whether it was chosen for known items or for new ones.
    n_tested : int
        Held-out comparisons, ties left out.
    trials : tuple of SettingsTrial
        In the order in which they were tried.
    """

    model: Any
    settings: dict[str, Any]
    use: str
    n_tested: int
    trials: tuple[SettingsTrial, ...]

    @property
    def in_words(self) -> str:
        """What was chosen and why."""
        abilities = not self.model.n_features_in_
        chosen = [
            setting_in_words(n, self.settings, abilities) for n in IN_WORDS if n in self.settings
        ]
        if not chosen:
            return "Chosen: the plain model. Nothing else predicted clearly better."
        words = f"Chosen: the model with {word_list(chosen)}."
        # of each step on its own comparisons: those with item effects are tested on fewer
        steps = [trial for trial in self.trials if trial.kept and np.isfinite(trial.gain.value)]
        ratio = float(np.prod([t.loss.value / (t.loss.value + t.gain.value) for t in steps]))
        if any(trial.effects_test is not None and trial.gain.value == 0 for trial in steps):
            words += " Item effects were seen in all comparisons together, but not in the trials."
        if ratio < 1:
            first = "first possible" if self.trials[0].reason else "plain"
            words += f" Its log-loss is about {1 - ratio:.1%} below that of the {first} model."
        return words

    @property
    def rejected(self) -> dict[str, str]:
        """Settings that were tried and that the model does not have, with the last verdict."""
        return {
            name: trial.verdict
            for trial in self.trials
            for name in trial.added
            if name not in self.settings
        }

    def __str__(self) -> str:
        return self.text()

    @property
    def _head(self) -> str:
        n = plural(self.n_tested, "held-out comparison", ",")
        return f"Models on {n} ({TESTED[self.use]}); ± one standard error"

    def _rows(self, reworded: Callable[[str], str] = str) -> list[tuple[Any, ...]]:
        """Name, log-loss, gain and verdict of every trial."""
        names = [trial.name for trial in self.trials]
        return [
            (
                f"{name}, again" if name in names[:number] else name,
                "" if np.isnan(trial.loss.value) or np.isfinite(trial.gain.value) else trial.loss,
                "" if np.isnan(trial.gain.value) else trial.gain,
                trial.verdict + (f": {reworded(trial.reason)}" if trial.reason else ""),
            )
            for number, (name, trial) in enumerate(zip(names, self.trials, strict=True))
        ]

    def text(self, reworded: Callable[[str], str] = str) -> str:
        """The table of trials and the choice; reasons may be ``reworded``."""
        header = ("", "log-loss", "lower by", "")
        table = text_table(header, self._rows(reworded), "  {:<}  {:>}  {:>}  {:<}")
        return "\n".join([self._head, table, self.in_words])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = ("model", "log-loss", "lower by", "verdict")
        columns = dict(zip(names, zip(*self._rows(), strict=True), strict=True))
        return html_text(self._head, (), columns, [self.in_words])

    def to_record(self) -> dict[str, Any]:
        """Everything but the model as plain values for JSON."""
        return plain(
            {
                "settings": self.settings,
                "for": self.use,
                "n_tested": self.n_tested,
                "trials": [
                    {
                        "model": trial.name,
                        "settings": trial.settings,
                        "log_loss": trial.loss.value,
                        "log_loss_std_error": trial.loss.std_error,
                        "gain": trial.gain.value,
                        "gain_std_error": trial.gain.std_error,
                        "kept": trial.kept,
                        "verdict": trial.verdict,
                        "reason": trial.reason,
                    }
                    for trial in self.trials
                ],
                "in_words": self.in_words,
            }
        )


def setting_in_words(name: str, settings: dict[str, Any], abilities: bool) -> str:
    """A setting in words; ``abilities`` where items have no features."""
    if name == "item_effects" and abilities:
        return "abilities shrunk by an estimated variance"
    return TIES[settings["ties"]] if name == "ties" else IN_WORDS[name]


def word_list(names: list[str]) -> str:
    """a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


# -- the search -----------------------------------------------------------------------------------


@dataclass
class SettingsSearch:
    """Trials in turn, with the settings that were kept so far and their held-out loss.

    ``loss`` is None as long as no model could be fitted. ``effects_tests`` has what the test of
    item effects said, by the settings that it was made with.
    """

    tests: "HeldOutTests"
    kept: dict[str, Any]
    loss: "HeldOutLoss | None" = None
    trials: list[SettingsTrial] = field(default_factory=list)
    effects_tests: list[tuple[dict[str, Any], ItemEffectsTest]] = field(default_factory=list)

    @property
    def has_features(self) -> bool:
        return self.tests.data.items.values.shape[1] > 0

    @property
    def test_of_chosen(self) -> ItemEffectsTest | None:
        """The test of item effects that agrees with what was chosen, if there was one.

        Of effects that are kept, the last one; other settings may have been added since.
        """
        if "item_effects" in self.kept:
            return next((t for _, t in reversed(self.effects_tests) if t.used), None)
        said = [test for tested, test in self.effects_tests if tested == self.kept | EFFECTS]
        return next((test for test in said if not test.used), None)

    def start(self) -> None:
        """Try the plain model, which is where the others start from."""
        self.loss, reason = self.tests.measure(self.kept)
        score = UNKNOWN if self.loss is None else self.loss.score
        self.trials.append(self._trial({}, kept=True, loss=score, reason=reason))

    def add(self, more: dict[str, Any]) -> None:
        """Try to add settings, and keep them if held-out comparisons say so."""
        settings = self.kept | more
        reason = next(filter(None, (_impossible(self.tests.data, name) for name in more)), "")
        test = None
        if self.has_features and "item_effects" in more and not reason:
            test, reason = self._test_item_effects(settings, is_alone=more == EFFECTS)
        loss = None
        if not reason and (test is None or test.used):
            loss, reason = self.tests.measure(settings)
        if loss is None:
            self.trials.append(self._trial(more, kept=False, reason=reason, effects_test=test))
            return
        gain = UNKNOWN if self.loss is None else self.tests.gain(self.loss, loss)
        kept = self.loss is None or self._is_worth_it(more, gain, test)
        self.trials.append(
            self._trial(more, kept=kept, loss=loss.score, gain=gain, effects_test=test)
        )
        if kept:
            self.kept = settings
            self.loss = loss

    def _is_worth_it(self, more: dict[str, Any], gain: Score, test: ItemEffectsTest | None) -> bool:
        """Whether held-out comparisons speak for settings; or all comparisons do where these are
        undecided.
        """
        if gain.value > gain.std_error:
            return True
        no_difference = gain.value == 0 == gain.std_error
        if not (gain.value > -gain.std_error or no_difference):
            return False
        return self._judges_differ(self.kept | more) if "judge_slopes" in more else test is not None

    def _trial(self, more: dict[str, Any], **outcome: Any) -> SettingsTrial:
        return SettingsTrial(self.kept | more, tuple(more), not self.has_features, **outcome)

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
        added_alone = [
            number
            for number, trial in enumerate(self.trials)
            if trial.kept and trial.added == ("item_effects",)
        ]
        if not (self.has_features and added_alone) or "item_effects" not in self.kept:
            return
        effects = self.tests.fit_all(self.kept).item_effects
        if effects is not None and effects.sigma2 > 0:
            return
        trial = self.trials[added_alone[-1]]
        test = replace(trial.effects_test or ItemEffectsTest(), estimate_is_zero=True)
        self.trials[added_alone[-1]] = replace(trial, kept=False, effects_test=test)
        self.effects_tests.append((self.kept, test))
        self.kept = {name: value for name, value in self.kept.items() if name != "item_effects"}

    def may_help(self, more: dict[str, Any]) -> bool:
        """Whether settings are new together, and each of them was possible alone."""
        impossible = {name for trial in self.trials if trial.reason for name in trial.added}
        is_new = not any(trial.settings == self.kept | more for trial in self.trials)
        return is_new and impossible.isdisjoint(more)


def try_settings(
    tests: "HeldOutTests", given: dict[str, Any], progress: Progress = nobody
) -> SettingsSearch:
    """The plain model, then one setting after the other on top of those that stayed, then those
    that may help only together.
    """
    # ties may disturb the rest by more than they tell of decided comparisons
    ties = {"ties": "drop"} if np.any(tests.data.outcome == 0) else {}
    search = SettingsSearch(tests, ties | given)
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


def _steps(search: SettingsSearch, alone: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What to try next, after what was kept so far."""
    yield from alone
    for pair in _pairs(alone):
        more = {name: value for name, value in pair.items() if search.kept.get(name) != value}
        # only effects that a test sees hide a side, and so do abilities that are not shrunk: it is
        # tried only next to effects that stayed
        hidden = "side_effect" not in more or (more == SIDE and "item_effects" in search.kept)
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
    left_won = bool(np.any(data.outcome == 1))
    right_won = bool(np.any(data.outcome == -1))
    if name == "side_effect" and left_won != right_won:
        side = "left" if left_won else "right"
        return (
            f"the {side} item won every decided comparison, so that an effect of the side"
            " cannot be told from the items; if winners were always written there, name the two"
            " columns winner and loser."
        )
    try:
        if name == "judge_slopes" and data.judge is not None:
            refuse_missing_judges(data.judge)
    except PairscoreError as error:
        return str(error)
    return ""


# -- held-out tests -------------------------------------------------------------------------------


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
        tested = HeldOutComparisons.of(part, fold)
        group = ItemKFold(2).group_of_item(data)
        return cls(data, use, folds, tested, ItemPairs(group[part.left], group[part.right]))

    def first(self, n_folds: int) -> "HeldOutTests":
        """The tests of some folds."""
        fewer = HeldOutTests.of(self.data, self.use, self.folds[:n_folds])
        return replace(fewer, ridges=self.ridges, workers=self.workers)

    @property
    def n_tested(self) -> int:
        """Decided comparisons that are tested; once, though both items may be held out in turn."""
        once = np.unique(np.concatenate([test for _, test in self.folds]))
        tested = HeldOutComparisons.of(self.data[once], np.zeros(len(once), dtype=int))
        return round(float(tested.count[tested.outcome != 0].sum()))

    def measure(self, settings: dict[str, Any]) -> tuple[HeldOutLoss | None, str]:
        """The held-out loss of a model with these settings, or the reason why there is none."""
        checked = check_settings(**settings | {"inference": None})
        takes_long = checked.item_effects and self.data.items.values.shape[1] > 0
        if takes_long and len(self.data) > QUICK and len(self.folds) > FEWER_FOLDS:
            return self.first(FEWER_FOLDS).measure(settings)
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
        old = tests.loss(before.chances)
        new = tests.loss(after.chances)
        return Score(old.score.value - new.score.value, (old.sums - new.sums).std_error)

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
        mean = log_loss(self.tested, np.concatenate(chances[: len(self.folds)]))
        sums = influence_sums(mean, self.pairs)
        return HeldOutLoss(Score(mean.value, sums.std_error), sums, chances)


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
            enough = sum(len(tested) for _, tested in folds) >= ENOUGH or len(folds) == MOST_FOLDS
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
    none_held_out = np.zeros(len(data.items), dtype=bool)
    for number in range(FOLDS["known"]):
        aside = fold == number
        if not data.items.values.shape[1]:
            aside &= ~linking(data, aside)
        train, test, _ = split_comparisons(data, none_held_out, aside)
        yield train, test
