"""The autocorrelation K∗K of a smoothing kernel, which least-squares cross-validation sums over pairs of points.

∫p̂² = Σᵢⱼ wᵢwⱼ (K∗K)((xᵢ − xⱼ)/h) / (hᵈ W²). In one dimension, for the product form, the Gaussian and the exponential
kernel it is a formula. The radial form of a kernel on the unit ball has none in even dimensions: there it is an
integral over the lens where two balls meet, taken at some distances and interpolated by polynomials between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, kve

from mercer._errors import KernelError
from mercer._stored import stored
from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.smoothing._base import SmoothingKernel


@stored()
@dataclass(frozen=True)
class Autocorrelation:
    """(K∗K)(u) of a kernel in so many dimensions: a density again, even, and ∫K² at 0.

    Parameters
    ----------
    kernel : SmoothingKernel
        K.
    columns : int
        The dimensions.

    Examples
    --------
    >>> from mercer.smoothing import Uniform
    >>> Uniform().autocorrelation(1)([[0.0], [1.0], [3.0]]).tolist()
    [0.5, 0.25, 0.0]
    """

    kernel: SmoothingKernel
    columns: int

    @property
    def reach(self) -> float:
        """K∗K is 0 beyond."""
        return 2 * self.kernel.reach

    @property
    def gaussian_width(self) -> float | None:
        """Where K∗K is K itself, wider: how many times; else None."""
        return float(np.sqrt(2)) if self.kernel.name == "gaussian" else None

    @property
    def profile(self) -> Callable[[Array], Array]:
        """The factor of each axis as a function of `|u_j|` in the product form; in the radial all, as one of ‖u‖."""
        axes = 1 if self.kernel.form == "product" else self.columns
        return replace(self.kernel, form="radial").radial_autocorrelation(axes)

    def __call__(self, differences: Any) -> Array:
        """(K∗K)(u) for differences u of shape (…, columns)."""
        u = np.asarray(differences, dtype=float)
        if u.shape[-1] != self.columns:
            raise KernelError(f"differences have {u.shape[-1]} columns, the autocorrelation is one of {self.columns}.")
        if self.kernel.form == "product":
            return np.asarray(self.profile(np.abs(u)).prod(axis=-1))
        return self.profile(np.sqrt(np.square(u).sum(axis=-1)))


def of_gaussian(r: Array, columns: int) -> Array:
    return np.asarray(np.exp(-np.square(r) / 4 - columns / 2 * np.log(4 * np.pi)))


def of_exponential(r: Array, columns: int) -> Array:
    """r^ν K_ν(r) with ν = d/2 + 1, over a constant: e^(−r) is (1 + ω²)^(−(d+1)/2) in frequencies, here squared."""
    order, r = columns / 2 + 1, np.asarray(r, dtype=float)
    # what K_ν overflows for, 0 among it
    near_zero = (order - 1) * np.log(2) + gammaln(order) - r**2 / (4 * order - 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = order * np.log(r) + np.log(kve(order, r)) - r
    constant = columns * np.log(2) + columns / 2 * np.log(2 * np.pi) + gammaln(columns + 1)
    return np.asarray(np.exp(np.where(np.isfinite(logs), logs, near_zero) - constant))


def of_power_on_line(r: Array, m: int) -> Array:
    """(1 − x²)ᵐ with itself.

    Around the middle of both, x = r/2 + at with a = 1 − r/2, the product of the two is a²ᵐ(1 − t²)ᵐ(2r + a²(1 − t²))ᵐ.
    """
    r = np.minimum(r, 2)
    a = 1 - r / 2
    terms = (comb(m, j) * _half_beta(m + j) * (2 * r) ** (m - j) * a ** (2 * j) for j in range(m + 1))
    return np.asarray(a ** (2 * m + 1) * sum(terms) / _half_beta(m) ** 2)


def _half_beta(n: int) -> float:
    """B(½, n + 1) = ∫(1 − t²)ⁿ dt over (−1, 1)."""
    return float(2 * 4**n / ((2 * n + 1) * comb(2 * n, n)))


def of_triangular_on_line(r: Array) -> Array:
    far = np.maximum(2 - np.asarray(r), 0)
    near = np.maximum(1 - np.asarray(r), 0)
    return np.asarray((far**3 - 4 * near**3) / 6)


def of_cosine_on_line(r: Array) -> Array:
    x = np.pi * (1 - np.minimum(r, 2) / 2)
    return np.asarray(np.pi / 16 * (np.sin(x) - x * np.cos(x)))
