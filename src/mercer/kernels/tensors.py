"""Kernel matrices of tensors, on whatever device: what `Gram` is for arrays.

`tile_of` and `diagonal_of` say what each kernel makes of two tensors. Kernels of the distance go to `_gpu.sums`, which
on a card is one fused loop; a sum of kernels is a sum of such products, and everything else is made tile by tile.
"""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any

from mercer._errors import ColumnMismatchError, DataError, DeviceError
from mercer._gpu.chunks import in_chunks, room_for, tile_size
from mercer._gpu.distances import from_products, in_units, squared_distances, squared_lengths
from mercer._gpu.profiles import TensorProfile
from mercer._gpu.sums import TensorKernelSums, sums_by_tiles
from mercer.kernels import _value_loops as loops
from mercer.kernels._algebra import Columns, Normalised, Power, Product, Scaled, Sum, no_length
from mercer.kernels._pointwise import Radial, width
from mercer.kernels.base import Kernel, beyond
from mercer.kernels.dot import Cosine, Linear, Polynomial, Quadratic, Sigmoid
from mercer.kernels.histograms import AdditiveChiSquared, ChiSquared, HistogramIntersection, negative
from mercer.kernels.one_feature import Constant
from mercer.kernels.radial import Laplacian

# What each kernel makes of two tensors, and of each row with itself; kernels of other things than numbers are refused.
#
# `tile_of(kernel, X, Z, shift)` is k(x, z) for every pair, in a tensor of its own; `shift` is amid the rows.

#: kernels of the distance by what `Radial.lower` makes of them
NAMES = {
    loops.ExponentialValue: "gaussian",
    loops.MaternOneValue: "exponential",
    loops.MaternThreeValue: "matern_three",
    loops.MaternFiveValue: "matern_five",
}


def profile_of(kernel: Kernel, columns: int) -> TensorProfile | None:
    """A kernel of the distance as a function of its square; None of another."""
    if not isinstance(kernel, Radial):
        return None
    lowered = kernel.lower(columns)
    if isinstance(lowered, loops.RationalQuadraticValue):
        return TensorProfile("rational_quadratic", float(lowered.gamma), float(lowered.alpha))
    return TensorProfile(NAMES[type(lowered)], float(lowered[0]))


def columns_of(kernel: Columns, X: Any) -> Any:
    """The columns that a kernel looks at, as a tensor."""
    kernel.refuse_fewer(int(X.shape[1]))
    return X[:, list(kernel.columns)]


def _refuse(kernel: Kernel) -> Any:
    raise DeviceError(
        f"{kernel!r} does not compare rows of a tensor: tensors go with the kernels of numbers that mercer has itself "
        "(RBF, Matern, Polynomial, …), their sums, products and powers. Give arrays, X.cpu().numpy()."
    )


@singledispatch
def tile_of(kernel: Kernel, X: Any, Z: Any, shift: Any) -> Any:
    """k(x, z) for every pair, in a tensor of its own."""
    return _refuse(kernel)


@singledispatch
def diagonal_of(kernel: Kernel, X: Any) -> Any:
    """k(x, x) for every row."""
    return _refuse(kernel)


# Kernels of the distance.


@tile_of.register
def _(kernel: Radial, X: Any, Z: Any, shift: Any) -> Any:
    profile = profile_of(kernel, X.shape[1])
    assert profile is not None
    profile, X, Z = in_units(profile, X, Z, shift)
    return profile.of(squared_distances(X, Z, by_products=from_products(profile.slope, X, Z)))


@tile_of.register
def _(kernel: Laplacian, X: Any, Z: Any, shift: Any) -> Any:
    import torch

    return torch.cdist(X, Z, p=1.0).mul_(-width(kernel.gamma, X.shape[1])).exp_()


@diagonal_of.register(Radial)
@diagonal_of.register(Laplacian)
@diagonal_of.register(ChiSquared)
def _(kernel: Kernel, X: Any) -> Any:
    return X.new_ones(len(X))


# Kernels of the product.


def _of_product(kernel: Kernel, s: Any, columns: int) -> Any:
    if isinstance(kernel, Quadratic):
        return s + s * s
    if isinstance(kernel, Polynomial):
        return (s * width(kernel.gamma, columns) + kernel.constant).pow_(kernel.degree)
    if isinstance(kernel, Sigmoid):
        return (s * width(kernel.gamma, columns) + kernel.constant).tanh_()
    return s


