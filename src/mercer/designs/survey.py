"""What a first pass over a source finds out: how many rows, which levels and labels, how large the numbers are."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._errors import DataError, NonFiniteError
from mercer._jit.designs.dense import widen
from mercer._stored import stored
from mercer._typing import Array
from mercer.data.labels import encode_labels
from mercer.data.table import Table
from mercer.designs.category import Category, category_places, in_order
from mercer.designs.coordinates import PILOT_ROWS, Coordinates
from mercer.designs.encoded import Encoded, NumberPart
from mercer.designs.encoded_design import number_places, numbers_of
from mercer.designs.row_sample import RowSample
from mercer.designs.sparse import Entries, far_columns, largest_entries, scale_of

#: rows that are kept to begin a fit with, and the bytes that they may take
SAMPLE_ROWS, SAMPLE_BYTES = 100_000, 1 << 26
#: … and the share of rows that a chunk gives, beyond what is needed on average
SPARE = 1.2


class Seen(NamedTuple):
    """Rows of a chunk, after a look at their types."""

    X: Any  # an array, a CSR matrix, `Encoded` or a `Table`
    y: Array
    weight: Array | None
    offset: Array | None


@stored(lambda own: isinstance(hash(own), int), tag="SurveyLevels")
class Levels(NamedTuple):
    """Of a category: those that its type declares, in that order, and those that were seen."""

    declared: tuple[Any, ...]
    seen: tuple[Any, ...]

    def merge(self, other: Levels) -> Levels:
        return Levels(*(tuple(dict.fromkeys(mine + theirs)) for mine, theirs in zip(self, other, strict=True)))

    def in_order(self) -> tuple[Any, ...]:
        """Those that were seen; see `category.in_order`."""
        return in_order(self.seen, self.declared or None)


@dataclass(frozen=True)
class Drawing:
    """How many rows are kept in all, and which share of a chunk may be among them; and whether y are labels."""

    most: int
    share: float
    labels: bool

    @classmethod
    def of(cls, first: Seen, n_rows: int | None, *, labels: bool) -> Self:
        """For rows like the first ones; `n_rows` of them in all, if that is known."""
        size = getattr(first.X, "nbytes", None) or _bytes(first.X)
        rows = max(1, len(first.y))
        most = int(min(SAMPLE_ROWS, max(1000, SAMPLE_BYTES * rows // max(1, size))))
        return cls(most, 1.0 if n_rows is None else min(1.0, SPARE * most / max(1, n_rows)), labels)


@stored()
@dataclass(frozen=True, eq=False)
class Survey:
    """Of the rows seen so far; two of them merge to one."""

    rows: int
    #: rows that have a weight, and the sums of weights, responses (if they are numbers) and offsets
    heavy: int
    weight: float
    response: float
    offset: float
    #: labels, and the weight of each
    labels: Array
    label_weights: Array
    #: of columns of numbers
    lowest: Array
    highest: Array
    #: the largest entries of the columns of a sparse matrix; empty where none of them is very small or large
    largest: Array
    #: of categories
    levels: tuple[Levels, ...]
    sample: RowSample
    #: whether rows have weights and offsets
    weighted: bool
    has_offset: bool

    @classmethod
    def of(cls, seen: Seen, drawing: Drawing) -> Self:
        """Of a chunk; `NonFiniteError` where a number is missing or infinite."""
        n, weight = len(seen.y), seen.weight
        parts = Parts.of(seen.X)
        labels, label_weights, response = np.zeros(0), np.zeros(0), 0.0
        if drawing.labels:
            labels, codes = encode_labels(seen.y)
            label_weights = np.bincount(codes, weight, minlength=len(labels)).astype(float)
        else:
            response = _summed(seen.y, weight)
        lowest, highest = _extent(parts.numbers)
        return cls(
            n,
            n if weight is None else int(np.count_nonzero(weight)),
            float(n if weight is None else weight.sum()),
            response,
            0.0 if seen.offset is None else _summed(seen.offset, weight),
            labels,
            label_weights,
            lowest,
            highest,
            _largest(parts.matrix),
            parts.levels,
            _sample(parts, seen, drawing),
            weight is not None,
            seen.offset is not None,
        )

    def merge(self, other: Self) -> Self:
        labels, label_weights = self._all_labels(other)
        return replace(
            self,
            rows=self.rows + other.rows,
            heavy=self.heavy + other.heavy,
            weight=self.weight + other.weight,
            response=self.response + other.response,
            offset=self.offset + other.offset,
            labels=labels,
            label_weights=label_weights,
            lowest=np.minimum(self.lowest, other.lowest),
            highest=np.maximum(self.highest, other.highest),
            largest=_larger(self.largest, other.largest),
            levels=tuple(map(Levels.merge, self.levels, other.levels)),
            sample=self.sample.merge(other.sample),
        )

    def _all_labels(self, other: Self) -> tuple[Array, Array]:
        if np.array_equal(self.labels, other.labels):
            return self.labels, self.label_weights + other.label_weights
        if (self.labels.dtype.kind in "biuf") != (other.labels.dtype.kind in "biuf"):
            raise DataError(
                f"y holds {self.labels.tolist()[0]!r} in some rows and {other.labels.tolist()[0]!r} in others; labels "
                "must be all strings or all numbers."
            )
        labels, places = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        weights = np.concatenate([self.label_weights, other.label_weights])
        return labels, np.bincount(places, weights, minlength=len(labels))

    def coordinates(self, first: Any, pilot: Any, *, intercept: bool, shifted: bool) -> Coordinates:
        """For the columns of rows like `first` that are no categories, from some of all rows; see `Coordinates.of`."""

        def of_numbers(numbers: Array) -> Coordinates:
            extremes = np.stack([self.lowest, self.highest])
            return Coordinates.of(numbers[:: max(1, len(numbers) // PILOT_ROWS)], intercept=shifted, extremes=extremes)

        if not is_sparse(pilot):
            return replace(of_numbers(pilot), intercept=intercept)
        columns = pilot.shape[1]
        made = Coordinates(np.zeros(columns), scale_of(self.largest, columns), intercept)
        if shifted and len(where := far_columns(pilot)):
            chosen = Coordinates.of(pilot[:, where].toarray(), intercept=True)
            made.shift[where], made.scale[where] = chosen.shift, chosen.scale
        if isinstance(first, Encoded) and len(where := number_places(first)):
            chosen = of_numbers(pilot[: 10 * PILOT_ROWS, where].toarray())
            made.shift[where], made.scale[where] = chosen.shift, chosen.scale
        return made


class Parts(NamedTuple):
    """The columns of some rows: numbers, a sparse matrix of all of them, and categories."""

    numbers: Array
    matrix: Any
    labels: tuple[Any, ...] = ()  # Coded
    levels: tuple[Levels, ...] = ()

    @classmethod
    def of(cls, X: Any) -> Parts:
        if isinstance(X, Encoded):
            plain = all(isinstance(part, NumberPart) for part in X.parts if part.n_columns)
            return cls(numbers_of(X), None if plain else X)
        if is_sparse(X):
            return cls(np.zeros((X.shape[0], 0)), X)
        if not isinstance(X, Table):
            return cls(X, None)
        where = category_places(X)
        types = X.take(np.zeros(0, dtype=np.int64))
        coded = tuple(X.coded(j) for j in where)
        levels = []
        for j, found in zip(where, coded, strict=True):
            declared = types.declared_levels(j)
            seen = Category.of(X.names[j], found, declared, drop_first=False).levels
            levels.append(Levels(() if declared is None else tuple(declared.tolist()), seen))
        return cls(X.numbers([j for j in range(X.n_columns) if j not in where]), None, coded, tuple(levels))

    def take(self, rows: Array) -> tuple[Any, ...]:
        """Some rows: numbers or a sparse matrix, and the labels of categories."""
        first = self.numbers[rows] if self.matrix is None else self.matrix[rows].tocsr()
        return (first, *(coded.labels[coded.codes[rows]] for coded in self.labels))


def _sample(parts: Parts, seen: Seen, drawing: Drawing) -> RowSample:
    """Rows of a chunk, drawn by random numbers that depend on nothing but the chunk."""
    n = len(seen.y)
    seed = zlib.crc32(repr((n, seen.y[:8].tolist(), parts.take(np.arange(1)))).encode())
    keys = np.random.default_rng(seed).random(n)
    chosen = np.flatnonzero(keys <= drawing.share)
    beside = [values for values in (seen.y, seen.weight, seen.offset) if values is not None]

    def take(rows: Array) -> tuple[Any, ...]:
        rows = chosen[rows]
        return (*parts.take(rows), *(values[rows] for values in beside))

    return RowSample.drawn(drawing.most, keys[chosen], take)


def _bytes(X: Any) -> int:
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes)
    return 8 * int(np.prod(X.shape))


def is_sparse(X: Any) -> bool:
    """`scipy.sparse.issparse` as a plain bool: its type guard would hide what else is known of X."""
    return bool(sparse.issparse(X))


def _summed(values: Array, weight: Array | None) -> float:
    return float(values.sum() if weight is None else weight @ values)


def _extent(numbers: Array) -> tuple[Array, Array]:
    """The least and the greatest number of each column."""
    lowest, highest = np.full(numbers.shape[1], np.inf), np.full(numbers.shape[1], -np.inf)
    if np.isnan(widen(np.require(numbers, requirements=["C", "W"]), lowest, highest)):
        raise NonFiniteError("X holds values that are not finite.")
    return lowest, highest


def _largest(matrix: Any) -> Array:
    if matrix is None or isinstance(matrix, Encoded):
        return np.zeros(0)
    if not np.isfinite(matrix.data).all():
        raise NonFiniteError("X holds values that are not finite.")
    return largest_entries(Entries.of(matrix), matrix.shape[1])


def _larger(mine: Array, theirs: Array) -> Array:
    if not len(mine) or not len(theirs):
        return mine if len(mine) else theirs
    return np.maximum(mine, theirs)
