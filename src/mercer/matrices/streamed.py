"""Observations of a source for solvers: a survey of all rows, a random sample, and passes in working coordinates."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._errors import DataError, NonFiniteError
from mercer._stored import reals, stored, values, whole
from mercer._typing import Array
from mercer.data.labels import codes_of, encode_labels
from mercer.data.sources.base import Chunk, PreparedSource, Source
from mercer.data.table import Table
from mercer.matrices._dense_loops import widen
from mercer.matrices.base import Matrix, Tile
from mercer.matrices.categorical import Category, category_places, order_levels
from mercer.matrices.coordinates import COORDINATE_ROWS, Coordinates
from mercer.matrices.encoded import Encoded, NumberPart, number_places, numbers_of
from mercer.matrices.entries import Entries
from mercer.matrices.observations import Observations, ObservedBatch
from mercer.matrices.sparse import far_columns, largest_entries, scale_of
from mercer.matrices.terms import Terms

# A random sample of bounded size of the rows of a source, in blocks of any size.

#: number of blocks beyond which a sample joins them
MAX_SAMPLE_BLOCKS = 64


def _count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _rows_agree(sample: RowSample) -> bool:
    """Return whether each block has as many keys as rows."""
    return all(keys.ndim == 1 and all(_count_rows(X) == len(keys) for X in columns) for keys, columns in sample.blocks)


@stored(_rows_agree, most=whole(1))
@dataclass(frozen=True, eq=False)
class RowSample:
    """The `most` rows with the smallest random keys; two samples merge to a sample of all rows.

    Up to twice as many rows are held, so that they are seldom reduced.

    Examples
    --------
    >>> numbers = np.arange(6.0)
    >>> sample = RowSample.draw(2, np.array([0.5, 0.1, 0.9, 0.8, 0.2, 0.7]), lambda rows: (numbers[rows],))
    >>> sample.columns()
    (array([1., 4.]),)
    """

    most: int
    #: keys of rows, and the columns of these rows
    blocks: tuple[tuple[Array, tuple[Any, ...]], ...]

    @classmethod
    def draw(cls, most: int, keys: Array, take: Callable[[Array], tuple[Any, ...]]) -> Self:
        """Draw from rows with these keys; `take` returns the columns of some rows."""
        rows = np.arange(len(keys))
        if len(keys) > most:
            rows = np.sort(np.argpartition(keys, most)[:most])
        return cls(most, ((keys[rows], take(rows)),))

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self.blocks)

    def merge(self, other: Self) -> Self:
        both = replace(self, blocks=self.blocks + other.blocks)
        if len(both) > 2 * self.most:
            both = both._reduce()
        return both._join_blocks() if len(both.blocks) > MAX_SAMPLE_BLOCKS else both

    def _reduce(self) -> Self:
        """Keep the `most` rows with the smallest keys."""
        if len(self) <= self.most:
            return self
        highest = np.partition(np.concatenate([keys for keys, _ in self.blocks]), self.most - 1)[self.most - 1]
        return replace(self, blocks=tuple(_rows_up_to(highest, *block) for block in self.blocks))

    def _join_blocks(self) -> Self:
        keys = np.concatenate([keys for keys, _ in self.blocks])
        columns = zip(*(columns for _, columns in self.blocks), strict=True)
        return replace(self, blocks=((keys, tuple(map(_stack, columns))),))

    def columns(self) -> tuple[Any, ...]:
        """Return the columns of at most `most` rows."""
        return self._reduce()._join_blocks().blocks[0][1]


def _rows_up_to(highest: float, keys: Array, columns: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
    rows = np.flatnonzero(keys <= highest)
    return (keys, columns) if len(rows) == len(keys) else (keys[rows], tuple(column[rows] for column in columns))


def _stack(parts: tuple[Any, ...]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


# The first pass over a source: numbers of rows, levels, labels, and ranges of the columns.

#: bytes that the sample may take
SAMPLE_BYTES = 1 << 26
#: factor by which chunks draw more rows than needed on average, as their number is random
OVERSAMPLING = 1.2


class SurveySample(NamedTuple):
    """Rows of a chunk after validation."""

    X: Any  # an array, a CSR matrix, `Encoded` or a `Table`
    y: Array
    weight: Array | None
    offset: Array | None


@stored(lambda own: isinstance(hash(own), int), tag="SurveyLevels")
class SurveyLevels(NamedTuple):
    """Levels of a categorical column: those that its type declares, in that order, and those that occurred."""

    declared: tuple[Any, ...]
    seen: tuple[Any, ...]

    def merge(self, other: SurveyLevels) -> SurveyLevels:
        return SurveyLevels(*(tuple(dict.fromkeys(own + others)) for own, others in zip(self, other, strict=True)))

    def in_order(self) -> tuple[Any, ...]:
        """Return the levels that occurred, in the order of `order_levels`."""
        return order_levels(self.seen, self.declared or None)


@dataclass(frozen=True)
class SamplingPlan:
    """Size of the sample, the share of the rows of a chunk that are candidates for it, and whether y are labels."""

    most: int
    share: float
    labels: bool

    @classmethod
    def of(cls, first: SurveySample, n_rows: int | None, *, most_rows: int, labels: bool) -> Self:
        """Choose the plan from the first rows and, if known, the number of all; a sample has at most `most_rows`."""
        size = getattr(first.X, "nbytes", None) or _bytes(first.X)
        rows = max(1, len(first.y))
        most = int(min(most_rows, max(1000, SAMPLE_BYTES * rows // max(1, size))))
        return cls(most, 1.0 if n_rows is None else min(1.0, OVERSAMPLING * most / max(1, n_rows)), labels)


@stored(
    labels=values("l"),
    label_weights=reals("l"),
    lowest=reals("d"),
    highest=reals("d"),
    largest=reals("."),
)
@dataclass(frozen=True, eq=False)
class Survey:
    """Mergeable summary of rows: sums, ranges, labels, levels, and a random sample."""

    rows: int
    #: number of rows of positive weight
    heavy: int
    #: sum of the weights
    weight: float
    #: weighted sum of the responses, if they are numbers
    response: float
    #: weighted sum of the offsets
    offset: float
    labels: Array
    #: sum of the weights of each label
    label_weights: Array
    #: lowest value of each numerical column
    lowest: Array
    #: highest value of each numerical column
    highest: Array
    #: largest |entry| of each column of a sparse matrix; empty if none is very small or large
    largest: Array
    #: levels of each categorical column
    levels: tuple[SurveyLevels, ...]
    sample: RowSample
    #: whether rows have weights and offsets
    weighted: bool
    has_offset: bool

    @classmethod
    def of(cls, chunk: SurveySample, plan: SamplingPlan) -> Self:
        """Survey a chunk; `NonFiniteError` if a number is missing or infinite."""
        n, weight = len(chunk.y), chunk.weight
        parts = SurveyParts.of(chunk.X)
        labels, label_weights, response = np.zeros(0), np.zeros(0), 0.0
        if plan.labels:
            labels, codes = encode_labels(chunk.y)
            label_weights = np.bincount(codes, weight, minlength=len(labels)).astype(float)
        else:
            response = _weighted_sum(chunk.y, weight)
        lowest, highest = _ranges(parts.numbers)
        return cls(
            n,
            n if weight is None else int(np.count_nonzero(weight)),
            float(n if weight is None else weight.sum()),
            response,
            0.0 if chunk.offset is None else _weighted_sum(chunk.offset, weight),
            labels,
            label_weights,
            lowest,
            highest,
            _largest(parts.matrix),
            parts.levels,
            _sample(parts, chunk, plan),
            weight is not None,
            chunk.offset is not None,
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
            largest=_elementwise_maximum(self.largest, other.largest),
            levels=tuple(map(SurveyLevels.merge, self.levels, other.levels)),
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
        """Choose coordinates of the numerical and sparse columns from a sample `pilot`; see `Coordinates.of`.

        `first` is a chunk of the source, whose columns are those of the pilot.
        """

        def choose(numbers: Array) -> Coordinates:
            rows = numbers[:: max(1, len(numbers) // COORDINATE_ROWS)]
            return Coordinates.of(rows, intercept=shifted, extremes=np.stack([self.lowest, self.highest]))

        if not is_sparse(pilot):
            return replace(choose(pilot), intercept=intercept)
        columns = pilot.shape[1]
        result = Coordinates(np.zeros(columns), scale_of(self.largest, columns), intercept)
        if shifted and len(where := far_columns(pilot)):
            chosen = Coordinates.of(pilot[:, where].toarray(), intercept=True)
            result.shift[where], result.scale[where] = chosen.shift, chosen.scale
        if isinstance(first, Encoded) and len(where := number_places(first)):
            chosen = choose(pilot[: 10 * COORDINATE_ROWS, where].toarray())
            result.shift[where], result.scale[where] = chosen.shift, chosen.scale
        return result


class SurveyParts(NamedTuple):
    """Columns of some rows: the dense numbers, a sparse matrix of all columns if there is one, and categories."""

    numbers: Array
    matrix: Any
    labels: tuple[Any, ...] = ()  # Coded
    levels: tuple[SurveyLevels, ...] = ()

    @classmethod
    def of(cls, X: Any) -> SurveyParts:
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
        for j, column in zip(where, coded, strict=True):
            declared = types.declared_levels(j)
            occurring = Category.of(X.names[j], column, declared, drop_first=False).levels
            levels.append(SurveyLevels(() if declared is None else tuple(declared.tolist()), occurring))
        return cls(X.numbers([j for j in range(X.n_columns) if j not in where]), None, coded, tuple(levels))

    def take(self, rows: Array) -> tuple[Any, ...]:
        """Return some rows: numbers or a sparse matrix, and the labels of categories."""
        first = self.numbers[rows] if self.matrix is None else self.matrix[rows].tocsr()
        return (first, *(coded.labels[coded.codes[rows]] for coded in self.labels))


def _sample(parts: SurveyParts, chunk: SurveySample, plan: SamplingPlan) -> RowSample:
    """Draw rows of a chunk by random numbers that depend only on the chunk."""
    n = len(chunk.y)
    seed = zlib.crc32(repr((n, chunk.y[:8].tolist(), parts.take(np.arange(1)))).encode())
    keys = np.random.default_rng(seed).random(n)
    candidates = np.flatnonzero(keys <= plan.share)
    vectors = [values for values in (chunk.y, chunk.weight, chunk.offset) if values is not None]

    def take(rows: Array) -> tuple[Any, ...]:
        rows = candidates[rows]
        return (*parts.take(rows), *(values[rows] for values in vectors))

    return RowSample.draw(plan.most, keys[candidates], take)


def _bytes(X: Any) -> int:
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes)
    return 8 * int(np.prod(X.shape))


def is_sparse(X: Any) -> bool:
    """Return `scipy.sparse.issparse(X)` as a bool, without its type guard, which would change the type of X."""
    return bool(sparse.issparse(X))


def _weighted_sum(values: Array, weight: Array | None) -> float:
    return float(values.sum() if weight is None else weight @ values)


def _ranges(numbers: Array) -> tuple[Array, Array]:
    """Lowest and highest number of each column."""
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


def _elementwise_maximum(a: Array, b: Array) -> Array:
    """Maximum of two arrays, of which either may be empty."""
    if not len(a) or not len(b):
        return a if len(a) else b
    return np.maximum(a, b)


#: function from a chunk to its validated rows; it can be pickled
Reading = Callable[[Chunk], SurveySample]


@dataclass(frozen=True, eq=False)
class Responses:
    """Conversion of responses to numbers: unchanged, or as the codes of classes, which may have weights."""

    classes: Array | None = None
    class_weights: Array | None = None
    dtype: Any = np.float64

    def of(self, y: Array, weight: Array | None) -> tuple[Array, Array | None]:
        """Return the numbers and the weights of rows."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64), weight
        codes = np.maximum(codes_of(y, self.classes), 0)  # rows of other labels have weight 0
        if self.class_weights is not None:
            row_weights = self.class_weights[codes]
            weight = row_weights if weight is None else weight * row_weights
        return codes.astype(self.dtype), weight


