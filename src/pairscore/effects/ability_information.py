"""The information of abilities beside effects of comparisons, and what each comparison adds."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from pairscore.core.ties import TieRule
from pairscore.data.comparisons import Comparisons
from pairscore.effects.comparison_effects import effect_columns
from pairscore.effects.single_comparisons import (
    RowDerivatives,
    RowsInformation,
    information_of_design,
)
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.model.fit import Fit

MOST_ABILITIES = 3000  # of which an inverse is formed: a second, and 72 MB
NEEDED = 1e-9  # share of the information of an effect that others leave, if it is determined


class AbilityRows:
    """Comparisons of a fit without features: n abilities, then k effects of comparisons.

    The score of a comparison is D theta, D (M x (n + k)) with 1 at left, -1 at right and the
    columns of the effects; a tie parameter is the last of the k and has no column. ``inverse`` is
    that of the information, to which c 11' is added for the abilities, of which only differences
    are known: that does not change how these vary, and centres abilities. ``eta`` (M) are the
    scores of the comparisons by the fit.
    """

    def __init__(self, fit: "Fit", data: Comparisons, eta: np.ndarray):
        self.items = np.flatnonzero(data.compared)
        self.n = len(self.items)
        if self.n > MOST_ABILITIES:
            raise PairscoreError(
                f"abilities of {self.n} items need the inverse of a matrix of that size here, which"
                f" is formed up to {MOST_ABILITIES} items; use residuals(model, kind='pearson')."
            )
        row_of_item = np.cumsum(data.compared) - 1
        self.left, self.right = row_of_item[data.left], row_of_item[data.right]
        rule = TieRule(fit.ties, fit.link)
        self.has_tie_parameter = rule.has_parameter
        columns = effect_columns(data, fit.effects, fit.side_effect, np.ones(len(data)))
        self.columns = columns[:, :-1] if self.has_tie_parameter else columns
        ones, rows = np.ones(len(data)), np.arange(len(data))
        at = np.tile(rows, 2), np.append(self.left, self.right)
        B = sparse.csr_array((np.append(ones, -ones), at), shape=(len(data), self.n))
        self.D = sparse.csr_array(sparse.hstack([B, sparse.csr_array(self.columns)]))
        s = rule.derivatives(eta, data.outcome.astype(float), fit.tie_parameter or 0.0)
        amount = np.where(data.left == data.right, 0.0, data.amount)
        parts = {name: amount * part for name, part in vars(s).items()}
        self.s = RowDerivatives(**parts, delta=parts["eta"])
        H, n = self.of(rows).information.toarray(), self.n
        c, l2 = float(np.trace(H[:n, :n])) / n**2, fit.settings.ridge
        H[:n, :n] += l2 * np.eye(n) if l2 else c
        self.inverse = _inverse_by_parts(H, n)

    def of(self, rows: np.ndarray) -> RowsInformation:
        """What some comparisons add to the score (n + k) and the information of theta, sparse."""
        return information_of_design(self.D[rows], self.s.part(rows), self.has_tie_parameter)

    def squares(self, in_eta: np.ndarray, in_t: np.ndarray) -> np.ndarray:
        """J H^-1 J' of each comparison (M), J = dmu/deta D + dmu/dt."""
        V, n, a, b = self.inverse, self.n, self.left, self.right
        q = in_eta[:, None] * self.columns
        if self.has_tie_parameter:
            q = np.column_stack([q, in_t])
        of_items = in_eta**2 * (V[a, a] + V[b, b] - 2 * V[a, b])
        across = 2 * in_eta * np.einsum("ij,ij->i", q, V[a, n:] - V[b, n:])
        return of_items + across + np.einsum("ij,ij->i", q @ V[n:, n:], q)


def _inverse_by_parts(H: np.ndarray, n: int) -> np.ndarray:
    """An inverse of H, of whose last k directions some may not be determined: these stay put."""
    V = np.linalg.inv(H[:n, :n])
    C, unit = V @ H[:n, n:], np.sqrt(np.diag(H)[n:])
    size, axes = np.linalg.eigh((H[n:, n:] - H[n:, :n] @ C) / np.outer(unit, unit))
    root = axes * np.where(size > NEEDED, 1 / np.sqrt(np.maximum(size, NEEDED)), 0.0)
    along = np.vstack([-C, np.eye(len(H) - n)]) @ (root / unit[:, None])
    inverse = along @ along.T
    inverse[:n, :n] += V
    return inverse
