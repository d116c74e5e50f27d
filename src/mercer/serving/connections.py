"""Connections that are closed where nobody asks anything: what the gate cannot see, since no request has come yet."""

from __future__ import annotations

from typing import Any

from mercer._optional import require

#: seconds in which the head of a request has to come, from the first byte of it or from when the connection was made
HEAD_PATIENCE = 20.0


def timely_protocol(seconds: float = HEAD_PATIENCE) -> type[Any]:
    """uvicorn's protocol for HTTP, which by itself waits forever for a client that sends a byte now and then."""
    uvicorn: Any = require("uvicorn.protocols.http.auto", purpose="Serving a model", extra="serve")

    class Timely(uvicorn.AutoHTTPProtocol):
        """One connection. While a request is being answered, its body is a matter of the gate."""

        deadline: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_request()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._expect_nothing()
            elif self.deadline is None:
                self._expect_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._expect_nothing()
            super().connection_lost(exc)

        def _expect_request(self) -> None:
            self.deadline = self.loop.call_later(seconds, self.transport.close)

        def _expect_nothing(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

    return Timely
