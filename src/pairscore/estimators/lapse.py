"""The share of answers that are slips: as it was given, or as ``lapse_rate`` finds it."""

from dataclasses import dataclass

N_DRAWS = 499  # of answers without slips, for the p-value


@dataclass(frozen=True)
class LapseRate:
    """The share e of answers that are slips.

    ``rate`` is e as it was given, or ``estimated`` with a 95 % interval, a standard error (None
    where e = 0 is likeliest) and the p-value of e = 0, where there are intervals.
    """

    rate: float = 0.0
    estimated: bool = False
    low: float | None = None
    high: float | None = None
    std_error: float | None = None
    p_value: float | None = None

    @property
    def in_words(self) -> str:
        """How many answers are slips; empty where nobody asked."""
        if not self.estimated:
            return f"{_of_100(self.rate)} of 100 answers, as given" if self.rate > 0 else ""
        if self.low is None or self.high is None or self.p_value is None:
            return f"about {_of_100(self.rate)} of 100 answers look like slips"
        ends = f"95 % interval {_of_100(self.low)} to {_of_100(self.high)}"
        smallest = 1 / (N_DRAWS + 1)
        p = f"p <= {smallest:g}" if self.p_value <= smallest else f"p = {self.p_value:.2g}"
        if self.rate == 0:
            return f"no answer looks like a slip ({ends} of 100)"
        return f"about {_of_100(self.rate)} of 100 answers look like slips ({ends}; {p})"


def _of_100(rate: float) -> str:
    return f"{100 * rate:.2g}"
