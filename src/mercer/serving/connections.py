"""Connections whose clients do nothing, before the gate sees a request of them and after it has answered."""

from __future__ import annotations

from typing import Any

from mercer._optional import require

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
