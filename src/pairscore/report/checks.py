"""Checks of a report in words: what could make its numbers mean something else.

Each check is a question with its answer, whether the answer is a good one, and the rule for that.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from pairscore.core.links import Link
from pairscore.core.sums import net_per_item
from pairscore.core.whitening import whiten
from pairscore.data.comparisons import Comparisons
from pairscore.errors import first_few
from pairscore.estimators.fit_data import FitData, separation_note
from pairscore.estimators.pairing import SIGNIFICANCE, TOLERATED, check_pairing
from pairscore.model.predict import expected_outcomes
from pairscore.model.regression import RankRegression
from pairscore.report.trials import importance
from pairscore.report.words import number_of, option_words, wins

TILT = 5.0  # degrees: 5/180 of the pairs of items change their order
REFERENCE = 500  # scores that stand for all others in an item's expected win rate
COINS = 0.05  # p-value up to which the coefficients are more than chance
RARE = 1e-4  # p-values below are all shown as this one
SKEWED = 1e-3  # p-value below which features are clearly skewed
RANK = 1e-9  # eigenvalues of a correlation matrix that count as zero
SIDE_Z = 3.0  # a side effect of none looks so large in one of four hundred studies
SPREAD = 1.2  # root mean square of the residuals from which on features leave something out
FAR = 1e-3  # chance that a normal cloud of this size has an item so far out


@dataclass(frozen=True)
class Check:
    """A question, whether the answer is a good one, the answer, and the rule for that."""

    question: str
    fine: bool
    answer: str
    rule: str


@dataclass(frozen=True)
class Shape:
    """How far the items are from an elliptical distribution, which closed forms need.

    ``tilt`` is the angle in degrees by which their shape turns a closed form (0 if elliptical),
    ``kurtosis`` E|z|^4 over d(d + 2) (1 if normal), and ``skewness_p`` the p-value of
    E z|z|^2 = 0, which holds for every elliptical distribution.
    """

    tilt: float
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
    skewness_p = float(chi2.sf(lean @ lean / variance, d)) if variance > 0 else 1.0
    return Shape(_tilt(z, score, link), float(np.mean(square**2) / (d * (d + 2))), skewness_p)


def _tilt(z: np.ndarray, score: np.ndarray, link: Link) -> float:
    centred = score - score.mean()
    if not centred.any() or z.shape[1] == 1:
        return 0.0
    others = np.quantile(score, (np.arange(REFERENCE) + 0.5) / REFERENCE)
    blocks = np.array_split(score, 1 + len(score) // 1000)
    h = np.concatenate([np.mean(2 * link.cdf(s[:, None] - others) - 1, axis=1) for s in blocks])
    t = centred / centred.std()
    u = z - np.outer(t, t @ z / len(z))
    along = float(t @ h / len(z))
    r = h - h.mean() - along * t
    noise = np.mean(np.sum(u**2, axis=1) * r**2) / len(z)
    across = np.sum(np.mean(u * r[:, None], axis=0) ** 2) - noise
    return float(np.degrees(np.arctan2(np.sqrt(max(across, 0.0)), along)))


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
    z = whiten(data.items.values[data.compared])
    score = data.items.values[data.compared] @ model.coef_
    return [
        _data_check(same_data),
        *_chance_checks(model),
        _pairing_check(model, data),
        _shape_check(model, shape_of(z, score, model.link_)),
        _separation_check(model),
        _side_check(model, data),
        _residual_check(residual, model.n_features_in_),
        _outlier_check(z, outside, data),
        *_warnings_of_the_fit(model),
    ]


def _data_check(same: bool) -> Check:
    answer = "These are the items and comparisons that the model was fitted to."
    other = (
        "These are not the items and comparisons that the model was fitted to. What is called"
        " in-sample here is then a test on other comparisons."
    )
    rule = "The fingerprint of the data against the one that the model keeps."
    return Check("Is this the data of the fit?", same, answer if same else other, rule)


def _chance_checks(model: RankRegression) -> list[Check]:
    p = chance_p(model)
    if np.isnan(p):
        return []
    of_100 = f"in {100 * p:{'.2g' if p < 0.01 else '.0f'}} of 100"
    often = f"in fewer than 1 of {1 / RARE:,.0f}" if p < RARE else of_100
    answer = (
        f"{'It could' if p > COINS else 'Hardly'}: if all answers were coins, coefficients would be"
        f" as far from zero as these {often} studies."
    )
    rule = (
        "All coefficients at once against their covariance (Wald); worth a look above"
        f" {100 * COINS:g} of 100."
    )
    return [Check("Could all of it be chance?", p <= COINS, answer, rule)]


def chance_p(model: RankRegression) -> float:
    """p-value of Wald's test that all coefficients are zero; NaN without their covariance."""
    covariance = model.covariance_
    if covariance is None or not np.isfinite(covariance).all() or not covariance.any():
        return float("nan")
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    z, correlation = model.coef_ / scale, covariance / np.outer(scale, scale)
    statistic = z @ np.linalg.pinv(correlation, RANK, hermitian=True) @ z
    return float(chi2.sf(statistic, np.linalg.matrix_rank(correlation, RANK, hermitian=True)))


def _pairing_check(model: RankRegression, data: Comparisons) -> Check:
    study = FitData(data, keep_sides=False)
    pairing = check_pairing(study.X, study.pairs, study.item_moments, study.item_moments)
    needed = model.method in ("split", "pooled")
    need = "needs random pairs; use mle or paired." if needed else "does not need random pairs."
    advice = "" if pairing.looks_random else f" This method {need}"
    rule = (
        f"Not random if random partners look so in fewer than 1 of {1 / SIGNIFICANCE:,.0f} studies"
        f" and a spread is off by {100 * TOLERATED:.0f} % or more."
    )
    fine = pairing.looks_random or not needed
    return Check("Do the pairs look random?", fine, pairing.in_words + advice, rule)


