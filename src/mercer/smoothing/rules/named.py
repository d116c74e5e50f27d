"""Bandwidths as people write them: numbers, vectors, matrices, rules, and rules by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer._errors import BandwidthError
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.rules.crossvalidation import LeastSquaresCV, LikelihoodCV
from mercer.smoothing.rules.isj import ImprovedSheatherJones
from mercer.smoothing.rules.plugin import PlugIn
from mercer.smoothing.rules.reference import Scott, Silverman, UnscaledScott, UnscaledSilverman
from mercer.smoothing.rules.rule import Rule

RULES: dict[str, Rule] = {
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
    """The rule of this name."""
    if name not in RULES:
        raise BandwidthError(f"no rule for bandwidths is called {name!r}. {did_you_mean(name, RULES)}")
    return RULES[name]


def bandwidth_from(
    bandwidth: Any, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
) -> Bandwidth:
    """The bandwidth that is meant, chosen from the points where a rule is given.

    Parameters
    ----------
    bandwidth : number, array, Bandwidth, Rule or str
        h, one h per column, the matrix Σ, an object, or the name of a rule.
    X, weight, kernel, names
        What a rule chooses by: see `Rule.choose`.

    Returns
    -------
    Bandwidth
        One that fits the columns of `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
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
