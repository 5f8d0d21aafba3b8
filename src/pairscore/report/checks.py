"""Checks of a report: what could make the numbers mean something else, each in words with its rule."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from pairscore.core.links import Link
from pairscore.core.whitening import whiten
from pairscore.data.comparisons import Comparisons
from pairscore.errors import first_few
from pairscore.estimators.fit_data import FitData, separation_note
from pairscore.estimators.pairing import SIGNIFICANCE, TOLERATED, check_pairing
from pairscore.model.regression import RankRegression
from pairscore.report.words import number_of, option_words, wins

TILT = 5.0  # degrees: 5/180 of the pairs of items change their order
REFERENCE = 500  # scores that stand for all others in an item's expected win rate
COINS = 0.05  # p-value up to which the coefficients are more than chance
RARE = 1e-4  # p-values below are not told apart
RANK = 1e-9  # eigenvalues of a correlation matrix that count as zero
SIDE_Z = 3.0  # a side effect of none looks so large in one of four hundred studies
SPREAD = 1.2  # root mean square of the residuals from which on features leave something out
FAR = 1e-3  # chance that a normal cloud of this size has an item so far out


@dataclass(frozen=True)
class Check:
    """A question, whether the answer is a good one, the answer, and the rule it goes by."""

    question: str
    fine: bool
    answer: str
    rule: str


@dataclass(frozen=True)
class Shape:
    """How the items lie, as a closed form sees it.

    ``tilt``: degrees by which their shape turns it (0 if elliptical). ``kurtosis``:
    E|z|^4 over d(d + 2), 1 if normal. ``skewness_p``: p-value of E z|z|^2 = 0, which every
    elliptical law has.
    """

    tilt: float
    kurtosis: float
    skewness_p: float


def shape_of(z: np.ndarray, score: np.ndarray, link: Link) -> Shape:
    """What of an elliptical law the whitened items ``z`` lack, if ``score`` is the true one.

    With random pairs a closed form points at E[z h(s)], h(s) = E[2f(s - s') - 1] an item's expected
    win rate. Of that, E[t h] lies along the standardised score t and E[u h] across, u = z less what
    t explains; of an elliptical law the latter is zero. Its square is reduced by its noise,
    mean(|u|^2 r^2)/N, r what of h is no straight line in t. Mardia's kurtosis is E|z|^4. Of an
    elliptical law mean(z|z|^2) has mean 0 and variance E[|z|^2 (|z|^2 - d - 2)^2]/(d N) per
    direction.
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
    h = np.concatenate(
        [
            np.mean(2 * link.cdf(block[:, None] - others) - 1, axis=1)
            for block in np.array_split(score, 1 + len(score) // 1000)
        ]
    )
    t = centred / centred.std()
    u = z - np.outer(t, t @ z / len(z))
    along = float(t @ h / len(z))
    bent = h - h.mean() - along * t
    across = np.sum(np.mean(u * bent[:, None], axis=0) ** 2) - np.mean(
        np.sum(u**2, axis=1) * bent**2
    ) / len(z)
    return float(np.degrees(np.arctan2(np.sqrt(max(across, 0.0)), along)))


def importance(data: Comparisons) -> np.ndarray:
    """Weight of each comparison.

    A count is no weight: it says how many comparisons a row stands for, each with a chance of its
    own.
    """
    return np.ones(len(data)) if data.weight is None else data.weight


def side_z(data: Comparisons, probability: np.ndarray) -> float:
    """How many standard errors left won more often than the model says."""
    amount = data.amount
    variance = float((importance(data) * amount) @ (probability * (1 - probability)))
    return (
        float(amount @ (0.5 + 0.5 * data.outcome - probability) / np.sqrt(variance))
        if variance > 0
        else 0.0
    )


def checks(
    model: RankRegression,
    data: Comparisons,
    residual: np.ndarray,
    outside: np.ndarray,
    same_data: bool,
    names: list[str],
) -> list[Check]:
    """All checks, in the order of a reader's questions."""
    z = whiten(data.items.values[data.compared])
    score = data.items.values[data.compared] @ model.coef_
    found = [
        _data(same_data),
        *_chance(model),
        _pairs(model, data),
        _shape(model, shape_of(z, score, model.link_)),
        _separation(model),
        _side(model, data),
        _spread(residual, model),
    ]
    found += _far(z, outside, data, names)
    question, rule, separated = (
        "What did the fit itself warn of?",
        "Warnings of the fit.",
        separation_note()[1],
    )
    return found + [
        Check(question, False, option_words(note[0].upper() + note[1:]), rule)
        for note in model.notes_
        if note != separated
    ]


def _data(same: bool) -> Check:
    answer = "These are the items and comparisons that the model was fitted to."
    other = (
        "These are not the items and comparisons that the model was fitted to. What is called"
        " in-sample here is then a test on other comparisons."
    )
    rule = "The fingerprint of the data against the one that the model keeps."
    return Check("Is this the data of the fit?", same, answer if same else other, rule)


def chance_p(model: RankRegression) -> float:
    """How often coefficients of nothing are so far from zero, all at once (Wald).

    NaN if their covariance is not known.
    """
    covariance = model.covariance_
    if covariance is None or not np.isfinite(covariance).all() or not covariance.any():
        return float("nan")
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    z, correlation = model.coef_ / scale, covariance / np.outer(scale, scale)
    return float(
        chi2.sf(
            z @ np.linalg.pinv(correlation, RANK, hermitian=True) @ z,
            np.linalg.matrix_rank(correlation, RANK, hermitian=True),
        )
    )


def _chance(model: RankRegression) -> list[Check]:
    p = chance_p(model)
    if np.isnan(p):
        return []
    often = (
        f"in fewer than 1 of {1 / RARE:,.0f}"
        if p < RARE
        else f"in {100 * p:.2g} of 100"
        if p < 0.01
        else f"in {100 * p:.0f} of 100"
    )
    answer = (
        f"{'It could' if p > COINS else 'Hardly'}: if all answers were coins, coefficients would be"
        f" as far from zero as these {often} studies."
    )
    rule = (
        "All coefficients at once against their covariance (Wald); worth a look above"
        f" {100 * COINS:g} of 100."
    )
    return [Check("Could all of it be chance?", p <= COINS, answer, rule)]


def _pairs(model: RankRegression, data: Comparisons) -> Check:
    study = FitData(data, keep_sides=False)
    pairing = check_pairing(study.X, study.pairs, study.item_moments, study.item_moments)
    needed = model.method in ("split", "pooled")
    advice = (
        ""
        if pairing.looks_random
        else (
            " This method does not need random pairs."
            if not needed
            else " This method needs random pairs; use mle or paired."
        )
    )
    rule = (
        f"Not random if random partners look so in fewer than 1 of {1 / SIGNIFICANCE:,.0f} studies"
        f" and a spread is off by {100 * TOLERATED:.0f} % or more."
    )
    return Check(
        "Do the pairs look random?",
        pairing.looks_random or not needed,
        pairing.in_words + advice,
        rule,
    )


def _shape(model: RankRegression, shape: Shape) -> Check:
    enough, closed = shape.tilt <= TILT, model.method != "mle"
    facts = (
        f"The shape of the items turns a closed form by about {shape.tilt:.1f} degrees, so that"
        f" {shape.tilt / 1.8:.1f} % of all pairs change their order: "
    )
    meaning = (
        "they are elliptical enough."
        if enough
        else "they are not elliptical enough; trust the likelihood more than a closed form."
    )
    relief = (
        ""
        if enough or closed
        else " This model is a maximum likelihood fit, which does not need it."
    )
    skewed = "clearly skewed" if shape.skewness_p < 0.001 else "not clearly skewed"
    tails = (
        f" The features' kurtosis is {shape.kurtosis:.2f} times that of normal ones, and they are"
        f" {skewed}."
    )
    rule = (
        f"Enough up to {TILT:g} degrees, if the score is the true one and pairs are random;"
        " kurtosis and skewness of Mardia's kind, in whitened coordinates."
    )
    return Check(
        "Are the features elliptical enough for a closed form?",
        enough or not closed,
        facts + meaning + relief + tails,
        rule,
    )


def _separation(model: RankRegression) -> Check:
    separated = separation_note()[1] in model.notes_
    answer = (
        "No direction in the features explains every comparison, so the coefficients are finite."
    )
    text = option_words(separation_note()[1])
    return Check(
        "Is there separation?",
        not separated,
        text[0].upper() + text[1:] if separated else answer,
        "Whether the likelihood has a maximum.",
    )


def _side(model: RankRegression, data: Comparisons) -> Check:
    question, rule = (
        "Does the side matter?",
        f"A side effect is seen from {SIDE_Z:g} standard errors on.",
    )
    if not data.sides_known:
        return Check(
            question, True, "The votes say winner and loser only, so nobody can tell.", rule
        )
    if model.side_effect_ is not None:
        error = model.side_effect_std_error_
        sure = error is not None and np.isfinite(error) and abs(model.side_effect_) > SIDE_Z * error
        of_100 = wins(100 * float(model.outcome_law.win_chance(np.array(model.side_effect_))))
        known = "" if error is None or not np.isfinite(error) else f", standard error {error:.2g}"
        answer = (
            f"The model allows for it: between equal items left wins {of_100} of 100 comparisons"
            f" (side effect {model.side_effect_:+.3g}{known})."
        )
        return Check(
            question,
            True,
            answer + (" The effect is clear." if sure else " The effect is not clear."),
            rule,
        )
    z = side_z(data, model.predict_proba(data)[:, 1])
    seen = abs(z) > SIDE_Z
    often = (
        f"Left won {'more' if z > 0 else 'less'} often than the scores say, by {abs(z):.1f}"
        " standard errors"
    )
    return Check(
        question,
        not seen,
        f"{often}{'; fit again with a side effect.' if seen else ', which chance explains.'}",
        rule,
    )


def _spread(residual: np.ndarray, model: RankRegression) -> Check:
    known = residual[np.isfinite(residual)]
    question, freedom = "Do the features explain the items?", len(known) - model.n_features_in_ - 1
    if freedom < 1:
        return Check(
            question,
            False,
            "There are too few items for so many features to tell.",
            "Needs more compared items than features.",
        )
    size = float(np.sqrt(np.sum(known**2) / freedom))
    wide = size > SPREAD and size**2 - 1 > 4 * np.sqrt(2 / freedom)
    fine = "about what chance gives: the features explain the items."
    not_fine = (
        "more than chance gives: the features leave something out. Item-robust intervals allow for"
        " it, the shares of misordered pairs below do not."
    )
    rule = f"Too wide above {SPREAD:g} and four standard errors above 1."
    answer = (
        f"Standardised residuals have a root mean square of {size:.2f}, where 1 is expected;"
        f" {not_fine if wide else fine}"
    )
    return Check(question, not wide, answer, rule)


def _far(z: np.ndarray, outside: np.ndarray, data: Comparisons, names: list[str]) -> list[Check]:
    """Items beyond the compared ones in some feature, and compared items far from all others."""
    limit = float(chi2.isf(FAR / len(z), z.shape[1]))
    distance = np.sum(z**2, axis=1)
    far = np.flatnonzero(data.compared)[np.argsort(-distance)[: int(np.sum(distance > limit))]]
    beyond = np.flatnonzero(outside)
    parts = []
    if len(far):
        parts.append(
            f"{len(far):,} of {len(z):,} compared items {'lies' if len(far) == 1 else 'lie'} far"
            f" from all others ({first_few(names[row] for row in far)}); a few such items can move"
            " the fit."
        )
    if len(beyond):
        parts.append(
            f"{number_of(len(beyond), 'item')} {'has' if len(beyond) == 1 else 'have'} a feature"
            f" beyond all compared items ({first_few(names[row] for row in beyond)});"
            f" {'its score is' if len(beyond) == 1 else 'their scores are'} extrapolated."
        )
    rule = (
        f"Far: further than any of {len(z):,} normal items would be in {100 * (1 - FAR):.1f} % of"
        " studies. Beyond: outside their range."
    )
    return [
        Check(
            "Are items far outside?",
            not parts,
            " ".join(parts) or "No item lies far from the others or beyond the compared ones.",
            rule,
        )
    ]
