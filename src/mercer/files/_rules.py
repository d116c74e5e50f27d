"""What a file may not hold though it is plain data, since somebody would run it, or would follow it without looking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer._errors import ModelFileError
from mercer.files._shapes import check_shapes

Array = NDArray[Any]


class Refusal(Protocol):
    """Says which part of an object is refused, as what, and what to do."""

    def __call__(self, part: str, what: str, remedy: str) -> Any: ...


#: of which classes which parameters have to be None, what they would be, and what to do instead
UNSAFE: dict[str, tuple[str, str, str]] = {
    "TableFeatures": (
        "formula",
        "a formula, whose terms Python evaluates",
        "describe the columns by kinds= instead, or make them before",
    ),
    "Pipeline": ("memory", "a place from which pickles would be loaded", "save it with memory=None"),
}


def refuse_unsafe(thing: Any, refuse: Refusal) -> None:
    """Name the part of an object that would be run, if there is one."""
    part, what, remedy = UNSAFE.get(type(thing).__name__, ("", "", ""))
    if part and vars(thing).get(part) is not None:
        refuse(f".{part}", what, remedy)


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


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "LinearDiscriminantAnalysis": _directions_hold,
    "Texts": lambda texts: offsets_hold(texts.data, texts.offsets),
}
