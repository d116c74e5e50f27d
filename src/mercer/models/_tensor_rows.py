"""Classifiers by counting that also take tensors: summarised and scored on their device, the model stays what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._gpu import is_tensor, like, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._typing import Array
from mercer.data.blocks import RowBlocks
from mercer.engines import device
from mercer.models._refusal import refuse_no_target
from mercer.models._tensor_linear import accuracy
from mercer.models._tensors import checked_tensor, checked_tensor_weight, coded, labelled, tensor_plan
from mercer.models.generative.classifier import StatisticClassifier
from mercer.stats.by_class import ByClass

#: numbers that are in memory at once for each number of a chunk of rows: the chunk in float64 and its deviations
COPIES = 3


class TakesTensors(StatisticClassifier):
    """Whose statistics and scores take tensors wherever they take arrays."""

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        if not is_tensor(X):
            return super()._summarise(X, y, sample_weight, reset=reset)
        refuse_no_target(self, y, "class")
        X = checked_tensor(self, X, reset=reset)
        labels, codes = coded(y, X)
        weight = checked_tensor_weight(sample_weight, X)
        source = RowBlocks(lambda rows: self._learnt_block(X, rows), codes, weight, self._chunk_rows(X, len(labels)))
        statistic = device.reduce(self._zero(labels, X), source)
        self._refuse_spoilt(statistic, X)
        self.plan_ = tensor_plan(self._path(), X, blocks=len(source.blocks()))
        return statistic

    def _announced_classes(self, classes: Any, first: bool) -> Array | None:
        return super()._announced_classes(to_numpy(classes) if is_tensor(classes) else classes, first)

    def _over_blocks(
        self,
        X: Any,
        finish: Callable[[Array], Array],
        width: int | None,
        dtype: Any = float,
        base: Callable[[tuple[Any, ...]], Array] | None = None,
    ) -> Array:
        if not is_tensor(X):
            return super()._over_blocks(X, finish, width, dtype, base)

        def work(X: Any, rows: slice) -> Any:
            block = self._block(X, rows)
            joint: Any = self._joint(block)
            if not joint.isfinite().all():
                self._blame(X, rows)
            result = finish(joint)
            return result if base is None else result + like(base(block), result)

        return self._over_chunks(X, work)  # type: ignore[no-any-return]

    def _over_chunks(self, X: Any, work: Callable[[Any, slice], Any]) -> Any:
        """`work(X, rows)` of all rows, chunk by chunk; what is no whole number is of the type of X."""
        X = checked_tensor(self, X, reset=False)
        parts: list[Any] = []

        def add(rows: slice) -> None:
            with np.errstate(invalid="ignore", over="ignore"):  # what spoils a score is looked for by `work`
                part = work(X, rows)
            parts.append(part.to(X.dtype) if part.is_floating_point() else part)

        in_chunks(len(X), self._chunk_rows(X, len(self.classes_)), add, "scores")
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _chunk_rows(self, X: Any, n_classes: int) -> int:
        """Rows of a chunk whose copies fit a tile; more if its statistic would be larger than the chunk."""
        columns = int(X.shape[1])
        return max(tile_size(X) // (COPIES * (columns + n_classes)), n_classes * columns)

    def _labels(self, classes: Array, codes: Any) -> Any:
        return labelled(classes, codes) if is_tensor(codes) else super()._labels(classes, codes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to classify.
        y : array-like or tensor of shape (n_samples,)
            Their classes.
        sample_weight : array-like or tensor of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            The accuracy.
        """
        return accuracy(self, X, y, sample_weight)


def _joined(parts: list[Any]) -> Any:
    import torch

    return torch.cat(parts)
