"""A problem that no solver can lower."""

from __future__ import annotations

import numpy as np

from mercer.optim.problem import Problem, Slope
from mercer.stats.quadratic import HESSIAN


class Uphill(Problem):
    """A problem whose gradients point uphill."""

    def at(self, w: np.ndarray, order: int = HESSIAN) -> Slope:
        slope = super().at(w, order)
        return slope._replace(gradient=-slope.gradient)
