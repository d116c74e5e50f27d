"""`KernelRidge(approximate=…)`: the same objective over functions of features that stand for the kernel (lecture 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import KernelError
from mercer._typing import Array
from mercer.designs.mapped import MappedDesign
from mercer.families import IDENTITY, Gaussian
from mercer.families.response import Response
from mercer.features.nystroem import LandmarkMap
from mercer.kernels import Kernel
from mercer.models._kernel_choice import is_precomputed
from mercer.models.glm.one_mean import OneMean
from mercer.models.glm.solve import Limits
from mercer.models.kernel_models.approximate import Map, features_asked, features_of
from mercer.models.kernel_models.fit import fit_kernel
from mercer.models.kernel_models.machine import Fit, Machine
from mercer.models.kernel_models.ridge_task import Task
from mercer.solvers.span.mapped_newton import MappedFit
from mercer.solvers.span.mapped_ridge import MappedRidge

#: standard errors at which a fit has converged, and steps after which it is left at that
LIMITS = Limits(1e-8, 100)


class Features(NamedTuple):
    """A kernel, and the features that stand for it."""

    kernel: Kernel
    map: Map


@dataclass(frozen=True, eq=False)
class OnFeatures:
    """A task, and the features that are asked for, whatever the kernel will be."""

    task: Task
    asked: Any

    @classmethod
    def of(cls, model: Any, task: Task) -> OnFeatures | None:
        """None where the model is to be exact."""
        if model.approximate is None:
            return None
        if is_precomputed(model.kernel):
            raise KernelError(
                "approximate needs rows to compare, but kernel='precomputed' has all of their kernel matrix already; "
                "give X and a kernel, or approximate=None."
            )
        asked = features_asked(model, task.X)
        return None if asked is None else cls(task, asked)

    def features(self, kernel: Kernel) -> Features:
        return Features(kernel, features_of(self.asked, kernel, self.task.rows))

    def system(self, kernel: Kernel) -> tuple[Features, MappedRidge]:
        """What penalties are chosen by."""
        chosen = self.features(kernel)
        assert not isinstance(chosen.map, LandmarkMap)  # which is of tensors, and nothing is chosen among these
        design = MappedDesign(chosen.map.tiles(self.task.rows), chosen.map.back, intercept=False)
        return chosen, MappedRidge(design, self.task.data.y, self.task.data.weight)

    def fit(self, features: Features, alpha: Array, start: Array | None = None) -> Fit:
        """Solve, from coefficients of the features if there are any already; targets are in units of the task."""
        kind = OneMean(Response(Gaussian(), IDENTITY))
        machine = Machine(features.kernel, kind, alpha, False, LIMITS, map=features.map)
        begin = None if start is None else MappedFit(start, np.zeros(0))
        return fit_kernel(machine, self.task.rows, self.task.data, start=begin)
