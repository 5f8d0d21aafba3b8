"""How far the passes of a stream are, for who asked to be told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any


@dataclass(frozen=True)
class Progress:
    """What is going on, how much of it is done (0 to 1), and the seconds left, about."""

    stage: str
    share: float
    seconds_left: float | None


class Watch:
    """Tells a callback of the progress through the parts of a pass, by their bytes."""

    def __init__(
        self, stage: str, parts: Sequence[Any], callback: Callable[[Progress], None] | None
    ):
        self.stage = stage
        self.callback = callback
        self.begin = monotonic()
        self.total = float(sum(map(size_of, parts)))
        self.read = 0.0

    def __call__(self, part: Any) -> None:
        self.read += size_of(part)
        if self.callback is None:
            return
        share = min(self.read / max(self.total, 1.0), 1.0)
        left = (monotonic() - self.begin) * (1 - share) / share if share > 0 else None
        self.callback(Progress(self.stage, share, left))


def size_of(part: Any) -> float:
    """How much work a part is: its bytes where it knows them."""
    return float(getattr(part, "n_bytes", 1) or 1)
