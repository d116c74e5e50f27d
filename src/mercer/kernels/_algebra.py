"""The algebra of kernels (lecture 1, "Generating New Kernels from Old"): new kernels from old ones.

Each class states the rule that makes the result a kernel in its `reason`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer._errors import ColumnMismatchError, KernelError, NotPositiveDefiniteError
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._user_functions import get_function_name
from mercer.kernels._value_loops import raise_to_power
from mercer.kernels.base import Kernel, check_exponent, check_number, compute_finite_diagonal
from mercer.kernels.one_feature import Constant
from mercer.kernels.spectra import (
    ColumnSpectrum,
    ConvolutionSpectrum,
    MixtureSpectrum,
    MultipleSpectrum,
    RepeatedSpectrum,
)
from mercer.kernels.views import Memo, SeveralRows, ValueRows, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap


@dataclass(frozen=True, repr=False)
class UnaryKernel(Kernel):
    """A kernel made of one other; subclasses override what differs from that one."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _check_kernel(self.kernel, type(self).__name__)

    def prepared(self, views: Views) -> Any:
        return self.kernel.prepared(views)

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        return self.kernel.tile(left, right, memo)

    def diagonal(self, side: Any) -> Array:
        return self.kernel.diagonal(side)

    def sensitivity(self, left: Any, right: Any) -> float:
        return self.kernel.sensitivity(left, right)

    def fits_single(self, side: Any) -> bool:
        return super().fits_single(side) and self.kernel.fits_single(side)


@dataclass(frozen=True, repr=False)
class BinaryKernel(Kernel):
    """A kernel made of two others, each of which prepares the rows in its own way."""

    k1: Kernel
    k2: Kernel

    def __post_init__(self) -> None:
        for part in (self.k1, self.k2):
            _check_kernel(part, type(self).__name__)

    def prepared(self, views: Views) -> SeveralRows:
        return SeveralRows((self.k1.prepared(views), self.k2.prepared(views)))

    def fits_single(self, side: SeveralRows) -> bool:
        own = super().fits_single(side)
        return own and self.k1.fits_single(side.sides[0]) and self.k2.fits_single(side.sides[1])


def _has_equal_neighbours(numbers: list[int]) -> bool:
    """Return whether sorted numbers repeat; a set of numbers from a file could take quadratic time."""
    return any(one == other for one, other in pairwise(numbers))


def format_operand(kernel: Kernel, binding: int) -> str:
    """Return the repr of a kernel inside that of another, in brackets where it binds less tightly."""
    return repr(kernel) if kernel.binding >= binding else f"({kernel!r})"


def _check_kernel(part: Any, name: str) -> None:
    """Raise unless the part of a kernel is a kernel."""
    if not isinstance(part, Kernel):
        raise KernelError(
            f"{name} takes a Kernel such as RBF(), got {part!r}; kernel_from converts a name or a function."
        )


def to_kernel(value: Any) -> Kernel | None:
    """Return a kernel, or a number as a constant one; None for anything else."""
    if isinstance(value, Kernel):
        return value
    return Constant(float(value)) if isinstance(value, Real) else None


@stored()
@dataclass(frozen=True, repr=False)
class Sum(BinaryKernel):
    """k₁(x, z) + k₂(x, z), whose features are those of both; written `k1 + k2`.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> Linear() + 2 * RBF(gamma=1)
    Linear() + 2.0 * RBF(gamma=1.0)
    """

    binding: ClassVar[int] = 1

    @property
    def reason(self) -> str | None:
        one, two = self.k1.reason, self.k2.reason
        return one and two and f"the sum of two positive definite kernels ({one}; {two})"

    def tile(self, left: SeveralRows, right: SeveralRows, memo: Memo) -> Array:
        tile = self.k1.tile(left.sides[0], right.sides[0], memo)
        tile += self.k2.tile(left.sides[1], right.sides[1], memo)
        return tile

    def diagonal(self, side: SeveralRows) -> Array:
        return self.k1.diagonal(side.sides[0]) + self.k2.diagonal(side.sides[1])

    def sensitivity(self, left: SeveralRows, right: SeveralRows) -> float:
        return max(k.sensitivity(*sides) for k, sides in _pair_with_sides(self, left, right))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import StackedMap

        return StackedMap((self.k1.feature_map(columns), self.k2.feature_map(columns)))

    def spectrum(self, columns: int) -> MixtureSpectrum:
        return MixtureSpectrum(columns, self.k1.spectrum(columns), self.k2.spectrum(columns))

    def __repr__(self) -> str:
        if isinstance(self.k1, Constant) == isinstance(self.k2, Constant):
            return f"{format_operand(self.k1, 1)} + {format_operand(self.k2, 2)}"
        first, second = (repr(k.value) if isinstance(k, Constant) else None for k in (self.k1, self.k2))
        return f"{first or format_operand(self.k1, 1)} + {second or format_operand(self.k2, 2)}"


