"""An engine on Spark: parts are the elements of an RDD, whose results are added by neighbours.

Spark runs a task again whose executor ended. A fault in the data is no reason to try again, so it
is handed back like a result.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from pairscore.errors import PairscoreError
from pairscore.files.partitions import REASON_LENGTH
from pairscore.messages import Message, Setting
from pairscore.streaming.engines import FAN, Done, Task, add, attempt


@dataclass(frozen=True)
class Fault:
    """What a task raised, in the place of its sums; beside any other sums it is the total."""

    message: Message


@dataclass(frozen=True)
class Packed:
    """Anything, with its functions too; unpickled, it is the thing itself."""

    content: Any

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark import cloudpickle

        return cloudpickle.loads, (cloudpickle.dumps(self.content),)


class SparkEngine:
    """The executors of a ``SparkContext``."""

    is_local: ClassVar[bool] = False

    def __init__(self, context: Any) -> None:
        self.context = context

    def total(self, task: Task, parts: Sequence[Any], done: Done = None) -> Any:
        held = self.context.broadcast(Packed(task))
        try:
            with _spoken():
                ((_, total),) = _tree(self.context, held, list(parts)).collect()
        finally:
            held.destroy()
        if isinstance(total, Fault):
            raise PairscoreError(total.message)
        if done is not None:
            for part in parts:
                done(part)
        return total


def _tree(context: Any, held: Any, parts: list[Any]) -> Any:
    """An RDD with one element, the total; results are added by number, whoever comes first."""

    def run(numbered: tuple[int, Any]) -> tuple[int, Any]:
        number, part = numbered
        try:
            return number, attempt(held.value, part)
        except PairscoreError as error:
            return number, Fault(error.message)

    rdd = context.parallelize(list(enumerate(parts)), len(parts)).map(run)
    n = len(parts)
    while n > 1:
        n = -(-n // FAN)
        rdd = rdd.map(_to_parent).groupByKey(n).map(add_children)
    return rdd


def _to_parent(numbered: tuple[int, Any]) -> tuple[int, tuple[int, Any]]:
    return numbered[0] // FAN, numbered


def add_children(parent: tuple[int, Any]) -> tuple[int, Any]:
    """The sum of numbered results, in their order, or the first fault among them."""
    number, children = parent
    results = [result for _, result in sorted(children, key=lambda child: child[0])]
    fault = next((result for result in results if isinstance(result, Fault)), None)
    return number, add(results) if fault is None else fault


@contextmanager
def _spoken() -> Iterator[None]:
    """The last line of what Spark says, in place of pages in two languages."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        lines = [line.strip() for line in str(error).splitlines()]
        told = [line for line in lines if ("Error: " in line or "Exception: " in line)]
        told = [line for line in told if not line.startswith(("at ", "py4j.", ": "))] or lines
        raise PairscoreError(
            f"Spark gave the fit up ({told[-1].rstrip('.')[:REASON_LENGTH]}); see the logs of its"
            " executors."
        ) from None


@contextmanager
def spark_at(master: str) -> Iterator[SparkEngine]:
    """An engine on a master, such as ``spark://host:7077`` or ``local[2]``."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise PairscoreError(
            "an engine on Spark needs pyspark; install it with: pip install pyspark pandas pyarrow."
        ) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master != master:
        raise PairscoreError(
            f"a Spark session already runs on {running.sparkContext.master!r}, and "
            + Setting("engine")
            + f" is {master!r}",
            ["stop that session", "give it as the engine"],
        )
    with _started(master):
        builder = SparkSession.builder.master(master).appName("pairscore")
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        yield SparkEngine(session.sparkContext)
    finally:
        if running is None:
            session.stop()


@contextmanager
def _started(master: str) -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        if "JAVA_GATEWAY" in str(error):
            raise PairscoreError(
                "Spark needs Java; install it (openjdk-17-jre-headless on Debian), or set"
                " JAVA_HOME to where it is."
            ) from None
        raise PairscoreError(
            f"there is no Spark master at {master!r}; start one, or check the address."
        ) from None
