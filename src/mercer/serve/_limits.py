"""A log that an attack cannot fill."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from mercer._errors import DataError
from mercer._optional import require
from mercer.serve.page import PAGE, PAGE_HEADERS, RequestRefusal

# Connections whose clients do nothing, before the gate sees a request of them and after it has answered.

#: seconds in which the head of a request has to come, and in which a part of an answer has to be taken
PATIENCE = 20.0


def timely_protocol(seconds: float = PATIENCE, most: int = 1000) -> type[Any]:
    """Return uvicorn's protocol for HTTP with the time limits and the limit on connections that it lacks.

    h11's, which bounds the size of a head.

    Parameters
    ----------
    seconds : float
        Time for the head of a request, and for each part of an answer.
    most : int
        Connections at a time. Beyond that, the one that has waited for its client longest is closed for each new one.
    """
    uvicorn: Any = require("uvicorn.protocols.http.h11_impl", purpose="Serving a model", extra="serve")
    waiting: dict[Any, None] = {}  # by how long

    class Timely(uvicorn.H11Protocol):
        """One connection."""

        timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            transport.set_write_buffer_limits(0)  # writing is paused until the client has taken everything
            self._watch()
            if len(self.connections) > most and len(waiting) > 1:
                next(iter(waiting))._end()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._stop_timer()
            self._watch()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_timer()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._forget()

        def _watch(self) -> None:
            """Note whether the client has to act; the time for a body is a matter of the gate."""
            between = self.cycle is None or self.cycle.response_complete
            limited = between or self.flow.write_paused
            if not limited:
                self._stop_timer()
            elif self.timer is None:
                self.timer = self.loop.call_later(seconds, self._end)
            if limited or self.cycle.more_body:
                waiting.setdefault(self)
            else:
                waiting.pop(self, None)

        def _end(self) -> None:
            self._forget()
            self.transport.abort()  # closing would wait for the client to take what is left

        def _forget(self) -> None:
            self._stop_timer()
            waiting.pop(self, None)

        def _stop_timer(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return Timely


# Checks and limits of every request before the application reads it: sender, address, size and number.
#
# Plain ASGI, so that it stands before everything else, and nothing behind it can forget it.

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: open to all: for load balancers, which have no token
OPEN = "/health"
#: seconds after which a client that has not sent all of its request is let go
GATE_PATIENCE = 60.0
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


class RequestLimits(NamedTuple):
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
                raise RequestRefusal(503, "Requests under way hold all the memory they may; try again in a second.")
            if slow.client is not None and not slow.client.expired():
                slow.client.reschedule(0)
            self.resize(slow, 0)


class Gate:
    """An ASGI application in front of another."""

    def __init__(self, app: Any, *, token: str | None, limits: RequestLimits, hosts: frozenset[str] | None) -> None:
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
        except RequestRefusal as refusal:
            await self._refuse(scope, refusal, reply)
        except asyncio.CancelledError:  # by the server, which ends and has waited long enough
            if not reply.started:
                await self._refuse(scope, RequestRefusal(503, "The server is being stopped."), reply)

    async def _answer(self, scope: Any, receive: Receive, reply: Reply, held: Held) -> None:
        """Read, answer, and send: slow clients delay the first and the last, and only the second is counted."""
        body = await self._read(scope, receive, held)
        if self.busy >= self.limits.concurrency:
            # the request has been read: the connection may stay, which is cheaper for both than the next one
            busy = RequestRefusal(503, f"{self.busy} requests are being answered; try again in a second.")
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
            raise RequestRefusal(400, "This server is for this machine only; use http://127.0.0.1 or http://localhost.")

    def _check_token(self, scope: Any) -> None:
        if self.token is None:
            return
        kind, _, given = _header(scope, b"authorization").partition(b" ")
        # compared even where there is none, so that time tells nothing
        if not (hmac.compare_digest(given.strip(), self.token) and kind.lower() == b"bearer"):
            raise RequestRefusal(401, "A token is needed: send the header 'Authorization: Bearer TOKEN'.")

    async def _read(self, scope: Any, receive: Receive, held: Held) -> bytes:
        """The whole body, or a refusal as soon as it is known to be too large."""
        declared = _header(scope, b"content-length")
        if declared.isdigit():
            self._check_size(int(declared))
        try:
            async with asyncio.timeout(GATE_PATIENCE) as held.client:
                return await self._body(receive, held)
        except TimeoutError:
            raise RequestRefusal(
                408, f"The rest of the request did not come in time ({GATE_PATIENCE:g} seconds at most); send it again."
            ) from None
        finally:
            held.client = None

    async def _body(self, receive: Receive, held: Held) -> bytes:
        parts = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestRefusal(400, "The client has gone.")
            parts.append(message.get("body", b""))
            self._check_size(held.bytes + len(parts[-1]))
            self.buffers.resize(held, held.bytes + len(parts[-1]))
            if not message.get("more_body", False):
                return b"".join(parts)

    def _check_size(self, size: int) -> None:
        most = self.limits.body_bytes
        if size > most:
            raise RequestRefusal(413, f"The request is larger than {most:,} bytes; send fewer rows at a time.")

    async def _refuse(self, scope: Any, refusal: RequestRefusal, reply: Reply, close: bool = True) -> None:
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


#: seconds after which the same warning is written again
PAUSE = 60.0
#: causes that are remembered
MOST = 1000


class OncePerCause(logging.Filter):
    """Warnings and errors of one cause, once a minute, with the number of those that were left out.

    A cause is the text before it is filled in, and for an exception its type and the line that raised it.
    """

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__()
        self.pause = pause
        self.causes: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        now, cause = time.monotonic(), _cause(record)
        last, left_out = self.causes.get(cause, (None, 0))
        if last is not None and now - last < self.pause:
            self.causes[cause] = last, left_out + 1
            return False
        if len(self.causes) >= MOST:
            self.causes.clear()
        self.causes[cause] = now, 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out:,} more of this kind were left out)", ()
        return True


def _cause(record: logging.LogRecord) -> object:
    first = str(record.msg).partition("\n")[0]
    if not record.exc_info or record.exc_info[1] is None:
        return record.name, first
    frames = traceback.extract_tb(record.exc_info[2])
    return record.name, first, record.exc_info[0], (frames[-1].filename, frames[-1].lineno) if frames else None
