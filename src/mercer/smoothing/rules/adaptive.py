"""Abramson's adaptive widths: kernels that are wider where points are sparse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.rules.named import bandwidth_from
from mercer.smoothing.rules.rule import Rule


@stored()
@dataclass(frozen=True)
class Adaptive(Rule):
    """The bandwidth of another rule, times (p̂(x_j)/g)^(−α) around each point (Abramson 1982; Silverman 1986, 5.3).

    Parameters
    ----------
    base : str, Rule, number or array, default="silverman-scaled"
        What p̂ is made with, and what is widened and narrowed; g is the geometric mean of p̂ over the points.
    sensitivity : float, default=0.5
        α from 0 (not at all) to 1 (as in nearest neighbours); Abramson's square root has less bias than any other.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(Adaptive("isj").choose(X, None, Gaussian()))
    h = 0.3497, by isj, wider where points are sparse (sensitivity 0.5)
    """

    base: Any = "silverman-scaled"
    sensitivity: float = 0.5

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        base = bandwidth_from(self.base, X, weight, kernel, names=names)
        return replace(base, sensitivity=self.sensitivity)
