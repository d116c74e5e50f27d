"""Bandwidth rules that are optimal for Gaussian data: Scott's and Silverman's, also as scikit-learn computes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from mercer._errors import BandwidthError, NonFiniteError
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import Gaussian, SmoothingKernel
from mercer.families.quartiles import quartile_distance
from mercer.report.wording import format_count

#: one number for all axes, a number for each, or a multiple of the covariance matrix
Shape = Literal["one", "axes", "matrix"]
SHAPES = ("one", "axes", "matrix")


@dataclass(frozen=True)
class Rule(ABC):
    """Base class of bandwidth rules. Rules are equivariant: data times c give the bandwidth times c.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian, Scott
    >>> rows = np.random.default_rng(0).normal(size=(100, 1))
    >>> print(Scott().choose(rows, None, Gaussian()))
    h = 0.385, by scott-scaled
    >>> print(Scott().choose(10 * rows, None, Gaussian()))
    h = 3.85, by scott-scaled
    """

    @abstractmethod
    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        """Choose a bandwidth for these points.

        Parameters
        ----------
        X : array of shape (n, d)
            The points.
        weight : array of shape (n,) or None
            Weight of each point.
        kernel : SmoothingKernel
            Kernel that will be centred on each point.
        names : sequence of str, default=None
            Column names, for error messages.

        Returns
        -------
        Bandwidth
            The bandwidth with the name of the method and, where one was optimised, the criterion.
        """


@dataclass(frozen=True)
class ShapedRule(Rule):
    """Base class of rules for several forms of bandwidth.

    Parameters
    ----------
    shape : {"axes", "one", "matrix"}, default="axes"
        A width for each axis, one for all of them, or a multiple of the covariance matrix.
    """

    shape: Shape = "axes"

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise BandwidthError(
                f"a bandwidth cannot have shape {quoted(self.shape)}. {did_you_mean(str(self.shape), SHAPES)}"
            )


def canonical_factor(kernel: SmoothingKernel, columns: int) -> float:
    """Return the factor between bandwidths of a kernel and of the Gaussian that smooth equally."""
    if isinstance(kernel, Gaussian):
        return 1.0
    return kernel.canonical(columns) / Gaussian().canonical(columns)


#: the interquartile range of a Gaussian, in standard deviations
IQR_OF_GAUSSIAN = 1.349


class SampleSpread:
    """Weighted standard deviations, quartiles and covariance of points; errors if there is no spread.

    Parameters
    ----------
    X : array of shape (n, d)
        The points; those of weight 0 are ignored.
    weight : array of shape (n,), default=None
        Weight of each point; 1 if not given.
    names : sequence of str, default=None
        Column names, for error messages.
    """

    def __init__(self, X: Array, weight: Array | None = None, names: Sequence[str] | None = None) -> None:
        X = np.asarray(X, dtype=float)
        if weight is not None:
            counted = np.asarray(weight) > 0
            X, weight = X[counted], np.asarray(weight, dtype=float)[counted]
            weight = weight / weight.sum()
        self.X, self.share, self.names = X, weight, names
        self._check_finite_points()
        self._check_has_spread()
        self._check_widths()

    @property
    def columns(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def count(self) -> float:
        """Number of points, or (Σw)²/Σw² if they are weighted (as in SciPy)."""
        return float(len(self.X) if self.share is None else 1 / np.square(self.share).sum())

    @cached_property
    def deviations(self) -> Array:
        """Standard deviation of each column: Σw(x − x̄)²/(1 − Σw²) with weights that sum to one (n − 1 if equal)."""
        Z = self.centred / self._units
        squares = np.einsum("ij,ij->j", Z, Z / len(Z) if self.share is None else Z * self.share[:, None])
        return np.asarray(np.sqrt(squares * self._unbiased) * self._units)

    @cached_property
    def robust(self) -> Array:
        """min(standard deviation, interquartile range/1.349) of each column; the former where the latter is 0."""
        range_ = np.array([quartile_distance(column, self.share) for column in self.X.T]) / IQR_OF_GAUSSIAN
        return np.where(range_ > 0, np.minimum(range_, self.deviations), self.deviations)

    @cached_property
    def covariance(self) -> Array:
        """Unbiased covariance matrix."""
        self._check_enough_points()
        unit = self._units
        Z = self.centred / unit
        correlated = Z.T @ (Z / len(Z) if self.share is None else Z * self.share[:, None]) * self._unbiased
        self._check_not_collinear(correlated)
        return np.asarray(correlated * np.outer(unit, unit))

    def name(self, column: int) -> str:
        return f"column {column}" if self.names is None else f"column {self.names[column]!r}"

    @property
    def _unbiased(self) -> float:
        return 1 / (1 - 1 / self.count)

    @cached_property
    def centred(self) -> Array:
        """The points minus their mean, which keeps the digits of columns far from 0."""
        rough = self.X - self.X[0]
        return np.asarray(rough - np.average(rough, axis=0, weights=self.share))

    @cached_property
    def _units(self) -> Array:
        """Largest distance from the mean of each column, so that squares neither overflow nor vanish."""
        return np.asarray(np.maximum(self.centred.max(axis=0), -self.centred.min(axis=0)))

    def _check_finite_points(self) -> None:
        if np.isfinite(self.X).all():
            return
        row, column = np.argwhere(~np.isfinite(self.X))[0]
        raise NonFiniteError(
            f"{self.name(int(column))} has {self.X[row, column]} among the points that a bandwidth is chosen from. "
            "Leave such rows out."
        )

    def _check_has_spread(self) -> None:
        if len(self.X) < 2:
            raise BandwidthError(
                f"a bandwidth cannot be chosen from {format_count(len(self.X), 'point')} of positive weight, which "
                "have no spread. Give more points, or the bandwidth as a number."
            )
        constant = np.flatnonzero((self.X[0] == self.X).all(axis=0))
        if constant.size:
            raise BandwidthError(
                f"{self.name(int(constant[0]))} is constant, so that its bandwidth would be 0. Leave it out, or give "
                "the bandwidth as a number or one per column."
            )

    def _check_widths(self) -> None:
        with np.errstate(over="ignore"):
            sums = len(self.X) * (self.X.max(axis=0) - self.X.min(axis=0))
        if (beyond := np.flatnonzero(np.isinf(sums))).size:
            raise BandwidthError(
                f"{self.name(int(beyond[0]))} is so wide that its spread is too large for float64. Divide it by its "
                "scale, or give the bandwidth as a number."
            )

    def _check_enough_points(self) -> None:
        if len(self.X) <= self.columns:
            raise BandwidthError(
                f"{len(self.X)} points in {self.columns} dimensions lie in a plane, so that a full bandwidth matrix "
                'would be singular. Use one bandwidth per column (shape="axes"), or more points.'
            )

    def _check_not_collinear(self, inner: Array) -> None:
        size = np.sqrt(np.diag(inner))
        values, vectors = np.linalg.eigh(inner / np.outer(size, size))
        if values[0] > self.columns * np.finfo(float).eps * 10:
            return
        culprit = self.name(int(np.argmax(np.abs(vectors[:, 0]))))
        raise BandwidthError(
            f"{culprit} is a linear combination of other columns, so that a full bandwidth matrix would be singular. "
            'Leave it out, or use one bandwidth per column (shape="axes").'
        )


def scott_factor(count: float, columns: int) -> float:
    """Return n^(−1/(d+4))."""
    return float(count ** (-1 / (columns + 4)))


def silverman_factor(count: float, columns: int) -> float:
    """Return (n(d+2)/4)^(−1/(d+4)), which minimises the asymptotic error for Gaussian data."""
    return float((count * (columns + 2) / 4) ** (-1 / (columns + 4)))


@stored()
@dataclass(frozen=True)
class UnscaledScott(Rule):
    """scikit-learn's "scott": n^(−1/(d+4)), independent of the scale of the data, the weights and the kernel."""

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        return Bandwidth(scott_factor(*X.shape), method="scott")


