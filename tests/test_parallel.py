"""Jobs side by side, and processes that answer over a connection."""

import signal
from functools import partial

import pytest

from pairscore import PairscoreError
from pairscore.parallel import Workers, start_process


@pytest.mark.parametrize("in_threads", [True, False])
@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_jobs_side_by_side_come_back_in_their_order(n_jobs, in_threads):
    jobs = (partial(pow, 2, number) for number in range(6))
    assert list(Workers(n_jobs).each(jobs, in_threads)) == [1, 2, 4, 8, 16, 32]


def test_progress_is_told_after_every_job():
    told = []
    workers = Workers(progress=lambda *done_of: told.append(done_of))
    assert workers.all([partial(int, "3"), partial(int, "4")]) == [3, 4]
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("n_jobs", [0, "2", 1.5, True])
def test_a_number_of_jobs_that_is_none_is_refused_in_a_sentence(n_jobs):
    with pytest.raises(PairscoreError, match=r"n_jobs is .*; use a number of jobs .* or None\."):
        Workers(n_jobs)


def answer_after_ctrl_c(connection):
    signal.raise_signal(signal.SIGINT)
    connection.send(connection.recv() + 1)


def test_a_process_is_spawned_answers_and_is_deaf_to_ctrl_c():
    handler = signal.getsignal(signal.SIGINT)
    connection, process = start_process(answer_after_ctrl_c)
    with connection:
        connection.send(41)
        assert connection.recv() == 42
    process.join()
    assert (process.exitcode, type(process).__name__) == (0, "SpawnProcess")
    assert signal.getsignal(signal.SIGINT) == handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
