"""Serving from the first line to the last: ports, addresses and tokens."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import httpx
import pytest

import mercer as m
from mercer._errors import ServeError
from mercer.serving import serve

MODEL = m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0])


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServeError, match=f"Port {port} at 127.0.0.1 is in use"):
            serve(MODEL, port=port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_others_need_a_token(host: str) -> None:
    with pytest.raises(ServeError, match="there is no token"):
        serve(MODEL, host=host)


def test_addresses_that_are_none() -> None:
    with pytest.raises(ServeError, match="no port"):
        serve(MODEL, port=70_000)
    with pytest.raises(ServeError, match="Give"):
        serve(MODEL, host="192.0.2.1", token="secret", port=0)
    with pytest.raises(ServeError, match="no address called"):
        serve(MODEL, host="no.such.host.invalid", token="secret")


SERVER = """
import mercer as m
from mercer.serving import serve
serve(m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]), port=0, ready=lambda url: print(url, flush=True))
"""


def test_a_process_that_serves_until_it_is_interrupted() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        stop = threading.Timer(100, process.kill)
        stop.start()
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            # the port is taken before the server answers: a request waits
            assert httpx.post(url + "predict", json=[{"x0": 3}], timeout=60).json()["predictions"][0][
                "prediction"
            ] == pytest.approx(7)
            assert httpx.get(url + "schema", headers={"Host": "rebound.example"}).status_code == 400
        finally:
            process.terminate()
            process.wait(30)
            stop.cancel()
