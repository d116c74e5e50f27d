"""Parts that no file may hold although they are plain data: they would be executed, or take unlimited resources."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer._stored import Unsafe, declaration_of
from mercer.base import resolve

#: the largest number of processes that a file may request
MOST_PROCESSES = 1024


class UnsafePart(Protocol):
    """Says which part of an object is refused, as what, and what to do."""

    def __call__(self, part: str, what: str, remedy: str) -> Any: ...


def refuse_unsafe(thing: Any, refuse: UnsafePart) -> None:
    """Refuse an object with a cache to load pickles from, too many processes, or what its class declares as unsafe."""
    cls: Any = type(thing)
    parts = getattr(thing, "__dict__", {})
    if parts.get("memory") is not None:
        refuse(".memory", "a place from which pickles would be loaded", "save it with memory=None")
    n_jobs = parts.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, int | np.integer) and abs(int(n_jobs)) <= MOST_PROCESSES):
        refuse(".n_jobs", "a number of processes that no computer has", "set n_jobs=None")
    for find in declaration_of(cls).unsafe:
        found: Unsafe | None = resolve(find)(thing)
        if found is not None:
            refuse(f".{found.part}", found.what, found.remedy)
