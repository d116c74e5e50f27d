"""Kernel matrices of tensors, on any device, with the interface of `Gram`.

`compute_tensor_tile` and `compute_tensor_diagonal` define each kernel for tensors; kernels of other objects than
numbers raise an error. Kernels of the distance use `_gpu.sums`, which on a GPU is one fused loop; a sum of kernels is a
sum of such products, and every other kernel is computed tile by tile.
"""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any

from mercer._errors import ColumnMismatchError, DataError, DeviceError
from mercer._gpu.chunks import device_memory_for, in_chunks, tile_size
from mercer._gpu.distances import from_products, in_units, squared_distances, squared_lengths
from mercer._gpu.profiles import TensorProfile
from mercer._gpu.sums import TensorKernelSums, sums_by_tiles
from mercer.kernels import _value_loops as loops
from mercer.kernels._algebra import Columns, Normalised, Power, Product, Scaled, Sum, make_negative_diagonal_error
from mercer.kernels._pointwise import Radial, resolve_gamma
from mercer.kernels.base import Kernel, make_overflow_error
from mercer.kernels.dot import Cosine, Linear, Polynomial, Quadratic, Sigmoid
from mercer.kernels.histograms import AdditiveChiSquared, ChiSquared, HistogramIntersection, make_negative_error
from mercer.kernels.one_feature import Constant
from mercer.kernels.radial import Laplacian

#: names of profiles by the result of `Radial.lower`
PROFILE_NAMES = {
    loops.ExponentialValue: "gaussian",
    loops.MaternOneValue: "exponential",
    loops.MaternThreeValue: "matern_three",
    loops.MaternFiveValue: "matern_five",
}


def get_profile(kernel: Kernel, columns: int) -> TensorProfile | None:
    """Return a kernel of the distance as a function of its square; None for other kernels."""
    if not isinstance(kernel, Radial):
        return None
    lowered = kernel.lower(columns)
    if isinstance(lowered, loops.RationalQuadraticValue):
        return TensorProfile("rational_quadratic", float(lowered.gamma), float(lowered.alpha))
    return TensorProfile(PROFILE_NAMES[type(lowered)], float(lowered[0]))


def select_columns(kernel: Columns, X: Any) -> Any:
    """Return the columns on which a kernel is defined, as a tensor."""
    kernel.check_columns(int(X.shape[1]))
    return X[:, list(kernel.columns)]


def _raise_unsupported(kernel: Kernel) -> Any:
    raise DeviceError(
        f"{kernel!r} does not compare rows of a tensor: tensors go with the kernels of numbers that mercer has itself "
        "(RBF, Matern, Polynomial, …), their sums, products and powers. Give arrays, X.cpu().numpy()."
    )


@singledispatch
def compute_tensor_tile(kernel: Kernel, X: Any, Z: Any, shift: Any) -> Any:
    """Return k(x, z) for every pair, in a new tensor; `shift` is a centre of the rows."""
    return _raise_unsupported(kernel)


@singledispatch
def compute_tensor_diagonal(kernel: Kernel, X: Any) -> Any:
    """Return k(x, x) for every row."""
    return _raise_unsupported(kernel)


# Kernels of the distance.


@compute_tensor_tile.register
def _(kernel: Radial, X: Any, Z: Any, shift: Any) -> Any:
    profile = get_profile(kernel, X.shape[1])
    assert profile is not None
    profile, X, Z = in_units(profile, X, Z, shift)
    return profile.of(squared_distances(X, Z, by_products=from_products(profile.slope, X, Z)))


@compute_tensor_tile.register
def _(kernel: Laplacian, X: Any, Z: Any, shift: Any) -> Any:
    import torch

    return torch.cdist(X, Z, p=1.0).mul_(-resolve_gamma(kernel.gamma, X.shape[1])).exp_()


