"""What each kernel makes of two tensors, and of each row with itself; kernels of other things than numbers are refused.

`tile_of(kernel, X, Z, shift)` is k(x, z) for every pair, in a tensor of its own; `shift` is amid the rows.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from mercer._errors import DeviceError
from mercer._gpu.distances import from_products, in_units, squared_distances, squared_lengths
from mercer._gpu.profiles import Profile
from mercer._jit.kernels import tiles as loops
from mercer.kernels._base import Kernel, beyond
from mercer.kernels._pointwise import Radial, width
from mercer.kernels.algebra import Power, Product, Scaled, Sum
from mercer.kernels.columns import Columns
from mercer.kernels.dot import Cosine, Linear, Polynomial, Quadratic, Sigmoid
from mercer.kernels.histograms import AdditiveChiSquared, ChiSquared, HistogramIntersection, negative
from mercer.kernels.normalised import Normalised, no_length
from mercer.kernels.one_feature import Constant
from mercer.kernels.radial import Laplacian

#: kernels of the distance by what `Radial.lower` makes of them
NAMES = {
    loops.Exponential: "gaussian",
    loops.MaternOne: "exponential",
    loops.MaternThree: "matern_three",
    loops.MaternFive: "matern_five",
}


def profile_of(kernel: Kernel, columns: int) -> Profile | None:
    """A kernel of the distance as a function of its square; None of another."""
    if not isinstance(kernel, Radial):
        return None
    lowered = kernel.lower(columns)
    if isinstance(lowered, loops.RationalQuadratic):
        return Profile("rational_quadratic", float(lowered.gamma), float(lowered.alpha))
    return Profile(NAMES[type(lowered)], float(lowered[0]))


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
