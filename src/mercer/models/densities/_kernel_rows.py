"""The rows that a kernel density is made of, some of whose values may be missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from mercer._stored import floats, optional, stored
from mercer._typing import Array
from mercer.families.missing_patterns import distinct_patterns
from mercer.models._finite import adds_up
from mercer.models.base import refuse_where


@stored(X=floats("nd"), weight=optional(floats("n", least=0)), tag="DensityRows")
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows and their weights; None if all are 1."""

    X: Array
    weight: Array | None
    is_complete: bool = True

    def joined(self, other: Self) -> Rows:
        """These rows and then those of `other`."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weights, other.weights])
        return Rows(np.concatenate([self.X, other.X]), weight, self.is_complete and other.is_complete)

    @property
    def weights(self) -> Array:
        return np.ones(len(self.X)) if self.weight is None else self.weight

    @cached_property
    def observed(self) -> Array:
        """Where there is a value."""
        return ~np.isnan(self.X)

    def observing(self, columns: list[int]) -> Array:
        """Numbers of the rows that have a value in all of these columns."""
        return np.flatnonzero(self.observed[:, columns].all(axis=1))

    @property
    def weighs_nothing(self) -> bool:
        """Whether there are no rows, or none of any weight."""
        return not len(self.X) or (self.weight is not None and not self.weight.any())

    def taken(self, rows: Array, columns: list[int]) -> Rows:
        return Rows(self.X[rows][:, columns], None if self.weight is None else self.weight[rows])


def patterns(X: Array) -> list[tuple[list[int], Array]]:
    """Which columns have values, and which rows have those and no others."""
    kinds, which = distinct_patterns(~np.isnan(X))
    return [(np.flatnonzero(kind).tolist(), np.flatnonzero(which == i)) for i, kind in enumerate(kinds)]


def refuse_values(X: Array, names: list[str], *, missing: bool, infinite: bool = False) -> None:
    """Raise an error that names the first NaN, unless values may be missing, or infinity, unless it has a meaning."""
    if adds_up(X):
        return
    refuse_where(
        lambda values: (np.isnan(values) & (not missing)) | (np.isinf(values) & (not infinite)),
        X,
        names,
        gaps="KernelDensity does not accept missing values encoded as NaN; drop such rows, or pass "
        'missing="integrate", which integrates them out',
    )