@compute_tensor_diagonal.register(Radial)
@compute_tensor_diagonal.register(Laplacian)
@compute_tensor_diagonal.register(ChiSquared)
def _(kernel: Kernel, X: Any) -> Any:
    return X.new_ones(len(X))


# Kernels of the product.


def _apply_to_product(kernel: Kernel, s: Any, columns: int) -> Any:
    if isinstance(kernel, Quadratic):
        return s + s * s
    if isinstance(kernel, Polynomial):
        return (s * resolve_gamma(kernel.gamma, columns) + kernel.constant).pow_(kernel.degree)
    if isinstance(kernel, Sigmoid):
        return (s * resolve_gamma(kernel.gamma, columns) + kernel.constant).tanh_()
    return s


@compute_tensor_tile.register(Linear)
@compute_tensor_tile.register(Quadratic)
@compute_tensor_tile.register(Polynomial)
@compute_tensor_tile.register(Sigmoid)
def _(kernel: Kernel, X: Any, Z: Any, shift: Any) -> Any:
    return _apply_to_product(kernel, X @ Z.T, X.shape[1])


@compute_tensor_diagonal.register(Linear)
@compute_tensor_diagonal.register(Quadratic)
@compute_tensor_diagonal.register(Polynomial)
@compute_tensor_diagonal.register(Sigmoid)
def _(kernel: Kernel, X: Any) -> Any:
    return _check_finite(kernel, _apply_to_product(kernel, squared_lengths(X), X.shape[1]))


def _check_finite(kernel: Kernel, diagonal: Any) -> Any:
    """Return k(x, x), or raise if one is not finite: k(x, z) is finite where both are, by Cauchy and Schwarz."""
    if not bool(diagonal.isfinite().all()):
        row = int((~diagonal.isfinite()).nonzero()[0])
        raise make_overflow_error(kernel, float(diagonal[row]), row, str(diagonal.dtype).removeprefix("torch."))
    return diagonal


def _normalize_rows(X: Any) -> Any:
    """Return rows of length 1; a row of zeros stays."""
    largest = X.abs().amax(dim=1, keepdim=True)
    X = X / largest.where(largest > 0, largest.new_ones(()))  # first, so that no square overflows
    length = squared_lengths(X).sqrt_()[:, None]
    return X / length.where(length > 0, length.new_ones(()))


@compute_tensor_tile.register
def _(kernel: Cosine, X: Any, Z: Any, shift: Any) -> Any:
    return _normalize_rows(X) @ _normalize_rows(Z).T


@compute_tensor_diagonal.register
def _(kernel: Cosine, X: Any) -> Any:
    return (X != 0).any(dim=1).to(X.dtype)


# Kernels of histograms, by loops over columns.


def _check_not_negative(kernel: Kernel, X: Any) -> None:
    if len(bad := (X < 0).nonzero()):
        row, column = (int(place) for place in bad[0])
        raise make_negative_error(type(kernel).__name__, float(X[row, column]), row, column)


def _chi_squared(kernel: Kernel, X: Any, Z: Any) -> Any:
    for side in (X, Z):
        _check_not_negative(kernel, side)
    total = X.new_zeros(len(X), len(Z))
    for x, z in zip(X.T, Z.T, strict=True):
        both = x[:, None] + z
        total += (x[:, None] - z).square_().div_(both.where(both > 0, both.new_ones(())))
    return total


@compute_tensor_tile.register
def _(kernel: ChiSquared, X: Any, Z: Any, shift: Any) -> Any:
    return _chi_squared(kernel, X, Z).mul_(-kernel.gamma).exp_()


@compute_tensor_tile.register
def _(kernel: AdditiveChiSquared, X: Any, Z: Any, shift: Any) -> Any:
    return _chi_squared(kernel, X, Z).neg_()


@compute_tensor_diagonal.register
def _(kernel: AdditiveChiSquared, X: Any) -> Any:
    return X.new_zeros(len(X))


