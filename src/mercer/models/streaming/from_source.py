"""`fit(source)`: the same model from rows that are read piece by piece, as often as it takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer._errors import DataError
from mercer.data.sources.at_once import read_all
from mercer.data.sources.base import Chunk, Source
from mercer.engines.running import own_or_outer_run
from mercer.models.base import old_state_on_failure

F = TypeVar("F", bound=Callable[..., Any])


def fits_sources(fit: F) -> F:
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

    return fit_either  # type: ignore[return-value]


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
    with old_state_on_failure(model), _kept_in(checkpoint), own_or_outer_run() as run:
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
