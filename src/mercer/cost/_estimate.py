"""What a fit will cost, before it starts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from mercer._errors import DataError, DeviceError
from mercer._gpu import is_tensor, to_numpy
from mercer._memory import SHARE, available_bytes, gigabytes
from mercer._threads import thread_count
from mercer.base.kernel_choice import sample_of
from mercer.base.sources import is_source, source_of
from mercer.cost._cost import Cost
from mercer.cost.work import work_of
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.memory import MemorySource
from mercer.kernel_approximation.approximate import is_auto
from mercer.kernels import Gram, Kernel
from mercer.kernels.inputs import count, take
from mercer.report.wording import counted

# What a fit of a source will cost: its first chunk is read and fitted, and the rest takes as much longer as it is.

T = TypeVar("T")

#: rows of the first chunk that are fitted: enough to be typical, few enough to be quick
SOME_ROWS = 20_000
#: chunks that are in memory at once, besides one for each thread
AHEAD = 2


def source_cost(model: Any, source: Source) -> Cost:
    """Seconds of all passes, and bytes of the chunks that are in memory at once."""
    first, reading = _timed(source.head)
    some = MemorySource(*MemorySource(*first, rows=SOME_ROWS).head())
    _fitted(model, some)  # which may compile
    fitted, computing = _timed(lambda: _fitted(model, some))
    passes = _passes(fitted)
    rows = first.n_rows if source.n_rows is None else source.n_rows
    of_chunk = passes * reading + computing * first.n_rows / (some.n_rows * thread_count())
    seconds = of_chunk * rows / first.n_rows
    held, left = (thread_count() + AHEAD) * _bytes(first), available_bytes()
    sentence = (
        f"{type(model).__name__}: {counted(passes, 'pass')} over {source.described}{_size(source)}, about "
        f"{seconds:.2g} s{'' if source.n_rows is not None else ' at least'}, with {gigabytes(held)} of rows in memory "
        f"at a time, of which {gigabytes(left)} are left."
    )
    return Cost(seconds, held, held <= SHARE * left, sentence)


def _size(source: Source) -> str:
    """What is known of it without reading all of it."""
    size = [] if source.n_bytes is None else [gigabytes(source.n_bytes)]
    rows = [] if source.n_rows is None else [f"{source.n_rows:,} rows"]
    return f" ({', '.join([*size, *rows])})" if size or rows else ""


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def _fitted(model: Any, source: Source) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a few rows, which nobody asked for
        return clone(model).fit(source)


def _passes(model: Any) -> int:
    """Of all steps, if there are several."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return sum(step.plan_.passes for step in steps if hasattr(step, "plan_"))


def _bytes(chunk: Chunk) -> float:
    X = chunk.X
    return float(getattr(X, "nbytes", 0) or 8 * X.shape[0] * X.shape[1])


#: seconds that each measurement of this machine takes, about
LONG_ENOUGH = 0.015
#: rows on which a kernel is timed, and columns of the product that is
ROWS, COLUMNS = 640, 512


def estimate_cost(model: Any, X: Any) -> Cost:
    """Estimate what fitting a model to rows takes: operations are counted, and the speed of this machine measured.

    Good to a factor of two or three: how many steps an optimisation needs is not known before it is made, nor how many
    rows become support vectors. With several classes, a kernel machine takes about as many times as long as there are
    classes.

    Parameters
    ----------
    model : estimator
        Of mercer, with its parameters.
    X : array-like, sparse matrix, data frame, sequence or Source
        Rows of the fit. The first chunk of a source is read and fitted to measure how long all of it will take.

    Returns
    -------
    cost : Cost
        `seconds`, `bytes`, whether it `fits` into the memory that is left, and a `sentence`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, estimate_cost
    >>> cost = estimate_cost(KernelRidge(kernel="rbf"), np.zeros((1000, 3)))
    >>> cost.bytes, cost.fits
    (8000000.0, True)
    """
    if is_source(X):
        return source_cost(_model(model), source_of(X))
    X = _rows(_model(model), X)
    if not is_auto(model):
        return _cost(model, X)
    exact = _cost(clone(model).set_params(approximate=None), X)
    return exact if exact.bearable else _cost(clone(model).set_params(approximate="nystroem"), X)


def _cost(model: Any, X: Any) -> Cost:
    work = work_of(model, X)
    seconds = work.flops / flops_per_second(thread_count()) + work.traffic / bytes_per_second(thread_count())
    if work.entries and work.kernel is not None:
        seconds += work.entries / entries_per_second(work.kernel, X)
    left = available_bytes()
    fits = work.memory <= SHARE * left
    what = f"{type(model).__name__} on {count(X):,} rows"
    sentence = (
        f"{what}: about {seconds:.2g} s and {gigabytes(work.memory)} of memory, of which {gigabytes(left)} are left; "
        f"by {work.path}."
    )
    return Cost(seconds, work.memory, fits, sentence if fits else f"{sentence} It does not fit: {work.instead}.")


def entries_per_second(kernel: Kernel, X: Any) -> float:
    """How many entries of the kernel matrix of these rows are made in a second."""
    rows = take(X, sample_of(count(X), ROWS))
    gram, v = Gram(kernel, rows), np.ones(count(rows))
    return count(rows) ** 2 / 2 / _seconds(lambda: gram.times(v))


@cache
def flops_per_second(threads: int) -> float:
    """Of products of large matrices."""
    A = np.ones((COLUMNS, COLUMNS))
    return 2.0 * COLUMNS**3 / _seconds(lambda: A @ A)


@cache
def bytes_per_second(threads: int) -> float:
    """From memory."""
    values = np.ones(1 << 23)  # more than caches hold
    return values.nbytes / _seconds(values.sum)


def _seconds(call: Callable[[], Any]) -> float:
    """The shortest of some calls; the first may compile, and is not counted."""
    call()
    shortest, begin = np.inf, time.perf_counter()
    while True:
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        shortest = min(shortest, end - start)
        if end - begin > LONG_ENOUGH:
            return max(shortest, 1e-9)


def _model(model: Any) -> Any:
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise DataError(
            f"estimate_cost takes a model such as KernelRidge() or SVC(), got {model!r}; give an estimator."
        )
    return model


def _rows(model: Any, X: Any) -> Any:
    """X as an array, unless it is sparse or a list of things such as texts; typed errors where this cannot be."""
    if is_tensor(X):
        if X.device.type != "cpu":
            raise DeviceError(
                f"estimate_cost measures the processor of this machine, but X is on {X.device}; give X.cpu() for what "
                "a fit would take there."
            )
        return to_numpy(X)
    if hasattr(X, "to_numpy"):  # a data frame
        return np.asarray(X)
    if hasattr(X, "shape"):
        return X
    if not hasattr(X, "__len__"):
        raise DataError(f"X must be rows, in an array, a data frame or a list, but is {X!r}; give those of the fit.")
    return np.asarray(X) if len(X) > 0 and isinstance(X[0], (list, tuple, np.ndarray)) else X
