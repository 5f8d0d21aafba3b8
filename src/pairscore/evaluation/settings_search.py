"""The search for settings: which are tried, in which order, and which stay.

Some settings help only together. The answers of a careless judge hide item effects, and without
these a judge's sharpness is measured at a score that misses much of the order: where the two were
not both kept one after the other, they are tried at once. An advantage of the left side is hidden
where better items stood on the right more often, so that it is tried again next to item effects.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pairscore.core.significance import p_in_words, z_and_p
from pairscore.data.comparisons import Comparisons
from pairscore.data.recipe import Recipe, curvable, with_curves
from pairscore.data.votes import refuse_missing_judges
from pairscore.display import first_few, word_list
from pairscore.effects.item_effects import ItemEffectsTest
from pairscore.errors import PairscoreError
from pairscore.evaluation.held_out import HeldOutLoss, HeldOutTests
from pairscore.evaluation.measures import Score
from pairscore.messages import Message
from pairscore.parallel import Progress, nobody

IN_WORDS = {
    "side_effect": "an advantage of the left side",
    "l2": "a ridge",
    "curves": "curves",
    "smooth": "a smooth part",
    "item_effects": "item effects",
    "judge_slopes": "a separate sharpness for every judge",
    "ties": "ties",
    "lapse": "slips",
}
TIES = {
    "drop": "ties left out",
    "half": "ties as half wins",
    "davidson": "Davidson's rule for ties",
}
# time of a fit with a setting, roughly, where a plain one takes 1
COSTS = {
    "l2": 15,
    "curves": 2,
    "smooth": 60,
    "item_effects": 30,
    "judge_slopes": 60,
    "lapse": 10,
}
MANY = 1000  # comparisons per feature, from which on a ridge has nothing to gain
FEWEST_ITEMS = 100  # compared, from which on curves and a smooth part are tried
MOST_COLUMNS, MOST_COMPARISONS = 50, 50_000  # with which a smooth part takes seconds
ITEMS_PER_BEND = 4  # compared, at least
BENT_LEVEL = 0.05  # p-value of a straight line, above which a curve may be one
FEWEST_FOR_SLIPS = 500  # comparisons, of which a rate of some in a hundred can be seen
SURE = 0.001  # p-value of item effects, up to which they stay though held-out ones are undecided
JUDGE_LEVEL = 0.01  # chance that one of several equal judges is taken for a different one
EFFECTS = {"item_effects": True}
SLOPES = {"judge_slopes": True}
SIDE = {"side_effect": True}
UNKNOWN = Score(float("nan"), float("nan"))


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
    reason: Message | None = None
    effects_test: ItemEffectsTest | None = None

    @property
    def name(self) -> str:
        if not self.added:
            return "plain, ties left out" if self.settings.get("ties") == "drop" else "plain"
        names = [setting_in_words(name, self.settings, self.abilities) for name in self.added]
        return f"with {word_list(names)}"

    @property
    def verdict(self) -> str:
        if self.reason is not None:
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
        if "curves" in self.added:
            return ": no bend is seen in the other columns"
        if self.added == ("l2",):
            return ": no clear gain, and a ridge that is chosen does little harm"
        return ": in all comparisons together, judges clearly differ"


def setting_in_words(name: str, settings: dict[str, Any], abilities: bool) -> str:
    """A setting in words; ``abilities`` where items have no features."""
    if name == "item_effects" and abilities:
        return "abilities shrunk by an estimated variance"
    if name == "curves":
        number = len(settings["curves"])
        return f"{'a curve' if number == 1 else 'curves'} of {first_few(settings['curves'], 3)}"
    return TIES[settings["ties"]] if name == "ties" else IN_WORDS[name]


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
        reason = next(filter(None, (_impossible(self.tests.data, name) for name in more)), None)
        test = None
        if self.has_features and "item_effects" in more and not reason:
            test, reason = self._test_item_effects(settings, is_alone=more == EFFECTS)
        loss = None
        if not reason and (test is None or test.used or test.is_blind):
            loss, reason = self.tests.measure(settings)
        if loss is None:
            self.trials.append(self._trial(more, kept=False, reason=reason, effects_test=test))
            return
        gain = UNKNOWN if self.loss is None else self.tests.gain(self.loss, loss)
        kept = self.loss is None or self._is_worth_it(more, gain, test)
        if kept and test is not None and not test.used:
            test = None  # it saw nothing, and held-out comparisons did
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
        if "judge_slopes" in more:
            return self._judges_differ(self.kept | more)
        if more.keys() == {"l2"} and self.tests.use == "new":  # it was chosen for these, too
            return gain.value > 0
        if test is None or not test.used:
            return False
        return test.p_value <= SURE or gain.value >= 0

    def _trial(self, more: dict[str, Any], **outcome: Any) -> SettingsTrial:
        return SettingsTrial(self.kept | more, tuple(more), not self.has_features, **outcome)

    def _test_item_effects(
        self, settings: dict[str, Any], is_alone: bool
    ) -> tuple[ItemEffectsTest | None, Message | None]:
        """Whether items differ beyond their features in all comparisons; or why nobody can say.

        The test is made at a fit without effects. Where they are tried together with something that
        such a fit cannot measure, only their estimated size counts, and held-out comparisons.
        """
        try:
            fit = self.tests.fit_all(settings | {"item_effects": "auto" if is_alone else True})
        except PairscoreError as error:
            return None, error.message
        test = fit.item_effects_test
        if not is_alone:
            unseen = fit.item_effects is None or fit.item_effects.sigma2 == 0
            return (ItemEffectsTest(estimate_is_zero=True) if unseen else None), None
        assert test is not None
        self.effects_tests.append((settings, test))
        return test, None

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
        if self.trials[added_alone[-1]].settings == self.kept:  # nothing was kept after them
            return
        effects = self.tests.fit_all(self.kept).item_effects
        if effects is not None and effects.sigma2 > 0:
            return
        trial = self.trials[added_alone[-1]]
        test = replace(trial.effects_test or ItemEffectsTest(), estimate_is_zero=True)
        self.trials[added_alone[-1]] = replace(trial, kept=False, effects_test=test)
        self.effects_tests.append((self.kept, test))
        self.kept = {name: value for name, value in self.kept.items() if name != "item_effects"}

    def straighten(self) -> None:
        """Try to make curves lines again where a test in all comparisons sees no bend, and do so
        unless held-out comparisons speak against it.
        """
        curves = self.kept.get("curves")
        if not curves or self.loss is None:
            return
        bent = self.tests.with_terms({"curves": curves}).bent(BENT_LEVEL)
        if not 0 < len(bent) < len(curves):
            return
        fewer = {"curves": bent}
        loss, reason = self.tests.measure(self.kept | fewer)
        gain = UNKNOWN if loss is None else self.tests.gain(self.loss, loss)
        kept = loss is not None and gain.value > -gain.std_error
        score = UNKNOWN if loss is None else loss.score
        self.trials.append(self._trial(fewer, kept=kept, loss=score, gain=gain, reason=reason))
        if kept:
            self.kept = self.kept | fewer
            self.loss = loss

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
    if ridge := _smooth_ridge(tests.data, tests.use, given):
        is_last = tests.use == "known" or EFFECTS not in alone
        place = len(alone) if is_last else alone.index(EFFECTS)
        alone.insert(place, {"smooth": True, "l2": ridge})
    cost = 1 + sum(map(_cost, alone)) + sum(map(_cost, _pairs(alone)))
    whole = cost + max(map(_cost, alone), default=0) / 2  # with the fit to all
    done = 1
    for more in _steps(search, alone):
        progress(done, whole)
        search.add(more)
        if "curves" in more and search.trials[-1].kept:
            search.straighten()
        done += _cost(more)
    search.drop_effects_of_size_zero()
    progress(cost, whole)
    return search


def _cost(more: dict[str, Any]) -> int:
    return sum(COSTS.get(name, 1) for name in more)


def _steps(search: SettingsSearch, alone: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What to try next, after what was kept so far."""
    for more in alone:
        # effects of known items have whatever a smooth part would find of them
        if not ("smooth" in more and "item_effects" in search.kept):
            yield more
    for pair in _pairs(alone):
        more = {name: value for name, value in pair.items() if search.kept.get(name) != value}
        # only effects that a test sees hide a side, and so do abilities that are not shrunk: it is
        # tried only next to effects that stayed
        hidden = "side_effect" not in more or (more == SIDE and "item_effects" in search.kept)
        is_whole = "curves" not in pair or more == pair  # else it was tried when its turn came
        if hidden and is_whole and search.may_help(more):
            yield more


