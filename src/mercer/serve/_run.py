"""The server for one model, and its log."""

from __future__ import annotations

import ipaddress
import logging
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer._errors import ServeError
from mercer._optional import require
from mercer.serve._app import make_app
from mercer.serve._connections import timely_protocol

#: host names of a server on this machine
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: connections at a time, if the system allows as many open files
MAX_CONNECTIONS = 2000
#: seconds after Ctrl-C within which current requests are finished
SHUTDOWN_SECONDS = 5
#: seconds after which the same warning is logged again
LOG_PAUSE = 60.0
#: number of causes of warnings that are remembered
MAX_CAUSES = 1000


def serve(
    model: Any,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    token: str | None = None,
    open_to_all: bool = False,
    ready: Callable[[str], None] | None = None,
    log_level: str = "warning",
    **options: Any,
) -> None:
    """Serve a fitted model over HTTP until it is interrupted.

    Parameters
    ----------
    model : estimator
        A fitted model or pipeline.
    host : str, default="127.0.0.1"
        Address to listen at. An address that other machines can reach needs a `token`, unless `open_to_all` is True.
    port : int, default=8000
        Port to listen at; 0 for any free port.
    token : str, default=None
        Token that clients must send as `Authorization: Bearer TOKEN`.
    open_to_all : bool, default=False
        Whether other machines may use the model without a token.
    ready : callable, default=None
        Called with the address of the page when the port is open, before the first request.
    log_level : str, default="warning"
        Level of uvicorn's log.
    **options : dict
        More options of `make_app`.

    Raises
    ------
    ServeError
        If the port is in use, if the address is not one of this machine, or if other machines could use the model
        without a token.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> from mercer.serve import serve
    >>> model = LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0])
    >>> serve(model, port=8000)  # doctest: +SKIP

    An address that other machines can reach needs a token:

    >>> serve(model, host="0.0.0.0")
    Traceback (most recent call last):
    mercer._errors.ServeError: Every machine that reaches 0.0.0.0 could use the model, because there is no token. ...
    """
    uvicorn = require("uvicorn", purpose="Serving a model", extra="serve")
    loopback = _is_loopback(host)
    if not loopback and token is None and not open_to_all:
        raise ServeError(
            f"Every machine that reaches {host} could use the model, because there is no token. Give one, listen at "
            "127.0.0.1, or allow it with open_to_all=True (on the command line --open-to-all)."
        )
    options.setdefault("hosts", LOCAL_NAMES | {_host_in_url(host)} if loopback and token is None else None)
    app = make_app(model, token=token, **options)
    connections, backlog = _connection_limits()
    with _open_socket(host, port, backlog) as listening:
        if ready is not None:
            ready(f"http://{_host_in_url(host)}:{listening.getsockname()[1]}/")
        config = uvicorn.Config(
            app,
            http=timely_protocol(most=connections),
            ws="none",
            backlog=backlog,
            limit_concurrency=connections + 1,  # more than the connections, which are limited by the protocol
            log_level=log_level,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        with _limited_logs():
            uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _limited_logs() -> Iterator[None]:
    """Log every cause once a minute, so that an attack cannot fill the disk."""
    once, loggers = OncePerCause(), [logging.getLogger(name) for name in ("mercer.serve", "uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addFilter(once)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(once)


def _connection_limits() -> tuple[int, int]:
    """Return the limits on open and on waiting connections, which are below the limit on open files of a process.

    All waiting connections are accepted at once, up to four times before the first can be closed for another one.
    """
    try:
        import resource
    except ImportError:  # Windows
        return MAX_CONNECTIONS, MAX_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    files = 4 * MAX_CONNECTIONS if files == resource.RLIM_INFINITY else files
    return min(MAX_CONNECTIONS, max(files // 2, 1)), min(MAX_CONNECTIONS, max(files // 16, 1))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open_socket(host: str, port: int, backlog: int) -> socket.socket:
    """Return a listening socket, opened before anything else so that no other program can take the port."""
    if not 0 <= port < 2**16:
        raise ServeError(f"{port} is not a port; give a number from 1 to 65535, or 0 for any free port.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ServeError(f"{host!r} is not a known address. Give one of this machine, e.g. 127.0.0.1.") from error
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(backlog)
    except OSError as error:
        listening.close()
        raise ServeError(_explain(host, port, error)) from error
    return listening


def _explain(host: str, port: int, error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, PermissionError):
        return f"Port {port} needs administrator rights; give a port from 1024 on, or 0 for any free port."
    if "in use" in reason:
        return f"Port {port} at {host} is in use by another program; give another port, or 0 for any free port."
    return f"Port {port} at {host} cannot be used: {reason}. Give an address of this machine, e.g. 127.0.0.1."


def _host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


class OncePerCause(logging.Filter):
    """A filter that passes warnings and errors of one cause once a minute, with the number of those left out.

    A cause is the text without its arguments and, for an exception, also its type and the line that raised it.
    """

    def __init__(self, pause: float = LOG_PAUSE) -> None:
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
        if len(self.causes) >= MAX_CAUSES:
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
