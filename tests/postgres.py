"""A PostgreSQL server for tests: a cluster in a temporary folder that is gone afterwards."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from pwd import getpwnam

import pytest

USER, PASSWORD = "ann", "geheim:p@ss/w%rd"
WRITTEN = "geheim%3Ap%40ss%2Fw%25rd"  # the password, as an address has it
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")


def program(name):
    """A program of PostgreSQL, on the path or where Debian keeps it; None where there is none."""
    folders = [str(f) for place in PLACES for f in sorted(Path("/").glob(place[1:]))]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def server():
    """Starts a server that asks for a password; yields its port."""
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    if not initdb or not pg_ctl:
        pytest.skip("no PostgreSQL server is installed: reading from PostgreSQL was not tested")
    pytest.importorskip("psycopg", reason="without psycopg, PostgreSQL was not tested")
    # a server refuses to run as root
    user = {}
    if os.geteuid() == 0:
        nobody = getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: a socket goes there
    try:
        secret = folder / "secret"
        secret.write_text(PASSWORD)
        if user:
            shutil.chown(secret, "nobody")
            shutil.chown(folder, "nobody")

        def call(*words):
            done = subprocess.run(
                words,
                cwd=folder,
                **user,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=120,
            )
            if done.returncode:
                told = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
                pytest.fail(f"PostgreSQL is installed, but {Path(words[0]).name} failed: {told}")

        data, port = folder / "data", free_port()
        how = ("-U", USER, "--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync", "-E", "UTF8")
        call(initdb, "-D", str(data), *how, "--locale=C")
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        log = str(folder / "log")
        call(pg_ctl, "-D", str(data), "-w", "-l", log, "-o", settings, "start")
        try:
            yield port
        finally:
            call(pg_ctl, "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def url(port, password=WRITTEN, host="127.0.0.1", database="postgres"):
    return f"postgresql://{USER}:{password}@{host}:{port}/{database}"