@tile_of.register(Linear)
@tile_of.register(Quadratic)
@tile_of.register(Polynomial)
@tile_of.register(Sigmoid)
def _(kernel: Kernel, X: Any, Z: Any, shift: Any) -> Any:
    return _of_product(kernel, X @ Z.T, X.shape[1])


@diagonal_of.register(Linear)
@diagonal_of.register(Quadratic)
@diagonal_of.register(Polynomial)
@diagonal_of.register(Sigmoid)
def _(kernel: Kernel, X: Any) -> Any:
    return _finite(kernel, _of_product(kernel, squared_lengths(X), X.shape[1]))


def _finite(kernel: Kernel, diagonal: Any) -> Any:
    """k(x, x), or an error where one is no number: by Cauchy and Schwarz k(x, z) is finite where both of them are."""
    if not bool(diagonal.isfinite().all()):
        row = int((~diagonal.isfinite()).nonzero()[0])
        raise beyond(kernel, float(diagonal[row]), row, str(diagonal.dtype).removeprefix("torch."))
    return diagonal


def _directions(X: Any) -> Any:
    """Rows of length 1; a row of zeros stays."""
    largest = X.abs().amax(dim=1, keepdim=True)
    X = X / largest.where(largest > 0, largest.new_ones(()))  # first, so that no square leaves the range of floats
    length = squared_lengths(X).sqrt_()[:, None]
    return X / length.where(length > 0, length.new_ones(()))


@tile_of.register
def _(kernel: Cosine, X: Any, Z: Any, shift: Any) -> Any:
    return _directions(X) @ _directions(Z).T


@diagonal_of.register
def _(kernel: Cosine, X: Any) -> Any:
    return (X != 0).any(dim=1).to(X.dtype)


# Kernels of histograms, by loops over columns.


def _refuse_negative(kernel: Kernel, X: Any) -> None:
    if len(bad := (X < 0).nonzero()):
        row, column = (int(place) for place in bad[0])
        raise negative(type(kernel).__name__, float(X[row, column]), row, column)


def _chi_squared(kernel: Kernel, X: Any, Z: Any) -> Any:
    for side in (X, Z):
        _refuse_negative(kernel, side)
    total = X.new_zeros(len(X), len(Z))
    for x, z in zip(X.T, Z.T, strict=True):
        both = x[:, None] + z
        total += (x[:, None] - z).square_().div_(both.where(both > 0, both.new_ones(())))
    return total


@tile_of.register
def _(kernel: ChiSquared, X: Any, Z: Any, shift: Any) -> Any:
    return _chi_squared(kernel, X, Z).mul_(-kernel.gamma).exp_()


@tile_of.register
def _(kernel: AdditiveChiSquared, X: Any, Z: Any, shift: Any) -> Any:
    return _chi_squared(kernel, X, Z).neg_()


@diagonal_of.register
def _(kernel: AdditiveChiSquared, X: Any) -> Any:
    return X.new_zeros(len(X))


@tile_of.register
def _(kernel: HistogramIntersection, X: Any, Z: Any, shift: Any) -> Any:
    import torch

    for side in (X, Z):
        _refuse_negative(kernel, side)
    total = X.new_zeros(len(X), len(Z))
    for x, z in zip(X.T, Z.T, strict=True):
        total += torch.minimum(x[:, None], z)
    return total


@diagonal_of.register
def _(kernel: HistogramIntersection, X: Any) -> Any:
    return X.sum(dim=1)


# The algebra.


@tile_of.register
def _(kernel: Constant, X: Any, Z: Any, shift: Any) -> Any:
    return X.new_full((len(X), len(Z)), kernel.value)


@diagonal_of.register
def _(kernel: Constant, X: Any) -> Any:
    return X.new_full((len(X),), kernel.value)


@tile_of.register
def _(kernel: Sum, X: Any, Z: Any, shift: Any) -> Any:
    return tile_of(kernel.k1, X, Z, shift).add_(tile_of(kernel.k2, X, Z, shift))


@diagonal_of.register
def _(kernel: Sum, X: Any) -> Any:
    return diagonal_of(kernel.k1, X) + diagonal_of(kernel.k2, X)


@tile_of.register
def _(kernel: Product, X: Any, Z: Any, shift: Any) -> Any:
    return tile_of(kernel.k1, X, Z, shift).mul_(tile_of(kernel.k2, X, Z, shift))


@diagonal_of.register
def _(kernel: Product, X: Any) -> Any:
    return diagonal_of(kernel.k1, X) * diagonal_of(kernel.k2, X)


