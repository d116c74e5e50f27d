"""`fit(source)`: the same model from rows that are read piece by piece, in as many passes as needed.

`fits_sources` and `maps_sources` decorate the methods `fit` and `transform` of estimators. The other functions are
passes that several estimators have in common.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer._errors import DataError, NonFiniteError, SupportError
from mercer._stored import flags, floats, part_of, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base.agreement import check_label_types
from mercer.base.validation import (
    NO_WEIGHT,
    Plan,
    adopt_columns,
    check_finite,
    check_has_target,
    is_sparse,
    restore_on_failure,
    validate_params,
)
from mercer.data.frame_like import frame_like
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.read_all import read_all
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.engines.passes import current_run, ensure_run
from mercer.matrices import Category, Terms
from mercer.matrices.categorical import category_places
from mercer.matrices.coordinates import positive_weight_rows
from mercer.matrices.streamed import Reading, Responses, SamplingPlan, StreamedObservations, Survey
from mercer.matrices.terms import with_categories
from mercer.optim.least_squares_source import check_total_weight
from mercer.stats.by_class import ByClass
from mercer.stats.distinct_rows import DistinctRows

#: a function that validates a chunk as a fit does, and returns its rows
ChunkCheck = Callable[[Any, Chunk], Any]


def reader_of(model: Any) -> Any:
    """Return a small model with the parameters and the columns of the fit alone, which can check chunks elsewhere."""
    reader = clone(model)
    adopt_columns(reader, model)
    return reader


def check_no_offset(model: Any, first: Chunk) -> None:
    """Raise if a source has offsets, for models that take none."""
    if first.offset is not None:
        raise DataError(
            f"{type(model).__name__} takes no offset; open the source without one, or use GLM, which adds it to the "
            "linear predictor."
        )


@contextmanager
def locate_bad_values(source: Source, reader: Any, check: ChunkCheck) -> Iterator[None]:
    """Name the piece of the source and the row in errors about values in the body."""
    try:
        yield
    except (NonFiniteError, SupportError):
        for piece in source.pieces():
            before = 0
            for chunk in piece.chunks([]):
                place = f"In {piece.name}" + f", counting from its row {before}" * bool(before)
                try:
                    check_finite(reader, check(reader, chunk))
                except (NonFiniteError, SupportError) as error:
                    raise type(error)(f"{place}: {error}") from None
                before += chunk.n_rows
        raise


def streamed_plan(path: str, dtype: Any) -> Plan:
    """Return the plan of a fit to a source, after its last pass."""
    return Plan(path, str(dtype), max(1, current_run().pieces), thread_count())


def observe(
    source: Source,
    read: Reading,
    responses: Callable[[Survey], Responses],
    *,
    labels: bool,
    intercept: bool,
    shifted: bool = True,
    names: tuple[str, ...] | None = None,
    drop_first: bool = True,
) -> StreamedObservations:
    """Return the observations of a source, after one pass that surveys them; every later pass adds up losses.

    Parameters
    ----------
    source : Source
        The source of the rows.
    read : callable
        A function that returns the validated rows of a chunk; can be pickled.
    responses : callable
        A function of the survey that returns how responses become numbers.
    labels : bool
        Whether responses are labels.
    intercept : bool
        Whether there is an intercept.
    shifted : bool
        Whether columns may be shifted; they may not if the intercept is penalised.
    names : tuple of str, optional
        Names of the columns.
    drop_first : bool
        Whether the first level of a category has no coefficient.
    """
    first = read(source.head())
    drawing = SamplingPlan.of(first, source.n_rows, most_rows=source.sample_rows, labels=labels)
    survey = fold(partial(_surveyed, read, drawing), source, Survey.merge)
    check_total_weight(survey.heavy)
    how = responses(survey)  # raises for bad labels before anything is computed from them
    columns = survey.sample.columns()
    n_columns = first.X.shape[1]
    places = category_places(first.X) if isinstance(first.X, Table) else []
    categories = {
        j: Category(first.X.names[j], levels.in_order(), drop_first)
        for j, levels in zip(places, survey.levels, strict=True)
    }
    pilot = positive_weight_rows(columns[0], columns[-1 - survey.has_offset] if survey.weighted else None)
    coordinates = survey.coordinates(first.X, pilot, intercept=intercept, shifted=intercept and shifted)
    if categories:
        coordinates = with_categories(coordinates, categories, n_columns)
    terms = Terms(n_columns, names, categories, coordinates)
    return StreamedObservations.of(source, read, terms, how, survey, columns)


def _surveyed(read: Reading, drawing: SamplingPlan, chunk: Chunk) -> Survey:
    return Survey.of(read(chunk), drawing)


def fit_in_one_pass(model: Any, source: Source) -> None:
    """Fit a `StatisticClassifier` in one pass: every chunk has its statistic, and statistics are merged.

    The first rows determine the columns.
    """
    opened, first = clone(model), source.head()
    check_has_target(opened, first.y, "class")
    check_no_offset(model, first)
    opened._check_X(first.X, first.y, reset=True)
    opened._is_partial = True
    statistic = fold(functools.partial(_summary, opened), source, functools.partial(_merged, opened))
    if not statistic.weight.any():
        raise DataError(NO_WEIGHT)
    vars(model).update(vars(opened), _is_partial=False)
    model._classes_fixed = False
    dtype = str(getattr(first.X, "dtype", "mixed"))
    model.plan_ = Plan(model._path(), dtype, current_run().pieces, thread_count())
    model._store(statistic)


def _summary(opened: Any, chunk: Chunk) -> ByClass:
    # a copy, because a check stores attributes and other threads have chunks of their own
    statistic: ByClass = copy.copy(opened)._summarise(chunk.X, chunk.y, chunk.weight, reset=False)
    return statistic


def _merged(opened: Any, mine: ByClass, theirs: ByClass) -> ByClass:
    check_label_types(theirs.labels, mine.labels)
    mine, theirs = opened._reconcile(mine, theirs)
    return mine.merge(theirs)


#: distinct rows that a sample of a source has at most
MOST_SAMPLE_ROWS = 100_000
#: numbers that a sample of a source has at most
MOST_SAMPLE_NUMBERS = 1 << 24


@stored(sample=part_of(DistinctRows, d="d"), lowest=floats("d"), highest=floats("d"), gaps=flags("d"))
class Outline(NamedTuple):
    """A sample of rows, and for each column the range of all rows and whether values are missing."""

    sample: DistinctRows
    lowest: Array
    highest: Array
    gaps: Array

    @classmethod
    def of(cls, most: int, chunk: Chunk) -> Self:
        """Return the outline of a chunk, without its weights, which feature maps do not use in memory either."""
        X = Table.of(chunk.X).numbers()
        gaps = np.asarray(np.isnan(X).any(axis=0))
        lowest = np.fmin.reduce(X, axis=0, initial=np.inf)
        highest = np.fmax.reduce(X, axis=0, initial=-np.inf)
        return cls(DistinctRows.zero(X.shape[1], most=most).update(X), lowest, highest, gaps)

    def merge(self, other: Self) -> Self:
        return type(self)(
            self.sample.merge(other.sample),
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            self.gaps | other.gaps,
        )

    def rows(self) -> Array:
        """Return rows to fit to, each as often as it occurs; a sample also has rows with the range of each column."""
        times = np.maximum(1, np.round(self.sample.weight * min(1.0, 10 * self.sample.most / self.sample.weight.sum())))
        rows = np.repeat(self.sample.rows, times.astype(np.intp), axis=0)
        if self.sample.complete:
            return rows
        ends = np.array([self.lowest, self.highest])
        return np.concatenate([rows, ends, np.where(self.gaps, np.nan, self.highest)[None]])


def fit_to_sample(
    model: Any,
    source: Source,
    fit: Callable[..., Any],
    *,
    most_rows: int = MOST_SAMPLE_ROWS,
    most_numbers: int = MOST_SAMPLE_NUMBERS,
) -> Any:
    """Call `fit(model, rows)` with a sample, or all rows if they are few; return `NotImplemented` for sparse rows.

    The sample depends neither on the order of the rows nor on the pieces of the source. It has at most `most_rows`
    distinct rows and about `most_numbers` numbers, but never fewer than 1,000 rows.
    """
    first = source.head().X
    if is_sparse(first):
        return NotImplemented
    most = max(1000, min(most_rows, most_numbers // max(1, first.shape[1])))
    rows = fold(functools.partial(Outline.of, most), source, Outline.merge).rows()
    table = Table.of(first)
    named = rows if table.column_names is None else frame_like(table.names, list(rows.T), table.library)
    fit(model, named)
    return None


F = TypeVar("F", bound=Callable[..., Any])
Fitted = TypeVar("Fitted")


def fits_sources(fit: Callable[..., Fitted]) -> Callable[..., Fitted]:
    """Let a `fit(X, y, …)` take a `Source` for X and y.

    A model that streams has a method `_fit_source(source)`, which makes its passes by `mercer.engines.fold` and
    `reduce`. A model without it, or whose method returns `NotImplemented`, is fitted to all rows if they fit into
    memory. `checkpoint="path"` stores the results of passes on disk, so that a killed fit resumes after the last one.
    """

    first = next(name for name in inspect.signature(fit).parameters if name != "self")

    @functools.wraps(fit)
    def fit_either(self: Any, *args: Any, checkpoint: Any = None, **more: Any) -> Any:
        X = args[0] if args else more.get(first)
        if not is_source(X):
            if checkpoint is not None:
                raise DataError(
                    "checkpoint= is for fits of a source, which read rows again and again; give mercer.data.open(…) "
                    "for X, or leave it out."
                )
            return fit(self, *args, **more)
        arguments = dict(zip(("y", "sample_weight"), args[1:], strict=False)) | more
        source = source_of(
            X, **{name: given for name, given in arguments.items() if given is not None and name != first}
        )
        return _fit_source(self, source, checkpoint, fit)

    return fit_either


def is_source(X: Any) -> bool:
    """Return whether X is a source or a Dask collection."""
    return isinstance(X, Source) or type(X).__module__.split(".", 1)[0] in ("dask", "dask_expr")


def source_of(X: Any, **given: Any) -> Source:
    """Return X if it is a source, or the source of a Dask collection and the targets and weights given with it."""
    if given or not isinstance(X, Source):
        from mercer.data.sources.collections import of_collection, with_targets

        collection = with_targets(X, **given) if isinstance(X, Source) else of_collection(X, **given)
        if collection is not None:
            return collection
    if "y" in given:
        raise DataError("A source has its target with it: leave y out, and name the target when it is opened.")
    if given:
        raise DataError(
            "Weights and offsets of a source are columns of it: name them when it is opened, as in "
            "mercer.data.open(path, target='y', weight='w')."
        )
    source: Source = X
    return source


def _fit_source(model: Any, source: Source, checkpoint: Any, fit: Callable[..., Any]) -> Any:
    checkpointed = nullcontext() if checkpoint is None else mercer.checkpointed(checkpoint)
    with restore_on_failure(model), checkpointed, ensure_run() as run:
        if run.journal is not None:
            run.journal.enter(clone(model), source)
        passes, skipped = run.passes, len(run.skipped)
        if hasattr(model, "_parameter_constraints"):
            validate_params(model)
        if not hasattr(model, "_fit_source") or model._fit_source(source) is NotImplemented:
            held = read_all(source, run.skipped)
            run.passes += 1
            fit(model, _rows(model, held), held.y, **_fit_arguments(model, held, fit))
        if hasattr(model, "plan_"):
            left_out = tuple(dict.fromkeys(run.skipped[skipped:]))  # each pass skips the same pieces
            read = {"source": source.described, "bytes": source.n_bytes, "passes": run.passes - passes}
            model.plan_ = replace(model.plan_, **read, skipped=left_out, cluster=run.cluster)
    return model


def _fit_arguments(model: Any, held: Chunk, fit: Callable[..., Any]) -> dict[str, Any]:
    """Return the weights and offsets of rows as arguments of `fit`; raise if a model, not a transformer, takes none."""
    given = {"sample_weight": held.weight, "offset": held.offset}
    arguments = {name: values for name, values in given.items() if values is not None}
    unknown = [name for name in arguments if name not in inspect.signature(fit).parameters]
    if unknown and hasattr(model, "predict"):
        role = "weights" if unknown[0] == "sample_weight" else "offset"
        raise DataError(f"{type(model).__name__} takes no {role}; open the source without, or use another model.")
    return {name: values for name, values in arguments.items() if name not in unknown}


def maps_sources(transform: F) -> F:
    """Let a `transform(X)` take a `Source`: it returns a source whose rows are transformed when they are read."""

    first = next(name for name in inspect.signature(transform).parameters if name != "self")

    @functools.wraps(transform)
    def transform_either(self: Any, *args: Any, **more: Any) -> Any:
        X = args[0] if args else more.get(first)
        if not is_source(X):
            return transform(self, *args, **more)
        check_is_fitted(self)
        return source_of(X).map(functools.partial(_transformed, self))

    return transform_either  # type: ignore[return-value]


def _transformed(model: Any, chunk: Chunk) -> Chunk:
    return chunk._replace(X=model.transform(_rows(model, chunk)))


def _rows(model: Any, chunk: Chunk) -> Any:
    """Return the rows of a chunk in the form that a model takes: for a vectorizer, the only column of a table."""
    return model._rows_of_chunk(chunk.X) if hasattr(model, "_rows_of_chunk") else chunk.X
