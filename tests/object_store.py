"""An S3 server for tests: moto's, in an environment of its own, on this machine."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.postgres import free_port

REGION = "us-east-1"
KEYS = {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything"}


class ObjectStore:
    """A server that listens at a port of this machine."""

    def __init__(self, port):
        self.endpoint = f"127.0.0.1:{port}"

    def put(self, name, content=b""):
        """Make a bucket (``study``), or a file in one (``study/votes.csv``)."""
        self._ask("PUT", name, content)

    @property
    def settings(self):
        """What the environment of a program says about this server."""
        return {"AWS_ENDPOINT_URL": f"http://{self.endpoint}", **KEYS}

    def use(self, monkeypatch):
        for name, value in self.settings.items():
            monkeypatch.setenv(name, value)

    @contextmanager
    def wants_keys(self):
        """From here on the server knows nobody."""
        self._ask("POST", "moto-api/reset-auth", b"0")
        try:
            yield
        finally:
            self._ask("POST", "moto-api/reset-auth", b"inf")

    def _ask(self, method, name, content):
        kind = {"Content-Type": "application/octet-stream"}
        address = f"http://{self.endpoint}/{name}"
        urlopen(Request(address, content, kind, method=method)).close()


def program():
    """The server that `make test` installs, or one on the path."""
    return shutil.which("moto_server", path=Path(sys.prefix) / "s3" / "bin") or shutil.which(
        "moto_server"
    )


@contextmanager
def server():
    """Starts a server, which is gone after the block."""
    command = program()
    if command is None:
        pytest.skip("no S3 server (moto) is installed: reading from object stores was not tested")
    port = free_port()
    words = [command, "-H", "127.0.0.1", "-p", str(port)]
    environment = {name: of for name, of in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        while process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
        assert process.poll() is None, "the S3 server ended"
        yield ObjectStore(port)
    finally:
        process.kill()
        process.wait()
