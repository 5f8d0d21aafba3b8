"""Categories, and products with them: their coefficients as they are shown.

A category with L levels is L 0/1 columns that sum to one, so its coefficients are determined up to
a constant, which no comparison sees. They are shown against the average of all levels, each level
weighted alike, so that they sum to zero; or against a reference level. With products, as in the
analysis of variance: let the coefficients of a product of two categories be g_ab, and w_a, w_b the
weights of levels (1/L each, or 1 at the reference); then

    of a       beta_a + sum_b w_b g_ab, less its average by w_a
    of a:b     g_ab - sum_a w_a g_ab - sum_b w_b g_ab + sum_ab w_a w_b g_ab

are shown, and of a number m beside m:a, beta_m + sum_a w_a g_a. Scores change by a constant alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairscore.data.recipe import Recipe, recipe_of
from pairscore.display import first_few
from pairscore.model.fit import Fit
from pairscore.model.open_directions import connected_sets, is_open
from pairscore.model.predict import contrast_errors


@dataclass(frozen=True, eq=False)
class CategoryTerm:
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
    terms: tuple[CategoryTerm, ...] = ()
    rows: np.ndarray | None = None

    @cached_property
    def coef(self) -> np.ndarray:
        """Coefficients, shape (d,)."""
        return self.fit.coef if self.rows is None else self.rows @ self.fit.coef

    @cached_property
    def undetermined(self) -> np.ndarray:
        """Mask of those that the comparisons leave open, shape (d,)."""
        if self.rows is None:
            return self.fit.open.undetermined
        is_zero = ~self.rows.any(axis=1) & ~self.is_reference
        return is_zero | is_open(self.fit, self.rows)

    @cached_property
    def std_errors(self) -> np.ndarray | None:
        """Their standard errors, shape (d,); NaN for what is open, None without a covariance."""
        fit = self.fit
        if self.rows is None or fit.covariance is None:
            return fit.std_errors
        no_error = self.undetermined | fit.held_by_prior(self.rows)
        return np.where(no_error, np.nan, contrast_errors(self.rows, fit.covariance))

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
    reference = recipe.reference.get(name)
    if reference:
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


def _terms(fit: Fit, recipe: Recipe, rows: np.ndarray) -> Iterable[CategoryTerm]:
    for name in recipe.categorical:
        columns = np.arange(len(rows))[recipe.blocks[name]]
        yield _centred_term(fit, recipe, name, name, columns, rows[columns])
    for pair, cells in recipe.product_blocks.items():
        categories = [name for name in pair if name in recipe.categorical]
        name = ":".join(pair)
        columns = cells.ravel()
        if len(categories) == 1:
            yield _centred_term(fit, recipe, name, categories[0], columns, rows[columns])
        elif categories:
            own = rows[columns].reshape(*cells.shape, -1)
            own = own - np.einsum("a,abd->bd", _weights(recipe, pair[0]), own)
            own = own - np.einsum("b,abd->ad", _weights(recipe, pair[1]), own)[:, None]
            contrasts = own.reshape(len(columns), -1)
            reference = first_few(filter(None, map(recipe.reference.get, pair)))
            one_set = np.zeros(len(columns), dtype=int)
            yield CategoryTerm(
                name,
                columns=columns,
                contrasts=contrasts,
                shown=contrasts,
                set_of=one_set,
                cells=columns,
                reference=reference,
                is_product=True,
            )


def _centred_term(
    fit: Fit, recipe: Recipe, name: str, category: str, columns: np.ndarray, rows: np.ndarray
) -> CategoryTerm:
    """A term with one coefficient for each level of a category, from ``rows`` (L x d)."""
    weights = _weights(recipe, category)
    number = connected_sets(fit, rows)
    shown = np.zeros_like(rows)
    for one in np.unique(number):
        own = number == one
        if weights[own].any() and own.sum() > 1:
            shown[own] = rows[own] - weights[own] @ rows[own] / weights[own].sum()
    return CategoryTerm(
        name,
        columns=columns,
        contrasts=rows - weights @ rows,
        shown=shown,
        set_of=number,
        cells=np.arange(fit.n_features)[recipe.blocks[category]],
        levels=recipe.categorical[category],
        reference=recipe.reference.get(category, ""),
        is_product=name != category,
    )
