"""Groups of items whose differences the comparisons determine.

Where only items of one year meet, nothing is known of what a year adds: along an open direction v
of the coefficients any amount fits equally well. The score difference of two items is determined if
v'(x - y) = 0 for every open direction, so items with the same v'x form a group. Scores, intervals
and ranks hold within a group.

A category with L levels is L 0/1 columns that sum to one, so its coefficients are determined up to
a constant, which no comparison sees. They are shown against the average of all levels, each level
weighted alike, so that they sum to zero; or against a reference level. With products, as in the
analysis of variance: let the coefficients of a product of two categories be g_ab, and w_a, w_b the
weights of levels (1/L each, or 1 at the reference); then

    of a       beta_a + sum_b w_b g_ab, less its average by w_a
    of a:b     g_ab - sum_a w_a g_ab - sum_b w_b g_ab + sum_ab w_a w_b g_ab

are shown, and of a number m beside m:a, beta_m + sum_a w_a g_a. Scores change by a constant alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairscore.core.linalg import SMALLEST_SHARE, Basis
from pairscore.core.moments import feature_range
from pairscore.data.features import Recipe, recipe_of
from pairscore.errors import CollinearFeaturesWarning, first_few, plural
from pairscore.estimators.results import OPEN_SHARE, Estimate, Fit, Note

MOST_NAMED = 3  # features that a group is named by: 'year=2001, site=4'
N_PROJECTIONS = 3  # of many open directions; by chance two groups do not agree in all of them


# -- what is open ----------------------------------------------------------------------------------


def open_part(result: Estimate) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mask (d) and directions (d x k) of the coefficients that the comparisons do not determine.

    Beside them the directions (d x j), of these, to which the estimate gives a number nevertheless.
    A ridge puts at zero what never differs between two items that met; `pooled` and `split`, which
    take the pairs for random ones, give it what its correlation with other features suggests.
    """
    d = len(result.coef)
    bases = [basis for basis in (result.basis, result.side_basis) if basis is not None]
    undetermined = np.any([basis.undetermined[:d] for basis in bases], axis=0)
    directions = np.hstack([basis.open_directions[:d] for basis in bases])
    taken = np.empty((d, 0))
    if result.never_differing is not None:
        unit = np.where(result.center.sd > 0, result.center.sd, 1.0)[:, None]
        taken = _beyond(unit * result.never_differing, unit * result.basis.open_directions[:d])
        taken = taken / unit
        undetermined |= np.linalg.norm(unit * taken, axis=1) > SMALLEST_SHARE
    return undetermined, np.hstack([directions, taken]), taken


