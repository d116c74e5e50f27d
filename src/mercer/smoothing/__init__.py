"""Smoothing: kernels laid around points, how wide they are, and the densities that come of it."""

from mercer.smoothing.autocorrelation import Autocorrelation
from mercer.smoothing.bandwidth import Bandwidth, Criterion
from mercer.smoothing.density import Density
from mercer.smoothing.family import Parzen, ParzenParameters
from mercer.smoothing.kernels import (
    Biweight,
    Cosine,
    Epanechnikov,
    Exponential,
    Gaussian,
    SmoothingKernel,
    Triangular,
    Triweight,
    Uniform,
    smoothing_kernel_from,
)
from mercer.smoothing.regions import HighestDensityRegion
from mercer.smoothing.rules import (
    Adaptive,
    ImprovedSheatherJones,
    LeastSquaresCV,
    LikelihoodCV,
    PlugIn,
    Rule,
    Scott,
    Silverman,
    bandwidth_from,
)
from mercer.smoothing.windows import Windows

__all__ = [
    "Adaptive",
    "Autocorrelation",
    "Bandwidth",
    "Biweight",
    "Cosine",
    "Criterion",
    "Density",
    "Epanechnikov",
    "Exponential",
    "Gaussian",
    "HighestDensityRegion",
    "ImprovedSheatherJones",
    "LeastSquaresCV",
    "LikelihoodCV",
    "Parzen",
    "ParzenParameters",
    "PlugIn",
    "Rule",
    "Scott",
    "Silverman",
    "SmoothingKernel",
    "Triangular",
    "Triweight",
    "Uniform",
    "Windows",
    "bandwidth_from",
    "smoothing_kernel_from",
]
