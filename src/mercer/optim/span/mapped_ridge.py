"""Ridge regression on the features of a map for many penalties at once, from the eigenvalues of ZᵀWZ.

One pass over the rows sums ZᵀWZ, after which every penalty costs nothing more; a second one has the leave-one-out
errors, with Z V = t (B V) tile by tile. Nothing of the size of the rows times the features is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._errors import NotPositiveDefiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices import Observations
from mercer.matrices.mapped import MappedMatrix, TileMatrix
from mercer.optim.leave_one_out import TallSpectrum


@dataclass(frozen=True, eq=False)
class MappedRidge:
    """A ridge regression on the features of a map without an intercept: targets and weights of the rows."""

    design: MappedMatrix
    Y: Array  # (n, targets)
    weight: Array | None = None

    def __len__(self) -> int:
        return len(self.Y)

    def decompose(self) -> MappedEigenvalues:
        """Return the eigenvalues of ZᵀWZ = axes · values · axesᵀ."""
        Y, weight = self.Y, np.ones(len(self.Y)) if self.weight is None else self.weight
        with np.errstate(over="ignore", invalid="ignore"):
            gram = self.design.gram(weight, exactly=True)
            zeros = np.zeros((self.design.n_columns, Y.shape[1]))
            _, moment = self.design.swept(zeros, lambda rows, _: weight[rows, None] * Y[rows])
        if not (np.isfinite(gram).all() and np.isfinite(moment).all()):
            raise NotPositiveDefiniteError(
                "squares of the features are too large for float64, or not finite; divide the columns by their scale, "
                "or use kernel.normalised()."
            )
        with blas_for(len(gram)):
            values, axes = np.linalg.eigh(gram)
        known = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
        if not known.any():  # all features are 0: one direction is kept, in which all components are 0
            known[-1], values[-1] = True, 1.0
        values, axes = values[known], axes[:, known]
        return MappedEigenvalues(self, values, axes, axes.T @ moment)


@dataclass(frozen=True, eq=False)
class MappedEigenvalues:
    """The eigenvalues of ZᵀWZ that are above rounding."""

    system: MappedRidge
    values: Array
    axes: Array  # (features, k)
    along: Array  # (k, targets): axesᵀ Zᵀ W y

    def leave_one_out(self) -> MappedSpectrum:
        """Return the spectrum of t with the axes B V."""
        Y, weight, design = self.system.Y, self.system.weight, self.system.design
        squares = np.einsum("ij,ij->j", Y, Y if weight is None else weight[:, None] * Y)
        # may be below 0 by rounding, which cancels in the unexplained shares of small eigenvalues
        rest = squares - np.sum(self.along**2 / self.values[:, None], axis=0)
        total = float(len(Y) if weight is None else weight.sum())
        rows = Observations(TileMatrix.of(design.tiles), Y, weight)
        mean = (np.zeros(rows.shape[1]), np.zeros(rows.targets))
        axes = np.asarray(np.dot(design.back, self.axes))
        return MappedSpectrum(rows, mean, total, axes, self.values, self.along, rest, False)

    def coefficients(self, alpha: Array) -> Array:
        """Return the coefficients of the features, with the penalty of each target."""
        return np.asarray(self.axes @ (self.along / (self.values[:, None] + alpha)))


class MappedSpectrum(TallSpectrum):
    """The spectrum of t, whose axes are B V."""

    def generalised_errors(self, alphas: Array) -> Array:
        return np.maximum(super().generalised_errors(alphas), 0.0)
