"""Time limits and a limit on the number of connections, for clients that send or read nothing."""

from __future__ import annotations

from typing import Any

from mercer._optional import require

#: seconds within which the head of a request must arrive, and within which a client must read a part of an answer
CLIENT_TIMEOUT = 20.0


def timely_protocol(seconds: float = CLIENT_TIMEOUT, most: int = 1000) -> type[Any]:
    """Return uvicorn's HTTP protocol with time limits and a limit on the number of connections.

    The protocol is that of h11, which bounds the size of a head.

    Parameters
    ----------
    seconds : float
        Time for the head of a request, and for each part of an answer.
    most : int
        Number of connections at a time. For each further one, that which has waited for its client longest is closed.
    """
    uvicorn: Any = require("uvicorn.protocols.http.h11_impl", purpose="Serving a model", extra="serve")
    waiting: dict[Any, None] = {}  # connections that wait for their clients, the longest first

    class TimelyProtocol(uvicorn.H11Protocol):
        """A connection with time limits."""

        timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            transport.set_write_buffer_limits(0)  # writing is paused until the client has read everything
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
            """Start the timer if the client has to act; the middleware limits the time for a body."""
            is_between_requests = self.cycle is None or self.cycle.response_complete
            is_limited = is_between_requests or self.flow.write_paused
            if not is_limited:
                self._stop_timer()
            elif self.timer is None:
                self.timer = self.loop.call_later(seconds, self._end)
            if is_limited or self.cycle.more_body:
                waiting.setdefault(self)
            else:
                waiting.pop(self, None)

        def _end(self) -> None:
            self._forget()
            self.transport.abort()  # closing would wait until the client has read the rest

        def _forget(self) -> None:
            self._stop_timer()
            waiting.pop(self, None)

        def _stop_timer(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return TimelyProtocol
