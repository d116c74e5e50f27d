"""What both estimators of random Fourier features share: rows at the door, and ψ of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._gpu import is_tensor
from mercer._typing import Array
from mercer.features.fourier import FourierMap
from mercer.models import base
from mercer.models._finite import refuse_not_finite
from mercer.models._tensors import checked_tensor
from mercer.models.base import checked
from mercer.models.streaming.from_source import maps_sources


class FourierTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer whose `_map` is a `FourierMap`."""

    @property
    @abstractmethod
    def _map(self) -> FourierMap: ...

    @maps_sources
    def transform(self, X: Any) -> Any:
        """The features ψ of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray or tensor of shape (n_samples, n_components)
            ψ(x), one row for each; a tensor on the device of X if X is one.
        """
        check_is_fitted(self)
        return self._mapped(self._finite_rows(X, reset=False))

    def _mapped(self, X: Any) -> Any:
        return self._map(X)

    def _finite_rows(self, X: Any, *, reset: bool) -> Any:
        X = (checked_tensor if is_tensor(X) else checked)(self, X, reset=reset)
        refuse_not_finite(self, X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def in_precision(values: Array, X: Any) -> Array:
    """A fitted attribute in the precision of the rows, as scikit-learn has it, if that has room for it."""
    single = str(X.dtype) in ("float32", "torch.float32")
    return base.in_precision(values, np.float32 if single else np.float64)
