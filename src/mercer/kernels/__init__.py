"""Positive definite kernels: an algebra of frozen values, and how their matrices are evaluated."""

from mercer.kernels._algebra import Columns, Normalised, Of, Power, Product, Scaled, Sum
from mercer.kernels._graphs import WeisfeilerLehman
from mercer.kernels._strings import Spectrum, Subsequence
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Cosine, Linear, Polynomial, Quadratic, Sigmoid
from mercer.kernels.explicit import FeatureMap
from mercer.kernels.function import FromFunction
from mercer.kernels.gram import Gram
from mercer.kernels.histograms import AdditiveChiSquared, ChiSquared, HistogramIntersection
from mercer.kernels.holder import KernelHolder
from mercer.kernels.named import kernel_from
from mercer.kernels.one_feature import Constant, OneDimensional
from mercer.kernels.positive_definite import PositiveDefinite, check_matrix, check_on_sample, check_positive_definite
from mercer.kernels.radial import RBF, Laplacian, Matern, RationalQuadratic

__all__ = [
    "RBF",
    "AdditiveChiSquared",
    "ChiSquared",
    "Columns",
    "Constant",
    "Cosine",
    "FeatureMap",
    "FromFunction",
    "Gram",
    "HistogramIntersection",
    "Kernel",
    "KernelHolder",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalised",
    "Of",
    "OneDimensional",
    "Polynomial",
    "PositiveDefinite",
    "Power",
    "Product",
    "Quadratic",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "WeisfeilerLehman",
    "check_matrix",
    "check_on_sample",
    "check_positive_definite",
    "kernel_from",
]
