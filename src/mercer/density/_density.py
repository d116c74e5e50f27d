"""Abstract base class of densities over real columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._errors import DataError, NoClosedFormError
from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.density._regions import HighestDensityRegion

Rng = np.random.Generator | np.random.RandomState
#: grid points along each axis, for one, two and three columns
GRID_POINTS = {1: 1024, 2: 128, 3: 32}
#: error of a density on a grid, relative to a constant density on it
GRID_ERROR = 1e-4
#: largest magnitude of a logarithm whose exponential neither overflows nor vanishes
LARGEST_LOG_VOLUME = 690.0


class Density(ABC):
    """An immutable density p(x) over the rows of an array with `columns` columns.

    Examples
    --------
    >>> from mercer.density import Bandwidth, Gaussian, Windows
    >>> p = Windows(Gaussian(), Bandwidth(1.0), np.array([[0.0], [4.0]]))
    >>> p.density(np.array([[0.0], [2.0]])).round(3)
    array([0.2  , 0.054])
    >>> p.cdf(np.array([[2.0]]))
    array([0.5])
    """

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def centres(self) -> Array:
        """The points from which the density was made, of shape (n, columns)."""

    @property
    @abstractmethod
    def weight(self) -> Array | None:
        """Weights of the points; None if all are 1."""

    @abstractmethod
    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """Return log p(x) for every row, where p may have an error of up to `atol` + `rtol` · p."""

    @abstractmethod
    def log_density_left_out(self) -> Array:
        """Return the log density of every point under the kernels of all others."""

    @abstractmethod
    def sample(self, n: int, rng: Rng) -> Array:
        """Draw n rows."""

    @abstractmethod
    def probability(self, low: Array, high: Array) -> Array:
        """Return P(low ≤ x ≤ high) for boxes, one in each row; bounds may be infinite."""

    @abstractmethod
    def marginal(self, keep: Sequence[int]) -> Density:
        """Return the density of some of the columns, with all others integrated out."""

    @abstractmethod
    def conditional(self, given: Mapping[int, float]) -> Density:
        """Return the density of the other columns, given values of some."""

    @abstractmethod
    def extent(self, reach: float) -> tuple[Array, Array]:
        """Return the corners of the box around all points, extended by `reach` bandwidths within the support."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """Return the corners of the box outside which the density is 0; infinite where it is positive everywhere."""

    @abstractmethod
    def probes(self) -> Array:
        """Return ascending points in one dimension with rarely more than one extremum between neighbours."""

    def density(self, X: Array) -> Array:
        """Return p(x) for every row."""
        return np.exp(self.log_density(X))

    def log_curve(self, x: Array) -> Array:
        """Return log p(x) in one dimension; it may be −inf where p is too small to matter for a region."""
        return self.log_density(x[:, None])

    def density_within(self, X: Array, atol: float) -> Array:
        """Return p(x) for every row, where errors up to `atol` are allowed."""
        return self.density(X)

    def cdf(self, X: Array) -> Array:
        """Return P(x' ≤ x in every column) for every row."""
        X = np.asarray(X, dtype=float)
        return self.probability(np.full(X.shape, -np.inf), X)

    def mean(self) -> Array:
        """Return E[x] of every column."""
        raise NoClosedFormError(
            "the mean of a density on a bounded support has no formula; average draws of `sample`, or leave the "
            "support out."
        )

    def quantile(self, q: Any) -> Array:
        """Return the smallest x with cdf(x) ≥ q, for densities of one column."""
        from mercer.density._regions import compute_quantiles

        return compute_quantiles(self, q)

    def highest_density_region(self, coverage: float = 0.95) -> HighestDensityRegion:
        """Return the smallest region that holds a given probability."""
        from mercer.density._regions import find_region

        return find_region(self, coverage)

    def on_grid(self, n_points: int | Sequence[int] | None = None, extent: float = 3.0) -> tuple[Any, Array]:
        """Return the density on a regular grid, and the coordinates along each axis.

        Parameters
        ----------
        n_points : int or sequence of int, default=None
            Points along every axis, or along each; by default 1024, 128 or 32 for one, two or three columns.
        extent : float, default=3.0
            Number of bandwidths by which the grid extends beyond the points; it ends at the bounds of the support.

        Returns
        -------
        grid : ndarray of shape (n_points,), or tuple of such
            Coordinates along each axis.
        density : ndarray of shape (n_points,) or (n_points, n_points, …)
            Density at the grid points, with an error of at most 1e-4 times a constant density on the grid.
        """
        axes = self.grid_axes(n_points, extent)
        mesh = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        log_volume = sum(np.log(max(np.ptp(axis), np.finfo(float).tiny)) for axis in axes)
        even = float(np.exp(np.clip(-log_volume, -LARGEST_LOG_VOLUME, LARGEST_LOG_VOLUME)))
        values = self.density_within(mesh, GRID_ERROR * even).reshape([len(axis) for axis in axes])
        return (axes[0] if self.columns == 1 else axes), values

    def grid_axes(self, n_points: int | Sequence[int] | None, extent: float) -> tuple[Array, ...]:
        """Return the coordinates along each axis of a grid."""
        if self.columns > 3:
            raise NoClosedFormError(
                f"a grid of {self.columns} dimensions has too many points; use the density of two or three columns "
                "at a time, with `marginal` or `conditional`."
            )
        counts = np.atleast_1d(GRID_POINTS[self.columns] if n_points is None else n_points)
        if counts.shape not in ((1,), (self.columns,)) or counts.dtype.kind not in "iu" or (counts < 2).any():
            raise DataError(f"n_points is an integer from 2 on, or one for each column; got {n_points!r}.")
        low, high = self.extent(extent)
        pairs = zip(low, high, np.broadcast_to(counts, self.columns), strict=True)
        return tuple(np.linspace(a, b, int(n)) for a, b, n in pairs)
