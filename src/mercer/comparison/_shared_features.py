"""Cache the features of a split for all models that use the same features."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import dataclass, field
from time import perf_counter as now
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.application.tasks import Split
from mercer.data import Table


class Features(NamedTuple):
    """Features of the rows of a split, and the seconds and warnings of computing them."""

    #: fitted to the training rows of the split
    transformer: Any
    train: Any
    test: Any
    fit_seconds: float
    transform_seconds: float
    warned: list[Any]


@dataclass
class SharedFeatures:
    """A cache of the features of splits that were computed last.

    `TableFeatures` depends only on its parameters and the training rows, so models whose pipelines begin with equal
    ones share the fitted transformer and the features. Each model gets a copy of the features.

    Parameters
    ----------
    splits : int
        Number of splits.
    most_values : int, default=16777216
        Features are kept if the number of values, of the table or of the features, times the number of splits is at
        most this.
    most_kept : int, default=3
        Number of features kept for each split.
    """

    splits: int
    most_values: int = 1 << 24
    most_kept: int = 3
    _kept: list[tuple[Table, Array, bytes, Features]] = field(default_factory=list)

    def of(self, model: Any, table: Table, split: Split, y: Array) -> Features | None:
        """Return the features that an unfitted pipeline computes for a split; None if they cannot be shared."""
        key = self._key(model, table)
        if key is None:
            return None
        for position, (of_table, train, parameters, features) in enumerate(self._kept):
            if of_table is table and train is split[0] and parameters == key:
                self._kept.append(self._kept.pop(position))
                for message in features.warned:
                    warnings.warn(message, stacklevel=2)
                return features._replace(train=copy.deepcopy(features.train), test=copy.deepcopy(features.test))
        features = _make_features(model.steps[0][1], table, split, y)
        if self.splits * max(_count_values(features.train), _count_values(features.test)) <= self.most_values:
            kept = features._replace(train=copy.deepcopy(features.train), test=copy.deepcopy(features.test))
            self._kept = [*self._kept[1 - self.most_kept * self.splits :], (table, split[0], key, kept)]
        return features

    def _key(self, model: Any, table: Table) -> bytes | None:
        """Return what the features depend on besides the rows; None if they cannot be shared."""
        from mercer.preprocessing import TableFeatures

        if type(model) is not Pipeline or len(model) < 2 or not isinstance(model.steps[0][1], TableFeatures):
            return None
        if model.memory is not None or model.transform_input is not None:
            return None
        if self.splits * table.n_rows * table.n_columns > self.most_values:
            return None
        features = model.steps[0][1]
        try:
            return pickle.dumps((type(features), features.get_params(deep=False)))
        except Exception:  # equality of parameters that cannot be pickled is unknown
            return None


def _make_features(transformer: Any, table: Table, split: Split, y: Array) -> Features:
    """Fit a transformer to the training rows of a split, and transform all its rows."""
    train, test = split
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = table.take_native(train)
        start = now()
        learnt = transformer.fit_transform(X, y[train])
        fitted = now()
        rows = table.take_native(test)
        transform_start = now()
        others = transformer.transform(rows)
        transform_seconds = now() - transform_start
    for each in caught:
        warnings.warn(each.message, stacklevel=2)
    return Features(transformer, learnt, others, fitted - start, transform_seconds, [each.message for each in caught])


def _count_values(features: Any) -> int:
    """Return the number of values of features; for sparse ones, of stored values."""
    return int(getattr(features, "nnz", np.prod(features.shape)))
