"""Moments of rows with missing values: one `ScatterMoments` for every pattern of observed columns.

Rows that lack the same columns form a complete data set of the others. Their moments are sufficient for the likelihood
of a Gaussian, so that EM can run on the patterns without reading the rows again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import NonFiniteError, TooManyPatternsError, UnseenRowsError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import length, mapping, part_of, stored
from mercer._typing import Array
from mercer.families.multivariate import distinct_patterns
from mercer.stats.base import Statistic, as_block, check_same_shape
from mercer.stats.centred import ScatterMoments

MAX_PATTERNS = 10_000


@stored(
    lambda own: all(
        len(mask) == own.columns and set(mask) <= {False, True} and sum(mask) == part.pilot.shape[1]
        for mask, part in own.patterns.items()
    ),
    n_groups=length("g"),
    columns=length("d"),
    patterns=mapping(part_of(bytes), part_of(ScatterMoments, g="g")),
)
@dataclass(frozen=True)
class PatternMoments(Statistic):
    """`patterns` maps an observed mask (one byte per column) to the moments of those columns.

    A pattern is kept as long as a row has it. Rows without any observed value form a pattern without columns,
    which only counts them.
    """

    n_groups: int
    columns: int
    patterns: dict[bytes, ScatterMoments]

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        return cls(groups, columns, {})

    @property
    def groups(self) -> int:
        return self.n_groups

    @property
    def rows(self) -> Array:
        """Rows of each group, with or without missing values."""
        return sum((part.rows for part in self.patterns.values()), np.zeros(self.groups, dtype=np.int64))

    @property
    def weight(self) -> Array:
        """Weight of each group, with or without missing values."""
        return sum((part.weight for part in self.patterns.values()), np.zeros(self.groups))

    @property
    def finite(self) -> bool:
        return all(part.finite for part in self.patterns.values())

    @property
    def mean(self) -> Array:
        """Means of the groups if no value is missing."""
        return self._all().mean

    @property
    def covariance(self) -> Array:
        """Maximum likelihood covariances if no value is missing."""
        return self._all().covariance

    @property
    def complete(self) -> bool:
        """True if no value is missing in any row."""
        return self.patterns.keys() <= {self._everything}

    @property
    def full(self) -> ScatterMoments:
        """Moments of the complete rows."""
        return self.patterns.get(self._everything) or ScatterMoments.zero(self.groups, self.columns)

    def _all(self) -> ScatterMoments:
        if not self.complete:
            raise NonFiniteError("rows with missing values have no moments in closed form; solve for them by EM.")
        return self.full

    @property
    def _everything(self) -> bytes:
        return bytes([True]) * self.columns

    def __iter__(self) -> Iterator[tuple[Array, ScatterMoments]]:
        """Yield masks of the observed columns and their moments, in a fixed order."""
        for pattern in sorted(self.patterns, reverse=True):
            yield np.frombuffer(pattern, dtype=bool), self.patterns[pattern]

    def empty(self) -> Self:
        return replace(self, patterns={})

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        moments = ScatterMoments.zero(self.groups, self.columns).update(block, groups, weight)
        if moments.finite:
            return self.merge(self._with({self._everything: moments}))
        if is_tensor(block):  # rows with missing values are sorted by pattern in main memory
            block, groups = as_block(to_numpy(block)), to_numpy(groups)
            weight = None if weight is None else to_numpy(weight)
        return self.merge(self._by_pattern(block, groups, weight))

    def _by_pattern(self, block: Array, groups: Array, weight: Array | None) -> Self:
        patterns = {}
        for mask, rows in group_rows_by_pattern(~np.isnan(block)):
            values = block[rows] if mask.all() else block[np.ix_(rows, mask)]
            zero = ScatterMoments.zero(self.groups, int(mask.sum()))
            patterns[mask.tobytes()] = zero.update(values, groups[rows], None if weight is None else weight[rows])
        return self._with(patterns)

    def _with(self, patterns: dict[bytes, ScatterMoments]) -> Self:
        kept = {pattern: part for pattern, part in patterns.items() if part.rows.any()}
        _check_number(len(kept))
        return replace(self, patterns=kept)

    def merge(self, other: Self) -> Self:
        check_same_shape("moments", (self.groups, self.columns), (other.groups, other.columns))
        patterns = dict(self.patterns)
        for pattern, part in other.patterns.items():
            patterns[pattern] = patterns[pattern].merge(part) if pattern in patterns else part
        return self._with(patterns)

    def subtract(self, other: Self) -> Self:
        check_same_shape("moments", (self.groups, self.columns), (other.groups, other.columns))
        if other.patterns.keys() - self.patterns.keys():
            raise UnseenRowsError(
                "a row to be forgotten lacks other values than any row seen; "
                "forget only rows that were passed to fit or partial_fit."
            )
        remaining = {pattern: self.patterns[pattern].subtract(part) for pattern, part in other.patterns.items()}
        return self._with(self.patterns | remaining)

    def regroup(self, positions: Array, n_groups: int) -> Self:
        patterns = {pattern: part.regroup(positions, n_groups) for pattern, part in self.patterns.items()}
        return replace(self._with(patterns), n_groups=n_groups)

    def cancellation(self, left: Self) -> float:
        shared = self.patterns.keys() & left.patterns.keys()
        return max((self.patterns[p].cancellation(left.patterns[p]) for p in shared), default=1.0)


def group_rows_by_pattern(observed: Array) -> Iterator[tuple[Array, Array]]:
    """Yield each distinct row of the boolean matrix `observed` and the indices of the rows equal to it."""
    patterns, codes = distinct_patterns(observed)
    _check_number(len(patterns))
    # the codes of MAX_PATTERNS fit into 16 bits, which are sorted by radix
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    yield from zip(patterns, np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=False)  # none without rows


def _check_number(patterns: int) -> None:
    if patterns > MAX_PATTERNS:
        raise TooManyPatternsError(
            f"{patterns} patterns of missing values, more than the {MAX_PATTERNS} that exact inference keeps apart; "
            "impute some of the columns, or choose a diagonal covariance, which needs no patterns."
        )