@compute_tensor_tile.register
def _(kernel: HistogramIntersection, X: Any, Z: Any, shift: Any) -> Any:
    import torch

    for side in (X, Z):
        _check_not_negative(kernel, side)
    total = X.new_zeros(len(X), len(Z))
    for x, z in zip(X.T, Z.T, strict=True):
        total += torch.minimum(x[:, None], z)
    return total


@compute_tensor_diagonal.register
def _(kernel: HistogramIntersection, X: Any) -> Any:
    return X.sum(dim=1)


# The algebra.


@compute_tensor_tile.register
def _(kernel: Constant, X: Any, Z: Any, shift: Any) -> Any:
    return X.new_full((len(X), len(Z)), kernel.value)


@compute_tensor_diagonal.register
def _(kernel: Constant, X: Any) -> Any:
    return X.new_full((len(X),), kernel.value)


@compute_tensor_tile.register
def _(kernel: Sum, X: Any, Z: Any, shift: Any) -> Any:
    return compute_tensor_tile(kernel.k1, X, Z, shift).add_(compute_tensor_tile(kernel.k2, X, Z, shift))


@compute_tensor_diagonal.register
def _(kernel: Sum, X: Any) -> Any:
    return compute_tensor_diagonal(kernel.k1, X) + compute_tensor_diagonal(kernel.k2, X)


@compute_tensor_tile.register
def _(kernel: Product, X: Any, Z: Any, shift: Any) -> Any:
    return compute_tensor_tile(kernel.k1, X, Z, shift).mul_(compute_tensor_tile(kernel.k2, X, Z, shift))


@compute_tensor_diagonal.register
def _(kernel: Product, X: Any) -> Any:
    return compute_tensor_diagonal(kernel.k1, X) * compute_tensor_diagonal(kernel.k2, X)


@compute_tensor_tile.register
def _(kernel: Scaled, X: Any, Z: Any, shift: Any) -> Any:
    return compute_tensor_tile(kernel.kernel, X, Z, shift).mul_(kernel.scale)


@compute_tensor_diagonal.register
def _(kernel: Scaled, X: Any) -> Any:
    return compute_tensor_diagonal(kernel.kernel, X) * kernel.scale


@compute_tensor_tile.register
def _(kernel: Power, X: Any, Z: Any, shift: Any) -> Any:
    return compute_tensor_tile(kernel.kernel, X, Z, shift).pow_(kernel.exponent)


@compute_tensor_diagonal.register
def _(kernel: Power, X: Any) -> Any:
    return compute_tensor_diagonal(kernel.kernel, X) ** kernel.exponent


@compute_tensor_tile.register
def _(kernel: Columns, X: Any, Z: Any, shift: Any) -> Any:
    return compute_tensor_tile(
        kernel.kernel, select_columns(kernel, X), select_columns(kernel, Z), shift[list(kernel.columns)]
    )


@compute_tensor_diagonal.register
def _(kernel: Columns, X: Any) -> Any:
    return compute_tensor_diagonal(kernel.kernel, select_columns(kernel, X))


@compute_tensor_tile.register
def _(kernel: Normalised, X: Any, Z: Any, shift: Any) -> Any:
    tile = compute_tensor_tile(kernel.kernel, X, Z, shift)
    return tile.mul_(_inverse_lengths(kernel, X)[:, None]).mul_(_inverse_lengths(kernel, Z))


@compute_tensor_diagonal.register
def _(kernel: Normalised, X: Any) -> Any:
    return (_inverse_lengths(kernel, X) > 0).to(X.dtype)


def _inverse_lengths(kernel: Normalised, X: Any) -> Any:
    diagonal = _check_finite(kernel.kernel, compute_tensor_diagonal(kernel.kernel, X))
    if bool((diagonal < 0).any()):
        row = int((diagonal < 0).nonzero()[0])
        raise make_negative_diagonal_error(kernel.kernel, float(diagonal[row]), row)
    return diagonal.rsqrt().where(diagonal > 0, diagonal.new_zeros(()))


