"""What is minimised on the features of a map, ψ(x) = Bᵀ t(x), that are never written out.

min over w of  Σ weight · loss(y, ψ(x)ᵀw + b + offset) + Σ λ/2 ‖w‖²,   one λ for each output
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.designs.mapped import MappedDesign
from mercer.designs.mapped_tensors import MappedTensors
from mercer.solvers.span.kernel_losses import RowLosses


@dataclass(frozen=True, eq=False)
class MappedProblem:
    """What is minimised: losses of rows seen through a map, and λ/2 times the squares of coefficients."""

    design: MappedDesign | MappedTensors
    losses: RowLosses
    strengths: Array  # (outputs,)
    #: no noise is smaller: what is left of responses that are fitted exactly is rounding
    least_noise: float = 0.0

    def pull(self, w: Array) -> Array:
        """The gradient of the penalty: λ w, and nothing for the intercepts."""
        return np.asarray(self.strengths * self.design.metric(w))

    def slopes(self, rows: slice, eta: Any) -> Any:
        """Of the losses of some rows, at their values: an array, or a tensor beside theirs."""
        return self.losses.part(rows).slopes(eta)[0]

    def sampled(self, rows: Array) -> MappedProblem:
        """Of some rows, with a penalty that weighs as much beside them as it does beside all."""
        share = len(rows) / self.design.n_rows
        return replace(
            self, design=self.design.take(rows), losses=self.losses.part(rows), strengths=share * self.strengths
        )
