"""Kernels of one width, and of widths that vary: each is a loop to compile, seconds for a test of a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

#: an endless one and a compact one
FEW = ("gaussian", "epanechnikov")


def with_widths(kernels: Sequence[Any], *ways: tuple[Any, ...]) -> Iterator[Any]:
    """Each kernel, or its name, in each way, which ends in a sensitivity. In `make test` only those of a few vary."""
    for kernel, way in product(kernels, ways):
        usual = way[-1] == 0 or getattr(kernel, "name", kernel) in FEW
        yield pytest.param(kernel, *way, marks=() if usual else pytest.mark.slow)
