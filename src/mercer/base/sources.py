"""`fit(source)`: the same model from rows that are read piece by piece, as often as it takes."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from mercer.base.agreement import refuse_labels_of_other_type
from mercer.base.validation import NO_WEIGHT, Plan, adopt_columns, is_sparse, restore_on_failure, refuse_no_target, refuse_not_finite
from mercer.data.frame_like import frame_like
from mercer.data.sources.at_once import read_all
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.engines.passes import current_run, own_or_outer_run
from mercer.matrices import Category, Terms
from mercer.matrices.categorical import category_places
from mercer.matrices.coordinates import that_count
from mercer.matrices.streamed import Drawing, Reading, Responses, StreamedObservations, Survey
from mercer.matrices.terms import with_categories
from mercer.optim.streamed_rows import check_total_weight
from mercer.stats.by_class import ByClass
from mercer.stats.distinct_rows import DistinctRows

# What models that are fitted to a source share: how its chunks are checked, and what is said of one that is wrong.

#: looks at a chunk as a fit does, and raises where it holds what no fit takes
Look = Callable[[Any, Chunk], Any]


def reader_of(model: Any) -> Any:
    """The model with its parameters and the columns of the fit alone: small, and able to check chunks anywhere."""
    reader = clone(model)
    adopt_columns(reader, model)
    return reader


def refuse_offset(model: Any, first: Chunk) -> None:
    """For models that have no use for offsets."""
    if first.offset is not None:
        raise DataError(
            f"{type(model).__name__} takes no offset; open the source without one, or use GLM, which adds it to the "
            "linear predictor."
        )


@contextmanager
def locate_bad_values(source: Source, reader: Any, look: Look) -> Iterator[None]:
    """Where a pass comes across a value that no fit takes, say in which piece of the source, and where there."""
    try:
        yield
    except (NonFiniteError, SupportError):
        for piece in source.pieces():
            before = 0
            for chunk in piece.chunks([]):
                _refuse(reader, chunk, look, f"In {piece.name}" + f", counting from its row {before}" * bool(before))
                before += chunk.n_rows
        raise


def _refuse(reader: Any, chunk: Chunk, look: Look, place: str) -> None:
    try:
        refuse_not_finite(reader, look(reader, chunk))
    except (NonFiniteError, SupportError) as error:
        raise type(error)(f"{place}: {error}") from None


def streamed_plan(path: str, dtype: Any) -> Plan:
    """After the last pass."""
    return Plan(path, str(dtype), max(1, current_run().pieces), thread_count())


# From a source to what solvers minimise: one pass finds out what there is, and every later one adds up losses.


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
    """Rows of a source, after one pass.

    Parameters
    ----------
    source : Source
        Where they come from.
    read : callable
        Takes a chunk, and gives its rows as they were checked; can be pickled.
    responses : callable
        Takes what was found out, and says how responses become numbers.
    labels : bool
        Whether responses are labels.
    intercept : bool
        Whether there is an intercept.
    shifted : bool
        Whether columns may be shifted: not where the intercept is penalised.
    names : tuple of str, optional
        Of the columns.
    drop_first : bool
        Whether the first level of a category has no coefficient.
    """
    first = read(source.head())
    drawing = Drawing.of(first, source.n_rows, labels=labels)
    survey = fold(partial(_surveyed, read, drawing), source, Survey.merge)
    check_total_weight(survey.heavy)
    how = responses(survey)  # refuses labels before anything is computed from them
    columns = survey.sample.columns()
    n_columns = first.X.shape[1]
    places = category_places(first.X) if isinstance(first.X, Table) else []
    categories = {
        j: Category(first.X.names[j], levels.in_order(), drop_first)
        for j, levels in zip(places, survey.levels, strict=True)
    }
    pilot = that_count(columns[0], columns[-1 - survey.has_offset] if survey.weighted else None)
    coordinates = survey.coordinates(first.X, pilot, intercept=intercept, shifted=intercept and shifted)
    if categories:
        coordinates = with_categories(coordinates, categories, n_columns)
    terms = Terms(n_columns, names, categories, coordinates)
    return StreamedObservations.of(source, read, terms, how, survey, columns)


def _surveyed(read: Reading, drawing: Drawing, chunk: Chunk) -> Survey:
    return Survey.of(read(chunk), drawing)


# Classifiers from one pass over a source: every chunk has its statistic, and statistics add up.


def fit_in_one_pass(model: Any, source: Source) -> None:
    """Fit a `StatisticClassifier`; which columns there are is told by the first rows."""
    opened, first = clone(model), source.head()
    refuse_no_target(opened, first.y, "class")
    refuse_offset(model, first)
    opened._check_X(first.X, first.y, reset=True)
    opened._sees_part = True
    statistic = fold(functools.partial(_summary, opened), source, functools.partial(_merged, opened))
    if not statistic.weight.any():
        raise DataError(NO_WEIGHT)
    vars(model).update(vars(opened), _sees_part=False)
    model._classes_fixed = False
    dtype = str(getattr(first.X, "dtype", "mixed"))
    model.plan_ = Plan(model._path(), dtype, current_run().pieces, thread_count())
    model._store(statistic)


def _summary(opened: Any, chunk: Chunk) -> ByClass:
    # a copy, so that chunks on other threads do not see what a check stores
    statistic: ByClass = copy.copy(opened)._summarise(chunk.X, chunk.y, chunk.weight, reset=False)
    return statistic


def _merged(opened: Any, mine: ByClass, theirs: ByClass) -> ByClass:
    refuse_labels_of_other_type(theirs.labels, mine.labels)
    mine, theirs = opened._reconcile(mine, theirs)
    return mine.merge(theirs)


# Feature maps that need to see some rows only: learnt from a sample of a source, and from all rows if they are few.

#: different rows that are kept at most, and numbers in all
MOST_ROWS, MOST_NUMBERS = 100_000, 1 << 24


@stored(sample=part_of(DistinctRows, d="d"), lowest=floats("d"), highest=floats("d"), gaps=flags("d"))
class Outline(NamedTuple):
    """A sample of rows, and of all rows the least and greatest value and whether some are missing, column by column."""

    sample: DistinctRows
    lowest: Array
    highest: Array
    gaps: Array

    @classmethod
    def of(cls, most: int, chunk: Chunk) -> Self:
        """Weights are for the model that follows: in memory, feature maps are not told of them either."""
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
        """Rows to learn from, each as often as it occurs; of a sample with rows that show how far the columns reach."""
        times = np.maximum(1, np.round(self.sample.weight * min(1.0, 10 * self.sample.most / self.sample.weight.sum())))
        rows = np.repeat(self.sample.rows, times.astype(np.intp), axis=0)
        if self.sample.complete:
            return rows
        ends = np.array([self.lowest, self.highest])
        return np.concatenate([rows, ends, np.where(self.gaps, np.nan, self.highest)[None]])


def fit_to_sample(model: Any, source: Source, fit: Callable[..., Any]) -> Any:
    """`fit(model, rows)` of a sample that no cut and no order of the rows changes; not of sparse rows."""
    first = source.head().X
    if is_sparse(first):
        return NotImplemented
    most = max(1000, min(MOST_ROWS, MOST_NUMBERS // max(1, first.shape[1])))
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
    `reduce`; one that has none, or answers `NotImplemented`, is fitted to all rows, where they fit into memory.
    `checkpoint="path"` keeps the results of passes on disk, so that a fit that was killed goes on where it was.
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
        beside = dict(zip(("y", "sample_weight"), args[1:], strict=False)) | more
        source = source_of(X, **{name: given for name, given in beside.items() if given is not None and name != first})
        return _fit_source(self, source, checkpoint, fit)

    return fit_either


def is_source(X: Any) -> bool:
    """Whether X is a source, or a Dask collection, which is one."""
    return isinstance(X, Source) or type(X).__module__.split(".", 1)[0] in ("dask", "dask_expr")


def source_of(X: Any, **beside: Any) -> Source:
    """The source that X is, or that a Dask collection and what was given beside it make."""
    if beside or not isinstance(X, Source):
        from mercer.data.sources.collections import of_collection, with_targets

        collection = with_targets(X, **beside) if isinstance(X, Source) else of_collection(X, **beside)
        if collection is not None:
            return collection
    if "y" in beside:
        raise DataError("A source has its target with it: leave y out, and name the target when it is opened.")
    if beside:
        raise DataError(
            "Weights and offsets of a source are columns of it: name them when it is opened, as in "
            "mercer.data.open(path, target='y', weight='w')."
        )
    source: Source = X
    return source


def _fit_source(model: Any, source: Source, checkpoint: Any, fit: Callable[..., Any]) -> Any:
    with restore_on_failure(model), _kept_in(checkpoint), own_or_outer_run() as run:
        if run.journal is not None:
            run.journal.enter(clone(model), source)
        passes, skipped = run.passes, len(run.skipped)
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        if not hasattr(model, "_fit_source") or model._fit_source(source) is NotImplemented:
            held = read_all(source, run.skipped)
            run.passes += 1
            fit(model, _rows(model, held), held.y, **_taken_beside(model, held, fit))
        if hasattr(model, "plan_"):
            left_out = tuple(dict.fromkeys(run.skipped[skipped:]))  # each pass has skipped the same
            read = {"source": source.described, "bytes": source.n_bytes, "passes": run.passes - passes}
            model.plan_ = replace(model.plan_, **read, skipped=left_out, cluster=run.cluster)
    return model


def _taken_beside(model: Any, held: Chunk, fit: Callable[..., Any]) -> dict[str, Any]:
    """Weights and offsets, where there are any: refused by models that know none, but not by features before them."""
    given = {"sample_weight": held.weight, "offset": held.offset}
    beside = {name: values for name, values in given.items() if values is not None}
    unknown = [name for name in beside if name not in inspect.signature(fit).parameters]
    if unknown and hasattr(model, "predict"):
        role = "weights" if unknown[0] == "sample_weight" else "offset"
        raise DataError(f"{type(model).__name__} takes no {role}; open the source without, or use another model.")
    return {name: values for name, values in beside.items() if name not in unknown}


def _kept_in(checkpoint: Any) -> AbstractContextManager[None]:
    if checkpoint is None:
        return nullcontext()
    return mercer.checkpointed(checkpoint)


def maps_sources(transform: F) -> F:
    """Let a `transform(X)` take a `Source`: the answer is a source whose rows are transformed when they are read."""

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
    """What a model takes for rows: a vectorizer a column of a table of one."""
    return model._rows_of_chunk(chunk.X) if hasattr(model, "_rows_of_chunk") else chunk.X