@stored()
@dataclass(frozen=True, repr=False)
class Product(BinaryKernel):
    """k₁(x, z) k₂(x, z), whose features are the products of those of both; written `k1 * k2`.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> (Linear() + 1) * RBF(gamma=1)
    (Linear() + 1.0) * RBF(gamma=1.0)
    """

    binding: ClassVar[int] = 2

    @property
    def reason(self) -> str | None:
        one, two = self.k1.reason, self.k2.reason
        return one and two and f"the product of two positive definite kernels ({one}; {two})"

    def tile(self, left: SeveralRows, right: SeveralRows, memo: Memo) -> Array:
        tile = self.k1.tile(left.sides[0], right.sides[0], memo)
        tile *= self.k2.tile(left.sides[1], right.sides[1], memo)
        return tile

    def diagonal(self, side: SeveralRows) -> Array:
        return self.k1.diagonal(side.sides[0]) * self.k2.diagonal(side.sides[1])

    def sensitivity(self, left: SeveralRows, right: SeveralRows) -> float:
        return sum(k.sensitivity(*sides) for k, sides in _pair_with_sides(self, left, right))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ProductMap

        return ProductMap(self.k1.feature_map(columns), self.k2.feature_map(columns))

    def spectrum(self, columns: int) -> ConvolutionSpectrum:
        return ConvolutionSpectrum(columns, self.k1.spectrum(columns), self.k2.spectrum(columns))

    def __repr__(self) -> str:
        return f"{format_operand(self.k1, 2)} * {format_operand(self.k2, 3)}"


def _pair_with_sides(pair: BinaryKernel, left: SeveralRows, right: SeveralRows) -> list[tuple[Kernel, tuple[Any, Any]]]:
    return [(pair.k1, (left.sides[0], right.sides[0])), (pair.k2, (left.sides[1], right.sides[1]))]


@stored()
@dataclass(frozen=True, repr=False)
class Scaled(UnaryKernel):
    """α k(x, z) for α ≥ 0; written `2 * k`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Scaled(Linear(), 2)([[3.0]])
    array([[18.]])
    """

    scale: float

    binding: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", check_number(self.scale, "the scale", "a kernel"))

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}, scaled by a number of 0 or more"

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        tile = self.kernel.tile(left, right, memo)
        tile *= self.scale
        return tile

    def diagonal(self, side: Any) -> Array:
        return self.scale * self.kernel.diagonal(side)

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ScaledMap

        return ScaledMap(self.kernel.feature_map(columns), float(np.sqrt(self.scale)))

    def spectrum(self, columns: int) -> MultipleSpectrum:
        return MultipleSpectrum(columns, self.kernel.spectrum(columns), self.scale)

    def __repr__(self) -> str:
        return f"{self.scale!r} * {format_operand(self.kernel, 3)}"


@stored(tag="PowerKernel")
@dataclass(frozen=True, repr=False)
class Power(UnaryKernel):
    """k(x, z)ᵖ for a whole p ≥ 0: a product of p kernels; written `k ** 2`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (1 + Linear()) ** 2
    (1.0 + Linear()) ** 2
    """

    exponent: int

    binding: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exponent", check_exponent(self.exponent, "the power", "a kernel"))

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"a product of {self.exponent} positive definite kernels ({inner})"

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        tile = self.kernel.tile(left, right, memo)
        raise_to_power(tile, self.exponent)
        return tile

    def diagonal(self, side: Any) -> Array:
        diagonal = np.array(self.kernel.diagonal(side)[None])
        raise_to_power(diagonal, self.exponent)
        return np.asarray(diagonal[0])

    def sensitivity(self, left: Any, right: Any) -> float:
        return max(self.exponent, 1) * self.kernel.sensitivity(left, right)

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ComposedMap, MonomialFeatureMap

        inner = self.kernel.feature_map(columns)
        return ComposedMap(MonomialFeatureMap(inner.n_features, self.exponent, 1.0, 0.0), inner, not inner.numeric)

    def spectrum(self, columns: int) -> RepeatedSpectrum:
        return RepeatedSpectrum(columns, self.kernel.spectrum(columns), self.exponent)

    def __repr__(self) -> str:
        return f"{format_operand(self.kernel, 4)} ** {self.exponent}"


@stored()
@dataclass(frozen=True, repr=False)
class Of(UnaryKernel):
    """k(ψ(x), ψ(z)) for any ψ (recursion); written `k.of(feature_map)`.

    ψ takes one row or a matrix of rows, and returns a row of numbers for each; or it is a fitted transformer.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().of(np.abs)([[-2.0]], [[3.0]])
    array([[6.]])
    """

    features: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(getattr(self.features, "transform", self.features)):
            raise KernelError(f"of takes a feature map: a function, or a fitted transformer; got {self.features!r}.")

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}; of ψ(x), whatever ψ is (recursion)"

    def prepared(self, views: Views) -> Any:
        mapped = views.mapped if self.kernel.numeric else views.translated
        return self.kernel.prepared(mapped(self.features))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ComposedMap

        def inner(X: Any) -> Any:
            views = Views(X)
            return views.mapped(self.features).matrix if self.kernel.numeric else views.translated(self.features).raw

        numbers, numeric = isinstance(columns, Integral), self.kernel.numeric
        rows = Views(np.ones((1, int(columns))) if numbers else columns)
        with np.errstate(all="ignore"):  # only the shape is used for numbers: ψ of a row of ones need not be finite
            made = (rows.mapped if numeric else rows.translated)(self.features).raw
        return ComposedMap(self.kernel.feature_map(made.shape[1] if numeric else made), inner, not numbers)

    def __repr__(self) -> str:
        return f"{format_operand(self.kernel, 4)}.of({get_function_name(self.features)})"


