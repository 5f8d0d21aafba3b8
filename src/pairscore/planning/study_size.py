"""The fewest items and comparisons at which an error comes down to a target."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pairscore.core.roots import smallest_whole_number
from pairscore.display import plural
from pairscore.errors import (
    NoAnswerError,
)
from pairscore.theory.predicted_error import ErrorLaw, fewest_items

MOST_ITEMS = 10**8
MOST_COMPARISONS = 10**12
ENOUGH = 1.01  # more items than these would lower an error, or a cost, by less than 1 %


def items_for(law: ErrorLaw, method: str, m: int) -> int:
    """The number of items that makes the most of m comparisons.

    More items always lower the error on new items, but ever less: these are the fewest up to m at
    which it is at most 1 % larger than with m items, which are two comparisons of each.
    """
    fewest = fewest_items(method, law.n_features)
    best = float(law.errors(max(m, fewest), m, method)["misordered_new"].mean())
    search = Search(law, method, "misordered_new", ENOUGH * best)
    return min(search.items(m), max(m, fewest))


def items_in_all(method: str) -> int:
    """Items collected for each one compared: `split` has as many again behind its covariance."""
    return 2 if method == "split" else 1


def paper_comparisons(n_items: int) -> int:
    """The paper's number of comparisons for N items: ceil(N log N)."""
    return int(np.ceil(n_items * np.log(n_items)))


@dataclass(frozen=True)
class Search:
    """Sizes at which the expected ``measure`` of error of a method comes down to a ``target``.

    Errors fall in N and M. Every search that finds nothing raises NoAnswerError with a sentence.
    """

    law: ErrorLaw
    method: str
    measure: str
    target: float

    def error(self, n: int, m: int) -> float:
        """The expected error of a study of n items and m comparisons."""
        return float(self.law.errors(n, m, self.method)[self.measure].mean())

    def excess(self, n: int, m: int) -> float:
        """log(error / target), which is nearly linear in log n and log m."""
        return float(np.log(np.clip(self.error(n, m) / self.target, 1e-12, 1e12)))

    def comparisons(self, n: int, guess: int | None = None) -> int:
        """The fewest comparisons of n items."""
        m = smallest_whole_number(lambda m: self.excess(n, m), 1, MOST_COMPARISONS, guess)
        if m is None:
            raise self._refusal(plural(n, "item"), "comparisons", self.error(n, MOST_COMPARISONS))
        return m

    def items(self, m: int) -> int:
        """The fewest items that are compared m times."""
        n = self._fewest_items(lambda n: self.excess(n, m))
        if n is None:
            raise self._refusal(plural(m, "comparison"), "items", self.error(MOST_ITEMS, m))
        return n

    def items_with_paper_comparisons(self) -> int:
        """The fewest items that are compared ceil(N log N) times."""
        n = self._fewest_items(lambda n: self.excess(n, paper_comparisons(n)))
        if n is None:
            raise NoAnswerError(
                f"{self.method!r} cannot reach {self.measure} {self.target:g} with {MOST_ITEMS:,}"
                " items and M = N log N",
                "ask for a larger error",
            )
        return n

    def cheapest(self, costs: tuple[float, float]) -> tuple[int, int]:
        """Items and comparisons at the lowest cost."""
        least = self._fewest_items(lambda n: self.excess(n, MOST_COMPARISONS))
        if least is None:
            raise NoAnswerError(
                f"no number of items and comparisons up to {MOST_ITEMS:,} and {MOST_COMPARISONS:,}"
                f" reaches {self.target:g}",
                "ask for a larger error",
            )
        from scipy.optimize import minimize_scalar  # slow to import, and only wanted here

        item_cost, m = costs[0] * items_in_all(self.method), None
        if item_cost == 0:
            return self.fewest_comparisons()

        def study(log_n: float) -> tuple[float, int, int]:
            nonlocal m
            n = max(round(float(np.exp(log_n))), least)
            m = self.comparisons(n, guess=m)  # close to that of the study before
            return item_cost * n + costs[1] * m, n, m

        grid = np.linspace(np.log(least), np.log(MOST_ITEMS), 8)
        best = int(np.argmin([study(point)[0] for point in grid]))
        around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        bottom = minimize_scalar(
            lambda point: np.log(study(point)[0]),
            bounds=around,
            method="bounded",
            options={"xatol": 5e-3},
        ).x
        # whole numbers make the cost jagged
        near = [study(bottom + step) for step in (-0.05, -0.025, 0.0, 0.025, 0.05)]
        return min(*near, study(grid[best]))[1:]

    def fewest_comparisons(self) -> tuple[int, int]:
        """Items and comparisons where items cost nothing.

        As few comparisons as with a new pair of items for each, within 1 %, and the fewest items
        for that.
        """
        m = self._fewest_items(lambda m: self.excess(m, m))
        n = self.items(int(np.ceil(ENOUGH * (m or MOST_ITEMS))))
        return n, self.comparisons(n)

    def _fewest_items(self, excess: Callable[[int], float]) -> int | None:
        fewest = fewest_items(self.method, self.law.n_features)
        return smallest_whole_number(excess, fewest, MOST_ITEMS)

    def _refusal(self, fixed: str, free: str, floor: float) -> NoAnswerError:
        return NoAnswerError(
            f"with {fixed} {self.method!r} cannot reach {self.measure} {self.target:g} at any"
            f" number of {free}: it stays at {floor:.3g}"
        )
