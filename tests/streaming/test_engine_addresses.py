"""Engines by address, client or nothing."""

import pytest

from pairscore import PairscoreError
from pairscore.streaming.engine_addresses import connected
from pairscore.streaming.engines import LocalEngine


def test_nothing_is_threads_of_this_machine_and_an_engine_is_itself():
    with connected(None, 3) as engine:
        assert engine == LocalEngine(3)
    with connected(engine) as same:
        assert same is engine


@pytest.mark.parametrize("engine", ["ray://host:1", "here", 5])
def test_what_is_not_an_engine_is_told(engine):
    with pytest.raises(PairscoreError, match=r"engine is .*give an address such as dask://"):
        connected(engine).__enter__()


def test_threads_of_this_machine_are_not_for_a_cluster():
    with pytest.raises(PairscoreError, match="leave one of the two out"):
        connected("dask://host:1", 2).__enter__()
