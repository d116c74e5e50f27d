"""Rows of a source with their responses, in working coordinates: what solvers see of a source."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._errors import DataError, NonFiniteError
from mercer._stored import stored, whole
from mercer._typing import Array
from mercer.data.labels import codes_of, encode_labels
from mercer.data.sources.base import Chunk, PreparedSource, Source
from mercer.data.table import Table
from mercer.matrices._dense_loops import widen
from mercer.matrices.categorical import Category, category_places, in_order
from mercer.matrices.coordinates import PILOT_ROWS, Coordinates
from mercer.matrices.encoded import Encoded, NumberPart, number_places, numbers_of
from mercer.matrices.observations import Observations, ObservedBatch
from mercer.matrices.sparse import Entries, far_columns, largest_entries, scale_of
from mercer.matrices.terms import Terms

# Rows drawn at random from a source, a bounded number of them, whatever blocks it comes in.

#: blocks from which on they are joined
MANY = 64


def _count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _rows_agree(sample: RowSample) -> bool:
    """Whether each block has as many keys as rows."""
    return all(keys.ndim == 1 and all(_count_rows(X) == len(keys) for X in columns) for keys, columns in sample.blocks)


@stored(_rows_agree, most=whole(1))
@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows with the smallest of random keys, about `most` of them; two samples merge to one of all rows.

    Up to twice as many are held, so that they seldom have to be thinned out.

    Examples
    --------
    >>> numbers = np.arange(6.0)
    >>> sample = RowSample.drawn(2, np.array([0.5, 0.1, 0.9, 0.8, 0.2, 0.7]), lambda rows: (numbers[rows],))
    >>> sample.columns()
    (array([1., 4.]),)
    """

    most: int
    #: keys of rows, and what is known of these rows, array by array
    blocks: tuple[tuple[Array, tuple[Any, ...]], ...]

    @classmethod
    def drawn(cls, most: int, keys: Array, take: Callable[[Array], tuple[Any, ...]]) -> Self:
        """From rows with these keys; `take` gives what is known of some of them."""
        rows = np.arange(len(keys))
        if len(keys) > most:
            rows = np.sort(np.argpartition(keys, most)[:most])
        return cls(most, ((keys[rows], take(rows)),))

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self.blocks)

    def merge(self, other: Self) -> Self:
        both = replace(self, blocks=self.blocks + other.blocks)
        if len(both) > 2 * self.most:
            both = both._thinned()
        return both._joined() if len(both.blocks) > MANY else both

    def _thinned(self) -> Self:
        if len(self) <= self.most:
            return self
        highest = np.partition(np.concatenate([keys for keys, _ in self.blocks]), self.most - 1)[self.most - 1]
        return replace(self, blocks=tuple(_up_to(highest, *block) for block in self.blocks))

    def _joined(self) -> Self:
        keys = np.concatenate([keys for keys, _ in self.blocks])
        columns = zip(*(columns for _, columns in self.blocks), strict=True)
        return replace(self, blocks=((keys, tuple(map(_stacked, columns))),))

    def columns(self) -> tuple[Any, ...]:
        """What is known of at most `most` rows."""
        return self._thinned()._joined().blocks[0][1]


