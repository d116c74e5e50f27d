"""What is asked of every request before any of it is read: who sends it, where to, how large it is, how many there are.

Plain ASGI, so that it stands before everything else, and nothing behind it can forget it.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from mercer._errors import DataError
from mercer.serving.page import PAGE, PAGE_HEADERS
from mercer.serving.refusals import Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: open to all: for load balancers, which have no token
OPEN = "/health"
#: seconds after which a client that has not sent all of its request is let go
PATIENCE = 60.0
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Limits(NamedTuple):
    """What a request may be."""

    body_bytes: int
    rows: int
    concurrency: int

    def check(self) -> None:
        for name, most in self._asdict().items():
            if most < 1:
                raise DataError(f"max_{name} is {most}, and nothing could be asked. Give at least 1.")


class Gate:
    """An ASGI application in front of another."""

    def __init__(self, app: Any, *, token: str | None, limits: Limits, hosts: frozenset[str] | None) -> None:
        self.app, self.limits, self.hosts = app, limits, hosts
        self.token = None if token is None else token.encode()
        self.busy = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # nobody behind it talks that way
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":  # the start and the end of the server
            await self.app(scope, receive, send)
            return
        guarded = _with_headers(send)
        try:
            self._check_host(scope)
            if scope["path"] == OPEN:
                await self.app(scope, receive, guarded)
                return
            self._check_token(scope)
            await self._counted(scope, receive, guarded)
        except Refusal as refusal:
            await self._refuse(scope, refusal, guarded)
        except asyncio.CancelledError:  # by the server, which ends and has waited long enough
            await self._refuse(scope, Refusal(503, "The server is being stopped."), guarded)

    async def _counted(self, scope: Any, receive: Receive, send: Send) -> None:
        if self.busy >= self.limits.concurrency:
            raise Refusal(
                503, f"{self.busy} requests are being answered, and no more are taken; try again in a second."
            )
        self.busy += 1
        try:
            body = await self._read(scope, receive)
            await self.app(scope, _replayed(body, receive), send)
        finally:
            self.busy -= 1

    def _check_host(self, scope: Any) -> None:
        """A page of another site must not reach a server on this machine under a name of its own."""
        if self.hosts is None:
            return
        host = _header(scope, b"host").decode("latin-1").lower()
        name = host[: host.find("]") + 1] if host.startswith("[") else host.rsplit(":", 1)[0]
        if name not in self.hosts:
            raise Refusal(400, "This server is for this machine only; use http://127.0.0.1 or http://localhost.")

    def _check_token(self, scope: Any) -> None:
        if self.token is None:
            return
        kind, _, given = _header(scope, b"authorization").partition(b" ")
        # compared even where there is none, so that time tells nothing
        if not (hmac.compare_digest(given.strip(), self.token) and kind.lower() == b"bearer"):
            raise Refusal(401, "A token is needed: send the header 'Authorization: Bearer TOKEN'.")

    async def _read(self, scope: Any, receive: Receive) -> bytes:
        """The whole body, or a refusal as soon as it is known to be too large."""
        declared = _header(scope, b"content-length")
        if declared.isdigit():
            self._check_size(int(declared))
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._body(receive)
        except TimeoutError:
            raise Refusal(408, f"The rest of the request did not come within {PATIENCE:g} seconds.") from None

    async def _body(self, receive: Receive) -> bytes:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "The client has gone.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            self._check_size(size)
            if not message.get("more_body", False):
                return b"".join(parts)

    def _check_size(self, size: int) -> None:
        most = self.limits.body_bytes
        if size > most:
            raise Refusal(413, f"The request is larger than {most:,} bytes; send fewer rows at a time.")

    async def _refuse(self, scope: Any, refusal: Refusal, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        body = refusal.body()
        if refusal.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
            if scope["path"] == "/" and b"text/html" in _header(scope, b"accept"):
                # a browser shows the page, which knows nothing of the model and asks for the token
                headers[0], body = (b"content-type", b"text/html; charset=utf-8"), PAGE
                headers += [(name.lower().encode(), value.encode()) for name, value in PAGE_HEADERS.items()]
        if refusal.status == 503:
            headers.append((b"retry-after", b"1"))
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _header(scope: Any, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever else comes: that the client has gone."""
    first = True

    async def again() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return sent
