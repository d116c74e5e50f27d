"""A density over real columns, and what can be asked of every one: draws, probabilities, quantiles, regions, slices."""

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
#: points of a grid along each axis, for one, two and three columns
GRID = {1: 1024, 2: 128, 3: 32}
#: error of a density on a grid, as a share of the density if it were the same everywhere on it
GRID_ERROR = 1e-4
#: of a logarithm that a number has
LARGEST = 690.0


class Density(ABC):
    """p(x) over the rows of an array with so many `columns`; nothing of it ever changes.

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
        """How many columns it is a density of."""

    @property
    @abstractmethod
    def centres(self) -> Array:
        """The points that the density was made of, of shape (n, columns)."""

    @property
    @abstractmethod
    def weight(self) -> Array | None:
        """Weights of them; None if all are 1."""

    @abstractmethod
    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """log p(x) for every row, of a p that may be off by `atol` + `rtol` · p."""

    @abstractmethod
    def log_density_left_out(self) -> Array:
        """log p(x_i) of every point under the windows of all others."""

    @abstractmethod
    def sample(self, n: int, rng: Rng) -> Array:
        """n rows drawn from p."""

    @abstractmethod
    def probability(self, low: Array, high: Array) -> Array:
        """P(low ≤ x ≤ high) of boxes, one in each row; bounds may be infinite."""

    @abstractmethod
    def marginal(self, keep: Sequence[int]) -> Density:
        """The density of some of the columns, all others integrated out."""

    @abstractmethod
    def conditional(self, given: Mapping[int, float]) -> Density:
        """The density of the other columns where these have the given values."""

    @abstractmethod
    def extent(self, reach: float) -> tuple[Array, Array]:
        """Lower and upper corner of the box around all points, and `reach` bandwidths more, within the support."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """Lower and upper corner of the box outside of which the density is 0; infinite where it never is."""

    @abstractmethod
    def probes(self) -> Array:
        """In one dimension: ascending places, so close that the density hardly turns twice from one to the next."""

    def density(self, X: Array) -> Array:
        """p(x) for every row."""
        return np.exp(self.log_density(X))

    def log_curve(self, x: Array) -> Array:
        """In one dimension: log p(x), which may be −inf where p is too small to matter for a region."""
        return self.log_density(x[:, None])

    def density_within(self, X: Array, atol: float) -> Array:
        """p(x) for every row, of which errors up to `atol` do no harm."""
        return self.density(X)

    def cdf(self, X: Array) -> Array:
        """P(x' ≤ x in every column) for every row."""
        X = np.asarray(X, dtype=float)
        return self.probability(np.full(X.shape, -np.inf), X)

    def mean(self) -> Array:
        """E[x] of every column."""
        raise NoClosedFormError(
            "the mean of a density on a bounded support has no formula; average draws of `sample`, or leave the "
            "support out."
        )

    def quantile(self, q: Any) -> Array:
        """The smallest x with cdf(x) ≥ q, for densities of one column."""
        from mercer.density._regions import quantiles

        return quantiles(self, q)

    def highest_density_region(self, coverage: float = 0.95) -> HighestDensityRegion:
        """The smallest region that holds so much of the probability."""
        from mercer.density._regions import highest_density_region

        return highest_density_region(self, coverage)

    def on_grid(self, n_points: int | Sequence[int] | None = None, extent: float = 3.0) -> tuple[Any, Array]:
        """The density on a regular grid: places along the axis (a tuple of them for several axes), and values there.

        Parameters
        ----------
        n_points : int or sequence of int, default=None
            Points along every axis, or along each; 1024, 128 or 32 for one, two or three columns if not given.
        extent : float, default=3.0
            How many bandwidths the grid goes on beyond the points; it ends at the bounds of the support.

        Returns
        -------
        grid : ndarray of shape (n_points,), or tuple of such
            Places along each axis.
        density : ndarray of shape (n_points,) or (n_points, n_points, …)
            p there, to within 1e-4 of what it would be if it were the same everywhere.
        """
        axes = self.grid_axes(n_points, extent)
        mesh = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        log_volume = sum(np.log(max(np.ptp(axis), np.finfo(float).tiny)) for axis in axes)
        even = float(np.exp(np.clip(-log_volume, -LARGEST, LARGEST)))
        values = self.density_within(mesh, GRID_ERROR * even).reshape([len(axis) for axis in axes])
        return (axes[0] if self.columns == 1 else axes), values

    def grid_axes(self, n_points: int | Sequence[int] | None, extent: float) -> tuple[Array, ...]:
        """Places along each axis of a grid."""
        if self.columns > 3:
            raise NoClosedFormError(
                f"a grid of {self.columns} dimensions has too many points; look at the density of two or three columns "
                "at a time, with `marginal` or `conditional`."
            )
        counts = np.atleast_1d(GRID[self.columns] if n_points is None else n_points)
        if counts.shape not in ((1,), (self.columns,)) or counts.dtype.kind not in "iu" or (counts < 2).any():
            raise DataError(f"n_points is a whole number from 2 on, or one for each column; got {n_points!r}.")
        low, high = self.extent(extent)
        pairs = zip(low, high, np.broadcast_to(counts, self.columns), strict=True)
        return tuple(np.linspace(a, b, int(n)) for a, b, n in pairs)
