"""Ctrl-C, pressed while a solver tells how far it is."""

from __future__ import annotations

from collections.abc import Callable


def stop_at(step: int) -> Callable[..., None]:
    """Progress that is watched by someone who presses Ctrl-C at this step."""

    def stop(number: int, *_: float) -> None:
        if number >= step:
            raise KeyboardInterrupt

    return stop
