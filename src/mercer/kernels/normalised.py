"""A kernel between features of length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._errors import NotPositiveDefiniteError
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._base import Kernel, finite_diagonal
from mercer.kernels._made_of import OfOne, written
from mercer.kernels.spectra import Multiple
from mercer.kernels.views import Memo, Several, Values, Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap


@stored()
@dataclass(frozen=True, repr=False)
class Normalised(OfOne):
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

    def prepared(self, views: Views) -> Several:
        side = self.kernel.prepared(views)
        return Several((side, Values(self._inverse_lengths(side))))

    def tile(self, left: Several, right: Several, memo: Memo) -> Array:
        tile = self.kernel.tile(left.sides[0], right.sides[0], memo)
        tile *= left.sides[1].values[:, None]
        tile *= right.sides[1].values
        return tile

    def diagonal(self, side: Several) -> Array:
        return np.where(side.sides[1].values > 0, 1.0, 0.0)

    def sensitivity(self, left: Several, right: Several) -> float:
        return self.kernel.sensitivity(left.sides[0], right.sides[0])

    def fits_single(self, side: Several) -> bool:
        return Kernel.fits_single(self, side) and self.kernel.fits_single(side.sides[0])

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import Unit

        return Unit(self.kernel.feature_map(columns))

    def spectrum(self, columns: int) -> Multiple:
        inner = self.kernel.spectrum(columns)
        return Multiple(columns, inner, 1 / inner.mass if inner.mass > 0 else 0.0)

    def _inverse_lengths(self, side: Any) -> Array:
        diagonal = finite_diagonal(self.kernel, side)
        if (diagonal < 0).any():
            row = int(np.argmax(diagonal < 0))
            raise no_length(self.kernel, float(diagonal[row]), row)
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)

    def __repr__(self) -> str:
        return f"{written(self.kernel, 4)}.normalised()"


def no_length(kernel: Kernel, value: float, row: int) -> NotPositiveDefiniteError:
    """The error where k(x, x) of a row is below 0."""
    return NotPositiveDefiniteError(
        f"k(x, x) of {kernel!r} is {value:g} in row {row}, which no squared length is; normalise a kernel that is "
        "positive definite."
    )
