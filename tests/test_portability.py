"""The package runs where no POSIX is: imports, attributes, processes, encodings and places.

``make lint`` also lets mypy read the source as for Windows and macOS.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pairscore

SOURCE = Path(pairscore.__file__).parent
POSIX_MODULES = {
    *("crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource"),
    *("spwd", "syslog", "termios", "tty", "_posixshmem", "_posixsubprocess"),
    "multiprocessing.forkserver",
    "multiprocessing.popen_fork",
    "multiprocessing.resource_tracker",
}
POSIX_NAMES = {
    *("fork", "forkpty", "killpg", "setsid", "getuid", "geteuid", "getgid", "chown", "mkfifo"),
    *("wait3", "wait4", "waitid", "nice", "uname", "sched_getaffinity", "set_blocking", "execv"),
    *("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGPIPE", "SIGQUIT"),
    *("SIG_BLOCK", "SIG_SETMASK", "SIG_UNBLOCK", "alarm", "setitimer", "pthread_sigmask"),
    *("pthread_kill", "sigwait", "forkserver"),
}
PROCESS_STARTERS = {
    *("Popen", "Process", "Pool", "ProcessPoolExecutor", "Parallel", "get_context", "Manager"),
    *("check_call", "check_output", "set_start_method", "spawnv", "posix_spawn", "startfile"),
}
SYSTEM_PLACES = ("/tmp", "/dev/", "/proc/", "/etc/", "/usr/", "/var/", "C:\\")
ASKED_FOR = ("/proc/meminfo",)  # read where there is one: free memory, which only Linux says so


def modules():
    """The tree of every module by its path in the package."""
    paths = sorted(SOURCE.rglob("*.py"))
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }


def unguarded(tree):
    """Nodes of a tree that run on every system.

    Left out: what follows a question about the system (``sys.platform``, ``os.name``, ``hasattr``),
    what is tried with ImportError or AttributeError in mind, and what only types need.
    """
    ended = False
    for field in ast.iter_child_nodes(tree):
        if ended and isinstance(field, ast.stmt):
            return  # after ``if sys.platform == "win32": ...; return``
        if isinstance(field, ast.If) and asks_for_system(field.test):
            ended = isinstance(field.body[-1], ast.Return)
            continue
        if isinstance(field, ast.IfExp) and asks_for_system(field.test):
            continue
        if isinstance(field, ast.Try | ast.With) and expects_absence(field):
            continue
        yield field
        yield from unguarded(field)


def asks_for_system(test):
    words = ast.unparse(test)
    return any(word in words for word in ("sys.platform", "os.name", "hasattr", "TYPE_CHECKING"))


def expects_absence(block):
    if isinstance(block, ast.Try):
        caught = " ".join(ast.unparse(one.type) for one in block.handlers if one.type)
    else:
        caught = " ".join(ast.unparse(item.context_expr) for item in block.items)
    return "ImportError" in caught or ("suppress" in caught and "AttributeError" in caught)


def imported(node):
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def posix_only(tree):
    """What a tree imports or names that Windows has not, unless it asks first."""
    found = set()
    for node in unguarded(tree):
        found |= imported(node) & POSIX_MODULES
        if isinstance(node, ast.Attribute) and node.attr in POSIX_NAMES:
            found.add(ast.unparse(node))
        if isinstance(node, ast.Constant) and node.value in ("fork", "forkserver"):
            found.add(f"start method {node.value}")
    return found


def called(node):
    """The last name of what is called, such as ``open`` of ``path.open(...)``."""
    function = node.func
    return getattr(function, "attr", getattr(function, "id", ""))


def texts_without_encoding(tree):
    """Calls that open text in an encoding that differs from system to system."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node).startswith(("super()", "os.open(")):
            continue
        name, given = called(node), {keyword.arg for keyword in node.keywords}
        words = [one.value for one in node.args if isinstance(one, ast.Constant)]
        if name == "open":
            is_text = not any(isinstance(word, str) and "b" in word for word in words)
        elif name == "read_text":
            is_text = not node.args
        else:
            is_text = name in ("write_text", "TextIOWrapper", "fdopen")
        if is_text and "encoding" not in given:
            yield f"{node.lineno}: {ast.unparse(node)}"


# -- the source ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "tree"), modules().items(), ids=modules())
def test_nothing_needs_posix(name, tree):
    assert posix_only(tree) == set()
    assert list(texts_without_encoding(tree)) == []
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [text for text in strings if isinstance(text, str)]
    places = [text for text in texts if text.startswith(SYSTEM_PLACES)]
    assert [place for place in places if place not in ASKED_FOR] == []


def test_processes_are_started_in_one_module():
    starts = {
        name: found
        for name, tree in modules().items()
        if (found := {called(n) for n in ast.walk(tree) if isinstance(n, ast.Call)})
        & PROCESS_STARTERS
    }
    assert list(starts) == ["parallel.py"]


# -- what the checks find --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "import fcntl",
        "from resource import getrusage",
        "from multiprocessing import resource_tracker",
        "def f():\n    import termios",
        "import os\nos.killpg(1, 2)",
        "import signal\nsignal.signal(signal.SIGKILL, f)",
        "get_context('forkserver')",
        "import sys\nif sys.platform == 'win32':\n    pass\nimport fcntl",
        "try:\n    import fcntl\nexcept OSError:\n    pass",
    ],
)
def test_a_posix_only_line_is_found(code):
    assert posix_only(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None",
        "import sys\nif sys.platform != 'win32':\n    import fcntl",
        "def f():\n    if sys.platform == 'win32':\n        return\n    os.killpg(1, 2)",
        "with suppress(AttributeError):\n    os.nice(5)",
        "import signal\nsignal.SIGINT",
    ],
)
def test_a_guarded_line_is_not_found(code):
    assert posix_only(ast.parse(code)) == set()


