"""Notes of a fit: the features, and the side, whose effects the comparisons do not determine."""

import numpy as np

from pairscore.display import first_few, plural
from pairscore.errors import CollinearFeaturesWarning
from pairscore.estimators.estimate import Estimate, Note
from pairscore.messages import Piece, Setting
from pairscore.model.categories import shown_coefficients
from pairscore.model.fit import Fit


def feature_notes(fit: Fit, result: Estimate) -> list[Note]:
    """Which features the comparisons say nothing of, and what is known nevertheless."""
    is_open = fit.open.undetermined
    shown = shown_coefficients(fit)
    if shown.terms:  # the constant that levels have in common is open by definition, and not shown
        is_open = is_open & (shown.undetermined | shown.in_several_sets)
    if result.determined.side_basis is not None:  # has a note of its own
        is_open = is_open & ~result.determined.side_basis.undetermined[: fit.n_features]
    apart = is_open & (fit.features.sd > 0)
    if fit.open.n_groups == 1:
        apart = np.zeros_like(apart)
    notes: list[Note] = []
    constant = _names(fit, is_open & ~apart)
    if constant:
        text = (
            f"{plural(len(constant), 'feature')} {'is' if len(constant) == 1 else 'are'} constant"
            " or a combination of others among the compared items:"
            f" {first_few(map(repr, constant), 10)};"
            " the solution of smallest norm is taken and their intervals are unknown."
        )
        notes.append(CollinearFeaturesWarning(text))
    names = _names(fit, apart)
    if names:
        alone = fit.open.directions.shape[1] == np.count_nonzero(fit.open.undetermined)
        is_one = len(names) == 1 or not alone
        effect = "its effect is" if is_one else "their effects are"
        text = (
            f"no two items that met differ in {'' if alone else 'some combination of '}"
            f"{first_few(map(repr, names), 10)}, so {effect} unknown: scores, intervals and ranks"
            f" hold within each of the {fit.open.n_groups:,} groups of items that are alike in"
            f" {'it' if is_one else 'them'}, not across groups."
        )
        notes.append(CollinearFeaturesWarning(text))
    return notes


def side_notes(fit: Fit, result: Estimate) -> list[Note]:
    """Whether comparisons tell the side effect from the features."""
    side_basis = result.determined.side_basis
    if side_basis is None or not side_basis.undetermined[-1]:
        return []
    names = _names(fit, side_basis.undetermined[:-1])
    amount = (
        f"the same amount of {'' if len(names) == 1 else 'a combination of '}"
        f"{first_few(map(repr, names), 10)}"
    )
    text = (
        "the side effect is not determined, because in every comparison left is ahead of right by"
        f" {amount}; one of many equal fits is taken and the intervals are unknown"
    )
    remedies: list[Piece] = ["swap some sides", "fit without " + Setting("side_effect")]
    return [CollinearFeaturesWarning(text, remedies)]


def _names(fit: Fit, mask: np.ndarray) -> list[str]:
    return [fit.names[column] for column in np.flatnonzero(mask)]
