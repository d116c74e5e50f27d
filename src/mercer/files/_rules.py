"""Parts that are not allowed in files although they are plain data: they would be executed or take all resources.

The rules are the same for saving and loading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from time import thread_time
from typing import Any, Protocol

import numpy as np

from mercer._stored import Unsafe, declaration_of
from mercer.base import resolve

#: maximum number of processes that a file may request
MAX_PROCESSES = 1024
#: maximum keys of a dict, or members of a set, with the same hash, because each is compared with all others
MAX_COLLISIONS = 64
#: maximum comparisons of keys in all dicts and sets of a file before these are built against the clock: 10,000 keys
#: other than strings in one container
FREE_COMPARISONS = 100_000_000
#: types whose hashes are salted
SALTED = (str, bytes)
#: keys that are inserted between two looks at the clock
KEY_PIECE = 256
#: seconds of processor time that the dicts and sets of a file may take beyond `SECONDS_OF_KEY` for each key, which is
#: ten times what usual keys take
MAX_KEY_SECONDS = 0.5
SECONDS_OF_KEY = 5e-6


class UnsafePart(Protocol):
    """A function that raises an error about a part of an object, with a description and the remedy."""

    def __call__(self, part: str, what: str, remedy: str) -> Any: ...


def check_safe(thing: Any, raise_for: UnsafePart) -> None:
    """Raise for an object with a cache of pickles, too many processes, or a part that its class declares as unsafe."""
    cls: Any = type(thing)
    parts = getattr(thing, "__dict__", {})
    if parts.get("memory") is not None:
        raise_for(".memory", "a cache from which pickles would be loaded", "save it with memory=None")
    n_jobs = parts.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, int | np.integer) and abs(int(n_jobs)) <= MAX_PROCESSES):
        raise_for(".n_jobs", f"a number of processes beyond {MAX_PROCESSES}", "set n_jobs=None")
    for find in declaration_of(cls).unsafe:
        part: Unsafe | None = resolve(find)(thing)
        if part is not None:
            raise_for(f".{part.part}", part.what, part.remedy)


class SlowKeysError(Exception):
    """An error for keys of a dict, or members of a set, that take too long to compare."""


class KeyBudget:
    """A bound on the time that building the dicts and sets of one file takes.

    Python salts the hashes of strings and bytes, but those of other keys can be chosen so that each of n keys is
    compared with all others, also when all hashes differ. Up to 64 keys take linear time in any case. Larger containers
    are charged n² comparisons against `comparisons`, and beyond these their keys are inserted piece by piece, until
    `seconds` are spent.
    """

    def __init__(self, comparisons: int = FREE_COMPARISONS, seconds: float = MAX_KEY_SECONDS) -> None:
        self._comparisons, self._seconds = comparisons, seconds

    def make_dict(self, keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
        """Return a dict of the keys and their values."""
        made: dict[Any, Any] = {}
        pairs = iter(list(zip(keys, values, strict=True)))
        for size in self._pieces(keys):
            made.update(islice(pairs, size))
        return made

    def make_set(self, members: Sequence[Any]) -> set[Any]:
        """Return a set of the members."""
        made: set[Any] = set()
        rest = iter(members)
        for size in self._pieces(members):
            made.update(islice(rest, size))
        return made

    def check(self, values: Sequence[Any]) -> None:
        """Raise an error if a dict or a set of these values would take too long; strings and lists do not count."""
        if len(values) > MAX_COLLISIONS:
            keys = [value for value in values if type(value) not in SALTED and _is_hashable(value)]
            self.make_dict(keys, keys)
            self.make_set(keys)

    def _pieces(self, keys: Sequence[Any]) -> Iterator[int]:
        """Yield numbers of keys to insert, and check the time that each insertion has taken."""
        n = sum(type(key) not in SALTED for key in keys)
        if n > MAX_COLLISIONS:
            self._comparisons -= n**2
            _check_equal_hashes(keys)
        if n <= MAX_COLLISIONS or self._comparisons >= 0:
            yield len(keys)
            return
        for start in range(0, len(keys), KEY_PIECE):
            size = min(KEY_PIECE, len(keys) - start)
            begin = thread_time()
            yield size
            self._seconds -= thread_time() - begin - size * SECONDS_OF_KEY
            if self._seconds < 0:
                raise SlowKeysError("its keys have hashes with which comparing them takes too long")


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _check_equal_hashes(keys: Sequence[Any]) -> None:
    """Raise an error if many different keys have the same hash."""
    hashes = np.fromiter(map(hash, keys), np.int64, len(keys))
    order = np.argsort(hashes, kind="stable")
    ends = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order[0]] ^ 1, append=hashes[order[-1]] ^ 1))
    for i in np.flatnonzero(np.diff(ends) > MAX_COLLISIONS).tolist():
        first, *others = order[ends[i] : ends[i + 1]].tolist()
        if sum(keys[place] != keys[first] for place in others) >= MAX_COLLISIONS:
            raise SlowKeysError(f"more than {MAX_COLLISIONS} of its keys have the same hash")
