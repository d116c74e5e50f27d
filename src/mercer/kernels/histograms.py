"""Kernels of histograms: rows of numbers that are 0 or more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._errors import SupportError
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._coordinate_loops import chi_squared, intersection
from mercer.kernels._pointwise import apply_coordinate_loop
from mercer.kernels._value_loops import ExponentialValue, apply_kernel
from mercer.kernels.base import Kernel, check_number
from mercer.kernels.inputs import is_sparse, to_dense
from mercer.kernels.views import Memo, PointRows, Views


def _prepare_histograms(views: Views, kernel: str) -> PointRows:
    """Return the rows; raise an error that names the first negative number."""
    X = views.matrix
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        row, column = map(int, np.argwhere(to_dense(X) < 0)[0])
        raise make_negative_error(kernel, float(X[row, column]), row, column)
    return views.points


def make_negative_error(kernel: str, value: float, row: int, column: int) -> SupportError:
    """Return the error where a row is not a histogram."""
    return SupportError(
        f"X contains negative values. Column {column} is {value:g} in row {row}, but {kernel} compares histograms, "
        "whose numbers are 0 or more: on others it need not be positive definite. Shift the column, or use Laplacian."
    )


@stored()
@dataclass(frozen=True, repr=False)
class ChiSquared(Kernel):
    """exp(−γ Σ (x − z)²/(x + z)) of histograms.

    Parameters
    ----------
    gamma : float, default=1
        γ ≥ 0.

    Examples
    --------
    >>> ChiSquared()([[0.5, 0.5]], [[1.0, 0.0]]).round(4)
    array([[0.5134]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_number(self.gamma, "gamma", "ChiSquared"))

    @property
    def reason(self) -> str:
        return "Σ (x − z)²/(x + z) of numbers that are 0 or more is negative definite, so that exp(−γ …) is positive"

    def prepared(self, views: Views) -> PointRows:
        return _prepare_histograms(views, "ChiSquared")

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = apply_coordinate_loop(chi_squared, left, right)
        apply_kernel(ExponentialValue(self.gamma), tile)
        return tile

    def diagonal(self, side: PointRows) -> Array:
        return np.ones(len(side))


@stored()
@dataclass(frozen=True, repr=False)
class AdditiveChiSquared(Kernel):
    """−Σ (x − z)²/(x + z) of histograms, as in scikit-learn. Positive definite only together with a free intercept.

    Examples
    --------
    >>> AdditiveChiSquared()([[0.5, 0.5]], [[1.0, 0.0]]).round(4)
    array([[-0.6667]])
    """

    @property
    def reason(self) -> None:
        return None

    def prepared(self, views: Views) -> PointRows:
        return _prepare_histograms(views, "AdditiveChiSquared")

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = apply_coordinate_loop(chi_squared, left, right)
        return np.negative(tile, out=tile)

    def diagonal(self, side: PointRows) -> Array:
        return np.zeros(len(side))


@stored()
@dataclass(frozen=True, repr=False)
class HistogramIntersection(Kernel):
    """Σ min(x, z) of histograms.

    Examples
    --------
    >>> HistogramIntersection()([[0.5, 0.5]], [[1.0, 0.0]])
    array([[0.5]])
    """

    @property
    def reason(self) -> str:
        return "min(x, z) of numbers that are 0 or more is the inner product of the indicators of [0, x] and [0, z]"

    def prepared(self, views: Views) -> PointRows:
        return _prepare_histograms(views, "HistogramIntersection")

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        return apply_coordinate_loop(intersection, left, right)

    def diagonal(self, side: PointRows) -> Array:
        return np.asarray(side.X.sum(axis=1)).ravel()