#: remedies for operations on rows that are read again in each pass
_SUMS = "Sum over the rows by `Observations.fold`, or by a statistic; each sum is a pass."
_SAMPLE = "Use the random sample, `StreamedObservations.sample`."


@dataclass(frozen=True, eq=False)
class StreamedMatrix(Matrix):
    """Coordinates and shape of a matrix whose rows are not in memory."""

    coordinates: Coordinates
    rows_of_source: int

    is_sparse: ClassVar[bool] = True
    unsupported: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"matvec": _SUMS, "rmatvec": _SUMS, "gram": _SUMS, "tile": _SUMS, "rows": _SAMPLE, "take": _SAMPLE}
    )

    @property
    def n_rows(self) -> int:
        return self.rows_of_source

    @property
    def most_rows(self) -> int:
        return max(1, self.n_rows)

    def rows(self, rows: slice) -> Self:
        raise self.unsupported_error("rows")

    def take(self, rows: Array) -> Self:
        raise self.unsupported_error("take")

    def within(self, coordinates: Coordinates) -> Self:
        return replace(self, coordinates=coordinates)

    def matvec(self, w: Array) -> Array:
        raise self.unsupported_error("matvec")

    def rmatvec(self, r: Array) -> Array:
        raise self.unsupported_error("rmatvec")

    def gram(self, h: Array) -> Array:
        raise self.unsupported_error("gram")

    def tile(self) -> Tile:
        raise self.unsupported_error("tile")


