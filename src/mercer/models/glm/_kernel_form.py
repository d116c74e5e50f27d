"""`GLM(kernel=…)`: the same families, links and L2 penalty, fitted to functions in the span of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import MercerWarning, UnsuitableSolverError
from mercer._typing import Array
from mercer.families import Family, Link, link_from, penalty_from
from mercer.families.penalties import Strengths
from mercer.kernels import Kernel, kernel_from
from mercer.models._kernel_rows import checked_rows, refuse_no_kernel
from mercer.models._progress import watched
from mercer.models._refusal import refuse_no_target
from mercer.models._tensor_kernels import kernel_plan, of_rows, responses
from mercer.models.base import checked_weight
from mercer.models.diagnosis import Diagnosis
from mercer.models.glm._overdispersion import no_overdispersion, overdispersion
from mercer.models.glm.inputs import read_offset
from mercer.models.glm.kind import Kind
from mercer.models.glm.one_mean import OneMean
from mercer.models.glm.solve import Limits, Solved
from mercer.models.glm.target import read_target
from mercer.models.kernel_models.approximate import features_for
from mercer.models.kernel_models.feature_function import Function
from mercer.models.kernel_models.fit import SOLVERS, fit_kernel
from mercer.models.kernel_models.machine import Data, Fit, KernelFitInterrupted, Machine, not_converged, strength_of
from mercer.solvers.choose import Choice
from mercer.solvers.span.kernel_freedom import used_degrees
from mercer.solvers.span.kernel_losses import constant

#: attributes of a fit with a kernel, and of one without
OWN = ("dual_coef_", "X_fit_", "kernel_", "approximation_", "_function")
OTHERS = ("coef_", "coefficient_names_", "_terms", "_w")


class KernelForm(ABC):
    """The part of `GLM` that fits functions of a kernel."""

    kernel: Any
    approximate: Any
    penalty: Any
    link: Any
    solver: str
    fit_intercept: bool
    warm_start: bool
    weight_kind: str
    verbose: int
    _kind: Kind
    _function: Function

    @property
    @abstractmethod
    def _limits(self) -> Limits: ...

    @abstractmethod
    def _kind_of(self, family: Family, link: Link, classes: Array | None) -> Kind: ...

    def _learn_function(
        self, family: Family, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any
    ) -> tuple[MercerWarning, ...]:
        before = getattr(self, "_function", None) if self.warm_start else None
        kernel = kernel_from(self.kernel)
        X, y = self._checked_rows(kernel, X, y)
        given = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
        sample_weight, offset, exposure = (of_rows(values, X, name) for name, values in given.items())
        machine, data = self._machine(family, kernel, y, checked_weight(sample_weight, y), offset, exposure)
        machine = replace(machine, map=features_for(self, kernel, data.counted(X)))
        outputs = getattr(machine.kind.response, "columns", 1)  # type: ignore[attr-defined]
        same = before is not None and before.alpha.shape == (len(y), outputs)
        with watched(self, verbose=self.verbose, X=X, y=y) as watch:
            try:
                fit = fit_kernel(machine, X, data, start=before if same else None, progress=watch.progress)
            except KernelFitInterrupted as stop:
                self._store_function(stop.fit, kernel, X)
                if watch.stopped:
                    return ()
                raise
        self._store_function(fit, kernel, X)
        return not_converged(fit, self._limits)

    def _checked_rows(self, kernel: Kernel, X: Any, y: Any) -> tuple[Any, Any]:
        refuse_no_target(self, y, "response")
        X = checked_rows(self, kernel, X, reset=True)
        y = responses(y, X)
        refuse_no_kernel(kernel, X)
        return X, y

    def _machine(
        self, family: Family, kernel: Kernel, y: Any, weight: Array | None, offset: Any, exposure: Any
    ) -> tuple[Machine, Data]:
        if self.solver not in SOLVERS:
            raise UnsuitableSolverError(
                f"solver={self.solver!r} has no kernel form; use 'newton' (K in memory), 'newton-cg' (K by tiles), or "
                "'auto'."
            )
        link = link_from(self.link, family)
        target = read_target(family, y, weight)
        kind = self._kind_of(family, link, target.classes)
        data = Data(target.values, weight, read_offset(offset, exposure, link, len(y)))
        kind.problem(constant(data.y, weight, data.offset), Strengths.none(1))  # refuses offsets of classes
        strength = strength_of(penalty_from(self.penalty))
        return Machine(kernel, kind, strength, self.fit_intercept, self._limits, self.solver), data

    def _store_function(self, fit: Fit, kernel: Kernel, X: Any) -> None:
        for name in OTHERS:
            self.__dict__.pop(name, None)
        one = isinstance(fit.kind, OneMean)
        self._kind, self._function, function = fit.kind, fit.function, fit.function
        self.kernel_, self.X_fit_ = kernel, function.rows
        self.dual_coef_ = function.alpha[:, 0] if one else function.alpha
        self.intercept_ = float(function.intercept[0]) if one else self._kind.linear(function.intercept[None])[0]
        self.family_ = fit.kind.family
        problem, w = fit.as_column()
        solved = Solved(problem, replace(fit.solution, value=w), Choice("newton", "a kernel"))
        used = used_degrees(fit.problem(), fit.solution.value.values) if one else np.nan
        told = fit.kind.figures(solved, used, self.weight_kind)
        self.deviance_, self.null_deviance_ = told.deviance, told.null_deviance
        self.dispersion_, self.df_residual_ = told.dispersion, told.df_residual
        self.log_likelihood_ = told.log_likelihood
        self.n_iter_ = max(1, len(fit.solution.trace) - 1)
        self.certificate_ = fit.solution.certificate
        self.__dict__.pop("approximation_", None)
        if fit.approximation is not None:
            self.approximation_ = fit.approximation
        self.plan_ = kernel_plan(fit.path, X, exact=fit.is_exact)
        self.diagnosis_ = Diagnosis((*overdispersion(self.family_, told), *no_overdispersion(self.family_)))
