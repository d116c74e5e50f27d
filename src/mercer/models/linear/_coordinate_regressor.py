"""What regressions with absolute values in the penalty have in common."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._errors import FitInterrupted
from mercer._warn import warn
from mercer.models.base import in_precision
from mercer.models.diagnosis import Finding
from mercer.models.linear._coordinate_fit import RANDOM, Fitted, fit
from mercer.models.linear._coordinate_points import WORKING_SETS, Terms
from mercer.models.linear._coordinate_streamed import fit_streamed
from mercer.models.linear.least_squares import LeastSquaresRegressor
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares.direct import Rows
from mercer.solvers.least_squares.streamed_rows import StreamedRows


class CoordinateRegressor(LeastSquaresRegressor, ABC):
    """A linear model with a penalty that makes coefficients vanish."""

    precompute: Any
    max_iter: int | None
    tol: float
    positive: bool
    selection: str

    def _takes_tensors(self) -> bool:
        return False

    def _reads_codes(self) -> bool:
        return False  # coordinates are taken one by one: columns are what is read

    def _terms(self, l1_ratio: float) -> Terms:
        return Terms(float(l1_ratio), self.fit_intercept, self.positive, self.tol, self.max_iter)

    def _warn_without_penalty(self, alpha: float) -> None:
        if alpha == 0:
            warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression "
                "estimator",
            )

    def _at(self, rows: Rows, alpha: float, l1_ratio: float, start: Any = None) -> Solution:
        """The solution at one penalty; what scikit-learn wants to know of it is set."""
        try:
            if isinstance(rows, StreamedRows):
                fitted = fit_streamed(rows, alpha, self._terms(l1_ratio), start=start)
            else:
                fitted = fit(rows, alpha, self._terms(l1_ratio), precompute=self.precompute, start=start)
        except FitInterrupted as stop:
            raise FitInterrupted(str(stop), self._noted(stop.solution, rows)) from None
        return self._noted(fitted, rows)

    def _noted(self, fitted: Fitted, rows: Rows) -> Solution:
        gaps = in_precision(np.array([point.gap for point in fitted.each]), rows.dtype)
        sweeps = [point.sweeps for point in fitted.each]
        single = len(sweeps) == 1
        self.dual_gap_ = gaps[0] if single else gaps
        self.n_iter_ = sweeps[0] if single else sweeps
        solution = fitted.solution
        if self.selection == "random" and solution.value.path == WORKING_SETS:
            return replace(solution, value=replace(solution.value, path=RANDOM))
        return solution

    def _store(self, solution: Solution, rows: Rows, y: Any) -> None:
        super()._store(solution, rows, y)
        moved = self._moved_by_rounding(solution.value, rows)
        if moved.any():
            gaps = np.square(np.sqrt(self.dual_gap_, dtype=np.float64) + moved * np.sqrt(0.5 / rows.total_weight))
            self.dual_gap_ = in_precision(gaps, rows.dtype)[() if np.ndim(self.dual_gap_) else 0]

    def _findings(self, solution: Solution) -> list[Finding]:
        found = super()._findings(solution)
        if not solution.value.coefficients.any():
            sentence = "Every coefficient is zero: the penalty outweighs what any column explains."
            found.append(Finding("empty", "note", sentence, "Choose a smaller alpha, e.g. by LassoCV."))
        return found

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix."""
        from sklearn.utils._sparse import _align_api_if_sparse

        return _align_api_if_sparse(sparse.csr_array(np.atleast_2d(self.coef_)))