def observed(read: Reading, terms: Terms, responses: Responses, chunk: Chunk) -> ObservedBatch:
    """Convert a chunk to the batch that the statistics of a fit take."""
    rows = read(chunk)
    y, weight = responses.of(rows.y, rows.weight)
    return ObservedBatch(terms.design(rows.X), y, weight, rows.offset)


def _without_columns(read: Reading, chunk: Chunk) -> SurveySample:
    rows = read(chunk)
    return rows._replace(X=np.empty((len(rows.y), 0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedObservations(PreparedSource):
    """`Observations` that are read again in each pass, with a random sample in memory.

    It has no responses, weights or products, which take a pass.
    """

    prepare: Callable[[Chunk], ObservedBatch] = field(init=False)
    read: Reading
    terms: Terms
    responses: Responses
    survey: Survey
    #: the random sample
    sample: Observations
    #: statistic of the last pass, reused by a request that it covers
    last_pass: list[Any] = field(default_factory=list)

    streamed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepare", partial(observed, self.read, self.terms, self.responses))

    @classmethod
    def of(
        cls, source: Source, read: Reading, terms: Terms, responses: Responses, survey: Survey, columns: tuple[Any, ...]
    ) -> Self:
        """Build the observations; `columns` are those of the sample of the survey."""
        vectors = list(columns[1 + len(terms.categories) :])
        y = vectors.pop(0)
        weight = vectors.pop(0) if survey.weighted else None
        offset = vectors.pop(0) if survey.has_offset else None
        y, weight = responses.of(y, weight)
        design = terms.design_of_columns(columns[0], columns[1 : 1 + len(terms.categories)])
        return cls(
            source=source,
            read=read,
            terms=terms,
            responses=responses,
            survey=replace(survey, sample=RowSample(0, ())),
            sample=Observations(design, y, weight, offset),
        )

    def __len__(self) -> int:
        return self.survey.rows

    @property
    def design(self) -> StreamedMatrix:
        return StreamedMatrix(self.terms.coordinates, len(self))

    @property
    def has_rows(self) -> bool:
        return self.design.can("rows")

    @property
    def has_offset(self) -> bool:
        return self.survey.has_offset

    @property
    def total_weight(self) -> float:
        weights = self.responses.class_weights
        return self.survey.weight if weights is None else float(weights @ self._row_weights_of_classes())

    @property
    def heavy(self) -> int:
        return self.survey.heavy

    @property
    def mean_weight(self) -> float:
        return self.total_weight / len(self)

    @property
    def mean_response(self) -> float:
        if self.responses.classes is None:
            return self.survey.response / self.survey.weight
        weights = self.class_weights(len(self.responses.classes))
        return float(np.arange(len(weights)) @ weights / weights.sum())

    @property
    def mean_offset(self) -> float:
        return self.survey.offset / self.survey.weight

    def _row_weights_of_classes(self) -> Array:
        """Sum of the row weights of each class, without class weights."""
        assert self.responses.classes is not None
        return self.survey.label_weights[np.isin(self.survey.labels, self.responses.classes)]

    def class_weights(self, levels: int) -> Array:
        """Sum of the weights of each class."""
        weights = self._row_weights_of_classes()
        return weights if self.responses.class_weights is None else weights * self.responses.class_weights

    def some_responses(self, count: int) -> Array:
        return self.sample.some_responses(count)

    def some(self, count: int, *, of: int = 1) -> Observations:
        """Return `count` rows of the sample, or the whole sample."""
        return self.sample.some(count) or self.sample

    def without_columns(self) -> Self:
        """Return the observations with an intercept as their only column."""
        empty = Terms(0, None, {}, Coordinates.plain(0, intercept=True))
        sample = replace(self.sample, design=empty.design_of_columns(np.empty((len(self.sample), 0)), ()))
        return replace(self, read=partial(_without_columns, self.read), terms=empty, sample=sample, last_pass=[])

    def responses_as(self, dtype: Any) -> Self:
        responses, sample = replace(self.responses, dtype=dtype), self.sample.responses_as(dtype)
        return replace(self, responses=responses, sample=sample, last_pass=[])

    def blocks(self) -> list[slice]:
        """Return no blocks: the source determines its chunks."""
        return []

    def in_memory(self) -> Self:
        return self

    def vectors_in_memory(self) -> Self:
        return self
