"""A PostgreSQL server for the tests, if it is installed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a server without data, and return its address."""
    pytest.importorskip("adbc_driver_postgresql")
    if shutil.which("postgres") is None or shutil.which("initdb") is None:
        pytest.skip("there is no PostgreSQL server to start on this machine: postgres and initdb are not found")
    # it rejects to run as root
    other = [] if os.getuid() else ["runuser", "-u", "nobody", "--"]
    if other and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no runuser to run it as another user")
    with tempfile.TemporaryDirectory(prefix="mercer-pg-") as name, socket.socket() as free:
        folder = Path(name)
        if other:
            shutil.chown(folder, "nobody")
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        made = [*other, "initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "mercer", "--no-sync"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder)
        options = ["-p", str(port), "-k", str(folder), "-h", "127.0.0.1", "-F"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [*other, "postgres", "-D", str(folder / "data"), *options], stdout=log, stderr=log
            )
        try:
            _wait(port, server)
            yield f"postgresql://mercer:secret@127.0.0.1:{port}/postgres"
        finally:
            # at once, not when the last client has gone; runuser hands on this one only, and does not wait long either
            server.send_signal(signal.SIGTERM if other else signal.SIGINT)
            server.wait()


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server accepts connections."""
    from adbc_driver_postgresql import dbapi

    for _ in range(300):
        if server.poll() is not None:
            pytest.skip("the PostgreSQL server did not start")
        try:
            dbapi.connect(f"postgresql://mercer@127.0.0.1:{port}/postgres").close()
        except dbapi.Error:
            time.sleep(0.1)
        else:
            return
    pytest.skip("the PostgreSQL server takes no connections")