@tile_of.register
def _(kernel: Scaled, X: Any, Z: Any, shift: Any) -> Any:
    return tile_of(kernel.kernel, X, Z, shift).mul_(kernel.scale)


@diagonal_of.register
def _(kernel: Scaled, X: Any) -> Any:
    return diagonal_of(kernel.kernel, X) * kernel.scale


@tile_of.register
def _(kernel: Power, X: Any, Z: Any, shift: Any) -> Any:
    return tile_of(kernel.kernel, X, Z, shift).pow_(kernel.exponent)


@diagonal_of.register
def _(kernel: Power, X: Any) -> Any:
    return diagonal_of(kernel.kernel, X) ** kernel.exponent


@tile_of.register
def _(kernel: Columns, X: Any, Z: Any, shift: Any) -> Any:
    return tile_of(kernel.kernel, columns_of(kernel, X), columns_of(kernel, Z), shift[list(kernel.columns)])


@diagonal_of.register
def _(kernel: Columns, X: Any) -> Any:
    return diagonal_of(kernel.kernel, columns_of(kernel, X))


@tile_of.register
def _(kernel: Normalised, X: Any, Z: Any, shift: Any) -> Any:
    tile = tile_of(kernel.kernel, X, Z, shift)
    return tile.mul_(_inverse_lengths(kernel, X)[:, None]).mul_(_inverse_lengths(kernel, Z))


@diagonal_of.register
def _(kernel: Normalised, X: Any) -> Any:
    return (_inverse_lengths(kernel, X) > 0).to(X.dtype)


def _inverse_lengths(kernel: Normalised, X: Any) -> Any:
    diagonal = _finite(kernel.kernel, diagonal_of(kernel.kernel, X))
    if bool((diagonal < 0).any()):
        row = int((diagonal < 0).nonzero()[0])
        raise no_length(kernel.kernel, float(diagonal[row]), row)
    return diagonal.rsqrt().where(diagonal > 0, diagonal.new_zeros(()))


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
        return _ScaledTiles(_product_of(kernel.kernel, X, Z, tf32), kernel.scale)
    if isinstance(kernel, Sum):
        return _AddedTiles([_product_of(part, X, Z, tf32) for part in (kernel.k1, kernel.k2)])
    if isinstance(kernel, Columns):
        right = None if Z is None else columns_of(kernel, Z)
        return _product_of(kernel.kernel, columns_of(kernel, X), right, tf32)
    if isinstance(kernel, Constant):
        return _ConstantTiles(kernel.value, X, Z)
    if isinstance(kernel, Linear):
        return _LinearTiles(X, X if Z is None else Z)
    profile: TensorProfile | None = profile_of(kernel, X.shape[1])
    return _TensorTiles(kernel, X, Z) if profile is None else TensorKernelSums(profile, X, Z, tf32=tf32)


class _ScaledTiles:
    def __init__(self, product: Any, scale: float) -> None:
        self._product, self._scale = product, scale

    def times(self, V: Any) -> Any:
        return self._scale * self._product.times(V)

    def transposed_times(self, V: Any) -> Any:
        return self._scale * self._product.transposed_times(V)


class _AddedTiles:
    def __init__(self, products: list[Any]) -> None:
        self._products = products

    def times(self, V: Any) -> Any:
        return sum(product.times(V) for product in self._products)

    def transposed_times(self, V: Any) -> Any:
        return sum(product.transposed_times(V) for product in self._products)


class _ConstantTiles:
    def __init__(self, value: float, X: Any, Z: Any) -> None:
        self._value, self._n, self._m = value, len(X), len(X if Z is None else Z)

    def times(self, V: Any) -> Any:
        return self._everywhere(V, self._n)

    def transposed_times(self, V: Any) -> Any:
        return self._everywhere(V, self._m)

    def _everywhere(self, V: Any, n: int) -> Any:
        return (self._value * V.double().sum(dim=0)).to(V.dtype).expand(n, *V.shape[1:]).clone()


class _LinearTiles:
    def __init__(self, X: Any, Z: Any) -> None:
        self._X, self._Z = X, Z

    def times(self, V: Any) -> Any:
        return (self._X @ (self._Z.T @ V.to(self._X.dtype))).to(V.dtype)

    def transposed_times(self, V: Any) -> Any:
        return (self._Z @ (self._X.T @ V.to(self._X.dtype))).to(V.dtype)


class _TensorTiles:
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
