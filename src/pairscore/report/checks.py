"""Checks of a report in words: what could make its numbers mean something else.

Each check is a question with its answer, whether the answer is a good one, and the rule for that.
A check that finds nothing says what it would have found eight times out of ten; where that is more
than data ever have, it says that it cannot tell.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg
from scipy.special import chdtri, expit, ndtri

from pairscore.core.linear_systems import solve_by_factor
from pairscore.core.links import Link
from pairscore.core.passes import net_pass
from pairscore.core.significance import chi_square_p, wald
from pairscore.core.whitening import whiten
from pairscore.data.comparisons import Comparisons
from pairscore.display import first_few, word_list
from pairscore.effects.judges import REACH
from pairscore.errors import PairscoreWarning, SeparatedFeaturesWarning, UnbeatenItemsWarning
from pairscore.estimators.random_pairs import SIGNIFICANCE, TOLERATED, pairing_of_data
from pairscore.estimators.table_data import TableData
from pairscore.evaluation.settings_search import IN_WORDS
from pairscore.model.predict import expected_outcomes
from pairscore.model.regression import RankRegression
from pairscore.report.held_out import WrongShare
from pairscore.report.items import comparisons_per_item
from pairscore.report.words import (
    advice_or_tried,
    as_sentence,
    number_of,
    wins,
    with_spaces,
)

TILT = 5.0  # degrees: 5/180 of the pairs of items change their order
COINS = 0.05  # p-value up to which the coefficients are more than chance
RARE = 1e-4  # p-values below are all shown as this one
SKEWED = 1e-3  # p-value below which features are clearly skewed
SIDE_Z = 3.0  # a side effect of none looks so large in one of four hundred studies
SPREAD = 1.2  # root mean square of the residuals from which on features leave something out
POWER = ndtri(0.8)  # standard errors beyond a limit at which an effect is seen 8 times out of 10
FLATTER = 2 * (16 * np.sqrt(3) / (15 * np.pi)) ** 2  # a logit averaged over two normal effects
BLIND = 90  # wins of 100: a check that sees larger effects only cannot tell
NO_SIGN, CANNOT_TELL = "no sign of trouble", "cannot tell"
NOT_NEEDED, DOUBTFUL = "not needed", "worth a look"
FEW = 10  # comparisons of an item, below which little is known of its ability
FAR = 1e-3  # chance that a normal cloud of this size has an item so far out
REFERENCE = 500  # scores that stand for all others in an item's expected win rate
STEEP = 0.9  # calibration slope of held-out comparisons below which chances are too sure


@dataclass(frozen=True)
class Check:
    """A question, whether the answer is a good one, the answer, and the rule for that.

    ``good`` is what a good answer is called: a test that finds nothing has no sign of what it
    looked for, and one that could not have seen anything cannot tell; some methods do not need it.
    """

    question: str
    fine: bool
    answer: str
    rule: str
    good: str = NO_SIGN

    @property
    def verdict(self) -> str:
        """The answer in two words."""
        return self.good if self.fine else DOUBTFUL

    @property
    def is_blind(self) -> bool:
        return self.good == CANNOT_TELL


def checks(
    model: RankRegression,
    data: Comparisons,
    residual: np.ndarray,
    outside: np.ndarray,
    same_data: bool,
) -> list[Check]:
    """All checks of a report, in the order of a reader's questions.

    Parameters
    ----------
    residual : standardised residual of each item, NaN for one that was never compared
    outside : mask of the items with a feature beyond all compared items, in the order of the table
    same_data : whether these are the data of the fit
    """
    if not model.n_features_in_:
        return ability_checks(model, data, same_data)
    z = whiten(data.items.values[data.compared])
    score = data.items.values[data.compared] @ model.coef_
    probability = model.predict_proba(data)[:, 1]
    return [
        _data_check(same_data),
        *_chance_checks(model),
        _pairing_check(model, data),
        *_shape_checks(model, z, score),
        _separation_check(model),
        _side_check(model, data, probability),
        _features_check(model, residual, item_information(data, probability)),
        _outlier_check(z, outside, data),
        *_warnings_of_the_fit(model),
    ]


def notes_of(
    model: RankRegression, *kinds: type[PairscoreWarning], others: bool = False
) -> list[str]:
    """Warnings of the fit of some kinds, or with ``others`` all but those, in sentences."""
    warned = model.result_.warnings
    return [as_sentence(warning) for warning in warned if isinstance(warning, kinds) != others]


def again(model: RankRegression, setting: str, advice: str, what: str) -> str:
    """Advice to fit again with a setting, or that it was tried when the settings were chosen."""
    return advice_or_tried(model.record_.get("rejected") or {}, setting, advice, what)


def _would_see(of_100: float, who: str, against: str) -> str:
    """What a check that found nothing would have found."""
    if of_100 > BLIND:
        return (
            "With so few comparisons it could not have been detected"
            f" (only if {who} more than {BLIND} of 100 {against})."
        )
    size = f"{who} {of_100:.0f} or more of 100 {against}"
    return f"It would have been detected 8 times out of 10 if {size}."


# -- the data, and whether all could be chance -----------------------------------------------------


def _data_check(same: bool) -> Check:
    answer = "These are the items and comparisons that the model was fitted to."
    other = (
        "These are not the items and comparisons that the model was fitted to. What is called"
        " in-sample here is then a test on other comparisons."
    )
    rule = "The fingerprint of the data against the one that the model keeps."
    return Check(
        "Are these the data that the model was fitted to?",
        same,
        answer if same else other,
        rule,
        "yes",
    )


def _chance_checks(model: RankRegression) -> list[Check]:
    p = chance_p(model)
    if np.isnan(p):
        return []
    rule = "All coefficients at once against their covariance (Wald)"
    return [_chance_check(p, "coefficients would be as far from zero as these", rule)]


def _chance_check(p: float, what: str, rule: str) -> Check:
    of_100 = f"in {1e4 * p:.0f} of 10,000" if p < 0.01 else f"in {100 * p:.0f} of 100"
    often = f"in fewer than 1 of {1 / RARE:,.0f}" if p < RARE else of_100
    answer = (
        f"{'It could' if p > COINS else 'Hardly'}: if every answer were a coin toss, {what} {often}"
        " studies."
    )
    rule = f"{rule}; worth a look above {100 * COINS:g} of 100."
    return Check("Could all of it be chance?", p <= COINS, answer, rule, "no sign of chance")


def chance_p(model: RankRegression) -> float:
    """p-value of Wald's test that all coefficients are zero; NaN without their covariance.

    And where comparisons are separated.
    """
    covariance = model.covariance_
    if model.result_.recession is not None:  # a prior is part of it
        return float("nan")
    if covariance is None or not np.isfinite(covariance).all() or not covariance.any():
        return float("nan")
    return wald(model.coef_, covariance)[2]


# -- pairs at random -------------------------------------------------------------------------------


def _pairing_check(model: RankRegression, data: Comparisons) -> Check:
    study = TableData(data, keep_sides=False)
    pairing = pairing_of_data(study, "paired")
    needed = model.method in ("split", "pooled")
    need = "needs random pairs; use mle or paired." if needed else "does not need random pairs."
    blind = pairing.looks_random and not pairing.smallest_seen < 1
    says_need = not needed if blind else not pairing.looks_random
    advice = f" This method {need}" if says_need else ""
    rule = (
        f"Not random if random partners look so in fewer than 1 of {1 / SIGNIFICANCE:,.0f} studies"
        f" and a spread is off by {100 * TOLERATED:.0f} % or more."
    )
    fine = pairing.looks_random or not needed
    good = CANNOT_TELL if needed else NOT_NEEDED
    if pairing.looks_random and not blind:
        good = NO_SIGN
    return Check("Do the pairs look random?", fine, pairing.in_words + advice, rule, good)


# -- the shape of the items, which closed forms need -----------------------------------------------


def _shape_checks(model: RankRegression, z: np.ndarray, score: np.ndarray) -> list[Check]:
    """Whether the shape of the items turns a closed form; a likelihood does not depend on it."""
    if model.method == "mle":
        return []
    shape = shape_of(z, score, model.link_)
    enough = shape.tilt <= TILT
    if not enough:
        verdict = "they are not elliptical enough; trust the likelihood more than a closed form."
    elif shape.chance <= TILT:
        verdict = "no sign that they are not elliptical enough."
    else:
        verdict = "too few to tell whether they are elliptical enough."
    answer = (
        f"The distribution of the items tilts this closed form by about {shape.tilt:.1f} degrees,"
        f" so that {shape.tilt / 1.8:.1f} % of all pairs change their order (with as many"
        f" elliptical items, chance alone gives {shape.chance:.1f} degrees): {verdict} The"
        f" features' kurtosis is {shape.kurtosis:.2f} times that of normal ones, and they are"
        f" {'clearly' if shape.skewness_p < SKEWED else 'not clearly'} skewed."
    )
    rule = (
        f"Enough up to {TILT:g} degrees, if the score is the true one and pairs are random;"
        " kurtosis and skewness of Mardia's kind, in whitened coordinates."
    )
    question = "Are the features elliptical enough for a closed form?"
    good = NO_SIGN if shape.chance <= TILT else CANNOT_TELL
    return [Check(question, enough, answer, rule, good)]


@dataclass(frozen=True)
class Shape:
    """How far the items are from an elliptical distribution, which closed forms need.

    ``tilt`` is the angle in degrees by which their shape turns a closed form (0 if elliptical),
    ``chance`` the one that as many elliptical items typically show, ``kurtosis`` E|z|^4 over
    d(d + 2) (1 if normal), and ``skewness_p`` the p-value of E z|z|^2 = 0, which holds for every
    elliptical distribution.
    """

    tilt: float
    chance: float
    kurtosis: float
    skewness_p: float


def shape_of(z: np.ndarray, score: np.ndarray, link: Link) -> Shape:
    """Measure what the whitened items ``z`` (n x d) lack of an elliptical distribution.

    With random pairs, and if ``score`` (n) is the true one, a closed form points at E[z h(s)],
    h(s) = E[2f(s - s') - 1] an item's expected win rate. Of that, E[t h] lies along the
    standardised score t and E[u h] across, u = z less what t explains; for an elliptical
    distribution the latter is zero. Its square is reduced by its noise, mean(|u|^2 r^2)/n, r the
    part of h that is not linear in t.

    Mardia's kurtosis is E|z|^4. For an elliptical distribution mean(z|z|^2) has mean 0 and, in
    each direction, variance E[|z|^2 (|z|^2 - d - 2)^2]/(d n).
    """
    n, d = z.shape
    square = np.sum(z**2, axis=1)
    lean = np.mean(z * square[:, None], axis=0)
    variance = float(np.mean(square * (square - d - 2) ** 2)) / (d * n)
    skewness_p = chi_square_p(lean @ lean / variance, d) if variance > 0 else 1.0
    return Shape(*_tilt(z, score, link), float(np.mean(square**2) / (d * (d + 2))), skewness_p)


def _tilt(z: np.ndarray, score: np.ndarray, link: Link) -> tuple[float, float]:
    """The angle in degrees, and that of its noise."""
    centred = score - score.mean()
    if not centred.any() or z.shape[1] == 1:
        return 0.0, 0.0
    others = np.quantile(score, (np.arange(REFERENCE) + 0.5) / REFERENCE)
    blocks = np.array_split(score, 1 + len(score) // 1000)
    h = np.concatenate([np.mean(2 * link.cdf(s[:, None] - others) - 1, axis=1) for s in blocks])
    t = centred / centred.std()
    u = z - np.outer(t, t @ z / len(z))
    along = float(t @ h / len(z))
    r = h - h.mean() - along * t
    noise = np.mean(np.sum(u**2, axis=1) * r**2) / len(z)
    across = np.sum(np.mean(u * r[:, None], axis=0) ** 2) - noise
    tilts = np.degrees(np.arctan2(np.sqrt([max(across, 0.0), noise]), along))
    return float(tilts[0]), float(tilts[1])


# -- separation ------------------------------------------------------------------------------------


def _separation_check(model: RankRegression) -> Check:
    notes = notes_of(model, SeparatedFeaturesWarning)
    finite = (
        "No direction in the features explains every comparison, so the coefficients are finite."
    )
    rule = "Whether the likelihood has a maximum."
    answer = notes[0] if notes else finite
    return Check("Is there separation?", not notes, answer, rule, "no sign of separation")


# -- sides -----------------------------------------------------------------------------------------


def _side_check(model: RankRegression, data: Comparisons, probability: np.ndarray) -> Check:
    fine, good = True, "allowed for"
    if not data.sides_known:
        answer, good = (
            "The comparisons name winner and loser but no sides, so this cannot be tested.",
            CANNOT_TELL,
        )
    elif model.side_effect_ is not None:
        answer = _side_effect_in_words(model, model.side_effect_)
    else:
        z = side_z(data, *expected_outcomes(model.result_, data))
        fine = abs(z) <= SIDE_Z
        seen = smallest_side_seen(data, probability)
        good = "no sign of a side effect" if seen <= BLIND else CANNOT_TELL
        answer = (
            f"Left won {'more' if z > 0 else 'less'} often than the scores say, by {abs(z):.1f}"
            " standard errors"
        )
        answer += (
            f": no sign of a side effect. {_would_see(seen, 'one side won', 'between equal items')}"
            if fine
            else "; "
            + again(model, "side_effect", "fit again with a side effect", "an effect of the side")
            + "."
        )
    rule = f"Flagged at {SIDE_Z:g} standard errors or more."
    return Check("Does the side matter?", fine, answer, rule, good)


def smallest_side_seen(data: Comparisons, probability: np.ndarray) -> float:
    """Wins of 100 of one side between equal items that the check sees 8 times out of 10.

    A side effect g adds g sqrt(sum p(1 - p)) to z (of weighted comparisons, by their importance).
    """
    information = data.amount * probability * (1 - probability)
    scale = information.sum() / np.sqrt(max(data.importance @ information, np.finfo(float).tiny))
    return float(100 * expit((SIDE_Z + POWER) / max(scale, np.finfo(float).tiny)))


def _side_effect_in_words(model: RankRegression, effect: float) -> str:
    error = model.side_effect_std_error_
    error = float("nan") if error is None else error
    known = f", standard error {error:.2g}" if np.isfinite(error) else ""
    clear = abs(effect) > SIDE_Z * error
    of_100 = wins(100 * float(model.outcome_law.win_chance(np.array(effect))))
    return (
        f"The model allows for it: between equal items left wins {of_100} of 100 comparisons"
        f" (side effect {effect:+.3g}{known})."
        f" The effect is {'clear' if clear else 'not clear'}."
    )


def side_z(data: Comparisons, mean: np.ndarray, variance: np.ndarray) -> float:
    """How many standard errors left won more often than the model says.

    ``mean`` and ``variance`` are those of each outcome, a tie being half a win.
    """
    total = float((data.importance * data.amount) @ variance)
    if total <= 0:
        return 0.0
    return float(data.amount @ (0.5 + 0.5 * data.outcome - mean) / np.sqrt(total))


# -- what features leave out -----------------------------------------------------------------------


def _features_check(model: RankRegression, residual: np.ndarray, information: np.ndarray) -> Check:
    """Whether features explain the items; where effects are used, these have the answer.

    Residuals are those of the whole model: next to effects they say nothing of the features alone.
    """
    effects = model.item_effects_
    if effects is None or effects.free or not effects.sigma2 > 0:
        return _residual_check(residual, information, model.n_features_in_)
    answer = (
        "Not all of it: items differ beyond their features, and the model has item effects for"
        f" that: {with_spaces(effects.in_words)}."
    )
    rule = "Whether the estimated standard deviation of item effects is above zero."
    return Check("Do the features explain the items?", True, answer, rule, "allowed for")


def _residual_check(residual: np.ndarray, information: np.ndarray, n_features: int) -> Check:
    question = "Do the features explain the items?"
    known = residual[np.isfinite(residual)]
    freedom = len(known) - n_features - 1
    if freedom < 1:
        answer = "There are too few items for so many features to tell."
        return Check(question, False, answer, "Needs more compared items than features.")
    square, limit = np.sum(known**2) / freedom, max(SPREAD**2, 1 + 4 * np.sqrt(2 / freedom))
    wide, seen = bool(square > limit), smallest_effect_seen(information, limit, freedom)
    verdict = (
        ", more than chance gives: the features leave something out. Item-robust intervals allow"
        " for it, the predicted error of the estimate below does not."
        if wide
        else ": no sign that the features leave something out. "
        + _would_see(seen, "items typically won", "against others with the same features")
    )
    answer = (
        f"Standardised residuals have a root mean square of {np.sqrt(square):.2f}, where 1 is"
        f" expected{verdict}"
    )
    rule = f"Too wide above {SPREAD:g} and four standard errors above 1."
    good = "no sign of missing features" if seen <= BLIND else CANNOT_TELL
    return Check(question, not wide, answer, rule, good)


def smallest_effect_seen(information: np.ndarray, limit: float, freedom: int) -> float:
    """Wins of 100 of an item, one standard deviation better than its features, over an equal one
    that the check of residuals sees 8 times out of 10; 100 where it sees nothing.

    Effects of variance v flatten the link by 1 + FLATTER v, so the mean square of residuals is
    1 + v/(1 + FLATTER v) times the mean ``information``, with a relative standard error of
    sqrt(2 / freedom); it has to exceed ``limit``.
    """
    known = np.maximum(information[np.isfinite(information)], 0.0)  # none is none but for rounding
    share = 1 - POWER * np.sqrt(2 / freedom)
    needed = (limit / share - 1) / known.mean() if share > 0 and known.any() else np.inf
    if needed * FLATTER >= 1:
        return 100.0
    return float(100 * expit(np.sqrt(needed / (1 - FLATTER * needed))))


def item_information(data: Comparisons, probability: np.ndarray) -> np.ndarray:
    """What the variance of a small effect of the item adds to its squared residual, shape (N,).

    An effect u moves an outcome by 2 u p(1 - p). Net wins have the variance 4 sum p(1 - p), to
    which any two comparisons of the item add 4 p(1 - p) p'(1 - p') times that of u; weighted ones
    count by amount and importance. NaN for an item that was never compared.
    """
    n, p = len(data.items), probability * (1 - probability) * (data.left != data.right)
    amount, square = data.amount, data.amount * data.importance
    moved, alone, variance = (
        np.bincount(data.left, values, n) + np.bincount(data.right, values, n)
        for values in (amount * p, square * p**2, square * p)
    )
    return np.divide(moved**2 - alone, variance, out=np.full(n, np.nan), where=variance > 0)


# -- items far out, and warnings of the fit --------------------------------------------------------


def _outlier_check(z: np.ndarray, outside: np.ndarray, data: Comparisons) -> Check:
    """Items beyond the compared ones in some feature, and compared items far from all others."""
    names = data.items.names
    limit = float(chdtri(z.shape[1], FAR / len(z)))
    distance = np.sum(z**2, axis=1)
    far = np.flatnonzero(data.compared)[np.argsort(-distance)[: int(np.sum(distance > limit))]]
    beyond = np.flatnonzero(outside)
    answers = []
    if len(far):
        answers.append(
            f"{len(far):,} of {len(z):,} compared items {'lies' if len(far) == 1 else 'lie'} far"
            f" from all others ({first_few(names[row] for row in far)}); a few such items can move"
            " the fit."
        )
    if len(beyond):
        have, scores = ("has", "its score is") if len(beyond) == 1 else ("have", "their scores are")
        answers.append(
            f"{number_of(len(beyond), 'item')} {have} a feature beyond all compared items"
            f" ({first_few(names[row] for row in beyond)}); {scores} extrapolated."
        )
    rule = (
        f"Far: further than any of {len(z):,} normal items would be in {100 * (1 - FAR):.1f} % of"
        " studies. Beyond: outside their range."
    )
    none = "No item lies far from the others or beyond the compared ones."
    text, good = " ".join(answers) or none, "no sign of outliers"
    return Check("Are there outliers?", not answers, text, rule, good)


def _warnings_of_the_fit(model: RankRegression) -> list[Check]:
    """The warnings of the fit, but for separation, which has its own check."""
    told = SeparatedFeaturesWarning, UnbeatenItemsWarning
    notes = notes_of(model, *told, others=True)
    question, rule = "What did the fit itself warn of?", "Warnings of the fit."
    rejected = model.record_.get("rejected") or {}
    if notes and rejected:  # a warning may propose what was tried
        tried = word_list([IN_WORDS[name] for name in rejected])
        were = "was" if len(rejected) == 1 else "were"
        notes.append(f"When the settings were chosen, {tried} {were} tried and not taken.")
    return [Check(question, False, " ".join(notes), rule)] if notes else []


# -- items without features ------------------------------------------------------------------------


def ability_checks(model: RankRegression, data: Comparisons, same_data: bool) -> list[Check]:
    """The checks of a model without features."""
    what = "wins would be spread over the items as unevenly as here"
    rule = "Net wins of all items at once against their covariance (score test)"
    return [
        _data_check(same_data),
        _chance_check(equal_items_p(data), what, rule),
        _linked_check(data),
        _unbeaten_check(model, data),
        _few_check(data),
        _side_check(model, data, model.predict_proba(data)[:, 1]),
        *_warnings_of_the_fit(model),
    ]


def equal_items_p(data: Comparisons) -> float:
    """p-value of the score test that all items are equal, whatever the advantage of a side.

    With equal items a row adds amount * outcome to the net wins of its left item, with the variance
    w = v * amount * importance, v that of an outcome. Net wins s have the covariance L, the
    Laplacian of w; with left's net wins T of all rows, of variance W = sum(w), they have the
    covariance h, the net w of each item. Free of the side, s - h T/W has the covariance L - hh'/W,
    whose pseudo-inverse is L+ + L+hh'L+ / (W - h'L+h).
    """
    n, y, ends = len(data.items), data.outcome.astype(float), (data.left, data.right)
    amount = data.amount * (data.left != data.right)
    w = amount * data.importance
    mean = float(w @ y / w.sum()) * data.sides_known
    w = w * max(float(w @ y**2 / w.sum()) - mean**2, np.finfo(float).tiny)
    s, h = (net_pass(*ends, part, n) for part in (amount * y, w))
    pairs = sparse.csr_array((w, ends), shape=(n, n))
    pairs = pairs + pairs.T
    L = sparse.diags_array(pairs.sum(axis=1)) - pairs
    freedom = n - connected_components(pairs, directed=False)[0]
    if not data.sides_known:
        return chi_square_p(s @ _solve(L, s), freedom)
    s, W = s - h * float(amount @ y / w.sum()), float(w.sum())
    along, rest = _solve(L, s), W - float(h @ _solve(L, h))
    if rest < 1e-6 * W:  # the side cannot be told from the items
        return chi_square_p(s @ along, freedom - 1)
    return chi_square_p(s @ along + float(h @ along) ** 2 / rest, freedom)


def _solve(L: sparse.sparray, right: np.ndarray) -> np.ndarray:
    """L+ times a vector whose sum over every connected part is zero, up to a constant there."""
    solved, unfinished = cg(L, right, rtol=1e-10, maxiter=20 * len(right) + 1000)
    if not unfinished:
        return solved
    lift = 1e-12 * float(L.diagonal().max())  # makes each part, free by a constant, invertible
    return solve_by_factor(L + lift * sparse.eye_array(len(right)), right)


def _linked_check(data: Comparisons) -> Check:
    names, two = np.array(data.items.names, dtype=object), data.left != data.right
    ends, n = (data.left[two], data.right[two]), len(data.items)
    graph = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    groups = np.unique(group[data.compared])
    answer = "A chain of comparisons links every item to every other."
    if len(groups) > 1:
        members = first_few(f"that of {names[np.argmax(group == one)]}" for one in groups)
        answer = (
            f"The items fall into {len(groups):,} groups that never met ({members}). How items of"
            " different groups compare rests on the assumption that groups are alike on average;"
            " make comparisons between them."
        )
    rule = "Whether the pairs that were compared connect all items."
    return Check("Are all items linked by comparisons?", len(groups) == 1, answer, rule, "yes")


def _unbeaten_check(model: RankRegression, data: Comparisons) -> Check:
    """Items that won, or lost, everything, and what that means for their scores."""
    n, two = len(data.items), (data.left != data.right) & (data.amount > 0)
    left, right, outcome = data.left[two], data.right[two], data.outcome[two]
    won, lost = outcome >= 0, outcome <= 0  # a tie counts both ways
    beat = np.bincount(np.concatenate([left[won], right[lost]]), minlength=n)
    beaten = np.bincount(np.concatenate([left[lost], right[won]]), minlength=n)
    names = np.array(data.items.names, dtype=object)
    found = {
        "won": names[(beaten == 0) & (beat > 0)],
        "lost": names[(beat == 0) & (beaten > 0)],
    }
    told = [f"{first_few(who)} {how} every comparison" for how, who in found.items() if len(who)]
    noted = notes_of(model, UnbeatenItemsWarning)
    answer = "Every item won some comparisons and lost some."
    effects = model.item_effects_
    how = "their scores are as high or low as the shrinkage of the fit allows"
    if effects is not None and effects.held.any():
        how = "their intervals are open, and only a prior holds their scores"
    if told:
        answer = (
            f"{'; '.join(told)}. How far such items are from the others the comparisons do not say:"
            f" {how}."
        )
    elif noted:
        answer = noted[0]
    rule = (
        "An item that never lost has no finite ability by itself (Ford 1957); ties count as both."
    )
    question, fine = "Did items win or lose everything?", not (told or noted)
    return Check(question, fine, answer, rule, "no")


def _few_check(data: Comparisons) -> Check:
    """Items with few comparisons: an ability from c with equal items has the error 2/sqrt(c)."""
    number = comparisons_per_item(data)
    few = np.flatnonzero(data.compared & (number < FEW))
    few = few[np.argsort(number[few], kind="stable")]
    answer = f"Every item was compared {FEW} times or more."
    if len(few):
        named = first_few(f"{data.items.names[row]}: {number[row]:.6g}" for row in few)
        have = "item was" if len(few) == 1 else "items were"
        answer = f"{len(few):,} {have} compared fewer than {FEW} times ({named})."
    off = 100 * (expit(REACH * 2 / np.sqrt(FEW)) - 0.5)
    rule = (
        f"With {FEW} comparisons, an item's wins of 100 against an average one are known to about"
        f" ±{off:.0f}."
    )
    return Check("Was every item compared often enough?", not len(few), answer, rule, "yes")


def slope_checks(model: RankRegression, held_out: WrongShare) -> list[Check]:
    """Whether abilities are too far apart for held-out comparisons; nothing where none was tested,
    nor with features, where the chart of calibration shows it.

    The slope is what the log odds of the predictions have to be multiplied by.
    """
    slope, error = held_out.slope, held_out.slope_error
    if model.n_features_in_ or not (np.isfinite(slope) and np.isfinite(error)):
        return []
    fine = slope > STEEP or slope + SIDE_Z * error > 1
    answer = (
        f"The log odds of held-out pairs would have to be multiplied by {slope:.2f} (standard"
        f" error {error:.2f}) to be right"
    )
    answer += ": no sign that chances are too sure." if fine else ": abilities are too far apart."
    if not fine and model.item_effects_ is not None and model.item_effects_.free:
        answer += (
            " The comparisons are few for this number of items; "
            + again(
                model,
                "item_effects",
                "fit again with --item-effects, which shrinks abilities by an estimated variance",
                "shrinking abilities by an estimated variance",
            )
            + "."
        )
    rule = (
        f"Calibration slope of held-out pairs; too sure below {STEEP:g}, if it is {SIDE_Z:g}"
        " standard errors below 1."
    )
    return [Check("Are predictions too sure?", fine, answer, rule, "no sign of it")]
