"""Rules that learn row after row, from a source: one pass in the order of its rows, and a look at what came of it.

What was learnt depends on the order of rows, and so on how they are cut into chunks: it is that of `partial_fit` with
one chunk after the other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mercer._errors import DataError, FitInterrupted
from mercer._typing import Array
from mercer.data.labels import codes_of, encode_labels
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.engines.running import current_run
from mercer.models._agreement import refuse_labels_of_other_type
from mercer.models.base import NO_WEIGHT, forget_fit
from mercer.models.streaming.chunks import reader_of, refuse_offset, streamed_plan
from mercer.solvers.certificate import Certificate, Solution

STOPPED = "stopped by the user; the weights learnt so far are kept."
SENTENCE = "rows on the wrong side of a hyperplane after one pass; none would prove the classes separable"


def learn_in_order(model: Any, source: Source, learn: Callable[[Chunk], Any], *, zero_is_positive: bool) -> None:
    """One pass in which `learn` has every chunk in turn, and one that counts the mistakes that are left.

    What a score of 0 says is for the model to decide, whose `predict` has to agree.
    """
    refuse_offset(model, source.head())
    forget_fit(model)
    vars(model).pop("_units", None)
    try:
        for chunk in _weighted(source):
            learn(chunk)
        if not hasattr(model, "coef_"):
            raise DataError(NO_WEIGHT)
        model.n_iter_ = 1
        wrong = fold(partial(_mistakes, _scorer(model), zero_is_positive), source, operator.add)
    except KeyboardInterrupt:
        if not hasattr(model, "coef_"):  # nothing was learnt, and the old model stays
            raise
        # that of the last chunk speaks of its rows alone
        model.certificate_ = Certificate("separation", np.inf, 0.0, "was not looked at: there was no time for it")
        raise FitInterrupted(STOPPED, Solution(model.coef_, model.certificate_, ())) from None
    model.certificate_ = Certificate("separation", wrong, 0.0, SENTENCE)
    path = f"{model.plan_.path}, in one pass"
    model.plan_ = streamed_plan(path, model.plan_.dtype)


def labels_of(source: Source) -> Array:
    """All labels, in ascending order: one pass."""
    return fold(_labels, source, _all_labels)


def _weighted(source: Source) -> Iterator[Chunk]:
    """Chunks of which some row has a weight."""
    current_run().passes += 1
    for chunk in source:
        if chunk.weight is None or np.any(chunk.weight):
            yield chunk


def _mistakes(reader: Any, zero_is_positive: bool, chunk: Chunk) -> float:
    """How often a unit has a row that has a weight on the wrong side."""
    scores = reader.decision_function(chunk.X)
    codes = codes_of(chunk.y, reader.classes_)
    positive = scores >= 0 if zero_is_positive else scores > 0
    if scores.ndim == 1:
        wrong = positive != (codes > 0)
    else:
        wrong = (positive != (codes[:, None] == np.arange(scores.shape[1]))).any(axis=1)
    return float(wrong.sum() if chunk.weight is None else wrong[chunk.weight > 0].sum())


def _scorer(model: Any) -> Any:
    """The model with no more than it takes to score chunks: small, so that it can be sent anywhere."""
    reader = reader_of(model)
    reader.coef_, reader.intercept_, reader.classes_ = model.coef_, model.intercept_, model.classes_
    return reader


def _labels(chunk: Chunk) -> Array:
    return encode_labels(chunk.y)[0]


def _all_labels(mine: Array, theirs: Array) -> Array:
    refuse_labels_of_other_type(theirs, mine)
    return np.union1d(mine, theirs)
