"""`python -m benchmarks.embeddings`: times with 395 features of a decaying spectrum, and groups.

2,400 answers to 400 prompts, six each, and 11,650 comparisons, once within prompts only and once of
any two answers: processor seconds of `l2="auto"` and of `auto_fit`, with one thread of BLAS.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.__main__ import report
from pairscore import Comparisons, RankRegression, auto_fit

N_PROMPTS, ANSWERS, N_FEATURES, N_COMPARISONS = 400, 6, 395, 11_650
MOST_RIDGE, MOST_AUTO = 2.0, 15.0  # seconds


def answers(seed: int, within: bool) -> Comparisons:
    """Half of an embedding is the prompt's; effects of answers have the standard deviation 0.5."""
    rng = np.random.default_rng([395, seed])
    n = N_PROMPTS * ANSWERS
    prompt = np.repeat(np.arange(N_PROMPTS), ANSWERS)
    common = rng.normal(size=(N_PROMPTS, N_FEATURES))[prompt]
    spectrum = np.arange(1, N_FEATURES + 1) ** -0.6
    axes = np.linalg.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))[0]
    X = ((0.6 * rng.normal(size=(n, N_FEATURES)) + 0.8 * common) * spectrum) @ axes
    linear = X @ rng.normal(size=N_FEATURES)
    score = 1.2 * linear / linear.std() + 0.5 * rng.normal(size=n)
    left = rng.integers(0, n, N_COMPARISONS)
    right = (left + rng.integers(1, n, N_COMPARISONS)) % n
    if within:
        step = rng.integers(1, ANSWERS, N_COMPARISONS)
        right = ANSWERS * (left // ANSWERS) + (left % ANSWERS + step) % ANSWERS
    won = rng.random(N_COMPARISONS) < expit(score[left] - score[right])
    return Comparisons(X, left, right, np.where(won, 1, -1)).with_item_groups(prompt)


def seconds(job: Callable[[], Any]) -> float:
    """Processor time; NumPy's warnings are errors."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        job()
    return time.process_time() - start


def main() -> None:
    for within, words in ((True, "within prompts"), (False, "of any two answers")):
        data = answers(0, within)
        ridge = seconds(lambda data=data: RankRegression(l2="auto", inference=None).fit(data))
        report(f"l2='auto' with groups, {words}: seconds", ridge, MOST_RIDGE, "at most")
        for use in ("new", "known"):
            auto = seconds(lambda data=data, use=use: auto_fit(data, use=use))
            report(f"auto_fit(use={use!r}), {words}: seconds", auto, MOST_AUTO, "at most")


if __name__ == "__main__":
    main()
