"""Rules that would be right for Gaussian data: Scott's and Silverman's, and scikit-learn's numbers of those names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.rules.rule import Rule, Shape, ShapedRule, canonical
from mercer.smoothing.rules.spread import Spread


def scott_factor(count: float, columns: int) -> float:
    """n^(−1/(d+4))."""
    return float(count ** (-1 / (columns + 4)))


def silverman_factor(count: float, columns: int) -> float:
    """(n(d+2)/4)^(−1/(d+4)): what minimises the asymptotic error for Gaussian data."""
    return float((count * (columns + 2) / 4) ** (-1 / (columns + 4)))


@stored()
@dataclass(frozen=True)
class UnscaledScott(Rule):
    """scikit-learn's "scott": n^(−1/(d+4)), whatever the scale of the data, their weights or the kernel."""

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        return Bandwidth(scott_factor(*X.shape), method="scott")


@stored()
@dataclass(frozen=True)
class UnscaledSilverman(Rule):
    """scikit-learn's "silverman": (n(d+2)/4)^(−1/(d+4)), whatever the scale of data, their weights or the kernel."""

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        return Bandwidth(silverman_factor(*X.shape), method="silverman")


@stored()
@dataclass(frozen=True)
class Scott(ShapedRule):
    """n^(−1/(d+4)) standard deviations (Scott 1992); with shape="matrix" SciPy's `gaussian_kde(…, "scott")`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(Scott().choose(X, None, Gaussian()))
    h = 0.3212, by scott-scaled
    """

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        spread = Spread(X, weight, names)
        factor = scott_factor(spread.count, spread.columns) * canonical(kernel, spread.columns)
        return shaped(spread, self.shape, factor, robust=False, method="scott-scaled")


@stored()
@dataclass(frozen=True)
class Silverman(ShapedRule):
    """Silverman's rule of thumb (1986), which is not misled by long tails.

    In one dimension 0.9 A n^(−1/5) with A = min(standard deviation, interquartile range/1.349), as in statsmodels and
    (with 1.34) R's `bw.nrd0`; in more, (n(d+2)/4)^(−1/(d+4)) A_j. With shape="matrix" it is what SciPy's
    `gaussian_kde(…, "silverman")` has.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(Silverman().choose(X, None, Gaussian()))
    h = 0.2789, by silverman-scaled
    """

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        spread = Spread(X, weight, names)
        factor = silverman_factor(spread.count, spread.columns)
        if spread.columns == 1 and self.shape != "matrix":
            factor = 0.9 * spread.count**-0.2
        factor *= canonical(kernel, spread.columns)
        return shaped(spread, self.shape, factor, robust=True, method="silverman-scaled")


def shaped(spread: Spread, shape: Shape, factor: float, *, robust: bool, method: str) -> Bandwidth:
    """`factor` times the spread of the data, in the form that was asked for."""
    if shape == "matrix":
        return Bandwidth(factor**2 * spread.covariance, method=method)
    sizes = spread.robust if robust else spread.deviations
    if shape == "axes" and spread.columns > 1:
        return Bandwidth(factor * sizes, method=method)
    # Silverman 1986, p. 87: the mean of the variances stands for all
    unit = sizes.max()
    return Bandwidth(factor * float(np.sqrt(np.mean(np.square(sizes / unit))) * unit), method=method)
