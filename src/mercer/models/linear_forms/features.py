"""Feature maps of linear forms: a block of data -> a matrix of sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import NonFiniteError
from mercer._stored import stored
from mercer._typing import Array
from mercer.families import Family
from mercer.models.base import is_sparse
from mercer.stats.base import as_block


def complete(block: Any) -> Any:
    """The block itself, if nothing is missing in it."""
    _refuse(np.isnan(block.data if is_sparse(block) else block))
    return block


@stored()
@dataclass(frozen=True)
class ColumnStatistics:
    """T(x) of columns that a scalar family describes."""

    family: Family

    def __call__(self, block: Any) -> Array:
        T = self.family.sufficient(block)
        return T.reshape(len(T), -1)


@stored()
@dataclass(frozen=True)
class RowStatistics:
    """T(x) of rows that a family of vectors describes."""

    family: Family

    def __call__(self, block: Any) -> Array:
        return self.family.sufficient(complete(block))


@stored()
@dataclass(frozen=True)
class Centred:
    """x − about."""

    about: Array

    def __call__(self, block: Any) -> Array:
        return np.asarray(complete(as_block(block)) - self.about)


@stored()
@dataclass(frozen=True)
class CentredSquares:
    """x − about and (x − about)² of every column: without the centre, columns far from zero would lose their digits."""

    about: Array

    def __call__(self, block: Any) -> Array:
        x = block - self.about
        return np.stack([x, np.square(x)], axis=-1).reshape(len(x), -1)


@stored()
@dataclass(frozen=True)
class CentredMonomials:
    """All monomials of degree 1 and 2 of x − about."""

    about: Array

    def __call__(self, block: Any) -> Array:
        x = complete(as_block(block)) - self.about
        i, j = np.triu_indices(x.shape[1])
        return np.hstack([x, x[:, i] * x[:, j]])


@stored()
@dataclass(frozen=True)
class Indicators:
    """One column for each of the codes 0 … levels−1; a row of zeros for any other."""

    codes: Callable[[Any], Array]
    levels: int

    def __call__(self, block: Any) -> Array:
        return np.asarray(self.codes(block)[:, None] == np.arange(self.levels), dtype=float)


@stored()
@dataclass(frozen=True)
class Among:
    """Features of some columns of a block."""

    features: Callable[[Any], Any]
    columns: Array

    def __call__(self, block: Any) -> Any:
        return self.features(block[:, self.columns])


@stored()
@dataclass(frozen=True)
class ObservedColumns:
    """Features of some columns, 0 where these are missing, and an indicator of that for the columns in `gaps`."""

    features: Callable[[Array], Array]
    columns: Array
    gaps: Array

    def __call__(self, block: Any) -> Array:
        x = as_block(block)[:, self.columns].astype(float)
        missing = np.isnan(x)
        _refuse(missing[:, ~self.gaps])
        features = self.features(x)
        per_column = features.shape[1] // max(1, x.shape[1])
        seen = np.where(np.repeat(missing, per_column, axis=1), 0.0, features)
        return np.hstack([seen, missing[:, self.gaps].astype(float)])


def _refuse(missing: Array) -> None:
    if missing.any():
        raise NonFiniteError(
            "the linear form has no term for this missing value: none was missing in its column when the model was "
            "fitted, or several columns are described together. Use predict_log_proba, which integrates it out."
        )
