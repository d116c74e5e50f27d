"""Warnings in the name of who called mercer, however deep inside it the reason was found."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: packages that are passed through on the way out: a pipeline that calls our `fit` was called by somebody
INSIDE = ("mercer", "sklearn", "joblib", "numba", "contextlib", "functools")

#: where warnings go instead, in this context and in the threads that it starts
_kept: ContextVar[list[Warning] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_warnings() -> Iterator[list[Warning]]:
    """Keep what `warn` is given for the process that waits for this one, where a warning would end in a log."""
    kept: list[Warning] = []
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)


def distinct(several: Iterable[Warning]) -> tuple[Warning, ...]:
    """Return the warnings in their order, each sentence once."""
    return tuple({(type(each), str(each)): each for each in several}.values())


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """`warnings.warn` that points to the nearest line outside of mercer and scikit-learn."""
    if (kept := _kept.get()) is not None:
        kept.append(message if isinstance(message, Warning) else (category or UserWarning)(message))
        return
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _is_inside(module: str) -> bool:
    return module.split(".", 1)[0] in INSIDE
