"""Kernels by scikit-learn's names."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mercer._errors import KernelError
from mercer._suggest import did_you_mean
from mercer.kernels._graphs import WeisfeilerLehman
from mercer.kernels._strings import Spectrum, Subsequence
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Cosine, Linear, Polynomial, Quadratic, Sigmoid
from mercer.kernels.function import FromFunction
from mercer.kernels.histograms import AdditiveChiSquared, ChiSquared, HistogramIntersection
from mercer.kernels.radial import RBF, Laplacian, Matern, RationalQuadratic

#: kernels by name
KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "quadratic": Quadratic,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "sigmoid": Sigmoid,
    "cosine": Cosine,
    "rbf": RBF,
    "laplacian": Laplacian,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
    "chi2": ChiSquared,
    "additive_chi2": AdditiveChiSquared,
    "intersection": HistogramIntersection,
    "spectrum": Spectrum,
    "subsequence": Subsequence,
    "weisfeiler_lehman": WeisfeilerLehman,
}

#: scikit-learn's names of parameters
PARAMETER_ALIASES = {"coef0": "constant"}
#: parameters that models of scikit-learn have for every kernel
MODEL_PARAMETERS = frozenset({"gamma", "degree", "constant"})


def kernel_from(kernel: object, **params: Any) -> Kernel:
    """Return a kernel from its name and parameters, a kernel itself, or a function k(x, z) or k(X, Z).

    Of scikit-learn's `gamma`, `degree` and `coef0`, a name takes those that its kernel has; the others have no effect.

    Examples
    --------
    >>> kernel_from("poly", gamma=0.5, degree=2, coef0=0)
    Polynomial(degree=2, gamma=0.5, constant=0.0)
    >>> kernel_from("rbf", gamma=0.5, degree=2)
    RBF(gamma=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel.replaced(**params)
    if isinstance(kernel, str):
        return _make_named(kernel, {PARAMETER_ALIASES.get(name, name): value for name, value in params.items()})
    if callable(kernel):
        return FromFunction(kernel)
    raise KernelError(f"{kernel!r} is not a kernel; give a Kernel, a function k(x, z), or one of {', '.join(KERNELS)}.")


def _make_named(name: str, params: dict[str, Any]) -> Kernel:
    if name not in KERNELS:
        raise KernelError(
            f"no kernel is called {name!r}. {did_you_mean(name, KERNELS)} A Kernel object such as RBF(gamma=…) or a "
            "function k(x, z) is accepted too."
        )
    chosen = KERNELS[name]
    known = {field.name for field in fields(chosen)}
    if unknown := sorted(set(params) - known - MODEL_PARAMETERS):
        raise KernelError(
            f"{chosen.__name__} has no parameter {unknown[0]!r}. {did_you_mean(unknown[0], sorted(known))}"
        )
    given = {key: value for key, value in params.items() if key in known}
    if chosen is ChiSquared and given.get("gamma", 1.0) is None:
        del given["gamma"]  # None means the kernel's default in scikit-learn's models
    return chosen(**given)
