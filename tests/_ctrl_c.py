"""Helpers that simulate Ctrl-C: during a function, during one of its calls, or in a progress callback."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any, NoReturn, ParamSpec, TypeVar

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def interrupt(*_: Any, **__: Any) -> NoReturn:
    """Replacement of a function during which the user presses Ctrl-C."""
    raise KeyboardInterrupt


def interrupted_at(call: int, function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """The same function or method, interrupted as this call of it begins (1: the first); other calls go through."""
    calls = count(1)

    @wraps(function)
    def interrupted(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        if next(calls) == call:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return interrupted


def stop_at(iteration: int) -> Callable[[Any], None]:
    """Callback of a user who presses Ctrl-C at this iteration."""

    def stop(step: Any) -> None:
        if step.iteration >= iteration:
            raise KeyboardInterrupt

    return stop


def stop_at_iteration(iteration: int) -> Callable[[Any], None]:
    """Interrupt like `stop_at`, for callbacks that receive one object with `iterations`."""

    def stop(progress: Any) -> None:
        if progress.iterations >= iteration:
            raise KeyboardInterrupt

    return stop