@pytest.mark.parametrize(
    ("code", "n_found"),
    [
        ("path.open()", 1),
        ("open(path, 'w')", 1),
        ("path.read_text()", 1),
        ("path.write_text(text)", 1),
        ("path.open('rb')", 0),
        ("open(path, 'w', encoding='utf-8')", 0),
        ("path.read_text('utf-8')", 0),
    ],
)
def test_text_without_encoding_is_found(code, n_found):
    assert len(list(texts_without_encoding(ast.parse(code)))) == n_found


# -- where processes are spawned -------------------------------------------------------------------

SPAWN = """
import multiprocessing
import sys
from pairscore import Population, RankRegression, compare
from pairscore.cli import main

def results(n_jobs):
    items, votes = Population(n_features=3, rng=0).draw(60, 400, rng=1, second_half=False)
    models = {"plain": RankRegression(), "heavy ridge": RankRegression(l2=100)}
    return str(compare(models, items, votes, n_jobs=n_jobs))

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    alone = results(1)
    assert results(2) == alone
    main(["reproduce", "10", "--seeds", "1", "--processes", sys.argv[1], "-o", sys.argv[2]])
"""


def table(folder):
    return (folder / "scenarios.csv").read_text(encoding="utf-8")


def test_results_are_the_same_where_processes_are_spawned(tmp_path):
    script = tmp_path / "spawned.py"  # processes that are spawned import it again
    script.write_text(SPAWN, encoding="utf-8")
    for n_processes in ("1", "2"):
        words = [sys.executable, script, n_processes, tmp_path / n_processes]
        subprocess.run(words, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert table(tmp_path / "1") == table(tmp_path / "2")
    assert table(tmp_path / "1").count("\n") > 1


def test_a_sign_that_the_output_cannot_show_is_written_by_its_number(tmp_path):
    rows = ["id,\u03b1", *(f"{n},{n}" for n in range(8))]
    (tmp_path / "items.csv").write_text("\n".join(rows), encoding="utf-8")
    pairs = np.random.default_rng(0).permuted([range(8)] * 200, axis=1)[:, :2]
    votes = [f"{left},{right},{'left' if left % 3 else 'right'}" for left, right in pairs]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *votes]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pairscore", "fit", "items.csv", "votes.csv", "-o", "model.npz"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=True,
    )
    assert b"\\u03b1" in done.stdout
