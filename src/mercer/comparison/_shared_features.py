"""Features of the rows of a split, made once for all models that are shown the same features."""

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
    """Features of the rows of a split, and what it took to make them."""

    #: fitted to the training rows of the split alone
    transformer: Any
    train: Any
    test: Any
    fit_seconds: float
    transform_seconds: float
    warned: list[Any]


@dataclass
class SharedFeatures:
    """The features of splits that were made last.

    `TableFeatures` depends on its parameters and the training rows alone, so that models whose pipelines begin with
    equal ones share what it has learnt and made. Each model is given a copy of the features.

    Parameters
    ----------
    splits : int
        How many splits there are.
    most_values : int, default=16777216
        Values of a table times splits, and of the features of a split times splits, up to which features are kept.
    most_kept : int, default=3
        Features that are kept of each split, the ones made last.
    """

    splits: int
    most_values: int = 1 << 24
    most_kept: int = 3
    _kept: list[tuple[Table, Array, bytes, Features]] = field(default_factory=list)

    def of(self, model: Any, table: Table, split: Split, y: Array) -> Features | None:
        """Return the features that an unfitted pipeline makes of a split; None where the model makes them itself."""
        key = self._key(model, table)
        if key is None:
            return None
        for position, (of_table, train, parameters, found) in enumerate(self._kept):
            if of_table is table and train is split[0] and parameters == key:
                self._kept.append(self._kept.pop(position))
                for message in found.warned:
                    warnings.warn(message, stacklevel=2)
                return found._replace(train=copy.deepcopy(found.train), test=copy.deepcopy(found.test))
        found = _made(model.steps[0][1], table, split, y)
        if self.splits * max(_size(found.train), _size(found.test)) <= self.most_values:
            kept = found._replace(train=copy.deepcopy(found.train), test=copy.deepcopy(found.test))
            self._kept = [*self._kept[1 - self.most_kept * self.splits :], (table, split[0], key, kept)]
        return found

    def _key(self, model: Any, table: Table) -> bytes | None:
        """What features depend on besides the rows; None where they cannot be shared."""
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
        except Exception:  # of what cannot be pickled it is not known whether it is the same
            return None


def _made(transformer: Any, table: Table, split: Split, y: Array) -> Features:
    """Fit features to the training rows of a split, and make those of its other rows."""
    train, test = split
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = table.take_native(train)
        start = now()
        learnt = transformer.fit_transform(X, y[train])
        fitted = now()
        rows = table.take_native(test)
        asked = now()
        others = transformer.transform(rows)
        answered = now()
    for each in caught:
        warnings.warn(each.message, stacklevel=2)
    return Features(transformer, learnt, others, fitted - start, answered - asked, [each.message for each in caught])


def _size(features: Any) -> int:
    """Values of features; of sparse ones, those that are stored."""
    return int(getattr(features, "nnz", np.prod(features.shape)))
