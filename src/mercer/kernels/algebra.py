"""New kernels from old (lecture 1, "Generating New Kernels from Old"), each with the rule that makes it one."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer._errors import KernelError
from mercer._jit.kernels.tiles import power
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._base import Kernel
from mercer.kernels._functions import name_of
from mercer.kernels._made_of import OfOne, OfTwo, written
from mercer.kernels._parameters import exponent, number
from mercer.kernels.one_feature import Constant
from mercer.kernels.spectra import Convolution, Mixture, Multiple, Repeated
from mercer.kernels.views import Memo, Several, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap


def as_kernel(value: Any) -> Kernel | None:
    """A kernel, or a number as a constant one; None for anything else."""
    if isinstance(value, Kernel):
        return value
    return Constant(float(value)) if isinstance(value, Real) else None


@stored()
@dataclass(frozen=True, repr=False)
class Sum(OfTwo):
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

    def tile(self, left: Several, right: Several, memo: Memo) -> Array:
        tile = self.k1.tile(left.sides[0], right.sides[0], memo)
        tile += self.k2.tile(left.sides[1], right.sides[1], memo)
        return tile

    def diagonal(self, side: Several) -> Array:
        return self.k1.diagonal(side.sides[0]) + self.k2.diagonal(side.sides[1])

    def sensitivity(self, left: Several, right: Several) -> float:
        return max(k.sensitivity(*sides) for k, sides in _parts(self, left, right))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import Stacked

        return Stacked((self.k1.feature_map(columns), self.k2.feature_map(columns)))

    def spectrum(self, columns: int) -> Mixture:
        return Mixture(columns, self.k1.spectrum(columns), self.k2.spectrum(columns))

    def __repr__(self) -> str:
        if isinstance(self.k1, Constant) == isinstance(self.k2, Constant):
            return f"{written(self.k1, 1)} + {written(self.k2, 2)}"
        first, second = (repr(k.value) if isinstance(k, Constant) else None for k in (self.k1, self.k2))
        return f"{first or written(self.k1, 1)} + {second or written(self.k2, 2)}"


@stored()
@dataclass(frozen=True, repr=False)
class Product(OfTwo):
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

    def tile(self, left: Several, right: Several, memo: Memo) -> Array:
        tile = self.k1.tile(left.sides[0], right.sides[0], memo)
        tile *= self.k2.tile(left.sides[1], right.sides[1], memo)
        return tile

    def diagonal(self, side: Several) -> Array:
        return self.k1.diagonal(side.sides[0]) * self.k2.diagonal(side.sides[1])

    def sensitivity(self, left: Several, right: Several) -> float:
        return sum(k.sensitivity(*sides) for k, sides in _parts(self, left, right))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import Products

        return Products(self.k1.feature_map(columns), self.k2.feature_map(columns))

    def spectrum(self, columns: int) -> Convolution:
        return Convolution(columns, self.k1.spectrum(columns), self.k2.spectrum(columns))

    def __repr__(self) -> str:
        return f"{written(self.k1, 2)} * {written(self.k2, 3)}"


def _parts(pair: OfTwo, left: Several, right: Several) -> list[tuple[Kernel, tuple[Any, Any]]]:
    return [(pair.k1, (left.sides[0], right.sides[0])), (pair.k2, (left.sides[1], right.sides[1]))]


@stored()
@dataclass(frozen=True, repr=False)
class Scaled(OfOne):
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
        object.__setattr__(self, "scale", number(self.scale, "the scale", "a kernel"))

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
        from mercer.kernels.explicit import Times

        return Times(self.kernel.feature_map(columns), float(np.sqrt(self.scale)))

    def spectrum(self, columns: int) -> Multiple:
        return Multiple(columns, self.kernel.spectrum(columns), self.scale)

    def __repr__(self) -> str:
        return f"{self.scale!r} * {written(self.kernel, 3)}"


@stored(tag="PowerKernel")
@dataclass(frozen=True, repr=False)
class Power(OfOne):
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
        object.__setattr__(self, "exponent", exponent(self.exponent, "the power", "a kernel"))

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"a product of {self.exponent} positive definite kernels ({inner})"

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        tile = self.kernel.tile(left, right, memo)
        power(tile, self.exponent)
        return tile

    def diagonal(self, side: Any) -> Array:
        diagonal = np.array(self.kernel.diagonal(side)[None])
        power(diagonal, self.exponent)
        return np.asarray(diagonal[0])

    def sensitivity(self, left: Any, right: Any) -> float:
        return max(self.exponent, 1) * self.kernel.sensitivity(left, right)

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import After, Monomials

        inner = self.kernel.feature_map(columns)
        return After(Monomials(inner.n_features, self.exponent, 1.0, 0.0), inner, not inner.numeric)

    def spectrum(self, columns: int) -> Repeated:
        return Repeated(columns, self.kernel.spectrum(columns), self.exponent)

    def __repr__(self) -> str:
        return f"{written(self.kernel, 4)} ** {self.exponent}"


@stored()
@dataclass(frozen=True, repr=False)
class Of(OfOne):
    """k(ψ(x), ψ(z)) for any ψ (recursion); written `k.of(feature_map)`.

    ψ takes one row or a matrix of rows, and gives a row of numbers for each; or it is a fitted transformer.

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
        from mercer.kernels.explicit import After

        def inner(X: Any) -> Any:
            views = Views(X)
            return views.mapped(self.features).matrix if self.kernel.numeric else views.translated(self.features).raw

        numbers, numeric = isinstance(columns, Integral), self.kernel.numeric
        rows = Views(np.ones((1, int(columns))) if numbers else columns)
        with np.errstate(all="ignore"):  # of numbers only the shape is asked for: ψ of a row of ones need not be finite
            made = (rows.mapped if numeric else rows.translated)(self.features).raw
        return After(self.kernel.feature_map(made.shape[1] if numeric else made), inner, not numbers)

    def __repr__(self) -> str:
        return f"{written(self.kernel, 4)}.of({name_of(self.features)})"
