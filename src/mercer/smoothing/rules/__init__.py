"""Rules that choose a bandwidth from points, and how they are called."""

from mercer.smoothing.rules.adaptive import Adaptive
from mercer.smoothing.rules.crossvalidation import LeastSquaresCV, LikelihoodCV
from mercer.smoothing.rules.isj import ImprovedSheatherJones
from mercer.smoothing.rules.named import RULES, bandwidth_from
from mercer.smoothing.rules.plugin import PlugIn
from mercer.smoothing.rules.reference import Scott, Silverman, UnscaledScott, UnscaledSilverman
from mercer.smoothing.rules.rule import Rule

__all__ = [
    "RULES",
    "Adaptive",
    "ImprovedSheatherJones",
    "LeastSquaresCV",
    "LikelihoodCV",
    "PlugIn",
    "Rule",
    "Scott",
    "Silverman",
    "UnscaledScott",
    "UnscaledSilverman",
    "bandwidth_from",
]
