"""What a fit of a source will cost: its first chunk is read and fitted, and the rest takes as much longer as it is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import clone

from mercer._memory import SHARE, available_bytes, gigabytes
from mercer._threads import thread_count
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.memory import InMemory
from mercer.models.costs._cost import Cost
from mercer.report.wording import counted

T = TypeVar("T")

#: rows of the first chunk that are fitted: enough to be typical, few enough to be quick
SOME_ROWS = 20_000
#: chunks that are in memory at once, besides one for each thread
AHEAD = 2


def source_cost(model: Any, source: Source) -> Cost:
    """Seconds of all passes, and bytes of the chunks that are in memory at once."""
    first, reading = _timed(source.head)
    some = InMemory(*InMemory(*first, rows=SOME_ROWS).head())
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
