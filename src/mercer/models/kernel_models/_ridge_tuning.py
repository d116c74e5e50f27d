"""Choosing the penalty and the width of kernel ridge regression by errors that are known in closed form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DataError, PenaltyError
from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.models.linear.ridge_tuning import squared_errors
from mercer.solvers.least_squares.leave_one_out import TallSpectrum, WideSpectrum, candidates, least
from mercer.solvers.span.kernel_ridge import System
from mercer.solvers.span.kernel_spectrum import Eigenvalues, eigenvalues
from mercer.solvers.span.mapped_ridge import MappedEigenvalues, MappedRidge


@stored(alpha=reals(), alphas=reals("a"), errors=reals("a"))
@dataclass(frozen=True, eq=False)
class Tried:
    """One kernel with its best penalty, for each target, and the errors of all that were tried."""

    kernel: Any
    eigenvalues: Eigenvalues | MappedEigenvalues
    alpha: Array  # (targets,)
    error: float
    alphas: Array
    errors: Array

    def left_out(self) -> Array:
        """Predictions of the rows, each from all others: (n, targets)."""
        each = np.unique(self.alpha)
        errors = np.concatenate(list(self.eigenvalues.leave_one_out().errors(each, lambda found: found.values)))
        own = np.searchsorted(each, self.alpha)
        return np.asarray(self.eigenvalues.system.Y - errors[:, np.arange(len(own)), own])


def best_of(tried: Iterable[tuple[Any, System | MappedRidge]], alpha: Any, method: str) -> tuple[Tried, Array]:
    """The kernel with the smallest error, and the errors of all; `alpha` is None where it is to be chosen too.

    One decomposition for each kernel; only the best one is kept.
    """
    best, errors = None, []
    for kernel, system in tried:
        one = _tried(kernel, system, alpha, method)
        errors.append(one.error)
        if best is None or one.error < best.error:
            best = one
        del one
    assert best is not None
    return best, np.array(errors)


def _tried(kernel: Any, system: System | MappedRidge, alpha: Any, method: str) -> Tried:
    if len(system) < 2:
        raise DataError(
            f"Found array with {len(system)} sample(s) while a minimum of 2 is required to leave one out: n_samples = "
            "1. Give more rows, or a fixed alpha and gamma."
        )
    if alpha is not None and (alpha == 0).any():
        raise PenaltyError(
            "gamma is chosen by predicting each row from the others, for which alpha has to be above 0, but alpha is "
            "0. Give a small one such as 1e-6, or a single gamma."
        )
    decomposed = eigenvalues(system) if isinstance(system, System) else system.decomposed()
    spectrum = decomposed.leave_one_out()
    if alpha is None:
        alphas = candidates(spectrum)
        errors = _errors(spectrum, alphas, method).mean(axis=1)
        best = least(spectrum, alphas, errors)
        return Tried(kernel, decomposed, np.full(system.Y.shape[1], alphas[best]), float(errors[best]), alphas, errors)
    alphas, place = np.unique(alpha, return_inverse=True)
    errors = _errors(spectrum, alphas, method)[place, np.arange(len(place))]
    return Tried(kernel, decomposed, alpha, float(errors.mean()), alphas, np.array([errors.mean()]))


def _errors(spectrum: WideSpectrum | TallSpectrum, alphas: Array, method: str) -> Array:
    """(penalties, targets)."""
    return spectrum.generalised(alphas) if method == "gcv" else squared_errors(spectrum, spectrum.rows, alphas)
