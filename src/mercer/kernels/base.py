"""Kernels k(x, z) = ⟨ψ(x), ψ(z)⟩, for features ψ that need not be computed (lecture 1).

A kernel is a small frozen value. Rows are prepared once (`prepared`), and the matrix is computed tile by tile (`tile`)
by `mercer.kernels.gram`; a kernel of x·z or ‖x − z‖² defines only a function of that number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mercer._errors import (
    DataError,
    FrozenKernelError,
    KernelError,
    NoFeatureMapError,
    NoSpectrumError,
    NotPositiveDefiniteError,
)
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.kernels.row_loops import add_rows, put_tile_rows
from mercer.kernels.views import Memo, RowSide, ValueRows, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap
    from mercer.kernels.spectra import FrequencySpectrum


def check_number(value: Any, name: str, kernel: str, *, least: float = 0.0, above: bool = False) -> float:
    """Return a parameter as a finite float, `least` or more; raise a typed error otherwise."""
    if not _is_number(value):
        raise KernelError(f"{name} of {kernel} must be a number, got {value!r}.")
    result = float(value)
    if least == -np.inf and not np.isfinite(result):
        raise KernelError(f"{name} of {kernel} must be finite, got {value!r}.")
    if not (np.isfinite(result) and (result > least if above else result >= least)):
        wanted = f"above {least:g}" if above else f"{least:g} or more"
        raise NotPositiveDefiniteError(
            f"{name} of {kernel} must be finite and {wanted}, got {value!r}: "
            "otherwise it need not be positive definite."
        )
    return result


def check_whole(value: Any, name: str, kernel: str, *, least: int = 0) -> int:
    """Return a parameter as an int, `least` or more; raise a typed error otherwise."""
    if not _is_number(value) or not float(value).is_integer() or value < least:
        raise KernelError(f"{name} of {kernel} must be a whole number, {least} or more, got {value!r}.")
    return int(float(value))


def check_exponent(value: Any, name: str, kernel: str) -> int:
    """Return a power as an int, 0 or more: other powers need not be positive definite."""
    if _is_number(value) and (not float(value).is_integer() or value < 0):
        raise NotPositiveDefiniteError(
            f"{name} of {kernel} must be a whole number, 0 or more, got {value!r}: only such powers of a kernel are "
            "sums of products of kernels."
        )
    return check_whole(value, name, kernel)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True, repr=False)
class Kernel(ABC):
    """A positive definite kernel, or a function that is used as one.

    `k(X, Z)` is the matrix, `k(X)` that of X with itself, `k.diag(X)` its diagonal. `k1 + k2`, `k1 * k2`, `3 * k`,
    `k + 1`, `k ** 2`, `k.of(feature_map)`, `k.on(columns)` and `k.normalised()` are kernels again; what would not be
    one (a difference, a negative factor, a fractional power) is a `NotPositiveDefiniteError`.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> k = RBF(gamma=0.5) + 2 * Linear()
    >>> k
    RBF(gamma=0.5) + 2.0 * Linear()
    >>> k([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 3.   ]])
    """

    #: how tightly the repr binds: sums 1, products 2, powers 3, everything else 4
    binding: ClassVar[int] = 4
    #: so that NumPy leaves `np.float64(2) * kernel` to this class
    __array_ufunc__: ClassVar[None] = None

    @property
    @abstractmethod
    def reason(self) -> str | None:
        """Why the kernel is positive definite for all rows; None where it is not, or this is unknown."""

    @abstractmethod
    def prepared(self, views: Views) -> RowSide:
        """Prepare the rows for this kernel."""

    @abstractmethod
    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        """Return k(x, z) for the rows of two sides, in a new array."""

    def put_tile(self, left: Any, right: Any, kept: Array, slots: Array, first: int) -> None:
        """Write `tile` into the slots of its rows in the caller's array, from column `first` on."""
        put_tile_rows(self.tile(left, right, {} if self.parts else None), kept, slots, first)

    def fill_tile(self, left: Any, right: Any, out: Array) -> None:
        """Write `tile` into memory that the caller reuses: allocating it takes longer than filling it."""
        out[...] = self.tile(left, right, {} if self.parts else None)

    def add_tile(self, left: Any, right: Any, factors: Array, total: Array) -> None:
        """Add Σ factor · k(x, z) over the rows x of a `tile` to the total of each z, of float64."""
        tile = self.tile(left, right, {} if self.parts else None)
        add_rows(total, 0, len(total), tile, np.arange(len(tile)), factors)

    @abstractmethod
    def diagonal(self, side: Any) -> Array:
        """Return k(x, x) for the rows of a side."""

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels of which this one is made."""
        return tuple([value for value in vars(self).values() if isinstance(value, Kernel)])

    @property
    def symmetric(self) -> bool:
        """Return whether k(x, z) = k(z, x) is certain; for a user's function it is not."""
        return all(part.symmetric for part in self.parts)

    @property
    def numeric(self) -> bool:
        """Return whether rows must be rows of a table of numbers; False for texts or graphs.

        A kernel made of several is numeric if each of them is; a constant and a user's function go with either kind.
        """
        return all(part.numeric for part in self.parts)

    #: whether k(x, x) is 1 for every x, so that it need not be tested for overflow
    bounded: ClassVar[bool] = False

    @property
    def slow(self) -> bool:
        """Return whether a tile takes so long that threads get one at a time."""
        return any(part.slow for part in self.parts)

    def sensitivity(self, left: Any, right: Any) -> float:
        """Return the factor by which a relative error of products of rows grows; infinite if float32 is not enough."""
        return np.inf

    def fits_single(self, side: Any) -> bool:
        """Return whether the rows and their k(x, x) are in the range of float32; the same for the kernels of which this
        one is made.

        It is called only where the `sensitivity` is finite.
        """
        return bool(side.fits_single) and ValueRows(self.diagonal(side)).fits_single

    def feature_map(self, columns: Any) -> FeatureMap:
        """Return ψ for rows with this many columns, if it is finite: ⟨ψ(x), ψ(z)⟩ = k(x, z).

        A kernel of texts or graphs takes rows instead, and ψ has a column for everything that occurs in them.

        Examples
        --------
        >>> from mercer.kernels import Polynomial
        >>> Polynomial(degree=8, constant=0).feature_map(40).n_features
        314457495
        """
        raise NoFeatureMapError(
            f"{self!r} has no finite feature map; use the kernel itself, or an approximation of its features: random "
            "Fourier features or the Nyström method."
        )

    def spectrum(self, columns: int) -> FrequencySpectrum:
        """Return the distribution of frequencies of a kernel of x − z, for rows with this many columns (lecture 5).

        Examples
        --------
        >>> from mercer.kernels import RBF
        >>> RBF(gamma=2).spectrum(columns=3)
        NormalSpectrum(columns=3, scale=2.0, mass=1.0)
        """
        raise NoSpectrumError(
            f"{self!r} has no known frequency spectrum; RBF, Laplacian, Matern, RationalQuadratic and Constant have "
            "one, as do their sums, products, powers and multiples, also on some columns. Use the Nyström "
            "method, which takes any kernel."
        )

    def __call__(self, X: Any, Z: Any = None) -> Array:
        from mercer.kernels.gram import Gram

        return Gram(self, X, Z).matrix()

    def diag(self, X: Any) -> Array:
        """Return k(x, x) for every row, without the matrix."""
        return compute_finite_diagonal(self, self.prepared(Views(X)))

    # The algebra (lecture 1, "Generating New Kernels from Old").

    def __add__(self, other: Any) -> Kernel:
        from mercer.kernels._algebra import Sum, to_kernel

        return NotImplemented if (kernel := to_kernel(other)) is None else Sum(self, kernel)

    def __radd__(self, other: Any) -> Kernel:
        from mercer.kernels._algebra import Sum, to_kernel

        return NotImplemented if (kernel := to_kernel(other)) is None else Sum(kernel, self)

    def __mul__(self, other: Any) -> Kernel:
        from mercer.kernels._algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Kernel:
        if isinstance(other, Real) and other != 0:
            return self * (1 / float(other))
        raise NotPositiveDefiniteError(
            f"{self!r} / {other!r} need not be positive definite; multiply by kernels or by numbers of 0 or more."
        )

    def __pow__(self, power: Any) -> Kernel:
        from mercer.kernels._algebra import Power

        return NotImplemented if not isinstance(power, Real) else Power(self, power)  # type: ignore[arg-type]

    def __sub__(self, other: Any) -> Kernel:
        raise NotPositiveDefiniteError(
            f"the difference {self!r} - {other!r} need not be positive definite; add kernels, or multiply them."
        )

    def __rsub__(self, other: Any) -> Kernel:
        raise NotPositiveDefiniteError(
            f"the difference {other!r} - {self!r} need not be positive definite; add kernels, or multiply them."
        )

    def __neg__(self) -> Kernel:
        raise NotPositiveDefiniteError(
            f"-({self!r}) is negative on its diagonal, as no inner product is; leave out the minus."
        )

    def of(self, feature_map: Any) -> Kernel:
        """Return k(ψ(x), ψ(z)), for a function of a row or of a matrix, or an object with `transform` (recursion)."""
        from mercer.kernels._algebra import Of

        return Of(self, feature_map)

    def on(self, columns: int | Sequence[int]) -> Kernel:
        """Return the kernel on some of the columns."""
        from mercer.kernels._algebra import Columns

        several: Any = columns if isinstance(columns, Sequence) else tuple(np.ravel(columns))
        return Columns(self, several)

    def normalised(self) -> Kernel:
        """Return k(x, z)/√(k(x, x) k(z, z)): the cosine of the angle between ψ(x) and ψ(z)."""
        from mercer.kernels._algebra import Normalised

        return Normalised(self)

    # scikit-learn's interface: parameters by name, nested by "__". A kernel is a value, so that `clone` may share it.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; with `deep` also those of the kernels inside, as `k1__gamma`."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        nested = {
            f"{name}__{inner}": value
            for name, part in own.items()
            if deep and isinstance(part, Kernel)
            for inner, value in part.get_params().items()
        }
        return own | nested

    def replaced(self, **params: Any) -> Self:
        """Return the kernel with other parameters, also of the kernels inside: `replaced(k1__gamma=2.0)`.

        Examples
        --------
        >>> from mercer.kernels import RBF, Linear
        >>> (Linear() + RBF(gamma=1)).replaced(k2__gamma=3)
        Linear() + RBF(gamma=3.0)
        """
        own, nested = self.get_params(deep=False), dict[str, dict[str, Any]]()
        changed: dict[str, Any] = {}
        for key, value in params.items():
            name, inside, rest = key.partition("__")
            if name not in own or (inside and not isinstance(own[name], Kernel)):
                raise KernelError(
                    f"Invalid parameter {key!r} for the kernel {self!r}. {did_you_mean(key, self.get_params())}"
                )
            if inside:
                nested.setdefault(name, {})[rest] = value
            else:
                changed[name] = value
        for name, rest_of in nested.items():
            changed[name] = changed.get(name, own[name]).replaced(**rest_of)
        return replace(self, **changed)

    def set_params(self, **params: Any) -> Self:
        """Raise an error: a kernel is a value that may be shared; `replaced` returns another one."""
        if not params:
            return self
        raise FrozenKernelError(
            f"{self!r} cannot be changed in place, since others may hold it too; use kernel.replaced(…). Estimators of "
            'mercer do so for "kernel__gamma"; for one of scikit-learn search {"kernel": [RBF(gamma=1), …]}.'
        )

    def __sklearn_clone__(self) -> Self:
        return self

    def __repr__(self) -> str:
        shown = [field for field in fields(self) if field.default is not None or getattr(self, field.name) is not None]
        return f"{type(self).__name__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in shown)})"


def compute_finite_diagonal(kernel: Kernel, side: Any) -> Array:
    """Return k(x, x), or raise if one is not finite: if all are, so is every k(x, z), by Cauchy and Schwarz."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = kernel.diagonal(side)
    if not (finite := np.isfinite(diagonal)).all():
        row = int(np.argmin(finite))
        raise make_overflow_error(kernel, float(diagonal[row]), row, "float64")
    return diagonal


def make_overflow_error(kernel: Kernel, value: float, row: int, dtype: str) -> DataError:
    """Return the error for a row whose k(x, x) is beyond the range of a type."""
    return DataError(
        f"k(x, x) of {kernel!r} is {value} in row {row}, beyond {dtype}; divide the columns by their scale, or choose "
        "a lower degree."
    )
