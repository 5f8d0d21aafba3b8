"""Engines add in the order of the parts."""

from dataclasses import dataclass
from threading import Event

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.core.sums import Sums
from pairscore.streaming.engines import LocalEngine, local_engine
from pairscore.streaming.progress import Watch


@dataclass(frozen=True)
class Words(Sums):
    text: str
    number: np.ndarray


def test_parts_are_added_in_their_order_whoever_is_first():
    last_is_done = Event()

    def task(part):
        if part == 0:
            last_is_done.wait(60)
        if part == 2:
            last_is_done.set()
        return Words(str(part), np.array([part]))

    seen = []
    total = LocalEngine(3).total(task, range(5), seen.append)
    assert total.text == "01234"
    assert total.number.tolist() == [10]
    assert seen == [0, 1, 2, 3, 4]


def test_what_a_task_raises_is_raised_and_the_rest_is_given_up():
    def task(part):
        raise PairscoreError(f"part {part} is broken.")

    with pytest.raises(PairscoreError, match="part 0 is broken"):
        LocalEngine(2).total(task, range(1000))


def test_a_machine_has_at_least_one_thread():
    assert local_engine().n_jobs >= 1
    assert local_engine(3).n_jobs == 3


def test_progress_has_the_share_that_is_done():
    seen = []
    watch = Watch("Reading", [1, 2, 3, 4], seen.append)
    for part in (1, 2, 3, 4):
        watch(part)
    assert [progress.share for progress in seen] == [0.25, 0.5, 0.75, 1.0]
    assert seen[-1].seconds_left == 0
