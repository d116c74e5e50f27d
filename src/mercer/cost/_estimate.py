"""`estimate_cost`: the time and the memory of a fit, before it starts.

For rows in memory, operations are counted (`work`) and divided by the measured speed of this machine. For a source, the
first chunk is read and fitted, and its time is extrapolated.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from mercer._errors import DataError, DeviceError
from mercer._gpu import is_tensor, to_numpy
from mercer._memory import MAX_MEMORY_SHARE, available_bytes, gigabytes
from mercer._threads import thread_count
from mercer.base.kernel_choice import sample_row_numbers
from mercer.base.sources import is_source, source_of
from mercer.cost.work import work_of
from mercer.data.sources.base import Source
from mercer.data.sources.memory import MemorySource
from mercer.kernel_approximation.approximate import is_auto
from mercer.kernels import Gram, Kernel
from mercer.kernels.inputs import count, take
from mercer.report.wording import format_count

T = TypeVar("T")

#: rows of the first chunk that are fitted: enough to be typical, few enough to be fast
N_TIMED_ROWS = 20_000
#: chunks that are in memory at once, in addition to one for each thread
N_CHUNKS_AHEAD = 2
#: approximate time of each measurement of this machine, in seconds
MEASUREMENT_SECONDS = 0.015
#: number of rows on which a kernel is timed
N_TIMED_KERNEL_ROWS = 640
#: number of rows and columns of the product of matrices that is timed
TIMED_PRODUCT_SIZE = 512
#: maximum time in seconds of an exact fit with `approximate="auto"`
MAX_EXACT_SECONDS = 10.0


@dataclass(frozen=True)
class Cost:
    """Estimate of the time and the memory of a fit.

    Attributes
    ----------
    seconds : float
        Time.
    bytes : float
        Memory.
    fits : bool
        Whether that memory is free.
    sentence : str
        The estimate in words.
    """

    seconds: float
    bytes: float
    fits: bool
    sentence: str

    @property
    def bearable(self) -> bool:
        """True if the fit has enough memory and takes little time, so that `approximate="auto"` is exact."""
        return self.fits and self.seconds <= MAX_EXACT_SECONDS

    def __str__(self) -> str:
        return self.sentence


def _estimate_source(model: Any, source: Source) -> Cost:
    """Estimate the seconds of all passes, and the bytes of the chunks that are in memory at once."""
    first, reading = _time_call(source.head)
    sample = MemorySource(*MemorySource(*first, rows=N_TIMED_ROWS).head())
    _fit_clone(model, sample)  # may compile
    fitted, computing = _time_call(lambda: _fit_clone(model, sample))
    passes = _count_passes(fitted)
    rows = first.n_rows if source.n_rows is None else source.n_rows
    chunk_seconds = passes * reading + computing * first.n_rows / (sample.n_rows * thread_count())
    seconds = chunk_seconds * rows / first.n_rows
    X = first.X
    chunk_bytes = float(getattr(X, "nbytes", 0) or 8 * X.shape[0] * X.shape[1])
    held, left = (thread_count() + N_CHUNKS_AHEAD) * chunk_bytes, available_bytes()
    sentence = (
        f"{type(model).__name__}: {format_count(passes, 'pass')} over {source.described}{_describe_size(source)}, "
        f"about {seconds:.2g} s{'' if source.n_rows is not None else ' at least'}, with {gigabytes(held)} of rows in "
        f"memory at a time, of which {gigabytes(left)} are left."
    )
    return Cost(seconds, held, held <= MAX_MEMORY_SHARE * left, sentence)


def _describe_size(source: Source) -> str:
    """Describe the size of a source as far as it is known without reading all of it."""
    size = [] if source.n_bytes is None else [gigabytes(source.n_bytes)]
    rows = [] if source.n_rows is None else [f"{source.n_rows:,} rows"]
    return f" ({', '.join([*size, *rows])})" if size or rows else ""


def _time_call(call: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def _fit_clone(model: Any, source: Source) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about the sample, not about the user's fit
        return clone(model).fit(source)


def _count_passes(model: Any) -> int:
    """Return the number of passes of a fitted model, or of all steps of a pipeline."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return sum(step.plan_.passes for step in steps if hasattr(step, "plan_"))


