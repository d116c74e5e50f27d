"""Serving from the first line to the last: ports, addresses and tokens."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import httpx
import pytest
import uvicorn

import mercer as m
from mercer._errors import ServeError
from mercer.serve import serve

MODEL = m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0])


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServeError, match=f"Port {port} at 127.0.0.1 is in use"):
            serve(MODEL, port=port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_other_addresses_need_a_token(host: str) -> None:
    with pytest.raises(ServeError, match="there is no token"):
        serve(MODEL, host=host)


def test_invalid_addresses_are_rejected() -> None:
    with pytest.raises(ServeError, match="is not a port"):
        serve(MODEL, port=70_000)
    with pytest.raises(ServeError, match="Give"):
        serve(MODEL, host="192.0.2.1", token="secret", port=0)
    with pytest.raises(ServeError, match="not a known address"):
        serve(MODEL, host="no.such.host.invalid", token="secret")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_the_server_answers_to_its_own_address(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of other sites, through which they could reach the server, are rejected."""
    urls: list[str] = []

    async def ask(app: Any) -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=urls[0]) as client:
            assert (await client.get("/schema")).status_code == 200
            assert (await client.get("/schema", headers={"Host": "evil.example"})).status_code == 400

    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: asyncio.run(ask(server.config.app)))
    try:
        serve(MODEL, host, 0, ready=urls.append)
    except ServeError:
        assert host == "::1", "only this kind of address may be missing on a machine"


SERVER = """
import mercer as m
from mercer.serve import _run, serve
_run.SHUTDOWN_SECONDS = 1
try:
    serve(m.LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]), port=0, ready=lambda url: print(url, flush=True))
except KeyboardInterrupt:
    pass
"""


def test_a_process_that_serves_until_it_is_interrupted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
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
            with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=60) as slow:
                slow.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n[")
                time.sleep(0.2)
                process.send_signal(signal.SIGINT)
                assert slow.recv(4096).startswith(b"HTTP/1.1 503")  # without waiting for the rest of the body
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
            assert process.wait(30) == 0
        finally:
            process.kill()
            stop.cancel()
