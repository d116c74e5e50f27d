"""A server for one model, until it is stopped."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer._errors import ServeError
from mercer._optional import require
from mercer.serve._app import make_app
from mercer.serve._limits import OncePerCause, timely_protocol

#: by which a server on this machine may be called
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: connections at a time, where the system allows as many files
MOST_CONNECTIONS = 2000
#: seconds that requests under way have after Ctrl-C
FAREWELL = 5


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
        Address to listen at. Any but this machine's own needs a `token`, unless `open_to_all` says that none is wanted.
    port : int, default=8000
        Port to listen at; 0 for any that is free.
    token : str, default=None
        What clients have to send as `Authorization: Bearer TOKEN`.
    open_to_all : bool, default=False
        Whether others may use the model without a token.
    ready : callable, default=None
        Called with the address of the page once the port is taken, before the first request.
    log_level : str, default="warning"
        How much uvicorn writes to the log.
    **options : dict
        More options of `make_app`.

    Raises
    ------
    ServeError
        If the port is in use or the address is not this machine's, or if it is open to others without a token.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> from mercer.serve import serve
    >>> model = LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0])
    >>> serve(model, port=8000)  # doctest: +SKIP

    An address that others reach is refused without a token:

    >>> serve(model, host="0.0.0.0")
    Traceback (most recent call last):
    mercer._errors.ServeError: Anybody who reaches 0.0.0.0 could use the model, since there is no token. ...
    """
    uvicorn = require("uvicorn", purpose="Serving a model", extra="serve")
    loopback = _is_loopback(host)
    if not loopback and token is None and not open_to_all:
        raise ServeError(
            f"Anybody who reaches {host} could use the model, since there is no token. Give one, listen at 127.0.0.1, "
            "or say that this is wanted (open_to_all=True; on the command line --open-to-all)."
        )
    options.setdefault("hosts", LOCAL_NAMES | {_in_url(host)} if loopback and token is None else None)
    app = make_app(model, token=token, **options)
    connections, backlog = _connections()
    with _listening(host, port, backlog) as taken:
        if ready is not None:
            ready(_address(host, taken.getsockname()[1]))
        config = uvicorn.Config(
            app,
            http=timely_protocol(most=connections),
            ws="none",
            backlog=backlog,
            limit_concurrency=connections + 1,  # of requests at that, where all connections have one
            log_level=log_level,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=FAREWELL,
        )
        with _calm_logs():
            uvicorn.Server(config).run(sockets=[taken])


@contextmanager
def _calm_logs() -> Iterator[None]:
    once, loggers = OncePerCause(), [logging.getLogger(name) for name in ("mercer.serve", "uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addFilter(once)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(once)


def _connections() -> tuple[int, int]:
    """Return how many connections there may be, and how many may wait: fewer than the files a process may open.

    All that wait are taken at once, four times before the first can be closed in favour of another.
    """
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS, MOST_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    files = 4 * MOST_CONNECTIONS if files == resource.RLIM_INFINITY else files
    return min(MOST_CONNECTIONS, max(files // 2, 1)), min(MOST_CONNECTIONS, max(files // 16, 1))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int, backlog: int) -> socket.socket:
    """A socket that listens, taken before anything else is done, so that nobody else can take it meanwhile."""
    if not 0 <= port < 2**16:
        raise ServeError(f"{port} is no port; give a number from 1 to 65535, or 0 for any that is free.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ServeError(f"There is no address called {host!r}. Give this machine's own, e.g. 127.0.0.1.") from error
    taken = socket.socket(family, kind, protocol)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(address)
        taken.listen(backlog)
    except OSError as error:
        taken.close()
        raise ServeError(_refusal(host, port, error)) from error
    return taken


def _refusal(host: str, port: int, error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, PermissionError):
        return f"Port {port} needs more rights than you have; give one from 1024 on, or 0 for any that is free."
    if "in use" in reason:
        return f"Port {port} at {host} is in use by another program; give another, or 0 for any that is free."
    return f"Port {port} at {host} cannot be used: {reason}. Give an address of this machine, e.g. 127.0.0.1."


def _address(host: str, port: int) -> str:
    return f"http://{_in_url(host)}:{port}/"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()
