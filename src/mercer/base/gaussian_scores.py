"""Log densities of normal columns within classes, arranged for compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._gpu import is_tensor, namespace
from mercer._gpu import scores as tensor_loops
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.base import score_loops
from mercer.families.gaussian import LOG_2PI, GaussianParameters
from mercer.stats.base import as_block


@stored(mean=floats("kd"), inverse_deviation=floats("kd"), constants=floats("kd"))
@dataclass(frozen=True)
class GaussianScores:
    """Log densities of rows whose columns are normal and independent within each class."""

    mean: Array
    inverse_deviation: Array
    constants: Array

    @classmethod
    def of(cls, parameters: GaussianParameters, informative: Array) -> Self:
        """Return the scores for `parameters`; columns that are not `informative` (unobserved or constant) add 0."""
        with np.errstate(divide="ignore"):
            constants = -0.5 * (LOG_2PI + np.log(parameters.variance))
            inverse = 1 / np.sqrt(parameters.variance)
        # with three zeros a column adds 0 to every score, whatever its value
        return cls(*(np.where(informative, values, 0.0) for values in (parameters.mean, inverse, constants)))

    def __call__(self, X: Any) -> Array:
        """Return log p(x|y), missing values integrated out."""
        block = as_block(X)
        loops = tensor_loops if is_tensor(block) else score_loops
        scores: Array = loops.gaussian_columns(block, self.mean, self.inverse_deviation, self.constants.sum(axis=1))
        if namespace(scores).isnan(scores).any():
            scores = loops.observed_gaussian_columns(block, self.mean, self.inverse_deviation, self.constants)
        return scores
