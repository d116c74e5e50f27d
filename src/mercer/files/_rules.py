"""What a file may not hold though it is plain data, since somebody would run it, or would follow it without looking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer._errors import ModelFileError
from mercer.files._formulas import forbidden_in
from mercer.files._shapes import check_shapes

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


def check_built(thing: Any) -> None:
    """Look at an object that a file described, before a compiled loop reads where it points."""
    check_shapes(thing)
    check = _CHECKS.get(type(thing).__name__)
    if check is not None and not check(thing):
        raise ModelFileError(f"The model file is damaged: a {type(thing).__name__} in it contradicts itself.")


def offsets_hold(data: Any, offsets: Any) -> bool:
    """Whether strings that lie one after the other lie inside the bytes."""
    if not (isinstance(data, np.ndarray) and isinstance(offsets, np.ndarray)):
        return False
    if data.dtype != np.uint8 or offsets.dtype != np.int64 or data.ndim != 1 or offsets.ndim != 1 or not len(offsets):
        return False
    return bool(offsets[0] >= 0 and (offsets[1:] >= offsets[:-1]).all() and offsets[-1] <= len(data))


def _directions_hold(model: Any) -> bool:
    """Whether there are as many directions as `transform` takes."""
    scalings = getattr(model, "scalings_", None)
    return scalings is None or 0 <= model._max_components <= scalings.shape[1]


def _signs_hold(chain: Any) -> bool:
    """Whether blocks of signs are as long as a power of two, and make a row for each scale."""
    blocks, times, length = chain.signs.shape
    made = times == 3 and length & (length - 1) == 0 and blocks * length >= len(chain.scales)
    return bool(made and 0 < chain.columns <= length)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Hadamard": _signs_hold,
    "LinearDiscriminantAnalysis": _directions_hold,
    "Texts": lambda texts: offsets_hold(texts.data, texts.offsets),
}
