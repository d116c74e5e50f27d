"""Types that annotations use throughout."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

#: an array of any shape and dtype
Array = NDArray[Any]
