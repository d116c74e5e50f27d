"""Generative classifiers with data they are made for: what the laws of `test_generative.py` are tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer
from mercer.density import Parzen


@dataclass(frozen=True)
class Case:
    """A model to be, and rows that suit it."""

    name: str
    options: dict[str, Any]
    X: Any
    y: Any

    def make(self) -> Any:
        """The unfitted model."""
        return getattr(mercer, self.model)(**self.options)

    @property
    def model(self) -> str:
        return self.name.split()[0]

    @property
    def smooths(self) -> bool:
        """Return whether its densities are kernel densities: refitted to its own draws, they are smoother."""
        return "windows" in self.name or self.model == "KernelBayes"

    def __str__(self) -> str:
        return self.name


def measurements(rng: np.random.Generator) -> tuple[Any, Any]:
    y = rng.integers(3, size=240)
    return rng.normal(size=(240, 4)) * [1, 5, 0.5, 30] + np.outer(y, [1, -2, 0.3, 10]) + 100, y


def gaps(rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = measurements(rng)
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), y


def counts(rng: np.random.Generator) -> tuple[Any, Any]:
    y = rng.integers(3, size=240)
    return rng.poisson(0.3 + 2 * rng.random((3, 7))[y]).astype(float), np.array(["x", "y", "z"])[y]


def categories(rng: np.random.Generator) -> tuple[Any, Any]:
    y = rng.integers(2, size=240)
    return np.column_stack([rng.integers(k, size=240) * (1 + y) for k in (2, 3, 5)]).astype(float), y


MAKERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    # scikit-learn scales var_smoothing by rows that have no weight, too: tests/naive_bayes/test_gaussian_nb.py
    "GaussianNB": (measurements, {"var_smoothing": 0.0}),
    "GaussianNB shared": (measurements, {"var_smoothing": 0.0, "shared_variance": True}),
    "BernoulliNB": (counts, {}),
    "BernoulliNB without pseudo-counts": (counts, {"alpha": 0.0}),
    "MultinomialNB": (counts, {}),
    "MultinomialNB without pseudo-counts": (counts, {"alpha": 0.0}),
    "CategoricalNB": (categories, {}),
    "ComplementNB": (counts, {}),
    "NaiveBayes": (measurements, {}),
    # rules for bandwidths take a row of weight two for less than two rows
    "NaiveBayes with windows": (measurements, {"families": Parzen(bandwidth=1.5)}),
    "KernelBayes": (measurements, {"bandwidth": 2.5}),
    "KernelBayes of Epanechnikov": (measurements, {"kernel": "epanechnikov", "bandwidth": 60.0}),
    "GaussianDiscriminant": (measurements, {}),
    "GaussianDiscriminant shared full": (measurements, {"covariance": "shared full", "shrinkage": "oas"}),
    "GaussianDiscriminant diagonal": (measurements, {"covariance": "diagonal"}),
    "GaussianDiscriminant shared spherical": (measurements, {"covariance": "shared spherical"}),
    "GaussianDiscriminant by Ledoit and Wolf": (measurements, {"shrinkage": "ledoit-wolf"}),
    "GaussianDiscriminant with gaps": (gaps, {"tol": 1e-12}),
    "GaussianDiscriminant shared full with gaps": (gaps, {"covariance": "shared full", "tol": 1e-12}),
    "LinearDiscriminantAnalysis": (measurements, {}),
    "LinearDiscriminantAnalysis eigen": (measurements, {"solver": "eigen", "shrinkage": "auto"}),
    "LinearDiscriminantAnalysis lsqr": (measurements, {"solver": "lsqr"}),
    "QuadraticDiscriminantAnalysis": (measurements, {}),
    "QuadraticDiscriminantAnalysis eigen": (measurements, {"solver": "eigen", "shrinkage": "auto"}),
}


#: all that are learnt from a statistic
ALL_CASES = [Case(name, options, *data(np.random.default_rng(7))) for name, (data, options) in MAKERS.items()]
#: models that are a likelihood
CASES = [case for case in ALL_CASES if case.model != "ComplementNB"]
