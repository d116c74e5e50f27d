"""Sums of kernels over rows, Σ_j f(‖x − z_j‖²) v_j, without the matrix, for predictions, solvers and densities.

On a GPU and in float32 they are computed by a fused Triton kernel, elsewhere by torch tile by tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._gpu.chunks import device_memory_for, in_chunks, tile_size
from mercer._gpu.compiler import compiles
from mercer._gpu.distances import from_products, in_units, squared_distances
from mercer._gpu.profiles import TensorProfile

#: columns of a tile
TILE_COLUMNS = 1 << 12
#: largest power of a rational quadratic in float32, as the power amplifies the rounding of 1 + s
LARGEST_SINGLE_POWER = 16.0


class TensorKernelSums:
    """A function of the distance between the rows of X and those of Z.

    Parameters
    ----------
    profile : TensorProfile
        Function of the squared distance.
    X : tensor of shape (n, d)
        Rows, with a sum for each.
    Z : tensor of shape (m, d), default=None
        Rows, with a term for each; None means X.
    tf32 : bool, default=False
        Whether products of 11 bits by tensor cores are precise enough, e.g. for a preconditioner.
    """

    def __init__(self, profile: TensorProfile, X: Any, Z: Any = None, *, tf32: bool = False) -> None:
        import torch

        right = X if Z is None else Z
        self.shape = (len(X), len(right))
        with device_memory_for("two copies of the rows"):
            # shifted, so that distances between rows far from 0 keep their digits
            shift = torch.nan_to_num(right.mean(dim=0, dtype=torch.float64), posinf=0.0, neginf=0.0).to(X.dtype)
            self.profile, self._left, self._right = in_units(profile, X, right, shift)
            self._by_products = from_products(self.profile.slope, self._left, self._right)
            self._fused = _fused(self.profile, self._left, self._right, self._by_products, tf32)
        if self._fused is not None:
            self._left = self._right = None  # the fused sums have copies

    def matvec(self, V: Any) -> Any:
        """Σ_j f(‖x − z_j‖²) v_j for every x and each column of V, in the dtype of V."""
        return self._in_units(V, self._sums if self._fused is None else self._fused.matvec)

    def rmatvec(self, V: Any) -> Any:
        """Σ_i f(‖x_i − z‖²) v_i for every z."""
        return self._in_units(V, self._transposed_sums if self._fused is None else self._fused.rmatvec)

    def _in_units(self, V: Any, sums: Any) -> Any:
        """Compute sums of columns in units of their largest number, as V in float64 may overflow float32."""
        import torch

        columns = V.reshape(len(V), int(np.prod(V.shape[1:])))
        units = columns.abs().amax(dim=0) if len(V) else columns.new_ones(columns.shape[1])
        units = torch.where((units > 0) & units.isfinite(), units, 1.0)
        with device_memory_for("sums of all rows"):
            totals = sums(columns / units).mul_(units)
        return totals.reshape(len(totals), *V.shape[1:])

    def _transposed_sums(self, V: Any) -> Any:
        return self._sums(V, transposed=True)

    def _sums(self, V: Any, *, transposed: bool = False) -> Any:
        left, right = (self._right, self._left) if transposed else (self._left, self._right)

        def tile(rows: slice, columns: slice) -> Any:
            return self.profile.of(squared_distances(left[rows], right[columns], by_products=self._by_products))

        return sums_by_tiles(tile, len(left), V, left.dtype)


def sums_by_tiles(tile: Callable[[slice, slice], Any], n: int, V: Any, dtype: Any) -> Any:
    """Product of V with a matrix of n rows given by its tiles of a dtype; sums over tiles are in float64."""
    import torch

    columns, out = V.to(dtype), V.new_empty(n, V.shape[1])

    def fill(rows: slice) -> None:
        total = torch.zeros(rows.stop - rows.start, V.shape[1], dtype=torch.float64, device=V.device)
        for start in range(0, len(V), TILE_COLUMNS):
            block = slice(start, start + TILE_COLUMNS)
            total += tile(rows, block) @ columns[block]
        out[rows] = total

    in_chunks(n, tile_size(V) // min(TILE_COLUMNS, max(len(V), 1)), fill)
    return out


def _fused(profile: TensorProfile, left: Any, right: Any, by_products: bool, tf32: bool) -> Any:
    """Return the sums by a Triton kernel, or None if there is none for this dtype, device and profile."""
    import torch

    if not left.is_cuda or left.dtype != torch.float32 or not len(left) or not len(right):
        return None
    if profile.name == "rational_quadratic" and profile.power > LARGEST_SINGLE_POWER:
        return None
    if not compiles(left.device):
        return None
    from mercer._gpu.fused import FusedSums

    return FusedSums(profile, left, right, by_products=by_products, tf32=tf32)
