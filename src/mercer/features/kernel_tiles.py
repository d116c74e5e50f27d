"""Kernels of rows with landmarks, made tile by tile: for `designs.mapped`, and for features."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from mercer._threads import ordered_stream
from mercer._typing import Array
from mercer.kernels import Gram, Kernel

#: error of an entry that a rough tile may have
ROUGH = 1e-5
ONE_AT_A_TIME = Lock()


def for_each(function: Callable[[slice], None], blocks: list[slice], kernel: Kernel | None) -> None:
    """Call a function that asks a kernel (None: one whose values are there) for all blocks, on threads if it may be."""
    for _ in (ordered_stream if _may_be_shared(kernel) else map)(function, blocks):
        pass


def _may_be_shared(kernel: Kernel | None) -> bool:
    """A function of a user has never been asked whether it may be called by several threads."""
    return kernel is None or kernel.symmetric


@dataclass(frozen=True, eq=False)
class KernelTiles:
    """k(X, landmarks) (`designs.mapped.Tiles`)."""

    kernel: Kernel
    X: Any
    landmarks: Any

    @cached_property
    def _exact(self) -> Gram:
        return self._rough.exact()  # which has been made ready for it already

    @cached_property
    def _rough(self) -> Gram:
        return Gram(self.kernel, self.X, self.landmarks, tolerance=ROUGH)

    @property
    def shape(self) -> tuple[int, int]:
        return self._exact.shape

    @property
    def rough(self) -> np.dtype[Any]:
        return self._rough.dtype

    def fill(self, rows: slice, out: Array) -> None:
        gram = self._exact if out.dtype == np.float64 else self._rough
        with nullcontext() if _may_be_shared(self.kernel) else ONE_AT_A_TIME:
            gram.fill(rows, out)

    def take(self, rows: Array) -> KernelTiles:
        X = self.X[rows] if hasattr(self.X, "shape") else [self.X[row] for row in rows]
        return replace(self, X=X)
