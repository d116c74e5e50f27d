"""Middleware: checks of every request before the application reads it, by sender, address, size and number.

It is ASGI middleware in front of everything else, so that no route can omit it.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from mercer._errors import DataError
from mercer.serve.errors import RequestError
from mercer.serve.page import PAGE_HEADERS, PAGE_HTML

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: the path that needs no token, for load balancers
OPEN_PATH = "/health"
#: maximum bytes of an answer
MAX_ANSWER_BYTES = 32_000_000
#: bytes of an answer that are passed to the server at a time
ANSWER_CHUNK_BYTES = 1 << 18
#: headers of every answer
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class RequestLimits(NamedTuple):
    """Maximum bytes and rows of a request, and the maximum number of simultaneous requests."""

    body_bytes: int
    rows: int
    concurrency: int

    def check(self) -> None:
        """Raise `DataError` if a limit is below 1."""
        for name, most in self._asdict().items():
            if most < 1:
                raise DataError(f"max_{name} is {most}, so that no request is possible. Give at least 1.")


class BufferSize:
    """The bytes of one request or answer in memory; `client` is the time limit while the client has to act."""

    def __init__(self) -> None:
        self.bytes = 0
        self.client: asyncio.Timeout | None = None


class Buffers:
    """The bytes of all requests and answers, which stay below a limit.

    A client that sends or reads slowly holds only memory. If others need it, the slowest client is disconnected.
    """

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self.sizes: dict[BufferSize, None] = {}

    @contextmanager
    def allocate(self) -> Iterator[BufferSize]:
        """Count the memory of a request and its answer until the end of the `with` block."""
        buffer = BufferSize()
        self.sizes[buffer] = None
        try:
            yield buffer
        finally:
            self.resize(buffer, 0)
            self.sizes.pop(buffer, None)

    def resize(self, buffer: BufferSize, size: int) -> None:
        """Set the size of a buffer, and disconnect the slowest clients if the memory is exhausted."""
        self.bytes += size - buffer.bytes
        buffer.bytes = size
        while self.bytes > self.most and size:
            slow = next((each for each in self.sizes if each.client and each.bytes and each is not buffer), None)
            if slow is None:
                raise RequestError(503, "Other requests take up all the available memory; try again in a second.")
            if slow.client is not None and not slow.client.expired():
                slow.client.reschedule(0)
            self.resize(slow, 0)


class RequestMiddleware:
    """An ASGI application in front of another, which it protects.

    Parameters
    ----------
    app : ASGI application
        The application that answers.
    token : str or None
        The token that requests must have; None for no token.
    limits : RequestLimits
        Limits of single requests, and of their number.
    hosts : frozenset of str or None
        The host names that requests may use; None for any.
    read_timeout : float, default=60.0
        Seconds within which a client must send all of its request.
    max_answer_bytes : int, default=32_000_000
        Maximum bytes of an answer.
    max_buffers : int, default=8
        Memory of all requests and answers together, as a multiple of the largest request or answer.
    """

    def __init__(
        self,
        app: Any,
        *,
        token: str | None,
        limits: RequestLimits,
        hosts: frozenset[str] | None,
        read_timeout: float = 60.0,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        max_buffers: int = 8,
    ) -> None:
        self.app, self.limits, self.hosts, self.read_timeout = app, limits, hosts, read_timeout
        self.token = None if token is None else token.encode()
        self.busy = 0
        self.buffers = Buffers(max_buffers * max(limits.body_bytes, max_answer_bytes))

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # the application has none
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":  # the start and the end of the server
            await self.app(scope, receive, send)
            return
        reply = Reply(send)
        try:
            self._check_host(scope)
            if scope["path"] == OPEN_PATH:
                await self.app(scope, receive, reply)
                return
            self._check_token(scope)
            with self.buffers.allocate() as buffer:
                await self._answer(scope, receive, reply, buffer)
        except RequestError as error:
            await self._reply_with_error(scope, error, reply)
        except asyncio.CancelledError:  # by the server after Ctrl-C
            if not reply.started:
                await self._reply_with_error(scope, RequestError(503, "The server is being stopped."), reply)

    async def _answer(self, scope: Any, receive: Receive, reply: Reply, buffer: BufferSize) -> None:
        """Read, answer and send; only the answering counts as concurrency, because slow clients delay the others."""
        body = await self._read(scope, receive, buffer)
        if self.busy >= self.limits.concurrency:
            # the request has been read, and keeping the connection is cheaper than opening the next one
            busy = RequestError(503, f"{self.busy} requests are being answered; try again in a second.")
            await self._reply_with_error(scope, busy, reply, close=False)
            return
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        self.busy += 1
        try:
            await self.app(scope, _replay(body, receive), keep)
        finally:
            self.busy -= 1
        answer = b"".join(message.get("body", b"") for message in messages)
        self.buffers.resize(buffer, len(answer))
        try:
            async with asyncio.timeout(None) as buffer.client:
                await reply(messages[0])
                for start in range(0, max(len(answer), 1), ANSWER_CHUNK_BYTES):
                    part, more = answer[start : start + ANSWER_CHUNK_BYTES], start + ANSWER_CHUNK_BYTES < len(answer)
                    await reply({"type": "http.response.body", "body": part, "more_body": more})
        except TimeoutError:  # the server closes a connection whose answer is not complete
            return

    def _check_host(self, scope: Any) -> None:
        """Reject other host names, under which pages of other sites could reach a server on this machine."""
        if self.hosts is None:
            return
        host = _header(scope, b"host").decode("latin-1").lower()
        name = host[: host.find("]") + 1] if host.startswith("[") else host.rsplit(":", 1)[0]
        if name not in self.hosts:
            raise RequestError(400, "This server is for this machine only; use http://127.0.0.1 or http://localhost.")

    def _check_token(self, scope: Any) -> None:
        if self.token is None:
            return
        kind, _, given = _header(scope, b"authorization").partition(b" ")
        # compared even if there is none, and in constant time, so that timing reveals nothing
        if not (hmac.compare_digest(given.strip(), self.token) and kind.lower() == b"bearer"):
            raise RequestError(401, "A token is required: send the header 'Authorization: Bearer TOKEN'.")

    async def _read(self, scope: Any, receive: Receive, buffer: BufferSize) -> bytes:
        """Return the whole body, or raise an error as soon as it is known to be too large."""
        declared = _header(scope, b"content-length")
        if declared.isdigit():
            self._check_size(int(declared))
        try:
            async with asyncio.timeout(self.read_timeout) as buffer.client:
                parts = []
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestError(400, "The client has disconnected.")
                    parts.append(message.get("body", b""))
                    self._check_size(buffer.bytes + len(parts[-1]))
                    self.buffers.resize(buffer, buffer.bytes + len(parts[-1]))
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise RequestError(
                408, f"The request was not complete within {self.read_timeout:g} seconds; send it again."
            ) from None
        finally:
            buffer.client = None

    def _check_size(self, size: int) -> None:
        most = self.limits.body_bytes
        if size > most:
            raise RequestError(413, f"The request is larger than {most:,} bytes; send fewer rows at a time.")

    async def _reply_with_error(self, scope: Any, error: RequestError, reply: Reply, close: bool = True) -> None:
        headers = [(b"content-type", b"application/json")]
        if close:  # the rest of the request is not read
            headers.append((b"connection", b"close"))
        body = error.body()
        if error.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
            if scope["path"] == "/" and b"text/html" in _header(scope, b"accept"):
                # a browser shows the page, which contains nothing about the model and asks for the token
                headers[0], body = (b"content-type", b"text/html; charset=utf-8"), PAGE_HTML
                headers += [(name.lower().encode(), value.encode()) for name, value in PAGE_HEADERS.items()]
        if error.status == 503:
            headers.append((b"retry-after", b"1"))
        headers.append((b"content-length", str(len(body)).encode()))
        await reply({"type": "http.response.start", "status": error.status, "headers": headers})
        await reply({"type": "http.response.body", "body": body})


def _header(scope: Any, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` with the body that was read, and then all further messages, such as a disconnection."""
    first = True

    async def receive_again() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receive_again


class Reply:
    """The function `send` with the headers of every answer."""

    def __init__(self, send: Send) -> None:
        self.send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await self.send(message)