#: rows that are mirrored at a time
MIRROR_ROWS = 4096


class TensorGram:
    """The matrix k(X, Z), or k(X, X), of tensors, never in memory as a whole unless `matrix` is called.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares two rows of numbers.
    X : tensor of shape (n, d)
        Rows of the matrix; float32 or float64.
    Z : tensor of shape (m, d), default=None
        Columns of the matrix, on the same device; None means X.
    tf32 : bool, default=False
        Whether distances from products of 11 bits are accurate enough, as for a preconditioner; on a GPU only.
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Any = None, *, tf32: bool = False) -> None:
        _check_compatible(X, X if Z is None else Z)
        self.kernel, self.square, self.tf32 = kernel, Z is None, tf32
        self._left, self._right = X, X if Z is None else Z.to(X.dtype)
        # computed now, so that a kernel without tensors raises its error here
        self._diagonal = compute_tensor_diagonal(kernel, self._right)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._left), len(self._right)

    @property
    def dtype(self) -> Any:
        return self._left.dtype

    @property
    def diagonal(self) -> Any:
        """k(x, x) for the rows of X; only for a matrix of X with itself."""
        return self._diagonal if self.square else self._diagonal[:0]

    def matvec(self, V: Any) -> Any:
        """Compute k(X, Z) V, for a vector or a matrix of several, in the type of V."""
        _check_length(V, self.shape[1], "columns")
        return self._product.matvec(V)

    def rmatvec(self, V: Any) -> Any:
        """Compute k(X, Z)ᵀ V, for a vector or a matrix of several, in the type of V."""
        _check_length(V, self.shape[0], "rows")
        return self._product.rmatvec(V)

    @cached_property
    def _product(self) -> Any:
        return _make_product(self.kernel, self._left, None if self.square else self._right, self.tf32)

    def tile(self, rows: Any, columns: Any) -> Any:
        """Return some rows of some columns, by slices or their positions."""
        import torch

        tile = self._tile(rows, columns)
        if self.square:
            i, j = (torch.arange(self.shape[0], device=tile.device)[some] for some in (rows, columns))
            tile = torch.where(i[:, None] == j, self._diagonal[i][:, None], tile)
        return tile

    def rows(self, numbers: Any) -> Any:
        """Return some rows (a slice or their positions), of all columns."""
        return self.tile(numbers, slice(None))

    def matrix(self) -> Any:
        """Return the whole matrix; k(X) is exactly symmetric."""
        n, m = self.shape
        with device_memory_for(f"a kernel matrix of {n:,} × {m:,}"):
            K = self._left.new_empty(n, m)

        def fill(rows: slice) -> None:
            K[rows] = self._tile(rows, slice(None))

        in_chunks(n, tile_size(K) // max(m, 1), fill)
        if self.square:
            _mirror(K)
            K.diagonal().copy_(self._diagonal)
        return K

    def _tile(self, rows: Any, columns: Any) -> Any:
        return compute_tensor_tile(self.kernel, self._left[rows], self._right[columns], self._shift)

    @cached_property
    def _shift(self) -> Any:
        """Return the mean of the columns, with which distances between rows far from 0 keep their digits."""
        return self._right.double().mean(dim=0).nan_to_num(posinf=0.0, neginf=0.0).to(self.dtype)


def _make_product(kernel: Kernel, X: Any, Z: Any, tf32: bool) -> Any:
    """Return the fastest object that multiplies by the matrix of a kernel."""
    if isinstance(kernel, Scaled):
        return _ScaledProduct(_make_product(kernel.kernel, X, Z, tf32), kernel.scale)
    if isinstance(kernel, Sum):
        return _SumProduct([_make_product(part, X, Z, tf32) for part in (kernel.k1, kernel.k2)])
    if isinstance(kernel, Columns):
        right = None if Z is None else select_columns(kernel, Z)
        return _make_product(kernel.kernel, select_columns(kernel, X), right, tf32)
    if isinstance(kernel, Constant):
        return _ConstantProduct(kernel.value, X, Z)
    if isinstance(kernel, Linear):
        return _LinearProduct(X, X if Z is None else Z)
    profile: TensorProfile | None = get_profile(kernel, X.shape[1])
    return _TiledProduct(kernel, X, Z) if profile is None else TensorKernelSums(profile, X, Z, tf32=tf32)


class _ScaledProduct:
    """Products with a multiple of a kernel matrix."""

    def __init__(self, product: Any, scale: float) -> None:
        self._product, self._scale = product, scale

    def matvec(self, V: Any) -> Any:
        return self._scale * self._product.matvec(V)

    def rmatvec(self, V: Any) -> Any:
        return self._scale * self._product.rmatvec(V)


class _SumProduct:
    """Products with a sum of kernel matrices."""

    def __init__(self, products: list[Any]) -> None:
        self._products = products

    def matvec(self, V: Any) -> Any:
        return sum(product.matvec(V) for product in self._products)

    def rmatvec(self, V: Any) -> Any:
        return sum(product.rmatvec(V) for product in self._products)


class _ConstantProduct:
    """Products with a constant matrix."""

    def __init__(self, value: float, X: Any, Z: Any) -> None:
        self._value, self._n, self._m = value, len(X), len(X if Z is None else Z)

    def matvec(self, V: Any) -> Any:
        return self._repeat(V, self._n)

    def rmatvec(self, V: Any) -> Any:
        return self._repeat(V, self._m)

    def _repeat(self, V: Any, n: int) -> Any:
        return (self._value * V.double().sum(dim=0)).to(V.dtype).expand(n, *V.shape[1:]).clone()


class _LinearProduct:
    """Products with X Zᵀ."""

    def __init__(self, X: Any, Z: Any) -> None:
        self._X, self._Z = X, Z

    def matvec(self, V: Any) -> Any:
        return (self._X @ (self._Z.T @ V.to(self._X.dtype))).to(V.dtype)

    def rmatvec(self, V: Any) -> Any:
        return (self._Z @ (self._X.T @ V.to(self._X.dtype))).to(V.dtype)


class _TiledProduct:
    """Products with the matrix of any other kernel, tile by tile."""

    def __init__(self, kernel: Kernel, X: Any, Z: Any) -> None:
        self._gram = TensorGram(kernel, X, Z)

    def matvec(self, V: Any) -> Any:
        return self._sums(V, self._gram.shape[0], self._gram._tile)

    def rmatvec(self, V: Any) -> Any:
        return self._sums(V, self._gram.shape[1], lambda rows, columns: self._gram._tile(columns, rows).T)

    def _sums(self, V: Any, n: int, tile: Any) -> Any:
        several = V[:, None] if V.ndim == 1 else V
        return sums_by_tiles(tile, n, several, self._gram.dtype).reshape(n, *V.shape[1:])


def _mirror(K: Any) -> None:
    """Copy the lower triangle to the upper one."""
    for start in range(0, len(K), MIRROR_ROWS):
        stop = start + MIRROR_ROWS
        K[start:stop, stop:] = K[stop:, start:stop].T
        block = K[start:stop, start:stop]
        block.copy_(block.tril() + block.tril(-1).T)


def _check_compatible(X: Any, Z: Any) -> None:
    if X.device != Z.device:
        raise DeviceError(
            f"X is on {X.device}, but Z is on {Z.device}: kernels do not move tensors by themselves; give "
            "Z.to(X.device)."
        )
    if X.shape[1] != Z.shape[1]:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} columns, but Z has {Z.shape[1]}; a kernel compares rows of the same columns."
        )


def _check_length(V: Any, size: int, what: str) -> None:
    if V.ndim not in (1, 2) or len(V) != size:
        raise DataError(
            f"V has shape {tuple(V.shape)}, but the kernel matrix has {size} {what}; give one row for each."
        )
