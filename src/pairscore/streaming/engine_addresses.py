"""From what a user names to an engine: an address, a client of a cluster, or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pairscore.display import shown
from pairscore.errors import PairscoreError
from pairscore.messages import Setting
from pairscore.streaming.engines import Engine, local_engine

DASK = ("dask://", "tcp://", "tls://", "ucx://", "ws://", "wss://")
SPARK = ("spark://", "local[", "k8s://", "yarn")


@contextmanager
def connected(engine: Any, n_jobs: int | None = None) -> Iterator[Engine]:
    """The engine that was asked for; a connection that is made here ends with the block.

    Parameters
    ----------
    engine
        None for threads of this machine; an address (``dask://host:8786``, ``spark://host:7077``,
        ``local[2]``); a ``distributed.Client``, a ``SparkSession`` or ``SparkContext``; or an
        engine.
    n_jobs : int
        Threads of this machine.
    """
    if engine is None:
        yield local_engine(n_jobs)
        return
    if n_jobs is not None:
        raise PairscoreError(
            Setting("n_jobs")
            + " asks for threads of this machine, and "
            + Setting("engine")
            + " for a cluster",
            "leave one of the two out",
        )
    if isinstance(engine, str):
        with _at(engine) as found:
            yield found
    else:
        yield _of(engine)


@contextmanager
def _at(address: str) -> Iterator[Engine]:
    """The engine at an address."""
    if address.startswith(DASK):
        from pairscore.streaming.dask import dask_at

        with dask_at(address.replace("dask://", "tcp://", 1)) as engine:
            yield engine
    elif address.startswith(SPARK):
        from pairscore.streaming.spark import spark_at

        with spark_at(address) as spark:
            yield spark
    else:
        raise PairscoreError(
            Setting("engine") + f" is {shown(address)}",
            "give an address such as dask://host:8786, spark://host:7077 or local[2]",
        )


def _of(engine: Any) -> Engine:
    """The engine of a client, or the one that was given."""
    library = type(engine).__module__.partition(".")[0]
    if library == "distributed":
        from pairscore.streaming.dask import dask_engine

        return dask_engine(engine)
    if library == "pyspark":
        from pairscore.streaming.spark import SparkEngine

        return SparkEngine(getattr(engine, "sparkContext", engine))
    if not hasattr(engine, "total"):
        raise PairscoreError(
            Setting("engine") + f" is {shown(engine)}",
            "give an address such as dask://host:8786, a client of Dask, or a Spark session",
        )
    found: Engine = engine
    return found
