"""Rows of x that are a tensor, to be fitted by least squares: XᵀX and Xᵀy are made where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mercer._gpu import like, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._typing import Array
from mercer.designs import DenseDesign, TensorDesign
from mercer.designs.tensors import on_device
from mercer.engines.reducing import reduce
from mercer.solvers.least_squares.rows import Rows
from mercer.stats.joined import PILOT_ROWS, pilot
from mercer.stats.normal_equations import NormalEquations, Sums
from mercer.stats.r_factor import RFactor

S = TypeVar("S", NormalEquations, RFactor)

#: a chunk is copied in float64, and once more times its weights
COPIES = 3


@dataclass(frozen=True, eq=False)
class TensorRows(Rows):
    """`Rows` whose X is a tensor; Y and weights, a few numbers per row, are arrays.

    Sums of products are computed in float64 on the device of X, chunk by chunk. Where they are too ill-conditioned, the
    factorisations and refinements that read rows one by one get them block by block in main memory.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if str(self.X.dtype) == "torch.float32" else np.float64)

    @property
    def device(self) -> str:
        return str(self.X.device)

    def batch(self, rows: slice) -> tuple[Any, Array, Array | None]:
        return to_numpy(self.X[rows]), self.Y[rows], None if self.weight is None else self.weight[rows]

    def lengths_of(self, change: Array, level: Array) -> Array:
        size = np.abs(change).max(initial=0.0) or 1.0  # a change of 1e-40 would be lost in float32
        image = size * to_numpy(self.X @ like(change / size, self.X)) + level
        weight = np.ones((len(self), 1)) if self.weight is None else self.weight[:, None]
        return np.asarray(np.sqrt(np.where(weight > 0, weight * np.square(image), 0.0).sum(axis=0)))

    def summarised(self, kind: type[S]) -> S:
        if issubclass(kind, NormalEquations):
            return kind.of_sums(self._sums(), self.shape[1])
        return reduce(kind.zero(self.shape[1], self.targets), self)

    def _sums(self) -> Sums:
        import torch

        n, d = self.shape
        some = np.arange(min(n, PILOT_ROWS)) if self.weight is None else np.flatnonzero(self.weight)[:PILOT_ROWS]
        shift = np.concatenate([pilot(to_numpy(self.X[on_device(some, self.X)])), pilot(self.Y[some])])
        about = like(shift, self.X, dtype=torch.float64)
        total = torch.zeros((1 + len(shift),) * 2, dtype=torch.float64, device=self.X.device)

        def add(rows: slice) -> None:
            joined = torch.ones((rows.stop - rows.start, len(total)), dtype=torch.float64, device=self.X.device)
            joined[:, 1 : 1 + d] = self.X[rows]
            joined[:, 1 + d :] = like(self.Y[rows], joined)
            joined[:, 1:] -= about
            total.add_(self._weighted(joined, rows).T @ joined)

        in_chunks(n, tile_size(self.X) // (COPIES * len(total)), add, "the columns in float64")
        count = n if self.weight is None else int(np.count_nonzero(self.weight))
        product = to_numpy(total)
        return Sums(count, float(product[0, 0]), shift, product[0, 1:], product[1:, 1:])

    def _weighted(self, joined: Any, rows: slice) -> Any:
        """Each row times its weight; one of weight 0 does not count, whatever it holds."""
        if self.weight is None:
            return joined
        weight = like(self.weight[rows], joined)
        joined[weight == 0] = 0.0
        return weight[:, None] * joined


def rows_of(X: Any, Y: Array, weight: Array | None) -> Rows:
    """Of a tensor: as it is if it has more rows than columns, else in main memory, where so few rows are solved."""
    if len(X) > X.shape[1]:
        return TensorRows(X, Y, weight)
    return Rows(to_numpy(X), Y, weight)


def rows_of_design(design: DenseDesign | TensorDesign, Y: Any, weight: Any) -> Rows:
    """Of a design that is one matrix."""
    if isinstance(design, DenseDesign):
        return Rows(design.X, Y, weight)
    return rows_of(design.X, to_numpy(Y), None if weight is None else to_numpy(weight))
