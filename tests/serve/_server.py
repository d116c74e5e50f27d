"""A model served by uvicorn at a free port, as its users serve it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from mercer.serve import make_app


@contextmanager
def served(model: Any, *, http: Any = "auto", **options: Any) -> Iterator[httpx.Client]:
    """A client of a server of a model that runs in a thread of its own."""
    with served_app(make_app(model, **options), http=http) as client:
        yield client


@contextmanager
def served_app(app: Any, *, http: Any = "auto") -> Iterator[httpx.Client]:
    """A client of a server of an ASGI application that runs in a thread of its own."""
    config = uvicorn.Config(app, port=0, http=http, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def connection(client: httpx.Client) -> Iterator[socket.socket]:
    """A socket at the same port, for requests that a client does not send."""
    with socket.create_connection(("127.0.0.1", client.base_url.port or 0), timeout=20) as made:
        yield made