def _up_to(highest: float, keys: Array, columns: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
    rows = np.flatnonzero(keys <= highest)
    return (keys, columns) if len(rows) == len(keys) else (keys[rows], tuple(column[rows] for column in columns))


def _stacked(parts: tuple[Any, ...]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


# What a first pass over a source finds out: how many rows, which levels and labels, how large the numbers are.

#: rows that are kept to begin a fit with, and the bytes that they may take
SAMPLE_ROWS, SAMPLE_BYTES = 100_000, 1 << 26
#: … and the share of rows that a chunk gives, beyond what is needed on average
SPARE = 1.2


class SurveySample(NamedTuple):
    """Rows of a chunk, after a look at their types."""

    X: Any  # an array, a CSR matrix, `Encoded` or a `Table`
    y: Array
    weight: Array | None
    offset: Array | None


@stored(lambda own: isinstance(hash(own), int), tag="SurveyLevels")
class SurveyLevels(NamedTuple):
    """Of a category: those that its type declares, in that order, and those that were seen."""

    declared: tuple[Any, ...]
    seen: tuple[Any, ...]

    def merge(self, other: SurveyLevels) -> SurveyLevels:
        return SurveyLevels(*(tuple(dict.fromkeys(mine + theirs)) for mine, theirs in zip(self, other, strict=True)))

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
    def of(cls, first: SurveySample, n_rows: int | None, *, labels: bool) -> Self:
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
    levels: tuple[SurveyLevels, ...]
    sample: RowSample
    #: whether rows have weights and offsets
    weighted: bool
    has_offset: bool

    @classmethod
    def of(cls, seen: SurveySample, drawing: Drawing) -> Self:
        """Of a chunk; `NonFiniteError` where a number is missing or infinite."""
        n, weight = len(seen.y), seen.weight
        parts = SurveyParts.of(seen.X)
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


class SurveyParts(NamedTuple):
    """The columns of some rows: numbers, a sparse matrix of all of them, and categories."""

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
        for j, found in zip(where, coded, strict=True):
            declared = types.declared_levels(j)
            seen = Category.of(X.names[j], found, declared, drop_first=False).levels
            levels.append(SurveyLevels(() if declared is None else tuple(declared.tolist()), seen))
        return cls(X.numbers([j for j in range(X.n_columns) if j not in where]), None, coded, tuple(levels))

    def take(self, rows: Array) -> tuple[Any, ...]:
        """Some rows: numbers or a sparse matrix, and the labels of categories."""
        first = self.numbers[rows] if self.matrix is None else self.matrix[rows].tocsr()
        return (first, *(coded.labels[coded.codes[rows]] for coded in self.labels))


def _sample(parts: SurveyParts, seen: SurveySample, drawing: Drawing) -> RowSample:
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


#: rows of a chunk, checked; can be pickled
Reading = Callable[[Chunk], SurveySample]


@dataclass(frozen=True, eq=False)
class Responses:
    """How what is to be predicted becomes numbers: as it is, or as the codes of classes, which may have weights."""

    classes: Array | None = None
    class_weights: Array | None = None
    dtype: Any = np.float64

    def of(self, y: Array, weight: Array | None) -> tuple[Array, Array | None]:
        """Numbers of rows, and their weights."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64), weight
        codes = np.maximum(codes_of(y, self.classes), 0)  # labels that are no class have no weight
        if self.class_weights is not None:
            of_rows = self.class_weights[codes]
            weight = of_rows if weight is None else weight * of_rows
        return codes.astype(self.dtype), weight


@dataclass(frozen=True, eq=False)
class StreamedDesign:
    """What is known of a design without a look at its rows."""

    coordinates: Coordinates
    n_rows: int

    @property
    def n_columns(self) -> int:
        return self.coordinates.n_columns


def observed(read: Reading, terms: Terms, responses: Responses, chunk: Chunk) -> ObservedBatch:
    """What the statistics of a fit take of a chunk."""
    seen = read(chunk)
    y, weight = responses.of(seen.y, seen.weight)
    return ObservedBatch(terms.design(seen.X), y, weight, seen.offset)


def _without_columns(read: Reading, chunk: Chunk) -> SurveySample:
    seen = read(chunk)
    return seen._replace(X=np.empty((len(seen.y), 0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedObservations(PreparedSource):
    """`Observations` that are read anew in each pass; some of them, drawn at random, are at hand.

    It has no responses, weights or products of its own: whoever needs them makes a pass.
    """

    prepare: Callable[[Chunk], ObservedBatch] = field(init=False)
    read: Reading
    terms: Terms
    responses: Responses
    survey: Survey
    #: the rows at hand
    sample: Observations
    #: the sums of the last pass, for a caller that asks for the same again
    seen: list[Any] = field(default_factory=list)

    streamed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepare", partial(observed, self.read, self.terms, self.responses))

    @classmethod
    def of(
        cls, source: Source, read: Reading, terms: Terms, responses: Responses, survey: Survey, columns: tuple[Any, ...]
    ) -> Self:
        """`columns` are those of the sample of the survey."""
        made = partial(cls, source=source, read=read, terms=terms, survey=replace(survey, sample=RowSample(0, ())))
        places = 1 + len(terms.categories)
        beside = list(columns[places:])
        y = beside.pop(0)
        weight = beside.pop(0) if survey.weighted else None
        offset = beside.pop(0) if survey.has_offset else None
        y, weight = responses.of(y, weight)
        design = terms.design_of_columns(columns[0], columns[1:places])
        return made(responses=responses, sample=Observations(design, y, weight, offset))

    def __len__(self) -> int:
        return self.survey.rows

    @property
    def design(self) -> StreamedDesign:
        return StreamedDesign(self.terms.coordinates, len(self))

    @property
    def has_offset(self) -> bool:
        return self.survey.has_offset

    @property
    def total_weight(self) -> float:
        weights = self.responses.class_weights
        return self.survey.weight if weights is None else float(weights @ self._seen_weights())

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

    def _seen_weights(self) -> Array:
        """Of the classes, without their own."""
        assert self.responses.classes is not None
        return self.survey.label_weights[np.isin(self.survey.labels, self.responses.classes)]

    def class_weights(self, levels: int) -> Array:
        """Of the rows of each class."""
        weights = self._seen_weights()
        return weights if self.responses.class_weights is None else weights * self.responses.class_weights

    def some_responses(self, count: int) -> Array:
        return self.sample.some_responses(count)

    def some(self, count: int, *, of: int = 1) -> Observations:
        """So many of the rows at hand, or all of these."""
        return self.sample.some(count) or self.sample

    def without_columns(self) -> Self:
        """The same rows with nothing but an intercept."""
        empty = Terms(0, None, {}, Coordinates.plain(0, intercept=True))
        sample = replace(self.sample, design=empty.design_of_columns(np.empty((len(self.sample), 0)), ()))
        return replace(self, read=partial(_without_columns, self.read), terms=empty, sample=sample, seen=[])

    def responses_as(self, dtype: Any) -> Self:
        responses, sample = replace(self.responses, dtype=dtype), self.sample.responses_as(dtype)
        return replace(self, responses=responses, sample=sample, seen=[])

    def blocks(self) -> list[slice]:
        """None: what is read at a time is the source's business."""
        return []

    def in_memory(self) -> Self:
        return self

    def vectors_in_memory(self) -> Self:
        return self
