"""Kernels of the distance between two rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from mercer._errors import KernelError
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels import _value_loops as loops
from mercer.kernels._coordinate_loops import manhattan
from mercer.kernels._pointwise import Radial, apply_coordinate_loop, resolve_gamma
from mercer.kernels._value_loops import apply_kernel
from mercer.kernels.base import Kernel, check_number
from mercer.kernels.spectra import CauchySpectrum, GammaMixtureSpectrum, NormalSpectrum, StudentSpectrum
from mercer.kernels.views import Memo, PointRows, Views


def _divide_by_square(numerator: float, scale: float) -> float:
    """Return numerator/scale², finite also where that overflows, since infinity times a distance of 0 is NaN."""
    return min(numerator / scale / scale, sys.float_info.max)


@stored()
@dataclass(frozen=True, repr=False)
class RBF(Radial):
    """exp(−γ ‖x − z‖²) = exp(−‖x − z‖²/2σ²) (lecture 1, "Radial Basis Function").

    Parameters
    ----------
    gamma : float or None, default=None
        γ ≥ 0; without γ and σ it is 1/d as in scikit-learn's `rbf_kernel`.
    sigma : float or None, default=None
        σ > 0 of the lecture, instead of γ = 1/2σ².

    Examples
    --------
    >>> RBF(sigma=1)([[0.0]], [[1.0], [2.0]]).round(4)
    array([[0.6065, 0.1353]])
    """

    gamma: float | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        if self.gamma is not None and self.sigma is not None:
            raise KernelError("RBF takes gamma or sigma, not both: gamma = 1/(2 sigma²).")
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number(self.gamma, "gamma", "RBF"))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", check_number(self.sigma, "sigma", "RBF", above=True))

    @property
    def reason(self) -> str:
        return "exp(−γ‖x − z‖²) is the Fourier transform of a normal density (Bochner)"

    def replaced(self, **params: Any) -> Self:
        other = {"gamma": "sigma", "sigma": "gamma"}
        given = {name: None for key, name in other.items() if params.get(key) is not None}
        return super().replaced(**{**given, **params})

    def slope(self, columns: int) -> float:
        return resolve_gamma(self.gamma, columns) if self.sigma is None else _divide_by_square(0.5, self.sigma)

    def lower(self, columns: int) -> Any:
        return loops.ExponentialValue(self.slope(columns))

    def spectrum(self, columns: int) -> NormalSpectrum:
        return NormalSpectrum(
            columns, float(np.sqrt(2 * resolve_gamma(self.gamma, columns)) if self.sigma is None else 1 / self.sigma)
        )


@stored()
@dataclass(frozen=True, repr=False)
class Matern(Radial):
    """The Matérn kernel of ν = 1/2, 3/2 or 5/2 at r = ‖x − z‖/ℓ: e^(−r), (1 + √3 r) e^(−√3 r), …

    Parameters
    ----------
    length_scale : float, default=1
        The distance at which similarity fades.
    nu : float, default=1.5
        0.5, 1.5 or 2.5: a process with this kernel has 0, 1 or 2 derivatives.

    Examples
    --------
    >>> Matern(nu=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    length_scale: float = 1.0
    nu: float = 1.5

    LOWERED: ClassVar[dict[float, Any]] = {
        0.5: loops.MaternOneValue,
        1.5: loops.MaternThreeValue,
        2.5: loops.MaternFiveValue,
    }

    def __post_init__(self) -> None:
        if self.nu not in self.LOWERED:
            raise KernelError(f"nu of Matern must be 0.5, 1.5 or 2.5, got {self.nu!r}; for an infinite one use RBF.")
        object.__setattr__(self, "nu", float(self.nu))
        object.__setattr__(self, "length_scale", check_number(self.length_scale, "length_scale", "Matern", above=True))

    @property
    def reason(self) -> str:
        return "the Matérn kernel is the Fourier transform of a Student density (Bochner)"

    def lower(self, columns: int) -> Any:
        return self.LOWERED[self.nu](np.sqrt(2 * self.nu) / self.length_scale)

    def slope(self, columns: int) -> float:
        # as a function of ‖x − z‖², e^(−r) has an infinite slope at 0
        return np.inf if self.nu == 0.5 else _divide_by_square(self.nu / (2 * self.nu - 2), self.length_scale)

    def spectrum(self, columns: int) -> StudentSpectrum:
        return StudentSpectrum(columns, 1 / self.length_scale, 2 * self.nu)


@stored()
@dataclass(frozen=True, repr=False)
class RationalQuadratic(Radial):
    """(1 + ‖x − z‖²/(2αℓ²))^(−α): a mixture of RBF kernels of all widths.

    Parameters
    ----------
    length_scale : float, default=1
        The distance at which similarity fades.
    alpha : float, default=1
        α > 0: the smaller, the more the widths differ.

    Examples
    --------
    >>> RationalQuadratic()([[0.0]], [[1.0]]).round(4)
    array([[0.6667]])
    """

    length_scale: float = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha", "length_scale"):
            object.__setattr__(self, name, check_number(getattr(self, name), name, "RationalQuadratic", above=True))

    @property
    def reason(self) -> str:
        return "the rational quadratic is a mixture of RBF kernels with gamma-distributed γ"

    def lower(self, columns: int) -> Any:
        return loops.RationalQuadraticValue(self.alpha, _divide_by_square(0.5 / self.alpha, self.length_scale))

    def slope(self, columns: int) -> float:
        return _divide_by_square(0.5, self.length_scale)

    def spectrum(self, columns: int) -> GammaMixtureSpectrum:
        return GammaMixtureSpectrum(columns, 1 / self.length_scale, self.alpha)


@stored()
@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """exp(−γ Σ|x − z|), of the city-block distance as in scikit-learn.

    Parameters
    ----------
    gamma : float or None, default=None
        γ ≥ 0; None means 1/d as in scikit-learn.

    Examples
    --------
    >>> Laplacian(gamma=1)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number(self.gamma, "gamma", "Laplacian"))

    @property
    def reason(self) -> str:
        return "exp(−γ Σ|x − z|) is a product of Fourier transforms of Cauchy densities (Bochner)"

    def prepared(self, views: Views) -> PointRows:
        return views.points

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = apply_coordinate_loop(manhattan, left, right)
        apply_kernel(loops.ExponentialValue(resolve_gamma(self.gamma, left.columns)), tile)
        return tile

    def diagonal(self, side: PointRows) -> Array:
        return np.ones(len(side))

    def spectrum(self, columns: int) -> CauchySpectrum:
        return CauchySpectrum(columns, resolve_gamma(self.gamma, columns))