def _beyond(directions: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What ``directions`` (d x k) add to ``others``, both with orthonormal columns."""
    rest = np.linalg.qr(directions)[0]
    if not others.size:
        return rest
    left, size, _ = np.linalg.svd(rest - others @ (others.T @ rest), full_matrices=False)
    return left[:, size > SMALLEST_SHARE]


def without_part(
    coef: np.ndarray, covariance: np.ndarray | None, unit: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Coefficients (d), and their covariance, without what they have along ``directions`` (d x j).

    The covariance may go on with that of a side effect. The directions are orthonormal in units of
    ``unit`` (d). Score differences of items that are alike in them, and so of any two that met,
    stay the same.
    """
    along, d = unit[:, None] * directions, len(coef)
    project = np.eye(d if covariance is None else len(covariance))
    project[:d, :d] -= directions @ (unit[:, None] * along).T
    rest = project[:d, :d] @ coef
    rest[np.linalg.norm(along, axis=1) > 1 - SMALLEST_SHARE] = 0.0  # single features, exactly
    return rest, None if covariance is None else project @ covariance @ project.T


def of_smallest_norm(coef: np.ndarray, basis: Basis) -> np.ndarray:
    """Coefficients (d) without what may be added to them and changes no comparison.

    What is left of rounding errors is zero; coefficients that are determined stay as they are.
    """
    standard = basis.open_directions[: len(coef)] * basis.unit[: len(coef), None]
    alone = standard[:, np.linalg.norm(standard, axis=0) > 1 - SMALLEST_SHARE]  # of features only
    size = coef * basis.unit[: len(coef)]
    rest = size - alone @ (alone.T @ size)
    rest[np.abs(rest) < SMALLEST_SHARE**2 * np.abs(rest).max(initial=0.0)] = 0.0
    has_part = np.linalg.norm(alone, axis=1) > SMALLEST_SHARE
    return np.where(has_part, rest / basis.unit[: len(coef)], coef)


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenPart:
    """What of each item (n) lies along the open directions.

    ``place`` (n x k) is the same for items of one group: the open features, each in its unit, or
    at most 3 combinations of them. ``size`` (n) is the length of the standardised features, by
    which places are rounded.
    """

    place: np.ndarray
    size: np.ndarray

    @classmethod
    def of_values(cls, fit: Fit, values: np.ndarray) -> "OpenPart":
        """The part of features ``values`` (n x d)."""
        centred = values - fit.feature_mean
        size = np.linalg.norm(centred / fit.feature_unit, axis=1)
        if names_groups(fit):
            return cls((values / fit.feature_unit)[:, fit.undetermined], size)
        place = centred @ fit.open_directions
        if place.shape[1] > N_PROJECTIONS:
            rng = np.random.default_rng(0)  # the same directions each time
            place = place @ rng.normal(size=(place.shape[1], N_PROJECTIONS))
        return cls(place, size)

    @classmethod
    def none(cls) -> "OpenPart":
        """Of no items."""
        return cls(np.empty((0, 0)), np.empty(0))

    def groups(self) -> np.ndarray:
        """Number of each item's group (n), in the order of the places.

        Items are of one group if their places differ by no more than rounding errors.
        """
        number = np.zeros(len(self.size), dtype=np.intp)
        for column in self.place.T:
            order = np.lexsort((column, number))
            reach = OPEN_SHARE * (1 + np.maximum(self.size[order][1:], self.size[order][:-1]))
            is_next = (np.diff(column[order]) > reach) | (np.diff(number[order]) > 0)
            number[order] = np.append(0, np.cumsum(is_next))
        return number


def names_groups(fit: Fit) -> bool:
    """Whether groups have a name: every open feature is open by itself, and few of them vary."""
    each_alone = fit.open_directions.shape[1] == fit.undetermined.sum()
    return bool(each_alone and (fit.undetermined & (fit.feature_sd > 0)).sum() <= MOST_NAMED)


ComparedItems = tuple[Callable[[], tuple[np.ndarray, np.ndarray]], Callable[[Fit], OpenPart]]


def compared_items(values: np.ndarray, mask: np.ndarray) -> ComparedItems:
    """Of items with features ``values`` (N x d), those of a mask (N)."""
    return lambda: feature_range(values, mask), lambda fit: OpenPart.of_values(fit, values[mask])


def count_groups(fit: Fit, open_part: Callable[[Fit], OpenPart]) -> int:
    """How many groups the compared items fall into."""
    return int(open_part(fit).groups().max(initial=0)) + 1 if fit.open_directions.size else 1


def without_open_part(fit: Fit, centred: np.ndarray) -> np.ndarray:
    """Centred features (n x d) less what lies along the open directions V.

    z - D V (V'D V)^-1 V'z, D the squared units: the difference to the item of the same group that
    is nearest to the average one.
    """
    V = fit.open_directions
    across = fit.feature_unit[:, None] ** 2 * V
    return centred - centred @ V @ np.linalg.pinv(V.T @ across) @ across.T


def number_groups(fit: Fit, part: OpenPart) -> tuple[np.ndarray, np.ndarray]:
    """Number of each item's group from 0 (n), and what the groups are called.

    By their open features ('year=2001'), from small to large; or by numbers ('group 1'), in the
    order of the table.
    """
    group = part.groups()
    first = np.unique(group, return_index=True)[1]
    if not names_groups(fit):
        place = np.argsort(np.argsort(first))
        return place[group], np.array([f"group {number + 1}" for number in range(len(first))])
    features = np.flatnonzero(fit.undetermined)
    values = part.place[first] * fit.feature_unit[features]
    varies = (fit.feature_sd[features] > 0) | (np.ptp(part.place[first], axis=0) > 0)
    names = [fit.names[column] for column in features[varies]]
    rows = [zip(names, row, strict=True) for row in values[:, varies].tolist()]
    return group, np.array([", ".join(f"{name}={value:.10g}" for name, value in r) for r in rows])


# -- levels of categories --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Term:
    """A category, or a product with one, whose k coefficients only have a meaning together.

    ``columns`` (k) are those of the fit. ``contrasts`` (k x d) has each level against the average
    or the reference of all levels, ``shown`` (k x d) against that of the levels that it can be
    compared with: ``set_of`` (k) has the number of each level's set, and there is one set unless
    the comparisons leave some difference of levels open. ``reference`` is a level, or empty.
    ``cells`` are the 0/1 columns of the levels (or pairs of levels) that the term tells apart.
    """

    name: str
    columns: np.ndarray
    contrasts: np.ndarray
    shown: np.ndarray
    set_of: np.ndarray
    cells: np.ndarray
    levels: tuple[str, ...] = ()
    reference: str = ""
    is_product: bool = False

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The levels of each set."""
        names = np.array(self.levels, dtype=object)
        return tuple(
            tuple(names[self.set_of == one]) for one in np.unique(self.set_of)[: len(names)]
        )

    @property
    def in_words(self) -> str:
        """Which levels cannot be compared with each other; empty if all can."""
        if len(self.sets) < 2:
            return ""
        sets = first_few([f"({first_few(levels, 4)})" for levels in self.sets], 4)
        known = "coefficients sum to zero within each of them"
        if self.reference:
            known = f"coefficients are known in the set of {self.reference}"
        return (
            f"the comparisons do not tell how {len(self.sets)} sets of levels compare: {sets};"
            f" {known}"
        )


@dataclass(frozen=True, eq=False)
class ShownCoefficients:
    """The coefficients of a fit as they are shown, with categories against their average level.

    ``rows`` (d x d) gives them from those of the fit, or is None where they are the same.
    """

    fit: Fit
    terms: tuple[Term, ...] = ()
    rows: np.ndarray | None = None

    @cached_property
    def coef(self) -> np.ndarray:
        """Coefficients, shape (d,)."""
        return self.fit.coef if self.rows is None else self.rows @ self.fit.coef

    @cached_property
    def undetermined(self) -> np.ndarray:
        """Mask of those that the comparisons leave open, shape (d,)."""
        if self.rows is None:
            return self.fit.undetermined
        is_zero = ~self.rows.any(axis=1) & ~self.is_reference
        return is_zero | is_open(self.fit, self.rows)

    @cached_property
    def std_errors(self) -> np.ndarray | None:
        """Their standard errors, shape (d,); NaN for what is open, None without a covariance."""
        fit = self.fit
        if self.rows is None or fit.covariance is None:
            return fit.std_errors
        variance = np.einsum("ij,ij->i", self.rows @ fit.covariance, self.rows)
        no_error = self.undetermined | fit.held_by_prior(self.rows)
        return np.where(no_error, np.nan, np.sqrt(np.maximum(variance, 0.0)))

    @cached_property
    def is_reference(self) -> np.ndarray:
        """Mask of the reference levels, which are zero by definition, shape (d,)."""
        mask = np.zeros(self.fit.n_features, dtype=bool)
        for term in self.terms:
            mask[term.columns] = bool(term.reference) & ~term.contrasts.any(axis=1)
        return mask

    @cached_property
    def is_level(self) -> np.ndarray:
        """Mask of the levels of categories, shape (d,)."""
        mask = np.zeros(self.fit.n_features, dtype=bool)
        for term in self.terms:
            mask[term.columns] = not term.is_product
        return mask

    @cached_property
    def in_several_sets(self) -> np.ndarray:
        """Mask of the levels that cannot be compared with all others, shape (d,)."""
        mask = np.zeros(self.fit.n_features, dtype=bool)
        for term in self.terms:
            mask[term.columns] = term.set_of.any()
        return mask

    def contrast_rows(self) -> np.ndarray:
        """What the names of coefficients stand for in a contrast, of those of the fit (d x d).

        They are as shown, but never within sets of levels: a difference across sets is open.
        """
        if self.rows is None:
            return np.eye(self.fit.n_features)
        rows = self.rows.copy()
        for term in self.terms:
            rows[term.columns] = term.contrasts
        return rows


def shown_coefficients(fit: Fit) -> ShownCoefficients:
    """The coefficients of a fit as summary and report show them."""
    if fit.recipe is None or not fit.recipe.get("categorical"):
        return ShownCoefficients(fit)
    recipe = recipe_of(fit)
    rows = _rows_before_centring(recipe)
    terms = tuple(_terms(fit, recipe, rows))
    for term in terms:
        rows[term.columns] = term.shown
    return ShownCoefficients(fit, terms, rows)


def _weights(recipe: Recipe, name: str) -> np.ndarray:
    """How much each level of a category counts in what others are shown against."""
    levels = recipe.categorical[name]
    if reference := recipe.reference.get(name):
        return np.array([float(level == reference) for level in levels])
    return np.full(len(levels), 1 / len(levels))


def _rows_before_centring(recipe: Recipe) -> np.ndarray:
    """Each column with its products averaged over the other category, (d x d)."""
    rows = np.eye(len(recipe.names))
    for (first, second), cells in recipe.product_blocks.items():
        for name, other, own_cells in ((first, second, cells), (second, first, cells.T)):
            if other in recipe.categorical:
                columns = range(*recipe.blocks[name].indices(len(rows)))
                for column, its_cells in zip(columns, own_cells, strict=True):
                    rows[column, its_cells] += _weights(recipe, other)
    return rows


def _terms(fit: Fit, recipe: Recipe, rows: np.ndarray) -> Iterable[Term]:
    for name in recipe.categorical:
        columns = np.arange(len(rows))[recipe.blocks[name]]
        yield _centred_term(fit, recipe, name, name, columns, rows[columns])
    for pair, cells in recipe.product_blocks.items():
        categories = [name for name in pair if name in recipe.categorical]
        name, columns = ":".join(pair), cells.ravel()
        if len(categories) == 1:
            yield _centred_term(fit, recipe, name, categories[0], columns, rows[columns])
        elif categories:
            own = rows[columns].reshape(*cells.shape, -1)
            own = own - np.einsum("a,abd->bd", _weights(recipe, pair[0]), own)
            own = own - np.einsum("b,abd->ad", _weights(recipe, pair[1]), own)[:, None]
            contrasts = own.reshape(len(columns), -1)
            reference = first_few(filter(None, map(recipe.reference.get, pair)))
            one_set = np.zeros(len(columns), dtype=int)
            yield Term(name, columns, contrasts, contrasts, one_set, columns, (), reference, True)


def _centred_term(
    fit: Fit, recipe: Recipe, name: str, category: str, columns: np.ndarray, rows: np.ndarray
) -> Term:
    """A term with one coefficient for each level of a category, from ``rows`` (L x d)."""
    weights, levels = _weights(recipe, category), recipe.categorical[category]
    number, shown = connected_sets(fit, rows), np.zeros_like(rows)
    for one in np.unique(number):
        own = number == one
        if weights[own].any() and own.sum() > 1:
            shown[own] = rows[own] - weights[own] @ rows[own] / weights[own].sum()
    cells = np.arange(fit.n_features)[recipe.blocks[category]]
    against = levels, recipe.reference.get(category, ""), name != category
    return Term(name, columns, rows - weights @ rows, shown, number, cells, *against)


def connected_sets(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Numbers of sets (k) of contrasts ``rows`` (k x d): within a set, differences are determined.

    The difference of two rows is determined if they are alike along all open directions.
    """
    along = rows @ fit.open_directions
    reach = OPEN_SHARE * (1 + 2 * np.linalg.norm(rows / fit.feature_unit, axis=1))
    number = np.full(len(rows), -1)
    while (left := np.flatnonzero(number < 0)).size:
        first = left[0]
        gap = np.abs(along[left] - along[first]).max(axis=1, initial=0.0)
        number[left[gap <= np.maximum(reach[left], reach[first])]] = number.max() + 1
    return number


def is_open(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Mask of the contrasts (k x d) that the comparisons leave open, whatever their unit."""
    size = np.linalg.norm(rows / fit.feature_unit, axis=1, keepdims=True)
    return fit.undetermined_contrasts(rows / np.where(size > 0, size, 1.0))


# -- what is said of them -------------------------------------------------------------------------


def feature_notes(fit: Fit, result: Estimate) -> list[Note]:
    """Which features the comparisons say nothing of, and what is known nevertheless."""
    is_open, shown = fit.undetermined, shown_coefficients(fit)
    if shown.terms:  # the constant that levels have in common is open by definition, and not shown
        is_open = is_open & (shown.undetermined | shown.in_several_sets)
    if result.side_basis is not None:  # has a note of its own
        is_open = is_open & ~result.side_basis.undetermined[: fit.n_features]
    apart = is_open & (fit.feature_sd > 0) & (fit.n_groups > 1)
    notes: list[Note] = []
    if names := _names(fit, is_open & ~apart):
        text = (
            f"{plural(len(names), 'feature')} {'is' if len(names) == 1 else 'are'} constant or a"
            f" combination of others among the compared items: {first_few(map(repr, names), 10)};"
            " the solution of smallest norm is taken and their intervals are unknown."
        )
        notes.append((CollinearFeaturesWarning, text))
    if names := _names(fit, apart):
        alone = fit.open_directions.shape[1] == np.count_nonzero(fit.undetermined)
        effect = "its effect is" if len(names) == 1 or not alone else "their effects are"
        text = (
            f"no two items that met differ in {'' if alone else 'some combination of '}"
            f"{first_few(map(repr, names), 10)}, so {effect} unknown: scores, intervals and ranks"
            f" hold within each of the {fit.n_groups:,} groups of items that are alike in"
            f" {'it' if effect.startswith('its') else 'them'}, not across groups."
        )
        notes.append((CollinearFeaturesWarning, text))
    return notes


def side_notes(fit: Fit, result: Estimate) -> list[Note]:
    """Whether comparisons tell the side effect from the features."""
    if result.side_basis is None or not result.side_basis.undetermined[-1]:
        return []
    names = _names(fit, result.side_basis.undetermined[:-1])
    amount = (
        f"the same amount of {'' if len(names) == 1 else 'a combination of '}"
        f"{first_few(map(repr, names), 10)}"
    )
    text = (
        "the side effect is not determined, because in every comparison left is ahead of right by"
        f" {amount}; one of many equal fits is taken and the intervals are unknown: swap some"
        " sides, or fit without side_effect."
    )
    return [(CollinearFeaturesWarning, text)]


def _names(fit: Fit, mask: np.ndarray) -> list[str]:
    return [fit.names[column] for column in np.flatnonzero(mask)]
