"""auto_fit: the settings that a study needs, each tried on comparisons that were held out.

Starting from plain maximum likelihood without ties, one setting after the other is added: an effect
of the side, ties as half wins or by a rule, a ridge, curves in place of straight lines, item
effects, a sharpness for every judge. Curves are those of all numeric columns of many values; they
are tried from a hundred compared items on, and from four for each bend; so is a smooth part, with
its ridge, of up to fifty columns. For known items both are tried after item effects, which else
they stand in for, and a smooth part only where no item effects stay.
A setting stays if it lowers the log-loss of held-out comparisons by more than one standard error of
the difference, so that of models that predict equally well the simplest is taken. A ridge for new
items, which is itself chosen on held-out ones, stays if it lowers it at all. Item effects are tried
where a test in all comparisons sees some (that of ``item_effects="auto"``). Where held-out
comparisons are undecided they stay if these do not point against them, or if the test is sure. A
sharpness for every judge stays then if some judge clearly differs from the others. Without
features, items have abilities; whether an estimated variance shrinks them is tried in place of the
ridge and of item effects.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.choices import USES
from pairscore.data.comparisons import Comparisons
from pairscore.data.splitters import set_covariance_items
from pairscore.display import html_text, plural, text_table, word_list
from pairscore.errors import PairscoreError, PairscoreWarning, one_of
from pairscore.estimators.settings import DEFAULTS
from pairscore.evaluation.held_out import (
    HeldOutTests,
    hold_out,
    of_models,
    of_terms,
)
from pairscore.evaluation.settings_search import (
    IN_WORDS,
    SettingsTrial,
    setting_in_words,
    try_settings,
)
from pairscore.messages import Setting, Words, in_python
from pairscore.model.regression import RankRegression
from pairscore.parallel import Progress, Workers, nobody
from pairscore.records import plain

TESTED = {"known": "new comparisons of known items", "new": "comparisons with new items"}


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
    one_of(use, "use", (*USES, None))
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
    data = of_terms(data, chosen)
    model = RankRegression(**settings | of_models(chosen), n_jobs=n_jobs).fit(data)
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
            Setting("use", "new") + " needs features: without them nothing is known of new items",
            ["leave it out", "give a table of items with features"],
        )
    return "known"


# -- the result -----------------------------------------------------------------------------------


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
            first = "first possible" if self.trials[0].reason is not None else "plain"
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

    def _rows(self, words: Words = in_python) -> list[tuple[Any, ...]]:
        """Name, log-loss, gain and verdict of every trial."""
        names = [trial.name for trial in self.trials]
        return [
            (
                f"{name}, again" if name in names[:number] else name,
                "" if np.isnan(trial.loss.value) or np.isfinite(trial.gain.value) else trial.loss,
                "" if np.isnan(trial.gain.value) else trial.gain,
                trial.verdict
                if trial.reason is None
                else f"{trial.verdict}: {trial.reason.worded(words)}",
            )
            for number, (name, trial) in enumerate(zip(names, self.trials, strict=True))
        ]

    def text(self, words: Words = in_python) -> str:
        """The table of trials and the choice, in the words of a front end."""
        header = ("", "log-loss", "lower by", "")
        table = text_table(header, self._rows(words), "  {:<}  {:>}  {:>}  {:<}")
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
                        "reason": "" if trial.reason is None else str(trial.reason),
                    }
                    for trial in self.trials
                ],
                "in_words": self.in_words,
            }
        )
