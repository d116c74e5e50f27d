"""Clients that take their time, at a real socket."""

from __future__ import annotations

import socket
import time
from itertools import chain, cycle, islice
from typing import Any

import pytest
import uvicorn

import mercer as m
from mercer.serving import serve
from mercer.serving.connections import timely_protocol
from tests.serving._server import connection, served

MODEL = m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0])
SOON = 0.3
HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n"
#: bytes after which nobody hopes any more to be cut off
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


def test_a_head_that_dribbles_is_cut_off_and_others_are_answered() -> None:
    with served(MODEL, http=timely_protocol(SOON)) as client, connection(client) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        assert client.get("/health").status_code == 200
        assert dribble_until_closed(slow)
        assert client.get("/health").status_code == 200


def test_a_connection_on_which_nothing_comes_is_closed() -> None:
    with served(MODEL, http=timely_protocol(SOON)) as client, connection(client) as silent:
        assert silent.recv(1) == b""


def test_the_next_request_of_a_connection_has_as_long() -> None:
    with served(MODEL, http=timely_protocol(SOON)) as client, connection(client) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        assert dribble_until_closed(slow, b"GET / HTTP/1.1\r\n")


class Slow:
    """A model that takes longer to answer than a head may take to come."""

    n_features_in_ = 1

    def predict(self, X: Any) -> Any:
        time.sleep(3 * SOON)
        return MODEL.predict(X)


def test_a_request_that_has_come_has_all_the_time_it_takes() -> None:
    """Its body is a matter of the gate, and its answer one of the model."""
    with served(Slow(), http=timely_protocol(SOON)) as client, connection(client) as made:
        made.sendall(HEAD)
        time.sleep(2 * SOON)
        made.sendall(b'[{"x0": 3}]')
        assert made.recv(4096).startswith(b"HTTP/1.1 200")


def test_serve_has_such_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: kept.append(server.config.http))
    serve(MODEL, port=0)
    assert [each.__name__ for each in kept] == ["Timely"]
