"""Clients that take their time, at a real socket."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from itertools import chain, cycle, islice
from typing import Any

import httpx
import numpy as np
import pytest

import mercer as m
from mercer.serve._connections import timely_protocol
from tests.serve._server import connection, served

MODEL = m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0])
SOON = 0.3
HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n"
#: bytes after which the connection counts as not cut off
MANY = 300


def dribble_until_closed(made: socket.socket, beginning: bytes = b"") -> bool:
    """A byte now and then, of a head that never ends; True once the other side has hung up."""
    made.settimeout(SOON / 10)
    try:
        for byte in islice(chain(beginning, cycle(b"X-Slow: a\r\n")), MANY):
            made.sendall(bytes([byte]))
            try:
                if made.recv(4096) == b"":
                    return True
            except TimeoutError:
                continue
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def test_slow_headers_are_cut_off_and_other_requests_are_answered() -> None:
    with served(MODEL, http=timely_protocol(SOON)) as client, connection(client) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        assert client.get("/health").status_code == 200
        assert dribble_until_closed(slow)
        assert client.get("/health").status_code == 200


def test_an_idle_connection_is_closed() -> None:
    with served(MODEL, http=timely_protocol(SOON)) as client, connection(client) as silent:
        assert silent.recv(1) == b""


def test_the_next_request_of_a_connection_has_the_same_time() -> None:
    with served(MODEL, http=timely_protocol(SOON)) as client, connection(client) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        assert dribble_until_closed(slow, b"GET / HTTP/1.1\r\n")


class Slow:
    """Model that takes longer to answer than the limit for headers."""

    n_features_in_ = 1

    def __init__(self) -> None:
        self.begun = threading.Event()

    def predict(self, X: Any) -> Any:
        self.begun.set()
        time.sleep(3 * SOON)
        return MODEL.predict(X)


def test_a_complete_request_has_no_time_limit() -> None:
    """The time of the body is limited by the middleware, and that of the answer by the model."""
    with served(Slow(), http=timely_protocol(SOON)) as client, connection(client) as made:
        made.sendall(HEAD)
        time.sleep(2 * SOON)
        made.sendall(b'[{"x0": 3}]')
        assert made.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_new_connection_replaces_an_idle_one() -> None:
    """Connections whose request is being answered are not replaced."""
    model = Slow()
    with served(model, http=timely_protocol(20, most=2)) as client, connection(client) as asking:
        asking.sendall(HEAD + b'[{"x0": 3}]')
        assert model.begun.wait(20)
        with connection(client) as silent, connection(client) as slow:
            slow.sendall(HEAD + b"[")
            assert silent.recv(1) == b""
            assert client.get("/health").status_code == 200  # in place of the slow body
            assert slow.recv(1) == b""
        assert asking.recv(4096).startswith(b"HTTP/1.1 200")


class Wide:
    """A model whose answers are longer than what the system buffers."""

    n_features_in_ = 1
    classes_ = np.arange(3000)

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 3000), 1 / 3000)


ROWS = json.dumps([{"x0": 1.0}] * 100).encode()
ASKED = HEAD.replace(b"Content-Length: 11", b"Content-Length: %d" % len(ROWS)) + ROWS


def test_an_answer_that_is_not_read_is_abandoned() -> None:
    with served(Wide(), http=timely_protocol(SOON)) as client, socket.socket() as unread:
        unread.settimeout(20)
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)  # before it connects, or it grows
        unread.connect(("127.0.0.1", client.base_url.port or 0))
        unread.sendall(ASKED)
        assert unread.recv(12) == b"HTTP/1.1 200"
        assert not read_after(unread, 6 * SOON).endswith(b"}")
        assert client.get("/health").status_code == 200


def read_after(made: socket.socket, seconds: float) -> bytes:
    time.sleep(seconds)
    parts = []
    try:
        while part := made.recv(1 << 20):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import mercer as m
from mercer.serve import serve
serve(m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]), port=0, ready=lambda url: print(url, flush=True))
"""


def test_more_connections_than_the_process_may_open() -> None:
    """New connections replace earlier ones, without a line in the log for each."""
    pytest.importorskip("resource")
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", LIMITED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        assert httpx.get(url + "health", timeout=60).status_code == 200
        for _ in range(300):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=20))
            idle.sendall(b"G")
        assert httpx.get(url + "health", timeout=30).status_code == 200
        process.kill()
        assert process.stderr.read() == ""
