"""What one factor p(x_S|y) adds to a linear form: features of its columns, and their weights in each class.

Softmax does not see what all classes have in common. Base measures are left out for that reason, and some weights are
relative to the classes' average, which keeps the digits that large common terms would cost.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import NoLinearFormError
from mercer._typing import Array
from mercer.families import Family, Histogram, Parameters
from mercer.models.generative.gaussian_scores import GaussianScores
from mercer.models.linear_forms.features import (
    Among,
    Centred,
    CentredMonomials,
    CentredSquares,
    ColumnStatistics,
    Indicators,
    ObservedColumns,
    RowStatistics,
    complete,
)

#: terms up to this size may cancel without spoiling the tenth decimal of a score
LARGEST_OFFSET = 1e5


@dataclass(frozen=True)
class LinearPiece:
    """`features(block)` (rows, features), with weights `coef` (classes, features) and `intercept` (classes,)."""

    features: Callable[[Any], Any]
    coef: Array
    intercept: Array
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not np.isfinite(self.coef).all():
            name = self.names[int(np.argwhere(~np.isfinite(self.coef))[0, 1])]
            raise NoLinearFormError(
                f"feature {name!r} has an infinite weight, because its probability is 0 in some class; "
                "fit the model with a smoothing (alpha) above 0."
            )

    def among(self, columns: Array) -> Self:
        """The same piece for a block that has other columns besides these, which say nothing."""
        return replace(self, features=Among(self.features, columns))

    @classmethod
    def of_columns(cls, names: Sequence[str], coef: Array, intercept: Array) -> Self:
        """The columns themselves are the features."""
        return cls(complete, coef, intercept, tuple(names))

    @classmethod
    def of_centred_columns(cls, names: Sequence[str], about: Array, coef: Array, intercept: Array) -> Self:
        """coef · (x − about) + intercept: a function of the columns themselves, unless that would cost digits."""
        offset = coef * about
        if np.abs(offset).sum(axis=1).max() > LARGEST_OFFSET:
            return cls(Centred(about), coef, intercept, tuple(_centred(names, about)))
        return cls.of_columns(names, coef, intercept - offset.sum(axis=1))

    @classmethod
    def of_levels(cls, codes: Callable[[Any], Array], names: Sequence[str], log_probability: Array) -> Self:
        """Indicators of levels, coded by `codes` as 0 … K−1; any other code says nothing."""
        return cls(Indicators(codes, len(names)), log_probability, np.zeros(len(log_probability)), tuple(names))

    @classmethod
    def of_family(
        cls, family: Family, names: Sequence[str], parameters: Parameters, *, informative: Array, gaps: Array
    ) -> Self:
        """T(x) of the `informative` columns, of which those in `gaps` may be missing."""
        said = np.flatnonzero(informative)
        eta = family.natural(type(parameters)(*(values[:, said] for values in parameters)))
        labels = [label for j in said.tolist() for label in _component_names(family, names[j], eta.shape[-1])]
        features = ObservedColumns(ColumnStatistics(family), said, gaps[said])
        return cls._of_observed(features, names, labels, _relative(eta), -family.log_partition(eta))

    @classmethod
    def of_gaussian(cls, names: Sequence[str], scores: GaussianScores, *, gaps: Array) -> Self:
        """x − m and (x − m)² of independent normal columns, m halfway between the classes."""
        mean, precision = np.nan_to_num(scores.mean), np.square(scores.inverse_deviation)
        about = mean.mean(axis=0)
        coef = np.stack([precision * (mean - about), -0.5 * precision], axis=-1)
        constants = scores.constants - 0.5 * precision * np.square(mean - about)
        labels = [label for name in _centred(names, about) for label in (name, f"{name}²")]
        features = ObservedColumns(CentredSquares(about), np.arange(len(names)), gaps)
        return cls._of_observed(features, names, labels, _relative(coef), constants)

    @classmethod
    def _of_observed(
        cls, features: ObservedColumns, names: Sequence[str], labels: list[str], coef: Array, constants: Array
    ) -> Self:
        """From `coef` (classes, columns, features of a column) and `constants` (classes, columns).

        The constants make up the intercept; the indicator of a missing column takes its constant back.
        """
        gaps = features.gaps
        labels = labels + [f"{names[j]} is missing" for j in features.columns[gaps]]
        weights = np.hstack([coef.reshape(len(coef), -1), -constants[:, gaps]])
        return cls(features, weights, constants.sum(axis=1), tuple(labels))

    @classmethod
    def of_shared_variance(cls, names: Sequence[str], scores: GaussianScores) -> Self:
        """The columns themselves, for normal columns with one variance in all classes (lecture 2: (μ₁ − μ₀)/σ²)."""
        mean = np.nan_to_num(scores.mean)
        about = mean.mean(axis=0)
        coef = np.square(scores.inverse_deviation) * (mean - about)
        intercept = (scores.constants - 0.5 * coef * (mean - about)).sum(axis=1)
        return cls.of_centred_columns(names, about, coef, intercept)

    @classmethod
    def of_rows(cls, family: Family, names: Sequence[str], parameters: Parameters) -> Self:
        """T(x) of rows, with one component for each column."""
        eta = family.natural(parameters)
        labels = tuple(f"T({name})" for name in names)
        return cls(RowStatistics(family), _relative(eta), -family.log_partition(eta), labels)

    @classmethod
    def of_covariances(
        cls, names: Sequence[str], about: Array, away: Array, precision: Array, log_determinant: Array
    ) -> Self:
        """All monomials of degree 1 and 2 of x − about, for N(about + away, Σ) with a Σ of its own in each class."""
        linear = np.einsum("kij,kj->ki", precision, away)
        i, j = np.triu_indices(len(about))
        quadratic = np.where(i == j, -0.5, -1.0) * precision[:, i, j]
        centred = _centred(names, about)
        products = [f"{centred[a]}²" if a == b else f"{centred[a]}{centred[b]}" for a, b in zip(i, j, strict=True)]
        intercept = -0.5 * (np.einsum("ki,ki->k", linear, away) + log_determinant)
        coef = _relative(np.hstack([linear, quadratic]))
        return cls(CentredMonomials(about), coef, intercept, (*centred, *products))


def _relative(weights: Array) -> Array:
    """Weights less their average over the classes."""
    with np.errstate(invalid="ignore"):  # an infinite weight is refused by the piece, by name
        return np.asarray(weights - weights.mean(axis=0))


def _centred(names: Sequence[str], about: Array) -> list[str]:
    return [f"({name} − {centre:.6g})" for name, centre in zip(names, about, strict=True)]


def _component_names(family: Family, name: str, order: int) -> list[str]:
    """Names of the components of T of a column."""
    if isinstance(family, Histogram):
        return [f"{name} from {low:g} to {high:g}" for low, high in itertools.pairwise(family.edges.tolist())]
    return [name] if order == 1 else [f"T{component + 1}({name})" for component in range(order)]
