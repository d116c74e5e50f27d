"""Kernels of one feature: f(x)f(z) (lecture 1, "Generating New Kernels from Old"), and a constant."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._errors import KernelError, NonFiniteError
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._user_functions import apply_function, get_function_name
from mercer.kernels.base import Kernel, check_number
from mercer.kernels.inputs import to_dense
from mercer.kernels.spectra import NormalSpectrum
from mercer.kernels.views import Memo, ValueRows, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap


@stored()
@dataclass(frozen=True, repr=False)
class OneDimensional(Kernel):
    """f(x) f(z) for any f, its one feature.

    f takes one row or a matrix of rows, and returns a number for each.

    Examples
    --------
    >>> OneDimensional(np.sum)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[21.]])
    """

    f: Any

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise KernelError(f"OneDimensional takes a function of a row, got {self.f!r}.")

    @property
    def reason(self) -> str:
        return "f(x)f(z) is the inner product of one feature"

    def prepared(self, views: Views) -> ValueRows:
        return ValueRows(self._evaluate(views))

    def tile(self, left: ValueRows, right: ValueRows, memo: Memo) -> Array:
        return np.outer(left.values, right.values)

    def diagonal(self, side: ValueRows) -> Array:
        return np.square(side.values)

    def sensitivity(self, left: ValueRows, right: ValueRows) -> float:
        return 1.0

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ComposedMap, CoordinateMap

        def inner(X: Any) -> Array:
            return self._evaluate(Views(X))[:, None]

        return ComposedMap(CoordinateMap(1), inner, accepts_objects=not isinstance(columns, Integral))

    def _evaluate(self, views: Views) -> Array:
        values = np.asarray(to_dense(apply_function(self.f, views.rows, ndim=1)), dtype=float)
        if not np.isfinite(values).all():
            row = int(np.argmax(~np.isfinite(values)))
            raise NonFiniteError(f"{self!r} has the feature {values[row]} in row {row}; let f be finite everywhere.")
        return values

    def __repr__(self) -> str:
        return f"OneDimensional({get_function_name(self.f)})"


@stored()
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
        object.__setattr__(self, "value", check_number(self.value, "the constant", "a kernel"))

    @property
    def reason(self) -> str:
        return "a constant of 0 or more is the square of one feature that is the same everywhere"

    def prepared(self, views: Views) -> ValueRows:
        return ValueRows(np.full(len(views), np.sqrt(self.value)))

    def tile(self, left: ValueRows, right: ValueRows, memo: Memo) -> Array:
        return np.full((len(left), len(right)), self.value, dtype=left.values.dtype)

    def diagonal(self, side: ValueRows) -> Array:
        return np.full(len(side), self.value)

    def sensitivity(self, left: ValueRows, right: ValueRows) -> float:
        return 1.0

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import ConstantMap

        return ConstantMap(float(np.sqrt(self.value)))

    def spectrum(self, columns: int) -> NormalSpectrum:
        return NormalSpectrum(columns, 0.0, self.value)
