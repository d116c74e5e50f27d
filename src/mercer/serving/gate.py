"""Checks and limits of every request before the application reads it: sender, address, size and number.

Plain ASGI, so that it stands before everything else, and nothing behind it can forget it.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
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
#: bytes of an answer at most, and how many times the largest request or answer all of them together may have
ANSWER_BYTES, BUFFERS = 32_000_000, 8
#: bytes of an answer that are handed to the server at a time
PART = 1 << 18
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


class Held:
    """The bytes of one request or answer in memory; `client` is the time limit while the client has to act."""

    def __init__(self) -> None:
        self.bytes = 0
        self.client: asyncio.Timeout | None = None


class Buffers:
    """The bytes of all requests and answers, which stay below a limit.

    A client that sends or reads slowly holds memory and nothing else: where others need it, the slowest one is let go.
    """

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self.held: dict[Held, None] = {}

    @contextmanager
    def hold(self) -> Iterator[Held]:
        held = Held()
        self.held[held] = None
        try:
            yield held
        finally:
            self.resize(held, 0)
            self.held.pop(held, None)

    def resize(self, held: Held, size: int) -> None:
        self.bytes += size - held.bytes
        held.bytes = size
        while self.bytes > self.most and size:
            slow = next((each for each in self.held if each.client and each.bytes and each is not held), None)
            if slow is None:
                raise Refusal(503, "Requests under way hold all the memory they may; try again in a second.")
            if slow.client is not None and not slow.client.expired():
                slow.client.reschedule(0)
            self.resize(slow, 0)


class Gate:
    """An ASGI application in front of another."""

    def __init__(self, app: Any, *, token: str | None, limits: Limits, hosts: frozenset[str] | None) -> None:
        self.app, self.limits, self.hosts = app, limits, hosts
        self.token = None if token is None else token.encode()
        self.busy = 0
        self.buffers = Buffers(BUFFERS * max(limits.body_bytes, ANSWER_BYTES))

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # nothing behind it talks that way
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":  # the start and the end of the server
            await self.app(scope, receive, send)
            return
        reply = Reply(send)
        try:
            self._check_host(scope)
            if scope["path"] == OPEN:
                await self.app(scope, receive, reply)
                return
            self._check_token(scope)
            with self.buffers.hold() as held:
                await self._answer(scope, receive, reply, held)
        except Refusal as refusal:
            await self._refuse(scope, refusal, reply)
        except asyncio.CancelledError:  # by the server, which ends and has waited long enough
            if not reply.started:
                await self._refuse(scope, Refusal(503, "The server is being stopped."), reply)

    async def _answer(self, scope: Any, receive: Receive, reply: Reply, held: Held) -> None:
        """Read, answer, and send: slow clients delay the first and the last, and only the second is counted."""
        body = await self._read(scope, receive, held)
        if self.busy >= self.limits.concurrency:
            # the request has been read: the connection may stay, which is cheaper for both than the next one
            busy = Refusal(503, f"{self.busy} requests are being answered; try again in a second.")
            await self._refuse(scope, busy, reply, close=False)
            return
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        self.busy += 1
        try:
            await self.app(scope, _replayed(body, receive), keep)
        finally:
            self.busy -= 1
        answer = b"".join(message.get("body", b"") for message in messages)
        self.buffers.resize(held, len(answer))
        try:
            async with asyncio.timeout(None) as held.client:
                await reply(messages[0])
                for start in range(0, max(len(answer), 1), PART):
                    part, more = answer[start : start + PART], start + PART < len(answer)
                    await reply({"type": "http.response.body", "body": part, "more_body": more})
        except TimeoutError:  # the server closes a connection whose answer is not complete
            return

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

    async def _read(self, scope: Any, receive: Receive, held: Held) -> bytes:
        """The whole body, or a refusal as soon as it is known to be too large."""
        declared = _header(scope, b"content-length")
        if declared.isdigit():
            self._check_size(int(declared))
        try:
            async with asyncio.timeout(PATIENCE) as held.client:
                return await self._body(receive, held)
        except TimeoutError:
            raise Refusal(
                408, f"The rest of the request did not come in time ({PATIENCE:g} seconds at most); send it again."
            ) from None
        finally:
            held.client = None

    async def _body(self, receive: Receive, held: Held) -> bytes:
        parts = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "The client has gone.")
            parts.append(message.get("body", b""))
            self._check_size(held.bytes + len(parts[-1]))
            self.buffers.resize(held, held.bytes + len(parts[-1]))
            if not message.get("more_body", False):
                return b"".join(parts)

    def _check_size(self, size: int) -> None:
        most = self.limits.body_bytes
        if size > most:
            raise Refusal(413, f"The request is larger than {most:,} bytes; send fewer rows at a time.")

    async def _refuse(self, scope: Any, refusal: Refusal, reply: Reply, close: bool = True) -> None:
        headers = [(b"content-type", b"application/json")]
        if close:  # the rest of the request is not read
            headers.append((b"connection", b"close"))
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
        await reply({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await reply({"type": "http.response.body", "body": body})


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


class Reply:
    """`send` with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self.send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await self.send(message)
