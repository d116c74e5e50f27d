"""New kernels from old (lecture 1, "Generating New Kernels from Old"), each with the rule that makes it one."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._errors import KernelError
from mercer._jit.kernel_tiles import power
from mercer.kernels._base import Kernel, number, whole, written
from mercer.kernels._functions import applied
from mercer.kernels._views import Memo, Several, Values, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap

Array = NDArray[Any]


def as_kernel(value: Any) -> Kernel | None:
    """A kernel, or a number as a constant one; None for anything else."""
    if isinstance(value, Kernel):
        return value
    return Constant(float(value)) if isinstance(value, Real) else None


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    k1: Kernel
    k2: Kernel

    def __post_init__(self) -> None:
        for part in (self.k1, self.k2):
            if not isinstance(part, Kernel):
                raise KernelError(
                    f"{type(self).__name__} takes two kernels, got {part!r}; wrap a function in FromFunction."
                )

    def prepared(self, views: Views) -> Several:
        return Several((self.k1.prepared(views), self.k2.prepared(views)))


@dataclass(frozen=True, repr=False)
class Sum(_Pair):
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

    def __repr__(self) -> str:
        if isinstance(self.k1, Constant) == isinstance(self.k2, Constant):
            return f"{written(self.k1, 1)} + {written(self.k2, 2)}"
        first, second = (repr(k.value) if isinstance(k, Constant) else None for k in (self.k1, self.k2))
        return f"{first or written(self.k1, 1)} + {second or written(self.k2, 2)}"


@dataclass(frozen=True, repr=False)
class Product(_Pair):
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

    def __repr__(self) -> str:
        return f"{written(self.k1, 2)} * {written(self.k2, 3)}"


def _parts(pair: _Pair, left: Several, right: Several) -> list[tuple[Kernel, tuple[Any, Any]]]:
    return [(pair.k1, (left.sides[0], right.sides[0])), (pair.k2, (left.sides[1], right.sides[1]))]


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """α k(x, z) for α ≥ 0; written `2 * k`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Scaled(Linear(), 2)([[3.0]])
    array([[18.]])
    """

    kernel: Kernel
    scale: float

    binding: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", number(self.scale, "the scale", "a kernel"))

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}, scaled by a number of 0 or more"

    def prepared(self, views: Views) -> Any:
        return self.kernel.prepared(views)

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        tile = self.kernel.tile(left, right, memo)
        tile *= self.scale
        return tile

    def diagonal(self, side: Any) -> Array:
        return self.scale * self.kernel.diagonal(side)

    def sensitivity(self, left: Any, right: Any) -> float:
        return self.kernel.sensitivity(left, right)

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import Times

        return Times(self.kernel.feature_map(columns), float(np.sqrt(self.scale)))

    def __repr__(self) -> str:
        return f"{self.scale!r} * {written(self.kernel, 3)}"


@dataclass(frozen=True, repr=False)
class Power(Kernel):
    """k(x, z)ᵖ for a whole p ≥ 0: a product of p kernels; written `k ** 2`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (1 + Linear()) ** 2
    (1.0 + Linear()) ** 2
    """

    kernel: Kernel
    exponent: int

    binding: ClassVar[int] = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", whole(self.exponent, "the power", "a kernel"))

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"a product of {self.exponent} positive definite kernels ({inner})"

    def prepared(self, views: Views) -> Any:
        return self.kernel.prepared(views)

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

    def __repr__(self) -> str:
        return f"{written(self.kernel, 4)} ** {self.exponent}"


@dataclass(frozen=True, repr=False)
class Of(Kernel):
    """k(ψ(x), ψ(z)) for any ψ (recursion); written `k.of(feature_map)`.

    ψ takes one row or a matrix of rows, and gives a row of numbers for each; or it is a fitted transformer.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().of(np.abs)([[-2.0]], [[3.0]])
    array([[6.]])
    """

    kernel: Kernel
    features: Any

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}; of ψ(x), whatever ψ is (recursion)"

    def prepared(self, views: Views) -> Any:
        mapped = views.mapped if self.kernel.numeric else views.translated
        return self.kernel.prepared(mapped(self.features))

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        return self.kernel.tile(left, right, memo)

    def diagonal(self, side: Any) -> Array:
        return self.kernel.diagonal(side)

    def sensitivity(self, left: Any, right: Any) -> float:
        return self.kernel.sensitivity(left, right)

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import After

        def inner(X: Any) -> Any:
            return (
                Views(X).mapped(self.features).matrix if self.kernel.numeric else Views(X).translated(self.features).raw
            )

        if not self.kernel.numeric:
            return After(self.kernel.feature_map(inner(columns)), inner, of_things=True)
        return After(self.kernel.feature_map(inner(np.zeros((1, columns))).shape[1]), inner)

    def __repr__(self) -> str:
        name = getattr(self.features, "__name__", None) or repr(self.features)
        return f"{written(self.kernel, 4)}.of({name})"


@dataclass(frozen=True, repr=False)
class OneDimensional(Kernel):
    """f(x) f(z) for any f, its one feature.

    f takes one row or a matrix of rows, and gives a number for each.

    Examples
    --------
    >>> OneDimensional(np.sum)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[21.]])
    """

    f: Any

    @property
    def reason(self) -> str:
        return "f(x)f(z) is the inner product of one feature"

    def prepared(self, views: Views) -> Values:
        return Values(np.asarray(applied(self.f, views.rows, ndim=1), dtype=float))

    def tile(self, left: Values, right: Values, memo: Memo) -> Array:
        return np.outer(left.values, right.values)

    def diagonal(self, side: Values) -> Array:
        return np.square(side.values)

    def sensitivity(self, left: Values, right: Values) -> float:
        return 1.0

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import After, Coordinates

        def inner(X: Any) -> Array:
            return np.asarray(applied(self.f, Views(X).rows, ndim=1)[:, None], dtype=float)

        return After(Coordinates(1), inner, of_things=not isinstance(columns, Integral))

    def __repr__(self) -> str:
        return f"OneDimensional({getattr(self.f, '__name__', None) or repr(self.f)})"


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """c ≥ 0 for every pair; written `k + c`.

    Examples
    --------
    >>> Constant(2)([[0.0]], [[7.0]])
    array([[2.]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", number(self.value, "the constant", "a kernel"))

    @property
    def reason(self) -> str:
        return "a constant of 0 or more is the square of one feature that is the same everywhere"

    def prepared(self, views: Views) -> Values:
        return Values(np.full(len(views), np.sqrt(self.value)))

    def tile(self, left: Values, right: Values, memo: Memo) -> Array:
        return np.full((len(left), len(right)), self.value, dtype=left.values.dtype)

    def diagonal(self, side: Values) -> Array:
        return np.full(len(side), self.value)

    def sensitivity(self, left: Values, right: Values) -> float:
        return 1.0

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import One

        return One(float(np.sqrt(self.value)))
