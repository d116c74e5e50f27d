"""Warnings that point to the line of the user's code that called mercer."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: packages whose lines are skipped, because they call mercer on behalf of the user
SKIPPED_PACKAGES = ("mercer", "sklearn", "joblib", "numba", "contextlib", "functools")

#: the list that collects warnings in this context and in the threads that it starts
_collected: ContextVar[list[Warning] | None] = ContextVar("collected", default=None)


@contextmanager
def kept_warnings() -> Iterator[list[Warning]]:
    """Collect warnings in a list for another process, instead of issuing them in this one, where they would be lost."""
    collected: list[Warning] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def distinct(several: Iterable[Warning]) -> tuple[Warning, ...]:
    """Return the warnings in their order, without duplicates."""
    return tuple({(type(each), str(each)): each for each in several}.values())


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Issue a warning that points to the nearest line outside of mercer and scikit-learn."""
    if (collected := _collected.get()) is not None:
        collected.append(message if isinstance(message, Warning) else (category or UserWarning)(message))
        return
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _is_inside(module: str) -> bool:
    return module.split(".", 1)[0] in SKIPPED_PACKAGES