@stored()
@dataclass(frozen=True, repr=False)
class Normalised(UnaryKernel):
    """k(x, z)/√(k(x, x) k(z, z)), and 0 where k(x, x) is; written `k.normalised()`.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Normalised(Polynomial(degree=2))([[0.0]], [[1.0]])
    array([[0.5]])
    """

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}, times f(x)f(z) for f(x) = 1/√k(x, x)"

    def prepared(self, views: Views) -> SeveralRows:
        side = self.kernel.prepared(views)
        return SeveralRows((side, ValueRows(self._inverse_lengths(side))))

    def tile(self, left: SeveralRows, right: SeveralRows, memo: Memo) -> Array:
        tile = self.kernel.tile(left.sides[0], right.sides[0], memo)
        tile *= left.sides[1].values[:, None]
        tile *= right.sides[1].values
        return tile

    def diagonal(self, side: SeveralRows) -> Array:
        return np.where(side.sides[1].values > 0, 1.0, 0.0)

    def sensitivity(self, left: SeveralRows, right: SeveralRows) -> float:
        return self.kernel.sensitivity(left.sides[0], right.sides[0])

    def fits_single(self, side: SeveralRows) -> bool:
        return Kernel.fits_single(self, side) and self.kernel.fits_single(side.sides[0])

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import UnitMap

        return UnitMap(self.kernel.feature_map(columns))

    def spectrum(self, columns: int) -> MultipleSpectrum:
        inner = self.kernel.spectrum(columns)
        return MultipleSpectrum(columns, inner, 1 / inner.mass if inner.mass > 0 else 0.0)

    def _inverse_lengths(self, side: Any) -> Array:
        diagonal = compute_finite_diagonal(self.kernel, side)
        if (diagonal < 0).any():
            row = int(np.argmax(diagonal < 0))
            raise make_negative_diagonal_error(self.kernel, float(diagonal[row]), row)
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)

    def __repr__(self) -> str:
        return f"{format_operand(self.kernel, 4)}.normalised()"


def make_negative_diagonal_error(kernel: Kernel, value: float, row: int) -> NotPositiveDefiniteError:
    """Return the error where k(x, x) of a row is below 0."""
    return NotPositiveDefiniteError(
        f"k(x, x) of {kernel!r} is {value:g} in row {row}, but a squared length is not negative; normalise a kernel "
        "that is positive definite."
    )


@stored(tag="ColumnsKernel")
@dataclass(frozen=True, repr=False)
class Columns(UnaryKernel):
    """k of some columns, counted from 0; written `k.on([0, 2])`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Columns(Linear(), (1,))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[8.]])
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            columns = tuple(map(index, self.columns))
        except TypeError as error:
            raise KernelError(f"columns are numbered 0, 1, …; got {self.columns!r}, which are not numbers.") from error
        if any(isinstance(column, bool) for column in self.columns):  # in Python these are 0 and 1
            raise KernelError(f"columns are numbered 0, 1, …; got a mask, {self.columns!r}.")
        if not columns or min(columns) < 0 or _has_equal_neighbours(sorted(columns)):
            raise KernelError(f"columns must be different numbers of 0 or more, at least one; got {self.columns!r}.")
        object.__setattr__(self, "columns", columns)

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}; to leave out columns is a feature map (recursion)"

    def prepared(self, views: Views) -> Any:
        self.check_columns(views.table.shape[1])
        return self.kernel.prepared(views.on(self.columns))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ComposedMap

        if isinstance(columns, Integral):
            self.check_columns(int(columns))
            return ComposedMap(self.kernel.feature_map(len(self.columns)), lambda X: X[:, list(self.columns)])

        def inner(X: Any) -> Any:
            views = Views(X)
            self.check_columns(views.table.shape[1])
            return views.on(self.columns).matrix if self.kernel.numeric else views.on(self.columns).raw

        selected = inner(columns)
        return ComposedMap(
            self.kernel.feature_map(selected.shape[1] if self.kernel.numeric else selected), inner, accepts_objects=True
        )

    def spectrum(self, columns: int) -> ColumnSpectrum:
        self.check_columns(columns)
        return ColumnSpectrum(columns, self.kernel.spectrum(len(self.columns)), self.columns)

    def check_columns(self, columns: int) -> None:
        """Raise if there are fewer columns than the kernel needs."""
        if max(self.columns) >= columns:
            raise ColumnMismatchError(
                f"{self!r} needs column {max(self.columns)}, but there are {columns}, counted from 0; choose others."
            )

    def __repr__(self) -> str:
        return f"{format_operand(self.kernel, 4)}.on({list(self.columns)})"