def _pairs(alone: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Settings that may help only together, of those that are tried alone."""
    pairs = [EFFECTS | other for other in (SLOPES, SIDE) if EFFECTS in alone and other in alone]
    by_name = {name: {name: value} for one in alone for name, value in one.items()}
    with_ridge = "curves" in by_name and "l2" in by_name
    return pairs + ([by_name["l2"] | by_name["curves"]] if with_ridge else [])


def _settings_to_try(data: Comparisons, use: str, needs_ridge: bool) -> Iterator[tuple[str, Any]]:
    """Settings that these comparisons have something for, in the order in which they are tried.

    The ridge comes late, because its choice takes time, unless nothing can be fitted without it.
    Of known items effects come before curves, which else stand in for them.
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
    curves = _curves_to_try(data)
    if has_features and use == "known":
        yield "item_effects", True
    if curves:
        yield "curves", curves
    if has_features and use == "new":
        yield "item_effects", True
    if data.judge is not None and len(np.unique(data.judge.astype(str))) > 1:
        yield "judge_slopes", True
    if data.amount.sum() >= FEWEST_FOR_SLIPS:
        yield "lapse", "auto"


def _curves_to_try(data: Comparisons) -> tuple[str, ...]:
    """All columns that may be curves; none where items are few, or somebody named some."""
    n_items = int(np.count_nonzero(data.compared))
    has_some = data.items.recipe is not None and data.items.recipe.get("curves")
    if n_items < FEWEST_ITEMS or has_some:
        return ()
    names = curvable(data.items)
    if not names or n_items < ITEMS_PER_BEND * len(names):
        return ()
    record = with_curves(data.items, names).recipe
    assert record is not None  # curves are in it
    n_bends = sum(map(len, Recipe.from_record(record).bend_names.values()))
    return names if n_items >= ITEMS_PER_BEND * n_bends else ()


def _smooth_ridge(data: Comparisons, use: str, given: dict[str, Any]) -> str | None:
    """The ridge with which a smooth part is tried; None where it is not."""
    n_items = int(np.count_nonzero(data.compared))
    is_asked = "l2" in given or given.get("method", "mle") != "mle"
    is_large = data.items.values.shape[1] > MOST_COLUMNS or len(data) > MOST_COMPARISONS
    has_some = data.items.recipe is not None and data.items.recipe.get("smooth")
    if is_asked or is_large or has_some or n_items < FEWEST_ITEMS or not curvable(data.items):
        return None
    return "auto" if use == "new" else "auto-known"


def _impossible(data: Comparisons, name: str) -> Message | None:
    """Why a setting cannot be tried on these comparisons, whatever is held out of them; or nothing.

    With one winning side everywhere the effect of the side has no finite size.
    """
    left_won = bool(np.any(data.outcome == 1))
    right_won = bool(np.any(data.outcome == -1))
    if name == "side_effect" and left_won != right_won:
        side = "left" if left_won else "right"
        return Message.of(
            f"the {side} item won every decided comparison, so that an effect of the side"
            " cannot be told from the items",
            "if winners were always written there, name the two columns winner and loser",
        )
    try:
        if name == "judge_slopes" and data.judge is not None:
            refuse_missing_judges(data.judge)
    except PairscoreError as error:
        return error.message
    return None
