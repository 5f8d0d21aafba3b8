"""What a comparison has beside its items: effects of context, side and ties, with errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.core.quantiles import z_and_p


@dataclass(frozen=True)
class Effects:
    """What a comparison has beside its items, in the order of the covariance.

    ``kinds`` are context, side or tie; ``df_error`` is as in :class:`Fit`.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: np.ndarray
    std_errors: np.ndarray
    df_error: float | None = None

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists."""
        z, p = z_and_p(self.values, self.std_errors, self.df_error)
        columns = {"coef": self.values, "std_error": self.std_errors, "z": z, "p": p}
        names = {"name": list(self.names), "kind": list(self.kinds)}
        return names | {name: column.tolist() for name, column in columns.items()}

    def of_kind(self, kind: str) -> dict[str, float]:
        """Values of the effects of one kind, by name."""
        rows = zip(self.names, self.kinds, self.values.tolist(), strict=True)
        return {name: value for name, its_kind, value in rows if its_kind == kind}
