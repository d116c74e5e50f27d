"""Kernel matrices of tensors, on whatever device: what `Gram` is for arrays.

`tile_of` and `diagonal_of` say what each kernel makes of two tensors. Kernels of the distance go to `_gpu.sums`, which
on a card is one fused loop; a sum of kernels is a sum of such products, and everything else is made tile by tile.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from mercer._errors import ColumnMismatchError, DataError, DeviceError
from mercer._gpu.chunks import in_chunks, room_for, tile_size
from mercer._gpu.profiles import Profile
from mercer._gpu.sums import KernelSums, sums_by_tiles
from mercer.kernels._base import Kernel
from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.columns import Columns
from mercer.kernels.dot import Linear
from mercer.kernels.one_feature import Constant
from mercer.kernels.tensor_tiles import columns_of, diagonal_of, profile_of, tile_of

#: rows that are mirrored at a time
MIRRORED = 4096


class TensorGram:
    """The matrix k(X, Z), or k(X, X), of tensors, never in memory unless `matrix` is asked for.

    Parameters
    ----------
    kernel : Kernel
        What compares two rows; a kernel of numbers.
    X : tensor of shape (n, d)
        A row of the matrix for each; float32 or float64.
    Z : tensor of shape (m, d), default=None
        A column of the matrix for each, on the same device; None means X.
    tf32 : bool, default=False
        Whether distances from products of 11 bits are good enough, as for a preconditioner; on a card only.
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Any = None, *, tf32: bool = False) -> None:
        _refuse_strangers(X, X if Z is None else Z)
        self.kernel, self.square, self.tf32 = kernel, Z is None, tf32
        self._left, self._right = X, X if Z is None else Z.to(X.dtype)
        # asked once, so that a kernel that takes no tensors says so now
        self._diagonal = diagonal_of(kernel, self._right)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._left), len(self._right)

    @property
    def dtype(self) -> Any:
        return self._left.dtype

    @property
    def diagonal(self) -> Any:
        """k(x, x) for the rows of X; only of a matrix of X with itself."""
        return self._diagonal if self.square else self._diagonal[:0]

    def times(self, V: Any) -> Any:
        """k(X, Z) V, for a vector or a matrix of several, in the type of V."""
        _refuse_length(V, self.shape[1], "columns")
        return self._product.times(V)

    def transposed_times(self, V: Any) -> Any:
        """k(X, Z)ᵀ V, for a vector or a matrix of several, in the type of V."""
        _refuse_length(V, self.shape[0], "rows")
        return self._product.transposed_times(V)

    @cached_property
    def _product(self) -> Any:
        return _product_of(self.kernel, self._left, None if self.square else self._right, self.tf32)

    def tile(self, rows: Any, columns: Any) -> Any:
        """Some rows of some columns, by slices or their numbers."""
        import torch

        tile = self._tile(rows, columns)
        if self.square:
            i, j = (torch.arange(self.shape[0], device=tile.device)[some] for some in (rows, columns))
            tile = torch.where(i[:, None] == j, self._diagonal[i][:, None], tile)
        return tile

    def rows(self, numbers: Any) -> Any:
        """Some rows (a slice or their numbers), of all columns."""
        return self.tile(numbers, slice(None))

    def matrix(self) -> Any:
        """All of it; k(X) is exactly symmetric."""
        n, m = self.shape
        with room_for(f"a kernel matrix of {n:,} × {m:,}"):
            K = self._left.new_empty(n, m)

        def fill(rows: slice) -> None:
            K[rows] = self._tile(rows, slice(None))

        in_chunks(n, tile_size(K) // max(m, 1), fill)
        if self.square:
            _mirror(K)
            K.diagonal().copy_(self._diagonal)
        return K

    def _tile(self, rows: Any, columns: Any) -> Any:
        return tile_of(self.kernel, self._left[rows], self._right[columns], self._shift)

    @cached_property
    def _shift(self) -> Any:
        """The mean of the columns: distances between rows far from 0 keep their digits."""
        return self._right.double().mean(dim=0).nan_to_num(posinf=0.0, neginf=0.0).to(self.dtype)


def _product_of(kernel: Kernel, X: Any, Z: Any, tf32: bool) -> Any:
    """What multiplies by the matrix of a kernel, the fastest that there is."""
    if isinstance(kernel, Scaled):
        return _Scaled(_product_of(kernel.kernel, X, Z, tf32), kernel.scale)
    if isinstance(kernel, Sum):
        return _Added([_product_of(part, X, Z, tf32) for part in (kernel.k1, kernel.k2)])
    if isinstance(kernel, Columns):
        right = None if Z is None else columns_of(kernel, Z)
        return _product_of(kernel.kernel, columns_of(kernel, X), right, tf32)
    if isinstance(kernel, Constant):
        return _Constant(kernel.value, X, Z)
    if isinstance(kernel, Linear):
        return _Linear(X, X if Z is None else Z)
    profile: Profile | None = profile_of(kernel, X.shape[1])
    return _Tiles(kernel, X, Z) if profile is None else KernelSums(profile, X, Z, tf32=tf32)


class _Scaled:
    def __init__(self, product: Any, scale: float) -> None:
        self._product, self._scale = product, scale

    def times(self, V: Any) -> Any:
        return self._scale * self._product.times(V)

    def transposed_times(self, V: Any) -> Any:
        return self._scale * self._product.transposed_times(V)


class _Added:
    def __init__(self, products: list[Any]) -> None:
        self._products = products

    def times(self, V: Any) -> Any:
        return sum(product.times(V) for product in self._products)

    def transposed_times(self, V: Any) -> Any:
        return sum(product.transposed_times(V) for product in self._products)


class _Constant:
    def __init__(self, value: float, X: Any, Z: Any) -> None:
        self._value, self._n, self._m = value, len(X), len(X if Z is None else Z)

    def times(self, V: Any) -> Any:
        return self._everywhere(V, self._n)

    def transposed_times(self, V: Any) -> Any:
        return self._everywhere(V, self._m)

    def _everywhere(self, V: Any, n: int) -> Any:
        return (self._value * V.double().sum(dim=0)).to(V.dtype).expand(n, *V.shape[1:]).clone()


class _Linear:
    def __init__(self, X: Any, Z: Any) -> None:
        self._X, self._Z = X, Z

    def times(self, V: Any) -> Any:
        return (self._X @ (self._Z.T @ V.to(self._X.dtype))).to(V.dtype)

    def transposed_times(self, V: Any) -> Any:
        return (self._Z @ (self._X.T @ V.to(self._X.dtype))).to(V.dtype)


class _Tiles:
    """Products of a kernel that has no faster way, tile by tile."""

    def __init__(self, kernel: Kernel, X: Any, Z: Any) -> None:
        self._gram = TensorGram(kernel, X, Z)

    def times(self, V: Any) -> Any:
        return self._sums(V, self._gram.shape[0], self._gram._tile)

    def transposed_times(self, V: Any) -> Any:
        return self._sums(V, self._gram.shape[1], lambda rows, columns: self._gram._tile(columns, rows).T)

    def _sums(self, V: Any, n: int, tile: Any) -> Any:
        several = V[:, None] if V.ndim == 1 else V
        return sums_by_tiles(tile, n, several, self._gram.dtype).reshape(n, *V.shape[1:])


def _mirror(K: Any) -> None:
    """Put what is below the diagonal above it."""
    for start in range(0, len(K), MIRRORED):
        stop = start + MIRRORED
        K[start:stop, stop:] = K[stop:, start:stop].T
        block = K[start:stop, start:stop]
        block.copy_(block.tril() + block.tril(-1).T)


def _refuse_strangers(X: Any, Z: Any) -> None:
    if X.device != Z.device:
        raise DeviceError(
            f"X is on {X.device}, but Z is on {Z.device}: kernels do not move tensors by themselves; give "
            "Z.to(X.device)."
        )
    if X.shape[1] != Z.shape[1]:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} columns, but Z has {Z.shape[1]}; a kernel compares rows of the same columns."
        )


def _refuse_length(V: Any, size: int, what: str) -> None:
    if V.ndim not in (1, 2) or len(V) != size:
        raise DataError(
            f"V has shape {tuple(V.shape)}, but the kernel matrix has {size} {what}; give one row for each."
        )
