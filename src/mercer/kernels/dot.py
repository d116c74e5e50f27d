"""Kernels of the inner product x·z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels import _value_loops as loops
from mercer.kernels._pointwise import DotProduct, cast_kernel, resolve_gamma
from mercer.kernels._value_loops import apply_kernel, raise_to_power
from mercer.kernels.base import check_exponent, check_number
from mercer.kernels.views import PointRows, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap


@stored()
@dataclass(frozen=True, repr=False)
class Linear(DotProduct):
    """x·z.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    @property
    def reason(self) -> str:
        return "x·z is the inner product of the rows themselves"

    def apply_to_products(self, tile: Array, columns: int) -> None:
        """They are the kernel."""

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return 1.0

    def feature_map(self, columns: int) -> FeatureMap:
        from mercer.kernels.explicit import CoordinateMap

        return CoordinateMap(columns)


@stored(tag="QuadraticKernel")
@dataclass(frozen=True, repr=False)
class Quadratic(DotProduct):
    """x·z + (x·z)² (lecture 1, "Quadratic Kernel"), of 2d + d(d−1)/2 features.

    Examples
    --------
    >>> Quadratic()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[132.]])
    """

    @property
    def reason(self) -> str:
        return "x·z + (x·z)² is the inner product of the coordinates and their products in pairs"

    def apply_to_products(self, tile: Array, columns: int) -> None:
        apply_kernel(loops.QuadraticValue(), tile)

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return 2.0

    def feature_map(self, columns: int) -> FeatureMap:
        from mercer.kernels.explicit import CoordinateMap, MonomialFeatureMap, StackedMap

        return StackedMap((CoordinateMap(columns), MonomialFeatureMap(columns, 2, 1.0, 0.0)))


@stored()
@dataclass(frozen=True, repr=False)
class Polynomial(DotProduct):
    """(γ x·z + c)ᵖ (lecture 1, "Polynomial Kernel").

    Parameters
    ----------
    degree : int, default=3
        p, a whole number.
    gamma : float or None, default=1
        γ ≥ 0; None means 1/d as in scikit-learn's `polynomial_kernel`.
    constant : float, default=1
        c ≥ 0, scikit-learn's `coef0`: with 0 there are only monomials of degree p, else all up to it.

    Examples
    --------
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 3
    gamma: float | None = 1.0
    constant: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_exponent(self.degree, "degree", "Polynomial"))
        object.__setattr__(self, "constant", check_number(self.constant, "constant", "Polynomial"))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number(self.gamma, "gamma", "Polynomial"))

    @property
    def reason(self) -> str:
        return "(γ x·z + c)ᵖ is the inner product of scaled monomials for γ, c ≥ 0 and a whole p"

    def apply_to_products(self, tile: Array, columns: int) -> None:
        tile *= resolve_gamma(self.gamma, columns)
        tile += self.constant
        raise_to_power(tile, self.degree)

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return float(max(self.degree, 1))

    def feature_map(self, columns: int) -> FeatureMap:
        from mercer.kernels.explicit import MonomialFeatureMap

        return MonomialFeatureMap(columns, self.degree, resolve_gamma(self.gamma, columns), self.constant)


@stored()
@dataclass(frozen=True, repr=False)
class Sigmoid(DotProduct):
    """tanh(γ x·z + c). Not positive definite in general: a model that uses it may have no optimum.

    Parameters
    ----------
    gamma : float or None, default=None
        γ; None means 1/d as in scikit-learn.
    constant : float, default=1
        c, scikit-learn's `coef0`.

    Examples
    --------
    >>> Sigmoid(gamma=1, constant=0)([[1.0]], [[0.5]]).round(4)
    array([[0.4621]])
    """

    gamma: float | None = None
    constant: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "constant", check_number(self.constant, "constant", "Sigmoid", least=-np.inf))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number(self.gamma, "gamma", "Sigmoid", least=-np.inf))

    @property
    def reason(self) -> None:
        return None

    def apply_to_products(self, tile: Array, columns: int) -> None:
        apply_kernel(cast_kernel(tile, loops.TanhValue(resolve_gamma(self.gamma, columns), self.constant)), tile)

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return abs(resolve_gamma(self.gamma, left.columns)) * max(left.largest, right.largest)


@stored(tag="CosineKernel")
@dataclass(frozen=True, repr=False)
class Cosine(DotProduct):
    """x·z/(‖x‖ ‖z‖), and 0 where a row is 0.

    Examples
    --------
    >>> Cosine()([[2.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.7071]])
    """

    @property
    def reason(self) -> str:
        return "the cosine is the inner product of rows of length 1"

    def prepared(self, views: Views) -> PointRows:
        return views.directions

    def apply_to_products(self, tile: Array, columns: int) -> None:
        """They are the kernel."""

    def diagonal(self, side: PointRows) -> Array:
        return (side.squares > 0).astype(float)

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return 1.0

    def feature_map(self, columns: int) -> FeatureMap:
        from mercer.kernels.explicit import CoordinateMap, UnitMap

        return UnitMap(CoordinateMap(columns))
