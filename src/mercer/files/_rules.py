"""Parts that are not allowed in files although they are plain data: they would be executed or take all resources."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer._stored import Unsafe, declaration_of
from mercer.base import resolve

#: maximum number of processes that a file may request
MAX_PROCESSES = 1024


class UnsafePart(Protocol):
    """A function that raises an error about a part of an object, with a description and the remedy."""

    def __call__(self, part: str, what: str, remedy: str) -> Any: ...


def refuse_unsafe(thing: Any, refuse: UnsafePart) -> None:
    """Refuse an object with a cache of pickles, too many processes, or a part that its class declares as unsafe."""
    cls: Any = type(thing)
    parts = getattr(thing, "__dict__", {})
    if parts.get("memory") is not None:
        refuse(".memory", "a cache from which pickles would be loaded", "save it with memory=None")
    n_jobs = parts.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, int | np.integer) and abs(int(n_jobs)) <= MAX_PROCESSES):
        refuse(".n_jobs", f"a number of processes beyond {MAX_PROCESSES}", "set n_jobs=None")
    for find in declaration_of(cls).unsafe:
        found: Unsafe | None = resolve(find)(thing)
        if found is not None:
            refuse(f".{found.part}", found.what, found.remedy)