@stored()
@dataclass(frozen=True)
class UnscaledSilverman(Rule):
    """scikit-learn's "silverman": (n(d+2)/4)^(−1/(d+4)), independent of the scale of the data, weights and kernel."""

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        return Bandwidth(silverman_factor(*X.shape), method="silverman")


@stored()
@dataclass(frozen=True)
class Scott(ShapedRule):
    """Scott's rule (1992): n^(−1/(d+4)) standard deviations; with shape="matrix" SciPy's `gaussian_kde(…, "scott")`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(Scott().choose(X, None, Gaussian()))
    h = 0.3212, by scott-scaled
    """

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        spread = SampleSpread(X, weight, names)
        factor = scott_factor(spread.count, spread.columns) * canonical_factor(kernel, spread.columns)
        return shape_bandwidth(spread, self.shape, factor, robust=False, method="scott-scaled")


@stored()
@dataclass(frozen=True)
class Silverman(ShapedRule):
    """Silverman's rule of thumb (1986), which is robust to long tails.

    In one dimension 0.9 A n^(−1/5) with A = min(standard deviation, interquartile range/1.349), as in statsmodels and
    (with 1.34) R's `bw.nrd0`; in more, (n(d+2)/4)^(−1/(d+4)) A_j. With shape="matrix" it equals SciPy's
    `gaussian_kde(…, "silverman")`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(Silverman().choose(X, None, Gaussian()))
    h = 0.2789, by silverman-scaled
    """

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        spread = SampleSpread(X, weight, names)
        factor = silverman_factor(spread.count, spread.columns)
        if spread.columns == 1 and self.shape != "matrix":
            factor = 0.9 * spread.count**-0.2
        factor *= canonical_factor(kernel, spread.columns)
        return shape_bandwidth(spread, self.shape, factor, robust=True, method="silverman-scaled")


def shape_bandwidth(spread: SampleSpread, shape: Shape, factor: float, *, robust: bool, method: str) -> Bandwidth:
    """Return `factor` times the spread of the data, as a number, a vector or a matrix."""
    if shape == "matrix":
        return Bandwidth(factor**2 * spread.covariance, method=method)
    sizes = spread.robust if robust else spread.deviations
    if shape == "axes" and spread.columns > 1:
        return Bandwidth(factor * sizes, method=method)
    # Silverman 1986, p. 87: the mean of the variances stands for all of them
    unit = sizes.max()
    return Bandwidth(factor * float(np.sqrt(np.mean(np.square(sizes / unit))) * unit), method=method)
