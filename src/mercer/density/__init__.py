"""Kernel density estimation, histograms, kernel regression, and the classifiers built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.density._bandwidth import Bandwidth, Criterion
    from mercer.density._density import Density
    from mercer.density._histogram import HistogramDensity
    from mercer.density._kernel_bayes import KernelBayes
    from mercer.density._kernel_density import KernelDensity
    from mercer.density._kernel_regression import LocalLinear, NadarayaWatson, NadarayaWatsonClassifier
    from mercer.density._kernels import (
        Autocorrelation,
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
    from mercer.density._parzen_family import Parzen, ParzenParameters
    from mercer.density._plug_in import ImprovedSheatherJones, PlugIn
    from mercer.density._regions import HighestDensityRegion
    from mercer.density._rules import Rule, Scott, Silverman
    from mercer.density._windows import Windows
    from mercer.density.cross_validation import LeastSquaresCV, LikelihoodCV
    from mercer.density.named_rules import Adaptive, bandwidth_from

_MODULES = {
    "_bandwidth": ["Bandwidth", "Criterion"],
    "_density": ["Density"],
    "_histogram": ["HistogramDensity"],
    "_kernel_bayes": ["KernelBayes"],
    "_kernel_density": ["KernelDensity"],
    "_kernel_regression": ["LocalLinear", "NadarayaWatson", "NadarayaWatsonClassifier"],
    "_kernels": [
        "Autocorrelation",
        "Biweight",
        "Cosine",
        "Epanechnikov",
        "Exponential",
        "Gaussian",
        "SmoothingKernel",
        "Triangular",
        "Triweight",
        "Uniform",
        "smoothing_kernel_from",
    ],
    "_parzen_family": ["Parzen", "ParzenParameters"],
    "_plug_in": ["ImprovedSheatherJones", "PlugIn"],
    "_regions": ["HighestDensityRegion"],
    "_rules": ["Rule", "Scott", "Silverman"],
    "_windows": ["Windows"],
    "cross_validation": ["LeastSquaresCV", "LikelihoodCV"],
    "named_rules": ["Adaptive", "bandwidth_from"],
}
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
    "HistogramDensity",
    "ImprovedSheatherJones",
    "KernelBayes",
    "KernelDensity",
    "LeastSquaresCV",
    "LikelihoodCV",
    "LocalLinear",
    "NadarayaWatson",
    "NadarayaWatsonClassifier",
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
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
