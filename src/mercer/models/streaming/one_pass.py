"""Classifiers from one pass over a source: every chunk has its statistic, and statistics add up."""

from __future__ import annotations

import copy
import functools
from typing import Any

from sklearn.base import clone

from mercer._errors import DataError
from mercer._threads import thread_count
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.engines.running import current_run
from mercer.models._agreement import refuse_labels_of_other_type
from mercer.models._refusal import refuse_no_target
from mercer.models.base import NO_WEIGHT, Plan
from mercer.models.streaming.chunks import refuse_offset
from mercer.stats.by_class import ByClass


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