def _shape_check(model: RankRegression, shape: Shape) -> Check:
    enough, closed_form = shape.tilt <= TILT, model.method != "mle"
    verdict = (
        "they are elliptical enough."
        if enough
        else "they are not elliptical enough; trust the likelihood more than a closed form."
    )
    if not enough and not closed_form:
        verdict += " This model is a maximum likelihood fit, which does not need it."
    answer = (
        f"The shape of the items turns a closed form by about {shape.tilt:.1f} degrees, so that"
        f" {shape.tilt / 1.8:.1f} % of all pairs change their order: {verdict} The features'"
        f" kurtosis is {shape.kurtosis:.2f} times that of normal ones, and they are"
        f" {'clearly' if shape.skewness_p < SKEWED else 'not clearly'} skewed."
    )
    rule = (
        f"Enough up to {TILT:g} degrees, if the score is the true one and pairs are random;"
        " kurtosis and skewness of Mardia's kind, in whitened coordinates."
    )
    question = "Are the features elliptical enough for a closed form?"
    return Check(question, enough or not closed_form, answer, rule)


def _separation_check(model: RankRegression) -> Check:
    note = separation_note()[1]
    separated = note in model.notes_
    finite = (
        "No direction in the features explains every comparison, so the coefficients are finite."
    )
    rule = "Whether the likelihood has a maximum."
    answer = _sentence(note) if separated else finite
    return Check("Is there separation?", not separated, answer, rule)


def _sentence(note: str) -> str:
    """A note of the library as a sentence, with the options of the command."""
    return option_words(note[0].upper() + note[1:])


def _side_check(model: RankRegression, data: Comparisons) -> Check:
    fine = True
    if not data.sides_known:
        answer = "The votes say winner and loser only, so nobody can tell."
    elif model.side_effect_ is not None:
        answer = _side_effect_in_words(model, model.side_effect_)
    else:
        z = side_z(data, *expected_outcomes(model.result_, data))
        fine = abs(z) <= SIDE_Z
        answer = (
            f"Left won {'more' if z > 0 else 'less'} often than the scores say, by {abs(z):.1f}"
            " standard errors"
            + (", which chance explains." if fine else "; fit again with a side effect.")
        )
    rule = f"A side effect is seen from {SIDE_Z:g} standard errors on."
    return Check("Does the side matter?", fine, answer, rule)


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
    total = float((importance(data) * data.amount) @ variance)
    if total <= 0:
        return 0.0
    return float(data.amount @ (0.5 + 0.5 * data.outcome - mean) / np.sqrt(total))


def comparisons_per_item(data: Comparisons) -> np.ndarray:
    """How often each item was compared with another; weights do not matter here."""
    count = (data.left != data.right) * (1 if data.count is None else data.count)
    n = len(data.items)
    return np.bincount(data.left, count, n) + np.bincount(data.right, count, n)


def item_residuals(
    data: Comparisons, mean: np.ndarray, variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Net wins of each item, what the model expects of them, and the standardised difference.

    ``mean`` and ``variance`` are those of each outcome as a share of the win, 1, 1/2 or 0; in net
    wins, 1, 0 or -1, that is 2 mean - 1 and 4 variance. A row that stands for several comparisons
    has several such variances. The difference is NaN for an item that was never compared with
    another, or only in ties that were left out.
    """
    n, amount, two_items = len(data.items), data.amount, data.left != data.right
    variance = two_items * 4 * variance * importance(data) * amount
    net_wins = net_per_item(data.left, data.right, amount * data.outcome, n)
    expected = net_per_item(data.left, data.right, amount * (2 * mean - 1), n)
    sd = np.sqrt(np.bincount(data.left, variance, n) + np.bincount(data.right, variance, n))
    residual = np.divide(net_wins - expected, sd, out=np.full(n, np.nan), where=sd > 0)
    return net_wins, expected, residual


def _residual_check(residual: np.ndarray, n_features: int) -> Check:
    question = "Do the features explain the items?"
    known = residual[np.isfinite(residual)]
    freedom = len(known) - n_features - 1
    if freedom < 1:
        answer = "There are too few items for so many features to tell."
        return Check(question, False, answer, "Needs more compared items than features.")
    size = float(np.sqrt(np.sum(known**2) / freedom))
    wide = size > SPREAD and size**2 - 1 > 4 * np.sqrt(2 / freedom)
    verdict = (
        "more than chance gives: the features leave something out. Item-robust intervals allow for"
        " it, the shares of misordered pairs below do not."
        if wide
        else "about what chance gives: the features explain the items."
    )
    answer = (
        f"Standardised residuals have a root mean square of {size:.2f}, where 1 is expected;"
        f" {verdict}"
    )
    rule = f"Too wide above {SPREAD:g} and four standard errors above 1."
    return Check(question, not wide, answer, rule)


def _outlier_check(z: np.ndarray, outside: np.ndarray, data: Comparisons) -> Check:
    """Items beyond the compared ones in some feature, and compared items far from all others."""
    names = data.items.names
    limit = float(chi2.isf(FAR / len(z), z.shape[1]))
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
    return Check("Are items far outside?", not answers, " ".join(answers) or none, rule)


def _warnings_of_the_fit(model: RankRegression) -> list[Check]:
    """Each warning of the fit as a check, but for separation, which has its own."""
    question, rule = "What did the fit itself warn of?", "Warnings of the fit."
    return [
        Check(question, False, _sentence(note), rule)
        for note in model.notes_
        if note != separation_note()[1]
    ]
