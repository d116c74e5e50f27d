"""Bandwidths as users give them: numbers, vectors, matrices, rules, names of rules, and adaptive widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mercer._errors import BandwidthError
from mercer._stored import stored
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import SmoothingKernel
from mercer.density._plug_in import ImprovedSheatherJones, PlugIn
from mercer.density._rules import Rule, Scott, Silverman, UnscaledScott, UnscaledSilverman
from mercer.density.cross_validation import LeastSquaresCV, LikelihoodCV

BANDWIDTH_RULES: dict[str, Rule] = {
    "scott": UnscaledScott(),
    "silverman": UnscaledSilverman(),
    "scott-scaled": Scott(),
    "silverman-scaled": Silverman(),
    "isj": ImprovedSheatherJones(),
    "plugin": PlugIn(),
    "likelihood-cv": LikelihoodCV(),
    "least-squares-cv": LeastSquaresCV(),
}


def rule_named(name: str) -> Rule:
    """Return the rule of this name."""
    if name not in BANDWIDTH_RULES:
        raise BandwidthError(f"there is no bandwidth rule {name!r}. {did_you_mean(name, BANDWIDTH_RULES)}")
    return BANDWIDTH_RULES[name]


def bandwidth_from(
    bandwidth: Any, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
) -> Bandwidth:
    """Return a bandwidth from the parameter of an estimator; a rule chooses it from the points.

    Parameters
    ----------
    bandwidth : number, array, Bandwidth, Rule or str
        h, one h per column, the matrix Σ, an object, or the name of a rule.
    X, weight, kernel, names
        Arguments of the rule: see `Rule.choose`.

    Returns
    -------
    Bandwidth
        A bandwidth that fits the columns of `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
    >>> rows = np.random.default_rng(0).normal(size=(100, 1))
    >>> print(bandwidth_from("silverman", rows, None, Gaussian()))
    h = 0.4217, by silverman
    >>> print(bandwidth_from(0.3, rows, None, Gaussian()))
    h = 0.3, given
    """
    if isinstance(bandwidth, str):
        bandwidth = rule_named(bandwidth)
    if isinstance(bandwidth, Rule):
        return bandwidth.choose(X, weight, kernel, names=names)
    chosen = bandwidth if isinstance(bandwidth, Bandwidth) else Bandwidth(bandwidth)
    return chosen.check(X.shape[1])


@stored()
@dataclass(frozen=True)
class Adaptive(Rule):
    """Abramson's adaptive widths: the bandwidth of another rule times (p̂(x_j)/g)^(−α) around each point.

    Parameters
    ----------
    base : str, Rule, number or array, default="silverman-scaled"
        Rule for the pilot density p̂ and for the widths that are adapted; g is the geometric mean of p̂ over the
        points.
    sensitivity : float, default=0.5
        α from 0 (not at all) to 1 (as in nearest neighbours); Abramson's square root has less bias than any other.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
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
