"""Normal class-conditional densities with diagonal covariances: columns are independent given the class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._stored import flags, floats, stored
from mercer._typing import Array
from mercer.families.gaussian import GaussianParameters
from mercer.models.discriminants._covariance import AnyShrinkage, FixedShrinkage, Structure
from mercer.models.discriminants._singular import singular_class
from mercer.models.generative.gaussian_scores import GaussianScores
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.solvers.gaps.em import Words
from mercer.stats import ColumnMoments
from mercer.stats.base import ratio


@stored(mean=floats("kd"), variance=floats("k? d?"), seen=flags("k"), observed=flags("d"), gaps=flags("d"))
@dataclass(frozen=True)
class IndependentClasses:
    """N(mean, variance) for each class and column; `variance` broadcasts against (classes, columns)."""

    mean: Array
    variance: Array
    seen: Array  # (classes,): a class without a row cannot produce any
    observed: Array  # (columns,): a column that was never observed says nothing
    gaps: Array  # (columns,): whether a value was missing
    words: Words

    @classmethod
    def of(
        cls, moments: ColumnMoments, rows: Array, structure: Structure, shrinkage: AnyShrinkage | None, words: Words
    ) -> Self:
        """Maximum likelihood in closed form, missing values integrated out, from moments of classes of so many rows.

        What a class has never observed of a column it takes from all classes together.
        """
        together = moments.pooled()
        observed = together.rows[0] > 0
        classes, columns = structure.shared, structure.shape == "spherical"
        variance = _variance(moments, classes=classes, columns=columns)
        variance = np.where(np.isnan(variance), _variance(together, classes=False, columns=columns), variance)
        return cls(
            np.where(moments.rows > 0, moments.mean, together.mean),
            _shrunk(variance, observed, shrinkage),
            rows > 0,
            observed,
            together.rows[0] < rows.sum(),
            words,
        )._checked()

    def _checked(self) -> Self:
        """Refuse a variance of zero, by class and column."""
        variance = np.broadcast_to(np.where(self.observed, self.variance, 1.0), self.mean.shape)
        flat = self.seen & (variance <= 0).any(axis=1)
        if flat.any():
            owner = self.words.owner if len(self.variance) == 1 else self.words.groups[int(np.argmax(flat))]
            raise singular_class(variance[np.argmax(flat)], owner, self.words.columns)
        return self

    @cached_property
    def _scores(self) -> GaussianScores:
        variance = np.broadcast_to(np.where(self.seen[:, None], self.variance, 1.0), self.mean.shape)
        return GaussianScores.of(GaussianParameters(self.mean, variance), self.observed)

    def score(self, X: Any) -> Array:
        """log p(x|y), missing values integrated out."""
        scores = self._scores(X)
        scores[:, ~self.seen] = -np.inf
        return scores

    def base(self, X: Any) -> Array:
        """Nothing: `score` leaves nothing out."""
        return np.zeros(X.shape[0])

    def sample(self, codes: Array, rng: np.random.Generator) -> Array:
        """One row for each class code; NaN in columns that were never observed."""
        deviation = np.sqrt(np.broadcast_to(np.where(self.observed, self.variance, np.nan), self.mean.shape))
        return np.asarray(self.mean[codes] + deviation[codes] * rng.standard_normal((len(codes), self.mean.shape[1])))

    def linear_piece(self) -> LinearPiece:
        """The features and weights with which rows are a softmax of a linear function."""
        if len(self.variance) == 1:
            return LinearPiece.of_shared_variance(self.words.columns, self._scores)
        return LinearPiece.of_gaussian(self.words.columns, self._scores, gaps=self.gaps)


def _variance(moments: ColumnMoments, *, classes: bool, columns: bool) -> Array:
    """Variances pooled over the classes, the columns, or both; NaN where nothing was observed."""
    axes = tuple(axis for axis, pool in enumerate((classes, columns)) if pool)
    scatter, weight = (a.sum(axis=axes, keepdims=True) for a in (moments.scatter, moments.weight))
    return np.where(weight > 0, ratio(scatter, weight), np.nan)


def _shrunk(variance: Array, observed: Array, shrinkage: AnyShrinkage | None) -> Array:
    """A fixed shrinkage evens out the variances; the others pull correlations towards zero, where they are already."""
    if not isinstance(shrinkage, FixedShrinkage) or variance.shape[1] == 1:
        return variance
    evened = variance[:, observed].mean(axis=1, keepdims=True)
    return np.asarray((1 - shrinkage.amount) * variance + shrinkage.amount * evened)