def estimate_cost(model: Any, X: Any) -> Cost:
    """Estimate the time and the memory of fitting a model, from counted operations and the speed of this machine.

    The estimate is right to a factor of two or three: the number of steps of an optimisation and the number of support
    vectors are not known before the fit. With several classes, the time of a kernel machine is about proportional to
    their number.

    Parameters
    ----------
    model : estimator
        Estimator of mercer, with its parameters.
    X : array-like, sparse matrix, data frame, sequence or Source
        Rows of the fit. The first chunk of a source is read and fitted, and its time is extrapolated.

    Returns
    -------
    cost : Cost
        `seconds`, `bytes`, whether the fit `fits` into the available memory, and a `sentence`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, estimate_cost
    >>> cost = estimate_cost(KernelRidge(kernel="rbf"), np.zeros((1000, 3)))
    >>> cost.bytes, cost.fits
    (8000000.0, True)
    """
    if is_source(X):
        return _estimate_source(_check_model(model), source_of(X))
    _check_model(model)
    X = _to_rows(X)
    if not is_auto(model):
        return _estimate_rows(model, X)
    exact = _estimate_rows(clone(model).set_params(approximate=None), X)
    return exact if exact.bearable else _estimate_rows(clone(model).set_params(approximate="nystroem"), X)


def _estimate_rows(model: Any, X: Any) -> Cost:
    work = work_of(model, X)
    seconds = work.flops / flops_per_second(thread_count()) + work.traffic / bytes_per_second(thread_count())
    if work.entries and work.kernel is not None:
        seconds += work.entries / entries_per_second(work.kernel, X)
    left = available_bytes()
    fits = work.memory <= MAX_MEMORY_SHARE * left
    sentence = (
        f"{type(model).__name__} on {count(X):,} rows: about {seconds:.2g} s and {gigabytes(work.memory)} of memory, "
        f"of which {gigabytes(left)} are left; by {work.path}."
    )
    return Cost(seconds, work.memory, fits, sentence if fits else f"{sentence} It does not fit: {work.remedy}.")


def entries_per_second(kernel: Kernel, X: Any) -> float:
    """Measure the number of entries of the kernel matrix of these rows that are computed in a second."""
    rows = take(X, sample_row_numbers(count(X), N_TIMED_KERNEL_ROWS))
    gram, v = Gram(kernel, rows), np.ones(count(rows))
    return count(rows) ** 2 / 2 / _seconds(lambda: gram.matvec(v))


@cache
def flops_per_second(threads: int) -> float:
    """Measure the operations per second of products of large matrices."""
    A = np.ones((TIMED_PRODUCT_SIZE, TIMED_PRODUCT_SIZE))
    return 2.0 * TIMED_PRODUCT_SIZE**3 / _seconds(lambda: A @ A)


@cache
def bytes_per_second(threads: int) -> float:
    """Measure the bytes per second that are read from memory."""
    values = np.ones(1 << 23)  # larger than the caches
    return values.nbytes / _seconds(values.sum)


def _seconds(call: Callable[[], Any]) -> float:
    """Return the shortest time of several calls, without the first, which may compile."""
    call()
    shortest, begin = np.inf, time.perf_counter()
    while True:
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        shortest = min(shortest, end - start)
        if end - begin > MEASUREMENT_SECONDS:
            return max(shortest, 1e-9)


def _check_model(model: Any) -> Any:
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise DataError(
            f"estimate_cost takes a model such as KernelRidge() or SVC(), got {model!r}; give an estimator."
        )
    return model


def _to_rows(X: Any) -> Any:
    """Return X as an array, unless it is sparse or a list of objects such as texts; raise an error for other types."""
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
