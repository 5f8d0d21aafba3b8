"""Hostile inputs, each tried in a process of its own with limits, and what became of them.

A class of inputs is a list of :class:`Case`: work to do (mostly a command, :func:`command`) and
paths that must be there unchanged afterwards. :func:`attempt` forks, limits memory and time, and
says how the work ended; :func:`count` sums up a class, and :func:`table` shows several.

    refused     one message and exit code 1 or 2; in Python, a PairscoreError
    accepted    it went through
    traceback   any other error
    crash       ended by a signal that nobody sent
    hang        not done after SECONDS

Beside these, whether it took more than MUCH memory, and whether anything to be kept was lost.
"""

import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryFile
from typing import Any

SECONDS = 30  # of one input
ADDRESSES = 8 << 30  # bytes of the child's address space
MUCH = 2_500_000_000  # bytes of resident memory that no input here may take
ENDS = ("refused", "accepted", "traceback", "crash", "hang")
HEAD = ("class", "tried", *ENDS, "> 2.5 GB", "lost")


@dataclass(frozen=True)
class Case:
    """One input: what to do with it, and which paths must stay as they are."""

    name: str
    work: Callable[[], Any]
    keep: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a case ended, what it printed, the peak of its memory, and what was lost."""

    name: str
    end: str
    said: str
    peak: int
    seconds: float
    lost: tuple[Path, ...] = ()


@dataclass
class Count:
    """The outcomes of one class."""

    name: str
    outcomes: list[Outcome] = field(default_factory=list)

    def number(self, end: str) -> int:
        return Counter(outcome.end for outcome in self.outcomes)[end]

    @property
    def large(self) -> int:
        return sum(outcome.peak > MUCH for outcome in self.outcomes)

    @property
    def lost(self) -> int:
        return sum(bool(outcome.lost) for outcome in self.outcomes)

    @property
    def bad(self) -> list[Outcome]:
        """Those that no input may lead to."""
        return [o for o in self.outcomes if o.end not in ENDS[:2] or o.peak > MUCH or o.lost]

    def row(self) -> tuple[str, ...]:
        ends = [self.number(end) for end in ENDS]
        return (self.name, *map(str, (len(self.outcomes), *ends, self.large, self.lost)))


def command(*words: Any, folder: Path | None = None) -> Callable[[], None]:
    """The command line with these words, in a folder."""

    def run() -> None:
        from pairscore.cli import main

        if folder is not None:
            os.chdir(folder)
        main([str(word) for word in words], prog_name="pairscore")

    return run


@cache
def preload() -> None:
    """Import what children need, once: no import starts a thread that a fork would lose."""
    import pairscore

    for module in walk_packages(pairscore.__path__, "pairscore."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # of what is not installed
                import_module(module.name)
    for name in ("duckdb", "pyarrow.csv", "pyarrow.parquet", "sklearn.base", "scipy.optimize"):
        import_module(name)


def attempt(case: Case, seconds: float = SECONDS, addresses: int = ADDRESSES) -> Outcome:
    """Do the work of a case in a forked child with limits."""
    preload()
    before = {path: _content(path) for path in case.keep}
    with TemporaryFile() as output:
        sys.stdout.flush()
        sys.stderr.flush()
        began, child = time.monotonic(), os.fork()
        if child == 0:
            _be_child(case.work, output.fileno(), addresses)
        status, peak, timely = _wait(child, began + seconds)
        took = time.monotonic() - began
        output.seek(0)
        said = output.read().decode(errors="replace")
    lost = tuple(path for path, content in before.items() if _content(path) != content)
    return Outcome(case.name, _end(status, timely), said, peak, took, lost)


def count(name: str, cases: Iterable[Case], **limits: Any) -> Count:
    """The outcomes of all cases of a class."""
    return Count(name, [attempt(case, **limits) for case in cases])


def table(counts: Sequence[Count]) -> str:
    """One line for each class, as Markdown."""
    lines = [HEAD, ("---", *["--:"] * (len(HEAD) - 1)), *(of.row() for of in counts)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# -- the child -------------------------------------------------------------------------------------

REFUSED, FAILED = 2, 77  # exit codes of the child


def _be_child(work: Callable[[], Any], output: int, addresses: int) -> None:
    """Work, and end with a code that says how it went; this never returns."""
    code = FAILED
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = _code_of(work)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        code = FAILED
    finally:
        os._exit(code)


def _code_of(work: Callable[[], Any]) -> int:
    from pairscore.errors import PairscoreError

    try:
        work()
    except SystemExit as ended:
        known = {None: 0, 0: 0, 1: REFUSED, 2: REFUSED}
        return known.get(ended.code, FAILED)  # type: ignore[arg-type]
    except PairscoreError as error:
        print(f"Error: {error}")
        return REFUSED
    except BaseException:
        traceback.print_exc()
        return FAILED
    return 0


# -- the parent ------------------------------------------------------------------------------------


def _wait(child: int, deadline: float) -> tuple[int, int, bool]:
    """Exit status, peak memory in bytes, and whether the child ended in time by itself."""
    timely = True
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            unit = 1 if sys.platform == "darwin" else 1024
            return status, usage.ru_maxrss * unit, timely
        if timely and time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            timely = False
        time.sleep(0.002)


def _end(status: int, timely: bool) -> str:
    if not timely:
        return "hang"
    if os.WIFSIGNALED(status):
        return "crash"
    return {0: "accepted", REFUSED: "refused"}.get(os.WEXITSTATUS(status), "traceback")


def _content(path: Path) -> Any:
    """All that a path has: the bytes of a file, or those of everything in a folder."""
    if path.is_dir():
        return {str(p.relative_to(path)): _content(p) for p in sorted(path.iterdir())}
    return path.read_bytes() if path.is_file() else None


def mutations(content: bytes, number: int, seed: int) -> list[tuple[str, bytes]]:
    """Copies of a file with one kind of damage each: cut, bits turned, bytes lost, put in or moved.

    The same ``seed`` gives the same copies.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    kinds = (_cut, _turn_bit, _overwrite, _lose, _put_in, _zero, _repeat)
    made = []
    for place in range(number):
        kind = kinds[place % len(kinds)]
        made.append((f"{kind.__name__[1:]} {place}", kind(content, rng)))
    return made


def _cut(content: bytes, rng: Any) -> bytes:
    return content[: int(rng.integers(0, len(content)))]


def _turn_bit(content: bytes, rng: Any) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(0, len(content), int(rng.integers(1, 4))):
        changed[place] ^= 1 << int(rng.integers(0, 8))
    return bytes(changed)


def _overwrite(content: bytes, rng: Any) -> bytes:
    at, n = int(rng.integers(0, len(content))), int(rng.integers(1, 64))
    return content[:at] + rng.bytes(n) + content[at + n :]


def _lose(content: bytes, rng: Any) -> bytes:
    at, n = int(rng.integers(0, len(content))), int(rng.integers(1, 200))
    return content[:at] + content[at + n :]


def _put_in(content: bytes, rng: Any) -> bytes:
    at = int(rng.integers(0, len(content)))
    return content[:at] + rng.bytes(int(rng.integers(1, 64))) + content[at:]


def _zero(content: bytes, rng: Any) -> bytes:
    at, n = int(rng.integers(0, len(content))), int(rng.integers(1, 500))
    n = min(n, len(content) - at)
    return content[:at] + bytes(n) + content[at + n :]


def _repeat(content: bytes, rng: Any) -> bytes:
    low, high = sorted(int(at) for at in rng.integers(0, len(content), 2))
    return content[:high] + content[low:]
