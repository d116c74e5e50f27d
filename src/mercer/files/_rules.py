"""What a file may not hold though it is plain data, since somebody would run it, or would follow it without looking."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.files._formulas import forbidden_in

Array = NDArray[Any]


class Refusal(Protocol):
    """Says which part of an object is refused, as what, and what to do."""

    def __call__(self, part: str, what: str, remedy: str) -> Any: ...


class Unsafe(NamedTuple):
    """A part of objects with which plain data would run code, or run for ever."""

    part: str
    #: the largest number that is safe; 0 where only None is
    most: int
    what: str
    remedy: str
    #: whose part it is; empty for anybody's
    owner: str = ""

    def is_in(self, thing: Any) -> bool:
        """Whether an object has such a part."""
        value = getattr(thing, "__dict__", {}).get(self.part)
        if value is None or self.owner not in ("", type(thing).__name__):
            return False
        return not (self.most and isinstance(value, int | np.integer) and abs(int(value)) <= self.most)


UNSAFE = (
    Unsafe("memory", 0, "a place from which pickles would be loaded", "save it with memory=None", owner="Pipeline"),
    Unsafe("n_jobs", 1024, "a number of processes that no computer has", "set n_jobs=None"),
    Unsafe("degree", 1000, "a degree with which splines take for ever", "choose a smaller one", owner="Splines"),
    Unsafe("degree", 1000, "a degree with which monomials take for ever", "choose a smaller one", owner="Monomials"),
    Unsafe(
        "highest", 1000, "a degree with which monomials take for ever", "choose a smaller one", owner="MonomialOrder"
    ),
)

#: what a formula may have
FORMULAS = "write it with columns, arithmetic and functions such as log, sqrt as np.sqrt, C, bs, poly and scale"


def refuse_unsafe(thing: Any, refuse: Refusal) -> None:
    """Name the part of an object that would be run, if there is one."""
    for unsafe in UNSAFE:
        if unsafe.is_in(thing):
            refuse(f".{unsafe.part}", unsafe.what, unsafe.remedy)
    if (what := forbidden_in(thing)) is not None:
        refuse(".formula", what, FORMULAS)
